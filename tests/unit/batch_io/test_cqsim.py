"""CQSim's results as an instance."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioopt.errors import InstanceError
from ioopt.formats.cqsim import batch_io_from_cqsim, read_cqsim

TEXT = """  2;3;3;60.0;20.0;5.0;10.0;15.0;35.0
1;5;5;30.0;15.0;0.0;0.0;0.0;15.0
3;1;1;30.0;0.0;0.0;12.0;12.0;12.0

"""


def test_jobs_and_the_processors_that_were_used(tmp_path: Path) -> None:
    # Job 1 has 5 processors from 0 to 15, job 2 has 3 from 15 on: 5 at most.
    (tmp_path / "a.rst").write_text(TEXT)
    assert [(job.id, job.start_seconds) for job in read_cqsim(tmp_path / "a.rst")] == [
        (1, 0), (2, 15), (3, 12),
    ]  # fmt: skip
    problem = batch_io_from_cqsim(tmp_path / "a.rst", options={"queue": "fcfs"})
    assert problem.machine.nodes == 5 and problem.options.queue == "fcfs"
    assert [(j.id, j.submit_seconds, j.walltime_seconds) for j in problem.jobs] == [
        (1, 0, 30), (2, 10, 60),
    ]  # fmt: skip
    assert problem.meta and "1 jobs left out: 3" in problem.meta["warnings"][0]


@pytest.mark.parametrize("line", ["1;2", "1;5;5;30;x;0;0;0;15"])
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.rst").write_text(TEXT + line)
    with pytest.raises(InstanceError, match=r"a\.rst: line 5: wanted 9 numbers"):
        read_cqsim(tmp_path / "a.rst")
