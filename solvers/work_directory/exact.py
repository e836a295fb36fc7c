"""Solve work directories by constraint programming (rule B12).

It proves small ones optimal and finds least peaks. The program is a relaxation if times
or bytes are rounded, or if tasks take 0 seconds: a plan counts only once its replay
under the requested quota has found no fault.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from ioopt.options import Deadline
from ioopt.problems.work_directory import Fault, WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.protocols import Outcome
from ioopt.result import Status, StopReason
from ioopt.sim.work_directory.order import sequential_peak
from ioopt.sim.work_directory.replay import keeps
from ioopt.solvers.backends.answer import BackendAnswer, BackendLimits
from ioopt.solvers.backends.cpsat_directory import Scale, Sizes, in_order, program
from ioopt.solvers.backends.cpsat_program import solve_cpsat
from ioopt.solvers.work_directory.dispatch import Answer, Question, Runs, too_small
from ioopt.solvers.work_directory.search import Asked, Search, Settings
from ioopt.solvers.work_directory.search import solve as search_alone
from ioopt.units import exact, quantity

SEARCH_SHARE = 0.3
"""Share of the time that the search before the proof takes."""
EVALUATIONS = 300
"""Number of runs of the search before the proof."""
QUICK = 12
"""Most tasks for which ``auto`` tries a proof before its search has ended.

With more tasks a proof may take long, and ``auto`` would be behind ``search`` where
time is short.
"""
PROOF_SHARE = 0.2
"""Share of the time that this early proof may take."""
SMALL = 60
"""Most tasks for which ``auto`` tries a proof."""
PROGRAM_SECONDS = 5e-4
"""Seconds per task to write the program; with less time none is written."""
PARAMETERS = {"symmetry_level": 0, "linearization_level": 2}
"""Parameters of CP-SAT.

Without the energy of the intervals in its relaxation four tasks may take minutes.
"""


def solve(problem: WorkDirectoryProblem, request: Asked) -> Answer:
    """Prove the least makespan, or with the measure ``peak_bytes`` the least peak."""
    return _solve(problem, request, thorough=False)


def solve_auto(problem: WorkDirectoryProblem, request: Asked) -> Answer:
    """Run ``search``; on small instances also ``exact``."""
    if len(problem.tasks) > SMALL:
        return search_alone(problem, request)
    return _solve(problem, request, thorough=True)


def _solve(problem: WorkDirectoryProblem, request: Asked, thorough: bool) -> Answer:
    """Answer *request* by search and proof; if *thorough*, with the complete search."""
    question = Question.asked(problem, request)
    refused = question.refused()
    if refused:
        return refused
    bound = question.least.bound
    if question.peak or question.no_order_known:
        order, bound = _least_peak(question, request)
        question = Question.of(problem, question.peak, order, question.deadline)
    if question.quota is not None and bound > question.quota:
        need = f"every order of the tasks needs at least {quantity('bytes', bound)}"
        note = too_small(need, bound, question.quota)
        note += " (proven by CP-SAT)"
        return Outcome(None, infeasible=True, notes=(note,))
    found = _least_makespan(question, request, thorough)
    if not question.peak:
        return found
    return replace(found, bound=float(bound), objective_name="peak_bytes")


def _least_peak(question: Question, request: Asked) -> tuple[list[int], int]:
    """Return the order with the least peak found, and a lower bound of the peak.

    Times do not matter, so all are 1 here.
    """
    problem = question.problem
    order = question.order
    bound = question.least.bound
    if bound == question.found or not _worth_writing(problem, request.deadline):
        return order, bound
    units = Scale.of_steps(len(order))
    sizes = Sizes.of(problem)
    hint = {k: at for at, k in enumerate(order)}
    model = program(problem, units, sizes, None, bound, hint, question.found)
    limits = BackendLimits.of(request, request.deadline.remaining() / 2)
    answer = solve_cpsat(model, limits, parameters=PARAMETERS)
    if answer.found:
        made = in_order(
            [int(answer.values[k]) for k in range(len(order))], problem.topological
        )
        order = min(order, made, key=lambda row: sequential_peak(problem, row))
    if answer.bound is not None:
        bound = max(bound, round(answer.bound) * sizes.unit)
    return order, bound


def _worth_writing(problem: WorkDirectoryProblem, deadline: Deadline) -> bool:
    """Return whether the program can be written before the *deadline*."""
    return deadline.remaining() > PROGRAM_SECONDS * len(problem.tasks)


@dataclass
class Proof:
    """Collect what CP-SAT has proven and found for one question in one or more runs."""

    question: Question
    request: Asked
    seconds: float
    plans: list[WorkDirectoryPlan]
    stop: StopReason = StopReason.FINISHED
    closed: bool = False
    infeasible: bool = False

    def run(self, search: Search, deadline: Deadline) -> None:
        """Solve the program from the best plan of *search* until the *deadline*."""
        question = self.question
        problem = self.question.problem
        if not _worth_writing(problem, deadline):
            self.stop = StopReason.TIME
            return
        scale = Scale.of(problem)
        hint = _hint(search, scale)
        least = search.bound if scale.exact else 0
        model = program(problem, scale, Sizes.of(problem), question.quota, least, hint)
        limits = BackendLimits.of(self.request, deadline.remaining())
        answer = solve_cpsat(model, limits, parameters=PARAMETERS)
        self.stop = answer.stop
        self.infeasible = answer.status is Status.INFEASIBLE
        self.closed = answer.status in (Status.INFEASIBLE, Status.OPTIMAL)
        if answer.bound is not None:
            proven = exact(answer.bound) / scale.per_second
            self.seconds = max(self.seconds, float(proven))
        if answer.found:
            self.plans += _carried_out(question, scale, answer)


def _least_makespan(question: Question, request: Asked, thorough: bool) -> Answer:
    """Return the better plan of search and program, and the proven bound."""
    deadline = request.deadline
    most = (request.settings or Settings()).evaluations
    search = Search(question, request)
    proof = Proof(question, request, question.seconds, [])
    quick = deadline.within(deadline.remaining() * SEARCH_SHARE)
    search.begin()
    proof.stop = search.advance(min(EVALUATIONS, most), quick)
    if thorough:
        if not search.proven() and len(question.problem.tasks) <= QUICK:
            proof.run(search, deadline.within(deadline.remaining() * PROOF_SHARE))
        if not proof.closed:
            proof.stop = search.advance(most, deadline)
    if not (search.proven() or proof.closed or (thorough and deadline.expired())):
        proof.run(search, deadline)
    return _better(search, proof)


def _better(search: Search, proof: Proof) -> Answer:
    """Return the shorter of the two plans, with the proven bound."""
    found = search.answer(proof.stop)
    if not proof.plans and not proof.infeasible:
        if found.plan:
            return replace(found, bound=proof.seconds)
        return found
    plans = [*proof.plans, *([found.plan] if found.plan else [])]
    if not plans:
        return Outcome(
            None, infeasible=True, notes=("no plan keeps the quota (proven by CP-SAT)",)
        )
    problem = search.question.problem
    length = {task.id: exact(task.compute_seconds) for task in problem.tasks}
    best = min(
        plans,
        key=lambda plan: max(exact(at) + length[name] for at, name in plan.starts),
    )
    return Outcome(best, proof.seconds, proof.stop)


def _hint(search: Search, scale: Scale) -> dict[int, int]:
    """Return the best starts of *search* in the program's units; empty without a
    plan.
    """
    if search.best is None:
        return {}
    per_tick = scale.per_second / search.runs.ticks.per_second
    return {
        k: int(at * per_tick)
        for at, k in sorted(search.best.starts, key=lambda row: row[1])
    }


def _carried_out(
    question: Question, scale: Scale, answer: BackendAnswer
) -> list[WorkDirectoryPlan]:
    """Turn the starts in a program's *answer* into a plan.

    If the program is only a relaxation, run the tasks in the order of the starts.
    """
    problem = question.problem
    begun = [int(answer.values[k]) for k in range(len(problem.tasks))]
    order = in_order(begun, problem.topological)
    if scale.exact:
        plan = question.plan([(begun[k], k) for k in order])
        if keeps(problem, plan, question.quota):
            return [plan]
    place = {k: at for at, k in enumerate(order)}
    for safe in (False, True):
        with suppress(Fault):
            starts = Runs(question).run(lambda now, k: place[k], safe)
            return [question.plan(starts)]
    return []
