"""The exact solvers through the front door: worked cases, agreement,
disks, notes, warm starts.
"""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import both_makers, first, shared_files, shared_path
from oracle.replication_exhaustive import optimum
from replication_samples import document, made, tiny

import ioopt
from ioopt.checking import check
from ioopt.errors import NotApplicableError, UnsolvableInstanceError, UsageError
from ioopt.generate.replication.generate import generate
from ioopt.loading import load
from ioopt.models.replication.aggregated import AggregatedModel
from ioopt.models.replication.static import loads, reduce
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import Incumbents, SolveRequest
from ioopt.result import Result, Status, StopReason
from ioopt.solvers.replication.exact import ip
from ioopt.solvers.replication.exact.ip_steps import Case, climb
from ioopt.solvers.replication.search import anneal as annealing
from ioopt.solvers.replication.search import anneal_kernel, line_moves
from ioopt.solvers.replication.search.anneal import anneal, placed_by_disk
from ioopt.solving import solve

VARIANTS = {
    "printed": ("ip", {"cycles": "printed"}),
    "acyclic": ("ip", {}),
    "no_replication": ("ip-no-replication", {}),
}


def _proven(result: Result) -> float:
    assert result.status is Status.OPTIMAL, (result.status, result.notes)
    assert result.violations == () and result.gap == 0.0
    assert result.metrics["makespan_seconds"] > 0 or not result.plan["assign"]
    return result.objective


def _proven_of_one_round(result: Result) -> float:
    """On small disks a plan in rounds may be below what is proven of one round,
    so the status is open.
    """
    proven = result.metrics.get("one_round_bound_seconds", result.bound)
    assert proven == pytest.approx(result.objective, rel=1e-9), (
        result.status,
        result.notes,
    )
    assert result.violations == () and result.bound <= result.objective * (1 + 1e-12)
    return result.objective


@pytest.mark.parametrize(
    "path", shared_files("cases/replication"), ids=lambda path: path.stem
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_worked_cases(path: Path, variant: str) -> None:
    case = json.loads(path.read_text())
    solver, settings = VARIANTS[variant]
    result = solve(case["instance"], solver, time_limit=60, settings=settings)
    expected = case["expected_milliseconds"][variant]["value"]
    assert _proven(result) * 1000 == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "backend"),
    first(
        2, [(n, b) for n in ("cycle3", "ppa40x3", "stage4") for b in ("HiGHS", "CBC")]
    ),
)
@pytest.mark.parametrize("cycles", ["printed", "acyclic"])
def test_printed_model_on_the_worked_cases(
    name: str, backend: str, cycles: str
) -> None:
    case = json.loads(shared_path("cases", "replication", f"{name}.json").read_text())
    result = solve(
        case["instance"],
        "ip-printed",
        backend=backend,
        time_limit=60,
        settings={"cycles": cycles},
    )
    expected = case["expected_milliseconds"][cycles]["value"]
    assert _proven(result) * 1000 == pytest.approx(expected, abs=1e-6)


def test_a_printed_circle_is_named_in_a_note() -> None:
    case = json.loads(shared_path("cases", "replication", "cycle3.json").read_text())
    for solver, settings in (("ip-printed", {}), ("ip", {"cycles": "printed"})):
        result = solve(case["instance"], solver, settings=settings)
        assert any("cycle with no source" in note for note in result.notes)
        assert result.plan["moves"] == "printed"
        assert check(case["instance"], result) == []
        # The replay cannot do better than the real optimum's fetch.
        assert result.metrics["makespan_seconds"] > 5.12


@pytest.mark.parametrize("seed", first(2, range(4)))
def test_solvers_equal_enumeration(seed: int) -> None:
    problem = tiny(seed, nodes=2 + seed % 2, tasks=4 - seed % 2, extras=seed % 2 == 1)
    if not all(problem.hosts):
        with pytest.raises(UnsolvableInstanceError):
            solve(problem, "ip")
        return
    runs = [
        ("acyclic", True, "ip", None, {}),
        ("printed", True, "ip", None, {"cycles": "printed"}),
        ("acyclic", False, "ip-no-replication", None, {}),
        ("acyclic", True, "ip", "HiGHS", {}),
        ("acyclic", True, "ip-printed", "CBC", {"cycles": "acyclic"}),
        ("printed", True, "ip-printed", "HiGHS", {}),
        (
            "acyclic",
            False,
            "ip-printed",
            None,
            {"cycles": "acyclic", "replication": "false"},
        ),
    ]
    for cycles, replication, solver, backend, settings in runs:
        true = optimum(problem, cycles, replication)
        if true is None:
            with pytest.raises(NotApplicableError, match="two-stage"):
                solve(
                    problem, solver, backend=backend, settings=settings, time_limit=60
                )
        else:
            result = solve(
                problem, solver, backend=backend, settings=settings, time_limit=60
            )
            assert _proven(result) == pytest.approx(float(true), abs=1e-9), (
                solver,
                backend,
            )


def test_one_round_that_cannot_hold_the_batch() -> None:
    """Three files of 6 bytes on disks of 10: a model of one round has
    nothing to say, minmin has.
    """
    tasks = {name: (1, name) for name in "abc"}
    problem = made([{"disk_bytes": 10}] * 2, dict.fromkeys("abc", 6), tasks, 1, 2)
    for solver in ("ip", "ip-printed", "ip-no-replication"):
        with pytest.raises(
            NotApplicableError, match="two-stage, minmin and job-data-present"
        ):
            solve(problem, solver, time_limit=20)
    assert solve(problem, "minmin").status is Status.FEASIBLE
    with pytest.raises(NotApplicableError, match="cannot hold this batch in one round"):
        solve(generate("image-85", {"tasks": 40, "disk": "300MB"}, 0), "ip")


@pytest.mark.parametrize("files", [0, 1])
@pytest.mark.parametrize("tasks", [0, 1])
def test_hardly_anything_to_do(files: int, tasks: int) -> None:
    problem = made(
        1, {"f": 3} if files else {}, {"t": (2, "f" * files)} if tasks else {}, 1, 2
    )
    for solver in ("ip", "ip-printed"):
        result = solve(problem, solver, time_limit=10)
        assert result.objective == tasks * (2.0 + 3.0 * files)
        assert result.status is Status.OPTIMAL


def test_warm_start_is_checked_before_it_is_used() -> None:
    problem = load("cycle3")
    first = solve(problem, "ip", settings={"anneal": "false"}, backend="CBC")
    again = solve(
        problem, "ip", warm_start=first, settings={"anneal": "false"}, backend="CBC"
    )
    assert again.objective <= first.objective + 1e-9
    broken = dict(first.plan, remote=[], copies=[])
    for solver in ("ip", "link-aware"):
        noted = solve(problem, solver, warm_start=broken)
        assert "the warm start is left out: (7) inputs" in " ".join(noted.notes)
        assert noted.violations == ()


def test_gap_ends_the_search() -> None:
    problem = generate("image-85", {"tasks": 30, "disk": "unlimited"}, 1)
    result = solve(problem, "ip", time_limit=60, gap=0.5)
    assert (result.status, result.stop) == (Status.FEASIBLE, StopReason.GAP)
    assert result.bound < result.objective < 2 * result.bound


@pytest.mark.parametrize("copying", [True, False])
@pytest.mark.parametrize("extras", [True, False])
def test_annealing_repeats_and_its_loads_are_real(copying: bool, extras: bool) -> None:
    for seed in range(3):
        instance = reduce(tiny(seed, nodes=3, tasks=9, files=6, extras=extras))
        first, done = anneal(instance, copying, seed, 3_000, Deadline(None))
        second, _ = anneal(instance, copying, seed, 3_000, Deadline(None))
        assert first == second and done
        if first is None:
            continue
        model = AggregatedModel(instance, replication=copying)
        assert model.program.broken(model.hint(first)) == []
        assert copying or not first.copies


@pytest.mark.parametrize("disk", ["unlimited", "500MB"])
@pytest.mark.parametrize("copying", [True, False])
def test_compiled_annealing_gives_the_same_answer(
    disk: str, copying: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = reduce(generate("image-85", {"tasks": 40, "disk": disk}, 3))
    answers = []
    for make in both_makers():
        monkeypatch.setattr(annealing, "maker", lambda *_, make=make: make)
        answers.append(anneal(instance, copying, 5, 20_000, Deadline(None)))
    assert answers[0] == answers[1]
    assert anneal_kernel.MODULUS == 2**31 - 1


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("preset", "tasks", "nodes"),
    [
        ("image-85", 8, 2),
        ("image-85", 12, 3),
        ("image-40", 12, 3),
        ("sat-40", 10, 2),
        ("sat-85", 16, 3),
        ("ppa", 16, 3),
        ("ppa", 40, 3),
        ("ppa", 50, 4),
    ],
)
def test_generated_instances_are_proven(preset: str, tasks: int, nodes: int) -> None:
    free = generate(preset, {"tasks": tasks, "nodes": nodes, "disk": "unlimited"}, 0)
    distinct = sum(f.bytes for k, f in enumerate(free.files) if free.readers[k])
    room = max(
        distinct * 5 // (4 * nodes), max(free.task_bytes(k) for k in range(tasks))
    )
    small = tuple(node.model_copy(update={"disk_bytes": room}) for node in free.nodes)
    for problem in (free, free.model_copy(update={"nodes": small})):
        values = {}
        for variant, (solver, settings) in VARIANTS.items():
            try:
                result = solve(problem, solver, time_limit=None, settings=settings)
            except NotApplicableError:  # small disks: no placement in one round
                assert problem is not free
                continue
            if result.status is not Status.INFEASIBLE:
                least = _proven if problem is free else _proven_of_one_round
                values[variant] = least(result)
        if len(values) == 3:
            assert values["printed"] <= values["acyclic"] <= values["no_replication"]


def _pair(**node: object) -> dict[str, object]:
    """Two nodes; four tasks with a file of 10 bytes each, fetched
    in 10 s; no computing.
    """
    tasks = {f"t{k}": (0, name) for k, name in enumerate("abcd")}
    return document([node, {}], dict.fromkeys("abcd", 10), tasks, 1, 1)


@pytest.mark.slow
def test_annealing_leaves_a_small_disk_alone() -> None:
    """A disk of 10 bytes holds one file: one task there, three on the other node, 30
    s. The even share is 20 s. With no disk at all everything takes 40 s. The larger
    batch is as lopsided."""
    assert _annealed_seconds(load(_pair(disk_bytes=10))) == 30
    assert _annealed_seconds(load(_pair(disk_bytes=0))) == 40
    problem = load("image-16x3").model_dump(mode="json", by_alias=True)
    problem["nodes"][0]["disk_bytes"] = 0
    # Two nodes without the first are at 60.26 s by a proven bound.
    assert 60.26 < _annealed_seconds(load(problem)) < 62


def _annealed_seconds(problem: ReplicationProblem) -> float:
    """Return the additive time of the best moves of 32,000 steps of annealing."""
    instance = reduce(problem)
    moves, complete = anneal(instance, True, 0, 32_000, Deadline(None))
    assert moves is not None and complete
    return instance.seconds(max(loads(instance, moves)))


def test_no_plan_of_one_round_in_time_is_answered_by_minmin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ip.Search, "offer", lambda *_: None)
    result = solve(
        _pair(disk_bytes=10), "ip", measure="additive_seconds", backend="HiGHS"
    )
    assert result.stop is StopReason.FALLBACK and result.plan is not None
    assert (
        "found no plan in time that serves" in result.notes[-1]
        and "the plan is that of minmin" in result.notes[-1]
    )


def test_an_interrupted_ip_keeps_its_bound() -> None:
    """Interrupted at its first plan, it has the area bound: 40 s of
    fetching on two nodes.
    """

    def interrupt(incumbents: Incumbents) -> None:
        raise KeyboardInterrupt

    result = solve(_pair(), "ip", progress=interrupt)
    assert (result.stop, result.bound) == (StopReason.INTERRUPTED, 20.0)


@pytest.mark.parametrize(
    ("left", "loaded", "first"),
    [
        (1.0, False, "anneal"),
        (1.0, True, "partition_bound"),
        (30.0, False, "partition_bound"),
    ],
)
def test_a_short_limit_anneals_before_it_loads_cp_sat(
    left: float, loaded: bool, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stop(Exception):
        pass

    def stop(name: str) -> Any:
        def called(*_: Any) -> None:
            raise Stop(name)

        return called

    for name in ("anneal", "partition_bound"):
        monkeypatch.setattr(ip.Search, name, stop(name))
    if loaded:
        monkeypatch.setitem(sys.modules, "ortools", ModuleType("ortools"))
    else:
        monkeypatch.delitem(sys.modules, "ortools", raising=False)
    problem = load("image-16x3")
    options = SolveOptions(time_limit_seconds=left)
    deadline = Deadline(left, clock=lambda: 0.0)
    request = SolveRequest(options, deadline, ip.Settings(), None, Incumbents(deadline))
    with pytest.raises(Stop, match=first):
        ip.solve(problem, request)


class Noted:
    """A search whose steps only note their names; it never ends."""

    def __init__(self, tasks: int, seconds: float) -> None:
        problem = generate("image-85", {"tasks": tasks, "nodes": 2, "disk": None}, 0)
        self.instance = reduce(problem)
        self.deadline = Deadline(seconds, clock=lambda: 0.0)
        self.notes: list[str] = []
        self.taken: list[str] = []

    def over(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: self.taken.append(name)


BOUNDS = ["anneal", "node_cut"]
PROOF = ["enumerate", "run_cpsat", "anneal", "race"]


@pytest.mark.parametrize(
    ("tasks", "seconds", "backend", "steps"),
    [
        (4, 30.0, None, ["enumerate", "partition_bound", "anneal", *PROOF]),
        (4, 30.0, "CP-SAT", ["partition_bound", "anneal", "run_cpsat"]),
        (4, 30.0, "HiGHS", ["partition_bound", "anneal", "run_highs"]),
        (12, 30.0, None, ["partition_bound", "anneal", *PROOF]),
        (200, 30.0, None, ["partition_bound", *BOUNDS, "run_cpsat"]),
        (200, 30.0, "CBC", ["partition_bound", "anneal", "run_highs"]),
        (200, 1e-3, None, ["partition_bound", *BOUNDS]),
    ],
)
def test_the_steps_depend_on_the_size_the_time_and_the_backend(
    tasks: int,
    seconds: float,
    backend: str | None,
    steps: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ortools", ModuleType("ortools"))
    search: Any = Noted(tasks, seconds)
    climb(Case(search, True, backend))
    assert search.taken == steps
    assert bool(search.notes) == (seconds < 1)
    search.taken.clear()
    climb(Case(search, False, backend))
    assert search.taken == [name for name in steps if name != "anneal"]


def test_the_shares_of_the_moves_are_whole() -> None:
    eighths = [(row.with_copies, row.without) for row in anneal_kernel.MOVES]
    assert [sum(column) for column in zip(*eighths, strict=True)] == [8, 8]
    shares = [(row.in_batches, row.in_workflows) for row in line_moves.MOVES]
    assert [sum(column) for column in zip(*shares, strict=True)] == [100, 100]


@pytest.mark.parametrize("speed", [1, 1000])
@pytest.mark.parametrize("small", [7, 64_000_000, 100_000_000])
def test_no_task_goes_to_a_disk_that_cannot_hold_its_files(
    small: int, speed: int
) -> None:
    """Two disks that together hold less than both 64 MB files, or one file
    each but not a pair.

    On the small disk no task with 128 MB can ever run, however fast its node is.
    """
    problem = load("two-pairs").model_dump(mode="json", by_alias=True)
    problem["nodes"][0] |= {"disk_bytes": small, "speed": speed}
    problem["nodes"][1]["disk_bytes"] = 128_000_000
    problem["tasks"][2]["inputs"] = ["f0", "f1"]
    where = placed_by_disk(reduce(load(problem)))
    assert where[2] == 1
    if small == 7:
        assert set(where) == {1}


def test_unequal_speeds_decide_where_tasks_go() -> None:
    """One fast and one slow node, four tasks of 100 s that each fetch 1 s of bytes.

    All on the node of speed 100: 4 x 1 fetched and 4 x 1 computed, 8 s.
    """
    tasks = {name: (100, name) for name in "abcd"}
    problem = made([{}, {"speed": 100}], dict.fromkeys("abcd", 1), tasks, 1, 1)
    instance = reduce(problem)
    assert placed_by_disk(instance) == (1, 1, 1, 1)


LEAST = {
    "ip": 26 + 26 / 7 + 17 / 7 + 27.5,
    "ip-no-replication": 70.5,
    "ip-printed": None,
}
DIGITS = (2.3e-16, -2.3e-16, 1e-13, 0.0)


@pytest.mark.parametrize(
    ("digits", "solver"),
    first(2, [(digits, name) for digits in DIGITS for name in LEAST]),
)
def test_a_proof_does_not_depend_on_digits(digits: float, solver: str) -> None:
    """Times that differ by the last digits of a sum of floats, on disks of 53
    kB and without limit.

    n0 fetches f0 in 26 s, sends it on in 26 / 7 s, gets f1 in 17 / 7 s and computes t0
    and t1 in 27.5 s: 59.643 s. n1 fetches f1 and f2 in 44 s and computes 4.06 s.
    Without copies n0 fetches f0 and f1, 43 s, and computes 27.5 s: 70.5 s.
    """
    problem = document(
        [{"disk_bytes": 53_000}, {}],
        {"f0": 26_000, "f1": 17_000, "f2": 27_000},
        {
            "t0": (13.0, ["f1", "f0"]),
            "t1": (14.5, ["f0"]),
            "t2": (4.06 + 4 * digits, ["f2", "f0"]),
        },
        1e3 * (1 + digits),
        7e3,
    )
    result = solve(problem, solver, time_limit=60)
    least = LEAST[solver]
    if least is None:  # the printed program on a small disk: a proof of one round
        assert _proven_of_one_round(result) > 0
    else:
        assert _proven(result) == pytest.approx(least, rel=1e-9)


def test_a_backend_is_found_in_upper_or_lower_case() -> None:
    for given, name in (("highs", "HiGHS"), ("cp-sat", "CP-SAT"), ("CBC", "CBC")):
        result = ioopt.solve("cycle3", "ip", backend=given)
        assert result.options["backend"] == name and ioopt.check("cycle3", result) == []
    asked = {"backend": "HIGHS", "measure": "additive_seconds"}
    table = ioopt.compare("cycle3", ["ip", "minmin"], **asked)
    assert list(table["status"]) == ["optimal", "feasible"]
    for call in (ioopt.solve, ioopt.compare):
        with pytest.raises(UsageError, match="GLPK is no longer"):
            call("cycle3", "ip", backend="glpk")
    with pytest.raises(UsageError, match="no backend 'scip'; its backends: CP-SAT"):
        ioopt.solve("cycle3", "ip", backend="scip")


def test_a_note_tells_when_the_replay_makes_other_transfers() -> None:
    """On cycle3 the root of the plan runs no task, so that no rule of the replay
    fetches the file there.
    """
    what = (
        "the objective is additive: the transfers and tasks of the busiest node, "
        "without waiting; makespan is of the replay on a clock, where tasks wait for "
        "files; each bound is of the value that it names"
    )
    said = "additive is of the plan's transfers, makespan of the replay's"
    advised = ioopt.solve("cycle3", "ip")
    assert [note.partition(", which")[0] for note in advised.notes] == [what, said]
    assert advised.metrics["makespan_seconds"] == pytest.approx(9.684)
    carried = ioopt.solve("cycle3", "ip", settings={"moves": "plan"})
    assert carried.notes == (what,)
    assert carried.metrics["makespan_seconds"] == pytest.approx(9.748)
    one_value = ioopt.solve("cycle3", "ip", measure="additive_seconds")
    assert what not in one_value.notes and said in "".join(one_value.notes)
    of_makespan = ioopt.solve("cycle3", "ip", measure="makespan_seconds")
    assert said not in "".join(of_makespan.notes)
    assert advised.objective == carried.objective == pytest.approx(5.184)


def test_a_cycle_of_copies_is_not_carried_out():
    with pytest.raises(UsageError, match="leave out one of the two settings"):
        ioopt.solve("cycle3", "ip", settings={"cycles": "printed", "moves": "plan"})
