"""What gang instances refuse, and how L and R follow from the I/O quantities."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from gang_tools import decision

import ioopt
from ioopt.errors import BackendMissingError, InstanceError, UsageError
from ioopt.problems.gang import GangMatrixProblem, GangProblem
from ioopt.solvers.gang import run


def workload(**changes: Any) -> dict[str, Any]:
    """Two jobs on four nodes; *changes* are ``job_<key>`` of the second
    job or top-level parts.
    """
    times = {"local_seconds": 300.0, "remote_seconds": 600.0}
    first = {"id": "a", "arrival_seconds": 0.0, "file_nodes": [0], **times}
    job = {"id": "b", "arrival_seconds": 5.0, "file_nodes": [1, 2], **times}
    job |= {key[4:]: value for key, value in changes.items() if key.startswith("job_")}
    machine = {"nodes": 4, "levels": 2, "quantum_seconds": 100.0} | changes.get(
        "machine", {}
    )
    return {
        "format": "ioopt/gang",
        "version": 1,
        "name": "two",
        "machine": machine,
        "jobs": [first, {k: v for k, v in job.items() if v is not None}],
    }


REFUSED = [
    # (changes, words the one line must hold)
    ({"job_file_nodes": [1, 4]}, ("jobs[1] (b).file_nodes", "node 4", "0 .. 3")),
    ({"job_file_nodes": [0, 1, 2, 3, 4]}, ("jobs[1] (b)", "5 nodes", "only 4")),
    ({"job_file_nodes": []}, ("jobs[1] (b).file_nodes", "empty")),
    ({"job_file_nodes": [2, 2]}, ("jobs[1] (b).file_nodes", "node 2", "twice")),
    ({"job_id": "a"}, ("jobs[1].id 'a'", "jobs[0]")),
    ({"job_id": 7}, ("7", "'a'", "mix")),
    ({"job_arrival_seconds": -1.0}, ("jobs[1] (b).arrival_seconds", "-1")),
    ({"job_remote_seconds": 200.0}, ("jobs[1] (b)", "200", "300")),
    ({"job_remote_seconds": None}, ("jobs[1] (b)", "remote_seconds is missing")),
    ({"job_local_seconds": 0.0}, ("jobs[1] (b).local_seconds", "0")),
    ({"job_compute_seconds": 10.0}, ("jobs[1] (b)", "either local_seconds")),
    ({"machine": {"quantum_seconds": 0.0}}, ("machine.quantum_seconds", "not 0")),
    ({"machine": {"levels": 0}}, ("machine.levels", "not 0")),
    ({"job_colour": "red"}, ("jobs[1] (b).colour", "unknown key")),
]


@pytest.mark.parametrize(
    ("changes", "words"), REFUSED, ids=lambda value: str(value)[:40]
)
def test_refused_with_one_line(
    run: Any, changes: dict[str, Any], words: tuple[str, ...]
) -> None:
    Path("bad.json").write_text(json.dumps(workload(**changes)))
    code, _, err = run("solve", "bad.json")
    assert code == 2 and "\n" not in err.strip()
    for word in words:
        assert word in err


def _matrix(**changes: Any) -> dict[str, Any]:
    started = {"remaining_fraction": 0.5, "attained_seconds": 10.0}
    jobs = [
        (1, [0, 1], [0, 1], 0, 100.0, 200.0, started),
        (2, [2], [3], 0, 100.0, 200.0, changes),
    ]
    return decision(jobs, [(3, [0], 100.0, 200.0)])


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"columns": [1]}, "node 1 is taken twice in row 0"),
        ({"columns": [2, 3]}, "2 columns for a job of 1 file nodes"),
        ({"home_row": 2}, "not a row of the matrix"),
        ({"columns": [4]}, "node 4 is outside the machine"),
        ({"remaining_fraction": 0.0}, "remaining_fraction"),
        ({"id": 3}, "already the id"),
    ],
)
def test_matrix_refused(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(InstanceError, match=word.replace("(", r"\(")):
        ioopt.load(_matrix(**changes))


def test_absent_migration_tasks_left_means_the_whole_budget() -> None:
    data = _matrix()
    data["machine"]["migration_tasks_per_quantum"] = 5
    assert GangMatrixProblem.model_validate(data).tasks_left == 5
    assert (
        GangMatrixProblem.model_validate(
            {**data, "migration_tasks_left": None}
        ).tasks_left
        is None
    )


def test_times_follow_from_the_io_quantities() -> None:
    """t_C = 0.9, d_I = 0.3: exactly 3 requests of 10 blocks, though 0.9
    / 0.3 > 3 in floats.

    L = 0.9 + 30 x 0.03 = 1.8 and R = 0.9 + 30 x 0.09 = 3.6.
    """
    data = workload(
        job_local_seconds=None,
        job_remote_seconds=None,
        job_compute_seconds=0.9,
        job_io_interarrival_seconds=0.3,
        job_blocks_per_request=10,
    )
    data["jobs"] = data["jobs"][1:]
    with pytest.raises(InstanceError, match=r"io\.local_seconds_per_block"):
        ioopt.load(data)
    data["io"] = {"local_seconds_per_block": 0.03, "remote_seconds_per_block": 0.09}
    problem = GangProblem.model_validate(data)
    assert problem.exact_times == ((Fraction(9, 5), Fraction(18, 5)),)
    assert problem.times == ((1.8, 3.6),)


def test_settings_that_cannot_go_together() -> None:
    problem = ioopt.load(workload())
    with pytest.raises(UsageError, match="arithmetic=exact needs"):
        ioopt.solve(
            problem, "gs", settings={"engine": "compiled", "arithmetic": "exact"}
        )
    with pytest.raises(UsageError, match="no compiled form"):
        ioopt.solve(
            problem, "index-iogs", settings={"engine": "compiled", "weight": "hdf"}
        )
    with pytest.raises(UsageError, match="gang-matrix"):
        ioopt.solve(problem, "gs", settings={"phase": "fill"})
    with pytest.raises(
        UsageError, match="its phases: clean, compact, schedule, fill, all"
    ):
        ioopt.solve(_matrix(), "gs", settings={"phase": "migrate"})
    with pytest.raises(UsageError, match="no phases"):
        ioopt.solve(_matrix(), "exact-iogs", settings={"phase": "fill"})


def test_without_compiled_kernels_their_engine_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "why_plain", lambda: "no C compiler worked")
    with pytest.raises(BackendMissingError, match="no C compiler worked") as missing:
        ioopt.solve(workload(), "gs", settings={"engine": "compiled"})
    assert missing.value.exit_code == 6


def test_no_jobs_is_a_workload_too() -> None:
    data = workload()
    data["jobs"] = []
    result = ioopt.solve(data, "migrate-iogs")
    assert result.status == "feasible"
    assert result.schedule == {"jobs": [], "updates": []}
    assert result.metrics["mean_slowdown"] is None
    short = ioopt.solve(data, "migrate-iogs", settings={"history": "no"})
    assert short.schedule == {"jobs": []}
