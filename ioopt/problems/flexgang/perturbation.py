"""Define the perturbation laboratory (Lee et al., Section 4): programs, environments.

P processes of one gang run alone; from time to time one processor loses a quantum (Sub)
or gets an extra one (Add), always the same (FX) or in turn (RR). Times in quanta.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ioopt.errors import MOST_NUMBERS
from ioopt.problems import base

MOST_INSTRUCTIONS = 2.0**60
"""Instructions of all processors of a run; times are whole numbers of 64 bits."""
Environment = Literal["Sub_FX", "Sub_RR", "Add_FX", "Add_RR"]
ENVIRONMENTS: tuple[Environment, ...] = ("Sub_FX", "Sub_RR", "Add_FX", "Add_RR")
Curve = tuple[tuple[int, float], ...]
"""Pairs of perturbations and mean change of the run time in quanta."""
Pattern = Literal["all-to-all", "ring", "pairs", "shift"]
PATTERNS: tuple[Pattern, ...] = ("all-to-all", "ring", "pairs", "shift")


class Emp(base.Record):
    """Processes that work independently and never communicate."""

    kind: Literal["emp"] = "emp"
    id: base.Name = "Emp"


class Barrier(base.Record):
    """A barrier among all processes after every ``interval_quanta`` of work."""

    kind: Literal["barrier"] = "barrier"
    id: base.Name = "Barrier"
    interval_quanta: base.Positive = 0.01


class Workpile(base.Record):
    """A fixed amount of work in units of ``unit_quanta``, taken by free processes."""

    kind: Literal["workpile"] = "workpile"
    id: base.Name = "Workpile"
    unit_quanta: base.Positive = 0.5


class Msg(base.Record):
    """Exchange requests and replies in phases between barriers.

    A process sends ``requests_per_phase`` requests per phase, evenly spaced from its
    start, to each partner that ``pattern`` names, without waiting; at the end of the
    phase it waits for all replies.
    """

    kind: Literal["msg"] = "msg"
    id: base.Name = "Msg"
    phase_quanta: base.Positive = 0.05
    pattern: Pattern = "all-to-all"
    requests_per_phase: base.PositiveCount = 1


class Blocking(base.Record):
    """Send requests at rate ``requests_per_quantum`` of work (lambda); wait for each
    reply.
    """

    kind: Literal["blocking"] = "blocking"
    id: base.Name = "Blocking"
    requests_per_quantum: base.Positive = 12.0


class Program(base.Record):
    """Unequal work between barriers, with messages, as in Table 2 (rule 13).

    In interval k, ``interval_quanta`` long, process p works for the share ``loads[k %
    len(loads)][p]`` of it; if ``loads`` is empty, for all of it. Each process receives
    ``messages_per_quantum`` of the run, sent by the others at random in the first
    ``active_share`` of their work of an interval. Where they are ``blocking``, half are
    requests, whose senders wait, and half are replies. A message to an absent process
    is buffered, which costs ``buffer_instructions`` more.
    """

    kind: Literal["program"] = "program"
    id: base.Name = "Program"
    interval_quanta: base.Positive = 10.0
    loads: tuple[tuple[Annotated[float, Field(gt=0, le=1, strict=True)], ...], ...] = ()
    messages_per_quantum: base.Positive = 12.0
    active_share: Annotated[float, Field(gt=0, le=1, strict=True)] = 1.0
    blocking: bool = True
    buffer_instructions: base.Count = 250


Application = Annotated[
    Emp | Barrier | Workpile | Msg | Blocking | Program, Field(discriminator="kind")
]


def events_per_quantum(app: Application) -> float:
    """Return how often a process of *app* synchronises per quantum."""
    match app:
        case Emp():
            return 1.0
        case Barrier():
            return 1.0 / app.interval_quanta
        case Workpile():
            return 1.0 / app.unit_quanta
        case Msg():
            return app.requests_per_phase / app.phase_quanta
        case Blocking():
            return app.requests_per_quantum
        case Program():
            return app.messages_per_quantum + 1.0 / app.interval_quanta


class PerturbationProblem(base.Problem):
    """Applications, and the perturbations under which to run each of them.

    A run has ``perturbations`` of them in batches of ``batch``, ``spacing_quanta``
    apart within a batch, all in the first ``window`` of the run (1: all of it, as
    Section 4 has it); batches are at random and do not overlap. Each point is the mean
    of ``runs`` runs. FX takes ``fixed_processor``.
    """

    format: Literal["ioopt/perturbation"] = "ioopt/perturbation"
    processors: Annotated[int, Field(ge=2, le=base.MAX_NODES, strict=True)] = 4
    quantum_instructions: base.PositiveCount = 500_000
    work_quanta: base.PositiveCount = 120
    perturbations: base.PositiveCount = 20
    batch: base.PositiveCount = 4
    spacing_quanta: base.PositiveCount = 3
    window: Annotated[float, Field(gt=0, le=1, strict=True)] = 0.7
    fixed_processor: base.Count = 0
    runs: base.PositiveCount = 20
    environments: Annotated[tuple[Environment, ...], Field(min_length=1)] = ENVIRONMENTS
    applications: Annotated[tuple[Application, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _consistent(self) -> PerturbationProblem:
        base.require_unique("applications", (item.id for item in self.applications))
        if self.fixed_processor >= self.processors:
            raise ValueError(
                f"fixed_processor {self.fixed_processor}: processors are 0 to "
                f"{self.processors - 1}"
            )
        self._require_runnable()
        for at, app in enumerate(self.applications):
            loads = app.loads if isinstance(app, Program) else ()
            if any(len(row) != self.processors or max(row) < 1 for row in loads):
                raise ValueError(
                    f"applications[{at}] ({app.id}): loads: in each row a share for "
                    f"each of {self.processors} processors, the bottleneck's 1"
                )
        needed = self.num_batches * self.reserved_quanta
        if needed > self.window_quanta:
            raise ValueError(
                f"perturbations {self.perturbations}: {self.num_batches} batches of "
                f"{self.reserved_quanta} quanta do not fit into the first "
                f"{self.window_quanta} quanta of the run; ask for fewer perturbations "
                "or more work_quanta"
            )
        return self

    def _require_runnable(self) -> None:
        """Raise ValueError if times exceed 64 bits, tables the memory, or runs last
        too long.
        """
        quanta = float(self.processors) * self.work_quanta
        instructions = quanta * self.quantum_instructions
        if instructions > MOST_INSTRUCTIONS or 2.5 * quanta > MOST_NUMBERS:
            raise ValueError(
                f"work_quanta {self.work_quanta}: {self.processors} processors of "
                f"{self.quantum_instructions} instructions a quantum run too long to "
                "be simulated"
            )
        for at, app in enumerate(self.applications):
            rate = quanta * events_per_quantum(app)
            if rate > MOST_NUMBERS / 10:
                raise ValueError(
                    f"applications[{at}] ({app.id}): {rate:.3g} events in a run, at "
                    f"most {MOST_NUMBERS / 10:.3g}; give larger intervals or less work"
                )

    @property
    def num_batches(self) -> int:
        """Return the number of batches in a run; the last may not be full."""
        return -(-self.perturbations // self.batch)

    @property
    def reserved_quanta(self) -> int:
        """Return the quanta of a batch, from its first to its last perturbation."""
        return (self.batch - 1) * self.spacing_quanta + 1

    @property
    def window_quanta(self) -> int:
        """Return the whole quanta of the unperturbed run in which perturbations may
        lie.
        """
        return int(self.window * self.work_quanta + 1e-9)


class ApplicationSlopes(base.Record):
    """State the measurements of one application.

    ``slopes`` is (T - T_gang) / perturbations by environment, the mean over the
    runs, and ``deviations`` its standard deviation among them; ``gang_quanta`` is
    T_gang. ``gamma_sub`` and ``gamma_add`` are None without the environment that
    they need. ``curves`` are pairs of perturbations and mean change of the run time
    in quanta (Figure 5).
    """

    id: base.Name
    gang_quanta: base.Positive
    slopes: dict[Environment, float]
    deviations: dict[Environment, float]
    gamma_sub: float | None = None
    gamma_add: float | None = None
    curves: dict[Environment, Curve] = Field(default_factory=dict)


class PerturbationSlopes(base.Record):
    """Hold the slopes of the applications, in the instance's order, on P
    ``processors``.
    """

    processors: base.PositiveCount
    applications: tuple[ApplicationSlopes, ...]
