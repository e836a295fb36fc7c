"""How large a module and a folder may be: what a reader can take in at once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT

ROOMS = ("ioopt", "models", "solvers", "scripts")
MOST_LINES, MOST_FILES = 350, 20


def modules(root: Path = ROOT) -> dict[str, int]:
    """Lines of every module by its path from *root*; symbolic links are other names of the rooms."""
    found = [file for room in ROOMS for file in (root / room).rglob("*.py")]
    real = [file for file in found if not any(up.is_symlink() for up in file.parents)]
    return {file.relative_to(root).as_posix(): len(file.read_text().splitlines()) for file in real}


def test_no_module_is_longer_than_a_reader_can_take_in() -> None:
    assert {name for name, lines in modules().items() if lines > MOST_LINES} == set()


def test_no_folder_holds_more_files_than_a_reader_can_take_in() -> None:
    files = Counter(Path(name).parent.as_posix() for name in modules())
    assert {name for name, count in files.items() if count > MOST_FILES} == set()


@pytest.mark.parametrize(("lines", "found"), [(350, set()), (351, {"solvers/a.py"})])
def test_a_line_too_many_is_seen(tmp_path: Path, lines: int, found: set[str]) -> None:
    (tmp_path / "solvers").mkdir()
    (tmp_path / "solvers" / "a.py").write_text("x = 1\n" * lines)
    assert {name for name, count in modules(tmp_path).items() if count > MOST_LINES} == found
