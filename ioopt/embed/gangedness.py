"""The gangedness monitor for other schedulers: feed it counts, ask it for a class.

>>> from ioopt.embed import GangednessMonitor
>>> monitor = GangednessMonitor(processors=4)
>>> for quantum in range(10):
...     for processor in range(4):
...         monitor.observe(ganged=True, running=True, messages=20)
...     monitor.observe(ganged=False, running=False, messages=1)
>>> monitor.classify()
'HIGH'
>>> round(monitor.ratio(), 3)
0.05
"""

from __future__ import annotations

from ioopt.measure.gangedness_monitor import GangednessMonitor
from ioopt.problems.flexgang.message_counts import Verdict

__all__ = ["GangednessMonitor", "Verdict"]
