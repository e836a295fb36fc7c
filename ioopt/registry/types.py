"""Rows of the registry: instance kinds and solvers, as names of things that
are loaded on demand.
"""

import sys
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any, Literal

Sense = Literal["min", "max"]
"""Whether less (``min``) or more (``max``) of a metric is better."""
EXACT = "exact"
"""Proves its answer optimal when given time."""
BOUND = "bound"
"""Gives a bound that another method can be measured against."""
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
"""Breaks a rule of the machine, as a mark to measure against: no competitor,
outside every ratio.
"""


def load_target(target: str | Callable[..., object]) -> Any:
    """Import ``package.module:name`` and return the object; an object
    is returned as it is.
    """
    if not isinstance(target, str):
        return target
    module, _, name = target.partition(":")
    found = getattr(
        sys.modules.get(module), name, None
    )  # a service asks a thousand times a second
    return resolve_name(target) if found is None else found


@dataclass(frozen=True)
class Metric:
    """One metric of a kind of instances, as its family declares it.

    ``name`` is its key among the objectives and metrics of a result; the name's end
    tells the unit (:func:`ioopt.units.quantity`). ``bounded_by`` names the metric of a
    checked or replayed plan that is a proven bound of it, ``raised_by`` one of a replay
    that may be stronger than the bound a solver proved. ``objective`` marks the one
    metric that solvers of the kind optimise unless they say otherwise; the kind's quick
    bound is a bound of it and of no other. ``defined_in`` is where the family's paper
    defines it.

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
        """The metric of a result that states what its solver proved of this one, where
        the result is measured by another.

        >>> Metric("additive_seconds").proof
        'additive_bound_seconds'
        """
        stem, seconds, _ = self.name.partition("_seconds")
        return f"{stem}_bound{seconds}"

    def __str__(self) -> str:
        better = "more" if self.sense == "max" else "less"
        return f"{self.name} ({better} is better)"


@dataclass(frozen=True, kw_only=True)
class Format:
    """One instance format: where its class and its generator are
    (``module:name``, loaded on demand).
    """

    kind: str
    family: str
    problem: str
    generate: str | None = None
    summary: str = ""

    @property
    def format(self) -> str:
        """The value of the file's ``format`` key."""
        return f"ioopt/{self.kind}"

    @property
    def presets(self) -> Mapping[str, Any]:
        """Preset -> its settings class, from the module of the generator."""
        return (
            load_target(self.generate.replace(":generate", ":PRESETS"))
            if self.generate
            else {}
        )


@dataclass(frozen=True, kw_only=True)
class MeasuredKind(Format):
    """A format in which nothing is decided, for ``ioopt measure``.

    ``measure`` is ``measure(problem, settings, seed, deadline) ->
    ioopt.measure.Measurement``, with a class ``Settings`` beside it; ``plot``
    draws what that found.
    """

    measure: str
    plot: str


@dataclass(frozen=True, kw_only=True)
class KindSpec(Format):
    """One kind of decision and where its parts are.

    ``metrics`` are what its answers are measured by, the first the one that they are
    compared by unless the user says otherwise. ``compare_solvers`` is what
    ``ioopt compare`` runs when none is named (``choose_solvers``: a function from the
    problem to that list); ``baseline`` is the solver to which the comparison of several
    instances prints mean ratios. ``schedule`` is the form of its schedules.
    ``plot`` draws a result; ``pictures`` are further ones by name
    (``ioopt plot --picture``); ``explain`` is the :class:`ioopt.explaining.Family` that
    ``ioopt check --explain`` asks. ``fallback`` is the solver that answers when another
    one fails; ``policies`` are what ``auto`` tries, the best first. ``bound`` is a
    quick function from the problem to a proven bound of the objective, for solvers that
    prove nothing themselves (``limited_bound``: it takes a ``deadline``). ``decision``
    marks snapshots that ``ioopt solve --now`` takes, ``follows`` kinds whose schedules
    follow from their plans, so that a check of them repeats the replay. ``beyond`` is a
    function (problem, plan, schedule) -> what a result says of the question that its
    instance does not. ``limited_replay``: ``simulate`` takes a ``deadline``, and
    answers with what it has and a note when it expires. The functions are
    ``check(problem, plan, schedule) -> CheckReport``, ``simulate(problem, plan,
    **options) -> Simulation`` and ``generate(preset, settings, seed) -> problem``.
    """

    check: str
    default_solver: str
    metrics: tuple[Metric, ...]
    plan: str | None = None
    schedule: str | None = None
    bound: str | None = None
    limited_bound: bool = False
    simulate: str | None = None
    limited_replay: bool = False
    plot: str | None = None
    pictures: Mapping[str, str] = field(default_factory=dict)
    explain: str | None = None
    fallback: str | None = None
    policies: tuple[str, ...] = ()
    compare_solvers: tuple[str, ...] = ()
    choose_solvers: str | None = None
    baseline: str | None = None
    decision: bool = False
    follows: bool = False
    beyond: str | None = None

    @property
    def objective(self) -> Metric:
        """What the solvers of this kind optimise unless they say otherwise."""
        for metric in self.metrics:
            if metric.objective:
                return metric
        return self.metrics[0]

    @property
    def columns(self) -> tuple[str, ...]:
        """What comparisons show: all metrics but an objective that is not the first."""
        others = [metric.name for metric in self.metrics[1:] if not metric.objective]
        return (self.metrics[0].name, *others)

    def metric(self, name: str) -> Metric:
        """Return the metric called *name*.

        One that is not declared is an objective of a solver's own, such as
        ``value_hdf``: it has the direction of the kind's objective and no bounds.
        """
        for metric in self.metrics:
            if metric.name == name:
                return metric
        return Metric(name, self.objective.sense)


@dataclass(frozen=True)
class SolverSpec:
    """One solver: its name, the kinds it takes, where its function and settings are.

    ``target`` is a :class:`ioopt.protocols.SolverFunction`; ``settings`` a frozen
    pydantic class whose fields are the keys of ``--set``. ``policy`` makes a policy of
    the settings, for live use, for replays and, as ``request.policy``, for the target.
    ``fixed`` are settings that the name implies (so that ``cons-fcfs+top`` is
    ``cons-fcfs`` with one setting). ``backends`` are the values of ``--backend``, the
    default first. ``source`` is the paper and section, or ``ours``. ``variant_of``
    names the solver of which this is a variant, listed only when asked for.
    """

    name: str
    kinds: tuple[str, ...]
    target: str | Callable[..., object]
    summary: str
    source: str
    settings: str | type | None = None
    policy: str | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    abilities: Set[str] = frozenset()
    backends: tuple[str, ...] = ()
    variant_of: str | None = None

    @property
    def own(self) -> bool:
        """Whether it is a function of the user, which no registry knows."""
        return ":" in self.name
