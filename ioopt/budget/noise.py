"""Simulate runs of a work directory whose times and sizes differ from the estimates."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from math import ceil, inf
from typing import NamedTuple

from ioopt.budget import NOISY_RUNS
from ioopt.options import Deadline
from ioopt.problems.base import Json
from ioopt.problems.work_directory import Fault, WorkDirectoryProblem
from ioopt.sim.work_directory.dispatch import Dispatcher, dispatch
from ioopt.sim.work_directory.order import least_order
from ioopt.sim.work_directory.replay import carried_out
from ioopt.solvers.work_directory.dispatch import Question

MOST_LOWERED = 5
"""The largest number of times that the quota for planning is lowered."""
LOWERED = 0.97
"""The largest ratio between a quota for planning and the quota that was tried before
it.
"""
RAISED = (1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5)
"""Quotas for planning to try, as multiples of the quota, where runs with all smaller
ones got stuck.
"""

NEXT_LIMIT = 1.03
"""The ratio between neighbouring limits that are tried with all settings. They are
multiples of the least quota, so that a larger quota is asked with the same ones and
more.
"""
ROOM_ENOUGH = 0.8
"""The share of the quota below which no limit is tried once one is safe: the smaller
the limit, the longer the run.
"""


class Noise(NamedTuple):
    """Standard deviations of the logarithms of compute times (``times``) and of file
    sizes (``sizes``).
    """

    times: float
    sizes: float


USUAL = Noise(0.3, 0.1)
"""The noise that is taken where none is stated."""


NOT_PLANNED: Json = dict.fromkeys(
    (
        "plan_bytes",
        "plan_kept",
        "plan_peak_bytes",
        "plan_median_seconds",
        "safe_bytes",
        "safe_plan_bytes",
        "safe_setting",
        "safe_tried_bytes",
    )
)
"""What is said on quotas for planning where none was looked for."""


class NoisyRun(NamedTuple):
    """The makespan of one run in seconds (None: the run got stuck), and the peak of the
    true, not the expected, bytes in the directory.
    """

    seconds: float | None
    peak: int


class Surprised(Dispatcher):
    """A dispatcher that decides on expected sizes, and learns the true sizes of a
    task's output files only when the task ends.

    *real* has the true bytes of each output file. ``peak`` is the largest number of
    true bytes in the directory so far.
    """

    def __init__(self, question: Question, setting: Json, real: Sequence[int]) -> None:
        super().__init__(
            question.problem,
            rank=setting["policy"],
            quota=question.quota,
            safe=True,
            in_flight=setting["in_flight"],
            reference=question.walk,
        )
        self.real = real
        self.unseen = 0
        self.peak = 0

    def _surplus(self, k: int) -> int:
        """Return the number of bytes that task *k* writes beyond the number that the
        dispatcher expects.
        """
        return sum(self.real[f] - self.sizes[f] for f in self.problem.outputs[k])

    def started(self, k: int) -> None:
        """Record that task *k* starts, and count the true bytes of its output in
        ``peak``.
        """
        super().started(k)
        self.unseen += self._surplus(k)
        self.peak = max(self.peak, self.use + self.unseen)

    def ended(self, k: int) -> list[int]:
        """Record that task *k* has ended with its true bytes; return the tasks that
        become ready by this.
        """
        self.unseen -= self._surplus(k)
        for f in self.problem.outputs[k]:
            self.resize(k, f, self.real[f])
        return super().ended(k)


def noisy_runs(
    problem: WorkDirectoryProblem, setting: Json, noise: Noise, deadline: Deadline
) -> Json:
    """Simulate the safe dispatcher with times and sizes that differ from the estimates.

    The factors on times and sizes are log-normal. The dispatcher decides on estimates,
    and learns the true bytes of a task once the task has ended. In the answer,
    ``plan_bytes`` is the largest quota for planning that was tried with which all runs
    stay within the quota of *problem* or, if there is none, with which most do: at
    least half, and more than with the quota itself. ``plan_kept`` is their number,
    ``plan_peak_bytes`` and ``plan_median_seconds`` are their figures. All four are None
    if there is none. Unless all runs keep the quota, ``safe_bytes`` is the smallest
    quota that all runs with some quota for planning, ``safe_plan_bytes``, kept: their
    peak, or that quota for planning where it is larger. If larger quotas for planning
    were tried in vain, it is None, and ``safe_tried_bytes`` is the largest of them.
    """
    quota = problem.quota_bytes or 0

    def planned_with(limit: int) -> list[NoisyRun]:
        return _runs_planned_with(limit, problem, setting, noise, deadline)

    first = planned_with(quota)
    told = _told(first, quota, noise) | NOT_PLANNED
    ended: list[tuple[int, int]] = []  # peaks, and quotas for planning
    most = -1 if told["kept"] == told["runs"] else told["kept"]
    least = Question.of(problem, order=least_order(problem), least_known=True).found
    for limit, runs in _lowered(quota, least, first, planned_with):
        planned = _told(runs, quota, noise)
        if not planned["stuck"]:
            ended.append((max(planned["peak_bytes"], limit), limit))
        if planned["kept"] > most and 2 * planned["kept"] >= planned["runs"]:
            most = planned["kept"]
            told |= _planned(limit, runs, quota)
        if planned["kept"] == planned["runs"]:
            return told
    if not ended:
        told["safe_tried_bytes"], ended = _raised(quota, len(first), planned_with)
    if ended:
        peak, told["safe_plan_bytes"] = min(ended)
        told["safe_setting"] = _named(setting)
        told["safe_bytes"] = short(peak, up=True)
    return told


def _lowered(
    quota: int,
    least: int,
    first: list[NoisyRun],
    planned_with: Callable[[int], list[NoisyRun]],
) -> Iterator[tuple[int, list[NoisyRun]]]:
    """Yield quotas for planning that fall from *quota*, of which *first* are the runs,
    down to *least*, each with its runs; the larger their peak, the smaller the next.

    It ends where no order keeps the quota for planning, or no time is left for as many
    runs as the *first*.
    """
    limit, runs = quota, first
    for _ in range(MOST_LOWERED):
        yield limit, runs
        peak = max(run.peak for run in runs)
        lower = max(least, short(limit * min(LOWERED, quota / max(1, peak))))
        if lower >= limit:
            return
        limit, runs = lower, planned_with(lower)
        if len(runs) < len(first):
            return
    yield limit, runs


def _raised(
    quota: int, count: int, planned_with: Callable[[int], list[NoisyRun]]
) -> tuple[int | None, list[tuple[int, int]]]:
    """Try larger quotas for planning than *quota* until all *count* runs end, and then
    the peak of these runs. Return the largest tried, and for each with which all runs
    end the quota that these keep, and the quota for planning.
    """
    tried = None
    for factor in RAISED:
        limit = short(ceil(quota * factor))
        runs = planned_with(limit)
        if len(runs) < count:
            break
        tried = limit
        if all(run.seconds is not None for run in runs):
            peak = max(run.peak for run in runs)
            ended = [(max(peak, limit), limit)]
            lower = short(peak, up=True)
            runs = planned_with(lower) if quota < lower < limit else []
            ends = [run.peak for run in runs if run.seconds is not None]
            if len(ends) == count:
                ended.append((max(lower, *ends), lower))
            return tried, ended
    return tried, []


def kept_with(
    limit: int,
    problem: WorkDirectoryProblem,
    setting: Json,
    noise: Noise,
    deadline: Deadline,
) -> int:
    """Return how many noisy runs, planned with *limit*, keep the quota of *problem*."""
    runs = _runs_planned_with(limit, problem, setting, noise, deadline)
    return _told(runs, problem.quota_bytes or 0, noise)["kept"] if runs else 0


def safer_setting(
    problem: WorkDirectoryProblem,
    settings: Sequence[Json],
    noise: Noise,
    told: Json,
    most_runs: int,
    deadline: Deadline,
) -> Json:
    """Return what other *settings* with smaller limits add to the answer *told* of
    :func:`noisy_runs`, of which not all runs kept the quota.

    The limits fall from the quota to the least one, or to :data:`ROOM_ENOUGH` of the
    quota where all runs keep the quota with some setting and limit. Of those with which
    most keep it, the quickest is ``setting``, with the figures that are named in
    :data:`NOT_PLANNED`; the answer has no ``setting`` if none keeps it more often than
    *told* says. The runs of one setting end once they can improve nothing. No setting
    is begun after *most_runs* runs or past the *deadline*.
    """
    quota = problem.quota_bytes or 0
    question = Question.of(problem, order=least_order(problem), least_known=True)
    draws = [_drawn(problem, noise, seed) for seed in range(NOISY_RUNS)]
    best = _Safest(quota, told)
    simulated = 0
    for limit in _limits(question.found, quota):
        best.all_keep = best.known and best.kept == NOISY_RUNS
        if best.all_keep and limit < ROOM_ENOUGH * quota:
            break
        asked = replace(question, quota=limit)
        for setting in settings:
            if simulated >= most_runs or deadline.expired():
                return best.found
            runs: list[NoisyRun] = []
            for real in draws:
                runs.append(_noisy_run(asked, setting, real))
                if best.beats(limit, runs):
                    break
            else:
                best.take(limit, setting, runs)
            simulated += len(runs)
    return best.found


class _Safest:
    """The best setting and limit of those tried for a *quota*, and the smallest quota
    that all runs with one of them keep; both must be better than *told*.

    ``found`` is the answer of :func:`safer_setting`, ``kept`` the number of runs that
    keep the quota with the best. Once ``all_keep``, only quicker runs are better.
    """

    def __init__(self, quota: int, told: Json) -> None:
        self.quota = quota
        self.found: Json = {}
        most = max(told["kept"], told["plan_kept"] or 0, (NOISY_RUNS - 1) // 2)
        self.kept, self.median = most + 1, inf
        self.safe: float = inf if told["safe_bytes"] is None else told["safe_bytes"]
        self.first_seconds = 0.0  # of the first run of the best
        self.all_keep = False

    @property
    def known(self) -> bool:
        """Return whether a setting is better than what was told."""
        return "setting" in self.found

    def beats(self, limit: int, runs: Sequence[NoisyRun]) -> bool:
        """Return whether no further runs with *limit* make these *runs* better."""
        if self.all_keep and (runs[0].seconds or inf) >= self.first_seconds:
            return True
        broken = sum(_breaks(run, self.quota) for run in runs)
        return NOISY_RUNS - broken < self.kept and _held(limit, runs) >= self.safe

    def take(self, limit: int, setting: Json, runs: Sequence[NoisyRun]) -> None:
        """Take *setting* with *limit*, of which all *runs* were made, where it is
        better.
        """
        held = _held(limit, runs)
        if held < self.safe:
            self.safe = short(held, up=True)
            self.found |= {"safe_bytes": self.safe, "safe_plan_bytes": limit}
            self.found |= {"safe_setting": _named(setting)}
        if all(_breaks(run, self.quota) for run in runs):
            return
        planned = _planned(limit, runs, self.quota)
        kept, median = planned["plan_kept"], planned["plan_median_seconds"]
        if (-kept, median) < (-self.kept, self.median):
            self.kept, self.median = kept, median
            self.first_seconds = runs[0].seconds or inf
            self.found |= planned | {"setting": _named(setting)}


def _held(limit: int, runs: Sequence[NoisyRun]) -> float:
    """Return the least quota that *runs* with *limit* keep, which is not below it;
    infinity if one got stuck.
    """
    if any(run.seconds is None for run in runs):
        return inf
    return max(limit, *(run.peak for run in runs))


def _limits(least: int, quota: int) -> Iterator[int]:
    """Yield the limits to try for a *quota* in falling order: the quota, then those of
    a grid that begins at the *least*.
    """
    yield quota
    limits = []
    size = float(least)
    while size < quota:
        limits.append(max(least, short(size)))
        size *= NEXT_LIMIT
    yield from dict.fromkeys(reversed(limits))


def _named(setting: Json) -> Json:
    """Return the policy and the samples in flight of *setting*, without its run."""
    return {key: setting[key] for key in ("policy", "in_flight")}


def _breaks(run: NoisyRun, quota: int) -> bool:
    """Return whether *run* got stuck or broke the *quota*."""
    return run.seconds is None or run.peak > quota


def _planned(plan_bytes: int, runs: Sequence[NoisyRun], quota: int) -> Json:
    """Return the figures of those of *runs*, planned with *plan_bytes*, that kept the
    *quota*.
    """
    kept = [run for run in runs if run.seconds is not None and run.peak <= quota]
    seconds = sorted(run.seconds for run in kept if run.seconds is not None)
    return {
        "plan_bytes": plan_bytes,
        "plan_kept": len(kept),
        "plan_peak_bytes": max(run.peak for run in kept),
        "plan_median_seconds": seconds[len(seconds) // 2],
    }


def blind_runs(
    problem: WorkDirectoryProblem,
    engine: Callable[[WorkDirectoryProblem], Dispatcher],
    noise: Noise,
    deadline: Deadline,
) -> Json:
    """Simulate an *engine* that looks at no bytes, with times and sizes that differ
    from the estimates.

    The answer is that of :func:`noisy_runs`; no quota for planning belongs to it, and
    ``safe_bytes`` is the peak of all runs.
    """
    runs: list[NoisyRun] = []
    for seed in range(NOISY_RUNS):
        if runs and deadline.expired():
            break
        real = _drawn(problem, noise, seed)
        runs.append(_blind_run(real, engine(real)))
    told = _told(runs, problem.quota_bytes or 0, noise)
    return told | NOT_PLANNED | {"safe_bytes": short(told["peak_bytes"], up=True)}


class NoisyPeaks:
    """Simulate engines that look at no bytes, with *noise*, and keep the peaks of their
    runs.

    ``over`` is true once *most_runs* were simulated, or the deadline passed; ``cut`` is
    true if the deadline ended a question.
    """

    def __init__(
        self,
        problem: WorkDirectoryProblem,
        noise: Noise,
        most_runs: int,
        deadline: Deadline,
    ) -> None:
        self.draws = [_drawn(problem, noise, seed) for seed in range(NOISY_RUNS)]
        self.left = most_runs
        self.deadline = deadline
        self.cut = False
        self.peaks: dict[Hashable, list[int]] = {}

    @property
    def over(self) -> bool:
        """Return whether no more runs may be simulated."""
        self.cut = self.cut or self.deadline.expired()
        return self.cut or self.left <= 0

    def keeps(
        self,
        key: Hashable,
        engine: Callable[[WorkDirectoryProblem], Dispatcher],
        most: float,
    ) -> int | None:
        """Return the peak of all runs of the *engine* named *key* if it is at most
        *most* bytes, else None, also if too few runs may be simulated.

        The runs end with the first that has a larger peak.
        """
        peaks = self.peaks.setdefault(key, [])
        while max(peaks, default=0) <= most:
            if len(peaks) == len(self.draws):
                return max(peaks)
            if self.over:
                return None
            real = self.draws[len(peaks)]
            peaks.append(_blind_run(real, engine(real)).peak)
            self.left -= 1
        return None


def _blind_run(real: WorkDirectoryProblem, engine: Dispatcher) -> NoisyRun:
    """Simulate the *engine*, which looks at no bytes, on the problem *real*."""
    plan = dispatch(real, engine).model_copy(update={"ignore_quota": True})
    metrics = carried_out(real, plan).metrics
    return NoisyRun(metrics["makespan_seconds"], metrics["peak_bytes"])


def short(size: float, up: bool = False) -> int:
    """Return *size* rounded down, or *up*, to four digits, so that what is printed is
    what was tried.
    """
    unit = 10 ** max(0, len(str(int(size))) - 4)
    return (ceil(size / unit) if up else int(size) // unit) * unit


def safety(noise: Json) -> str:
    """Return how safe a run is by its answer *noise* on noisy runs: ``safe`` if all
    kept the quota, ``tight`` if at least half did, else ``unsafe``.
    """
    if noise["kept"] == noise["runs"]:
        return "safe"
    return "unsafe" if 2 * noise["kept"] < noise["runs"] else "tight"


def _told(runs: Sequence[NoisyRun], quota: int, noise: Noise) -> Json:
    """Return what *runs* with *noise* say: how many got stuck or kept the *quota*,
    their peak, and when they ended.
    """
    ends = sorted(run.seconds for run in runs if run.seconds is not None)
    kept = [run for run in runs if run.seconds is not None and run.peak <= quota]
    return {
        "times": noise.times,
        "sizes": noise.sizes,
        "runs": len(runs),
        "kept": len(kept),
        "stuck": len(runs) - len(ends),
        "peak_bytes": max(run.peak for run in runs),
        "median_seconds": ends[len(ends) // 2] if ends else None,
        "worst_seconds": ends[-1] if ends else None,
    }


def _runs_planned_with(
    quota: int,
    problem: WorkDirectoryProblem,
    setting: Json,
    noise: Noise,
    deadline: Deadline,
) -> list[NoisyRun]:
    """Return the runs that are planned with *quota*, in the order of their seeds.

    At least one run is simulated, even past the deadline. The list is empty if no order
    of the tasks is known to keep *quota*.
    """
    asked = problem.model_copy(update={"quota_bytes": quota})
    question = Question.of(asked, order=least_order(problem))
    if question.walk is None:
        return []
    runs: list[NoisyRun] = []
    for seed in range(NOISY_RUNS):
        if runs and deadline.expired():
            break
        runs.append(_noisy_run(question, setting, _drawn(problem, noise, seed)))
    return runs


def _drawn(
    problem: WorkDirectoryProblem, noise: Noise, seed: int
) -> WorkDirectoryProblem:
    """Return *problem* with times and sizes drawn with *seed*."""
    draw = random.Random(seed)
    tasks = []
    for task in problem.tasks:
        factor = draw.lognormvariate(0, noise.times)
        seconds = round(task.compute_seconds * factor, 3)
        tasks.append(task.model_copy(update={"compute_seconds": seconds}))
    sizes = {
        file.id: ceil(file.bytes * draw.lognormvariate(0, noise.sizes))
        for file in problem.products
    }
    files = [
        file.model_copy(update={"bytes": sizes.get(file.id, file.bytes)})
        for file in problem.files
    ]
    told = {key: getattr(problem, key) for key in ("name", "cores", "meta")}
    return WorkDirectoryProblem(tasks=tuple(tasks), files=tuple(files), **told)


def _noisy_run(
    question: Question, setting: Json, real: WorkDirectoryProblem
) -> NoisyRun:
    """Simulate one run of *question* whose times and sizes are those of *real*."""
    problem = question.problem
    seconds = {task.id: task.compute_seconds for task in real.tasks}
    run = Surprised(question, setting, [file.bytes for file in real.products])
    try:
        starts = dispatch(problem, run, seconds).starts
    except Fault:
        return NoisyRun(None, run.peak)
    ends = (at + seconds[task] for at, task in starts)
    return NoisyRun(max(ends, default=0.0), run.peak)
