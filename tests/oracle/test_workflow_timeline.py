"""Replays and dispatches of random workflows against the slow exact simulator, on both engines.

``python tests/oracle/workflow_timeline.py 5000`` for more; the checker agrees as well.
"""

from __future__ import annotations

import pytest
from workflow_timeline import CASES, disagreement


def agree(kind: str, seeds: range, engine: str) -> None:
    counts = [disagreement(seed, kind, engine) for seed in seeds]
    assert [text for text, _, _ in counts if text is not None] == []
    assert sum(evictions for _, evictions, _ in counts) > len(seeds)
    assert kind == "batch" or sum(saves for *_, saves in counts) > len(seeds)


@pytest.mark.parametrize(("kind", "last"), [("workflow", 120), ("options", 120), ("batch", 400)])
def test_random_cases_agree_with_the_exact_simulator(kind: str, last: int) -> None:
    """Options: sources and staging, alone and together; batches: copies, rounds and barriers."""
    agree(kind, range(1, last + 1), "python")


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_more_random_cases_agree(engine: str, kind: str) -> None:
    agree(kind, range(1, 501), engine)
