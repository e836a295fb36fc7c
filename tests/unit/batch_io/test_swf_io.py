"""SWF traces as batch-io problems: sizes, walltimes, machine, and
the I/O that is added.
"""

import random

import pytest
from conftest import shared_path
from unit.batch_io.test_darshan import HEADER, write_record
from unit.batch_io.test_swf import line

import ioopt
from ioopt.errors import InstanceError, UsageError
from ioopt.formats.darshan.log import summarise
from ioopt.formats.darshan.raw import parse_text
from ioopt.formats.io_rule import IoRule, MachineRule
from ioopt.formats.swf.io import batch_io_from_swf
from ioopt.formats.swf.log import parse_swf, read_swf
from ioopt.options import parse_settings

HEAD = "; MaxProcs: 100\n"


def trace(*lines: str):
    return parse_swf(HEAD + "\n".join(lines), "log.swf")


def test_by_hand() -> None:
    # f = 0: no I/O. 7,200 s at one phase an hour: 2 phases of 3,600 s. 10 s: one phase.
    made = batch_io_from_swf(
        trace(
            line(id=4, submit=500, run=7200, procs=10), line(id=9, submit=560, limit=-1)
        ),
        io=IoRule(fraction=0.0),
    )
    first, second = made.jobs
    assert (first.id, first.submit_seconds, first.nodes, first.walltime_seconds) == (
        4,
        0,
        10,
        60,
    )
    assert [(p.compute_seconds, p.io_bytes, p.repeat) for p in first.phases] == [
        (3600, 0, 2)
    ]
    assert (second.submit_seconds, second.walltime_seconds) == (60, 10)
    assert made.warnings == (
        "log.swf: rates assumed: 31.25 MB/s a node, 508.6 MB/s of storage "
        "(node_rate and storage_rate not given)",
    )
    machine = made.machine
    assert (machine.nodes, machine.node_bytes_per_second) == (100, 31_250_000)
    assert machine.storage_bytes_per_second == pytest.approx(
        31_250_000 * 100 * 250 / 1536
    )


def test_uncongested_run_time_is_that_of_the_trace() -> None:
    made = batch_io_from_swf(read_swf(shared_path("data", "swf", "cqsim-test.swf")))
    machine = made.machine
    shares = []
    for job in made.jobs:
        peak = machine.peak(machine.allocated_nodes(job.nodes))
        io = sum(p.repeat * p.io_bytes / peak for p in job.phases)
        compute = sum(p.repeat * p.compute_seconds for p in job.phases)
        shares.append(io / (io + compute))
        run = {1: 4000, 2: 2000, 3: 1000}.get(job.id)
        assert run is None or io + compute == pytest.approx(run, abs=1e-6)
    assert all(0 <= share <= 0.2 for share in shares) and max(shares) > 0.1


@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.8, 1.0])
def test_mean_share_is_the_fraction(fraction: float) -> None:
    rule = IoRule(fraction=fraction)
    rng = random.Random(rule.seed)
    rows = [rule.phases(1000.0, 1e9, rng)[0] for _ in range(4000)]
    shares = [1 - row["compute_seconds"] / 1000 for row in rows]
    assert sum(shares) / len(shares) == pytest.approx(fraction, abs=0.01)
    assert min(shares) >= -1e-12 and max(shares) <= 1 + 1e-12


def test_more_jobs_leave_the_first_as_they_were() -> None:
    log = trace(*(line(id=k, submit=k, run=5000) for k in range(1, 9)))
    few, all_jobs = (batch_io_from_swf(log, max_jobs=n) for n in (3, None))
    assert few.jobs == all_jobs.jobs[:3] and len(all_jobs.jobs) == 8


def test_processors_per_node_and_units() -> None:
    made = batch_io_from_swf(
        trace(line(procs=33)),
        machine=MachineRule(
            processors_per_node=16, unit_nodes=4, allocation="partition"
        ),
    )
    # 33 processors on 3 nodes; 100 processors are 7 nodes, in units of 4 that is 8.
    assert made.jobs[0].nodes == 3
    assert made.machine.nodes == 8


def test_jobs_larger_than_the_machine() -> None:
    made = batch_io_from_swf(trace(line(id=1, procs=101), line(id=2)))
    assert [job.id for job in made.jobs] == [2]
    assert (
        made.warnings[0]
        == "log.swf: 1 jobs left out, larger than the machine of 100 nodes: 1"
    )
    with pytest.raises(InstanceError, match="no job that can be used"):
        batch_io_from_swf(trace(line(id=1, procs=101)))


def test_a_job_takes_the_io_of_its_log() -> None:
    # The log of job 77: 100 bytes in 4.5 of 100 s, written from 10 to 14 s.
    # The job ran 1000 s.
    log = summarise(parse_text(HEADER + write_record(0, 1, 10, 14, 100), "job.txt"))
    other = summarise(
        parse_text((HEADER + write_record(0, 1, 1, 2, 5)).replace("77", "9"), "o")
    )
    jobs = trace(line(id=77, run=1000, procs=8), line(id=78, run=400, procs=2))
    made = batch_io_from_swf(jobs, darshan=[log, other], io=IoRule(0.2, seed=5))
    matched, ruled = made.jobs
    assert matched.io_bytes_per_second == pytest.approx(100 / 4.5)
    assert [phase.io_bytes for phase in matched.phases] == [100, 0]
    # 9.5 s before and 86 s after the write, stretched to 995.5 s.
    assert [p.compute_seconds for p in matched.phases] == pytest.approx(
        [995.5 * 9.5 / 95.5, 995.5 * 86 / 95.5]
    )
    assert ruled == batch_io_from_swf(jobs, io=IoRule(0.2, seed=5)).jobs[1]
    said = made.warnings
    assert "1 jobs have a Darshan log of their own, 1 have none" in said
    assert "1 Darshan logs match no job: 9" in said
    assert made.meta["synthetic"]["I/O"].startswith(
        "of 1 jobs without a log: mean 0.2 of the run"
    )


@pytest.mark.parametrize(
    ("start", "procs", "said"),
    [
        (1010, 8, None),
        (
            500,
            8,
            "1 Darshan logs have the number of a job that did not run when they "
            "start: 77",
        ),
        (
            2200,
            8,
            "1 Darshan logs have the number of a job that did not run when they "
            "start: 77",
        ),
        (
            2050,
            1,
            None,
        ),  # 4 processes on a processor of 4 threads, and clocks that differ
    ],
)
def test_a_log_is_of_the_job_that_ran_when_it_starts(start, procs, said) -> None:
    """The job was submitted at 900 + 100, waited 5 s and ran from 1005 to 2005."""
    text = HEADER.replace("start_time: 1000", f"start_time: {start}").replace(
        "end_time: 1100", f"end_time: {start + 100}"
    )
    log = summarise(parse_text(text + write_record(0, 1, 10, 14, 100), "job.txt"))
    assert (log.start_seconds, log.processes) == (start, 4)
    row = line(id=77, submit=100, run=1000, procs=procs)
    jobs = parse_swf(f"; UnixStartTime: 900\n{HEAD}{row}", "log.swf")
    if said is None:
        made = batch_io_from_swf(jobs, darshan=[log])
        assert not [text for text in made.warnings if "Darshan logs" in text]
        assert made.jobs[0].io_bytes_per_second is not None
        return
    with pytest.raises(InstanceError) as refused:
        batch_io_from_swf(jobs, darshan=[log])
    assert f"no Darshan log belongs to a job: {said}" in str(refused.value)
    # 1005 s and the start of the log, in minutes of 1970.
    assert "has jobs 77 to 77, started 1970-01-01T00:16" in str(refused.value)
    assert f"the Darshan logs start 1970-01-01T00:{start // 60:02}" in str(
        refused.value
    )


def test_a_log_of_too_many_processes_is_not_of_the_job() -> None:
    text = HEADER.replace("nprocs: 4", "nprocs: 5") + write_record(0, 1, 10, 14, 100)
    log = summarise(parse_text(text, "job.txt"))
    with pytest.raises(InstanceError) as refused:
        batch_io_from_swf(trace(line(id=77, procs=1)), darshan=[log])
    said = str(refused.value)
    assert (
        "1 Darshan logs have the number of a job with too few processors for "
        "their processes: 77" in said
    )
    assert (
        "start times of Darshan logs are not compared: the trace has no UnixStartTime"
        in said
    )


def test_a_job_shorter_than_its_log() -> None:
    # 4.5 s of I/O do not fit into 3 s: two thirds of the bytes are kept, at
    # the rate achieved.
    log = summarise(parse_text(HEADER + write_record(0, 1, 10, 14, 90), "job.txt"))
    made = batch_io_from_swf(trace(line(id=77, run=3, procs=1)), darshan=[log])
    (job,) = made.jobs
    assert sum(p.io_bytes for p in job.phases) == 60 and job.io_bytes_per_second == 20
    assert sum(p.compute_seconds for p in job.phases) == 0
    assert any(
        "1 jobs ran shorter than their Darshan log" in text for text in made.warnings
    )
    assert "I/O" not in made.meta["synthetic"]


def test_everything_that_the_rule_invents_is_said() -> None:
    made = batch_io_from_swf(
        trace(line(id=1, run=1000), line(id=2, run=1000)),
        machine=MachineRule(node_bytes_per_second=1e9),
        io=IoRule(seed=3),
        max_jobs=1,
    )
    assert made.meta["warnings"] == list(made.warnings)
    assert made.meta["synthetic"] == {
        "I/O": "mean 0.1 of the run time (uniform), one phase every 3600 s, at the "
        "peak rate; seed 3",
        "rates": "1 GB/s a node, 16.28 GB/s of storage (storage_rate not given)",
    }
    assert "log.swf: the first 1 of 2 jobs" in made.warnings
    chained = "2 0 5 10 4 -1 -1 4 60 -1 1 1 -1 -1 1 -1 1 30"
    both = batch_io_from_swf(trace(line(id=1), chained))
    assert any("1 jobs wait for a preceding job" in text for text in both.warnings)


def test_results_on_synthetic_io_carry_a_note() -> None:
    log = trace(line(id=1, run=1000))
    invented = ioopt.solve(batch_io_from_swf(log), "fill")
    assert invented.notes[-1].startswith("I/O is synthetic: mean 0.1")
    assert (
        ioopt.solve(batch_io_from_swf(log, io=IoRule(fraction=0)), "fill").notes == ()
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: IoRule(fraction=1.1),
        lambda: IoRule(fraction=-0.1),
        lambda: IoRule(period_seconds=0),
        lambda: parse_settings(MachineRule, {"nodes": 0}, "machine"),
        lambda: parse_settings(MachineRule, {"processors_per_node": 0}, "machine"),
        lambda: parse_settings(MachineRule, {"node_rate": 0.0}, "machine"),
        lambda: parse_settings(MachineRule, {"storage_rate": -1.0}, "machine"),
    ],
)
def test_refused(make) -> None:
    with pytest.raises(UsageError, match=r"must be|should be"):
        make()
