"""Measurements of Lee et al. without decisions: quanta, perturbations, gangedness."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from ioopt.protocols import Metrics

FoundT = TypeVar("FoundT")


@dataclass(frozen=True)
class Measurement(Generic[FoundT]):
    """Store the result of a measurement.

    ``rows`` are for tables, one per point or application; ``metrics`` describe the
    whole instance; ``notes`` list what a deadline left out.
    """

    found: FoundT
    rows: tuple[Metrics, ...]
    metrics: Metrics
    notes: tuple[str, ...] = ()
