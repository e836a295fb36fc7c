"""The reproduction's page from what a store holds, and a killed reproduction that goes on."""

from __future__ import annotations

import re
import signal
import subprocess
import sys

import pytest
from campaign_helpers import ROOT, environment, rows_in
from papers import page as reproduction_page

from ioopt.campaign.store import Store, StoreReader
from ioopt.errors import InstanceError

CLAIMS = [
    ("a < b", "Fig. 1", "a is less", "0.9 ± 0.05", "reproduced"),
    ("c|d", "Fig. 2", "equal", "c 3, d 4", "not reproduced"),
    ("e", "Fig. 3", "no figure", "5", "no figure to compare"),
]


def concluded(claims, seconds=1.5):
    picture = {"caption": "A picture", "svg": "<svg></svg>"}
    return {
        "claims": claims, "pictures": {"one": picture}, "sizes": "3 seeds", "num_values": 7,
        "seconds": seconds, "versions": {"ioopt": "1", "pulp": "not installed"},
    }  # fmt: skip


def test_the_page_counts_verdicts_and_prefers_full_runs(tmp_path):
    with Store(str(tmp_path / "runs.sqlite")) as store:
        store.conclude("zhou", "quick", concluded(CLAIMS[:1]))
        store.conclude("zhou", "full", concluded(CLAIMS))
        store.conclude("lee", "quick", concluded(CLAIMS[:2], 4.0))
        found = store.conclusions()
    page = tmp_path / "docs" / "page.md"
    reproduction_page.write_page(page, found)
    text = page.read_text()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    # lee: one reproduced, one not; zhou: the full run's three; sums of claims, runs, seconds
    assert ["Lee et al.: flexible gangs", "quick", "2", "1", "0", "1", "0", "7", "4"] in cells
    assert ["Zhou et al.: batch I/O", "full", "3", "1", "0", "1", "1", "7", "2"] in cells
    assert ["all", "", "5", "2", "0", "2", "1", "14", "6"] in cells
    assert "c\\|d" in text
    lee, zhou = text.split("## Zhou")
    assert "the full ones have not been run" in lee and "have not been run" not in zhou
    assert "reproduce.py lee --quick`" in lee and "reproduce.py zhou`" in zhou
    assert "ioopt 1." in text and "pulp" not in text
    assert (page.parent / "figures" / "one.svg").read_text() == "<svg></svg>"


@pytest.mark.slow
def test_a_killed_reproduction_goes_on_where_it_was(tmp_path):
    store, page = tmp_path / "runs.sqlite", tmp_path / "page.md"
    command = [sys.executable, str(ROOT / "scripts" / "reproduce.py"), "zhou", "--quick",
               "--store", str(store), "--output", str(page)]  # fmt: skip
    process = subprocess.Popen(
        command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None:
        if _rows(store) >= 30:
            process.send_signal(signal.SIGKILL)
            break
    process.wait()
    before = _rows(store)
    assert before >= 30 and not page.exists()
    again = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    said = re.search(r"zhou: (\d+) claims from (\d+) runs \((\d+) of them run now\)", again.stdout)
    assert said is not None, again.stdout
    claims, runs, now = map(int, said.groups())
    assert runs > before and now == runs - before
    assert _rows(store) == runs
    last = [line.rstrip("|").rpartition("|")[2].strip() for line in page.read_text().splitlines()]
    assert sum(word in ("reproduced", "partly", "not reproduced") for word in last) == claims


def _rows(path):
    """Rows of a store that may not be there yet, or be in creation."""
    try:
        with StoreReader(str(path)) as reader:
            return len(rows_in(reader))
    except InstanceError:
        return 0
