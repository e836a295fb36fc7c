"""The SWF reader: every quirk that real logs show, and the counts of the real files."""

import gzip

import pytest
from conftest import first, present, shared_path

from ioopt.errors import InstanceError
from ioopt.formats.swf.io import batch_io_from_swf
from ioopt.formats.swf.log import SwfTrace, parse_swf, read_swf

JOB = (
    "{id} {submit} 5 {run} {procs} -1 -1 {requested} {limit} -1 "
    "{status} 1 1 -1 1 -1 -1 -1"
)


def line(**changes: object) -> str:
    values: dict[str, object] = {
        "id": 1,
        "submit": 0,
        "run": 10,
        "procs": 4,
        "requested": 4,
        "limit": 60,
        "status": 1,
    }
    return JOB.format(**{**values, **changes})


def parse(*lines: str) -> SwfTrace:
    return parse_swf("\n".join(lines) + "\n", "log.swf")


def test_one_line_field_by_field() -> None:
    job = parse("7 100 20 300.5 16 290.25 1024 32 600 2048 1 3 4 5 6 7 2 15").jobs[0]
    assert (job.id, job.submit_seconds, job.wait_seconds, job.run_seconds) == (
        7,
        100,
        20,
        300.5,
    )
    assert (job.processors, job.cpu_seconds, job.memory_kilobytes) == (16, 290.25, 1024)
    assert (job.requested_processors, job.requested_seconds) == (32, 600)
    assert (job.requested_memory_kilobytes, job.status) == (2048, 1)
    assert (job.user, job.group, job.executable, job.queue, job.partition) == (
        3,
        4,
        5,
        6,
        7,
    )
    assert (job.preceding_job, job.think_seconds) == (2, 15)
    assert (job.size(), job.size(requested=True)) == (16, 32)


def test_minus_one_is_unknown_and_the_other_size_steps_in() -> None:
    trace = parse(
        line(procs=-1, requested=8), line(id=2, procs=2, requested=-1, limit=-1)
    )
    assert [job.size() for job in trace.jobs] == [8, 2]
    assert trace.jobs[1].size(requested=True) == 2
    assert trace.jobs[1].requested_seconds is None


def test_header_keys_repeat_and_comments_stand_anywhere() -> None:
    trace = parse(
        "; Version: 2.2",
        ";MaxProcs:  100 (of 128)",
        "; Note: one",
        ";  more words",
        ";",
        line(),
        "; Note: two",
        "",
        "   ",
        line(id=2) + " ; a remark",
    )
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


@pytest.mark.parametrize(
    ("rows", "width", "said"),
    [
        (("1 0 5 10 4", "2 9 5 10 4"), 5, "lines have 5 of 18 fields"),
        (
            (line() + " 99", line(id=2) + " 7"),
            19,
            "lines have 19 fields, those after the 18th",
        ),
    ],
)
def test_a_log_may_have_fewer_or_more_fields(
    rows: tuple[str, ...], width: int, said: str
) -> None:
    trace = parse(*rows)
    assert len(rows[0].split()) == width and said in trace.warnings[0]
    assert [(job.id, job.run_seconds, job.processors) for job in trace.jobs] == [
        (1, 10, 4),
        (2, 10, 4),
    ]


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (line(id=2) + " 99", "line 2: 19 fields, but most rows have 18"),
        (
            "2 0 5 1",
            "line 2: 4 fields, but most rows have 18",
        ),  # cut off, 10 s became 1
    ],
)
def test_a_row_is_as_long_as_the_first(row: str, what: str) -> None:
    with pytest.raises(InstanceError, match=what):
        parse(line(), row)
    kept = parse_swf("\n".join([line(), row, line(id=3)]), "log.swf", 0.4)
    assert [job.id for job in kept.jobs] == [1, 3]
    assert "1 of 3 rows left out" in kept.warnings[0] and "line 2" in kept.warnings[0]


def test_a_first_row_that_is_cut_does_not_judge_the_others() -> None:
    kept = parse_swf("\n".join(["4 200 -1", line(id=2), line(id=3)]), "log.swf", 0.4)
    assert [job.id for job in kept.jobs] == [2, 3]
    assert "1 of 3 rows left out, shorter than most rows: line 1" in kept.warnings[0]


def test_a_row_that_stands_twice_is_one_job() -> None:
    """Files that overlap, joined; another run of the same job is another row."""
    trace = parse(line(), line(id=2), line(), line(run=20))
    assert [(job.id, job.run_seconds) for job in trace.jobs] == [
        (1, 10),
        (2, 10),
        (1, 20),
    ]
    assert trace.warnings == ("1 repeated row counted once: line 3",)
    jobs, warnings = trace.usable_jobs()
    assert [job.id for job in jobs] == [1, 2, 3] and "renumbered: 1" in warnings[0]


@pytest.mark.parametrize("text", ["1,024", "1,024 (with 24 for login)", "1024;"])
def test_a_header_number_is_read_whole(text: str) -> None:
    assert parse(f"; MaxProcs: {text}", line()).machine_processors() == (1024, None)


@pytest.mark.parametrize(
    "text", ["1 024", "1'024", "1.024,5", "1,02", "8K", "12x8", "2.5"]
)
def test_a_header_number_that_is_not_clear_is_refused(text: str) -> None:
    trace = parse(f"; MaxProcs: {text}", "; MaxNodes: 7", line())
    with pytest.raises(InstanceError, match="header line MaxProcs"):
        trace.machine_processors()


def test_a_start_of_the_log_that_is_not_clear_is_not_known() -> None:
    assert parse("; UnixStartTime: 843,480,031", line()).epoch == 843480031
    trace = parse("; UnixStartTime: 1996-09-23", line())
    assert trace.epoch is None and "UnixStartTime: '1996-09-23'" in trace.warnings[0]
    assert parse("; UnixStartTime: Mon Sep 23", line()).epoch is None


@pytest.mark.parametrize("coding", ["utf-16", "utf-32", "utf-8-sig"])
def test_a_byte_order_mark_says_the_encoding(tmp_path, coding: str) -> None:
    (tmp_path / "log.swf").write_bytes(f"; MaxProcs: 8\n{line()}\n".encode(coding))
    trace = read_swf(tmp_path / "log.swf")
    assert trace.machine_processors() == (8, None) and len(trace.jobs) == 1
    (tmp_path / "bare.swf").write_bytes(line().encode("utf-16-le"))
    with pytest.raises(
        InstanceError,
        match=r"bare.swf: seems to be UTF-16 text without a byte order mark",
    ):
        read_swf(tmp_path / "bare.swf")


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
        line(id=1, run=0),  # ran for less than a second: kept
        line(id=2, run=-1),  # nobody knows how long it ran
        line(id=3, procs=0, requested=-1),
        line(id=4, run=0, status=5),  # cancelled in the queue
        line(id=5, run=9, status=5),  # cancelled while it ran: kept
        line(id=6, run=30, status=1),
        line(id=6, run=10, status=2),
        line(id=6, run=20, status=3),
        line(id=7, submit=-1),
    ).usable_jobs()
    assert [job.id for job in jobs] == [1, 5, 6]
    assert jobs[2].run_seconds == 30
    assert len(warnings) == 5
    assert (
        "2 jobs left out, parts of a job that is also listed as a whole "
        "(status 2-4): 6, 6" in warnings
    )


def test_repeated_numbers_and_order() -> None:
    trace = parse(line(id=2, submit=50), line(id=1, submit=7), line(id=2, submit=3))
    jobs, warnings = trace.usable_jobs()
    assert [(job.id, job.submit_seconds) for job in jobs] == [(3, 3), (1, 7), (2, 50)]
    assert "renumbered: 2" in warnings[0]


def test_gzip_latin1_and_windows_line_ends(tmp_path) -> None:
    text = (
        "; Acknowledge: Åke\r\n" + "\r\n".join(line(id=k) for k in range(1, 6)) + "\r\n"
    )
    path = tmp_path / "log.swf.gz"
    path.write_bytes(gzip.compress(text.encode("latin-1")))
    trace = read_swf(path)
    assert [job.id for job in trace.jobs] == [1, 2, 3, 4, 5]
    assert trace.header["Acknowledge"] == ("Åke",)


LOGS = [
    ("KTH-SP2-1996-2.1-cln.first20000.swf", 20000, 20000, 100),
    ("HPC2N-2002-excerpt-alea.swf", 3170, 3145, 240),
    ("lublin_256.swf", 10000, 10000, 256),
    ("cqsim-test.swf", 9, 9, 100),
    ("NASA-iPSC-1993-3.1-cln.swf", 18239, 18239, 128),
    ("RICC-2010-2.first20000.swf", 20000, 19992, 8192),
]


@pytest.mark.parametrize(
    ("file", "lines", "usable", "machine"), first(4, present("data/swf", LOGS))
)
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
