"""Features F4 to F6 on the closing proposal of Lee et al.: strict and loose rounds, measured.

The paper has no figures for them; the "paper" column quotes what it argues or what ioopt promises.
All plans are simulated on seeds on which none was chosen.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import Any

from papers.claims import Claim, interval, values_of, verdict

import ioopt
from ioopt.generate.flexgang import flexible_gang, quantum_selection
from ioopt.models.flexgang.quantum import QuantumModel
from ioopt.models.flexgang.quantum_costs import QuantumCosts
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.flexgang.quantum_selection import QuantumSelectionProblem
from ioopt.protocols import SolveRequest
from ioopt.solvers.flexgang.quantum_dp import best_for_cycle, cycle_grid
from ioopt.solvers.flexgang.quantum_ip import run

HEAVY_SECONDS = 20.0


POLICIES = ("strict", "strict-fill", "greedy", "k0", "exact")


def heavy_mix_values(seed: int, seconds: float) -> dict[str, Any]:
    """Metrics by policy on one heavy mix of 10 jobs on 32 processors (q = 10 ms, lambda = .1)."""
    problem = flexible_gang.generate("heavy-mix", {}, seed)
    how = {"time_limit": seconds, "gap": 0.002}
    runs = {name: ioopt.solve(problem, name) for name in ("strict", "strict-fill", "greedy")}
    runs["k0"] = ioopt.solve(problem, "exact", **how, settings={"patterns": "strict"})
    runs["exact"] = ioopt.solve(problem, "exact", **how)

    def column(metric: str) -> dict[str, float]:
        return {name: runs[name].metrics[metric] for name in POLICIES}

    plan = runs["exact"].plan or {}
    return {
        "seed": seed, "rows": problem.num_rows, "pattern": f"{plan['k']},{plan['d']}",
        "objective": column("simulated_objective"), "utilisation": column("cpu_utilisation"),
        "progress": column("compute_progress"), "slowdown": column("io_slowdown"),
        "floors_kept": runs["exact"].metrics["floors_kept"],
    }  # fmt: skip


def mix_claims(seeds: range, seconds: float = HEAVY_SECONDS) -> list[Claim]:
    """The heavy mixes against what is promised."""
    rows = values_of(heavy_mix_values, [{"seed": seed, "seconds": seconds} for seed in seeds])
    used = [row["utilisation"]["exact"] for row in rows]
    ratios = [row["slowdown"]["exact"] / row["slowdown"]["strict"] for row in rows]
    cost = [
        row["progress"]["k0"] - row["progress"]["exact"] for row in rows if row["pattern"] != "0,1"
    ]
    goals = [row["objective"] for row in rows]
    worst = min(goal["exact"] - max(goal["strict-fill"], goal["k0"]) for goal in goals)
    kept = [row["floors_kept"] for row in rows]
    strict = fmean([row["utilisation"]["strict"] for row in rows])
    exact, *exact_ends = interval(used)
    ratio, *ratio_ends = interval(ratios)
    count = len(rows)
    where = f"F6, {count} seeds"
    span = f"{100 * min(cost):.0f} to {100 * max(cost):.0f}" if cost else "none loose"
    return [
        Claim("exact never below strict + fill nor k = 0", where, "margin >= 0",
              f"least margin {worst:.4f}", verdict(worst >= 0)),
        Claim("CPU utilisation of exact", where, ">= .93 (strict .76)",
              f"mean {exact:.3f} {_ends(exact_ends)} (strict {strict:.3f}); on "
              f"{sum(x >= 0.93 for x in used)} of {count} seeds, least {min(used):.3f}",
              verdict(exact >= 0.93)),
        Claim("I/O slowdown of exact over strict", where, "<= .78",
              f"mean {ratio:.3f} {_ends(ratio_ends)}; on "
              f"{sum(x <= 0.78 for x in ratios)} of {count} seeds, most {max(ratios):.3f}",
              verdict(ratio <= 0.78)),
        Claim("loose windows cost compute progress", where, "6 to 17 points",
              f"{span} points against k = 0", verdict(bool(cost) and max(cost) > 0)),
        Claim("simulated floors kept within 2 %", where, "all", f"{sum(kept)} of {count}",
              verdict(all(kept))),
    ]  # fmt: skip


def _ends(ends: list[float]) -> str:
    return f"[{ends[0]:.3f} .. {ends[1]:.3f}]"


def quantum_problem(seed: int) -> QuantumSelectionProblem:
    """The seeded instance of quantum selection number *seed*, of every preset in turn."""
    settings = {
        "io_jobs": 1 + seed % 2, "compute_jobs": 1 + seed // 2 % 2, "visits": 1 + seed % 4 // 2,
        "compute_share": 0.1 * (seed % 5), "mu": 0.5 * (seed % 3),
    }  # fmt: skip
    return quantum_selection.generate(("plain", "visits", "mixed")[seed % 3], settings, seed)


def visits_problem(seed: int) -> QuantumSelectionProblem:
    """An instance in which several visits a cycle may pay: I/O jobs beside compute jobs with half."""
    settings = {
        "io_jobs": 1 + seed % 2, "compute_jobs": 2, "visits": 4, "compute_share": 0.5,
        "mu": 0.5 * (seed // 2 % 2),
    }  # fmt: skip
    return quantum_selection.generate("mixed", settings, seed)


def quantum_selection_errors(seed: int) -> dict[str, Any]:
    """How far both backends are from the dynamic program on one instance, and its visits."""
    costs = QuantumCosts(quantum_problem(seed))
    grid = cycle_grid(costs)
    oracle = min(best_for_cycle(costs, cycle)[1] for cycle in grid)
    worst = 0.0
    for backend in ("HiGHS", "CP-SAT"):
        request = SolveRequest(SolveOptions(120, backend=backend), Deadline(120))
        answer = run(QuantumModel(costs, grid), None, request)
        worst = max(worst, abs((answer.objective or math.inf) - oracle))
    return {"worst": worst, **_visits(costs.problem)}


def visits_errors(seed: int) -> dict[str, Any]:
    """What became of several visits on one instance in which they may pay."""
    return _visits(visits_problem(seed))


def _visits(problem: QuantumSelectionProblem) -> dict[str, Any]:
    """Whether several visits fell back to one; where kept, how far realised is from predicted."""
    result = ioopt.solve(problem, "quantum-dp")
    if result.plan is None:
        return {"fell": False, "apart": None}
    visits = [choice["visits"] for choice in result.plan["options"].values()]
    fell = any("fell back" in note for note in result.notes)
    predicted, realised = result.objective or 0.0, result.metrics["realised"]
    return {
        "fell": fell,
        "apart": (realised - predicted) / predicted if max(visits) > 1 else None,
    }


def quantum_claims(count: int) -> list[Claim]:
    """Dynamic program, HiGHS and CP-SAT on random instances; realised against predicted cost."""
    asked = [{"seed": seed} for seed in range(count)]
    found = values_of(quantum_selection_errors, asked)
    worst = max(each["worst"] for each in found)
    both = [*found, *values_of(visits_errors, asked)]
    fell = sum(each["fell"] for each in both)
    errors = [each["apart"] for each in both if each["apart"] is not None]
    kept, apart = len(errors), max(errors, default=0.0)
    where = f"F4, {count} instances"
    return [
        Claim("dynamic program = HiGHS = CP-SAT", where, "equal", f"largest difference {worst:.1e}",
              verdict(worst <= 1e-6)),
        Claim("several visits realised at most 5 % above predicted, or one visit and a note",
              f"F4, {2 * count} instances", "all",
              f"several visits chosen {kept + fell} times: {kept} kept (worst {apart:.1%} above), "
              f"{fell} fell back", verdict(apart <= 0.05)),
    ]  # fmt: skip


def claims(quick: bool) -> list[Claim]:
    """Section 7: quantum selection, strict and loose rounds; with *quick* fewer seeds."""
    rows = quantum_claims(6 if quick else 20)
    return rows + mix_claims(range(2 if quick else 24))
