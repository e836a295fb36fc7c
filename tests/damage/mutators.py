"""Small random damage to text, JSON, bytes and run stores, drawn from a seeded
generator.
"""

import contextlib
import copy
import gzip
import json
import random
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WORDS = [
    "-1",
    "0",
    "-0",
    "nan",
    "inf",
    "-inf",
    "1e308",
    "1e-320",
    "99999999999999999999",
    "",
    " ",
    ";",
    "\t",
    "\x00",
    "\u2028",
    "é",
    "1_0",
    "0x10",
    "1.5",
    "-2147483649",
    "true",
    "null",
    '"',
    "{",
    "]",
    "1e999",
    "\u0663",
    "# nprocs: 0",
    "POSIX\t0",
    "CP_BYTES_READ",
    "9" * 5000,
    "\r",
    "[",
    "'",
    ",",
    "1" + "0" * 400,
    "x" * 5000,
    "[" * 3000,
    "NaN",
    "\\u0000",
    "\\ud800",
    "=",
    "..",
    "/",
    "100Mb",
]
VALUES: list[Any] = [
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    3,
    2.5,
    -0.0,
    1e308,
    -1e308,
    10**400,
    10**18,
    2**53,
    2**63,
    "",
    "x",
    "1",
    [],
    {},
    [1],
    [[]],
    {"id": 1},
    "delay",
    float(2**70),
    5e-324,
    1e-9,
    "composed",
    ["1", "1"],
    "x" * 5000,
    "\x00",
    "\ud800",
    [None],
    {"": {}},
    [0, 1],
    [1.0, 2.0, 3.0],
    "n0",
    10**5000,
]


def mutate_text(raw: bytes, rng: random.Random) -> bytes:
    """Return *raw* with one to six small changes.

    Bytes, words and lines are changed, removed, repeated or swapped.
    """
    data = raw
    for _ in range(rng.randint(1, 6)):
        what, at = rng.randrange(7), rng.randrange(max(1, len(data)))
        if what == 0:
            data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        elif what == 1:
            data = data[:at] + data[at + rng.randint(1, 40) :]
        elif what == 2:
            data = data[: rng.randint(len(data) // 2, len(data))]
        elif what in (3, 4):
            data = (
                data[:at] + rng.choice(WORDS).encode() + data[at + rng.randint(0, 4) :]
            )
        else:
            data = _mutate_lines(data, what == 5, rng)
    return encode(data, rng) if rng.random() < 0.05 else data


def encode(data: bytes, rng: random.Random) -> bytes:
    """Return the same text with other line ends, in another encoding, or compressed.

    The compressed text may be cut off.
    """
    what = rng.randrange(5)
    if what == 0:
        return data.replace(b"\n", b"\r\n")
    if what == 1:
        text = data.decode(errors="replace")
        return text.encode(rng.choice(("utf-16", "utf-16-be", "utf-8-sig")))
    packed = gzip.compress(data, mtime=0)
    return packed if what == 2 else packed[: rng.randint(1, len(packed))]


def _mutate_lines(data: bytes, swap: bool, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    if swap:
        lines[first], lines[second] = lines[second], lines[first]
    elif words := lines[first].split():
        words[rng.randrange(len(words))] = rng.choice(WORDS).encode()
        lines[first] = b"\t".join(words)
    return b"\n".join(lines)


def places_of(data: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) of a JSON document."""
    places: list[tuple[Any, Any]] = []
    stack = [data]
    while stack:
        node = stack.pop()
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                stack.append(node[key])
    return places


NUMBERS = (0, 1, -1, 1e-9, 1e-12, 1e9, 1e15, 1e18, 2**31, 2**53, 0.5, 3, 7)


def _alike(value: Any, places: list[tuple[Any, Any]], rng: random.Random) -> Any:
    """Return another value of the same type, so that readers do not reject it by its
    type.
    """
    if isinstance(value, bool) or value is None:
        return rng.choice((True, False, None))
    if isinstance(value, (int, float)):
        if not -1e300 < value < 1e300:
            return rng.choice(NUMBERS)
        number = rng.choice(
            (*NUMBERS, value * 1e6, value / 1e6, value + 1, -value, value * 2)
        )
        return type(value)(number)
    if isinstance(value, str):
        texts = [node[key] for node, key in places if isinstance(node[key], str)]
        return rng.choice([*texts, value[:-1], value + "x", ""])
    if isinstance(value, list):
        return rng.choice(([], value[:1], value[::-1], value + value, value[1:]))
    return {key: value[key] for key in list(value)[: rng.randint(0, len(value))]}


def mutate_json(raw: bytes, rng: random.Random) -> bytes:
    """Return a document with one to three values replaced, removed, moved or renamed.

    Sometimes the text itself is damaged instead.
    """
    if rng.random() < 0.1:
        return mutate_text(raw, rng)
    data = json.loads(raw)
    if not isinstance(data, (dict, list)):
        return mutate_text(raw, rng)
    if rng.random() < 0.06:
        _swap_kind(data, rng)
    if rng.random() < 0.06:
        _scale_key(data, rng)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not (places := places_of(data)):
            break
        node, key = rng.choice(places)
        what = rng.randrange(12)
        if what == 0 and isinstance(node, dict):
            node[rng.choice([f"{key}s", "type", "res", "seq", "x", "cpu", "id"])] = (
                node.pop(key)
            )
        elif what == 1:
            del node[key]
        elif what == 2:  # take a value from another place in the document
            other, name = rng.choice(places)
            node[key] = copy.deepcopy(other[name])
        elif what == 3 and isinstance(node, list):
            node.insert(key, copy.deepcopy(node[key]))
        elif what < 6:
            node[key] = copy.deepcopy(rng.choice(VALUES))
        else:
            node[key] = copy.deepcopy(_alike(node[key], places, rng))
    with _long_numbers():
        return json.dumps(data).encode()


KINDS = (
    "replication",
    "batch-io",
    "io-requests",
    "gang",
    "gang-matrix",
    "quantum-model",
    "perturbation",
    "message-counts",
    "quantum-selection",
    "flexible-gang",
    "workflow",
    "result",
    "comparison",
)


def _swap_kind(data: Any, rng: random.Random) -> None:
    """Replace the kind of the document by that of another, in most places where it
    occurs.
    """
    for node, key in places_of(data):
        if key in ("format", "family", "kind") and rng.random() < 0.7:
            node[key] = ("ioopt/" if key == "format" else "") + rng.choice(KINDS)


def _scale_key(data: Any, rng: random.Random) -> None:
    """Multiply all numbers with the same key by a power of ten, which keeps them
    consistent.
    """
    numbers = [
        (node, key) for node, key in places_of(data) if type(node[key]) in (int, float)
    ]
    if numbers:
        chosen, power = rng.choice(numbers)[1], rng.choice((3, 6, 9, 12, 15, -6))
        for node, key in numbers:
            if key == chosen and abs(node[key]) < 1e300:
                node[key] = type(node[key])(node[key] * 10.0**power)


@contextlib.contextmanager
def _long_numbers() -> Iterator[None]:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


def mutate_bytes(raw: bytes, rng: random.Random) -> bytes:
    """Return the bytes of a binary file with some of them changed or cut off."""
    data = bytearray(raw)
    for _ in range(rng.randint(0, 12)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data[: rng.randint(1, len(data))] if rng.random() < 0.2 else data)


def mutate_store(raw: bytes, rng: random.Random) -> bytes:
    """Return a run store with damaged bytes, or with wrong values in its cells."""
    if rng.random() < 0.4:
        return mutate_bytes(raw, rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "runs.sqlite")
        path.write_bytes(raw)
        connection = sqlite3.connect(path)
        cells = [
            *(
                ("runs", name)
                for name in (
                    "status",
                    "objective",
                    "metrics",
                    "labels",
                    "versions",
                    "kind",
                    "settings",
                    "notes",
                    "bound",
                    "gap",
                    "seed",
                    "violations",
                    "instance",
                )
            ),
            ("results", "document"),
        ]
        for _ in range(rng.randint(1, 3)):
            table, column = rng.choice(cells)
            value = rng.choice(
                [
                    "x",
                    -1,
                    1e308,
                    "{}",
                    "[]",
                    "null",
                    b"\x00\x01",
                    "",
                    "nan",
                    "[" * 2000,
                    '{"a": 1}',
                    float("inf"),
                    "9" * 400,
                ]
            )
            where = rng.choice(("", " WHERE key < '8'"))
            connection.execute(f"UPDATE {table} SET {column} = ?{where}", (value,))
        connection.commit()
        connection.close()
        return path.read_bytes()
