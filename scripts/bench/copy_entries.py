"""Try one more copy entry in the best known plans of the library, on instances with
small disks.

A copy entry is tried at every place of a queue, for every file that one of the next
twelve tasks of the queue reads. Of all these entries at most 1,500 are tried, chosen at
random. Plans with rounds, and plans that record a run, are left out.
"""

from __future__ import annotations

import random
from contextlib import suppress

from bench.frame import show
from ioopt.errors import SimulationError, UsageError
from ioopt.library import entries
from ioopt.problems.replication import CopyEntry, ReplicationPlan, ReplicationProblem
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication.auto import has_small_disk

AHEAD = 12
"""The number of following tasks of the queue whose files are tried at a place."""
MOST = 1_500
"""The largest number of entries that are tried in a plan."""


def main(quick: bool) -> None:
    """Print the table. A quick run tries at most 20 entries in each plan."""
    rows = []
    for name, entry in entries().items():
        with suppress(UsageError):  # The entry needs a file that is not shipped.
            problem = entry.problem() if entry.measure == "makespan_seconds" else None
            if isinstance(problem, ReplicationProblem) and has_small_disk(problem):
                plan = ReplicationPlan.model_validate(entry.plan)
                if not plan.rounds and not plan.dispatches:
                    rows.append((name, *gains(problem, plan, 20 if quick else MOST)))
    show(
        "one copy entry more",
        ("entry", "makespan", "places", "tried", "better", "gain, %"),
        rows,
    )


def gains(
    problem: ReplicationProblem, plan: ReplicationPlan, most: int
) -> tuple[str, ...]:
    """Return, as text, the makespan of *plan*, the numbers of possible, tried and
    better entries, and the largest gain of one entry in %.
    """
    inputs = {task.id: task.inputs for task in problem.tasks}
    places: list[tuple[str, int, str]] = []
    for node, queue in plan.order.items():
        for x in range(len(queue)):
            files: set[str] = set()
            for name in queue[x : x + AHEAD]:
                if isinstance(name, str):
                    files.update(inputs[name])
            places += [(node, x, file) for file in sorted(files)]
    before = simulate(problem, plan).metrics["makespan_seconds"]
    ends = []
    tried = places
    if len(places) > most:
        tried = random.Random(1).sample(places, most)
    for node, x, file in tried:
        queue = plan.order[node]
        more = (*queue[:x], CopyEntry.model_validate({"copy": file}), *queue[x:])
        with suppress(SimulationError):
            changed = plan.model_copy(update={"order": {**plan.order, node: more}})
            ends.append(simulate(problem, changed).metrics["makespan_seconds"])
    better = sum(end < before * (1 - 1e-9) for end in ends)
    gain = 100 * (1 - min([before, *ends]) / before)
    return (
        f"{before:.6g}",
        str(len(places)),
        str(len(tried)),
        str(better),
        f"{gain:.3f}",
    )
