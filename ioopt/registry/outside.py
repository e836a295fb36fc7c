"""What other packages and users bring: rows by entry point, ``module:function``, plain functions.

A plugin names objects in the entry point groups ``ioopt.solvers`` (:class:`SolverSpec`),
``ioopt.kinds`` (:class:`KindSpec`) and ``ioopt.importers`` (commands of click). One that cannot be
loaded is left out and kept in :data:`BROKEN`: it never breaks a command that does not need it.
"""

import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

from ioopt.errors import UsageError
from ioopt.registry.types import KindSpec, SolverSpec, load_target

Row = TypeVar("Row", KindSpec, SolverSpec)

BROKEN: dict[str, str] = {}
"""Plugins that could not be loaded: "NAME of PACKAGE (GROUP)" -> what is wrong."""


def entry_points(group: str) -> list[Any]:
    """The entry points of a group, by name and package."""
    from importlib import metadata

    return sorted(metadata.entry_points(group=group), key=lambda e: (e.name, origin(e)))


def origin(entry: Any) -> str:
    """The package that an entry point is of."""
    return entry.dist.name if entry.dist is not None else "an unnamed package"


def rows(group: str, cls: type[Row], taken: Callable[[Row], bool]) -> tuple[Row, ...]:
    """The rows that plugins add; what cannot be loaded, is no *cls* or *taken* goes to :data:`BROKEN`."""
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


def broken(name: str) -> str:
    """The end of a message about an unknown *name*: why the plugin of that name is not there."""
    for plugin, wrong in BROKEN.items():
        if plugin.startswith(f"{name} of "):
            return f"; the plugin {plugin} cannot be loaded: {wrong}"
    return ""


def solver_row(solver: str | Callable[..., Any], kind: KindSpec) -> SolverSpec:
    """The row of a function, or of one named ``module:function`` (the working folder counts).

    The function takes the problem, or the problem and a :class:`~ioopt.protocols.SolveRequest`; it
    returns an Outcome, a plan object or a plan's dictionary. A class ``Settings`` beside it gives it
    ``--set``. Raises UsageError when there is no such function.
    """
    name = solver if isinstance(solver, str) else _name(solver)
    function = _find(solver) if isinstance(solver, str) else solver
    if isinstance(function, SolverSpec):
        return replace(function, name=name)
    if not callable(function):
        raise UsageError(f"solver {name!r}: a {type(function).__name__}, not a function")
    try:
        one = len(inspect.signature(function).parameters) == 1
    except ValueError:
        one = False
    settings = getattr(sys.modules.get(function.__module__), "Settings", None)
    return SolverSpec(
        name, (kind.kind,), _with_request(function) if one else function,
        (inspect.getdoc(function) or "a function of the caller").splitlines()[0], "outside",
        settings=settings,
    )  # fmt: skip


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", type(function).__name__)


def _with_request(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    @wraps(function)
    def solve(problem: Any, request: Any) -> Any:
        return function(problem)

    return solve


def _find(target: str) -> Any:
    """The object called ``module:name``, from the import path or the working folder."""
    folder = os.getcwd()
    added = folder not in sys.path
    if added:
        sys.path.append(folder)
    try:
        return load_target(target)
    except Exception as error:
        raise UsageError(
            f"solver {target!r} cannot be loaded: {type(error).__name__}: {error}; "
            "wanted package.module:function"
        ) from error
    finally:
        if added:
            sys.path.remove(folder)
