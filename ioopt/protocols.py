"""What solvers, checkers and simulators must offer, and what passes between them.

Data flows one way: problem -> model -> solver -> :class:`Outcome` -> check -> simulate
-> Result. Each family supplies plain functions with these shapes; :mod:`ioopt.registry`
says where they are.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from ioopt.options import Deadline, SolveOptions
from ioopt.result import StopReason, Violation
from ioopt.timeline import Timeline

ProblemT_contra = TypeVar("ProblemT_contra", contravariant=True)
PlanT = TypeVar("PlanT")
PlanT_contra = TypeVar("PlanT_contra", contravariant=True)
SettingsT = TypeVar("SettingsT")
Metrics = Mapping[str, Any]
"""Figures by name: numbers, text, or tables of them."""
Schedule = dict[str, Any]
"""The ``schedule`` dictionary of results; the kind's schema has its form."""


@dataclass(frozen=True)
class Simulation:
    """A simulated schedule: the ``schedule`` dictionary of results,
    metrics, and the timeline.

    ``notes`` say what a deadline made the simulator leave out.
    """

    schedule: Schedule
    metrics: Metrics
    timeline: Timeline | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome(Generic[PlanT]):
    """What a solver hands to the front door. It carries no objective: the
    checker computes that.

    ``plan`` is the family's plan object, None when nothing was found. ``bound`` is
    proven for the objective called ``objective_name`` (None: the one of the instance
    kind). ``infeasible`` is set only with a proof. ``schedule`` and ``timeline`` are
    given by solvers that simulate as they decide, so that nothing is simulated twice.
    ``metrics`` are merged under those of the checker and the simulator. ``trial`` says
    that records were left out, as the request asked. ``failed`` is set by the front
    door where the solver raised; ``plan`` is then what it had reported, if anything.
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
    """A checker's verdict: violations (empty when the plan is good),
    objectives by name, metrics.

    ``ranges`` are limits (least, most) of metrics that the schedule does not tell
    exactly. ``rounding`` is the absolute error that recomputed values may carry: a few
    units in the last place of the times they are differences of, or of terms that
    cancel. ``limits`` are bounds by measure that the checker works out from the
    instance alone. ``excused`` are violations that a reference policy commits by
    design; of any other solver they count. ``unjudged`` names what of the schedule
    itself is not judged.
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
    """The value of the best plan known of an instance, and what no plan of it
    passes (None: unknown).
    """

    best: float
    bound: float | None


@dataclass
class Incumbents(Generic[PlanT]):
    """The best plan so far, reported by a running solver.

    The front door reads it when the solver is interrupted or fails, so that the best
    answer always comes back. ``trace`` holds (seconds since the start, objective as the
    solver saw it); more is better where ``maximise``. ``objective_name`` says what
    ``objective`` and ``bound`` measure, as in :class:`Outcome`.
    """

    deadline: Deadline
    plan: PlanT | None = None
    objective: float | None = None
    bound: float | None = None
    trace: list[tuple[float, float]] = field(default_factory=list)
    listener: Callable[["Incumbents[PlanT]"], None] | None = None
    maximise: bool = False
    objective_name: str | None = None

    def report(self, plan: PlanT, objective: float, bound: float | None = None) -> None:
        """Offer a plan with the objective the solver sees; kept when
        it is the best so far.
        """
        if bound is not None:
            self.bound = bound
        best = self.objective
        if best is None or (objective > best if self.maximise else objective < best):
            self.plan, self.objective = plan, objective
            self.trace.append((self.deadline.elapsed(), objective))
        if self.listener is not None:
            self.listener(self)


@dataclass(frozen=True)
class SolveRequest(Generic[SettingsT, PlanT]):
    """Everything a solver gets beside the problem.

    ``settings`` is an instance of the solver's own settings class (None where it has
    none); ``policy`` what its row's ``policy`` makes of them; ``start`` a plan to begin
    from; ``incumbents`` the place to report better plans. ``measure`` is what the
    answer will be compared by (None: the solver's own objective); a solver that can
    optimise it does. ``trials`` asks for the schedule and its metrics alone: so many
    such runs follow each other (0: this is the only one).
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
        """Options and settings as a result states them."""
        given = dict(vars(self.options))
        if self.settings is not None:
            given["settings"] = self.settings.model_dump(mode="json")  # type: ignore[attr-defined]
        return given


class SolverFunction(Protocol[ProblemT_contra, SettingsT, PlanT]):
    """``solve(problem, request) -> Outcome``: every solver, exact or heuristic."""

    def __call__(
        self, problem: ProblemT_contra, request: SolveRequest[SettingsT, PlanT]
    ) -> Outcome[PlanT]:
        """Solve within the request's deadline; never raise for
        infeasible or out of time.
        """
        ...


class Checker(Protocol[ProblemT_contra, PlanT_contra]):
    """``check(problem, plan, schedule) -> CheckReport``:
    independent of every solver.
    """

    def __call__(
        self,
        problem: ProblemT_contra,
        plan: PlanT_contra | None,
        schedule: Schedule | None,
    ) -> CheckReport:
        """Judge a plan, and its replay where there is one; the
        objective is recomputed.
        """
        ...
