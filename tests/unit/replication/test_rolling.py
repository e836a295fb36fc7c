"""The rolling dispatcher: by hand, through the view alone, within its budget."""

from typing import Any

import pytest
from conftest import first
from random_workflows import random_workflow
from replication_samples import made

import ioopt
from ioopt.checks.replication.check import check
from ioopt.decisions.replication import DispatchView
from ioopt.problems.replication import ReplicationProblem
from ioopt.sim.replication.dispatch import dispatch
from ioopt.sim.replication.simulate import noisy_seconds, simulate
from ioopt.solvers.replication.dispatch import locality
from ioopt.solvers.replication.online.late_binding import LateBinding
from ioopt.solvers.replication.online.rolling import Rolling, Settings, policy

C, D = {"c": (5,)}, {"d": (5,)}
A, B = {"a": (1, "", "x")}, {"b": (10, "x")}
LATE = (
    {"a": (1, "", "x", {"release_seconds": 1})},
    {"b": (10, "x", "", {"release_seconds": 1})},
)


def two_nodes(
    *tasks: dict[str, Any], files: dict[str, int] | None = None
) -> ReplicationProblem:
    whole = {name: row for task in tasks for name, row in task.items()}
    return made(2, files or {}, whole, 10, 40)


def ends(ran: Any) -> dict[str, float]:
    return {row["id"]: row["end_seconds"] for row in ran.schedule["tasks"]}


def test_the_longest_path_begins_first() -> None:
    """In the order of the file c and d take both nodes until 5 s, a 5-6, b 6-16.

    Rolling plans: a 0-1 and b 1-11 on one node, c 0-5 and d 5-10 on the other.
    """
    problem = two_nodes(C, D, A, B, files={"x": 0})
    assert dispatch(problem, locality)[1].metrics["makespan_seconds"] == 16
    plan, ran = dispatch(problem, policy(None), prefetch=True)
    assert ran.metrics["makespan_seconds"] == 11
    assert check(problem, plan, ran.schedule).violations == ()
    assert simulate(problem, plan, engine="python").schedule == ran.schedule


def test_a_plan_is_made_anew_when_tasks_arrive() -> None:
    """Until 1 s there are c and d alone; a, b then wait for a node: a 5-6, b 6-16.

    Known from the start, but for its arrival, a would have kept a node
    free (a 1-2, b 2-12).
    """
    dispatcher = Rolling(Settings())
    _, ran = dispatch(two_nodes(C, D, *LATE, files={"x": 0}), dispatcher, prefetch=True)
    assert ends(ran) == {"c": 5, "d": 5, "a": 6, "b": 16}
    assert dispatcher.plans >= 2


def test_what_waits_behind_a_late_task_goes_elsewhere() -> None:
    """Planned: a, b and e on one node (1 + 2 + 2 s), c on the other (5 s).

    c ends at 1 s in truth: e goes to its idle core, which ends it at 3 s instead of 5.
    """
    problem = two_nodes(A, {"b": (2, "x")}, C, {"e": (2, "x")}, files={"x": 0})
    _, ran = dispatch(problem, policy(None), prefetch=False, actual={"c": 1.0})
    assert ran.metrics["makespan_seconds"] == 3  # a 0-1, then b and e 1-3, side by side


class Narrow(DispatchView):
    """Another program's view: what :class:`DispatchView` promises, and nothing else."""

    SHOWN = ("now", "round", "prefetch", "network", "nodes", "ready")

    def __init__(self, view: DispatchView) -> None:
        for name in self.SHOWN:
            setattr(self, name, getattr(view, name))
        for name in DispatchView.__abstractmethods__:
            setattr(self, name, getattr(view, name))


Narrow.__abstractmethods__ = frozenset()


@pytest.mark.parametrize("name", first(1, ["flow-chains", "flow-arrivals"]))
def test_the_view_is_all_it_needs(name: str) -> None:
    """The object that decides in the simulator decides for any program
    that can show a view.
    """
    problem = ioopt.load(name)
    actual = noisy_seconds(problem, 0.3, 5)
    whole, narrow = policy(None), policy(None)
    records = [
        dispatch(problem, decide, prefetch=True, actual=actual)[0].dispatches
        for decide in (whole, lambda view: narrow(Narrow(view)))  # type: ignore[abstract]
    ]
    assert records[0] == records[1]


@pytest.mark.slow
def test_replays_stay_within_the_budget() -> None:
    """Nine candidates a plan, or as many as are asked for; smaller
    shares bring more plans.
    """
    problem = ioopt.load("flow-groups")
    actual = noisy_seconds(problem, 0.8, 1)
    counts = []
    for share, evaluations in ((1.0, 3), (1.0, 9), (0.02, 9)):
        dispatcher = Rolling(Settings(share=share, evaluations=evaluations))
        dispatch(problem, dispatcher, prefetch=True, actual=actual)
        assert dispatcher.plans <= dispatcher.replays <= evaluations * dispatcher.plans
        counts.append(dispatcher.plans)
    assert counts[1] < counts[2]


def test_actual_times_are_not_seen_before_they_show() -> None:
    """Two truths that differ only in the task that ends last: the same
    decisions until then.
    """
    problem = two_nodes(C, D, A, B, files={"x": 0})
    records = [
        dispatch(problem, policy(None), prefetch=True, actual={"b": seconds})[
            0
        ].dispatches
        for seconds in (10.0, 40.0)
    ]
    assert records[0] == records[1]


@pytest.mark.parametrize("seed", first(10, range(1, 31)))
def test_random_workflows_come_to_their_end(seed: int) -> None:
    problem = ioopt.load(random_workflow(seed))
    actual = noisy_seconds(problem, 0.8, seed)
    plan, ran = dispatch(problem, policy(None), prefetch=seed % 2 == 0, actual=actual)
    assert check(problem, plan, ran.schedule).violations == ()


def test_late_binding_by_hand() -> None:
    """n0 holds x, 40 bytes that take 4 s from remote storage and 1 s from a node;
    c computes 5 s there.

    Ranks: p 10, q 3. At 0 s n1 idles: p, which reads x, would end there at 11
    s, on n0 at 15 s. Then q, which reads nothing, is not bound to n0 before
    its core idles, at 5 s.
    """
    tasks = {**C, "p": (10, "x"), "q": (3,)}
    problem = made([{"holds": ["x"]}, {}], {"x": 40}, tasks, 10, 40)
    first = [(0, 0)]
    late = LateBinding()
    plan, ran = dispatch(
        problem, lambda view: first.pop() if first else late(view), prefetch=True
    )
    assert ends(ran) == {"c": 5, "p": 11, "q": 8}
    given = {task: (seconds, node) for seconds, _, task, node in plan.dispatches or ()}
    assert given["p"] == (0, "n1") and given["q"] == (5, "n0")


def test_after_arrivals_no_plan_is_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the first candidate, heft, has no margin before the others: equally
    good ones lose to it.

    At 1 s a and b arrive, and the plan for c and d leaves them out.
    """
    dispatcher = Rolling(Settings())
    found: list[bool] = []
    original = Rolling._in_force

    def noted(self: Rolling, rest: Any) -> Any:
        queues = original(self, rest)
        found.append(queues is not None)
        return queues

    monkeypatch.setattr(Rolling, "_in_force", noted)
    dispatch(two_nodes(C, D, *LATE, files={"x": 0}), dispatcher, prefetch=True)
    assert found[:2] == [False, False]


@pytest.mark.slow
def test_the_solver_answers_with_its_run() -> None:
    result = ioopt.solve("flow-groups", "rolling")
    assert (
        result.plan is not None
        and result.plan["dispatches"]
        and result.violations == ()
    )
    assert (
        result.metrics["makespan_seconds"] < 240
    )  # locality 283.9, auto's best planner 279
    replayed = ioopt.solve("flow-groups", "rolling", settings={"mode": "replay"})
    assert replayed.plan is not None and "dispatches" not in replayed.plan
