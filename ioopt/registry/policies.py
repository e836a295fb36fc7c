"""Find the policies of the batch I/O and gang families by name, for live schedulers."""

from collections.abc import Mapping

from ioopt import registry
from ioopt.decisions.batch_io import IoPolicy
from ioopt.decisions.gang.state import GangPolicy
from ioopt.families.batch_io import BatchIo
from ioopt.families.gang import Gang


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
