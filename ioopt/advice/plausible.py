"""Check, before any replay, whether the stated figures can go together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ioopt.advice.answer import MOST_WAITING, Conflict
from ioopt.formats.io_rule import GIVEN
from ioopt.units import quantity

if TYPE_CHECKING:
    from ioopt.advice.workload import Workload

FACTORS = np.geomspace(1.0, 1000.0, 300)
"""The factors by which a rate is changed to find one that fits."""
LEAST_MOVED = 1 - MOST_WAITING
"""The smallest share of the bytes asked for that the storage must be able to move."""


def conflict_of(workload: Workload) -> Conflict | None:
    """Return why the stated I/O fraction and the rates cannot go together; None if they
    can, or if the fraction was not stated.

    They cannot if the jobs ask for so many bytes that more than
    :data:`~ioopt.advice.answer.MOST_WAITING` of their I/O time is waiting though the
    storage transfers all the time: no verdict is drawn then.
    """
    fraction = workload.fraction
    if fraction is None or workload.fraction_source != GIVEN:
        return None
    node, storage = workload.node_rate, workload.storage
    runs = np.array(workload.run_seconds)
    nodes = np.array(workload.trace.allocated)
    span = float((workload.starts + runs).max())

    def asked(node: float, storage: float) -> float:
        """Return the mean rate that the jobs ask for, in bytes per second."""
        peaks = np.minimum(nodes * node, storage)
        return fraction * float(runs @ peaks) / span

    def fits(node: float, storage: float) -> bool:
        return LEAST_MOVED * asked(node, storage) <= storage

    if fits(node, storage):
        return None
    most = 100 * fraction * storage / (LEAST_MOVED * asked(node, storage))
    instead = [f"an I/O fraction below {most:.2g} %"]
    by = _first(lambda factor: fits(node / factor, storage))
    if by is not None:
        instead.append(f"a node_rate below {_rate(node / by)}")
    by = _first(lambda factor: fits(node, storage * factor))
    if by is not None:
        instead.append(f"a storage_rate above {_rate(storage * by)}")
    a_node = _rate(node) + ("" if workload.node_rate_given else " (a guess)")
    whole = _rate(storage)
    if workload.storage_source != GIVEN:
        whole += f" ({workload.storage_source})"
    return Conflict(
        f"{100 * fraction:.3g} % I/O at {a_node} a node, on the "
        f"{workload.trace.machine.nodes} nodes of this log, asks for "
        f"{_rate(asked(node, storage))} on average of a storage of {whole}",
        f"{', '.join(instead[:-1])} or {instead[-1]}",
    )


def _first(fits: Callable[[float], bool]) -> float | None:
    """Return the first of :data:`FACTORS` that *fits*, None if none does."""
    return next((float(factor) for factor in FACTORS if fits(float(factor))), None)


def _rate(value: float) -> str:
    """Return a rate with two significant digits."""
    return quantity("bytes_per_second", float(f"{value:.2g}"))
