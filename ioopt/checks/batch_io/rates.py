"""Bandwidth checks: grants, peaks, volumes, totals, what storage allows; streams
and space of buffers.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ioopt.checks import Load, overloads
from ioopt.checks.batch_io.terms import SLACK_SECONDS, JobView, RequestView, Terms
from ioopt.result import Violation, violation

RELATIVE = 1e-9
Reals = NDArray[np.float64]


class Spans(NamedTuple):
    """Recorded rates: whose they are, and of each span the place of its
    ``owner`` among the records.
    """

    records: list[tuple[JobView, RequestView]]
    owner: NDArray[np.int64]
    since: Reals
    until: Reals
    rate: Reals

    @classmethod
    def of(cls, views: Sequence[JobView]) -> Spans:
        """The rates that the records of *views* state."""
        records = [
            (v, r)
            for v in views
            for r in (*v.requests, *v.streams)
            if r.rates is not None
        ]
        rates = [record.rates or () for _, record in records]
        owner = np.repeat(np.arange(len(rates)), [*map(len, rates)])
        numbers = chain.from_iterable(chain.from_iterable(rates))
        triples = np.fromiter(numbers, float, 3 * len(owner)).reshape(-1, 3)
        return cls(records, owner, *triples.T)


def check_grants(terms: Terms, view: JobView) -> Iterator[Violation]:
    """A first grant lies between request and finish (or the kill), where
    the first rate begins.
    """
    for record in chain(view.requests, view.streams):
        grant, text = record.grant, ""
        if grant is None:
            if record.finish is not None:
                text = "finishes but was never granted"
        elif not record.request - view.slack <= grant <= record.last + view.slack:
            text = f"is first granted at {grant!r}, outside its request"
        elif record.rates and abs(record.rates[0][0] - grant) > view.slack:
            text = (
                f"is first granted at {grant!r}, its first rate begins at "
                f"{record.rates[0][0]!r}"
            )
        if text:
            yield violation("grant", view.job.id, f"{record.named} {text}")


def check_rates(terms: Terms, spans: Spans) -> Iterator[Violation]:
    """Recorded rates: inside the request, one after the other, within the
    peak, all bytes moved.
    """
    whole = (
        (terms.policy or "").startswith("cons-") and not terms.top and not terms.scaled
    )
    columns = [
        (
            r.request,
            r.last,
            r.peak,
            view.slack,
            math.nan if r.volume is None else r.volume,
        )
        for view, r in spans.records
    ]
    request, last, peak, slack, volume = np.array(columns, float).reshape(-1, 5).T
    _, owner, since, until, rate = spans
    before = np.where(np.diff(owner, prepend=-1) > 0, request[owner], np.roll(until, 1))
    out = (
        (since < before - slack[owner])
        | (until > (last + slack)[owner])
        | (until < since)
    )
    past = ~((rate >= 0) & (rate <= peak[owner] * (1 + RELATIVE)))
    part = whole & (rate < peak[owner] * (1 - RELATIVE))
    for rule, broken in (("rates", out), ("peak", past), ("conservative", part)):
        for k in np.flatnonzero(broken):
            view, record = spans.records[owner[k]]
            first, end, given = (float(column[k]) for column in (since, until, rate))
            text = (
                f"gets {given!r} from {first!r} to {end!r}; it lasts from "
                f"{record.request!r}"
            )
            text += f" to {record.last!r}, its peak is {record.peak!r}"
            yield violation(
                rule, view.job.id, f"{record.named} {text}", abs(given - record.peak)
            )
    with np.errstate(over="ignore", invalid="ignore"):
        moved = np.bincount(owner, (until - since) * rate, len(columns))
    rounding = RELATIVE * volume + peak * slack
    for k in np.flatnonzero(abs(moved - volume) > rounding):
        view, record = spans.records[k]
        if record.finish is not None or moved[k] > volume[k]:
            text = (
                f"{record.named} moves {float(moved[k])!r} bytes of {record.volume!r}"
            )
            yield violation(
                "bytes", view.job.id, text, float(abs(moved[k] - volume[k]))
            )


def check_totals(terms: Terms, spans: Spans) -> Iterator[Violation]:
    """At no instant do recorded rates exceed what the storage takes of so many requests
    (rule 29), streams the drain rate of a shared buffer (rule 42), and conservative
    grants congest it (rule 11).
    """
    through = np.array(
        [r.kind != "io" or not v.stream_peak for v, r in spans.records], bool
    )
    moving = (spans.rate > 0) & through[spans.owner]
    if not terms.limited or not moving.any():
        return
    owner, since, until, rate = (column[moving] for column in spans[1:])
    peak = np.array([record.peak for _, record in spans.records])[owner]
    stream = np.array([record.kind != "io" for _, record in spans.records])[owner]
    time = np.concatenate([until, since])

    def running(what: Reals) -> Reals:
        total: Reals = np.cumsum(np.concatenate([-what, what])[order])
        return total

    # At one instant what ends is gone before what begins.
    order = np.argsort(time, kind="stable")
    time, total = time[order], running(rate)
    limit = np.full(len(time), terms.storage)
    if terms.problem.machine.interference:
        active = running(np.ones(len(rate)))
        limit /= 1 + terms.problem.machine.interference * np.maximum(active - 1, 0)
    for at in _lasting(time, total - limit > RELATIVE * terms.storage):
        text = (
            f"{total[at]:.9g} bytes/s at {float(time[at])!r}, the storage takes "
            f"{float(limit[at])!r}"
        )
        yield violation("storage", "storage", text, float(total[at] - limit[at]))
    drain = math.inf
    if terms.shared_buffer is not None:
        drain = terms.shared_buffer.drain_bytes_per_second
        streams = running(rate * stream)
        for at in _lasting(time, streams > drain * (1 + RELATIVE)):
            text = (
                f"streams move {streams[at]:.9g} bytes/s at {float(time[at])!r}, the "
                f"buffer {drain!r}"
            )
            yield violation("drain", "buffer", text, float(streams[at] - drain))
    # A stage-in that was undone leaves no record, and what it took cannot
    # be told (rule 45).
    known = terms.scaled and not terms.ahead
    if (terms.policy or "").startswith("cons-") and not terms.top and known:
        streams, others = running(peak * stream), running(peak * ~stream)
        whole = np.minimum(others + np.minimum(streams, drain), limit)
        for at in _lasting(time, total < whole - RELATIVE * terms.storage):
            text = (
                f"{total[at]:.9g} bytes/s at {float(time[at])!r}, whole grants come "
                f"to {whole[at]:.9g}"
            )
            yield violation("conservative", "storage", text)
    if terms.top and (terms.policy or "").startswith("cons-") and not terms.scaled:
        partials = running((rate < peak * (1 - RELATIVE)).astype(float))
        for at in _lasting(time, partials > 1):
            text = (
                f"{partials[at]:.0f} partial grants at {float(time[at])!r}; a +top "
                "policy makes one"
            )
            yield violation("conservative", "storage", text)


def _lasting(time: Reals, broken: NDArray[np.bool_]) -> Iterator[int]:
    """Where stretches begin over which *broken* holds for longer
    than rounding explains.
    """
    edges = np.flatnonzero(
        np.diff(np.concatenate([[False], broken, [False]]).astype(np.int8))
    )
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist()):
        last = time[min(end, len(time) - 1)]
        if last - time[begin] > SLACK_SECONDS + 1e-12 * last:
            yield begin


def check_capacity(terms: Terms, views: Sequence[JobView]) -> Iterator[Violation]:
    """Requests without rates that must move more in a span than the storage can."""
    if not terms.limited or all(
        r.rates is not None for view in views for r in view.requests
    ):
        return
    loads = []
    for view in views:
        for record in chain(() if view.stream_peak else view.requests, view.streams):
            if record.finish is not None and record.volume is not None:
                begin = record.request if record.grant is None else record.grant
                loads.append(Load(begin, record.finish, record.volume, view.job.id))
    for load, left in overloads(terms.storage, loads, SLACK_SECONDS):
        text = (
            f"cannot finish at {load.end!r}: the storage has {left:.6g} bytes left to "
            "move then"
        )
        yield violation("storage", load.item, text, left)


def check_streams(terms: Terms, view: JobView) -> Iterator[Violation]:
    """Rule 41: stage-in, a drain a finished write, stage-out, the release;
    each after the other.
    """
    name, rest = view.job.id, iter(view.streams)
    then = view.start
    for kind, phase, ready in _expected(view):
        stream = next(rest, None)
        if stream is None or (stream.kind, stream.phase) != (kind, phase):
            given = (
                "nothing"
                if stream is None
                else f"{stream.kind} of phase {stream.phase}"
            )
            text = f"wants the stream {kind} of phase {phase} next, finds {given}"
            yield violation("streams", name, text)
            return
        due = max(then, ready)
        since = view.job.submit_seconds if terms.ahead and kind == "in" else due
        if not since - view.slack <= stream.request <= due + view.slack:
            text = (
                f"its stream {kind} is issued at {stream.request!r}, is due at {due!r}"
            )
            yield violation("streams", name, text, abs(stream.request - due))
        if stream.finish is None:
            if not (view.killed and kind == "in"):
                yield violation("streams", name, f"its stream {kind} never finishes")
            then = view.end
            continue
        fastest = stream.request + (stream.volume or 0.0) / stream.peak
        if stream.finish < fastest - view.slack - RELATIVE * (fastest - stream.request):
            text = (
                f"its stream {kind} finishes at {stream.finish!r}, at its peak at "
                f"{fastest!r}"
            )
            yield violation("peak", name, text, fastest - stream.finish)
        then = stream.finish
    if (extra := next(rest, None)) is not None:
        yield violation("streams", name, f"has a stream {extra.kind} out of place")
    last = max(then, view.end)
    if abs(view.released - last) > view.slack:
        text = (
            f"is released at {view.released!r}, its last stream and phase end at "
            f"{last!r}"
        )
        yield violation("released", name, text, abs(view.released - last))


def _expected(view: JobView) -> Iterator[tuple[str, int, float]]:
    """Kind, phase and earliest issue of each stream that a job's records ask for."""
    if not view.stream_peak:
        return
    if view.job.stage_in_bytes:
        yield "in", -1, 0.0
    for write in view.requests:
        if write.finish is not None:
            yield "drain", write.phase, write.finish
    if view.job.stage_out_bytes and not view.killed:
        yield "out", len(view.phases), view.end


def check_space(terms: Terms, view: JobView) -> Iterator[Violation]:
    """Rule 40: a write begins when it fits beside what is written
    and not yet drained.
    """
    if not view.stream_peak:
        return
    drained = {
        stream.phase: stream.finish for stream in view.streams if stream.kind == "drain"
    }
    before: list[
        tuple[float, float]
    ] = []  # when each write is drained, in turn, and its bytes
    for write in view.requests:
        volume, due = write.volume or 0.0, write.request
        before = [item for item in before if item[0] > due]
        held = sum(size for _, size in before)
        for gone, size in before:
            if held + volume > view.job.buffer_bytes * (1 + 1e-12):
                due, held = gone, held - size
        if write.grant is None:
            late = view.end > due + view.slack
        else:
            late = abs(write.grant - due) > view.slack
        if late:
            text = (
                f"phase {write.phase} is written from {write.grant!r}, has its space "
                f"at {due!r}"
            )
            yield violation("space", view.job.id, text)
        through = drained.get(write.phase)
        if through is not None:
            before.append((through, volume))


def check_writes(terms: Terms, views: Sequence[JobView]) -> Iterator[Violation]:
    """Rules 39 and 40: between grants and finishes the writes that run
    share the buffer's rate.
    """
    events: list[tuple[float, int, int, RequestView, JobView]] = []
    for view in views:
        for write in view.requests if view.stream_peak else ():
            if write.grant is not None and write.grant < write.last:
                number = len(events)
                events.append((write.grant, 1, number, write, view))
                events.append((write.last, 0, number, write, view))
    events.sort(key=lambda event: event[:3])
    buffer = terms.shared_buffer if terms.limited else None
    running: list[
        tuple[float, int, JobView]
    ] = []  # by peak per node, as rule 25 walks them
    moved: dict[int, float] = {}
    peaks, before, steps = 0.0, 0.0, 0
    for time, starts, number, write, view in events:
        if time > before and running:
            steps += 1
            whole = buffer is None or peaks <= buffer.bytes_per_second
            left = 0.0 if buffer is None else buffer.bytes_per_second
            nodes = sum(other.nodes for _, _, other in running)
            for _, other, one in running:
                rate = one.peak if whole else min(one.peak, one.nodes * left / nodes)
                moved[other] += rate * (time - before)
                left, nodes = left - rate, nodes - one.nodes
        before = time
        entry = (view.peak / view.nodes, number, view)
        if starts:
            insort(running, entry, key=lambda item: item[:2])
            moved[number], peaks = 0.0, peaks + view.peak
            continue
        del running[bisect_right(running, entry[:2], key=lambda item: item[:2]) - 1]
        peaks = peaks - view.peak if running else 0.0
        volume, done = write.volume or 0.0, moved.pop(number)
        slack = 1e-8 * volume + view.peak * view.slack * 4
        if done > volume + slack or (
            write.finish is not None and done < volume - slack
        ):
            text = (
                f"phase {write.phase} ends at {time!r} with {done:.9g} of "
                f"{volume:.9g} bytes"
            )
            yield violation("writes", view.job.id, text, abs(done - volume))


def check_holding(terms: Terms, views: Sequence[JobView]) -> Iterator[Violation]:
    """Rule 44: the bytes of a shared buffer that jobs hold never exceed it."""
    buffer = terms.shared_buffer
    if buffer is None or not terms.closed:
        return
    events: list[tuple[float, int, JobView]] = []
    for view in views:
        staged = (
            [s.request for s in view.streams if s.kind == "in"] if terms.ahead else []
        )
        since = min([view.start, *staged])
        if view.stream_peak and view.released > since + SLACK_SECONDS:
            events += [(since + view.slack, 1, view), (view.released, 0, view)]
    events.sort(key=lambda event: event[:2])
    held = 0.0
    for time, takes, view in events:
        held += view.job.buffer_bytes if takes else -view.job.buffer_bytes
        if takes and held > buffer.bytes * (1 + RELATIVE):
            text = (
                f"holds buffer at {time!r} when {held:.9g} of {buffer.bytes:.9g} "
                "bytes are held"
            )
            yield violation("buffer", view.job.id, text, held - buffer.bytes)
