"""exact-iogs against Migrate-IOGS and against the greedy under the same weights (1,000 jobs)."""

from __future__ import annotations

import time
from typing import Any

from ioopt.generate.gang import LOADS_SECONDS, BluePacificLike, make_table, problem_of
from ioopt.problems.gang import GangProblem
from ioopt.sim.gang import GangSimulation
from ioopt.sim.gang_metrics import simulation_of
from ioopt.sim.gang_state import GangPolicy, Timing, gangs_of
from ioopt.solvers.gang import exact, index
from ioopt.solvers.gang.migrate_iogs import POLICY as MIGRATE_IOGS
from ioopt.solvers.gang.policy import Policy
from ioopt.solvers.gang.row_order import urgent_rows_first
from ioopt.tables import render

LOADS = (0, 4, 8)
HEAD = (
    "t_e", "policy", "slowdown", "vs migrate", "p99", "big jobs", "max wait", "local",
    "proven", "median ms", "mean gap",
)  # fmt: skip


def greedy(ordered: bool) -> Policy:
    """index-iogs without guard and age term; *ordered* puts urgent rows first, as exact-iogs does."""
    plain = index.policy(index.Settings(guard=1.0, age_seconds=0.0))
    if not ordered:
        return plain
    return Policy(plain.name, {**plain.phases, "order": urgent_rows_first("las")})


def main(quick: bool = False, seed: int = 0) -> None:
    """Print the table; seconds are CPU seconds of a decision, CP-SAT included."""
    jobs, rows = 150 if quick else 1_000, []
    for load in LOADS:
        settings = BluePacificLike(jobs=jobs, mean_local_seconds=LOADS_SECONDS[load])
        problem = problem_of(make_table(settings, seed), settings.machine, "exact")
        rows += _load(problem, f"{LOADS_SECONDS[load]:.0f}")
    print(f"exact-iogs --set weight=las, {jobs} jobs, r = .5, seed {seed}\n")
    print(render(HEAD, rows))


def _load(problem: GangProblem, label: str) -> list[tuple[str, ...]]:
    rows, reference = [], 0.0
    for name, ordered in (("migrate-iogs", None), ("greedy", False), ("greedy, urgent rows", True),
                          ("exact, rows kept", False), ("exact-iogs", True)):  # fmt: skip
        log: list[exact.Decision] = []
        policy: Any = MIGRATE_IOGS if ordered is None else greedy(ordered)
        if name.startswith("exact"):
            chosen = exact.Settings(row_order="urgent" if ordered else "kept")
            policy = exact.ExactPolicy(chosen, observer=log.append, clock=time.process_time)
        metrics = _simulated(problem, policy)
        reference = reference or metrics["mean_slowdown"]
        figures = exact.summary(log)
        rows.append((
            label, name, f"{metrics['mean_slowdown']:.3f}",
            f"{metrics['mean_slowdown'] / reference - 1:+.1%}", f"{metrics['p99_slowdown']:.1f}",
            f"{metrics['big_job_slowdown'] or 0:.2f}", f"{metrics['max_wait_seconds']:.0f}",
            f"{metrics['local_jobs']}",
            f"{figures['proven_decisions']:.1%}" if log else "",
            f"{1e3 * figures['median_decision_seconds']:.1f}" if log else "",
            f"{figures['mean_decision_gap']:.2%}" if log else "",
        ))  # fmt: skip
    return rows


def _simulated(problem: GangProblem, policy: GangPolicy) -> Any:
    run = GangSimulation(gangs_of(problem), Timing.of(problem.machine), policy).run()
    return simulation_of(problem, run, None).metrics
