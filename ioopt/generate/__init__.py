"""Generators of workloads from seeds, one module or folder for each family."""

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, TypeVar

from numpy.typing import NDArray
from pydantic import ValidationError, create_model

from ioopt.errors import UsageError
from ioopt.formats.native import describe
from ioopt.options import parse_settings, suggest
from ioopt.problems.base import Json, Record

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


def variant(base: type[SettingsT], **defaults: Any) -> type[SettingsT]:
    """Return the settings class *base* with other *defaults*, for one more preset."""
    fields: Json = {}
    for name, default in defaults.items():
        field = copy(base.model_fields[name])
        field.default = default
        fields[name] = (field.annotation, field)
    return create_model(base.__name__, __base__=base, **fields)


def built(preset: str, make: Callable[..., ProblemT], **parts: Any) -> ProblemT:
    """Return the problem that *make* builds from *parts*.

    Raises UsageError with the name of the *preset* if the settings conflict.
    """
    try:
        return make(**parts)
    except ValidationError as error:
        raise UsageError(f"preset {preset}: {describe(error, parts)}") from None
