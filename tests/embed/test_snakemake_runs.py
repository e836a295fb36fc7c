"""Workflows through Snakemake's schedulers and ours: in real Snakemake, on a real small file system."""

from __future__ import annotations

import pytest

# these need Snakemake, which .ci/run installs for the slow tests, and leave to mount a tmpfs
pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("scheduler", "quota", "ends"),
    [("ioopt", None, True), ("ilp", None, True), ("greedy", 46, False), ("ioopt data", 46, True)],
)
def test_real_snakemake_on_a_small_disk(tmp_path, scheduler, quota, ends) -> None:
    """Samples of 2, 3, 4 and 5 MB a read file on 16 cores, in a disk of 46 MB or one that is large enough.

    A sample trims, maps, marks and keeps twice that each. One after the other the last needs 18 MB
    that are kept, and 4 x 5 beside them, with logs 39.4. All at once they take more than 50.
    """
    pytest.importorskip("snakemake")
    from bench.on_snakemake import as_run, mapping, mounted, run_stub, write

    workflow = as_run(mapping(4), 113_408_440)
    size = None if quota is None else quota * 10**6
    write(workflow, tmp_path, 2.0)
    try:
        with mounted(workflow, tmp_path / "work", size):
            peak = run_stub(16, tmp_path, scheduler, size)
    except PermissionError as error:
        pytest.skip(f"no file system can be mounted: {error}")
    assert (peak is not None) is ends
    assert ("No space left on device" in (tmp_path / "log").read_text()) is not ends
    if ends:
        assert 28e6 < peak < (46.5e6 if quota else 70e6)  # 28 MB are kept
