"""Embed ioopt's solvers and policies in other schedulers. The classes use the same
solver and policy objects as the simulators.

Each object is told what happened and is asked what to do next:

============================  ====================================  ==================
object                        is told by                            is asked by
============================  ====================================  ==================
:class:`IoArbiter`            ``request``, ``progress``,            ``decide``
                              ``finish``
:class:`GangScheduler`        ``arrive``, ``served``, ``depart``    ``matrix``
:class:`ReplicationPlanner`   ``submit``, ``staged``, ``evicted``,  ``next``, ``plan``,
                              ``completed``, ``failed``,            ``acts``
                              ``joined``, ``lost``, ``started``,
                              ``ended``
:class:`PlanRun`              ``started``, ``ended``                ``acts``
:class:`WorkDirectory`        ``ready``, ``expect``, ``started``,   ``next``
                              ``ended``, ``failed``
:class:`WorkflowDispatcher`   ``submit``, ``completed``,            ``next``,
                              ``failed``, ``lost``, ``back``,       ``staging``,
                              ``joined``, ``staged``, ``evicted``,  ``running``,
                              ``observe``, ``withdraw``,            ``evictable``
                              ``forget``
:class:`GangednessMonitor`    ``observe``                           ``ratio``,
                                                                    ``classify``,
                                                                    ``evidence``
============================  ====================================  ==================

All but ``PlanRun`` can also be opened over a pipe, a socket or HTTP (``ioopt serve``):
:data:`ioopt.embed.messages.METHODS` lists the calls, and
:func:`ioopt.embed.schema.schemas` gives the JSON Schema of each.
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
