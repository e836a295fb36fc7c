"""Workflows through Snakemake's schedulers and ours: simulated by hand, and in real Snakemake."""

from __future__ import annotations

import pytest

# these need Snakemake, which .ci/run installs for the slow tests
pytestmark = pytest.mark.slow


@pytest.fixture
def scripts():
    pytest.importorskip("snakemake")
    from bench import embed_snakemake

    return embed_snakemake


def test_an_execution_by_hand(scripts):
    from bench.snakemake_workflows import StubJob, StubWorkflow

    # 2 cores: a and b make 3 GB and 1 GB (temporary), then c reads a's file and d reads b's.
    # a (1 s) and b (2 s) start; c (4 s) runs 1 to 5, d (1 s) 2 to 3. 4 GB lie there from 2 to 3.
    jobs = [
        StubJob("a", (), {"x": 3 * 10**9}, frozenset({"x"}), seconds=1.0),
        StubJob("b", (), {"y": 10**9}, frozenset({"y"}), seconds=2.0),
        StubJob("c", ("x",), {"c": 1}, seconds=4.0),
        StubJob("d", ("y",), {"d": 1}, seconds=1.0),
    ]
    answers = scripts.answers()
    greedy = answers["snakemake greedy"]
    for answer in answers.values():
        run = scripts.run_to_the_end(StubWorkflow("w", jobs), 2, answer, greedy, told=True)
        assert run[:2] == (5.0, 4.0)


def test_the_temporary_file_that_can_go_decides(scripts):
    from bench.snakemake_workflows import StubJob, StubWorkflow

    # One core and three ready readers: ours takes the reader of the 5 GB file first.
    jobs = [
        StubJob("make", (), {"big": 5 * 10**9}, frozenset({"big"}), seconds=1.0),
        StubJob("p", (), {"p": 1}, seconds=9.0),
        StubJob("q", ("big",), {"q": 1}, seconds=1.0),
    ]
    state = scripts._Progress(StubWorkflow("w", jobs), told=True)
    state.end(0)
    chosen = scripts.answers()["ioopt"](
        state.jobs[1:], state.jobs[1:], {"_cores": 1, "mem_mb": 10**9}, state.sizes
    )
    assert [job.jobid for job in chosen] == [2] and state.held == 5 * 10**9
    state.end(2)
    assert (state.held, state.peak) == (0, 5 * 10**9)


def test_in_real_snakemake_no_scheduler_selects_better(scripts):
    from bench.snakemake_workflows import variant_calling

    rows = list(scripts.real_rows(variant_calling(2, 2), cores=8))
    values = {row[1]: row[3] for row in rows}
    assert set(values) == {"ioopt", "greedy", "milp", "greedy+temp", "milp+temp"}
    assert rows[0][2] > 5 and values["ioopt"] == pytest.approx(max(values.values()))
    # temporary files were there, and seen: 2 samples of at least 2 GB a read file
    assert all(row[7] >= 2 for row in rows)
