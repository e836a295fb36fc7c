"""The checker finds each broken rule and any damage, and nothing in a schedule
that keeps them all.
"""

import copy
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from batch_io_traces import by_hand, snapshot
from conftest import first

import ioopt
from ioopt.checks.batch_io import check as batch_io
from ioopt.checks.batch_io import io_requests
from ioopt.generate.batch_io.generate import generate

MACHINE = {
    "nodes": 16,
    "unit_nodes": 2,
    "allocation": "partition",
    "node_bytes_per_second": 1.0,
    "storage_bytes_per_second": 6.0,
}


def instance(**options: Any) -> dict[str, Any]:
    """a and b of 4 nodes each move 8 bytes after 1 s; c of 8 nodes computes."""
    jobs = [
        ("a", 0, 4, 50, [(1, 8)]),
        ("b", 0, 3, 50, [(1, 8)]),
        ("c", 0, 8, 50, [(6, 0)]),
    ]
    return by_hand(jobs, MACHINE, **options)


def solved(
    solver: str = "cons-fcfs", **options: Any
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    problem = ioopt.load(instance(**options))
    result = ioopt.solve(problem, solver)
    assert result.schedule is not None and result.plan is not None
    return problem, result.plan, copy.deepcopy(result.schedule)


def rules(problem: Any, plan: Any, schedule: Any) -> set[str]:
    return {item.rule for item in batch_io.check(problem, plan, schedule).violations}


def job(schedule: dict[str, Any], k: int) -> dict[str, Any]:
    found: dict[str, Any] = schedule["jobs"][k]
    return found


def without_rates(schedule: dict[str, Any]) -> dict[str, Any]:
    for row in schedule["jobs"]:
        for record in row["io"]:
            del record["rates"]
    return schedule


def test_a_good_schedule_keeps_all_rules() -> None:
    # Cons-FCFS at peaks of 4: a from 1 to 3, b from 3 to 5.
    problem, plan, schedule = solved()
    assert rules(problem, plan, schedule) == set()
    assert [job(schedule, k)["end_seconds"] for k in range(3)] == [3, 5, 6]
    assert job(schedule, 1)["io"][0]["rates"] == [[3, 5, 4]]


Change = Callable[[dict[str, Any]], None]


def _set(k: int, **values: Any) -> Change:
    return lambda schedule: job(schedule, k).update(values)


def _io(k: int, **values: Any) -> Change:
    return lambda schedule: job(schedule, k)["io"][0].update(values)


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("job-missing", lambda s: s["jobs"].pop()),
        ("job-twice", lambda s: s["jobs"].append(s["jobs"][0])),
        ("unknown-job", lambda s: s["jobs"].append({**s["jobs"][0], "id": "x"})),
        ("schedule", _set(0, start_seconds="soon")),
        ("schedule", lambda s: s["jobs"][0].pop("io")),
        ("end", _set(2, end_seconds=7)),
        ("kill", _set(2, killed=True, end_seconds=50)),
        ("allocation", _set(1, allocated_nodes=3)),
        ("partition", _set(1, first_node=6)),
        ("partition", _set(1, first_node=14)),
        ("overlap", _set(1, first_node=0)),
        ("overlap", _set(2, first_node=0)),
        ("phases", lambda s: s["jobs"][0]["io"].pop()),
        ("phases", _io(0, phase=1)),
        ("request", _io(0, request_seconds=0.5)),
        ("finish", _io(0, finish_seconds=None)),
        ("grant", _io(1, first_grant_seconds=None)),
        ("grant", _io(1, first_grant_seconds=0.5)),
        ("grant", _io(1, first_grant_seconds=2)),
        ("rates", _io(1, rates=[[0, 1, 4], [3, 4, 4]])),
        ("peak", _io(1, rates=[[3, 4.6, 5]])),
        ("peak", _io(1, rates=[[3, 3 + 8 / 4.02, 4.02]])),
        ("bytes", _io(1, rates=[[3, 4.5, 4]])),
        ("conservative", _io(1, rates=[[3, 5, 3], [5, 5.0001, 4]])),
    ],
)
def test_each_broken_rule_is_found(rule: str, change: Change) -> None:
    problem, plan, schedule = solved()
    change(schedule)
    assert rule in rules(problem, plan, schedule)


def test_start_before_submission() -> None:
    data = instance()
    data["jobs"][2]["submit_seconds"] = 1
    problem = ioopt.load(data)
    _, plan, schedule = solved()
    assert rules(problem, plan, schedule) == {"start"}


def test_kill_keeps_to_the_walltime() -> None:
    problem, plan, schedule = solved(kill=True)
    assert rules(problem, plan, schedule) == set()
    data = instance(kill=True)
    data["jobs"][2]["walltime_seconds"] = 5
    assert rules(ioopt.load(data), plan, schedule) == {"kill"}


def test_total_rate_above_the_storage() -> None:
    # a and b at 4 each from 1 to 3 need 8 of 6: every request is fine, the sum is not.
    problem, plan, schedule = solved()
    job(schedule, 1)["end_seconds"] = 3
    job(schedule, 1)["io"][0].update(
        first_grant_seconds=1, finish_seconds=3, rates=[[1, 3, 4.0]]
    )
    assert rules(problem, plan, schedule) == {"storage"}
    # Without the rates 16 bytes in 2 s still exceed 6 a second.
    schedule = without_rates(schedule)
    assert rules(problem, plan, schedule) == {"storage"}
    # The uncongested reference may do so.
    assert rules(problem, {**plan, "policy": "no-congestion"}, schedule) == set()


@pytest.mark.parametrize("over", [0.1, 0.001, 1e-5])
def test_rates_a_little_above_the_storage(over: float) -> None:
    """a and b move 8 bytes each from 1 s at 3 of 6 bytes/s; a little more is
    more than the storage.
    """
    problem, plan, schedule = solved("base-line")
    for k in (0, 1):
        assert job(schedule, k)["io"][0]["rates"] == [[1, pytest.approx(11 / 3), 3]]
        last = 1 + 8 / (3 * (1 + over))
        job(schedule, k)["end_seconds"] = last
        job(schedule, k)["io"][0].update(
            finish_seconds=last, rates=[[1, last, 3 * (1 + over)]]
        )
    assert rules(problem, plan, schedule) == {"storage"}
    assert rules(problem, plan, without_rates(schedule)) == {"storage"}


def test_tolerances_are_those_of_the_rules() -> None:
    """a moves 8 bytes at 4 from 1 s to 3: 1e-9 s is one instant (rule 2),
    1e-7 s too early an end.
    """
    for early, broken in ((1e-9, set()), (1e-7, {"peak", "bytes"})):
        problem, plan, schedule = solved()
        job(schedule, 0)["end_seconds"] = 3 - early
        record = {"finish_seconds": 3 - early, "rates": [[1, 3 - early, 4.0]]}
        job(schedule, 0)["io"][0].update(record)
        assert rules(problem, plan, schedule) == broken


def test_short_bursts_above_the_storage_add_up() -> None:
    """Ten thousand bursts, each shorter than a microsecond, are one
    second over the limit.
    """
    problem, plan, schedule = solved("base-line")
    edges = [1 + k * 2e-7 for k in range(1001)]
    for k in (0, 1):
        spans = [[a, b, 3.5] for a, b in pairwise(edges)]
        moved = 3.5 * (edges[-1] - 1)
        rest = (8 - moved) / 3
        job(schedule, k)["io"][0]["rates"] = [*spans, [edges[-1], edges[-1] + rest, 3]]
        job(schedule, k)["io"][0]["finish_seconds"] = edges[-1] + rest
        job(schedule, k)["end_seconds"] = edges[-1] + rest
    assert rules(problem, plan, schedule) == {"storage"}


def test_without_rates_every_window_is_held_to_the_storage() -> None:
    """Inside a busy period whose sum is right: 16 bytes of 6 a second
    cannot end in 2.4 s.

    c keeps the storage busy from 0 to 10 with 4 bytes a second at most, so sums over
    the busy period (36 bytes in 10 s) are in order.
    """
    data = instance()
    data["jobs"][2]["phases"] = [{"compute_seconds": 0, "io_bytes": 20.0}]
    problem = ioopt.load(data)
    rows = [("a", 1, 3.4, 8), ("b", 1, 3.4, 8), ("c", 0, 10, 20)]

    def schedule(ends: list[float], grants: list[float]) -> dict[str, Any]:
        return {
            "jobs": [
                {
                    "id": name,
                    "start_seconds": 0,
                    "end_seconds": end,
                    "killed": False,
                    "io": [
                        {
                            "phase": 0,
                            "request_seconds": begin,
                            "first_grant_seconds": max(grant, begin),
                            "finish_seconds": end,
                        }
                    ],
                }
                for (name, begin, _, _), end, grant in zip(rows, ends, grants)
            ]
        }

    assert rules(problem, None, schedule([3.7, 3.7, 10], [0, 0, 0])) == set()
    assert rules(problem, None, schedule([3.4, 3.4, 10], [0, 0, 0])) == {"storage"}
    # Bytes move from the first grant on, not from the request.
    assert rules(problem, None, schedule([3.7, 3.7, 10], [1.2, 1.2, 0])) == {"storage"}


@pytest.mark.parametrize(
    ("late", "submit", "useful", "least", "most", "seconds"),
    [
        # Window .9 to 9 s of 16 nodes. a and b compute from 0 to 1: .1 s inside; c
        # 5.1 s. a moves its 8 bytes in it; b, that arrives last, begins to compute
        # when the window ends.
        (1, 9, *(4 * (0.1 + 2) + 8 * 5.1,) * 3, 8.1),
        # Window .2 to 2 s, as c arrives at 2. a and b compute .8 s in it, then move 8
        # bytes from 1 to 11/3 s, 2 s of work at their peak of 4: with rates 3/4 of 1 s
        # lies inside. Without, the 5/3 s outside hold all but 1/3 s of it, and the 1 s
        # inside no more than 1 s.
        (2, 2, 8 * (0.8 + 0.75), 8 * (0.8 + 1 / 3), 8 * (0.8 + 1), 1.8),
    ],
)
def test_useful_work_is_known_within_limits_without_rates(
    late: int, submit: float, useful: float, least: float, most: float, seconds: float
) -> None:
    data = instance()
    data["jobs"][late]["submit_seconds"] = submit
    problem = ioopt.load(data)
    result = ioopt.solve(problem, "base-line")
    schedule = copy.deepcopy(result.schedule)
    exact = batch_io.check(problem, result.plan, schedule).metrics["useful_utilisation"]
    assert exact == pytest.approx(useful / (16 * seconds))
    schedule = without_rates(schedule)
    found = batch_io.check(problem, result.plan, schedule).ranges["useful_utilisation"]
    assert found == pytest.approx((least / (16 * seconds), most / (16 * seconds)))


def test_a_top_variant_makes_one_partial_grant() -> None:
    problem, plan, schedule = solved("cons-fcfs+top")
    assert rules(problem, plan, schedule) == set()
    # a at 4 and b at 2 from 1 to 3, then b at 4 for its last 4 bytes.
    assert job(schedule, 1)["io"][0]["rates"] == [[1, 3, 2], [3, 4, 4]]
    assert "conservative" in rules(problem, {**plan, "top": False}, schedule)


def test_nodes_in_use_at_once_on_a_flat_machine() -> None:
    data = instance()
    data["machine"] |= {"allocation": "flat", "nodes": 14}
    problem = ioopt.load(data)
    result = ioopt.solve(problem, "cons-fcfs")
    schedule = copy.deepcopy(result.schedule)
    assert schedule is not None and result.violations == ()
    # c waits for a's 4 nodes until 3; started at 0 it would make 16 of 14.
    assert job(schedule, 2)["start_seconds"] == 3
    job(schedule, 2).update(start_seconds=0, end_seconds=6)
    assert rules(problem, result.plan, schedule) == {"nodes"}
    assert rules(problem, {"policy": "cons-fcfs", "loop": "open"}, schedule) == set()


def test_contract_keys_alone_are_enough() -> None:
    problem, _, schedule = solved()
    for row in without_rates(schedule)["jobs"]:
        del row["first_node"], row["allocated_nodes"]
    report = batch_io.check(problem, None, schedule)
    assert report.violations == ()
    assert report.metrics["mean_response_seconds"] == pytest.approx((3 + 5 + 6) / 3)
    assert (
        report.metrics["useful_utilisation"] is None
    )  # all are submitted at one instant


def requests() -> Any:
    rows = [
        {
            "id": k,
            "nodes": 4,
            "request_seconds": k,
            "left_bytes": 8.0,
            "moved_bytes": 0.0,
        }
        for k in (1, 2)
    ]
    return ioopt.load(snapshot(MACHINE, 5, rows))


@pytest.mark.parametrize(
    ("grants", "policy", "rules"),
    [
        ({"1": 4.0, "2": 0.0}, "cons-fcfs", []),
        ({"1": 3.0, "2": 3.0}, "base-line", []),
        ({"1": 4.0, "2": 4.0}, "no-congestion", []),
        ({"1": 4.0, "2": 4.0}, "base-line", ["storage"]),
        ({"1": 5.0, "2": 0.0}, None, ["peak"]),
        ({"1": 4.0}, None, ["request-missing"]),
        ({"1": 4.0, "2": 0.0, "3": 1.0}, None, ["unknown-request"]),
        ({"1": 4.0, "2": 1.0}, "cons-fcfs", ["conservative"]),
    ],
)
def test_grants(grants: dict[str, float], policy: str | None, rules: list[str]) -> None:
    report = io_requests.check(requests(), {"grants": grants, "policy": policy}, None)
    assert [item.rule for item in report.violations] == rules


TIMES = ("request_seconds", "first_grant_seconds", "finish_seconds")


def damaged(schedule: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """*schedule* with one value changed by more than rounding."""
    changed = copy.deepcopy(schedule)
    job = rng.choice([job for job in changed["jobs"] if job["io"]])
    record, kind = rng.choice(job["io"]), rng.randrange(6)
    if kind == 0:
        name = rng.choice(TIMES)
        record[name] = rng.choice([True, "3", -1.0, (record[name] or 0.0) + 1.0])
    elif kind == 1:
        job[rng.choice(("start_seconds", "end_seconds"))] += rng.choice(
            (-1.0, 1e-6, 1.0)
        )
    elif kind == 2 and record.get("rates"):
        rng.choice(record["rates"])[2] *= rng.choice((0.9, 1.1, -1.0))
    elif kind == 3:
        job[rng.choice(("first_node", "allocated_nodes"))] = rng.choice((1, 700, "x"))
    elif kind == 4:
        job["io"].remove(record)
    else:
        record["phase"] = rng.choice((-1, 99, 0.5))
    return changed


@pytest.mark.parametrize("policy", first(1, ["base-line", "cons-fcfs"]))
@pytest.mark.parametrize(
    ("options", "rates"), [({}, "yes"), ({"kill": True}, "yes"), ({}, "no")]
)
def test_damage_is_found(policy: str, options: dict[str, Any], rates: str) -> None:
    problem = generate("mira-month", {"jobs": 25, "days": 0.2}, 3)
    still = problem.jobs[0].phases[0].model_copy(update={"io_bytes": 0.0, "repeat": 2})
    jobs = [
        job.model_copy(
            update={
                "walltime_seconds": 0.8 * job.walltime_seconds,
                "phases": (still, *job.phases, still) if k % 3 else job.phases * 2,
            }
        )
        for k, job in enumerate(problem.jobs)
    ]
    queue = problem.options.model_copy(update=options)
    problem = problem.model_copy(update={"jobs": tuple(jobs), "options": queue})
    result = ioopt.solve(problem, policy, settings={"rates": rates})
    report = batch_io.check(problem, result.plan, result.schedule)
    assert report.violations == ()
    assert any(job["killed"] for job in result.schedule["jobs"]) == bool(options)
    for name, value in report.metrics.items():
        assert result.metrics[name] == pytest.approx(value, rel=1e-9), name
    rng = random.Random(f"{policy}{options}{rates}")
    for trial in range(40):
        schedule = damaged(result.schedule, rng)
        if schedule != result.schedule:
            assert batch_io.check(problem, result.plan, schedule).violations, trial


@pytest.mark.parametrize(("wide", "over"), [(1, None), (2, None), (3, 1.0), (4, 2.0)])
def test_as_many_nodes_as_there_are_and_not_one_more(
    wide: int, over: float | None
) -> None:
    """2 nodes of 4 are taken when another job starts on *wide* more: 2 +
    2 fit, 2 + 3 do not.
    """
    machine = {"nodes": 4, "unit_nodes": 1}
    jobs = [("a", 0, 2, 50, [(10, 0)]), ("b", 0, wide, 50, [(10, 0)])]
    problem = ioopt.load(by_hand(jobs, machine, queue="fcfs", backfill="none"))
    rows = [
        {
            "id": name,
            "start_seconds": 0.0,
            "end_seconds": 10.0,
            "killed": False,
            "io": [],
        }
        for name in "ab"
    ]
    found = batch_io.check(problem, None, {"jobs": rows}).violations
    assert [(item.rule, item.amount) for item in found] == (
        [("nodes", over)] if over else []
    )


def test_nodes_that_are_freed_at_an_instant_are_free_at_it() -> None:
    """The second job takes all 4 nodes from 10 s on, when the first gives them back."""
    jobs = [("a", 0, 4, 50, [(10, 0)]), ("b", 0, 4, 50, [(10, 0)])]
    problem = ioopt.load(by_hand(jobs, {"nodes": 4, "unit_nodes": 1}, queue="fcfs"))
    for start, expected in ((10.0, set()), (9.0, {"nodes", "start"})):
        rows = [
            {
                "id": "a",
                "start_seconds": 0.0,
                "end_seconds": 10.0,
                "killed": False,
                "io": [],
            },
            {
                "id": "b",
                "start_seconds": start,
                "end_seconds": start + 10.0,
                "killed": False,
                "io": [],
            },
        ]
        found = batch_io.check(problem, None, {"jobs": rows}).violations
        assert {item.rule for item in found} == expected
