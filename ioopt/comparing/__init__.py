"""Exact against heuristic: several solvers on one instance, one row a solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

from ioopt import registry
from ioopt.comparing.measures import Measure, Row, add_measure, measure_of, own_bound, tightest
from ioopt.errors import BackendMissingError, NotApplicableError, UsageError
from ioopt.options import parse_assignments
from ioopt.registry import KindSpec, SolverSpec, load_target
from ioopt.registry.types import BOUND, REFERENCE
from ioopt.result import Result, Status, StopReason
from ioopt.solving import load, solve

if TYPE_CHECKING:
    import pandas as pd


def parse_solver(text: str) -> tuple[str, dict[str, str]]:
    """Split ``name:key=value,key=value`` into a solver's name and its settings.

    >>> parse_solver("fill:alpha=0")
    ('fill', {'alpha': '0'})
    >>> parse_solver("mine:solve")
    ('mine:solve', {})
    """
    name, _, words = text.partition(":")
    function, _, rest = words.partition(":")
    if function and "=" not in function:
        name, words = f"{name}:{function}", rest
    return name, parse_assignments(words.split(",")) if words else {}


Solvers = str | Callable[..., Any] | Sequence[str | Callable[..., Any]]


def compare(source: Any, solvers: Solvers | None = None, **options: Any) -> pd.DataFrame:
    """Run *solvers* (default: the kind's own list) on one instance; a DataFrame, one row a solver.

    A solver is a name, ``name:key=value``, ``module:function``, or a function.
    *options* are ``measure`` and those of :func:`ioopt.solving.solve`. Metrics become columns of
    their own; ``value``, ``value_bound``, ``value_gap`` and ``ratio_to_best`` are of ``measure``
    (default: what the user of the kind waits for).

    >>> list(compare("cycle3", ["minmin", "job-data-present"])["status"])
    ['feasible', 'feasible']
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
    solvers: Solvers | None = None,
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
    named = [solvers] if isinstance(solvers, str) or callable(solvers) else solvers
    texts = named or default_solvers(kind, problem)
    chosen = [_chosen(kind, text, settings or {}) for text in texts]
    known = {key for choice in chosen for key in choice.known}
    for key in settings or {}:
        if key not in known:
            raise UsageError(
                f"no solver compared here has a setting {key!r}; {registry.suggest(key, known)}"
            )
    rows = []
    for choice in chosen:
        result = _run(problem, kind, choice, options)
        row = result.summary() | {
            "solver": choice.text,
            "reference": REFERENCE in choice.spec.abilities,
        }
        rows.append(row)
        if on_row is not None:
            on_row(row)
        if result.stop is StopReason.INTERRUPTED:
            break
    add_measure(rows, kind, by, _common_bound(rows, chosen, problem, kind, by))
    return rows


def default_solvers(kind: KindSpec, problem: Any) -> tuple[str, ...]:
    """What ``compare`` runs on *problem* when no solver is named."""
    if kind.choose_solvers is not None:
        chosen: tuple[str, ...] = load_target(kind.choose_solvers)(problem)
        return chosen
    return kind.compare_solvers or tuple(spec.name for spec in registry.solvers_for(kind.kind))


class _Choice(NamedTuple):
    """A solver as the user named it, and the settings that it gets."""

    text: str
    spec: SolverSpec
    solver: str | Callable[..., Any]
    known: Set[str]
    settings: Mapping[str, Any]


def _chosen(kind: KindSpec, solver: str | Callable[..., Any], common: Mapping[str, Any]) -> _Choice:
    """The solver that was named or given, with those of the *common* settings that it knows."""
    name, own = parse_solver(solver) if isinstance(solver, str) else (solver, {})
    spec = registry.solver(name, kind)
    text = solver if isinstance(solver, str) else spec.name
    known = set(load_target(spec.settings).model_fields) if spec.settings else set()
    return _Choice(
        text, spec, name, known, {key: common[key] for key in common if key in known} | own
    )


def _run(problem: Any, kind: KindSpec, choice: _Choice, options: Mapping[str, Any]) -> Result:
    """The result of one solver; a missing backend and an instance it cannot take are results too."""
    spec, given = choice.spec, dict(options)
    if given.get("backend") not in spec.backends:
        given.pop("backend", None)  # heuristics need none
    try:
        return solve(problem, choice.solver, settings=choice.settings, **given)
    except (BackendMissingError, NotApplicableError) as error:
        applies = not isinstance(error, NotApplicableError)
        return Result(
            instance=problem.name, family=kind.family, kind=kind.kind, solver=spec.name,
            status=Status.ERROR if applies else Status.NOT_APPLICABLE,
            stop=StopReason.FALLBACK if applies else StopReason.FINISHED, notes=(str(error),),
            options={"exit_code": int(error.exit_code)},
        )  # fmt: skip


def _common_bound(
    rows: Sequence[Row], chosen: Sequence[_Choice], problem: Any, kind: KindSpec, measure: Measure
) -> float | None:
    """The best bound that holds for every plan: what solvers proved, else the kind's quick one.

    A solver whose name or settings change the problem (``ip-no-replication``) proves nothing about
    the others.
    """
    proved = [
        own_bound(row, kind, measure.name)
        for row, choice in zip(rows, chosen)
        if _is_universal(choice.spec, row)
    ]
    found = tightest(None, proved, measure.sense)
    if found is None and kind.bound is not None and measure.name == kind.objective_name:
        found = load_target(kind.bound)(problem)
    return found


def _is_universal(spec: SolverSpec, row: Row) -> bool:
    if BOUND not in spec.abilities or spec.fixed:
        return False
    plain = registry.settings_for(spec, {})
    return plain is None or row["options"].get("settings") == plain.model_dump(mode="json")
