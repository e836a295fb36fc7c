"""Find kinds and solvers by name; a solver is imported only when it is needed.

A plugin registers objects in the entry point groups ``ioopt.solvers``
(:class:`SolverSpec`), ``ioopt.kinds`` (classes derived from :class:`Kind`) and
``ioopt.importers`` (click commands). A plugin that cannot be loaded is left out and
recorded in :data:`BROKEN`, so that it never breaks a command that does not need it.
Instead of the name of a solver, ``file.py:function``, ``module:function`` or a plain
function may be given.
"""

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from typing import Any, TypeVar

from ioopt.errors import InstanceError, UsageError
from ioopt.families import Format as Format
from ioopt.families import Kind as Kind
from ioopt.families import (
    MadePolicy,
    batch_io,
    flexgang,
    gang,
    replication,
    work_directory,
)
from ioopt.families import MeasuredKind as MeasuredKind
from ioopt.families import Metric as Metric
from ioopt.families import SolverSpec as SolverSpec
from ioopt.families import load_target as load_target
from ioopt.options import (
    backend_among,
    nearest,
    parse_settings,
    refuse_left_backend,
    refuse_left_class,
    shown,
)
from ioopt.options import suggest as suggest

FAMILIES = (replication, batch_io, gang, flexgang, work_directory)
"""The families of ioopt. A new family needs files of its own and its name in this
list.
"""

Row = TypeVar("Row", Kind, SolverSpec)

BROKEN: dict[str, str] = {}
"""Plugins that could not be loaded: "NAME of PACKAGE (GROUP)" -> the reason."""


def entry_points(group: str) -> list[metadata.EntryPoint]:
    """Return the entry points of a group, sorted by their names and packages."""
    return sorted(metadata.entry_points(group=group), key=lambda e: (e.name, origin(e)))


def origin(entry: metadata.EntryPoint) -> str:
    """Return the name of the package that defines an entry point."""
    return entry.dist.name if entry.dist is not None else "an unnamed package"


def _plugins(
    group: str, row_of: Callable[[object], Row], taken: Callable[[Row], bool]
) -> list[Row]:
    """Return the kinds or solvers that plugins register in *group*.

    *row_of* makes a kind or a solver from the object that an entry point names; it
    raises UsageError when it cannot. A plugin that cannot be loaded, or whose name is
    *taken*, is recorded in :data:`BROKEN`.
    """
    found: list[Row] = []
    for entry in entry_points(group):
        plugin = f"{entry.name} of {origin(entry)} ({group})"
        try:
            row = row_of(entry.load())
        except UsageError as error:
            BROKEN[plugin] = str(error)
        except (Exception, SystemExit) as error:
            BROKEN[plugin] = f"{type(error).__name__}: {error}"
        else:
            if taken(row):
                BROKEN[plugin] = "ioopt has one of that name"
            elif any(_meet(row, other) for other in found):
                BROKEN[plugin] = "another plugin has one of that name"
            else:
                found.append(row)
    return found


def _meet(row: Kind | SolverSpec, other: Kind | SolverSpec) -> bool:
    """Return whether two kinds, or two solvers that take a common kind, have the same
    name.
    """
    if isinstance(row, SolverSpec) and isinstance(other, SolverSpec):
        return row.name == other.name and not {*row.kinds}.isdisjoint(other.kinds)
    if isinstance(row, Kind) and isinstance(other, Kind):
        return row.kind == other.kind
    return False


def _plugin_kind(named: object) -> Kind:
    """Return the kind of a plugin's class; raise UsageError if the class lacks an
    attribute or method that every kind has.
    """
    if not isinstance(named, type) or not issubclass(named, Kind):
        raise UsageError(f"wanted a class derived from Kind, not {shown(named)}")
    for needed in ("kind", "family", "default_solver", "metrics"):
        if not hasattr(named, needed):
            raise UsageError(f"the class {named.__name__} has no {needed!r}")
    for needed in ("problem_class", "check"):
        if getattr(named, needed) is getattr(Kind, needed):
            raise UsageError(f"the class {named.__name__} has no method {needed!r}")
    kind = named()
    for word in ("kind", "family", "default_solver"):
        given: object = getattr(kind, word)
        if not isinstance(given, str):
            raise UsageError(f"{word}: wanted text, not {shown(given)}")
    metrics: object = kind.metrics
    if not isinstance(metrics, tuple) or not metrics:
        raise UsageError(f"metrics: wanted a tuple of Metric, not {shown(metrics)}")
    for metric in metrics:
        if not isinstance(metric, Metric):
            raise UsageError(f"metrics: wanted a Metric, not {shown(metric)}")
    return kind


def _plugin_solver(named: object) -> SolverSpec:
    """Return *named*, the solver row of a plugin; raise UsageError if it names kinds or
    modules that do not exist.
    """
    if not isinstance(named, SolverSpec):
        raise UsageError(f"wanted a SolverSpec, not {type(named).__name__}")
    if not isinstance(named.name, str):
        raise UsageError(f"name: wanted text, not {shown(named.name)}")
    for kind in named.kinds:
        if kind not in KINDS:
            raise UsageError(f"kinds: there is no {kind!r}; {suggest(kind, KINDS)}")
    for target in (named.target, named.settings, named.policy):
        if isinstance(target, str):
            _require_module(target)
    return named


def _require_module(target: str) -> None:
    """Raise UsageError if the module of *target* cannot be found. The module itself is
    not imported, only the packages that contain it.
    """
    module = target.partition(":")[0]
    if module not in sys.modules and find_spec(module) is None:
        raise UsageError(f"{target}: there is no module {module!r}")


def _all_formats() -> dict[str, Format]:
    """Return all formats by name: first kinds of decisions, then those of plugins, then
    formats that are only measured.
    """
    own: list[Format] = []
    for family in FAMILIES:
        own.extend(family.KINDS)
    formats: dict[str, Format] = {}
    for form in own:
        if isinstance(form, Kind):
            formats[form.kind] = form
    names = {form.kind for form in own}
    for kind in _plugins("ioopt.kinds", _plugin_kind, lambda row: row.kind in names):
        formats[kind.kind] = kind
    for form in own:
        formats.setdefault(form.kind, form)
    return formats


def _all_solvers() -> tuple[SolverSpec, ...]:
    """Return the solvers of ioopt, family after family, then those of plugins."""
    solvers: list[SolverSpec] = []
    for family in FAMILIES:
        solvers.extend(family.SOLVERS)

    def taken(row: SolverSpec) -> bool:
        return any(_meet(row, own) for own in solvers)

    return (*solvers, *_plugins("ioopt.solvers", _plugin_solver, taken))


def __getattr__(name: str) -> object:
    """Raise an error for a missing name; for a class that was removed, the error says
    what replaces it.
    """
    refuse_left_class(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


FORMATS: dict[str, Format] = _all_formats()
"""The formats that can be read, keyed by name: first kinds of decisions, then formats
that are only measured.
"""
KINDS: dict[str, Kind] = {
    name: form for name, form in FORMATS.items() if isinstance(form, Kind)
}
"""The kinds of decisions, keyed by name."""
SOLVERS: tuple[SolverSpec, ...] = _all_solvers()
"""The solvers of ioopt's families, then those of plugins."""


def families() -> tuple[str, ...]:
    """Return the names of the families in the order of the registry."""
    return tuple(dict.fromkeys(spec.family for spec in KINDS.values()))


def format_of(text: object, where: str = "instance") -> Format:
    """Return the format that *text*, the ``format`` key of a file, names; raise
    InstanceError for an unknown format.
    """
    for spec in FORMATS.values():
        if text == spec.format:
            return spec
    if text is None:
        raise InstanceError(
            f'{where}: format: missing; an instance says "format": "ioopt/..."'
        )
    known = suggest(str(text), [spec.format for spec in FORMATS.values()])
    hint = _broken(str(text).removeprefix("ioopt/")) or f"; {known}"
    raise InstanceError(f"{where}: format: {text!r} is not an instance format{hint}")


def decided(spec: Format) -> Kind:
    """Return *spec* as a kind of decision; raise UsageError for a format that is only
    measured.
    """
    if isinstance(spec, Kind):
        return spec
    raise UsageError(
        f"{spec.kind} instances are measured, not solved: ioopt measure FILE"
    )


def generator_of(name: str) -> Format:
    """Return the format that ``ioopt instances generate NAME`` makes: the kind called
    *name*, or the first kind of the family called *name*.
    """
    able = [spec for spec in FORMATS.values() if spec.generates]
    for spec in able:
        if spec.kind == name:
            return spec
    for spec in able:
        if spec.family == name:
            return spec
    known: list[str] = []
    for spec in able:
        known += [spec.family, spec.kind]
    raise UsageError(
        f"no family {name!r} to generate; {suggest(name, dict.fromkeys(known))}"
    )


def generate(
    kind: Format, preset: str | None, settings: Mapping[str, object], seed: int
) -> Any:
    """Return one generated instance of *kind*; raise UsageError for unknown presets and
    settings.
    """
    if preset is not None and preset not in kind.presets:
        for spec in FORMATS.values():
            if preset in spec.presets:
                raise UsageError(
                    f"preset {preset!r} is one of {spec.kind}, not of {kind.kind}; "
                    f"known: {', '.join(kind.presets)}"
                )
    from pydantic import ValidationError

    from ioopt.formats.native import describe

    try:
        return kind.generate(preset, settings, seed)
    except ValidationError as error:
        # Each setting is valid, but together they make no valid instance.
        raise UsageError(f"{kind.kind}: {describe(error, None)}") from None
    except (OverflowError, MemoryError) as error:
        told = ", ".join(f"{key}={value}" for key, value in settings.items())
        raise UsageError(f"{kind.kind}: {told}: too large to make ({error})") from None


def kind_of_problem(problem: object) -> Kind:
    """Return the kind of *problem*, in which something is decided; raise UsageError for
    any other object.
    """
    return decided(format_of_problem(problem))


def format_of_problem(problem: object) -> Format:
    """Return the format of a problem object; raise UsageError for any other object."""
    text = getattr(problem, "format", None)
    for spec in FORMATS.values():
        if text == spec.format and type(problem) is spec.problem_class():
            return spec
    raise UsageError(f"{type(problem).__name__} is not one of ioopt's problem classes")


def solvers_for(kind: str) -> tuple[SolverSpec, ...]:
    """Return the solvers that take instances of *kind*, in the registry's order."""
    return tuple(spec for spec in SOLVERS if kind in spec.kinds)


def solver(name: str | Callable[..., object] | None, kind: Kind) -> SolverSpec:
    """Return the solver called *name* (None: the default solver) for instances of
    *kind*.

    *name* may also be a function, ``file.py:function`` or ``module:function``, as
    :func:`_own` explains.
    Raises UsageError when no solver has that name, or when the named solver takes only
    other kinds.
    """
    wanted = kind.default_solver if name is None else name
    if not (isinstance(wanted, str) or callable(wanted)):
        raise UsageError(f"solver: wanted a name or a function, not {shown(wanted)}")
    if not isinstance(wanted, str) or ":" in wanted:
        return _own(wanted, kind)
    if wanted.endswith(".py"):
        raise UsageError(f"solver {wanted!r}: name its function too: {wanted}:FUNCTION")
    for spec in SOLVERS:
        if spec.name == wanted and kind.kind in spec.kinds:
            return spec
    raise _no_solver(wanted, kind)


def _no_solver(wanted: str, kind: Kind) -> UsageError:
    """Return the error that no solver for *kind* is called *wanted*: its new name or
    replacement, the kinds that it takes, or a similar name.
    """
    if now := kind.renamed.get(wanted):
        return UsageError(f"{wanted} of {kind.family} is now {now}")
    if instead := kind.removed.get(wanted):
        return UsageError(f"{wanted} of {kind.family} was removed; take {instead}")
    names = [spec.name for spec in solvers_for(kind.kind)]
    for other in SOLVERS:
        if other.name == wanted:
            return UsageError(
                f"solver {wanted!r} takes {', '.join(other.kinds)}, not {kind.kind}; "
                f"solvers for {kind.kind}: {', '.join(names)}"
            )
    near = _broken(wanted) or f"; {_nearest_solver(wanted, names)}"
    return UsageError(f"no solver {wanted!r} for {kind.kind}{near}")


def removed_solver(family: str, name: str) -> str | None:
    """Return the replacement for the removed solver *name* of *family*; None if *name*
    was not removed.
    """
    for kind in KINDS.values():
        if kind.family == family and name in kind.removed:
            return kind.removed[name]
    return None


def _nearest_solver(wanted: str, names: Sequence[str]) -> str:
    """Return the end of a message about an unknown solver: the most similar name for
    the kind, else the most similar name for any kind, else all names for the kind.
    """
    near = nearest(wanted, names) or nearest(wanted, [spec.name for spec in SOLVERS])
    if near is None or near in names:
        return suggest(wanted, names)
    found = next(spec for spec in SOLVERS if spec.name == near)
    return (
        f"did you mean {near!r}, which takes {', '.join(found.kinds)}? known: "
        f"{', '.join(names)}"
    )


def backend_of(spec: SolverSpec, name: str | None) -> str | None:
    """Return the solver's backend called *name*, in upper or lower case; None for None.

    Raise UsageError for a backend that the solver does not have.
    """
    refuse_left_backend(name)
    if name is None:
        return None
    backend = backend_among(spec.backends, name)
    if backend is None:
        known = ", ".join(spec.backends) or "none, it needs no backend"
        raise UsageError(
            f"solver {spec.name!r} has no backend {name!r}; its backends: {known}"
        )
    return backend


def settings_for(spec: SolverSpec, given: Mapping[str, object]) -> Any:
    """Return the settings of a solver from ``--set`` values; raise UsageError for an
    unknown setting, and for a value that contradicts a setting fixed by the solver's
    name.
    """
    settings_class = spec.settings_class()
    if settings_class is None:
        if given:
            raise UsageError(
                f"{spec.name} has no setting {next(iter(given))!r}; its settings: none"
            )
        return None
    settings = parse_settings(settings_class, {**spec.fixed, **given}, spec.name)
    for key, value in spec.fixed.items():
        if key in given and getattr(settings, key) != value:
            wanted = {**spec.fixed, key: getattr(settings, key)}
            raise UsageError(
                f"{spec.name}: setting {key}={given[key]!r}: the solver's name fixes "
                f"it to {value!r}; {_named_for(spec, wanted)}"
            )
    return settings


def _named_for(spec: SolverSpec, wanted: Mapping[str, object]) -> str:
    """Return advice for a user who wants the fixed settings *wanted*: use the solver
    that has them, if there is one.
    """
    for other in SOLVERS:
        alike = (other.target, other.kinds) == (spec.target, spec.kinds)
        if alike and other.fixed.items() <= wanted.items():
            return f"use --solver {other.name}"
    return "use another solver"


def named_policy(name: str, kind: Kind, settings: Mapping[str, object]) -> MadePolicy:
    """Return the policy of the solver called *name*, made from *settings*; raise
    UsageError for an unknown name or setting, and for a solver without a policy.
    """
    spec = solver(name, kind)
    if spec.policy is None:
        raise UsageError(
            f"{name} tries several policies on whole instances; name one of these"
        )
    chosen = settings_for(spec, settings)
    return MadePolicy(spec.make_policy(chosen), chosen)


def policy_of_plan(kind: Kind, plan: object) -> MadePolicy | None:
    """Return the policy that a plan names, made with the settings in the plan; None for
    a plan that no policy made.
    """
    name = kind.policy_of(plan)
    if name is None:
        return None
    settings_class = solver(name, kind).settings_class()
    known = set() if settings_class is None else {*settings_class.model_fields}
    return named_policy(name, kind, kind.policy_settings(plan, known))


def _broken(name: str) -> str:
    """Return the end of a message about an unknown *name*: why the plugin with that
    name could not be loaded; empty if there is no such plugin.
    """
    for plugin, wrong in BROKEN.items():
        if plugin.startswith(f"{name} of "):
            return f"; the plugin {plugin} cannot be loaded: {wrong}"
    return ""


_OWN_REFUSED: list[str] = []
"""The reason why this process accepts only registered solvers; empty if it accepts
functions of the user.
"""


def refuse_own(why: str) -> None:
    """Refuse functions of the user as solvers, from now on and in this process, so that
    naming a solver cannot import code.
    """
    _OWN_REFUSED[:] = [why]


def _own(wanted: str | Callable[..., object], kind: Kind) -> SolverSpec:
    """Return the solver row for a function of the user, given directly, as
    ``file.py:function`` or as ``module:function``. Its module may be in the working
    folder.

    Its parameters are explained in :func:`ioopt.registry.own.own_solver`; it returns an
    Outcome, a plan object or a plan's dictionary. Raises UsageError when there is no
    such function.
    """
    if isinstance(wanted, str):
        name = wanted
    else:
        name = _called(wanted)
    if _OWN_REFUSED:
        raise UsageError(f"solver {name!r} is not a listed one; {_OWN_REFUSED[0]}")
    function: object = wanted
    if isinstance(wanted, str):
        from ioopt.registry.own_files import find_function

        function = find_function(wanted)
    if isinstance(function, SolverSpec):
        return replace(function, name=name)
    if not callable(function):
        raise UsageError(
            f"solver {name!r}: a {type(function).__name__}, not a function"
        )
    from ioopt.registry.own import own_solver

    if isinstance(function, partial):
        _require_arguments(function, name)
    solve, settings = own_solver(function, name)
    summary = inspect.getdoc(function) or "a function of the caller"
    return SolverSpec(
        name,
        (kind.kind,),
        solve,
        summary.splitlines()[0],
        "outside",
        settings=settings,
    )


def _require_arguments(function: partial[object], name: str) -> None:
    """Raise UsageError if the partial *function*, the solver *name*, has arguments that
    what it calls does not take.
    """
    try:
        inspect.signature(function)
    except ValueError:
        raise UsageError(
            f"solver {name!r}: {_called(function.func)} does not take "
            f"{', '.join(function.keywords) or 'so many arguments'}; it takes "
            f"{', '.join(inspect.signature(function.func).parameters)}"
        ) from None


def _called(function: Callable[..., object]) -> str:
    """Return the name of a *function* of the user: ``file.py:name`` if its module is in
    the working folder, as a command names it, else ``module:name``. A partial one is
    called as what it calls, with the keywords as settings.
    """
    if isinstance(function, partial):
        given = ",".join(f"{key}={value}" for key, value in function.keywords.items())
        return f"{_called(function.func)}:{given}" if given else _called(function.func)
    plain = getattr(function, "__qualname__", type(function).__name__)
    module = function.__module__
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    if os.path.dirname(os.path.abspath(file)) == os.getcwd() and file.endswith(".py"):
        module = os.path.basename(file)
    return f"{module}:{plain}"


def measure_of(kind: Kind, name: str | None = None) -> Metric:
    """Return the metric called *name* (None: the kind's first metric) as the measure of
    answers of *kind*; raise UsageError when the kind has no such metric.
    """
    chosen = name or kind.metrics[0].name
    known = [metric.name for metric in kind.metrics]
    if chosen not in known:
        raise UsageError(
            f"--measure: {kind.kind} has no {chosen!r}; {suggest(chosen, known)}"
        )
    return kind.metric(chosen)


def measures_of(kinds: Iterable[Kind], name: str | None) -> dict[str, Metric]:
    """Return the measure of each kind, keyed by the kind's name: the metric called
    *name* or, for kinds without it, their first metric. Raise UsageError when no kind
    has *name*.
    """
    found: dict[str, Metric] = {}
    errors: list[UsageError] = []
    for kind in kinds:
        try:
            found[kind.kind] = measure_of(kind, name)
        except UsageError as error:
            errors.append(error)
            found[kind.kind] = measure_of(kind)
    if errors and len(errors) == len(found):
        raise errors[0]
    return found
