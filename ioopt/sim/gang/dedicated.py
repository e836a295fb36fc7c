"""Jobs alone on their file nodes, in every row of the matrix: a schedule in closed form.

In order of arrival each job waits until the last of its file nodes is free and then runs without a
pause for its local time.
"""

import math
from collections.abc import Sequence

from ioopt.decisions.gang.rules import Number
from ioopt.decisions.gang.state import Gang, Timing
from ioopt.problems.gang import nodes_of
from ioopt.sim.gang.simulate import Trajectory


def run_dedicated(gangs: Sequence[Gang], timing: Timing) -> Trajectory:
    """Start and finish of every job; starts may be held to slice boundaries."""
    zero = timing.quantum * 0
    free: list[Number] = [zero] * timing.nodes
    result = Trajectory([], [], [True] * len(gangs), occupied=zero, updates=2 * len(gangs))
    for gang in gangs:
        nodes = nodes_of(gang.files)
        start = max(gang.arrival, max(free[node] for node in nodes))
        if timing.at_boundary:
            start = math.ceil(start / timing.quantum) * timing.quantum
        finish = start + gang.local
        for node in nodes:
            free[node] = finish
        result.start.append(start)
        result.finish.append(finish)
        result.occupied += gang.size * timing.levels * gang.local
    return result
