"""Solve work directories by constraint programming (rule B12).

This proves plans of small instances optimal and finds least peaks. The program is only
a relaxation if times or bytes are rounded, or if tasks take 0 seconds. So a plan counts
only if its replay under the requested quota has no fault.
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
"""Share of the time limit for the search that precedes the proof."""
EVALUATIONS = 300
"""Number of runs of the search that precedes the proof."""
QUICK = 12
"""Largest number of tasks for which ``auto`` tries a proof before its search has ended.

With more tasks a proof may take long. Under a short time limit ``auto`` would then find
worse plans than ``search``.
"""
PROOF_SHARE = 0.2
"""Share of the time limit for this early proof."""
SMALL = 60
"""Largest number of tasks for which ``auto`` tries a proof."""
PROGRAM_SECONDS = 5e-4
"""Seconds per task that writing the program takes.

No program is written if less time is left.
"""
PARAMETERS = {"symmetry_level": 0, "linearization_level": 2}
"""Parameters of CP-SAT.

At a lower linearization level its linear relaxation omits the energy of the intervals,
and four tasks may take minutes.
"""


def solve(problem: WorkDirectoryProblem, request: Asked) -> Answer:
    """Prove the least makespan, or with the measure ``peak_bytes`` the least peak."""
    return _solve(problem, request, thorough=False)


def solve_auto(problem: WorkDirectoryProblem, request: Asked) -> Answer:
    """Run ``search``, and on small instances also ``exact``."""
    if len(problem.tasks) > SMALL:
        return search_alone(problem, request)
    return _solve(problem, request, thorough=True)


def _solve(problem: WorkDirectoryProblem, request: Asked, thorough: bool) -> Answer:
    """Answer *request* by a search and a proof.

    If *thorough*, the search makes all its evaluations; otherwise it only prepares the
    proof.
    """
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
    """Return the order with the least peak found, and a lower bound of the peak in
    bytes.

    Every task takes one unit of time in the program, because times do not matter for
    the peak.
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
    """Return whether enough time is left before the *deadline* to write the program."""
    return deadline.remaining() > PROGRAM_SECONDS * len(problem.tasks)


@dataclass
class Proof:
    """Collect what one or more runs of CP-SAT have proven and found for one question.

    ``seconds`` is the best lower bound of the makespan. ``closed`` says that the last
    run proved its program optimal or infeasible.
    """

    question: Question
    request: Asked
    seconds: float
    plans: list[WorkDirectoryPlan]
    stop: StopReason = StopReason.FINISHED
    closed: bool = False
    infeasible: bool = False

    def run(self, search: Search, deadline: Deadline) -> None:
        """Solve the program until the *deadline*, with the best plan of *search* as its
        hint.
        """
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
    """Return the better of the plans of search and program, with the proven bound."""
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
    """Return the plan with the shorter makespan, from *search* or *proof*, with the
    proven bound.

    Return "infeasible" if the proof shows that no plan respects the quota.
    """
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
    """Return the start of each task in the best plan of *search*, in units of the
    program.

    Return an empty dictionary if the search has no plan.
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
    """Return the plan for the starts in *answer*, as a list with at most one plan.

    If the starts are rounded, or their replay has a fault, the tasks run in the order
    of the starts instead.
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
