"""Job logs of Slurm and PBS: every odd row of the samples, and the jobs that they become."""

from pathlib import Path

import pytest

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.job_log import _span, read_log
from ioopt.formats.swf.io import batch_io_from_swf

SAMPLES = Path(__file__).parents[3] / "docs" / "samples"
SACCT = SAMPLES / "sacct.txt"
SACCT_JOBS = [  # id, submit, wait, run, processors, limit, user, queue, partition
    (100, 0, 10, 7200, 64, 14400, "ada", "normal", "batch"),
    (102, 300, 6920, 1800, 8, 1800, "bob", "normal", "batch"),  # 0 AllocCPUS: from AllocTRES
    (103, 300, 6920, 1200, 8, 1800, "bob", "normal", "batch"),
    (106, 5400, 5440, 600, 32, 172800, "eve", "normal", "long"),  # lost its node: a run
    (104, 9020, 10, 1800, 64, None, "ada", "high", "batch"),  # submitted 3600, eligible 9020
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
        (job.id, job.submit_seconds, job.wait_seconds, job.run_seconds, job.processors,
         job.requested_seconds, job.user, job.queue, job.partition)
        for job in log.usable_jobs()[0]
    ]  # fmt: skip


def test_every_row_of_the_slurm_sample():
    log = read_log(SACCT)
    assert jobs_of(log) == SACCT_JOBS
    said = "\n".join((*log.warnings, *log.usable_jobs()[1]))
    for what in (
        "times without an offset, taken for UTC (import sacct --time-zone): 2024-05-06T08:00:00 and 31 more",
        "steps, not read: 100.batch and 1 more", "without a time limit: the run time",
        "NODE_FAIL: a run of its own: 106", "count from then: 104 and 1 more",
        "cancelled before they ran: 105", "without a run time: 101, 107", "renumbered: 106",
        "machine of 64 processors, the most in use at once",
    ):  # fmt: skip
        assert what in said
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
    assert any("array tasks by the number of their array" in text for text in log.warnings)
    spans = {"1-12:00:00": 129600, "00:30:00": 1800, "10:00": 600, "UNLIMITED": None, "": None}
    assert {text: _span(text, "") for text in spans} == spans


def test_every_record_of_the_pbs_sample():
    log = read_log(SAMPLES / "pbs-accounting.txt")
    assert jobs_of(log) == PBS_JOBS
    assert any("deleted or aborted" in text and "203.pbs" in text for text in log.warnings)
    labels = [
        (job.wait_seconds, job.user, job.partition)
        for job in batch_io_from_swf(log).jobs
    ]  # fmt: skip
    assert labels == [(10, "ada", "workq"), (6920, "bob", "workq"), (1430, "bob", "long")]


HEAD = "JobID|Submit|Start|End|State|NCPUS"


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        ("JobID|Submit|Start|End|NCPUS\n", "", "line 1: no column State"),
        ("JobID|Submit|Start|End|State\n", "", "line 1: no column AllocCPUS or NCPUS"),
        (f"{HEAD}\n1|2024\n", "", "line 2: 2 cells, but the heading has 6"),
        (f"{HEAD}\n1|yesterday|None|None|FAILED|1\n", "", "line 2: Submit: 'yesterday' is no time"),
        (f"{HEAD}\n1|Unknown|None|None|PENDING|1\n", "", "none of 1 jobs ran"),
        (f"{HEAD}\n", "pbs", "line 1: no PBS accounting record"),
        ("05/06/2024 08:00:00;Q;2.a;queue=a\nnonsense\n", "", "line 2: no PBS accounting record"),
        (f"{HEAD}\nx|None|None|None|FAILED|1\n", "", "line 2: JobID 'x' does not begin"),
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
