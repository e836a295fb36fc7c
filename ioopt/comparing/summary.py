"""Summarise a comparison over several instances: one row for each solver."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any, NamedTuple

from ioopt.comparing.measures import REFERENCE, Row, spent, standing
from ioopt.families import Kind, Metric
from ioopt.metrics import PairedRatio, paired_ratios
from ioopt.result import Status


class SummaryRow(NamedTuple):
    """The figures of one solver over the *pairs*: the instances on which it and the
    baseline have a verified plan.

    ``ratio`` is the geometric mean of the ratios of the measure to the baseline's, with
    the ends ``low`` and ``high`` of its 95 % interval (Student's t of the logarithms).
    ``wins`` counts the pairs on which the solver is better than the baseline. ``p`` is
    the two-sided p-value of Wilcoxon's signed-rank test, ``holm_p`` the same after
    Holm's correction for all solvers. ``independent`` is the number of base instances
    among the pairs; ratio, interval and test are over these. ``gap`` is the mean gap to
    the proven bound, ``proven`` the number of pairs with a plan proven optimal, and
    ``seconds`` the median time of a solve. Unknown figures are None; so are ratios,
    counts and tests of the baseline itself, but for its ratio of 1.
    """

    solver: str
    pairs: int = 0
    independent: int = 0
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    p: float | None = None
    holm_p: float | None = None
    gap: float | None = None
    proven: int = 0
    seconds: float | None = None


def summary_rows(
    rows: Sequence[Row], kind: Kind, measure: Metric, baseline: str
) -> list[SummaryRow]:
    """Return the summary of *rows* by *measure*, with ratios to *baseline*."""
    ratios = baseline_ratios(rows, kind, measure, baseline, False)
    pairs = {ratio.solver: ratio for ratio in ratios}
    compared = [row for row in rows if why_left_out(row, baseline) is None]
    solved = {row["instance"] for row in compared if row["solver"] == baseline}
    found = []
    for name in dict.fromkeys(row["solver"] for row in rows):
        own = [
            row
            for row in compared
            if row["solver"] == name and row["instance"] in solved
        ]
        line = SummaryRow(name)
        pair = pairs.get(name)
        if name == baseline and pair is not None:
            line = line._replace(
                pairs=pair.pairs, independent=pair.independent, ratio=1.0
            )
        elif pair is not None:
            line = _of_pair(pair)
        found.append(_with_runs(line, own))
    return found


def _of_pair(pair: PairedRatio) -> SummaryRow:
    """Return the figures of a solver's ratios."""
    return SummaryRow(
        solver=pair.solver,
        pairs=pair.pairs,
        independent=pair.independent,
        ratio=pair.mean_ratio,
        low=pair.low,
        high=pair.high,
        wins=pair.wins,
        ties=pair.ties,
        losses=pair.losses,
        p=pair.p_value,
        holm_p=pair.holm_p_value,
    )


def _with_runs(line: SummaryRow, own: Sequence[Row]) -> SummaryRow:
    """Return *line* with the mean gap, the number of proven optima and the median time
    of *own*, the rows of the solver's pairs.
    """
    gaps = [row["gap"] for row in own]
    known = [gap for gap in gaps if gap is not None]
    times = [seconds for seconds in map(spent, own) if seconds is not None]
    return line._replace(
        # With a gap unknown, the mean would be over fewer instances.
        gap=fmean(known) if known and len(known) == len(gaps) else None,
        proven=sum(gap == 0.0 for gap in known),
        seconds=median(times) if times else None,
    )


def baseline_ratios(
    rows: Sequence[Row],
    kind: Kind,
    measure: Metric,
    baseline: str,
    everything: bool,
) -> list[PairedRatio]:
    """Return the ratios to *baseline* of the measure or, with *everything*, of all
    metrics of the kind.
    """
    names = [measure.name]
    if everything:
        names += [kind.objective.name, *kind.columns]
    metrics = list(dict.fromkeys(names))
    most = [name for name in metrics if kind.metric(name).sense == "max"]
    rows = [row for row in rows if not row["reference"] or row["solver"] == baseline]
    return paired_ratios(rows, baseline, metrics, most)


def left_out(rows: Sequence[Row], baseline: str) -> Counter[tuple[str, str]]:
    """Return the numbers of runs that have no ratio, keyed by solver and reason."""
    missing: Counter[tuple[str, str]] = Counter()
    for row in rows:
        why = why_left_out(row, baseline)
        if why is not None:
            missing[row["solver"], why] += 1
    return missing


def why_left_out(row: Mapping[str, Any], baseline: str) -> str | None:
    """Return why *row* has no value that can be compared; None if it has one."""
    if row["violations"]:
        return "broke a rule"
    if row["value"] is None:
        answered = row["status"] in (Status.OPTIMAL, Status.FEASIBLE)
        return "without this measure" if answered else standing(row)
    if row["solver"] == baseline:
        return None if row["value"] > 0 else "0, to which there is no ratio"
    return REFERENCE if row["reference"] else None
