"""Run the measurements of Lee et al. that involve no decision: quanta, perturbations,
gangedness.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

from ioopt.protocols import Metrics

FoundT = TypeVar("FoundT")


@dataclass(frozen=True)
class Measurement(Generic[FoundT]):
    """Store the result of a measurement.

    ``found`` is the full result. ``rows`` are rows for tables, one for each point or
    application. ``metrics`` describe the whole instance. ``notes`` tell what was left
    out because of a deadline.
    """

    found: FoundT
    rows: tuple[Metrics, ...]
    metrics: Metrics
    notes: tuple[str, ...] = ()
