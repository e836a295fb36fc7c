"""Answer what a quota on a work directory costs: the computations of `ioopt budget`,
without its tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf

from ioopt.budget import NOISY_RUNS
from ioopt.budget.caps import SafeCaps
from ioopt.budget.nextflow import MOST_RUNS, acting, all_fit, caps_key, choose_caps
from ioopt.budget.noise import (
    USUAL,
    Noise,
    blind_runs,
    kept_with,
    noisy_runs,
    safer_setting,
    safety,
    short,
)
from ioopt.budget.reads import (
    WAYS,
    assumed_processes,
    deciding,
    engine,
    once_only,
    reading_all,
    run_of,
)
from ioopt.budget.recorded import (
    FEWER_CORES,
    MORE_SAMPLES,
    NO_SAMPLE,
    OBSERVED,
    undeleted_bytes,
)
from ioopt.formats.nextflow.dag import NOT_IN_DAG
from ioopt.formats.nextflow.processes import ASSUMED_CORES
from ioopt.formats.nextflow.trace import OWN_BYTES
from ioopt.models.work_directory.bounds import makespan_bounds
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.base import Json
from ioopt.problems.work_directory import WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import Status, StopReason
from ioopt.sim.work_directory.dispatch import Dispatcher, dispatch, named
from ioopt.sim.work_directory.order import Walk, least_order
from ioopt.sim.work_directory.replay import carried_out
from ioopt.solvers.work_directory.dispatch import (
    POLICIES,
    Question,
    Runs,
    one_by_one,
    quickest,
)
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
class Effort:
    """The numbers of tasks to start in simulated runs, by question. The number of runs
    follows from that of the tasks, so that the answers hang on no clock.

    They were chosen so that a recorded run of 2,500 tasks takes about 20 s. At least
    ``least_runs`` are made however many tasks there are, and at most ``most_runs``.
    """

    settings: int = 400_000
    plan: int = 200_000
    curve: int = 200_000
    safer: int = 200_000
    caps: int = 200_000
    safer_caps: int = 500_000
    least_runs: int = 24
    most_runs: int = 1000

    def runs(self, starts: int, problem: WorkDirectoryProblem) -> int:
        """Return the number of runs of *problem* with *starts* in all."""
        runs = starts // max(1, len(problem.tasks))
        return min(self.most_runs, max(self.least_runs, runs))


EFFORT = Effort()


@dataclass(frozen=True)
class TimeShares:
    """The share of the time left that each question may take under a time limit, in the
    order in which the questions are asked. Each lies between 0 and 1; the curve gets
    all the time that remains.
    """

    setting: float = 0.2
    caps: float = 0.4
    noise: float = 0.7
    plan: float = 0.5


TIME_SHARES = TimeShares()
ROOM = 1.3
"""The factor by which a time limit that would do exceeds its estimate."""
WORDS = {None: "yes", "safe": "yes", "tight": "tight", "unsafe": "not safely"}
"""What a "yes" becomes by the safety that noisy runs show (None: there were none)."""
APART = 0.01
"""Share of the least quota by which other quotas of the curve differ from it."""


def answer(
    problem: WorkDirectoryProblem,
    deadline: Deadline,
    seed: int = 0,
    caps: bool = False,
    noise: Noise = USUAL,
) -> Json:
    """Return all answers about *problem* as plain data.

    If *caps* is true, settings of Nextflow are computed too. Unless all files fit
    together, runs are simulated whose times and sizes differ from the estimates by
    *noise*. What :class:`Effort` counts is done for each question unless the
    *deadline* ends it, which the answers then say. Every makespan in the answers is the
    makespan of a plan that was replayed on the whole instance.
    """
    inquiry = Inquiry(problem, deadline, seed)
    inquiry.found["doubt"] = noise._asdict()
    inquiry.ask_least_quota()
    if problem.quota_bytes is not None:
        if not inquiry.default_fits():
            inquiry.ask_setting()
        if caps and inquiry.refused is None:
            inquiry.ask_caps()
    settled = inquiry.settle(noise)
    if problem.quota_bytes is not None:
        inquiry.ask_plan()
    inquiry.ask_curve()
    inquiry.share_what_is_known()
    if not settled:
        inquiry.settle(noise)
    inquiry.ask_deciding()
    inquiry.tell_safety()
    inquiry.tell_cuts()
    return inquiry.found


def _more_samples(problem: WorkDirectoryProblem) -> Json | None:
    """Return how many times the samples of the record are there, and which processes
    are not copied with them; None for the samples of the record alone.
    """
    factor = (problem.meta or {}).get(MORE_SAMPLES)
    return factor and {"factor": factor, "once": once_only(problem)}


class Inquiry:
    """Answer questions about a work directory one after the other, and collect the
    answers in ``found``.

    ``plan`` is the best plan found so far under the quota, or None. ``refused`` is the
    answer that no plan keeps it, if that is known at once. ``cuts`` are the searches
    that the deadline ended: name, runs made, runs wanted. ``safe_caps`` are caps with
    their noisy runs, by whether tasks read as assumed, or all files.
    """

    def __init__(
        self, problem: WorkDirectoryProblem, deadline: Deadline, seed: int
    ) -> None:
        self.problem = problem
        self.deadline = deadline
        self.options = SolveOptions(seed=seed)
        self.plan: WorkDirectoryPlan | None = None
        self.cuts: list[tuple[str, int, int]] = []
        self.safe_caps: dict[bool, SafeCaps] = {}
        started = deadline.elapsed()
        self.free = unlimited(problem)
        self.run_seconds = deadline.elapsed() - started
        self.order = least_order(problem, deadline)
        self.question = Question.of(
            problem, order=self.order, deadline=deadline, least_known=True
        )
        self.refused = self.question.refused()
        self.default_is_safe = True  # until noisy runs say otherwise
        self.caps_are_safe = True
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
            MORE_SAMPLES: _more_samples(problem),
            NO_SAMPLE: meta.get(NO_SAMPLE, []),
            "independent": independent(problem),
            "not_in_dag": meta.get(NOT_IN_DAG, []),
            "assumed_reads": assumed_processes(problem),
            "assumed_cores": meta.get(ASSUMED_CORES, []),
            "fewer_cores": meta.get(FEWER_CORES, 0),
            "quota_bytes": problem.quota_bytes,
            "undeleted_bytes": undeleted_bytes(problem),
            "fits": None,
            "instead": None,
            "least": None,
            "observed": meta.get(OBSERVED),
            "unlimited": self.free,
            "at_quota": None,
            "setting": None,
            "nextflow": None,
            "caps_tried": [],
            "curve": [],
            "noise": None,
            "cut": None,
            "notes": [],
        }

    def part(self, share: float) -> Deadline:
        """Return a deadline that ends after *share* of the time left."""
        return self.deadline.within(share * self.deadline.remaining())

    def ended(self, what: str, done: int, wanted: int) -> None:
        """Record that the deadline ended *what* after *done* of *wanted* runs, unless
        all were made.
        """
        if done < wanted:
            self.cuts.append((what, done, wanted))

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
        """Search for the plan with the shortest makespan under the quota, from the run
        of the setting on.
        """
        wanted = EFFORT.runs(EFFORT.plan, self.problem)
        first = wanted // 3
        request = self._request(self.part(TIME_SHARES.plan))
        best = search(self.question, request, wanted - first, first)
        if best.stop == StopReason.TIME:
            self.ended("search of plans", 0, wanted)
        self.plan = best.plan
        self.found["notes"] += best.notes
        self.found["at_quota"] = self._at_quota(best)

    def _request(self, deadline: Deadline, evaluations: int = 0) -> Request:
        """Return a request to a search, which begins with the plan known so far."""
        settings = Settings(evaluations=evaluations)
        return SolveRequest(self.options, deadline, settings, start=self.plan)

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
        runs = Runs(self.question)
        wanted = min(
            EFFORT.runs(EFFORT.settings, self.problem), len([*runs.in_flight()])
        )
        run = quickest(runs, self.part(TIME_SHARES.setting), wanted)
        self.ended("search of settings", run.tried, wanted)
        if run.cap is None:
            return
        self.plan = self.question.plan(run.starts)
        metrics = carried_out(self.problem, self.plan).metrics
        setting = {"policy": run.policy, "in_flight": run.cap}
        self.found["setting"] = setting | metrics

    def ask_caps(self) -> None:
        """Find the caps for Nextflow that keep the quota, if there are any, with which
        the run is quickest.
        """
        caps = choose_caps(self.problem, self.part(TIME_SHARES.caps))
        self.found["nextflow"] = caps
        if caps["search_cut"]:
            self.cuts.append(("search of caps", caps["simulated"], MOST_RUNS))

    def settle(self, noise: Noise) -> bool:
        """Tell whether the workflow fits, whatever tasks read and in noisy runs; return
        whether a way is known by which an engine can run.

        If not all noisy runs keep the quota, look for a safer way: other caps where
        caps were computed for Nextflow, and a setting of the dispatcher and a limit.
        """
        self._ask_fit(noise)
        if self.found["nextflow"] is not None:
            self._ask_safer_caps(noise)
        if self.found["fits"]["way"] in ("default", "nextflow"):
            self._ask_setting_instead(noise)
        elif self.found["fits"]["way"] == "setting":
            self._ask_safer_setting(noise)
        return self.found["fits"]["way"] in WAYS

    def _ask_setting_instead(self, noise: Noise) -> None:
        """Find a setting of the dispatcher in place of the default or of caps, unless
        all noisy runs of these keep the quota, whatever tasks read.

        The default remains where most do and no setting is safe. Caps remain where most
        do: a safe setting, which is for another engine, is then ``instead``. So a
        larger quota does not lose a setting that is safe with a smaller one.
        """
        first = {key: self.found[key] for key in ("setting", "fits", "noise")}
        answer, was = first["fits"]["answer"], first["fits"]["safety"]
        was_safe = was in ("safe", None)
        if was_safe and "needs_if_all_is_read" not in first["fits"]:
            return
        known = self.default_is_safe, self.caps_are_safe
        self.default_is_safe = self.caps_are_safe = False
        self.ask_setting()
        self._ask_fit(noise)
        if self.found["fits"]["way"] == "setting":
            self._ask_safer_setting(noise)
        caps, fits = self.found["nextflow"], self.found["fits"]
        certain = fits["answer"] == "yes" or (fits["answer"] == answer and not was_safe)
        better = certain and fits["safety"] == "safe"
        if better and caps and was != "unsafe":
            self.found["instead"] = fits | {"setting": self.found["setting"]}
        elif better or not (caps or was != "unsafe"):
            if caps:
                caps["safe_bytes"] = first["noise"]["safe_bytes"]
            return
        self.default_is_safe, self.caps_are_safe = known
        self.found |= first

    @cached_property
    def reading_all(self) -> WorkDirectoryProblem:
        """Return the problem with all tasks reading all files of the tasks before them
        that may.
        """
        return reading_all(self.problem)

    @property
    def judged(self) -> WorkDirectoryProblem:
        """Return the problem whose noisy runs decide: with tasks that read all files,
        which then stay for longer, where the answer holds whatever they read.
        """
        assumed = self.found["assumed_reads"].get(OWN_BYTES)
        if assumed and self.found["fits"]["whatever_is_read"]:
            return self.reading_all
        return self.problem

    def _ask_fit(self, noise: Noise) -> None:
        """Tell whether the workflow fits, by the simplest way known."""
        self.found["fits"] = self.fits()
        self.ask_reads()
        self.ask_noise(noise)

    def _ask_safer_caps(self, noise: Noise) -> None:
        """Find the quickest caps of Nextflow that all noisy runs keep, unless all keep
        the quota by default; else the caps that most keep, and the quota that all do.

        They are of :class:`~ioopt.budget.caps.SafeCaps`, so a larger quota loses none
        of them, nor the quota that was named for a smaller one.
        """
        first, quota = self._trial(), self.found["quota_bytes"]
        fits = first["fits"]
        by_default = fits["way"] == "default" and fits["answer"] == "yes"
        if not any(noise) or all_fit(self.found):
            return
        if by_default and fits["safety"] == "safe":
            return
        self.default_is_safe = False
        trials: list[Json] = []
        safe_bytes = inf
        for judged in (workflows := self._whatever_is_read(fits["way"])):
            caps = self._safe_caps(judged, noise)
            row = caps.quickest(quota)
            if row is None and judged is workflows[-1]:
                safe_bytes, row = caps.least()
            if caps.noisy.cut:
                self.ended("search of safer caps", 0, caps.noisy.left)
            if row is not None and row["peak_bytes"] <= quota:
                trials.append(self._tried(row, noise))
                break
        self._take_safest(first, trials, safe_bytes)

    def _whatever_is_read(self, way: str | None) -> list[WorkDirectoryProblem]:
        """Return the workflows of which caps are to keep the quota, the first that has
        some: with tasks that read all files, then as assumed if Nextflow keeps it so.
        """
        if not self.found["assumed_reads"].get(OWN_BYTES):
            return [self.problem]
        if way in ("default", "nextflow") and self.judged is self.problem:
            return [self.reading_all, self.problem]
        return [self.reading_all]

    def _safe_caps(self, judged: WorkDirectoryProblem, noise: Noise) -> SafeCaps:
        """Return the caps whose noisy runs are those of *judged*."""
        as_assumed = judged is self.problem
        if as_assumed not in self.safe_caps:
            self.safe_caps[as_assumed] = SafeCaps(
                self.problem,
                judged,
                noise,
                EFFORT.runs(EFFORT.caps, judged),
                EFFORT.runs(EFFORT.safer_caps, judged),
                self.part(TIME_SHARES.noise),
            )
        return self.safe_caps[as_assumed]

    def _tried(self, row: Json, noise: Noise) -> Json:
        """Return the answers on the caps *row*."""
        forks = acting(self.problem, row["forks"])
        caps = self.found["nextflow"] | row | {"forks": forks}
        run = run_of(self.problem, {"nextflow": caps}, "nextflow", self.deadline)
        self.found["nextflow"] = caps | run
        self._ask_fit(noise)
        return self._trial()

    def _take_safest(
        self, first: Json, trials: Sequence[Json], safe_bytes: float
    ) -> None:
        """Answer with the caps of *trials*, or with those of the *first*, that most
        noisy runs keep; *safe_bytes* is a quota that all keep with some caps.
        """

        def safest(trial: Json) -> tuple[bool, int, float]:
            fits = trial["fits"]
            seconds = fits["takes_seconds"]
            return fits["answer"] != "yes", -trial["noise"]["kept"], seconds

        tried = [*trials]
        if first["fits"]["way"] in ("default", "nextflow"):
            tried.insert(0, first)
        best = min(tried, key=safest, default=first)
        if trials and trials[-1]["fits"]["safety"] == "safe":
            best = trials[-1]  # not the first, which another quota may not find
        self.found |= best
        self.default_is_safe = best["fits"]["way"] == "default"
        if safe_bytes < inf:
            told = best["noise"] if tried else best["nextflow"]
            safe = [trial["noise"]["safe_bytes"] for trial in tried]
            told["safe_bytes"] = min([short(safe_bytes, up=True), *safe])
        if len(tried) < 2 or first["fits"]["safety"] == "safe":
            return
        by_caps = {
            caps_key(trial["nextflow"]["tasks"], trial["nextflow"]["forks"]): trial
            for trial in tried
        }
        self.found["caps_tried"] = [
            {
                **trial["nextflow"],
                "kept": trial["noise"]["kept"],
                "safe_as_assumed": trial["fits"].get("safe_as_assumed"),
                "noisy_peak_bytes": trial["noise"]["peak_bytes"],
            }
            for trial in by_caps.values()
        ]

    def _ask_safer_setting(self, noise: Noise) -> None:
        """Try the settings and limits of smaller quotas, unless all noisy runs keep
        the quota with the setting and the limit known; take what more runs keep.

        So a larger quota does not lose a setting that is safe with a smaller one.
        """
        first = {key: self.found[key] for key in ("setting", "fits", "noise")}
        if first["fits"]["safety"] in ("safe", None):
            return
        few, _ = Runs(self.question).caps
        other = safer_setting(
            self.judged,
            [{"policy": p, "in_flight": cap} for cap in few for p in POLICIES],
            noise,
            first["noise"],
            EFFORT.runs(EFFORT.safer, self.problem),
            self.part(TIME_SHARES.noise),
        )
        setting = other.pop("setting", None)
        if setting is None:
            first["noise"] |= other
            return
        run = run_of(self.problem, {"setting": setting}, "setting", self.deadline)
        self.found["setting"] = setting | run
        self._ask_fit(noise)
        if self.found["fits"]["answer"] != first["fits"]["answer"] == "yes":
            self.found |= first  # safer, but only if tasks read as assumed
            return
        told = self.found["noise"]
        if other["plan_kept"] > max(told["kept"], told["plan_kept"] or 0):
            told |= other
            self._tell_limit(noise)

    def _trial(self) -> Json:
        """Return the answers on the caps of Nextflow that are known now."""
        return {key: self.found[key] for key in ("nextflow", "fits", "noise")}

    def default_fits(self) -> bool:
        """Return whether a run in the order of submission keeps the quota by itself."""
        quota = self.problem.quota_bytes
        keeps = quota is not None and self.free["peak_bytes"] <= quota
        return keeps and self.default_is_safe

    def fits(self) -> Json:
        """Return whether the workflow fits the quota, and the simplest way in which it
        does.

        ``way`` is ``default`` (no setting), ``nextflow`` (caps), ``setting`` (of the
        dispatcher), ``plan`` (a list of starts alone), or None. ``needs_bytes`` and
        ``takes_seconds`` are the figures of that run; if no run is known that fits,
        they are the least quota that is known to do, and the time with it. Where all
        files fit together, ``needs_bytes`` are all of them. Else the answer depends on
        the order of the tasks if the record lacks it; and it depends on what belongs to
        samples, where the record does not say it and they are copied.
        """
        for way, run in self._ways():
            told = {"needs_bytes": run["peak_bytes"]}
            if way == "default" and all_fit(self.found):  # none is deleted
                told = {"needs_bytes": self.found["undeleted_bytes"]}
            told["takes_seconds"] = run["makespan_seconds"]
            word = "plan only" if way == "plan" else "yes"
            unordered = self.found["independent"] and not all_fit(self.found)
            if unordered or self.found[NO_SAMPLE]:
                word = "depends"  # on the order, or on what belongs to samples
            return {"answer": word, "way": way, **told}
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
        told = {"needs_bytes": needs, "takes_seconds": times[0] if times else None}
        return {"answer": answer, "way": None, **told}

    def _ways(self) -> Iterator[tuple[str, Json]]:
        """Yield the ways in which the quota is kept with their runs, the simplest
        first.
        """
        quota, caps = self.problem.quota_bytes, self.found["nextflow"]
        if self.default_fits():
            yield "default", self.free
        keeps = quota is not None and caps and caps["peak_bytes"] <= quota
        if keeps and self.caps_are_safe:
            yield "nextflow", caps
        for way, key in (("setting", "setting"), ("plan", "at_quota")):
            run = self.found[key]
            if run and run["makespan_seconds"] is not None:
                yield way, run

    def ask_reads(self) -> None:
        """Find whether the way that fits the quota does so whatever tasks read whose
        reads are assumed; its figures are then those of the worst case.
        """
        fits = self.found["fits"]
        assumed = self.found["assumed_reads"]
        fits["whatever_is_read"] = not assumed.get(OWN_BYTES)
        if fits["whatever_is_read"] or fits["way"] not in WAYS:
            return
        run = run_of(self.reading_all, self.found, fits["way"], self.deadline)
        if run["peak_bytes"] > self.found["quota_bytes"]:
            fits["answer"] = "depends"
            fits["needs_if_all_is_read"] = run["peak_bytes"]
            return
        fits["whatever_is_read"] = True
        fits["needs_as_assumed"] = fits["needs_bytes"]
        fits["needs_bytes"] = max(fits["needs_bytes"], run["peak_bytes"])
        fits["takes_seconds"] = max(fits["takes_seconds"], run["makespan_seconds"])

    def ask_deciding(self) -> None:
        """Find of which processes it must be known what they read, where the answer
        depends on it. Past the deadline all may be.
        """
        fits = self.found["fits"]
        if "needs_if_all_is_read" not in fits:
            return
        rows = self.found["assumed_reads"][OWN_BYTES]

        def keeps(processes: Collection[str]) -> bool:
            if self.deadline.expired():
                return False
            worst = reading_all(self.problem, processes)
            run = run_of(worst, self.found, fits["way"], self.deadline)
            return bool(run["peak_bytes"] <= self.found["quota_bytes"])

        decide = deciding([row["process"] for row in rows], keeps)
        for row in rows:
            row["decides"] = row["process"] in decide

    def tell_safety(self) -> None:
        """Answer ``tight`` or ``not safely`` in place of "yes" where noisy runs say
        so.
        """
        fits = self.found["fits"]
        if fits["answer"] == "yes":
            fits["answer"] = WORDS[fits["safety"]]

    def ask_noise(self, noise: Noise) -> None:
        """Simulate the way that fits the quota with *noise*, unless there is none or
        all files fit together.

        ``safety`` of the fit is what :func:`~ioopt.budget.noise.safety` says, or None
        without noisy runs; ``limit_bytes`` is the limit for the dispatcher, or None.
        """
        self.found["noise"] = None
        self.found["fits"] |= {"safety": None, "limit_bytes": None}
        if not any(noise) or all_fit(self.found):
            return
        if self.found["fits"]["way"] not in WAYS:
            return
        told = self._noisy_runs(self.judged, noise)
        self.found["noise"] = told
        self.found["fits"]["safety"] = safety(told)
        self._tell_limit(noise)
        self.ended("noisy runs", told["runs"], NOISY_RUNS)
        if self.judged is not self.problem and self.found["fits"]["safety"] != "safe":
            as_assumed = self._noisy_runs(self.problem, noise)
            kept = max(as_assumed["kept"], as_assumed["plan_kept"] or 0)
            self.found["fits"]["safe_as_assumed"] = kept == as_assumed["runs"]

    def _noisy_runs(self, problem: WorkDirectoryProblem, noise: Noise) -> Json:
        """Simulate *problem* with *noise*, by the way that fits the quota."""
        way = self.found["fits"]["way"]
        part = self.part(TIME_SHARES.noise)
        if way == "setting":
            return noisy_runs(problem, self.found["setting"], noise, part)
        return blind_runs(problem, lambda p: engine(p, self.found, way), noise, part)

    def _tell_limit(self, noise: Noise) -> None:
        """Give the fit by a setting the limit with which most noisy runs keep the
        quota, and the figures of these runs where it is below the quota.

        Where the runs are of tasks that read all files, those as assumed must keep the
        quota too: the dispatcher then plans otherwise.
        """
        fits, told = self.found["fits"], self.found["noise"]
        if fits["way"] != "setting":
            return
        fits["limit_bytes"] = self.found["quota_bytes"]
        limit, kept = told["plan_bytes"], "kept"
        if limit is not None and limit < self.found["quota_bytes"]:
            kept = "plan_kept"
            fits["limit_bytes"] = limit
            fits["needs_bytes"] = told["plan_peak_bytes"]
            fits["takes_seconds"] = told["plan_median_seconds"]
        if self.judged is not self.problem:
            setting, part = self.found["setting"], self.part(TIME_SHARES.noise)
            limit = fits["limit_bytes"]
            as_assumed = kept_with(limit, self.problem, setting, noise, part)
            told[kept] = min(told[kept], as_assumed)
        fits["safety"] = safety({"kept": told[kept], "runs": told["runs"]})

    def ask_curve(self) -> None:
        """Find the shortest makespan for several quotas in ascending order, beginning
        with the smallest possible quota.
        """
        peak = self.free["peak_bytes"]
        least = self.question.found
        shares = {ceil(share * peak) for share in SHARES}
        quotas = {size for size in shares if abs(size - least) >= APART * least}
        quotas.add(least)
        wanted = EFFORT.runs(EFFORT.curve // len(quotas), self.problem)
        first = wanted // 2
        request = self._request(self.deadline, wanted - first)
        self.found["curve"] = frontier(
            self.problem, request, sorted(quotas), self.order, first
        )
        cut = [r for r in self.found["curve"] if r.get("stop") == StopReason.TIME]
        self.ended("search of the curve", 0, wanted * len(cut))

    def tell_cuts(self) -> None:
        """Report what the deadline ended, and the time limit that would do."""
        if not self.cuts:
            return
        missing = sum(wanted - done for _, done, wanted in self.cuts)
        needed = ROOM * (self.deadline.elapsed() + missing * self.run_seconds)
        self.found["cut"] = {
            "searches": [
                {"what": what, "runs": done or None, "of": wanted}
                for what, done, wanted in self.cuts
            ],
            "seconds_needed": 5 * ceil(needed / 5),
        }

    def share_what_is_known(self) -> None:
        """Improve each row by all runs and bounds that are known: a faster run that
        keeps the quota of the row replaces the run in the row.

        If the order of the tasks, their cores or what they read is assumed, no row is
        called optimal.
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
            whats = ("independent", "assumed_reads", "assumed_cores")
            assumed = any(self.found[what] for what in whats)
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


def independent(problem: WorkDirectoryProblem) -> bool:
    """Return whether *problem* comes from a record that lacks the order of its
    tasks.
    """
    recorded = "invented" in (problem.meta or {})
    if recorded and len(problem.tasks) > 1 and not any(problem.predecessors):
        return True
    return any("tasks are independent" in line for line in problem.warnings)


def _one_by_one(problem: WorkDirectoryProblem, order: Sequence[int]) -> Json:
    """Return the metrics of a run in which the tasks run one at a time, in *order*."""
    plan = named(problem, problem.ticks, one_by_one(problem, order))
    return carried_out(problem.model_copy(update={"quota_bytes": None}), plan).metrics
