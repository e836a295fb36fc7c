"""Rules that supply the rates and the I/O which a trace lacks.

The default rates are those of Mira (Zhou et al., Section II.B). A node sends at most
1/32 GB/s. The storage receives at most 250/1536 of the rate of all nodes together.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Self

from pydantic import Field, model_validator

from ioopt.errors import UsageError
from ioopt.formats.values import Number, Rate
from ioopt.problems.base import Json, Record
from ioopt.units import quantity

NODE_BYTES_PER_SECOND = 1e9 / 32
STORAGE_SHARE = Fraction(250, 1536)
GIVEN = "given"
"""The source of a figure that the user stated."""
SHORTEST_WALLTIME_SECONDS = 1.0
"""Smallest walltime in seconds that is assumed for a job without a walltime."""


class MachineRule(Record):
    """Describe the machine of an imported trace.

    A field that is None takes the value in the trace, or a default if the trace has
    none. Requests in the trace are numbers of processors; a node has
    ``processors_per_node`` of them. Rates may be text such as ``1GB/s``. They are also
    called ``node_rate`` and ``storage_rate``.
    """

    nodes: Number | None = None
    processors_per_node: Number = 1
    unit_nodes: Number = 1
    allocation: Literal["flat", "partition"] = "flat"
    node_bytes_per_second: Rate | None = Field(default=None, alias="node_rate")
    storage_bytes_per_second: Rate | None = Field(default=None, alias="storage_rate")

    @model_validator(mode="after")
    def _whole_units(self) -> Self:
        """Refuse a number of nodes that is no multiple of ``unit_nodes``."""
        if self.nodes is not None and self.nodes % self.unit_nodes:
            raise ValueError(
                f"nodes {self.nodes} is no multiple of unit_nodes {self.unit_nodes}"
            )
        return self

    def nodes_for(self, processors: int) -> int:
        """Return the number of nodes needed for *processors* processors."""
        return -(-processors // self.processors_per_node)

    def invented_rates(
        self, machine: Json, achieved: Sequence[tuple[int, float]] = ()
    ) -> str:
        """Describe the rates in the *machine* block that were assumed.

        Return empty text if both rates were given. *achieved* has (processes, bytes per
        second) of Darshan logs, which may have raised the assumed rates.
        """
        stated = (self.node_bytes_per_second, self.storage_bytes_per_second)
        missing = [
            name
            for name, value in zip(("node_rate", "storage_rate"), stated)
            if value is None
        ]
        if not missing:
            return ""
        raised = machine != self.machine(machine["nodes"] * self.processors_per_node)
        why = f"{' and '.join(missing)} not given"
        if achieved and raised:
            why += ", raised to what the logs achieved"
        node = quantity("bytes_per_second", machine["node_bytes_per_second"])
        storage = quantity("bytes_per_second", machine["storage_bytes_per_second"])
        return f"{node} a node, {storage} of storage ({why})"

    def machine(
        self, processors: int, achieved: Sequence[tuple[int, float]] = ()
    ) -> Json:
        """Return the machine block for a trace of *processors* processors.

        The number of nodes is rounded up to whole units. *achieved* has (processes,
        bytes per second) of Darshan logs; assumed rates are raised to allow each of
        them.
        """
        nodes = self.nodes or self.nodes_for(processors)
        if self.nodes is None:
            nodes = -(-nodes // self.unit_nodes) * self.unit_nodes
        rate = self.node_bytes_per_second or NODE_BYTES_PER_SECOND
        storage = self.storage_bytes_per_second or max(
            float(Fraction(rate) * nodes * STORAGE_SHARE),
            *(each for _, each in achieved),
            0.0,
        )
        if self.node_bytes_per_second is None:
            rate = max(
                rate, *(each / self.nodes_for(count) for count, each in achieved), 0.0
            )
        return {
            "nodes": nodes,
            "unit_nodes": self.unit_nodes,
            "allocation": self.allocation,
            "node_bytes_per_second": rate,
            "storage_bytes_per_second": storage,
        }


@dataclass(frozen=True)
class IoRule:
    """Invent the I/O of a job of which only the run time is known (a rule of ours).

    For each job, the share of its run time that is I/O is drawn at random. The draw is
    uniform from 0 to twice ``fraction``; if ``fraction`` is above 1/2, it is uniform
    from ``2 fraction - 1`` to 1. Thus its mean is ``fraction``.

    The number of phases is the run time divided by ``period_seconds``, rounded, and at
    least 1. All phases of a job are alike. A phase writes the bytes that the job's peak
    rate moves in the I/O time of the phase, rounded to whole bytes. Thus a job without
    congestion runs as long as the trace says, up to that rounding.
    """

    fraction: float = 0.1
    period_seconds: float = 3600.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.fraction <= 1:
            raise UsageError(
                f"the I/O fraction must be from 0 to 1, not {self.fraction}"
            )
        if not 0 < self.period_seconds < float("inf"):
            raise UsageError(
                f"the I/O period must be above 0 seconds, not {self.period_seconds}"
            )

    def phases(self, run_seconds: float, peak: float, rng: random.Random) -> list[Json]:
        """Return the phases of a job that runs for *run_seconds*.

        *peak* is its peak rate in bytes per second. One number is drawn from *rng*.
        """
        low = max(0.0, 2 * self.fraction - 1)
        high = min(1.0, 2 * self.fraction)
        share = low + (high - low) * rng.random()
        count = max(1, round(run_seconds / self.period_seconds))
        length = run_seconds / count
        return [
            {
                "compute_seconds": length * (1 - share),
                "io_bytes": round(length * share * peak),
                "repeat": count,
            }
        ]

    def describe(self) -> str:
        """Return the rule as one line, for the ``meta`` of an instance."""
        return (
            f"mean {self.fraction:g} of the run time (uniform), one phase every "
            f"{self.period_seconds:g} s, at the peak rate; seed {self.seed}"
        )
