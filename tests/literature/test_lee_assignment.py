"""The reproduction section of features F4 to F6, as it is printed."""

from __future__ import annotations

import pytest
from papers import lee_assignment as lee_f456


@pytest.mark.slow
def test_heavy_mixes_and_quantum_selection() -> None:
    rows = lee_f456.claims(quick=True)
    assert len(rows) == 7
    assert [row.claim for row in rows if row.verdict == "not reproduced"] == []
