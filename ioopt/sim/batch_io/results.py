"""Turn a simulated run into the documented schedule and the metrics of rule 22."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ioopt.arrays import Flags, Ints
from ioopt.decisions.ordering import Number
from ioopt.problems.base import Json
from ioopt.problems.job_columns import NO_NODE, JobColumns, blocks
from ioopt.sim.batch_io.trace import Run, Trace, known


def schedule_of(trace: Trace, run: Run) -> Json:
    """Return the schedule of a run: jobs in the order of the problem, times in seconds.

    ``jobs`` are :class:`JobColumns`, which stand for rows with the required keys and
    also ``allocated_nodes`` and ``first_node`` (of its partition; null on flat
    machines). Where units are numbered a row has ``nodes`` too. If the run recorded
    rates, the schedule has ``storage_bytes_per_second``, and every request has
    ``rates``: a row [from, until, bytes per second] for each time span with a rate
    above 0. Exact runs have a list of rows and add ``exact``, with rational numbers as
    text.
    """
    place = np.empty(len(trace), np.int64)
    place[trace.position] = np.arange(len(trace))
    columns = columns_of(trace, run)
    if not np.array_equal(place, np.arange(len(trace))):
        columns = columns.taken(place)
    schedule: Json = {"jobs": columns}
    if run.rates is not None:
        schedule["storage_bytes_per_second"] = float(
            trace.machine.storage_bytes_per_second
        )
    if trace.limits.exact:
        schedule["jobs"] = _exact_rows(trace, run, columns.rows(), place.tolist())
        schedule["exact"] = {
            name: _text(value) for name, value in metrics_of(trace, run).items()
        }
    return schedule


def columns_of(trace: Trace, run: Run) -> JobColumns:
    """Return the jobs of a run, in the order of the trace."""
    request = np.asarray(run.request, float)
    is_asked = ~np.isnan(request)
    asked: slice | Flags = slice(None) if is_asked.all() else is_asked
    offset = np.append(0, np.cumsum(is_asked))[trace.offset]
    first = np.array(trace.offset, np.int64)
    number = np.arange(len(request)) - np.repeat(first[:-1], np.diff(first))
    request = request[asked]
    rates = np.empty((0, 4))
    edges: Ints = np.broadcast_to(np.int64(0), len(request) + 1)
    if run.rates is not None:
        # The spans of a request are in order of time already.
        rates = np.array(run.rates, float)
        rates = rates[np.argsort(rates[:, 0], kind="stable")]
        phases = np.append(np.flatnonzero(is_asked), len(is_asked))
        edges = np.searchsorted(rates[:, 0], phases)
    wide = trace.machine.unit_nodes
    block = np.array(run.block, np.int64)
    return JobColumns(
        ids=trace.ids,
        start=np.array(run.start, float),
        end=np.array(run.end, float),
        killed=np.array(run.killed, bool),
        allocated=trace.allocated,
        first_node=np.where(block < 0, NO_NODE, block * wide),
        nodes=None if run.units is None else [_nodes(row, wide) for row in run.units],
        offset=offset,
        phase=number[asked],
        request=request,
        grant=np.asarray(run.grant, float)[asked],
        finish=np.asarray(run.finish, float)[asked],
        timed=np.full(len(request), run.rates is not None),
        edges=edges,
        spans=rates[:, 1:],
    )


def _nodes(units: Sequence[int], wide: int) -> list[int]:
    """Return the numbers of the nodes of *units*, which have *wide* nodes each."""
    return [unit * wide + k for unit in units for k in range(wide)]


def _exact_rows(
    trace: Trace, run: Run, rows: list[Json], place: list[int]
) -> list[Json]:
    """Return *rows* with the times of an exact run as text; row k is that of job
    ``place[k]`` of the trace.
    """
    for job, j in zip(rows, place):
        job["exact"] = {"start": _text(run.start[j]), "end": _text(run.end[j])}
        for record in job["io"]:
            k = trace.offset[j] + record["phase"]
            record["exact"] = {
                "request": _text(run.request[k]),
                "first_grant": _text(run.grant[k]),
                "finish": _text(run.finish[k]),
            }
    return rows


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
    peak = np.array(trace.peak, trace.kind)
    found: list[Number] = []
    for jobs in blocks(trace.offset):
        phases = slice(trace.offset[jobs.start], trace.offset[jobs.stop])
        counts = np.diff(trace.offset[jobs.start : jobs.stop + 1])
        owner = np.repeat(np.arange(len(counts)), counts)
        finish = run.finish[phases]
        done = finish == finish  # not NaN
        least = trace.volume[phases] / peak[jobs][owner]
        delays = (finish - run.request[phases] - least)[done]
        found += trace.sums(delays, owner[done], len(counts))
    return found


def _sum(values: list[Number], zero: Number) -> Number:
    """Return the sum of *values*, rounded only once at the end."""
    if isinstance(zero, Fraction):
        return sum(values, zero)
    return math.fsum(values)


def _mean(values: list[Number], zero: Number) -> Number:
    return _sum(values, zero) / max(1, len(values))
