"""A gang-scheduling policy is a name and how it runs the phases of a matrix update."""

from dataclasses import dataclass
from typing import Literal

from ioopt.decisions.gang.rules import Rules
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
        return updated(state, self.rules, chosen, full=phase in ("all", "fill"))
