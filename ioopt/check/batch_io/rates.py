"""Bandwidth checks: peaks, volumes, the total at each instant, and what storage allows at all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from ioopt.check.batch_io.columns import RELATIVE, Array, Spans
from ioopt.check.batch_io.terms import SLACK_SECONDS, JobView, RequestView, Terms
from ioopt.check.pipes import Load, overloads
from ioopt.result import Violation, violation


def check_grants(terms: Terms, view: JobView) -> Iterator[Violation]:
    """A first grant lies between request and finish (or the kill), where the first rate begins."""
    for record in chain(view.requests, view.streams):
        last = view.end if record.finish is None else record.finish
        name = view.job.id
        if record.grant is None:
            if record.finish is not None:
                text = f"{_named(record)} finishes but was never granted"
                yield violation("grant", name, text)
        elif not record.request - view.slack <= record.grant <= last + view.slack:
            text = f"{_named(record)} is first granted at {record.grant!r}, outside its request"
            yield violation("grant", name, text)
        elif record.rates and abs(record.rates[0][0] - record.grant) > view.slack:
            text = (
                f"{_named(record)} is first granted at {record.grant!r}, "
                f"its first rate begins at {record.rates[0][0]!r}"
            )
            yield violation("grant", name, text)


def _named(record: RequestView) -> str:
    return f"phase {record.phase}" if record.kind == "io" else f"stream {record.kind}"


def check_rates(terms: Terms, view: JobView) -> Iterator[Violation]:
    """Recorded rates: inside the request, one after the other, within the peak, all bytes moved."""
    whole = (terms.policy or "").startswith("cons-") and not terms.top and not terms.scaled
    for record in chain(view.requests, view.streams):
        if record.rates is None:
            continue
        yield from _spans(view, record)
        if record.volume is None:
            continue
        volume, peak = record.volume, record.peak
        moved = sum((until - since) * rate for since, until, rate in record.rates)
        slack = RELATIVE * volume + peak * view.slack
        if moved > volume + slack or (record.finish is not None and moved < volume - slack):
            text = f"{_named(record)} moves {moved!r} bytes of {volume!r}"
            yield violation("bytes", view.job.id, text, abs(moved - volume))
        for since, _, rate in record.rates if whole else ():
            if rate < peak * (1 - RELATIVE):
                text = f"{_named(record)} gets {rate!r} of its peak {peak!r} at {since!r}"
                yield violation("conservative", view.job.id, text, peak - rate)


def _spans(view: JobView, record: RequestView) -> Iterator[Violation]:
    assert record.rates is not None
    before = record.request
    last = view.end if record.finish is None else record.finish
    for since, until, rate in record.rates:
        if since < before - view.slack or until < since or until > last + view.slack:
            text = f"{_named(record)} has a rate from {since!r} to {until!r}, out of its time"
            yield violation("rates", view.job.id, text)
        if not 0 <= rate <= record.peak * (1 + RELATIVE):
            text = f"{_named(record)} gets {rate!r}, its peak is {record.peak!r}"
            yield violation("peak", view.job.id, text, rate - record.peak)
        before = until


def check_totals(terms: Terms, spans: Spans) -> list[Violation]:
    """At no instant do recorded rates exceed what the storage takes of so many requests (rule 29),
    streams the drain rate of a shared buffer (rule 42), and conservative grants congest it (rule 11).
    """
    if not terms.limited or not len(spans.rate):
        return []
    since, until, rate, peak, stream = spans
    time = np.concatenate([since, until])

    def running(what: Array) -> np.ndarray:
        return np.cumsum(np.concatenate([what, -what])[order])

    # At one instant what ends is gone before what begins.
    order = np.lexsort((np.concatenate([rate, -rate]), time))
    time, total = time[order], running(rate)
    found = []
    limit = np.full(len(time), terms.storage)
    if terms.problem.machine.interference:
        active = running(np.ones(len(rate)))
        limit /= 1 + terms.problem.machine.interference * np.maximum(active - 1, 0)
    for at in _lasting(time, total - limit > RELATIVE * terms.storage):
        text = f"{total[at]:.9g} bytes/s at {time[at]!r}, the storage takes {float(limit[at])!r}"
        excess = float(total[at] - limit[at])
        found.append(violation("storage", "storage", text, excess))
    drain = math.inf
    if terms.shared_buffer is not None:
        drain = terms.shared_buffer.drain_bytes_per_second
        streams = running(rate * stream)
        for at in _lasting(time, streams > drain * (1 + RELATIVE)):
            text = f"streams move {streams[at]:.9g} bytes/s at {time[at]!r}, the buffer {drain!r}"
            found.append(violation("drain", "buffer", text, float(streams[at] - drain)))
    # A stage-in that was undone leaves no record, and what it took cannot be told (rule 45).
    known = terms.scaled and not terms.ahead
    if (terms.policy or "").startswith("cons-") and not terms.top and known:
        streams, others = running(peak * stream), running(peak * ~stream)
        wanted = np.minimum(streams, drain)
        whole = np.minimum(others + wanted, limit)
        for at in _lasting(time, total < whole - RELATIVE * terms.storage):
            text = f"{total[at]:.9g} bytes/s at {time[at]!r}, whole grants come to {whole[at]:.9g}"
            found.append(violation("conservative", "storage", text))
    if terms.top and (terms.policy or "").startswith("cons-") and not terms.scaled:
        partials = running((rate < peak * (1 - RELATIVE)) * 1)
        for at in _lasting(time, partials > 1):
            text = f"{partials[at]} partial grants at {time[at]!r}; a +top policy makes one"
            found.append(violation("conservative", "storage", text))
    return found


def _lasting(time: Array, broken: Array) -> Iterator[int]:
    """Where stretches begin over which *broken* holds for longer than rounding explains."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], broken, [False]]).astype(np.int8)))
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist()):
        last = time[min(end, len(time) - 1)]
        if last - time[begin] > SLACK_SECONDS + 1e-12 * last:
            yield begin


def spans_of(views: list[JobView]) -> Spans:
    """The spans of jobs looked at one by one; of a buffered job those of its streams (rule 39)."""
    rows = [
        (since, until, rate, record.peak, record.kind != "io")
        for view in views
        for record in chain(() if view.stream_peak else view.requests, view.streams)
        for since, until, rate in record.rates or ()
        if rate > 0
    ]
    stream = np.array([row[4] for row in rows], dtype=bool)
    since, until, rate, peak = np.array([row[:4] for row in rows], dtype=float).reshape(-1, 4).T
    return Spans(since, until, rate, peak, stream)


def loads_of(views: list[JobView]) -> Iterator[Load]:
    """What went through the storage, where a request does not say at what rates."""
    if all(r.rates is not None for view in views for r in view.requests):
        return
    for view in views:
        for record in chain(() if view.stream_peak else view.requests, view.streams):
            if record.finish is not None and record.volume is not None:
                begin = record.request if record.grant is None else record.grant
                yield Load(begin, record.finish, record.volume, view.job.id)


def check_capacity(terms: Terms, loads: Iterable[Load]) -> list[Violation]:
    """Requests without rates that must move more in a span than the storage can."""
    found = []
    for load, left in overloads(terms.storage, loads, SLACK_SECONDS) if terms.limited else ():
        text = f"cannot finish at {load.end!r}: the storage has {left:.6g} bytes left to move then"
        found.append(violation("storage", load.item, text, left))
    return found
