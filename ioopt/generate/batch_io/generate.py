"""Generate batch I/O workloads from seeds: months like those of Mira, small instances.

The traces of the paper are not public. The default month was chosen among about 30
mixes of sizes, I/O shares and periods, by comparing FILL with ADAPTIVE. On other
plausible mixes, the ratio of the I/O delays of the two in the open loop is between .33
and 1.05. So a ratio measured on the default month is an example and not a forecast.
"""

import math
import random
from collections.abc import Callable, Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from ioopt.errors import UsageError
from ioopt.generate import PresetSettings, chosen_preset, variant
from ioopt.problems.base import Record
from ioopt.problems.batch_io import (
    NO_BUFFER,
    Allocation,
    BatchIoProblem,
    Job,
    Machine,
    Phase,
    QueueOptions,
)

DAY_SECONDS = 86_400.0
MIRA = Machine(
    nodes=49_152,
    unit_nodes=512,
    allocation="partition",
    node_bytes_per_second=1e9 / 32,
    storage_bytes_per_second=250e9,
)

# Share of jobs by size. In Zhou et al., Section II.A, jobs have at least 512 nodes,
# 8,192 and 16,384 are common, and some take the whole machine; the numbers are ours.
SIZES = (512, 1024, 2048, 4096, 8192, 16_384, 32_768, 49_152)
SIZE_SHARES = (0.50, 0.28, 0.10, 0.06, 0.045, 0.01, 0.004, 0.001)


class MiraSettings(PresetSettings):
    """Settings of a month on Mira (Zhou et al., Sections II and IV): 49,152 nodes, 250
    GB/s.

    ``load`` is the number of node-seconds of all jobs without congestion, divided by
    those of the machine in ``days`` days. It counts run times before they are cut to
    [``shortest_seconds``, ``longest_seconds``]. ``runtime_sigma`` is the standard
    deviation of the logarithm of run times. The length of a phase lies between the two
    periods. The share of I/O in the run time of a job is uniform between the two
    shares, for an expansion factor of 1 (rule 23; ``--set ef`` of the policies). The
    traces of the paper are not public; the numbers are ours.
    """

    jobs: int = Field(3000, ge=1, le=1_000_000)
    """Number of jobs."""
    days: float = Field(30.0, gt=0)
    """Number of days over which jobs are submitted."""
    load: float = Field(0.90, gt=0)
    """Node-seconds of all jobs without congestion over those of the machine."""
    runtime_sigma: float = Field(1.0, ge=0, le=4)
    """Standard deviation of the logarithm of run times."""
    shortest_seconds: float = Field(300.0, gt=0)
    """Least run time of a job in seconds."""
    longest_seconds: float = Field(86_400.0, gt=0)
    """Greatest run time of a job in seconds."""
    period_from_seconds: float = Field(600.0, gt=0)
    """Least length of a phase of computing and I/O in seconds."""
    period_to_seconds: float = Field(1800.0, gt=0)
    """Greatest length of a phase in seconds."""
    io_share_from: float = Field(0.05, ge=0, le=1)
    """Least share of I/O in the run time of a job."""
    io_share_to: float = Field(0.17, ge=0, le=1)
    """Greatest share of I/O in the run time of a job."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        pairs = (
            ("shortest_seconds", "longest_seconds"),
            ("period_from_seconds", "period_to_seconds"),
        )
        for low, high in (*pairs, ("io_share_from", "io_share_to")):
            first, second = getattr(self, low), getattr(self, high)
            if first > second:
                raise ValueError(f"{low} {first} is above {high} {second}")
        return self


class CongestedMiraSettings(MiraSettings):
    """Settings of a congested month, like the three of Zhou et al., Section IV.B.

    The share of jobs of a size is multiplied by (nodes / 512)^``tilt``. Each
    application is submitted as ``campaign`` consecutive jobs, which stand for runs on
    several inputs. These jobs are equal and are submitted together, so they write at
    the same time. docs/batch-io.md says how the presets were chosen and which workload
    each represents.
    """

    load: float = Field(0.70, gt=0)
    """Node-seconds of all jobs without congestion over those of the machine."""
    io_share_from: float = Field(0.10, ge=0, le=1)
    """Least share of I/O in the run time of a job."""
    io_share_to: float = Field(0.40, ge=0, le=1)
    """Greatest share of I/O in the run time of a job."""
    tilt: float = Field(0.0, ge=-2, le=2)
    """The share of jobs of a size is multiplied by (nodes / 512)^``tilt``."""
    campaign: int = Field(1, ge=1, le=1000)
    """Number of equal jobs submitted together for each application."""


class SmallSettings(PresetSettings):
    """Settings of a few jobs with small whole numbers.

    Each node of the machine sends 1 byte per second.
    """

    jobs: int = Field(8, ge=1, le=100_000)
    """Number of jobs."""
    nodes: int = Field(8, ge=1)
    """Number of nodes of the machine."""
    most_phases: int = Field(4, ge=1)
    """Largest number of phases of a job."""
    allocation: Allocation = "flat"
    """Whether a job takes any free nodes (flat) or a partition."""


PRESETS: dict[str, type[Record]] = {
    "mira-month": MiraSettings,
    "mira-mixed": CongestedMiraSettings,
    "mira-wide": variant(CongestedMiraSettings, jobs=1500, tilt=0.5, io_share_to=0.45),
    "mira-bursts": variant(
        CongestedMiraSettings, load=0.6, io_share_from=0.05, campaign=8
    ),
    "mira-week": variant(MiraSettings, jobs=700, days=7.0),
    "small": SmallSettings,
    "tiny": variant(SmallSettings, jobs=3, nodes=4, most_phases=2),
}


def generate(
    preset: str | None, settings: Mapping[str, object], seed: int
) -> BatchIoProblem:
    """Generate an instance of *preset* (None: ``mira-month``) from *seed*.

    Equal arguments give equal instances. Raises UsageError for an unknown preset or
    setting.
    """
    if preset == "burst-buffer":
        raise UsageError(f"preset burst-buffer: {NO_BUFFER}; take preset small")
    name, chosen = chosen_preset("batch-io", PRESETS, preset or "mira-month", settings)
    make = next(make for cls, make in _MAKERS.items() if isinstance(chosen, cls))
    problem = make(chosen, random.Random(f"{name} {seed}"))
    meta = {
        "source": f"ioopt generate batch-io --preset {name}",
        "seed": seed,
        "settings": chosen.model_dump(mode="json"),
    }
    return problem.model_copy(update={"name": f"{name}-{seed}", "meta": meta})


def _mira(settings: MiraSettings, rng: random.Random) -> BatchIoProblem:
    """Draw jobs of lognormal length over ``days`` days, scaled to the ``load``.

    The sizes follow SIZE_SHARES, and the arrivals follow a daily rhythm.
    """
    mix = CongestedMiraSettings()
    if isinstance(settings, CongestedMiraSettings):
        mix = settings
    shares = [
        share * (size / SIZES[0]) ** mix.tilt for share, size in zip(SIZE_SHARES, SIZES)
    ]
    campaign = mix.campaign
    applications = math.ceil(settings.jobs / campaign)
    arrivals = sorted(_arrival(settings.days, rng) for _ in range(applications))
    sizes = rng.choices(SIZES, shares, k=applications)
    raw = [math.exp(rng.gauss(0.0, settings.runtime_sigma)) for _ in sizes]
    demand = campaign * sum(size * run for size, run in zip(sizes, raw))
    scale = settings.load * MIRA.nodes * settings.days * DAY_SECONDS / demand
    jobs = []
    for k, (submit, nodes, run) in enumerate(zip(arrivals, sizes, raw), 1):
        seconds = min(
            max(run * scale, settings.shortest_seconds), settings.longest_seconds
        )
        share = rng.uniform(settings.io_share_from, settings.io_share_to)
        # Walltimes are multiples of five minutes, 1 to 3.3 times the run time.
        walltime = 300.0 * math.ceil(seconds / rng.uniform(0.3, 1.0) / 300.0)
        phases = _phases(seconds, share, MIRA.peak(nodes), settings, rng)
        jobs.append(
            Job(
                id=k,
                submit_seconds=round(submit, 3),
                nodes=nodes,
                walltime_seconds=walltime,
                phases=phases,
            )
        )
    alike: list[Job] = []
    for job in jobs:
        alike += [job] * campaign
    jobs = [
        job.model_copy(update={"id": k})
        for k, job in enumerate(alike[: settings.jobs], 1)
    ]
    return BatchIoProblem(machine=MIRA, options=QueueOptions(), jobs=tuple(jobs))


def _arrival(days: float, rng: random.Random) -> float:
    """Draw a submission time in seconds.

    The busiest hour (15:00) is twice as likely as the idlest one. Each candidate is
    accepted with its relative likelihood.
    """
    while True:
        seconds = rng.uniform(0.0, days * DAY_SECONDS)
        hour = seconds % DAY_SECONDS / 3600.0
        if rng.random() < (3.0 + math.cos((hour - 15.0) / 24.0 * 2 * math.pi)) / 4.0:
            return seconds


def _phases(
    seconds: float,
    share: float,
    peak: float,
    settings: MiraSettings,
    rng: random.Random,
) -> tuple[Phase, ...]:
    """Return the phases of a job that runs for *seconds*; they are all equal.

    *share* is the share of I/O, *peak* the peak rate in bytes per second. The length of
    a phase is drawn log-uniformly between the two periods of *settings*.
    """
    low = math.log(settings.period_from_seconds)
    high = math.log(settings.period_to_seconds)
    period = math.exp(rng.uniform(low, high))
    count = max(1, round(seconds / period))
    length = seconds / count
    return (
        Phase(
            compute_seconds=round(length * (1 - share), 3),
            io_bytes=float(round(length * share * peak)),
            repeat=count,
        ),
    )


def _small(settings: SmallSettings, rng: random.Random) -> BatchIoProblem:
    """Draw a few jobs in whole numbers, on nodes that send 1 byte per second each.

    The storage has half the rate of all nodes together.
    """
    machine = Machine(
        nodes=settings.nodes,
        unit_nodes=1,
        allocation=settings.allocation,
        node_bytes_per_second=1.0,
        storage_bytes_per_second=max(1.0, settings.nodes / 2),
    )
    jobs = []
    for k in range(1, settings.jobs + 1):
        phases = tuple(
            Phase(
                compute_seconds=float(rng.randint(0, 20)),
                io_bytes=float(rng.randint(0, 60)),
            )
            for _ in range(rng.randint(1, settings.most_phases))
        )
        jobs.append(
            Job(
                id=k,
                submit_seconds=float(rng.randint(0, settings.jobs * 5)),
                nodes=rng.randint(1, max(1, settings.nodes // 2)),
                walltime_seconds=float(rng.randint(20, 200)),
                phases=phases,
            )
        )
    return BatchIoProblem(machine=machine, jobs=tuple(jobs))


_MAKERS: dict[type[Record], Callable[[Any, random.Random], BatchIoProblem]] = {
    MiraSettings: _mira,
    SmallSettings: _small,
}
