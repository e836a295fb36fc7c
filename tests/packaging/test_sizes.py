"""How large a module and a folder may be before a reader should look at them: warnings, not faults."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT

ROOMS = ("ioopt", "models", "solvers", "scripts")
MOST_LINES, MOST_FILES = 350, 20


def large(root: Path = ROOT) -> list[str]:
    """Modules and folders beyond; symbolic links are other names of the rooms."""
    found = [file for room in ROOMS for file in (root / room).rglob("*.py")]
    real = [file for file in found if not any(up.is_symlink() for up in file.parents)]
    lines = {file: len(file.read_text().splitlines()) for file in real}
    files = Counter(file.parent for file in real)
    counts = [(at, n, MOST_LINES) for at, n in lines.items()]
    counts += [(at, n, MOST_FILES) for at, n in files.items()]
    return [f"{at.relative_to(root).as_posix()}: {n}" for at, n, most in counts if n > most]


def test_modules_and_folders_are_named_that_have_grown_large() -> None:
    for name in large():
        warnings.warn(name, stacklevel=1)


@pytest.mark.parametrize(("lines", "found"), [(350, []), (351, ["solvers/a.py: 351"])])
def test_a_line_too_many_is_seen(tmp_path: Path, lines: int, found: list[str]) -> None:
    (tmp_path / "solvers").mkdir()
    (tmp_path / "solvers" / "a.py").write_text("x = 1\n" * lines)
    assert large(tmp_path) == found
