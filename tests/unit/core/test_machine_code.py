"""The one rule that chooses between machine code and plain Python, on a
clock that stands still.
"""

import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from ioopt.compiled import choice
from ioopt.compiled.choice import KERNELS, Kernel, use_machine_code
from ioopt.options import Deadline

FIRST = "compiling gang, gangs: once on this machine"
LATE = (
    "compiling takes longer than this run allows; continuing uncompiled. "
    "The next run will be faster."
)


@pytest.fixture(autouse=True)
def two_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule does not depend on which kernels there are."""
    kernels = [
        Kernel("gang", "gangs", "time:time", "time:time"),
        Kernel("replication", "queues", "time:time", "time:time"),
    ]
    monkeypatch.setattr(choice, "KERNELS", {kernel.name: kernel for kernel in kernels})


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was compiled here or beside, or said."""
    told: list[str] = []

    def beside(family: str, first: str = "", wait_seconds: float = 0.0) -> bool:
        told.append(
            f"beside {family}" + f", {first} within {wait_seconds:g} s" * bool(first)
        )
        return wait_seconds > 40.0

    monkeypatch.setattr(choice, "_loaded", set())
    monkeypatch.setattr(choice, "available", lambda: True)
    monkeypatch.setattr(choice, "compile_beside", beside)
    monkeypatch.setattr(choice, "say", told.append)
    monkeypatch.setattr(choice.time, "perf_counter", lambda: 0.0)
    return told


@pytest.mark.parametrize(
    ("ready", "limit", "plain", "fast", "what"),
    [
        (True, None, 0.9, False, []),  # short work needs none
        (True, 2.5, 2.0, True, []),  # stands ready, and there is time to load it
        (
            True,
            1.9,
            1.9,
            False,
            [],
        ),  # stands ready, but loading would take half of the limit
        (False, 1.9, 1.9, False, []),  # neither time to compile beside
        (False, 5.0, 2.0, False, ["beside gang"]),
        (False, 59.0, 30.0, False, ["beside gang"]),
        (
            False,
            60.0,
            9.0,
            False,
            ["beside gang"],
        ),  # compiling takes longer than the work
        (False, 60.0, 10.0, False, [FIRST, "beside gang, gangs within 30 s", LATE]),
        (
            False,
            100.0,
            10.0,
            True,
            [FIRST, "beside gang, gangs within 50 s", "compiled in 0 s"],
        ),
        (
            False,
            None,
            10.0,
            True,
            [FIRST, "beside gang, gangs within inf s", "compiled in 0 s"],
        ),
    ],
)
def test_the_rule(
    ready: bool,
    limit: float | None,
    plain: float,
    fast: bool,
    what: list[str],
    done: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Kernel, "ready", lambda kernel: ready)
    assert use_machine_code("gangs", Deadline(limit, clock=lambda: 0.0), plain) is fast
    assert done == what


def test_what_is_loaded_is_used_to_the_end(
    done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of many short replays loads machine code; those near the
    limit go on with it.
    """
    monkeypatch.setattr(Kernel, "ready", lambda kernel: True)
    late = Deadline(0.5, clock=lambda: 0.0)
    assert not use_machine_code("gangs", late, 0.5)
    assert use_machine_code("gangs", Deadline(5.0, clock=lambda: 0.0), 5.0)
    assert use_machine_code("gangs", late, 0.5) and done == []


def test_a_part_of_a_long_run_is_part_of_a_long_run(
    done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solver that keeps time for its answer, out of 100 s, still compiles first."""
    monkeypatch.setattr(Kernel, "ready", lambda kernel: False)
    part = Deadline(100.0, clock=lambda: 0.0).with_overtime().within(55.0)
    assert part.limit_seconds == 55.0 and not use_machine_code("gangs", part, 10.0)
    assert done == [FIRST, "beside gang, gangs within 27.5 s", LATE]


def test_without_numba_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "available", lambda: False)
    monkeypatch.setattr(Kernel, "ready", lambda kernel: 1 / 0)
    assert not use_machine_code("gangs", Deadline(None), 1e9)


def test_a_stamp_lies_where_numba_keeps_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it numba is not even imported; another version of
    ioopt does not find it.
    """
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "new"))
    monkeypatch.setattr(choice, "available", lambda: True)
    monkeypatch.setattr(choice, "_compiled", lambda module, name: 1 / 0)
    kernel = KERNELS["batch I/O"]._replace(target="time:time")
    assert not kernel.ready()
    kernel.compile()
    assert [path.name[:10] for path in (tmp_path / "new").iterdir()] == ["batch-I-O-"]
    with pytest.raises(ZeroDivisionError):
        kernel.ready()
    monkeypatch.setattr(choice, "__version__", "0.0")
    assert not kernel.ready()


def test_processes_that_compile_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is taken before anything is compiled; where there are no locks
    it runs all the same.
    """
    told: list[str] = []

    def lock(file: IO[bytes], how: int) -> None:
        assert how == fcntl.LOCK_EX and file.name == choice.__file__
        told.append("my turn")
        if len(told) > 2:
            raise OSError("no locks here")

    monkeypatch.setattr(fcntl, "flock", lock)
    monkeypatch.setattr(choice.os, "nice", lambda by: 0)
    monkeypatch.setattr(Kernel, "ready", lambda kernel: False)
    monkeypatch.setattr(Kernel, "compile", lambda kernel: told.append(kernel.name))
    for _ in range(2):
        choice.compile_family("gang")
    assert told == ["my turn", "gangs"] * 2
    told.clear()
    choice.compile_family("replication", "queues")
    assert told[:2] == ["my turn", "queues"]


@pytest.mark.parametrize(
    ("made_after", "ends_after", "made"),
    [(3, 99, True), (99, 4, False), (99, 99, False)],
)
def test_a_run_waits_for_the_process_that_compiles(
    made_after: int, ends_after: int, made: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the kernel is made, the process has ended, or the wait is over:
    10 looks of a second.
    """
    looks = [0]

    class Process:
        stdin = None

        def __init__(self, *_: object, **__: object) -> None: ...

        def poll(self) -> int | None:
            return 1 if looks[0] >= ends_after else None

    monkeypatch.setattr(choice, "_COMPILERS", {})
    monkeypatch.setattr(choice.subprocess, "Popen", Process)
    monkeypatch.setattr(Kernel, "ready", lambda kernel: looks[0] >= made_after)
    monkeypatch.setattr(choice.time, "monotonic", lambda: float(looks[0]))
    monkeypatch.setattr(
        choice.time, "sleep", lambda _: looks.__setitem__(0, looks[0] + 1)
    )
    assert not choice.compile_beside("gang") and looks == [0]
    assert choice.compile_beside("gang", "gangs", 10.0) is made
    assert looks == [min(made_after, ends_after, 10)]


@pytest.mark.parametrize(
    ("end", "told"), [("0", b"."), ("os.kill(os.getpid(), 9)", b"")]
)
def test_the_process_that_compiles_is_told_to_go_on(
    end: str, told: bytes, tmp_path: Path
) -> None:
    """A command that ends lets its compiler go on; one that is killed says nothing."""
    python, heard = tmp_path / "python", tmp_path / "heard"
    os.mkfifo(heard)
    python.write_text(f"#!/bin/sh\nexec cat > {heard}\n")
    python.chmod(0o755)
    code = f"""import os, sys; sys.executable = {str(python)!r}
from ioopt.compiled import choice
choice.compile_beside("gang"); {end}"""
    subprocess.run([sys.executable, "-c", code], check=False)
    assert heard.read_bytes() == told


@pytest.mark.parametrize(("word", "code"), [(b".", 0), (b"", 1)])
def test_a_compiler_ends_where_its_parent_was_killed(word: bytes, code: int) -> None:
    body = (
        "from ioopt.compiled import choice as c; import time; c.compile_family = "
        "lambda *_: "
    )
    body += "time.sleep(0.3)" if word else "time.sleep(60)"
    done = subprocess.run(
        [sys.executable, "-c", f"{body}; c.compile_for_parent('gang')"], input=word
    )
    assert done.returncode == code
