"""Dispatchers of workflows, which decide while tasks run, and the solvers that answer
with their run or its queues.
"""

from collections.abc import Callable
from typing import Literal

from ioopt.decisions.replication import Dispatcher, DispatchView, Pair, least
from ioopt.models.replication.workflow_bound import makespan_bound_seconds
from ioopt.problems.replication import EvictionPolicy, ReplayOptions, ReplicationProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.sim.replication.dispatch import dispatch


class Settings(ReplayOptions):
    """``mode``: ``replay`` the queues of the run (they stage earlier), or answer with
    the run itself (``dispatch``).

    ``eviction``: policy of the run and of the replay; ``prefetch``: a task may be given
    to a node whose cores are busy (where the run itself is the answer).
    """

    mode: Literal["replay", "dispatch"] = "replay"
    eviction: EvictionPolicy = "farthest-next-use"
    prefetch: bool = False


def solve(problem: ReplicationProblem, request: SolveRequest) -> Outcome:
    """Run the dispatcher ``request.policy`` on planned times (workflow rules 11
    and 17).
    """
    return answer(problem, request, request.policy, request.settings or Settings())


def answer(
    problem: ReplicationProblem,
    request: SolveRequest,
    policy: Dispatcher,
    settings: Settings,
) -> Outcome:
    """Return the answer of *policy*: a run with its record, or a plan of queues."""
    online = settings.mode == "dispatch"
    plan, ran = dispatch(
        problem,
        policy,
        prefetch=settings.prefetch and online,
        eviction=settings.eviction,
        options=settings,
        deadline=request.deadline,
    )
    if not online:
        plan = plan.model_copy(update={"dispatches": None})
    return Outcome(
        plan,
        makespan_bound_seconds(problem),
        objective_name="makespan_seconds",
        simulation=ran if online else None,
    )


def fifo(view: DispatchView) -> Pair | None:
    """Give the first ready task that some node takes to the core that has idled
    longest.

    No task waits for a wider one before it (workflow rule 13).
    """
    nodes = view.open_nodes()
    if not nodes:
        return None
    for k in view.ready:
        found = least((view.core_time(k, i), (k, i)) for i in nodes if view.takes(k, i))
        if found is not None:
            return found
    return None


def locality(view: DispatchView) -> Pair | None:
    """Give the ready task with the most bytes of its inputs on a node to that node.

    Ties go to the first task, the most idle cores, the first node (workflow rule 13).
    """
    if not view.ready:
        return None
    nodes = view.open_nodes()
    best: tuple[int, int, int, int] | None = None
    for i in nodes:
        idle = view.idle_cores(i)
        for k, there in _bytes_there(view, i).items():
            if (best is None or (-there, k, -idle, i) < best) and view.takes(k, i):
                best = (-there, k, -idle, i)
    if best is None or not best[0]:
        best = _first(view, nodes)
    return None if best is None else (best[1], best[3])


def _bytes_there(view: DispatchView, i: int) -> dict[int, int]:
    """Return the ready tasks that read files of node *i*, and how many bytes."""
    there: dict[int, int] = {}
    for f in view.complete(i):
        for k in view.ready_readers(f):
            there[k] = there.get(k, 0) + view.size(f)
    return there


def _first(view: DispatchView, nodes: list[int]) -> tuple[int, int, int, int] | None:
    """Return the first ready task that some of *nodes* takes.

    It is asked for where no node has any bytes of a ready task.
    """
    if not nodes:
        return None
    for k in view.ready:
        rows = [(0, k, -view.idle_cores(i), i) for i in nodes if view.takes(k, i)]
        if rows:
            return min(rows)
    return None


def ready_min_min(view: DispatchView) -> Pair | None:
    """Give the ready task and node whose pair is expected to end first.

    Core time, transfers one after the other, and the planned computing count
    (workflow rule 13).
    """
    nodes = view.open_nodes()
    if not nodes:
        return None
    rows = []
    for k in view.ready:
        for i in nodes:
            if view.takes(k, i):
                rows.append((expected_end(view, k, i), (k, i)))
    return least(rows)


def expected_end(view: DispatchView, k: int, i: int) -> float:
    """Return when task *k* would end on node *i* if nothing overlaps or is shared."""
    network = view.network
    seconds = max(view.now, view.core_time(k, i))
    for f in view.inputs(k):
        if view.holds(i, f):
            continue
        rate = network.remote_bytes_per_second
        if view.copies(f) > 0:
            rate = network.replica_bytes_per_second
        seconds += view.size(f) / rate
    return seconds + view.task(k).compute_seconds / view.nodes[i].speed


def _same(decide: Dispatcher) -> Callable[[object], Dispatcher]:
    """Return what makes a dispatcher that has no settings of its own."""
    return lambda settings: decide


FIFO = _same(fifo)
LOCALITY = _same(locality)
READY_MIN_MIN = _same(ready_min_min)
