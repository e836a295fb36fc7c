"""Gang workloads: calibrated preset, placements, Lublin-Feitelson, SWF import."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import shared_path

from ioopt.decisions.gang.state import gangs_of
from ioopt.errors import UsageError
from ioopt.formats.swf.log import parse_swf, read_swf
from ioopt.generate.gang.from_swf import gang_from_swf
from ioopt.generate.gang.generate import (
    LOADS_SECONDS,
    BluePacificLike,
    Lublin,
    Settings,
    generate,
    job_times,
    make_table,
    place_files,
)


def test_loads_are_those_of_the_paper() -> None:
    assert round(LOADS_SECONDS[0]) == 1796 and round(LOADS_SECONDS[8]) == 3102


def test_machine_is_that_of_sections_3_4_and_3_7() -> None:
    """320 nodes, MPL 5, T = 200 s; C = 10 % of T, Q = 64."""
    machine = generate(None, {"jobs": "1"}, 0).machine
    assert (machine.nodes, machine.levels, machine.quantum_seconds) == (320, 5, 200.0)
    assert machine.migration_seconds == 20.0
    assert machine.migration_tasks_per_quantum == 64


def test_preset_keeps_its_means() -> None:
    table = make_table(BluePacificLike(mean_local_seconds=2000.0), 3)
    assert len(table.size) == 10_000
    assert table.size.mean() == pytest.approx(36, abs=1.5)
    assert table.size.min() == 1 and table.size.max() == 256
    gaps = np.diff(table.arrival, prepend=0.0)
    assert gaps.mean() == pytest.approx(583.0)
    assert gaps.std() / gaps.mean() == pytest.approx(2.0, abs=0.15)
    # The ceil of rule 6 lengthens jobs by at most one request of 0.3 s.
    assert 2000.0 <= table.local.mean() <= 2000.3
    assert table.local.std() / table.local.mean() == pytest.approx(1.5, abs=0.1)
    assert (table.remote / table.local).min() == pytest.approx(2.0, abs=1e-3)


def test_shares_sizes_and_gaps_across_loads_and_intensities() -> None:
    one = make_table(BluePacificLike(jobs=200, mean_local_seconds=1800.0), 5)
    other = make_table(
        BluePacificLike(
            jobs=200, mean_local_seconds=3000.0, intensity="mixed", placement="uniform"
        ),
        5,
    )
    assert (one.size == other.size).all() and (one.arrival == other.arrival).all()
    ratios = {round(float(ratio), 1) for ratio in other.remote / other.local}
    assert ratios >= {1.2, 1.7, 2.0}
    many = make_table(BluePacificLike(intensity="mixed"), 5)
    shares = np.unique((many.remote / many.local).round(1), return_counts=True)[1]
    assert sorted(shares / 10_000)[-3:] == pytest.approx([1 / 3] * 3, abs=0.02)


@pytest.mark.parametrize(
    ("length", "ratio", "local", "remote"),
    [
        # t_C = 1000, d_I = 0.3: ceil(1000/0.3) = 3334 requests of 10 blocks.
        (2000.0, 0.5, 1000 + 33340 * 0.03, 1000 + 33340 * 0.09),
        # t_C = 0.6, d_I = 0.3: exactly 2 requests; L = 0.6 + 0.6, R = 0.6 + 1.8.
        (1.2, 0.5, 1.2, 2.4),
        # t_C = 0.09 well below d_I = 2.7: one request; R/L = 0.99/0.39.
        (0.1, 0.1, 0.39, 0.99),
    ],
)
def test_job_times(length: float, ratio: float, local: float, remote: float) -> None:
    found = job_times(np.array([length]), np.array([ratio]))
    assert [float(values[0]) for values in found] == pytest.approx([local, remote])


@pytest.mark.parametrize("placement", ["aligned", "contiguous", "uniform"])
def test_placements(placement: Any) -> None:
    random = np.random.default_rng(1)
    size = random.integers(1, 321, 400)
    taken = place_files(placement, size, 320, random)
    assert (taken.sum(axis=1) == size).all()
    runs = np.diff(taken.astype(int), axis=1, prepend=0, append=0)
    pieces = (runs == 1).sum(axis=1)
    first = taken.argmax(axis=1)
    if placement == "uniform":
        assert (pieces > 1).mean() > 0.9
    else:
        assert (pieces == 1).all()
    if placement == "aligned":
        block = 2 ** np.ceil(np.log2(size)).astype(int)
        assert ((first % block == 0) | (first == 320 - size)).all()
        assert len(set(first[size == 64])) <= 5
    elif placement == "contiguous":
        assert (first % 2 == 1).any()


def test_generated_problem_is_the_table() -> None:
    problem = generate(None, {"jobs": "50", "intensity": "mixed"}, 4)
    table = make_table(BluePacificLike(jobs=50, intensity="mixed"), 4)
    assert table.gangs() == gangs_of(problem)
    assert generate(None, {"jobs": "50", "intensity": "mixed"}, 4) == problem
    assert generate(None, {"jobs": "50", "intensity": "mixed"}, 5) != problem


@pytest.mark.parametrize(
    ("preset", "settings", "word"),
    [
        ("blue-pacific", {}, "no preset"),
        (None, {"load": 3}, "no setting 'load'"),
        (None, {"intensity": "1.5"}, "intensity"),
        (None, {"placement": "spread"}, "placement"),
    ],
)
def test_bad_settings_are_refused(
    preset: str | None, settings: dict[str, Any], word: str
) -> None:
    with pytest.raises(UsageError, match=word):
        generate(preset, settings, 0)


def test_lublin_model_against_its_authors_output() -> None:
    """lublin_256.swf came from the authors' program with the combined parameters."""
    log = read_swf(shared_path("data", "swf", "lublin_256.swf"))
    jobs = log.jobs
    table = make_table(Lublin(nodes=256), 1)
    sizes = np.array([job.size() for job in jobs])
    assert table.size.mean() == pytest.approx(sizes.mean(), rel=0.08)
    assert (table.size == 1).mean() == pytest.approx((sizes == 1).mean(), abs=0.02)
    runs = np.log([max(job.run_seconds or 1.0, 1.0) for job in jobs])
    assert np.log(table.local).mean() == pytest.approx(runs.mean(), rel=0.03)
    assert np.log(table.local).std() == pytest.approx(runs.std(), rel=0.05)
    gaps = np.diff([job.submit_seconds for job in jobs])
    # The mean of so long a tail varies by a tenth between seeds; middle
    # and logarithm do not.
    assert np.median(np.diff(table.arrival)) == pytest.approx(np.median(gaps), rel=0.1)
    logs = [
        np.log(np.maximum(values, 1)).mean()
        for values in (np.diff(table.arrival), gaps)
    ]
    assert logs[0] == pytest.approx(logs[1], rel=0.02)


def test_means_can_be_asked_for() -> None:
    asked = Lublin(jobs=500, mean_local_seconds=900.0, interarrival_seconds=60.0)
    table = make_table(asked, 0)
    assert table.local.mean() == pytest.approx(900.0, abs=0.3)
    assert table.arrival[-1] / 500 == pytest.approx(60.0)


SWF = """; MaxProcs: 8
1 100 0 50 2 -1 -1 2 -1 -1 1 1 1 1 1 1 -1 -1
2 130 0 0 2 -1 -1 2 -1 -1 1 1 1 1 1 1 -1 -1
3 150 0 70 16 -1 -1 16 -1 -1 1 1 1 1 1 1 -1 -1
4 160 0 80 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1
"""


def test_trace_becomes_a_workload(run: Any) -> None:
    made = gang_from_swf(parse_swf(SWF, "t.swf"), Settings(nodes=8, intensity=0.5), 1)
    assert [job.size for job in made.jobs] == [2, 4]
    assert [job.arrival_seconds for job in made.jobs] == [0.0, 60.0]
    assert made.times[0][0] == pytest.approx(50.0, abs=0.3)
    assert any("larger than the machine" in text for text in made.warnings)
    assert any("no time" in text for text in made.warnings)
    Path("t.swf").write_text(SWF)
    call = ["import", "swf", "t.swf", "-o", "gang.json", "--set"]
    assert run(*call, "nodes=8", "--family", "gang")[0] == 0
    assert run("check", "gang.json")[0] == 0
    assert run(*call, "nodes=1", "--family", "gang")[0] == 2
    code, _, err = run(*call, "nodes=8")
    assert code == 2 and "--set is only for --family gang" in err
