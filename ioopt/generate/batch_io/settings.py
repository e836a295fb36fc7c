"""Settings of the batch-io workloads, and the presets."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from ioopt.generate import variant
from ioopt.problems.base import Record
from ioopt.problems.batch_io import Allocation


class Settings(Record):
    """Base of the settings classes."""


class MiraSettings(Settings):
    """A month on Mira (Zhou et al., Sections II and IV): 49,152 nodes, 250 GB/s of storage.

    ``load`` is the jobs' uncongested node-seconds over the machine's in ``days`` days, before cuts;
    ``runtime_sigma`` the deviation of the logarithm of run times, which are cut to
    [``shortest_seconds``, ``longest_seconds``]; a job's phases last between the two periods;
    the share of its run time that is I/O is uniform between the two shares (at an expansion factor
    of 1; that factor, rule 23, is ``--set ef`` of the policies). The paper's traces are not public:
    the numbers are ours.
    """

    jobs: int = Field(3000, ge=1, le=1_000_000)
    days: float = Field(30.0, gt=0)
    load: float = Field(0.90, gt=0)
    runtime_sigma: float = Field(1.0, ge=0, le=4)
    shortest_seconds: float = Field(300.0, gt=0)
    longest_seconds: float = Field(86_400.0, gt=0)
    period_from_seconds: float = Field(600.0, gt=0)
    period_to_seconds: float = Field(1800.0, gt=0)
    io_share_from: float = Field(0.05, ge=0, le=1)
    io_share_to: float = Field(0.17, ge=0, le=1)

    @model_validator(mode="after")
    def _ordered(self) -> MiraSettings:
        for low, high in (("shortest", "longest"), ("period_from", "period_to")):
            first, second = getattr(self, f"{low}_seconds"), getattr(self, f"{high}_seconds")
            if first > second:
                raise ValueError(f"{low}_seconds {first} is above {high}_seconds {second}")
        if self.io_share_from > self.io_share_to:
            raise ValueError(
                f"io_share_from {self.io_share_from} is above io_share_to {self.io_share_to}"
            )
        return self


class LoadedMiraSettings(MiraSettings):
    """A month in which I/O is scarce: more load, more I/O, and a policy has something to choose.

    No job moves more than ``demand`` of what the storage takes (rule 24): with b N_i, one of 8,192
    nodes would need all of it.
    """

    load: float = Field(0.95, gt=0)
    io_share_from: float = Field(0.10, ge=0, le=1)
    io_share_to: float = Field(0.22, ge=0, le=1)
    demand: float = Field(0.5, gt=0, le=1)


class IoSetsSettings(Settings):
    """Applications of three classes whose iterations last about 10, 100 and 1,000 seconds.

    ``high``, ``medium`` and ``low`` count the applications of each class (high frequency first),
    ``mean_seconds`` is the mean iteration of the first class and ``ratio`` that of one class to the
    one before; ``spread`` is the deviation over the mean; ``stress`` the sum of all shares of I/O.
    """

    high: int = Field(10, ge=0, le=10_000)
    medium: int = Field(10, ge=0, le=10_000)
    low: int = Field(10, ge=0, le=10_000)
    mean_seconds: float = Field(10.0, gt=0)
    ratio: float = Field(10.0, gt=0)
    spread: float = Field(0.1, ge=0, le=1)
    stress: float = Field(0.8, gt=0)
    horizon_seconds: float = Field(20_000.0, gt=0)

    def iteration_seconds(self) -> tuple[float, float, float]:
        """Mean iteration of the three classes."""
        first = self.mean_seconds
        return first, first * self.ratio, first * self.ratio**2


class SmallSettings(Settings):
    """A few jobs with small whole numbers on ``nodes`` nodes of 1 byte per second."""

    jobs: int = Field(8, ge=1, le=100_000)
    nodes: int = Field(8, ge=1)
    most_phases: int = Field(4, ge=1)
    allocation: Allocation = "flat"


class BufferedSettings(SmallSettings):
    """As ``small``, with a burst buffer that holds ``room`` times the largest request of a job.

    Nine jobs of ten write there, a third of them stage in, a third out. The buffer takes what all
    nodes can send, and drains at ``drain`` of that.
    """

    jobs: int = Field(12, ge=1, le=100_000)
    placement: Literal["shared", "per-node"] = "shared"
    staging: Literal["at-start", "ahead"] = "ahead"
    room: float = Field(1.5, ge=1)
    drain: float = Field(0.25, gt=0)


PRESETS: dict[str, type[Settings]] = {
    "mira-month": MiraSettings,
    "mira-month-loaded": LoadedMiraSettings,
    "mira-week": variant(MiraSettings, jobs=700, days=7.0),
    "io-sets": IoSetsSettings,
    "small": SmallSettings,
    "burst-buffer": BufferedSettings,
    "tiny": variant(SmallSettings, jobs=3, nodes=4, most_phases=2),
}
