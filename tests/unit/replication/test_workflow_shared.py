"""Workflows whose files are all on shared storage: replays worked out by hand, the
format, the solvers, and the checker.
"""

import random
from itertools import permutations, product
from typing import Any

import pytest
from conftest import ENGINES, needs_kernels
from random_workflows import random_workflow
from shared_timeline import give_needs

import ioopt
from ioopt.checks.replication.check import check
from ioopt.errors import IooptError, NotApplicableError
from ioopt.models.replication.workflow_bound import (
    CacheBound,
    SharedBound,
    TransferBound,
    stated_bounds,
)
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sentences.replication import told
from ioopt.sim.replication.dispatch import dispatch
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.replication.dispatch import fifo
from ioopt.solvers.replication.search.link_search import Engine

MEGA = 1_000_000


def problem_of(
    *tasks: dict[str, Any],
    sizes: dict[str, int],
    room: int | None = 30,
    cores: int = 1,
    nodes: int = 1,
    **keys: Any,
) -> ReplicationProblem:
    """Return an instance with rates of 10 MB/s; sizes are in MB."""
    network = {"remote_bytes_per_second": 1e7, "replica_bytes_per_second": 1e7}
    disk = None if room is None else room * MEGA
    rows = [{"id": f"n{i}", "disk_bytes": disk, "cores": cores} for i in range(nodes)]
    files = [{"id": name, "bytes": size * MEGA} for name, size in sizes.items()]
    given = {"network": network, "nodes": rows, "files": files, "products": "shared"}
    return ReplicationProblem.model_validate({**given, "tasks": tasks, **keys})


def task(name: str, *inputs: str, **keys: Any) -> dict[str, Any]:
    return {"id": name, "compute_seconds": 1, "inputs": inputs, **keys}


def run(
    problem: ReplicationProblem,
    queue: list[Any],
    eviction: str = "lru",
    engine: Any = "auto",
) -> dict[str, Any]:
    """Return the metrics of a replay on n0 that the checker accepts."""
    order = {"n0": queue}
    plan = ReplicationPlan.model_validate({"order": order, "eviction": eviction})
    ran = simulate(problem, plan, engine=engine)
    report = check(problem, plan, ran.schedule)
    assert report.violations == ()
    metrics = {**ran.metrics, **stated_bounds(problem, ran.schedule)}
    for name, value in metrics.items():
        if name not in report.ranges:
            assert report.metrics[name] == pytest.approx(value), name
    return {
        **metrics,
        "evicted": [row["file"] for row in ran.schedule["evictions"]],
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_access_frequency_counts_unfinished_readers(engine: Any) -> None:
    """a reads f (0-3), computes (3-4); then no reader of f is left: 0 x 30. g enters at
    5 s with 2 readers x 10 and f leaves; b to 6, c finds g: 7; copy f reads again:
    7-10.
    """
    problem = problem_of(
        task("a", "f"), task("b", "g"), task("c", "g"), sizes={"f": 30, "g": 10}
    )
    found = run(problem, ["a", "b", "c", {"copy": "f"}], "popularity", engine)
    assert found["makespan_seconds"] == 10
    assert found["evicted"][:1] == ["f"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_copy_entry_arrives_with_the_first_reader(engine: Any) -> None:
    """copy f waits until 5 s, reads f of 10 MB until 6 s; a finds it and computes until
    7 s.
    """
    problem = problem_of(task("a", "f", release_seconds=5), sizes={"f": 10})
    found = run(problem, [{"copy": "f"}, "a"], engine=engine)
    assert found["makespan_seconds"] == 7
    assert found["cached_bytes"] == 10 * MEGA
    # The copy entry may begin to read at the release of a: 5 + 1 + 1 s.
    assert found["lower_bound_seconds"] == 7


@pytest.mark.parametrize("engine", ENGINES)
def test_a_started_task_is_nearer_than_any_place(engine: Any) -> None:
    """a reads 20 MB of f by 2 s, then shares with c's e, and from 3 s on with b, which
    finds no f in the cache: f of a ends at 4.5 s, with 20 MB of e and 25 MB of b's f to
    come. e ends at 8.5 s. b's f, which is being read, has no turn to come, e has d: f
    leaves. When b's f ends, at 9 s, it is not kept. d finds e at 20 s: 21 s.
    """
    problem = problem_of(
        task("a", "f"),
        task("b", "f", overhead_seconds=3),
        task("c", "e", overhead_seconds=2),
        task("d", "e", release_seconds=20),
        sizes={"f": 30, "e": 30},
        room=40,
        cores=3,
    )
    found = run(problem, ["a", "b", "c", "d"], "farthest-next-use", engine)
    assert found["makespan_seconds"] == 21


@pytest.mark.parametrize("engine", ENGINES)
def test_the_file_that_enters_counts_as_a_copy(engine: Any) -> None:
    """a reads f (0-2), computes (2-3), writes x (3-5). x enters while a is unfinished:
    f has 1 reader x 20, x has 1 x 20: a tie, and the lower index, x, is not kept. c
    reads x (5-7) and computes: 8 s.
    """
    problem = problem_of(
        task("a", "f", outputs=["x"]), task("c", "x"), sizes={"x": 20, "f": 20}
    )
    assert run(problem, ["a", "c"], "popularity", engine)["makespan_seconds"] == 8


@pytest.mark.parametrize("engine", ENGINES)
def test_files_that_enter_at_one_instant_tie_under_lru(engine: Any) -> None:
    """e and f of 20 MB come at 5 MB/s each and end at 4 s, f of a first: it stays. e of
    b then ties with it; the lower index, e, is not kept. a and b compute until 5 s; c
    reads e again, 5-7, and computes until 8 s.
    """
    problem = problem_of(
        task("a", "f"),
        task("b", "e"),
        task("c", "e"),
        sizes={"e": 20, "f": 20},
        cores=2,
    )
    assert run(problem, ["a", "b", "c"], engine=engine)["makespan_seconds"] == 8


@pytest.mark.parametrize("engine", ENGINES)
def test_a_client_that_caches_reads_alone_reads_what_it_wrote(engine: Any) -> None:
    """a computes 1 s and writes x in 2 s; b finds x: 4 s, or reads it: 6 s."""
    tasks = (task("a", outputs=["x"]), task("b", "x"))
    for cache, end in ((None, 4), ("made-and-read", 4), ("read", 6)):
        problem = problem_of(*tasks, sizes={"x": 20}, room=None, cache=cache)
        found = run(problem, ["a", "b"], engine=engine)
        assert found["makespan_seconds"] == end
        assert found["lower_bound_seconds"] == end


def test_copy_entries_weaken_the_bound() -> None:
    """p of 5 s makes x of 0 bytes; k of 1 s reads x and f of 10 MB, which a copy entry
    brings meanwhile: 5 + 1 s, where k alone would read f from 5 s on.
    """
    p = {"id": "p", "compute_seconds": 5, "outputs": ["x"]}
    problem = problem_of(
        p, task("k", "x", "f"), sizes={"x": 0, "f": 10}, room=None, cores=2
    )
    assert run(problem, ["p", {"copy": "f"}, "k"])["makespan_seconds"] == 6
    assert SharedBound(problem).seconds == 7
    assert SharedBound(problem, copied=frozenset({1})).seconds <= 6


def test_nodes_with_links_of_their_own_share_nothing() -> None:
    """Two nodes read f of 20 MB: 2 s each on links of their own, 4 s on one."""
    for link, end in (("per-node", 3), ("shared", 5)):
        problem = problem_of(task("a", "f"), task("b", "f"), sizes={"f": 20}, nodes=2)
        plan = ReplicationPlan.model_validate({"order": {"n0": ["a"], "n1": ["b"]}})
        assert simulate(problem, plan, link).metrics["makespan_seconds"] == end


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"products": "disk"}, "products"),
        ({"cache": "written"}, "cache"),
        ({"products": "node", "cache": "read"}, "cache: 'read'.*products is 'node'"),
        ({"task_disk": True}, "task_disk: true"),
    ],
)
def test_bad_keys_are_named(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        problem_of(task("a"), sizes={}, **keys)


def test_a_task_need_not_fit_the_cache() -> None:
    problem = problem_of(task("a", "f"), sizes={"f": 50}, room=0)
    problem.require_room()
    assert run(problem, ["a"])["makespan_seconds"] == 6
    narrow = problem_of(task("a", cores=2), sizes={})
    with pytest.raises(
        IooptError, match=r"'a' takes 2 cores \(most of a node: 1\); no"
    ):
        narrow.require_room()


def test_keys_are_written_only_if_they_say_something() -> None:
    problem = problem_of(task("a"), sizes={}, cache="read")
    again = ReplicationProblem.model_validate(problem.model_dump(mode="json"))
    assert again == problem
    written = ioopt.load("flow-groups").model_dump(mode="json")
    assert not {"products", "cache", "task_disk"} & set(written)


def groups() -> ReplicationProblem:
    """Return four pairs of tasks: the second of a pair reads what the first wrote."""
    tasks = []
    sizes = {}
    for k in range(4):
        tasks.append(task(f"a{k}", outputs=[f"x{k}"], memory_bytes=4))
        tasks.append(task(f"b{k}", f"x{k}", memory_bytes=2))
        sizes[f"x{k}"] = 20
    problem = problem_of(*tasks, sizes=sizes, room=100, cores=2, nodes=2)
    nodes = tuple(n.model_copy(update={"memory_bytes": 8}) for n in problem.nodes)
    return problem.model_copy(update={"nodes": nodes})


@pytest.mark.parametrize(
    "solver",
    [
        "auto",
        "link-aware",
        "heft",
        "b-level",
        "ready-min-min",
        "fifo",
        "locality",
        "rolling",
    ],
)
def test_solvers_plan_for_shared_storage(solver: str) -> None:
    """Four writes of 20 MB take 8 s of the link, after 1 s of computing and before 1 s:
    10 s, if b finds x in the cache.
    """
    result = ioopt.solve(groups(), solver, time_limit=2)
    assert result.violations == ()
    assert result.plan["eviction"] == "lru"
    assert result.metrics["makespan_seconds"] >= result.metrics["lower_bound_seconds"]
    assert result.metrics["lower_bound_seconds"] == 10
    if solver in ("auto", "link-aware"):
        assert result.metrics["makespan_seconds"] == 10
        assert result.status == "optimal"


def test_a_policy_that_is_asked_for_is_used() -> None:
    settings = {"eviction": "popularity"}
    result = ioopt.solve(groups(), "heft", settings=settings)
    assert result.plan["eviction"] == "popularity"


@pytest.mark.parametrize("solver", ["exact-workflow", "ip", "minmin", "two-stage"])
def test_solvers_that_cannot_state_it_refuse(solver: str) -> None:
    with pytest.raises(NotApplicableError, match="shared"):
        ioopt.solve(groups(), solver)


def schedule_of(problem: ReplicationProblem, queue: list[Any]) -> Any:
    plan = ReplicationPlan.model_validate({"order": {"n0": queue}, "eviction": "lru"})
    return plan, simulate(problem, plan).schedule


def rules(problem: ReplicationProblem, plan: Any, schedule: Any) -> list[str]:
    return [item.rule for item in check(problem, plan, schedule).violations]


def chain() -> ReplicationProblem:
    """Return two tasks: a reads f (0-1 s), computes, and writes x (2-3 s); b finds x in
    the cache and computes (3-4 s).
    """
    tasks = task("a", "f", outputs=["x"]), task("b", "x")
    return problem_of(*tasks, sizes={"f": 10, "x": 10}, cores=2, nodes=2)


def change_end(schedule: Any) -> None:
    schedule["tasks"][1]["end_seconds"] += 1


def change_start(schedule: Any) -> None:
    for key in ("start_seconds", "end_seconds"):
        schedule["tasks"][1][key] = {"start_seconds": 2.5, "end_seconds": 3.5}[key]


def drop_write(schedule: Any) -> None:
    schedule["transfers"].pop()


def add_read(schedule: Any) -> None:
    row = {"file": "f", "source": None, "destination": "n1"}
    schedule["transfers"].append({**row, "start_seconds": 3.0, "end_seconds": 4.0})


def add_copy(schedule: Any) -> None:
    row = {"file": "f", "source": "n0", "destination": "n1"}
    schedule["transfers"].append({**row, "start_seconds": 3.0, "end_seconds": 4.0})


def drop_read(schedule: Any) -> None:
    del schedule["transfers"][0]
    for row in (schedule["tasks"][0], *schedule["transfers"]):
        row["end_seconds"] -= 1
    schedule["transfers"][0]["start_seconds"] -= 1


def hurry(schedule: Any) -> None:
    schedule["transfers"][0]["end_seconds"] = 0.5
    for row in (schedule["transfers"][1], *schedule["tasks"]):
        row["end_seconds"] -= 0.5
    schedule["transfers"][1]["start_seconds"] -= 0.5
    schedule["tasks"][1]["start_seconds"] -= 0.5


def evict_nothing(schedule: Any) -> None:
    schedule["evictions"].append({"file": "f", "node": "n1", "seconds": 2.0})


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (change_end, ["duration"]),
        (change_start, ["made", "cache"]),
        (drop_write, ["write", "cache"]),
        (add_read, ["transfer"]),
        (add_copy, ["transfer"]),
        (drop_read, ["cache"]),
        (hurry, ["rate"]),
        (evict_nothing, ["eviction"]),
    ],
)
def test_the_checker_finds_each_broken_rule(change: Any, wanted: list[str]) -> None:
    problem = chain()
    plan, schedule = schedule_of(problem, ["a", "b"])
    assert rules(problem, plan, schedule) == []
    change(schedule)
    assert sorted(rules(problem, plan, schedule)) == sorted(wanted)


def test_what_an_unlimited_cache_has_is_not_read_again() -> None:
    problem = problem_of(
        task("a", outputs=["x"]), task("b", "x"), sizes={"x": 10}, room=None
    )
    plan, schedule = schedule_of(problem, ["a", "b"])
    row = {"file": "x", "source": None, "destination": "n0"}
    schedule["transfers"].append({**row, "start_seconds": 2.5, "end_seconds": 3.5})
    schedule["tasks"][1] |= {"start_seconds": 2.5, "end_seconds": 4.5}
    assert rules(problem, plan, schedule) == ["cache"]


def test_a_cache_is_never_too_full() -> None:
    """f and g of 20 MB cannot both be found in a cache of 30 MB."""
    problem = problem_of(
        task("a", "f"), task("b", "g"), task("c", "f", "g"), sizes={"f": 20, "g": 20}
    )
    plan, schedule = schedule_of(problem, ["a", "b", "c"])
    # f left when g came (5 s), and g leaves for f: c reads both.
    assert len(schedule["transfers"]) == 4
    schedule["transfers"] = schedule["transfers"][:2]
    schedule["evictions"] = []
    schedule["tasks"][2]["end_seconds"] = 7.0
    assert rules(problem, plan, schedule) == ["cache"]


def test_copy_entries_are_counted() -> None:
    problem = problem_of(task("a", "f"), sizes={"f": 10})
    plan, schedule = schedule_of(problem, [{"copy": "f"}, "a"])
    del schedule["copy_entries"]
    assert "copy entry" in rules(problem, plan, schedule)


def test_the_critical_path_is_one_of_tasks() -> None:
    """b waits for a's end, c for b's core."""
    problem = problem_of(
        task("a", "f", outputs=["x"]),
        task("b", "x"),
        task("c"),
        sizes={"f": 10, "x": 10},
    )
    _, schedule = schedule_of(problem, ["a", "b", "c"])
    marked = [row["id"] for row in schedule["tasks"] if row.get("critical")]
    assert marked == ["a", "b", "c"]
    assert not any(row.get("critical") for row in schedule["transfers"])


def small_instance(seed: int) -> ReplicationProblem:
    """Return a random instance with a few tasks on one or two nodes."""
    instance = random_workflow(seed, 7)
    rng = random.Random(seed)
    instance |= {"products": "shared", "cache": rng.choice(["read", "made-and-read"])}
    instance["nodes"] = instance["nodes"][:2]
    widest = max(task["cores"] for task in instance["tasks"])
    for node in instance["nodes"]:
        node |= {"disk_bytes": rng.choice([None, 20, 50, 80]), "holds": []}
        node["cores"] = max(node["cores"], widest)
    give_needs(rng, instance)
    return ReplicationProblem.model_validate(instance)


def least_score(problem: ReplicationProblem) -> float:
    """Return the least makespan over all orders and all nodes, in seconds."""
    engine = Engine(problem, 0)
    tasks = range(len(problem.tasks))
    best = float("inf")
    for order in permutations(tasks):
        place = {k: p for p, k in enumerate(order)}
        if any(place[j] > place[k] for k in tasks for j in problem.predecessors[k]):
            continue
        for nodes in product(*(problem.hosts[k] for k in tasks)):
            queues: list[list[int]] = [[] for _ in problem.nodes]
            for k in order:
                queues[nodes[k]].append(k)
            best = min(best, engine.score(queues))
    return best


@needs_kernels
@pytest.mark.parametrize(
    "seeds", [range(1, 12), pytest.param(range(60, 140), marks=pytest.mark.slow)]
)
def test_the_search_finds_the_best_queues_of_small_instances(seeds: range) -> None:
    settings = {"evaluations": 1500, "robust": False}
    tried = 0
    for seed in (*seeds, 73, 100):
        problem = small_instance(seed)
        if not 3 <= len(problem.tasks) <= 5:
            continue
        tried += 1
        result = ioopt.solve(problem, "link-aware", settings=settings)
        found = result.metrics["makespan_seconds"]
        assert found <= least_score(problem) * (1 + 1e-9), seed
    assert tried > len(seeds) / 4


def test_rolling_gives_no_task_to_busy_cores_of_shared_storage() -> None:
    """A task that waits there stages nothing; it would only be bound too early."""
    assert not ioopt.solve(groups(), "rolling").plan.get("prefetch")
    told = ioopt.solve(groups(), "rolling", settings={"prefetch": True})
    assert told.plan["prefetch"]


def test_a_file_that_fits_no_cache_is_read_by_every_task() -> None:
    """a, b and c read f of 20 MB in 2 s each, side by side: 6 s of the link, and 1 s of
    computing. A cache of 20 MB could keep it: 2 s and 1 s.
    """
    tasks = [task(name, "f") for name in "abc"]
    for room, seconds in ((10, 7), (20, 3)):
        problem = problem_of(*tasks, sizes={"f": 20}, room=room, cores=3)
        assert CacheBound(problem).seconds == seconds
        assert TransferBound(problem).seconds == seconds
        assert SharedBound(problem).seconds == 3
    found = run(problem_of(*tasks, sizes={"f": 20}, room=10, cores=3), ["a", "b", "c"])
    assert found["transfer_bound_seconds"] == found["makespan_seconds"] == 7


@pytest.mark.parametrize(
    ("keys", "seconds", "wanted"),
    [
        ({"memory_bytes": 6}, 0.5, ["memory"]),
        ({"cores": 2}, 0.5, ["overlap"]),
        ({"release_seconds": 1.5}, 1.0, ["release"]),
    ],
)
def test_the_checker_knows_what_a_task_holds(
    keys: dict[str, Any], seconds: float, wanted: list[str]
) -> None:
    """b may start at 1 s, or as it arrives, and is said to start at *seconds*."""
    problem = problem_of(
        task("a", memory_bytes=6), task("b", **keys), sizes={}, cores=2
    )
    nodes = tuple(n.model_copy(update={"memory_bytes": 10}) for n in problem.nodes)
    problem = problem.model_copy(update={"nodes": nodes})
    plan, schedule = schedule_of(problem, ["a", "b"])
    (row,) = [row for row in schedule["tasks"] if row["id"] == "b"]
    row |= {"start_seconds": seconds, "end_seconds": seconds + 1}
    row.pop("cores")  # the numbers of its cores would contradict the times, too
    assert rules(problem, plan, schedule) == wanted


def test_the_checker_knows_the_order_of_queues() -> None:
    problem = problem_of(task("a"), task("b"), sizes={})
    plan, schedule = schedule_of(problem, ["a", "b"])
    one, other = schedule["tasks"]
    one["id"], other["id"] = other["id"], one["id"]
    assert set(rules(problem, plan, schedule)) == {"order"}


def test_the_checker_knows_storage_disks() -> None:
    """A storage of 5 MB/s takes 2 s for 10 MB, where the link would take 1 s."""
    problem = problem_of(
        task("a", "f"),
        sizes={"f": 10},
        storages=[{"id": "s", "bytes_per_second": 5e6}],
        files=[{"id": "f", "bytes": 10 * MEGA, "storage": "s"}],
    )
    plan, schedule = schedule_of(problem, ["a"])
    assert schedule["tasks"][0]["end_seconds"] == 3
    schedule["tasks"][0]["end_seconds"] = 2.0
    schedule["transfers"][0]["end_seconds"] = 1.0
    assert rules(problem, plan, schedule) == ["rate"]


def test_the_checker_knows_when_a_task_is_dispatched() -> None:
    """b reads what a writes: it is given once a has ended, at 2 s."""
    problem = problem_of(
        task("a", outputs=["x"]), task("b", "x"), sizes={"x": 10}, cores=2
    )
    plan, ran = dispatch(problem, fifo)
    assert rules(problem, plan, ran.schedule) == []
    assert plan.dispatches == ((0.0, 0, "a", "n0"), (2.0, 0, "b", "n0"))
    early = plan.model_copy(
        update={"dispatches": ((0.0, 0, "a", "n0"), (1.0, 0, "b", "n0"))}
    )
    assert rules(problem, early, ran.schedule) == ["dispatch"]


def test_an_explanation_counts_reads_and_writes_as_work() -> None:
    problem = chain()
    result = ioopt.solve(problem, "heft")
    times, moved = told(problem, result)
    assert "cores compute, read and write" in times
    assert "wait for other tasks or memory" in times
    assert "10 MB from remote storage" in moved and "10 MB saved" in moved
    assert "; 10 MB is found in caches and" in moved
