"""The reproduction section of features F5 and F6, as it is printed."""

from __future__ import annotations

import pytest
from papers import lee_assignment as lee_f56


@pytest.mark.slow
def test_heavy_mixes() -> None:
    rows = lee_f56.claims(quick=True)
    assert len(rows) == 5
    assert [row.claim for row in rows if row.verdict == "not reproduced"] == []
