"""``ioopt doctor --compile``: every kernel of every family, with progress."""

import json
from importlib.metadata import version
from typing import Any

import pytest

from ioopt import compiled
from ioopt.compiled import choice
from ioopt.compiled.choice import KERNELS, Kernel
from ioopt.registry import families, load_target


def test_every_kernel_in_turn(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(Kernel, "compile", lambda kernel: done.append(kernel.name))
    monkeypatch.setattr(Kernel, "ready", lambda kernel: True)
    monkeypatch.setattr(
        choice, "KERNELS", {k: Kernel("gang", k, k, "") for k in ("one", "two")}
    )
    code, _, err = run("doctor", "--compile")
    assert code == 0 and done == ["one", "two"]
    assert [line.partition(" (")[0] for line in err.splitlines()] == [
        "compiled 1 of 2: gang, one",
        "compiled 2 of 2: gang, two",
    ]


def test_without_numba_a_package_is_missing(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "available", lambda: False)
    code, _, err = run("doctor", "--compile")
    assert code == 6 and "pip install 'ioopt[fast]'" in err


def test_every_family_has_its_kernels() -> None:
    """Work directories need none: a run of 10,000 tasks takes a second; those of
    gangs and flexible gangs are compiled from C.
    """
    assert {kernel.family for kernel in KERNELS.values()} == {*families()} - {
        "work-directory",
        "gang",
        "flexgang",
    }


@pytest.mark.parametrize(
    "kernel", KERNELS.values(), ids=lambda kernel: f"{kernel.family}: {kernel.name}"
)
def test_what_compiles_a_kernel_and_what_it_ends_with_are_there(kernel: Kernel) -> None:
    pytest.importorskip("numba")
    assert callable(load_target(kernel.target)) and callable(load_target(kernel.main))


@pytest.mark.slow
def test_runs_find_the_kernels_that_were_compiled() -> None:
    pytest.importorskip("numba")
    from ioopt.sim.batch_io import engine
    from ioopt.solvers.replication.exact import queue_kernel
    from ioopt.solvers.replication.search import line_kernel

    for kernel in KERNELS.values():
        kernel.compile()
        assert kernel.ready(), kernel
    assert compiled.is_kept(compiled.compiled(engine.__name__, "advance", whole=True))
    for module, name in (
        (line_kernel, "anneal"),
        (queue_kernel, "search"),
    ):
        assert compiled.is_kept(compiled.compiled(module.__name__, name))


def test_the_doctor_tells_what_is_here(run):
    code, out, _ = run("doctor", "--format", "json")
    rows = {(row["what"], row["name"]): row for row in json.loads(out)}
    assert rows["package", "numba"]["state"] == version("numba")
    assert rows["backend", "CP-SAT"]["state"] == version("ortools")
    states = {row["state"] for key, row in rows.items() if key[0] == "kernel"}
    assert states <= {"compiled", "plain Python", "not yet"}
    shown = run("doctor")
    assert code == shown[0] == 0 and all(
        len(line) <= 80 for line in shown[1].splitlines()
    )
