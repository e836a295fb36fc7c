"""Solve by simulating a dispatcher of a workflow, which decides while tasks run.

The answer is the simulated run, or a plan with the queues of that run.
"""

from collections.abc import Callable, Collection
from typing import Literal, Protocol

from ioopt.decisions.replication import Dispatcher, DispatchView, Pair, least
from ioopt.models.replication.workflow_bound import makespan_bound_seconds
from ioopt.problems.replication import (
    EvictionPolicy,
    MovesGiven,
    ReplayOptions,
    ReplicationProblem,
)
from ioopt.protocols import Outcome, SolveRequest
from ioopt.sim.replication.dispatch import dispatch


class Settings(ReplayOptions):
    """Configure how the run of a dispatcher becomes an answer.

    ``mode``: with ``dispatch`` the answer is the run itself; with ``replay`` it is a
    plan with the queues of the run, whose tasks stage their files earlier.
    ``eviction``: policy of the run and of the replay. ``prefetch``: a task may be given
    to a node whose cores are busy (used in mode ``dispatch`` only). ``moves``: with
    ``schedule`` the plan has the transfers of its run or replay.
    """

    mode: Literal["replay", "dispatch"] = "replay"
    eviction: EvictionPolicy = "farthest-next-use"
    prefetch: bool = False
    moves: MovesGiven = "advice"


class EvictionSettings(Protocol):
    """Settings that name an eviction policy."""

    @property
    def eviction(self) -> EvictionPolicy:
        """Return the policy."""

    @property
    def model_fields_set(self) -> set[str]:
        """Return the names of the settings that were given."""


def eviction_of(
    problem: ReplicationProblem, settings: EvictionSettings
) -> EvictionPolicy:
    """Return the eviction policy of *settings*; caches of shared storage evict by lru
    unless the settings were given another policy (workflow rule 29).
    """
    if problem.is_shared and "eviction" not in settings.model_fields_set:
        return problem.default_eviction
    return settings.eviction


def solve(problem: ReplicationProblem, request: SolveRequest) -> Outcome:
    """Simulate the dispatcher ``request.policy``, with compute times as planned
    (workflow rules 11 and 17).
    """
    return answer(problem, request, request.policy, request.settings or Settings())


def answer(
    problem: ReplicationProblem,
    request: SolveRequest,
    policy: Dispatcher,
    settings: Settings,
) -> Outcome:
    """Return the answer of dispatcher *policy*, in the form that ``settings.mode`` asks
    for: a run with its record of dispatches, or a plan of queues.
    """
    online = settings.mode == "dispatch"
    prefetch = settings.prefetch
    if problem.is_shared and "prefetch" not in settings.model_fields_set:
        # A task that waits on a node brings nothing there: no files are staged.
        prefetch = False
    plan, ran = dispatch(
        problem,
        policy,
        prefetch=prefetch and online,
        eviction=eviction_of(problem, settings),
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
    """Return the first ready task that fits some node, and its node.

    The node is the one with the core that has been idle longest. A task that needs few
    cores never waits because a task ahead of it needs more (workflow rule 13).
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
    """Return the pair of a ready task and a node with the most input bytes of the task
    on it.

    Ties go to the first task, then to the node with the most idle cores, then to the
    first node (workflow rule 13).
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


def nearest(view: DispatchView, tasks: Collection[int]) -> Pair | None:
    """Return the pair that :func:`locality` would choose if the ready *tasks* were the
    only ones that are ready.
    """
    best: tuple[int, int, int, int] | None = None
    for i in view.open_nodes():
        idle = view.idle_cores(i)
        for k in tasks:
            if view.takes(k, i):
                there = sum(view.size(f) for f in view.inputs(k) if view.holds(i, f))
                row = (-there, k, -idle, i)
                best = row if best is None else min(best, row)
    return None if best is None else (best[1], best[3])


def _bytes_there(view: DispatchView, i: int) -> dict[int, int]:
    """Return, for each ready task that reads files stored on node *i*, the bytes of
    these files.
    """
    there: dict[int, int] = {}
    for f in view.complete(i):
        readers = view.ready_readers(f)
        if readers:
            size = view.size(f)
            for k in readers:
                there[k] = there.get(k, 0) + size
    return there


def _first(view: DispatchView, nodes: list[int]) -> tuple[int, int, int, int] | None:
    """Return the first ready task that fits one of *nodes*, as the key (0, task, -idle
    cores, node).

    It is called when no node stores input bytes of any ready task.
    """
    if not nodes:
        return None
    for k in view.ready:
        rows = [(0, k, -view.idle_cores(i), i) for i in nodes if view.takes(k, i)]
        if rows:
            return min(rows)
    return None


def ready_min_min(view: DispatchView) -> Pair | None:
    """Return the ready task and the node with the earliest expected end.

    The estimate is the wait for cores, plus all transfers one after the other, plus the
    planned compute time (workflow rule 13).
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
    """Return the expected end, in seconds of the run, of task *k* on node *i*.

    The estimate assumes that transfers do not overlap and that no link is shared.
    """
    network = view.network
    seconds = max(view.now, view.core_time(k, i))
    if view.products == "shared":
        return seconds + view.work_seconds(k, i)
    for f in view.inputs(k):
        if view.holds(i, f):
            continue
        rate = network.remote_bytes_per_second
        if view.copies(f) > 0:
            rate = network.replica_bytes_per_second
        seconds += view.size(f) / rate
    return seconds + view.work_seconds(k, i)


def _same(decide: Dispatcher) -> Callable[[object], Dispatcher]:
    """Return a factory that ignores the settings and always returns *decide*."""
    return lambda settings: decide


FIFO = _same(fifo)
LOCALITY = _same(locality)
READY_MIN_MIN = _same(ready_min_min)
