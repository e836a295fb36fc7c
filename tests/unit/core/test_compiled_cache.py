"""Stored machine code is dropped when any file changes that a kernel may call into."""

import os
import re
from pathlib import Path

import pytest
from conftest import ROOT

from ioopt import compiled


def test_the_stamp_sees_a_change_that_keeps_size_and_time(tmp_path: Path) -> None:
    """numba's own stamp is of the file of the outer function alone."""
    (tmp_path / "outer.py").write_text("from inner import one\n")
    inner = tmp_path / "inner.py"
    stamps = []
    for text in ("one = 1\n", "one = 2\n", "one = 1\n"):
        inner.write_text(text)
        os.utime(inner, (1e9, 1e9))
        compiled.source_stamp.cache_clear()
        stamps.append(compiled.source_stamp(tmp_path))
    assert stamps[0] == stamps[2] != stamps[1]


def test_kernels_carry_the_stamp_of_the_folder() -> None:
    pytest.importorskip("numba")
    from ioopt.sim.gang import clock

    wanted = compiled.source_stamp(*compiled.KERNEL_ROOMS)
    simulate = compiled.compiled(clock.__name__, "simulate", whole=True)
    assert simulate._cache._cache_file._source_stamp == wanted


def test_nothing_else_keeps_machine_code() -> None:
    keeping = [
        file.parent.name
        for role in ("ioopt", "models", "solvers")
        for file in (ROOT / role).rglob("*.py")
        if re.search(r"cache\s*=\s*True", file.read_text("utf-8"))
    ]
    assert set(keeping) == {"compiled"}


@pytest.mark.parametrize(
    ("fault", "left"), [(None, True), (AttributeError("no Buffer"), False)]
)
def test_an_index_of_another_version_is_removed(
    tmp_path: Path, fault: Exception | None, left: bool
) -> None:
    """numba unpickles it before it looks at the stamp; a class that is
    gone ends the command.
    """

    class Index:
        _index_path = str(tmp_path / "index.nbi")

        def _load_index(self) -> dict[str, str]:
            if fault:
                raise fault
            return {}

    Path(Index._index_path).touch()
    compiled.forget_unreadable(Index())
    assert Path(Index._index_path).exists() == left


def test_no_function_of_the_package_has_the_name_of_a_module() -> None:
    """Importing the module would put it in the place of the function."""
    for file in Path(str(compiled.__file__)).parent.glob("[a-z]*.py"):
        assert not callable(getattr(compiled, file.stem, None)), file.stem
