"""The relaxation of the replay: what each of its rows is for, and that no plan
lies below its bound.
"""

import random
from dataclasses import replace
from typing import Any

import pytest
from bench.relaxation import small
from random_replication import random_case
from random_workflows import random_workflow
from replication_samples import made
from workflow_bounds import DISPATCHERS, random_plan
from workflow_exhaustive import tight_workflow

import ioopt
from ioopt.models.replication.workflow_bound import TransferBound
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import SolveRequest
from ioopt.result import Status, StopReason
from ioopt.sim.replication.dispatch import dispatch
from ioopt.sim.replication.simulate import simulate
from ioopt.solvers.backends import cpsat_replay
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_cpsat
from ioopt.solvers.replication import auto
from ioopt.solvers.replication.search import link_aware

AB = {"a": 40, "b": 40}
"""4 s over the link of 10 bytes/s, 2 s through an interface of 20."""
LATE = {"release_seconds": 1}
APART: dict[str, Any] = {"network": {"remote_link": "per-node"}}
ON_DISK: dict[str, Any] = {
    "storages": [{"id": "s", "bytes_per_second": 5}],
    "files": [{"id": name, "bytes": 40, "storage": "s"} for name in AB],
}
KEPT: dict[str, Any] = {
    "files": [{"id": name, "bytes": 40, "keep": True} for name in AB]
}


def least(problem: ReplicationProblem, upper: float = 100.0) -> tuple[Status, float]:
    """Status and bound of CP-SAT in a second of its own time."""
    model = cpsat_replay.Relaxation(problem, upper)
    limits = BackendLimits(work=1.0)
    answer = solve_cpsat(model.model, limits, parameters={"symmetry_level": 0})
    return answer.status, model.ticks.seconds(answer.bound or 0.0)


@pytest.mark.parametrize(
    ("parts", "changes", "seconds"),
    [
        # One file after the other over the link, whoever fetches; links
        # apart do not wait.
        ((2, AB, {"ta": (6, "a"), "tb": (6, "b")}), {}, 4 + 4 + 6),
        ((2, AB, {"ta": (6, "a"), "tb": (6, "b")}), APART, 4 + 6),
        # Both come from one disk of 5 bytes/s.
        ((2, AB, {"ta": (6, "a"), "tb": (6, "b")}), APART | ON_DISK, 8 + 8 + 6),
        # Both are saved over the link after 1 s; over links apart from 20 bytes
        # they would be at 5 s.
        ((2, AB, {"ta": (1, "", "a"), "tb": (1, "", "b")}), KEPT, 1 + 4 + 4),
        # 4 s to fetch a and 4 s to save b share the link.
        ((2, AB, {"ta": (1, "a"), "tb": (1, "", "b")}), KEPT, 4 + 4),
        # A fetch and a copy at once; one of equal nodes that hold different files.
        (
            (
                [{"disk_bytes": 79, "holds": ["b"]}, {"staging": 2}],
                AB,
                {"c": (1, "ab")},
            ),
            {},
            4 + 1,
        ),
        (([{}, {"holds": ["a"]}], {"a": 40}, {"x": (6, "a")}), {}, 6),
        # Only the last node has room for c, and receives one of two
        # held files at a time.
        (
            (
                [
                    {"disk_bytes": 79, "holds": ["a"]},
                    {"disk_bytes": 79, "holds": ["b"]},
                    {},
                ],
                AB,
                {"c": (1, "ab")},
            ),
            {},
            2 + 2 + 1,
        ),
        # Both at 4 s when a has come, which ends at 14; or a is fetched from 1 to 5,
        # after the other began.
        (
            ([{"cores": 2}], AB, {"reads": (8, "a"), "late": (10, "", "", LATE)}),
            {},
            1 + 4 + 8,
        ),
        # The reader on the other node waits for the copy.
        (
            (
                2,
                {"x": 40},
                {"split": (4, "", "x"), "left": (6, "x"), "right": (6, "x")},
            ),
            {},
            4 + 2 + 6,
        ),
        # Of three readers on three nodes the last waits for two copies, from
        # whomever they come.
        ((3, {"a": 40}, {k: (9, "a") for k in "xyz"}), {}, 4 + 2 + 2 + 9),
        # Two holders send at once.
        (
            (
                [{"holds": ["a"]}] * 2 + [{}] * 2,
                {"a": 40},
                {k: (9, "a") for k in "wxyz"},
            ),
            {},
            2 + 9,
        ),
        # Two cores: the wide task alone, then both others.
        (
            (
                [{"cores": 2}],
                {},
                {"w": (5, "", "", {"cores": 2}), "x": (3,), "y": (4,)},
            ),
            {},
            5 + 4,
        ),
        # Files of 0 bytes move in no time; ticks divide thirds of tenths.
        (
            ([{"speed": 0.3}], {"z": 0}, {"x": (0.1, "", "z"), "y": (21.8, "z")}),
            {},
            21.9 / 0.3,
        ),
    ],
)
def test_rows_alone_give_what_hands_compute(
    parts: Any, changes: dict[str, Any], seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any of the bounds of rule 18 but releases."""
    data = made(*parts, replica=20).model_dump()
    for key, value in changes.items():
        data[key] = data[key] | value if isinstance(value, dict) else value
    problem = ReplicationProblem.model_validate(data)
    releases = [task.release_seconds for task in problem.tasks]
    for name, value in (
        ("earliest_start", releases),
        ("tail", [0.0] * 9),
        ("seconds", 0.0),
    ):
        monkeypatch.setattr(TransferBound, name, value)
    assert least(problem) == (Status.OPTIMAL, pytest.approx(seconds, rel=1e-12))


def instance(seed: int) -> ReplicationProblem:
    """All that rules treat apart: equal nodes, storages, links, held, kept and
    empty files, staging.
    """
    rng = random.Random(seed)
    make = (random_workflow, random_workflow, tight_workflow)[seed % 3]
    data: dict[str, Any] = (
        make(seed, rng.randint(2, 8)) if seed % 4 else random_case(seed)[0]
    )
    data["format"] = "ioopt/replication"
    nodes, network = data["nodes"], data["network"]
    if rng.random() < 0.5:
        nodes[1:] = [nodes[0] | {"id": node["id"]} for node in nodes[1:]]
    if rng.random() < 0.3:
        data["storages"] = [{"id": "s", "bytes_per_second": rng.choice([1, 5, 20])}]
        for file in data["files"]:
            file["storage"] = rng.choice(["s", None])
    if rng.random() < 0.2:
        network["remote_bytes_per_second"] = 4 * network["replica_bytes_per_second"]
    if rng.random() < 0.3:
        network["remote_link"] = "per-node"
    for node in nodes if rng.random() < 0.2 else ():
        node |= {
            "staging": rng.choice([1, 2, 3]),
            "disk_bytes_per_second": rng.choice([None, 3]),
        }
    return ReplicationProblem.model_validate(data)


def ends(problem: ReplicationProblem, seed: int, plans: int) -> list[float]:
    """Makespans of plans at random, of dispatches and of a short search that
    begins with all planners.
    """
    rng = random.Random(seed)
    found = [
        simulate(problem, random_plan(problem, rng), engine="python")
        for _ in range(plans)
    ]
    found += [dispatch(problem, decide)[1] for decide in DISPATCHERS]
    searched = ioopt.solve(problem, "link-aware", settings={"evaluations": 100})
    return [run.metrics["makespan_seconds"] for run in (*found, searched)]


@pytest.mark.parametrize(
    ("seeds", "most"),
    [
        (range(1, 11), 10**12),
        pytest.param(range(11, 31), 10**12, marks=pytest.mark.slow),
        (range(101, 111), 1000),  # rounded down
        pytest.param(range(101, 121), 1000, marks=pytest.mark.slow),
        pytest.param(range(1_000, 2_000), 10**12, marks=pytest.mark.slow),
        pytest.param(range(3_000, 3_500), 40, marks=pytest.mark.slow),
    ],
)
def test_no_plan_ends_before_the_bound(
    seeds: range, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpsat_replay, "MOST_TICKS", most)
    raised = 0
    for seed in seeds:
        problem = instance(seed)
        if not all(problem.hosts):
            continue
        end = min(ends(problem, seed, 12))
        status, bound = least(problem, 1.3 * end + 1)
        assert status is not Status.INFEASIBLE and bound <= end * (1 + 1e-9), seed
        raised += bound > TransferBound(problem).seconds * (1 + 1e-9)
    assert raised >= len(seeds) / 20


@pytest.mark.parametrize(("name", "seconds"), [("cycle3", 8.248), ("idle-root", 13.1)])
def test_answers_are_proven_of_all_plans(name: str, seconds: float) -> None:
    """5.12 s, two copies of .064 s and 3 s; idle-root: 13 s and a copy of .1 s."""
    result = ioopt.solve(name)
    assert result.status is Status.OPTIMAL and result.bound == pytest.approx(seconds)


@pytest.mark.parametrize(("limit", "searched"), [(10.0, 8.0), (3.0, 3.0)])
def test_auto_keeps_a_fifth_of_a_limit_for_the_relaxation(monkeypatch, limit, searched):
    """A search ends by the clock where a limit was asked for; a fifth of 3 s is too
    short to load CP-SAT.
    """
    problem, at, search = small(12, 501), [0.0], link_aware.solve

    def cut(problem, request):
        assert request.deadline.remaining() == pytest.approx(searched)
        counted = link_aware.Settings(evaluations=100)
        found = search(problem, replace(request, settings=counted))
        at[0] += searched
        return replace(found, stop=StopReason.TIME)

    monkeypatch.setattr(link_aware, "solve", cut)
    deadline = Deadline(limit, lambda: at[0])
    found = auto.solve(problem, SolveRequest(SolveOptions(limit), deadline))
    before = TransferBound(problem).seconds
    assert found.bound > 1.01 * before if searched < limit else found.bound == before
    assert found.stop is StopReason.TIME


@pytest.mark.parametrize(("reads", "bounded"), [(3, False), (10_000, True)])
def test_a_relaxation_that_is_not_built_in_time_bounds_nothing(
    reads: int, bounded: bool
) -> None:
    """The clock reaches the limit of 1 s after so many readings."""
    read = 0

    def clock() -> float:
        nonlocal read
        read += 1
        return read / reads

    problem = made(2, AB, {"ta": (6, "a"), "tb": (6, "b")})
    request = SolveRequest(SolveOptions(1.0), Deadline(1.0, clock=clock))
    found = cpsat_replay.relaxed(problem, 100.0, request, 1.0)
    assert (found.seconds == 14) == bounded
    assert bool(found.queues) == bounded
    assert read <= reads + 3 or bounded


def test_the_job_shop_of_the_benchmark_bounds_the_makespan() -> None:
    """Two nodes read two files of 4 s over one link: the second task ends at 8 + 6 s.

    A file sent on to the other node would take another 2 s, which the shop leaves out.
    """
    pytest.importorskip("pyjobshop")
    from bench.jobshop import job_shop

    shop = job_shop(made(2, AB, {"ta": (6, "a"), "tb": (6, "b")}))
    assert shop.proven
    assert shop.makespan == shop.bound == 14
    assert job_shop(made(2, AB, {"ta": (6, "ab"), "tb": (6, "b")})).bound == 14
