"""Workflows through Snakemake's schedulers and ours: one selection by hand, and in real Snakemake."""

from __future__ import annotations

import pytest

# these need Snakemake, which .ci/run installs for the slow tests
pytestmark = pytest.mark.slow


@pytest.fixture
def scripts():
    pytest.importorskip("snakemake")
    from bench import embed_snakemake

    return embed_snakemake


def test_the_temporary_file_that_can_go_decides(scripts):
    from bench.snakemake_workflows import Name

    # One core and two ready jobs: ours takes the only reader of the 5 GB temporary file first.
    big = Name("big", temp=True)
    jobs = [scripts.Job(k, reads, {"_cores": 1, "mem_mb": 0}) for k, reads in ((1, []), (2, [big]))]
    answer = scripts.answers()["ioopt"]
    chosen = answer(jobs, jobs, {"_cores": 1, "mem_mb": 10**9}, {big: 5 * 10**9})
    assert [job.jobid for job in chosen] == [2]


def test_real_snakemake_runs_to_the_end_under_every_scheduler(scripts):
    from bench.snakemake_workflows import variant_calling

    rows = list(scripts.real_rows(variant_calling(2, 2), cores=8))
    assert [row[1] for row in rows] == ["ioopt", "greedy", "ilp"]
    # temporary files were there, and seen: 2 samples of at least 2 GB a read file
    assert all(row[3] >= 2 for row in rows)
