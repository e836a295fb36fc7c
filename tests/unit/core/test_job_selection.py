"""Job selection as an instance: by hand, against exhaustive search, checked, generated."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import ioopt
from ioopt.check.job_selection import check
from ioopt.errors import InstanceError
from ioopt.generate.job_selection import generate
from ioopt.problems.job_selection import JobSelectionPlan, JobSelectionProblem
from ioopt.solvers.job_selection import question_of

READY = "ready-now"
"""Four cores; a: 3, b, c, d: 2 each; c reads a temporary file of 1 GB that nobody else reads."""


def rules(plan: list[str]) -> list[str]:
    """The rules that a selection of READY breaks."""
    return [found.rule for found in check(ioopt.load(READY), {"chosen": plan}).violations]


def test_the_last_reader_and_all_cores_by_hand() -> None:
    """2 + 2 cores at 2 each, 1 for the deleted GB, 1 for reading it: 10."""
    result = ioopt.solve(READY)
    assert result.objective == 10.0 and result.violations == ()
    assert result.plan == {"chosen": ["b", "c"]} and result.bound == pytest.approx(10)
    assert result.metrics["deleted_bytes"] == 10**9


def test_first_fit_takes_the_job_that_blocks_two() -> None:
    """By cores first: a (3 of 4), after which nothing fits: 3 cores at 2."""
    assert ioopt.solve(READY, "first-fit").objective == 6


@pytest.mark.parametrize("preset", ["ready", "shared"])
@pytest.mark.parametrize("seed", range(4))
def test_best_of_all_subsets(preset: str, seed: int) -> None:
    problem = generate(preset, {"jobs": 9, "cores": 12, "sharing": 3}, seed)
    question = question_of(problem)
    best = max(
        question.value(chosen)
        for size in range(10)
        for chosen in itertools.combinations(range(9), size)
        if all(
            sum(question.jobs[k].resources[r] for k in chosen) <= capacity
            for r, capacity in enumerate(question.capacities)
        )
    )
    result = ioopt.solve(problem)
    assert result.violations == ()
    assert result.objective == pytest.approx(best, rel=1e-6)
    assert result.bound >= best * (1 - 1e-12)


@pytest.mark.parametrize(
    ("plan", "broken"),
    [
        (["b", "c"], []),
        (["a", "b"], ["capacity"]),
        (["b", "b"], ["jobs"]),
        (["b", "x"], ["jobs"]),
        ([], []),
    ],
)
def test_the_checker_refuses_what_cannot_start(plan: list[str], broken: list[str]) -> None:
    assert rules(plan) == broken


def test_the_value_needs_every_reader() -> None:
    """With a second reader that has not arrived the file stays: 4 x 2 + 1/2."""
    problem = ioopt.load(READY)
    waited = problem.files[0].model_copy(update={"readers": 2})
    result = ioopt.solve(problem.model_copy(update={"files": (waited,)}))
    assert result.objective == 8.5 and result.metrics["deleted_bytes"] == 0


def test_presets_repeat() -> None:
    assert generate("ready", {}, 3) == generate("ready", {}, 3) != generate("ready", {}, 4)
    assert ioopt.solve(generate("many", {"jobs": 300}, 0)).violations == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"jobs": [{"id": "a"}, {"id": "a"}]}, "already the id of jobs"),
        ({"jobs": [{"id": "a", "temp": ["t"]}]}, "no file 't'"),
        ({"jobs": [{"id": "a", "cores": 0}]}, "cores"),
        ({"jobs": [{"id": "a", "temp": ["u"]}, {"id": "b", "temp": ["u"]}],
          "files": [{"id": "u", "bytes": 1, "readers": 1}]}, "2 of the jobs read"),
    ],
)  # fmt: skip
def test_wrong_instances_say_where(change: dict[str, Any], words: str) -> None:
    document = {"format": "ioopt/job-selection", "capacities": {"cores": 1}, **change}
    with pytest.raises(InstanceError, match=words):
        ioopt.load(document)


def test_written_and_read_again() -> None:
    problem = generate("shared", {}, 1)
    again = JobSelectionProblem.model_validate(problem.model_dump(mode="json"))
    assert again == problem
    plan = JobSelectionPlan.model_validate(ioopt.solve(problem, "first-fit").plan)
    assert set(plan.chosen) <= {job.id for job in problem.jobs}
