"""Select quanta greedily: start from the best uniform quantum, then improve job by job
(F4).

The predicted cost assumes that the visits of a job are evenly spaced, but visits of
different lengths are not. So plans are simulated, and a plan with several visits per
cycle is kept only if its realised cost is at most 5 % above the predicted one.
"""

import math
from collections.abc import Callable, Sequence

from ioopt.models.flexgang.quantum import QuantumCosts
from ioopt.options import Deadline
from ioopt.problems.flexgang.quantum_selection import Option, QuantumSelectionProblem
from ioopt.protocols import Incumbents, Outcome, Simulation, SolveRequest
from ioopt.result import StopReason
from ioopt.sim.flexgang.quantum_selection import simulate

PASSES = 6
"""Largest number of passes of the descent over all jobs."""


def greedy_options(
    costs: QuantumCosts, found: Incumbents | None = None
) -> list[Option] | None:
    """Return one option for each job, or None if the descent ends with a job below its
    floor.

    The descent begins with the best uniform quantum, which every job gets once per
    cycle. Up to six passes over the jobs give each the option with the least total
    cost. The cycle length L, the sum of f q over all jobs, changes with it. Of equal
    options the present one is kept, then the first of the menu is taken. Plans that
    keep all floors are reported to *found*. Once its deadline has passed, the best
    options so far are returned.
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
    """Return the cycle lengths of the program, in ticks.

    They are those of the instance and of the greedy's plans. Without the latter, the
    greedy could find a better plan than the program.
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
    """Return the options of the best plan in which all jobs get one quantum once per
    cycle.

    The plan may miss floors. Of equal quanta the first is taken. Return None if no
    quantum is on all menus. Each plan that is the best so far is reported to *found*;
    once its deadline has passed, no further quantum is tried.
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
    """Report *options* as the best plan so far, if their *key* says that all floors are
    kept.
    """
    below_floor, cost = key
    if below_floor == 0:
        found.report(costs.plan(options), cost)


def _key(costs: QuantumCosts, options: Sequence[Option]) -> tuple[int, float]:
    """Return the key by which plans are compared: (number of jobs below their floor,
    cost of the other jobs).
    """
    cycle = costs.cycle(options)
    each = [costs.cost(job, option, cycle) for job, option in enumerate(options)]
    finite = [cost for cost in each if math.isfinite(cost)]
    return len(each) - len(finite), math.fsum(finite)


AGREEMENT = 0.05
"""Largest accepted excess of the realised cost of a plan with several visits.

It is relative to the predicted cost.
"""

Chooser = Callable[[QuantumSelectionProblem], Sequence[Option] | None]


class _Tried:
    """The plans of one solve that were simulated, and notes that compare them."""

    def __init__(self, costs: QuantumCosts, deadline: Deadline | None) -> None:
        self.costs = costs
        self.deadline = deadline
        self.plans: list[tuple[float, Sequence[Option], Simulation]] = []
        self.notes: list[str] = []
        self.last: Simulation | None = None

    def add(self, options: Sequence[Option]) -> float | None:
        """Simulate *options* and return their realised cost; None if the time is up."""
        plan = self.costs.plan(options)
        found = simulate(self.costs.problem, plan, deadline=self.deadline)
        self.last = found
        if "realised" not in found.metrics:
            return None
        cost = float(found.metrics["realised"])
        self.plans.append((cost, options, found))
        return cost

    @property
    def least(self) -> float:
        """Return the least realised cost so far."""
        return min(cost for cost, *_ in self.plans)

    def add_once(self, again: Chooser, realised: float, predicted: float) -> None:
        """Try options with one visit per cycle, because several cost *realised*
        instead of the *predicted* cost.
        """
        apart = (
            f"several visits per cycle cost {realised:.4g} in simulation, more "
            f"than {AGREEMENT:.0%} above the predicted {predicted:.4g}"
        )
        once = self.costs.problem.one_visit()
        if once is None:
            self.notes.append(f"one visit per cycle is not on every menu; {apart}")
            return
        single = again(once)
        if single is None:
            self.notes.append(f"one visit per cycle cannot keep the floors; {apart}")
            return
        cost = self.add(single)
        if cost is None:
            self.notes.append(
                "no time was left to simulate the plan with one visit of each class "
                f"per cycle; {apart}"
            )
        elif cost < realised:
            self.notes.append(f"fell back to one visit per cycle: {apart}")
        else:
            self.notes.append(
                f"one visit per cycle costs no less ({cost:.4g}); {apart}"
            )

    def add_start(self, start: Sequence[Option]) -> None:
        """Try the options from which the solver started."""
        before = self.least
        cost = self.add(start)
        if cost is None:
            self.notes.append("no time was left to simulate the plan of the start")
        elif cost < before:
            self.notes.append(
                f"the plan of the start costs less: {cost:.4g} against {before:.4g}"
            )

    def add_uniform(self, uniform: Sequence[Option]) -> None:
        """Try the best uniform quantum."""
        before = self.least
        cost = self.add(uniform)
        if cost is None:
            self.notes.append("no time was left to simulate the best uniform quantum")
        elif cost < before:
            self.notes.append(
                f"the best uniform quantum costs less: {cost:.4g} against {before:.4g}"
            )
        elif cost > 0:
            saved = f"the plan saves {1 - before / cost:.1%} of it"
            self.notes.append(f"the best uniform quantum costs {cost:.4g}: {saved}")


def realised_outcome(
    costs: QuantumCosts,
    options: Sequence[Option],
    again: Chooser,
    bound: float | None = None,
    stop: StopReason = StopReason.FINISHED,
    deadline: Deadline | None = None,
    start: Sequence[Option] | None = None,
) -> Outcome:
    """Simulate several plans; return the outcome of the one with the least realised
    cost.

    The plans are *options*, those from which the solver started (*start*, if it did),
    and the best uniform quantum. If several visits per cycle cost much more than
    predicted, the options that *again* returns for the one-visit problem are tried too.
    Notes compare the plans. A plan that cannot be simulated before the *deadline* is
    left out. If *options* cannot be simulated either, their plan is returned.
    """
    tried = _Tried(costs, deadline)
    realised = tried.add(options)
    if realised is None:
        return Outcome(costs.plan(options), bound, stop, simulation=tried.last)
    predicted = costs.total(options)
    # A plan with one visit needs no comparison.
    several = any(visits > 1 for _, visits in options)
    if several and realised - predicted > AGREEMENT * predicted:
        tried.add_once(again, realised, predicted)
    if start is not None and list(start) != list(options):
        tried.add_start(start)
    uniform = _least_uniform(costs)
    if uniform is not None and _key(costs, uniform)[0] == 0:
        tried.add_uniform(uniform)
    _, options, simulation = min(tried.plans, key=lambda attempted: attempted[0])
    notes = tuple(tried.notes)
    return Outcome(costs.plan(options), bound, stop, simulation=simulation, notes=notes)


def solve(problem: QuantumSelectionProblem, request: SolveRequest) -> Outcome:
    """Select quanta by greedy descent; return no plan if a job ends below its floor."""
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
