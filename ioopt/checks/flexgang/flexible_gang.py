"""Check flexible gang plans against every rule of problem F5 (docs/rules/flexgang.md),
and recompute the objective.
"""

import math

from ioopt.checks.flexgang.response import Response, respond
from ioopt.problems.base import Json
from ioopt.problems.flexgang.flexible_gang import (
    FlexibleGangPlan,
    FlexibleGangProblem,
    FlexibleJob,
    Pattern,
)
from ioopt.protocols import CheckReport
from ioopt.result import Violation, violation

TOLERANCE = 1e-6
"""Tolerance for rounding errors: relative to the frame for times, absolute for
progress.
"""


def check(
    problem: FlexibleGangProblem,
    plan: FlexibleGangPlan | Json,
    schedule: Json | None = None,
) -> CheckReport:
    """Check *plan*, and recompute the objective of F5, ``weighted_progress``, which is
    maximised.
    """
    if isinstance(plan, dict):
        plan = FlexibleGangPlan.model_validate(plan)
    return _Checker(problem, plan).report()


class _Checker:
    def __init__(self, problem: FlexibleGangProblem, plan: FlexibleGangPlan) -> None:
        self.problem = problem
        self.plan = plan
        self.found: list[Violation] = []

    def report(self) -> CheckReport:
        """Return all violations found, and the objective if the plan is complete enough
        to have one.
        """
        pattern = self.problem.pattern(self.plan.k, self.plan.d)
        if pattern is None:
            frame = f"a frame of {self.problem.num_rows} rows"
            text = f"k={self.plan.k}, d={self.plan.d} does not fit {frame}"
            self._add("pattern", "plan", text)
            return CheckReport(tuple(self.found))
        self._names()
        if self.found:
            return CheckReport(tuple(self.found))
        self._places(pattern)
        if self.found:
            return CheckReport(tuple(self.found))
        self._cells()
        self._grants(pattern)
        self._capacity(pattern)
        self._loose_load(pattern)
        terms = self._terms(pattern, self._floors(pattern))
        value = {"weighted_progress": math.fsum(terms)}
        rounding = 1e-9 * math.fsum(map(abs, terms))
        limits = {"weighted_progress": self._most_progress()}
        return CheckReport(
            tuple(self.found), value, value, rounding=rounding, limits=limits
        )

    def _most_progress(self) -> float:
        """Return an upper bound on the objective of every plan: its value if every job
        ran alone.
        """
        most = 0.0
        for job in self.problem.jobs:
            share = job.weight * job.processes / self.problem.machine.processors
            if not job.is_io:
                most += share
                continue
            slowdowns = [entry.slowdown for entry in self.problem.surface or ()]
            most += self.problem.lambda_ * share * (1.0 - min([1.0, *slowdowns]))
        return most

    def _add(
        self, rule: str, item: str, message: str, amount: float | None = None
    ) -> None:
        self.found.append(violation(rule, item, message, amount))

    def _names(self) -> None:
        """Check that every job has one home block in range, and that every job named in
        the plan exists.
        """
        plan = self.plan
        problem = self.problem
        for names in (
            plan.home,
            plan.rows,
            plan.loose,
            plan.tau_seconds,
            plan.column_seconds,
        ):
            for name in names:
                if name not in problem.job_index:
                    self._add("jobs", name, "there is no such job")
        for at, job in enumerate(problem.jobs):
            position = plan.home.get(job.id)
            positions = problem.num_positions(at)
            if position is None:
                self._add("home", job.id, "has no home")
            elif position >= positions:
                self._add(
                    "home", job.id, f"block {position} of {positions} does not exist"
                )

    def _places(self, pattern: Pattern) -> None:
        """Check that every I/O job is in exactly one place: a strict row or the loose
        windows.

        Coordinated I/O jobs and compute jobs must not be loose.
        """
        for job in self.problem.jobs:
            rows = self.plan.rows.get(job.id, ())
            for row in rows:
                if row >= pattern.strict_rows:
                    text = f"row {row} of {pattern.strict_rows} does not exist"
                    self._add("rows", job.id, text)
            if len(set(rows)) != len(rows):
                self._add("rows", job.id, f"a row is listed twice in {list(rows)}")
            loose = job.id in self.plan.loose
            refused = self._not_loose(job, pattern)
            if loose and refused is not None:
                self._add("loose", job.id, refused)
            elif job.is_io and len(rows) + loose != 1:
                places = f"{len(rows)} strict rows"
                if loose:
                    places += " and is loose"
                self._add("io-place", job.id, f"has {places}, not one place")

    def _not_loose(self, job: FlexibleJob, pattern: Pattern) -> str | None:
        """Return the reason why *job* may not be in the loose windows; None if it
        may.
        """
        if not pattern.k:
            return "is loose, but the pattern has no loose window"
        if not job.is_io:
            return "is loose, but is a compute job"
        if job.coordinated:
            return "is loose, but must be in a strict row"
        return None

    def _cells(self) -> None:
        """Check that each (row, column) holds at most one job."""
        taken: dict[tuple[int, int], str] = {}
        for name, rows in self.plan.rows.items():
            for row in rows:
                for column in self._block(name):
                    other = taken.setdefault((row, column), name)
                    if other != name:
                        self._add(
                            "cell",
                            name,
                            f"row {row}, column {column} belongs to {other!r}",
                        )

    def _block(self, name: str) -> range:
        return self.problem.block(self.problem.job_index[name], self.plan.home[name])

    def _grants(self, pattern: Pattern) -> None:
        """Check that loose CPU time is granted only to jobs that can use it, and that
        no process of a job gets less than it should.

        A process should get tau, the loose CPU time in seconds that the plan states for
        each frame of its job. Only a self-balancing job may get less in some columns,
        if the mean over its columns is at least tau.
        """
        frame = pattern.frame_seconds
        for name, tau in self.plan.tau_seconds.items():
            job = self._job(name)
            if job.is_io or not job.takes_loose_cpu:
                self._add(
                    "tau", name, "has no use for loose CPU (gamma >= .95 or I/O)", tau
                )
            if tau > frame * (1 + TOLERANCE):
                self._add(
                    "tau",
                    name,
                    f"gets {tau:g} s in a frame of {frame:g} s",
                    tau - frame,
                )
        for name, parts in self.plan.column_seconds.items():
            job = self._job(name)
            width = len(self._block(name))
            if not job.self_balancing:
                self._add(
                    "fairness",
                    name,
                    "only a self-balancing job may get less in some column",
                )
            elif len(parts) != width:
                self._add(
                    "fairness",
                    name,
                    f"{len(parts)} columns given, its block has {width}",
                )
            else:
                mean = math.fsum(parts) / width
                short = self.plan.tau_seconds.get(name, 0.0) - mean
                if short > TOLERANCE * frame:
                    text = f"tau is {short:g} s above its columns' mean"
                    self._add("fairness", name, text, short)

    def _job(self, name: str) -> FlexibleJob:
        return self.problem.jobs[self.problem.job_index[name]]

    def _response(self, job: FlexibleJob, pattern: Pattern) -> Response:
        """Return the response of an I/O job to its place, the loose windows or a strict
        row.
        """
        machine = self.problem.machine
        on = machine.quantum_seconds
        off = pattern.frame_seconds - on
        if job.id in self.plan.loose:
            on = pattern.on_seconds
            off = pattern.off_seconds
        return respond(job, on, off, machine.processors, self.problem.surface)

    def _capacity(self, pattern: Pattern) -> None:
        """Check that each column grants no more CPU time than is free in a frame.

        The free time is that of the loose windows, k q for k rows of quantum q, minus
        the loose I/O, plus the idle cells of strict rows, plus fragments. Fragments are
        the idle CPU time in the cells of strict rows that hold I/O jobs.
        """
        quantum = self.problem.machine.quantum_seconds
        for column in range(self.problem.machine.num_columns):
            room = pattern.k * quantum + pattern.strict_rows * quantum
            granted = 0.0
            for job in self.problem.jobs:
                block = self._block(job.id)
                if column not in block:
                    continue
                rows = len(self.plan.rows.get(job.id, ()))
                if job.is_io:
                    room -= self._response(job, pattern).beta * pattern.frame_seconds
                else:
                    room -= rows * quantum
                    parts = self.plan.granted_seconds(job.id, len(block))
                    if len(parts) == len(block):
                        granted += parts[column - block.start]
            over = granted - room
            if over > TOLERANCE * pattern.frame_seconds:
                text = f"{granted:g} s granted, {room:g} s free in a frame"
                self._add("capacity", f"column {column}", text, over)

    def _loose_load(self, pattern: Pattern) -> None:
        """Check that loose I/O uses at most its permitted share of the loose windows of
        each column.
        """
        limit = (
            self.problem.loose_io_limit
            * pattern.k
            * self.problem.machine.quantum_seconds
        )
        for column in range(self.problem.machine.num_columns):
            load = math.fsum(
                self._response(self._job(name), pattern).beta * pattern.frame_seconds
                for name in self.plan.loose
                if column in self._block(name)
            )
            if load - limit > TOLERANCE * pattern.frame_seconds:
                text = f"loose I/O uses {load:g} s of at most {limit:g} s"
                self._add("loose-io", f"column {column}", text, load - limit)

    def _floors(self, pattern: Pattern) -> dict[str, float]:
        """Return the progress of every compute job, keyed by job id, and check it
        against the job's floor.
        """
        progress = {}
        quantum = self.problem.machine.quantum_seconds
        for at, job in enumerate(self.problem.jobs):
            if job.is_io:
                continue
            own = quantum * len(self.plan.rows.get(job.id, ()))
            loose = (1.0 - (job.gamma or 0.0)) * self.plan.tau_seconds.get(job.id, 0.0)
            progress[job.id] = (own + loose) / pattern.frame_seconds
            short = self.problem.phi(at) - progress[job.id]
            if short > TOLERANCE:
                text = (
                    f"progress {progress[job.id]:.6g} is below its floor "
                    f"{self.problem.phi(at):g}"
                )
                self._add("floor", job.id, text, short)
        return progress

    def _terms(self, pattern: Pattern, progress: dict[str, float]) -> list[float]:
        """Return the term of each job in the objective.

        The term is w (n/P) pr for a compute job and -lambda w (n/P) (S - 1) for an I/O
        job: w is the weight of the job, n its number of processes, P the number of
        processors, pr its progress and S its slowdown.
        """
        terms = []
        for job in self.problem.jobs:
            share = job.weight * job.processes / self.problem.machine.processors
            if not job.is_io:
                terms.append(share * progress[job.id])
                continue
            slowdown = self._response(job, pattern).slowdown
            terms.append(-self.problem.lambda_ * share * (slowdown - 1.0))
        return terms
