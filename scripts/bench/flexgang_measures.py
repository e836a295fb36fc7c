"""Benchmark of features F1 to F3: both sweeps with both engines, the laboratory, the monitor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.frame import timed

from ioopt.generate.flexgang import perturbation, quantum_model
from ioopt.measure.gangedness_monitor import GangednessMonitor
from ioopt.measure.perturbation import measure
from ioopt.measure.quantum_chain import surface
from ioopt.measure.quantum_event import simulate_point
from ioopt.problems.flexgang.quantum_model import QuantumModelProblem
from ioopt.tables import render


def main(quick: bool = False) -> None:
    """Print one table: what was done, how much of it, seconds; compiled against plain Python."""
    rows: list[tuple[str, int, float, float]] = []

    def row(what: str, amount: int, work: Callable[[], Any]) -> float:
        seconds, _ = timed(work)
        rows.append((what, amount, round(seconds, 3), round(1000 * seconds / amount, 4)))
        return seconds

    figures = [quantum_model.generate(name, {}, 0) for name in ("figure-2", "figure-3")]
    points = sum(len(figure.points) for figure in figures)
    _warm_up(figures[0])
    surface.cache_clear()
    sweeps = 0.0
    for solver in ("chain", "event"):
        for figure in figures:
            sweeps += row(
                f"{figure.name}, {solver}, points",
                len(figure.points),
                lambda f=figure, s=solver: _solve(f, s),
            )
    few = figures[0].points[:: 40 if quick else 16]
    plain = row("event in plain Python, points", len(few), lambda: _walk(figures[0], few, "python"))
    fast = row("event compiled, points", len(few), lambda: _walk(figures[0], few, "compiled"))
    table1 = perturbation.generate("table-1", {"runs": "5" if quick else "20"}, 0)
    runs = table1.runs * 4 * len(table1.applications)
    row(
        "laboratory, Table 1, runs", runs, lambda: [measure(table1, a) for a in table1.applications]
    )
    count = 100_000
    row("monitor, observations", count, lambda: _observe(count))
    print(render(("what", "amount", "seconds", "ms each"), rows))
    print(f"both sweeps ({points} points) with both engines: {sweeps:.1f} s")
    print(f"event engine: compiled is {plain / fast:.1f} times as fast as plain Python")


def _warm_up(figure: QuantumModelProblem) -> None:
    """Load compiled code and libraries before anything is timed."""
    simulate_point(figure, figure.points[0], engine="compiled")
    surface(0.011, 0.013)
    app = perturbation.generate("figure-5", {"runs": "2"}, 0)
    for one in app.applications:
        measure(app, one, engine="compiled")


def _solve(figure: QuantumModelProblem, solver: str) -> None:
    from ioopt.options import Deadline, SolveOptions
    from ioopt.protocols import SolveRequest
    from ioopt.registry import KINDS, load_target
    from ioopt.registry import solver as find

    spec = find(solver, KINDS["quantum-model"])
    load_target(spec.target)(figure, SolveRequest(SolveOptions(), Deadline(None)))


def _walk(figure: QuantumModelProblem, points: Any, engine: Any) -> None:
    for point in points:
        simulate_point(figure, point, engine=engine)


def _observe(count: int) -> None:
    monitor = GangednessMonitor(4)
    for k in range(count):
        monitor.observe(k % 3 > 0, k % 3 > 0, 5.0)
    monitor.classify()
