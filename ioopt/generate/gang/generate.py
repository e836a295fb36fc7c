"""Generate gang workloads: ``blue-pacific-like`` and variations of it.

The tables of Jann et al. 1997 are not available. So the preset is a stated, calibrated
assumption and not the published fit of Blue-Pacific. :func:`make_table` returns arrays
(for sweeps), :func:`generate` a problem. Every random quantity has a random stream of
its own. Thus workloads that differ only in load, intensity or placement have equal job
sizes and equal gaps between arrivals.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field

from ioopt.decisions.gang.state import Gang
from ioopt.generate import Array, PresetSettings, Sample, chosen_preset
from ioopt.generate.gang.lublin import sample
from ioopt.problems.base import Json
from ioopt.problems.gang import GangProblem, Job, Machine

LOADS_SECONDS = tuple(round(1632.6 * (1.1 + 0.1 * k), 2) for k in range(9))
"""The nine mean execution times t_e on the load axis of the paper, in seconds."""
INTENSITIES = (0.5, 0.33, 0.1)
"""The three I/O intensities r of the classes in the paper and of the mixed workload."""
LOCAL_BLOCK_SECONDS = 0.03
REMOTE_BLOCK_SECONDS = 0.09
BLOCKS_PER_REQUEST = 10

Placement = Literal["aligned", "contiguous", "uniform"]
"""How the file nodes of a job are placed (rule 9)."""
Above = Annotated[float, Field(gt=0)]
Whole = Annotated[int, Field(ge=1)]
Intensity = Annotated[float, Field(gt=0, lt=1)]


class Settings(PresetSettings):
    """Settings of every gang preset (``--set``): the machine, load, I/O and placement.

    ``mean_local_seconds`` is t_e, the load axis. ``intensity`` is r. With ``mixed``,
    each job has r = 0.5, 0.33 or 0.1 with the same probability.
    """

    jobs: Whole = 10_000
    """Number of jobs."""
    nodes: Whole = 320
    """Number of nodes of the machine."""
    levels: Annotated[int, Field(ge=1, le=62)] = 5
    """Multiprogramming level: the rows of the matrix."""
    quantum_seconds: Above = 200.0
    """Length of a time slice in seconds."""
    migration_seconds: Annotated[float, Field(ge=0)] = 20.0
    """Seconds that the migration of a task takes."""
    migration_tasks_per_quantum: Annotated[int, Field(ge=0)] | None = 64
    """Largest number of tasks that migrate in a quantum; None is unlimited."""
    mean_local_seconds: Above = LOADS_SECONDS[0]
    """Mean time of a job with local files in seconds: the load axis of the paper."""
    interarrival_seconds: Above = 583.0
    """Mean seconds from one arrival to the next."""
    intensity: Intensity | Literal["mixed"] = 0.5
    """Share of I/O, r in the paper; ``mixed`` draws 0.5, 0.33 or 0.1 for each job."""
    placement: Placement = "aligned"
    """How the file nodes of a job are placed (rule 9)."""

    @property
    def machine(self) -> Machine:
        """Return the machine of the workload."""
        return Machine(**self.model_dump(include=set(Machine.model_fields)))


class BluePacificLike(Settings):
    """Settings of a workload like that of Blue Pacific, by a calibrated assumption."""

    class_centre: float = 4.79
    """Centre of the distribution of size classes; class k has sizes up to 2^k."""
    class_width: Above = 1.25
    """Width of the distribution of size classes."""
    power_of_two: Annotated[float, Field(ge=0, le=1)] = 0.6
    """Share of jobs whose size is a power of two."""
    interarrival_cv: Annotated[float, Field(ge=1)] = 2.0
    """Coefficient of variation of the gaps between arrivals."""
    runtime_cv: Annotated[float, Field(ge=1)] = 1.5
    """Coefficient of variation of run times."""


class Lublin(Settings):
    """Settings of the model of Lublin and Feitelson 1999, for this number of nodes.

    ``mean_local_seconds`` and ``interarrival_seconds`` rescale the means of the model.
    """

    mean_local_seconds: Above | None = None  # type: ignore[assignment]
    """Mean time of a job with local files in seconds; None: that of the model."""
    interarrival_seconds: Above | None = None  # type: ignore[assignment]
    """Mean seconds from one arrival to the next; None: those of the model."""
    model: Literal["batch", "interactive", "combined"] = "combined"
    """Which jobs of the model: batch, interactive or both."""


PRESETS: dict[str, type[Settings]] = {
    "blue-pacific-like": BluePacificLike,
    "lublin99": Lublin,
}


def generate(
    preset: str | None, settings: Mapping[str, object], seed: int
) -> GangProblem:
    """Generate a workload from a preset; the same arguments give the same problem.

    Raises UsageError for an unknown preset or setting.
    """
    name, chosen = chosen_preset(
        "gang", PRESETS, preset or "blue-pacific-like", settings
    )
    table = make_table(chosen, seed)
    meta = {"preset": name, "seed": seed, "settings": chosen.model_dump(mode="json")}
    return problem_of(table, chosen.machine, f"{name}-{seed}", meta)


@dataclass(frozen=True)
class JobTable:
    """Store jobs in FCFS order as arrays, with times in seconds.

    ``files`` has a boolean for each pair of a job and a node. Each other array has a
    number for each job.
    """

    arrival: Array
    size: Array
    files: Array
    local: Array
    remote: Array

    def gangs(self) -> list[Gang]:
        """Return the jobs in the form of the simulators; the key of a job is its
        position.
        """
        masks = [
            int.from_bytes(row.tobytes(), "little")
            for row in np.packbits(self.files, axis=1, bitorder="little")
        ]
        columns = (self.local.tolist(), self.remote.tolist(), self.arrival.tolist())
        rows = zip(self.size.tolist(), masks, *columns, strict=True)
        return [Gang(key, *row) for key, row in enumerate(rows)]


def make_table(settings: BluePacificLike | Lublin, seed: int) -> JobTable:
    """Generate the jobs of a workload as arrays (milliseconds for 10,000 jobs)."""
    streams = [
        np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(5)
    ]
    if isinstance(settings, BluePacificLike):
        size = sample_sizes(settings, streams[0])
        gaps = _balanced_hyperexponential(
            streams[1], settings.jobs, settings.interarrival_cv
        )
        gaps *= settings.interarrival_seconds / gaps.mean()
        length = _balanced_hyperexponential(
            streams[2], settings.jobs, settings.runtime_cv
        )
        length *= settings.mean_local_seconds / length.mean()
        arrival = np.cumsum(gaps)
    else:
        drawn = sample(settings.model, settings.jobs, settings.nodes, streams[0])
        size, length, arrival = _rescaled(settings, *drawn)
    return assemble(settings, arrival, size, length, streams[3], streams[4])


def _rescaled(settings: Lublin, size: Array, length: Array, arrival: Array) -> Sample:
    """Scale run times and gaps to the means that *settings* state.

    Return the sizes, the run times and the arrival times.
    """
    if settings.mean_local_seconds is not None:
        length = length * (settings.mean_local_seconds / length.mean())
    if settings.interarrival_seconds is not None:
        arrival = arrival * (settings.interarrival_seconds * len(arrival) / arrival[-1])
    return size, length, arrival


def assemble(
    settings: Settings,
    arrival: Array,
    size: Array,
    length: Array,
    places: Generator,
    intensities: Generator,
) -> JobTable:
    """Return the table of jobs with their files and their times L and R.

    *arrival*, *size* and *length* have the arrival, the size and the intended L of each
    job. *places* and *intensities* are streams of random numbers.
    """
    if settings.intensity == "mixed":
        ratio = np.array(INTENSITIES)[intensities.integers(0, 3, len(size))]
    else:
        ratio = np.full(len(size), float(settings.intensity))
    local, remote = job_times(length, ratio)
    files = place_files(settings.placement, size, settings.nodes, places)
    return JobTable(arrival, size, files, local, remote)


def job_times(length: Array, ratio: Array) -> tuple[Array, Array]:
    """Return L and R of jobs in seconds, as arrays.

    *length* has the intended execution times, *ratio* the I/O intensities r.
    """
    compute = length * (1.0 - ratio)
    gap = BLOCKS_PER_REQUEST * LOCAL_BLOCK_SECONDS * (1.0 - ratio) / ratio
    blocks = np.ceil(compute / gap - 1e-9) * BLOCKS_PER_REQUEST
    return (
        compute + blocks * LOCAL_BLOCK_SECONDS,
        compute + blocks * REMOTE_BLOCK_SECONDS,
    )


def sample_sizes(settings: BluePacificLike, random: Generator) -> Array:
    """Draw the sizes of jobs.

    The class k of a size, 2^(k-1)+1 .. 2^k, has a bell-shaped distribution. The share
    ``power_of_two`` of the jobs takes the largest size of its class.
    """
    classes = [k for k in range(9) if 2**k <= settings.nodes] or [0]
    weight = np.array(
        [
            math.exp(-(((k - settings.class_centre) / settings.class_width) ** 2) / 2)
            for k in classes
        ]
    )
    chosen = random.choice(np.array(classes), settings.jobs, p=weight / weight.sum())
    top = 2**chosen
    low = top // 2 + 1
    low[chosen == 0] = 1
    uniform = random.integers(low, top + 1)
    return np.where(random.random(settings.jobs) < settings.power_of_two, top, uniform)


def _balanced_hyperexponential(
    random: Generator, count: int, variation: float
) -> Array:
    """Draw *count* numbers from a hyperexponential distribution with mean 1.

    The distribution has balanced means and the coefficient of variation *variation*.
    """
    square = variation * variation
    share = (1.0 + math.sqrt((square - 1.0) / (square + 1.0))) / 2.0
    first = random.random(count) < share
    mean = np.where(first, 0.5 / share, 0.5 / (1.0 - share))
    return random.standard_exponential(count) * mean


def place_files(
    placement: Placement, size: Array, nodes: int, random: Generator
) -> Array:
    """Return an array (jobs, nodes) that says which nodes have files of each job.

    *size* has the number of tasks of each job, and *nodes* is the number of nodes.
    """
    if placement == "uniform":
        rank = random.random((len(size), nodes)).argsort(axis=1).argsort(axis=1)
        return rank < size[:, None]
    if placement == "contiguous":
        start = random.integers(0, nodes - size + 1)
    else:
        block = 2 ** np.ceil(np.log2(size)).astype(np.int64)
        start = block * random.integers(0, np.maximum(1, nodes // block))
        start = np.minimum(start, nodes - size)
    begin = start[:, None]
    node = np.arange(nodes)
    return (begin <= node) & (node < begin + size[:, None])


def problem_of(
    table: JobTable, machine: Machine, name: str, meta: Json | None = None
) -> GangProblem:
    """Return the problem of a job table, with jobs numbered in FCFS order."""
    arrivals = table.arrival.tolist()
    local_times = table.local.tolist()
    remote_times = table.remote.tolist()
    jobs = tuple(
        Job(
            id=k,
            arrival_seconds=arrivals[k],
            file_nodes=tuple(nodes.nonzero()[0].tolist()),
            local_seconds=local_times[k],
            remote_seconds=remote_times[k],
        )
        for k, nodes in enumerate(table.files)
    )
    return GangProblem(name=name, meta=meta, machine=machine, jobs=jobs)
