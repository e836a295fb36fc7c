"""Bound plans of random batches and workflows against the slow exact simulator."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from bound_reference import BoundReference
from workflow_timeline import CASES, Run

import ioopt
from ioopt import registry
from ioopt.checks.replication.check import check
from ioopt.problems.replication import (
    ReplayOptions,
    ReplicationPlan,
    ReplicationProblem,
)
from ioopt.sim.replication.bind import bind
from ioopt.sim.replication.build import Noise
from ioopt.sim.replication.dispatch import dispatch
from ioopt.sim.replication.noisy import noisy_makespans
from ioopt.solving import simulate

KINDS = [kind for kind in CASES if kind != "shared"]
"""Kinds of cases whose plans can be bound."""
NORMAL = np.random.default_rng(8191).standard_normal(8191)


def _case(kind: str, seed: int) -> tuple[ReplicationProblem, ReplicationPlan, Any]:
    """Return a random problem, a plan for it that is not bound, and its case."""
    case = CASES[kind](seed)
    case["instance"]["network"]["remote_link"] = case["link"]
    case["instance"].pop("task_disk", None)  # no bound plan states it
    problem = ioopt.load(case["instance"])
    options = case.get("options", {})
    if "policy" in case:
        row = registry.solver(case["policy"], registry.KINDS["replication"])
        plan, _ = dispatch(
            problem,
            row.make_policy(None),
            prefetch=case["prefetch"],
            eviction=case["eviction"],
            options=ReplayOptions(**options),
        )
        return problem, plan, case
    barriers = case.get("barriers", False)
    told = {
        "order": case["order"],
        "eviction": case["eviction"],
        "moves": "replay",
        "rounds": case["rounds"] if barriers else None,
        "barriers": barriers,
        **options,
    }
    return problem, ReplicationPlan.model_validate(told), case


def _disagreement(kind: str, seed: int) -> str | None:
    """Return how a bound plan of a random case runs otherwise than it should; None if
    it does not.
    """
    problem, plan, case = _case(kind, seed)
    bound = bind(problem, plan)
    written = {"evictions": [], "moves_after": [], **bound.to_dict()}
    if bound.to_dict() != ReplicationPlan.model_validate(written).to_dict():
        return "the plan is written otherwise"
    found = simulate(problem, bound)
    reference = BoundReference(case["instance"], written)
    wanted = float(reference.run())
    seconds = found.metrics["makespan_seconds"]
    if not math.isclose(seconds, wanted, rel_tol=1e-9, abs_tol=1e-9):
        return f"{seconds} s, exactly {wanted} s"
    for row, move in zip(_by_move(found.schedule), _exact(reference), strict=True):
        if not np.allclose(row, move, rtol=1e-9, atol=1e-9):
            return f"a move lasts {row}, exactly {move}"
    wrong = check(problem, bound, found.schedule).violations
    if wrong:
        return str(wrong[0])
    rng = random.Random(f"bound {seed}")
    noise = Noise(rng.choice([0.0, 0.01, 0.5]), rng.choice([0.0, 0.1, 0.5]))
    for draw, seconds in enumerate(noisy_makespans(problem, bound, noise, 2), 1):

        def weight(file: int, receiver: int, draw: int = draw) -> float:
            place = (7919 * file + 1543 * receiver + 4801 * draw) % 8191
            return math.exp(noise.sharing_noise * NORMAL[place])

        again = BoundReference(case["instance"], written, noise.latency_seconds, weight)
        wanted = float(again.run())
        if not math.isclose(seconds, wanted, rel_tol=1e-6, abs_tol=1e-9):
            return f"draw {draw}: {seconds} s, exactly {wanted} s"
    return None


def _by_move(schedule: dict[str, Any]) -> list[tuple[float, float]]:
    """Return the start and the end of each transfer, in the order of starts."""
    rows = schedule["transfers"]
    return sorted((row["start_seconds"], row["end_seconds"]) for row in rows)


def _exact(reference: BoundReference) -> list[tuple[float, float]]:
    found = []
    for move in reference.moves:
        assert move.begun is not None and move.ended is not None
        found.append((float(move.begun), float(move.ended)))
    return sorted(found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("last", [30, pytest.param(400, marks=pytest.mark.slow)])
def test_bound_plans_run_as_in_the_exact_simulator(kind: str, last: int) -> None:
    """With copy entries, several cores, staging, saves, spills, rounds with barriers,
    releases, private links, storage disks, memory, overheads; without noise and with
    it.
    """
    wrong = {}
    for seed in range(1, last + 1):
        text = _disagreement(kind, seed)
        if text is not None:
            wrong[seed] = text
    assert wrong == {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_bound_plan_has_the_moves_of_the_exact_replay(kind: str) -> None:
    for seed in range(1, 41):
        problem, plan, case = _case(kind, seed)
        if "order" not in case:
            continue
        run = Run(
            case["instance"],
            case["link"],
            case["eviction"],
            case["order"],
            options=case.get("options"),
            rounds=case["rounds"] if case.get("barriers") else (),
        )
        run.run()
        bound = bind(problem, plan)
        assert bound.bound_moves is not None
        theirs = [(move.target, move.file, move.source) for move in run.moves]
        assert sorted(bound.bound_moves, key=str) == sorted(theirs, key=str)
        gone = [(node, file) for file, node, _ in run.gone]
        assert sorted(gone) == sorted(row[:2] for row in bound.evictions)
