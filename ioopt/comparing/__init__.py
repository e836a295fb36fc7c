"""Exact against heuristic: several solvers on one instance, one row a solver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ioopt import registry
from ioopt.comparing.measures import Measure, Row, add_measure, measure_of, own_bound, tightest
from ioopt.errors import BackendMissingError, NotApplicableError, UsageError
from ioopt.options import parse_assignments
from ioopt.registry import KindSpec, load_target
from ioopt.registry.types import BOUND, REFERENCE
from ioopt.result import Result, Status, StopReason
from ioopt.solving import load, solve

if TYPE_CHECKING:
    import pandas as pd


def parse_solver(text: str) -> tuple[str, dict[str, str]]:
    """Split ``name:key=value,key=value`` into a solver's name and its settings.

    >>> parse_solver("fill:alpha=0")
    ('fill', {'alpha': '0'})
    """
    name, _, words = text.partition(":")
    return name, parse_assignments(words.split(",")) if words else {}


def compare(source: Any, solvers: Sequence[str] | None = None, **options: Any) -> pd.DataFrame:
    """Run *solvers* (default: the kind's own list) on one instance; a DataFrame, one row a solver.

    *options* are ``measure`` and those of :func:`ioopt.solving.solve`. Metrics become columns of
    their own; ``value``, ``value_bound``, ``value_gap`` and ``ratio_to_best`` are of ``measure``
    (default: what the user of the kind waits for).
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
    measure: str | None = None,
    settings: Mapping[str, Any] | None = None,
    on_row: Callable[[Row], None] | None = None,
    **options: Any,
) -> list[Row]:
    """The rows of :func:`compare` as plain dictionaries (a result without plan, schedule).

    *settings* go to every solver that knows them (a key that none knows is a UsageError); a solver
    that lacks its backend gives a row with status ``error``, one that cannot take the instance a
    row with ``does not apply``, and the others go on.
    """
    problem = load(source)
    kind = registry.kind_of_problem(problem)
    by = measure_of(kind, measure)
    texts = solvers or default_solvers(kind, problem)
    chosen = [parse_solver(text) for text in texts]
    plans = [(name, _settings(kind, name, own, settings or {})) for name, own in chosen]
    _refuse_unknown(kind, [name for name, _ in plans], settings or {})
    rows = []
    for (name, own), text in zip(plans, texts):
        result = _run(problem, kind, name, own, options)
        row = result.summary() | {"solver": text, "reference": _is_reference(kind, name)}
        rows.append(row)
        if on_row is not None:
            on_row(row)
        if result.stop is StopReason.INTERRUPTED:
            break
    add_measure(rows, kind, by, _common_bound(rows, problem, kind, by))
    return rows


def default_solvers(kind: KindSpec, problem: Any) -> tuple[str, ...]:
    """What ``compare`` runs on *problem* when no solver is named."""
    if kind.choose_solvers is not None:
        chosen: tuple[str, ...] = load_target(kind.choose_solvers)(problem)
        return chosen
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
            raise UsageError(
                f"no solver compared here has a setting {key!r}; {registry.suggest(key, known)}"
            )


def _run(
    problem: Any, kind: KindSpec, name: str, own: Mapping[str, Any], options: Mapping[str, Any]
) -> Result:
    """The result of one solver; a missing backend and an instance it cannot take are results too."""
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


def _is_reference(kind: KindSpec, name: str) -> bool:
    return REFERENCE in registry.solver(name, kind).abilities


def _common_bound(
    rows: Sequence[Row], problem: Any, kind: KindSpec, measure: Measure
) -> float | None:
    """The best bound that holds for every plan: what solvers proved, else the kind's quick one.

    A solver whose name or settings change the problem (``ip-no-replication``) proves nothing about
    the others.
    """
    proved = [own_bound(row, kind, measure.name) for row in rows if _is_universal(kind, row)]
    found = tightest(None, proved, measure.sense)
    if found is None and kind.bound is not None and measure.name == kind.objective_name:
        found = load_target(kind.bound)(problem)
    return found


def _is_universal(kind: KindSpec, row: Row) -> bool:
    spec = registry.solver(parse_solver(row["solver"])[0], kind)
    if BOUND not in spec.abilities or spec.fixed:
        return False
    plain = registry.settings_for(spec, {})
    return plain is None or row["options"].get("settings") == plain.model_dump(mode="json")
