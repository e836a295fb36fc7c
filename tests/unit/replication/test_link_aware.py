"""link-aware and auto: starts, bounds, deadlines, choices, engines."""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import conftest
import pytest
from conftest import both_engines, first, shared_files
from replication_samples import document

import ioopt
from ioopt.checks.replication.check import check
from ioopt.errors import NotApplicableError
from ioopt.generate.replication.generate import generate
from ioopt.models.replication.workflow_bound import makespan_bound_seconds
from ioopt.options import AtMost, Deadline, SolveOptions
from ioopt.problems.replication import ReplicationPlan
from ioopt.protocols import SolveRequest
from ioopt.registry import solvers_for
from ioopt.result import StopReason
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication.search import (
    line_kernel,
    line_moves,
    link_aware,
    link_run,
    params,
)
from ioopt.solvers.replication.search.link_search import (
    Annealing,
    Engine,
    by_bytes,
    with_barriers,
)
from ioopt.solvers.replication.search.spectral import task_order
from ioopt.solvers.replication.workflows import PLANNERS


@pytest.fixture
def whole_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers of replays that users get; default tests have fewer (conftest)."""
    monkeypatch.setattr(params, "PARAMS", params.SearchParams())


def chain(**node: Any) -> dict[str, Any]:
    """Four tasks along a line of five files of 40 bytes; two nodes of 100
    bytes; 10 bytes a second.
    """
    tasks = {f"t{k}": (1, [f"f{k}", f"f{k + 1}"]) for k in (2, 0, 3, 1)}
    files = {f"f{k}": 40 for k in range(5)}
    return document([{"disk_bytes": 100, **node}] * 2, files, tasks, 10, 1000)


def test_chain_is_ordered_along_its_line() -> None:
    """t0 t1 t2 t3 are tasks 1, 3, 0, 2 of the list; either direction is right."""
    assert task_order(ioopt.load(chain())) in ([1, 3, 0, 2], [2, 0, 3, 1])


def test_chain_fetches_no_file_twice() -> None:
    """200 bytes at 10 a second and one task of 1 s: at least 21 s, and the
    search gets within 1 s.
    """
    result = ioopt.solve(chain(), "link-aware", settings={"evaluations": 400})
    assert result.bound == pytest.approx(21)
    assert result.objective_name == "makespan_seconds"
    assert result.metrics["remote_transfers"] == 5
    assert result.objective is not None
    assert result.objective <= 22


def test_bounds_by_hand() -> None:
    """Shared: 200 / 10 + 1. Private: 200 / 20 + 1. A storage of 2 bytes a
    second: 200 / 2 + 1.

    Computing of 60 s a task on two nodes, after a first file of 4 s: 124 s. One task of
    500 s after its first file: 504 s.
    """
    data = chain()
    assert makespan_bound_seconds(ioopt.load(data)) == pytest.approx(21)
    assert makespan_bound_seconds(ioopt.load(data), "per-node") == pytest.approx(11)
    stored = {**data, "storages": [{"id": "s", "bytes_per_second": 2}]}
    stored["files"] = [{**file, "storage": "s"} for file in data["files"]]
    assert makespan_bound_seconds(ioopt.load(stored)) == pytest.approx(101)
    slow = {
        **data,
        "tasks": [{**task, "compute_seconds": 60} for task in data["tasks"]],
    }
    assert makespan_bound_seconds(ioopt.load(slow)) == pytest.approx(124)
    slow["tasks"][0]["compute_seconds"] = 500
    assert makespan_bound_seconds(ioopt.load(slow)) == pytest.approx(504)
    assert makespan_bound_seconds(ioopt.load({**data, "tasks": []})) == 0


def ordered(
    order: list[int], nodes: list[int], additive: bool = False
) -> tuple[Engine, Annealing]:
    """An annealing of one order of the chain's tasks that stands at
    *order* and *nodes*.
    """
    engine = Engine(ioopt.load(chain()), 3, additive=additive)
    line = engine.line(order, nodes, True)
    return engine, Annealing(engine, line, 10)


@pytest.mark.parametrize(
    ("order", "nodes", "seconds"),
    [
        # Along the line on one node, two files fit: each of five files comes
        # once, 40 bytes in 4 s.
        ([1, 3, 0, 2], [0, 0, 0, 0], 20.0),
        # t0, t2 on n0: four files, f1 is gone; t1 on n1 fetches f1 again and copies f2
        # (.04 s); t3 on n1 copies f3 and fetches f4.
        ([1, 0, 3, 2], [0, 0, 1, 1], 4 * 6 + 2 * 0.04),
    ],
)
def test_seconds_of_one_order_by_hand(
    order: list[int], nodes: list[int], seconds: float
) -> None:
    assert ordered(order, nodes)[1].seconds == pytest.approx(seconds)


@pytest.mark.slow
@pytest.mark.parametrize("held", first(1, [True, False]))
def test_moves_of_an_order_leave_nothing_behind(held: bool) -> None:
    """After many moves an order counts as it does on fresh disks, and a limit
    refuses what exceeds it.
    """
    data = generate(
        "bipartite-85", {"tasks": 30, "nodes": 3, "disk": "400MB"}, 4
    ).model_dump(mode="json")
    if held:
        data["nodes"][1]["holds"] = [data["files"][0]["id"], data["files"][5]["id"]]
    engine = Engine(ioopt.load(data), 5)
    line = by_bytes(engine, range(30), True).line
    now = line.now
    accepted = 0
    for _ in range(400):
        line_moves.keep(line, line.kept_order, line.kept_node, line.kept_cut)
        line_moves.change(engine.world, line)
        limit = 1.02 * now
        value = line_kernel.transfer_seconds(engine.world, line, limit)
        other = engine.line(list(line.order), list(line.node), True)
        whole = line_kernel.transfer_seconds(engine.world, other, float("inf"))
        if whole > limit:
            assert value == float("inf")
            line_moves.put_back(line)
            continue
        assert value == whole
        accepted, now = accepted + 1, value
    assert accepted > 50


def test_annealing_of_one_order_finds_the_line() -> None:
    """However it begins, 300 moves find an order of four tasks that
    fetches no file twice.
    """
    _, annealing = ordered([0, 1, 2, 3], [0, 1, 0, 1])
    annealing.run(300, 5.0, 0.1, 0.0)
    assert annealing.seconds <= 20 + 2 * 0.04 + 1e-9
    assert annealing.evaluations == 300
    assert sorted(k for queue in annealing.best_queues() for k in queue) == [0, 1, 2, 3]


@pytest.mark.parametrize("additive", first(1, [False, True]))
def test_plain_and_compiled_annealing_of_one_order_are_equal(additive: bool) -> None:
    problem = generate("bipartite-85", {"tasks": 30, "nodes": 3, "disk": "400MB"}, 2)
    answers = []
    for how in both_engines():
        engine = Engine(problem, 5, additive=additive, kernels=how)
        annealing = by_bytes(engine, task_order(problem))
        annealing.run(300, 5.0, 0.1, 0.0)
        barred = with_barriers(engine, annealing, 3)
        barred.run(200, 5.0, 0.1, 0.0)
        answers.append((annealing.line.now, barred.best_score, barred.best_rounds()))
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("every", "additive", "rounds", "seconds"),
    [
        # One after the other: 8 + 1 s, then three times a copy, .04 s, a
        # fetch, 4 s, and 1 s.
        (1, False, [[1], [3], [0], [2]], 9 + 3 * 5.04),
        # Added up: n0 fetches f0, f1, f3 in 12 s and computes 2 s, n1 fetches f2 and
        # f4. f1 and f3 are copied from n0 to n1, f2 from n1 to n0: .12 s at both.
        (1, True, [[1], [3], [0], [2]], 12 + 2 + 3 * 0.04),
        # f0 for t0 and f1 for t1 share the link until 8; t1 fetches f2 until 12 and
        # computes until 13, when t0 has long copied f1. Then f3 and f4 for t3, 8 s, and
        # 1 s; t2 copies f2 and f3.
        (2, False, [[1, 3], [0, 2]], 13 + 9),
    ],
)
def test_barriers_by_hand(
    every: int, additive: bool, rounds: list[list[int]], seconds: float
) -> None:
    """Tasks t0 t1 t2 t3 (1, 3, 0, 2) alternate between the nodes, with a
    barrier after so many.
    """
    barred = with_barriers(*ordered([1, 3, 0, 2], [0, 0, 1, 1], additive), every)
    assert barred.best_rounds() == rounds
    assert barred.best_queues() == [[1, 0], [3, 2]]
    assert barred.best_score == pytest.approx(seconds)


@pytest.mark.parametrize("seed", [1, 2])
def test_additive_time_on_small_disks_is_searched(seed: int) -> None:
    """Scored by the fetches of the replay, as the checker adds them up, and no
    worse with more time.
    """
    problem = generate("image-85", {"tasks": 24, "nodes": 3, "disk": "500MB"}, seed)
    solve = partial(ioopt.solve, problem, measure="additive_seconds", seed=seed)
    engine, cheap = Engine(problem, 0, additive=True), []
    for name in ("heft", "locality", "fifo"):
        plan = ReplicationPlan.model_validate(solve(name).plan)
        queues = [
            [problem.task_index[k] for k in plan.order[node.id]]
            for node in problem.nodes
        ]
        replayed = ioopt.simulate(problem, plan)
        checked = check(problem, plan, replayed.schedule).objectives["additive_seconds"]
        assert engine.score(queues, plan.eviction) == pytest.approx(checked, rel=1e-12)
        cheap.append(checked)
    few = {"evaluations": 300}
    assert solve("link-aware", settings=few).objective <= min(cheap)
    short = solve("link-aware", settings={**few, "robust": "no"})
    assert short.objective_name == "additive_seconds"
    assert short.bound <= short.objective < min(cheap)
    again = solve(warm_start=short, time_limit=0.2, settings={"robust": "no"})
    assert again.objective <= short.objective + 1e-9
    assert again.notes[0].startswith("auto chose link-aware")


def test_moves_of_barriers_are_taken_back_whole() -> None:
    """Whatever a move did, order, places, nodes, barriers, queues and rounds return."""
    problem = generate("bipartite-85", {"tasks": 12, "nodes": 3, "disk": "500MB"}, 0)
    engine = Engine(problem, 1)
    barred = with_barriers(engine, by_bytes(engine, range(12)), 3)
    world, line = engine.world, barred.line

    def state() -> Any:
        rows = [list(row) for row in (line.order, line.place, line.node, line.cut)]
        ends = [(node.first_place, node.end_place) for node in world.nodes]
        return rows, ends, [(place.entry, place.round) for place in world.places]

    before, changed = state(), 0
    for _ in range(60):
        line_moves.keep(line, line.kept_order, line.kept_node, line.kept_cut)
        line_moves.change(world, line)
        changed += line_moves.write_queues(world, line)
        assert sorted(line.order) == list(range(12))
        assert [line.order[p] for p in line.place] == list(range(12))
        line_moves.put_back(line)
        line_moves.write_queues(world, line)
        assert state() == before
    assert 30 < changed < 60


def test_a_plan_with_barriers_replays_to_what_it_promises(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The order of 30 tasks and its barriers stand in the plan as
    rounds, and break no rule.
    """
    problem = generate("bipartite-85", {"tasks": 30, "nodes": 3, "disk": "350MB"}, 1)
    monkeypatch.setattr(params, "PARAMS", params.SearchParams())
    few = {"evaluations": 300, "robust": "no"}
    result = ioopt.solve(problem, "link-aware", settings=few)
    assert result.metrics["evaluations"] == 300
    assert result.plan["barriers"]
    assert sum(len(part["tasks"]) for part in result.plan["rounds"]) == 30
    assert result.violations == ()
    replayed = ioopt.simulate(problem, ReplicationPlan.model_validate(result.plan))
    assert result.objective == pytest.approx(replayed.metrics["makespan_seconds"])
    assert "with barriers" in result.notes[0]


@pytest.mark.parametrize(
    "kind", first(2, ["workflow", "batch", "orders", "workflow without dispatches"])
)
def test_a_longer_limit_goes_on_where_a_shorter_one_ended(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look at the clock takes .05 s: the trace of a run is the first part of
    that of a longer one.

    So a longer limit is never worse, and is used up; one that nobody asked
    for ends by the count. A robust run divides its limit into stages, so that this
    holds without noise only.
    """
    small = {"many_tasks": 12, "tasks_per_second": 1e-3}
    knobs = params.SearchParams(
        most_steps=10,
        evaluations_per_task=3,
        fewest_evaluations=40,
        first_restart=10,
        evaluations_per_restart=1,
        evaluations_per_round=2,
        # Else a short limit may cut a dispatch short.
        deal_share=1.0 if kind == "workflow" else 0.0,
        **small,
    )
    monkeypatch.setattr(params, "PARAMS", knobs)
    settings = {
        "tasks": 12,
        "nodes": 2,
        "disk": "unlimited" if kind == "batch" else "450MB",
    }
    problem = generate("bipartite-85", settings, 1)
    if kind.startswith("workflow"):
        problem = generate(
            "many-small-groups", {"groups": 4, "nodes": 2, "disk_share": 1.5}, 4
        )
    limits = (20.0, 30.0, 50.0, 50.0, AtMost(1e6))
    asked = [ticking(0.05, limit, robust=False) for limit in limits]
    told = [link_aware.solve(problem, request) for request in asked]
    ends = [
        simulate(problem, outcome.plan).metrics["makespan_seconds"] for outcome in told
    ]
    made = [outcome.metrics["evaluations"] for outcome in told]
    assert ends[0] >= ends[1] >= ends[2] == ends[3] and told[2].plan == told[3].plan
    assert made[0] < made[1] < made[2] == made[3]
    assert {outcome.stop for outcome in told[:4]} == {StopReason.TIME}
    assert asked[2].deadline.elapsed() >= 0.6 * 50.0  # the rest is kept for the report
    assert (told[4].stop, made[4]) == (
        StopReason.ITERATIONS,
        knobs.evaluations(problem, 1e6),
    )


@pytest.mark.usefixtures("whole_effort")
def test_longer_limits_give_batches_more_replays() -> None:
    """1,000,000 a second over the tasks where an order pays; else 200 a
    task, 500 at the least.
    """
    batch, large = (
        generate("image-85", {}, 0),
        generate("image-85", {"tasks": 400, "nodes": 8}, 0),
    )
    seconds = (None, 2, 10, 60)
    within = params.PARAMS.evaluations
    assert [within(batch, s) for s in seconds] == [20_000, 20_000, 100_000, 600_000]
    assert [within(large, s) for s in seconds] == [80_000, 5_000, 25_000, 150_000]
    assert within(ioopt.load("two-pairs"), 60) == 800
    assert within(generate("image-85", {"disk": "unlimited"}, 0), 60) == 20_000


def test_the_spectral_order_is_a_cheap_answer_of_many_tasks() -> None:
    problem = generate("image-85", {"disk": "500MB"}, 50)
    result = ioopt.solve(problem, "link-aware", settings={"evaluations": 5})
    dealt = [task_order(problem)[i::4] for i in range(4)]
    assert len(problem.tasks) == 100 and "the spectral order in turn" in result.notes[0]
    assert result.objective == pytest.approx(Engine(problem, 0).score(dealt))


@pytest.mark.slow
def test_image_85_under_limited_disk_comes_near_the_bound() -> None:
    problem = generate("image-85", {"tasks": 40, "nodes": 4, "disk": "500MB"}, 0)
    result = ioopt.solve(
        problem, "link-aware", time_limit=3600, settings={"evaluations": 1600}
    )
    minmin = ioopt.solve(problem, "minmin").metrics["makespan_seconds"]
    assert result.violations == ()
    assert result.objective is not None
    assert result.bound is not None
    assert result.objective <= 1.01 * result.bound
    assert result.objective < minmin
    assert result.trace[-1][1] >= result.objective


def ticking(seconds: float, limit: float = 60.0, **settings: Any) -> SolveRequest:
    """A request whose clock goes on by *seconds* whenever it is read."""
    deadline, options = (
        conftest.ticking(limit, seconds),
        SolveOptions(time_limit_seconds=limit),
    )
    return SolveRequest(options, deadline, link_aware.Settings(**settings))


@pytest.mark.usefixtures("whole_effort")
def test_plans_do_not_depend_on_the_clock_unless_it_ends_the_run() -> None:
    """800 replays for four tasks; a clock a thousand times as slow gives the same plan,
    one that leaves room for some twenty readings ends the run by time, with a plan."""
    problem = ioopt.load("two-pairs")
    solver = link_aware.solve
    limit = AtMost(60.0)
    slow, fast = (solver(problem, ticking(seconds, limit)) for seconds in (1e-7, 1e-4))
    assert (slow.plan, slow.stop, slow.metrics) == (fast.plan, fast.stop, fast.metrics)
    assert slow.stop is StopReason.ITERATIONS
    assert slow.metrics["evaluations"] == params.PARAMS.evaluations(problem) == 800
    late = solver(problem, ticking(2.0))
    assert late.stop is StopReason.TIME
    assert late.plan is not None


def test_a_gap_ends_the_search() -> None:
    problem = generate("image-85", {"tasks": 30, "nodes": 3, "disk": "500MB"}, 1)
    loose = ioopt.solve(problem, "link-aware", gap=0.9)
    assert loose.stop.value == "gap"


def test_no_tasks_and_no_inputs() -> None:
    data = chain()
    empty = ioopt.solve({**data, "tasks": []}, "link-aware")
    assert empty.status.value == "optimal"
    assert empty.objective == 0
    bare = {**data, "tasks": [{"id": name, "compute_seconds": 2} for name in "abcd"]}
    result = ioopt.solve(bare, "link-aware", time_limit=5)
    assert result.objective == pytest.approx(4)
    assert result.status.value == "optimal"


def test_auto_says_what_it_picks_and_why() -> None:
    """Eight tasks are tried in every queue; with a node that stages two files
    at once, or nine, not.
    """
    data = chain()
    few = ioopt.solve({**data, "tasks": data["tasks"][:2]}, time_limit=None)
    assert few.notes[0] == (
        "auto chose exact-workflow (2 tasks: small enough to enumerate)"
    )
    tasks = [{"id": f"t{k}", "compute_seconds": 1} for k in range(9)]
    many = ioopt.solve({**data, "tasks": tasks}, settings=None, time_limit=None)
    assert many.notes[0].startswith("auto chose link-aware (9 tasks: too many to")


def test_moves_refused_at_once_do_not_carry_the_search_past_its_limit() -> None:
    """Three replays that take no time, then .05 s each: one sample
    made stretches of 20 s.
    """
    now = [0.0]
    problem = ioopt.load("two-pairs")
    request = SolveRequest(SolveOptions(2.0), Deadline(2.0, clock=lambda: now[0]))
    run = link_run.LinkAwareRun(problem, request, None)
    run.attempt([[0, 1], [2, 3]], "a start")
    run.target.seconds, run.params = 0.0, params.SearchParams()
    run.budget.begin(1000)

    class Moves:
        evaluations, best_score = 0, float("inf")
        by_bytes = True

        def replays(self, steps: int) -> int:
            return steps

        steps = replays

        def run(self, steps: int, *_: float) -> None:
            for _ in range(steps):
                self.evaluations += 1
                now[0] += 0.05 if self.evaluations > 3 else 0.0

    run._cool(Moves(), 1.0, 1.0, "annealing")  # type: ignore[arg-type]
    assert 1.7 < now[0] <= 2.1


@pytest.mark.parametrize("kind", ["batch", "workflow"])
def test_every_cheap_plan_is_made_whole_before_the_limit_counts(kind: str) -> None:
    """A limit that is over at once: all planners are scored, and the best of
    their plans answers.
    """
    problem = generate("image-85", {"tasks": 20, "nodes": 2, "disk": "500MB"}, 0)
    if kind == "workflow":
        problem = ioopt.load("flow-groups")
    outcome = link_aware.solve(problem, ticking(1e-3, 1e-3))
    ended = ioopt.simulate(problem, outcome.plan).metrics["makespan_seconds"]
    rivals = PLANNERS if kind == "workflow" else link_run.BATCH_PLANNERS
    for name in sorted({*rivals} & {row.name for row in solvers_for("replication")}):
        with suppress(NotApplicableError):
            rival = ioopt.solve(problem, name, time_limit=None)
            assert ended <= rival.metrics["makespan_seconds"] * (1 + 1e-12), name


WORKFLOWS = shared_files("data/wfformat", "*-001.json")


@pytest.mark.slow
@pytest.mark.skipif(
    not WORKFLOWS, reason="data/wfformat is not here (set IOOPT_SHARED)"
)
def test_auto_on_real_workflows_with_a_third_of_the_bytes_on_disk() -> None:
    from ioopt.formats.wfformat.instance import Machine, read_wfformat

    machine = Machine.model_validate({"disk": "33.34%"})
    for path in WORKFLOWS:
        problem = read_wfformat(str(path), machine, flatten=True)
        result = ioopt.solve(problem, time_limit=6)
        minmin = ioopt.solve(problem, "minmin").metrics["makespan_seconds"]
        assert result.violations == (), path.stem
        assert result.metrics["makespan_seconds"] <= minmin * 1.001, path.stem


def test_two_threads_run_two_searches_and_answer_with_the_better() -> None:
    """The first is that of one thread; the second begins from another seed;
    each makes its replays.
    """
    problem = generate("bipartite-85", {"tasks": 12, "nodes": 2, "disk": "450MB"}, 1)

    def asked(threads: int, seed: int = 4) -> Any:
        return link_aware.solve(
            problem,
            replace(
                ticking(1e-7, evaluations=60),
                options=SolveOptions(threads=threads, seed=seed),
            ),
        )

    first, second = asked(1), asked(1, 4 + link_aware.SEEDS_APART)
    both = asked(2)
    ends = [
        ioopt.simulate(problem, run.plan).metrics["makespan_seconds"]
        for run in (first, second, both)
    ]
    assert ends[2] == min(ends[:2])
    assert both.metrics["evaluations"] == 120
    assert both.plan == (first if ends[0] <= ends[1] else second).plan
