"""Generate workloads of Khanna et al., Section 5.1: IMAGE, SAT and PPA.

A task of IMAGE reads the images of some patients over a range of dates. A task of SAT
reads chunks along a stretch of a Hilbert curve through a hot spot. A task of PPA reads
a single event file. "Varying the values of patient and time attributes" is read in two
ways for IMAGE. A larger batch follows the same patients over more dates, or it follows
more patients over the same dates (``image-85-follow-up``).

The tasks are spread so that the overlap is as near to the requested one as the draw
allows. The paper does not define overlap; ``meta`` of every instance has two statistics
of it:

- A = 1 - distinct files / requests, over the whole batch (requested for IMAGE and PPA);
- B = mean number of files that two tasks of one hot spot share / mean number of files
  of a task (requested for SAT, where A = 40 % would need 840 files, but there are 500).
  IMAGE and PPA count as one hot spot.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, product
from typing import Any, NamedTuple

import numpy as np

from ioopt.errors import UsageError
from ioopt.generate import chosen_preset
from ioopt.generate.replication import workflows
from ioopt.generate.replication.settings import PRESETS as BATCHES
from ioopt.generate.replication.settings import (
    FollowUpSettings,
    ImageSettings,
    PpaSettings,
    SatSettings,
    Settings,
)
from ioopt.problems.replication import (
    File,
    Network,
    Node,
    ReplicationProblem,
    Storage,
    Task,
)

PRESETS = {**BATCHES, **workflows.PRESETS}
"""For each preset, its settings class."""

SMALL_BYTES = 4_000_000
LARGE_BYTES = 64_000_000
CHUNK_BYTES = 50_000_000
HOT_SPOTS = 4
FINE = 8
"""Number of parts of a step in the number of boxes. If the number of boxes is
fractional, the last box is chosen less often, in proportion to its fraction.
"""
# A 5 x 5 map of cells has four 3 x 2 regions around the middle cell, none of which
# overlap.
_REGIONS = (
    ((0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)),
    ((3, 0), (4, 0), (3, 1), (4, 1), (3, 2), (4, 2)),
    ((2, 3), (3, 3), (4, 3), (2, 4), (3, 4), (4, 4)),
    ((0, 2), (1, 2), (0, 3), (1, 3), (0, 4), (1, 4)),
)


Requests = tuple[tuple[int, ...], ...]
"""For each task, the positions of the files that it reads."""
ScanFile = tuple[str, int, int]
"""The id, the number of bytes and the storage node of a file."""


class Workload(NamedTuple):
    """Files and requests before they become an instance.

    ``requests`` has, for each task, positions in ``files``. ``groups`` has the hot spot
    of each task.
    """

    files: tuple[ScanFile, ...]
    requests: Requests
    groups: tuple[int, ...]


def generate(
    preset: str | None, settings: Mapping[str, object], seed: int
) -> ReplicationProblem:
    """Generate an instance of *preset* (None: ``image-85``) with changed *settings*.

    The same arguments give the same instance. Raises UsageError for an unknown preset
    or setting and for settings that contradict each other.
    """
    name, chosen = chosen_preset("replication", PRESETS, preset or "image-85", settings)
    rng = np.random.default_rng(seed)
    if isinstance(chosen, workflows.Settings):
        return workflows.make(name, chosen, rng, seed)
    return make(name, chosen, rng, seed)


def make(
    preset: str, settings: Settings, rng: np.random.Generator, seed: int | None = None
) -> ReplicationProblem:
    """Return the instance that *settings* describe, with random numbers from *rng*.

    *preset* and *seed* are recorded in ``meta``.
    """
    maker = next(make for kind, make in _MAKERS.items() if isinstance(settings, kind))
    files, requests, groups = maker(settings, rng)
    largest = max(sum(files[at][1] for at in one) for one in requests)
    if settings.disk is not None and largest > settings.disk:
        seeded = "" if seed is None else f", seed {seed}"
        raise UsageError(
            f"{preset}{seeded}: a task needs {largest} bytes, more than the disk of "
            f"{settings.disk} bytes, so that no node can run it; set cap to the disk "
            "or less"
        )
    if settings.order == "submission":
        # Order the tasks by hot spot; order files by date, along the curve, or by
        # event.
        groups, requests = zip(*sorted(zip(groups, requests)))
    name = f"{preset}-{settings.tasks}x{settings.nodes}"
    if seed is not None:
        name += f"-s{seed}"
    return ReplicationProblem(
        name=name,
        meta={
            "source": "Khanna et al., Section 5.1, generated",
            "preset": preset,
            "seed": seed,
            "settings": settings.model_dump(mode="json"),
            "overlap_a": round(overlap_a(requests), 6),
            "overlap_b": round(overlap_b(requests, groups), 6),
        },
        network=Network(
            remote_bytes_per_second=settings.remote_rate,
            replica_bytes_per_second=settings.replica_rate,
            remote_link=settings.link,
        ),
        storages=_storages(settings),
        nodes=tuple(
            Node(
                id=f"n{i}",
                disk_bytes=settings.disk,
                disk_bytes_per_second=settings.node_disk_rate,
            )
            for i in range(settings.nodes)
        ),
        files=_files_read(settings, files, requests),
        tasks=_tasks(settings, files, requests),
    )


def _storages(settings: Settings) -> tuple[Storage, ...]:
    """Return the storage nodes; none if *settings* state no rate for them."""
    rate = settings.storage_rate
    if rate is None:
        return ()
    return tuple(
        Storage(id=f"s{i}", bytes_per_second=rate)
        for i in range(settings.storage_nodes)
    )


def _files_read(
    settings: Settings, files: Sequence[ScanFile], requests: Requests
) -> tuple[File, ...]:
    """Return the files that some task reads, in the order of *files*."""
    read: list[File] = []
    for at in sorted(set(chain.from_iterable(requests))):
        name, size, storage = files[at]
        place = None if settings.storage_rate is None else f"s{storage}"
        read.append(File(id=name, bytes=size, storage=place))
    return tuple(read)


def _tasks(
    settings: Settings, files: Sequence[ScanFile], requests: Requests
) -> tuple[Task, ...]:
    """Return a task for each of *requests*, with compute time in proportion to its
    bytes.
    """
    seconds_per_byte = settings.compute_seconds_per_mb / 1e6
    tasks: list[Task] = []
    for k, request in enumerate(requests):
        read = [files[at] for at in request]
        seconds = sum(size for _, size, _ in read) * seconds_per_byte
        tasks.append(
            Task(
                id=f"t{k}",
                compute_seconds=round(seconds, 9),
                inputs=tuple(name for name, _, _ in read),
            )
        )
    return tuple(tasks)


def _image(settings: ImageSettings, rng: np.random.Generator) -> Workload:
    """Draw a workload of IMAGE: a cohort of patients with one image for each date.

    A task reads the images of some patients on some dates. The overlap determines the
    number of dates.
    """
    patients = min(settings.patients_per_task, settings.cohort)
    lengths = _lengths(settings, rng)
    cap = _cap_bytes(settings)
    dates = [-(-length // patients) for length in lengths]
    last = sum(dates)
    files = _scans(settings, last, rng)
    sizes = [size for _, size, _ in files]
    chosen: list[list[int]] = []
    for _ in range(settings.tasks):
        drawn = rng.choice(settings.cohort, patients, replace=False)
        chosen.append(sorted(drawn.tolist()))
    where = rng.random(settings.tasks)

    def read(k: int, start: int) -> tuple[int, ...]:
        line = _window(settings.cohort, chosen[k], start, dates[k])
        return _stretch(line[: lengths[k]], sizes, cap)

    def draw(width: int) -> Requests:
        return tuple(
            read(k, int(where[k] * (width - dates[k] + 1))) for k in range(len(where))
        )

    if settings.overlap == 0:
        starts = [0] * settings.tasks
        at = 0
        for k in rng.permutation(settings.tasks).tolist():
            starts[k] = at
            at += dates[k]
        requests = tuple(read(k, start) for k, start in enumerate(starts))
    else:
        requests = nearest(max(dates), last, draw, overlap_a, settings.overlap)
    return Workload(files, requests, (0,) * settings.tasks)


def _follow_up(settings: FollowUpSettings, rng: np.random.Generator) -> Workload:
    """Draw a workload of IMAGE with the same few dates for all patients.

    The overlap determines the number of patients. The patients of a task are drawn
    without repetition, with odds 1 / rank ** popularity (as the smallest of exponential
    times). With ``together``, they are neighbours, of which the first one is drawn
    evenly. The first date of a task is drawn evenly over the follow-up.
    """
    patients = min(settings.patients_per_task, settings.cohort)
    lengths = _lengths(settings, rng)
    cap = _cap_bytes(settings)
    dates = [min(settings.dates, -(-length // patients)) for length in lengths]
    files = _scans(settings, settings.dates, rng)
    sizes = [size for _, size, _ in files]
    ranks = np.arange(1, settings.cohort + 1, dtype=np.float32)
    race = rng.standard_exponential((settings.tasks, settings.cohort), dtype=np.float32)
    race *= ranks**settings.popularity
    starts = [
        int(u * (settings.dates - days + 1))
        for u, days in zip(rng.random(settings.tasks), dates)
    ]
    lead = rng.random((settings.tasks, 1))

    def draw(width: int) -> Requests:
        first = np.argpartition(race[:, :width], patients - 1, axis=1)[:, :patients]
        if settings.together:
            first = (lead * (width - patients + 1)).astype(int) + np.arange(patients)
        chosen = np.sort(first, axis=1).tolist()
        requests = []
        for at, start, days, length in zip(chosen, starts, dates, lengths):
            window = _window(settings.cohort, at, start, days)
            requests.append(_stretch(window[:length], sizes, cap))
        return tuple(requests)

    requests = nearest(patients, settings.cohort, draw, overlap_a, settings.overlap)
    return Workload(files, requests, (0,) * settings.tasks)


def _scans(
    settings: ImageSettings, dates: int, rng: np.random.Generator
) -> tuple[ScanFile, ...]:
    """Return the images of all patients of the cohort on *dates* dates, by date.

    Each patient has one image for each date.
    """
    cohort = settings.cohort
    large = _shares(dates * cohort, settings.ct_share, rng)
    names = rng.permutation(max(2000, cohort))[:cohort].tolist()
    files: list[ScanFile] = []
    for date in range(dates):
        for place, name in enumerate(names):
            # The images of a patient are spread over all storage nodes.
            storage = (date + place) % settings.storage_nodes
            if large[len(files)]:
                files.append((f"p{name:04}d{date:03}-ct", LARGE_BYTES, storage))
            else:
                files.append((f"p{name:04}d{date:03}-mri", SMALL_BYTES, storage))
    return tuple(files)


def _window(cohort: int, patients: Sequence[int], start: int, dates: int) -> list[int]:
    """Return the positions of the images of *patients* on *dates* dates from *start*
    on.
    """
    window: list[int] = []
    for date in range(start, start + dates):
        window += [date * cohort + at for at in patients]
    return window


def _sat(settings: SatSettings, rng: np.random.Generator) -> Workload:
    """Draw a workload of SAT, with one chunk of 50 MB for each cell and day.

    With 500 chunks these are 25 GB. The chunks lie along a Hilbert curve, which
    distributes them over the storage nodes.
    """
    bits = max(3, (settings.days - 1).bit_length())
    cells = list(product(range(5), range(5), range(settings.days)))
    along = sorted(cells, key=lambda cell: hilbert_index(cell, bits))
    position = {cell: at for at, cell in enumerate(along)}
    files = tuple(
        (f"x{x}y{y}d{day:02}", CHUNK_BYTES, at % settings.storage_nodes)
        for at, (x, y, day) in enumerate(along)
    )
    regions: list[list[int]] = []
    for region in _REGIONS:
        chunks = product(region, range(settings.days))
        regions.append(sorted(position[x, y, day] for (x, y), day in chunks))
    groups = tuple(k % HOT_SPOTS for k in range(settings.tasks))
    lengths = _lengths(settings, rng)
    cap = _cap_bytes(settings)
    where = _stratified(groups, rng)
    longest = max(lengths)
    if longest > len(regions[0]):
        raise UsageError(
            f"SAT: a task of {longest} files is larger than a hot spot of "
            f"{len(regions[0])} chunks; lower files_per_task or raise days"
        )
    sizes = [CHUNK_BYTES] * len(files)

    def draw_stretches(width: int) -> Requests:
        read = []
        for group, u, length in zip(groups, where, lengths):
            start = int(u * (width - length + 1))
            line = regions[group][start : start + length]
            read.append(_stretch(line, sizes, cap))
        return tuple(read)

    def draw_boxes(width: int) -> Requests:
        read = []
        for group, u, length in zip(groups, where, lengths):
            boxes = _boxes(_REGIONS[group], settings, length)
            box = boxes[int(u * min(width / FINE, len(boxes)))]
            line = [position[cell] for cell in box]
            read.append(_stretch(line[:length], sizes, cap))
        return tuple(read)

    def overlap(drawn: Requests) -> float:
        return overlap_b(drawn, groups)

    if settings.windows == "box":
        most = len(_boxes(_REGIONS[0], settings, min(lengths)))
        requests = nearest(FINE, FINE * most, draw_boxes, overlap, settings.overlap)
    else:
        requests = nearest(
            longest, len(regions[0]), draw_stretches, overlap, settings.overlap
        )
    return Workload(files, requests, groups)


def _stratified(groups: Sequence[int], rng: np.random.Generator) -> list[float]:
    """Return a number from 0 to 1 for each task, spread evenly within its hot spot."""
    where = [0.0] * len(groups)
    for group in range(HOT_SPOTS):
        members = [k for k in range(len(groups)) if groups[k] == group]
        for stratum, k in enumerate(rng.permutation(members)):
            where[int(k)] = (stratum + float(rng.random())) / len(members)
    return where


def _boxes(
    region: Sequence[tuple[int, int]], settings: SatSettings, files: int
) -> list[list[tuple[int, int, int]]]:
    """Return all windows of at least *files* chunks in a hot spot, by first day.

    A window is a list of chunks (x, y, day): some cells over some days.
    """
    right, up = {1: (1, 1), 2: (2, 1), 4: (2, 2)}[settings.window_cells]
    inside: list[list[tuple[int, int]]] = []
    for x, y in sorted(region):
        ground = list(product(range(x, x + right), range(y, y + up)))
        if set(ground) <= set(region):
            inside.append(ground)
    days = -(-files // settings.window_cells)
    boxes: list[list[tuple[int, int, int]]] = []
    for first, ground in product(range(settings.days - days + 1), inside):
        cells = product(range(first, first + days), ground)
        boxes.append([(x, y, day) for day, (x, y) in cells])
    return boxes


def _ppa(settings: PpaSettings, rng: np.random.Generator) -> Workload:
    """Draw a workload of PPA, in which each task reads one event file.

    The files of 4 and 64 MB are put on the storage nodes in turn.
    """
    files: list[ScanFile] = []
    for at, large in enumerate(_shares(settings.tasks, settings.large_share, rng)):
        size = LARGE_BYTES if large else SMALL_BYTES
        files.append((f"e{at:04}", size, at % settings.storage_nodes))
    where = rng.random(settings.tasks)
    requests: Requests = tuple((at,) for at in range(settings.tasks))
    if settings.overlap > 0:
        requests = nearest(
            1,
            settings.tasks,
            lambda width: tuple((int(u * width),) for u in where),
            overlap_a,
            settings.overlap,
        )
    largest = max(files[one[0]][1] for one in requests)
    if settings.disk is not None and settings.disk < largest:
        raise UsageError(_too_small(largest, settings.disk))
    return Workload(tuple(files), requests, (0,) * settings.tasks)


def _shares(number: int, share: float, rng: np.random.Generator) -> list[bool]:
    """Return, for each of *number* files, whether it is large.

    Of every 30 consecutive files the share *share* is large, in random order.
    """
    large = round(share * 30)
    flags: list[bool] = []
    while len(flags) < number:
        flags += (rng.permutation(30) < large).tolist()
    return flags[:number]


def _lengths(
    settings: ImageSettings | SatSettings, rng: np.random.Generator
) -> list[int]:
    """Draw the number of files of each task."""
    low = max(1, settings.files_per_task - settings.spread)
    high = settings.files_per_task + (settings.files_per_task - low)
    return [int(n) for n in rng.integers(low, high + 1, settings.tasks)]


def _cap_bytes(settings: ImageSettings | SatSettings) -> int | None:
    """Return the largest total input of a task in bytes; None for no limit."""
    if settings.cap == "disk":
        return settings.disk
    if settings.cap == "none":
        return None
    return settings.cap


def _too_small(file_bytes: int, room: int) -> str:
    return (
        f"a file of {file_bytes} bytes does not fit in {room} bytes; raise the disk "
        "or the cap"
    )


def _stretch(
    line: Sequence[int], sizes: Sequence[int], cap: int | None
) -> tuple[int, ...]:
    """Return *line*, a list of files, cut at its end until its bytes fit *cap*.

    Raises UsageError if not even the first file fits.
    """
    files: list[int] = []
    total = 0
    for file in line:
        total += sizes[file]
        if cap is not None and total > cap:
            break
        files.append(file)
    if not files:
        raise UsageError(_too_small(total, cap or 0))
    return tuple(files)


def overlap_a(requests: Sequence[Sequence[int]]) -> float:
    """Return the overlap A = 1 - distinct files / requests (rule 10).

    *requests* has the files of each task.

    >>> overlap_a([(0, 1), (1, 2)])
    0.25
    """
    total = sum(len(files) for files in requests)
    if not total:
        return 0.0
    return 1 - len(set(chain.from_iterable(requests))) / total


def overlap_b(requests: Sequence[Sequence[int]], groups: Sequence[int]) -> float:
    """Return the overlap B, as a mean over the *groups* of tasks (rule 10).

    In a group, it is the mean number of files that two tasks share, divided by the mean
    number of files of a task.

    >>> overlap_b([(0, 1), (1, 2)], (0, 0))
    0.5
    """
    shares = []
    for group in sorted(set(groups)):
        members = [files for files, of in zip(requests, groups) if of == group]
        counts = Counter(chain.from_iterable(members))
        total = sum(counts.values())
        if len(members) < 2 or not total:
            continue
        pairs = len(members) * (len(members) - 1)
        shared = sum(count * (count - 1) for count in counts.values()) / pairs
        shares.append(shared / (total / len(members)))
    if not shares:
        return 0.0
    return sum(shares) / len(shares)


def nearest(
    low: int,
    high: int,
    draw: Callable[[int], Requests],
    overlap: Callable[[Requests], float],
    wanted: float,
) -> Requests:
    """Return the requests that *draw* gives for the width with the best overlap.

    The best overlap is the one nearest to *wanted*. Widths go from *low* to *high*, and
    the overlap falls as the width grows.
    """
    first = low
    last = high
    while first < last:
        middle = (first + last) // 2
        if overlap(draw(middle)) > wanted:
            first = middle + 1
        else:
            last = middle
    around = range(max(low, first - 4), min(high, first + 4) + 1)
    best = min(around, key=lambda width: (abs(overlap(draw(width)) - wanted), width))
    return draw(best)


def hilbert_index(point: Sequence[int], bits: int) -> int:
    """Return the position of *point* on the Hilbert curve through its cube.

    Coordinates are from 0 to 2**bits - 1.

    Sources: Skilling, "Programming the Hilbert curve" (2004). The distribution of data
    along it is from Faloutsos and Roseman, "Fractals for secondary key retrieval"
    (1989), reference [8] of Khanna et al.

    >>> [hilbert_index(p, 1) for p in ((0, 0), (0, 1), (1, 1), (1, 0))]
    [0, 1, 2, 3]
    """
    axes = list(point)
    for shift in range(bits - 1, 0, -1):
        mask = 1 << shift
        for axis in range(len(axes)):
            if axes[axis] & mask:
                axes[0] ^= mask - 1
            else:
                swap = (axes[0] ^ axes[axis]) & (mask - 1)
                axes[0] ^= swap
                axes[axis] ^= swap
    for axis in range(1, len(axes)):
        axes[axis] ^= axes[axis - 1]
    flip = 0
    for shift in range(bits - 1, 0, -1):
        if axes[-1] & (1 << shift):
            flip ^= (1 << shift) - 1
    axes = [value ^ flip for value in axes]
    index = 0
    for shift in range(bits - 1, -1, -1):
        for value in axes:
            index = index << 1 | value >> shift & 1
    return index


_MAKERS: dict[type[Settings], Callable[[Any, np.random.Generator], Workload]] = {
    FollowUpSettings: _follow_up,
    ImageSettings: _image,
    SatSettings: _sat,
    PpaSettings: _ppa,
}
"""For each settings class, the function that draws a workload; subclasses come
first.
"""
