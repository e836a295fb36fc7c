"""The live view and the dispatcher of the Dask adapter, without Dask."""

import heapq
from typing import Any

import pytest
from replication_samples import made

from ioopt.decisions.replication import Dispatcher
from ioopt.embed.live_view import LiveView
from ioopt.problems.replication import ReplicationProblem
from ioopt.sim.replication.dispatch import dispatch
from ioopt.solvers.replication.dispatch import fifo, locality, ready_min_min
from ioopt.solvers.replication.online import rolling
from ioopt.solvers.replication.online.homes import Homes
from ioopt.solvers.replication.online.late_binding import LateBinding


def tree(leaves: int, nodes: int, size: int, rate: float = 1e6) -> ReplicationProblem:
    """A binary reduction in depth-first order; leaves take 4 s, sums 1 s."""
    tasks: dict[str, tuple[Any, ...]] = {}

    def add(first: int, last: int) -> str:
        name = f"{first}-{last}"
        if last - first == 1:
            tasks[name] = (4.0, [], [f"f{name}"])
        else:
            middle = (first + last) // 2
            tasks[name] = (
                1.0,
                [f"f{add(first, middle)}", f"f{add(middle, last)}"],
                [f"f{name}"],
            )
        return name

    add(0, leaves)
    return made(nodes, {f"f{name}": size for name in tasks}, tasks, rate, rate)


def whole_view(problem: ReplicationProblem) -> LiveView:
    """A run of *problem* with prefetch; all its tasks are to be given."""
    view = LiveView(problem.network, problem.nodes, True)
    files = zip(problem.inputs, problem.outputs)
    view.fill(
        problem.tasks, files, [file.bytes for file in problem.files], problem.holds
    )
    return view


def live_run(
    problem: ReplicationProblem, policy: Dispatcher
) -> tuple[list[tuple[int, int]], LiveView]:
    """The answers of *policy* where tasks end as planned and transfers take no time."""
    view = whole_view(problem)
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
    """Twelve tasks of 1 to 12 s that read nothing, on nodes of one,
    two and three cores.
    """
    tasks = {f"t{k}": (1.0 + 5 * k % 12,) for k in range(12)}
    return made([{"cores": i + 1} for i in range(3)], {}, tasks, 1, 1)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        # files of no bytes: how the simulator brings one after the other
        # makes no difference
        (Homes, tree(16, 3, 0)),
        (LateBinding, tree(16, 3, 0)),
        (Homes, batch()),
        (LateBinding, batch()),
        (lambda: fifo, batch()),
        (lambda: locality, batch()),
        (lambda: ready_min_min, batch()),
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
    # leaves 0-3 and 4-7 with their sums stay together; only one half has
    # to go to the other
    pairs, view = live_run(tree(8, 2, 1_000_000), Homes())
    assert view.moved == 1_000_000
    where = {view.task(k).id: i for k, i in pairs}
    assert [where[f"{k}-{k + 1}"] for k in range(8)] == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(("rate", "taken"), [(1e6, True), (1e5, False)])
def test_an_idle_node_takes_what_would_wait_longer_than_its_bytes_travel(rate, taken):
    # three tasks of 4 s read one file of 1 MB, on n0. One computes, one waits there (4
    # s); the third would wait 8 s. To go: 1 s at 1 MB/s, but 10 s at .1 MB/s.
    tasks = dict.fromkeys("abc", (4.0, "f"))
    problem = made([{"holds": ["f"]}, {}], {"f": 10**6}, tasks, rate, rate)
    view = whole_view(problem)
    for k in range(3):
        view.becomes_ready(k)
    homes = Homes()
    assert [view.ask(homes), view.ask(homes)] == [(0, 0), (1, 0)]
    assert view.ask(homes) == ((2, 1) if taken else None)
    assert view.moved == (10**6 if taken else 0)


def view_of(nodes, files, tasks) -> LiveView:
    """A view of ready tasks: *nodes* hold files, *files* have bytes (1 MB/s),
    *tasks* seconds and inputs.
    """
    view = whole_view(made([{"holds": held} for held in nodes], files, tasks, 1e6, 1e6))
    for k in range(len(tasks)):
        view.becomes_ready(k)
    return view


def test_a_task_of_no_time_is_not_worth_a_transfer():
    # a computes and b waits where all files are (9 s each). To move c, of no time,
    # takes nothing off n0 and d .5 s for 1 s of link; e 3 s for 1 s
    seconds = {"a": 9.0, "b": 9.0, "c": 0.0, "d": 0.5, "e": 3.0}
    for names, wanted in (("abcd", None), ("abcde", (4, 1))):
        view = view_of(
            [["f"], []], {"f": 10**6}, {k: (seconds[k], ["f"]) for k in names}
        )
        homes = Homes()
        view.give(0, 0)
        view.give(1, 0)
        assert view.ask(homes) == wanted
        assert view.moved == (10**6 if wanted else 0)


def test_short_tasks_go_first():
    view = view_of([[]], {}, {"a": (9.0, []), "b": (0.001, []), "c": (0.0, [])})
    homes = Homes()
    assert [view.ask(homes) for _ in range(3)] == [(1, 0), (2, 0), (0, 0)]


def test_of_those_that_wait_the_cheapest_to_bring_goes():
    # both take 4 s off n0; b reads 2 MB (2 s), c 1 MB (1 s)
    view = view_of(
        [["f", "g"], []],
        {"f": 2 * 10**6, "g": 10**6},
        {"a": (9.0, ["g"]), "x": (9.0, ["g"]), "c": (4.0, ["g"]), "b": (4.0, ["f"])},
    )
    homes = Homes()
    assert [view.ask(homes) for _ in range(3)] == [(0, 0), (1, 0), (2, 1)]
    assert view.moved == 10**6


def test_those_who_read_from_everywhere_do_not_all_meet_on_one_node():
    # each of three reads 1 MB from every node, and n0 has a little more: of no use to
    # those for whom its link already works. First: n0 2 s of link, the others 2.1; then
    # n0 2 + 2 + 2 = 6, n1 2.1 + 2.1
    held = [["a0", "b0", "c0", "x"], ["a1", "b1", "c1"], ["a2", "b2", "c2"]]
    files = {f: 10**6 for row in held for f in row} | {"x": 10**5}
    tasks = {t: (1.0, [f"{t}{i}" for i in range(3)] + ["x"]) for t in "abc"}
    homes, view = Homes(), view_of(held, files, tasks)
    assert [view.ask(homes) for _ in range(3)] == [(0, 0), (1, 1), (2, 2)]


def test_links_are_busy_until_what_they_were_given_is_through():
    # n0 sends f (2 s) to n1, and then g (1 s) would take its turn: 3 s; n2
    # gets h from n1 in 1 s
    view = view_of(
        [["f", "g"], ["h"], []],
        {"f": 2 * 10**6, "g": 10**6, "h": 10**6},
        {"a": (1.0, ["f"]), "b": (1.0, ["g"]), "c": (1.0, ["h"])},
    )
    view.give(0, 1)
    assert [view.staging_seconds(k, 2) for k in (1, 2)] == [3.0, 1.0]
    assert view.staging_seconds(1, 0) == 0.0
    view.now = 2.5
    assert view.staging_seconds(1, 2) == 1.0


def test_short_tasks_fill_the_way_there_and_back():
    # 20 ms of work may wait: two tasks of 10 ms behind the one that computes
    problem = tree(4, 1, 0)
    tasks = tuple(t.model_copy(update={"compute_seconds": 0.01}) for t in problem.tasks)
    view = whole_view(problem.model_copy(update={"tasks": tasks}))
    for k in (0, 1, 3, 4):
        view.becomes_ready(k)
    assert [view.ask(Homes()) for _ in range(4)] == [(0, 0), (1, 0), (3, 0), None]


def test_copies_count_with_the_sizes_that_were_seen():
    view = whole_view(tree(2, 2, 1))
    view.becomes_ready(0)
    view.becomes_ready(1)
    view.give(1, 0)
    view.give(0, 1)
    view.now = 4.0
    view.ends(0, {0: 5})
    view.ends(1, {1: 7})
    view.becomes_ready(2)
    view.give(2, 1)
    assert view.moved == 7  # the size that was observed, not the one that was expected
