"""Generators of workloads from seeds, one module or folder for each family."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Any, TypeVar

from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from ioopt.errors import UsageError
from ioopt.formats.native import describe
from ioopt.options import parse_settings, suggest
from ioopt.problems.base import Json, Record
from ioopt.units import whole

Array = NDArray[Any]
Sample = tuple[Array, Array, Array]
"""The sizes, the run times in seconds and the arrival times in seconds of jobs."""
SettingsT = TypeVar("SettingsT", bound=Record)
ProblemT = TypeVar("ProblemT")


def chosen_preset(
    kind: str, presets: Mapping[str, Any], name: str, settings: Mapping[str, object]
) -> tuple[str, Any]:
    """Return the name and the settings of a preset of *kind*.

    *settings* replace defaults of the preset. Raises UsageError for an unknown preset.
    """
    if name in presets:
        return name, parse_settings(presets[name], settings, f"preset {name}")
    raise UsageError(f"{kind} has no preset {name!r}; {suggest(name, presets)}")


class PresetSettings(Record):
    """Base of the settings of presets; the text below a field is its description."""

    model_config = ConfigDict(use_attribute_docstrings=True)


def variant(
    base: type[SettingsT], meaning: str = "", **defaults: Any
) -> type[SettingsT]:
    """Return the settings class *base* with other *defaults*, for one more preset.

    *meaning* says what the preset is; without it, the preset is described by what
    differs from *base*.
    """
    fields: Json = {}
    for name, default in defaults.items():
        field = copy(base.model_fields[name])
        field.default = default
        fields[name] = (field.annotation, field)
    made = create_model(base.__name__, __base__=base, **fields)
    made.__doc__ = meaning or None
    return made


def about_preset(
    settings: type[BaseModel], presets: Mapping[str, type[BaseModel]]
) -> str:
    """Return what a preset is and the defaults of its *settings*, or from which of
    *presets* it differs in what.

    >>> class Line(PresetSettings):
    ...     '''Settings of one ``line``.
    ...
    ...     More.
    ...     '''
    ...     tasks: int = 4
    >>> about_preset(Line, {})
    'One line.\\ntasks=4'
    >>> about_preset(variant(Line, tasks=2), {"line": Line})
    'As line, but tasks=2.'
    """
    base = settings.__bases__[0]
    fields = settings.model_fields
    for name, other in presets.items():
        if other is base and settings.__doc__ is None:
            before = {key: field.default for key, field in other.model_fields.items()}
            new = [key for key in fields if fields[key].default != before[key]]
            return f"As {name}, but {_defaults(settings, new)}."
    first = (inspect.getdoc(settings) or "").partition("\n\n")[0]
    text = " ".join(first.split()).removeprefix("Settings of ").replace("``", "")
    return f"{text[:1].upper()}{text[1:].rstrip('.')}.\n{_defaults(settings, fields)}"


def _defaults(settings: type[BaseModel], names: Iterable[str]) -> str:
    """Return the defaults of the settings with these *names*."""
    fields = settings.model_fields
    return ", ".join(f"{name}={whole(fields[name].default)}" for name in names)


def built(preset: str, make: Callable[..., ProblemT], **parts: Any) -> ProblemT:
    """Return the problem that *make* builds from *parts*.

    Raises UsageError with the name of the *preset* if the settings conflict.
    """
    try:
        return make(**parts)
    except ValidationError as error:
        raise UsageError(f"preset {preset}: {describe(error, parts)}") from None
