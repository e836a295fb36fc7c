"""Gang scheduling: engines side by side, the whole grid of the paper, and the embedded scheduler."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from bench.frame import show, timed
from papers.zhang_runs import FOUR, RULES

from ioopt.decisions.gang.state import Timing, gangs_of
from ioopt.embed import GangScheduler
from ioopt.generate.gang.generate import LOADS_SECONDS, BluePacificLike, make_table, problem_of
from ioopt.problems.gang import Machine
from ioopt.registry import load_target
from ioopt.sim.gang.compiled import run
from ioopt.sim.gang.simulate import GangSimulation

CPU = time.process_time
GAPS_SECONDS = tuple(583.0 * (0.8 + 0.05 * k) for k in range(9))
RATIOS = (0.1, 0.2, 0.33, 0.4, 0.5, 0.6, 0.7)
"""Nine mean gaps and seven intensities; with the nine loads the 567 workloads of Section 3.4.1.

The paper names only the gap 583 s and three of the intensities; the others are ours.
"""


def main(quick: bool = False) -> None:
    """Print the tables; CPU seconds of one core throughout."""
    _engines(1_000 if quick else 10_000, (0, 8) if quick else tuple(range(9)))
    _grid(1_000 if quick else 10_000, GAPS_SECONDS[4:5] if quick else GAPS_SECONDS)
    _embedded(500 if quick else 2_000)


def _policy(name: str) -> Any:
    return load_target(f"ioopt.solvers.gang.{name.replace('-', '_')}:POLICY")


def _engines(jobs: int, loads: tuple[int, ...]) -> None:
    """Both engines on the same workloads, the four policies of the paper."""
    rows, compiled_total, python_total, slowest = [], 0.0, 0.0, float("inf")
    for load in loads:
        settings = BluePacificLike(jobs=jobs, mean_local_seconds=LOADS_SECONDS[load])
        table, timing = make_table(settings, 0), Timing.of(settings.machine)
        gangs = gangs_of(problem_of(table, settings.machine, "bench"))
        for name in FOUR:
            rules = RULES[name]
            run(table, timing, rules)
            fast, compiled = timed(partial(run, table, timing, rules), CPU, 3)
            slow, answer = timed(GangSimulation(gangs, timing, _policy(name)).run, CPU)
            compiled_total, python_total = compiled_total + fast, python_total + slow
            slowest = min(slowest, jobs / fast)
            rows.append((
                f"{LOADS_SECONDS[load]:.0f}", name, f"{jobs / slow:,.0f}", f"{jobs / fast:,.0f}",
                f"{slow / fast:.1f}", "yes" if answer.finish == compiled.finish else "NO",
            ))  # fmt: skip
    head = ("t_e", "policy", "Python jobs/s", "compiled jobs/s", "ratio", "same finish times")
    show(f"Engines, {jobs} jobs, r = .5", head, rows)
    print(f"all: {python_total / compiled_total:.1f} x; slowest compiled {slowest:,.0f} jobs/s\n")


def _grid(jobs: int, gaps: tuple[float, ...]) -> None:
    """The compiled engine on every workload of the paper's grid."""
    spent = generating = 0.0
    count = 0
    for gap in gaps:
        for load in LOADS_SECONDS:
            for ratio in RATIOS:
                settings = BluePacificLike(
                    jobs=jobs, mean_local_seconds=load, interarrival_seconds=gap, intensity=ratio
                )
                made, table = timed(partial(make_table, settings, 0), CPU)
                timing = Timing.of(settings.machine)
                generating += made
                count += 1
                for name in FOUR:
                    spent += timed(partial(run, table, timing, RULES[name]), CPU)[0]
    total = jobs * count * len(FOUR)
    print(
        f"Grid: {count} workloads x {len(FOUR)} policies x {jobs} jobs in {spent + generating:.1f} "
        f"CPU s ({generating:.1f} s of it generation): {total / spent:,.0f} jobs/s\n"
    )


def _embedded(jobs: int) -> None:
    """The embedded scheduler on the events of a simulation."""
    settings = BluePacificLike(jobs=jobs, mean_local_seconds=LOADS_SECONDS[8])
    problem = problem_of(make_table(settings, 0), settings.machine, "bench")
    gangs, log = gangs_of(problem), []
    GangSimulation(
        gangs, Timing.of(settings.machine), _policy("migrate-iogs"),
        observer=lambda now, index, state, gone: log.append((now, gone)),
    ).run()  # fmt: skip
    rows = []
    for name in (*FOUR, "guarded-iogs", "index-iogs"):
        spent, events = timed(partial(_replay, settings.machine, name, problem, log), CPU)
        rows.append((name, f"{events}", f"{spent / events * 1e6:.1f}"))
    head = ("policy", "events", "us an event")
    show("GangScheduler, pure Python, 320 nodes, t_e = 3102", head, rows)


def _replay(machine: Machine, policy: str, problem: Any, log: list[Any]) -> int:
    """Feed the arrivals and departures of a simulation to a scheduler; the number of events."""
    scheduler = GangScheduler(machine, policy)
    seen = events = 0
    for now, gone in log:
        for key in gone:
            scheduler.depart(key, now)
        while seen < len(problem.jobs) and problem.jobs[seen].arrival_seconds <= now + 1e-7:
            job = problem.jobs[seen]
            scheduler.arrive(seen, job.file_nodes, *problem.times[seen], now)
            seen += 1
            events += 1
        events += len(gone)
        scheduler.matrix(now)
    return events
