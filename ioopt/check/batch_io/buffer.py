"""Checks of burst buffers: streams in their order, space over time, rates of writes, capacity."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator

from ioopt.check.batch_io.columns import SLACK_SECONDS, JobView, RequestView, Terms
from ioopt.check.batch_io.rates import RELATIVE
from ioopt.result import Violation, violation

Requests = tuple[RequestView, ...]


def check_streams(
    terms: Terms, view: JobView, requests: Requests, streams: Requests
) -> Iterator[Violation]:
    """Rule 41: stage-in, a drain a finished write, stage-out, the release; each after the other."""
    name, rest = view.job.id, iter(streams)
    then = view.start
    for kind, phase, ready in _expected(view, requests):
        stream = next(rest, None)
        if stream is None or (stream.kind, stream.phase) != (kind, phase):
            given = "nothing" if stream is None else f"{stream.kind} of phase {stream.phase}"
            text = f"wants the stream {kind} of phase {phase} next, finds {given}"
            yield violation("streams", name, text)
            return
        yield from _issued(terms, view, stream, max(then, ready))
        if stream.finish is None:
            if not (view.killed and kind == "in"):
                yield violation("streams", name, f"its stream {kind} never finishes")
            then = view.end
            continue
        fastest = stream.request + (stream.volume or 0.0) / stream.peak
        if stream.finish < fastest - view.slack - RELATIVE * (fastest - stream.request):
            text = f"its stream {kind} finishes at {stream.finish!r}, at its peak at {fastest!r}"
            yield violation("peak", name, text, fastest - stream.finish)
        then = stream.finish
    if (extra := next(rest, None)) is not None:
        yield violation("streams", name, f"has a stream {extra.kind} out of place")
    last = max(then, view.end)
    if abs(view.released - last) > view.slack:
        text = f"is released at {view.released!r}, its last stream and phase end at {last!r}"
        yield violation("released", name, text, abs(view.released - last))


def _expected(view: JobView, requests: Requests) -> Iterator[tuple[str, int, float]]:
    """Kind, phase and earliest issue of each stream that a job's records ask for."""
    if not view.stream_peak:
        return
    if view.job.stage_in_bytes:
        yield "in", -1, 0.0
    for write in requests:
        if write.finish is not None:
            yield "drain", write.phase, write.finish
    if view.job.stage_out_bytes and not view.killed:
        yield "out", view.job.num_phases, view.end


def _issued(terms: Terms, view: JobView, stream: RequestView, due: float) -> Iterator[Violation]:
    early = terms.ahead and stream.kind == "in"
    since = view.job.submit_seconds if early else due
    if not since - view.slack <= stream.request <= due + view.slack:
        text = f"its stream {stream.kind} is issued at {stream.request!r}, is due at {due!r}"
        yield violation("streams", view.job.id, text, abs(stream.request - due))


def check_space(
    terms: Terms, view: JobView, requests: Requests, streams: Requests
) -> Iterator[Violation]:
    """Rule 40: a write begins when it fits beside what is written and not yet drained."""
    if not view.stream_peak:
        return
    drained = {stream.phase: stream.finish for stream in streams if stream.kind == "drain"}
    before: list[tuple[float, float]] = []  # when each write is drained, in turn, and its bytes
    for write in requests:
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
            text = f"phase {write.phase} is written from {write.grant!r}, has its space at {due!r}"
            yield violation("space", view.job.id, text)
        through = drained.get(write.phase)
        if through is not None:
            before.append((through, volume))


def check_writes(terms: Terms, jobs: list[tuple[JobView, Requests]]) -> list[Violation]:
    """Rules 39 and 40: between grants and finishes the writes that run share the buffer's rate."""
    events: list[tuple[float, int, int, RequestView, JobView]] = []
    for view, requests in jobs:
        for write in requests if view.stream_peak else ():
            last = view.end if write.finish is None else write.finish
            if write.grant is not None and write.grant < last:
                number = len(events)
                events.append((write.grant, 1, number, write, view))
                events.append((last, 0, number, write, view))
    events.sort(key=lambda event: event[:3])
    buffer = terms.shared_buffer if terms.limited else None
    running: list[tuple[float, int, JobView]] = []  # by peak per node, as rule 25 walks them
    moved: dict[int, float] = {}
    found: list[Violation] = []
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
        if done > volume + slack or (write.finish is not None and done < volume - slack):
            text = f"phase {write.phase} ends at {time!r} with {done:.9g} of {volume:.9g} bytes"
            found.append(violation("writes", view.job.id, text, abs(done - volume)))
    return found


def check_holding(terms: Terms, jobs: list[tuple[JobView, Requests]]) -> list[Violation]:
    """Rule 44: the bytes of a shared buffer that jobs hold never exceed it."""
    buffer = terms.shared_buffer
    if buffer is None or not terms.closed:
        return []
    events: list[tuple[float, int, JobView]] = []
    for view, streams in jobs:
        staged = [s.request for s in streams if s.kind == "in"] if terms.ahead else []
        since = min([view.start, *staged])
        if view.stream_peak and view.released > since + SLACK_SECONDS:
            events += [(since + view.slack, 1, view), (view.released, 0, view)]
    events.sort(key=lambda event: event[:2])
    held, found = 0.0, []
    for time, takes, view in events:
        held += view.job.buffer_bytes if takes else -view.job.buffer_bytes
        if takes and held > buffer.bytes * (1 + RELATIVE):
            text = f"holds buffer at {time!r} when {held:.9g} of {buffer.bytes:.9g} bytes are held"
            found.append(violation("buffer", view.job.id, text, held - buffer.bytes))
    return found
