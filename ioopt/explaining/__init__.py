"""Explain a plan: how its time is spent, what determines its bound, and which resource
would help most.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ioopt import registry
from ioopt.checking import judge
from ioopt.comparing.measures import Row
from ioopt.errors import IooptError, NotApplicableError, UsageError
from ioopt.families import ANYTIME, WARM_START, Kind, Metric, SolverSpec, Turn
from ioopt.options import Deadline
from ioopt.problems.base import Json
from ioopt.registry import measure_of
from ioopt.result import Result, measured
from ioopt.solving import load, solve
from ioopt.tables import percent
from ioopt.units import quantity, title
from ioopt.verdict import best_of, strongest_sound

TOLD = 1e-3
"""Gains that are smaller than this share of the value are not mentioned."""


@dataclass(frozen=True)
class Knob:
    """The effect of 10 % more of one *resource* (None: the instance is unchanged): the
    measure of the best plan found, and its bound.

    ``gain`` is the improvement as a share of the value for the unchanged instance.
    ``sure`` is true when the gain exceeds the difference between two searches of the
    same instance.
    """

    resource: str | None
    value: float | None
    bound: float | None
    gain: float | None = None
    sure: bool = True


@dataclass(frozen=True)
class Explanation:
    """The sentences of an explanation, and the figures on which the last two sentences
    are based.

    ``noise`` is the largest difference between plans of the unchanged instance, as a
    share of the value.
    """

    sentences: tuple[str, ...]
    measure: str
    knobs: tuple[Knob, ...]
    noise: float = 0.0


def explain(
    source: Any,
    result: Result,
    *,
    time_limit: float = 5.0,
) -> Explanation:
    """Explain *result* on its instance; for each resource that is varied, the solver
    runs once more, for *time_limit* seconds.

    All plans that were found, that of *result* first, are replayed with 10 % more of
    each resource, and the best replay counts. More of a resource therefore never looks
    worse, because the old plan can still be carried out.

    Raises UsageError for kinds that have no explanation, and for results without plan
    or schedule.
    """
    problem = load(source)
    kind = registry.kind_of_problem(problem)
    if not kind.explains:
        able = ", ".join(row.kind for row in registry.KINDS.values() if row.explains)
        raise UsageError(f"{kind.kind} is not explained; kinds that are: {able}")
    if result.schedule is None:
        raise UsageError(
            "the result has no schedule to explain; solve or simulate it first"
        )
    found = judge(problem, result, "result")[0]
    if found:
        raise UsageError(
            f"the result does not hold on this instance ({found[0]}); see ioopt check"
        )
    trials = _Trials(result, kind, measure_of(kind), time_limit)
    knobs, noise = _tried(trials, problem, kind.knobs())
    sentences = (
        _standing(result, trials.measure, knobs[0]),
        *kind.explain(problem, result),
        _held(trials.measure, knobs, kind.knob_units),
        _helped(trials.measure, knobs, noise),
    )
    return Explanation(sentences, trials.measure.name, tuple(knobs), noise)


@dataclass
class _Trials:
    """Runs and replays of variants of an instance with the solver of the given
    result.
    """

    at_hand: Result
    kind: Kind
    measure: Metric
    time_limit: float
    spec: SolverSpec | None = None
    plans: list[Json] = field(default_factory=list)

    def __post_init__(self) -> None:
        # A function without an importable name cannot be called again; its plan is only
        # replayed.
        with suppress(UsageError):
            self.spec = registry.solver(self.at_hand.solver, self.kind)
        self._keep(self.at_hand.plan)

    @property
    def searching(self) -> bool:
        """Return whether the solver may find another plan if it has more time or
        another seed.
        """
        return self.spec is not None and ANYTIME in self.spec.abilities

    def solved(self, data: Json, seeds_later: int = 0) -> Result | None:
        """Return the solver's answer for the instance *data*, started from the given
        plan; None when the solver cannot take the instance.

        *seeds_later* is added to the seed of the given result.
        """
        if self.spec is None:
            return None
        warm = WARM_START in self.spec.abilities
        try:
            found = solve(
                data,
                self.at_hand.solver,
                measure=self.measure.name,
                settings=self.at_hand.options.get("settings") or {},
                seed=(self.at_hand.seed or 0) + seeds_later,
                time_limit=self.time_limit,
                warm_start=self.at_hand if warm else None,
            )
        except NotApplicableError:
            return None
        if found.value is not None:
            self._keep(found.plan)
        return found

    def replayed(self, data: Json) -> list[float]:
        """Replay all plans found so far on the instance *data*; return the measure's
        value for each sound replay.

        The replays end at the time limit, but not before one of them was sound.
        """
        values: list[float] = []
        deadline = Deadline(self.time_limit)
        for plan in self.plans:
            if values and deadline.expired():
                break
            with suppress(IooptError):
                again = solve(
                    data,
                    partial(_as_it_is, plan),
                    measure=self.measure.name,
                    bound=False,
                )
                if again.value is not None:
                    values.append(again.value)
        return values

    def best(self, values: Iterable[float | None]) -> float | None:
        """Return the best of the known *values*; None if none is known."""
        return best_of(self.measure.sense, values)

    def _keep(self, plan: Json | None) -> None:
        if plan is not None and plan not in self.plans:
            self.plans.append(plan)


def _as_it_is(plan: Json, problem: object) -> Json:
    """Return *plan* as the answer to *problem*; this solver only passes a known plan to
    replay and check.
    """
    return plan


def _tried(
    trials: _Trials, problem: Any, turns: Mapping[str, Turn]
) -> tuple[list[Knob], float]:
    """Return the effect of each resource, and the noise of the searches; the first
    effect is that of the unchanged instance.
    """
    plain: Json = problem.model_dump(mode="json", by_alias=True)
    variants: dict[str, Json] = {}
    for resource, turn in turns.items():
        data = deepcopy(plain)
        if turn(data):
            variants[resource] = data
    answers = {resource: trials.solved(data) for resource, data in variants.items()}
    again = [trials.solved(plain, later) for later in range(1 + trials.searching)]
    searched = [answer.value for answer in again if answer is not None]
    at_hand = measured(trials.at_hand.summary(), trials.measure.name)
    value = trials.best([at_hand, *searched, *trials.replayed(plain)])
    bounds = [
        answer.bound for answer in (*answers.values(), *again) if answer is not None
    ]
    # A bound that is valid with more of a resource is also valid with less.
    same = Knob(None, value, strongest_sound(trials.measure.sense, value, bounds))
    gaps = [_gain(trials.measure, other, value) for other in (at_hand, *searched)]
    noise = max((gap for gap in gaps if gap is not None), default=0.0)
    knobs = [same]
    for resource, answer in answers.items():
        replays = trials.replayed(variants[resource])
        knobs.append(_effect(trials, resource, answer, replays, same, noise))
    return knobs, noise


def _effect(
    trials: _Trials,
    resource: str,
    answer: Result | None,
    replays: Sequence[float | None],
    same: Knob,
    noise: float,
) -> Knob:
    """Return the effect of more of *resource*. It compares the solver's *answer* and
    the *replays* for more of the resource with *same*, the unchanged instance.
    """
    found = answer.value if answer is not None else None
    bound = answer.bound if answer is not None else None
    most = trials.best([found, *replays, same.value])
    gain = _gain(trials.measure, same.value, most)
    proven = same.value == same.bound and bound == most
    sure = proven or gain is None or gain == 0 or gain > noise
    return Knob(resource, most, bound, gain, sure)


def _gain(measure: Metric, now: float | None, then: float | None) -> float | None:
    """Return the improvement from *now* to *then* as a share of *now*; None if it is
    unknown.
    """
    if not now or then is None:
        return None
    return (now - then) / abs(now) * (1 if measure.sense == "min" else -1)


def _standing(result: Result, measure: Metric, same: Knob) -> str:
    """Return the sentence on the value of the plan and its distance from the best
    possible plan.
    """
    row: Row = result.summary()
    value = measured(row, measure.name)
    name = title(measure.name)
    if value is None:
        return f"{result.solver} has no sound plan: its status is {result.status}."
    text = f"The {name} of {result.solver}'s plan is {quantity(measure.name, value)}"
    if same.value is not None and abs(same.value - value) > 1e-9 * abs(value):
        text += f" (solved again: {quantity(measure.name, same.value, value)})"
        value = same.value
    if same.bound is None or not value:
        return f"{text}; how far the best plan is from it is not known."
    left = _gain(measure, value, same.bound) or 0.0
    if left <= 1e-9:
        return f"{text}, which is proven to be the best."
    least = quantity(measure.name, same.bound, value)
    side = "less" if measure.sense == "min" else "more"
    return (
        f"{text}; no plan has {side} than {least}, so at most {percent(left)} can be "
        "gained."
    )


def _held(measure: Metric, knobs: Sequence[Knob], units: Mapping[str, str]) -> str:
    """Return the sentence on the resource that determines the bound, and on the effect
    of 10 % more of this resource.
    """
    gains: dict[str, float] = {}
    for knob in knobs[1:]:
        gain = _gain(measure, knobs[0].bound, knob.bound)
        if gain is not None:
            gains[str(knob.resource)] = gain
    if not gains:
        return f"No bound of the {title(measure.name)} is known."
    side = "lower"
    moves = "lowers"
    if measure.sense != "min":
        side = "upper"
        moves = "raises"
    resource = max(gains, key=lambda name: gains[name])
    if gains[resource] < TOLD:
        return (
            f"None of the resources tried sets the {side} bound: 10 % more of any does "
            "not change it, because the length or order of the work sets it."
        )
    more = f"10 % more {units.get(resource, 'of it')}"
    return (
        f"{resource[0].upper()}{resource[1:]} sets the {side} bound: {more} {moves} it "
        f"by {percent(gains[resource])}."
    )


def _helped(measure: Metric, knobs: Sequence[Knob], noise: float = 0.0) -> str:
    """Return the sentence on the resource of which 10 % more would help the solver
    most.
    """
    helping = [
        knob for knob in knobs[1:] if knob.gain is not None and knob.gain >= TOLD
    ]
    told = [knob for knob in helping if knob.sure]
    told.sort(key=lambda knob: -(knob.gain or 0.0))
    unsure = [str(knob.resource) for knob in helping if not knob.sure]
    doubt = (
        f"cannot tell for {', '.join(unsure)}: less than the {percent(noise)} by "
        "which plans of the instance as it is differ; a longer --time-limit may tell"
    )
    if not told:
        if unsure:
            return f"Whether 10 % more of one resource would help: {doubt}."
        return "10 % more of no single resource would help this solver."
    first, *others = told
    text = (
        f"10 % more of {first.resource} would help most: {percent(first.gain)}, to "
        f"{quantity(measure.name, first.value, knobs[0].value)}"
    )
    more = [f"{other.resource} {percent(other.gain)}" for other in others]
    if more:
        text += f" ({', '.join(more)})"
    elif not unsure:
        text += "; the other resources would hardly help"
    if unsure:
        text += f"; {doubt}"
    return f"{text}."
