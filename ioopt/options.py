"""Define the options that all solvers share and the class of deadlines, and convert
``--set KEY=VALUE`` to the settings of a solver.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from ioopt.errors import UsageError

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

    SettingsT = TypeVar("SettingsT", bound=BaseModel)


class AtMost(float):
    """A default time limit. Because the user did not ask for this limit, a search that
    counts its evaluations may end earlier.
    """


PAPER_WIDTHS = (60.0, 400.0)
"""The least and the greatest width of a picture for a paper, in millimetres."""
DEFAULT_TIME_LIMIT_SECONDS: float = AtMost(60.0)
OVERTIME = 0.05
"""The share of the time limit by which a replay and a check may exceed the limit."""
OVERTIME_SECONDS = 0.8
"""The seconds, in addition to the share ``OVERTIME``, by which a replay and a check may
exceed the time limit.
"""
ANSWER_SHARE = 0.1
"""The share of a deadline that is kept for the answer, beside the overtime."""


def limit_before(deadline_seconds: float, share: float) -> float:
    """Return the time limit of a solve that must have returned after
    *deadline_seconds*, with its overtime: at most *share* of the deadline, and at least
    a quarter of it.
    """
    kept = ANSWER_SHARE * deadline_seconds + OVERTIME_SECONDS
    limit = (deadline_seconds - kept) / (1.0 + OVERTIME)
    return max(0.25 * deadline_seconds, min(share * deadline_seconds, limit))


now: Callable[[], float] = time.monotonic
"""The clock of deadlines; tests replace it by a clock that counts how often it is
read.
"""


@dataclass(frozen=True)
class SolveOptions:
    """Options that every solver understands.

    ``time_limit_seconds`` counts from the call of ``solve``, model building included;
    None means no limit. ``gap`` is the relative gap at which a solver may stop.
    ``threads`` is passed to the backend. ``seed`` makes a run repeatable. ``backend``
    names a backend of the solver (None: the solver's default). ``log`` is a file that
    receives the backend's own log.
    """

    time_limit_seconds: float | None = DEFAULT_TIME_LIMIT_SECONDS
    gap: float | None = None
    threads: int = 1
    seed: int = 0
    backend: str | None = None
    log: str | None = None

    def __post_init__(self) -> None:
        limit = self.time_limit_seconds
        if limit is not None and not limit > 0:
            raise UsageError(f"time limit must be more than 0 seconds, not {limit}")
        if self.gap is not None and not 0 <= self.gap < float("inf"):
            raise UsageError(f"gap must be 0 or more, not {self.gap}")
        if self.threads < 1:
            raise UsageError(f"threads must be 1 or more, not {self.threads}")
        if self.seed < 0:
            raise UsageError(f"seed must be 0 or more, not {self.seed}")


@dataclass(frozen=True)
class Deadline:
    """The time on a monotonic clock at which a solve must end, including the time for
    building the model.

    If this is the deadline of one part of a run, ``run_seconds`` is the time limit of
    the whole run. ``processor_started`` is the processor time that the thread had used
    before the run.
    """

    limit_seconds: float | None
    clock: Callable[[], float] = field(default_factory=lambda: now)
    started: float = field(default=-1.0)
    run_seconds: float = field(default=-1.0)
    processor_started: float = field(default_factory=time.thread_time)

    def __post_init__(self) -> None:
        if self.started < 0:
            object.__setattr__(self, "started", self.clock())
        if self.run_seconds < 0:
            whole = float("inf") if self.limit_seconds is None else self.limit_seconds
            object.__setattr__(self, "run_seconds", whole)

    def elapsed(self) -> float:
        """Return the seconds since the deadline was set."""
        return self.clock() - self.started

    def remaining(self) -> float:
        """Return the seconds left, never below 0; infinity without a limit."""
        if self.limit_seconds is None:
            return float("inf")
        return max(0.0, self.limit_seconds - self.elapsed())

    def expired(self) -> bool:
        """Return whether no time is left."""
        return self.remaining() <= 0.0

    def with_overtime(self, after_seconds: float = 0.0) -> Deadline:
        """Return a later deadline, for a replay. It leaves *after_seconds* for the
        check and the report that follow the replay.

        A whole command may exceed its limit by a tenth of the limit plus one second,
        including its start-up.
        """
        if self.limit_seconds is None:
            return self
        whole = (1.0 + OVERTIME) * self.limit_seconds + OVERTIME_SECONDS
        limit = max(0.0, whole - after_seconds)
        return replace(self, limit_seconds=limit)

    def without(self, seconds: float, processor_seconds: float) -> Deadline:
        """Return this deadline later by *seconds*, of which the thread spent
        *processor_seconds* computing: they do not count.
        """
        return replace(
            self,
            started=self.started + seconds,
            processor_started=self.processor_started + processor_seconds,
        )

    def would_do(self, share: float) -> str:
        """Return the end of a message: the time limit that would be enough, estimated
        from the *share* of the work that is done.
        """
        if share <= 0:
            return ""
        return (
            f"; about {1.2 * self.elapsed() / share + OVERTIME_SECONDS:.2g} s would do"
        )

    def within(self, seconds: float) -> Deadline:
        """Return a deadline *seconds* from now, or this deadline if it is earlier."""
        left = min(seconds, self.remaining())
        if math.isinf(left):
            return self
        return replace(self, limit_seconds=left, started=self.clock())


RENAMED: dict[str, dict[str, str]] = {
    "command": {
        "compile": "doctor",
        "decide": "solve --now",
        "explain": "check --explain",
        "generate": "instances generate",
        "report": "plot",
        "schema": "instances schema",
        "solvers": "instances solvers",
    },
    "option": {"--policy": "--solver"}
    | {
        f"--{name.replace('_', '-')}": f"--machine {name}=..."
        for name in (
            "nodes",
            "processors_per_node",
            "unit_nodes",
            "allocation",
            "node_rate",
            "storage_rate",
            "kill",
            "queue",
            "backfill",
            "reservation",
            "plan",
            "estimate",
            "pass",
            "backfill_order",
            "cores",
            "disk",
            "remote_rate",
            "replica_rate",
            "link",
            "speed",
        )
    },
}
"""Renamed commands and options of the last version -> their present names.

For one version, ioopt answers an old name with a line that has the present name. The
old names of solvers are in ``Kind.renamed``.
"""

LEFT: dict[str, dict[str, str]] = {
    "backend": {
        "GLPK": "GLPK is no longer a backend; take CP-SAT, HiGHS, CBC or SCIP, or give "
        "any solver the model that `ioopt export lp` or `ioopt export mps` writes, "
        "and read its solution with `ioopt import sol`",
    },
    "class": {
        "KindSpec": "KindSpec is now the class Kind (docs/extending.md)",
        "Measure": "Measure is now the class Metric (docs/extending.md)",
    },
    "command": {
        "submit": "submit is no longer a command; in a checkout, `python "
        "scripts/tools/library.py submit FILE RESULT` does it",
    },
    "instance": dict.fromkeys(
        ("buffer-12", "buffer-per-node-8"),
        "was removed with burst buffers; take io-sets-12 or small-8",
    ),
}
"""Names of version 0.2 that were removed -> what to use instead: backends, classes of
``ioopt.registry``, commands and bundled instances.
"""


def refuse_left_backend(name: object) -> None:
    """Raise UsageError for a backend that existed in 0.2 and was removed."""
    if isinstance(name, str) and name.upper() in LEFT["backend"]:
        raise UsageError(LEFT["backend"][name.upper()])


def backend_among(known: Iterable[str], name: str) -> str | None:
    """Return the backend of *known* that is called *name*, in upper or lower case; None
    if there is none.
    """
    for backend in known:
        if backend.lower() == name.lower():
            return backend
    return None


def refuse_left_class(name: str) -> None:
    """Raise ImportError for a class of ``ioopt.registry`` that existed in 0.2 and was
    removed.
    """
    if name in LEFT["class"]:
        raise ImportError(LEFT["class"][name])


LEAST_LIKENESS = 0.6
"""The least similarity, from 0 to 1, at which one name is suggested for another."""
LONGEST_NAME = 100
"""The number of leading letters of a name that are compared; every known name is
shorter.
"""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the name in *known* that is spelt most like *name*; None if none is
    similar.

    >>> nearest("minmax", ["ip", "minmin"]), nearest("mimmin", ["ip", "minmin"])
    ('minmin', 'minmin')
    """
    from difflib import SequenceMatcher

    def likeness(other: str) -> float:
        """Return the similarity of two names: the greater of two ratios.

        One ratio counts common runs of letters. The other counts equal letters in the
        same place, which a single wrong letter changes less.
        """
        letters = zip(name.lower(), other, strict=False)
        equal = sum(one == another for one, another in letters)
        in_place = equal / max(len(name), len(other), 1)
        return max(SequenceMatcher(None, name.lower(), other).ratio(), in_place)

    name = name[:LONGEST_NAME]
    found = max(known, key=likeness, default=None)
    if found is None or likeness(found) < LEAST_LIKENESS:
        return None
    return found


def suggest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known name, or the
    list of all known names.
    """
    names = list(known)
    near = nearest(name, names)
    if near:
        return f"did you mean {near!r}?"
    return f"known: {', '.join(names) or 'none'}"


def shown(value: object) -> str:
    """Return any value as text for a message: one line of at most 60 characters.

    >>> shown(10**5000)
    'a whole number of 16610 bits'
    """
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        # Python refuses to convert integers of more than some thousand digits to text.
        if type(value) is int:
            return f"a whole number of {value.bit_length()} bits"
        return "?"
    return text if len(text) <= 60 else text[:57] + "..."


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
    if not words:
        return name, {}
    return name, parse_assignments(words.split(","), f"solver {shown(text)}")


def parse_assignments(
    pairs: tuple[str, ...] | list[str], option: str = "--set"
) -> dict[str, str]:
    """Split words ``KEY=VALUE`` into a dictionary; raise UsageError for a word without
    ``=`` and for a repeated key.
    """
    settings: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        key = key.strip()
        if not equals or not key:
            raise UsageError(f"{option} wants KEY=VALUE, not {shown(pair)}")
        if key in settings:
            values = f"{shown(settings[key])} and {shown(value)}"
            raise UsageError(f"{option} {key[:40]} is given twice ({values})")
        settings[key] = value.strip()
    return settings


def _digits(value: object) -> object:
    """Return text such as ``8e9`` that stands for a whole number with all its digits.

    Pydantic does not read an integer with an exponent. Any other value is returned
    unchanged.
    """
    if not isinstance(value, str):
        return value
    if not re.fullmatch(r"[0-9.]+[eE]\+?[0-9]{1,2}", value):
        return value
    number = Fraction(value)
    return str(number) if number.denominator == 1 else value


ALTERNATIVES = ("int", "float", "str", "bool")
"""Types that an error about a setting may name after the setting."""


def parse_settings(
    cls: type[SettingsT], given: Mapping[str, object], owner: str
) -> SettingsT:
    """Convert the values that the user gave for *owner*, such as a solver, into an
    object of the class *cls*.

    *cls* is a frozen pydantic class with ``extra="forbid"``; text is converted to the
    type of the field. Raises UsageError for unknown keys, with the valid keys, and for
    bad values, with the reason.
    """
    from pydantic import ValidationError

    try:
        return cls.model_validate({key: _digits(value) for key, value in given.items()})
    except UsageError as error:
        # The message about a bad value with a unit begins with the name of its field.
        name, _, rest = str(error).partition(": ")
        field = cls.model_fields.get(name)
        alias = name if field is None or field.alias is None else field.alias
        raise UsageError(f"{owner}: {alias}: {rest}") from None
    except ValidationError as error:
        raise _bad_setting(cls, error.errors()[0], owner) from None


def _bad_setting(cls: type[SettingsT], fault: ErrorDetails, owner: str) -> UsageError:
    """Return the error about the first *fault* that pydantic found in the settings of
    *owner*, which are of the class *cls*.
    """
    # Of a type such as int | float, the error also names the alternative.
    parts = [str(part) for part in fault["loc"] if part not in ALTERNATIVES]
    key = ".".join(parts)
    what = fault["type"]
    if what == "value_error" and "ctx" in fault:
        said = str(fault["ctx"]["error"])
        return UsageError(f"{owner}: {key + ': ' if key else ''}{said}")
    if what == "extra_forbidden":
        known = ", ".join(cls.model_fields) or "none"
        near = nearest(key, cls.model_fields)
        meant = f"did you mean {near!r}? " if near else ""
        return UsageError(
            f"{owner} has no setting {key!r}; {meant}its settings: {known}"
        )
    said = fault["msg"].lower()
    if what.startswith("int_"):
        only_whole = len(parts) == len(fault["loc"])
        said = "must be a whole number" if only_whole else "must be a number"
    if what == "less_than_equal":
        said = f"must be {fault['ctx']['le']:.10g} or less"
    return UsageError(f"{owner}: setting {key}={shown(fault.get('input'))}: {said}")
