"""The reproduction's page from what a store holds, and a killed
reproduction that goes on.
"""

import re
import subprocess
import sys

import pytest
from campaign_helpers import ROOT, environment, rows_so_far, wait_for_rows
from papers import page as reproduction_page
from papers.claims import (
    HOLDS,
    MIXED,
    NOT,
    NOT_RUN,
    PARTLY,
    TIE,
    VERDICTS,
    Claim,
    Spot,
    below,
    computed,
    reaches,
    several,
    verdict,
)

from ioopt.campaign.store import Store

CLAIMS = [
    Claim(
        "a < b",
        "Fig. 1",
        "a is less",
        "0.9 ± 0.05",
        HOLDS,
        [("ours", TIE, "1.00")],
        "< 1",
        drawn={"words": "a over b", "paper": {"first": 0.8}},
        spots=[Spot("first", 0.9, 0.85, 0.95), Spot("second", 1.1, 1.05, 1.15)],
    ),
    Claim("c|d", "Fig. 2", "equal", "c 3, d 4", NOT),
    Claim("e", "Fig. 3", "no figure", "5", NOT_RUN),
    Claim("f", "", "", "6", HOLDS, own=True),
    Claim("g", "Fig. 4", "5 of 10", "5", HOLDS, fitted=True),
]


def concluded(claims, seconds=1.5):
    picture = {"caption": "A picture", "svg": "<svg></svg>"}
    return {
        "claims": claims,
        "pictures": {"one": picture},
        "sizes": "3 seeds",
        "num_values": 7,
        "seconds": seconds,
        "versions": {"ioopt": "1", "pulp": "not installed"},
        "notes": [],
        "sweeps": [["Threshold", ["ratio", "2", "none"], [["a/b", "0.9", "1.1"]]]],
        "readings": ["as printed", "ours"],
    }


def test_verdicts_follow_the_printed_rules():
    assert below((0.9, 0.85, 0.95)) == HOLDS and below((1.1, 1.05, 1.15)) == NOT
    assert below((0.9, 0.7, 1.1)) == TIE
    # Figure 6a: a mean of .999 and one of 1.002 are the same, however
    # narrow their intervals
    assert below((0.999, 0.9985, 0.9995)) == below((1.002, 1.001, 1.003)) == TIE
    # 30 % less is claimed: 40 % less holds, 20 % less is less but not by that,
    # and 10 % more is not
    found = [(0.6, 0.5, 0.7), (0.8, 0.75, 0.85), (1.1, 1.05, 1.15)]
    assert [reaches(ratio, 0.7) for ratio in found] == [HOLDS, PARTLY, NOT]
    assert several([HOLDS, HOLDS]) == HOLDS and several([HOLDS, NOT]) == MIXED
    assert several([HOLDS, TIE]) == several([PARTLY, TIE]) == PARTLY
    assert several([MIXED, HOLDS]) == several([PARTLY, TIE, NOT]) == MIXED
    assert several([TIE, NOT]) == NOT and several([TIE, TIE]) == TIE


def test_a_row_is_judged_by_the_first_reading_and_names_the_others():
    row = {
        "claim": "below {x}",
        "where": "Fig. 1",
        "paper": "less",
        "how": "less",
        "than": 2,
    }
    how = {"less": lambda value, than: (str(value), verdict(value < than))}
    (one,) = computed([row], how, {"printed": (3,), "ours": (1,), "theirs": (4,)}, x=7)
    assert one[:6] == ("below 7", "Fig. 1", "less", "3", NOT, [("ours", HOLDS, "1")])
    (one,) = computed(
        [row | {"readings": ["ours"]}], how, {"printed": (3,), "ours": (1,)}, x=7
    )
    assert one[3:6] == ("1 (under: ours)", HOLDS, [])


def test_pages_count_the_verdicts_and_prefer_full_runs(tmp_path):
    with Store(str(tmp_path / "runs.sqlite")) as store:
        store.conclude("zhou", "quick", concluded(CLAIMS[:1]))
        store.conclude("zhou", "full", concluded(CLAIMS))
        store.conclude("lee", "quick", concluded(CLAIMS[:2], 4.0))
        found = store.conclusions()
    page = tmp_path / "docs" / "page.md"
    reproduction_page.write_page(page, found)
    text = page.read_text()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
    ]
    # lee: one holds, one not; zhou: the full run's three, without ours; sums of
    # claims, runs, seconds
    lee_title, zhou_title = (reproduction_page.TITLES[name] for name in ("lee", "zhou"))
    assert [lee_title, "quick", "2", "1", "0", "0", "0", "1", "0", "7", "4"] in rows
    assert [zhou_title, "full", "3", "1", "0", "0", "0", "1", "1", "7", "2"] in rows
    assert ["all", "", "5", "2", "0", "0", "0", "2", "1", "14", "6"] in rows
    assert "ioopt's own claims: 1 holds" in text
    headline = [
        "[Lee et al.](page/lee.md)",
        "a < b",
        "Fig. 1",
        "< 1",
        "0.9 ± 0.05",
        HOLDS,
    ]
    assert [*headline, "tie: ours"] in rows
    lee, zhou = (
        (page.parent / "page" / f"{name}.md").read_text() for name in ("lee", "zhou")
    )
    assert "c\\|d" in lee and "tie: ours (1.00)" in lee
    assert "the full ones have not been run" in lee and "have not been run" not in zhou
    assert "reproduce.py lee --quick`" in lee and "reproduce.py zhou`" in zhou
    assert "ioopt 1." in lee and "pulp" not in lee
    assert "## Threshold" in lee and "|a/b   | 0.9 |  1.1|" in lee
    assert "Claims of ioopt" in zhou and "Claims of ioopt" not in lee
    assert (page.parent / "page" / "figures" / "one.svg").read_text() == "<svg></svg>"


@pytest.mark.slow
def test_a_killed_reproduction_goes_on_where_it_was(tmp_path):
    store, page = tmp_path / "runs.sqlite", tmp_path / "page.md"
    command = [
        sys.executable,
        str(ROOT / "scripts" / "reproduce.py"),
        "zhou",
        "--quick",
        "--store",
        str(store),
        "--output",
        str(page),
    ]
    process = subprocess.Popen(
        command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for_rows(process, store, 30)
    process.kill()
    process.wait()
    before = rows_so_far(store)
    assert before >= 30 and not page.exists()
    again = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    said = re.search(
        r"zhou: (\d+) claims from (\d+) runs \((\d+) of them run now\)", again.stdout
    )
    assert said is not None, again.stdout
    claims, runs, now = map(int, said.groups())
    assert runs > before and now == runs - before
    assert rows_so_far(store) == runs
    text = (tmp_path / "page" / "zhou.md").read_text()
    told = [
        line.strip("|").split("|")[-2].strip()
        for line in text.splitlines()
        if "|" in line
    ]
    assert sum(word in VERDICTS for word in told) == claims


def test_a_drawn_claim_stands_beside_the_papers_number():
    (axes,) = reproduction_page.draw_claims(CLAIMS[:1]).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["first", "second"]
    diamonds = [line for line in axes.lines if line.get_marker() == "D"]
    assert [(*line.get_xdata(), *line.get_ydata()) for line in diamonds] == [(0.8, 0)]
    assert axes.get_title(loc="left") == "(1) Fig. 1: holds"


def test_a_claim_has_spots_only_where_it_is_drawn():
    def judged(**_):
        return "0.9", HOLDS, [Spot("one", 0.9, 0.8, 1.0)]

    row = {"claim": "a", "where": "", "paper": "", "how": "judged"}
    drawn = {"words": "ratio", "paper": 1.0}
    rows = [row, {**row, "drawn": drawn}]
    plain, shown = computed(rows, {"judged": judged}, {"as printed": ()})
    assert plain.spots == () and shown.spots == [Spot("one", 0.9, 0.8, 1.0)]
