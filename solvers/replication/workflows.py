"""The planners of workflows, by name."""

from collections.abc import Callable

from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.solvers.replication.dispatch import fifo, locality, run
from ioopt.solvers.replication.greedy import b_level, heft, ready_min_min

Planner = Callable[[ReplicationProblem, SolveRequest], Outcome[ReplicationPlan]]
PLANNERS: dict[str, Planner] = {
    "b-level": b_level.solve,
    "locality": lambda problem, request: run.answer(
        problem, request, locality.decide, run.Settings()
    ),
    "heft": heft.solve,
    "ready-min-min": ready_min_min.solve,
    "fifo": lambda problem, request: run.answer(problem, request, fifo.decide, run.Settings()),
}
"""In the order in which they are tried: the quickest, the best on small disks, the rest."""
