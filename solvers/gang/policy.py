"""A gang-scheduling policy is a name and how it runs the phases of a matrix update; the paper's four."""

from dataclasses import dataclass
from typing import Literal

from ioopt.decisions.gang.rules import ADAPTIVE, BEST_FIT, FILE_NODES, Rules
from ioopt.decisions.gang.state import State
from ioopt.errors import UsageError
from ioopt.problems.base import Record
from ioopt.sim.gang.update import phases_of, updated


class Settings(Record):
    """``--set`` keys of every gang policy.

    ``recompute=boundary`` holds matrix updates to slice boundaries (rule 2). ``engine`` and
    ``arithmetic`` choose how the simulator computes (``auto``: compiled code for long runs);
    ``history`` whether the schedule tells every
    change of the matrix. On a gang-matrix, ``phase`` runs one phase alone.
    """

    recompute: Literal["event", "boundary"] = "event"
    engine: Literal["auto", "python", "compiled"] = "auto"
    arithmetic: Literal["float", "exact"] = "float"
    history: Literal["auto", "yes", "no"] = "auto"
    phase: Literal["all", "clean", "migrate", "compact", "schedule", "fill"] = "all"


@dataclass(frozen=True)
class Policy:
    """The policy of these rules, the same object simulated and live."""

    name: str
    rules: Rules

    def update(self, state: State, phase: str = "all") -> State:
        """Run all phases once (a scheduling event), or one; UsageError when it has no such phase."""
        phases = phases_of(self.rules)
        if phase != "all" and phase not in phases:
            known = ", ".join(phases)
            raise UsageError(f"{self.name} has no phase {phase!r}; its phases: {known}, all")
        chosen = [phases[phase]] if phase != "all" else [*phases.values()]
        return updated(state, self.rules, chosen)


GS = Policy("gs", Rules(BEST_FIT))
"""Plain gang scheduling, blind to where the files are (Section 3.2)."""
IOGS = Policy("iogs", Rules(FILE_NODES))
"""A job starts on its file nodes or waits (Section 3.3)."""
ADAPTIVE_IOGS = Policy("adaptive-iogs", Rules(ADAPTIVE, local_first=True))
"""On the file nodes where they are free, else as GS does (Section 3.5)."""
MIGRATE_IOGS = Policy("migrate-iogs", Rules(ADAPTIVE, migrate=True, local_first=True))
"""Adaptive-IOGS that moves remote jobs to their file nodes (Section 3.6)."""


def gs(settings: Settings) -> Policy:
    """GS, which has no settings of its own."""
    return GS


def iogs(settings: Settings) -> Policy:
    """IOGS, which has no settings of its own."""
    return IOGS


def adaptive_iogs(settings: Settings) -> Policy:
    """Adaptive-IOGS, which has no settings of its own."""
    return ADAPTIVE_IOGS


def migrate_iogs(settings: Settings) -> Policy:
    """Migrate-IOGS, which has no settings of its own."""
    return MIGRATE_IOGS
