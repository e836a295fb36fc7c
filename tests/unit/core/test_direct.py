"""Machine code that runs without numba: the same answers, and dropped when it would not fit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import ROOT

import ioopt
from ioopt.catalog import resolve
from ioopt.compiled import direct

pytestmark = pytest.mark.skipif(not direct.tried(), reason="linked on x86-64 Linux alone")

WITHOUT_NUMBA = """
import json, sys
sys.modules["numba"] = None
import ioopt
from ioopt.solvers.batch_io import run
run.available, run.LINKED_FROM_PHASES = lambda: True, 1
seen, link = [], run.simulate_trace
run.simulate_trace = lambda *given, **named: seen.append(1) or link(*given, **named)
result = ioopt.solve(sys.argv[1], sys.argv[2])
print(json.dumps([bool(seen), result.schedule, result.metrics]))
"""


@pytest.mark.parametrize("solver", ["base-line", "adaptive"])
def test_stored_code_gives_the_same_answer_without_numba(solver: str) -> None:
    pytest.importorskip("numba")
    path = str(resolve("mira-day"))
    ioopt.solve(path, solver, settings={"engine": "compiled"}, time_limit=None)  # now it is stored
    plain = ioopt.solve(path, solver, settings={"engine": "python"})
    linked = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMBA, path, solver], cwd=ROOT, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    in_plain, schedule, metrics = json.loads(linked.stdout)
    assert not in_plain
    assert (schedule, metrics) == (plain.schedule, plain.metrics)


class Three(NamedTuple):
    """A tuple as kernels take them."""

    flag: bool
    number: int
    array: Any


def write(kernel: direct.Direct, told: dict[str, Any]) -> None:
    kernel._file((1,)).write_bytes(json.dumps(told).encode() + b"\n")


def test_code_of_other_files_or_another_machine_is_not_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("llvmlite")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    kernel = direct.Direct("ioopt.decisions.batch_io_kernels", "never_asked")
    assert not kernel.stored()
    source = tmp_path / "other.py"
    source.write_text("one = 1\n")
    told = {"others": [str(source)], "stamp": direct.source_stamp(source)}
    write(kernel, told)
    assert kernel.stored()
    monkeypatch.setattr(direct, "_machine", lambda: "another")
    assert not kernel.stored()
    write(kernel, {**told, "stamp": "of yesterday"})
    assert not kernel.stored()


def test_tuples_are_laid_out_as_numba_does() -> None:
    """bool, 7 bytes of nothing, int, then an array: 2 owners, items, item size, address, shape, stride."""
    numpy = pytest.importorskip("numpy")
    array = numpy.arange(3.0)
    block = direct._packed(Three(True, 7, array), [])
    words = numpy.frombuffer(block, dtype=numpy.int64)
    assert block[0] == 1
    assert words[1:].tolist() == [7, 0, 0, 3, 8, array.ctypes.data, 3, 8]
