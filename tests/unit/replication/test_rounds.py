"""Rounds under limited disk: eviction (22), selection (14)-(20),
two-stage, hierarchical.
"""

import itertools
import random

import pytest
from conftest import first
from replication_samples import made

import ioopt
from ioopt.errors import UnsolvableInstanceError, UsageError
from ioopt.generate.replication.generate import generate
from ioopt.models.replication.bounds import area_seconds
from ioopt.models.replication.subbatch import Place, SubBatchModel
from ioopt.problems.replication import ReplicationProblem
from ioopt.result import Status
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat
from ioopt.solvers.replication.rounds import two_stage as rounds
from ioopt.solvers.replication.rounds.eviction import Disks, popularity
from ioopt.solvers.replication.rounds.stages import (
    allocate,
    greedy_selection,
    select,
)
from ioopt.solvers.replication.rounds.two_stage import levels_for

MB = 1_000_000
LIMITS = BackendLimits(seconds=20.0, work=5.0)


def make(files, tasks, disks, holds=()) -> ReplicationProblem:
    """*files* sizes in MB; *tasks* inputs by position (or (seconds,
    inputs)); *disks* in MB.
    """
    nodes = [
        {
            "disk_bytes": None if disk is None else disk * MB,
            "holds": [f"f{f}" for f in held],
        }
        for disk, held in itertools.zip_longest(disks, holds, fillvalue=())
    ]
    rows = [
        task if task and isinstance(task[0], float) else (1.0, task) for task in tasks
    ]
    timed = {
        f"t{k}": (seconds, [f"f{f}" for f in read])
        for k, (seconds, read) in enumerate(rows)
    }
    return made(
        nodes, {f"f{f}": size * MB for f, size in enumerate(files)}, timed, 12.5e6, 1e9
    )


def places(problem: ReplicationProblem, present=None) -> list[Place]:
    return [
        Place(
            node.disk_bytes,
            node.speed,
            frozenset(present[i] if present else ()),
            node.disk_bytes,
        )
        for i, node in enumerate(problem.nodes)
    ]


def test_popularity_by_hand():
    # (22): 3 pending readers of 64 bytes, 2 copies: 3 * 64 / 2 = 96.
    assert popularity(3, 64, 2) == 96
    assert popularity(0, 64, 1) == 0


@pytest.mark.parametrize(
    ("room", "gone"),
    [
        ({}, [2, 1]),
        ({"room": "mean"}, [2, 1]),
        ({"room": "next"}, [2]),
        ({"room": "missing"}, []),
    ],
)
def test_eviction_makes_room_for_a_pending_task_least_popular_first(room, gone):
    """n0 holds f0 (40 MB, 2 readers, popularity 80), f1 (30, 1 reader,
    30), f2 (30, none, 0).

    The largest pending task needs 50 MB: f2 goes (70 left), then f1 (40
    left), f0 stays. At most 60 may stay full for the mean task of 40 MB, too;
    70 for the next of 30.
    """
    problem = make([40, 30, 30, 50], [[0], [0], [1], [3]], [100], holds=[[0, 1, 2]])
    disks = Disks(problem, "popularity", **room)
    assert disks.evict_for_one_task([2, 0, 1, 3]) == [(file, 0) for file in gone]
    assert disks.present == [{0, 1, 2} - {*gone}]


@pytest.mark.parametrize(
    ("policy", "disks", "holds", "files", "room", "kept", "gone"),
    [
        # Two copies: f0 has 2 readers x 40 / 2 = 40; f1 1 x 50 / 1 = 50. f0 goes first.
        ("popularity", [90, 90], [[0, 1], [0]], [40, 50, 60], 60, (), [0]),
        # What just fits evicts nothing.
        ("popularity", [70], [[0, 1]], [40, 30, 30], 70, (), []),
        ("popularity", [70], [[0, 1]], [40, 30, 30], 69, (), [1]),
        # Kept files stay even when there is no other way.
        ("popularity", [60], [[0, 1]], [30, 30, 30], 0, {0}, [1]),
        # Ties go to the lowest file: three of one size with one reader
        # each, none used yet.
        ("popularity", [90], [[0, 1, 2]], [30, 30, 30], 30, (), [0, 1]),
        ("lru", [90], [[0, 1, 2]], [30, 30, 30], 30, (), [0, 1]),
        ("farthest-next-use", [90], [[0, 1, 2]], [30, 30, 30], 30, (), [0, 1]),
    ],
)
def test_who_is_evicted_first(policy, disks, holds, files, room, kept, gone):
    tasks = [[0], [0, 1], [2]] if len(disks) > 1 else [[0], [1], [2]]
    disks = Disks(make(files, tasks, disks, holds=holds), policy)
    disks.open_round([0, 1, 2])
    assert disks.evict_until(0, room * MB, kept) == [(file, 0) for file in gone]


@pytest.mark.parametrize(
    ("holds", "rounds", "gone"),
    [
        # A file that was brought is younger than one read before.
        ([0, 1], [([], [0, 1]), ([2], []), ([], [0])], [1, 2, 0]),
        # The oldest use goes, and held files before all.
        ([0, 1, 2], [([], [1]), ([], [0])], [2, 1, 0]),
    ],
)
def test_lru_evicts_the_oldest_use(holds, rounds, gone):
    disks = Disks(make([30, 30, 30], [[0], [1], [2]], [90], holds=[holds]), "lru")
    for number, (brought, read) in enumerate(rounds, 1):
        disks.close_round(
            number, [(file, 0) for file in brought], [(file, 0) for file in read]
        )
    disks.open_round([0, 1, 2])
    assert disks.evict_until(0, 0, ()) == [(file, 0) for file in gone]


def test_farthest_next_use_evicts_nothing_beforehand_then_dead_then_duplicates():
    problem = make([30, 30, 30, 60], [[0], [1], [3]], [90, 90], holds=[[0, 1, 2], [1]])
    disks = Disks(problem, "farthest-next-use")
    assert disks.evict_for_one_task([0, 1, 2]) == []
    assert disks.evict_until(0, 0, ()) == [(2, 0), (1, 0), (0, 0)]


def _feasible(problem, counts, thresh=None, drop=()):
    """Whether the allocation *counts* [group][place] can be completed to a
    solution of the model.
    """
    model = SubBatchModel(problem, range(len(problem.tasks)), places(problem), thresh)
    for row, wanted in zip(model.count, counts, strict=True):
        for variable, value in zip(row, wanted, strict=True):
            model.program.add("given", [(variable, 1)], value, value)
    for key in drop:
        model.program.hold(model.stored[key], most=0)
    return solve_by_cpsat(model.program, LIMITS).status is not Status.INFEASIBLE


TWO = make([50, 40, 30], [[0, 1], [0, 2]], [100, 100])


def test_14_a_task_needs_its_files_stored():
    assert _feasible(TWO, [[1, 0], [0, 1]])
    assert not _feasible(TWO, [[1, 0], [0, 1]], drop=[(1, 0)])


def test_15_files_fit_the_disk():
    # Together 50 + 40 + 30 = 120 MB on one disk of 100; apart 90 and 80.
    assert _feasible(TWO, [[1, 0], [0, 1]])
    assert not _feasible(TWO, [[1, 0], [1, 0]])


def test_16_a_task_has_one_place():
    assert _feasible(TWO, [[1, 0], [0, 0]])
    assert not _feasible(
        make([50, 40, 30], [[0, 1], [0, 2]], [None, None]), [[1, 1], [0, 0]]
    )


def test_17_computing_is_balanced():
    # Average of 1.0 and 1.3 s is 1.15; 1.3 <= 1.15 * 1.2, but 1.3 > 1.15 * 1.1.
    problem = make([10, 10], [(1.0, [0]), (1.3, [1])], [100, 100])
    assert _feasible(problem, [[1, 0], [0, 1]], thresh=0.2)
    assert not _feasible(problem, [[1, 0], [0, 1]], thresh=0.1)
    # A lone task is twice the average of two places: never balanced.
    assert not _feasible(problem, [[1, 0], [0, 0]], thresh=0.2)


@pytest.mark.parametrize("dust", [0.0, 1e-12, 1e-16, -1e-16])
def test_17_holds_with_equality_whatever_the_digits(dust):
    """Loads of 1/2, 1 and 1 s: 1.2 times their average is 1.2 x 2.5 / 3 = 1
    s, no less than any.

    They are 1, 1 and 2 s of work on nodes of speed 2, 1 and 2; a task of 13 s waits,
    and a hundred-millionth of all 17 s is no part of 1 s. One unit in the last place
    of a time, as sums of floats leave it, is no reason to drop the balance either;
    one part in 10^6 is.
    """
    tasks = [(1.0, [0]), (1.0 + 2 * dust, [1]), (2.0 + 4 * dust, [2]), (13.0, [2])]
    problem = make([10, 10, 10], tasks, [100, 100, 100])
    fast = [node.model_copy(update={"speed": 2.0}) for node in problem.nodes]
    nodes = (fast[0], problem.nodes[1], fast[2])
    problem = problem.model_copy(update={"nodes": nodes})
    apart = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert _feasible(problem, apart, thresh=0.2)
    longer = problem.tasks[2].model_copy(update={"compute_seconds": 2.000002})
    tasks = (*problem.tasks[:2], longer, problem.tasks[3])
    assert not _feasible(problem.model_copy(update={"tasks": tasks}), apart, thresh=0.2)


def test_17_is_exact_to_nine_digits():
    """1.2 x the average of 3.6 and 2.4 s is 3.6 s: a hundred-millionth of a
    second more is too much.
    """
    for seconds, balanced in [(3.6, True), (3.60000001, False)]:
        problem = make([10, 10], [(seconds, [0]), (2.4, [1])], [100, 100])
        assert _feasible(problem, [[1, 0], [0, 1]], thresh=0.2) is balanced


@pytest.mark.parametrize("seed", range(12))
def test_20_is_the_largest_selection_by_exhaustive_search(seed):
    rng = random.Random(seed)
    files = [rng.choice([10, 20, 30]) for _ in range(5)]
    tasks = [rng.sample(range(5), rng.randint(1, 3)) for _ in range(5)]
    problem = make(files, tasks, [rng.choice([50, 60, 70]), 60])
    best = 0
    for where in itertools.product((None, 0, 1), repeat=5):
        used = [
            {f for k, at in enumerate(where) if at == i for f in problem.inputs[k]}
            for i in (0, 1)
        ]
        fits = all(
            sum(problem.files[f].bytes for f in used[i]) <= problem.nodes[i].disk_bytes
            for i in (0, 1)
        )
        if fits:
            best = max(best, sum(at is not None for at in where))
    model = SubBatchModel(problem, range(5), places(problem), None)
    answer = solve_by_cpsat(model.program, LIMITS)
    assert answer.status is Status.OPTIMAL and answer.objective == best
    chosen = model.decode(answer.values)
    assert sum(map(len, chosen)) == best > 0


def test_ties_can_prefer_what_brings_fewer_bytes():
    # One task fits the disk. Both count as one, but f1 is there already.
    problem = make([50, 50], [[0], [1]], [50])
    at = places(problem, present=[{1}])
    assert select(problem, [0, 1], at, 9.0, LIMITS, "bytes").tasks == ((1,),)


def test_selection_drops_the_balance_only_when_nothing_passes_it():
    alone = make([10], [[0]], [100, 100])
    chosen = select(alone, [0], places(alone), 0.2, LIMITS)
    assert chosen.tasks in (((0,), ()), ((), (0,))) and not chosen.balanced
    pair = make([10, 10], [[0], [1]], [100, 100])
    chosen = select(pair, [0, 1], places(pair), 0.2, LIMITS)
    assert sum(map(len, chosen.tasks)) == 2 and chosen.balanced and chosen.proven


def test_selection_of_nothing_raises():
    problem = make([60], [[0]], [50])
    with pytest.raises(UnsolvableInstanceError, match="'t0'"):
        select(problem, [0], places(problem), 0.2, LIMITS)


def test_greedy_takes_what_shares_files():
    # 80 MB: t0 and t2 share f0 (50 + 20 + 10); t1 alone would need 60.
    problem = make([50, 60, 20, 10], [[0, 2], [1], [0, 3]], [80])
    assert greedy_selection(problem, [0, 1, 2], places(problem)) == [[1]]
    problem = make([50, 90, 20, 10], [[0, 2], [1], [0, 3]], [80])
    assert greedy_selection(problem, [0, 1, 2], places(problem)) == [[0, 2]]


def test_21_the_second_stage_keeps_within_each_disk():
    """Both tasks need 50 + 40 + 30 = 120 MB on n0, which is a hundred times as fast."""
    for disk, nodes in ((120, {0}), (119, {0, 1})):
        problem = make([50, 40, 30], [(9.0, [0, 1]), (9.0, [0, 2])], [disk, disk])
        slow = problem.nodes[1].model_copy(update={"speed": 0.01})
        problem = problem.model_copy(update={"nodes": (problem.nodes[0], slow)})
        start, empty = {0: [0], 1: [1]}, [frozenset(), frozenset()]
        found = allocate(problem, start, (0, 1), empty, LIMITS)
        assert set(found.assign.values()) == nodes


def test_the_first_stage_is_kept_where_the_second_finds_nothing_better():
    """No time, and an allocation that no other beats."""
    problem = make([50, 50], [[0], [1]], [100, 100])
    empty = [frozenset(), frozenset()]
    for limits in (BackendLimits(seconds=0.0), LIMITS):
        for start in ({0: [0], 1: [1]}, {0: [1], 1: [0]}):
            found = allocate(problem, start, (0, 1), empty, limits)
            wanted = {task: node for node, tasks in start.items() for task in tasks}
            assert found.assign == wanted
            assert found.remote == tuple(sorted((k, wanted[k]) for k in (0, 1)))


def _solve(problem, solver, **settings):
    result = ioopt.solve(
        problem, solver, time_limit=280, settings={"effort": "0.3", **settings}
    )
    assert result.status in (Status.FEASIBLE, Status.OPTIMAL), (
        result.notes,
        result.violations,
    )
    assert ioopt.check(problem, result) == []
    return result


def test_two_rounds_by_hand():
    # Each task fills a disk: 2 x 128 MB share the link, 20.48 s, 0.128 s
    # of computing; twice.
    result = _solve("rounds4", "two-stage")
    assert result.metrics["rounds"] == 2
    assert result.metrics["makespan_seconds"] == pytest.approx(41.216)
    # Additive: 128 MB x 80 ms + 0.128 s a round.
    assert result.objective == pytest.approx(2 * (10.24 + 0.128))


@pytest.mark.parametrize("eviction", ["popularity", "lru", "farthest-next-use"])
@pytest.mark.parametrize("barriers", ["yes", "no"])
def test_lone_last_task_does_not_loop(eviction, barriers):
    problem = make([60] * 3, [[0], [1], [2]], [60, 60])
    result = _solve(problem, "two-stage", eviction=eviction, barriers=barriers)
    assert [len(part["tasks"]) for part in result.plan["rounds"]] == [2, 1]
    assert "without the balance" in result.notes[0]
    assert result.plan["eviction"] == eviction
    assert result.plan.get("barriers", False) is (barriers == "yes")


def test_copies_are_carried_into_the_next_round():
    # f0 (40) is read by all; each disk takes it and one more file, so two
    # rounds of two tasks.
    problem = make([40, 50, 50, 50, 50], [[0, k] for k in range(1, 5)], [100, 100])
    result = _solve(problem, "two-stage", eviction="farthest-next-use")
    assert result.metrics["rounds"] == 2
    second = result.plan["rounds"][1]
    moved = {file for file, *_ in (*second["remote"], *second["copies"])}
    assert "f0" not in moved


@pytest.mark.parametrize("solver", ["two-stage", "hierarchical"])
def test_a_plan_even_without_time(solver):
    problem = generate("image-85", {}, 2)
    result = ioopt.solve(problem, solver, time_limit=0.01)
    assert result.status is Status.FEASIBLE and ioopt.check(problem, result) == []


def test_an_interruption_finishes_the_plan_in_haste(monkeypatch):
    problem = generate("image-85", {"tasks": 30}, 2)
    real, calls = rounds.allocate, []

    def once(*args):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(rounds, "allocate", once)
    result = _solve(problem, "two-stage", effort="0.05")
    assert len(calls) > 2 and result.stop == "interrupted"
    assert all(limits.seconds == 0 for *_, limits, _ in calls[2:])
    assert "made without models" in result.notes[0]


def test_models_that_end_before_proof_and_gap_are_counted():
    problem = generate("ppa", {"tasks": 40, "nodes": 4}, 0)
    for effort, cut in (("0.001", 1), ("5", 0)):
        result = ioopt.solve(
            problem, "two-stage", gap=0.3, time_limit=None, settings={"effort": effort}
        )
        assert result.metrics["models_cut"] == cut


@pytest.mark.parametrize("solver", first(1, ["hierarchical", "two-stage"]))
def test_same_seed_same_plan(solver):
    problem = generate("image-85", {"tasks": 24}, 5)
    first, second = (_solve(problem, solver, effort="0.05") for _ in range(2))
    assert first.plan == second.plan and len(first.plan["rounds"]) > 1


def test_hierarchy_of_two_levels():
    problem = generate(
        "ppa", {"tasks": 60, "nodes": 4, "disk": "100MB", "overlap": 0.5}, 0
    )
    result = _solve(problem, "hierarchical", hierarchy="2:2")
    assert result.metrics["rounds"] > 1
    assert result.metrics["scheduling_milliseconds_per_task"] > 0


PAIR_OF_LEAVES = [[100, 100], "allocate"]


@pytest.mark.parametrize(
    ("tree", "stages"),
    [
        ("4:2", [[200] * 4, *PAIR_OF_LEAVES * 4]),
        ("2:2:2", [[400, 400], *([[200, 200], *PAIR_OF_LEAVES * 2] * 2)]),
    ],
)
def test_the_stages_go_down_a_tree_of_virtual_nodes(monkeypatch, tree, stages):
    """Section 4.4: the first stage at each level, on disks that are the sums of those
    below; the second for each pair of leaves.
    """
    first, second, done, pairs = rounds.select, rounds.allocate, [], []

    def selected(*args):
        done.append([place.disk_bytes // MB for place in args[2]])
        return first(*args)

    def allocated(*args):
        done.append("allocate")
        pairs.append(args[2])
        return second(*args)

    monkeypatch.setattr(rounds, "select", selected)
    monkeypatch.setattr(rounds, "allocate", allocated)
    problem = make([10] * 8, [[k] for k in range(8)], [100] * 8)
    _solve(problem, "hierarchical", hierarchy=tree)
    assert done == stages
    assert pairs == [(0, 1), (2, 3), (4, 5), (6, 7)]


def test_virtual_nodes_pass_copies_on():
    # One file, read by 8 tasks on 2 x 2 nodes: fetched once, copied to the
    # other virtual node.
    problem = make([64], [(2.0, [0])] * 8, [100] * 4)
    result = _solve(problem, "hierarchical", hierarchy="2:2")
    assert len(result.plan["remote"]) == 1
    assert len({node for node in result.plan["assign"].values()}) == 4


def test_hierarchy_must_make_the_nodes():
    assert levels_for(8, "2:2:2") == (2, 2, 2)
    levels = {8: (4, 2), 16: (4, 4), 32: (8, 4), 6: (3, 2), 5: (5,)}
    assert {n: levels_for(n, None) for n in levels} == levels
    problem = make([10], [[0]], [None] * 4)
    with pytest.raises(UsageError, match="hierarchy 4:2 has 8 nodes, the instance 4"):
        ioopt.solve(problem, "hierarchical", settings={"hierarchy": "4:2"})
    with pytest.raises(UsageError, match="such as 4:2"):
        ioopt.solve(problem, "hierarchical", settings={"hierarchy": "2x2"})


def test_area_bound_by_hand():
    # 100 MB at 12.5 MB/s is 8 s, f1 is held; 4 tasks of 1 s: (8 + 4) / 2 nodes.
    problem = make([100, 50], [[0], [0, 1], [1], [1]], [None, None], holds=[[1]])
    assert area_seconds(problem) == pytest.approx(6.0)
    assert area_seconds(problem) <= 6.0


@pytest.mark.parametrize("eviction", ["popularity", "lru", "farthest-next-use"])
@pytest.mark.parametrize(
    ("solver", "more"), [("two-stage", {}), ("hierarchical", {"hierarchy": "2:1"})]
)
def test_held_files_are_there_for_the_first_round(solver, more, eviction):
    """Each node holds both files of one task, which fill its disk: 1 s of
    computing, no byte moved.

    Room for a task made before the first round would throw out all
    four: 20 s of fetching.
    """
    nodes = [
        {"disk_bytes": 20, "holds": ["f0", "f1"]},
        {"disk_bytes": 20, "holds": ["f2", "f3"]},
    ]
    tasks = {"t0": (1, ["f0", "f1"]), "t1": (1, ["f2", "f3"])}
    problem = made(nodes, {f"f{k}": 10 for k in range(4)}, tasks, 1.0, 10.0)
    result = _solve(problem, solver, eviction=eviction, **more)
    assert (result.objective, result.metrics["makespan_seconds"]) == (1.0, 1.0)
    assert [part["evicted"] for part in result.plan["rounds"]] == [[]]
