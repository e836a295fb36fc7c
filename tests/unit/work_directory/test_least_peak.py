"""The linear program of the least peak against all orders of tiny work directories."""

import itertools
import random

import pytest

import ioopt
from ioopt.sim.work_directory.order import sequential_peak
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat


def random_directory(seed):
    """Five tasks; each reads some products of earlier ones and writes one or two."""
    chance = random.Random(seed)
    files, tasks = [], []
    for k in range(5):
        inputs = [file["id"] for file in files if chance.random() < 0.4]
        new = [
            {
                "id": f"f{k}{n}",
                "bytes": chance.randrange(1, 9),
                "keep": chance.random() < 0.2,
            }
            for n in range(chance.randrange(1, 3))
        ]
        task = {"id": f"t{k}", "compute_seconds": chance.randrange(3), "inputs": inputs}
        task |= {"outputs": [file["id"] for file in new]}
        task |= {"scratch_bytes": chance.choice([0, 0, 5])}
        files += new
        tasks.append(task)
    order = chance.sample(range(5), 5)
    return ioopt.load(
        {
            "format": "ioopt/work-directory",
            "cores": 2,
            "quota_bytes": 12,
            "files": files,
            "tasks": [tasks[k] for k in order],
        }
    )


def least_of_all_orders(problem):
    legal = []
    for order in itertools.permutations(range(len(problem.tasks))):
        place = {k: at for at, k in enumerate(order)}
        rows = enumerate(problem.predecessors)
        if all(place[p] < place[k] for k, row in rows for p in row):
            legal.append(order)
    return min(sequential_peak(problem, order) for order in legal)


@pytest.mark.parametrize("seed", range(12))
def test_the_optimum_is_the_least_peak_of_all_orders(seed):
    problem = random_directory(seed)
    model = ioopt.model(problem, "least-peak")
    answer = solve_by_cpsat(model.program, BackendLimits())
    least = least_of_all_orders(problem)
    assert answer.objective * model.per_unit == pytest.approx(least)
    plan = model.outcome(answer.values).plan
    assert ioopt.check(problem, plan) == []
    assert ioopt.simulate(problem, plan).metrics["peak_bytes"] == least
