"""Explain a plan: how its time is spent, what determines its bound, and which resource
would help most.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ioopt import registry
from ioopt.checking import judge
from ioopt.comparing.measures import Row
from ioopt.errors import IooptError, NotApplicableError, UsageError
from ioopt.families import (
    ANYTIME,
    BOUND,
    EXACT,
    THREADS,
    Kind,
    Metric,
    Turn,
)
from ioopt.known_plans import known_plans
from ioopt.loading import load
from ioopt.problems.base import Json, Problem
from ioopt.registry import measure_of
from ioopt.result import Result, measured
from ioopt.solving import solve
from ioopt.tables import percent
from ioopt.units import quantity, title
from ioopt.verdict import best_of, own_bound, strongest_sound

TOLD = 1e-3
"""Gains that are smaller than this share of the value are not mentioned."""
TIMED = {ANYTIME, BOUND, EXACT, THREADS}
"""Abilities of solvers whose answer may depend on the time that they have."""
NO_LIMIT_SECONDS = 1e9
"""A time limit that no run reaches; without any limit, a search ends after a minute."""


@dataclass(frozen=True)
class Knob:
    """The effect of 10 % more of one *resource* (None: the instance is unchanged): the
    measure of the best plan found, and the bound that is known without a search.

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

    ``noise`` is the difference between searches of the unchanged instance, as a share
    of the value. ``proven`` is the strongest bound known of the unchanged instance,
    that of a search included. ``method`` says how the plans were found. ``assumed`` has
    the resources whose amount no record states. ``addends`` is what the objective adds
    up for each node, if it is such a sum.
    """

    sentences: tuple[str, ...]
    measure: str
    knobs: tuple[Knob, ...]
    noise: float = 0.0
    proven: float | None = None
    method: str = ""
    assumed: tuple[str, ...] = ()
    addends: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


Progress = Callable[[int, int, str], None]
"""Function: steps done, steps in all, words about the steps."""


def _silent(done: int, total: int, words: str) -> None:
    """Show nothing of the progress."""


def explain(
    source: object, result: Result, progress: Progress = _silent
) -> Explanation:
    """Explain *result* on its instance, with 10 % more of each resource in turn.
    *progress* is called after each search and after the replays for each resource.

    The plan of *result* is replayed with more of each resource, and a solver looks for
    a better plan. This solver is the one of *result* if its answer does not depend on
    the time that it has, else :meth:`Kind.counted_search`. All plans that were found
    are replayed with 10 % more of each resource, and the best replay counts. More of a
    resource therefore never looks worse, because the old plan can still be carried out.
    The clock decides nothing, so the same result has the same explanation everywhere.

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
    trials = _Trials(result, kind, measure_of(kind), progress)
    trials.choose_solver(problem)
    knobs, proven, noise = _tried(trials, problem, kind.knobs())
    sentences = (
        _standing(result, trials.measure, replace(knobs[0], bound=proven)),
        *kind.explain(problem, result),
        _held(trials.measure, knobs, kind.knob_units),
        _helped(trials.measure, knobs, noise),
    )
    assumed = kind.assumed(problem)
    sentences = tuple(_marked(sentence, assumed) for sentence in sentences)
    if assumed:
        sentences += (_assumptions(assumed),)
    return Explanation(
        sentences,
        trials.measure.name,
        tuple(knobs),
        noise,
        proven,
        trials.described,
        tuple(assumed),
        kind.addends(problem, result),
    )


def _marked(sentence: str, assumed: Iterable[str]) -> str:
    """Return *sentence* with "(assumed)" behind each of the resources *assumed*."""
    for resource in assumed:
        for name in (resource, resource[0].upper() + resource[1:]):
            sentence = sentence.replace(name, f"{name} (assumed)")
    return sentence


def _assumptions(assumed: Mapping[str, tuple[str, str]]) -> str:
    """Return the sentence on the amounts that are *assumed*, and how to state them."""
    amounts = (f"{amount} for {resource}" for resource, (amount, _) in assumed.items())
    keys = ",".join(f"{key}=" for _, key in assumed.values())
    return (
        f"Assumed, not recorded: {', '.join(amounts)}. All figures here hang on that; "
        f"import again with --machine {keys} to state it."
    )


@dataclass
class _Trials:
    """Runs and replays of variants of an instance.

    ``solver`` and ``settings`` say which solver looks for better plans; without a
    solver, the plan of the given result is only replayed. ``searching``: the solver may
    find another plan if it has another seed.
    """

    at_hand: Result
    kind: Kind
    measure: Metric
    progress: Progress
    solver: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    searching: bool = False
    plans: list[Json] = field(default_factory=list)
    steps: int = 0
    steps_in_all: int = 0

    def plan_steps(self, variants: int) -> None:
        """Count the steps of the unchanged instance and of its *variants*: the searches
        and the replays of each, and a second search of the unchanged one.
        """
        self.steps_in_all = 2 * (1 + variants) + self.searching

    def step(self) -> None:
        """Show that one more step is done."""
        self.steps += 1
        self.progress(self.steps, self.steps_in_all, "searches and replays")

    def choose_solver(self, problem: object) -> None:
        """Choose the solver that looks for better plans of *problem*."""
        self._keep(self.at_hand.plan)
        # A function without an importable name cannot be called again.
        with suppress(UsageError):
            spec = registry.solver(self.at_hand.solver, self.kind)
            if not (spec.own or spec.abilities & TIMED):
                self.solver = spec.name
                self.settings = self.at_hand.options.get("settings") or {}
                return
        search = self.kind.counted_search(problem)
        if search is not None:
            self.solver, self.settings = search
            self.searching = True

    @property
    def described(self) -> str:
        """Return how the bounds and the plans of the table were found, as sentences."""
        text = (
            "The bounds are those known without a search. Each row is the best replay "
            "of the plan"
        )
        if self.searching:
            told = ", ".join(f"{key}={value}" for key, value in self.settings.items())
            return f"{text} and of the plans that {self.solver} finds with {told}."
        if self.solver is not None:
            return f"{text} and of the plans that {self.solver} makes for each row."
        return f"{text}."

    def solved(self, data: Json, seeds_later: int = 0) -> float | None:
        """Return the value of the solver's answer for the instance *data*; None if
        there is no solver, or if it cannot take the instance.

        *seeds_later* is added to the seed of the given result.
        """
        if self.solver is None:
            self.step()
            return None
        try:
            found = solve(
                data,
                self.solver,
                measure=self.measure.name,
                settings=self.settings,
                seed=(self.at_hand.seed or 0) + seeds_later,
                time_limit=NO_LIMIT_SECONDS,
                warm_start=self.at_hand if self.searching else None,
            )
        except NotApplicableError:
            return None
        finally:
            self.step()
        if found.value is not None:
            self._keep(found.plan)
        return found.value

    def replayed(self, data: Json) -> list[Result]:
        """Replay all plans found so far on the instance *data*; return each sound
        replay.
        """
        sound: list[Result] = []
        for plan in self.plans:
            with suppress(IooptError):
                again = solve(data, partial(_as_it_is, plan), measure=self.measure.name)
                if again.value is not None:
                    sound.append(again)
        self.step()
        return sound

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
    trials: _Trials, problem: Problem, turns: Mapping[str, Turn]
) -> tuple[list[Knob], float | None, float]:
    """Return the effect of each resource, the strongest bound known of the unchanged
    instance, and the noise of the searches; the first effect is that of the unchanged
    instance.
    """
    plain: Json = problem.model_dump(mode="json", by_alias=True)
    variants: dict[str, Json] = {}
    for resource, turn in turns.items():
        data = deepcopy(plain)
        if turn(data):
            variants[resource] = data
    trials.plan_steps(len(variants))
    searched = [trials.solved(plain, later) for later in range(1 + trials.searching)]
    found = {resource: trials.solved(data) for resource, data in variants.items()}
    at_hand = measured(trials.at_hand.summary(), trials.measure.name)
    same = _effect(trials, None, [at_hand, *searched], trials.replayed(plain))
    gaps = [_gain(trials.measure, other, same.value) for other in searched]
    noise = max((gap for gap in gaps if gap is not None), default=0.0)
    effects = [
        _effect(trials, resource, [found[resource], same.value], trials.replayed(data))
        for resource, data in variants.items()
    ]
    # A bound that is valid with more of a resource is also valid with less.
    bounds = [effect.bound for effect in (same, *effects)]
    sense = trials.measure.sense
    same = replace(same, bound=strongest_sound(sense, same.value, bounds))
    # A search proved these for the unchanged instance alone: beside the quick bounds of
    # the others they would look like the effect of a resource.
    known = known_plans(problem).get(trials.measure.name)
    searched_bounds = [
        own_bound(trials.at_hand.summary(), trials.measure),
        known.bound if known else None,
    ]
    proven = strongest_sound(sense, same.value, [same.bound, *searched_bounds])
    best = replace(same, bound=proven)
    compared = [_compared(trials, effect, best, noise) for effect in effects]
    return [same, *compared], proven, noise


def _effect(
    trials: _Trials,
    resource: str | None,
    values: Sequence[float | None],
    replays: Sequence[Result],
) -> Knob:
    """Return the best of *values* and *replays* with more of *resource*, and the
    bound.
    """
    best = trials.best([*values, *(replay.value for replay in replays)])
    bounds = [own_bound(replay.summary(), trials.measure) for replay in replays]
    return Knob(resource, best, strongest_sound(trials.measure.sense, best, bounds))


def _compared(trials: _Trials, knob: Knob, same: Knob, noise: float) -> Knob:
    """Return *knob* with its gain over *same*, the unchanged instance."""
    gain = _gain(trials.measure, same.value, knob.value)
    proven = same.value == same.bound and knob.bound == knob.value
    sure = proven or gain is None or gain == 0 or gain > noise
    return replace(knob, gain=gain, sure=sure)


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
    told = quantity(measure.name, value)
    text = f"The {name} of {result.solver}'s plan is {told}"
    if same.value is not None:
        best = quantity(measure.name, same.value, value)
        text += f" (best plan found: {best})" if best != told else ""
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
    """Return the sentence on the resource of which 10 % more would help most."""
    helping = [
        knob for knob in knobs[1:] if knob.gain is not None and knob.gain >= TOLD
    ]
    told = [knob for knob in helping if knob.sure]
    told.sort(key=lambda knob: -(knob.gain or 0.0))
    unsure = [str(knob.resource) for knob in helping if not knob.sure]
    doubt = (
        f"cannot tell for {', '.join(unsure)}: less than the {percent(noise)} by "
        "which two searches of the instance as it is differ"
    )
    if not told:
        if unsure:
            return f"Whether 10 % more of one resource would help: {doubt}."
        return "10 % more of no single resource would help."
    first, *others = told
    text = (
        f"10 % more of {first.resource} would help most: {percent(first.gain)}, from "
        f"{quantity(measure.name, knobs[0].value, first.value)} to "
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
