"""Paper 000 (Zhang et al.): every claim with our figure, and our policies beside the paper's."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

from zhang_claims import LAST, PARTLY, REPRODUCED, Claim, claims
from zhang_runs import FOUR, INTENSITIES, Figures, Runs

from ioopt.tables import render

OURS = ("guarded-iogs", "index-iogs")


def runs_of(quick: bool) -> Runs:
    """The runs of one size."""
    return Runs(1_000, 2, 3) if quick else Runs()


def sizes(quick: bool) -> str:
    """One line: how much is run."""
    runs = runs_of(quick)
    return (
        f"preset blue-pacific-like, {runs.jobs} jobs, {runs.num_seeds} seeds a point, "
        f"{runs.settling_seeds} where those leave a claim open; 95 % intervals"
    )


def main(quick: bool = False) -> list[Claim]:
    """Print the claims, all 36 points, and the high-load comparison; return the claims."""
    runs = runs_of(quick)
    rows = claims(runs)
    print("Preset blue-pacific-like (a calibrated assumption, not the published fit); slowdown is "
          f"from arrival; {runs.jobs} jobs, {runs.num_seeds} seeds a point, "
          f"{runs.settling_seeds} where those leave a claim open. [a .. b]: 95 % interval of the "
          "mean.\n")  # fmt: skip
    head = ("no", "where", "claim", "paper", "ours", "verdict")
    print(render(head, [_cells(row) for row in rows]))
    counts = [row for row in rows if row.number.startswith("L")]
    statements = [row for row in rows if row.counted and row not in counts]
    print(f"\n{_held(statements)} of {len(statements)} statements reproduced "
          f"({_held(statements, PARTLY)} partly), {_held(counts)} of {len(counts)} counts of local "
          f"jobs; together {_held(statements + counts)} of {len(statements + counts)}\n")  # fmt: skip
    _high_load(runs)
    _points(runs)
    _from_start(runs)
    return [replace(row, claim=f"{row.number}. {row.claim}") for row in rows]


def _cells(row: Claim) -> tuple[str, ...]:
    return row.number, row.where, row.claim, row.paper, row.ours, row.reproduced


def _held(rows: list[Claim], verdict: str = REPRODUCED) -> int:
    return sum(row.reproduced == verdict for row in rows)


def _high_load(runs: Runs) -> None:
    """Guarded and index against Migrate-IOGS at r = .5, t_e = 3102."""
    found = {policy: runs.seeds(policy, LAST, 0.5) for policy in ("migrate-iogs", *OURS)}
    base = found["migrate-iogs"]
    rows = []
    for policy, runs_of in found.items():
        same = base[: len(runs_of)]
        values = [run.slowdown for run in runs_of]
        lower = sum(a.max_wait < b.max_wait for a, b in zip(runs_of, same))
        rows.append((
            policy, f"{len(values)}", f"{statistics.fmean(values):.1f}",
            f"{statistics.median(values):.1f}", f"{min(values):.1f} .. {max(values):.1f}",
            f"{statistics.fmean(values) / statistics.fmean(run.slowdown for run in same):.3f}",
            f"{statistics.fmean(run.max_wait for run in runs_of):.0f}",
            f"{lower} of {len(values)}", f"{statistics.fmean(run.big for run in runs_of):.1f}",
        ))  # fmt: skip
    print("r = .5, t_e = 3102\n")
    head = ("policy", "seeds", "mean slowdown", "median", "range", "x Migrate", "max wait (s)",
            "lower max wait", "big-job slowdown")  # fmt: skip
    print(render(head, rows))


def _points(runs: Runs) -> None:
    """All 27 + 9 points: means over seeds, and the index policy beside the best of the four."""
    rows: list[tuple[str, ...]] = []
    for intensity in INTENSITIES:
        for load, seconds in enumerate(runs.loads):
            found = {name: runs.seeds(name, load, intensity) for name in (*FOUR, *OURS)}
            mean = {name: _mean(value, "slowdown") for name, value in found.items()}
            best = min(mean[name] for name in FOUR)
            index = found["index-iogs"]
            rows.append((
                str(intensity), f"{seconds:.0f}", *(f"{mean[name]:.2f}" for name in mean),
                f"{mean['index-iogs'] / best - 1:+.0%}", f"{_mean(index, 'big'):.2f}",
                f"{min(_mean(found[name], 'big') for name in FOUR):.2f}",
                f"{_mean(index, 'max_wait'):.0f}",
                f"{min(_mean(found[name], 'max_wait') for name in FOUR):.0f}",
            ))  # fmt: skip
    print("\nMean slowdown from arrival; index-iogs against the best of the four (negative: "
          "better), slowdown of jobs of 64 tasks or more, longest wait in seconds\n")  # fmt: skip
    head = ("r", "t_e", *FOUR, *OURS, "index to best", "big, index", "big, best of four",
            "max wait, index", "max wait, best of four")  # fmt: skip
    print(render(head, rows))


def _from_start(runs: Runs) -> None:
    """The slowdown as the paper prints it, from the start of a job, at all points."""
    rows = [
        (str(intensity), f"{seconds:.0f}",
         *(f"{_mean(runs.seeds(name, load, intensity), 'from_start'):.2f}" for name in (*FOUR, *OURS)))
        for intensity in INTENSITIES
        for load, seconds in enumerate(runs.loads)
    ]  # fmt: skip
    print("\nMean slowdown from start, as printed in the paper (at most about M R / L)\n")
    print(render(("r", "t_e", *FOUR, *OURS), rows))


def _mean(runs_of: list[Figures], name: str) -> float:
    values: list[Any] = [getattr(run, name) for run in runs_of]
    return statistics.fmean(values)
