"""Which parts of ioopt may know which."""

import ast
from functools import cache
from pathlib import Path

import pytest

import ioopt

ROOT = Path(ioopt.__file__).parent
APART = [
    # Checkers are independent: whoever is checked shares no code with them.
    ("solvers", "ioopt.checks"),
    ("models", "ioopt.checks"),
    ("sim", "ioopt.checks"),
    ("checks", "ioopt.sim"),
    ("checks", "ioopt.models"),
    ("checks", "ioopt.solvers"),
    # The verdict compares a replay with bounds; the replay knows none.
    ("sim", "ioopt.models"),
    ("sim", "ioopt.solvers"),
]


@cache
def imported(folder: Path) -> list[tuple[str, str]]:
    """Return (file, name) for everything that a file of *folder* imports, inside
    functions too.
    """
    found = []
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    found.append((path.name, f"{node.module}.{alias.name}"))
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    found.append((path.name, alias.name))
    return found


@pytest.mark.parametrize(("part", "unknown"), APART)
def test_parts_that_must_not_know_each_other(part: str, unknown: str) -> None:
    found = imported(ROOT / part)
    assert len(found) > 20
    assert [row for row in found if f"{row[1]}.".startswith(f"{unknown}.")] == []
