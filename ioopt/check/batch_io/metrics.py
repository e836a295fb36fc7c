"""The metrics of rule 22, recomputed from a schedule."""

from itertools import pairwise
from math import fsum
from operator import mul, sub

import numpy as np

from ioopt.check.batch_io.columns import Columns, Reals
from ioopt.problems.base import Json


def metrics_of(columns: Columns) -> Json:
    """All metrics; ``useful_utilisation`` as limits (least, most) where requests say no rates.

    The mean of nothing is 0. Utilisation is None when all jobs are submitted at one instant.
    """
    terms, views = columns.terms, columns.views
    count = max(1, len(views))
    nodes, submits = [view.nodes for view in views], [view.job.submit_seconds for view in views]
    starts, ends = [view.start for view in views], [view.end for view in views]
    runtimes = [*map(sub, ends, starts)]
    ideals, delays = _ideals(columns), _delays(columns)
    slowdowns = [run / ideal if ideal > 0 else 1.0 for run, ideal in zip(runtimes, ideals)]
    first_submit, last = min(submits, default=0.0), max(submits, default=0.0)
    metrics: Json = {
        "mean_wait_seconds": fsum(map(sub, starts, submits)) / count,
        "mean_response_seconds": fsum(map(sub, ends, submits)) / count,
        "mean_runtime_seconds": fsum(runtimes) / count,
        "mean_slowdown": fsum(slowdowns) / count,
        "max_slowdown": max(slowdowns, default=0.0),
        "makespan_seconds": max(ends, default=first_submit) - first_submit,
        "io_delay_seconds": fsum(delays) / count,
        "node_weighted_io_delay": fsum(map(mul, nodes, delays)) / max(1, sum(nodes)),
        "utilisation": None,
    }
    if terms.problem.machine.burst_buffer is not None:
        tails = [view.released - view.end for view in views]
        metrics["mean_release_seconds"] = fsum(tails) / count
        metrics["max_release_seconds"] = max(tails, default=0.0)
    begin = first_submit + (last - first_submit) / 10
    capacity = terms.problem.machine.nodes * (last - begin)
    metrics["useful_utilisation"] = None
    if capacity <= 0:
        return metrics
    held = ((v.nodes, min(v.freed, last) - max(v.start, begin)) for v in views)
    metrics["utilisation"] = fsum(n * span for n, span in held if span > 0) / capacity
    least, most = (
        fsum(map(mul, nodes, side.tolist())) / capacity for side in columns.useful(begin, last)
    )
    metrics["useful_utilisation"] = least if columns.io.recorded.all() else (least, most)
    return metrics


def _ideals(columns: Columns) -> list[float]:
    """Uncongested seconds of each job, with a stage-in that it waits for on its nodes (rule 48)."""
    work = (columns.compute + columns.volume / columns.peak[columns.job_of]).tolist()
    found = [fsum(work[a:b]) for a, b in pairwise(columns.first.tolist())]
    for j, view in enumerate(columns.views):
        staged = view.job.stage_in_bytes
        if staged and not columns.terms.ahead:
            found[j] += staged / view.stream_peak
    return found


def _delays(columns: Columns) -> list[float]:
    """Seconds by which the finished requests of each job took longer than at their peak."""
    io = columns.io
    late: Reals = io.finish - io.request - io.volume / io.peak
    delays = np.where(io.ended, late, 0.0).tolist()
    bounds = zip(io.head.tolist(), (io.head + io.held).tolist())
    return [fsum(delays[a:b]) for a, b in bounds]
