"""Lee et al.: sweeps and laboratory by engine, exact assignment by size, the price lambda."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.frame import Run, compare, show, timed

import ioopt
from ioopt.generate.flexgang import flexible_gang, perturbation, quantum_model, quantum_selection
from ioopt.measure.gangedness_monitor import GangednessMonitor
from ioopt.measure.perturbation import measure
from ioopt.measure.quantum_chain import surface
from ioopt.measure.quantum_event import simulate_point
from ioopt.plot.lambda_front import plot_lambda_front
from ioopt.plot.save import save
from ioopt.problems.flexgang.quantum_model import QuantumModelProblem
from ioopt.solvers.flexgang.pareto import lambda_front

LIMIT_SECONDS = 60.0
FRONT_PICTURE = Path(tempfile.gettempdir()) / "lambda-front.png"
Work = tuple[str, int, Callable[[], Any]]
"""What is done, how much of it, and the doing."""


def main(quick: bool = False) -> None:
    """Print all tables; with *quick* the smallest sizes only."""
    head = ("what", "amount", "seconds", "ms each")
    rows = ((what, n, *_seconds(n, work)) for what, n, work in measures(quick))
    show("Sweeps, laboratory, monitor", head, rows)
    head = ("instance", "K", "patterns", "feasible", "worst gap", "gap", "seconds")
    show("exact: all patterns, 60 s limit, gap .002", head, sizes(quick))
    front(quick)
    cases = {
        f"{jobs} + {jobs} jobs": partial(_quanta, jobs=jobs) for jobs in range(2, 4 if quick else 5)
    }
    runs = {"quantum-greedy": Run("quantum-greedy", {})}
    for backend in ("HiGHS", "CP-SAT"):
        runs[backend] = Run("quantum-ip", {"backend": backend, "time_limit": LIMIT_SECONDS})
    compare("Quantum selection", cases, runs, (0,))


def _seconds(amount: int, work: Callable[[], Any]) -> tuple[float, float]:
    seconds, _ = timed(work)
    return round(seconds, 3), round(1000 * seconds / amount, 4)


def _quanta(seed: int, jobs: int) -> Any:
    settings = {"io_jobs": jobs, "compute_jobs": jobs, "visits": 2}
    return quantum_selection.generate("plain", settings, seed)


def measures(quick: bool) -> Iterator[Work]:
    """Both sweeps with both engines, the event engine plain and compiled, laboratory, monitor."""
    figures = [quantum_model.generate(name, {}, 0) for name in ("figure-2", "figure-3")]
    table1 = perturbation.generate("table-1", {"runs": "5" if quick else "20"}, 0)
    # Compiled code and libraries are loaded before anything is timed.
    simulate_point(figures[0], figures[0].points[0], engine="compiled")
    surface(0.011, 0.013)
    for app in table1.applications:
        measure(table1.model_copy(update={"runs": 1}), app, engine="compiled")
    surface.cache_clear()
    for solver in ("chain", "event"):
        for figure in figures:
            yield (
                f"{figure.name}, {solver}, points",
                len(figure.points),
                partial(ioopt.solve, figure, solver),
            )
    few = figures[0].points[:: 40 if quick else 16]
    for engine in ("python", "compiled"):
        yield f"event in {engine}, points", len(few), partial(_walk, figures[0], few, engine)
    runs = table1.runs * 4 * len(table1.applications)
    yield (
        "laboratory, Table 1, runs",
        runs,
        lambda: [measure(table1, a) for a in table1.applications],
    )
    yield "monitor, observations", 100_000, _observe


def _walk(figure: QuantumModelProblem, points: Any, engine: Any) -> None:
    for point in points:
        simulate_point(figure, point, engine=engine)


def _observe() -> None:
    monitor = GangednessMonitor(4)
    for k in range(100_000):
        monitor.observe(k % 3 > 0, k % 3 > 0, 5.0)
    monitor.classify()


def sizes(quick: bool) -> Iterator[tuple[Any, ...]]:
    """Gap of every pattern (worst: of feasible ones) within the limit, by number of jobs."""
    for preset in ("heavy-mix", "heavy-20") if quick else ("heavy-mix", "heavy-20", "heavy-40"):
        for seed in range(1 if quick else 3):
            problem = flexible_gang.generate(preset, {}, seed)
            solve = partial(ioopt.solve, problem, "exact", time_limit=LIMIT_SECONDS, gap=0.002)
            seconds, result = timed(solve)
            patterns = result.metrics["per_pattern"].values()
            gaps = [row["gap"] for row in patterns if row["status"] != "infeasible"]
            worst = "no plan" if None in gaps else f"{max(gaps):.2%}"
            yield (problem.name, problem.num_rows, len(patterns), len(gaps), worst,
                   f"{result.gap or 0.0:.2%}", f"{seconds:.1f}")  # fmt: skip


def front(quick: bool) -> None:
    """The lambda front of one heavy mix: I/O response against compute progress."""
    problem = flexible_gang.generate("heavy-mix", {}, 2)
    lambdas = (0.0, 0.1, 1.0) if quick else (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
    points = lambda_front(problem, lambdas, seconds=10.0)
    rows = [
        (p.label, f"{p.k},{p.d}", f"{1000 * p.io_response_seconds:.1f}", f"{p.io_slowdown:.3f}",
         f"{p.compute_progress:.3f}", f"{p.cpu_utilisation:.3f}", "" if p.dominated else "yes")
        for p in points
    ]  # fmt: skip
    head = ("plan", "k,d", "response ms", "I/O slowdown", "progress", "CPU", "on the front")
    show(f"Lambda front of {problem.name}", head, rows)
    title = f"{problem.name}: exact for a range of lambda"
    save(plot_lambda_front([point.row() for point in points], title=title), str(FRONT_PICTURE))
    print(f"drawn to {FRONT_PICTURE}")
