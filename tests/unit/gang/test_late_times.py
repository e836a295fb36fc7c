"""Times of decades, where the steps of a float exceed 1e-7 s (rule 3)."""

from itertools import chain, repeat
from random import Random

import pytest
from conftest import both_makers

import ioopt
from ioopt.compiled.memory import Maker
from ioopt.decisions.gang.state import Gang, Timing, tolerance_at
from ioopt.options import Deadline
from ioopt.problems.gang import GangProblem, Machine
from ioopt.sim.gang.simulate import GangSimulation
from ioopt.sim.pace import Pace
from ioopt.solvers.gang.policy import GS

ONE_NODE = Machine(nodes=1, levels=1, quantum_seconds=200.0)
LATE = 2.0**31
"""68 years in seconds. Floats beside it are 2^-21 s = 4.8e-7 s apart."""


@pytest.mark.parametrize("make", both_makers(), ids=lambda make: type(make).__name__)
def test_a_job_ends_whose_last_part_is_below_the_steps_of_a_float(make: Maker) -> None:
    """.2 s after 2^31 s is 419,430.4 steps. The job runs 419,430 of them; .4 steps =
    1.9e-7 s are left, more than 1e-7 s and too little to move the clock.
    """
    timing = Timing.of(ONE_NODE)
    assert LATE + 1.9e-7 == LATE
    assert tolerance_at(timing, LATE) == 2.0**-19  # four steps
    engine = GangSimulation([Gang(0, 1, 1, 0.2, 0.2, LATE)], timing, GS, make=make)
    clock = chain(repeat(0.0, 20), repeat(1e9))
    trajectory = engine.run(Pace(Deadline(1.0, clock.__next__, started=0.0)))
    assert list(trajectory.finish) == [LATE + 419_430 * 2.0**-21]


def test_the_tolerance_of_four_years_is_the_one_of_a_second() -> None:
    timing = Timing.of(ONE_NODE)
    years = 365.25 * 86_400
    assert tolerance_at(timing, 3.5 * years) == tolerance_at(timing, 1.0) == 1e-7
    assert tolerance_at(timing, 3.6 * years) > 1e-7


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("policy", ["gs", "adaptive-iogs", "migrate-iogs"])
def test_late_workloads_end_and_hold_every_rule(seed: int, policy: str) -> None:
    rng = Random(seed)
    begin = rng.choice([LATE, 3e9, 9.9e9])
    jobs = []
    for k in range(20):
        local = rng.uniform(0.1, 30)
        job = {
            "id": k,
            "arrival_seconds": begin + rng.uniform(0, 50),
            "file_nodes": sorted(rng.sample(range(4), rng.randint(1, 4))),
            "local_seconds": local,
            "remote_seconds": local * rng.uniform(1, 3),
        }
        jobs.append(job)
    machine = {"nodes": 4, "levels": 2, "quantum_seconds": rng.choice([0.7, 5, 200])}
    problem = GangProblem.model_validate({"machine": machine, "jobs": jobs})
    result = ioopt.solve(problem, policy, bound=False)
    assert result.status == "feasible" and not ioopt.check(problem, result)


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_jobs_of_a_millisecond_after_centuries_stay_within_their_bound(
    arithmetic: str,
) -> None:
    """At 10^10 s floats are 1.9e-6 s apart and the tolerance is 8.9e-6 s: a job of
    1 ms may take .1 ms less, in float arithmetic, and the bound allows for it.
    """
    rows = [(9999000000.000002, 0.001), (9999000000.001, 0.003), (9999000000.3, 0.01)]
    jobs = [
        {"id": k, "arrival_seconds": arrival, "file_nodes": [0], "local_seconds": work}
        | {"remote_seconds": 1.1 * work}
        for k, (arrival, work) in enumerate(rows)
    ]
    machine = {"nodes": 1, "levels": 2, "quantum_seconds": 0.001}
    problem = GangProblem.model_validate({"machine": machine, "jobs": jobs})
    result = ioopt.solve(problem, "iogs", settings={"arithmetic": arithmetic})
    assert result.status == "feasible" and not result.notes
    assert not ioopt.check(problem, result)
