"""Features F5 and F6 on the closing proposal of Lee et al.: strict and loose rounds, measured.

The paper has no figures for them; the "paper" column quotes what it argues or what ioopt promises.
All plans are simulated on seeds on which none was chosen.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

from papers.claims import Claim, interval, values_of, verdict

import ioopt
from ioopt.generate.flexgang import flexible_gang

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


def claims(quick: bool) -> list[Claim]:
    """Section 7: strict and loose rounds; with *quick* fewer seeds."""
    return mix_claims(range(2 if quick else 24))
