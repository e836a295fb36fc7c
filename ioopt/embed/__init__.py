"""Embed ioopt's solvers and policies in other schedulers. The classes use the same
solver and policy objects as the simulators.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ioopt.measure.gangedness import GangednessMonitor as GangednessMonitor

_LAZY = {
    "GangScheduler": "ioopt.embed.gang",
    "GangednessMonitor": "ioopt.measure.gangedness",
    "IoArbiter": "ioopt.embed.arbiter",
    "PlanRun": "ioopt.embed.bound",
    "ReplicationPlanner": "ioopt.embed.replication",
    "WorkDirectory": "ioopt.embed.work_directory",
    "WorkflowDispatcher": "ioopt.embed.workflow",
}


__all__ = [
    "GangScheduler",
    "GangednessMonitor",
    "IoArbiter",
    "PlanRun",
    "ReplicationPlanner",
    "WorkDirectory",
    "WorkflowDispatcher",
]


def __getattr__(name: str) -> object:
    """Import the module that defines class *name* when the class is first used, and
    return the class.
    """
    if name not in _LAZY:
        raise AttributeError(f"module 'ioopt.embed' has no attribute {name!r}")
    value: object = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
