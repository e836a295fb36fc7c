"""Define the flexgang family (Lee et al.): decisions on quanta and on loosely scheduled
gangs, and measurements of quantum models, perturbations and message counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ioopt.families import (
    ANYTIME,
    BOUND,
    EXACT,
    THREADS,
    WARM_START,
    Format,
    Kind,
    Loader,
    MeasuredKind,
    Metric,
    Solve,
    SolverSpec,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ioopt.measure import Measurement
    from ioopt.options import Deadline
    from ioopt.plot.result_page import Contents
    from ioopt.problems.flexgang.flexible_gang import (
        FlexibleGangPlan,
        FlexibleGangProblem,
    )
    from ioopt.problems.flexgang.message_counts import MessageCountsProblem
    from ioopt.problems.flexgang.perturbation import PerturbationProblem
    from ioopt.problems.flexgang.quantum_model import QuantumModelProblem
    from ioopt.problems.flexgang.quantum_selection import (
        QuantumPlan,
        QuantumSelectionProblem,
    )
    from ioopt.problems.schedules import FlexibleFrame, QuantumCycle
    from ioopt.protocols import CheckReport, Schedule, Simulation
    from ioopt.result import Result
    from ioopt.solvers.model_files import Models

_BACKENDS = ("HiGHS", "CBC", "SCIP")
_RENAMED = {"exact": "flex-exact", "quantum-dp": "quantum-ip"}


class QuantumSelection(Kind["QuantumSelectionProblem", "QuantumPlan"]):
    """The problem of deciding how long the quantum of each job is, and how often a
    cycle visits the job.
    """

    kind = "quantum-selection"
    family = "flexgang"
    summary = (
        "a quantum and visits a cycle for every job (after Lee et al., Section 3.2)"
    )
    default_solver = "quantum-ip"
    fallback = "quantum-greedy"
    metrics = (
        Metric("predicted_cost", objective=True),
        Metric("realised"),
        Metric("cycle_seconds"),
    )
    compare_solvers = ("quantum-greedy", "quantum-ip")
    follows = True
    exports = frozenset({"lp", "mps"})
    renamed = _RENAMED

    def problem_class(self) -> type[QuantumSelectionProblem]:
        from ioopt.problems.flexgang.quantum_selection import QuantumSelectionProblem

        return QuantumSelectionProblem

    def plan_class(self) -> type[QuantumPlan]:
        from ioopt.problems.flexgang.quantum_selection import QuantumPlan

        return QuantumPlan

    def schedule_class(self) -> type[QuantumCycle]:
        from ioopt.problems.schedules import QuantumCycle

        return QuantumCycle

    @property
    def presets(self) -> Mapping[str, type[BaseModel]]:
        from ioopt.generate.flexgang.quantum_selection import PRESETS

        return PRESETS

    def generate(
        self, preset: str | None, settings: Mapping[str, object], seed: int
    ) -> QuantumSelectionProblem:
        from ioopt.generate.flexgang.quantum_selection import generate

        return generate(preset, settings, seed)

    def load(self) -> None:
        import ioopt.checks.flexgang.quantum_selection
        import ioopt.models.flexgang.quantum
        import ioopt.sim.flexgang.quantum_selection  # noqa: F401

    def check(
        self,
        problem: QuantumSelectionProblem,
        plan: QuantumPlan,
        schedule: Schedule | None,
    ) -> CheckReport:
        from ioopt.checks.flexgang.quantum_selection import check

        return check(problem, plan, schedule)

    def simulate(
        self, problem: QuantumSelectionProblem, plan: QuantumPlan, **options: Any
    ) -> Simulation:
        """Simulate the slots of *plan*; *options* are ``seed``, ``seconds`` and
        ``deadline``, after which there may be no metrics.
        """
        from ioopt.sim.flexgang.quantum_selection import simulate

        return simulate(problem, plan, **options)

    def bound(
        self, problem: QuantumSelectionProblem, deadline: Deadline | None = None
    ) -> float:
        """Return a lower bound of the predicted cost, in closed form."""
        from ioopt.models.flexgang.quantum import least_cost

        return least_cost(problem)

    def page(self, result: Result) -> Contents:
        from ioopt.plot.panels import slots_contents

        return slots_contents(result)

    def pictures(self) -> Mapping[str, Callable[..., Any]]:
        from ioopt.plot.flexgang import plot_quantum_selection

        return {"default": plot_quantum_selection}

    def models(self) -> Models:
        from ioopt.solvers.flexgang.exported import QUANTUM_MODELS

        return QUANTUM_MODELS


class FlexibleGang(Kind["FlexibleGangProblem", "FlexibleGangPlan"]):
    """The problem of deciding which gangs have rows of their own, and which jobs share
    loose windows.
    """

    kind = "flexible-gang"
    family = "flexgang"
    summary = (
        "strict rows and loose windows for gangs and I/O jobs (Lee et al., Section 7)"
    )
    default_solver = "flex-exact"
    fallback = "strict-fill"
    metrics = (
        Metric("weighted_progress", "max", objective=True),
        Metric("simulated_objective", "max"),
        Metric("cpu_utilisation", "max"),
        Metric("compute_progress", "max"),
        Metric("io_slowdown"),
        Metric("floors_kept", "max"),
    )
    compare_solvers = ("flex-exact", "greedy", "strict-fill", "strict")
    follows = True
    exports = frozenset({"lp", "mps"})
    renamed = _RENAMED

    def problem_class(self) -> type[FlexibleGangProblem]:
        from ioopt.problems.flexgang.flexible_gang import FlexibleGangProblem

        return FlexibleGangProblem

    def plan_class(self) -> type[FlexibleGangPlan]:
        from ioopt.problems.flexgang.flexible_gang import FlexibleGangPlan

        return FlexibleGangPlan

    def schedule_class(self) -> type[FlexibleFrame]:
        from ioopt.problems.schedules import FlexibleFrame

        return FlexibleFrame

    @property
    def presets(self) -> Mapping[str, type[BaseModel]]:
        from ioopt.generate.flexgang.flexible_gang import PRESETS

        return PRESETS

    def generate(
        self, preset: str | None, settings: Mapping[str, object], seed: int
    ) -> FlexibleGangProblem:
        from ioopt.generate.flexgang.flexible_gang import generate

        return generate(preset, settings, seed)

    def load(self) -> None:
        import ioopt.checks.flexgang.flexible_gang
        import ioopt.sim.flexgang.flexible_gang
        import ioopt.solvers.flexgang.linear  # noqa: F401

    def check(
        self,
        problem: FlexibleGangProblem,
        plan: FlexibleGangPlan,
        schedule: Schedule | None,
    ) -> CheckReport:
        from ioopt.checks.flexgang.flexible_gang import check

        return check(problem, plan, schedule)

    def simulate(
        self, problem: FlexibleGangProblem, plan: FlexibleGangPlan, **options: Any
    ) -> Simulation:
        """Simulate *plan* under each seed; *options* are ``seeds``, ``seconds`` and
        ``deadline``, after which seeds are left out.

        Raises InstanceError for a pattern that does not fit the instance.
        """
        from ioopt.sim.flexgang.flexible_gang import simulate

        return simulate(problem, plan, **options)

    def bound(
        self, problem: FlexibleGangProblem, deadline: Deadline | None = None
    ) -> float | None:
        """Return an upper bound of the model's objective, None if none is found; after
        *deadline* it is weaker.
        """
        from ioopt.solvers.flexgang.linear import upper_bound

        return upper_bound(problem, deadline=deadline)

    def page(self, result: Result) -> Contents:
        from ioopt.plot.panels import flexible_gang_contents

        return flexible_gang_contents(result)

    def pictures(self) -> Mapping[str, Callable[..., Any]]:
        from ioopt.plot.flexgang import plot_flexible_gang

        return {"default": plot_flexible_gang}

    def models(self) -> Models:
        from ioopt.solvers.flexgang.exported import PATTERN_MODELS

        return PATTERN_MODELS


class QuantumModel(MeasuredKind["QuantumModelProblem"]):
    """Measurement of the slowdown and the fragmentation of two jobs in alternating
    quanta.
    """

    kind = "quantum-model"
    family = "flexgang"
    summary = (
        "an I/O gang and a compute gang in alternating quanta (Lee et al., Figures 2 "
        "and 3)"
    )

    def problem_class(self) -> type[QuantumModelProblem]:
        from ioopt.problems.flexgang.quantum_model import QuantumModelProblem

        return QuantumModelProblem

    @property
    def presets(self) -> Mapping[str, type[BaseModel]]:
        from ioopt.generate.flexgang.quantum_model import PRESETS

        return PRESETS

    def generate(
        self, preset: str | None, settings: Mapping[str, object], seed: int
    ) -> QuantumModelProblem:
        from ioopt.generate.flexgang.quantum_model import generate

        return generate(preset, settings, seed)

    def settings_class(self) -> type[BaseModel]:
        from ioopt.measure.quantum_model import Settings

        return Settings

    def measure(
        self, problem: QuantumModelProblem, settings: Any, seed: int, deadline: Deadline
    ) -> Measurement[Any]:
        """Measure slowdown and waste at every point; after *deadline* on a coarser
        grid.

        Only the simulation of events uses *seed*. Raises NotApplicableError for a chain
        of constant bursts, and OutOfTime.
        """
        from ioopt.measure.quantum_model import measure

        return measure(problem, settings, seed, deadline)

    def plot(self, found: Any, title: str) -> Any:
        from ioopt.plot.measured import plot_quantum_model

        return plot_quantum_model(found, title)


class Perturbation(MeasuredKind["PerturbationProblem"]):
    """Measurement of the time that a gang loses when one of its quanta is disturbed."""

    kind = "perturbation"
    family = "flexgang"
    summary = (
        "what a gang loses when one processor loses or gains a quantum (Lee et al., "
        "Section 4)"
    )

    def problem_class(self) -> type[PerturbationProblem]:
        from ioopt.problems.flexgang.perturbation import PerturbationProblem

        return PerturbationProblem

    @property
    def presets(self) -> Mapping[str, type[BaseModel]]:
        from ioopt.generate.flexgang.perturbation import PRESETS

        return PRESETS

    def generate(
        self, preset: str | None, settings: Mapping[str, object], seed: int
    ) -> PerturbationProblem:
        from ioopt.generate.flexgang.perturbation import generate

        return generate(preset, settings, seed)

    def settings_class(self) -> type[BaseModel]:
        from ioopt.measure.laboratory import Settings

        return Settings

    def measure(
        self, problem: PerturbationProblem, settings: Any, seed: int, deadline: Deadline
    ) -> Measurement[Any]:
        """Measure the slopes of all applications, in quanta per perturbation; after
        *deadline* as means over fewer runs.
        """
        from ioopt.measure.laboratory import measure

        return measure(problem, settings, seed, deadline)

    def plot(self, found: Any, title: str) -> Any:
        from ioopt.plot.measured import plot_perturbation

        return plot_perturbation(found, title)


class MessageCounts(MeasuredKind["MessageCountsProblem"]):
    """Measurement of how much a gang needs to run together, from counts of its
    messages.
    """

    kind = "message-counts"
    family = "flexgang"
    summary = (
        "messages received in gang and in disturbed quanta (Lee et al., Section 5)"
    )

    def problem_class(self) -> type[MessageCountsProblem]:
        from ioopt.problems.flexgang.message_counts import MessageCountsProblem

        return MessageCountsProblem

    @property
    def presets(self) -> Mapping[str, type[BaseModel]]:
        from ioopt.generate.flexgang.message_counts import PRESETS

        return PRESETS

    def generate(
        self, preset: str | None, settings: Mapping[str, object], seed: int
    ) -> MessageCountsProblem:
        from ioopt.generate.flexgang.message_counts import generate

        return generate(preset, settings, seed)

    def settings_class(self) -> type[BaseModel]:
        from ioopt.measure.gangedness import Settings

        return Settings

    def measure(
        self,
        problem: MessageCountsProblem,
        settings: Any,
        seed: int,
        deadline: Deadline,
    ) -> Measurement[Any]:
        """Judge whether each application needs gang scheduling: LOW, HIGH or UNKNOWN.
        Nothing is random.
        """
        from ioopt.measure.gangedness import measure

        return measure(problem, settings, seed, deadline)

    def plot(self, found: Any, title: str) -> Any:
        from ioopt.plot.measured import plot_message_counts

        return plot_message_counts(found, title)


KINDS: tuple[Format, ...] = (
    QuantumSelection(),
    FlexibleGang(),
    QuantumModel(),
    Perturbation(),
    MessageCounts(),
)


@Loader
def _quantum_greedy() -> Solve:
    from ioopt.solvers.flexgang.quantum_greedy import solve

    return solve


@Loader
def _quantum_ip() -> Solve:
    from ioopt.solvers.flexgang.quantum_ip import solve

    return solve


@Loader
def _strict() -> Solve:
    from ioopt.solvers.flexgang.strict import solve

    return solve


@Loader
def _strict_settings() -> type[BaseModel]:
    from ioopt.solvers.flexgang.strict import Settings

    return Settings


@Loader
def _greedy() -> Solve:
    from ioopt.solvers.flexgang.greedy import solve

    return solve


@Loader
def _exact() -> Solve:
    from ioopt.solvers.flexgang.exact import solve

    return solve


@Loader
def _exact_settings() -> type[BaseModel]:
    from ioopt.solvers.flexgang.exact import Settings

    return Settings


def _solver(
    name: str,
    kind: str,
    target: Loader[Solve],
    summary: str,
    source: str,
    **more: Any,
) -> SolverSpec:
    """Return the row of a solver that takes one kind of this family."""
    return SolverSpec(name, (kind,), target, summary, source, **more)


SOLVERS: tuple[SolverSpec, ...] = (
    _solver(
        "quantum-greedy",
        "quantum-selection",
        _quantum_greedy,
        "best uniform quantum, then coordinate descent over the menu",
        "ours",
    ),
    _solver(
        "quantum-ip",
        "quantum-selection",
        _quantum_ip,
        "options and cycle length as an integer program",
        "ours",
        abilities={EXACT, BOUND, WARM_START, THREADS},
        backends=_BACKENDS,
    ),
    _solver(
        "strict",
        "flexible-gang",
        _strict,
        "strict gang scheduling: one row a job, first-fit decreasing",
        "Lee et al., Section 2",
        settings=_strict_settings,
    ),
    _solver(
        "strict-fill",
        "flexible-gang",
        _strict,
        "strict rows, fragments and idle cells shared equally by gangs that can "
        "use them",
        "ours; Lee et al., Section 3.1",
        fixed={"fill": True},
        settings=_strict_settings,
    ),
    _solver(
        "greedy",
        "flexible-gang",
        _greedy,
        "loose I/O and low gangedness, first-fit decreasing, replicated rows, "
        "tau by linear program",
        "ours; Lee et al., Section 7",
        abilities={ANYTIME},
    ),
    _solver(
        "flex-exact",
        "flexible-gang",
        _exact,
        "one integer program a pattern under one deadline, re-ranked by simulation",
        "ours; Lee et al., Section 7",
        abilities={EXACT, BOUND, ANYTIME, WARM_START, THREADS},
        backends=_BACKENDS,
        settings=_exact_settings,
    ),
)
