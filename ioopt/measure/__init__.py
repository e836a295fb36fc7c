"""Measurements of Lee et al. without decisions: quanta, perturbations, gangedness."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from ioopt.protocols import Metrics

FoundT = TypeVar("FoundT")


@dataclass(frozen=True)
class Measurement(Generic[FoundT]):
    """The result of a measurement.

    ``rows`` are for tables, one a point or application; ``metrics`` are of the whole
    instance; ``notes`` say what a deadline left out.
    """

    found: FoundT
    rows: tuple[Metrics, ...]
    metrics: Metrics
    notes: tuple[str, ...] = ()
