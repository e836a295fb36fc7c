"""Numbers about schedules and comparisons that every family shares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


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


@dataclass(frozen=True)
class PairedRatio:
    """Mean over instances of solver / baseline for one metric, with its standard error."""

    solver: str
    metric: str
    mean: float
    standard_error: float | None
    pairs: int


def paired_ratios(
    rows: Sequence[Mapping[str, Any]], baseline: str, metrics: Sequence[str]
) -> list[PairedRatio]:
    """Ratios of every solver to *baseline*, paired by instance, for each of *metrics*.

    *rows* are comparison rows. Pairs in which either value is missing or the baseline's is not
    above 0 are left out and lower ``pairs``.
    """
    table: dict[str, dict[tuple[str, Any], Mapping[str, Any]]] = {}
    for row in rows:
        table.setdefault(row["solver"], {})[row["instance"], row.get("seed")] = row["metrics"]
    base = table.get(baseline, {})
    found = []
    for solver, by_instance in table.items():
        for metric in metrics:
            ratios = [
                by_instance[key][metric] / base[key][metric]
                for key in by_instance
                if key in base
                and by_instance[key].get(metric) is not None
                and (base[key].get(metric) or 0) > 0
            ]
            if ratios:
                mean, error = mean_and_standard_error(ratios)
                found.append(PairedRatio(solver, metric, mean, error, len(ratios)))
    return found
