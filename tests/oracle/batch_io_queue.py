"""The batch queue of the slow reference: rules 18-20, 30-36 and 44-47."""

import itertools
from fractions import Fraction
from typing import Any

Job = dict[str, Any]
Box = tuple[Any, Any, int, frozenset[int], Any]
"""[from, until), units, which units (where they are numbered), bytes of buffer (31)."""
INF = float("inf")


def run_pass(sim: Any, freed: bool) -> None:
    """One pass; *freed*: a job ended or a buffer was released since the last one."""
    sim.order = ordered(sim, sim.options["queue"])
    if sim.options["queue"] == "plan":
        plan_pass(sim)
    elif sim.options["backfill"] == "conservative":
        conservative(sim, freed)
    elif sim.flat and sim.numbered:
        easy_nodes(sim)
    else:
        easy_count(sim)


def ordered(sim: Any, queue: str) -> list[Job]:
    waiting = sorted(sim.within("wait"), key=lambda job: (job["submit"], job["id"]))
    if queue == "wfp":
        waiting.sort(
            key=lambda j: -(((sim.now - j["submit"]) / j["wall"]) ** 3) * j["asked"]
        )
    if queue == "sjf":
        waiting.sort(key=lambda job: job["wall"])
    return waiting


def behind(sim: Any, rest: list[Job]) -> list[Job]:
    """The candidates behind the first that does not fit (30)."""
    if sim.options["backfill_order"] == "sjf":
        return sorted(rest, key=lambda job: (job["wall"], job["submit"], job["id"]))
    return rest


def length(job: Job) -> Any:
    return job["wall"] if job["length"] is None else job["length"]


def wanted_bytes(sim: Any, job: Job) -> Any:
    return job["B"] if sim.shared else 0


# What is predicted (20), (36), (44).


def predicted(sim: Any, job: Job) -> Any:
    """When a running job ends, or when an ended one releases its buffer."""
    if job["state"] == "done":
        left = sum(volume for _, volume in job["drains"])
        if job["request"]:
            left -= job["request"]["volume"] - job["request"]["left"]
        if not job["killed"]:
            left += job["O"]
        return sim.now + left / job["stream_peak"]
    end = job["start"] + job["wall"]
    stays = end >= sim.now if sim.options["pass"] == "event" else end > sim.now
    return end if stays else sim.now + 300


def running_boxes(sim: Any, begun: dict[Any, Box] | None = None) -> list[Box]:
    boxes = []
    for job in sim.jobs:
        if job["id"] in (begun or {}) and job["state"] != "done":
            boxes.append((begun or {})[job["id"]])
            continue
        on_nodes = any(job is other for other in sim.on_nodes())
        held = (
            job["B"]
            if sim.shared and any(job is other for other in sim.holders())
            else 0
        )
        if on_nodes or held:
            place = (
                frozenset(job["place"]) if on_nodes and sim.numbered else frozenset()
            )
            size = job["size"] * on_nodes
            boxes.append((sim.now, predicted(sim, job), size, place, held))
    return boxes


def free_bytes(sim: Any, at: Any) -> Any:
    """Bytes of buffer that are free of boxes at a time; of nothing
    where nothing is shared.
    """
    if not sim.shared:
        return INF
    return sim.capacity - sum(box[4] for box in running_boxes(sim) if box[1] > at)


def bytes_now(sim: Any) -> Any:
    return sim.capacity - sum(job["B"] for job in sim.holders()) if sim.shared else INF


# First fit (31).


def first_fit(sim: Any, job: Job, boxes: list[Box]) -> tuple[Any, tuple[int, ...]]:
    boxes = [box for box in boxes if box[0] < box[1]]
    for start in sorted({sim.now} | {box[1] for box in boxes if box[1] > sim.now}):
        place = fits_at(sim, job, start, boxes)
        if place is not None:
            return start, place
    raise AssertionError("after the last box everything is free")


def fits_at(sim: Any, job: Job, start: Any, boxes: list[Box]) -> tuple[int, ...] | None:
    until = start + length(job)
    met = [b for b in boxes if b[1] > start and (b[0] < until or b[0] <= start)]
    for at in [start] + [box[0] for box in met if start < box[0]]:
        here = [box for box in met if box[0] <= at < box[1]]
        want = wanted_bytes(sim, job)
        if want and sum(box[4] for box in here) + want > sim.capacity:
            return None
        if not sim.numbered and sum(box[2] for box in here) + job["size"] > sim.units:
            return None
    if not sim.numbered:
        return ()
    busy = {unit for box in met for unit in box[3]}
    return lowest(sim, job, busy)


def lowest(sim: Any, job: Job, busy: set[int]) -> tuple[int, ...] | None:
    if sim.flat:
        free = [unit for unit in range(sim.units) if unit not in busy]
        return tuple(free[: job["size"]]) if len(free) >= job["size"] else None
    for block in blocks(sim, job):
        if not set(block) & busy:
            return tuple(block)
    return None


def blocks(sim: Any, job: Job) -> list[range]:
    starts = range(0, sim.units - job["size"] + 1, job["size"])
    return [range(start, start + job["size"]) for start in starts]


def taken(sim: Any) -> set[int]:
    return {unit for job in sim.on_nodes() for unit in job["place"]}


def box_of(sim: Any, job: Job, start: Any, place: tuple[int, ...]) -> Box:
    return (
        start,
        start + length(job),
        job["size"],
        frozenset(place),
        wanted_bytes(sim, job),
    )


def free_now(sim: Any, job: Job, place: tuple[int, ...]) -> bool:
    """Whether the job may start at its place at once, whatever the boxes say (36)."""
    if wanted_bytes(sim, job) > bytes_now(sim):
        return False
    if sim.numbered:
        return not set(place) & taken(sim)
    return bool(
        sum(other["size"] for other in sim.on_nodes()) + job["size"] <= sim.units
    )


# Passes.


def easy_nodes(sim: Any) -> None:
    """Rule 32: numbered units, one reservation."""
    rest = list(sim.order)
    reservation: Box | None = None
    while rest:
        job = rest.pop(0)
        held = [] if reservation is None else [reservation]
        start, place = first_fit(sim, job, running_boxes(sim) + held)
        if start == sim.now and free_now(sim, job, place):
            sim.start(job, place)
        elif sim.options["backfill"] == "none":
            return
        elif reservation is None:
            reservation = box_of(sim, job, start, place)
            rest = behind(sim, rest)


def conservative(sim: Any, freed: bool) -> None:
    """Rules 33 and 34."""
    overrun = any(
        predicted(sim, job) != job["start"] + job["wall"]
        for job in sim.within("stage", "compute", "io", "write")
    )
    late = any(box[0] < sim.now for box in sim.boxes.values())
    if overrun or late or sim.options["plan"] == "rebuild":
        sim.boxes.clear()
    behind, begun = (
        False,
        {},
    )  # CQSim: starts behind a waiting job keep the box of their estimate
    for job in sim.order:
        box = sim.boxes.get(job["id"])
        if box is not None and box[0] > sim.now and not freed:
            continue
        sim.boxes.pop(job["id"], None)
        start, place = first_fit(
            sim, job, running_boxes(sim, begun) + list(sim.boxes.values())
        )
        if start == sim.now and free_now(sim, job, place):
            if behind and sim.options["plan"] == "rebuild":
                begun[job["id"]] = box_of(sim, job, start, place)
            sim.start(job, place)
        else:
            behind = True
            sim.boxes[job["id"]] = box_of(sim, job, start, place)


def easy_count(sim: Any) -> None:
    """Rules 20 and 46: a counter of nodes, or blocks."""
    rest = list(sim.order)
    promise: dict[str, Any] | None = None
    while rest:
        job = rest.pop(0)
        late = promise is not None and sim.now + length(job) > promise["time"]
        want = wanted_bytes(sim, job)
        fits = want <= bytes_now(sim)
        place: tuple[int, ...] | None = ()
        if sim.flat:
            free = sim.units - sum(other["size"] for other in sim.on_nodes())
            fits = fits and job["size"] <= free
            if promise is not None and late:
                fits = fits and job["size"] <= promise["units"]
        else:
            avoid = set(promise["block"]) if promise is not None and late else set()
            place = lowest(sim, job, taken(sim) | avoid)
            fits = fits and place is not None
        if promise is not None and late:
            fits = fits and want <= promise["bytes"]
        if fits:
            sim.start(job, place)
            if promise is not None and late:
                used_up(sim, job, promise)
        elif promise is None:
            if sim.options["backfill"] == "none":
                return
            promise = promised(sim, job)
            rest = behind(sim, rest)


def used_up(sim: Any, job: Job, promise: dict[str, Any]) -> None:
    """What a late job took beside the reservation, unless it gave
    it back at once (46).
    """
    if not sim.buffered or any(job is other for other in sim.on_nodes()):
        promise["units"] -= job["size"]
    if job["holds"]:
        promise["bytes"] -= job["B"]


def promised(sim: Any, job: Job) -> dict[str, Any]:
    boxes = running_boxes(sim)
    want = wanted_bytes(sim, job)
    times = sorted(box[1] for box in boxes)
    if sim.flat:
        for time in times:
            units = sim.units - sum(box[2] for box in boxes if box[1] > time)
            if units >= job["size"] and free_bytes(sim, time) >= want:
                left = free_bytes(sim, time) - want
                return {"time": time, "units": units - job["size"], "bytes": left}
    room = next(time for time in [sim.now, *times] if free_bytes(sim, time) >= want)
    options = []
    for block in blocks(sim, job):
        ends = [box[1] for box in boxes if set(block) & box[3]]
        options.append((max([room, *ends]), block[0], block))
    time, _, block = min(options, key=lambda option: option[:2])
    return {
        "time": time,
        "block": block,
        "units": 0,
        "bytes": free_bytes(sim, time) - want,
    }


# Plan-based (47).


def plan_pass(sim: Any) -> None:
    first = sim.order[: sim.options["plan_depth"]]
    rest = sim.order[len(first) :]
    best: tuple[Any, list[Job]] | None = None
    evaluations = 0

    def better(candidate: list[Job]) -> bool:
        nonlocal best, evaluations
        evaluations += 1
        found = score(sim, candidate, fitted(sim, first + candidate))
        if best is not None and found >= best[0]:
            return False
        best = (found, candidate)
        return True

    if len(rest) <= 5:
        for candidate in itertools.permutations(rest):
            better(list(candidate))
    else:
        limit = sim.options["plan_evaluations"]
        for candidate in sorted_orders(rest):
            if evaluations < limit:
                better(candidate)
        gained = True
        while gained and evaluations < limit:
            gained = False
            for a, b in itertools.combinations(range(len(rest)), 2):
                if evaluations >= limit:
                    break
                assert best is not None
                candidate = list(best[1])
                candidate[a], candidate[b] = candidate[b], candidate[a]
                gained |= better(candidate)
    assert best is not None
    winner = first + best[1]
    boxes = fitted(sim, winner)
    for job, box in zip(winner, boxes):
        place = tuple(sorted(box[3]))
        if box[0] == sim.now and free_now(sim, job, place):
            sim.start(job, place)


def sorted_orders(rest: list[Job]) -> list[list[Job]]:
    orders = [rest]
    for key, down in (
        (lambda j: j["size"], True),
        (lambda j: j["B"], True),
        (lambda j: Fraction(j["B"], j["size"]), True),
        (lambda j: Fraction(j["B"], j["size"]), False),
        (lambda j: j["size"], False),
        (lambda j: j["B"], False),
        (lambda j: j["wall"], False),
        (lambda j: j["wall"], True),
    ):
        orders.append(sorted(rest, key=lambda job: key(job) * (-1 if down else 1)))
    return orders


def fitted(sim: Any, order: list[Job]) -> list[Box]:
    boxes: list[Box] = []
    running = running_boxes(sim)
    for job in order:
        start, place = first_fit(sim, job, running + boxes)
        boxes.append(box_of(sim, job, start, place))
    return boxes


def score(sim: Any, candidate: list[Job], boxes: list[Box]) -> Any:
    starts = [box[0] for box in boxes[len(boxes) - len(candidate) :]]
    power = sim.options["plan_power"]
    return sum((s - job["submit"]) ** power for s, job in zip(starts, candidate))
