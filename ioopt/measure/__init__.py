"""What decides nothing: the two-job quantum model, perturbations and gangedness (Lee et
al.).
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

from ioopt.protocols import Metrics

FoundT = TypeVar("FoundT")


@dataclass(frozen=True)
class Measurement(Generic[FoundT]):
    """What was found, a row a point or application for tables, and figures of the
    whole.

    ``notes`` say what a deadline left out.
    """

    found: FoundT
    rows: tuple[Metrics, ...]
    metrics: Metrics
    notes: tuple[str, ...] = ()
