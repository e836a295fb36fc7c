"""Compute a frontier (rule B14): the least makespan found for each of several
quotas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import ceil

from ioopt.problems.base import Json
from ioopt.problems.work_directory import WorkDirectoryProblem
from ioopt.protocols import Incumbents
from ioopt.result import Status, StopReason
from ioopt.sim.work_directory.dispatch import Dispatcher, dispatch
from ioopt.sim.work_directory.order import reference_order
from ioopt.sim.work_directory.replay import carried_out
from ioopt.solvers.work_directory.dispatch import Question
from ioopt.solvers.work_directory.search import Asked, Settings, search

SHARES = tuple(Fraction(tenths, 10) for tenths in (1, 2, 3, 5, 7, 10))
"""Default quotas, as shares of the peak that ``submission`` has without a quota."""


def unlimited(problem: WorkDirectoryProblem) -> Json:
    """Return the metrics of a run in the order of submission, without a quota."""
    free = problem.model_copy(update={"quota_bytes": None})
    return carried_out(free, dispatch(free, Dispatcher(free))).metrics


def frontier(
    problem: WorkDirectoryProblem,
    request: Asked,
    quotas: Sequence[int] | None = None,
    order: list[int] | None = None,
    first: int | None = None,
) -> list[Json]:
    """Return one row for each quota, in rising order of the quota.

    A row has quota_bytes, makespan_seconds, peak_bytes, bound, status, and stop: why
    its search ended. Makespan and peak are those of a plan that was replayed under the
    quota of its row. The quotas share the time equally. A plan also counts for every
    larger quota, and a bound for every smaller one. *order* is an order of the tasks
    with the least peak known, if it was sought before; *first* is the largest number of
    first runs for a quota.
    """
    if quotas is None:
        peak = unlimited(problem)["peak_bytes"]
        quotas = [ceil(share * peak) for share in SHARES]
    evaluations = (request.settings or Settings()).evaluations
    least_known = order is not None
    if order is None:
        order = reference_order(problem, request.deadline)
    rows: list[Json] = []
    start = request.start
    known = False
    for left, quota in zip(range(len(quotas), 0, -1), sorted(quotas), strict=True):
        asked = problem.model_copy(update={"quota_bytes": quota})
        part = request.deadline.within(request.deadline.remaining() / left)
        question = Question.of(
            asked, order=order, deadline=part, least_known=least_known
        )
        row: Json = {"quota_bytes": quota, "makespan_seconds": None, "peak_bytes": None}
        row |= {"bound": question.seconds, "status": str(Status.UNKNOWN)}
        row["stop"] = str(StopReason.TIME)
        rows.append(row)
        if known and start is not None:
            no_worse(row, carried_out(asked, start).metrics)
        if row["makespan_seconds"] is None or not request.deadline.expired():
            told = replace(
                request, deadline=part, start=start, incumbents=Incumbents(part)
            )
            found = search(question, told, evaluations, first)
            row["stop"] = str(found.stop)
            if found.infeasible:
                row["status"] = str(Status.INFEASIBLE)
            better = False
            if found.plan is not None:
                better = no_worse(row, carried_out(asked, found.plan).metrics)
            if better:
                start = found.plan
                known = True
    for row, larger in reversed([*pairwise(rows)]):
        row["bound"] = max(row["bound"], larger["bound"])
    for row in rows:
        judge(row)
    return rows


def no_worse(row: Json, run: Json) -> bool:
    """Put the metrics of a *run* into *row*, and return True, if the run improves the
    row.

    It must respect the quota of the row and have a shorter makespan.
    """
    if run["peak_bytes"] > row["quota_bytes"]:
        return False
    now = row["makespan_seconds"]
    then = run["makespan_seconds"]
    if now is not None and then >= now:
        return False
    row |= {key: run[key] for key in ("makespan_seconds", "peak_bytes")}
    judge(row)
    return True


def judge(row: Json) -> None:
    """Set the status of a *row* with a plan: optimal if the bound proves it, else
    feasible.
    """
    makespan = row["makespan_seconds"]
    if makespan is None:
        return
    status = Status.FEASIBLE
    if makespan <= row["bound"] * (1 + 1e-9):
        status = Status.OPTIMAL
    row["status"] = str(status)
