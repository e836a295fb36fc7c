"""Gang scheduling: both engines side by side."""

from __future__ import annotations

import time
from functools import partial

from bench.frame import show, timed
from papers.zhang_runs import FOUR, POLICIES

from ioopt.decisions.gang.state import Timing, gangs_of
from ioopt.generate.gang.generate import LOADS_SECONDS, BluePacificLike, make_table, problem_of
from ioopt.sim.gang.compiled import run
from ioopt.sim.gang.simulate import GangSimulation

CPU = time.process_time


def main(quick: bool = False) -> None:
    """Print both engines on the same workloads, the four policies of the paper; CPU seconds."""
    jobs, loads = (1_000, (0, 8)) if quick else (10_000, tuple(range(9)))
    rows, compiled_total, python_total, slowest = [], 0.0, 0.0, float("inf")
    for load in loads:
        settings = BluePacificLike(jobs=jobs, mean_local_seconds=LOADS_SECONDS[load])
        table, timing = make_table(settings, 0), Timing.of(settings.machine)
        gangs = gangs_of(problem_of(table, settings.machine, "bench"))
        for name in FOUR:
            rules = POLICIES[name].rules
            run(table, timing, rules)
            fast, compiled = timed(partial(run, table, timing, rules), CPU, 3)
            slow, answer = timed(GangSimulation(gangs, timing, POLICIES[name]).run, CPU)
            compiled_total, python_total = compiled_total + fast, python_total + slow
            slowest = min(slowest, jobs / fast)
            rows.append((
                f"{LOADS_SECONDS[load]:.0f}", name, f"{jobs / slow:,.0f}", f"{jobs / fast:,.0f}",
                f"{slow / fast:.1f}", "yes" if answer.finish == compiled.finish else "NO",
            ))  # fmt: skip
    head = ("t_e", "policy", "Python jobs/s", "compiled jobs/s", "ratio", "same finish times")
    show(f"Engines, {jobs} jobs, r = .5", head, rows)
    print(f"all: {python_total / compiled_total:.1f} x; slowest compiled {slowest:,.0f} jobs/s\n")
