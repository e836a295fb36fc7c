"""The benchmark of bounds: nothing lies beyond a plan, and what does would be seen."""

from __future__ import annotations

from typing import Any

import pytest
from bench import bounds

import ioopt


@pytest.mark.slow
def test_no_bound_lies_beyond_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert bounds.main(True) == 0
    assert "replication batches" in capsys.readouterr().out


def test_a_bound_beyond_a_plan_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    # Both writers at once end after 3 s at the soonest; half of what a policy needs is no bound of it.
    make = lambda rng: ioopt.load("two-writers")  # noqa: E731
    kept = bounds.stated

    def lying(*what: Any) -> Any:
        kind, found, values = kept(*what)
        found["mean_response_seconds"] = {10.0: "a liar"}
        return kind, found, values

    part: Any = (make, {}, 1.0)
    monkeypatch.setattr(bounds, "LIMIT_SECONDS", 0.1)
    monkeypatch.setitem(bounds.PARTS, "batch I/O, closed loop", part)
    assert bounds.checked("batch I/O, closed loop", 2, 1)[-1] == 0
    monkeypatch.setattr(bounds, "stated", lying)
    assert bounds.checked("batch I/O, closed loop", 2, 1)[-1] > 0
