"""Compute ratio, interval, gamma and class of message counts by plain statistics, to
test the monitor.
"""

import math
from collections.abc import Iterator
from statistics import fmean, linear_regression, variance

from ioopt.problems.flexgang.message_counts import (
    GangednessVerdicts,
    MessageCounts,
    MessageCountsProblem,
    Quanta,
    Verdict,
)


def differences(problem: MessageCountsProblem, found: GangednessVerdicts) -> list[str]:
    """Return the differences between verdicts and statistics of the counts; empty if
    they agree.
    """
    assert [item.id for item in found.applications] == [
        item.id for item in problem.applications
    ]
    return [
        f"{counts.id}: {text}"
        for counts, item in zip(problem.applications, found.applications)
        for text in _of_application(problem, counts, item.verdict)
    ]


def _of_application(
    problem: MessageCountsProblem, counts: MessageCounts, verdict: Verdict
) -> Iterator[str]:
    basis, factor = _basis(problem, counts)
    if verdict.basis != basis:
        yield f"{verdict.basis} samples were used, {basis} ones are to be used"
        return
    kind: Quanta = "nonrunning" if basis == "non-running" else "running"
    used, of_gang = counts.counts(kind), counts.counts("gang")
    mean, gang = counts.mean(kind), counts.mean("gang")
    ratio = factor * mean / gang if mean is not None and gang else None
    ratio = ratio if ratio is not None and math.isfinite(ratio) else None
    if not _same(ratio, verdict.ratio):
        yield f"the ratio {verdict.ratio}, the counts give {ratio}"
        return
    low = high = ratio
    if not counts.means_only:
        low, high = _interval(of_gang, used, ratio)
        if not (_same(low, verdict.low) and _same(high, verdict.high)):
            yield f"{verdict.low} to {verdict.high}, the counts give {low} to {high}"
    found = _gamma(counts, problem.processors)
    given = verdict.gamma, verdict.gamma_low, verdict.gamma_high
    # The interval is the root of a difference that may consist of rounding errors.
    same = all(_same(one, other, 1e-6) for one, other in zip(found, given))
    if low is not None and not counts.means_only and not same:
        yield f"gamma {given}, the counts give {found}"
        return
    fewer = _fewer_senders(counts, problem.processors, basis)
    threshold = verdict.threshold or math.nan
    expected = _class(counts, len(used), gang, mean, (low, high), threshold, fewer)
    judged = low is not None and not counts.means_only and expected != "HIGH"
    waiting = basis == "non-running" and _all_may_wait(
        counts, problem.processors, found
    )
    if judged and fewer >= 2:
        expected = "UNKNOWN"
    elif judged and waiting:
        silent = _running_below(problem, counts, verdict.running_threshold)
        instead = "HIGH" if silent else _of_stretches(found)
        expected = "UNKNOWN" if instead == "LOW" != expected else instead
    elif (
        judged
        and expected == "LOW"
        and (found[0] or 0.0) > 0.606
        and (found[1] or 0.0) > 0.368
    ):
        expected = "HIGH" if (found[1] or 0.0) >= 0.606 else "UNKNOWN"
    if expected != verdict.gangedness:
        yield f"the class {verdict.gangedness}, the counts give {expected}"


def _same(first: float | None, second: float | None, slack: float = 1e-12) -> bool:
    if first is None or second is None:
        return first is second
    return math.isclose(first, second, rel_tol=1e-9, abs_tol=slack)


def _basis(problem: MessageCountsProblem, counts: MessageCounts) -> tuple[str, float]:
    """Return the kind of samples to use, and the factor of their mean.

    Non-running samples are used if there are at least 8. Otherwise running samples are
    used, if there are any and the application has more than 2 processors.
    """
    if counts.means_only:
        running = (
            counts.mean("nonrunning") is None and counts.mean("running") is not None
        )
    else:
        running = (
            len(counts.counts("nonrunning")) < 8 and len(counts.counts("running")) > 0
        )
    if not running or problem.processors == 2:
        return "non-running", 1.0
    return "running", (problem.processors - 1) / (problem.processors - 2)


def _interval(
    gang: tuple[float, ...], used: tuple[float, ...], ratio: float | None
) -> tuple[float | None, float | None]:
    """Return the 90 % interval of *ratio*, computed on a logarithmic scale.

    Both ends are None if there are too few messages.
    """
    if min(len(gang), len(used)) < 8 or not ratio or fmean(gang) < 1 - 1e-9:
        return None, None
    total = 0.0
    for values in (gang, used):
        mean = fmean(values)
        total += max(variance(values), mean) / (len(values) * mean * mean)
    half = 1.645 * math.sqrt(total)
    return math.exp(math.log(ratio) - half), math.exp(math.log(ratio) + half)


Gamma = tuple[float | None, float | None, float | None]
"""Gamma from stretches of quanta, and the two ends of its interval."""


def _gamma(counts: MessageCounts, processors: int) -> Gamma:
    """Return gamma and its interval from a line fitted by least squares.

    The points of the line are weighted messages of stretches of 16 quanta, of which one
    begins every 8 quanta.
    """
    size = len(counts.absent)
    starts = range(0, size - 15, 8)
    if counts.means_only or len(starts) < 8:
        return None, None, None
    received = [0.0] * size
    for quantum, _, _, _, messages in counts.rows(processors):
        received[quantum] += messages
    hit = [float(len(missing) > 0) for missing in counts.absent]
    weights = [(8 - abs(k - 7.5)) / 8 for k in range(16)]
    x, y = (
        [
            math.fsum(w * values[start + k] for k, w in enumerate(weights))
            for start in starts
        ]
        for values in (hit, received)
    )
    most = max(
        sum(p in missing for missing in counts.absent) for p in range(processors)
    )
    if min(x) == max(x) or most == sum(hit):
        return None, None, None
    slope, whole = linear_regression(x, y)
    if whole <= fmean(y) / 2:
        return None, None, None
    overlap = 8 / math.fsum(w * w for w in weights)
    free = len(x) / overlap - 2
    rest = (
        math.fsum((b - whole - slope * a) ** 2 for a, b in zip(x, y))
        / (len(x) - 2)
        * overlap
    )
    deviations = math.fsum((a - fmean(x)) ** 2 for a in x)
    part = slope / whole
    error = (
        math.sqrt(rest * ((1 + part * fmean(x)) ** 2 / deviations + part**2 / len(x)))
        * 8
        / whole
    )
    share = most / sum(hit)
    gamma = (-8 * part - share) / (1 - share)
    half = 1.645 * (1 + (1.645**2 + 1) / (4 * free)) * error / (1 - share)
    return gamma, gamma - half, gamma + half


def _all_may_wait(counts: MessageCounts, processors: int, gamma: Gamma) -> bool:
    """Return whether absent processes mostly receive as many messages as there are
    other processes.

    One message more, or none at all, counts too. "Mostly" means a share of at least
    0.723. If *gamma* is unknown, a score test at 5 % must put the share above 0.723.
    The result is False if there are no counts of running processes.
    """
    absent, running = counts.counts("nonrunning"), counts.counts("running")
    if counts.means_only or processors < 3 or len(running) < 8 or not any(running):
        return False
    said = sum(value == 0 or processors - 1 <= value <= processors for value in absent)
    chance = 1.645 * math.sqrt(0.723 * 0.277 / len(absent)) if gamma[0] is None else 0.0
    return said / len(absent) >= 0.723 + chance


def _running_below(
    problem: MessageCountsProblem, counts: MessageCounts, threshold: float | None
) -> bool:
    gang, running = counts.counts("gang"), counts.counts("running")
    factor = (problem.processors - 1) / (problem.processors - 2)
    _, high = _interval(gang, running, factor * fmean(running) / fmean(gang))
    return high is not None and threshold is not None and high <= threshold


def _of_stretches(gamma: Gamma) -> str:
    """Return the class by the interval of gamma; the limit between the classes is
    0.606.
    """
    _, least, most = gamma
    if least is None or most is None or least < 0.606 < most:
        return "UNKNOWN"
    return "HIGH" if least >= 0.606 else "LOW"


def _fewer_senders(counts: MessageCounts, processors: int, basis: str) -> float:
    """Return the number of senders with one process absent, as a multiple of that with
    the mean number of absent processes.
    """
    away = [len(missing) for missing in counts.absent if missing]
    if not away:
        return 1.0
    receiver = 0 if basis == "non-running" else 1
    left = processors - receiver - fmean(away)
    return (processors - receiver - 1) / left if left > 0 else math.inf


def _class(
    counts: MessageCounts,
    samples: int,
    gang: float | None,
    mean: float | None,
    interval: tuple[float | None, float | None],
    threshold: float,
    fewer: float,
) -> str:
    too_few = not counts.means_only and (len(counts.counts("gang")) < 8 or samples < 8)
    if gang is None or mean is None or too_few or gang < 1 - 1e-9:
        return "UNKNOWN"
    low, high = interval
    if mean == 0:
        return (
            "HIGH"
            if not counts.means_only and samples * threshold * gang / fewer >= 3
            else "UNKNOWN"
        )
    if low is not None and low >= threshold:
        return "LOW"
    return "HIGH" if high is not None and fewer * high <= threshold else "UNKNOWN"
