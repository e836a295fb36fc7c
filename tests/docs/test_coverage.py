"""The page of coverage: what it names is there, and its counts
are those of its rows.
"""

import re
from collections import Counter
from itertools import groupby

from conftest import ROOT

PAPERS = {"K": "Khanna", "Z": "Zhou", "G": "Zhang", "L": "Lee"}
WORDS = ("complete", "partly", "other reading", "not built")


def table(start: str) -> list[list[str]]:
    """Cells of the rows that begin with *start*, an expression."""
    lines = (ROOT / "docs" / "coverage.md").read_text("utf-8").splitlines()
    rows = [
        line.strip("|").split("|") for line in lines if re.match(rf"\| {start} ", line)
    ]
    return [[cell.strip() for cell in row] for row in rows]


def absent(cell: str) -> list[str]:
    """Paths of *cell* that are not there, names that are not in
    the file before them.
    """
    wrong, text = [], ""
    for quoted in re.findall(r"`([^`]+)`", cell):
        if "/" in quoted:
            path = ROOT / quoted
            text = path.read_text("utf-8") if path.is_file() else ""
            wrong += [] if text else [quoted]
        elif not re.search(rf"(?<!\w){re.escape(quoted)}(?!\w)", text):
            wrong.append(quoted)
    return wrong


def test_every_path_and_name_is_there() -> None:
    wrong = {
        row[0]: gone
        for row in table(r"[KZGL]\d+")
        if (gone := absent(" ".join(row[2:4])))
    }
    assert not wrong
    assert absent(
        "`docs/coverage.md` `Khanna` `of no such thing`, `docs/none.md` `x`"
    ) == [
        "of no such thing",
        "docs/none.md",
        "x",
    ]


def test_every_row_names_a_test_or_a_row_of_the_reproduction() -> None:
    for row in table(r"[KZGL]\d+"):
        tests = re.findall(r"`tests/\S+\.py`(?: `test_\w+`)*", row[3])
        assert all(" " in test for test in tests), f"{row[0]} names no function"
        judged = "reproduction" in row[3]
        assert not judged or "`scripts/papers/" in row[2], f"{row[0]} names no row"
        assert tests or judged or row[4].startswith("not built"), row[0]


def test_ids_statuses_and_counts() -> None:
    rows, stated = table(r"[KZGL]\d+"), table(r"(?:\[\w+ et al\.\S+|all)")
    total: Counter[str] = Counter()
    for (letter, paper), line in zip(PAPERS.items(), stated, strict=False):
        own = [row for row in rows if row[0][0] == letter]
        assert [row[0] for row in own] == [f"{letter}{n + 1}" for n in range(len(own))]
        words = [next(word for word in WORDS if row[4].startswith(word)) for row in own]
        for row, word in zip(own, words, strict=True):
            assert row[2] or word == "not built", f"{row[0]} names no file"
            assert word == row[4] or re.match(rf"{word}(: |, because )\S", row[4]), row[
                4
            ]
        counts = Counter(words)
        assert paper in line[0] and line[1:] == [
            str(len(own)),
            *(str(counts[w]) for w in WORDS),
        ]
        total += counts
    assert stated[-1] == ["all", str(len(rows)), *(str(total[word]) for word in WORDS)]
    assert [letter for letter, _ in groupby(row[0][0] for row in rows)] == list(PAPERS)
