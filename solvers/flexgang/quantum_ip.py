"""Select quanta exactly by integer programming (F4)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ioopt.models.flexgang.quantum import QuantumCosts, QuantumModel
from ioopt.options import Deadline
from ioopt.problems.flexgang.quantum_selection import Option, QuantumSelectionProblem
from ioopt.protocols import Incumbents, Outcome, SolveRequest
from ioopt.result import Status, StopReason
from ioopt.solvers.backends.answer import BackendAnswer, BackendLimits
from ioopt.solvers.backends.solve import solve_program
from ioopt.solvers.flexgang.quantum_greedy import (
    cycle_grid,
    greedy_options,
    realised_outcome,
)


def solve(problem: QuantumSelectionProblem, request: SolveRequest) -> Outcome:
    """Solve the program with the greedy plan as start, and simulate the solution.

    If the deadline passes before the program is built, the start is the answer.
    """
    costs = QuantumCosts(problem)
    begun = request.deadline.elapsed()
    start = _start(costs, request)
    lengths: set[int] = set()
    if start is not None:
        request.incumbents.report(costs.plan(start), costs.total(start))
        lengths.add(costs.cycle(start))
    if start is None or not request.deadline.expired():
        lengths.update(cycle_grid(costs, request.deadline))
    if not _costs_in_time(costs, lengths, request.deadline):
        if start is None:
            return Outcome(None, stop=StopReason.TIME)
        return _realised(costs, start, start, request, StopReason.TIME)
    model = QuantumModel(costs, sorted(lengths))
    build = request.deadline.elapsed() - begun
    answer = run(model, start, request)
    if not answer.found:
        infeasible = answer.status is Status.INFEASIBLE
        if start is None or infeasible:
            return Outcome(
                None, stop=answer.stop, infeasible=infeasible, build_seconds=build
            )
        options: Sequence[Option] = start
    else:
        options = model.options(answer.values)
    outcome = _realised(costs, options, start, request, answer.stop, answer.bound)
    versions = {}
    if answer.backend:
        versions[answer.backend] = answer.version
    return replace(outcome, build_seconds=build, versions=versions)


def _costs_in_time(
    costs: QuantumCosts, lengths: Iterable[int], deadline: Deadline
) -> bool:
    """Compute the cost of every option in cycles of these *lengths*, in ticks.

    Return False if the *deadline* passes before all are computed.
    """
    for length in lengths:
        for job in range(len(costs.problem.jobs)):
            if deadline.expired():
                return False
            for option in costs.problem.options(job):
                costs.cost(job, option, length)
    return True


def _realised(
    costs: QuantumCosts,
    options: Sequence[Option],
    start: Sequence[Option] | None,
    request: SolveRequest,
    stop: StopReason,
    bound: float | None = None,
) -> Outcome:
    """Simulate *options*, compare them with the plan of the *start* and with simpler
    plans, and return the best outcome.

    If one visit per cycle is tried, the program is solved again with such options only.
    """

    def again(once: QuantumSelectionProblem) -> Sequence[Option] | None:
        single = QuantumCosts(once)
        start = greedy_options(single, Incumbents(request.deadline))
        lengths = cycle_grid(single, request.deadline)
        if not _costs_in_time(single, lengths, request.deadline):
            return start
        model = QuantumModel(single, lengths)
        answer = run(model, start, request)
        if answer.found:
            return model.options(answer.values)
        return start

    return realised_outcome(costs, options, again, bound, stop, request.deadline, start)


def _start(costs: QuantumCosts, request: SolveRequest) -> Sequence[Option] | None:
    """Return the options to start from: the greedy's, or those of the request's plan if
    they cost less.
    """
    start: Sequence[Option] | None = greedy_options(costs, request.incumbents)
    if request.start is None:
        return start
    chosen = [request.start.options[job.id] for job in costs.problem.jobs]
    given = [(choice.quantum_seconds, choice.visits) for choice in chosen]
    if start is None or costs.total(given) < costs.total(start):
        return given
    return start


def run(
    model: QuantumModel, start: Sequence[Option] | None, request: SolveRequest
) -> BackendAnswer:
    """Solve *model* by the backend that *request* names (default HiGHS), from
    *start*.
    """
    values = None
    if start is not None:
        values = model.start_values(start)
    limits = BackendLimits.of(request)
    return solve_program(model.program, request.options.backend, limits, values)
