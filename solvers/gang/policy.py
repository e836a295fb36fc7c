"""A gang-scheduling policy is a name and the phases it runs at every event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ioopt.decisions.gang.state import State, Twin
from ioopt.errors import UsageError
from ioopt.solvers.gang.phases import Phase


@dataclass(frozen=True)
class Policy:
    """The phases of a matrix update, by name and in order; ``twin`` is its compiled form."""

    name: str
    phases: Mapping[str, Phase]
    twin: Twin | None = None

    def update(self, state: State) -> State:
        """Run all phases once (a scheduling event)."""
        for phase in self.phases.values():
            state = phase(state)
        return state

    def only(self, name: str) -> Policy:
        """This policy reduced to one phase; UsageError when it has no such phase."""
        if name not in self.phases:
            known = ", ".join(self.phases)
            raise UsageError(f"{self.name} has no phase {name!r}; its phases: {known}, all")
        return Policy(self.name, {name: self.phases[name]})
