"""Job selection: by hand, against exhaustive search, at scale,
and in real Snakemake.
"""

import gc
import itertools
import logging
import os
import random
import subprocess
import sys
from types import SimpleNamespace

import pytest
from conftest import ROOT

from ioopt.embed import selection
from ioopt.embed.selection import ReadyJob, select


def brute(jobs, capacities, temp_bytes, readers):
    """The best value by trying every subset, from the definition of the value."""
    giga = {name: size / 1e9 for name, size in temp_bytes.items()}
    total = max(sum(giga.values()), 1.0)
    cores = max(sum(max(job.cores, 1) for job in jobs), 1)
    best = 0.0
    for mask in itertools.product((0, 1), repeat=len(jobs)):
        chosen = [job for job, take in zip(jobs, mask) if take]
        used = [sum(job.resources[r] for job in chosen) for r in range(len(capacities))]
        if any(use > have for use, have in zip(used, capacities)):
            continue
        value = sum(
            4 * cores * total * job.priority + 2 * total * max(job.cores, 1)
            for job in chosen
        )
        for name, size in giga.items():
            n = sum(name in job.temp for job in chosen)
            value += size * n / readers[name] + (
                total * size if n == readers[name] else 0
            )
        best = max(best, value)
    return best


ONE_LARGE = [
    ReadyJob(cores=3, resources=(3,)),
    *[ReadyJob(cores=2, resources=(2,))] * 2,
]


def test_two_small_jobs_beat_one_that_blocks_them():
    # 4 cores: priority is equal, so cores at work decide: 2 + 2 before 3
    found = select(ONE_LARGE, [4], deadline=60)
    assert found.chosen == (1, 2)
    assert found.value == pytest.approx(2 * 4) and found.loss == pytest.approx(
        0, abs=1e-4
    )


def test_the_last_reader_of_a_temporary_file_goes_first():
    jobs = [ReadyJob(resources=(1,), temp=frozenset({"big"})), ReadyJob(resources=(1,))]
    found = select(jobs[::-1], [1], {"big": 5 * 10**9}, {"big": 1}, deadline=60)
    assert found.chosen == (1,)


def test_a_file_is_worth_its_deletion_only_to_its_last_readers():
    """A core counts 2 at 1 GB; b and c put four cores to work: 8, 1 deleted, 1
    read; 1/2 of a part.
    """
    jobs = [
        ReadyJob(cores=3, resources=(3,)),
        ReadyJob(cores=2, resources=(2,)),
        ReadyJob(cores=2, resources=(2,), temp=frozenset({"t"})),
    ]
    assert select(jobs, [4], {"t": 10**9}, {"t": 1}, deadline=60).value == 10.0
    assert select(jobs, [4], {"t": 10**9}, {"t": 2}, deadline=60).value == 8.5


def random_question(rng):
    names = ["a", "b", "c"]
    temp_bytes = {name: rng.randint(1, 9) * 10**9 for name in names}
    jobs = []
    for _ in range(rng.randint(1, 9)):
        cores = rng.randint(1, 4)
        temp = frozenset(name for name in names if rng.random() < 0.3)
        jobs.append(
            ReadyJob(rng.randint(0, 2), cores, (cores, rng.randint(0, 5)), temp)
        )
    readers = {
        name: max(1, sum(name in job.temp for job in jobs) + rng.randint(0, 1))
        for name in names
    }
    return jobs, [rng.randint(1, 10), rng.randint(1, 12)], temp_bytes, readers


def test_selections_are_as_good_as_exhaustive_search():
    rng = random.Random(4)
    for _ in range(60):
        jobs, capacities, temp_bytes, readers = random_question(rng)
        found = select(jobs, capacities, temp_bytes, readers, deadline=60)
        best = brute(jobs, capacities, temp_bytes, readers)
        assert found.value == pytest.approx(best, rel=1e-6)
        assert found.bound >= best * (1 - 1e-9)
        for r, have in enumerate(capacities):
            assert sum(jobs[k].resources[r] for k in found.chosen) <= have


def test_a_failing_solver_leaves_the_greedy_selection(monkeypatch):
    def failing(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr(selection, "_modelled", failing)
    found = select(ONE_LARGE, [4])
    assert found.chosen == (0,) and "broken" in found.notes[0] and found.loss > 0


@pytest.mark.slow
def test_many_equal_jobs_are_one_class_and_many_different_ones_are_greedy():
    equal = select([ReadyJob(cores=2, resources=(2,))] * 100_000, [64])
    assert len(equal.chosen) == 32 and equal.loss == 0
    names = [f"t{k}" for k in range(100_000)]
    different = [ReadyJob(resources=(1,), temp=frozenset({name})) for name in names]
    found = select(different, [64], {name: 10**6 + k for k, name in enumerate(names)})
    assert len(found.chosen) == 64 and found.loss < 0.01


SNAKEFILE = """
rule all:
    input: expand("out/{i}.txt", i=range(12))

rule make:
    output: temp("tmp/{i}.txt")
    threads: 1
    shell: "head -c 1000 /dev/zero > {output}"

rule use:
    input: "tmp/{i}.txt"
    output: "out/{i}.txt"
    threads: 2
    shell: "cp {input} {output}"
"""


@pytest.mark.slow
def test_snakemake_runs_a_workflow_with_it(tmp_path):
    pytest.importorskip("snakemake")
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    plugin = ROOT / "plugins" / "snakemake-scheduler-plugin-ioopt"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(plugin), str(ROOT)])}
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "snakemake",
            "--scheduler",
            "ioopt",
            "--cores",
            "4",
            "--directory",
            str(tmp_path),
            "--snakefile",
            str(tmp_path / "Snakefile"),
        ],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert "ioopt could not" not in run.stderr
    assert len(list((tmp_path / "out").iterdir())) == 12
    assert not any((tmp_path / "tmp").glob("*.txt"))


@pytest.mark.slow
def test_ten_thousand_jobs_that_all_differ_are_nearly_as_good_as_the_bound():
    rng = random.Random(9)
    jobs = [
        ReadyJob(
            0,
            cores := rng.randint(1, 8),
            (cores, rng.randint(100, 30_000)),
            frozenset({f"t{k}"} if k % 2 else ()),
            k,
        )
        for k in range(10_000)
    ]
    sizes = {f"t{k}": rng.randint(1, 10**9) for k in range(1, 10_000, 2)}
    found = select(jobs, [128, 256_000], sizes, deadline=60)
    used = [sum(jobs[k].resources[r] for k in found.chosen) for r in range(2)]
    assert used[0] <= 128 and used[1] <= 256_000 and len(found.chosen) > 16
    assert found.loss < 0.02, found


def test_of_jobs_that_need_the_same_the_ones_with_larger_inputs_go_first():
    jobs = [ReadyJob(resources=(1,), input_bytes=size) for size in (5, 9, 7)]
    assert select(jobs, [2], deadline=60).chosen == (1, 2)


class File(str):
    temp = False

    def is_flagged(self, flag):
        return flag == "temp" and self.temp


class Job:
    def __init__(self, jobid, reads, makes, cores=1):
        self.jobid, self.input, self.output, self.priority = jobid, reads, makes, 0
        self.scheduler_resources = {"_cores": cores, "queue": "text"}


@pytest.mark.slow  # needs Snakemake, which .ci/run installs for the slow tests
def test_the_plugin_sees_temporary_files_by_their_makers(plugin):
    # Snakemake flags the output of the maker; the reader's input is a plain name
    big = File("big")
    big.temp = True
    maker = Job(0, [], [big])
    jobs = [Job(1, [File("other")], []), Job(2, [File("big")], [])]
    dag = SimpleNamespace(
        job_dependencies=lambda job: [maker] if job is jobs[1] else []
    )
    log = logging.getLogger("test")
    scheduler = plugin.Scheduler(dag, plugin.SchedulerSettings(time_limit=60.0), log)
    available = {"_cores": 1, "_nodes": 2**62, "queue": "text"}
    sizes = {"big": 10**9, "other": 2 * 10**9}
    assert scheduler.select_jobs(jobs, jobs, available, sizes) == [jobs[1]]
    assert gc.isenabled()
    assert scheduler.select_jobs(jobs[:1], jobs[:1], available, sizes) == [jobs[0]]
    assert jobs[1] not in scheduler._temp._known


@pytest.mark.slow  # needs Snakemake, which .ci/run installs for the slow tests
def test_the_plugin_leaves_it_to_snakemake_when_anything_fails(plugin, caplog):
    log = logging.getLogger("test")
    scheduler = plugin.Scheduler(SimpleNamespace(), plugin.SchedulerSettings(), log)
    assert scheduler.select_jobs([Job(1, [3], [])], [], {"_cores": 1}, {}) is None
    assert "using the greedy scheduler" in caplog.text
    assert (
        scheduler.select_jobs([Job(1, [], [], cores=2)], [], {"_cores": 1}, {}) is None
    )
