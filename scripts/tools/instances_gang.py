"""Bundled gang instances: the figures of the paper, seeded workloads, and a crowded matrix."""

from __future__ import annotations

from typing import Any

from ioopt.decisions.gang.state import Gang, State, Timing, gangs_of
from ioopt.generate.gang.generate import generate
from ioopt.problems.gang import GangProblem, nodes_of
from ioopt.sim.gang.simulate import GangSimulation
from ioopt.solvers.gang.gs import POLICY as GS

_TIMES = {"local_seconds": 400.0, "remote_seconds": 800.0}
Row = tuple[dict[str, Any], str, str, str]


def instances() -> list[Row]:
    """(instance, why, source, objective) of every bundled gang instance."""
    crowded = generate(None, {"jobs": 300, "mean_local_seconds": 3102}, 1)
    return [
        (_figure_5(), "A and B share node 1: IOGS gives them a row each and keeps C waiting, GS "
         "packs them into one row, remote", "Zhang et al., Figure 5", "mean_slowdown"),
        (_figure_3(), "six jobs on eight processors; J4 and J5 are replicated beside J6",
         "Zhang et al., Figure 3", "value_las"),
        (_figure_7(), "A has left: D can move to its file nodes in row 0, one task changes node",
         "Zhang et al., Figure 7", "value_las"),
        (_named(generate(None, {"jobs": 60, "intensity": "mixed"}, 1), "gang-mixed-60"),
         "60 jobs of the preset, mixed I/O intensities, lowest load", _generated(60), "mean_slowdown"),
        (_named(crowded, "gang-crowded-300"),
         "300 jobs at r = .5 and the highest load",          _generated(300), "mean_slowdown"),
        (_snapshot(crowded), "the matrix of gang-crowded-300 under gs when its queue is longest",
         _generated(300), "value_las"),
    ]  # fmt: skip


def _generated(jobs: int) -> str:
    return f"ioopt generate gang --preset blue-pacific-like --set jobs={jobs}, seed 1"


def _named(problem: GangProblem, name: str) -> dict[str, Any]:
    data = problem.model_dump(mode="json", exclude_none=True)
    return {"format": data.pop("format"), "version": data.pop("version"), **data, "name": name}


def _machine(nodes: int, levels: int) -> dict[str, Any]:
    return {
        "nodes": nodes, "levels": levels, "quantum_seconds": 100.0, "migration_seconds": 20.0,
        "migration_tasks_per_quantum": 64,
    }  # fmt: skip


def _figure_5() -> dict[str, Any]:
    files = {"A": [0, 1], "B": [1, 2], "C": [0, 2, 3]}
    jobs = [
        {"id": job, "arrival_seconds": 0.0, "file_nodes": nodes, **_TIMES}
        for job, nodes in files.items()
    ]
    return {"format": "ioopt/gang", "version": 1, "name": "gang-figure-5",
            "machine": _machine(4, 2), "jobs": jobs}  # fmt: skip


def _figure_3() -> dict[str, Any]:
    sizes = {"J1": 8, "J2": 8, "J3": 4, "J4": 2, "J5": 2, "J6": 4}
    waiting = [{"id": job, "file_nodes": list(range(n)), **_TIMES} for job, n in sizes.items()]
    return {"format": "ioopt/gang-matrix", "version": 1, "name": "gang-figure-3",
            "machine": _machine(8, 4), "running": [], "waiting": waiting}  # fmt: skip


def _figure_7() -> dict[str, Any]:
    places = {"B": ([1], [1], 1), "C": ([2, 3], [2, 3], 0), "D": ([0, 2], [0, 1], 1)}
    running = [
        {"id": job, "columns": columns, "file_nodes": files, "home_row": home, **_TIMES,
         "remaining_fraction": 0.5, "attained_seconds": 200.0}
        for job, (columns, files, home) in places.items()
    ]  # fmt: skip
    return {"format": "ioopt/gang-matrix", "version": 1, "name": "gang-figure-7",
            "machine": _machine(4, 2), "running": running, "waiting": []}  # fmt: skip


def _snapshot(problem: GangProblem) -> dict[str, Any]:
    """The state after the update of GS that leaves most jobs waiting, as a decision to take."""
    longest, taken = -1, {}

    def observe(now: Any, index: int, state: State, gone: tuple[int, ...]) -> None:
        nonlocal longest, taken
        waiting = len(state.waiting) - len(state.admitted)
        if waiting > longest:
            longest, taken = waiting, _decision(problem, state, now)

    timing = Timing.of(problem.machine)
    GangSimulation(gangs_of(problem), timing, GS, observer=observe).run()
    return taken


def _decision(problem: GangProblem, state: State, now: float) -> dict[str, Any]:
    started = {job.key for job in state.admitted}
    running = []
    for job, columns, home in zip(state.jobs, state.columns, state.homes):
        length = job.local if columns == job.files else job.remote
        need = length if job.key in started else state.clock.need[job.key]
        running.append(
            {**_job(job), "columns": list(nodes_of(columns)), "home_row": home,
             "remaining_fraction": min(1.0, round(float(need / length), 6)),
             "attained_seconds": round(float(state.clock.attained[job.key]), 3)}
        )  # fmt: skip
    waiting = [
        {**_job(job), "arrival_seconds": job.arrival}
        for job in state.waiting if job.key not in started
    ]  # fmt: skip
    return {
        "format": "ioopt/gang-matrix", "version": 1, "name": "gang-crowded-now",
        "machine": problem.machine.model_dump(mode="json"), "now_seconds": float(now),
        "running": running, "waiting": waiting, "migration_tasks_left": 64,
    }  # fmt: skip


def _job(job: Gang) -> dict[str, Any]:
    return {"id": job.key, "file_nodes": list(nodes_of(job.files)),
            "local_seconds": job.local, "remote_seconds": job.remote}  # fmt: skip
