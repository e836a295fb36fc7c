"""exact-iogs against Migrate-IOGS and against the greedy under the same weights and guard."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from typing import Any

from bench.frame import show

from ioopt.decisions.gang.state import GangPolicy, State, Timing, gangs_of
from ioopt.generate.gang.generate import LOADS_SECONDS, BluePacificLike, make_table, problem_of
from ioopt.problems.gang import GangProblem
from ioopt.sim.gang.metrics import simulation_of
from ioopt.sim.gang.simulate import GangSimulation
from ioopt.solvers.gang import exact, index
from ioopt.solvers.gang.migrate_iogs import POLICY as MIGRATE_IOGS
from ioopt.solvers.gang.policy import Policy
from ioopt.solvers.gang.row_order import urgent_rows_first

LOADS = (0, 2, 4, 6, 8)
NAMES = ("migrate-iogs", "index-iogs", "greedy", "greedy, urgent", "exact, kept", "exact-iogs")
HEAD = (
    "t_e", "policy", "slowdown", "vs migrate", "by seed", "p99", "big jobs", "max wait",
    "local", "proven", "median ms", "mean gap",
)  # fmt: skip


def main(quick: bool = False) -> None:
    """Print the table, means over seeds; seconds are CPU seconds of a decision, CP-SAT included.

    ``greedy`` is index-iogs without age term, with the guard and weights of exact-iogs; ``urgent``
    and ``kept`` say whether rows are put in order after an update (``row_order``).
    """
    jobs, seeds = (150, 1) if quick else (1_000, 6)
    rows, lost = [], []
    for load in LOADS:
        settings = BluePacificLike(jobs=jobs, mean_local_seconds=LOADS_SECONDS[load])
        runs = [
            _runs(problem_of(make_table(settings, seed), settings.machine, "exact"))
            for seed in range(seeds)
        ]
        pairs = [
            [run[name]["mean_slowdown"] for name in ("exact-iogs", "index-iogs")] for run in runs
        ]
        lost += [f"t_e {LOADS_SECONDS[load]:.0f}: {a / b - 1:+.0%}" for a, b in pairs if a > b]
        rows += [_row(f"{LOADS_SECONDS[load]:.0f}", name, runs) for name in NAMES]
    show(f"exact-iogs --set weight=las: {jobs} jobs, r = .5, means of {seeds} seed(s)", HEAD, rows)
    print(
        f"exact-iogs behind index-iogs on {len(lost)} of {len(LOADS) * seeds}: {', '.join(lost)}\n"
    )


def _greedy() -> Policy:
    chosen = exact.Settings()
    return index.policy(
        index.Settings(weight="las", guard=chosen.guard, age_seconds=0.0, pack_ratio=1.0)
    )


class _Ordered:
    """The greedy, rows put in order after every update."""

    name, rules = "greedy, urgent", None

    def update(self, state: State) -> State:
        """One scheduling event."""
        return urgent_rows_first(_greedy().update(state), "las")


def _runs(problem: GangProblem) -> dict[str, dict[str, Any]]:
    """Metrics of one workload by the policies of NAMES."""
    greedy = _greedy()
    found = {
        "migrate-iogs": _simulated(problem, MIGRATE_IOGS),
        "index-iogs": _simulated(problem, index.policy(index.Settings())),
        "greedy": _simulated(problem, greedy),
        "greedy, urgent": _simulated(problem, _Ordered()),
    }
    for name, kept in (("exact, kept", "kept"), ("exact-iogs", "urgent")):
        log: list[exact.Decision] = []
        settings = exact.Settings.model_validate({"weight": "las", "row_order": kept})
        policy = exact.ExactPolicy(settings, observer=log.append, clock=time.process_time)
        found[name] = {**_simulated(problem, policy), **exact.summary(log)}
    return found


def _simulated(problem: GangProblem, policy: GangPolicy) -> dict[str, Any]:
    run = GangSimulation(gangs_of(problem), Timing.of(problem.machine), policy).run()
    return dict(simulation_of(problem, run, None).metrics)


def _row(label: str, name: str, runs: list[dict[str, Mapping[str, Any]]]) -> tuple[str, ...]:
    """One row of the table: the means of *name* over *runs*."""

    def mean(key: str, of: str = name) -> float:
        return statistics.fmean(run[of][key] or 0.0 for run in runs)

    slowdown = mean("mean_slowdown")
    changes = [run[name]["mean_slowdown"] / run["migrate-iogs"]["mean_slowdown"] for run in runs]
    row = (
        label, name, f"{slowdown:.3f}", f"{slowdown / mean('mean_slowdown', 'migrate-iogs') - 1:+.1%}",
        " ".join(f"{100 * (change - 1):+.0f}" for change in changes),
        f"{mean('p99_slowdown'):.1f}", f"{mean('big_job_slowdown'):.2f}",
        f"{mean('max_wait_seconds'):.0f}", f"{mean('local_jobs'):.0f}",
    )  # fmt: skip
    if not name.startswith("exact"):
        return (*row, "", "", "")
    return (
        *row, f"{mean('proven_decisions'):.1%}", f"{1e3 * mean('median_decision_seconds'):.1f}",
        f"{mean('mean_decision_gap'):.3%}",
    )  # fmt: skip
