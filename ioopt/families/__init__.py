"""Define the base classes of families: kinds of instances, and the rows of their
solvers.

Each other file in this package is one family: a class for each of its kinds, whose
methods import the modules they call, and a row for each solver. Nothing is imported
until a method or a loader is called, and an editor can follow every name. Commands use
only these base classes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from ioopt.errors import UsageError
from ioopt.options import parse_settings

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ioopt.measure import Measurement
    from ioopt.options import Deadline
    from ioopt.problems.base import Json, Problem
    from ioopt.protocols import CheckReport, Outcome, Schedule, Simulation
    from ioopt.result import Result

T = TypeVar("T")

EXACT = "exact"
"""Proves its answer optimal when given time."""
BOUND = "bound"
"""Gives a bound with which other methods can be compared."""
WARM_START = "warm-start"
"""Begins from a given plan."""
ANYTIME = "anytime"
"""Has a plan early and improves it until the deadline."""
ONLINE = "online"
"""Decides from the present state alone, as a live scheduler must."""
THREADS = "threads"
"""Uses several threads when asked to; a command that names another solver
refuses ``--threads``.
"""
REFERENCE = "reference"
"""Breaks a rule of the machine and serves as a reference for other solvers: it does not
compete with them and is in no ratio.
"""


@dataclass(frozen=True)
class Loader(Generic[T]):
    """An object that is imported when it is needed.

    Written as a decorator of a function without parameters that imports one thing and
    returns it.

    >>> @Loader
    ... def square_root():
    ...     from math import sqrt
    ...     return sqrt
    >>> load_target(square_root)(9.0)
    3.0
    """

    load: Callable[[], T]


def load_target(target: object) -> Any:
    """Return the object that *target* stands for.

    A loader is called, ``package.module:name`` is imported (the form in which users and
    plugins name things; UsageError where there is no such thing), and any other object
    is returned unchanged.
    """
    if isinstance(target, Loader):
        return target.load()
    if not isinstance(target, str):
        return target
    # A service calls this a thousand times a second, so the modules that are loaded are
    # searched first.
    module, _, name = target.partition(":")
    found = getattr(sys.modules.get(module), name, None)
    if found is not None:
        return found
    try:
        return resolve_name(target)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"{target} cannot be loaded: {type(error).__name__}: {error}"
        ) from error


Sense = Literal["min", "max"]
"""Whether less (``min``) or more (``max``) of a metric is better."""


@dataclass(frozen=True)
class Metric:
    """One metric of a kind of instances, as its family declares it.

    ``name`` is the key of the metric among the objectives and metrics of a result; the
    end of the name determines the unit (:func:`ioopt.units.quantity`). ``bounded_by``
    names a metric of a checked or replayed plan that is a proven bound of this one.
    ``raised_by`` names a metric of a replay that may be a stronger bound than the
    solver's. ``objective`` marks the one metric that solvers of the kind optimise by
    default; the kind's quick bound is a bound of this metric only. ``defined_in`` is
    the place in the family's paper that defines it.

    >>> print(Metric("utilisation", "max"))
    utilisation (more is better)
    """

    name: str
    sense: Sense = "min"
    bounded_by: str | None = None
    raised_by: str | None = None
    objective: bool = False
    defined_in: str = ""

    @property
    def proof(self) -> str:
        """Return the name of the metric by which results with another measure state the
        solver's bound of this metric.

        >>> Metric("additive_seconds").proof
        'additive_bound_seconds'
        """
        stem, seconds, _ = self.name.partition("_seconds")
        return f"{stem}_bound{seconds}"

    def __str__(self) -> str:
        better = "more" if self.sense == "max" else "less"
        return f"{self.name} ({better} is better)"


class Format:
    """One instance format: its problem class and, if it has one, its generator."""

    kind: str
    """The name of the kind; the file's ``format`` key is ``ioopt/`` and this name."""
    family: str
    summary: str = ""

    @property
    def format(self) -> str:
        """Return the value of the file's ``format`` key."""
        return f"ioopt/{self.kind}"

    def problem_class(self) -> type[Problem]:
        """Return the class of the problem."""
        raise NotImplementedError(f"{self.kind}: problem_class")

    @property
    def generates(self) -> bool:
        """Return whether the kind has a generator."""
        return type(self).generate is not Format.generate

    @property
    def presets(self) -> Mapping[str, type[BaseModel]]:
        """Return a mapping from each preset of the generator to the class of its
        settings.
        """
        return {}

    def generate(
        self, preset: str | None, settings: Mapping[str, object], seed: int
    ) -> Any:
        """Return one instance of *preset* (None: the generator's first)."""
        raise UsageError(f"there is no generator of {self.kind}")


class MeasuredKind(Format):
    """A format for ``ioopt measure``, in which nothing is decided."""

    def settings_class(self) -> type[BaseModel]:
        """Return the class of the settings (``--set``)."""
        raise NotImplementedError(f"{self.kind}: settings_class")

    def measure(
        self, problem: Any, settings: Any, seed: int, deadline: Deadline
    ) -> Measurement[Any]:
        """Measure *problem*."""
        raise NotImplementedError(f"{self.kind}: measure")

    def plot(self, found: Any, title: str) -> Any:
        """Draw the findings of :meth:`measure`, and return the axes."""
        raise NotImplementedError(f"{self.kind}: plot")


class MadePolicy(NamedTuple):
    """The policy that a plan names, and the settings from which it was made."""

    policy: Any
    settings: Any


Turn = Callable[["Json"], bool]
"""A function that gives the plain data of an instance a little more of one resource; it
returns False when the instance does not have the resource.
"""


class Kind(Format):
    """One kind of decision problem: its plans, how they are checked, and their metrics.

    A family derives one class for each of its kinds and overrides the methods that the
    kind supports. ``metrics`` are the possible measures of its answers; the first one
    is the default for comparisons.
    """

    default_solver: str
    metrics: tuple[Metric, ...]
    fallback: str | None = None
    """The solver that answers when another one fails."""
    policies: tuple[str, ...] = ()
    """The policies that ``auto`` tries, in the order of their mean results, best
    first.
    """
    compare_solvers: tuple[str, ...] = ()
    """What ``ioopt compare`` runs when no solver is named; empty: all of the kind."""
    baseline: str | None = None
    """The baseline of the mean ratios that a comparison of several instances prints."""
    decision: bool = False
    """Whether an instance is a snapshot for one decision, as ``ioopt solve --now``
    requires.
    """
    follows: bool = False
    """Whether a schedule is determined by its plan, so that a check repeats the
    replay.
    """
    judged_by_schedule: bool = False
    """Whether the checker can judge a schedule without its plan."""
    replay_options: frozenset[str] = frozenset()
    """The options of ``ioopt simulate`` that the kind's replay takes in addition to the
    plan.
    """
    exports: frozenset[str] = frozenset()
    """The commands of ``ioopt export`` that take instances of the kind."""
    renamed: Mapping[str, str] = {}
    """Renamed solvers of the last version -> their present names."""
    removed: Mapping[str, str] = {}
    """Removed solvers of the last version -> what to use instead."""
    knob_units: Mapping[str, str] = {}
    """Resource of :meth:`knobs` -> the words for it in sentences, if its name does not
    suffice.
    """

    @property
    def objective(self) -> Metric:
        """Return the metric that the solvers of this kind optimise by default."""
        for metric in self.metrics:
            if metric.objective:
                return metric
        return self.metrics[0]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the metrics that comparisons show: all but an objective that is not
        the first.
        """
        others = [metric.name for metric in self.metrics[1:] if not metric.objective]
        return (self.metrics[0].name, *others)

    def metric(self, name: str) -> Metric:
        """Return the metric called *name*.

        A name that is not declared is a solver's own objective, such as ``value_hdf``:
        it has the direction of the kind's objective and no bounds.
        """
        for metric in self.metrics:
            if metric.name == name:
                return metric
        return Metric(name, self.objective.sense)

    def plan_class(self) -> type[Any] | None:
        """Return the class of its plans; None where plans are plain data."""
        return None

    def schedule_class(self) -> type[Any] | None:
        """Return the class of its schedules; None when any dictionary is accepted."""
        return None

    def load(self) -> None:
        """Import the modules that checks, replays and bounds need.

        ``ioopt compare`` calls it before it times the first solver.
        """

    def check(self, problem: Any, plan: Any, schedule: Schedule | None) -> CheckReport:
        """Check a plan, and its schedule if there is one; recompute the objective.

        *plan* is None only when the kind is ``judged_by_schedule``.
        """
        raise NotImplementedError(f"{self.kind}: check")

    @property
    def simulates(self) -> bool:
        """Return whether the kind has a simulator."""
        return type(self).simulate is not Kind.simulate

    def simulate(
        self,
        problem: Any,
        plan: Any,
        *,
        policy: MadePolicy | None = None,
        **options: Any,
    ) -> Simulation:
        """Replay *plan* on the kind's timeline.

        *policy* is given when :meth:`policy_of` returns one. *options* may contain
        ``deadline``, at which a replay returns what it has simulated so far, with a
        note. Raises SimulationError for a plan that cannot be carried out.
        """
        raise UsageError(
            f"{self.kind} has no simulator: it is one decision, not a schedule"
        )

    def bound(self, problem: Any, deadline: Deadline | None = None) -> float | None:
        """Return a quick, proven bound of the objective, for solvers that prove none;
        None when there is none.
        """
        return None

    def policy_of(self, plan: Any) -> str | None:
        """Return the solver whose policy made *plan*; None for plans that no policy
        made.
        """
        return None

    def policy_settings(self, plan: Any, known: Set[str]) -> Mapping[str, object]:
        """Return the settings of the policy that *plan* states; *known* are the names
        of the settings that the policy has.
        """
        return {}

    def beyond(
        self, problem: Any, plan: Any, schedule: Schedule | None
    ) -> Mapping[str, Any]:
        """Return the settings, by name, that a plan and its schedule add to the
        instance; without both, the instance's own.
        """
        return {}

    def as_replayed(self, problem: Any, told: Mapping[str, Any]) -> Any:
        """Return *problem* with the added settings *told*, which are those of
        :meth:`beyond` that the user asked for.
        """
        return problem

    def solvers_to_compare(self, problem: Any) -> tuple[str, ...]:
        """Return the solvers that ``ioopt compare`` runs on *problem*; empty: all of
        the kind.
        """
        return self.compare_solvers

    def pictures(self) -> Mapping[str, Callable[..., Any]]:
        """Return a mapping from each picture's name to the function that draws it from
        a result, the default picture first.
        """
        return {}

    @property
    def explains(self) -> bool:
        """Return whether plans of the kind can be explained."""
        return type(self).explain is not Kind.explain

    def explain(self, problem: Any, result: Result) -> list[str]:
        """Return sentences on where the time of a result goes."""
        raise UsageError(f"plans of {self.kind} are not explained")

    def knobs(self) -> Mapping[str, Turn]:
        """Return, by name, the resources that an explanation varies."""
        return {}

    def export_model(
        self, problem: Any, output: str, form: str, settings: Mapping[str, str]
    ) -> None:
        """Write the integer program of *problem* to *output* as ``lp`` or ``mps``."""
        raise UsageError(f"there is no integer program of {self.kind}")


Solve = Callable[..., "Outcome[Any]"]
"""A :class:`ioopt.protocols.SolverFunction`."""
Target = Loader[Any] | Callable[..., object] | str
"""A function, a loader of it, or its name (``module:function``)."""


@dataclass(frozen=True)
class SolverSpec:
    """One solver: its name, the kinds it takes, and where to find its function and
    settings.

    ``target`` is a :class:`ioopt.protocols.SolverFunction`; ``settings`` is a frozen
    pydantic class whose fields are the keys of ``--set``. ``policy`` makes a policy
    from the settings, for live use, for replays and, as ``request.policy``, for the
    target. Each is given as a :class:`Loader`, as ``module:name``, or as the object
    itself. ``fixed`` are settings that the name implies (``cons-fcfs+top`` is
    ``cons-fcfs`` with one setting). ``backends`` are the values of ``--backend``, the
    default first. ``source`` is the paper and section, or ``ours``. ``variant_of``
    names the solver of which this is a variant; variants are listed only on request.
    """

    name: str
    kinds: tuple[str, ...]
    target: Target
    summary: str
    source: str
    settings: Loader[Any] | type | str | None = None
    policy: Target | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    abilities: Set[str] = frozenset()
    backends: tuple[str, ...] = ()
    variant_of: str | None = None

    @property
    def own(self) -> bool:
        """Return whether it is a function of the user, which is not in the registry."""
        return ":" in self.name

    @property
    def bundled(self) -> bool:
        """Return whether its function is a part of ioopt, not of a plugin or the
        user.
        """
        target = self.target.load if isinstance(self.target, Loader) else self.target
        place = target if isinstance(target, str) else target.__module__
        return place.startswith("ioopt.")

    def solve_function(self) -> Callable[..., Any]:
        """Import and return the function that solves."""
        function: Callable[..., Any] = load_target(self.target)
        return function

    def settings_class(self) -> type[BaseModel] | None:
        """Import and return the class of its settings; None when it has none."""
        settings: type[BaseModel] | None = load_target(self.settings)
        return settings

    def default_settings(self) -> Any:
        """Return its default settings, with those that the name fixes; None when it has
        none.
        """
        settings = self.settings_class()
        if settings is None:
            return None
        return parse_settings(settings, self.fixed, self.name)

    def make_policy(self, settings: Any) -> Any:
        """Return the policy made from *settings*; None for a solver without policy."""
        return None if self.policy is None else load_target(self.policy)(settings)
