"""Workflows through Snakemake's schedulers and ours: in real Snakemake."""

from __future__ import annotations

import pytest

# these need Snakemake, which .ci/run installs for the slow tests
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("scheduler", ["ioopt", "ilp"])
def test_real_snakemake_runs_to_the_end(tmp_path, scheduler) -> None:
    pytest.importorskip("snakemake")
    from bench.on_snakemake import mapping, run_stub, write

    workflow = mapping(2)
    write(workflow, tmp_path, 2.0)
    # temporary files were there, and seen: 2 samples of at least 2 GB a read file
    assert run_stub(workflow, tmp_path, scheduler, 8, None) >= 2e9


@pytest.mark.parametrize(("scheduler", "ends"), [("greedy", False), ("ioopt data", True)])
def test_a_disk_that_greedy_fills_is_enough_for_the_data_order(tmp_path, scheduler, ends) -> None:
    """25 GB for samples of 2, 3, 4 and 5 GB a read file.

    Trimming them all leaves 2 (2 + 3 + 4 + 5) = 28 GB, which greedy does at once on 16 cores. One
    sample at a time needs no more than what it has trimmed and mapped: 20.2 GB of the largest.
    """
    pytest.importorskip("snakemake")
    from bench.on_snakemake import mapping, run_stub, write

    workflow, quota = mapping(4), 25 * 10**9
    write(workflow, tmp_path, 2.0, quota)
    peak = run_stub(workflow, tmp_path, scheduler, 16, quota)
    assert (peak is not None and peak <= quota) is ends
    assert ("exit status 28" in (tmp_path / "log").read_text()) is not ends
