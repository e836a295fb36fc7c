"""Solvers judge their static plans by the model alone, as the checker does."""

import random

from random_replication import random_case

import ioopt
from ioopt.checks.replication.check import check
from ioopt.errors import SimulationError
from ioopt.models.replication.batch_time import moves_seconds, plan_seconds
from ioopt.models.replication.static import (
    Moves,
    StaticInstance,
    copied_in_cycles,
    is_feasible,
    read_pairs,
    reduce,
    to_plan,
)
from ioopt.problems.replication import ReplicationPlan
from ioopt.sim.replication.simulate import simulate


def random_moves(instance: StaticInstance, rng: random.Random) -> Moves:
    """Return moves that bring every input in a random way, sometimes with a mistake."""
    nodes = range(instance.num_nodes)
    assign = tuple(rng.choice(nodes) for _ in instance.problem.tasks)
    remote: set[tuple[int, int]] = set()
    copies: set[tuple[int, int, int]] = set()
    pairs = sorted(read_pairs(instance, assign))
    fetches = rng.choice([0.3, 0.9])
    for file, node in pairs:
        if file in instance.held[node] and rng.random() < 0.95:
            continue
        if rng.random() < fetches:
            remote.add((file, node))
        else:
            copies.add((file, rng.choice(nodes), node))
    if rng.random() < 0.2 and pairs:
        file, target = rng.choice(pairs)
        copies.add((file, rng.choice(nodes), target))
    if rng.random() < 0.2 and pairs:
        copies.add((rng.choice(pairs)[0], 0, rng.choice(nodes)))
    if rng.random() < 0.3 and remote:
        remote.discard(min(remote))
    return Moves(assign, tuple(sorted(remote)), tuple(sorted(copies)))


def test_static_plans_are_judged_as_the_checker_judges_them() -> None:
    valid = cyclic = 0
    for seed in range(120):
        problem = ioopt.load(random_case(seed)[0])
        instance = reduce(problem)
        rng = random.Random(seed)
        for _ in range(6):
            moves = random_moves(instance, rng)
            strict = check(problem, to_plan(instance, moves), None)
            printed = check(problem, to_plan(instance, moves, printed=True), None)
            valid += not strict.violations
            assert is_feasible(instance, moves, "acyclic") == (not strict.violations)
            assert is_feasible(instance, moves, "printed") == (not printed.violations)
            lost = [v.item for v in strict.violations if v.rule == "forest"]
            files = [instance.files[f] for f in copied_in_cycles(instance, moves)]
            assert [problem.files[f].id for f in files] == lost
            cyclic += bool(lost)
            seconds = max(moves_seconds(instance, moves))
            assert seconds == strict.objectives["additive_seconds"]
    assert valid > 20 and cyclic > 10


def test_the_batch_time_of_a_replayed_plan_is_the_checkers() -> None:
    rounds = 0
    for seed in range(120):
        given, stated, _ = random_case(seed)
        problem = ioopt.load(given)
        plan = ReplicationPlan.model_validate(stated)
        try:
            schedule = simulate(problem, plan).schedule
        except SimulationError:
            continue
        queues = [
            [problem.task_index[k] for k in plan.order.get(n.id, ()) if type(k) is str]
            for n in problem.nodes
        ]
        found = plan_seconds(problem, plan, queues, schedule["transfers"])
        assert found == check(problem, plan, schedule).objectives["additive_seconds"]
        rounds += plan.rounds is not None
    assert rounds > 5
