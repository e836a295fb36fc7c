"""Annealing of one order of all tasks: pure Python and compiled alike.

Plans are scored by the timeline simulator, or by the bytes that the order moves where its tasks run one
after the other, each on its node, and a disk lets go what the order reads last (Belady). There nodes do not
wait for each other, so that a move changes little but the files it touches: annealing gets much further than
over replays, a tenth as long each. Annealing over replays goes on from such an order, and moves barriers too.
"""

import math
from typing import NamedTuple

from ioopt.sim.replication.kernel import FINISHED, replay
from ioopt.sim.replication.state import Instance, Log, Queues, State
from ioopt.solvers.replication.search.line_moves import (
    BEST,
    EVALUATIONS,
    NOW,
    Line,
    change,
    change_barriers,
    keep,
    keep_best,
    put_back,
    uniform,
    write_queues,
)
from ioopt.solvers.replication.search.order_score import rescore, seconds


class Schedule(NamedTuple):
    """Moves *first* to *first + steps* of *total*, from *hot* to *cold* seconds; ends at *target*.

    ``by_bytes``: scored by the seconds of all transfers instead of replays.
    """

    steps: int
    first: int
    total: int
    hot: float
    cold: float
    target: float
    by_bytes: int


def makespan(inst: Instance, plan: Queues, st: State, log: Log, limit: float) -> float:
    """The end of the queues of *plan*; infinite above *limit* or where they cannot run."""
    value, code = replay(inst, plan, st, log, limit)
    return value if code == FINISHED else float("inf")


def anneal(
    inst: Instance, plan: Queues, st: State, log: Log, line: Line, schedule: Schedule
) -> None:
    """A stretch of an annealing, as *schedule* has it.

    Starts from a plan whose score is ``values[NOW]``. The pieces that a run is cut into do not change it.
    Without steps the queues, or the order, are only scored: a kernel of its own for that would take as long
    again to compile.
    """
    first, hot, cold = schedule.first, schedule.hot, schedule.cold
    if schedule.steps == 0:
        if schedule.by_bytes:
            line.values[NOW] = seconds(inst, line, float("inf"))
        else:
            line.values[NOW] = makespan(inst, plan, st, log, float("inf"))
    for step in range(first, first + schedule.steps):
        if line.values[BEST] <= schedule.target:
            return
        heat = hot * (cold / hot) ** (step / schedule.total)
        keep(line)
        if plan.barriers:
            change_barriers(inst, line)
        else:
            change(inst, line)
        now = line.values[NOW]
        limit = now - heat * math.log(uniform(line.random))
        value = now
        if schedule.by_bytes:
            value = rescore(inst, line, now, limit)
        elif write_queues(inst, plan, line):
            value = makespan(inst, plan, st, log, limit)
        line.counts[EVALUATIONS] += 1
        if value > limit:
            put_back(line)
            if not schedule.by_bytes:
                write_queues(inst, plan, line)
            continue
        line.values[NOW] = value
        if value < line.values[BEST]:
            line.values[BEST] = value
            keep_best(line)
