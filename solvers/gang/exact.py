"""Decide every scheduling event of gangs by an integer program: exact-iogs (ours).

The row-free model (:mod:`ioopt.models.gang.row_free`) gives a bound. Its answer is laid
out in rows by colouring. This usually gives a matrix that meets the bound; otherwise
the row model (:mod:`ioopt.models.gang.assignment`) is solved. Cells left empty are
filled in order of weight x speed. Both models start from the matrix of the greedy,
which is index-iogs with the same guard and without its age term. If that matrix is
worth more, it is the answer.
"""

import math
import statistics
import time
from dataclasses import replace
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from ioopt.decisions.gang.rules import Weight
from ioopt.decisions.gang.state import State, state_of, value_of, weights
from ioopt.errors import OutOfTime, UsageError
from ioopt.models.gang.assignment import AssignmentModel
from ioopt.models.gang.question import Question, ask
from ioopt.models.gang.row_free import RowFreeModel
from ioopt.models.program import Program
from ioopt.options import Deadline
from ioopt.problems.base import Json
from ioopt.problems.gang import (
    GangMatrixProblem,
    GangPlan,
    GangProblem,
    mask_of,
    nodes_of,
)
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import Status, StopReason
from ioopt.sim.gang.update import with_replicas
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import NAME as CPSAT
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat
from ioopt.solvers.backends.solve import solve_program
from ioopt.solvers.gang import run
from ioopt.solvers.gang.bound import PARAMETERS, upper_bound
from ioopt.solvers.gang.exact_layout import (
    Placed,
    lay_out,
    spans_of,
    state_with,
    with_columns,
)
from ioopt.solvers.gang.policy import IndexSettings, index
from ioopt.units import exact


def urgent_rows_first(state: State, kind: Weight) -> State:
    """Renumber the rows so that the most urgent row runs at this instant (rule 1).

    The urgency of a row is a sum over its jobs: weight x speed of the job, divided by
    its number of rows, because a job with a single row depends on it. Of equal rows the
    one with the lowest old index comes first.
    """
    levels = len(state.rows)
    urgency: list[float] = [0] * levels
    heavy = weights(kind, state.jobs, state.clock)
    for weight, job, columns, span in zip(
        heavy, state.jobs, state.columns, state.spans
    ):
        speed: float = 1
        if columns != job.files:
            speed = job.local / job.remote
        share = weight * speed / span.bit_count()
        for row in nodes_of(span):
            urgency[row] += share
    current = math.floor(state.clock.now / state.clock.quantum) % levels
    order = sorted(range(levels), key=lambda row: -urgency[row])
    new = [0] * levels
    for place, row in enumerate(order):
        new[row] = (current + place) % levels
    rows = [0] * levels
    for row, mask in enumerate(state.rows):
        rows[new[row]] = mask
    return state._replace(
        rows=rows,
        homes=[new[home] for home in state.homes],
        spans=[mask_of(new[row] for row in nodes_of(span)) for span in state.spans],
    )


EVENT_LIMIT = 0.1
"""Limit of CP-SAT for each program of an event of a workload, in deterministic
seconds.
"""
SNAPSHOT_LIMIT = 2.0
"""Limit of CP-SAT for each program of a snapshot, in deterministic seconds."""
GREEDY_SECONDS_PER_JOB = 2e-3
"""Seconds per job that are reserved for the greedy to finish the workload."""
PROVEN = 1e-9
"""Relative distance from the bound within which a value counts as proven; it covers the
rounding of worths.
"""


class Settings(run.Settings):
    """Configure exact-iogs.

    - ``weight`` and ``queue`` are those of index-iogs; with ``fcfs`` a job starts only
      if the one before it does.
    - ``guard`` is the share of all slots that running jobs and remote starts may take
      together, as for guarded-iogs (1: no guard).
    - ``limit`` is the deterministic time of CP-SAT for each of the two programs of a
      decision (default 0.1; 2 for a snapshot).
    - ``window`` is the number of waiting jobs, first come first, in the program; it
      keeps the program small at high load. Later jobs start when the queue has moved
      up, or if the greedy, which sees all jobs, is better.
    - ``row_order=urgent`` renumbers the rows of every matrix so that the most urgent
      row runs now.
    - ``exact_events`` is the number of events after which the greedy decides. Use it to
      repeat a run that its deadline stopped.
    """

    weight: Weight = "las"
    queue: Literal["free", "fcfs"] = "free"
    guard: Annotated[float, Field(ge=0, le=1)] = 0.7
    limit: Annotated[float, Field(gt=0)] | None = None
    window: Annotated[int, Field(ge=1)] = 30
    row_order: Literal["kept", "urgent"] = "urgent"
    exact_events: Annotated[int, Field(ge=0)] | None = None


class Decision(NamedTuple):
    """Store one decision: the value of the chosen matrix and the bound of the models.

    Both are in units of weight. The bound is for matrices in which a job that starts
    remote has one row; cells filled afterwards may exceed it. ``rows_solved`` says that
    the row model was needed. ``seconds`` are measured.
    """

    value: float
    bound: float
    rows_solved: bool
    seconds: float

    @property
    def gap(self) -> float:
        """Return the gap between value and bound, relative to the bound."""
        if self.bound > 0:
            return max(0.0, 1.0 - self.value / self.bound)
        return 0.0

    @property
    def proven(self) -> bool:
        """Return whether the matrix is optimal in the models."""
        return self.gap <= PROVEN


class ExactPolicy:
    """Decide every event by exact-iogs; ``log`` stores every decision.

    After *deadline* the greedy decides. ``stopped_at`` is the number of the first
    event, counted from 0, that the greedy decides; None if there is none yet.
    """

    name = "exact-iogs"
    rules = None

    def __init__(
        self,
        settings: Settings,
        deadline: Deadline | None = None,
        backend: str | None = None,
    ) -> None:
        self.settings = settings
        self.backend = backend or CPSAT
        self.deadline = deadline or Deadline(None)
        self.log: list[Decision] = []
        self.events = 0
        self.stopped_at: int | None = settings.exact_events
        self.share = exact(settings.guard)
        alike = settings.model_dump(include={"weight", "queue", "guard"})
        self.greedy = index(IndexSettings(**alike, age_seconds=0.0, pack_ratio=1.0))

    def update(self, state: State) -> State:
        """Return the next matrix: the decision at one scheduling event."""
        after = self._chosen(state)
        if self.settings.row_order == "kept" or not after.jobs:
            return after
        return urgent_rows_first(after, self.settings.weight)

    def _chosen(self, state: State) -> State:
        event = self.events
        self.events += 1
        greedy = self.greedy.update(state)
        if self.stopped_at is not None and event >= self.stopped_at:
            return greedy
        if self.deadline.expired():
            self.stopped_at = event
            return greedy
        begun = time.perf_counter()
        after, decision = self._decide(state, greedy)
        self.log.append(decision._replace(seconds=time.perf_counter() - begun))
        return after

    def _decide(self, state: State, greedy: State) -> tuple[State, Decision]:
        kind = self.settings.weight
        fcfs = self.settings.queue == "fcfs"
        window = self.settings.window
        question = ask(state, kind, fcfs=fcfs, window=window, share=self.share)
        floor = float(value_of(greedy, kind))
        if not question.options:
            return greedy, Decision(floor, floor, False, 0.0)
        best, bound, rows_solved = self._search(question, state, greedy)
        filled = greedy
        if best is not greedy:
            filled = with_replicas(best, self.greedy.rules)
        value = float(value_of(filled, kind))
        if value < floor:
            filled = greedy
            value = floor
        return filled, Decision(value, bound / question.scale, rows_solved, 0.0)

    def _search(
        self, question: Question, state: State, greedy: State
    ) -> tuple[State, float, bool]:
        """Return the best matrix of the models, their bound, and whether the row model
        was solved.

        The bound is in scaled worths. The matrix is *greedy* if the models find none
        better.
        """
        spans = spans_of(question, state, greedy)
        free = RowFreeModel(question)
        start = free.start(spans)
        values, bound = self._solve(free.program, start)
        if values is None or free.program.value(values) < free.program.value(start):
            values = start
        placed = lay_out(question, free.counts(values))
        if placed is not None:
            return state_with(state, question, placed), bound, False
        if free.program.value(start) >= bound:
            return greedy, bound, False
        best, bound = self._rows(question, spans, free.counts(values), bound)
        if best is None:
            return greedy, bound, True
        return state_with(state, question, best), bound, True

    def _rows(
        self,
        question: Question,
        spans: dict[int, int],
        counts: dict[int, int],
        bound: float,
    ) -> tuple[Placed | None, float]:
        """Solve the row model. Return the placed options of the best matrix, and the
        smaller of *bound* and the model's own bound.

        The options are None if no matrix is better than that of the greedy.
        The model starts from the better of two matrices: that of the greedy (*spans*),
        and the part of *counts* that can be laid out.
        """
        rows = AssignmentModel(question)
        value = rows.program.value
        start = rows.start(spans)
        best = None
        partial = None
        if not question.fcfs:
            partial = lay_out(question, counts, partial=True)
        if partial is not None:
            laid = rows.start({o: span for o, (_, span) in partial.items()})
            if value(laid) > value(start):
                start = laid
                best = partial
        values, row_bound = self._solve(rows.program, start)
        if values is not None and value(values) > value(start):
            best = with_columns(question, rows.spans(values))
        return best, min(bound, row_bound)

    def _solve(
        self, program: Program, start: list[int]
    ) -> tuple[list[int] | None, float]:
        """Solve *program* from *start*.

        Return the values of the best solution, or None, and the bound of the objective.
        """
        left = self.deadline.remaining()
        begin = dict(enumerate(start))
        limits = BackendLimits()
        if math.isfinite(left):
            limits = BackendLimits(seconds=left)
        if self.backend == CPSAT:
            limits = replace(limits, work=self.settings.limit or EVENT_LIMIT)
            answer = solve_by_cpsat(program, limits, begin, parameters=PARAMETERS)
        else:
            answer = solve_program(program, self.backend, limits, begin)
        if not answer.found:
            # CP-SAT reports a meaningless bound of 0 when stopped in presolve.
            return None, math.inf
        values = [round(answer.values[at]) for at in range(len(program.variables))]
        if answer.status is Status.OPTIMAL:
            return values, program.value(values)
        if answer.bound is None:
            return values, math.inf
        return values, answer.bound


def policy(settings: Settings) -> ExactPolicy:
    """Return the exact policy with these *settings* and no deadline."""
    return ExactPolicy(settings)


def solve(problem: GangProblem | GangMatrixProblem, request: SolveRequest) -> Outcome:
    """Simulate a workload under the exact policy, or decide on a snapshot."""
    settings: Settings = request.settings or Settings()
    if settings.phase != "all":
        raise UsageError("exact-iogs has no phases: leave out phase, or give phase=all")
    backend = request.options.backend
    if isinstance(problem, GangMatrixProblem):
        settings = settings.model_copy(
            update={"limit": settings.limit or SNAPSHOT_LIMIT}
        )
        policy = ExactPolicy(settings, request.deadline, backend)
        return _decide(problem, policy, request.deadline)
    chosen = ExactPolicy(settings, request.deadline, backend)
    if backend not in (None, CPSAT):
        raise UsageError(
            f"backend {backend} has no deterministic limit: it solves single decisions "
            "(ioopt/gang-matrix); a workload needs CP-SAT"
        )
    left = request.deadline.remaining()
    if not math.isinf(left):  # Reserved for the greedy, to finish the workload.
        kept = min(left / 2, GREEDY_SECONDS_PER_JOB * len(problem.jobs))
        chosen.deadline = request.deadline.within(left - kept)
    try:
        simulation = run.simulate_policy(
            problem, chosen, settings, request.deadline, drawn=False
        )
    except OutOfTime as late:
        return run.cheapest(problem, request, chosen, late)
    values: Json = settings.model_dump(mode="json")
    notes = []
    stop = StopReason.FINISHED
    if chosen.stopped_at is not None and chosen.stopped_at < chosen.events:
        values["exact_events"] = chosen.stopped_at
        notes.append(
            f"the greedy decided from event {chosen.stopped_at} of {chosen.events} on"
        )
        if settings.exact_events is None:
            stop = StopReason.TIME
    plan = GangPlan(policy=chosen.name, settings=values)
    return Outcome(
        plan,
        simulation=simulation,
        stop=stop,
        notes=tuple(notes),
        metrics=summary(chosen.log),
    )


def _decide(
    problem: GangMatrixProblem, chosen: ExactPolicy, deadline: Deadline
) -> Outcome:
    """Return the outcome of the decision on a snapshot."""
    after = chosen.update(state_of(problem))
    weight = chosen.settings.weight
    log = chosen.log
    metrics = summary(log)
    stop = StopReason.TIME
    note = "no time was left, so the greedy decided"
    if log:
        stop = StopReason.FINISHED
        metrics |= {"model_bound": log[-1].bound, "model_gap": log[-1].gap}
        note = (
            f"the matrix is {100 * log[-1].gap:.3g} % below the bound of its own "
            "model, in which jobs that start remote have one row; bound and gap of the "
            "result are for the matrices of every policy"
        )
    bound = None
    if weight != "las":  # solving.py bounds value_las if a bound is requested
        bound = upper_bound(problem, weight, deadline)
    return Outcome(
        run.plan_of_state(problem, after),
        bound=bound,
        stop=stop,
        objective_name=f"value_{weight}",
        notes=(note,),
        metrics=metrics,
    )


def summary(log: list[Decision]) -> Json:
    """Return figures that summarise the exact decisions of a run.

    The median of the seconds is measured, so it differs between runs.
    """
    if not log:
        return {"exact_decisions": 0}
    return {
        "exact_decisions": len(log),
        "proven_decisions": sum(decision.proven for decision in log) / len(log),
        "row_model_decisions": sum(decision.rows_solved for decision in log) / len(log),
        "mean_decision_gap": statistics.fmean(decision.gap for decision in log),
        "median_decision_seconds": statistics.median(
            decision.seconds for decision in log
        ),
    }
