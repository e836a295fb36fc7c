"""The batch queue of the slow reference, by rules 18 to 20 and 30 to 36."""

from typing import Any

Job = dict[str, Any]
Box = tuple[Any, Any, int, frozenset[int]]
"""A reservation by rule 31: begin, end, number of units, and the units if numbered."""


def run_pass(sim: Any, freed: bool) -> None:
    """Make one scheduling pass; *freed* says whether a job has ended since the last
    pass.
    """
    sim.order = ordered(sim, sim.options["queue"])
    if sim.options["backfill"] == "conservative":
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
    """Return the candidates for backfilling behind the first job that does not fit
    (30).
    """
    if sim.options["backfill_order"] == "sjf":
        return sorted(rest, key=lambda job: (job["wall"], job["submit"], job["id"]))
    return rest


def length(job: Job) -> Any:
    return job["wall"] if job["length"] is None else job["length"]


# Predicted ends, by rules 20 and 36.


def predicted(sim: Any, job: Job) -> Any:
    """Return the predicted end of a running job."""
    end = job["start"] + job["wall"]
    stays = end >= sim.now if sim.options["pass"] == "event" else end > sim.now
    return end if stays else sim.now + 300


def running_boxes(sim: Any, begun: dict[Any, Box] | None = None) -> list[Box]:
    boxes = []
    for job in sim.jobs:
        if job["id"] in (begun or {}) and job["state"] != "done":
            boxes.append((begun or {})[job["id"]])
            continue
        if any(job is other for other in sim.on_nodes()):
            place = frozenset(job["place"]) if sim.numbered else frozenset()
            boxes.append((sim.now, predicted(sim, job), job["size"], place))
    return boxes


# The first fit, by rule 31.


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
    return (start, start + length(job), job["size"], frozenset(place))


def free_now(sim: Any, job: Job, place: tuple[int, ...]) -> bool:
    """Return whether a job can start at its place now, whatever the reservations say
    (36).
    """
    if sim.numbered:
        return not set(place) & taken(sim)
    return bool(
        sum(other["size"] for other in sim.on_nodes()) + job["size"] <= sim.units
    )


# Scheduling passes.


def easy_nodes(sim: Any) -> None:
    """Make an EASY pass by rule 32, with numbered units and one reservation."""
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
    """Make a conservative pass by rules 33 and 34."""
    overrun = any(
        predicted(sim, job) != job["start"] + job["wall"]
        for job in sim.within("compute", "io")
    )
    late = any(box[0] < sim.now for box in sim.boxes.values())
    if overrun or late or sim.options["plan"] == "rebuild":
        sim.boxes.clear()
    behind, begun = (
        False,
        {},
    )  # as in CQSim, jobs started behind a waiting job keep their reservation
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
    """Make an EASY pass by rule 20, which counts nodes or finds blocks."""
    rest = list(sim.order)
    promise: dict[str, Any] | None = None
    while rest:
        job = rest.pop(0)
        late = promise is not None and sim.now + length(job) > promise["time"]
        place: tuple[int, ...] | None = ()
        if sim.flat:
            free = sim.units - sum(other["size"] for other in sim.on_nodes())
            fits = job["size"] <= free
            if promise is not None and late:
                fits = fits and job["size"] <= promise["units"]
        else:
            avoid = set(promise["block"]) if promise is not None and late else set()
            place = lowest(sim, job, taken(sim) | avoid)
            fits = place is not None
        if fits:
            sim.start(job, place)
            if promise is not None and late:
                promise["units"] -= job["size"]
        elif promise is None:
            if sim.options["backfill"] == "none":
                return
            promise = promised(sim, job)
            rest = behind(sim, rest)


def promised(sim: Any, job: Job) -> dict[str, Any]:
    boxes = running_boxes(sim)
    times = sorted(box[1] for box in boxes)
    if sim.flat:
        for time in times:
            units = sim.units - sum(box[2] for box in boxes if box[1] > time)
            if units >= job["size"]:
                return {"time": time, "units": units - job["size"]}
    options = []
    for block in blocks(sim, job):
        ends = [box[1] for box in boxes if set(block) & box[3]]
        options.append((max([sim.now, *ends]), block[0], block))
    time, _, block = min(options, key=lambda option: option[:2])
    return {"time": time, "block": block, "units": 0}
