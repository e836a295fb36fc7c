"""Damaged inputs for every reader, made by one seeded mutator and run through the command line.

A reader is a name, whole inputs to damage, and a command for the damaged file. Each is run in a
child process whose address space is bounded and whose CPU time is counted an input; what is found:
a traceback (exit 1), more than one line, more than the CPU seconds or the memory allowed.

``python tests/fuzzing.py 100000 [READER...]`` runs that many inputs over all readers.
"""

from __future__ import annotations

import contextlib
import copy
import gzip
import io
import json
import multiprocessing
import os
import random
import resource
import signal
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from conftest import shared_root

MOST_SECONDS = 10.0
MOST_BYTES = 500 << 20
EXIT_CODES = frozenset({0, 2, 3, 4, 5})
"""An answer, or a refusal in one line."""
SOLVED_CODES = EXIT_CODES - {5}
"""A solver's own plan never breaks a rule of the instance that it took."""

WORDS = [
    "-1", "0", "-0", "nan", "inf", "-inf", "1e308", "1e-320", "99999999999999999999", "", " ", ";",
    "\t", "\x00", "\u2028", "é", "1_0", "0x10", "1.5", "-2147483649", "true", "null", '"', "{", "]",
    "1e999", "\u0663", "# nprocs: 0", "POSIX\t0", "CP_BYTES_READ", "9" * 5000, "\r", "[", "'", ",",
    "1" + "0" * 400, "x" * 5000, "[" * 3000, "NaN", "\\u0000", "\\ud800", "=", "..", "/", "100Mb",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, -1, 0, 1, 2, 3, 2.5, -0.0, 1e308, -1e308, 10**400, 10**18, 2**53, 2**63, "",
    "x", "1", [], {}, [1], [[]], {"id": 1}, "delay", float(2**70), 5e-324, 1e-9, "composed",
    ["1", "1"], "x" * 5000, "\x00", "\ud800", [None], {"": {}}, [0, 1], [1.0, 2.0, 3.0], "n0",
    10**5000,
]  # fmt: skip


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
            data = data[:at] + rng.choice(WORDS).encode() + data[at + rng.randint(0, 4) :]
        else:
            data = _mutate_lines(data, what == 5, rng)
    return gzip.compress(data)[: rng.randint(1, 400)] if rng.random() < 0.01 else data


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


NUMBERS = (0, 1, -1, 1e-9, 1e-12, 1e9, 1e15, 1e18, 2**31, 2**53, 0.5, 3, 7)


def _alike(value: Any, places: list[tuple[Any, Any]], rng: random.Random) -> Any:
    """Another value of the same form, so that damage gets past the reading."""
    if isinstance(value, bool) or value is None:
        return rng.choice((True, False, None))
    if isinstance(value, (int, float)):
        if not -1e300 < value < 1e300:
            return rng.choice(NUMBERS)
        number = rng.choice((*NUMBERS, value * 1e6, value / 1e6, value + 1, -value, value * 2))
        return type(value)(number)
    if isinstance(value, str):
        texts = [node[key] for node, key in places if isinstance(node[key], str)]
        return rng.choice([*texts, value[:-1], value + "x", ""])
    if isinstance(value, list):
        return rng.choice(([], value[:1], value[::-1], value + value, value[1:]))
    return {key: value[key] for key in list(value)[: rng.randint(0, len(value))]}


def mutate_json(raw: bytes, rng: random.Random) -> bytes:
    """One to three values replaced, removed, moved or renamed; sometimes the text itself is hurt."""
    if rng.random() < 0.1:
        return mutate_text(raw, rng)
    data = json.loads(raw)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not (places := places_of(data)):
            break
        node, key = rng.choice(places)
        what = rng.randrange(12)
        if what == 0 and isinstance(node, dict):
            node[rng.choice([f"{key}s", "type", "res", "seq", "x", "cpu", "id"])] = node.pop(key)
        elif what == 1:
            del node[key]
        elif what == 2:  # a value from elsewhere in the document: right form, wrong place
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


@contextlib.contextmanager
def _long_numbers() -> Iterator[None]:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


def mutate_bytes(raw: bytes, rng: random.Random) -> bytes:
    """Bytes of a binary file changed, some of it lost."""
    data = bytearray(raw)
    for _ in range(rng.randint(0, 12)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data[: rng.randint(1, len(data))] if rng.random() < 0.2 else data)


def mutate_store(raw: bytes, rng: random.Random) -> bytes:
    """A run store with damaged bytes, or with wrong values in its cells."""
    if rng.random() < 0.4:
        return mutate_bytes(raw, rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "runs.sqlite")
        path.write_bytes(raw)
        connection = sqlite3.connect(path)
        cells = [
            *(("runs", name) for name in ("status", "objective", "metrics", "labels", "versions",
              "kind", "settings", "notes", "bound", "gap", "seed", "violations", "instance")),
            ("results", "document"),
        ]  # fmt: skip
        for _ in range(rng.randint(1, 3)):
            table, column = rng.choice(cells)
            value = rng.choice(
                ["x", -1, 1e308, "{}", "[]", "null", b"\x00\x01", "", "nan", "[" * 2000, '{"a": 1}',
                 float("inf"), "9" * 400]
            )  # fmt: skip
            where = rng.choice(("", " WHERE key < '8'"))
            connection.execute(f"UPDATE {table} SET {column} = ?{where}", (value,))
        connection.commit()
        connection.close()
        return path.read_bytes()


Command = Callable[[str, str], list[str]]
"""The arguments for a damaged file and for a file to write to."""


@dataclass(frozen=True)
class Reader:
    """Something that reads files: its inputs, how they are damaged, and the commands that read.

    ``weight`` is its share of all inputs, ``beside`` what else stands in the folder, ``codes`` the
    exit codes that are no fault.
    """

    name: str
    texts: Callable[[], list[bytes]]
    mutate: Callable[[bytes, random.Random], bytes]
    commands: tuple[Command, ...] = ()
    weight: float = 1.0
    direct: Callable[[bytes], int] | None = None
    ending: str = ""
    beside: Mapping[str, bytes] = field(default_factory=dict)
    codes: frozenset[int] = EXIT_CODES


def run_command(arguments: list[str]) -> tuple[int, str]:
    """Exit code and standard error of one command of ioopt."""
    from ioopt.cli.main import main

    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="surrogateescape"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    return code, err.getvalue()


class TooLong(BaseException):
    """The CPU time of one input is used up."""


def _too_long(*_: Any) -> None:
    raise TooLong


@dataclass
class Found:
    """What became of the inputs of one reader: how many by exit code, and what must not be."""

    reader: str
    codes: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0
    most_seconds: float = 0.0
    most_bytes: int = 0


def _memory_bytes() -> int:
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[0]) * resource.getpagesize()


def _most_resident() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _work(reader: Reader, seed: int, count: int, keep: str | None, warm: int, pipe: Any) -> None:
    signal.signal(signal.SIGPROF, _too_long)
    found = Found(reader.name)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, content in reader.beside.items():
            Path(name).write_bytes(content)
        texts = reader.texts()
        for number, text in enumerate(
            texts[:warm]
        ):  # compiled, imported and sound before the limits
            _run_one(reader, text, folder, random.Random(number), found, warm=True)
        found = Found(reader.name, found.codes - found.codes, found.faults)
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        # Threads reserve much that they never touch; what is resident is measured all the same.
        most = MOST_BYTES if reader.direct is None else 16 * MOST_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (_memory_bytes() + most, hard))
        resident = _most_resident()
        begun = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        for number in range(count):
            rng = random.Random(f"{reader.name} {seed} {number}")
            data = reader.mutate(rng.choice(texts), rng)
            fault = _run_one(reader, data, folder, rng, found)
            if fault and keep:
                Path(keep, f"{reader.name}-{seed}-{number}{reader.ending}").write_bytes(data)
            if fault:
                found.faults.append(f"{reader.name} {seed} {number}: {fault}")
        os.chdir("/")
    found.seconds = resource.getrusage(resource.RUSAGE_SELF).ru_utime - begun
    found.most_bytes = _most_resident() - resident
    pipe.send(found)


def _run_one(
    reader: Reader, data: bytes, folder: str, rng: random.Random, found: Found, warm: bool = False
) -> str | None:
    """Run one input; what is wrong, if anything."""
    code, err = -1, ""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    signal.setitimer(signal.ITIMER_PROF, 0 if warm else MOST_SECONDS)
    arguments: list[str] = []
    try:
        if reader.direct is not None:
            code = reader.direct(data)
        else:
            path = os.path.join(folder, f"damaged{reader.ending}")
            Path(path).write_bytes(data)
            arguments = rng.choice(reader.commands)(path, os.path.join(folder, "out"))
            code, err = run_command(arguments)
    except TooLong:
        return f"more than {MOST_SECONDS} CPU seconds: {arguments[:2]}"
    except Exception as error:
        err = f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    found.codes[code] += 1
    spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    found.most_seconds = max(found.most_seconds, spent)
    errors = [line for line in err.splitlines() if line.startswith("ioopt: ")]
    refused = code == 2 and reader.direct is None
    if code in reader.codes and not (refused and len(errors) != 1):
        return None
    return f"exit {code}: {' '.join(arguments[:2])}: {err.strip()[-300:]}"


def run_reader(
    reader: Reader, count: int, seed: int = 0, keep: str | None = None, warm: int = 2
) -> Found:
    """Run *count* damaged inputs of *reader* in a child process; *keep* is a folder for faults.

    Before that, *warm* whole ones: what is imported and compiled then counts for no input.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(reader, seed, count, keep, warm, sender))
    child.start()
    sender.close()
    try:
        found: Found = receiver.recv()
    except EOFError:
        child.join()
        found = Found(reader.name, faults=[f"{reader.name} {seed}: killed ({child.exitcode})"])
    child.join()
    return found


# --- the readers -------------------------------------------------------------------------------

INSTANCES: dict[str, tuple[str, ...]] = {
    "replication": ("cycle3", "held", "rounds4", "two-pairs"),
    "batch-io": ("two-writers", "small-8"),
    "io-requests": ("two-writers-now",),
    "gang": ("gang-figure-5",),
    "gang-matrix": ("gang-figure-7", "gang-figure-3"),
    "quantum-model": ("quantum-figure-3",),
    "perturbation": ("perturbation-blocking",),
    "message-counts": ("gangedness-table-3",),
    "quantum-selection": ("quantum-plain", "quantum-visits"),
    "flexible-gang": ("flexgang-tiny",),
}
"""Kind -> bundled instances, small ones."""
SOLVERS = {
    "replication": ("minmin", "two-stage", "ip", "anneal", "lp-rounding", "link-aware"),
    "batch-io": ("adaptive", "cons-max-util", "base-line", "set-10", "fill"),
    "io-requests": ("adaptive", "cons-max-util", "fill", "base-line"),
    "gang": ("guarded-iogs", "gs", "index-iogs", "migrate-iogs"),
    "gang-matrix": ("guarded-iogs", "exact-iogs", "index-iogs"),
    "quantum-model": ("chain", "event"),
    "perturbation": ("laboratory",),
    "message-counts": ("gangedness",),
    "quantum-selection": ("quantum-greedy", "quantum-dp", "quantum-ip"),
    "flexible-gang": ("greedy", "exact", "strict-fill", "strict"),
}
DRAWN = {"batch-io": ["--set", "rates=yes"], "gang": ["--set", "history=yes"]}


def _bundled(kind: str) -> list[bytes]:
    """The instances of a kind; those of quantum models with few points and a short horizon."""
    from ioopt.catalog import bundled
    from ioopt.formats.native import read_json

    documents = [read_json(bundled(name)["path"]) for name in INSTANCES[kind]]
    for document in documents:
        if "points" in document:
            document["points"], document["horizon_seconds"] = document["points"][::300][:3], 2.0
    return [json.dumps(document, indent=1).encode() for document in documents]


@cache
def _answers(kind: str) -> tuple[bytes, ...]:
    """Results of the first bundled instance of a kind, with all that can be drawn."""
    found = []
    for solver in SOLVERS[kind][:2]:
        with tempfile.TemporaryDirectory() as folder:
            path, target = os.path.join(folder, "instance.json"), os.path.join(folder, "result")
            Path(path).write_bytes(_bundled(kind)[0])
            arguments = ["solve", path, "--solver", solver, "-o", target, *DRAWN.get(kind, [])]
            code, err = run_command(arguments)
            assert code == 0, (kind, solver, err)
            found.append(Path(target).read_bytes())
    return tuple(found)


def _solves(kind: str) -> tuple[Command, ...]:
    return tuple(
        lambda path, out, solver=solver: [
            "solve", path, "--solver", solver, "--time-limit", "1", "-o", out
        ]
        for solver in SOLVERS[kind]
    )  # fmt: skip


def _of_kind(kind: str) -> Iterator[Reader]:
    instances = lambda: _bundled(kind)  # noqa: E731
    answers = lambda: list(_answers(kind))  # noqa: E731
    name = f"{kind}.json"
    yield Reader(f"{kind} instance", instances, mutate_json, (lambda p, o: ["check", p],), 8)
    yield Reader(f"{kind} solved", instances, mutate_json, _solves(kind), 2, codes=SOLVED_CODES)
    commands: tuple[Command, ...] = (lambda p, o: ["check", name, p],) * 4
    from ioopt.registry import KINDS

    if KINDS[kind].simulate is not None:
        commands += (
            lambda p, o: ["simulate", name, p],
            lambda p, o: ["simulate", name, p, "--timeline", o + ".json"],
        )
    beside = {name: _bundled(kind)[0]}
    yield Reader(f"{kind} result", answers, mutate_json, commands, 4, beside=beside)
    drawings: tuple[Command, ...] = (lambda p, o: ["plot", p, "-o", o + ".svg"],)
    if KINDS[kind].pictures:
        drawings += (lambda p, o: ["plot", p, "--picture", "gantt", "-o", o + ".svg"],)
    yield Reader(f"{kind} drawn", answers, mutate_json, drawings, 0.5)
    if KINDS[kind].decision:
        decide: Command = lambda p, o: ["decide", p, "--time-limit", "1"]  # noqa: E731
        yield Reader(f"{kind} snapshot", instances, mutate_json, (decide,), 1.5)


def _data(folder: str, names: list[str], lines: int | None = None) -> Callable[[], list[bytes]]:
    def texts() -> list[bytes]:
        paths = [shared_root() / "data" / folder / name for name in names]
        found = [path.read_bytes() for path in paths if path.exists()]
        return [b"\n".join(text.split(b"\n")[:lines]) + b"\n" for text in found] if lines else found

    return texts


def _batsim() -> list[bytes]:
    names = ("test_various_profile_types", "test_workload_pfs0", "KTH-SP2-io-aware-1000")
    found = []
    for text in _data("batsim-json", [f"{name}.json" for name in names])():
        document = json.loads(text)
        document["jobs"] = document["jobs"][:12]
        used = {str(job["profile"]) for job in document["jobs"]}
        if len(document["profiles"]) > 100:
            document["profiles"] = {k: v for k, v in document["profiles"].items() if k in used}
        found.append(json.dumps(document, indent=1).encode())
    return found


def _batsim_jobs() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        result, jobs = os.path.join(folder, "result.json"), os.path.join(folder, "jobs.csv")
        run_command(["solve", "two-writers", "--solver", "adaptive", "-o", result])
        run_command(["export", "batsim-jobs", "two-writers", result, "-o", jobs])
        return [Path(jobs).read_bytes()]


def _comparisons() -> list[bytes]:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "rows.json")
        for name, first in (("cycle3", "minmin"), ("two-writers", "fill"), ("gang-figure-7", "gs")):
            solvers = ["--solver", first, "--solver", "job-data-present"][
                : 4 if name == "cycle3" else 2
            ]
            code, err = run_command(["compare", name, *solvers, "--format", "json", "-o", target])
            assert code == 0, err
            found.append(Path(target).read_bytes())
    return found


def _messages() -> list[bytes]:
    rows = ["application,quantum,processor,ganged,running,messages"]
    for quantum in range(4):
        for processor in range(4):
            absent = quantum == 2
            runs = int(not (absent and processor == 1))
            rows.append(f"LU,{quantum},{processor},{int(not absent)},{runs},{3 + processor}")
    return [("\n".join(rows) + "\n").encode(), b"ganged,running,messages\n1,1,4\n0,1,2\n0,0,1\n"]


CONFIG = b"""
time_limit = 1
repeats = 1
keep = "first"

[[instances]]
bundled = "cycle3"

[[instances]]
generate = "replication"
preset = "ppa"
set = {tasks = [5, 6], nodes = 2}
seeds = [0, 1]

[[solvers]]
name = "minmin"
set = {eviction = "lru"}
seeds = [0]

[[solvers]]
name = "lpt"
"""


def _stores() -> list[bytes]:
    """A store with two solvers on two instances, written point by point without a cluster."""
    from ioopt.campaign.grid import build_grid, read_config
    from ioopt.campaign.store import Store
    from ioopt.campaign.work import perform

    with tempfile.TemporaryDirectory() as folder:
        config, path = Path(folder, "grid.toml"), os.path.join(folder, "runs.sqlite")
        config.write_bytes(CONFIG)
        grid = build_grid(read_config(str(config)), folder)
        with Store(path) as store:
            store.begin("{}", len(grid.points))
            for point in grid.points[:6]:
                store.put(*perform(point, grid.sources[point.source]))
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.close()
        return [Path(path).read_bytes()]


def _message(number: int, line: Mapping[str, Any]) -> dict[str, Any]:
    session = {"session": 1} if line["op"] in ("call", "save", "close") else {}
    return {"ioopt": 1, "id": number, **session, **line}


def _lines() -> list[bytes]:
    """Messages to `ioopt serve`: every operation, on the bundled snapshots and objects."""
    machine = {"nodes": 4, "levels": 2, "quantum_seconds": 200.0}
    storage = {
        "nodes": 8, "unit_nodes": 1, "allocation": "flat", "node_bytes_per_second": 1e9,
        "storage_bytes_per_second": 4e9,
    }  # fmt: skip
    arrival = {"job": "a", "file_nodes": [0, 1], "local_seconds": 9.0, "remote_seconds": 18.0,
               "now": 0.0}  # fmt: skip
    nodes = {"nodes": [{"id": "n0"}, {"id": "n1"}],
             "network": {"remote_bytes_per_second": 1.0, "replica_bytes_per_second": 2.0}}  # fmt: skip
    decide = {"op": "decide", "instance": json.loads(_bundled("io-requests")[0]), "deadline": 1}
    gang = {"op": "decide", "instance": json.loads(_bundled("gang-matrix")[0]), "deadline": 1,
            "solver": "migrate-iogs", "set": {}}  # fmt: skip
    calls: list[list[dict[str, Any]]] = [
        [{"op": "ping"}],
        [decide],
        [gang],
        [
            {"op": "open", "object": "GangScheduler", "arguments": {"machine": machine}},
            {"op": "call", "method": "arrive", "arguments": arrival},
            {"op": "call", "method": "served",
             "arguments": {"job": "a", "attained_seconds": 1.0, "needed_seconds": 8.0}},
            {"op": "call", "method": "matrix", "arguments": {"now": 0.0}},
            {"op": "call", "method": "depart", "arguments": {"job": "a", "now": 5.0}},
            {"op": "save"},
            {"op": "close"},
        ],
        [
            {"op": "open", "object": "IoArbiter",
             "arguments": {"machine": storage, "policy": "adaptive"}},
            {"op": "call", "method": "request",
             "arguments": {"id": 1, "nodes": 4, "size": 8e9, "now": 0.0}},
            {"op": "call", "method": "decide", "arguments": {"now": 0.0}},
            {"op": "call", "method": "progress", "arguments": {"id": 1, "moved_bytes": 1e9}},
            {"op": "call", "method": "finish", "arguments": {"id": 1}},
            {"op": "save"},
        ],
        [
            {"op": "open", "object": "ReplicationPlanner", "arguments": nodes},
            {"op": "call", "method": "submit", "arguments":
             {"tasks": [{"id": "t", "compute_seconds": 1.0, "inputs": ["f"]}],
              "files": [{"id": "f", "bytes": 10}], "deadline": 2.0}},
            {"op": "call", "method": "next", "arguments": {"node": "n0"}},
            {"op": "call", "method": "completed", "arguments": {"task": "t"}},
            {"op": "save"},
        ],
        [
            {"op": "open", "object": "GangednessMonitor", "arguments": {"processors": 4}},
            {"op": "call", "method": "observe", "arguments":
             {"processor": 0, "ganged": True, "running": True, "messages": 3}},
            {"op": "call", "method": "classify", "arguments": {}},
            {"op": "save"},
        ],
    ]  # fmt: skip
    from ioopt.embed.service import Service

    for lines in calls[3:]:  # an object that goes on from its saved state
        service = Service()
        replies = [
            json.loads(service.handle(json.dumps(_message(0, line)).encode()))
            for line in [*lines[:-1], {"op": "save"}]
        ]
        assert all(reply["ok"] for reply in replies), replies
        opened = {
            "op": "open",
            "object": lines[0]["object"],
            "state": replies[-1]["result"]["state"],
        }
        calls.append([opened, *lines[1:]])
    return [
        b"\n".join(json.dumps(_message(number, line)).encode() for number, line in enumerate(lines))
        for lines in calls
    ]


def _mutate_messages(raw: bytes, rng: random.Random) -> bytes:
    lines = raw.split(b"\n")
    for _ in range(rng.randint(1, 2)):
        at = rng.randrange(len(lines))
        with contextlib.suppress(ValueError, RecursionError):  # hurt before
            lines[at] = mutate_json(lines[at], rng).replace(b"\n", b" ")
    return b"\n".join(lines)


def serve_lines(data: bytes) -> int:
    """Give the lines to one connection's service: 0, or 1 where one is answered by "internal"."""
    from ioopt.embed.service import Service

    service = Service()
    for line in data.split(b"\n"):
        reply = json.loads(service.handle(line))
        if not reply["ok"] and reply["error"]["code"] == "internal":
            raise AssertionError(f"{reply['error']['message']} <- {line[:200]!r}")
    return 0


def all_readers() -> list[Reader]:
    """Every reader of the project."""
    swf = ["KTH-SP2-1996-2.1-cln.first20000.swf", "NASA-iPSC-1993-3.1-cln.swf",
           "HPC2N-2002-excerpt-alea.swf", "lublin_256.swf", "cqsim-test.swf"]  # fmt: skip
    darshan = ["carns_mpi-io-test-ppc32-2.2.6_id100_1-1-169-3365979776611785968_1.v2.parser.txt",
               "edison-vpicio-2048procs.v3.parser.txt", "empty.v3.parser.txt"]  # fmt: skip
    write = lambda *words: lambda path, out: ["import", *words, path, "-o", out]  # noqa: E731
    readers = [reader for kind in INSTANCES for reader in _of_kind(kind)]
    plot: Command = lambda p, o: ["plot", p, "-o", o + ".svg"]  # noqa: E731
    readers += [
        Reader("comparison", _comparisons, mutate_json, (plot,), 0.5),
        Reader("swf", _data("swf", swf, 60), mutate_text,
               (write("swf"), write("swf", "--family", "gang")), 8),
        Reader("darshan", _data("darshan", darshan, 450), mutate_text, (write("darshan"),), 4),
        Reader("batsim", _batsim, mutate_json, (write("batsim"),), 4),
        Reader("batsim-jobs", _batsim_jobs, mutate_text, (write("batsim-jobs"),), 4),
        Reader("wfformat", _data("wfformat", ["helloworld-forkjoin-10-chameleon.json"]),
               mutate_json, (write("wfformat"),), 4),
        Reader("io-congestion", _data("io-congestion", ["set11", "set3"]), mutate_text,
               (write("io-congestion"),), 4),
        Reader("messages", _messages, mutate_text, (write("messages"),), 6, ending=".csv"),
        Reader("sweep", lambda: [CONFIG], mutate_text,
               (lambda p, o: ["sweep", p, "--store", o + ".sqlite", "--dry-run"],), 4),
        Reader("store reported", _stores, mutate_store,
               (lambda p, o: ["report", p, "-o", o + ".html"],), 0.1),
        Reader("store listed", _stores, mutate_store,
               (lambda p, o: ["report", p, "-o", o + ".csv"],
                lambda p, o: ["plot", p, "--picture", "gantt", "-o", o + ".svg"],
                lambda p, o: ["plot", p, "-o", o + ".svg"]), 0.5),
        Reader("serve", _lines, _mutate_messages, direct=serve_lines, weight=8),
    ]  # fmt: skip
    return readers


def run_all(total: int, seed: int, names: list[str], keep: str | None = None) -> list[Found]:
    """Run *total* inputs over the readers whose names contain one of *names* (none: all)."""
    readers = [
        reader
        for reader in all_readers()
        if (not names or any(n in reader.name for n in names)) and reader.texts()
    ]
    whole = sum(reader.weight for reader in readers)
    results = []
    for reader in readers:
        count = max(1, round(total * reader.weight / whole))
        results.append(run_reader(reader, count, seed, keep))
        found = results[-1]
        codes = ", ".join(f"{code}: {number}" for code, number in sorted(found.codes.items()))
        print(
            f"{found.reader:26} {codes}; {found.seconds:.1f} CPU s, at most "
            f"{found.most_seconds:.2f} s and {found.most_bytes >> 20} MB an input; "
            f"{len(found.faults)} faults",
            flush=True,
        )
    return results


if __name__ == "__main__":
    folder = os.environ.get("IOOPT_FUZZ_KEEP")
    everything = run_all(
        int(sys.argv[1]), int(os.environ.get("IOOPT_FUZZ_SEED", "0")), sys.argv[2:], folder
    )
    faults = [fault for found in everything for fault in found.faults]
    print(*faults, sep="\n")
    inputs = sum(sum(found.codes.values()) for found in everything)
    print(f"{inputs} inputs, {len(faults)} faults")
    raise SystemExit(bool(faults))
