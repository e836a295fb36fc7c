"""Damaged inputs of every reader: an answer, or one line; never a traceback, a
hang or a memory hog.

``IOOPT_FUZZ_INPUTS=100000 python -m pytest -m slow
tests/property/test_fuzz_inputs.py`` runs more.
"""

import importlib.util
import json
import os
import random

import pytest
from conftest import first, shared_path
from damage.mutators import mutate_bytes
from damage.running import MOST_BYTES, Reader, run_command, run_reader
from fuzzing import all_readers

INPUTS = int(os.environ.get("IOOPT_FUZZ_INPUTS", "3000"))
QUICK = (
    "swf",
    "darshan",
    "batsim",
    "wfformat",
    "estee",
    "saga",
    "nextflow-trace",
    "sweep",
    "replication instance",
    "batch-io result",
    "gang result",
    "serve",
)
READERS = {reader.name: reader for reader in all_readers()}
WHOLE = sum(reader.weight for reader in READERS.values())


def check_reader(reader: Reader, count: int, seed: int) -> None:
    assert reader.texts(), f"{reader.name} has no inputs"
    found = run_reader(reader, count, seed)
    assert not found.faults
    assert sum(found.codes.values()) == count
    assert found.most_bytes < MOST_BYTES
    if (
        count > 50 and reader.direct is None
    ):  # damage is neither harmless nor always fatal
        assert 0 < found.codes[2] < count, found.codes


@pytest.mark.parametrize("name", first(6, QUICK))
def test_damaged_inputs(name: str) -> None:
    check_reader(READERS[name], 60, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", READERS)
def test_many_damaged_inputs(name: str) -> None:
    check_reader(
        READERS[name], round(INPUTS * READERS[name].weight / WHOLE) + 1, seed=11
    )


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("darshan") is None,
    reason="the optional package darshan is missing",
)
def test_damaged_binary_logs() -> None:
    names = ("edison-vpicio-2048procs", "mpi-io-test-dxt-32procs", "empty")
    logs = [
        shared_path("data", "darshan", f"{name}.v3.darshan").read_bytes()
        for name in names
    ]

    def mutate(raw: bytes, rng: random.Random) -> bytes:
        return raw[:5] + mutate_bytes(raw[5:], rng)

    import_darshan = READERS["darshan"].commands
    check_reader(
        Reader("darshan logs", lambda: logs, mutate, import_darshan), 16, seed=3
    )


def faults(command: list[str], **changes: object) -> list[str]:
    """What is said of one input, whatever it is, that *command* is run on."""
    reader = Reader(
        "probe", lambda: [b"x"], lambda raw, rng: raw, (lambda p, o: command,)
    )
    return run_reader(reader, 1, warm=0).faults


def test_faults_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tracebacks, several lines, endless loops and too much memory."""
    import ioopt.cli.check as module
    from ioopt.errors import InstanceError

    def reads(action: object) -> list[str]:
        monkeypatch.setattr(module, "load", lambda source: action())  # type: ignore[operator]
        return faults(["check", "x"])

    def refuse() -> None:
        raise InstanceError("no")

    def forever() -> None:
        while True:
            pass

    assert reads(refuse) == []
    assert "KeyError" in reads(lambda: {}["x"])[0]
    assert "MemoryError" in reads(lambda: bytearray(2 * MOST_BYTES))[0]
    monkeypatch.setattr("damage.running.MOST_SECONDS", 0.05)
    assert "CPU seconds" in reads(forever)[0]


def test_damage_depends_on_the_seed_alone() -> None:
    reader = READERS["replication instance"]
    first, again, other = (
        [
            reader.mutate(reader.texts()[0], random.Random(f"{seed} {k}"))
            for k in range(20)
        ]
        for seed in (1, 1, 2)
    )
    assert first == again != other
    assert len(set(first)) > 15


def test_undamaged_inputs_are_answered(tmp_path: object) -> None:
    """Nothing is tested by damage to what is refused anyway."""
    for kind in ("batch-io", "gang"):
        document = json.loads(READERS[f"{kind} instance"].texts()[0])
        path = os.path.join(str(tmp_path), "whole.json")
        with open(path, "w") as stream:
            json.dump(document, stream)
        assert run_command(["check", path]) == (0, "")
