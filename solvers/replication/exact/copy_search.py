"""Shorten a plan by copy entries, each of which is tried by a replay (ours).

A copy entry does two things that queues of tasks cannot. It brings a file to a node
before the task at the head of the queue is staged. And it makes the node wait: if
another node is fetching the file, this one waits for it, then copies it over the
private link. The fetch of the other node thus has the remote link for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ioopt.errors import OutOfTime, SimulationError
from ioopt.options import Deadline
from ioopt.problems.replication import CopyEntry, ReplicationPlan, ReplicationProblem
from ioopt.sim.replication.simulate import replayed


class CopySearch:
    """Insert copy entries into *plan*, one after the other, as long as one of them
    shortens the makespan.

    ``plan`` is the best plan so far, ``seconds`` its makespan (infinite if it cannot
    be replayed), and ``replays`` the number of replays.
    """

    def __init__(self, problem: ReplicationProblem, plan: ReplicationPlan) -> None:
        self.problem = problem
        self.plan = plan
        self.replays = 0
        self.seconds = self._makespan(plan)

    def run(self, floor: float, most: int, deadline: Deadline) -> None:
        """Search until no entry is better, the makespan is at most *floor* seconds,
        *most* replays were made, or *deadline* has passed.
        """
        while self._insert(floor, most, deadline):
            pass

    def _insert(self, floor: float, most: int, deadline: Deadline) -> bool:
        """Insert the copy entry that shortens the makespan most; return whether there
        is one.
        """
        best = self.plan
        least = self.seconds
        for plan in with_one_more(self.problem, self.plan):
            if least <= floor or self.replays >= most or deadline.expired():
                break
            seconds = self._makespan(plan)
            if seconds < least * (1 - 1e-9):
                best = plan
                least = seconds
        better = best is not self.plan
        self.plan = best
        self.seconds = least
        return better

    def _makespan(self, plan: ReplicationPlan) -> float:
        """Return the makespan of *plan* in seconds; infinity if it cannot proceed."""
        self.replays += 1
        with suppress(SimulationError, OutOfTime):
            return replayed(self.problem, plan).makespan_seconds
        return float("inf")


def with_one_more(
    problem: ReplicationProblem, plan: ReplicationPlan
) -> Iterator[ReplicationPlan]:
    """Yield *plan* with one more copy entry: at every place of every queue, of every
    file that some task reads.
    """
    rows = zip(problem.files, problem.readers, strict=True)
    read = [file.id for file, readers in rows if readers]
    for node, queue in plan.order.items():
        for place in range(len(queue) + 1):
            for file in read:
                entry = CopyEntry.model_validate({"copy": file})
                longer = (*queue[:place], entry, *queue[place:])
                yield plan.model_copy(update={"order": {**plan.order, node: longer}})


def copies_in(plan: ReplicationPlan) -> int:
    """Return the number of copy entries in the queues of *plan*."""
    entries = [entry for queue in plan.order.values() for entry in queue]
    return sum(isinstance(entry, CopyEntry) for entry in entries)
