"""The metrics of rule 22, recomputed from a schedule."""

from math import fsum
from operator import mul, sub

from ioopt.check.batch_io.terms import Figures, JobView, RequestView, Terms
from ioopt.problems.base import Json


def metrics_of(terms: Terms, of: Figures) -> Json:
    """All metrics; ``useful_utilisation`` as limits (least, most) where requests say no rates.

    The mean of nothing is 0. Utilisation is None when all jobs are submitted at one instant.
    """
    count = max(1, len(of.starts))
    runtimes = [*map(sub, of.ends, of.starts)]
    slowdowns = [run / ideal if ideal > 0 else 1.0 for run, ideal in zip(runtimes, of.ideals)]
    first_submit, last = min(of.submits, default=0.0), max(of.submits, default=0.0)
    metrics: Json = {
        "mean_wait_seconds": fsum(map(sub, of.starts, of.submits)) / count,
        "mean_response_seconds": fsum(map(sub, of.ends, of.submits)) / count,
        "mean_runtime_seconds": fsum(runtimes) / count,
        "mean_slowdown": fsum(slowdowns) / count,
        "max_slowdown": max(slowdowns, default=0.0),
        "makespan_seconds": max(of.ends, default=first_submit) - first_submit,
        "io_delay_seconds": fsum(of.delays) / count,
        "node_weighted_io_delay": fsum(map(mul, of.nodes, of.delays)) / max(1, sum(of.nodes)),
        "utilisation": None,
    }
    if terms.problem.machine.burst_buffer is not None:
        tails = [*map(sub, of.released, of.ends)]
        metrics["mean_release_seconds"] = fsum(tails) / count
        metrics["max_release_seconds"] = max(tails, default=0.0)
    begin = first_submit + (last - first_submit) / 10
    capacity = terms.problem.machine.nodes * (last - begin)
    metrics["useful_utilisation"] = None
    if capacity <= 0:
        return metrics
    held = zip(of.nodes, of.starts, of.freed)
    busy = fsum(n * _overlap(since, until, begin, last) for n, since, until in held)
    metrics["utilisation"] = busy / capacity
    useful = of.useful(begin, last)
    for k, view in of.views.items():
        useful[k] = _useful(terms, view, begin, last)
    least, most = (fsum(map(mul, of.nodes, side)) / capacity for side in zip(*useful))
    metrics["useful_utilisation"] = least if of.recorded else (least, most)
    return metrics


def figures_of(terms: Terms, views: list[JobView]) -> Figures:
    """The figures of jobs looked at one by one."""
    return Figures(
        submits=[view.job.submit_seconds for view in views],
        starts=[view.start for view in views], ends=[view.end for view in views],
        freed=[view.freed for view in views], released=[view.released for view in views],
        nodes=[view.nodes for view in views],
        ideals=[view.ideal + _staging(terms, view) for view in views],
        delays=[_delay(view) for view in views],
        recorded=all(r.rates is not None for v in views for r in v.requests),
        useful=lambda begin, end: [(0.0, 0.0)] * len(views), views=dict(enumerate(views)),
    )  # fmt: skip


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
