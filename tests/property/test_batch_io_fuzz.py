"""Damaged SWF, Darshan and Batsim files: read, or refused with the project's own error."""

from __future__ import annotations

import copy
import gzip
import importlib.util
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import shared_path

from ioopt.errors import IooptError
from ioopt.formats.batsim import read_batsim
from ioopt.formats.darshan import read_darshan
from ioopt.formats.darshan_io import batch_io_from_darshan
from ioopt.formats.swf import read_swf
from ioopt.formats.swf_io import batch_io_from_swf

NASTY = [
    "-1", "0", "-0", "nan", "inf", "-inf", "1e308", "1e-320", "99999999999999999999", "", " ", ";",
    "\t", "\x00", "\u2028", "é", "1_0", "0x10", "1.5", "-2147483649", "true", "null", '"', "{", "]",
    "1e999", "\u0663", "# nprocs: 0", "POSIX\t0", "CP_BYTES_READ", "9" * 5000,
]  # fmt: skip


def heads(folder: str, names: list[str], lines: int) -> list[bytes]:
    paths = [shared_path("data", folder, name) for name in names]
    return [b"\n".join(path.read_bytes().split(b"\n")[:lines]) + b"\n" for path in paths]


def mutate_text(raw: bytes, rng: random.Random) -> bytes:
    """One to six small accidents: bytes, tokens and lines changed, lost, repeated or swapped."""
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
            data = data[:at] + rng.choice(NASTY).encode() + data[at + rng.randint(0, 4) :]
        else:
            data = mutate_lines(data, what == 5, rng)
    return gzip.compress(data)[: rng.randint(1, 400)] if rng.random() < 0.01 else data


def mutate_lines(data: bytes, swap: bool, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    if swap:
        lines[first], lines[second] = lines[second], lines[first]
    elif words := lines[first].split():
        words[rng.randrange(len(words))] = rng.choice(NASTY).encode()
        lines[first] = b"\t".join(words)
    return b"\n".join(lines)


VALUES: list[Any] = [
    None, True, -1, 0, 1, 2.5, -0.0, 1e308, 10**400, "", "x", "1", [], {}, [1], {"id": 1}, "delay",
    float(2**70), 5e-324, "composed", ["1", "1"],
]  # fmt: skip


def places_of(data: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a JSON document."""
    places: list[tuple[Any, Any]] = []
    stack = [data]
    while stack:
        node = stack.pop()
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                stack.append(node[key])
    return places


def mutate_json(document: Any, rng: random.Random) -> bytes:
    """One to four values of the document replaced, removed or renamed."""
    data = json.loads(json.dumps(document))
    for _ in range(rng.randint(1, 4)):
        places = places_of(data)
        if not places:
            break
        node, key = rng.choice(places)
        what = rng.randrange(4)
        if what == 0 and isinstance(node, dict):
            node[rng.choice(["type", "res", "seq", "x", "cpu"])] = node.pop(key)
        elif what == 1:
            del node[key]
        else:
            node[key] = copy.deepcopy(rng.choice(VALUES))
    return json.dumps(data).encode()


def run(
    tmp_path: Path, count: int, make: Callable[[random.Random], bytes],
    read: Callable[[Path], Any], seed: int,
) -> dict[str, int]:  # fmt: skip
    """How many of *count* damaged inputs were read and how many refused."""
    rng = random.Random(seed)
    path = tmp_path / "damaged"
    outcomes = {"read": 0, "refused": 0}
    messages: list[str] = []
    for number in range(count):
        path.write_bytes(make(rng))
        try:
            read(path)
            outcomes["read"] += 1
        except IooptError as error:
            outcomes["refused"] += 1
            messages.append(str(error))
        except Exception as error:
            raise AssertionError(f"input {number} of seed {seed}: {error!r}") from error
    assert not [text for text in messages if "\n" in text]
    return outcomes


def swf_inputs() -> Callable[[random.Random], bytes]:
    names = ["KTH-SP2-1996-2.1-cln.first20000.swf", "NASA-iPSC-1993-3.1-cln.swf",
             "HPC2N-2002-excerpt-alea.swf", "lublin_256.swf", "cqsim-test.swf"]  # fmt: skip
    texts = heads("swf", names, 60)
    return lambda rng: mutate_text(rng.choice(texts), rng)


def darshan_inputs() -> Callable[[random.Random], bytes]:
    names = ["carns_mpi-io-test-ppc32-2.2.6_id100_1-1-169-3365979776611785968_1.v2.parser.txt",
             "edison-vpicio-2048procs.v3.parser.txt", "empty.v3.parser.txt"]  # fmt: skip
    texts = heads("darshan", names, 450)
    return lambda rng: mutate_text(rng.choice(texts), rng)


def batsim_inputs() -> Callable[[random.Random], bytes]:
    documents, texts = [], []
    for name in ("test_various_profile_types", "test_workload_pfs0", "KTH-SP2-io-aware-1000"):
        document = json.loads(shared_path("data", "batsim-json", f"{name}.json").read_bytes())
        document["jobs"] = document["jobs"][:12]
        if name.startswith("KTH"):
            used = {str(job["profile"]) for job in document["jobs"]}
            document["profiles"] = {k: v for k, v in document["profiles"].items() if k in used}
        documents.append(document)
        texts.append(json.dumps(document, indent=1).encode())

    def make(rng: random.Random) -> bytes:
        if rng.random() < 0.3:
            return mutate_text(rng.choice(texts), rng)
        return mutate_json(rng.choice(documents), rng)

    return make


READERS: dict[str, tuple[Callable[[], Any], Callable[[Path], Any]]] = {
    "swf": (swf_inputs, lambda path: batch_io_from_swf(read_swf(path))),
    "darshan": (darshan_inputs, lambda path: batch_io_from_darshan([read_darshan(path)])),
    "batsim": (batsim_inputs, read_batsim),
}


@pytest.mark.parametrize("form", READERS)
def test_damaged_files(form: str, tmp_path: Path) -> None:
    inputs, read = READERS[form]
    outcomes = run(tmp_path, 400, inputs(), read, seed=1)
    assert min(outcomes.values()) > 8, outcomes


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("darshan") is None, reason="the optional package darshan is missing"
)
def test_damaged_binary_logs(tmp_path: Path) -> None:
    logs = [
        shared_path("data", "darshan", f"{name}.v3.darshan").read_bytes()
        for name in ("edison-vpicio-2048procs", "mpi-io-test-dxt-32procs", "empty")
    ]

    def make(rng: random.Random) -> bytes:
        data = bytearray(rng.choice(logs))
        for _ in range(rng.randint(0, 6)):
            data[rng.randrange(5, len(data))] = rng.randrange(256)
        return bytes(data[: rng.randint(100, len(data))] if rng.random() < 0.3 else data)

    outcomes = run(tmp_path, 16, make, READERS["darshan"][1], seed=3)
    assert min(outcomes.values()) > 0, outcomes


@pytest.mark.slow
@pytest.mark.parametrize("form", READERS)
def test_many_damaged_files(form: str, tmp_path: Path) -> None:
    inputs, read = READERS[form]
    outcomes = run(tmp_path, 10_000, inputs(), read, seed=11)
    print(form, outcomes)
    assert min(outcomes.values()) > 200, outcomes
