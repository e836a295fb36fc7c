"""Exact quantum selection by integer programming (F4)."""

from collections.abc import Sequence
from dataclasses import replace

from ioopt.models.flexgang.quantum import QuantumCosts, QuantumModel
from ioopt.problems.flexgang.quantum_selection import Option, QuantumSelectionProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import Status, StopReason
from ioopt.solvers.backends.answer import BackendAnswer, BackendLimits
from ioopt.solvers.backends.solve import solve_program
from ioopt.solvers.flexgang.quantum_greedy import cycle_grid, greedy_options, realised_outcome


def solve(problem: QuantumSelectionProblem, request: SolveRequest) -> Outcome:
    """Build the program, start it from the greedy's plan, and realise what it finds."""
    costs = QuantumCosts(problem)
    begun = request.deadline.elapsed()
    start = _start(costs, request)
    if start is not None and request.deadline.expired():
        return _realised(costs, start, request, StopReason.TIME)
    lengths = {*cycle_grid(costs), *([costs.cycle(start)] if start is not None else [])}
    model = QuantumModel(costs, sorted(lengths))
    if start is not None:
        request.incumbents.report(costs.plan(start), costs.total(start))
    build = request.deadline.elapsed() - begun
    answer = run(model, start, request)
    if not answer.found:
        infeasible = answer.status is Status.INFEASIBLE
        if start is None or infeasible:
            return Outcome(None, stop=answer.stop, infeasible=infeasible, build_seconds=build)
        options: Sequence[Option] = start
    else:
        options = model.options(answer.values)
    outcome = _realised(costs, options, request, answer.stop, answer.bound)
    versions = {answer.backend: answer.version} if answer.backend else {}
    return replace(outcome, build_seconds=build, versions=versions)


def _realised(
    costs: QuantumCosts,
    options: Sequence[Option],
    request: SolveRequest,
    stop: StopReason,
    bound: float | None = None,
) -> Outcome:
    """The outcome of *options*; where it must fall back to one visit, by the program again."""

    def again(once: QuantumSelectionProblem) -> Sequence[Option] | None:
        single = QuantumCosts(once)
        model, start = QuantumModel(single, cycle_grid(single)), greedy_options(single)
        answer = run(model, start, request)
        return model.options(answer.values) if answer.found else start

    return realised_outcome(costs, options, again, bound, stop, request.deadline)


def _start(costs: QuantumCosts, request: SolveRequest) -> Sequence[Option] | None:
    """The greedy's options or those of the plan that the request brings, whichever cost less."""
    start: Sequence[Option] | None = greedy_options(costs)
    if request.start is None:
        return start
    chosen = [request.start.options[job.id] for job in costs.problem.jobs]
    given = [(choice.quantum_seconds, choice.visits) for choice in chosen]
    better = start is None or costs.total(given) < costs.total(start)
    return given if better else start


def run(
    model: QuantumModel, start: Sequence[Option] | None, request: SolveRequest
) -> BackendAnswer:
    """Run the backend that the request names (default HiGHS) on *model*."""
    values = model.start_values(start) if start is not None else None
    limits = BackendLimits.of(request)
    return solve_program(model.program, request.options.backend, limits, values)
