"""A Batsim job as a chain of steps: computing, and transfers that an I/O policy may hold back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ioopt.formats.batsim.profiles import Platform, Profiles, UnsupportedProfileError

MAX_STEPS = 1000
"""A job with more steps is run whole."""
MAX_LEAVES = 100_000
"""So is one with more profiles in turn."""


@dataclass(frozen=True)
class Step:
    """Profiles that run one after the other; ``io_bytes`` above 0 for a transfer of the job."""

    profiles: tuple[str, ...]
    io_bytes: float = 0.0


def steps_of(profiles: Mapping[str, Any], key: str, nodes: int) -> tuple[Step, ...]:
    """The steps of profile *key* on *nodes* nodes; empty when it has no transfer or too many steps.

    A transfer is a profile of storage or staging; all between two of them is one step. Raises
    InstanceError when a profile is missing or contradicts the format.
    """
    known = Profiles(profiles, Platform(), "profiles")
    found: list[tuple[list[str], float]] = []
    for count, leaf in enumerate(known.leaves(key, MAX_LEAVES)):
        moved = _transfer(known, leaf, nodes)
        if moved == 0 and found and found[-1][1] == 0:
            found[-1][0].append(leaf)
        else:
            found.append(([leaf], moved))
        if len(found) > MAX_STEPS or count > MAX_LEAVES:
            return ()
    if not any(moved for _, moved in found):
        return ()
    return tuple(Step(tuple(names), moved) for names, moved in found)


def _transfer(known: Profiles, leaf: str, nodes: int) -> float:
    try:
        phases = known.phases(leaf, nodes, f"profile {leaf!r}")
    except UnsupportedProfileError:
        return 0.0
    if any(phase.compute_seconds > 0 for phase in phases):
        return 0.0
    return sum(phase.io_bytes * phase.repeat for phase in phases)
