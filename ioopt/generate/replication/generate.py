"""Seeded workloads of Khanna et al., Section 5.1: IMAGE, SAT and PPA.

A task reads the images of some patients over a range of dates, a stretch of chunks
along a Hilbert curve through a hot spot, or a single event file. IMAGE comes in two
readings of "varying the values of patient and time attributes": a larger batch follows
the same patients over more dates, or more patients over the same dates
(``image-85-follow-up``). How far the tasks are spread is set so that the overlap comes
as near to the wanted one as the draw allows. The paper does not define overlap; two
statistics are put into ``meta`` of every instance:

- A = 1 - distinct files / requests, over the whole batch (wanted for IMAGE and PPA);
- B = mean number of files that two tasks of one hot spot share / mean files a task
  (wanted for SAT, where A = 40 % would need 840 files of the 500 there are). IMAGE and
  PPA count as one hot spot.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
"""Preset name -> settings class."""

SMALL_BYTES, LARGE_BYTES, CHUNK_BYTES = 4_000_000, 64_000_000, 50_000_000
HOT_SPOTS = 4
FINE = 8
"""Steps between so many boxes to choose from and one more; half a box is
chosen half as often.
"""
# A 5 x 5 map of cells: four 3 x 2 regions around the middle cell,
# none of which overlap.
_REGIONS = (
    ((0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)),
    ((3, 0), (4, 0), (3, 1), (4, 1), (3, 2), (4, 2)),
    ((2, 3), (3, 3), (4, 3), (2, 4), (3, 4), (4, 4)),
    ((0, 2), (1, 2), (0, 3), (1, 3), (0, 4), (1, 4)),
)


Requests = tuple[tuple[int, ...], ...]
"""Files of each task."""


class Workload(NamedTuple):
    """Files and requests before they become an instance.

    ``files`` are (id, bytes, storage index); ``requests`` positions in ``files`` a
    task; ``groups`` the hot spot of each task.
    """

    files: tuple[tuple[str, int, int], ...]
    requests: Requests
    groups: tuple[int, ...]


def generate(
    preset: str | None, settings: Mapping[str, object], seed: int
) -> ReplicationProblem:
    """One instance of *preset* (None: ``image-85``) with the *settings* changed.

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
    """The instance that *settings* and *rng* give; *preset* and *seed* are
    recorded in ``meta``.
    """
    maker = next(make for kind, make in _MAKERS.items() if isinstance(settings, kind))
    files, requests, groups = maker(settings, rng)
    if settings.order == "submission":
        # Hot spot by hot spot; files lie date by date, along the curve,
        # or event by event.
        groups, requests = zip(*sorted(zip(groups, requests)))
    rate = settings.storage_rate
    mega = settings.compute_seconds_per_mb / 1e6
    sizes = [sum(files[file][1] for file in read) for read in requests]
    return ReplicationProblem(
        name=f"{preset}-{settings.tasks}x{settings.nodes}"
        + ("" if seed is None else f"-s{seed}"),
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
        storages=tuple(
            Storage(id=f"s{i}", bytes_per_second=rate)
            for i in range(0 if rate is None else settings.storage_nodes)
        ),
        nodes=tuple(
            Node(
                id=f"n{i}",
                disk_bytes=settings.disk,
                disk_bytes_per_second=settings.node_disk_rate,
            )
            for i in range(settings.nodes)
        ),
        files=tuple(
            File(id=name, bytes=size, storage=None if rate is None else f"s{storage}")
            for name, size, storage in (
                files[at] for at in sorted(set().union(*requests))
            )
        ),
        tasks=tuple(
            Task(
                id=f"t{k}",
                compute_seconds=round(sizes[k] * mega, 9),
                inputs=tuple(files[file][0] for file in read),
            )
            for k, read in enumerate(requests)
        ),
    )


def _image(settings: ImageSettings, rng: np.random.Generator) -> Workload:
    """A cohort followed over dates, one image each; a task reads some
    patients' over some dates.
    """
    patients = min(settings.patients_per_task, settings.cohort)
    lengths, cap = _lengths(settings, rng), _cap_bytes(settings)
    dates = [-(-length // patients) for length in lengths]
    last = sum(dates)
    files = _scans(settings, last, rng)
    sizes = [size for _, size, _ in files]
    chosen = [
        sorted(int(at) for at in rng.choice(settings.cohort, patients, replace=False))
        for _ in range(settings.tasks)
    ]
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
        for k in (int(k) for k in rng.permutation(settings.tasks)):
            starts[k], at = at, at + dates[k]
        requests = tuple(read(k, start) for k, start in enumerate(starts))
    else:
        requests = nearest(max(dates), last, draw, overlap_a, settings.overlap)
    return Workload(files, requests, (0,) * settings.tasks)


def _follow_up(settings: FollowUpSettings, rng: np.random.Generator) -> Workload:
    """Patients followed over the same few dates; the wanted overlap
    sets how many patients.

    The patients of a task are drawn without repetition, with odds 1 / rank **
    popularity (the first to arrive in a race of exponential times), or stand
    ``together`` from an evenly drawn one on; its dates start evenly over the follow-up.
    """
    patients = min(settings.patients_per_task, settings.cohort)
    lengths, cap = _lengths(settings, rng), _cap_bytes(settings)
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
        return tuple(
            _stretch(_window(settings.cohort, at, start, days)[:length], sizes, cap)
            for at, start, days, length in zip(chosen, starts, dates, lengths)
        )

    requests = nearest(patients, settings.cohort, draw, overlap_a, settings.overlap)
    return Workload(files, requests, (0,) * settings.tasks)


def _scans(
    settings: ImageSettings, dates: int, rng: np.random.Generator
) -> tuple[tuple[str, int, int], ...]:
    """One image for each of *dates* and each patient of the cohort, date by date."""
    cohort = settings.cohort
    large = _shares(dates * cohort, settings.ct_share, rng)
    names = [int(name) for name in rng.permutation(max(2000, cohort))[:cohort]]
    kinds = [("ct", LARGE_BYTES) if each else ("mri", SMALL_BYTES) for each in large]
    scans = ((date, name) for date in range(dates) for name in names)
    return tuple(
        (f"p{name:04}d{date:03}-{kind}", size, at % settings.storage_nodes)
        for at, ((date, name), (kind, size)) in enumerate(zip(scans, kinds))
    )


def _window(cohort: int, patients: Sequence[int], start: int, dates: int) -> list[int]:
    """The images of *patients* over *dates* dates from *start* on, as
    positions in the scans.
    """
    return [
        date * cohort + at for date in range(start, start + dates) for at in patients
    ]


def _sat(settings: SatSettings, rng: np.random.Generator) -> Workload:
    """Cells x days, one 50 MB chunk each (500 = 25 GB), declustered
    along a Hilbert curve.
    """
    bits = max(3, (settings.days - 1).bit_length())
    cells = [
        (x, y, day) for x in range(5) for y in range(5) for day in range(settings.days)
    ]
    along = sorted(cells, key=lambda cell: hilbert_index(cell, bits))
    position = {cell: at for at, cell in enumerate(along)}
    files = tuple(
        (f"x{x}y{y}d{day:02}", CHUNK_BYTES, at % settings.storage_nodes)
        for at, (x, y, day) in enumerate(along)
    )
    regions = [
        sorted(position[(x, y, day)] for x, y in region for day in range(settings.days))
        for region in _REGIONS
    ]
    groups = tuple(k % HOT_SPOTS for k in range(settings.tasks))
    lengths, cap = _lengths(settings, rng), _cap_bytes(settings)
    where = [0.0] * settings.tasks
    for group in range(HOT_SPOTS):
        members = [k for k in range(settings.tasks) if groups[k] == group]
        for stratum, k in enumerate(rng.permutation(members)):
            where[int(k)] = (stratum + float(rng.random())) / len(members)
    longest = max(lengths)
    if longest > len(regions[0]):
        raise UsageError(
            f"SAT: a task of {longest} files is larger than a hot spot of "
            f"{len(regions[0])} chunks; lower files_per_task or raise days"
        )
    sizes = [CHUNK_BYTES] * len(files)

    def draw(width: int) -> Requests:
        starts = [int(u * (width - n + 1)) for u, n in zip(where, lengths)]
        return tuple(
            _stretch(regions[group][start : start + n], sizes, cap)
            for group, start, n in zip(groups, starts, lengths)
        )

    def draw_boxes(width: int) -> Requests:
        read = []
        for group, u, n in zip(groups, where, lengths):
            boxes = _boxes(_REGIONS[group], settings, n)
            line = [
                position[cell] for cell in boxes[int(u * min(width / FINE, len(boxes)))]
            ]
            read.append(_stretch(line[:n], sizes, cap))
        return tuple(read)

    low, high, drawing = longest, len(regions[0]), draw
    if settings.windows == "box":
        most = len(_boxes(_REGIONS[0], settings, min(lengths)))
        low, high, drawing = FINE, FINE * most, draw_boxes
    requests = nearest(
        low, high, drawing, lambda drawn: overlap_b(drawn, groups), settings.overlap
    )
    return Workload(files, requests, groups)


def _boxes(
    region: Sequence[tuple[int, int]], settings: SatSettings, files: int
) -> list[list[tuple[int, int, int]]]:
    """All windows of at least *files* chunks in a hot spot: so many cells over
    some days, by first day.
    """
    right, up = {1: (1, 1), 2: (2, 1), 4: (2, 2)}[settings.window_cells]
    grounds = [
        [(x + dx, y + dy) for dx in range(right) for dy in range(up)]
        for x, y in sorted(region)
    ]
    inside = [ground for ground in grounds if set(ground) <= set(region)]
    days = -(-files // settings.window_cells)
    return [
        [(x, y, day) for day in range(first, first + days) for x, y in ground]
        for first in range(settings.days - days + 1)
        for ground in inside
    ]


def _ppa(settings: PpaSettings, rng: np.random.Generator) -> Workload:
    """Event files of 4 and 64 MB, round robin over the storages;
    each task reads one.
    """
    large = _shares(settings.tasks, settings.large_share, rng)
    files = tuple(
        (f"e{at:04}", LARGE_BYTES if each else SMALL_BYTES, at % settings.storage_nodes)
        for at, each in enumerate(large)
    )
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
    return Workload(files, requests, (0,) * settings.tasks)


def _shares(number: int, share: float, rng: np.random.Generator) -> list[bool]:
    """Which of *number* files are large: *share* of every 30 in a
    row, in random order.
    """
    large = round(share * 30)
    blocks = [rng.permutation(30) < large for _ in range(-(-number // 30))]
    return [bool(flag) for block in blocks for flag in block][:number]


def _lengths(
    settings: ImageSettings | SatSettings, rng: np.random.Generator
) -> list[int]:
    low = max(1, settings.files_per_task - settings.spread)
    high = settings.files_per_task + (settings.files_per_task - low)
    return [int(n) for n in rng.integers(low, high + 1, settings.tasks)]


def _cap_bytes(settings: ImageSettings | SatSettings) -> int | None:
    if settings.cap == "disk":
        return settings.disk
    return None if settings.cap == "none" else settings.cap


def _too_small(file_bytes: int, room: int) -> str:
    return (
        f"a file of {file_bytes} bytes does not fit in {room} bytes; raise the disk "
        "or the cap"
    )


def _stretch(
    line: Sequence[int], sizes: Sequence[int], cap: int | None
) -> tuple[int, ...]:
    """*line*, shortened at its end until its bytes fit *cap*."""
    files, total = [], 0
    for file in line:
        total += sizes[file]
        if cap is not None and total > cap:
            break
        files.append(file)
    if not files:
        raise UsageError(_too_small(total, cap or 0))
    return tuple(files)


def overlap_a(requests: Sequence[Sequence[int]]) -> float:
    """1 - distinct files / requests (rule 10).

    >>> overlap_a([(0, 1), (1, 2)])
    0.25
    """
    total = sum(len(files) for files in requests)
    return (
        1 - len({file for files in requests for file in files}) / total
        if total
        else 0.0
    )


def overlap_b(requests: Sequence[Sequence[int]], groups: Sequence[int]) -> float:
    """Files shared by two tasks of a group / mean files of its tasks, means
    of groups (rule 10).

    >>> overlap_b([(0, 1), (1, 2)], (0, 0))
    0.5
    """
    shares = []
    for group in sorted(set(groups)):
        members = [files for files, of in zip(requests, groups) if of == group]
        counts = Counter(file for files in members for file in files)
        total = sum(counts.values())
        if len(members) < 2 or not total:
            continue
        pairs = len(members) * (len(members) - 1)
        shared = sum(count * (count - 1) for count in counts.values()) / pairs
        shares.append(shared / (total / len(members)))
    return sum(shares) / len(shares) if shares else 0.0


def nearest(
    low: int,
    high: int,
    draw: Callable[[int], Requests],
    overlap: Callable[[Requests], float],
    wanted: float,
) -> Requests:
    """The draw whose overlap is nearest to *wanted*; the overlap
    falls as the width grows.
    """
    first, last = low, high
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
    """Position of *point* (coordinates from 0 to 2**bits - 1) on the Hilbert
    curve through its cube.

    Source: Skilling, "Programming the Hilbert curve" (2004); declustering by it:
    Faloutsos and Roseman, "Fractals for secondary key retrieval" (1989), reference
    [8] of Khanna et al..

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
"""Subclasses first."""
