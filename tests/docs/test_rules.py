"""Every numbered rule that the code refers to has its heading, and no number stands twice."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT

RULES = ROOT / "docs" / "rules"
REFERENCE = re.compile(r"\brules? ([0-9]+)(?:(?: to |-)([0-9]+)|(?:, [0-9]+)* and ([0-9]+))?")
CODE = {
    "batch-io": ("**/*batch_io*.py", "**/batch_io/*.py", "**/io_requests*.py"),
    "gang": ("**/gang_*.py", "**/gang/*.py"),
}


def referred(family: str) -> dict[int, set[str]]:
    """Rule -> files that refer to it."""
    found: dict[int, set[str]] = {}
    for folder in (ROOT / "ioopt", ROOT / "models", ROOT / "solvers"):
        for pattern in CODE[family]:
            for path in folder.glob(pattern):
                text = re.sub(r"\s+", " ", path.read_text("utf-8"))
                for first, last, second in REFERENCE.findall(text):
                    numbers = {int(first), int(second or first)}
                    numbers |= set(range(int(first), int(last or first) + 1))
                    for number in numbers:
                        found.setdefault(number, set()).add(path.name)
    return found


def headings(family: str) -> list[int]:
    text = (RULES / f"{family}.md").read_text("utf-8")
    return [int(number) for number in re.findall(r"^### Rule (\d+): ", text, re.M)]


@pytest.mark.parametrize(("family", "count"), [("batch-io", 23), ("gang", 17), ("replication", 11)])
def test_rules_are_numbered_once_and_in_order(family: str, count: int) -> None:
    assert headings(family) == list(range(1, count + 1))


@pytest.mark.parametrize("family", CODE)
def test_rules_that_the_code_refers_to_are_on_the_page(family: str) -> None:
    found = referred(family)
    assert len(found) >= 5
    missing = {number: files for number, files in found.items() if number not in headings(family)}
    assert not missing


def test_features_of_flexgang_have_their_headings() -> None:
    text = (RULES / "flexgang.md").read_text("utf-8")
    assert re.findall(r"^## (F\d): ", text, re.M) == [f"F{k}" for k in range(1, 7)]
