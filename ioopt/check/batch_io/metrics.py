"""The metrics of rule 22, recomputed from a schedule."""

from math import fsum

from ioopt.check.batch_io.terms import JobView, RequestView, Terms
from ioopt.problems.base import Json


def metrics_of(terms: Terms, views: list[JobView]) -> Json:
    """All metrics; ``useful_utilisation`` as limits (least, most) where requests say no rates.

    The mean of nothing is 0. Utilisation is None when all jobs are submitted at one instant.
    """
    count, nodes = max(1, len(views)), [view.nodes for view in views]
    runtimes = [view.end - view.start for view in views]
    ideals = [view.ideal + _staging(terms, view) for view in views]
    slowdowns = [run / ideal if ideal > 0 else 1.0 for run, ideal in zip(runtimes, ideals)]
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
    if terms.problem.machine.burst_buffer is not None:
        tails = [view.released - view.end for view in views]
        metrics["mean_release_seconds"] = fsum(tails) / count
        metrics["max_release_seconds"] = max(tails, default=0.0)
    last = max(submits, default=0.0)
    begin = first_submit + (last - first_submit) / 10
    capacity = terms.problem.machine.nodes * (last - begin)
    if capacity > 0:
        busy = fsum(v.nodes * _overlap(v.start, v.freed, begin, last) for v in views)
        metrics["utilisation"] = busy / capacity
    useful = [(v.nodes, _useful(terms, v, begin, last)) for v in views]
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


def _staging(terms: Terms, view: JobView) -> float:
    """Uncongested seconds of a stage-in that the job waits for on its nodes (rule 48)."""
    staged = view.job.stage_in_bytes
    return 0.0 if terms.ahead or not staged else staged / view.stream_peak


def _delay(view: JobView) -> float:
    return fsum(
        record.finish - record.request - view.phases[record.phase][1] / view.peak
        for record in view.requests
        if record.finish is not None
    )


def _useful(terms: Terms, view: JobView, begin: float, end: float) -> tuple[float, float]:
    """Seconds of uncongested work inside the window: compute, and bytes moved over the peak.

    The least and the most; the same where the rates are recorded, else what a transfer moves inside
    the window is what it cannot, and what it can, have moved outside. A stage-in counts where the
    job waits for it on its nodes.
    """
    if view.end <= begin or view.start >= end:
        return 0.0, 0.0
    whole = view.start >= begin and view.end <= end and not view.killed
    if whole and all(record.rates is None for record in view.requests):
        work = view.ideal + _staging(terms, view)
        return work, work
    staged = [] if terms.ahead else [record for record in view.streams if record.kind == "in"]
    limits = [_moved(record, view.end, begin, end) for record in staged]
    records = {record.phase: record for record in view.requests}
    now = view.began
    for k, (seconds, _) in enumerate(view.phases):
        compute = _overlap(now, min(now + seconds, view.end), begin, end)
        limits.append((compute, compute))
        record = records.get(k)
        if record is None:
            now += seconds
            continue
        now = view.end if record.finish is None else record.finish
        limits.append(_moved(record, view.end, begin, end))
    return fsum(least for least, _ in limits), fsum(most for _, most in limits)


def _moved(record: RequestView, last: float, begin: float, end: float) -> tuple[float, float]:
    """Seconds at the peak that a request, until *last* if unfinished, moves inside the window."""
    if record.rates is not None:
        rates = record.rates
        done = fsum(_overlap(a, b, begin, end) * rate / record.peak for a, b, rate in rates)
        return done, done
    last = last if record.finish is None else record.finish
    inside = _overlap(record.request, last, begin, end)
    work = (record.volume or 0.0) / record.peak
    sure = work if record.finish is not None else 0.0
    return max(0.0, sure - (last - record.request - inside)), min(work, inside)
