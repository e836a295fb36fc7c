"""Define the base classes of families: kinds of instances, and rows that describe
solvers.

Each other file in this package defines one family: a class for each kind, whose methods
import the modules that they call, and a row for each solver. Modules are imported only
when a method or a loader is called, yet an editor can follow every name. Commands use
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
from ioopt.units import title

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ioopt.measure import Measurement
    from ioopt.options import Deadline
    from ioopt.plot.result_page import Contents
    from ioopt.problems.base import Json, Problem, Rows
    from ioopt.problems.columns import Columns, Objects
    from ioopt.protocols import (
        CheckReport,
        Outcome,
        Schedule,
        Simulation,
        SolveRequest,
    )
    from ioopt.result import Result
    from ioopt.solvers.model_files import Models

T = TypeVar("T")
ProblemT = TypeVar("ProblemT", bound="Problem")
PlanT = TypeVar("PlanT")

EXACT = "exact"
"""Ability: the solver proves its answer optimal if it has enough time."""
BOUND = "bound"
"""Ability: the solver returns a bound that also holds for the plans of other
solvers.
"""
WARM_START = "warm-start"
"""Ability: the solver can begin from a given plan."""
ANYTIME = "anytime"
"""Ability: the solver has a plan early and improves it until the deadline."""
ONLINE = "online"
"""Ability: the solver decides from the present state alone, as a live scheduler
must.
"""
THREADS = "threads"
"""Ability: the solver uses several threads when asked to. A command that names another
built-in solver refuses ``--threads``.
"""
REFERENCE = "reference"
"""Ability: the solver breaks a rule of the machine by design and is only a reference
for other solvers. It does not compete with them and has no ratio.
"""


@dataclass(frozen=True)
class Loader(Generic[T]):
    """An object that is imported when it is needed.

    Use the class as a decorator of a function that has no parameters, imports one
    object and returns it.

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

    A loader is called. Text ``package.module:name``, the form in which users and
    plugins name objects, is imported; UsageError is raised if there is no such object.
    Any other object is returned unchanged.
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
    names a metric of a checked or replayed plan that is a proven bound of this metric.
    ``raised_by`` names a metric of a replay that may be a stronger bound than the
    solver's. ``objective`` marks the one metric that solvers of the kind optimise by
    default; the kind's quick bound is a bound of this metric only. ``defined_in`` is
    the place in the family's paper that defines the metric. ``meaning`` says in words
    what a program of the paper adds up, where a replay gives another value. ``label``
    is the heading of the metric, where its name does not say enough.

    >>> print(Metric("utilisation", "max"))
    utilisation (more is better)
    """

    name: str
    sense: Sense = "min"
    bounded_by: str | None = None
    raised_by: str | None = None
    objective: bool = False
    defined_in: str = ""
    meaning: str = ""
    label: str = ""

    @property
    def heading(self) -> str:
        """Return the heading of the metric in tables and pictures.

        >>> Metric("max_wait_seconds").heading
        'max wait'
        """
        return self.label or title(self.name)

    @property
    def proof(self) -> str:
        """Return the name of the metric under which a result states the solver's bound
        of this metric when its measure is another one.

        >>> Metric("additive_seconds").proof
        'additive_bound_seconds'
        """
        stem, seconds, _ = self.name.partition("_seconds")
        return f"{stem}_bound{seconds}"

    def __str__(self) -> str:
        better = "more" if self.sense == "max" else "less"
        return f"{self.name} ({better} is better)"


class Format(Generic[ProblemT]):
    """One format of instances: its problem class and, if it has one, its generator."""

    kind: str
    """The name of the kind. The key ``format`` of a file is ``ioopt/`` and this
    name.
    """
    family: str
    summary: str = ""

    @property
    def format(self) -> str:
        """Return the value of the key ``format`` in files of this kind."""
        return f"ioopt/{self.kind}"

    def problem_class(self) -> type[ProblemT]:
        """Return the class of the problem objects of this kind."""
        raise NotImplementedError(f"{self.kind}: problem_class")

    def columns_class(self) -> type[Columns[Any]] | None:
        """Return the class that holds the ``jobs`` of a large file as columns; None if
        they are always records.
        """
        return None

    @property
    def generates(self) -> bool:
        """Return whether the kind has a generator."""
        return type(self).generate is not Format.generate

    @property
    def presets(self) -> Mapping[str, type[BaseModel]]:
        """Return the presets of the generator: name -> class of the preset's
        settings.
        """
        return {}

    def generate(
        self, preset: str | None, settings: Mapping[str, object], seed: int
    ) -> ProblemT:
        """Return one instance of *preset* (None: the generator's first preset); *seed*
        makes it repeatable.
        """
        raise UsageError(f"there is no generator of {self.kind}")


class MeasuredKind(Format[ProblemT]):
    """A format of instances for ``ioopt measure``, in which nothing is decided."""

    def settings_class(self) -> type[BaseModel]:
        """Return the class of the settings of a measurement (``--set``)."""
        raise NotImplementedError(f"{self.kind}: settings_class")

    def measure(
        self, problem: ProblemT, settings: object, seed: int, deadline: Deadline
    ) -> Measurement[Any]:
        """Run the measurements of *problem* and return the findings."""
        raise NotImplementedError(f"{self.kind}: measure")

    def plot(self, found: object, title: str) -> Any:
        """Draw *found*, the findings of :meth:`measure`, and return the axes."""
        raise NotImplementedError(f"{self.kind}: plot")


class MadePolicy(NamedTuple):
    """A policy, and the settings from which it was made."""

    policy: Any
    settings: Any


Turn = Callable[["Json"], bool]
"""A function that increases one resource a little in the plain data of an instance. It
returns False when the instance does not have the resource.
"""


class Kind(Format[ProblemT], Generic[ProblemT, PlanT]):
    """One kind of decision problem: its plans, their check, and their metrics.

    A family derives one class for each of its kinds and overrides the methods that the
    kind supports. ``metrics`` are the metrics by which answers can be compared; the
    first one is the default.
    """

    default_solver: str
    metrics: tuple[Metric, ...]
    fallback: str | None = None
    """The solver that answers when another solver fails."""
    policies: tuple[str, ...] = ()
    """The policies that ``auto`` tries, the one with the best mean results first."""
    compare_solvers: tuple[str, ...] = ()
    """The solvers that ``ioopt compare`` runs when the user names none; empty means all
    solvers of the kind.
    """
    baseline: str | None = None
    """The solver to which a comparison of several instances prints mean ratios."""
    decision: bool = False
    """Whether an instance is a snapshot for a single decision, as ``ioopt solve --now``
    requires.
    """
    follows: bool = False
    """Whether the plan determines the schedule, so that a check can repeat the
    replay.
    """
    judged_by_schedule: bool = False
    """Whether the checker can judge a schedule without its plan."""
    replay_options: frozenset[str] = frozenset()
    """The options of ``ioopt simulate`` that replays of this kind accept."""
    undrawn: Mapping[str, object] = {}
    """Options with which :meth:`simulate` makes no timeline."""
    exports: frozenset[str] = frozenset()
    """The subcommands of ``ioopt export`` that take instances of the kind."""
    renamed: Mapping[str, str] = {}
    """Former names of solvers in the last version -> their present names."""
    removed: Mapping[str, str] = {}
    """Solvers of the last version that were removed -> what to use instead."""
    knob_units: Mapping[str, str] = {}
    """Resources of :meth:`knobs` whose name does not suffice in a sentence -> the word
    to use for more of the resource.
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
        """Return the metrics that comparisons show: all metrics of the kind, without
        its objective unless that comes first.
        """
        others = [metric.name for metric in self.metrics[1:] if not metric.objective]
        return (self.metrics[0].name, *others)

    def metric(self, name: str) -> Metric:
        """Return the metric called *name*.

        A name that the kind does not declare is a solver's own objective, such as
        ``value_hdf``. It has the direction of the kind's objective, and no bounds.
        """
        for metric in self.metrics:
            if metric.name == name:
                return metric
        return Metric(name, self.objective.sense)

    def plan_class(self) -> type[PlanT] | None:
        """Return the class of the kind's plans; None if they are plain data."""
        return None

    def schedule_class(self) -> type[Any] | None:
        """Return the class of the kind's schedules; None if any dictionary is
        accepted.
        """
        return None

    def rows_reader(self) -> Callable[[Objects], Rows] | None:
        """Return the function that makes columns of the objects ``schedule.jobs``; None
        if they stay dictionaries.
        """
        return None

    def load(self) -> None:
        """Import the modules that checks, replays and bounds need.

        ``ioopt compare`` calls this method before it times the first solver.
        """

    def check(
        self, problem: ProblemT, plan: PlanT, schedule: Schedule | None
    ) -> CheckReport:
        """Return the report on a plan and, if given, its schedule; the objective is
        recomputed.

        *plan* is None only when the kind is ``judged_by_schedule``.
        """
        raise NotImplementedError(f"{self.kind}: check")

    @property
    def simulates(self) -> bool:
        """Return whether the kind has a simulator."""
        return type(self).simulate is not Kind.simulate

    def simulate(
        self,
        problem: ProblemT,
        plan: PlanT,
        *,
        policy: MadePolicy | None = None,
        **options: Any,
    ) -> Simulation:
        """Replay *plan* on the kind's simulator.

        *policy* is given if :meth:`policy_of` names one. *options* may contain a
        ``deadline``, at which the replay returns what it has simulated so far, with a
        note. Raises SimulationError for a plan that cannot be carried out.
        """
        raise UsageError(
            f"{self.kind} has no simulator: it is one decision, not a schedule"
        )

    def under_noise(self, problem: ProblemT, plan: PlanT, seconds: float) -> Json:
        """Return the metrics of *plan* under noise; empty if the kind has none, or if
        they would take more than *seconds*.
        """
        return {}

    def noise_again(
        self, problem: ProblemT, plan: PlanT, told: Mapping[str, object], name: str
    ) -> Json:
        """Return the metrics of *plan* under the noise that the metrics *told* name;
        messages call their result *name*.
        """
        return {}

    def start(self, plan: PlanT) -> PlanT:
        """Return *plan* in the form in which solvers can begin from it."""
        return plan

    def plan_meant(self, problem: ProblemT, answer: object, name: str) -> object:
        """Return the plan that a user's solver means by *answer*, which messages call
        *name*; unchanged if the answer is a plan already.

        Raises InstanceError, which names the item, for an answer that is wrong.
        """
        return answer

    def as_asked(
        self, problem: ProblemT, request: SolveRequest, outcome: Outcome
    ) -> Outcome:
        """Return a solver's *outcome* in the form for which the settings ask that all
        solvers of the kind share; unchanged if they ask for none.
        """
        return outcome

    def bound(
        self, problem: ProblemT, deadline: Deadline | None = None
    ) -> float | None:
        """Return a quick, proven bound of the objective, for solvers that prove none;
        None if the kind has no such bound.
        """
        return None

    def stated_bounds(
        self, problem: ProblemT, schedule: Schedule, deadline: Deadline | None = None
    ) -> Json:
        """Return the proven bounds that results state beside the metrics of a replayed
        *schedule*, by name.

        Bounds that cannot be computed before *deadline* are left out.
        """
        return {}

    def policy_of(self, plan: PlanT) -> str | None:
        """Return the name of the solver whose policy made *plan*; None for a plan that
        no policy made.
        """
        return None

    def policy_settings(self, plan: PlanT, known: Set[str]) -> Mapping[str, object]:
        """Return the policy's settings that *plan* states; *known* are the names of all
        settings of the policy.
        """
        return {}

    def beyond(
        self, problem: ProblemT, plan: PlanT | None, schedule: Schedule | None
    ) -> Mapping[str, Any]:
        """Return, by name, the settings that a plan and its schedule add to the
        instance; if both are None, the instance's own settings.
        """
        return {}

    def as_replayed(self, problem: ProblemT, told: Mapping[str, object]) -> ProblemT:
        """Return *problem* with the added settings *told*: those settings of
        :meth:`beyond` that the user asked for.
        """
        return problem

    def solvers_to_compare(self, problem: ProblemT) -> tuple[str, ...]:
        """Return the solvers that ``ioopt compare`` runs on *problem* if the user names
        none; empty means all solvers of the kind.
        """
        return self.compare_solvers

    def pictures(self) -> Mapping[str, Callable[..., Any]]:
        """Return the functions that draw a result, keyed by the name of the picture;
        the default picture comes first.
        """
        return {}

    def page(self, result: Result) -> Contents | None:
        """Return what the page of a result shows; None if results of the kind have no
        page.
        """
        return None

    @property
    def explains(self) -> bool:
        """Return whether plans of the kind can be explained."""
        return type(self).explain is not Kind.explain

    def explain(self, problem: ProblemT, result: Result) -> list[str]:
        """Return sentences that say how the time of a result is spent."""
        raise UsageError(f"plans of {self.kind} are not explained")

    def short_proof(self, problem: ProblemT, plan: PlanT, name: str) -> float | None:
        """Return the bound of the metric *name* that a short proof reaches, which may
        start from *plan*; None if there is no such proof. Its effort is counted.
        """
        return None

    def addends(
        self, problem: ProblemT, result: Result
    ) -> Mapping[str, Mapping[str, float]]:
        """Return what the objective of a result adds up for each node: seconds, keyed
        by node and what they are spent on. Empty if the objective is no such sum.
        """
        return {}

    def assumed(self, problem: ProblemT) -> Mapping[str, tuple[str, str]]:
        """Return the resources of :meth:`knobs` whose amount no record states, each
        with its amount and the key of ``--machine`` that states it.
        """
        return {}

    def knobs(self) -> Mapping[str, Turn]:
        """Return the functions that increase a resource for an explanation, keyed by
        the name of the resource.
        """
        return {}

    def counted_search(self, problem: ProblemT) -> tuple[str, Mapping[str, int]] | None:
        """Return a solver and the settings with which it ends after a number of steps
        and not by the clock, for an explanation; None if the kind has no such search.
        """
        return None

    def models(self) -> Models:
        """Return the integer programs that can be exported; the first is the
        default.
        """
        return ()


Solve = Callable[..., "Outcome[Any]"]
"""A function that solves: see :class:`ioopt.protocols.SolverFunction`."""
Target = Loader[Any] | Callable[..., object] | str
"""A function, a loader of a function, or its name (``module:function``)."""


@dataclass(frozen=True)
class SolverSpec:
    """The row of one solver in the registry: its name, the kinds that it takes, and
    where its function and its settings are found.

    ``target`` is a :class:`ioopt.protocols.SolverFunction`. ``settings`` is a frozen
    pydantic class whose fields are the keys of ``--set``. ``policy`` is a function that
    makes a policy from the settings; live schedulers, replays and, as
    ``request.policy``, the target use it. Each of these three is given as a
    :class:`Loader`, as ``module:name``, or as the object itself. ``fixed`` are settings
    that the name implies (``cons-fcfs+top`` is ``cons-fcfs`` with one more setting).
    ``settings_are_new``: an earlier version had none, so its results state none.
    ``backends`` are the values of ``--backend``, the default first. ``source`` is the
    paper and section, or ``ours``. ``variant_of`` names the solver of which this solver
    is a variant; variants are listed only on request. ``libraries`` imports the
    libraries that the solver uses on an instance besides its backend.
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
    settings_are_new: bool = False
    libraries: Callable[[Any], None] | None = None

    @property
    def own(self) -> bool:
        """Return whether the solver is a function of the user, which is not in the
        registry.
        """
        return ":" in self.name

    @property
    def bundled(self) -> bool:
        """Return whether the solver's function is part of ioopt, not of a plugin or of
        the user.
        """
        target = self.target.load if isinstance(self.target, Loader) else self.target
        if not isinstance(target, str):
            # A function made by exec has no module, some callables no such attribute.
            target = getattr(target, "__module__", None) or ""
        return target.startswith("ioopt.")

    def solve_function(self) -> Callable[..., Any]:
        """Import and return the solver's function."""
        function: Callable[..., Any] = load_target(self.target)
        return function

    def load(self, backend: str | None, problem: Problem) -> None:
        """Import what the solver uses on *problem*, with *backend* (None: its default),
        so that no import takes time while it solves.
        """
        self.solve_function()
        self.settings_class()
        if self.backends:
            from ioopt.solvers.backends.solve import load_backend

            load_backend(backend or self.backends[0])
        if self.libraries is not None:
            self.libraries(problem)

    def settings_class(self) -> type[BaseModel] | None:
        """Import and return the class of the solver's settings; None if it has no
        settings.
        """
        settings: type[BaseModel] | None = load_target(self.settings)
        return settings

    def default_settings(self) -> Any:
        """Return the solver's default settings, including those that its name fixes;
        None if it has no settings.
        """
        settings = self.settings_class()
        if settings is None:
            return None
        return parse_settings(settings, self.fixed, self.name)

    def make_policy(self, settings: object) -> Any:
        """Return the policy made from *settings*; None if the solver has no policy."""
        return None if self.policy is None else load_target(self.policy)(settings)
