"""The least makespan for each of several quotas: what a smaller work directory costs (rule B14)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import ceil

from ioopt.problems.base import Json
from ioopt.problems.work_directory import WorkDirectoryProblem
from ioopt.protocols import Incumbents, Outcome
from ioopt.result import Status
from ioopt.sim.work_directory.dispatch import Dispatcher, dispatch
from ioopt.sim.work_directory.order import reference_order
from ioopt.sim.work_directory.replay import carried_out
from ioopt.solvers.work_directory.dispatch import Question
from ioopt.solvers.work_directory.search import Asked, Settings, search

SHARES = tuple(Fraction(tenths, 10) for tenths in (1, 2, 3, 5, 7, 10))
"""Quotas in peaks of the order of submission without a quota, where none are given."""


def unlimited(problem: WorkDirectoryProblem) -> Json:
    """The metrics of the order of submission without a quota."""
    free = problem.model_copy(update={"quota_bytes": None})
    return carried_out(free, dispatch(free, Dispatcher(free))).metrics


def frontier(
    problem: WorkDirectoryProblem, request: Asked, quotas: Sequence[int] | None = None
) -> list[Json]:
    """Rows {quota_bytes, makespan_seconds, bound, status} by quota; the time is shared equally.

    A plan keeps every larger quota too, and a bound holds for every smaller one.
    """
    if quotas is None:
        peak = unlimited(problem)["peak_bytes"]
        quotas = [ceil(share * peak) for share in SHARES]
    rows: list[Json] = []
    best, start, order = None, request.start, reference_order(problem)
    for left, quota in zip(range(len(quotas), 0, -1), sorted(quotas)):
        asked = problem.model_copy(update={"quota_bytes": quota})
        part = request.deadline.within(request.deadline.remaining() / left)
        evaluations = (request.settings or Settings()).evaluations
        question = Question.of(asked, order=order)
        told = replace(request, deadline=part, start=start, incumbents=Incumbents(part))
        late = best is not None and request.deadline.expired()  # a plan there is will do
        found = Outcome(start) if late else search(question, told, evaluations)
        if found.plan is not None:
            start = found.plan
            makespan = carried_out(asked, found.plan).metrics["makespan_seconds"]
            best = makespan if best is None else min(best, makespan)
        status = Status.INFEASIBLE if found.infeasible else Status.UNKNOWN
        row = {"quota_bytes": quota, "makespan_seconds": best, "bound": question.seconds}
        rows.append(row | {"status": str(status if best is None else Status.FEASIBLE)})
    for row, larger in reversed([*pairwise(rows)]):
        row["bound"] = max(row["bound"], larger["bound"])
    for row in rows:
        makespan = row["makespan_seconds"]
        if makespan is not None and makespan <= row["bound"] * (1 + 1e-9):
            row["status"] = str(Status.OPTIMAL)
    return rows
