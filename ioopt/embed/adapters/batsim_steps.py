"""A Batsim job as a chain of steps: computing, and transfers that an I/O policy may hold back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ioopt.errors import InstanceError
from ioopt.formats.batsim.profiles import Platform, Profiles, UnsupportedProfileError
from ioopt.formats.values import whole

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
    for count, leaf in enumerate(_leaves(profiles, key, ())):
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


def _leaves(profiles: Mapping[str, Any], key: Any, above: tuple[Any, ...]) -> Iterator[str]:
    """The profiles that are no sequence, in the order in which they run."""
    profile = profiles.get(key) if isinstance(key, str) else None
    if not isinstance(profile, Mapping):
        raise InstanceError(f"there is no profile {key!r}")
    parts = profile.get("seq")
    if not isinstance(parts, list):
        yield key
        return
    if key in above:
        raise InstanceError(f"profile {key!r} is part of itself")
    repeat = whole(profile.get("repeat", 1), f"profile {key!r}: repeat", least=0)
    for _ in range(min(repeat, MAX_LEAVES + 1)):
        for part in parts:
            yield from _leaves(profiles, part, (*above, key))


def _transfer(known: Profiles, leaf: str, nodes: int) -> float:
    try:
        phases = known.phases(leaf, nodes, f"profile {leaf!r}")
    except UnsupportedProfileError:
        return 0.0
    if any(phase.compute_seconds > 0 for phase in phases):
        return 0.0
    return sum(phase.io_bytes * phase.repeat for phase in phases)
