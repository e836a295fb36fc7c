"""Zhang et al. on two calibrations of the preset: the one chosen, and smaller jobs with calmer arrivals.

Both have the same seeds, so that what changes between the columns is the workload alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from papers.claims import REPRODUCED
from papers.zhang import Runs, claims_on

CALM = {"class_centre": 4.66, "interarrival_cv": 1.0}
HEAD = (
    "claim", "the paper's word", "as chosen", "verdict there", "class_centre 4.66, c.v. 1.0", "verdict",
)  # fmt: skip


def _size(quick: bool) -> tuple[int, int, int]:
    return (1_000, 2, 2) if quick else (10_000, 30, 30)


def sizes(quick: bool) -> str:
    """One line: how much is run."""
    jobs, seeds, _ = _size(quick)
    return f"preset blue-pacific-like twice, {jobs} jobs, {seeds} seeds a point; 95 % intervals"


def claims(quick: bool) -> list[tuple[str, ...]]:
    """Every claim on both calibrations; the last column is the verdict on the other one."""
    chosen, calm = (claims_on(Runs(*_size(quick), preset)) for preset in ({}, CALM))
    return [(a.claim, a.paper, a.ours, a.verdict, b.ours, b.verdict) for a, b in zip(chosen, calm)]


def notes(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """How many claims each calibration reproduces, and which differ."""
    for name, at in (("As chosen", 3), ("With class_centre 4.66 and c.v. 1.0", 5)):
        yield f"{name}: {sum(row[at] == REPRODUCED for row in rows)} of {len(rows)} reproduced."
    differ = [f"{row[0]} ({row[3]}, {row[5]})" for row in rows if row[3] != row[5]]
    yield f"Other verdicts on {len(differ)} of them: {'; '.join(differ) or 'none'}."
