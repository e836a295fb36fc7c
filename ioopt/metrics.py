"""Numbers about schedules and comparisons that every family shares."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


def mean_and_standard_error(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean, and standard error of the mean (sample variance); no error below two values.

    >>> mean_and_standard_error([1.0, 3.0])
    (2.0, 1.0)
    """
    if not values:
        raise ValueError("there is no mean of no values")
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return mean, None
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, math.sqrt(variance / count)


def quantile(values: Sequence[float], share: float) -> float:
    """Linear quantile (numpy's default) of at least one value.

    >>> quantile([1.0, 2.0, 4.0], 0.75)
    3.0
    """
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median(values: Sequence[float]) -> float:
    """Middle value, or the mean of the two middle ones."""
    return quantile(values, 0.5)


class PairedRatio(NamedTuple):
    """Mean over instances of solver / baseline for one metric, with its standard error."""

    solver: str
    metric: str
    mean_ratio: float
    standard_error: float | None
    pairs: int


def paired_ratios(
    rows: Sequence[Mapping[str, Any]], baseline: str, metrics: Sequence[str]
) -> list[PairedRatio]:
    """Ratios of every solver to *baseline*, paired by instance, for each of *metrics*.

    *rows* are comparison rows. The means of a metric are over the instances in which every solver
    that has it at all has it, and in which the baseline's is above 0: ``pairs`` of them.
    """
    solvers = list(dict.fromkeys(row["solver"] for row in rows))
    found = {}
    for metric in metrics:
        values: dict[str, dict[Any, float]] = {solver: {} for solver in solvers}
        for row in rows:
            value = row["metrics"].get(metric)
            if value is None and row.get("objective_name") == metric:
                value = row["objective"]
            if value is not None:
                values[row["solver"]][row["instance"], row.get("seed")] = value
        base = {key: value for key, value in values.get(baseline, {}).items() if value > 0}
        common = set(base).intersection(*(known for known in values.values() if known))
        for solver, known in values.items():
            ratios = [known[key] / base[key] for key in base if key in common and key in known]
            if ratios:
                mean, error = mean_and_standard_error(ratios)
                found[solver, metric] = PairedRatio(solver, metric, mean, error, len(ratios))
    return [
        found[key] for solver in solvers for metric in metrics if (key := (solver, metric)) in found
    ]
