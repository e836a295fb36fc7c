"""Lee et al.: each section's module gives claims; this prints and collects them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ioopt.tables import render

if TYPE_CHECKING:
    from papers.claims import Claim

SECTIONS = (
    "papers.lee_quanta",
    "papers.lee_perturbations",
    "papers.lee_gangedness",
    "papers.lee_assignment",
)


def sizes(quick: bool) -> str:
    """One line: how much is run."""
    if quick:
        return "horizon of 20 s, 5 runs and 5 recordings a workload, 2 heavy mixes"
    return "the model's horizon, 20 runs and 40 recordings a workload, 24 heavy mixes"


def main(quick: bool = False) -> list[Claim]:
    """Run every section, print its tables, and end with the list of what is not reproduced."""
    rows: list[Claim] = []
    for section in SECTIONS:
        rows += importlib.import_module(section).main(quick)
    failed = [(row.where, row.claim, row.ours) for row in rows if row.verdict == "not reproduced"]
    print(f"\nNot reproduced: {len(failed)} of {len(rows)} claims\n")
    print(render(("where", "claim", "measured"), failed))
    return rows
