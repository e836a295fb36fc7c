"""Replays and dispatches of random workflows against the slow exact
simulator, on both engines.

The checker agrees as well.
"""

import pytest
from conftest import needs_kernels
from workflow_timeline import CASES, disagreement, noisy_disagreement


@pytest.mark.parametrize(
    ("kind", "engine", "last"),
    [
        pytest.param("workflow", "compiled", 60, marks=needs_kernels),
        ("options", "python", 60),
        ("needs", "python", 60),
        pytest.param("needs", "compiled", 80, marks=needs_kernels),
        ("shared", "python", 40),
        pytest.param("shared", "compiled", 60, marks=needs_kernels),
        pytest.param("batch", "compiled", 100, marks=needs_kernels),
        *(
            pytest.param(kind, engine, 500, marks=pytest.mark.slow)
            for kind in CASES
            for engine in ("python", "compiled")
        ),
    ],
)
def test_random_cases_agree_with_the_exact_simulator(
    kind: str, engine: str, last: int
) -> None:
    """Options: sources and staging, alone and together; batches: copies,
    rounds and barriers.
    """
    counts = [disagreement(seed, kind, engine) for seed in range(1, last + 1)]
    assert [text for text, _, _ in counts if text is not None] == []
    assert sum(evictions for _, evictions, _ in counts) > last
    assert kind == "batch" or sum(saves for *_, saves in counts) > last


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("last", [40, pytest.param(300, marks=pytest.mark.slow)])
def test_noisy_replays_agree_with_the_exact_simulator(kind: str, last: int) -> None:
    """Latency and unfair sharing, alone and together, of the cases that have queues;
    in the others a policy decides.
    """
    seeds = [seed for seed in range(1, last + 1) if "order" in CASES[kind](seed)]
    wrong = [noisy_disagreement(seed, kind) for seed in seeds]
    assert len(seeds) >= last / 3
    assert [text for text in wrong if text is not None] == []
