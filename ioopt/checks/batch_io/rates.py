"""Check the bandwidth of requests: first grants, peak rates, bytes moved, and the limit
of the storage.
"""

from __future__ import annotations

import math
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
Flags = NDArray[np.bool_]


class Spans(NamedTuple):
    """The recorded rates of all requests as columns, with one row for each time span at
    a constant rate.

    ``owner`` is the index in ``records`` of the request to which the span belongs.
    """

    records: list[tuple[JobView, RequestView]]
    owner: NDArray[np.int64]
    since: Reals
    until: Reals
    rate: Reals

    @classmethod
    def of(cls, views: Sequence[JobView]) -> Spans:
        """Return the rates that the requests of *views* state; requests without rates
        are left out.
        """
        records: list[tuple[JobView, RequestView]] = []
        for view in views:
            for record in view.requests:
                if record.rates is not None:
                    records.append((view, record))
        rates = [record.rates or () for _, record in records]
        owner = np.repeat(np.arange(len(rates)), [*map(len, rates)])
        numbers = chain.from_iterable(chain.from_iterable(rates))
        triples = np.fromiter(numbers, float, 3 * len(owner)).reshape(-1, 3)
        since, until, rate = triples.T
        return cls(records, owner, since, until, rate)

    @property
    def peak(self) -> Reals:
        """Return, for each span, the peak rate of its request."""
        peaks = [record.peak for _, record in self.records]
        return np.array(peaks, float)[self.owner]


def is_conservative(terms: Terms) -> bool:
    """Return whether the policy is a conservative one, with or without ``+top``."""
    return (terms.policy or "").startswith("cons-")


def check_grants(terms: Terms, view: JobView) -> Iterator[Violation]:
    """Check the first grant of each request of a job.

    The first grant must lie within the request, and the first recorded rate of the
    request must begin at the same time.
    """
    for record in view.requests:
        text = _false_grant(view, record)
        if text:
            named = f"phase {record.phase}"
            yield violation("grant", view.job.id, f"{named} {text}")


def _false_grant(view: JobView, record: RequestView) -> str:
    """Return what is wrong with the first grant of *record*, as text; empty if it is
    right.
    """
    grant = record.grant
    if grant is None:
        return "finishes but was never granted" if record.finish is not None else ""
    if not record.request - view.slack <= grant <= record.last + view.slack:
        return f"is first granted at {grant!r}, outside its request"
    if record.rates and abs(record.rates[0][0] - grant) > view.slack:
        begin = record.rates[0][0]
        return f"is first granted at {grant!r}, its first rate begins at {begin!r}"
    return ""


def check_rates(terms: Terms, spans: Spans) -> Iterator[Violation]:
    """Check the recorded rates of each request: their times, the peak rate, and the
    bytes moved.
    """
    yield from _check_spans(terms, spans)
    yield from _check_bytes(spans)


def _check_spans(terms: Terms, spans: Spans) -> Iterator[Violation]:
    """Check the spans of each request: they lie within the request, do not overlap, and
    do not exceed its peak rate.

    Conservative policies without ``+top`` grant peak rates or nothing (rule 11), unless
    interference lowers their grants.
    """
    records = spans.records
    request = np.array([record.request for _, record in records], float)
    last = np.array([record.last for _, record in records], float)
    slack = np.array([view.slack for view, _ in records], float)
    _, owner, since, until, rate = spans
    first_of_record = np.diff(owner, prepend=-1) > 0
    previous = np.where(first_of_record, request[owner], np.roll(until, 1))
    peak = spans.peak
    too_early = since < previous - slack[owner]
    too_late = until > (last + slack)[owner]
    misplaced = too_early | too_late | (until < since)
    too_fast = ~((rate >= 0) & (rate <= peak * (1 + RELATIVE)))
    partial = np.zeros(len(rate), bool)
    if is_conservative(terms) and not terms.top and not terms.interferes:
        partial = rate < peak * (1 - RELATIVE)
    rules = {"rates": misplaced, "peak": too_fast, "conservative": partial}
    for rule, broken in rules.items():
        for k in np.flatnonzero(broken):
            view, record = records[owner[k]]
            given = float(rate[k])
            text = (
                f"phase {record.phase} gets {given!r} from {float(since[k])!r} to "
                f"{float(until[k])!r}; it lasts from {record.request!r} to "
                f"{record.last!r}, its peak is {record.peak!r}"
            )
            yield violation(rule, view.job.id, text, abs(given - record.peak))


def _check_bytes(spans: Spans) -> Iterator[Violation]:
    """Check the bytes that recorded rates move.

    A finished request must have moved all its bytes, and no request may have moved more
    bytes than it has.
    """
    records = spans.records
    volumes = [
        math.nan if record.volume is None else record.volume for _, record in records
    ]
    rounding = [record.peak * view.slack for view, record in records]
    volume = np.array(volumes, float)
    tolerance = RELATIVE * volume + np.array(rounding, float)
    with np.errstate(over="ignore", invalid="ignore"):
        amounts = (spans.until - spans.since) * spans.rate
        moved = np.bincount(spans.owner, amounts, len(records))
    for k in np.flatnonzero(abs(moved - volume) > tolerance):
        view, record = records[k]
        if record.finish is not None or moved[k] > volume[k]:
            text = (
                f"phase {record.phase} moves {float(moved[k])!r} bytes of "
                f"{record.volume!r}"
            )
            off = float(abs(moved[k] - volume[k]))
            yield violation("bytes", view.job.id, text, off)


class Totals(NamedTuple):
    """Sums over the spans that are current at the same time, with one entry for each
    change of a rate.
    """

    time: Reals
    rate: Reals
    peak: Reals
    partial: Reals
    """Number of spans whose rate is below their peak rate."""
    limit: Reals
    """Rate that the storage delivers to as many requests as are moving then (rule
    29).
    """


def check_totals(terms: Terms, spans: Spans) -> Iterator[Violation]:
    """Check the sums of recorded rates at all times.

    The sums must not exceed what the storage delivers (rule 29). Conservative policies
    give no request a part of its peak rate (rule 11). With ``+top`` they may give a
    part to one request at a time (rule 28).
    """
    moving = spans.rate > 0
    if not terms.limited or not moving.any():
        return
    totals = _totals(terms, spans, moving)
    yield from _over_limit(terms, totals)
    if not is_conservative(terms):
        return
    if not terms.top and terms.interferes:
        yield from _less_than_whole(terms, totals)
    if terms.top and not terms.interferes:
        yield from _several_partial(totals)


def _totals(terms: Terms, spans: Spans, moving: Flags) -> Totals:
    """Return the sums over those spans for which *moving* is true."""
    since = spans.since[moving]
    until = spans.until[moving]
    rate = spans.rate[moving]
    peak = spans.peak[moving]
    time = np.concatenate([until, since])
    # At one instant, spans end before other spans begin.
    order = np.argsort(time, kind="stable")

    def running(amount: Reals) -> Reals:
        total: Reals = np.cumsum(np.concatenate([-amount, amount])[order])
        return total

    limit = np.full(len(time), terms.storage)
    if terms.interferes:
        others = np.maximum(running(np.ones(len(rate))) - 1, 0)
        limit /= 1 + terms.problem.machine.interference * others
    return Totals(
        time=time[order],
        rate=running(rate),
        peak=running(peak),
        partial=running((rate < peak * (1 - RELATIVE)).astype(float)),
        limit=limit,
    )


def _over_limit(terms: Terms, totals: Totals) -> Iterator[Violation]:
    """Yield a violation for each period in which the sum of rates exceeds what the
    storage delivers.
    """
    excess = totals.rate - totals.limit
    for at in _lasting(totals.time, excess > RELATIVE * terms.storage):
        text = (
            f"{totals.rate[at]:.9g} bytes/s at {float(totals.time[at])!r}, the storage "
            f"takes {float(totals.limit[at])!r}"
        )
        yield violation("storage", "storage", text, float(excess[at]))


def _less_than_whole(terms: Terms, totals: Totals) -> Iterator[Violation]:
    """Yield a violation for each period in which the sum of rates is less than the sum
    of full grants after interference.
    """
    whole = np.minimum(totals.peak, totals.limit)
    for at in _lasting(totals.time, totals.rate < whole - RELATIVE * terms.storage):
        text = (
            f"{totals.rate[at]:.9g} bytes/s at {float(totals.time[at])!r}, but full "
            f"grants amount to {whole[at]:.9g}"
        )
        yield violation("conservative", "storage", text)


def _several_partial(totals: Totals) -> Iterator[Violation]:
    """Yield a violation for each period in which more than one request has a part of
    its peak rate.
    """
    for at in _lasting(totals.time, totals.partial > 1):
        text = (
            f"{totals.partial[at]:.0f} partial grants at {float(totals.time[at])!r}; a "
            "+top policy makes at most one"
        )
        yield violation("conservative", "storage", text)


def _lasting(time: Reals, broken: Flags) -> Iterator[int]:
    """Yield the first index of each period in which *broken* is true.

    Periods short enough to be rounding errors are left out.
    """
    padded = np.concatenate([[False], broken, [False]]).astype(np.int8)
    edges = np.flatnonzero(np.diff(padded))
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist()):
        last = time[min(end, len(time) - 1)]
        if last - time[begin] > SLACK_SECONDS + 1e-12 * last:
            yield begin


def check_capacity(terms: Terms, views: Sequence[JobView]) -> Iterator[Violation]:
    """Check requests that state no rates: the storage must be able to move their bytes
    in the time that they took.
    """
    if not terms.limited:
        return
    records = [(view, record) for view in views for record in view.requests]
    if all(record.rates is not None for _, record in records):
        return
    loads = []
    for view, record in records:
        if record.finish is not None and record.volume is not None:
            begin = record.request if record.grant is None else record.grant
            loads.append(Load(begin, record.finish, record.volume, view.job.id))
    for load, left in overloads(terms.storage, loads, SLACK_SECONDS):
        text = (
            f"cannot finish at {load.end!r}: the storage has {left:.6g} bytes left to "
            "move then"
        )
        yield violation("storage", load.item, text, left)
