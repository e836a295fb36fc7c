"""Bandwidth checks: peaks, volumes, the total at each instant, and what storage allows at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ioopt.check.batch_io.terms import SLACK_SECONDS, JobView, RequestView, Terms
from ioopt.check.pipes import Load, overloads
from ioopt.result import Violation, violation

if TYPE_CHECKING:
    import numpy as np

RELATIVE = 1e-9


def check_grants(terms: Terms, view: JobView) -> Iterator[Violation]:
    """A first grant lies between request and finish (or the kill), where the first rate begins."""
    for record in view.requests:
        last = view.end if record.finish is None else record.finish
        name = view.job.id
        if record.grant is None:
            if record.finish is not None:
                text = f"phase {record.phase} finishes but was never granted"
                yield violation("grant", name, text)
        elif not record.request - view.slack <= record.grant <= last + view.slack:
            text = f"phase {record.phase} is first granted at {record.grant!r}, outside its request"
            yield violation("grant", name, text)
        elif record.rates and abs(record.rates[0][0] - record.grant) > view.slack:
            text = (
                f"phase {record.phase} is first granted at {record.grant!r}, "
                f"its first rate begins at {record.rates[0][0]!r}"
            )
            yield violation("grant", name, text)


def check_rates(terms: Terms, view: JobView) -> Iterator[Violation]:
    """Recorded rates: inside the request, one after the other, within the peak, all bytes moved."""
    for record in view.requests:
        if record.rates is None:
            continue
        yield from _spans(view, record)
        if record.phase >= len(view.phases):
            continue
        volume = view.phases[record.phase][1]
        moved = sum((until - since) * rate for since, until, rate in record.rates)
        slack = RELATIVE * volume + view.peak * view.slack
        if moved > volume + slack or (record.finish is not None and moved < volume - slack):
            text = f"phase {record.phase} moves {moved!r} bytes of {volume!r}"
            yield violation("bytes", view.job.id, text, abs(moved - volume))
        if terms.policy is not None and terms.policy.startswith("cons-") and not terms.top:
            for since, _, rate in record.rates:
                if rate < view.peak * (1 - RELATIVE):
                    text = (
                        f"phase {record.phase} gets {rate!r} of its peak {view.peak!r} at {since!r}"
                    )
                    yield violation("conservative", view.job.id, text, view.peak - rate)


def _spans(view: JobView, record: RequestView) -> Iterator[Violation]:
    assert record.rates is not None
    before = record.request
    last = view.end if record.finish is None else record.finish
    for since, until, rate in record.rates:
        if since < before - view.slack or until < since or until > last + view.slack:
            text = f"phase {record.phase} has a rate from {since!r} to {until!r}, out of its time"
            yield violation("rates", view.job.id, text)
        if not 0 <= rate <= view.peak * (1 + RELATIVE):
            text = f"phase {record.phase} gets {rate!r}, its peak is {view.peak!r}"
            yield violation("peak", view.job.id, text, rate - view.peak)
        before = until


def check_totals(terms: Terms, views: list[JobView]) -> list[Violation]:
    """At no instant do recorded rates exceed the storage, or conservative grants congest it (rule 11)."""
    if not terms.limited:
        return []
    spans = [
        (since, until, rate, rate < view.peak * (1 - RELATIVE))
        for view in views
        for record in view.requests
        for since, until, rate in record.rates or ()
    ]
    if not spans:
        return []
    import numpy as np

    since, until, rate, partial = (np.array(column) for column in zip(*spans))
    time = np.concatenate([since, until])
    change = np.concatenate([rate, -rate])
    order = np.lexsort((change, time))  # at one instant what ends is gone before what begins
    time = time[order]
    total = np.cumsum(change[order])
    found = []
    for at in _lasting(time, total - terms.storage > RELATIVE * terms.storage):
        text = f"{total[at]:.9g} bytes/s at {time[at]!r}, the storage takes {terms.storage!r}"
        excess = float(total[at] - terms.storage)
        found.append(violation("storage", "storage", text, excess))
    if terms.top and (terms.policy or "").startswith("cons-"):
        partials = np.cumsum(np.concatenate([partial * 1, partial * -1])[order])
        for at in _lasting(time, partials > 1):
            text = f"{partials[at]} partial grants at {time[at]!r}; a +top policy makes one"
            found.append(violation("conservative", "storage", text))
    return found


def _lasting(time: np.ndarray, broken: np.ndarray) -> Iterator[int]:
    """Where stretches begin over which *broken* holds for longer than rounding explains."""
    import numpy as np

    edges = np.flatnonzero(np.diff(np.concatenate([[False], broken, [False]]).astype(np.int8)))
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist()):
        last = time[min(end, len(time) - 1)]
        if last - time[begin] > SLACK_SECONDS + 1e-12 * last:
            yield begin


def check_capacity(terms: Terms, views: list[JobView]) -> list[Violation]:
    """Requests without rates that must move more in a span than the storage can."""
    if not terms.limited or all(r.rates is not None for view in views for r in view.requests):
        return []
    loads = []
    for view in views:
        for record in view.requests:
            if record.finish is not None and record.phase < len(view.phases):
                begin = record.request if record.grant is None else record.grant
                loads.append(Load(begin, record.finish, view.phases[record.phase][1], view.job.id))
    found = []
    for load, left in overloads(terms.storage, loads, SLACK_SECONDS):
        text = f"cannot finish at {load.end!r}: the storage has {left:.6g} bytes left to move then"
        found.append(violation("storage", load.item, text, left))
    return found
