"""Seeded batch-io workloads: repeatable, with the machine and mix they promise."""

import pytest

import ioopt
from ioopt.errors import UsageError
from ioopt.generate.batch_io.generate import MIRA, PRESETS, SIZES, generate
from ioopt.problems.batch_io import BatchIoProblem


def uncongested(problem: BatchIoProblem, job) -> tuple[float, float]:
    peak = problem.machine.peak(problem.machine.allocated_nodes(job.nodes))
    compute = sum(p.compute_seconds * p.repeat for p in job.phases)
    return compute, sum(p.io_bytes / peak * p.repeat for p in job.phases)


@pytest.mark.parametrize("preset", PRESETS)
def test_same_seed_same_instance(preset: str) -> None:
    first, again, other = (generate(preset, {}, seed) for seed in (5, 5, 6))
    assert first == again and first.jobs != other.jobs
    assert (
        first.name == f"{preset}-5"
        and first.meta is not None
        and first.meta["seed"] == 5
    )


def test_a_month_on_mira() -> None:
    problem = generate("mira-month", {}, 1)
    assert problem.machine == MIRA and len(problem.jobs) == 3000
    assert (MIRA.units, MIRA.peak(8192)) == (96, 250e9)
    assert set(job.nodes for job in problem.jobs) <= set(SIZES)
    submits = [job.submit_seconds for job in problem.jobs]
    assert submits == sorted(submits) and submits[0] >= 0 and submits[-1] <= 30 * 86400
    work, shares = 0.0, []
    for job in problem.jobs:
        compute, io = uncongested(problem, job)
        shares.append(io / (compute + io))
        assert 299 <= compute + io <= 86_401
        assert (
            job.walltime_seconds % 300 == 0
            and job.walltime_seconds >= compute + io - 0.01
        )
        work += (compute + io) * job.nodes
    # The cut at one day takes a part off the load of 0.9.
    assert 0.78 < work / (30 * 86400 * 49152) < 0.91
    assert sum(shares) / len(shares) == pytest.approx(0.11, abs=0.003)
    assert min(shares) >= 0.0499 and max(shares) <= 0.1701


def test_congested_months_differ_in_sizes_and_bursts() -> None:
    """Sizes of the wide month are weighted by (nodes / 512)^.5: .278 of 1.544 have
    8,192 nodes and more.
    """
    mixed, wide, bursts = (
        generate(f"mira-{name}", {}, 1) for name in ("mixed", "wide", "bursts")
    )
    for problem, share in ((mixed, 0.06), (wide, 0.18)):
        large = sum(job.nodes >= 8192 for job in problem.jobs)
        assert large / len(problem.jobs) == pytest.approx(share, abs=0.025)
    assert len(wide.jobs) == 1500 and len(bursts.jobs) == 3000
    for k in range(0, 3000, 8):
        alike = {(j.submit_seconds, j.nodes, j.phases) for j in bursts.jobs[k : k + 8]}
        assert len(alike) == 1
    assert [job.id for job in bursts.jobs] == [*range(1, 3001)]


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["mira-mixed", "mira-wide", "mira-bursts"])
def test_congested_months_slow_jobs_down(preset: str) -> None:
    """By 1.3 in the mean of seeds 0 to 39 (1.16 to 1.42); mira-month by 1.02."""
    for seed in (0, 1):
        result = ioopt.solve(
            generate(preset, {}, seed), "base-line", settings={"rates": "no"}
        )
        assert 1.15 < result.metrics["mean_slowdown"] < 1.45


@pytest.mark.parametrize(
    ("preset", "settings", "what"),
    [
        ("mira", {}, "no preset 'mira'; did you mean 'mira-"),
        ("mira-month", {"job": "3"}, "no setting 'job'"),
        ("mira-month", {"jobs": "0"}, "jobs"),
        ("mira-month", {"shortest_seconds": "1e9"}, "is above longest_seconds"),
        ("mira-month", {"io_share_from": "0.5"}, "is above io_share_to"),
    ],
)
def test_refused(preset: str, settings: dict[str, str], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        generate(preset, settings, 0)
