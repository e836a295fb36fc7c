"""The perturbation laboratory (Lee et al., Section 4): programs and environments.

The P processes of one gang run alone. From time to time one processor loses a quantum
(Sub) or gets an extra one (Add). This is always the same processor (FX), or each
processor in turn (RR). Times are in quanta.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ioopt.errors import MOST_NUMBERS
from ioopt.problems import base

MOST_INSTRUCTIONS = 2.0**60
"""Largest number of instructions of all processors in a run, as times are 64-bit
integers.
"""
Environment = Literal["Sub_FX", "Sub_RR", "Add_FX", "Add_RR"]
ENVIRONMENTS: tuple[Environment, ...] = ("Sub_FX", "Sub_RR", "Add_FX", "Add_RR")
Curve = tuple[tuple[int, float], ...]
"""Pairs of a number of perturbations and the mean change of the run time in quanta."""
Pattern = Literal["all-to-all", "ring", "pairs", "shift"]
PATTERNS: tuple[Pattern, ...] = ("all-to-all", "ring", "pairs", "shift")


class Emp(base.Record):
    """Processes that work independently and never communicate."""

    kind: Literal["emp"] = "emp"
    id: base.Name = "Emp"


class Barrier(base.Record):
    """Processes that meet at a barrier after every ``interval_quanta`` of work."""

    kind: Literal["barrier"] = "barrier"
    id: base.Name = "Barrier"
    interval_quanta: base.Positive = 0.01


class Workpile(base.Record):
    """A fixed amount of work in units of ``unit_quanta``, taken by free processes."""

    kind: Literal["workpile"] = "workpile"
    id: base.Name = "Workpile"
    unit_quanta: base.Positive = 0.5


class Msg(base.Record):
    """Processes that exchange requests and replies in phases between barriers.

    In each phase, a process sends ``requests_per_phase`` requests to each partner that
    ``pattern`` names. The requests are evenly spaced from the start of the phase, and
    the process does not wait between them. At the end of the phase it waits for all
    replies.
    """

    kind: Literal["msg"] = "msg"
    id: base.Name = "Msg"
    phase_quanta: base.Positive = 0.05
    pattern: Pattern = "all-to-all"
    requests_per_phase: base.PositiveCount = 1


class Blocking(base.Record):
    """Processes that send requests and wait for each reply.

    They send ``requests_per_quantum`` (lambda) requests for each quantum of work.
    """

    kind: Literal["blocking"] = "blocking"
    id: base.Name = "Blocking"
    requests_per_quantum: base.Positive = 12.0


class Program(base.Record):
    """Processes with unequal work between barriers and with messages, as in Table 2.

    See rule 13. An interval between barriers is ``interval_quanta`` long. In interval
    k, process p works for the share ``loads[k % len(loads)][p]`` of it. If ``loads`` is
    empty, every process works for the whole interval. Each process receives
    ``messages_per_quantum`` messages in each quantum of the run. The other processes
    send them at random times in the first ``active_share`` of their work of an
    interval. With ``blocking``, half of the messages are requests, whose senders wait,
    and half are replies. A message to an absent process is buffered, which costs
    ``buffer_instructions`` more.
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
    """Return the number of times that a process of *app* synchronises in a quantum."""
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
    """Applications, and the perturbations under which each of them runs.

    A run has ``perturbations`` perturbations in batches of ``batch``. Those of a batch
    are ``spacing_quanta`` apart. The batches are placed at random without overlap, in
    the first part of the run. ``window`` is the share of the run that this part has; it
    is 1 in Section 4. Each measured value is the mean of ``runs`` runs. The FX
    environments perturb ``fixed_processor``.
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
        """Raise ValueError if a run is too large to be simulated.

        Times must fit in 64 bits and tables in the memory, and runs must not take too
        long.
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
        """Return the number of batches in a run; the last one may not be full."""
        return -(-self.perturbations // self.batch)

    @property
    def reserved_quanta(self) -> int:
        """Return the number of quanta from the first to the last perturbation of a
        batch.
        """
        return (self.batch - 1) * self.spacing_quanta + 1

    @property
    def window_quanta(self) -> int:
        """Return the number of quanta in which perturbations may lie, from the start of
        a run.

        The quanta are those of the run without perturbations.
        """
        return int(self.window * self.work_quanta + 1e-9)


class ApplicationSlopes(base.Record):
    """State the measurements of one application.

    ``gang_quanta`` is T_gang, the run time without perturbations in quanta. ``slopes``
    has, for each environment, (T - T_gang) / perturbations as the mean over the runs, T
    being the run time with perturbations. ``deviations`` has its standard deviation
    among the runs. ``gamma_sub`` and ``gamma_add`` are None without the environment
    that they need. ``curves`` has pairs of a number of perturbations and the mean
    change of the run time in quanta (Figure 5).
    """

    id: base.Name
    gang_quanta: base.Positive
    slopes: dict[Environment, float]
    deviations: dict[Environment, float]
    gamma_sub: float | None = None
    gamma_add: float | None = None
    curves: dict[Environment, Curve] = Field(default_factory=dict)


class PerturbationSlopes(base.Record):
    """The slopes of all applications of an instance, in its order.

    They were measured on ``processors`` processors (P).
    """

    processors: base.PositiveCount
    applications: tuple[ApplicationSlopes, ...]
