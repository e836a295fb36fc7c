"""Define the policies of gang scheduling: the paper's four, and two of ours."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from ioopt.decisions.gang.rules import (
    ADAPTIVE,
    BEST_FIT,
    FILE_NODES,
    WEIGHTS,
    Rules,
    Weight,
)
from ioopt.decisions.gang.state import State
from ioopt.errors import UsageError
from ioopt.problems.base import Record
from ioopt.sim.gang.update import phases_of, updated
from ioopt.units import exact

Share = Annotated[float, Field(ge=0, le=1)]


class Settings(Record):
    """Configure any gang policy (``--set``).

    ``recompute=boundary`` delays updates of the matrix to slice boundaries (rule 2).
    ``engine`` and ``arithmetic`` choose how the simulator computes (``auto``: compiled
    code where it can). ``history`` says whether the schedule lists every change of the
    matrix. On a gang-matrix, ``phase`` runs one phase alone.
    """

    recompute: Literal["event", "boundary"] = "event"
    engine: Literal["auto", "python", "compiled"] = "auto"
    arithmetic: Literal["float", "exact"] = "float"
    history: Literal["auto", "yes", "no"] = "auto"
    phase: Literal["all", "clean", "migrate", "compact", "schedule", "fill"] = "all"


@dataclass(frozen=True)
class Policy:
    """A policy: a name, and rules for the phases of an update.

    Simulations and live runs both use it.
    """

    name: str
    rules: Rules

    def update(self, state: State, phase: str = "all") -> State:
        """Run all phases of a scheduling event once, or only one *phase*; return the
        matrix.

        Raise UsageError if the policy has no such phase.
        """
        phases = phases_of(self.rules)
        chosen = list(phases.values())
        if phase != "all":
            if phase not in phases:
                known = ", ".join(phases)
                raise UsageError(
                    f"{self.name} has no phase {phase!r}; its phases: {known}, all"
                )
            chosen = [phases[phase]]
        return updated(state, self.rules, chosen, full=phase in ("all", "fill"))


GS = Policy("gs", Rules(BEST_FIT))
"""Plain gang scheduling, which ignores where the files are (Section 3.2)."""
IOGS = Policy("iogs", Rules(FILE_NODES))
"""A job starts on its file nodes or waits (Section 3.3)."""
ADAPTIVE_IOGS = Policy("adaptive-iogs", Rules(ADAPTIVE, local_first=True))
"""A job starts on its file nodes where they are free, else as in GS (Section 3.5)."""
MIGRATE_IOGS = Policy("migrate-iogs", Rules(ADAPTIVE, migrate=True, local_first=True))
"""Adaptive-IOGS with migration of remote jobs to their file nodes (Section 3.6)."""


def _fixed(policy: Policy) -> Callable[[Settings], Policy]:
    """Return a factory that returns *policy*, which has no settings of its own."""
    return lambda settings: policy


gs = _fixed(GS)
iogs = _fixed(IOGS)
adaptive_iogs = _fixed(ADAPTIVE_IOGS)
migrate_iogs = _fixed(MIGRATE_IOGS)


class GuardedSettings(Settings):
    """Configure guarded-iogs.

    ``guard`` is the share of all M P slots (M rows, P nodes) that home instances of
    jobs may fill after a remote start. It is replaced by L/R of the job, its local over
    its remote run time, if that is larger. ``patience``: a job that has waited this
    many times R - L may start remote in any case.
    """

    guard: Share = 0.7
    patience: Annotated[float, Field(ge=0, le=1e9)] = 15.0


def guarded(settings: GuardedSettings) -> Policy:
    """Return guarded-iogs (ours): Migrate-IOGS without remote starts on a full machine.

    A remote job holds its slots R/L times as long as a local one (R and L are its
    remote and local run times). That causes more remote starts. The guard keeps the
    matrix empty enough for migration to undo them. A refused job does not block the
    queue; it is refused only until its wait reaches a multiple of the cost of remote
    reading. A start that leaves the matrix below the share L/R is not refused, because
    slots kept empty would cost more work than remote reading.
    """
    rules = MIGRATE_IOGS.rules._replace(
        guard=exact(settings.guard), patience=exact(settings.patience), break_even=True
    )
    return Policy("guarded-iogs", rules)


class IndexSettings(Settings):
    """Configure index-iogs: the weights of jobs, and the queue.

    - ``guard`` is the share of all M P slots (M rows, P nodes) that home instances of
      jobs may fill after a remote start.
    - ``weight``: ``las`` is 1/(attained + T)^2, with the attained service and the slice
      T, and needs no run times. ``hdf`` is 1/(max(L, T) max(remaining, 50)), with the
      local run time L and the remaining time, so it is clairvoyant. ``one`` gives all
      jobs the same weight.
    - ``queue=fcfs`` stops at the first job that does not fit.
    - ``age_seconds``: jobs that have waited longer go first, in FCFS order, and the
      first of them that does not fit stops admission (0: no age term). The default was
      chosen on the seeds that the benchmark reports.
    - ``pack_ratio``: jobs whose remote time is at most this multiple of their local
      time gain little from their files. They start without the guard, where their rate
      is highest (speed x number of rows in which the columns are free), and never
      migrate.
    """

    guard: Share = 0.7
    weight: Weight = "las"
    queue: Literal["free", "fcfs"] = "free"
    age_seconds: Annotated[float, Field(ge=0)] = 80_000.0
    pack_ratio: Annotated[float, Field(ge=1)] = 1.25


def index(settings: IndexSettings) -> Policy:
    """Return index-iogs (ours): in all phases, jobs with the largest weight go first.

    This is the order of admission, migration and FillMatrix. With the default weight it
    prefers jobs with the least attained service. A job gets as many replicas at once as
    fit. The queue is free (a job that does not fit is passed over) and has the guard of
    :func:`guarded`; the age term keeps big jobs from starving.
    """
    rules = Rules(
        ADAPTIVE,
        migrate=True,
        weight=WEIGHTS[settings.weight],
        free_queue=settings.queue == "free",
        age=settings.age_seconds,
        guard=exact(settings.guard),
        pack_ratio=exact(settings.pack_ratio),
    )
    return Policy("index-iogs", rules)
