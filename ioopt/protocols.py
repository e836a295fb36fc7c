"""Define what solvers and checkers take and return.

Data flows one way: problem -> model -> solver -> :class:`Outcome` -> check -> simulate
-> Result. Each family has its own functions of the types defined here;
:mod:`ioopt.families` names them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from ioopt.options import Deadline, SolveOptions
from ioopt.problems.base import plain
from ioopt.result import StopReason, Violation
from ioopt.timeline import Timeline

ProblemT_contra = TypeVar("ProblemT_contra", contravariant=True)
PlanT = TypeVar("PlanT")
PlanT_contra = TypeVar("PlanT_contra", contravariant=True)
SettingsT = TypeVar("SettingsT")
Metrics = Mapping[str, Any]
"""Values keyed by the name of the metric: numbers, text, or tables of them."""
Schedule = dict[str, Any]
"""The ``schedule`` dictionary of a result; the JSON schema of the kind defines its
form.
"""


@dataclass(frozen=True)
class Simulation:
    """A simulated schedule (the ``schedule`` of results), metrics and the timeline.

    ``notes`` say what the simulator left out because of a deadline, and
    ``objective_notes`` where the objective of the kind is not that of this schedule.
    """

    schedule: Schedule
    metrics: Metrics
    timeline: Timeline | None = None
    notes: tuple[str, ...] = ()
    objective_notes: tuple[str, ...] = ()

    def unpacked(self) -> "Simulation":
        """Return the simulation with dictionaries where the schedule has columns."""
        return replace(self, schedule=plain(self.schedule))


@dataclass(frozen=True)
class Outcome(Generic[PlanT]):
    """The answer of a solver. It has no objective: the checker computes that.

    ``plan`` is the family's plan object, or None when no plan was found. ``bound`` is
    proven for the objective called ``objective_name`` (None: the objective of the
    instance's kind). ``infeasible`` is set only with a proof. ``simulation`` is given
    by solvers that simulate as they decide, so that nothing is simulated twice. When
    the checker or the simulator computes one of ``metrics`` as well, their value
    replaces it. ``trial`` is true when the solver left out records because the request
    was for a trial. ``failed`` is set when the solver raised an error; ``plan`` is then
    the last plan that it had reported, if any.
    """

    plan: PlanT | None
    bound: float | None = None
    stop: StopReason = StopReason.FINISHED
    infeasible: bool = False
    objective_name: str | None = None
    build_seconds: float | None = None
    simulation: Simulation | None = None
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    metrics: Metrics = field(default_factory=dict)
    trial: bool = False
    failed: bool = False


@dataclass(frozen=True)
class CheckReport:
    """The findings of a checker: violations (none for a valid plan), objectives by
    name, metrics.

    ``ranges`` are the limits (least, most) of each metric that the schedule does not
    determine exactly. ``rounding`` is the absolute error of recomputed values: a few
    units in the last place of the times that are subtracted. ``limits`` are the bounds
    of each measure that follow from the instance alone. ``excused`` are violations that
    a reference policy commits by design; for any other solver they count as violations.
    ``unjudged`` names the parts of the schedule that were not checked.
    """

    violations: tuple[Violation, ...]
    objectives: Mapping[str, float] = field(default_factory=dict)
    metrics: Metrics = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    rounding: float = 0.0
    limits: Mapping[str, float] = field(default_factory=dict)
    excused: tuple[Violation, ...] = ()
    unjudged: tuple[str, ...] = ()


class Known(NamedTuple):
    """The value of the best known plan of an instance, and a proven bound (None:
    unknown).
    """

    best: float
    bound: float | None


@dataclass
class Incumbents(Generic[PlanT]):
    """The best plan so far, reported by a running solver.

    This plan is the answer when the solver is interrupted or fails. ``trace`` has pairs
    (seconds since the start, objective as the solver computed it). If ``maximise`` is
    true, more is better. ``objective_name`` names the metric of ``objective`` and
    ``bound``, as in :class:`Outcome`.
    """

    deadline: Deadline
    plan: PlanT | None = None
    objective: float | None = None
    bound: float | None = None
    trace: list[tuple[float, float]] = field(default_factory=list)
    listener: Callable[["Incumbents[PlanT]"], None] | None = None
    maximise: bool = False
    objective_name: str | None = None

    def report(
        self,
        plan: PlanT,
        objective: float,
        bound: float | None = None,
        selected: bool = False,
    ) -> None:
        """Report a plan with the objective that the solver computed; only the best plan
        so far is stored.

        If the plan is *selected*, it is the best by what the solver selects plans by,
        and is stored even if its objective is worse.
        """
        if bound is not None:
            self.bound = bound
        if selected or self._is_better(objective):
            self.plan = plan
            self.objective = objective
            self.trace.append((self.deadline.elapsed(), objective))
        if self.listener is not None:
            self.listener(self)

    def _is_better(self, objective: float) -> bool:
        """Return whether *objective* is better than that of the best plan so far."""
        if self.objective is None:
            return True
        if self.maximise:
            return objective > self.objective
        return objective < self.objective


@dataclass(frozen=True)
class SolveRequest(Generic[SettingsT, PlanT]):
    """The input of a solver in addition to the problem.

    ``settings`` is an instance of the solver's settings class, or None if the solver
    has no settings. ``policy`` is the policy that the solver's registry row builds from
    the settings. ``start`` is a plan to begin from; ``incumbents`` receives better
    plans. ``measure`` is the metric by which the answer will be compared (None: the
    solver's own objective); a solver that can optimise it does so. ``trials`` is 0 for
    a single run, else the number of trials of which this run is one; a trial needs only
    the schedule and its metrics.
    """

    options: SolveOptions
    deadline: Deadline
    settings: SettingsT = None  # type: ignore[assignment]
    start: PlanT | None = None
    incumbents: Incumbents[PlanT] = field(default=None)  # type: ignore[arg-type]
    policy: Any = None
    measure: str | None = None
    trials: int = 0

    def __post_init__(self) -> None:
        if self.incumbents is None:
            object.__setattr__(self, "incumbents", Incumbents(self.deadline))

    def stated(self) -> dict[str, Any]:
        """Return the options and settings in the form in which a result states them."""
        given = dict(vars(self.options))
        if self.settings is not None:
            given["settings"] = self.settings.model_dump(mode="json")  # type: ignore[attr-defined]
        return given


class SolverFunction(Protocol[ProblemT_contra, SettingsT, PlanT]):
    """``solve(problem, request) -> Outcome``: every solver, exact or heuristic."""

    def __call__(
        self, problem: ProblemT_contra, request: SolveRequest[SettingsT, PlanT]
    ) -> Outcome[PlanT]:
        """Solve within the request's deadline; finding no plan is not an error."""
        ...
