"""Name -> solver, kind -> family parts. Nothing here imports a solver until it is asked for."""

from collections.abc import Callable, Mapping
from typing import Any

from ioopt.errors import InstanceError, UsageError
from ioopt.options import nearest, parse_settings, suggest
from ioopt.registry import batch_io, flexgang, gang, outside, replication
from ioopt.registry.outside import BROKEN
from ioopt.registry.types import Format, KindSpec, MeasuredKind, SolverSpec, load_target

__all__ = [
    "BROKEN",
    "FORMATS",
    "KINDS",
    "SOLVERS",
    "Format",
    "KindSpec",
    "MeasuredKind",
    "SolverSpec",
    "families",
    "format_of",
    "format_of_problem",
    "generate",
    "generator_of",
    "kind_of_format",
    "kind_of_problem",
    "load_target",
    "require_backend",
    "settings_for",
    "solver",
    "solvers_for",
    "suggest",
]

_TABLES = (replication, batch_io, gang, flexgang)

KINDS: dict[str, KindSpec] = {spec.kind: spec for table in _TABLES for spec in table.KINDS}
SOLVERS: tuple[SolverSpec, ...] = tuple(spec for table in _TABLES for spec in table.SOLVERS)


def _taken(row: SolverSpec) -> bool:
    return any(row.name == own.name and {*row.kinds} & {*own.kinds} for own in SOLVERS)


KINDS |= {
    row.kind: row for row in outside.rows("ioopt.kinds", KindSpec, lambda row: row.kind in KINDS)
}
SOLVERS += outside.rows("ioopt.solvers", SolverSpec, _taken)
FORMATS: dict[str, Format] = {**KINDS, **{spec.kind: spec for spec in flexgang.MEASURED}}
"""What can be read and generated: kinds of decisions, then what is only measured."""


NOW = {
    ("batch-io", "exact"): "io-exact", ("flexgang", "exact"): "flex-exact",
    ("batch-io", "fixed-share"): "base-line", ("batch-io", "set-10+top"): "fill",
    ("flexgang", "quantum-dp"): "quantum-ip", ("gang", "dedicated"): "iogs",
    ("replication", "lp-rounding"): "anneal", ("replication", "lpt"): "auto",
}  # fmt: skip
"""Solvers of 0.2, (family, name), and what answers in their place: told for one version."""


def families() -> tuple[str, ...]:
    """Family names in the order of the registry."""
    return tuple(dict.fromkeys(spec.family for spec in KINDS.values()))


def format_of(text: object, where: str = "instance") -> Format:
    """The row for a file's ``format`` value; raises InstanceError for one ioopt does not know."""
    for spec in FORMATS.values():
        if text == spec.format:
            return spec
    if text is None:
        raise InstanceError(f'{where}: format: missing; an instance says "format": "ioopt/..."')
    known = suggest(str(text), [spec.format for spec in FORMATS.values()])
    raise InstanceError(f"{where}: format: {text!r} is not an instance format; {known}")


def kind_of_format(text: object, where: str = "instance") -> KindSpec:
    """:func:`format_of`, where something is to be decided."""
    return _decided(format_of(text, where))


def _decided(spec: Format) -> KindSpec:
    if isinstance(spec, KindSpec):
        return spec
    raise UsageError(f"{spec.kind} instances are measured, not solved: ioopt measure FILE")


def generator_of(name: str) -> Format:
    """The format that ``generate NAME`` makes: the kind so named, or the first of that family."""
    able = [spec for spec in FORMATS.values() if spec.generate is not None]
    fitting = [spec for spec in able if spec.kind == name] or [
        spec for spec in able if spec.family == name
    ]
    if not fitting:
        known = dict.fromkeys(text for spec in able for text in (spec.family, spec.kind))
        raise UsageError(f"no family {name!r} to generate; {suggest(name, known)}")
    return fitting[0]


def generate(kind: Format, preset: str | None, settings: Mapping[str, Any], seed: int) -> Any:
    """One instance of *kind*. A preset that another kind has is named as such (UsageError)."""
    if preset is not None and preset not in kind.presets:
        for spec in FORMATS.values():
            if preset in spec.presets:
                raise UsageError(
                    f"preset {preset!r} is one of {spec.kind}, not of {kind.kind}; "
                    f"known: {', '.join(kind.presets)}"
                )
    return load_target(kind.generate or "")(preset, settings, seed)


def kind_of_problem(problem: object) -> KindSpec:
    """The kind of a problem in which something is to be decided; raises UsageError for anything else."""
    return _decided(format_of_problem(problem))


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


def solver(name: str | Callable[..., Any] | None, kind: KindSpec) -> SolverSpec:
    """The solver called *name* (None: the default) for instances of *kind*.

    *name* may also be a function, or ``module:function`` (:func:`ioopt.registry.outside.solver_row`).
    Raises UsageError when no solver has that name or the one that has takes other kinds.
    """
    wanted = name or kind.default_solver
    if not isinstance(wanted, str) or ":" in wanted:
        return outside.solver_row(wanted, kind)
    other = [spec for spec in SOLVERS if spec.name == wanted]
    for spec in other:
        if kind.kind in spec.kinds:
            return spec
    if now := NOW.get((kind.family, wanted)):
        raise UsageError(f"{wanted} of {kind.family} is now {now}")
    names = [spec.name for spec in solvers_for(kind.kind)]
    if other:
        raise UsageError(
            f"solver {wanted!r} takes {', '.join(other[0].kinds)}, not {kind.kind}; "
            f"solvers for {kind.kind}: {', '.join(names)}"
        )
    near = outside.broken(wanted) or f"; {_nearest_solver(wanted, names)}"
    raise UsageError(f"no solver {wanted!r} for {kind.kind}{near}")


def _nearest_solver(wanted: str, names: list[str]) -> str:
    """The nearest name of the kind, else of any, else all of the kind."""
    near = nearest(wanted, names) or nearest(wanted, [spec.name for spec in SOLVERS])
    found = next((spec for spec in SOLVERS if spec.name == near), None)
    if found is None or near in names:
        return suggest(wanted, names)
    return f"did you mean {near!r}, which takes {', '.join(found.kinds)}? known: {', '.join(names)}"


def require_backend(spec: SolverSpec, backend: str | None) -> None:
    """Raise UsageError for a backend that the solver does not have."""
    if backend is not None and backend not in spec.backends:
        known = ", ".join(spec.backends) or "none, it needs no backend"
        raise UsageError(f"solver {spec.name!r} has no backend {backend!r}; its backends: {known}")


def settings_for(spec: SolverSpec, given: Mapping[str, Any]) -> Any:
    """The settings object of a solver from ``--set`` values.

    Raises UsageError for unknown ones, and for one that contradicts what the solver's name says.
    """
    if spec.settings is None:
        if given:
            raise UsageError(
                f"{spec.name} has no setting {next(iter(given))!r}; its settings: none"
            )
        return None
    settings = parse_settings(load_target(spec.settings), {**spec.fixed, **given}, spec.name)
    for key, value in spec.fixed.items():
        if getattr(settings, key) != value:
            raise UsageError(
                f"{spec.name}: setting {key}={given[key]!r}: the solver's name fixes it to "
                f"{value!r}; {_named_for(spec, {**spec.fixed, key: getattr(settings, key)})}"
            )
    return settings


def _named_for(spec: SolverSpec, wanted: Mapping[str, Any]) -> str:
    """What to do for the fixed settings *wanted*: the solver that has them, or leave them alone."""
    twins = [
        other.name
        for other in SOLVERS
        if (other.target, other.kinds) == (spec.target, spec.kinds)
        and other.fixed.items() <= wanted.items()
    ]
    return f"use --solver {twins[0]}" if twins else "use another solver"
