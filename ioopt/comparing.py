"""Exact against heuristic: several solvers on one instance, one row a solver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ioopt import registry
from ioopt.errors import BackendMissingError, NotApplicableError, UsageError
from ioopt.options import parse_assignments
from ioopt.registry import KindSpec, load_target
from ioopt.result import Result, Status, StopReason
from ioopt.solving import load, solve

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]


def parse_solver(text: str) -> tuple[str, dict[str, str]]:
    """Split ``name:key=value,key=value`` into a solver's name and its settings.

    >>> parse_solver("fill:alpha=0")
    ('fill', {'alpha': '0'})
    """
    name, _, words = text.partition(":")
    return name, parse_assignments(words.split(",")) if words else {}


def compare(source: Any, solvers: Sequence[str] | None = None, **options: Any) -> pd.DataFrame:
    """Run *solvers* (default: the kind's own list) on one instance; a DataFrame, one row a solver.

    *options* are those of :func:`ioopt.solving.solve`. Metrics become columns of their own;
    ``ratio_to_best`` divides the kind's ratio metric by the best among the rows.
    """
    import pandas as pd

    rows = compare_rows(source, solvers, **options)
    flat = [
        {key: value for key, value in row.items() if key not in {"metrics", "options", "versions"}}
        | row["metrics"]
        for row in rows
    ]
    return pd.DataFrame(flat)


def compare_rows(
    source: Any,
    solvers: Sequence[str] | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    on_row: Callable[[Row], None] | None = None,
    **options: Any,
) -> list[Row]:
    """The rows of :func:`compare` as plain dictionaries (contract: a result without plan, schedule).

    *settings* go to every solver that knows them (a key that none knows is a UsageError); a solver
    that lacks its backend gives a row with status ``error`` and the others go on.
    """
    problem = load(source)
    kind = registry.kind_of_problem(problem)
    chosen = [parse_solver(text) for text in solvers or default_solvers(kind)]
    plans = [(name, _settings(kind, name, own, settings or {})) for name, own in chosen]
    _refuse_unknown(kind, [name for name, _ in plans], settings or {})
    rows = []
    for (name, own), text in zip(plans, solvers or default_solvers(kind)):
        result = _run(problem, kind, name, own, options)
        row = result.summary() | {"solver": text}
        rows.append(row)
        if on_row is not None:
            on_row(row)
        if result.stop is StopReason.INTERRUPTED:
            break
    add_ratios(rows, kind)
    return rows


def default_solvers(kind: KindSpec) -> tuple[str, ...]:
    """What ``compare`` runs when no solver is named."""
    return kind.compare_solvers or tuple(spec.name for spec in registry.solvers_for(kind.kind))


def _known_settings(kind: KindSpec, name: str) -> set[str]:
    spec = registry.solver(name, kind)
    return set(load_target(spec.settings).model_fields) if spec.settings else set()


def _settings(
    kind: KindSpec, name: str, own: Mapping[str, str], common: Mapping[str, Any]
) -> dict[str, Any]:
    known = _known_settings(kind, name)
    return {key: value for key, value in common.items() if key in known} | dict(own)


def _refuse_unknown(kind: KindSpec, names: Iterable[str], common: Mapping[str, Any]) -> None:
    known = {key for name in names for key in _known_settings(kind, name)}
    for key in common:
        if key not in known:
            raise UsageError(f"no solver compared here has a setting {key!r}")


def _run(
    problem: Any, kind: KindSpec, name: str, own: Mapping[str, Any], options: Mapping[str, Any]
) -> Result:
    try:
        return solve(problem, name, settings=own, **_fitting(kind, name, options))
    except (BackendMissingError, NotApplicableError) as error:
        applies = not isinstance(error, NotApplicableError)
        return Result(
            instance=problem.name, family=kind.family, kind=kind.kind, solver=name,
            status=Status.ERROR if applies else Status.NOT_APPLICABLE,
            stop=StopReason.FALLBACK if applies else StopReason.FINISHED, notes=(str(error),),
            options={"exit_code": int(error.exit_code)},
        )  # fmt: skip


def _fitting(kind: KindSpec, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """A backend is passed only to solvers that have it: heuristics need none."""
    fitting = dict(options)
    if fitting.get("backend") not in registry.solver(name, kind).backends:
        fitting.pop("backend", None)
    return fitting


def ratio_value(row: Row, kind: KindSpec) -> float | None:
    """The number that ``ratio_to_best`` compares; None for rows without a sound plan."""
    if row["status"] not in (Status.OPTIMAL, Status.FEASIBLE):
        return None
    if kind.ratio_metric == "objective":
        return row["objective"]
    value: float | None = row["metrics"].get(kind.ratio_metric)
    return value


def add_ratios(rows: list[Row], kind: KindSpec) -> None:
    """Set ``ratio_to_best`` in every row: 1 for the best, more for worse, None where unknown."""
    values = [ratio_value(row, kind) for row in rows]
    known = [value for value in values if value is not None]
    best = (max if kind.sense == "max" else min)(known, default=None)
    for row, value in zip(rows, values):
        row["ratio_to_best"] = _ratio(value, best, kind.sense)


def _ratio(value: float | None, best: float | None, sense: str) -> float | None:
    if value is None or best is None:
        return None
    if value == best:
        return 1.0
    above, below = (best, value) if sense == "max" else (value, best)
    return above / below if below > 0 else None
