"""Bandwidth checks: grants, peaks, volumes, the total at each instant, and what storage allows at all."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ioopt.check.batch_io.columns import SLACK_SECONDS, Columns, Mask, Reals, Records
from ioopt.check.pipes import Load, overloads
from ioopt.result import Violation, violation

RELATIVE = 1e-9


def check_grants(columns: Columns, part: Records) -> Iterator[Violation]:
    """A first grant lies between request and finish (or the kill), where the first rate begins."""
    slack, granted = columns.slack[part.owner], ~np.isnan(part.grant)
    some = np.flatnonzero(part.spans_of)
    first = np.full(len(part.owner), np.nan)
    first[some] = part.since[(np.cumsum(part.spans_of) - part.spans_of)[some]]
    outside = (part.grant < part.request - slack) | (part.grant > part.last + slack)
    late = np.abs(first - part.grant) > slack
    bad = np.where(granted, outside | late, part.ended)
    for k in np.flatnonzero(bad).tolist():
        name = columns.views[part.owner[k]].job.id
        text = f"{part.named(k)} is first granted at {float(part.grant[k])!r}, "
        if not granted[k]:
            text = f"{part.named(k)} finishes but was never granted"
        elif outside[k]:
            text += "outside its request"
        else:
            text += f"its first rate begins at {float(first[k])!r}"
        yield violation("grant", name, text)


def check_rates(columns: Columns, part: Records) -> Iterator[Violation]:
    """Recorded rates: inside the request, one after the other, within the peak, all bytes moved."""
    terms, of, views = columns.terms, part.record_of, columns.views
    slack, peak = columns.slack[part.owner], part.peak
    before = np.append(0.0, part.until[:-1]) if len(of) else part.until
    head = np.flatnonzero(np.append(True, of[1:] != of[:-1])) if len(of) else of
    before[head] = part.request[of[head]]
    misplaced = (part.since < before - slack[of]) | (part.until < part.since)
    misplaced |= part.until > part.last[of] + slack[of]
    beyond = (part.rate < 0) | (part.rate > peak[of] * (1 + RELATIVE))
    for s in np.flatnonzero(misplaced | beyond).tolist():
        name, what = views[part.owner[of[s]]].job.id, part.named(int(of[s]))
        since, until, rate = (float(column[s]) for column in (part.since, part.until, part.rate))
        if misplaced[s]:
            text = f"{what} has a rate from {since!r} to {until!r}, out of its time"
            yield violation("rates", name, text)
        if beyond[s]:
            most = float(peak[of[s]])
            yield violation(
                "peak", name, f"{what} gets {rate!r}, its peak is {most!r}", rate - most
            )
    moved = np.bincount(of, (part.until - part.since) * part.rate, len(part.owner))
    rounding = RELATIVE * part.volume + peak * slack
    off = (moved > part.volume + rounding) | (part.ended & (moved < part.volume - rounding))
    for k in np.flatnonzero(part.recorded & off).tolist():
        done, volume = float(moved[k]), float(part.volume[k])
        text = f"{part.named(k)} moves {done!r} bytes of {volume!r}"
        yield violation("bytes", views[part.owner[k]].job.id, text, abs(done - volume))
    whole = (terms.policy or "").startswith("cons-") and not terms.top and not terms.scaled
    low = (part.rate < peak[of] * (1 - RELATIVE)) & ~np.isnan(part.volume[of])
    for s in np.flatnonzero(low).tolist() if whole else ():
        since, rate, most = float(part.since[s]), float(part.rate[s]), float(peak[of[s]])
        text = f"{part.named(int(of[s]))} gets {rate!r} of its peak {most!r} at {since!r}"
        yield violation("conservative", views[part.owner[of[s]]].job.id, text, most - rate)


def check_totals(columns: Columns) -> list[Violation]:
    """At no instant do recorded rates exceed what the storage takes of so many requests (rule 29),
    streams the drain rate of a shared buffer (rule 42), and conservative grants congest it (rule 11).
    """
    terms, (since, until, rate, peak, stream) = columns.terms, columns.spans()
    if not terms.limited or not len(rate):
        return []
    time = np.concatenate([since, until])

    def running(what: Reals) -> Reals:
        total: Reals = np.cumsum(np.concatenate([what, -what])[order])
        return total

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
        partials = running((rate < peak * (1 - RELATIVE)).astype(float))
        for at in _lasting(time, partials > 1):
            text = f"{partials[at]:.0f} partial grants at {time[at]!r}; a +top policy makes one"
            found.append(violation("conservative", "storage", text))
    return found


def _lasting(time: Reals, broken: Mask) -> Iterator[int]:
    """Where stretches begin over which *broken* holds for longer than rounding explains."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], broken, [False]]).astype(np.int8)))
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist()):
        last = time[min(end, len(time) - 1)]
        if last - time[begin] > SLACK_SECONDS + 1e-12 * last:
            yield begin


def check_capacity(columns: Columns) -> list[Violation]:
    """Requests without rates that must move more in a span than the storage can."""
    terms, found = columns.terms, []
    if not terms.limited or columns.io.recorded.all():
        return []
    loads = []
    for part, apart in ((columns.io, columns.buffered), (columns.streams, ~columns.buffered)):
        begin = np.where(np.isnan(part.grant), part.request, part.grant)
        some = np.flatnonzero(part.ended & ~np.isnan(part.volume) & ~apart[part.owner])
        for k in some.tolist():
            times = float(begin[k]), float(part.finish[k]), float(part.volume[k])
            loads.append(Load(*times, columns.views[part.owner[k]].job.id))
    for load, left in overloads(terms.storage, loads, SLACK_SECONDS):
        text = f"cannot finish at {load.end!r}: the storage has {left:.6g} bytes left to move then"
        found.append(violation("storage", load.item, text, left))
    return found
