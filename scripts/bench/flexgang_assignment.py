"""Benchmark of features F4 to F6: sizes, columns, the lambda front, simulator and quantum solvers."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bench.frame import timed

import ioopt
from ioopt.generate.flexgang import flexible_gang, quantum_selection
from ioopt.plot.lambda_front import plot_lambda_front
from ioopt.problems.flexgang.flexible_gang import FlexibleGangPlan
from ioopt.sim.flexgang.flexible_gang import measure
from ioopt.solvers.flexgang.pareto import lambda_front
from ioopt.tables import render

LIMIT_SECONDS = 60.0
COLUMNS_SECONDS = 40.0
FRONT_PICTURE = Path("lambda-front.png")


def main(quick: bool = False) -> None:
    """Print all tables of the section; with *quick* the smallest sizes only."""
    sizes(("heavy-mix", "heavy-20") if quick else ("heavy-mix", "heavy-20", "heavy-40"), quick)
    columns(quick)
    front(quick)
    simulator()
    quantum(quick)


def sizes(presets: tuple[str, ...], quick: bool) -> None:
    """Gap of every pattern within 60 seconds, by number of jobs."""
    rows = [_solved(preset, seed, {}) for preset in presets for seed in range(1 if quick else 3)]
    print("\nexact, all patterns, 60 s limit, gap .002 (worst gap: of feasible patterns)\n")
    print(render(HEAD, rows), flush=True)


def columns(quick: bool) -> None:
    """The machine in 8, 16 and 32 columns: the same jobs, and jobs as narrow as the columns allow."""
    rows = [
        _solved(preset, 0, {"columns": count, "narrowest": narrowest}, COLUMNS_SECONDS)
        for preset in (("heavy-mix",) if quick else ("heavy-mix", "heavy-20"))
        for narrowest in (4, 8, 16, 32)
        for count in ((8, 16, 32) if narrowest == 4 else (narrowest,))
    ]
    print("\ncolumns: the same jobs, then narrower ones; 40 s limit\n")
    print(render(HEAD, rows), flush=True)


HEAD = ("instance", "columns", "jobs", "K", "patterns", "feasible", "worst gap", "best", "bound",
        "gap", "simulated", "seconds")  # fmt: skip


def _solved(
    preset: str, seed: int, settings: dict[str, int], limit: float = LIMIT_SECONDS
) -> tuple[object, ...]:
    """One row: an instance solved by ``exact`` within *limit* seconds."""
    problem = flexible_gang.generate(preset, settings, seed)
    solve = partial(ioopt.solve, problem, "exact", time_limit=limit, gap=0.002)
    seconds, result = timed(solve)
    patterns = result.metrics["per_pattern"]
    feasible = [row for row in patterns.values() if row["status"] != "infeasible"]
    gaps = [row["gap"] for row in feasible]
    worst = None if None in gaps else max(gaps)
    best, bound = result.metrics["model_best"], result.bound
    return (
        problem.name, problem.machine.num_columns, len(problem.jobs), problem.num_rows,
        len(patterns), len(feasible), "no plan" if worst is None else f"{worst:.2%}",
        f"{best:.4f}", f"{bound:.4f}", f"{abs(bound - best) / abs(best):.2%}",
        f"{result.metrics['simulated_objective']:.4f}", f"{seconds:.1f}",
    )  # fmt: skip


def front(quick: bool) -> None:
    """The lambda front of one heavy mix as a table and a picture."""
    problem = flexible_gang.generate("heavy-mix", {}, 2)
    lambdas = (0.0, 0.1, 1.0) if quick else (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
    points = lambda_front(problem, lambdas, seconds=10.0)
    rows = [
        (p.label, f"{p.k},{p.d}", f"{1000 * p.io_response_seconds:.1f}", f"{p.io_slowdown:.3f}",
         f"{p.compute_progress:.3f}", f"{p.cpu_utilisation:.3f}", "" if p.dominated else "yes")
        for p in points
    ]  # fmt: skip
    print(f"\nlambda front of {problem.name}: I/O response against compute progress\n")
    head = ("plan", "k,d", "response ms", "I/O slowdown", "progress", "CPU", "on the front")
    print(render(head, rows))
    title = f"{problem.name}: exact for a range of lambda"
    axes = plot_lambda_front([point.row() for point in points], title=title)
    axes.figure.savefig(FRONT_PICTURE)
    print(f"drawn to {FRONT_PICTURE}", flush=True)


def simulator() -> None:
    """Simulated seconds a second of the timeline simulator."""
    problem = flexible_gang.generate("heavy-20", {}, 0)
    plan = FlexibleGangPlan.model_validate(ioopt.solve(problem, "greedy").plan)
    measure(problem, plan, 1, 5.0)
    seconds, _ = timed(partial(measure, problem, plan, 2, 200.0))
    print(f"\nsimulator: 200 s of 20 jobs on 32 processors in {seconds:.2f} s")


def quantum(quick: bool) -> None:
    """Solvers of quantum selection by number of jobs; the surface is warmed up before."""
    rows = []
    for jobs in ((2, 2), (3, 3)) if quick else ((2, 2), (3, 3), (4, 4)):
        settings = {"io_jobs": jobs[0], "compute_jobs": jobs[1], "visits": 2}
        problem = quantum_selection.generate("plain", settings, 0)
        ioopt.solve(problem, "quantum-dp")
        for solver, backend in (("quantum-greedy", None), ("quantum-dp", None),
                                ("quantum-ip", "HiGHS"), ("quantum-ip", "CP-SAT")):  # fmt: skip
            limited = {"backend": backend, "time_limit": LIMIT_SECONDS}
            seconds, result = timed(partial(ioopt.solve, problem, solver, **limited))
            gain = result.metrics.get("gain")
            rows.append(
                (sum(jobs), solver, backend or "", f"{result.objective:.5f}", result.status,
                 f"{result.metrics['realised']:.5f}", "" if gain is None else f"{gain:.1%}",
                 f"{seconds:.2f}")
            )  # fmt: skip
    head = ("jobs", "solver", "backend", "predicted", "status", "realised", "gain", "seconds")
    print("\nquantum selection\n")
    print(render(head, rows))
