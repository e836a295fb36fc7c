"""Helpers of the gang tests: phase cases, the compiled phases on a State, random workloads."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ioopt.decisions.gang.state import UNLIMITED, State, Twin, guard_slots
from ioopt.problems.gang import GangMatrixPlan, GangMatrixProblem, GangProblem
from ioopt.solvers.gang.adaptive_iogs import POLICY as ADAPTIVE_IOGS
from ioopt.solvers.gang.gs import POLICY as GS
from ioopt.solvers.gang.iogs import POLICY as IOGS
from ioopt.solvers.gang.migrate_iogs import POLICY as MIGRATE_IOGS

POLICIES = {policy.name: policy for policy in (GS, IOGS, ADAPTIVE_IOGS, MIGRATE_IOGS)}
CASE_NAMES = {"GS": "gs", "IOGS": "iogs", "ADAPT": "adaptive-iogs", "MIGRATE": "migrate-iogs"}


def phase_case(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """A phase case as (the case, an ioopt/gang-matrix instance without replicas)."""
    case = json.loads(path.read_text("utf-8"))
    files = case["before"]["file"]
    times = {"local_seconds": 1000.0, "remote_seconds": 2000.0}
    running = [
        {"id": job["id"], "columns": job["cols"], "home_row": job["home"],
         "file_nodes": files[str(job["id"])], "remaining_fraction": 0.5, "attained_seconds": 100.0,
         **times}
        for job in case["before"]["running"]
    ]  # fmt: skip
    waiting = [
        {"id": job, "file_nodes": files[str(job)], **times} for job in case["before"]["waiting"]
    ]
    machine = {
        "nodes": case["P"], "levels": case["M"], "quantum_seconds": 200.0,
        "migration_seconds": case["C"], "migration_tasks_per_quantum": case["Q"],
    }  # fmt: skip
    instance = {
        "format": "ioopt/gang-matrix", "version": 1, "name": case["name"], "machine": machine,
        "running": running, "waiting": waiting, "migration_tasks_left": case["Q"],
    }  # fmt: skip
    return case, instance


def with_replicas(state: State, case: dict[str, Any]) -> State:
    """*state* with the replicas that a phase case has before the phase."""
    spans, rows = list(state.spans), list(state.rows)
    for i, job in enumerate(case["before"]["running"]):
        for row in job["rows"]:
            spans[i] |= 1 << row
            rows[row] |= state.columns[i]
    return state._replace(spans=spans, rows=rows)


def drawn(problem: GangMatrixProblem, plan: GangMatrixPlan) -> list[str]:
    """The matrix of a plan in the notation of the phase cases."""
    cells = [["."] * problem.machine.nodes for _ in range(problem.machine.levels)]
    for job in plan.jobs:
        for row in job.rows:
            for node in job.columns:
                cells[row][node] = str(job.id)
    return [" ".join(row) for row in cells]


@cache
def from_python(kernel: Any) -> Any:
    """A kernel that only other kernels call, made callable."""
    from numba import njit

    @njit(_nrt=False)
    def call(*values: Any) -> Any:
        return kernel(*values)

    return call


def compiled_phase(state: State, name: str, twin: Twin) -> State:
    """One compiled phase on *state*, replicas in it ignored as they are by CleanMatrix."""
    from ioopt.sim.gang import board as parts
    from ioopt.sim.gang import kernels
    from ioopt.sim.gang.table import pack_masks, unpack_masks

    everyone = [*state.jobs, *state.waiting]
    count, levels, nodes = len(state.jobs), len(state.rows), state.nodes

    def words(masks: list[int]) -> Any:
        taken = np.array([[mask >> node & 1 for node in range(nodes)] for mask in masks], bool)
        return pack_masks(taken.reshape(len(masks), nodes))

    jobs = parts.make_jobs(
        np.array([job.size for job in everyone], np.int64), words([job.files for job in everyone])
    )
    board = parts.make_board(max(len(everyone), 1), nodes, levels)
    placed = words(list(state.columns))
    for i in range(count):
        used = np.flatnonzero(placed[i])
        jobs.columns[i], jobs.low[i], jobs.high[i] = placed[i], used[0], used[-1] + 1
        jobs.local[i] = state.columns[i] == state.jobs[i].files
        from_python(parts.put)(board, jobs, i, state.homes[i])
        board.run[i] = i
    from_python(kernels.clean)(board, jobs, count)
    budget, moved = state.budget, 0
    order = np.zeros((2, levels), np.int64)
    total = count
    if name == "migrate":
        moved, budget = from_python(kernels.migrate)(board, jobs, count, nodes, budget)
    elif name == "compact":
        from_python(kernels.compact)(board, jobs, count, nodes, order[0], order[1])
    elif name == "schedule":
        limit = UNLIMITED if twin.share is None else guard_slots(twin.share, nodes, levels)
        total, _ = from_python(kernels.schedule)(
            board, jobs, count, nodes, twin.place, limit, count, len(everyone)
        )
    elif name == "fill":
        from_python(kernels.fill)(board, jobs, count, nodes, twin.local_first)
    keys = [int(key) for key in board.run[:total]]
    taken = unpack_masks(jobs.columns, nodes)
    columns = [sum(1 << int(node) for node in np.flatnonzero(taken[key])) for key in keys]
    spans = [int(jobs.span[key]) for key in keys]
    if name == "migrate":
        spans = [1 << int(jobs.home[key]) for key in keys]
    rows = [0] * levels
    for mask, span in zip(columns, spans):
        for row in range(levels):
            if span >> row & 1:
                rows[row] |= mask
    return state._replace(
        jobs=[everyone[key] for key in keys], columns=columns,
        homes=[int(jobs.home[key]) for key in keys], spans=spans, rows=rows, budget=int(budget),
        admitted=tuple(everyone[key] for key in keys[count:]),
        moved=tuple(state.jobs[int(k)].key for k in board.moved[:moved]),
        tasks_moved=state.budget - int(budget),
    )  # fmt: skip


def random_workload(seed: int, max_jobs: int = 14) -> GangProblem:
    """A small workload on integers with many simultaneous arrivals, finishes and slice ends."""
    rng = random.Random(seed)
    nodes, levels = rng.randint(2, 9), rng.randint(1, 4)
    quantum = rng.choice([50, 100])
    machine = {
        "nodes": nodes, "levels": levels, "quantum_seconds": float(quantum),
        "migration_seconds": float(rng.choice([0, 10, 20, quantum])),
        "migration_tasks_per_quantum": rng.choice([None, 0, 1, 2, 4]),
    }  # fmt: skip
    jobs = []
    for k in range(rng.randint(1, max_jobs)):
        size = rng.randint(1, nodes) if rng.random() < 0.3 else rng.randint(1, (nodes + 1) // 2)
        local = float(rng.choice([1, 2, 3, 4, 5, 8]) * quantum // rng.choice([1, 1, 2]))
        jobs.append(
            {
                "id": f"j{k}", "arrival_seconds": float(rng.randint(0, 12) * quantum // 2),
                "file_nodes": rng.sample(range(nodes), size), "local_seconds": local,
                "remote_seconds": local * rng.choice([1, 2, 3]),
            }
        )  # fmt: skip
    return GangProblem.model_validate({"name": f"random-{seed}", "machine": machine, "jobs": jobs})
