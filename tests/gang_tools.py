"""Helpers of the gang tests: engines, phase cases, compiled phases on a State, and
random workloads.
"""

import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ioopt.compiled.memory import Maker
from ioopt.decisions.gang.rules import Rules
from ioopt.decisions.gang.state import State
from ioopt.problems.gang import GangMatrixPlan, GangMatrixProblem, GangProblem
from ioopt.sim.gang.update import PHASES, updated
from ioopt.solvers.gang.policy import ADAPTIVE_IOGS, GS, IOGS, MIGRATE_IOGS

"""The simulators of gangs."""
POLICIES = {policy.name: policy for policy in (GS, IOGS, ADAPTIVE_IOGS, MIGRATE_IOGS)}
CASE_NAMES = {
    "GS": "gs",
    "IOGS": "iogs",
    "ADAPT": "adaptive-iogs",
    "MIGRATE": "migrate-iogs",
}


def workload(
    jobs: Iterable[tuple[float, Sequence[int], float, float]], **machine: Any
) -> dict[str, Any]:
    """Return a gang instance with jobs 0, 1 and so on.

    A row of *jobs* is (arrival, file nodes, local seconds, remote seconds). A slice
    takes 100 s unless *machine* says otherwise.
    """
    rows = [
        {
            "id": k,
            "arrival_seconds": at,
            "file_nodes": files,
            "local_seconds": local,
            "remote_seconds": remote,
        }
        for k, (at, files, local, remote) in enumerate(jobs)
    ]
    return {
        "format": "ioopt/gang",
        "machine": {"quantum_seconds": 100.0, **machine},
        "jobs": rows,
    }


def decision(
    running: Iterable[tuple[Any, ...]],
    waiting: Iterable[tuple[Any, ...]] = (),
    **machine: Any,
) -> dict[str, Any]:
    """Return a gang matrix of 4 nodes and 2 rows, unless *machine* says otherwise.

    A slice takes 100 s. A row of *running* begins with id, columns, file nodes and home
    row; a row of *waiting* begins with id and file nodes. Then follow local seconds,
    remote seconds and, optionally, a dictionary of further fields.
    """
    times = ("local_seconds", "remote_seconds")

    def row(job: tuple[Any, ...], *names: str) -> dict[str, Any]:
        said = job[-1] if isinstance(job[-1], dict) else {}
        return {**dict(zip((*names, *times), job, strict=False)), **said}

    return {
        "format": "ioopt/gang-matrix",
        "name": "decision",
        "machine": {"nodes": 4, "levels": 2, "quantum_seconds": 100.0, **machine},
        "running": [
            row(job, "id", "columns", "file_nodes", "home_row") for job in running
        ],
        "waiting": [row(job, "id", "file_nodes") for job in waiting],
    }


def phase_case(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a phase case, and its gang matrix instance without replicas."""
    case = json.loads(path.read_text("utf-8"))
    files = case["before"]["file"]
    begun = {"remaining_fraction": 0.5, "attained_seconds": 100.0}
    running = [
        (
            job["id"],
            job["cols"],
            files[str(job["id"])],
            job["home"],
            1000.0,
            2000.0,
            begun,
        )
        for job in case["before"]["running"]
    ]
    waiting = [
        (job, files[str(job)], 1000.0, 2000.0) for job in case["before"]["waiting"]
    ]
    instance = decision(
        running,
        waiting,
        nodes=case["P"],
        levels=case["M"],
        quantum_seconds=200.0,
        migration_seconds=case["C"],
        migration_tasks_per_quantum=case["Q"],
    )
    return case, instance | {"name": case["name"], "migration_tasks_left": case["Q"]}


def with_replicas(state: State, case: dict[str, Any]) -> State:
    """Return *state* with the replicas that exist in a phase case before the phase."""
    spans, rows = list(state.spans), list(state.rows)
    for i, job in enumerate(case["before"]["running"]):
        for row in job["rows"]:
            spans[i] |= 1 << row
            rows[row] |= state.columns[i]
    return state._replace(spans=spans, rows=rows)


def drawn(problem: GangMatrixProblem, plan: GangMatrixPlan) -> list[str]:
    """Return the rows of the matrix of *plan* in the notation of the phase cases."""
    cells = [["."] * problem.machine.nodes for _ in range(problem.machine.levels)]
    for job in plan.jobs:
        for row in job.rows:
            for node in job.columns:
                cells[row][node] = str(job.id)
    return [" ".join(row) for row in cells]


def compiled_phase(state: State, name: str, rules: Rules, make: Maker) -> State:
    """Return *state* after one phase, run on what *make* makes."""
    return updated(state, rules, [PHASES[name]], name == "fill", make)


def random_workload(seed: int, max_jobs: int = 14) -> GangProblem:
    """Return a small random workload whose times are whole numbers.

    Many arrivals, ends of jobs and ends of slices are therefore simultaneous.
    """
    rng = random.Random(seed)
    nodes, levels = rng.randint(2, 9), rng.randint(1, 4)
    quantum = rng.choice([50, 100])
    moving = {
        "migration_seconds": float(rng.choice([0, 10, 20, quantum])),
        "migration_tasks_per_quantum": rng.choice([None, 0, 1, 2, 4]),
    }
    jobs = []
    for _ in range(rng.randint(1, max_jobs)):
        size = (
            rng.randint(1, nodes)
            if rng.random() < 0.3
            else rng.randint(1, (nodes + 1) // 2)
        )
        local = float(rng.choice([1, 2, 3, 4, 5, 8]) * quantum // rng.choice([1, 1, 2]))
        arrival = float(rng.randint(0, 12) * quantum // 2)
        files = rng.sample(range(nodes), size)
        jobs.append((arrival, files, local, local * rng.choice([1, 2, 3])))
    made = workload(
        jobs, nodes=nodes, levels=levels, quantum_seconds=float(quantum), **moving
    )
    return GangProblem.model_validate(made | {"name": f"random-{seed}"})


def random_matrix(
    seed: int, nodes: int | None = None, levels: int | None = None, jobs: int = 13
) -> GangMatrixProblem:
    """Return a random gang matrix with up to *jobs* jobs.

    Running jobs are placed where they fit; the other jobs wait.
    """
    rng = random.Random(seed)
    nodes, levels = nodes or rng.choice([3, 7, 64, 70]), levels or rng.randint(1, 4)
    rows: list[set[int]] = [set(range(nodes)) for _ in range(levels)]
    running: list[dict[str, Any]] = []
    waiting: list[dict[str, Any]] = []
    for k in range(rng.randint(1, jobs)):
        local, home = float(rng.choice([100, 200, 400])), rng.randrange(levels)
        size = rng.randint(1, nodes * 3 // 4)
        remote = local * rng.choice([1, 1.2, 2, 3])
        job = {"id": k, "local_seconds": local, "remote_seconds": remote}
        if rng.random() < 0.6 and len(rows[home]) >= size:
            columns = rng.sample(sorted(rows[home]), size)
            rows[home] -= set(columns)
            files = columns if rng.random() < 0.4 else rng.sample(range(nodes), size)
            running.append(
                {
                    **job,
                    "columns": columns,
                    "file_nodes": files,
                    "home_row": home,
                    "remaining_fraction": rng.choice([0.25, 1.0]),
                    "attained_seconds": float(rng.choice([0, 100, 300])),
                }
            )
        else:
            waiting.append(
                {**job, "file_nodes": rng.sample(range(nodes), rng.randint(1, nodes))}
            )
    machine = {
        "nodes": nodes,
        "levels": levels,
        "quantum_seconds": 100.0,
        "migration_seconds": 20.0,
    }
    return GangMatrixProblem.model_validate(
        {
            "name": f"matrix-{seed}",
            "machine": machine,
            "running": running,
            "waiting": waiting,
            "migration_tasks_left": rng.choice([None, 0, 1, 2, 50]),
        }
    )
