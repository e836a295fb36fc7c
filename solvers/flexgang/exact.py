"""Assign flexible gangs exactly: solve a program for every pattern and simulate the
plans.

The strict, filled and greedy plans start the search and remain candidates, so the
answer is never worse than a baseline (F5 and F6). The deadline covers all steps
(docs/flexgang-assignment.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from ioopt.measure.io_server import serving_seconds
from ioopt.metrics import mean_and_standard_error
from ioopt.models.flexgang.frame import PatternData, covered, model_objective
from ioopt.options import Deadline
from ioopt.problems.base import Json, Record
from ioopt.problems.flexgang.flexible_gang import (
    FlexibleGangPlan,
    FlexibleGangProblem,
    Pattern,
)
from ioopt.protocols import Outcome, SolveRequest
from ioopt.sim.flexgang.flexible_gang import measure, num_bursts_drawn
from ioopt.solvers.flexgang.greedy import best_of, greedy_plans
from ioopt.solvers.flexgang.pattern_search import PatternSearch
from ioopt.solvers.flexgang.strict import try_strict

SELECTION_SEEDS = tuple(range(10_001, 10_007))
"""Simulation seeds on which plans are chosen; reports use other seeds."""
SELECTION_SECONDS = 40.0
CERTAIN = 2.0
"""Number of standard errors by which a candidate must beat the best baseline."""


@dataclass(frozen=True)
class Candidate:
    """Represent a plan that may be the answer.

    ``label`` names the method that made it; ``model_objective`` is its objective in the
    model.
    """

    label: str
    plan: FlexibleGangPlan
    model_objective: float
    baseline: bool = False


@dataclass(frozen=True)
class Ranked:
    """Represent a candidate with its simulated objective for each selection seed."""

    candidate: Candidate
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Return the mean of the simulated objectives."""
        return fmean(self.values)

    def row(self) -> Json:
        """Return the entry of the candidate in the metric ``ranking``."""
        return {
            "candidate": self.candidate.label,
            "k": self.candidate.plan.k,
            "d": self.candidate.plan.d,
            "model": self.candidate.model_objective,
            "simulated": self.mean,
        }


def rerank(
    problem: FlexibleGangProblem,
    candidates: Sequence[Candidate],
    seeds: Sequence[int] = SELECTION_SEEDS,
    seconds: float = SELECTION_SECONDS,
    deadline: Deadline | None = None,
) -> list[Ranked]:
    """Return the simulated candidates: first the winner, then the others by mean
    objective, largest first.

    Baselines and the model's best plan are simulated first, the others while *deadline*
    leaves time. The list is empty if there is no time for the first group. The best
    baseline wins unless a candidate beats it by two standard errors of their paired
    difference.
    """
    order = sorted(
        candidates, key=lambda item: (not item.baseline, -item.model_objective)
    )
    clock = deadline or Deadline(None)
    needed = min(len(order), 1 + sum(item.baseline for item in order))
    ranked = _simulated(problem, order, needed, seeds, seconds, clock)
    if len(ranked) < needed:
        return []
    ranked.sort(key=lambda item: -item.mean)
    _prefer_baseline(ranked)
    return ranked


def _simulated(
    problem: FlexibleGangProblem,
    order: Sequence[Candidate],
    needed: int,
    seeds: Sequence[int],
    seconds: float,
    clock: Deadline,
) -> list[Ranked]:
    """Simulate the candidates in *order* as long as *clock* leaves time.

    The first *needed* candidates must all be simulated. So none is started that would
    leave too little time for the others of these.
    """
    ranked: list[Ranked] = []
    bursts = num_bursts_drawn(problem, seconds)
    run_seconds = serving_seconds(bursts)
    for at, item in enumerate(order):
        still_needed = max(1, needed - at)
        # Leave time to simulate the winner for the final report.
        ahead = 1 + still_needed
        if clock.remaining() <= ahead * len(seeds) * run_seconds:
            break
        begun = clock.elapsed()
        values = [
            measure(problem, item.plan, seed, seconds).objective for seed in seeds
        ]
        run_seconds = max(run_seconds, (clock.elapsed() - begun) / len(seeds))
        ranked.append(Ranked(item, tuple(values)))
    return ranked


def _prefer_baseline(ranked: list[Ranked]) -> None:
    """Put the best baseline first unless the winner is better with certainty."""
    baseline = next((item for item in ranked if item.candidate.baseline), None)
    if baseline is None:
        return
    gains = [a - b for a, b in zip(ranked[0].values, baseline.values)]
    mean, error = mean_and_standard_error(gains)
    # If the difference is within the noise between seeds, the baseline goes first.
    if mean <= CERTAIN * (error or 0.0):
        ranked.remove(baseline)
        ranked.insert(0, baseline)


GREEDY_RESERVE = 0.1
"""Share of the time limit, at its end, in which no further greedy plan is begun."""
RESERVE_FRACTION = 0.2
"""Share of the time limit that is reserved for simulation."""


class Settings(Record):
    """Configure ``exact``.

    ``rerank`` says whether the plan is chosen by simulation. With ``auto`` it is,
    unless the instance has a surface of its own, because the simulator does not follow
    its numbers. ``patterns`` is ``all``, or ``strict`` for the pattern k = 0 alone.
    """

    rerank: Literal["auto", "true", "false"] = "auto"
    patterns: Literal["all", "strict"] = "all"


def solve(
    problem: FlexibleGangProblem, request: SolveRequest[Settings, FlexibleGangPlan]
) -> Outcome[FlexibleGangPlan]:
    """Solve all patterns until the deadline; return the plan with the best simulated
    objective.
    """
    settings = request.settings or Settings()
    begun = request.deadline.elapsed()
    # The greedy plans come first, so that they get as much time as in the greedy
    # solver.
    greedy = list(greedy_plans(problem, request.deadline, GREEDY_RESERVE))
    patterns, notes = _patterns(problem, settings)
    search = PatternSearch(problem, patterns, request)
    baselines = _baselines(problem, search, greedy)
    build = request.deadline.elapsed() - begun
    gap = request.options.gap or 0.0
    reserve = RESERVE_FRACTION * (request.options.time_limit_seconds or 0.0)
    search.relax()
    search.run(gap, reserve)
    metrics = _metrics(search)
    outcome: Outcome[FlexibleGangPlan] = Outcome(
        None,
        stop=search.stop_reason(gap),
        build_seconds=build,
        metrics=metrics,
        versions=search.versions,
    )
    candidates = _candidates(search, baselines)
    if not candidates:
        proven = all(state.status == "infeasible" for state in search.states)
        return replace(outcome, infeasible=proven, notes=tuple(notes))
    plan = max(candidates, key=lambda item: item.model_objective).plan
    if _simulates(problem, settings):
        ranked = rerank(problem, candidates, deadline=request.deadline)
        metrics["ranking"] = [item.row() for item in ranked]
        notes += _ranking_notes(ranked, len(candidates), search.best)
        if ranked:
            plan = ranked[0].candidate.plan
            _forget_better(request, ranked[0].candidate.model_objective)
    return replace(outcome, plan=plan, bound=search.bound, notes=tuple(notes))


def _patterns(
    problem: FlexibleGangProblem, settings: Settings
) -> tuple[list[Pattern], list[str]]:
    """Return the patterns to solve, and a note on patterns that the surface does not
    cover.
    """
    wanted = list(problem.patterns())
    if settings.patterns == "strict":
        wanted = [item for item in wanted if item.k == 0]
    patterns = [item for item in wanted if covered(problem, item)]
    skipped = " ".join(item.key for item in wanted if item not in patterns)
    if skipped:
        return patterns, [
            (f"skipped patterns without an entry in the surface: {skipped}")
        ]
    return patterns, []


def _metrics(search: PatternSearch) -> Json:
    """Return the result of each pattern, and the best objective in the model."""
    per_pattern = {state.pattern.key: state.row() for state in search.states}
    best = None
    if math.isfinite(search.best):
        best = search.best
    return {"per_pattern": per_pattern, "model_best": best}


def _simulates(problem: FlexibleGangProblem, settings: Settings) -> bool:
    """Return whether the plan is chosen by simulation, according to *settings*."""
    if settings.rerank == "auto":
        return problem.surface is None
    return settings.rerank == "true"


def _ranking_notes(ranked: list[Ranked], count: int, model_best: float) -> list[str]:
    """Return notes on the ranking: which candidates were not simulated, and which one
    won.

    *count* is the number of candidates.
    """
    if not ranked:
        return [
            "chosen by the model alone: no time was left to simulate the candidates"
        ]
    notes: list[str] = []
    if len(ranked) < count:
        left_out = count - len(ranked)
        notes.append(f"{left_out} candidates were not simulated: no time was left")
    chosen = ranked[0].candidate
    if chosen.model_objective < model_best - 1e-9:
        notes.append(
            f"chosen by simulation: {chosen.label} ({ranked[0].mean:.4f} "
            f"simulated, {chosen.model_objective:.4f} in the model) over the "
            f"model's best ({model_best:.4f})"
        )
    return notes


def _forget_better(request: SolveRequest, objective: float) -> None:
    """Remove plans with a model objective above *objective* from the trace of
    incumbents.

    The simulation ranked them lower than the answer.
    """
    trace = request.incumbents.trace
    trace[:] = [row for row in trace if row[1] <= objective * (1 + 1e-9)]


def _baselines(
    problem: FlexibleGangProblem,
    search: PatternSearch,
    greedy: list[tuple[PatternData, FlexibleGangPlan]],
) -> dict[str, FlexibleGangPlan]:
    """Return the plans of strict, strict + fill and the best of *greedy*, as far as
    they are valid.

    Offer to *search*, as start plans, these plans, all plans of *greedy*, and the start
    plan of the request. Plans of *greedy* and the start plan are left out if *search*
    does not have their pattern.
    """
    found: dict[str, FlexibleGangPlan] = {}
    for name, fill in (("strict", False), ("strict-fill", True)):
        plan, _ = try_strict(problem, fill)
        if plan is not None:
            found[name] = plan
    known = [item for item in greedy if item[0].pattern.key in search.by_key]
    for _, plan in known:
        search.offer(plan)
    if known:
        found["greedy"] = best_of(known)
    for plan in found.values():
        search.offer(plan)
    request = search.request
    start = request.start
    if start is not None and f"{start.k},{start.d}" in search.by_key:
        search.offer(start)
    best = max(search.states, key=lambda state: state.value, default=None)
    if best is not None and best.plan is not None:
        request.incumbents.report(best.plan, best.value, search.bound)
    return found


def _candidates(
    search: PatternSearch, plans: dict[str, FlexibleGangPlan]
) -> list[Candidate]:
    """Return the candidates: first the baselines, then the best plan of each pattern.

    The best plan of the strict pattern counts as a baseline.
    """
    found: list[Candidate] = []
    for name, plan in plans.items():
        data = search.by_key[f"{plan.k},{plan.d}"].data
        found.append(Candidate(name, plan, model_objective(data, plan), baseline=True))
    strict = search.by_key.get("0,1")
    if strict is not None and strict.plan is not None:
        found.append(Candidate("k0-model", strict.plan, strict.value, baseline=True))
    for state in search.states:
        if state.plan is not None and state.pattern.k > 0:
            label = f"model {state.pattern.key}"
            found.append(Candidate(label, state.plan, state.value))
    return found
