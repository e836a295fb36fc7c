"""The worked cases of work directories, those of the shared folder and our
own, to the last figure.
"""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from conftest import shared_files
from pydantic import ValidationError

import ioopt
from ioopt.checks.work_directory import replay
from ioopt.models.work_directory.bounds import makespan_bounds, peak_bound
from ioopt.problems.work_directory import Fault, WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.sim.work_directory.dispatch import Dispatcher, dispatch
from ioopt.sim.work_directory.order import reference_order, sequential_peak

MEASURES = ("makespan_seconds", "peak_bytes")
CASES = [
    *shared_files("cases/work-directory"),
    *sorted(Path(__file__).parent.glob("*.json")),
]


def same(found: Any, wanted: Any) -> bool:
    """Equal in all that is wanted; numbers within 1e-9, "p/q" as it is written."""
    if isinstance(wanted, dict):
        return found.keys() >= wanted.keys() and all(
            same(found[k], wanted[k]) for k in wanted
        )
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(wanted, str) and isinstance(found, (float, Fraction)):
        wanted = float(Fraction(wanted))
    if (
        isinstance(wanted, (int, float))
        and not isinstance(wanted, bool)
        and found is not None
    ):
        return abs(float(found) - wanted) <= 1e-9 * max(1.0, abs(wanted))
    return bool(found == wanted)


def replayed(problem: WorkDirectoryProblem, run: dict[str, Any]) -> dict[str, Any]:
    found = replay(
        problem,
        WorkDirectoryPlan(starts=run["starts"]),
        run.get("actual_compute_seconds"),
    )
    return {"violations": found.violations, "metrics": found.metrics}


def dispatched(problem: WorkDirectoryProblem, run: dict[str, Any]) -> dict[str, Any]:
    rank = run["order"] if run.get("order") else run["policy"]
    options = {
        key: run[key] for key in ("safe", "in_flight", "reference") if key in run
    }
    actual = run.get("actual_compute_seconds")
    dispatcher = Dispatcher(problem, rank, problem.quota_bytes, **options)
    plan = dispatch(problem, dispatcher, actual)
    found = replay(problem, plan, actual)
    assert not found.violations
    return {"starts": [list(start) for start in plan.starts], "metrics": found.metrics}


def bounded(problem: WorkDirectoryProblem, run: dict[str, Any]) -> dict[str, Any]:
    most = makespan_bounds(problem, problem.quota_bytes)
    return {
        "peak": vars(peak_bound(problem)),
        "makespan": {**vars(most), "bound": most.bound},
    }


def referred(problem: WorkDirectoryProblem, run: dict[str, Any]) -> dict[str, Any]:
    order = reference_order(problem)
    return {
        "peak": sequential_peak(problem, order),
        "order": [problem.tasks[k].id for k in order],
    }


def optimal(problem: WorkDirectoryProblem, run: dict[str, Any]) -> dict[str, Any]:
    best, least = (ioopt.solve(problem, "exact", measure=name) for name in MEASURES)
    assert best.status == least.status == "optimal"
    makespan = least.metrics["makespan_seconds"]
    found = {"makespan_seconds": best.objective, "peak_bytes": least.objective}
    return {**found, "makespan_at_least_peak": makespan}


RUNS = {
    "optimum": optimal,
    "replay": replayed,
    "dispatch": dispatched,
    "bounds": bounded,
    "reference": referred,
}


def answer(case: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    """What a run gives: its figures, or the record of what is wrong with the
    instance, plan or run.
    """
    try:
        problem = WorkDirectoryProblem.model_validate(case["instance"])
        return RUNS[run["run"]](problem, run)
    except Fault as fault:
        return fault.record
    except ValidationError as error:
        return error.errors()[0]["ctx"]["error"].record


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    case = json.loads(path.read_text("utf-8"))
    for run in case["runs"]:
        wanted = run["expect"].get("error", run["expect"])
        found = answer(case, run)
        assert same(found, wanted), (run, found)
