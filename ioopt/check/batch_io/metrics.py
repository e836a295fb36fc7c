"""The metrics of rule 22, recomputed from a schedule."""

from math import fsum

from ioopt.check.batch_io.terms import JobView, Terms
from ioopt.problems.base import Json


def metrics_of(terms: Terms, views: list[JobView]) -> Json:
    """All metrics; ``useful_utilisation`` as limits (least, most) where requests say no rates.

    The mean of nothing is 0. Utilisation is None when all jobs are submitted at one instant.
    """
    count, nodes = max(1, len(views)), [view.nodes for view in views]
    runtimes = [view.end - view.start for view in views]
    slowdowns = [_slowdown(view) for view in views]
    delays = [_delay(view) for view in views]
    submits = [view.job.submit_seconds for view in views]
    first_submit = min(submits, default=0.0)
    metrics: Json = {
        "mean_wait_seconds": fsum(v.start - v.job.submit_seconds for v in views) / count,
        "mean_response_seconds": fsum(v.end - v.job.submit_seconds for v in views) / count,
        "mean_runtime_seconds": fsum(runtimes) / count,
        "mean_slowdown": fsum(slowdowns) / count,
        "max_slowdown": max(slowdowns, default=0.0),
        "makespan_seconds": max((v.end for v in views), default=first_submit) - first_submit,
        "io_delay_seconds": fsum(delays) / count,
        "node_weighted_io_delay": fsum(n * d for n, d in zip(nodes, delays)) / max(1, sum(nodes)),
        "utilisation": None,
    }
    last = max(submits, default=0.0)
    begin = first_submit + (last - first_submit) / 10
    capacity = terms.problem.machine.nodes * (last - begin)
    if capacity > 0:
        busy = fsum(v.nodes * _overlap(v.start, v.end, begin, last) for v in views)
        metrics["utilisation"] = busy / capacity
    useful = [(v.nodes, _useful(v, begin, last)) for v in views]
    limits = tuple(fsum(n * seconds[k] for n, seconds in useful) for k in (0, 1))
    recorded = all(r.rates is not None for v in views for r in v.requests)
    if capacity <= 0:
        metrics["useful_utilisation"] = None
    elif recorded:
        metrics["useful_utilisation"] = limits[0] / capacity
    else:
        metrics["useful_utilisation"] = (limits[0] / capacity, limits[1] / capacity)
    return metrics


def _overlap(since: float, until: float, begin: float, end: float) -> float:
    return max(0.0, min(until, end) - max(since, begin))


def _slowdown(view: JobView) -> float:
    ideal = fsum(seconds + volume / view.peak for seconds, volume in view.phases)
    return (view.end - view.start) / ideal if ideal > 0 else 1.0


def _delay(view: JobView) -> float:
    return fsum(
        record.finish - record.request - view.phases[record.phase][1] / view.peak
        for record in view.requests
        if record.finish is not None
    )


def _useful(view: JobView, begin: float, end: float) -> tuple[float, float]:
    """Seconds of uncongested work inside the window: compute, and bytes moved over the peak.

    The least and the most; the same where the rates are recorded, else what a transfer moves inside
    the window is what it cannot, and what it can, have moved outside.
    """
    if view.end <= begin or view.start >= end:
        return 0.0, 0.0
    whole = view.start >= begin and view.end <= end and not view.killed
    if whole and all(record.rates is None for record in view.requests):
        work = fsum(seconds + volume / view.peak for seconds, volume in view.phases)
        return work, work
    parts, more = [], []
    records = {record.phase: record for record in view.requests}
    now = view.start
    for k, (seconds, volume) in enumerate(view.phases):
        parts.append(_overlap(now, min(now + seconds, view.end), begin, end))
        record = records.get(k)
        if record is None:
            now += seconds
            continue
        now = view.end if record.finish is None else record.finish
        if record.rates is None:
            inside = _overlap(record.request, now, begin, end)
            work = volume / view.peak
            least = work if record.finish is not None else 0.0
            parts.append(max(0.0, least - (now - record.request - inside)))
            more.append(min(work, inside) - parts[-1])
        for since, until, rate in record.rates or ():
            parts.append(_overlap(since, until, begin, end) * rate / view.peak)
    least = fsum(parts)
    return least, least + fsum(more)
