"""Exact flexible gang assignment: one model a pattern, the best wins; then
re-ranked by simulation.

Strict, filled and greedy plans are warm starts and stay candidates, so that the answer
is never worse than a baseline (F5 and F6). The deadline counts everything
(docs/flexgang-assignment.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from ioopt.measure.io_server import SECONDS_PER_BURST, use_compiled
from ioopt.metrics import mean_and_standard_error
from ioopt.models.flexgang.frame import PatternData, covered, model_objective
from ioopt.options import Deadline
from ioopt.problems.base import Json, Record
from ioopt.problems.flexgang.flexible_gang import FlexibleGangPlan, FlexibleGangProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.sim.flexgang.flexible_gang import measure, num_bursts_drawn
from ioopt.solvers.flexgang.greedy import best_of, greedy_plans
from ioopt.solvers.flexgang.pattern_search import PatternSearch
from ioopt.solvers.flexgang.strict import try_strict

SELECTION_SEEDS = tuple(range(10_001, 10_007))
"""Seeds on which plans are chosen; reports use others."""
SELECTION_SECONDS = 40.0
CERTAIN = 2.0
"""Standard errors by which a candidate must beat the best baseline."""


@dataclass(frozen=True)
class Candidate:
    """A plan with where it comes from and what the model says of it."""

    label: str
    plan: FlexibleGangPlan
    model_objective: float
    baseline: bool = False


@dataclass(frozen=True)
class Ranked:
    """A candidate with its simulated objective under each selection seed."""

    candidate: Candidate
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean simulated objective."""
        return fmean(self.values)

    def row(self) -> Json:
        """The line of a report."""
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
    """Candidates with the winner first, the others by falling simulated objective.

    Baselines and the model's best plan are simulated first, the others while *deadline*
    leaves time; where it is too short for the former the list is empty. A candidate
    that does not beat the best baseline by two standard errors of their paired
    difference gives way to it.
    """
    order = sorted(
        candidates, key=lambda item: (not item.baseline, -item.model_objective)
    )
    clock = deadline or Deadline(None)
    needed = min(len(order), 1 + sum(item.baseline for item in order))
    ranked: list[Ranked] = []
    bursts = num_bursts_drawn(problem, seconds)
    fast = use_compiled(bursts * len(seeds) * len(order), clock)
    run = 0.0 if fast else SECONDS_PER_BURST * bursts
    if fast:  # loaded before runs are timed
        measure(problem, order[0].plan, seeds[0], 1.0, fast)
    for at, item in enumerate(order):
        # What must still be simulated, the winner's report among it.
        ahead = 1 + (needed - at if at < needed else 1)
        if clock.remaining() <= ahead * len(seeds) * run:
            break
        begun = clock.elapsed()
        values = [
            measure(problem, item.plan, seed, seconds, fast).objective for seed in seeds
        ]
        run = max(run, (clock.elapsed() - begun) / len(seeds))
        ranked.append(Ranked(item, tuple(values)))
    if len(ranked) < needed:
        return []
    ranked.sort(key=lambda item: -item.mean)
    baseline = next((item for item in ranked if item.candidate.baseline), None)
    if baseline is not None:
        gains = [a - b for a, b in zip(ranked[0].values, baseline.values)]
        mean, error = mean_and_standard_error(gains)
        if mean <= CERTAIN * (error or 0.0):  # no more than the noise between seeds
            ranked.remove(baseline)
            ranked.insert(0, baseline)
    return ranked


GREEDY_RESERVE = 0.1
"""Part of the time limit in which no further greedy plan is begun."""
RESERVE_FRACTION = 0.2
"""Part of the time limit kept for simulation."""


class Settings(Record):
    """``rerank``: choose by simulation (auto: unless the instance brings its own
    surface, whose numbers the simulator does not follow). ``patterns``: ``all``, or
    ``strict`` for k = 0 alone.
    """

    rerank: Literal["auto", "true", "false"] = "auto"
    patterns: Literal["all", "strict"] = "all"


def solve(
    problem: FlexibleGangProblem, request: SolveRequest[Settings, FlexibleGangPlan]
) -> Outcome[FlexibleGangPlan]:
    """Solve all patterns within the deadline and return the plan that simulates best.
    """
    settings = request.settings or Settings()
    begun = request.deadline.elapsed()
    # Before anything else, and for longer, so that they have the time that the greedy
    # solver would have.
    greedy = list(greedy_plans(problem, request.deadline, GREEDY_RESERVE))
    wanted = [
        item for item in problem.patterns() if settings.patterns == "all" or not item.k
    ]
    patterns = [item for item in wanted if covered(problem, item)]
    skipped = " ".join(item.key for item in wanted if item not in patterns)
    notes = [f"patterns without an entry in the surface: {skipped}"] if skipped else []
    search = PatternSearch(problem, patterns, request)
    baselines = _baselines(problem, search, greedy)
    build = request.deadline.elapsed() - begun
    limit = request.options.time_limit_seconds
    search.relax()
    search.run(
        request.options.gap or 0.0, 0.0 if limit is None else RESERVE_FRACTION * limit
    )
    candidates = _candidates(search, baselines)
    metrics: Json = {
        "per_pattern": {state.pattern.key: state.row() for state in search.states},
        "model_best": search.best if math.isfinite(search.best) else None,
    }
    stop = search.stop_reason(request.options.gap or 0.0)
    outcome: Outcome[FlexibleGangPlan] = Outcome(
        None, stop=stop, build_seconds=build, metrics=metrics, versions=search.versions
    )
    if not candidates:
        infeasible = all(
            state.status == "infeasible" for state in search.states
        )  # proven
        return replace(outcome, infeasible=infeasible, notes=tuple(notes))
    plan = max(candidates, key=lambda item: item.model_objective).plan
    if settings.rerank == "true" or (
        settings.rerank == "auto" and problem.surface is None
    ):
        ranked = rerank(problem, candidates, deadline=request.deadline)
        if not ranked:
            notes.append(
                "chosen by the model alone: no time was left to simulate the candidates"
            )
        elif len(ranked) < len(candidates):
            left_out = len(candidates) - len(ranked)
            notes.append(f"{left_out} candidates were not simulated: no time was left")
        metrics["ranking"] = [item.row() for item in ranked]
        if ranked:
            chosen = ranked[0].candidate
            if chosen.model_objective < search.best - 1e-9:
                notes.append(
                    f"chosen by simulation: {chosen.label} ({ranked[0].mean:.4f} "
                    f"simulated, {chosen.model_objective:.4f} in the model) over the "
                    f"model's best ({search.best:.4f})"
                )
            plan, trace = chosen.plan, request.incumbents.trace
            # A plan that the model alone ranks higher was no better answer on the way.
            trace[:] = [
                row for row in trace if row[1] <= chosen.model_objective * (1 + 1e-9)
            ]
    return replace(outcome, plan=plan, bound=search.bound, notes=tuple(notes))


def _baselines(
    problem: FlexibleGangProblem,
    search: PatternSearch,
    greedy: list[tuple[PatternData, FlexibleGangPlan]],
) -> dict[str, FlexibleGangPlan]:
    """Strict, strict + fill and the best of the *greedy* plans, those that keep the
    floors.

    The search starts from them and from the plan that its request brings.
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
    if (
        request.start is not None
        and f"{request.start.k},{request.start.d}" in search.by_key
    ):
        search.offer(request.start)
    best = max(search.states, key=lambda state: state.value, default=None)
    if best is not None and best.plan is not None:
        request.incumbents.report(best.plan, best.value, search.bound)
    return found


def _candidates(
    search: PatternSearch, plans: dict[str, FlexibleGangPlan]
) -> list[Candidate]:
    """The baselines, the model of strict rows among them, then the models' plans."""
    named = [
        Candidate(
            name,
            plan,
            model_objective(search.by_key[f"{plan.k},{plan.d}"].data, plan),
            True,
        )
        for name, plan in plans.items()
    ]
    strict = search.by_key.get("0,1")
    if strict is not None and strict.plan is not None:
        named.append(Candidate("k0-model", strict.plan, strict.value, True))
    return named + [
        Candidate(f"model {state.pattern.key}", state.plan, state.value)
        for state in search.states
        if state.plan is not None and state.pattern.k
    ]
