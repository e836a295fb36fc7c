"""Make a solver of a user's function: which parameters are its settings, and how it is
called.
"""

import dataclasses
import inspect
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter
from typing import Annotated, Any, NamedTuple, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, create_model

from ioopt.errors import UsageError
from ioopt.protocols import SolveRequest

Function = Callable[..., object]
STRICT = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())
TEXT_OR_NUMBER = Annotated[int | float | str, Field(union_mode="left_to_right")]
"""The type of a setting whose default is None: text that is a number is a number."""
TYPES: dict[type, Any] = {bool: bool, int: int | float, float: float, str: str}
"""Type of a default -> type of a setting without annotation. A default of 1 may stand
for a real number.
"""
HOW = "take keyword parameters with defaults, or a frozen dataclass Settings"


class OwnSolver(NamedTuple):
    """A function of a problem and a request, and the class of its settings."""

    solve: Function
    settings: type[BaseModel] | None


def own_solver(function: Function, name: str) -> OwnSolver:
    """Return the solver of the user's *function*, which is called *name*.

    The function takes the problem. A parameter called ``request``, or a second one
    without a default, gets the :class:`~ioopt.protocols.SolveRequest`. A parameter
    called ``seed`` gets the seed. Other parameters whose default is text, a number, a
    truth value or None are settings. A function that takes the request and has no such
    parameter has the settings of the class ``Settings`` of its module. Raises
    UsageError for other parameters without a default, and for a class ``Settings`` that
    is neither a dataclass nor a pydantic class.
    """
    try:
        first, *others = inspect.signature(function).parameters.values()
    except ValueError:  # no signature is known, or it has no parameter
        return OwnSolver(function, None)
    if first.kind is Parameter.VAR_POSITIONAL:
        others = [first]
    request = _request_among(others)
    for other in others:
        required = other.default is Parameter.empty and not _is_open(other)
        if required and other is not request and other.name != "seed":
            raise UsageError(
                f"solver {name!r}: its parameter {other.name!r} has no default; a "
                "setting has one, such as weight=0.5"
            )
    seeded = any(other.name == "seed" for other in others)
    fields = _settings_among(function, others)
    beside = getattr(sys.modules.get(function.__module__), "Settings", None)
    if request is None or beside is None:
        settings = _model(fields, name) if fields else None
        build = None
    elif fields:
        raise UsageError(
            f"solver {name!r}: both the class Settings and the parameters "
            f"{', '.join(fields)} could be its settings; remove one of the two"
        )
    else:
        settings, build = _of_class(beside, name)

    @wraps(function)
    def solve(problem: object, asked: SolveRequest[Any, Any]) -> object:
        given = _given(asked.settings) if fields else {}
        if build is not None:
            asked = dataclasses.replace(asked, settings=build(asked.settings))
        if seeded and given.get("seed") is None:
            given["seed"] = asked.options.seed
        if request is None:
            return function(problem, **given)
        if request is others[0]:
            return function(problem, asked, **given)
        return function(problem, request=asked, **given)

    # The wrapper counts as the user's, not as one of ioopt's functions.
    solve.__module__ = getattr(function, "__module__", None) or "outside"
    return OwnSolver(solve, settings)


def _is_open(parameter: Parameter) -> bool:
    """Return whether *parameter* is ``*args`` or ``**kwargs``."""
    return parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def _request_among(others: list[Parameter]) -> Parameter | None:
    """Return the parameter among *others* than the first that takes the request."""
    for other in others:
        if other.name == "request":
            return other
    second = others[0] if others else None
    if second is None or second.name == "seed":
        return None
    by_place = second.kind not in (Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD)
    return second if by_place and second.default is Parameter.empty else None


def _settings_among(function: Function, others: list[Parameter]) -> dict[str, Any]:
    """Return the settings among the parameters of *function*, as fields of pydantic:
    name -> (type, default). The seed is one too; its default is that of the run.
    """
    try:
        hints = get_type_hints(inspect.unwrap(function))
    except Exception:  # an annotation may name what exists for type checkers alone
        hints = {}
    fields: dict[str, Any] = {}
    for other in others:
        if other.name == "seed":
            fields["seed"] = (int | None, None)
        elif _is_setting(other):
            hint = hints.get(other.name, _type_of(other.default))
            fields[other.name] = (hint, other.default)
    return fields


def _is_setting(parameter: Parameter) -> bool:
    """Return whether a user may set *parameter* by ``--set``."""
    if parameter.name == "request" or parameter.name.startswith("_"):
        return False
    by_name = parameter.kind in (
        Parameter.KEYWORD_ONLY,
        Parameter.POSITIONAL_OR_KEYWORD,
    )
    plain = isinstance(parameter.default, (bool, int, float, str))
    return by_name and (plain or parameter.default is None)


def _type_of(default: object) -> Any:
    """Return the type of a setting that has a *default* and no annotation."""
    for known, meant in TYPES.items():
        if isinstance(default, known):
            return meant
    return TEXT_OR_NUMBER


def _model(fields: Mapping[str, Any], name: str) -> type[BaseModel]:
    """Return a pydantic class with *fields*; raise UsageError for a type that it cannot
    read.
    """
    try:
        with warnings.catch_warnings():
            # A setting may be called like a method of pydantic, such as copy.
            warnings.simplefilter("ignore")
            model: type[BaseModel] = create_model(
                "Settings", __config__=STRICT, **fields
            )
    except (PydanticUserError, NameError, TypeError, ValueError) as error:
        raise UsageError(
            f"solver {name!r}: settings {', '.join(fields)}: "
            f"{str(error).splitlines()[0]}"
        ) from error
    return model


def _given(settings: BaseModel | None) -> dict[str, Any]:
    """Return the values that the user gave; the function has the defaults."""
    if settings is None:
        return {}
    return {key: getattr(settings, key) for key in settings.model_fields_set}


def _of_class(
    beside: object, name: str
) -> tuple[type[BaseModel], Callable[[Any], object] | None]:
    """Return the settings that the class *beside* the function declares, and what makes
    an object of the class from them (None: they are one).

    Unknown keys are refused unless the class says otherwise.
    """
    if isinstance(beside, type) and issubclass(beside, BaseModel):
        if "extra" in beside.model_config:
            return beside, None
        strict = {"model_config": STRICT, "__module__": beside.__module__}
        return type(beside.__name__, (beside,), strict), None
    if not (isinstance(beside, type) and dataclasses.is_dataclass(beside)):
        raise UsageError(
            f"solver {name!r}: Settings is neither a dataclass nor a pydantic class; "
            f"{HOW}"
        )
    made = beside
    hints = get_type_hints(made)
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(made):
        if not field.init:
            continue
        default: Any = ... if field.default is dataclasses.MISSING else field.default
        if field.default_factory is not dataclasses.MISSING:
            default = Field(default_factory=field.default_factory)
        fields[field.name] = (hints[field.name], default)

    def build(settings: BaseModel) -> object:
        return made(**{key: getattr(settings, key) for key in fields})

    return _model(fields, name), build
