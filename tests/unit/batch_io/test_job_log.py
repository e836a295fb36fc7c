"""Job logs of Slurm and PBS: every odd row of the samples, and the
jobs that they become.
"""

from pathlib import Path

import pytest

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.io_rule import MachineRule
from ioopt.formats.job_log import read_log
from ioopt.formats.job_times import span_of
from ioopt.formats.swf.io import batch_io_from_swf

SAMPLES = Path(__file__).parents[3] / "docs" / "samples"
SACCT = SAMPLES / "sacct.txt"
SACCT_JOBS = [  # id, submit, wait, run, processors, limit, user, queue, partition
    (100, 0, 10, 7200, 64, 14400, "ada", "normal", "batch"),
    (
        102,
        300,
        6920,
        1800,
        8,
        1800,
        "bob",
        "normal",
        "batch",
    ),  # 0 AllocCPUS: from AllocTRES
    (103, 300, 6920, 1200, 8, 1800, "bob", "normal", "batch"),
    (106, 5400, 5440, 600, 32, 172800, "eve", "normal", "long"),  # lost its node: a run
    (
        104,
        9020,
        10,
        1800,
        64,
        None,
        "ada",
        "high",
        "batch",
    ),  # submitted 3600, eligible 9020
    # And the run after it: 107 is another job, which still runs.
    (108, 11560, 20, 14400, 32, 172800, "eve", "normal", "long"),
]
PBS_JOBS = [
    (200, 0, 10, 7200, 64, 14400, "ada", None, "workq"),
    (201, 300, 6920, 1800, 8, 1800, "bob", None, "workq"),  # slots n1/0-3 + n2/0-2,5
    (202, 7600, 1430, 30, 4, None, "bob", None, "long"),  # slots n1/0 + n1/1 + n1/2*2
]


def jobs_of(log):
    return [
        (
            job.id,
            job.submit_seconds,
            job.wait_seconds,
            job.run_seconds,
            job.processors,
            job.requested_seconds,
            job.user,
            job.queue,
            job.partition,
        )
        for job in log.usable_jobs()[0]
    ]


def test_every_row_of_the_slurm_sample():
    log = read_log(SACCT)
    assert jobs_of(log) == SACCT_JOBS
    said = "\n".join((*log.warnings, *log.usable_jobs()[1]))
    for what in (
        "times without an offset, taken for UTC (--time-zone): "
        "2024-05-06T08:00:00 and 31 more",
        "steps, not read: 100.batch and 1 more",
        "without a time limit: the run time",
        "NODE_FAIL: a run of its own: 106",
        "count from then: 104 and 1 more",
        "cancelled before they ran: 105",
        "without a run time: 101, 107",
        "renumbered: 106",
    ):
        assert what in said
    assert log.machine_processors()[0] == 64
    # 100 has two nodes and 108 one: AllocTRES says so.
    assert {job.id: job.nodes for job in log.usable_jobs()[0]}[100] == 2
    assert log.machine_nodes() == (
        2,
        "assumed a machine of 2 nodes, the most in use at once; --machine nodes=N sets "
        "it",
    )
    assert log.epoch == 1714982400  # 2024-05-06 08:00 UTC
    assert read_log(SACCT, "sacct", "Europe/Stockholm").epoch == 1714982400 - 7200


def test_columns_in_any_order_and_times_of_any_kind(tmp_path):
    rows = [
        "State|End|Start|Submit|NCPUS|JobID|State|",  # sacct -p ends lines with a bar
        "FAILED|2024-05-06T10:00:00+0200|1714982100|2024-05-06T07:50:00Z|4|7_1|FAILED|",
    ]
    (tmp_path / "a.txt").write_text("\n".join(rows))
    log = read_log(tmp_path / "a.txt")
    assert jobs_of(log) == [(7, 0, 300, 300, 4, None, None, None, None)]
    assert any(
        "array tasks by the number of their array" in text for text in log.warnings
    )
    spans = {
        "1-12:00:00": 129600,
        "00:30:00": 1800,
        "10:00": 600,
        "UNLIMITED": None,
        "": None,
    }
    assert {text: span_of(text, "limit") for text in spans} == spans


def test_every_record_of_the_pbs_sample():
    log = read_log(SAMPLES / "pbs-accounting.txt")
    assert jobs_of(log) == PBS_JOBS
    assert any(
        "deleted or aborted" in text and "203.pbs" in text for text in log.warnings
    )
    labels = [
        (job.wait_seconds, job.user, job.partition)
        for job in batch_io_from_swf(log).jobs
    ]
    assert labels == [
        (10, "ada", "workq"),
        (6920, "bob", "workq"),
        (1430, "bob", "long"),
    ]


HEAD = "JobID|Submit|Start|End|State|NCPUS"


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        ("JobID|Submit|Start|End|NCPUS\n", "", "line 1: no column State"),
        ("JobID|Submit|Start|End|State\n", "", "line 1: no column AllocCPUS or NCPUS"),
        (f"{HEAD}\n1|2024\n", "", "line 2: 2 cells, but the heading has 6"),
        (
            f"{HEAD}\n1|yesterday|None|None|FAILED|1\n",
            "",
            "line 2: Submit 'yesterday' is no time",
        ),
        (f"{HEAD}\n1|Unknown|None|None|PENDING|1\n", "", "none of 1 jobs ran"),
        (f"{HEAD}\n", "pbs", "line 1: no PBS accounting record"),
        (
            "05/06/2024 08:00:00;Q;2.a;queue=a\nnonsense\n",
            "",
            "line 2: no PBS accounting record",
        ),
        (
            f"{HEAD}\nx|None|None|None|FAILED|1\n",
            "",
            "line 2: JobID 'x' does not begin",
        ),
        ("1 0 0 1 1\n", "sacct", "line 1: no heading of sacct"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path, text, kind, what):
    (tmp_path / "log").write_text(text)
    with pytest.raises(InstanceError, match="log: ") as told:
        read_log(tmp_path / "log", kind)
    assert what in str(told.value)


def test_an_unknown_zone_is_named():
    with pytest.raises(UsageError, match="Europe/Nowhere: no such zone"):
        read_log(SACCT, "sacct", "Europe/Nowhere")


RECORD = (
    "05/01/2024 11:00:00;E;{job};user=u {fields} ctime=1714550400 "
    "start=1714550400 end={end}\n"
)
"""Starts on 2024-05-01 at 08:00 UTC, and ends an hour later."""


def pbs(*fields: str, job: str = "5.head", end: str = "1714554000") -> str:
    return RECORD.format(job=job, fields=" ".join(fields), end=end)


def logged(tmp_path, text: str, **how):
    (tmp_path / "log").write_text(text)
    return read_log(tmp_path / "log", **how)


@pytest.mark.parametrize(
    ("fields", "processors"),
    [
        # Torque's ncpus is 1 where it was not asked for: 8 slots on each of 2 nodes
        ("exec_host=n1/0-7+n2/0-7 Resource_List.nodes=2:ppn=8", 16),
        ("exec_host=n1/0*8+n2/3,5", 10),
        ("exec_vnode=(n1:ncpus=4:mem=1kb)+(n2:ncpus=4+n3:ncpus=2)", 10),
        ("exec_host=n1+n2 total_execution_slots=48", 48),
        ("resources_used.ncpus=12 Resource_List.mppwidth=64", 12),
        ("Resource_List.mppwidth=64 Resource_List.nodes=2:ppn=8", 64),
        ("Resource_List.nodes=2:ppn=8+n7:ppn=4:big#shared Resource_List.procs=3", 20),
        ("Resource_List.nodes=3", 3),
        ("Resource_List.nodes=2:ncpus=6", 12),
        ("Resource_List.procs=24", 24),
        ("", 1),
    ],
)
def test_what_says_the_processors_of_a_pbs_job(
    tmp_path, fields: str, processors: int
) -> None:
    (job,) = logged(tmp_path, pbs(fields, "Resource_List.ncpus=1")).jobs
    assert job.processors == processors


@pytest.mark.parametrize(
    "text",
    [
        "jobname=my start=1 Resource_List.walltime=9:00:00 job",
        'account="big end=5 Resource_List.walltime=9:00:00"',
        "account='Resource_List.walltime=9:00:00'",
        "jobname=a end=7",
    ],
)
def test_a_text_is_no_field(tmp_path, text: str) -> None:
    (job,) = logged(tmp_path, pbs(text, "queue=q", "Resource_List.ncpus=4")).jobs
    assert (job.processors, job.run_seconds, job.partition) == (4, 3600, "q")
    assert job.requested_seconds is None


def test_a_comment_is_no_field(tmp_path) -> None:
    """It is written last; in the middle, fields after it count."""
    comment = "comment=again; queue=other Resource_List.ncpus=99"
    for text in (
        pbs("queue=q", "Resource_List.ncpus=4").replace("\n", f" {comment}\n"),
        pbs(comment, "queue=q", "Resource_List.ncpus=4"),
    ):
        (job,) = logged(tmp_path, text).jobs
        assert (job.processors, job.partition) == (4, "q")


def test_the_parent_of_an_array_is_no_job(tmp_path) -> None:
    text = pbs("exec_host=n1/0*4", job="700[1].head") + pbs(
        "Resource_List.ncpus=4", job="700[].head"
    )
    log = logged(tmp_path, text)
    assert [job.id for job in log.jobs] == [700] and log.machine_processors() == (
        4,
        "assumed a machine of 4 processors, the most in use at once; --machine nodes=N "
        "sets it",
    )
    assert any("arrays, whose tasks have records" in said for said in log.warnings)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("4:00:00:00", 345600),
        ("96:00:00", 345600),
        ("90:00", 5400),
        ("7200", 7200),
        ("", None),
    ],
)
def test_walltimes_of_pbs(tmp_path, text: str, seconds: float | None) -> None:
    (job,) = logged(
        tmp_path, pbs(f"Resource_List.walltime={text}", "Resource_List.ncpus=1")
    ).jobs
    assert job.requested_seconds == seconds


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        (pbs("Resource_List.ncpus=-6"), "Resource_List.ncpus '-6' is negative"),
        (pbs("Resource_List.nodes=2:ppn=many"), "ppn 'many' is not a number"),
        (pbs("exec_host=n1/7-0"), "exec_host 'n1/7-0' names no slots"),
        (pbs("exec_host=n[1-2]/0-7"), "exec_host 'n[1-2]/0-7' names no slots"),
        (pbs("Resource_List.walltime=-1:00"), "walltime '-1:00' is no time"),
        (pbs(end="1714554000000"), "end '1714554000000' is no time in seconds"),
        (pbs(end="-5"), "end '-5' is no time in seconds"),
        (pbs(end=""), "no end of a job"),
        (pbs(job="x.head"), "job 'x.head' does not begin with a number"),
        ("and the second line of a name\n", "no PBS accounting record: 'and the"),
    ],
)
def test_a_bad_record_is_refused_or_left_out_and_counted(
    tmp_path, bad: str, what: str
) -> None:
    good = pbs("Resource_List.ncpus=2")
    with pytest.raises(InstanceError) as told:
        logged(tmp_path, good + bad)
    assert f"line 2: {what}" in str(told.value) and "--skip-bad" in str(told.value)
    with pytest.raises(
        InstanceError, match=r"1 of 2 rows cannot be read, more than 5 %: line 2"
    ):
        logged(tmp_path, good + bad, skip_bad=0.05)
    log = logged(tmp_path, good + bad, skip_bad=0.5)
    assert len(log.jobs) == 1 and log.warnings[0].startswith("1 of 2 rows left out")


def test_a_record_that_stands_twice_is_one_job(tmp_path) -> None:
    log = logged(tmp_path, pbs("Resource_List.ncpus=2") * 3)
    assert len(log.jobs) == 1
    assert log.warnings[0] == "2 repeated rows counted once: line 2, 3"


TIMES = "2024-05-01T10:00:00|2024-05-01T10:00:00|2024-05-01T11:00:00|COMPLETED"


def rows(tmp_path, heading: str, *lines: str, **how):
    """(number, processors, run time) of the jobs, and what is said of them."""
    log = logged(tmp_path, "\n".join((heading, *lines)) + "\n", **how)
    return [(job.id, job.processors, job.run_seconds) for job in log.jobs], log.warnings


@pytest.mark.parametrize(
    ("heading", "line"),
    [
        ("JobID|Submit|Start|End|State|JobName|NCPUS", f"7|{TIMES}|odd|name|x|16"),
        ("JobID|Submit|Start|End|State|NCPUS|JobName", f"7|{TIMES}|16|odd|name"),
        ("JobID|JobName|Comment|Submit|Start|End|State|NCPUS", f"7|a|b|c|d|{TIMES}|16"),
        ("JobID|Submit|Start|End|State|NCPUS|Reason|", f"7|{TIMES}|16|a|b|"),
    ],
)
def test_a_bar_within_a_text_is_part_of_it(tmp_path, heading: str, line: str) -> None:
    jobs, said = rows(tmp_path, heading, line)
    assert jobs == [(7, 16, 3600)]
    assert "a | within a text, in job: 7" in said


@pytest.mark.parametrize(
    ("heading", "line", "what"),
    [
        (
            "JobID|JobName|Submit|Start|End|State|NCPUS|SubmitLine",
            f"7|a|b|{TIMES}|16|x",
            "a | in JobName, SubmitLine: leave JobName, SubmitLine out of -o",
        ),
        # one of the two has it: 8 or 120 processors
        (
            "JobID|Submit|Start|End|State|JobName|NCPUS|TimelimitRaw|Reason",
            f"7|{TIMES}|a|8|120|b|c",
            "a | in JobName, Reason",
        ),
        # a bar at the end of the line, or one in the name of a job of 120 processors
        (
            "JobID|Submit|Start|End|State|JobName|NCPUS|TimelimitRaw",
            f"7|{TIMES}|a|8|120|",
            "a | in JobName",
        ),
        (
            "JobID|Submit|Start|End|State|NCPUS",
            f"7|{TIMES}|8|9",
            "7 cells, but the heading has 6",
        ),
        (
            "JobID|Submit|Start|End|State|NCPUS|JobName",
            f"7|{TIMES}|8",
            "6 cells, but the head",
        ),
        (
            "JobID|Submit|Start|End|State|NCPUS|NCPUS",
            f"7|{TIMES}|8|9",
            "two columns 'NCPUS'",
        ),
    ],
)
def test_a_row_is_as_long_as_its_heading(tmp_path, heading, line, what) -> None:
    with pytest.raises(InstanceError) as told:
        rows(tmp_path, heading, line)
    assert what in str(told.value)


def test_a_line_break_within_a_text_is_part_of_it(tmp_path) -> None:
    heading = "JobID|Submit|Start|End|State|JobName|NCPUS|SubmitLine"
    found = rows(
        tmp_path,
        heading,
        f"7|{TIMES}|a|16|sh -c echo one &&",
        "echo two",
        "10",
        f"8|{TIMES}|half",
        "a name|4|srun",
        f"9|{TIMES}|b|2|srun",
    )
    assert found[0] == [(7, 16, 3600), (8, 4, 3600), (9, 2, 3600)]
    assert "line breaks within a text, joined, in line: 3 and 2 more" in found[1]
    short = "JobID|Submit|Start|End|State|NCPUS"
    with pytest.raises(
        InstanceError, match=r"line 3: 1 cells, .*a line break in a cell"
    ):
        rows(tmp_path, short, f"7|{TIMES}|8", "rest")


@pytest.mark.parametrize(
    ("column", "cell", "processors"),
    [
        ("AllocTRES", "billing=9,cpu=2.50K,mem=10T", 2560),  # 2.5 x 1024
        ("ReqTRES", "cpu=1K,node=8", 1024),
        ("AllocCPUS", "1M", 1048576),
        ("NCPUS", "1,024", 1024),
    ],
)
def test_sizes_are_read_whole(
    tmp_path, column: str, cell: str, processors: int
) -> None:
    heading = f"JobID|Submit|Start|End|State|{column}"
    assert rows(tmp_path, heading, f"7|{TIMES}|{cell}")[0] == [(7, processors, 3600)]


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("AllocTRES", "cpu=2,560,mem=4G"),
        ("AllocTRES", "cpu=2.5X"),
        ("AllocTRES", "cpu=-4"),
        ("NCPUS", "-8"),
        ("NCPUS", "2.5"),
        ("NCPUS", "8 of 16"),
    ],
)
def test_a_size_that_is_none_is_refused(tmp_path, column: str, cell: str) -> None:
    with pytest.raises(InstanceError, match=f"line 2: {column} '"):
        rows(tmp_path, f"JobID|Submit|Start|End|State|{column}", f"7|{TIMES}|{cell}")


HOURS = "JobID|Submit|Start|End|Elapsed|Suspended|State|NCPUS"


def test_suspended_time_is_no_run_time(tmp_path) -> None:
    """From 10:00 to 14:00, three hours of them suspended."""
    begin, end = "2024-05-01T10:00:00", "2024-05-01T14:00:00"
    line = f"7|{begin}|{begin}|{end}|{{}}|{{}}|COMPLETED|8"
    for cells in (("01:00:00", "03:00:00"), ("01:00:00", ""), ("", "03:00:00")):
        jobs, said = rows(tmp_path, HOURS, line.format(*cells))
        assert jobs == [(7, 8, 3600)], cells
        assert any("Elapsed is not End - Start" in text for text in said)
    running = line.replace("2024-05-01T14:00:00", "Unknown").format("01:00:00", "")
    jobs, _ = rows(
        tmp_path, HOURS, line.format("04:00:00", ""), running.replace("7|", "8|", 1)
    )
    assert jobs == [(7, 8, 14400), (8, 8, None)]


@pytest.mark.parametrize(
    ("start", "end", "elapsed", "wait", "run"),
    [
        # At 03:00 summer time it is 02:00 again: 02:30 to 02:10 lasts 40 minutes.
        ("02:30", "02:10", "00:40:00", 5400, 2400),
        ("02:30", "02:10", "", 5400, 2400),
        (
            "02:30",
            "03:30",
            "02:00:00",
            5400,
            7200,
        ),  # starts in the first of the two hours
        ("02:30", "03:30", "01:00:00", 9000, 3600),  # in the second
    ],
)
def test_the_hour_that_summer_time_repeats(
    tmp_path, start, end, elapsed, wait, run
) -> None:
    day = "2024-10-27T"
    row = f"7|{day}01:00:00|{day}{start}:00|{day}{end}:00|{elapsed}||COMPLETED|8\n"
    (job,) = logged(tmp_path, f"{HOURS}\n{row}", time_zone="Europe/Stockholm").jobs
    assert (job.wait_seconds, job.run_seconds) == (wait, run)


@pytest.mark.parametrize(
    "never", ["1970-01-01T00:00:00", "1970-01-01T01:00:00", "0", "Unknown"]
)
def test_a_time_in_1970_is_none(tmp_path, never: str) -> None:
    heading = "JobID|Submit|Start|End|State|NCPUS"
    log = logged(
        tmp_path,
        f"{heading}\n7|{TIMES}|8\n"
        f"8|2024-05-01T11:00:00|{never}|2024-05-01T11:30:00|CANCELLED by 0|8\n"
        f"9|2024-05-01T11:00:00|2024-05-01T11:00:00|{never}|NODE_FAIL|8\n",
    )
    jobs, said = log.usable_jobs()
    assert [job.id for job in jobs] == [7] and log.machine_processors()[0] == 8
    assert "1 jobs left out, cancelled before they ran: 8" in said
    assert "1 jobs left out, without a run time: 9" in said


@pytest.mark.parametrize(
    ("columns", "cells", "nodes"),
    [
        ("NNodes", "3", 3),
        ("AllocNodes|NNodes", "0|2", 2),  # 0: unknown
        ("AllocNodes|AllocTRES", "4|cpu=8,node=2", 4),
        ("AllocTRES", "cpu=8,mem=1G,node=2", 2),
        ("AllocTRES", "cpu=8", None),
        ("ReqNodes", "5", None),  # asked for, perhaps not what it got
    ],
)
def test_nodes_of_a_job(tmp_path, columns: str, cells: str, nodes: int | None) -> None:
    heading = f"JobID|Submit|Start|End|State|NCPUS|{columns}"
    log = logged(tmp_path, f"{heading}\n7|{TIMES}|8|{cells}\n")
    assert [job.nodes for job in log.jobs] == [nodes]
    made = batch_io_from_swf(log)
    assert made.jobs[0].nodes == (nodes or 8)  # else each processor is a node
    assert any(
        "state --machine processors_per_node" in text for text in made.warnings
    ) is (nodes is None)
    stated = batch_io_from_swf(log, machine=MachineRule(processors_per_node=8, nodes=9))
    assert stated.jobs[0].nodes == 1
    assert not any("assumed a machine" in text for text in stated.warnings)


def test_one_of_several_clusters_is_named(tmp_path) -> None:
    heading = "JobID|Cluster|Submit|Start|End|State|NCPUS"
    lines = [f"1|alpha|{TIMES}|8", f"1|beta|{TIMES}|16", f"2|beta|{TIMES}|4"]
    with pytest.raises(
        InstanceError, match=r"alpha \(1 rows\), beta \(2 rows\); choose one"
    ):
        rows(tmp_path, heading, *lines)
    jobs, _ = rows(tmp_path, heading, *lines, cluster="beta")
    assert jobs == [(1, 16, 3600), (2, 4, 3600)]
    assert rows(tmp_path, heading, *lines[1:])[0] == jobs
    with pytest.raises(UsageError, match=r"--cluster gamma: .*alpha"):
        rows(tmp_path, heading, *lines, cluster="gamma")
    with pytest.raises(UsageError, match="no column Cluster"):
        rows(
            tmp_path,
            "JobID|Submit|Start|End|State|NCPUS",
            f"1|{TIMES}|8",
            cluster="beta",
        )


def test_joined_files_repeat_headings_and_rows(tmp_path) -> None:
    heading, line = "JobID|Submit|Start|End|State|NCPUS", f"7_1|{TIMES}|8"
    jobs, said = rows(tmp_path, heading, line, heading, line, f"7_2|{TIMES}|8")
    assert jobs == [(7, 8, 3600), (7, 8, 3600)]  # two tasks of an array
    assert "1 repeated row counted once: line 4" in said


def test_a_bar_in_another_kind_of_log_does_not_make_it_one_of_slurm(tmp_path) -> None:
    assert len(logged(tmp_path, pbs("jobname=a|b", "Resource_List.ncpus=2")).jobs) == 1
    assert len(logged(tmp_path, "; Note: a|b\n1 0 5 10 4\n").jobs) == 1
