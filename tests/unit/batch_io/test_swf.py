"""The SWF reader: every quirk that real logs show, and the counts of the real files."""

import gzip

import pytest
from conftest import present, shared_path

from ioopt.errors import InstanceError
from ioopt.formats.swf.io import batch_io_from_swf
from ioopt.formats.swf.log import SwfTrace, parse_swf, read_swf

JOB = "{id} {submit} 5 {run} {procs} -1 -1 {requested} {limit} -1 {status} 1 1 -1 1 -1 -1 -1"


def line(**changes: object) -> str:
    values: dict[str, object] = {
        "id": 1, "submit": 0, "run": 10, "procs": 4, "requested": 4, "limit": 60, "status": 1,
    }  # fmt: skip
    return JOB.format(**{**values, **changes})


def parse(*lines: str) -> SwfTrace:
    return parse_swf("\n".join(lines) + "\n", "log.swf")


def test_one_line_field_by_field() -> None:
    job = parse("7 100 20 300.5 16 290.25 1024 32 600 2048 1 3 4 5 6 7 2 15").jobs[0]
    assert (job.id, job.submit_seconds, job.wait_seconds, job.run_seconds) == (7, 100, 20, 300.5)
    assert (job.processors, job.cpu_seconds, job.memory_kilobytes) == (16, 290.25, 1024)
    assert (job.requested_processors, job.requested_seconds) == (32, 600)
    assert (job.requested_memory_kilobytes, job.status) == (2048, 1)
    assert (job.user, job.group, job.executable, job.queue, job.partition) == (3, 4, 5, 6, 7)
    assert (job.preceding_job, job.think_seconds) == (2, 15)
    assert (job.size(), job.size(requested=True)) == (16, 32)


def test_minus_one_is_unknown_and_the_other_size_steps_in() -> None:
    trace = parse(line(procs=-1, requested=8), line(id=2, procs=2, requested=-1, limit=-1))
    assert [job.size() for job in trace.jobs] == [8, 2]
    assert trace.jobs[1].size(requested=True) == 2
    assert trace.jobs[1].requested_seconds is None


def test_header_keys_repeat_and_comments_stand_anywhere() -> None:
    trace = parse(
        "; Version: 2.2", ";MaxProcs:  100 (of 128)", "; Note: one", ";  more words", ";",
        line(), "; Note: two", "", "   ", line(id=2) + " ; a remark",
    )  # fmt: skip
    assert trace.header["Version"] == ("2.2",)
    assert trace.header["Note"] == ("one", "two")
    assert trace.machine_processors() == (100, None)
    assert [job.id for job in trace.jobs] == [1, 2]


@pytest.mark.parametrize(
    ("header", "nodes"),
    [
        (["; MaxNodes: 256"], 256),
        (["; MaxNodes: 64", "; MaxProcs: 512"], 512),
        (["; MaxProcs: -1"], 4),
    ],
)
def test_machine_size(header: list[str], nodes: int) -> None:
    size, warning = parse(*header, line()).machine_processors()
    assert size == nodes
    assert (warning is not None) == (nodes == 4)


def test_nobody_knows_the_machine() -> None:
    with pytest.raises(InstanceError, match="state the machine's size"):
        parse(line(procs=-1, requested=0)).machine_processors()


def test_short_and_long_lines_are_read_with_a_warning() -> None:
    trace = parse("1 0 5 10 4", line(id=2) + " 99", line(id=3))
    assert [len(w) > 0 for w in trace.warnings] == [True, True]
    assert "line 1" in trace.warnings[0] and "line 2" in trace.warnings[1]
    assert trace.jobs[0].status is None and trace.jobs[0].run_seconds == 10


def test_floats_in_whole_fields_round_up() -> None:
    assert parse("1 0.5 5 10.25 3.5 -1.00 -1").jobs[0].processors == 4


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "no job lines"),
        ("; only a header\n", "no job lines"),
        ("1 0 5 ten 4", "line 1: run_seconds 'ten'"),
        ("1 0 5 nan 4", "not a finite number"),
        ("1 0 5 inf 4", "not a finite number"),
        ("1 0 5 1_0 4", "not a number"),
        ("-1 0 5 10 4", "job number '-1'"),
        ("1.5 0 5 10 4", "job number '1.5'"),
        ('{"format": "ioopt/gang"}', "not a number"),
    ],
)
def test_refused(text: str, what: str) -> None:
    with pytest.raises(InstanceError, match=what):
        parse_swf(text, "log.swf")


def test_what_is_not_usable_is_counted() -> None:
    jobs, warnings = parse(
        line(id=1, run=0),               # ran for less than a second: kept
        line(id=2, run=-1),              # nobody knows how long it ran
        line(id=3, procs=0, requested=-1),
        line(id=4, run=0, status=5),     # cancelled in the queue
        line(id=5, run=9, status=5),     # cancelled while it ran: kept
        line(id=6, run=30, status=1), line(id=6, run=10, status=2), line(id=6, run=20, status=3),
        line(id=7, submit=-1),
    ).usable_jobs()  # fmt: skip
    assert [job.id for job in jobs] == [1, 5, 6]
    assert jobs[2].run_seconds == 30
    assert len(warnings) == 5
    assert "2 jobs left out, pieces of a job that stands whole (status 2-4): 6, 6" in warnings


def test_repeated_numbers_and_order() -> None:
    trace = parse(line(id=2, submit=50), line(id=1, submit=7), line(id=2, submit=3))
    jobs, warnings = trace.usable_jobs()
    assert [(job.id, job.submit_seconds) for job in jobs] == [(3, 3), (1, 7), (2, 50)]
    assert "renumbered: 2" in warnings[0]


def test_gzip_latin1_and_windows_line_ends(tmp_path) -> None:
    text = "; Acknowledge: Åke\r\n" + "\r\n".join(line(id=k) for k in range(1, 6)) + "\r\n"
    path = tmp_path / "log.swf.gz"
    path.write_bytes(gzip.compress(text.encode("latin-1")))
    trace = read_swf(path)
    assert [job.id for job in trace.jobs] == [1, 2, 3, 4, 5]
    assert trace.header["Acknowledge"] == ("Åke",)


LOGS = [
    ("KTH-SP2-1996-2.1-cln.first20000.swf", 20000, 20000, 100),
    ("NASA-iPSC-1993-3.1-cln.swf", 18239, 18239, 128),
    ("RICC-2010-2.first20000.swf", 20000, 19992, 8192),
    ("HPC2N-2002-excerpt-alea.swf", 3170, 3145, 240),
    ("lublin_256.swf", 10000, 10000, 256),
    ("cqsim-test.swf", 9, 9, 100),
]


@pytest.mark.parametrize(("file", "lines", "usable", "machine"), present("data/swf", LOGS))
def test_real_logs(file: str, lines: int, usable: int, machine: int) -> None:
    """As a log, and as an instance with invented I/O."""
    trace = read_swf(shared_path("data", "swf", file))
    jobs, warnings = trace.usable_jobs()
    assert len(trace.jobs) == lines and trace.warnings == ()
    assert len(jobs) == usable
    assert trace.machine_processors() == (machine, None)
    assert len(warnings) == (lines > usable)
    problem = batch_io_from_swf(trace)
    assert len(problem.jobs) == usable
    assert sum(p.io_bytes for job in problem.jobs for p in job.phases) > 0
