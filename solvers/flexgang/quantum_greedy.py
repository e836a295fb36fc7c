"""Select quanta greedily: the best uniform quantum, then coordinate descent (F4).

The surface assumes evenly spaced slots, but slots of different lengths are not. So
plans are simulated, and a plan with several visits per cycle is kept only if its
realised cost is at most 5 % above the predicted one.
"""

import math
from collections.abc import Callable, Sequence

from ioopt.models.flexgang.quantum import QuantumCosts
from ioopt.options import Deadline
from ioopt.problems.flexgang.quantum_selection import Option, QuantumSelectionProblem
from ioopt.protocols import Incumbents, Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.sim.flexgang.quantum_selection import simulate

PASSES = 6
"""Most passes of the descent over all jobs."""


def greedy_options(
    costs: QuantumCosts, found: Incumbents | None = None
) -> list[Option] | None:
    """Return one option per job, or None if the descent ends below a floor.

    The descent begins with the best uniform quantum, which every job gets once per
    cycle. Up to six passes over the jobs in their order give each the option with the
    least total cost; the cycle length L = sum f q follows. Ties keep the present
    option, then the first of the menu. Plans that keep the floors are reported to
    *found*. Past its deadline, which is checked between quanta and between jobs, return
    the best options so far.
    """
    problem = costs.problem
    found = found or Incumbents(Deadline(None))
    first = [problem.options(job)[0] for job in range(len(problem.jobs))]
    options = _least_uniform(costs, found) or first
    best = _key(costs, options)
    for _ in range(PASSES):
        before = list(options)
        for job in range(len(problem.jobs)):
            if found.deadline.expired():
                return _if_floors_kept(options, best)
            for option in problem.options(job):
                trial = [*options[:job], option, *options[job + 1 :]]
                key = _key(costs, trial)
                if key < best:
                    options = trial
                    best = key
        _report(costs, options, best, found)
        if options == before:
            break
    return _if_floors_kept(options, best)


def _if_floors_kept(
    options: list[Option], key: tuple[int, float]
) -> list[Option] | None:
    """Return *options*, or None if their *key* says that a job is below its floor."""
    below_floor, _ = key
    if below_floor:
        return None
    return options


def cycle_grid(
    costs: QuantumCosts, deadline: Deadline | None = None
) -> tuple[int, ...]:
    """Return the cycle lengths in ticks for the program: the instance's and the
    greedy's.

    Without the greedy's length, the greedy could beat the program.
    """
    lengths = set(costs.problem.default_cycles())
    menus = [costs]
    single = costs.problem.one_visit()
    if single is not None:
        menus.append(QuantumCosts(single))
    for menu in menus:
        options = greedy_options(menu, Incumbents(deadline or Deadline(None)))
        if options is not None:
            lengths.add(costs.cycle(options))
    return tuple(sorted(lengths))


def _least_uniform(
    costs: QuantumCosts, found: Incumbents | None = None
) -> list[Option] | None:
    """Return the best plan with one quantum for all jobs once per cycle.

    It may break floors. None if no quantum is on all menus; ties go to the first
    quantum. Each plan that is the best so far is reported to *found*; once its deadline
    has expired no other is tried.
    """
    found = found or Incumbents(Deadline(None))
    menus = [costs.problem.options(job) for job in range(len(costs.problem.jobs))]
    quanta = dict.fromkeys(q for menu in menus for q, _ in menu)
    options: list[Option] | None = None
    least = (len(menus) + 1, math.inf)
    for quantum in quanta:
        if not all((quantum, 1) in menu for menu in menus):
            continue
        if options is not None and found.deadline.expired():
            break
        uniform: list[Option] = [(quantum, 1) for _ in menus]
        key = _key(costs, uniform)
        if key < least:
            options = uniform
            least = key
            _report(costs, uniform, key, found)
    return options


def _report(
    costs: QuantumCosts,
    options: Sequence[Option],
    key: tuple[int, float],
    found: Incumbents,
) -> None:
    """Report *options* as the best plan so far if all jobs reach their floors."""
    below_floor, cost = key
    if below_floor == 0:
        found.report(costs.plan(options), cost)


def _key(costs: QuantumCosts, options: Sequence[Option]) -> tuple[int, float]:
    """Return the key to compare plans by: (jobs below their floor, cost of other
    jobs).
    """
    cycle = costs.cycle(options)
    each = [costs.cost(job, option, cycle) for job, option in enumerate(options)]
    finite = [cost for cost in each if math.isfinite(cost)]
    return len(each) - len(finite), math.fsum(finite)


AGREEMENT = 0.05
"""Largest accepted (realised - predicted) / predicted of a plan with several visits."""

Chooser = Callable[[QuantumSelectionProblem], Sequence[Option] | None]


def realised_outcome(
    costs: QuantumCosts,
    options: Sequence[Option],
    again: Chooser,
    bound: float | None = None,
    stop: StopReason = StopReason.FINISHED,
    deadline: Deadline | None = None,
) -> Outcome:
    """Simulate several plans; return the outcome with the least realised cost.

    The plans are *options*; the options of *again*, which solves the one-visit problem,
    if several visits per cycle cost much more than predicted; and the best uniform
    quantum. Notes compare them. Plans not simulated before the *deadline* are left out;
    if even the first is not, its plan is returned.
    """
    told: list[str] = []
    simulation = simulate(costs.problem, costs.plan(options), deadline=deadline)
    if "realised" not in simulation.metrics:
        return Outcome(costs.plan(options), bound, stop, simulation=simulation)
    predicted = costs.total(options)
    realised = simulation.metrics["realised"]
    # A plan with one visit needs no comparison.
    several = any(visits > 1 for _, visits in options)
    tried = [(realised, options, simulation)]

    def attempt(other: Sequence[Option]) -> float | None:
        """Simulate *other*, record it as tried, and return its cost; None if time is
        up.
        """
        found = simulate(costs.problem, costs.plan(other), deadline=deadline)
        if "realised" not in found.metrics:
            return None
        tried.append((found.metrics["realised"], other, found))
        return float(found.metrics["realised"])

    if several and realised - predicted > AGREEMENT * predicted:
        once = costs.problem.one_visit()
        single = None
        why = "is not on every menu"
        if once is not None:
            single = again(once)
            why = "cannot keep the floors"
        apart = (
            f"several visits per cycle cost {realised:.4g} in simulation, more "
            f"than {AGREEMENT:.0%} above the predicted {predicted:.4g}"
        )
        if single is None:
            told.append(f"one visit per cycle {why}; {apart}")
        elif (once_a_cycle := attempt(single)) is None:
            told.append(
                f"no time was left to simulate the plan with one visit of each class "
                f"per cycle; {apart}"
            )
        elif once_a_cycle < realised:
            told.append(f"fell back to one visit per cycle: {apart}")
        else:
            told.append(
                f"one visit per cycle costs no less ({once_a_cycle:.4g}); {apart}"
            )
    uniform = _least_uniform(costs)
    if uniform is not None and _key(costs, uniform)[0] == 0:
        before = min(cost for cost, *_ in tried)
        cost = attempt(uniform)
        if cost is None:
            told.append("no time was left to simulate the best uniform quantum")
        elif cost < before:
            told.append(
                f"the best uniform quantum costs less: {cost:.4g} against {before:.4g}"
            )
        elif cost > 0:
            saved = f"the plan saves {1 - before / cost:.1%} of it"
            told.append(f"the best uniform quantum costs {cost:.4g}: {saved}")
    _, options, simulation = min(tried, key=lambda attempted: attempted[0])
    return Outcome(
        costs.plan(options), bound, stop, simulation=simulation, notes=tuple(told)
    )


def solve(problem: QuantumSelectionProblem, request: SolveRequest) -> Outcome:
    """Solve by greedy descent; return no plan if it ends below a floor."""
    costs = QuantumCosts(problem)
    options = greedy_options(costs, request.incumbents)
    late = request.deadline.expired()
    if options is None and late:
        return Outcome(None, stop=StopReason.TIME)
    if options is None:
        note = (
            "the greedy found no options that keep every floor; quantum-ip "
            "decides whether any exist"
        )
        return Outcome(None, stop=StopReason.ITERATIONS, notes=(note,))

    def again(once: QuantumSelectionProblem) -> Sequence[Option] | None:
        return greedy_options(QuantumCosts(once), Incumbents(request.deadline))

    stop = StopReason.FINISHED
    if late:
        stop = StopReason.TIME
    return realised_outcome(costs, options, again, stop=stop, deadline=request.deadline)
