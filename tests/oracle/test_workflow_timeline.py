"""Replays and dispatches of random workflows against the slow exact simulator, on both engines."""

from __future__ import annotations

import pytest
from workflow_timeline import disagreement


def agree(seeds: range, engine: str, beyond: bool = False) -> None:
    counts = [disagreement(seed, engine, beyond) for seed in seeds]
    assert [text for text, _, _ in counts if text is not None] == []
    assert sum(evictions for _, evictions, _ in counts) > len(seeds)
    assert sum(saves for *_, saves in counts) > len(seeds)


def test_random_workflows_agree_with_the_exact_simulator() -> None:
    """``python tests/oracle/workflow_timeline.py 5000`` for more; the checker agrees as well."""
    agree(range(1, 121), "python")


def test_random_workflows_with_options_agree() -> None:
    """Sources and staging, alone and together."""
    agree(range(1, 121), "python", beyond=True)


@pytest.mark.slow
@pytest.mark.parametrize("beyond", [False, True])
@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_more_random_workflows_agree(engine: str, beyond: bool) -> None:
    agree(range(1, 501), engine, beyond)
