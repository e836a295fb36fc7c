"""The live view and the dispatcher of the Dask adapter, without Dask."""

from __future__ import annotations

import heapq

import pytest

import ioopt
from ioopt.decisions.replication import Dispatcher
from ioopt.embed.live_view import Follow, LiveView
from ioopt.problems.replication import ReplicationProblem
from ioopt.sim.replication.dispatch import dispatch
from ioopt.solvers.replication.dispatch import fifo, locality, ready_min_min
from ioopt.solvers.replication.online import rolling
from ioopt.solvers.replication.online.homes import Homes
from ioopt.solvers.replication.online.late_binding import LateBinding


def tree(leaves: int, nodes: int, size: int, rate: float = 1e6) -> ReplicationProblem:
    """A binary reduction in depth-first order; leaves take 4 s, sums 1 s."""
    tasks: list[dict[str, object]] = []

    def add(first: int, last: int) -> str:
        name = f"{first}-{last}"
        if last - first == 1:
            tasks.append({"id": name, "compute_seconds": 4.0, "outputs": [f"f{name}"]})
        else:
            middle = (first + last) // 2
            read = [f"f{add(first, middle)}", f"f{add(middle, last)}"]
            tasks.append(
                {"id": name, "compute_seconds": 1.0, "inputs": read, "outputs": [f"f{name}"]}
            )
        return name

    add(0, leaves)
    network = {"remote_bytes_per_second": rate, "replica_bytes_per_second": rate}
    problem = ioopt.load({
        "format": "ioopt/replication", "version": 1, "name": "tree", "network": network,
        "nodes": [{"id": f"n{i}"} for i in range(nodes)], "tasks": tasks,
        "files": [{"id": f"f{task['id']}", "bytes": size} for task in tasks],
    })  # fmt: skip
    assert isinstance(problem, ReplicationProblem)
    return problem


def live_run(
    problem: ReplicationProblem, policy: Dispatcher
) -> tuple[list[tuple[int, int]], LiveView]:
    """The answers of *policy* where tasks end as planned and transfers take no time."""
    view = LiveView.of(problem)
    missing = [len(before) for before in problem.predecessors]
    for k, left in enumerate(missing):
        if not left:
            view.becomes_ready(k)
    pairs, ends, going = [], [], set()
    while True:
        while (pair := view.ask(policy)) is not None:
            pairs.append(pair)
        for i in range(len(view.nodes)):
            for row in view.computing(i):
                if row.task not in going:
                    going.add(row.task)
                    heapq.heappush(ends, (row.end_seconds, row.task))
        if not ends:
            return pairs, view
        view.now = ends[0][0]
        while ends and ends[0][0] == view.now:  # all that is due ends first
            _, k = heapq.heappop(ends)
            view.ends(k, {f: problem.files[f].bytes for f in problem.outputs[k]})
            for j, before in enumerate(problem.predecessors):
                if k in before:
                    missing[j] -= 1
                    if not missing[j]:
                        view.becomes_ready(j)


def batch() -> ReplicationProblem:
    """Twelve tasks of 1 to 12 s that read nothing, on nodes of one, two and three cores."""
    network = {"remote_bytes_per_second": 1.0, "replica_bytes_per_second": 1.0}
    problem = ioopt.load({
        "format": "ioopt/replication", "version": 1, "name": "batch", "network": network,
        "nodes": [{"id": f"n{i}", "cores": i + 1} for i in range(3)],
        "tasks": [{"id": f"t{k}", "compute_seconds": 1.0 + 5 * k % 12} for k in range(12)],
    })  # fmt: skip
    assert isinstance(problem, ReplicationProblem)
    return problem


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        # files of no bytes: how the simulator brings one after the other makes no difference
        (Homes, tree(16, 3, 0)),
        (LateBinding, tree(16, 3, 0)),
        (Homes, batch()),
        (LateBinding, batch()),
        (lambda: fifo.decide, batch()),
        (lambda: locality.decide, batch()),
        (lambda: ready_min_min.decide, batch()),
        (lambda: rolling.policy(None), batch()),
    ],
)
def test_the_live_view_asks_for_what_the_simulation_does(make, problem):
    plan, _ = dispatch(problem, make(), prefetch=True)
    simulated = [(t, n) for _, _, t, n in plan.dispatches]
    pairs, view = live_run(problem, make())
    assert [(problem.tasks[k].id, view.nodes[i].id) for k, i in pairs] == simulated
    assert view.at_rest() and not view.ready


def test_a_tree_moves_one_file_for_two_nodes():
    # leaves 0-3 and 4-7 with their sums stay together; only one half has to go to the other
    pairs, view = live_run(tree(8, 2, 1_000_000), Homes())
    assert view.moved == 1_000_000
    where = {view.task(k).id: i for k, i in pairs}
    assert [where[f"{k}-{k + 1}"] for k in range(8)] == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(("rate", "taken"), [(1e6, True), (1e5, False)])
def test_an_idle_node_takes_what_would_wait_longer_than_its_bytes_travel(rate, taken):
    # three tasks of 4 s read one file of 1 MB, on n0. One computes, one waits there (4 s); the third
    # would wait 8 s. To go: 1 s at 1 MB/s, but 10 s at .1 MB/s.
    network = {"remote_bytes_per_second": rate, "replica_bytes_per_second": rate}
    problem = ioopt.load({
        "format": "ioopt/replication", "version": 1, "name": "w", "network": network,
        "nodes": [{"id": "n0", "holds": ["f"]}, {"id": "n1"}], "files": [{"id": "f", "bytes": 10**6}],
        "tasks": [{"id": t, "compute_seconds": 4.0, "inputs": ["f"]} for t in "abc"],
    })  # fmt: skip
    view = LiveView.of(problem)
    for k in range(3):
        view.becomes_ready(k)
    homes = Homes()
    assert [view.ask(homes), view.ask(homes)] == [(0, 0), (1, 0)]
    assert view.ask(homes) == ((2, 1) if taken else None)
    assert view.moved == (10**6 if taken else 0)


def test_short_tasks_fill_the_way_there_and_back():
    # 20 ms of work may wait: two tasks of 10 ms behind the one that computes
    problem = tree(4, 1, 0)
    tasks = tuple(t.model_copy(update={"compute_seconds": 0.01}) for t in problem.tasks)
    view = LiveView.of(problem.model_copy(update={"tasks": tasks}))
    for k in (0, 1, 3, 4):
        view.becomes_ready(k)
    assert [view.ask(Homes()) for _ in range(4)] == [(0, 0), (1, 0), (3, 0), None]


def test_queues_are_followed_in_their_order():
    view = LiveView.of(tree(2, 2, 1))
    view.becomes_ready(0)
    view.becomes_ready(1)
    follow = Follow([[1], [0, 2]])
    assert [view.ask(follow), view.ask(follow), view.ask(follow)] == [(1, 0), (0, 1), None]
    view.now = 4.0
    view.ends(0, {0: 5})
    view.ends(1, {1: 7})
    view.becomes_ready(2)
    assert view.ask(follow) == (2, 1)
    assert view.moved == 7  # the size that was observed, not the one that was expected
