"""Compute means, intervals, ratios and paired tests of metrics over several
instances.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ioopt.result import measured

LEAST_PAIRS = 5
"""The least number of ratios for which a confidence interval of their mean and a
paired test are computed.
"""
TIE = 1e-9
"""Ratios whose difference from 1 is less than this count as ties."""


def mean_and_standard_error(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean and its standard error (from the sample variance); for fewer than
    two values, the error is None.

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


class PairedRatio(NamedTuple):
    """The ratio solver / baseline of one metric: its geometric mean over instances,
    with the 95 % confidence interval and a paired test.

    Pairs with the same base instance are not independent: they count as one, whose
    ratio is the geometric mean of theirs. ``independent`` is the number of base
    instances; the mean, the interval and the test are over them. ``pairs``, ``wins``,
    ``ties`` and ``losses`` count all pairs.

    ``p_value`` is that of :func:`signed_rank_p`, and ``holm_p_value`` the same after
    Holm's correction for all solvers compared with the baseline by this metric. Both,
    ``standard_error_of_log`` and the ends ``low`` and ``high`` of the interval are None
    if there are fewer than :data:`LEAST_PAIRS` base instances. The mean is None as well
    if a ratio is 0 or negative. A solver wins an instance when it is better by more
    than a share of 10^-9.
    """

    solver: str
    metric: str
    mean_ratio: float | None
    standard_error_of_log: float | None
    pairs: int
    independent: int
    low: float | None
    high: float | None
    wins: int
    ties: int
    losses: int
    p_value: float | None = None
    holm_p_value: float | None = None


class GeometricMean(NamedTuple):
    """Geometric mean of ratios, the ends of its 95 % confidence interval, and the
    standard error of its logarithm.
    """

    mean: float | None
    low: float | None = None
    high: float | None = None
    standard_error_of_log: float | None = None


def geometric_mean(ratios: Sequence[float]) -> GeometricMean:
    """Return the geometric mean of *ratios* and its 95 % confidence interval, from
    Student's t distribution of the logarithms.

    There is no interval for fewer than :data:`LEAST_PAIRS` ratios, and no mean if a
    ratio is 0 or negative.

    >>> [round(end, 3) for end in geometric_mean([0.5, 0.5, 1.0, 2.0, 2.0])[:3]]
    [1.0, 0.423, 2.365]
    >>> geometric_mean([0.5, 2.0])[:3]
    (1.0, None, None)
    """
    if not ratios or min(ratios) <= 0:
        return GeometricMean(None)
    logs = [math.log(ratio) for ratio in ratios]
    if len(logs) < LEAST_PAIRS:
        return GeometricMean(math.exp(math.fsum(logs) / len(logs)))
    mean, low, high = (math.exp(end) for end in mean_interval(logs))
    return GeometricMean(mean, low, high, mean_and_standard_error(logs)[1])


def mean_interval(values: Iterable[float]) -> tuple[float, float, float]:
    """Return the mean and the ends of its 95 % confidence interval, from Student's t
    distribution.

    For one value all three are equal.

    >>> [round(value, 3) for value in mean_interval([1.0, 3.0])]
    [2.0, -10.706, 14.706]
    """
    from scipy import stats

    data = list(values)
    mean, error = mean_and_standard_error(data)
    if error is None:
        return mean, mean, mean
    half = float(stats.t.ppf(0.975, len(data) - 1)) * error
    return mean, mean - half, mean + half


def signed_rank_p(ratios: Sequence[float]) -> float | None:
    """Return the two-sided p-value of Wilcoxon's signed-rank test on the logarithms of
    paired *ratios*; ties are left out.

    The null hypothesis is that the logarithms are distributed symmetrically about 0.
    Return None for fewer than :data:`LEAST_PAIRS` ratios, or if a ratio is 0 or
    negative.

    >>> signed_rank_p([1.1, 1.2, 1.3, 1.4, 1.5, 1.6]), signed_rank_p([1.0] * 6)
    (0.03125, 1.0)
    """
    if len(ratios) < LEAST_PAIRS or min(ratios) <= 0:
        return None
    logs = [math.log(ratio) for ratio in ratios if abs(ratio - 1) > TIE]
    if not logs:
        return 1.0
    from scipy import stats

    return float(stats.wilcoxon(logs).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return *p_values* after Holm's step-down correction for multiple comparisons.

    >>> holm([0.04, 0.01, 0.5])
    [0.08, 0.03, 0.5]
    """
    corrected = list(p_values)
    reached = 0.0
    in_order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for place, k in enumerate(in_order):
        reached = max(reached, min(1.0, p_values[k] * (len(p_values) - place)))
        corrected[k] = reached
    return corrected


class Pair(NamedTuple):
    """The ratio of a solver to the baseline on one instance with one seed; *base* is
    the base instance.
    """

    base: str
    ratio: float


def base_of(row: Mapping[str, object]) -> str:
    """Return the base instance of a row; a row that names none is its own."""
    return str(row.get("base") or row["instance"])


def ratios_to(
    rows: Sequence[Mapping[str, Any]], baseline: str, metric: str
) -> dict[str, list[Pair]]:
    """Return, for each solver, the ratios of its *metric* to that of *baseline*, one
    for each instance and seed. A solver with one seed is compared with all seeds of the
    other.

    Instances on which the baseline's value is 0 or negative are left out. A row without
    a sound plan, such as one with violations, has no ratio.
    """
    values: dict[str, dict[str, dict[int | None, float]]] = {}
    bases: dict[str, str] = {}
    for row in rows:
        own = values.setdefault(row["solver"], {})
        bases[row["instance"]] = base_of(row)
        value = measured(row, metric)
        if value is not None:
            own.setdefault(row["instance"], {})[row.get("seed")] = value
    base = values.get(baseline, {})
    found: dict[str, list[Pair]] = {}
    for solver, own in values.items():
        pairs = [
            Pair(bases[instance], ratio)
            for instance in base
            for ratio in _ratios_by_seed(own.get(instance, {}), base[instance])
        ]
        if pairs:
            found[solver] = pairs
    return found


def _ratios_by_seed(
    own: Mapping[int | None, float], base: Mapping[int | None, float]
) -> list[float]:
    """Return the ratios of *own* values to those of the *base*, both keyed by seed, for
    equal seeds or, if one of both has one seed only, for all.
    """
    single = 1 in (len(own), len(base))
    return [
        value / to
        for seed, value in own.items()
        for other, to in base.items()
        if to > 0 and (single or seed == other)
    ]


def independent_ratios(pairs: Sequence[Pair]) -> list[float]:
    """Return one ratio for each base instance: the geometric mean of its ratios, or 0
    if one of them is 0 or negative.

    >>> independent_ratios([Pair("a", 2.0), Pair("b", 0.5), Pair("a", 8.0)])
    [4.0, 0.5]
    """
    groups: dict[str, list[float]] = {}
    for pair in pairs:
        groups.setdefault(pair.base, []).append(pair.ratio)
    found = []
    for ratios in groups.values():
        if len(ratios) == 1:
            found.append(ratios[0])
        elif min(ratios) <= 0:
            found.append(0.0)
        else:
            logs = [math.log(ratio) for ratio in ratios]
            found.append(math.exp(math.fsum(logs) / len(logs)))
    return found


def paired_ratios(
    rows: Sequence[Mapping[str, Any]],
    baseline: str,
    metrics: Sequence[str],
    most: Collection[str] = (),
) -> list[PairedRatio]:
    """Return, for each solver and each of *metrics*, the mean ratio to *baseline* over
    all base instances.

    *most* names the metrics of which more is better.
    """
    found: dict[tuple[str, str], PairedRatio] = {}
    for metric in metrics:
        tested: list[PairedRatio] = []
        for solver, pairs in ratios_to(rows, baseline, metric).items():
            pair = _paired_ratio(solver, metric, pairs, metric in most)
            if solver != baseline:
                pair = pair._replace(p_value=signed_rank_p(independent_ratios(pairs)))
            tested.append(pair)
        for pair in _with_holm(tested):
            found[pair.solver, metric] = pair
    in_order = []
    for solver in dict.fromkeys(row["solver"] for row in rows):
        for metric in metrics:
            if (solver, metric) in found:
                in_order.append(found[solver, metric])
    return in_order


def _with_holm(pairs: Sequence[PairedRatio]) -> list[PairedRatio]:
    """Return *pairs*, those of all solvers for one metric, with corrected p-values."""
    tested = [pair.p_value for pair in pairs if pair.p_value is not None]
    corrected = iter(holm(tested))
    found = []
    for pair in pairs:
        p_value = None if pair.p_value is None else next(corrected)
        found.append(pair._replace(holm_p_value=p_value))
    return found


def _paired_ratio(
    solver: str, metric: str, pairs: Sequence[Pair], more_is_better: bool
) -> PairedRatio:
    """Return the mean of one solver's ratios, and the numbers of its wins, ties and
    losses.
    """
    above = sum(pair.ratio - 1 > TIE for pair in pairs)
    below = sum(1 - pair.ratio > TIE for pair in pairs)
    wins = above if more_is_better else below
    losses = below if more_is_better else above
    ratios = independent_ratios(pairs)
    middle = geometric_mean(ratios)
    return PairedRatio(
        solver=solver,
        metric=metric,
        mean_ratio=middle.mean,
        standard_error_of_log=middle.standard_error_of_log,
        pairs=len(pairs),
        independent=len(ratios),
        low=middle.low,
        high=middle.high,
        wins=wins,
        ties=len(pairs) - wins - losses,
        losses=losses,
    )
