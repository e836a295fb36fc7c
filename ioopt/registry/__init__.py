"""Name -> solver, kind -> family parts. Nothing here imports a solver
until it is asked for.

A plugin names objects in the entry point groups ``ioopt.solvers``
(:class:`SolverSpec`), ``ioopt.kinds`` (:class:`KindSpec`) and ``ioopt.importers``
(commands of click). One that cannot be loaded is left out and kept in :data:`BROKEN`:
it never breaks a command that does not need it. A solver may also be
``module:function``, or a plain function.
"""

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from importlib import metadata
from typing import Any, Literal, TypeVar

from ioopt.errors import InstanceError, UsageError
from ioopt.options import REMOVED_SOLVERS, RENAMED, nearest, parse_settings, shown
from ioopt.options import suggest as suggest
from ioopt.registry import batch_io, flexgang, gang, replication, work_directory
from ioopt.registry.types import Format as Format
from ioopt.registry.types import KindSpec as KindSpec
from ioopt.registry.types import MeasuredKind as MeasuredKind
from ioopt.registry.types import SolverSpec as SolverSpec
from ioopt.registry.types import load_target as load_target

Row = TypeVar("Row", KindSpec, SolverSpec)

BROKEN: dict[str, str] = {}
"""Plugins that could not be loaded: "NAME of PACKAGE (GROUP)" -> what is wrong."""


def entry_points(group: str) -> list[metadata.EntryPoint]:
    """The entry points of a group, by name and package."""
    return sorted(metadata.entry_points(group=group), key=lambda e: (e.name, origin(e)))


def origin(entry: metadata.EntryPoint) -> str:
    """The package that an entry point is of."""
    return entry.dist.name if entry.dist is not None else "an unnamed package"


def _added(group: str, cls: type[Row], taken: Callable[[Row], bool]) -> tuple[Row, ...]:
    """The rows that plugins add; what cannot be loaded, is no *cls* or *taken*
    goes to :data:`BROKEN`.
    """
    found: list[Row] = []
    for entry in entry_points(group):
        try:
            row = entry.load()
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        else:
            wrong = f"wanted a {cls.__name__}, not {type(row).__name__}"
            if isinstance(row, cls):
                if not taken(row):
                    found.append(row)
                    continue
                wrong = "ioopt has one of that name"
        BROKEN[f"{entry.name} of {origin(entry)} ({group})"] = wrong
    return tuple(found)


_TABLES = (replication, batch_io, gang, flexgang, work_directory)

KINDS: dict[str, KindSpec] = {
    spec.kind: spec for table in _TABLES for spec in table.KINDS
}
SOLVERS: tuple[SolverSpec, ...] = tuple(
    spec for table in _TABLES for spec in table.SOLVERS
)


KINDS |= {
    row.kind: row
    for row in _added("ioopt.kinds", KindSpec, lambda row: row.kind in KINDS)
}
SOLVERS += _added(
    "ioopt.solvers",
    SolverSpec,
    lambda row: any(
        row.name == own.name and {*row.kinds} & {*own.kinds} for own in SOLVERS
    ),
)
FORMATS: dict[str, Format] = {
    **KINDS,
    **{spec.kind: spec for spec in flexgang.MEASURED},
}
"""What can be read and generated: kinds of decisions, then what is only measured."""


def families() -> tuple[str, ...]:
    """Family names in the order of the registry."""
    return tuple(dict.fromkeys(spec.family for spec in KINDS.values()))


def format_of(text: object, where: str = "instance") -> Format:
    """The row for a file's ``format`` value; raises InstanceError for one
    ioopt does not know.
    """
    for spec in FORMATS.values():
        if text == spec.format:
            return spec
    if text is None:
        raise InstanceError(
            f'{where}: format: missing; an instance says "format": "ioopt/..."'
        )
    known = suggest(str(text), [spec.format for spec in FORMATS.values()])
    raise InstanceError(f"{where}: format: {text!r} is not an instance format; {known}")


def decided(spec: Format) -> KindSpec:
    """*spec*, in which something is to be decided; raises UsageError where
    it is only measured.
    """
    if isinstance(spec, KindSpec):
        return spec
    raise UsageError(
        f"{spec.kind} instances are measured, not solved: ioopt measure FILE"
    )


def generator_of(name: str) -> Format:
    """The format that ``generate NAME`` makes: the kind so named, or the
    first of that family.
    """
    able = [spec for spec in FORMATS.values() if spec.generate is not None]
    fitting = [spec for spec in able if spec.kind == name] or [
        spec for spec in able if spec.family == name
    ]
    if not fitting:
        known = dict.fromkeys(
            text for spec in able for text in (spec.family, spec.kind)
        )
        raise UsageError(f"no family {name!r} to generate; {suggest(name, known)}")
    return fitting[0]


def generate(
    kind: Format, preset: str | None, settings: Mapping[str, object], seed: int
) -> Any:
    """One instance of *kind*. A preset that another kind has is named
    as such (UsageError).
    """
    if preset is not None and preset not in kind.presets:
        for spec in FORMATS.values():
            if preset in spec.presets:
                raise UsageError(
                    f"preset {preset!r} is one of {spec.kind}, not of {kind.kind}; "
                    f"known: {', '.join(kind.presets)}"
                )
    from pydantic import ValidationError

    try:
        return load_target(kind.generate or "")(preset, settings, seed)
    except (
        ValidationError
    ) as error:  # settings that are sound one by one and make no instance
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        said = f"{where} {first['input']!r}: {first['msg'].lower()}"
        raise UsageError(f"{kind.kind}: {said}") from None
    except (OverflowError, MemoryError) as error:
        told = ", ".join(f"{key}={value}" for key, value in settings.items())
        raise UsageError(f"{kind.kind}: {told}: too large to make ({error})") from None


def kind_of_problem(problem: object) -> KindSpec:
    """The kind of a problem in which something is to be decided; raises
    UsageError for anything else.
    """
    return decided(format_of_problem(problem))


def format_of_problem(problem: object) -> Format:
    """The format of a problem object; raises UsageError for anything else."""
    cls = type(problem)
    for spec in FORMATS.values():
        if spec.problem == f"{cls.__module__}:{cls.__qualname__}":
            return spec
    raise UsageError(f"{cls.__name__} is not one of ioopt's problem classes")


def solvers_for(kind: str) -> tuple[SolverSpec, ...]:
    """All solvers that take instances of *kind*, in the order of the registry."""
    return tuple(spec for spec in SOLVERS if kind in spec.kinds)


def solver(name: str | Callable[..., object] | None, kind: KindSpec) -> SolverSpec:
    """The solver called *name* (None: the default) for instances of *kind*.

    *name* may also be a function, or ``module:function``: see :func:`_own`. Raises
    UsageError when no solver has that name or the one that has takes other kinds.
    """
    wanted = kind.default_solver if name is None else name
    if not (isinstance(wanted, str) or callable(wanted)):
        raise UsageError(f"solver: wanted a name or a function, not {shown(wanted)}")
    if not isinstance(wanted, str) or ":" in wanted:
        return _own(wanted, kind)
    other = [spec for spec in SOLVERS if spec.name == wanted]
    for spec in other:
        if kind.kind in spec.kinds:
            return spec
    if now := RENAMED.get(kind.family, {}).get(wanted):
        raise UsageError(f"{wanted} of {kind.family} is now {now}")
    if instead := REMOVED_SOLVERS.get(kind.family, {}).get(wanted):
        raise UsageError(f"{wanted} of {kind.family} was removed; take {instead}")
    names = [spec.name for spec in solvers_for(kind.kind)]
    if other:
        raise UsageError(
            f"solver {wanted!r} takes {', '.join(other[0].kinds)}, not {kind.kind}; "
            f"solvers for {kind.kind}: {', '.join(names)}"
        )
    near = _broken(wanted) or f"; {_nearest_solver(wanted, names)}"
    raise UsageError(f"no solver {wanted!r} for {kind.kind}{near}")


def _nearest_solver(wanted: str, names: list[str]) -> str:
    """The nearest name of the kind, else of any, else all of the kind."""
    near = nearest(wanted, names) or nearest(wanted, [spec.name for spec in SOLVERS])
    found = next((spec for spec in SOLVERS if spec.name == near), None)
    if found is None or near in names:
        return suggest(wanted, names)
    return (
        f"did you mean {near!r}, which takes {', '.join(found.kinds)}? known: "
        f"{', '.join(names)}"
    )


def require_backend(spec: SolverSpec, backend: str | None) -> None:
    """Raise UsageError for a backend that the solver does not have."""
    if backend is not None and backend not in spec.backends:
        known = ", ".join(spec.backends) or "none, it needs no backend"
        raise UsageError(
            f"solver {spec.name!r} has no backend {backend!r}; its backends: {known}"
        )


def settings_for(spec: SolverSpec, given: Mapping[str, object]) -> Any:
    """The settings of a solver from ``--set`` values; UsageError for unknown ones and
    what its name fixes.
    """
    if spec.settings is None:
        if given:
            raise UsageError(
                f"{spec.name} has no setting {next(iter(given))!r}; its settings: none"
            )
        return None
    settings = parse_settings(
        load_target(spec.settings), {**spec.fixed, **given}, spec.name
    )
    for key, value in spec.fixed.items():
        if getattr(settings, key) != value:
            raise UsageError(
                f"{spec.name}: setting {key}={given[key]!r}: the solver's name fixes "
                f"it to {value!r}; "
                f"{_named_for(spec, {**spec.fixed, key: getattr(settings, key)})}"
            )
    return settings


def _named_for(spec: SolverSpec, wanted: Mapping[str, object]) -> str:
    """What to do for the fixed settings *wanted*: the solver that has them,
    or leave them alone.
    """
    twins = [
        other.name
        for other in SOLVERS
        if (other.target, other.kinds) == (spec.target, spec.kinds)
        and other.fixed.items() <= wanted.items()
    ]
    return f"use --solver {twins[0]}" if twins else "use another solver"


def _broken(name: str) -> str:
    """The end of a message about an unknown *name*: why the plugin of
    that name is not there.
    """
    for plugin, wrong in BROKEN.items():
        if plugin.startswith(f"{name} of "):
            return f"; the plugin {plugin} cannot be loaded: {wrong}"
    return ""


_OWN_REFUSED: list[str] = []
"""Why this process takes listed solvers alone; nothing where it takes any."""


def refuse_own(why: str) -> None:
    """Take listed solvers alone from now on in this process: a name imports no code."""
    _OWN_REFUSED[:] = [why]


def _own(solver: str | Callable[..., object], kind: KindSpec) -> SolverSpec:
    """The row of a function, or of one named ``module:function`` (the
    working folder counts).

    The function takes the problem, or the problem and a
    :class:`~ioopt.protocols.SolveRequest`; it returns an Outcome, a plan object or a
    plan's dictionary. A class ``Settings`` beside it gives it ``--set``. Raises
    UsageError when there is no such function.
    """
    plain = getattr(solver, "__qualname__", type(solver).__name__)
    name = solver if isinstance(solver, str) else f"{solver.__module__}:{plain}"
    if _OWN_REFUSED:
        raise UsageError(f"solver {name!r} is no listed one; {_OWN_REFUSED[0]}")
    function = _find(solver) if isinstance(solver, str) else solver
    if isinstance(function, SolverSpec):
        return replace(function, name=name)
    if not callable(function):
        raise UsageError(
            f"solver {name!r}: a {type(function).__name__}, not a function"
        )
    try:
        one = len(inspect.signature(function).parameters) == 1
    except ValueError:
        one = False
    settings = getattr(sys.modules.get(function.__module__), "Settings", None)
    return SolverSpec(
        name,
        (kind.kind,),
        _of_problem_alone(function) if one else function,
        (inspect.getdoc(function) or "a function of the caller").splitlines()[0],
        "outside",
        settings=settings,
    )


def _of_problem_alone(function: Callable[..., object]) -> Callable[..., object]:
    """Return *function* as a solver that leaves its request alone."""

    @wraps(function)
    def solve(problem: object, request: object) -> object:
        return function(problem)

    return solve


def _find(target: str) -> object:
    """The object called ``module:name``, from the import path or the working folder."""
    folder = os.getcwd()
    added = folder not in sys.path
    if added:
        sys.path.append(folder)
    try:
        return load_target(target)
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"solver {target!r} cannot be loaded: {type(error).__name__}: {error}; "
            "wanted package.module:function"
        ) from error
    finally:
        if added:
            sys.path.remove(folder)


@dataclass(frozen=True)
class Measure:
    """A metric or objective by its name, and whether less or more of it is better."""

    name: str
    sense: Literal["min", "max"] = "min"

    def __str__(self) -> str:
        return f"{self.name} ({'less' if self.sense == 'min' else 'more'} is better)"


def measure_of(kind: KindSpec, name: str | None = None) -> Measure:
    """The measure called *name* (None: what the user of this kind waits for);
    UsageError for others.
    """
    known = dict.fromkeys([kind.measure or kind.objective_name, kind.objective_name])
    known |= dict.fromkeys(kind.compare_columns)
    chosen = name or next(iter(known))
    if chosen not in known:
        raise UsageError(
            f"--measure: {kind.kind} has no {chosen!r}; {suggest(chosen, known)}"
        )
    return Measure(chosen, sense_of(kind, chosen))


def measures_of(kinds: Iterable[KindSpec], name: str | None) -> dict[str, Measure]:
    """The measure of each kind: *name*, or the default of kinds without it;
    UsageError where none has it.
    """
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
    """Whether less or more of a measure is better; solvers' own objectives
    have the kind's sense.
    """
    if name == kind.objective_name or name not in (kind.measure, *kind.compare_columns):
        return kind.sense
    return "max" if name in kind.most else "min"


def proof_of(objective: str) -> str:
    """The metric that holds what was proven of *objective* where the
    measure is another one.

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
    found: float | None = metrics.get(
        proof_of(name), metrics.get(kind.bound_metrics.get(name, ""))
    )
    return found


def by_measure(measure: str | None, values: dict[str, Any]) -> dict[str, float]:
    """Make *values* those of the *measure* asked for; what is proven of another
    objective, as a metric.
    """
    own, bound = values["objective_name"], values["bound"]
    if measure in (None, own):
        return {}
    values |= {"objective_name": measure, "bound": None}
    return {} if bound is None else {proof_of(own): bound}
