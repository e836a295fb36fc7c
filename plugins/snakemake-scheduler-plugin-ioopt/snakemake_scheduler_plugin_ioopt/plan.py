"""Start jobs in the order of a bound plan of ioopt.

:class:`ioopt.embed.PlanRun` says which tasks may start. A task of the plan is the job
whose first output, or whose rule, has the task's name. Snakemake has one pool of cores
and no transfers between nodes, so transfers, saves and evictions count as done as soon
as they may start.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Any

from ioopt.embed import PlanRun
from ioopt.embed.bound import Act
from ioopt.formats.native import read_json
from ioopt.loading import load, plan_in
from snakemake_scheduler_plugin_ioopt.data import Room, name_of

if TYPE_CHECKING:
    from snakemake_scheduler_plugin_ioopt import Job, Question


class PlanOrder:
    """Track one run of Snakemake that follows a bound plan."""

    def __init__(self, dag: Any, instance: str, plan: str) -> None:
        """Read the *instance* and the *plan*, a result or a bare plan, from files.

        Raises an ioopt error that names the file and what is wrong.
        """
        self._dag = dag
        self._run = PlanRun(load(instance), plan_in(read_json(plan)))
        self._tasks = {act.task for act in self._run.all_acts if act.task is not None}
        self._running: dict[str, tuple[Job, Act | None]] = {}
        self.notes: list[str] = []

    def choose(self, asked: Question, remaining: Iterable[Job]) -> list[Job]:
        """Return the jobs to start now; *remaining* are all jobs that have not ended.

        First those of the plan, in its order; then jobs that are not in the plan. If
        nothing runs and the plan lets nothing start, one job starts all the same, with
        a note.
        """
        self.notes = []
        self._look(asked)
        ready = {self._task_of(job): job for job in asked.jobs}
        room = Room(asked)
        chosen: list[Job] = []
        left = {self._task_of(job) for job in (*remaining, *asked.jobs)}
        for act in self._startable(left):
            job = ready.get(str(act.task))
            if job is not None and self._may(job, room):
                self._run.started(act)
                self._start(job, act, room, chosen)
        for job in asked.jobs:
            if self._task_of(job) is None and self._may(job, room):
                self._start(job, None, room, chosen)
        able = [job for job in asked.jobs if self._may(job, room)]
        if able and not self._running:
            self.notes.append(f"job {name_of(able[0])} starts out of the plan")
            self._tasks.discard(self._task_of(able[0]))
            self._start(able[0], None, room, chosen)
        return chosen

    def _may(self, job: Job, room: Room) -> bool:
        """Return whether a job does not run yet and enough resources are free."""
        return name_of(job) not in self._running and room.takes(name_of(job))

    def _startable(self, left: Container[str | None]) -> list[Act]:
        """Return the tasks that may start now; only tasks *left* have a job that has
        not ended.

        All other acts are done as soon as they may start. So are tasks without a job:
        Snakemake has their outputs already, or started them out of the plan.
        """
        while True:
            acts = self._run.acts()
            others = [a for a in acts if a.kind != "task" or a.task not in left]
            if not others:
                return list(acts)
            for act in others:
                self._run.started(act)
                self._run.ended(act)

    def _start(self, job: Job, act: Act | None, room: Room, chosen: list[Job]) -> None:
        """Record that a job starts, and take its resources from *room*."""
        self._running[name_of(job)] = job, act
        room.take(name_of(job))
        chosen.append(job)

    def _look(self, asked: Question) -> None:
        """Record which running jobs have ended; one that is ready again has failed, and
        its task starts once more.
        """
        ready = set(asked.jobs)
        for name, (job, act) in [*self._running.items()]:
            ended = self._dag.finished(job)
            if not ended and job not in ready:
                continue
            del self._running[name]
            if act is None:
                continue
            self._run.ended(act)
            if not ended:
                # The plan goes on as if it had ended; its readers wait in Snakemake.
                self._tasks.discard(act.task)

    def _task_of(self, job: Job) -> str | None:
        """Return the task of the plan that is *job*; None if there is none."""
        names = [str(file) for file in list(job.output)[:1]]
        rule = getattr(getattr(job, "rule", None), "name", None)
        for name in (*names, rule):
            if name in self._tasks:
                return str(name)
        return None
