"""Why a plan is as it is: where its time goes, what holds its bound, which resource would help most."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ioopt import registry
from ioopt.checking import judge
from ioopt.comparing import compare_rows
from ioopt.comparing.measures import Row
from ioopt.errors import UsageError
from ioopt.problems.base import Json
from ioopt.registry import Measure, load_target, measure_of
from ioopt.registry.types import ANYTIME, WARM_START
from ioopt.result import Result, measured
from ioopt.solving import load
from ioopt.tables import percent
from ioopt.units import quantity, title

MORE = 1.1
"""How much of each resource is tried."""


def scaled(part: str, key: str) -> Callable[[Json], bool]:
    """The knob for *key* of an object *part*, or of every object in the list *part* that has it."""

    def turn(data: Json) -> bool:
        found = data.get(part) or []
        rows = [row for row in (found if isinstance(found, list) else [found]) if row.get(key)]
        for row in rows:
            row[key] = type(row[key])(row[key] * MORE)
        return bool(rows)

    return turn


@dataclass(frozen=True)
class Family:
    """What a family tells of a plan, and copies of an instance with a little more of one resource.

    ``told`` gives sentences on where time goes and what is done twice. A knob changes the instance as
    plain data, and gives False where the instance has nothing of the resource.
    """

    told: Callable[[Any, Result], Sequence[str]]
    knobs: Mapping[str, Callable[[Json], bool]]


@dataclass(frozen=True)
class Knob:
    """The same solver with a tenth more of one resource (None: as it is): measure and its bound."""

    resource: str | None
    value: float | None
    bound: float | None


@dataclass(frozen=True)
class Explanation:
    """Sentences for people, and the figures of the last two of them."""

    sentences: tuple[str, ...]
    measure: str
    knobs: tuple[Knob, ...]


def explain(
    source: Any,
    result: Result,
    *,
    time_limit: float = 5.0,
) -> Explanation:
    """Explain *result* on its instance; every resource costs one more solve of *time_limit* seconds.

    Raises UsageError for kinds that nothing is told of and results without plan or schedule.
    """
    problem = load(source)
    kind = registry.kind_of_problem(problem)
    if kind.explain is None:
        able = ", ".join(row.kind for row in registry.KINDS.values() if row.explain)
        raise UsageError(f"{kind.kind} is not explained; kinds that are: {able}")
    if result.schedule is None:
        raise UsageError("the result has no schedule to explain; solve or simulate it first")
    found = judge(problem, result, "result")[0]
    if found:
        raise UsageError(f"the result does not hold on this instance ({found[0]}); see ioopt check")
    family: Family = load_target(kind.explain)
    measure = measure_of(kind)
    settings = result.options.get("settings") or {}
    limits: Json = {"time_limit": time_limit, "seed": result.seed or 0}
    abilities = registry.solver(result.solver, kind).abilities
    if WARM_START in abilities:
        limits["warm_start"] = result
    knobs = []
    # As it is comes last, when kernels are loaded: what they find more is no resource's gain.
    for resource, turn in (*family.knobs.items(), (None, lambda data: True)):
        data = problem.model_dump(mode="json", by_alias=True)
        if turn(data):
            row = compare_rows(data, [result.solver], settings=settings, **limits)[0]
            knobs.append(Knob(resource, row["value"], row["bound"]))
    knobs.insert(0, knobs.pop())
    # The plan at hand is one of the solver's too, however short the limit is now.
    best = (min if measure.sense == "min" else max)(
        (value for value in (measured(result.summary(), measure.name), knobs[0].value)
         if value is not None), default=None,
    )  # fmt: skip
    knobs[0] = replace(knobs[0], value=best)
    sentences = (
        _standing(result, measure, knobs[0]),
        *family.told(problem, result),
        _held(measure, knobs),
        _helped(measure, knobs, searching=ANYTIME in abilities),
    )
    return Explanation(sentences, measure.name, tuple(knobs))


def _standing(result: Result, measure: Measure, same: Knob) -> str:
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
    left = (value - same.bound) / abs(value) * (1 if measure.sense == "min" else -1)
    if left <= 1e-9:
        return f"{text}, which is proven to be the best."
    least = quantity(measure.name, same.bound, value)
    side = "less" if measure.sense == "min" else "more"
    return f"{text}; no plan has {side} than {least}, so at most {percent(left)} can be gained."


def _gains(measure: Measure, knobs: Sequence[Knob], what: str) -> list[tuple[float, Knob]]:
    """(gain in a part of what it is now, knob), the largest first."""
    now = getattr(knobs[0], what)
    up = 1 if measure.sense == "min" else -1
    gains = [
        (up * (now - getattr(knob, what)) / abs(now), knob)
        for knob in knobs[1:]
        if now and getattr(knob, what) is not None
    ]
    return sorted(gains, key=lambda pair: -pair[0])


def _held(measure: Measure, knobs: Sequence[Knob]) -> str:
    gains = _gains(measure, knobs, "bound")
    if not gains:
        return f"There is no bound of the {title(measure.name)} to look into."
    gain, knob = gains[0]
    if gain < 1e-3:
        return (
            "None of the resources tried holds the bound: 10 % more of any leaves it where it is, as the "
            "work's own length or order does not change."
        )
    return f"The bound is held by {knob.resource}: 10 % more of it moves it by {percent(gain)}."


def _helped(measure: Measure, knobs: Sequence[Knob], searching: bool) -> str:
    gains = _gains(measure, knobs, "value")
    if not gains or gains[0][0] < 1e-3:
        text = "10 % more of no single resource would help this solver"
        if gains and gains[-1][0] <= -1e-3:
            loss, knob = gains[-1]
            text += f"; with more {knob.resource} its plan is even {percent(-loss)} worse"
        return f"{text}."
    gain, knob = gains[0]
    others = [f"{other.resource} {percent(more)}" for more, other in gains[1:] if more >= 1e-3]
    text = (
        f"10 % more of {knob.resource} would help most: {percent(gain)}, to "
        f"{quantity(measure.name, knob.value, knobs[0].value)}"
    )
    text += f" ({', '.join(others)})." if others else "; the others hardly."
    # A plan for speeds of 1.1 takes 1.1 times as long at speeds of 1: no more than that is theirs,
    # and more of anything makes no plan worse.
    most = {other.resource: 1.0 if other.resource == "disk" else 1 - 1 / MORE for _, other in gains}
    if searching and any(not -1e-3 < more < most[row.resource] + 1e-3 for more, row in gains):
        text += (
            " Part of these differences is the search's, cut short: solve longer, and explain with a "
            "longer --time-limit."
        )
    return text
