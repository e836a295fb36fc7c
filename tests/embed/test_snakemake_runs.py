"""Workflows through Snakemake's schedulers and ours: in real Snakemake."""

from __future__ import annotations

import pytest

# these need Snakemake, which .ci/run installs for the slow tests
pytestmark = pytest.mark.slow


def test_real_snakemake_runs_to_the_end_under_every_scheduler() -> None:
    pytest.importorskip("snakemake")
    from bench.embed_snakemake import real_rows
    from bench.snakemake_workflows import variant_calling

    rows = list(real_rows(variant_calling(2, 2), cores=8))
    assert [row[1] for row in rows] == ["ioopt", "greedy", "ilp"]
    # temporary files were there, and seen: 2 samples of at least 2 GB a read file
    assert all(row[3] >= 2 for row in rows)
