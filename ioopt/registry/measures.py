"""The one measure of a comparison: a metric by its name, its sense, and what bounds it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ioopt.errors import UsageError
from ioopt.options import suggest
from ioopt.registry.types import KindSpec


@dataclass(frozen=True)
class Measure:
    """A metric or objective by its name, and whether less or more of it is better."""

    name: str
    sense: Literal["min", "max"] = "min"

    def __str__(self) -> str:
        return f"{self.name} ({'less' if self.sense == 'min' else 'more'} is better)"


def measure_of(kind: KindSpec, name: str | None = None) -> Measure:
    """The measure called *name* (None: what the user of this kind waits for); UsageError for others."""
    known = dict.fromkeys([kind.measure or kind.objective_name, kind.objective_name])
    known |= dict.fromkeys(kind.compare_columns)
    chosen = name or next(iter(known))
    if chosen not in known:
        raise UsageError(f"--measure: {kind.kind} has no {chosen!r}; {suggest(chosen, known)}")
    return Measure(chosen, sense_of(kind, chosen))


def measures_of(kinds: Iterable[KindSpec], name: str | None) -> dict[str, Measure]:
    """The measure of each kind: *name*, or the default of kinds without it; UsageError where none has it."""
    found, errors = {}, []
    for kind in kinds:
        try:
            found[kind.kind] = measure_of(kind, name)
        except UsageError as error:
            errors.append(error)
            found[kind.kind] = measure_of(kind)
    if errors and len(errors) == len(found):
        raise errors[0]
    return found


def sense_of(kind: KindSpec, name: str) -> Literal["min", "max"]:
    """Whether less or more of a measure is better; solvers' own objectives have the kind's sense."""
    if name == kind.objective_name or name not in (kind.measure, *kind.compare_columns):
        return kind.sense
    return "max" if name in kind.most else "min"


def proof_of(objective: str) -> str:
    """The metric that holds what was proven of *objective* where the measure is another one.

    >>> proof_of("additive_seconds")
    'additive_bound_seconds'
    """
    stem, seconds, _ = objective.partition("_seconds")
    return f"{stem}_bound{seconds}"


def own_bound(row: Mapping[str, Any], kind: KindSpec, name: str) -> float | None:
    """What the *row* (or Result's dictionary) itself proves of the measure *name*."""
    if row["objective_name"] == name and row["bound"] is not None:
        return float(row["bound"])
    metrics = row["metrics"]
    found: float | None = metrics.get(proof_of(name), metrics.get(kind.bound_metrics.get(name, "")))
    return found


def by_measure(measure: str | None, values: dict[str, Any]) -> dict[str, float]:
    """Make *values* those of the *measure* asked for; what is proven of another objective, as a metric."""
    own, bound = values["objective_name"], values["bound"]
    if measure in (None, own):
        return {}
    values |= {"objective_name": measure, "bound": None}
    return {} if bound is None else {proof_of(own): bound}
