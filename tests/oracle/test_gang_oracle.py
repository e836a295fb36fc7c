"""Both engines, both arithmetics and the checker against a
literal reference on cells.
"""

from fractions import Fraction

import pytest
from conftest import both_makers, first, needs_kernels
from gang_reference import Reference, RefJob
from gang_tools import POLICIES, random_workload

import ioopt
from ioopt.compiled import library
from ioopt.decisions.gang.state import Timing
from ioopt.generate.gang.generate import Lublin, make_table
from ioopt.problems.gang import GangProblem
from ioopt.registry.policies import gang_policy
from ioopt.sim.gang.simulate import GangSimulation
from ioopt.units import exact

SOLVERS = (*POLICIES, "guarded-iogs")


def reference(
    problem: GangProblem, policy: str, recompute: str
) -> tuple[list[RefJob], Reference]:
    machine = problem.machine
    jobs = [
        RefJob(
            k, exact(job.arrival_seconds), list(job.file_nodes), *problem.exact_times[k]
        )
        for k, job in enumerate(problem.jobs)
    ]
    run = Reference(
        machine.nodes,
        machine.levels,
        exact(machine.quantum_seconds),
        exact(machine.migration_seconds),
        machine.migration_tasks_per_quantum,
        jobs,
        policy,
        recompute == "boundary",
    )
    run.run()
    return jobs, run


def compare(seed: int, policy: str, recompute: str = "event") -> int:
    """Hold all engines to the reference on one workload; the number of jobs compared.

    The compiled engine takes part where kernels were compiled.
    """
    problem = random_workload(seed)
    jobs, run = reference(problem, policy, recompute)
    wanted = [(job.started, job.finished, job.at_files) for job in jobs]
    common = {"recompute": recompute}
    result = ioopt.solve(problem, policy, settings={**common, "arithmetic": "exact"})
    assert result.status in ("feasible", "optimal"), (seed, policy, result.violations)
    found = [
        (Fraction(job["start_exact"]), Fraction(job["finish_exact"]), job["local"])
        for job in (result.schedule or {})["jobs"]
    ]
    assert found == wanted, (seed, policy)
    assert result.metrics["migrated_tasks"] == run.moved, (seed, policy)
    plain = ioopt.solve(problem, policy, settings={**common, "engine": "python"})
    finish = [job["finish_seconds"] for job in (plain.schedule or {})["jobs"]]
    assert finish == pytest.approx([float(job.finished or 0) for job in jobs], abs=1e-6)
    if library.loaded() is not None:
        twin = ioopt.solve(problem, policy, settings={**common, "engine": "compiled"})
        assert [
            job["finish_seconds"] for job in (twin.schedule or {})["jobs"]
        ] == finish
        assert (twin.schedule or {})["jobs"] == (plain.schedule or {})["jobs"]
        shared = set(twin.metrics) - {"matrix_checked"}
        assert {key: twin.metrics[key] for key in shared} == {
            key: plain.metrics[key] for key in shared
        }
    return len(jobs)


@pytest.mark.parametrize("policy", first(3, SOLVERS))
def test_first_workloads(policy: str) -> None:
    assert sum(compare(seed, policy) for seed in range(60)) > 300


@pytest.mark.parametrize("policy", SOLVERS)
def test_updates_at_boundaries(policy: str) -> None:
    assert sum(compare(seed, policy, "boundary") for seed in range(25)) > 100


@pytest.mark.parametrize("solver", [*SOLVERS, "index-iogs"])
@pytest.mark.parametrize("nodes", [56, 57, 320])
def test_engines_agree_where_a_set_of_nodes_is_one_word_and_more(
    solver: str, nodes: int
) -> None:
    """Compiled, a set of nodes has a word for every 56 nodes."""
    settings = Lublin(jobs=100, nodes=nodes, levels=3)
    gangs = make_table(settings, seed=nodes).gangs()
    timing = Timing.of(settings.machine)
    policy = gang_policy(solver, {})
    plain, machine = (
        GangSimulation(gangs, timing, policy, make=make).run() for make in both_makers()
    )
    assert plain == machine and max(plain.finish) > 0


INDEX_SETTINGS: tuple[dict[str, object], ...] = (
    {},
    {"weight": "one", "queue": "fcfs"},
    {"age_seconds": 300, "pack_ratio": 2.5},
    {"age_seconds": 0, "guard": 0.4},
)


@pytest.mark.slow
@needs_kernels
@pytest.mark.parametrize("chosen", INDEX_SETTINGS, ids=str)
@pytest.mark.parametrize("recompute", ["event", "boundary"])
def test_index_engines_agree(chosen: dict[str, object], recompute: str) -> None:
    """The reference has no index policy; the engines are still held to one another."""
    started = 0
    for seed in range(40):
        problem = random_workload(seed)
        plain, twin = (
            ioopt.solve(
                problem,
                "index-iogs",
                settings={**chosen, "recompute": recompute, "engine": engine},
            )
            for engine in ("python", "compiled")
        )
        assert plain.status in ("feasible", "optimal"), plain.violations
        assert (twin.schedule or {})["jobs"] == (plain.schedule or {})["jobs"]
        assert twin.metrics["matrix_utilisation"] == plain.metrics["matrix_utilisation"]
        started += len(problem.jobs)
    assert started > 200


@pytest.mark.slow
@pytest.mark.parametrize("policy", SOLVERS)
def test_thousand_workloads(policy: str) -> None:
    compared = sum(compare(seed, policy) for seed in range(60, 1000))
    assert compared > 5000
