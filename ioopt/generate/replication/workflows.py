"""Generate workflows (ours): chains, fork-joins, an in-tree, a mosaic, small groups.

Sizes and compute times have lognormal distributions around their means. The first tasks
read files from remote storage. Files that no task reads must be saved. With
``disk_share``, the disk of every node has that many times the bytes of the largest
task, because the order of tasks matters most on small disks. With ``products=shared``
all files are on shared storage, and the disk is a cache.
"""

import math
from collections.abc import Callable, Mapping
from itertools import chain, pairwise
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from ioopt.errors import UsageError
from ioopt.formats.values import Number, Rate
from ioopt.generate import PresetSettings
from ioopt.generate.replication.settings import Disk
from ioopt.problems.base import Lean
from ioopt.problems.replication import (
    CacheModel,
    File,
    LinkModel,
    Network,
    Node,
    Products,
    ReplicationProblem,
    Task,
)

Few = Annotated[int, Field(ge=1, le=10_000)]
Mean = Annotated[float, Field(gt=0, le=1e9)]
MAX_TASKS = 200_000


class Shape(PresetSettings):
    """Settings of the tasks and files of all shapes."""

    mean_seconds: Mean = 30.0
    """Mean compute time of a task in seconds."""
    mean_mb: Mean = 50.0
    """Mean size of a file in MB."""
    spread: Annotated[float, Field(ge=0, le=3)] = 0.5
    """Sigma of the lognormal distributions of sizes and compute times."""
    task_cores: Few = 1
    """Largest number of cores of a task; the number is drawn evenly from 1 on."""


class Settings(Shape, Lean):
    """Settings that all workflows have; ``disk_share`` overrides ``disk``.

    ``memory`` is that of a node, ``task_memory`` the mean of the tasks, whose memory is
    lognormal and at most that of a node. ``overhead`` is in seconds, the same for all
    tasks. ``products`` and ``cache``: see
    :class:`ioopt.problems.replication.ReplicationProblem`.
    """

    LATER = frozenset({"memory", "task_memory", "overhead", "products", "cache"})
    nodes: Number = 4
    """Number of compute nodes."""
    cores: Few = 4
    """Number of cores of a node."""
    disk: Disk = None
    """Disk of a compute node in bytes; None is unlimited."""
    disk_share: Annotated[float, Field(ge=1, le=1e6)] | None = None
    """Disk of a node over what the largest task needs; replaces ``disk``."""
    link: LinkModel = "shared"
    """Whether the nodes share the link to remote storage or have one each."""
    remote_rate: Rate = 16e6
    """Rate of the link to remote storage in bytes per second."""
    replica_rate: Rate = 128e6
    """Rate between two compute nodes in bytes per second."""
    memory: Disk = None
    """Memory of a node in bytes; None is unlimited."""
    task_memory: Disk = None
    """Mean memory of a task in bytes (lognormal, at most that of a node)."""
    overhead: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """Seconds that each task takes besides computing."""
    products: Products = "node"
    """Where outputs are: on the disks of nodes, or on shared storage."""
    cache: CacheModel | None = None
    """What enters the cache of a node, with shared outputs; None: nothing."""


class Chains(Settings):
    """Settings of independent chains, whose tasks read what the one before wrote."""

    chains: Few = 12
    """Number of chains."""
    length: Few = 8
    """Number of tasks of a chain."""


class ForkJoin(Settings):
    """Settings of rounds, in which a task splits data, others work and one joins."""

    rounds: Few = 3
    """Number of rounds."""
    width: Few = 12
    """Number of pieces of a round."""


class InTree(Settings):
    """Settings of a tree, whose leaves read remote files and whose other tasks read
    ``arity`` outputs.
    """

    leaves: Few = 64
    """Number of leaves."""
    arity: Annotated[int, Field(ge=2, le=1000)] = 2
    """Number of outputs that a task above the leaves reads."""


class Mosaic(Settings):
    """Settings of a workflow like Montage.

    Images in a row are projected, compared with their neighbours, corrected and added.
    """

    images: Annotated[int, Field(ge=2, le=10_000)] = 20
    """Number of images."""


class Groups(Settings):
    """Settings of many small independent fork-joins.

    One fork-join arrives every ``every_seconds`` seconds.
    """

    groups: Few = 30
    """Number of fork-joins."""
    width: Few = 3
    """Number of pieces of a fork-join."""
    every_seconds: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """Seconds from one arrival of a fork-join to the next."""


class Draft:
    """A workflow that is built step by step."""

    def __init__(self, settings: Shape, rng: np.random.Generator) -> None:
        self.settings = settings
        self.rng = rng
        self.files: dict[str, int] = {}
        self.tasks: list[Task] = []

    def remote(self, name: str) -> str:
        """Add a file on remote storage and return its name."""
        return self._file(name, 1.0)

    def task(
        self,
        name: str,
        reads: list[str],
        *outputs: float,
        work: float = 1.0,
        release: float = 0.0,
    ) -> list[str]:
        """Add a task and return the names of its outputs.

        Each of *outputs* is the size of an output as a multiple of the mean size.
        *work* is the compute time as a multiple of the mean time. *release* is the
        arrival in seconds.
        """
        if len(self.tasks) == MAX_TASKS:
            raise UsageError(f"more than {MAX_TASKS} tasks")
        if len(outputs) == 1:
            writes = [self._file(f"{name}.out", outputs[0])]
        else:
            writes = [self._file(f"{name}.{x}", size) for x, size in enumerate(outputs)]
        seconds = round(self.about(self.settings.mean_seconds * work), 3)
        cores = 1
        if self.settings.task_cores > 1:
            cores = int(self.rng.integers(1, self.settings.task_cores + 1))
        self.tasks.append(
            Task(
                id=name,
                inputs=tuple(reads),
                outputs=tuple(writes),
                compute_seconds=seconds,
                cores=cores,
                release_seconds=release,
            )
        )
        return writes

    def _file(self, name: str, size: float) -> str:
        """Add a file of about *size* times the mean size, and return its name."""
        self.files[name] = max(1, round(self.about(self.settings.mean_mb * size * 1e6)))
        return name

    def about(self, mean: float) -> float:
        """Return a lognormal number with the given *mean*, at most a thousand times as
        large.
        """
        sigma = self.settings.spread
        drawn = float(self.rng.lognormal(-sigma * sigma / 2, sigma))
        return mean * min(drawn, 1000.0)


def chains(draft: Draft, settings: Any) -> None:
    """Add chains of tasks to *draft*; *settings* gives ``chains`` and ``length``."""
    for c in range(settings.chains):
        reads = [draft.remote(f"c{c}.raw")]
        for k in range(settings.length):
            reads = draft.task(f"c{c}t{k}", reads, 1.0)


def fork_join(draft: Draft, settings: Any) -> None:
    """Add rounds of a split, parts and a join; *settings* gives ``rounds`` and
    ``width``.
    """
    reads = [draft.remote("raw")]
    for r in range(settings.rounds):
        pieces = draft.task(f"split{r}", reads, *[1.0] * settings.width, work=0.2)
        parts = [
            draft.task(f"work{r}.{k}", [piece], 1.0)[0]
            for k, piece in enumerate(pieces)
        ]
        reads = draft.task(f"join{r}", parts, 1.0, work=0.2)


def _in_tree(draft: Draft, settings: InTree) -> None:
    """Add a tree to *draft*, from the leaves to the root."""
    level = [
        draft.task(f"leaf{k}", [draft.remote(f"raw{k}")], 1.0)[0]
        for k in range(settings.leaves)
    ]
    for height in range(1, settings.leaves + 1):
        if len(level) == 1:
            return
        pairs = [
            level[k : k + settings.arity] for k in range(0, len(level), settings.arity)
        ]
        level = [
            draft.task(f"h{height}.{k}", pair, 1.0)[0] for k, pair in enumerate(pairs)
        ]


def mosaic(draft: Draft, settings: Any) -> None:
    """Add the mosaic of a row of images; *settings* gives the number of ``images``."""
    header = draft.remote("header")
    images = range(settings.images)
    projected = [
        draft.task(f"project{k}", [draft.remote(f"image{k}"), header], 2.0)[0]
        for k in images
    ]
    near = [*pairwise(images), *zip(images, images[2:])]
    fits = [
        draft.task(f"diff{a}-{b}", [projected[a], projected[b]], 0.01, work=0.2)[0]
        for a, b in near
    ]
    model = draft.task(
        "model", draft.task("concat", fits, 0.02, work=0.5), 0.01, work=2.0
    )
    corrected = [
        draft.task(f"background{k}", [projected[k], *model], 2.0, work=0.2)[0]
        for k in images
    ]
    table = draft.task("table", corrected, 0.01, work=0.2)
    mosaic = draft.task("add", [*corrected, *table], float(settings.images), work=2.0)
    draft.task("shrink", mosaic, 0.5)


def _groups(draft: Draft, settings: Groups) -> None:
    """Add fork-joins that arrive one after another to *draft*."""
    for g in range(settings.groups):
        at = round(g * settings.every_seconds, 6)
        reads = [draft.remote(f"g{g}.raw")]
        pieces = draft.task(
            f"g{g}.split", reads, *[1.0] * settings.width, work=0.2, release=at
        )
        parts = [
            draft.task(f"g{g}.work{k}", [piece], 1.0, release=at)[0]
            for k, piece in enumerate(pieces)
        ]
        draft.task(f"g{g}.join", parts, 0.5, work=0.2, release=at)


_MAKERS: dict[type[Settings], Callable[[Draft, Any], None]] = {
    Chains: chains,
    ForkJoin: fork_join,
    InTree: _in_tree,
    Mosaic: mosaic,
    Groups: _groups,
}
PRESETS: dict[str, type[Settings]] = {
    "chains": Chains,
    "fork-join": ForkJoin,
    "in-tree": InTree,
    "montage-like": Mosaic,
    "many-small-groups": Groups,
}
"""For each preset, its settings class; the defaults of the fields are the preset."""


def _bytes(task: Task, sizes: Mapping[str, int]) -> int:
    """Return the total bytes of all files of *task*."""
    return sum(sizes[file] for file in (*task.inputs, *task.outputs))


def _with_needs(draft: Draft, settings: Settings) -> list[Task]:
    """Return the tasks of *draft* with the overhead and the memory of *settings*."""
    tasks = []
    for task in draft.tasks:
        needs: dict[str, float] = {"overhead_seconds": settings.overhead}
        if settings.task_memory is not None:
            memory = max(1, round(draft.about(settings.task_memory)))
            most = settings.memory
            needs["memory_bytes"] = memory if most is None else min(memory, most)
        tasks.append(task.model_copy(update=needs))
    return tasks


def make(
    preset: str, settings: Settings, rng: np.random.Generator, seed: int
) -> ReplicationProblem:
    """Return the workflow that *settings* describe, with random numbers from *rng*.

    *preset* and *seed* are recorded in ``meta``.
    """
    draft = Draft(settings, rng)
    _MAKERS[type(settings)](draft, settings)
    files = draft.files
    tasks = _with_needs(draft, settings)
    disk = settings.disk
    shared = settings.products == "shared"
    read = set(chain.from_iterable(task.inputs for task in tasks))
    largest = max(_bytes(task, files) for task in tasks)
    if settings.disk_share is not None:
        disk = math.ceil(largest * settings.disk_share)
    if disk is not None and largest > disk and not shared:
        raise UsageError(f"a task needs {largest} bytes, more than the disk of {disk}")
    if settings.task_cores > settings.cores:
        raise UsageError(
            f"task_cores {settings.task_cores} is more than the cores {settings.cores}"
        )
    told = {"source": "generated workflow", "preset": preset, "seed": seed}
    return ReplicationProblem(
        name=f"{preset}-{len(tasks)}x{settings.nodes}-s{seed}",
        meta=told | {"settings": settings.model_dump(mode="json")},
        network=Network(
            remote_bytes_per_second=settings.remote_rate,
            replica_bytes_per_second=settings.replica_rate,
            remote_link=settings.link,
        ),
        nodes=tuple(
            Node(
                id=f"n{i}",
                disk_bytes=disk,
                cores=settings.cores,
                memory_bytes=settings.memory,
            )
            for i in range(settings.nodes)
        ),
        files=tuple(
            File(id=name, bytes=size, keep=name not in read and not shared)
            for name, size in files.items()
        ),
        tasks=tuple(tasks),
        products=settings.products,
        cache=settings.cache,
    )
