"""Simulate flexible gang plans on every processor, frame after frame (problem F6, rule
12 of docs/rules/flexgang.md).

In its loose CPU time, a job of n processes makes (1 - gamma) n times the progress of
its slowest process, where gamma is the gangedness of the job. A self-balancing job
makes (1 - gamma) times the sum of the progress of its processes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

import numpy as np

from ioopt.errors import InstanceError
from ioopt.measure.io_server import (
    NANOSECONDS,
    Served,
    Windows,
    draw_bursts,
    nanoseconds,
    num_bursts,
    serve,
    serving_seconds,
)
from ioopt.metrics import mean_and_standard_error
from ioopt.options import Deadline
from ioopt.problems.base import Json
from ioopt.problems.flexgang.flexible_gang import (
    FlexibleGangPlan,
    FlexibleGangProblem,
    FlexibleJob,
    Pattern,
    useful_seconds,
)
from ioopt.protocols import Simulation
from ioopt.timeline import Interval, Timeline


def frame_schedule(
    problem: FlexibleGangProblem, plan: FlexibleGangPlan, pattern: Pattern
) -> Json:
    """Return the schedule of one frame in seconds: strict rows, loose windows, and the
    jobs that use the windows.

    Columns are given as [first, one past the last].
    """
    kinds = {job.id: job.kind for job in problem.jobs}
    columns: dict[str, list[int]] = {}
    for name, position in plan.home.items():
        block = problem.block(problem.job_index[name], position)
        columns[name] = [block.start, block.stop]
    cells: list[Json] = []
    for name, rows in plan.rows.items():
        for row in rows:
            start = pattern.row_start(row)
            cell = {
                "job": name,
                "kind": kinds[name],
                "row": row,
                "columns": columns[name],
                "start_seconds": start,
                "end_seconds": start + pattern.quantum_seconds,
            }
            cells.append(cell)
    return {
        "frame_seconds": pattern.frame_seconds,
        "num_columns": problem.machine.num_columns,
        "windows": [
            {"start_seconds": start, "end_seconds": start + length}
            for start, length in pattern.windows()
        ],
        "rows": sorted(
            cells, key=lambda cell: (cell["start_seconds"], cell["columns"])
        ),
        "loose_io": [{"job": name, "columns": columns[name]} for name in plan.loose],
        "fill": [
            {"job": name, "columns": columns[name], "tau_seconds": seconds}
            for name, seconds in plan.tau_seconds.items()
        ],
    }


def frame_timeline(
    problem: FlexibleGangProblem, schedule: Json, pattern: Pattern
) -> Timeline:
    """Return one frame as a timeline with one resource for each column; windows have
    the kind ``loose``.
    """
    names = [f"column {c}" for c in range(problem.machine.num_columns)]
    intervals: list[Interval] = []
    for cell in schedule["rows"]:
        for column in range(*cell["columns"]):
            interval = Interval(
                cell["start_seconds"],
                cell["end_seconds"],
                names[column],
                cell["kind"],
                cell["job"],
                info={"row": cell["row"]},
            )
            intervals.append(interval)
    for start, length in pattern.windows():
        for column, name in enumerate(names):
            members = [
                job["job"]
                for job in schedule["loose_io"] + schedule["fill"]
                if job["columns"][0] <= column < job["columns"][1]
            ]
            label = ", ".join(members) or "idle"
            intervals.append(Interval(start, start + length, name, "loose", label))
    return Timeline.of(intervals, names)


DEFAULT_SECONDS = 40.0
WARM_FRACTION = 0.1
"""Share of the simulated time that is left out at the start, when all processes ask at
once.
"""
REPORT_SEEDS = tuple(range(70_001, 70_007))
"""Seeds of reported figures; solvers select plans under other seeds."""
FLOOR_TOLERANCE = 0.02
"""Relative shortfall up to which the floor of a job counts as kept in a simulation
(F6).
"""


@dataclass(frozen=True)
class Measured:
    """Record the figures of one plan under one seed; progress and utilisation are
    shares of time.

    ``objective`` is sum w (n/P) progress - lambda sum w (n/P)(S - 1): w is the weight
    of a job, n its number of processes, P the number of processors, and S its slowdown.
    The first sum is over compute jobs, the second over I/O jobs. ``cpu_utilisation`` is
    the share of CPU time in which a process runs. ``useful_utilisation`` excludes the
    time lost to gangedness.
    """

    objective: float
    progress: Mapping[str, float]
    slowdown: Mapping[str, float]
    response_seconds: Mapping[str, float]
    cpu_utilisation: float
    useful_utilisation: float


def simulate(
    problem: FlexibleGangProblem,
    plan: FlexibleGangPlan,
    seeds: Sequence[int] = REPORT_SEEDS,
    seconds: float = DEFAULT_SECONDS,
    deadline: Deadline | None = None,
) -> Simulation:
    """Simulate *plan* for *seconds* under every seed; the metrics are means over the
    seeds.

    If *deadline* leaves no time for some seeds, they are left out and a note says so.
    If it leaves none for any seed, there are no metrics. Raises InstanceError if the
    plan's pattern does not fit the instance.
    """
    plan.require_jobs_of(problem)
    runs: list[Measured] = []
    bursts = num_bursts_drawn(problem, seconds)
    least = serving_seconds(bursts)
    for seed in seeds:
        if deadline is not None and deadline.remaining() <= least:
            break
        runs.append(measure(problem, plan, seed, seconds))
    pattern = pattern_of(problem, plan)
    schedule = frame_schedule(problem, plan, pattern)
    if runs:
        schedule["measured"] = {"seeds": list(seeds[: len(runs)]), "seconds": seconds}
    notes: tuple[str, ...] = ()
    if not runs:
        notes = (
            "not simulated: no time was left; raise the time limit, or run ioopt "
            "simulate on the result",
        )
    elif len(runs) < len(seeds):
        notes = (
            f"simulated under {len(runs)} of {len(seeds)} seeds before the time limit",
        )
    metrics: Json = {}
    if runs:
        metrics = summary(problem, runs)
    timeline = frame_timeline(problem, schedule, pattern)
    return Simulation(schedule, metrics, timeline, notes)


def pattern_of(problem: FlexibleGangProblem, plan: FlexibleGangPlan) -> Pattern:
    """Return the pattern that *plan* names.

    Raises InstanceError if the pattern does not fit a frame of the instance.
    """
    pattern = problem.pattern(plan.k, plan.d)
    if pattern is None:
        raise InstanceError(
            f"plan: pattern k={plan.k}, d={plan.d} does not fit a frame of "
            f"{problem.num_rows} rows"
        )
    return pattern


def summary(problem: FlexibleGangProblem, runs: Sequence[Measured]) -> Json:
    """Return the metrics of a plan: means over *runs*, the standard error of the
    objective, and the floors.
    """
    objective, error = mean_and_standard_error([run.objective for run in runs])
    progress = _means([run.progress for run in runs])
    slowdown = _means([run.slowdown for run in runs])
    response = _means([run.response_seconds for run in runs])
    io_slowdown = None
    io_response = None
    if slowdown:
        io_slowdown = fmean(slowdown.values())
        io_response = fmean(response.values())
    floors = []
    for at, job in enumerate(problem.jobs):
        if not job.is_io:
            phi = problem.phi(at)
            got = progress[job.id]
            kept = got >= phi * (1.0 - FLOOR_TOLERANCE)
            floors.append({"job": job.id, "phi": phi, "simulated": got, "kept": kept})
    return {
        "simulated_objective": objective,
        "simulated_stderr": error,
        "cpu_utilisation": fmean([run.cpu_utilisation for run in runs]),
        "useful_utilisation": fmean([run.useful_utilisation for run in runs]),
        "io_slowdown": io_slowdown,
        "io_response_seconds": io_response,
        "compute_progress": math.fsum(
            problem.share(problem.job_index[name]) * value
            for name, value in progress.items()
        ),
        "progress": progress,
        "slowdown": slowdown,
        "response_seconds": response,
        "floors": floors,
        "floors_kept": all(item["kept"] for item in floors),
    }


def _means(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return, for each job, the mean of its values over *runs*."""
    return {name: fmean([run[name] for run in runs]) for name in runs[0]}


def num_bursts_drawn(problem: FlexibleGangProblem, seconds: float) -> float:
    """Return the expected number of CPU bursts of all I/O processes in *seconds* of
    simulated time.
    """
    return sum(
        seconds / job.io_seconds * job.processes for job in problem.jobs if job.is_io
    )


def measure(
    problem: FlexibleGangProblem,
    plan: FlexibleGangPlan,
    seed: int,
    seconds: float,
) -> Measured:
    """Simulate *plan* under one seed for whole frames; the first tenth is left out of
    the figures.
    """
    return _Run(problem, plan, seed, seconds).measured()


_bursts = lru_cache(maxsize=4096)(draw_bursts)


class _Run:
    """Simulate one plan under one seed.

    On each processor the I/O processes are served first; compute jobs share the time
    that is left.
    """

    def __init__(
        self,
        problem: FlexibleGangProblem,
        plan: FlexibleGangPlan,
        seed: int,
        seconds: float,
    ) -> None:
        self.problem = problem
        self.plan = plan
        self.seed = seed
        self.pattern = pattern_of(problem, plan)
        frame = self.pattern.frame_seconds
        frames = max(20, math.ceil(seconds / frame))
        self.warm_frames = max(1, int(frames * WARM_FRACTION))
        self.frames = frames - self.warm_frames
        self.horizon = frames * nanoseconds(frame)
        self.warm = self.warm_frames * nanoseconds(frame)
        self.responses: dict[int, list[np.ndarray]] = {}
        self.received: dict[int, list[float]] = {}
        self.busy_seconds = 0.0
        for column in range(problem.machine.num_columns):
            self._column(column)

    def _column(self, column: int) -> None:
        """Serve the I/O processes on all processors of one column, and divide the time
        that is left among its compute jobs.
        """
        problem = self.problem
        plan = self.plan
        pattern = self.pattern
        quantum = problem.machine.quantum_seconds
        present: list[tuple[int, FlexibleJob]] = []
        for j, job in enumerate(problem.jobs):
            if column in problem.block(j, plan.home[job.id]):
                present.append((j, job))
        held = 0
        own = 0.0
        loose: list[tuple[int, FlexibleJob]] = []
        strict: list[tuple[int, FlexibleJob]] = []
        for j, job in present:
            rows = len(plan.rows.get(job.id, ()))
            held += rows
            if not job.is_io:
                own += rows * quantum
            if job.id in plan.loose:
                loose.append((j, job))
            elif job.is_io:
                strict.append((j, job))
        idle = (pattern.k + pattern.strict_rows - held) * quantum * self.frames
        shares = self._shares(column, present)
        width = problem.column_processors
        for processor in range(column * width, (column + 1) * width):
            free = idle
            if loose:
                free -= self._serve(pattern.windows(), loose, processor)
            for j, job in strict:
                for row in plan.rows[job.id]:
                    slot = (pattern.row_start(row), quantum)
                    used = self._serve([slot], [(j, job)], processor)
                    free += quantum * self.frames - used
            shared = free
            if not shares:
                shared = 0.0
            self.busy_seconds += own * self.frames + shared
            for j, share in shares.items():
                self.received.setdefault(j, []).append(free * share)

    def _shares(
        self, column: int, present: list[tuple[int, FlexibleJob]]
    ) -> dict[int, float]:
        """Return the share of a column's free time that each compute job gets, keyed by
        job index.
        """
        granted = {}
        for j, job in present:
            if not job.is_io:
                block = self.problem.block(j, self.plan.home[job.id])
                granted[j] = self.plan.granted_seconds(job.id, len(block))[
                    column - block.start
                ]
        total = math.fsum(granted.values())
        if total > 0:
            return {j: seconds / total for j, seconds in granted.items()}
        return {}

    def _serve(
        self,
        open_spans: Sequence[tuple[float, float]],
        jobs: list[tuple[int, FlexibleJob]],
        processor: int,
    ) -> float:
        """Serve the I/O processes of *jobs* on one processor in the time spans
        *open_spans* of each frame.

        Return the CPU seconds that they use after the warm-up.
        """
        windows = Windows.of(self.pattern.frame_seconds, open_spans)
        behaviours = [job for _, job in jobs]
        count = num_bursts(behaviours, self.horizon)
        bursts = np.stack(
            [_bursts(job, self.seed, j, processor, count) for j, job in jobs]
        )
        served = serve(windows, behaviours, bursts, self.horizon)
        for at, (j, _) in enumerate(jobs):
            mine = (served.process == at) & (served.ready >= self.warm)
            self.responses.setdefault(j, []).append(
                (served.finish - served.ready)[mine]
            )
        used = self._busy(served, windows)
        self.busy_seconds += used
        return used

    def _busy(self, served: Served, windows: Windows) -> float:
        first = self.warm_frames * windows.open_per_cycle
        last = (self.warm_frames + self.frames) * windows.open_per_cycle
        ends = np.clip(served.begin + served.burst, first, last)
        return float((ends - np.clip(served.begin, first, last)).sum()) / NANOSECONDS

    def measured(self) -> Measured:
        """Return the figures of the run: progress, slowdowns, response times,
        utilisation and the objective.
        """
        problem = self.problem
        progress: dict[str, float] = {}
        slowdown: dict[str, float] = {}
        response: dict[str, float] = {}
        objective = 0.0
        useful = 0.0
        for j, job in enumerate(problem.jobs):
            share = problem.share(j)
            if job.is_io:
                waits = np.concatenate(self.responses[j])
                if not len(waits):
                    raise InstanceError(
                        f"job {job.id}: no I/O in the simulated time; simulate longer"
                    )
                response[job.id] = float(waits.mean()) / NANOSECONDS
                wall = response[job.id] + job.io_seconds
                slowdown[job.id] = wall / job.dedicated_seconds
                objective -= problem.lambda_ * share * (slowdown[job.id] - 1.0)
                useful += job.burst_seconds / wall * job.processes
            else:
                progress[job.id] = self._progress(j, job)
                objective += share * progress[job.id]
                useful += progress[job.id] * job.processes
        total = self.frames * self.pattern.frame_seconds * problem.machine.processors
        return Measured(
            objective,
            progress,
            slowdown,
            response,
            self.busy_seconds / total,
            useful / problem.machine.processors,
        )

    def _progress(self, j: int, job: FlexibleJob) -> float:
        span = self.frames * self.pattern.frame_seconds
        quantum = self.problem.machine.quantum_seconds
        rows = len(self.plan.rows.get(job.id, ())) * quantum
        received = list(self.received.get(j, []))
        # Processes in columns without a share make no progress.
        while len(received) < job.processes:
            received.append(0.0)
        useful = useful_seconds(received, job.self_balancing) / job.processes
        loose = (1.0 - (job.gamma or 0.0)) * useful / span
        return rows / self.pattern.frame_seconds + loose
