"""Find the policies of the batch I/O and gang families by name, for live schedulers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ioopt import registry
from ioopt.decisions.batch_io import IoPolicy
from ioopt.decisions.gang.state import GangPolicy
from ioopt.families.batch_io import BatchIo
from ioopt.families.gang import Gang


@dataclass(frozen=True)
class NameOf:
    """Mark an argument as the name of a solver of *kind*, whose JSON Schema then lists
    the names; with *decides*, only of solvers that can decide while work goes on.
    """

    kind: str
    decides: bool = True

    def names(self) -> list[str]:
        """Return the names that the argument may have."""
        rows = registry.solvers_for(self.kind)
        return [row.name for row in rows if row.policy or not self.decides]

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> Any:
        """Return the schema of text, with the names."""
        return {**handler(core), "enum": self.names()}


def io_policy(name: str, settings: Mapping[str, object] | None = None) -> IoPolicy:
    """Return the I/O policy called *name*; raise UsageError for an unknown name or
    setting.
    """
    kind = registry.KINDS[BatchIo.kind]
    policy: IoPolicy = registry.named_policy(name, kind, settings or {}).policy
    return policy


def gang_policy(name: str, settings: Mapping[str, object]) -> GangPolicy:
    """Return the gang policy called *name*; raise UsageError for an unknown name or
    setting.
    """
    policy: GangPolicy = registry.named_policy(
        name, registry.KINDS[Gang.kind], settings
    ).policy
    return policy
