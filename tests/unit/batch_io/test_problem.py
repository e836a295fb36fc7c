"""What the instance classes refuse, and the allocations they define."""

from typing import Any

import pytest
from batch_io_traces import by_hand, snapshot

import ioopt
from ioopt import options
from ioopt.compiled import library
from ioopt.errors import BackendMissingError, InstanceError, UsageError
from ioopt.problems.batch_io import Machine


def batch(**changes: Any) -> dict[str, Any]:
    """One job of 4 of 8 nodes, in units of 2; *changes* of it, of the
    machine, or of the whole.
    """
    made = by_hand(
        [(1, 0, 4, 10, [(1, 1)])], {"unit_nodes": 2} | changes.pop("machine", {})
    )
    jobs = [made["jobs"][0] | changes.pop("job", {}), *changes.pop("more", [])]
    return made | {"jobs": jobs} | changes


JOB = batch()["jobs"][0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"job": {"walltime_seconds": 0}}, "walltime_seconds"),
        ({"job": {"nodes": 9}}, "nodes 9, but the machine has 8"),
        ({"job": {"nodes": 0}}, "nodes"),
        ({"job": {"phases": []}}, "phases"),
        ({"job": {"submit_seconds": -1}}, "submit_seconds"),
        (
            {"job": {"phases": [{"compute_seconds": -1, "io_bytes": 1}]}},
            "compute_seconds",
        ),
        (
            {"job": {"phases": [{"compute_seconds": 1, "io_bytes": 1, "repeat": 0}]}},
            "repeat",
        ),
        (
            {"job": {"phases": [{"compute_seconds": 1, "io_byte": 1}]}},
            "unknown key|missing",
        ),
        ({"machine": {"nodes": 7}}, "nodes 7 is no multiple of unit_nodes 2"),
        ({"machine": {"allocation": "torus"}}, "allocation"),
        ({"machine": {"storage_bytes_per_second": 0}}, "storage_bytes_per_second"),
        ({"more": [JOB]}, r"jobs\[1\].id 1 is already the id of jobs\[0\]"),
        ({"more": [{**JOB, "id": "1"}]}, "mix numbers and text"),
        ({"options": {"queue": "lifo"}}, "options.queue"),
        ({"surprise": 1}, "surprise: unknown key"),
    ],
)
def test_refusals(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InstanceError, match=words):
        ioopt.load(batch(**changes))


@pytest.mark.parametrize(
    ("allocation", "nodes", "given"),
    [
        ("flat", 3, 4),
        ("flat", 4, 4),
        ("partition", 5, 8),
        ("partition", 17, 24),
        ("partition", 1, 2),
    ],
)
def test_requests_are_rounded_to_legal_allocations(
    allocation: str, nodes: int, given: int
) -> None:
    # 24 nodes are 12 units of 2: blocks of 1, 2, 4 and 8 units, and the full machine.
    machine = Machine(
        nodes=24,
        unit_nodes=2,
        allocation=allocation,
        node_bytes_per_second=1.0,
        storage_bytes_per_second=4.0,
    )
    assert machine.allocated_nodes(nodes) == given


def test_snapshots_refuse_the_future_and_settings_of_traces() -> None:
    row = {"id": 1, "nodes": 1, "request_seconds": 3, "left_bytes": 1, "moved_bytes": 0}
    machine = batch()["machine"]
    with pytest.raises(InstanceError, match=r"request_seconds 3\.0 is after now 2\.0"):
        ioopt.load(snapshot(machine, 2, [row]))
    with pytest.raises(UsageError, match="setting ef applies to traces"):
        ioopt.solve(snapshot(machine, 4, [row]), "fill", settings={"ef": 2})
    with pytest.raises(InstanceError, match="needs start_seconds"):
        ioopt.solve(snapshot(machine, 4, [row]), "cons-min-aggr-sld")


@pytest.mark.parametrize(
    ("solver", "settings", "words"),
    [
        ("cons-fcfs", {"alpha": 1}, "no setting 'alpha'"),
        ("fill", {"alpha": -1}, "alpha"),
        (
            "fill",
            {"engine": "compiled", "arithmetic": "exact"},
            "engine=compiled cannot",
        ),
        (
            "cons-max-util",
            {"engine": "compiled", "knapsack": "cp-sat"},
            "engine=compiled cannot",
        ),
        ("fill", {"loop": "oval"}, "loop"),
        ("fill", {"knapsack": "cp-sat"}, "no setting 'knapsack'"),
        # The run would stand in the tables under the name of a policy
        # that was not used.
        (
            "cons-fcfs",
            {"policy": "adaptive"},
            "setting policy='adaptive'.*use --solver adaptive",
        ),
        (
            "cons-fcfs",
            {"top": "true"},
            r"setting top='true'.*use --solver cons-fcfs\+top",
        ),
        ("fill", {"top": "yes"}, "fill: setting top='yes'.*use another solver"),
    ],
)
def test_settings_that_cannot_be_honoured(
    solver: str, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        ioopt.solve(batch(), solver, settings=settings)


WIDE = {"nodes": 4 * 10**9, "storage_bytes_per_second": 4e9}


def test_numbers_beyond_64_bits_are_left_to_plain_python() -> None:
    """The square of 4 x 10^9 nodes is 1.6 x 10^19, more than 2^63."""
    problem = by_hand([("A", 0, 4 * 10**9, 9, [(1, 8e9)])], WIDE)
    # A second of computing, then 8 GB at 4 GB/s.
    assert ioopt.solve(problem, "base-line").objective == 3
    with pytest.raises(UsageError, match="with numbers of nodes that have more than"):
        ioopt.solve(problem, "base-line", settings={"engine": "compiled"})


def test_compiled_code_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(library, "loaded", lambda: None)
    monkeypatch.setattr(library, "why_plain", lambda: "no C compiler worked")
    assert ioopt.solve("two-writers", "fill").violations == ()
    with pytest.raises(BackendMissingError, match="compiled kernels: no C compiler"):
        ioopt.solve("two-writers", "fill", settings={"engine": "compiled"})


@pytest.mark.parametrize("loop", ["closed", "open"])
def test_a_limit_too_short_for_the_cheapest_policy_has_no_answer(
    monkeypatch: pytest.MonkeyPatch, loop: str
) -> None:
    """9000 phases of 20 us and a job of .3 ms: .18 s, of which twice is asked for."""
    monkeypatch.setattr(options, "OVERTIME_SECONDS", 0.0)
    phases = [{"compute_seconds": 1, "io_bytes": 1, "repeat": 9000}]
    problem = batch(job={"phases": phases})
    result = ioopt.solve(problem, "adaptive", time_limit=1e-6, settings={"loop": loop})
    assert (result.status, result.stop, result.plan) == ("unknown", "time", None)
    late = "out of time with 0 of 1 jobs finished; about 1 s would do"
    ran = ("adaptive", "base-line") if loop == "closed" else ("adaptive",)
    assert [note for note in result.notes if late in note][: len(ran)]


def test_no_jobs_is_an_answer() -> None:
    result = ioopt.solve({**batch(), "jobs": []}, "fill")
    assert result.objective == 0 and result.violations == ()


def test_jobs_given_alike_share_the_names_of_their_keys() -> None:
    problem = ioopt.load(
        batch(more=[{**JOB, "id": 2}, {**JOB, "id": 3, "io_bytes_per_second": 2}])
    )
    one, two, three = problem.jobs
    assert one.model_fields_set is two.model_fields_set
    assert (
        one.model_fields_set == JOB.keys()
        and "io_bytes_per_second" in three.model_fields_set
    )
    changed = one.model_copy(update={"io_bytes_per_second": 3.0})
    assert "io_bytes_per_second" in changed.model_fields_set
    assert "io_bytes_per_second" not in two.model_fields_set
