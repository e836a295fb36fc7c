"""Workflows through Snakemake's schedulers and ours: in real Snakemake, on a real small file system."""

from __future__ import annotations

from math import ceil

import pytest

from ioopt.sim.work_directory.order import least_order, sequential_peak
from ioopt.solvers.work_directory.frontier import unlimited

# these need Snakemake, which .ci/run installs for the slow tests, and leave to mount a tmpfs
pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("scheduler", "room", "ends"),
    [("ioopt", 0, True), ("ilp", 0, True), ("greedy", 1.25, False), ("ioopt data", 1.25, True)],
)
def test_real_snakemake_on_a_small_disk(tmp_path, scheduler, room, ends) -> None:
    """Eight samples in a disk of *room* times what one after the other needs, or in one that is large.

    The order of submission takes more than four times that: the first steps of all lie there at once.
    """
    pytest.importorskip("snakemake")
    from bench.on_snakemake import SHAPES, as_run, generate, mounted, run_stub, write

    workflow = as_run(generate("methylseq-like", SHAPES["methylseq-like"], 0), 200 * 10**6)
    least = sequential_peak(workflow, least_order(workflow))
    assert unlimited(workflow)["peak_bytes"] > 4 * least
    quota = ceil(room * least) or None
    write(workflow, tmp_path, 2.0)
    try:
        with mounted(workflow, tmp_path / "work", quota):
            peak = run_stub(8, tmp_path, scheduler, quota)
    except PermissionError as error:
        pytest.skip(f"no file system can be mounted: {error}")
    assert (peak is not None) is ends
    assert ("No space left on device" in (tmp_path / "log").read_text()) is not ends
    if quota and ends:
        assert least / 2 < peak < quota + 4096 * len(workflow.products)
