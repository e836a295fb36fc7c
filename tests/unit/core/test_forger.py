"""The forger: no false result of any kind passes ``ioopt check`` in silence, no
true one is refused.
"""

import random
from pathlib import Path

import pytest
from damage.forger import MORE, QUICK, WAYS, forgeries, judged, tried, true_results

SAMPLE = 150
"""False documents that the default tests try;
``python tests/forging.py`` tries them all.
"""


def test_there_are_at_least_a_hundred_ways() -> None:
    assert len(WAYS) >= 100


def test_a_sample_of_false_results(tmp_path: Path) -> None:
    results = true_results(QUICK)
    for source, result in results:
        assert judged(source, result, result["settings"], tmp_path)[0] == 0, (
            source,
            result,
        )
    forged = random.Random(44).sample(list(forgeries(results, 0)), SAMPLE)
    counts = tried(forged, tmp_path)
    assert counts.tried == SAMPLE and counts.silent == [] and counts.broken == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_all_false_results(seed: int, tmp_path: Path) -> None:
    results = true_results((*QUICK, *MORE), seed)
    for source, result in results:
        assert judged(source, result, result["settings"], tmp_path)[0] == 0, (
            source,
            result,
        )
    forged = list(forgeries(results, seed))
    counts = tried(forged, tmp_path)
    assert counts.tried >= 2_000 and len(counts.by_way) >= 100
    assert counts.silent == [] and counts.broken == []
