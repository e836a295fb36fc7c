"""Validate a record: replay what was recorded, and say what a plan would have saved.

The constants of the storage are fitted on a third of the tasks, and judged on all the
others. Then the same tasks are planned on the same nodes, and as if products were kept
on the disks of the nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Literal

from pydantic import Field

from ioopt.errors import OutOfTime, UsageError
from ioopt.formats.cluster import Machine
from ioopt.formats.report import some
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.base import Count, Json, Seconds
from ioopt.problems.base import Record as Fields
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.result import Result
from ioopt.sim.replication.noisy import judging_noise, noisy_makespans
from ioopt.sim.replication.report import disks
from ioopt.sim.replication.simulate import simulate
from ioopt.solving import solve
from ioopt.units import counted
from ioopt.validation.fit import FITTED, Fit, Sample, fit, third_of
from ioopt.validation.record import Record, read_record
from ioopt.validation.storage import (
    SHARED,
    Constants,
    Storage,
    frame_of,
    known_constants,
    placement_of,
    with_constants,
)

SURE_FROM = 0.2
"""Share of a makespan from which a difference is certain: replays of recorded runs told
the faster of two runs where the records differed by this share.
"""
TASKS_SURE_BELOW = 0.5
"""Share of its recorded time by which half of the tasks may be off at most, for a plan
to be certain: a replay may end in time although its tasks do not.
"""
GAIN_WITHIN = 0.25
"""Share by which the gain of node disks that was foretold differed from the recorded
one at most, in 13 of 14 recorded runs.
"""
DECIDED_FROM = 0.005
"""Share of the makespan by which an unlimited cache must move the replay for the record
to say anything of its size.
"""
ENGINE = "fifo"
"""The dispatcher that stands for an engine whose placement is not recorded."""
ON_DISKS = "ready-min-min"
"""The dispatcher that stands for an engine that keeps products on node disks: it gave
the gains of recorded runs best.
"""
SHORTEST = 1.0
"""Seconds that a task counts as taking at least, where its error is a share."""
SEARCH = "link-aware"
REPLAYS = 1000
"""Number of replays of the search for a plan, unless time ends it."""
FIT_SHARE = 0.3
SEARCH_SHARE = 0.3
"""Shares of the time limit for the fit and for the search."""


class Recorded(Fields):
    """What was recorded."""

    makespan_seconds: Seconds


class Replayed(Fields):
    """The replay of the recorded placement.

    ``error`` is the makespan's, as a share of the recorded one; it is positive if the
    replay takes longer. ``task_error`` is the median share of its recorded time by
    which a task is off. ``band`` has the least, the median and the largest makespan
    under noise.
    """

    makespan_seconds: Seconds
    error: float
    task_error: float = 0.0
    band: tuple[float, float, float]

    @property
    def sure(self) -> bool:
        """Return whether the replay is near enough to tell what a plan saves."""
        return abs(self.error) < SURE_FROM and self.task_error < TASKS_SURE_BELOW


class ValidatedTask(Fields):
    """The seconds from the start to the end of a task; None if it was not replayed."""

    id: str
    recorded_seconds: Seconds
    replayed_seconds: Seconds | None = None

    @property
    def off(self) -> float:
        """Return by how many seconds the replay is too long; 0 without a replay."""
        if self.replayed_seconds is None:
            return 0.0
        return self.replayed_seconds - self.recorded_seconds


class Planned(Fields):
    """A plan for the same nodes and storage.

    ``saves`` is the share of the replayed makespan that it saves. A plan is ``certain``
    to be faster if this is at least ``SURE_FROM``, the replay is less off, and half of
    its tasks are off by less than ``TASKS_SURE_BELOW``.
    """

    solver: str
    makespan_seconds: Seconds
    saves: float
    certain: bool
    assign: dict[str, str] = Field(default_factory=dict)
    order: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class NodeDisks(Fields):
    """The same tasks with products on node disks, without any recorded placement.

    ``shared_makespan_seconds`` is that of a first-in-first-out engine through the
    shared storage. ``gain`` is the ratio of the two. ``bytes_per_node`` is the largest
    number of bytes on one node at once.
    """

    shared_makespan_seconds: Seconds
    makespan_seconds: Seconds
    gain: float
    bytes_per_node: Count


class Validation(Fields):
    """The document ``ioopt/validation``.

    ``storage_errors`` has, for each kind of storage that was fitted, the error of the
    makespan of its replay; it is empty if nothing was replayed. ``undetermined`` names
    the constants of ``fitted`` for which larger values give the same replay.
    """

    format: Literal["ioopt/validation"] = "ioopt/validation"
    version: Literal[1] = 1
    name: str = ""
    storage: Storage
    storage_errors: dict[Storage, float] = Field(default_factory=dict)
    recorded: Recorded
    replayed: Replayed | None = None
    fitted: dict[str, float | None] = Field(default_factory=dict)
    fitted_on: Count = 0
    undetermined: tuple[str, ...] = ()
    tasks: tuple[ValidatedTask, ...] = ()
    plan: Planned | None = None
    node_disks: NodeDisks | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """A validation with its record, and the schedules of the replay and of the plan."""

    validation: Validation
    record: Record
    replayed_schedule: Json | None
    planned_schedule: Json | None


def validate_record(
    trace: str,
    dag: str | None = None,
    edges: str | None = None,
    machine: Machine | None = None,
    *,
    storage: Storage | None = None,
    skip_bad: float | None = None,
    task_cpus: Mapping[str, int] = {},
    time_limit: float | None = 60.0,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Answer:
    """Validate the record *trace* (see :func:`ioopt.validation.record.read_record`).

    *machine* states nodes, cores and rates that the record lacks; a rate that it states
    is not fitted. *storage* is the kind of storage of the run; None is the kind of
    shared storage that fits better. *time_limit* seconds end the fit and the searches
    early. *progress* is called with the name of each stage.
    """
    tell = progress or (lambda text: None)
    deadline = Deadline(SolveOptions(time_limit_seconds=time_limit).time_limit_seconds)
    record = read_record(trace, dag, edges, skip_bad, task_cpus)
    if record.hosts and machine is not None and "nodes" in machine.model_fields_set:
        raise UsageError(
            f"--machine nodes: {record.name} names the hosts of its tasks "
            f"({some(record.hosts)}); leave nodes out"
        )
    study = _Study(record, machine or Machine(), deadline, seed)
    if record.hosts:
        tell("fit the storage")
        study.fit(SHARED if storage is None else (storage,))
        tell("replay the record")
        study.replay()
    else:
        study.take(storage or SHARED[0])
    if record.has_graph:
        tell("plan")
        study.plan()
        if study.storage != "node":
            tell("foretell node disks")
            study.foretell_disks()
    return study.answer()


@dataclass(frozen=True)
class Dispatched:
    """A run under a dispatcher: its makespan, and the most bytes on one node at
    once.
    """

    makespan_seconds: float
    bytes_per_node: int


def dispatched(problem: ReplicationProblem, solver: str) -> Dispatched:
    """Return the run of *problem* under the dispatcher called *solver*."""
    result = solve(problem, solver, settings={"mode": "dispatch"}, bound=False)
    assert result.objective is not None
    assert result.schedule is not None
    most = 0
    if not problem.is_shared:
        for node in disks(problem, result.schedule).values():
            most = max([most, *(size for _, size in node["used"])])
    return Dispatched(result.objective, most)


def on_node_disks(shared: ReplicationProblem, node: ReplicationProblem) -> NodeDisks:
    """Return what node disks gain, by dispatchers that know no recorded placement.

    *shared* and *node* are the same tasks through shared storage and with products on
    the disks of the nodes.
    """
    through = dispatched(shared, ENGINE)
    on_disks = dispatched(node, ON_DISKS)
    return NodeDisks(
        shared_makespan_seconds=through.makespan_seconds,
        makespan_seconds=on_disks.makespan_seconds,
        gain=through.makespan_seconds / on_disks.makespan_seconds,
        bytes_per_node=on_disks.bytes_per_node,
    )


class _Study:
    """Hold what has been found about *record* so far."""

    def __init__(
        self, record: Record, machine: Machine, deadline: Deadline, seed: int
    ) -> None:
        self.record = record
        self.machine = machine
        self.deadline = deadline
        self.seed = seed
        self.notes = list(record.notes)
        self.storage: Storage = SHARED[0]
        self.storage_errors: dict[Storage, float] = {}
        self.fitted_on: tuple[int, ...] = ()
        self.undetermined: tuple[str, ...] = ()
        self.replayed: Replayed | None = None
        self.replayed_schedule: Json | None = None
        self.planned: Planned | None = None
        self.planned_schedule: Json | None = None
        self.node_disks: NodeDisks | None = None

    def _stated(self) -> dict[str, float]:
        """Return the constants that the machine states."""
        rates = {
            "remote_rate": "remote_bytes_per_second",
            "replica_rate": "node_bytes_per_second",
        }
        return {
            constant: getattr(self.machine, rate)
            for rate, constant in rates.items()
            if rate in self.machine.model_fields_set
        }

    def fit(self, kinds: tuple[Storage, ...]) -> None:
        """Fit the constants of each of *kinds* on a third of the tasks, and keep the
        kind that fits best.
        """
        self.fitted_on = third_of(self.record)
        found: dict[Storage, Fit] = {}
        for kind in kinds:
            frame = frame_of(self.record, kind, self.machine)
            self.sample = Sample.of(self.record, frame, self.fitted_on)
            share = self._part(FIT_SHARE / len(kinds))
            found[kind] = fit([self.sample], kind, self.seed, self._stated(), share)
        self.storage = min(found, key=lambda kind: found[kind].loss)
        for kind, told in found.items():
            frame = frame_of(self.record, kind, self.machine)
            problem = with_constants(frame, told.constants)
            run = simulate(problem, placement_of(self.record, problem))
            self.storage_errors[kind] = self._error(run.metrics["makespan_seconds"])
        chosen = found[self.storage]
        if chosen.ended_early:
            self.notes.append("the fit was ended by the time limit")
        self.frame = frame_of(self.record, self.storage, self.machine)
        self.constants = chosen.constants
        self._warn_of_cores()

    def _error(self, makespan: float) -> float:
        """Return by which share of the recorded makespan *makespan* is longer."""
        return makespan / self.record.makespan - 1

    def take(self, kind: Storage) -> None:
        """Take the known constants of *kind*, because nothing can be fitted."""
        self.storage = kind
        self.frame = frame_of(self.record, kind, self.machine)
        known = known_constants()[kind].model_dump()
        self.constants = Constants.model_validate(known | self._stated())
        self.notes.append(
            "without a recorded placement nothing can be replayed or fitted: the "
            f"constants of {kind} are those of other recorded runs"
        )

    def _warn_of_cores(self) -> None:
        """Note how many cores the nodes are taken to have, if no machine states it."""
        if "cores" not in self.machine.stated():
            cores = self.frame.nodes[0].cores
            self.notes.append(
                f"nodes are taken to have {counted(cores, 'core')}: the most that "
                "tasks of one host held at once (--machine cores=N says another)"
            )

    def _part(self, share: float) -> Deadline:
        """Return a deadline for a *share* of the whole time limit."""
        limit = self.deadline.limit_seconds
        if limit is None:
            return self.deadline
        return Deadline(min(share * limit, self.deadline.remaining()))

    @property
    def problem(self) -> ReplicationProblem:
        """Return the record as a problem with the constants of its storage."""
        return with_constants(self.frame, self.constants)

    def replay(self) -> None:
        """Replay the recorded placement, exactly and under noise."""
        problem = self.problem
        plan = placement_of(self.record, problem)
        simulation = simulate(problem, plan)
        makespan = simulation.metrics["makespan_seconds"]
        noisy = noisy_makespans(problem, plan, judging_noise(problem))
        self.replayed = Replayed(
            makespan_seconds=makespan,
            error=self._error(makespan),
            task_error=median(
                abs(task.off) / max(task.recorded_seconds, SHORTEST)
                for task in self._tasks(simulation.schedule)
            ),
            band=(min(noisy), median(noisy), max(noisy)),
        )
        self.replayed_schedule = simulation.schedule
        if "cache_bytes" in FITTED[self.storage]:
            endless = self.constants.model_copy(update={"cache_bytes": None})
            same = simulate(with_constants(self.frame, endless), plan).metrics
            if abs(same["makespan_seconds"] / makespan - 1) < DECIDED_FROM:
                self.undetermined = ("cache_bytes",)

    def _searched(self) -> Result | None:
        """Return the plan that the search finds, from the recorded placement on; None,
        with a note, if time ends it.
        """
        seconds = self._part(SEARCH_SHARE).limit_seconds
        problem = self.problem
        start = None
        if self.replayed is not None:
            start = placement_of(self.record, problem)
        if self.deadline.expired():
            self.notes.append("no plan was found within the time limit")
            return None
        settings = {"evaluations": REPLAYS}
        try:
            result = solve(
                problem,
                SEARCH,
                time_limit=seconds,
                seed=self.seed,
                settings=settings,
                warm_start=start,
                bound=False,
            )
        except OutOfTime as error:
            self.notes.append(f"no plan: {error}")
            return None
        if result.objective is None:
            self.notes.append("no plan was found within the time limit")
            return None
        return result

    def plan(self) -> None:
        """Search for a plan on the same nodes and storage."""
        result = self._searched()
        if result is None or result.objective is None:
            return
        sure = True
        if self.replayed is not None:
            before = self.replayed.makespan_seconds
            sure = self.replayed.sure
        else:
            before = dispatched(self.problem, ENGINE).makespan_seconds
        saves = 1 - result.objective / before
        plan = result.plan_as(ReplicationPlan)
        order = {
            node: tuple(entry for entry in queue if isinstance(entry, str))
            for node, queue in plan.order.items()
        }
        self.planned = Planned(
            solver=result.solver,
            makespan_seconds=result.objective,
            saves=saves,
            certain=sure and saves >= SURE_FROM,
            assign=plan.assign,
            order=order,
        )
        self.planned_schedule = result.schedule

    def foretell_disks(self) -> None:
        """Foretell the run with products on the disks of the nodes.

        What a disk moves is that of other recorded runs; all else was fitted.
        """
        if self.deadline.expired():
            self.notes.append("node disks were not foretold within the time limit")
            return
        disk = known_constants()["node"].disk_bytes_per_second
        on_disks = {"cache_bytes": None, "disk_bytes_per_second": disk}
        constants = self.constants.model_copy(update=on_disks)
        frame = frame_of(self.record, "node", self.machine)
        self.node_disks = on_node_disks(self.problem, with_constants(frame, constants))

    def _tasks(self, schedule: Json | None) -> list[ValidatedTask]:
        """Return all tasks with their seconds in *schedule*, the replay, if any."""
        replayed: Mapping[str, float] = {}
        if schedule is not None:
            replayed = {
                run["id"]: run["end_seconds"] - run["start_seconds"]
                for run in schedule["tasks"]
            }
        return [
            ValidatedTask(
                id=task.id,
                recorded_seconds=task.end - task.start,
                replayed_seconds=replayed.get(task.id),
            )
            for task in self.record.tasks
        ]

    def answer(self) -> Answer:
        """Return all that was found."""
        tasks = self._tasks(self.replayed_schedule)
        fitted = {name: getattr(self.constants, name) for name in FITTED[self.storage]}
        validation = Validation(
            name=self.record.name,
            storage=self.storage,
            storage_errors=self.storage_errors,
            recorded=Recorded(makespan_seconds=self.record.makespan),
            replayed=self.replayed,
            fitted=fitted,
            fitted_on=len(self.fitted_on),
            undetermined=self.undetermined,
            tasks=tuple(tasks),
            plan=self.planned,
            node_disks=self.node_disks,
            notes=tuple(self.notes),
        )
        return Answer(
            validation, self.record, self.replayed_schedule, self.planned_schedule
        )
