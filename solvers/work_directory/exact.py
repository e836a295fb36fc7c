"""Work directories by constraint programming (rule B12): proofs of small ones, and of least peaks."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from ioopt.check.work_directory import replay
from ioopt.problems.work_directory import Fault, WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.protocols import Outcome
from ioopt.result import Status
from ioopt.sim.work_directory.dispatch import Dispatcher, dispatch
from ioopt.sim.work_directory.order import sequential_peak
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_directory import Scale, in_order, program
from ioopt.solvers.backends.cpsat_program import solve_cpsat
from ioopt.solvers.work_directory.dispatch import Answer, Question
from ioopt.solvers.work_directory.search import Asked, search
from ioopt.solvers.work_directory.search import solve as search_alone
from ioopt.units import exact

SEARCH_SHARE, EVALUATIONS = 0.3, 300
"""Part of the time, and runs, of the search that comes first."""
SMALL = 60
"""Tasks up to which ``auto`` asks for a proof."""
PARAMETERS = {"symmetry_level": 0, "linearization_level": 2}
"""Of CP-SAT: without the energy of the intervals in its relaxation four tasks may take minutes."""


def solve(problem: WorkDirectoryProblem, request: Asked) -> Answer:
    """Prove the least makespan, or with the measure ``peak_bytes`` the least peak, in the time there is."""
    if request.measure != "peak_bytes":
        question = Question.of(problem)
        return question.refused() or _least_makespan(question, request)
    order, proven = _least_peak(Question.of(problem, peak=True), request)
    question = Question.of(problem, peak=True, order=order)
    found = _least_makespan(question, request)
    bound = float(question.found if proven else question.least.bound)
    return replace(found, bound=bound, objective_name="peak_bytes")


def _least_peak(question: Question, request: Asked) -> tuple[list[int], bool]:
    """The order with the least peak found, and whether none has less. Times do not matter: all are 1."""
    order, problem = question.order, question.problem
    if question.least.bound == question.found:
        return order, True
    units = Scale(1, True, [1] * len(order), [0] * len(order))
    hint = {k: at for at, k in enumerate(order)}
    model = program(problem, units, None, question.least.bound, hint, question.found)
    limits = BackendLimits.of(request, request.deadline.remaining() / 2)
    answer = solve_cpsat(model, limits, parameters=PARAMETERS)
    if answer.found:
        made = in_order([int(answer.values[k]) for k in range(len(order))], problem.topological)
        order = min(order, made, key=lambda row: sequential_peak(problem, row))
    return order, answer.status is Status.OPTIMAL


def _least_makespan(question: Question, request: Asked) -> Answer:
    """The better of what a short search and the program find, and what is proven."""
    problem, deadline = question.problem, request.deadline
    part = deadline.within(deadline.remaining() * SEARCH_SHARE)
    first = search(question, replace(request, deadline=part), EVALUATIONS)
    scale, index = Scale.of(problem), problem.task_index
    begun = {index[name]: exact(at) for at, name in (first.plan.starts if first.plan else ())}
    hint = {k: int(begun[k] * exact(scale.per_second)) for k in sorted(begun)}
    least = int(exact(question.seconds) * exact(scale.per_second))
    if hint and max(at + scale.seconds[k] for k, at in hint.items()) <= least:
        return first
    model = program(problem, scale, question.quota, least, hint)
    answer = solve_cpsat(model, BackendLimits.of(request), parameters=PARAMETERS)
    if answer.status is Status.INFEASIBLE:
        return Outcome(None, infeasible=True, notes=("no plan keeps the quota: CP-SAT's proof",))
    bound = max(question.seconds, (answer.bound or 0) / scale.per_second)
    plans = [first.plan] if first.plan else []
    if answer.found:
        plans += _carried_out(question, scale, [int(answer.values[k]) for k in range(len(index))])
    if not plans:
        return replace(first, stop=answer.stop)
    best = min(plans, key=lambda plan: replay(problem, plan).metrics["makespan_seconds"])
    return replace(first, plan=best, bound=bound, stop=answer.stop)


def _carried_out(question: Question, scale: Scale, begun: list[int]) -> list[WorkDirectoryPlan]:
    """The plan of a program's starts, or a run in their order where it is only a relaxation."""
    problem, order = question.problem, in_order(begun, question.problem.topological)
    plan = question.plan([(begun[k], k) for k in order])
    if scale.exact and not replay(problem, plan).violations:
        return [plan]
    names = [problem.tasks[k].id for k in order]
    for safe in (False, True):
        with suppress(Fault):
            plan = dispatch(problem, Dispatcher(problem, names, question.quota, safe))
            return [plan]
    return []


def solve_auto(problem: WorkDirectoryProblem, request: Asked) -> Answer:
    """``exact`` where it is small and for least peaks, else ``search``."""
    small = len(problem.tasks) <= SMALL
    return solve(problem, request) if small else search_alone(problem, request)
