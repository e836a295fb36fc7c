"""Turn a simulated run into the documented schedule and the metrics of rule 22."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np

from ioopt.decisions.ordering import Number
from ioopt.problems.base import Json
from ioopt.sim.batch_io.trace import Run, Trace, known

Rates = list[list[list[float]]]
Seconds = list[float | None]


def schedule_of(trace: Trace, run: Run) -> Json:
    """Return the schedule of a run: jobs in the order of the problem, times in seconds.

    A job has the required keys and also ``allocated_nodes`` and ``first_node`` (of its
    partition; null on flat machines). Where units are numbered it has ``nodes`` too. If
    the run recorded rates, the schedule has ``storage_bytes_per_second``, and every
    request has ``rates``: a row [from, until, bytes per second] for each time span with
    a rate above 0. Exact runs add ``exact``, with rational numbers as text.
    """
    rates = _by_place(run)
    times = [
        _seconds(column, trace.limits.exact)
        for column in (run.request, run.grant, run.finish)
    ]
    jobs: list[Json] = [{}] * len(trace)
    for j, place in enumerate(trace.position):
        jobs[place] = _job(trace, run, rates, times, j)
    schedule: Json = {"jobs": jobs}
    if rates is not None:
        schedule["storage_bytes_per_second"] = float(
            trace.machine.storage_bytes_per_second
        )
    if trace.limits.exact:
        schedule["exact"] = {
            name: _text(value) for name, value in metrics_of(trace, run).items()
        }
    return schedule


def _seconds(column: list[Number], use_exact: bool) -> Seconds:
    """Return the times of *column* as floats; None for those that are not known."""
    # A time that is not known is NaN, which does not equal itself.
    if use_exact:
        return [float(time) if time == time else None for time in column]
    return [time if time == time else None for time in column]


def _by_place(run: Run) -> Rates | None:
    """Return, for each request, its time spans as [from, until, rate], ordered by time;
    None if no rates were recorded.
    """
    if run.rates is None:
        return None
    rows = np.array(run.rates, float).reshape(-1, 4)
    # The spans of a request are in order of time already.
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    edges = np.searchsorted(rows[:, 0], np.arange(len(run.request) + 1)).tolist()
    spans = rows[:, 1:].tolist()
    return [spans[first:last] for first, last in pairwise(edges)]


def _job(
    trace: Trace, run: Run, rates: Rates | None, times: list[Seconds], j: int
) -> Json:
    """Return the row of the schedule for job number *j*."""
    first_node = None
    if run.block[j] >= 0:
        first_node = run.block[j] * trace.machine.unit_nodes
    places = range(trace.offset[j], trace.offset[j + 1])
    job: Json = {
        "id": trace.ids[j],
        "start_seconds": float(run.start[j]),
        "end_seconds": float(run.end[j]),
        "killed": bool(run.killed[j]),
        "allocated_nodes": trace.allocated[j],
        "first_node": first_node,
        "io": _requests(trace, run, rates, times, places),
    }
    if run.units is not None:
        wide = trace.machine.unit_nodes
        nodes: list[int] = []
        for unit in run.units[j]:
            nodes += range(unit * wide, (unit + 1) * wide)
        job["nodes"] = nodes
    if trace.limits.exact:
        job["exact"] = {"start": _text(run.start[j]), "end": _text(run.end[j])}
    return job


def _requests(
    trace: Trace,
    run: Run,
    rates: Rates | None,
    times: list[Seconds],
    places: range,
) -> list[Json]:
    """Return the schedule's rows for the requests of one job; *places* are the indices
    of its phases.
    """
    found: list[Json] = []
    columns = (column[places.start : places.stop] for column in times)
    for place, request, grant, finish in zip(places, *columns):
        if request is not None:
            record: Json = {
                "phase": place - places.start,
                "request_seconds": request,
                "first_grant_seconds": grant,
                "finish_seconds": finish,
            }
            if rates is not None:
                record["rates"] = rates[place]
            if trace.limits.exact:
                exact = run.request[place], run.grant[place], run.finish[place]
                record["exact"] = dict(
                    zip(("request", "first_grant", "finish"), map(_text, exact))
                )
            found.append(record)
    return found


def _text(value: Number | None) -> str | None:
    """Return *value* as the text of a fraction; None if *value* is unknown."""
    if value is None or not known(value):
        return None
    return str(Fraction(value))


def metrics_of(trace: Trace, run: Run) -> dict[str, Number | None]:
    """Return the metrics of rule 22, in the arithmetic of the run (floats or
    fractions).

    Means are over all jobs, killed ones included.
    """
    jobs = range(len(trace))
    zero = trace.limits.zero
    runtimes = [run.end[j] - run.start[j] for j in jobs]
    slowdowns = []
    for seconds, ideal in zip(runtimes, trace.ideal):
        slowdowns.append(seconds / ideal if ideal else zero + 1)
    delays = _delays(trace, run)
    nodes = trace.allocated
    last = max((run.end[j] for j in jobs), default=zero)
    metrics: dict[str, Number | None] = {
        "mean_wait_seconds": _mean(
            [run.start[j] - trace.submit[j] for j in jobs], zero
        ),
        "mean_response_seconds": _mean(
            [run.end[j] - trace.submit[j] for j in jobs], zero
        ),
        "mean_runtime_seconds": _mean(runtimes, zero),
        "mean_slowdown": _mean(slowdowns, zero),
        "max_slowdown": max(slowdowns, default=zero),
        "makespan_seconds": last - trace.submit[0] if len(trace) else zero,
        "utilisation": None,
        "useful_utilisation": None,
        "io_delay_seconds": _mean(delays, zero),
        "node_weighted_io_delay": _sum([n * d for n, d in zip(nodes, delays)], zero)
        / max(1, sum(nodes)),
    }
    first, until = trace.window
    capacity = trace.machine.nodes * (until - first)
    if capacity > 0:
        spans = (min(run.end[j], until) - max(run.start[j], first) for j in jobs)
        busy = [nodes[j] * span for j, span in enumerate(spans) if span > 0]
        metrics["utilisation"] = _sum(busy, zero) / capacity
        metrics["useful_utilisation"] = run.useful / capacity
    return metrics


def _delays(trace: Trace, run: Run) -> list[Number]:
    """Return the I/O delay of each job in seconds: the duration of its finished
    requests minus their duration at the peak rate.
    """
    delays = []
    for j, peak in enumerate(trace.peak):
        phases = slice(trace.offset[j], trace.offset[j + 1])
        total = trace.limits.zero
        for request, finish, volume in zip(
            run.request[phases], run.finish[phases], trace.volume[phases]
        ):
            if finish == finish:  # not NaN
                total += finish - request - volume / peak
        delays.append(total)
    return delays


def _sum(values: list[Number], zero: Number) -> Number:
    """Return the sum of *values*, rounded only once at the end."""
    if isinstance(zero, Fraction):
        return sum(values, zero)
    return math.fsum(values)


def _mean(values: list[Number], zero: Number) -> Number:
    return _sum(values, zero) / max(1, len(values))
