"""Check the bandwidth of requests: first grants, peak rates, bytes moved, and the limit
of the storage.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ioopt.arrays import Flags, Floats, Ints
from ioopt.checks import Load, overloads
from ioopt.checks.batch_io.table import Table, marked
from ioopt.checks.batch_io.terms import SLACK_SECONDS, Terms
from ioopt.result import Violation, violation

RELATIVE = 1e-9


def is_conservative(terms: Terms) -> bool:
    """Return whether the policy is a conservative one, with or without ``+top``.

    Turns of large requests are not: all that transfer share the storage (rule 54).
    """
    named = (terms.policy or "").startswith("cons-")
    return named and terms.least_bytes is None


def check_grants(table: Table) -> Iterator[Violation]:
    """Check the first grant of each request.

    The first grant must lie within the request, and the first recorded rate of the
    request must begin at the same time.
    """
    rows = table.rows
    grant = rows.grant
    known = ~np.isnan(grant)
    slack = table.slack[table.owner]
    never = ~known & ~np.isnan(rows.finish)
    inside = (rows.request - slack <= grant) & (grant <= table.last + slack)
    outside = known & ~inside
    first = np.full(len(grant), np.nan)
    timed = np.flatnonzero(np.diff(rows.edges) > 0)
    first[timed] = rows.since[rows.edges[timed]]
    late = known & inside & (np.abs(first - grant) > slack)
    for k in marked(never | outside | late):
        given = float(grant[k])
        text = f"is first granted at {given!r}, its first rate begins at {first[k]!r}"
        if never[k]:
            text = "finishes but was never granted"
        elif outside[k]:
            text = f"is first granted at {given!r}, outside its request"
        name = table.name(table.owner[k])
        yield violation("grant", name, f"phase {rows.phase[k]} {text}")


def check_rates(terms: Terms, table: Table) -> Iterator[Violation]:
    """Check the recorded rates of each request: their times, the peak rate, and the
    bytes moved.
    """
    if table.rows.timed.any():
        yield from _check_spans(terms, table)
        yield from _check_bytes(table)


def _check_spans(terms: Terms, table: Table) -> Iterator[Violation]:
    """Check the spans of each request: they lie within the request, do not overlap, and
    do not exceed its peak rate.

    Conservative policies without ``+top`` grant peak rates or nothing (rule 11), unless
    interference lowers their grants.
    """
    rows = table.rows
    of = table.share
    since, until, rate = rows.since, rows.until, rows.rate
    slack = table.slack[table.owner]
    first_of_request = np.diff(of, prepend=-1) > 0
    previous = np.where(first_of_request, rows.request[of], np.roll(until, 1))
    peak = table.peak[table.owner][of]
    too_early = since < previous - slack[of]
    too_late = until > (table.last + slack)[of]
    misplaced = too_early | too_late | (until < since)
    too_fast = ~((rate >= 0) & (rate <= peak * (1 + RELATIVE)))
    partial = np.zeros(len(rate), bool)
    if is_conservative(terms) and not terms.top and not terms.interferes:
        partial = rate < peak * (1 - RELATIVE)
    rules = {"rates": misplaced, "peak": too_fast, "conservative": partial}
    for rule, broken in rules.items():
        for k in marked(broken):
            request = of[k]
            given, most = float(rate[k]), float(peak[k])
            text = (
                f"phase {rows.phase[request]} gets {given!r} from {float(since[k])!r} "
                f"to {float(until[k])!r}; it lasts from "
                f"{float(rows.request[request])!r} to {float(table.last[request])!r}, "
                f"its peak is {most!r}"
            )
            name = table.name(table.owner[request])
            yield violation(rule, name, text, abs(given - most))


def _check_bytes(table: Table) -> Iterator[Violation]:
    """Check the bytes that recorded rates move.

    A finished request must have moved all its bytes, and no request may have moved more
    bytes than it has.
    """
    rows = table.rows
    owner = table.owner
    volume = table.asked
    tolerance = RELATIVE * volume + table.peak[owner] * table.slack[owner]
    with np.errstate(over="ignore", invalid="ignore"):
        amounts = (rows.until - rows.since) * rows.rate
        moved = np.bincount(table.share, amounts, len(owner))
    off = np.abs(moved - volume)
    wrong = rows.timed & (off > tolerance)
    wrong &= ~np.isnan(rows.finish) | (moved > volume)
    for k in marked(wrong):
        text = (
            f"phase {rows.phase[k]} moves {float(moved[k])!r} bytes of "
            f"{float(volume[k])!r}"
        )
        yield violation("bytes", table.name(owner[k]), text, float(off[k]))


def check_turns(terms: Terms, table: Table) -> Iterator[Violation]:
    """Check the turns of large requests (rule 54): a smaller request begins when it is
    made, and the peak rates of large ones that move together fit the storage.
    """
    if terms.least_bytes is None:
        return
    rows = table.rows
    small = table.asked < terms.least_bytes * (1 - RELATIVE)
    slack = table.slack[table.owner]
    waits = small & (table.asked > 0) & (rows.grant > rows.request + slack)
    for k in marked(waits):
        text = (
            f"phase {rows.phase[k]} of {float(table.asked[k])!r} bytes waits until "
            f"{float(rows.grant[k])!r}, but needs no turn"
        )
        yield violation("turns", table.name(table.owner[k]), text)
    moving = (rows.rate > 0) & ~small[table.share]
    if not moving.any():
        return
    totals = _totals(terms, table, moving)
    whole = np.full_like(totals.peak, terms.storage)
    for text, excess in _too_fast(terms, totals.time, totals.peak, whole):
        yield violation("turns", "storage", f"turns for {text}", excess)


class Totals(NamedTuple):
    """Sums over the spans that are current at the same time, with one entry for each
    change of a rate.
    """

    time: Floats
    rate: Floats
    peak: Floats
    partial: Floats
    """Number of spans whose rate is below their peak rate."""
    limit: Floats
    """Rate that the storage delivers to as many requests as are moving then (rule
    29).
    """


def check_totals(terms: Terms, table: Table) -> Iterator[Violation]:
    """Check the sums of recorded rates at all times.

    The sums must not exceed what the storage delivers (rule 29). Conservative policies
    give no request a part of its peak rate (rule 11). With ``+top`` they may give a
    part to one request at a time (rule 28).
    """
    moving = table.rows.rate > 0
    if not terms.limited or not moving.any():
        return
    totals = _totals(terms, table, moving)
    yield from _over_limit(terms, totals)
    if not is_conservative(terms):
        return
    if not terms.top and terms.interferes:
        yield from _less_than_whole(terms, totals)
    if terms.top and not terms.interferes:
        yield from _several_partial(totals)


def _totals(terms: Terms, table: Table, moving: Flags) -> Totals:
    """Return the sums over those spans for which *moving* is true."""
    since = table.rows.since[moving]
    until = table.rows.until[moving]
    rate = table.rows.rate[moving]
    peak = table.peak[table.owner][table.share[moving]]
    time = np.concatenate([until, since])
    # At one instant, spans end before other spans begin.
    order = np.argsort(time, kind="stable")

    def running(amount: Floats) -> Floats:
        total: Floats = np.cumsum(np.concatenate([-amount, amount])[order])
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
    for text, excess in _too_fast(terms, totals.time, totals.rate, totals.limit):
        yield violation("storage", "storage", text, excess)


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


def _too_fast(
    terms: Terms, time: Floats, rate: Floats, limit: Floats
) -> Iterator[tuple[str, float]]:
    """Yield the text for each period in which *rate* exceeds *limit*, what the storage
    takes, and by how many bytes per second it does.
    """
    excess = rate - limit
    for at in _lasting(time, excess > RELATIVE * terms.storage):
        text = (
            f"{rate[at]:.9g} bytes/s at {float(time[at])!r}, the storage takes "
            f"{float(limit[at])!r}"
        )
        yield text, float(excess[at])


def _lasting(time: Floats, broken: Flags) -> Iterator[int]:
    """Yield the first index of each period in which *broken* is true.

    Periods short enough to be rounding errors are left out.
    """
    padded = np.concatenate([[False], broken, [False]]).astype(np.int8)
    edges = np.flatnonzero(np.diff(padded))
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist()):
        last = time[min(end, len(time) - 1)]
        if last - time[begin] > SLACK_SECONDS + 1e-12 * last:
            yield begin


def check_capacity(terms: Terms, table: Table) -> Iterator[Violation]:
    """Check requests that state no rates: the storage must be able to move their bytes
    in the time that they took.
    """
    rows = table.rows
    if not terms.limited or rows.timed.all():
        return
    is_done = ~np.isnan(rows.finish) & ~np.isnan(table.asked)
    # There may be millions of requests: copy none of their columns where all are done.
    done: slice | Flags = slice(None) if is_done.all() else is_done
    begin = np.where(np.isnan(rows.grant), rows.request, rows.grant)[done]
    end, size = rows.finish[done], table.asked[done]

    def late(chosen: Ints) -> list[tuple[Load, float]]:
        names = [table.name(k) for k in table.owner[done][chosen].tolist()]
        columns = (column[chosen].tolist() for column in (begin, end, size))
        loads = [Load(*numbers) for numbers in zip(*columns, names)]
        return overloads(terms.storage, loads, SLACK_SECONDS)

    if not late(pressed(terms.storage, begin, end, size)):
        return
    # Which of several transfers is late depends on all of them.
    for load, left in late(np.arange(len(size))):
        text = (
            f"cannot finish at {load.end!r}: the storage has {left:.6g} bytes left to "
            "move then"
        )
        yield violation("storage", load.item, text, left)


def pressed(storage: float, begin: Floats, end: Floats, size: Floats) -> Ints:
    """Return the transfers that *storage* bytes/s may be too slow for; those left out
    end in time, and delay none of these.

    The storage is busy from the begin of a transfer until it has moved all bytes that
    it was asked for so far, in any order. A transfer that ends after that busy period
    is done, and by earliest deadline it waits for all others of the period. Without it
    the period is shorter, so that more transfers may end after it.
    """
    left = np.lexsort((end, begin))
    while len(left):
        work = size[left] / storage
        total = np.cumsum(work)
        # The most by which the rounding of the sums can move an instant, in seconds.
        rounding = 4 * len(left) * EPSILON * (total[-1] + np.abs(end).max())
        # In place, because there may be millions of transfers.
        finish = np.subtract(begin[left], np.subtract(total, work, out=work), out=work)
        np.maximum.accumulate(finish, out=finish)
        finish += total
        del total, work
        opens = np.append(True, begin[left][1:] > finish[:-1] + rounding)
        stops = finish[np.append(opens[1:], True)]
        del finish
        lengths = np.diff(np.flatnonzero(np.append(opens, True)))
        stay = end[left] < np.repeat(stops + rounding, lengths)
        left = left[stay]
        if stay.mean() > LEAST_GAIN:
            break
    return left


LEAST_GAIN = 0.9
"""Share of transfers left at which another look at busy periods takes too long."""
EPSILON = 2.0**-53
"""Largest relative error of one rounding."""
