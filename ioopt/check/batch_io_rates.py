"""Bandwidth checks: peaks, volumes, the total at each instant, and what storage allows at all."""

from __future__ import annotations

from collections.abc import Iterator

from ioopt.check.batch_io_terms import SLACK_SECONDS, JobView, RequestView, Terms, violation
from ioopt.result import Violation

RELATIVE = 1e-6


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
    volumes: list[float] | None = None
    for record in view.requests:
        if record.rates is None:
            continue
        volumes = view.volumes() if volumes is None else volumes
        yield from _spans(view, record)
        if record.phase >= len(volumes):
            continue
        volume = volumes[record.phase]
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
    """At no instant do the recorded rates exceed the storage, or conservative grants congest it.

    A ``+top`` variant may have at most one partial grant at a time (rule 11).
    """
    if not terms.limited:
        return []
    events: list[tuple[float, float, int]] = []
    for view in views:
        for record in view.requests:
            for since, until, rate in record.rates or ():
                partial = int(rate < view.peak * (1 - RELATIVE))
                events.append((since, rate, partial))
                events.append((until, -rate, -partial))
    events.sort(key=lambda event: (event[0], event[1]))
    total, partials, found = 0.0, 0, []
    single = terms.top
    for k, (time, rate, partial) in enumerate(events):
        total += rate
        partials += partial
        lasts = (events[k + 1][0] - time) if k + 1 < len(events) else 0.0
        excess = total - terms.storage
        if excess > RELATIVE * terms.storage and lasts > SLACK_SECONDS:
            text = f"{total!r} bytes/s at {time!r}, the storage takes {terms.storage!r}"
            found.append(violation("storage", "storage", text, excess))
        if single and partials > 1 and lasts > SLACK_SECONDS:
            text = f"{partials} partial grants at {time!r}; a +top policy makes one"
            found.append(violation("conservative", "storage", text))
    return found


def check_capacity(terms: Terms, views: list[JobView]) -> list[Violation]:
    """What no rates could mend: requests that must move more in a span than the storage can.

    Without recorded rates the schedule is held to this: from the first request after the storage
    fell idle, the bytes of the requests finished by any instant fit in the time since then.
    """
    if not terms.limited or all(r.rates is not None for view in views for r in view.requests):
        return []
    spans = []
    for view in views:
        volumes = view.volumes()
        for record in view.requests:
            if record.finish is not None and record.phase < len(volumes):
                spans.append((record.request, record.finish, volumes[record.phase], view.job.id))
    spans.sort(key=lambda span: span[:2])
    found: list[Violation] = []
    group: list[tuple[float, float, float, object]] = []
    latest = 0.0
    for span in spans:
        if group and span[0] > latest:
            found += _busy_period(terms, group)
            group = []
        group.append(span)
        latest = max(latest, span[1])
    return [*found, *_busy_period(terms, group)]


def _busy_period(
    terms: Terms, group: list[tuple[float, float, float, object]]
) -> Iterator[Violation]:
    moved = 0.0
    for _, finish, volume, name in sorted(group, key=lambda span: span[1]):
        moved += volume
        time = finish - group[0][0]
        if moved > terms.storage * (time * (1 + RELATIVE) + SLACK_SECONDS):
            text = f"{moved!r} bytes would be moved in {time!r} s, more than the storage can"
            yield violation("storage", name, text, moved - terms.storage * time)
            return
