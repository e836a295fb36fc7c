"""Read problems, plans and results from files and plain data; refuse invalid ones."""

import math
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ioopt import errors, registry
from ioopt.catalog import resolve
from ioopt.families import Kind
from ioopt.formats.native import is_large, read_json, shown, validate
from ioopt.options import refuse_left_backend, suggest
from ioopt.problems.base import Json, Problem, Rows
from ioopt.result import Result

if TYPE_CHECKING:
    from ioopt.problems.columns import Columns


def load(source: Any) -> Any:
    """Return the problem that *source* describes.

    *source* is a path, the name of a bundled instance, ``-`` (standard input), a
    dictionary, a builder, or a problem, which is returned unchanged.

    Raises InstanceError with one line that names the place of the fault.

    >>> len(load("cycle3").tasks)
    6
    """
    if isinstance(source, (str, os.PathLike)):
        path = resolve(source)
        columns = _load_columns(path)
        if columns is not None:
            return columns
        try:
            data = read_json(path)
        except errors.MissingFileError as error:
            raise errors.InstanceError(
                f"{error}, and no bundled instance has that name (see `ioopt "
                "instances`)"
            ) from None
        return problem_from_dict(data, "<stdin>" if path == "-" else os.fspath(source))
    if isinstance(source, Mapping):
        return problem_from_dict(source, "instance")
    # A problem is asked by its class: its own attributes are searched far longer.
    if hasattr(type(source), "build"):
        return source.build()
    registry.format_of_problem(source)
    return source


def _load_columns(path: str) -> Problem | None:
    """Return the problem in a large file, with its jobs as columns.

    Return None for other files, and for those whose jobs have to be read as records,
    such as invalid ones.
    """
    if not is_large(path):
        return None
    # Imported here, because most files are small.
    from ioopt.formats import large

    with suppress(OSError, *large.UNREADABLE):
        read = large.read_pieces(path, (), lambda head: _columns_class(head).read)
        jobs = _columns_class(read.rest).joined(read.parts)
        form: type[Problem] = registry.format_of(read.rest["format"]).problem_class()
        return form.model_validate(read.rest | {"jobs": jobs})
    return None


def _columns_class(data: Json) -> "type[Columns[Any]]":
    """Return the class for the jobs of the instance *data*; raise InstanceError if they
    are always records.
    """
    columns = registry.format_of(data.get("format")).columns_class()
    if columns is None:
        raise errors.InstanceError("the jobs are always records")
    return columns


def problem_from_dict(data: object, name: str) -> Any:
    """Build the problem that plain *data* describes; messages call it *name*."""
    if not isinstance(data, Mapping):
        raise errors.InstanceError(
            f"{name}: an instance is a JSON object, not {type(data).__name__}"
        )
    form = registry.format_of(data.get("format"), name)
    return validate(form.problem_class(), data, name)


def result_from_dict(data: object, name: str) -> Result:
    """Build a :class:`Result` from plain data, or raise InstanceError with one line."""
    if not isinstance(data, Mapping) or data.get("format") != "ioopt/result":
        given = data.get("format") if isinstance(data, Mapping) else type(data).__name__
        raise errors.InstanceError(
            f"{name}: format: wanted 'ioopt/result', not {shown(given)}"
        )
    require_finite(data, name)
    result = validate(Result, data, name)
    refuse_removed(data, name)
    return result


def refuse_removed(data: Mapping[str, object], name: str) -> None:
    """Raise InstanceError for a result of a solver or a backend that was removed."""
    family = data.get("family")
    solver = data.get("solver")
    instead = registry.removed_solver(str(family), str(solver))
    if instead is not None:
        raise errors.InstanceError(
            f"{name}: solver: {solver} of {family} was removed; solve again with "
            f"{instead}"
        )
    told = data.get("options")
    backend = told.get("backend") if isinstance(told, Mapping) else None
    try:
        refuse_left_backend(backend)
    except errors.UsageError as error:
        raise errors.InstanceError(f"{name}: options.backend: {error}") from None


def require_finite(data: Mapping[str, object], name: str) -> None:
    """Raise InstanceError when a metric, option or setting of a result is not a finite
    number.

    Numbers in plans, schedules and the other fields of a result are checked when these
    are validated.
    """
    for part in ("metrics", "options", "settings"):
        told = data.get(part)
        for key, value in told.items() if isinstance(told, Mapping) else ():
            if not _is_finite(value):
                raise errors.InstanceError(
                    f"{name}: {part}.{key}: must be a finite number, or null "
                    "where it is unknown"
                )


def _is_finite(value: object) -> bool:
    """Return whether every number in *value* is finite."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(_is_finite(part) for part in value.values())
    return not isinstance(value, (list, tuple)) or all(
        _is_finite(part) for part in value
    )


def plan_in(given: object) -> object:
    """Return the plan of a Result or of a result's dictionary; a bare plan is returned
    unchanged.
    """
    if isinstance(given, Result):
        return given.plan
    if isinstance(given, Mapping) and "plan" in given:
        return given["plan"]
    return given


def plan_of(kind: Kind, plan: object, name: str = "plan") -> Any:
    """Return the plan as an object of the kind's plan class, built from its dictionary;
    an object is returned unchanged.
    """
    plan_class = kind.plan_class()
    if plan is None or plan_class is None or isinstance(plan, plan_class):
        return plan
    found = validate(plan_class, plan, name)
    rows = registry.solvers_for(kind.kind)
    known = [row.name for row in rows if row.policy and row.variant_of is None]
    given = getattr(found, "policy", None)
    if known and given is not None and given not in known:
        raise errors.InstanceError(
            f"{name}: policy: there is no {given!r}; {suggest(given, known)}"
        )
    return found


def require_form(kind: Kind, data: Mapping[str, object], name: str) -> None:
    """Raise InstanceError when the plan or the schedule in *data* does not have the
    form of its kind.
    """
    plan_of(kind, data.get("plan"), f"{name}: plan")
    schedule = data.get("schedule")
    schedule_class = kind.schedule_class()
    if schedule is not None and schedule_class is not None:
        if isinstance(schedule, Mapping) and isinstance(schedule.get("jobs"), Rows):
            schedule = {**schedule, "jobs": ()}  # Their form was tested when read.
        validate(schedule_class, schedule, f"{name}: schedule")
