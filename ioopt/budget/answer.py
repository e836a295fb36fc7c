"""Answer what a quota on a work directory costs: the computations of `ioopt budget`,
without its tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from ioopt.budget.nextflow import all_fit, choose_caps
from ioopt.budget.noise import USUAL, Noise, blind_runs, noisy_runs
from ioopt.budget.reads import WAYS, engine, reading_all, run_of
from ioopt.formats.nextflow.trace import ASSUMED_READS, OWN_BYTES
from ioopt.models.work_directory.bounds import makespan_bounds
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.base import Json
from ioopt.problems.work_directory import WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import Status
from ioopt.sim.work_directory.dispatch import Dispatcher, dispatch, named
from ioopt.sim.work_directory.order import Walk, least_order, sequential_peak
from ioopt.sim.work_directory.replay import carried_out
from ioopt.solvers.work_directory.dispatch import Question, Runs, one_by_one, quickest
from ioopt.solvers.work_directory.frontier import (
    SHARES,
    frontier,
    judge,
    no_worse,
    unlimited,
)
from ioopt.solvers.work_directory.search import Settings, search

Request = SolveRequest[Settings, WorkDirectoryPlan]


@dataclass(frozen=True)
class TimeShares:
    """The share of the time left that each question may take, in the order in which the
    questions are asked.

    Each share lies between 0 and 1. The simulated runs with wrong estimates come last
    and get all the time that remains. The shares were chosen on recorded runs of up to
    2,500 tasks within 30 s.
    """

    plan: float = 0.3
    setting: float = 0.15
    caps: float = 0.4
    curve: float = 0.5


TIME_SHARES = TimeShares()
APART = 0.01
"""Share of the least quota by which other quotas of the curve differ from it."""


def answer(
    problem: WorkDirectoryProblem,
    deadline: Deadline,
    seed: int = 0,
    caps: bool = False,
    noise: Noise | None = None,
) -> Json:
    """Return all answers about *problem* as plain data.

    If *caps* is true, settings of Nextflow are computed too. If *noise* is given, or if
    a fit hangs on the times of tasks, runs are simulated whose times and sizes differ
    from the estimates. The *deadline* covers all questions. Every makespan in the
    answers is the makespan of a plan that was replayed on the whole instance.
    """
    inquiry = Inquiry(problem, deadline, seed)
    inquiry.ask_least_quota()
    if problem.quota_bytes is not None:
        inquiry.ask_plan()
        if inquiry.plan is not None and not inquiry.default_fits():
            inquiry.ask_setting()
    if caps and inquiry.plan is not None:
        told = choose_caps(problem, inquiry.part(TIME_SHARES.caps))
        inquiry.found["nextflow"] = told
    inquiry.ask_curve()
    inquiry.share_what_is_known()
    inquiry.found["fits"] = inquiry.fits()
    inquiry.ask_reads()
    inquiry.ask_noise(noise)
    return inquiry.found


class Inquiry:
    """Answer questions about a work directory one after the other, and collect the
    answers in ``found``.

    ``plan`` is the best plan found under the quota, or None.
    """

    def __init__(
        self, problem: WorkDirectoryProblem, deadline: Deadline, seed: int
    ) -> None:
        self.problem = problem
        self.deadline = deadline
        self.options = SolveOptions(seed=seed)
        self.plan: WorkDirectoryPlan | None = None
        self.free = unlimited(problem)
        self.order = least_order(problem, deadline)
        self.question = Question.of(problem, order=self.order, deadline=deadline)
        meta = problem.meta or {}
        self.found: Json = {
            "format": "ioopt/budget",
            "version": 1,
            "instance": problem.name,
            "cores": problem.cores,
            "tasks": len(problem.tasks),
            "samples": len(set(problem.samples) - {-1}),
            "source": meta.get("source"),
            "tags": meta.get("tags", 0),
            "copies": meta.get("copies", 0),
            "independent": independent(problem),
            "assumed_reads": _heaviest_first(problem, meta.get(ASSUMED_READS) or {}),
            "quota_bytes": problem.quota_bytes,
            "undeleted_bytes": undeleted_bytes(problem),
            "fits": None,
            "least": None,
            "unlimited": self.free,
            "at_quota": None,
            "setting": None,
            "nextflow": None,
            "noise": None,
            "notes": [],
        }

    def part(self, share: float) -> Deadline:
        """Return a deadline that ends after *share* of the time left."""
        return self.deadline.within(share * self.deadline.remaining())

    def request(self, share: float) -> Request:
        """Return a request to a solver, whose deadline ends after *share* of the time
        left.
        """
        return SolveRequest(self.options, self.part(share), Settings())

    def ask_least_quota(self) -> None:
        """Report the smallest quota for which a plan is known, and the quota below
        which no plan exists.
        """
        least = self.question.least
        self.found["least"] = {
            "found_bytes": self.question.found,
            "bound_bytes": least.bound,
            "task": least.task,
        }

    def ask_plan(self) -> None:
        """Search for the plan with the shortest makespan under the quota."""
        request = self.request(TIME_SHARES.plan)
        best = search(self.question, request, Settings().evaluations)
        self.plan = best.plan
        self.found["notes"] = list(best.notes)
        self.found["at_quota"] = self._at_quota(best)

    def _at_quota(self, best: Outcome[WorkDirectoryPlan]) -> Json:
        """Return the status, the bound and the metrics of the outcome *best* of the
        search under the quota.
        """
        status = Status.UNKNOWN
        if best.infeasible:
            status = Status.INFEASIBLE
        row: Json = {
            "status": str(status),
            "quota_bytes": self.question.quota,
            "bound": self.question.seconds,
            "makespan_seconds": None,
            "peak_bytes": None,
        }
        if best.plan is not None:
            no_worse(row, carried_out(self.problem, best.plan).metrics)
        return row

    def ask_setting(self) -> None:
        """Find the setting of the safe dispatcher with the shortest run: a policy and a
        number of samples in flight.

        Nothing is reported if no setting is safe.
        """
        if self.question.walk is None:
            return
        run = quickest(Runs(self.question), self.part(TIME_SHARES.setting))
        if run.cap is None:
            return
        metrics = carried_out(self.problem, self.question.plan(run.starts)).metrics
        setting = {"policy": run.policy, "in_flight": run.cap}
        self.found["setting"] = setting | metrics

    def default_fits(self) -> bool:
        """Return whether a run in the order of submission keeps the quota by itself."""
        quota = self.problem.quota_bytes
        return quota is not None and self.free["peak_bytes"] <= quota

    def fits(self) -> Json:
        """Return whether the workflow fits the quota, and the simplest way in which it
        does.

        ``way`` is ``default`` (no setting), ``nextflow`` (caps), ``setting`` (of the
        dispatcher), ``plan`` (a list of starts alone), or None. ``needs_bytes`` and
        ``takes_seconds`` are the figures of that run; if no run is known that fits,
        they are the least quota that is known to do, and the time with it.
        """
        quota = self.problem.quota_bytes
        caps = self.found["nextflow"]
        ways = {"setting": self.found["setting"], "plan": self.found["at_quota"]}
        if quota is not None and caps and caps["peak_bytes"] <= quota:
            ways = {"nextflow": caps, **ways}
        if self.default_fits():
            ways = {"default": self.free, **ways}
        for way, run in ways.items():
            if run and run["makespan_seconds"] is not None:
                peak, seconds = run["peak_bytes"], run["makespan_seconds"]
                told = {"needs_bytes": peak, "takes_seconds": seconds}
                return {"answer": "yes", "way": way, **told}
        at_quota = self.found["at_quota"]
        answer = None
        if at_quota is not None:
            infeasible = at_quota["status"] == Status.INFEASIBLE
            answer = "no" if infeasible else "unknown"
        needs = self.found["least"]["found_bytes"]
        times = [
            row["makespan_seconds"]
            for row in self.found["curve"]
            if row["quota_bytes"] == needs
        ]
        told = {"needs_bytes": needs, "takes_seconds": times[0]}
        return {"answer": answer, "way": None, **told}

    def ask_reads(self) -> None:
        """Find whether the way that fits the quota does so whatever tasks read whose
        reads are assumed; its figures are then those of the worst case.
        """
        fits = self.found["fits"]
        assumed = self.found["assumed_reads"]
        fits["whatever_is_read"] = not assumed.get(OWN_BYTES)
        if fits["whatever_is_read"] or fits["way"] not in WAYS:
            return
        worst = reading_all(self.problem)
        run = run_of(worst, self.found, fits["way"], self.deadline)
        if run is None:
            least = sequential_peak(worst, least_order(worst, self.deadline))
            fits["needs_if_all_is_read"] = least
            return
        if run["peak_bytes"] > self.found["quota_bytes"]:
            fits["needs_if_all_is_read"] = run["peak_bytes"]
            return
        fits["whatever_is_read"] = True
        fits["needs_bytes"] = max(fits["needs_bytes"], run["peak_bytes"])
        fits["takes_seconds"] = max(fits["takes_seconds"], run["makespan_seconds"])

    def ask_noise(self, noise: Noise | None) -> None:
        """Simulate the way that fits the quota with *noise*.

        Without *noise*, do so with that of :data:`USUAL` if the peak hangs on the times
        of tasks: the engine looks at no bytes, and not all files fit together.
        """
        way = self.found["fits"]["way"]
        if way == "setting" and noise is not None:
            setting = self.found["setting"]
            told = noisy_runs(self.problem, setting, noise, self.deadline)
            self.found["noise"] = told
        if way not in ("default", "nextflow"):
            return
        if noise is not None or not all_fit(self.found):
            self.found["noise"] = blind_runs(
                self.problem,
                lambda problem: engine(problem, self.found, way),
                noise or USUAL,
                self.deadline,
            )

    def ask_curve(self) -> None:
        """Find the shortest makespan for several quotas in ascending order, beginning
        with the smallest possible quota.
        """
        peak = self.free["peak_bytes"]
        least = self.question.found
        shares = {ceil(share * peak) for share in SHARES}
        quotas = {size for size in shares if abs(size - least) >= APART * least}
        quotas.add(least)
        request = self.request(TIME_SHARES.curve)
        self.found["curve"] = frontier(self.problem, request, sorted(quotas))

    def share_what_is_known(self) -> None:
        """Improve each row by all runs and bounds that are known: a faster run that
        keeps the quota of the row replaces the run in the row.

        If the order of the tasks or what they read is assumed, no row is called
        optimal.
        """
        runs = []
        for key in ("unlimited", "at_quota", "setting", "nextflow"):
            run = self.found[key]
            if run and run["makespan_seconds"] is not None:
                runs.append(run)
        runs.append(_one_by_one(self.problem, self.order))
        rows = list(self.found["curve"])
        for row in rows:
            if row["quota_bytes"] >= self.question.found:
                runs += self._dispatched(row["quota_bytes"])
        runs += [dict(row) for row in rows if row["makespan_seconds"] is not None]
        if self.found["at_quota"]:
            rows.append(self.found["at_quota"])
        rows.sort(key=lambda row: row["quota_bytes"], reverse=True)
        bound = makespan_bounds(self.problem, None).bound
        for row in rows:  # A bound also holds for every smaller quota.
            bound = row["bound"] = max(float(bound), row["bound"])
            judge(row)
        for row in rows:
            for run in runs:
                no_worse(row, run)
            assumed = self.found["independent"] or self.found["assumed_reads"]
            if assumed and row["status"] == Status.OPTIMAL:
                row["status"] = str(Status.FEASIBLE)

    def _dispatched(self, quota: int) -> Iterator[Json]:
        """Yield the metrics of safe runs of the dispatcher under *quota*, depth-first.

        The number of samples in flight rises by half from run to run. Past the deadline
        no run begins.
        """
        free = self.problem.model_copy(update={"quota_bytes": None})
        walk = Walk(free, self.order, quota)
        samples = max(free.samples, default=0) + 1
        in_flight = 1
        while in_flight <= samples and not self.deadline.expired():
            engine = Dispatcher(free, "depth-first", quota, True, in_flight, walk)
            yield carried_out(free, dispatch(free, engine)).metrics
            in_flight += max(1, in_flight // 2)


def undeleted_bytes(problem: WorkDirectoryProblem) -> int:
    """Return the bytes in the directory at the end of a run that deletes nothing, not
    even scratch.
    """
    scratch = sum(task.scratch_bytes for task in problem.tasks)
    return scratch + sum(file.bytes for file in problem.products)


def independent(problem: WorkDirectoryProblem) -> bool:
    """Return whether *problem* comes from a record that lacks the order of its
    tasks.
    """
    recorded = "invented" in (problem.meta or {})
    if recorded and len(problem.tasks) > 1 and not any(problem.predecessors):
        return True
    return any("tasks are independent" in line for line in problem.warnings)


def _heaviest_first(
    problem: WorkDirectoryProblem, assumed: Json
) -> dict[str, list[str]]:
    """Return *assumed*, the tasks whose reads are assumed in each way, in falling order
    of the bytes that the tasks before them wrote.
    """
    index = problem.task_index

    def before(name: str) -> int:
        if name not in index:
            return 0
        return sum(problem.own_bytes[p] for p in problem.predecessors[index[name]])

    return {
        how: sorted(tasks, key=before, reverse=True) for how, tasks in assumed.items()
    }


def _one_by_one(problem: WorkDirectoryProblem, order: Sequence[int]) -> Json:
    """Return the metrics of a run in which the tasks run one at a time, in *order*."""
    plan = named(problem, problem.ticks, one_by_one(problem, order))
    return carried_out(problem.model_copy(update={"quota_bytes": None}), plan).metrics
