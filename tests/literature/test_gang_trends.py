"""What the calibrated preset must show, and the claims on the way;
slowdown from arrival.
"""

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs():
    from papers.zhang import Runs

    return Runs(seeds=range(4), since="arrival")


def test_local_jobs_at_the_highest_load(runs) -> None:
    """831 and 6524 of 10,000 in the paper; four seeds within a third."""
    for policy, paper in (("adaptive-iogs", 831), ("migrate-iogs", 6524)):
        assert runs.mean("local", policy, 8, 0.5) == pytest.approx(paper, rel=1 / 3), (
            policy
        )


def test_order_of_the_policies(runs) -> None:
    """Highest load, r = .5: the guard and the index beat Migrate, which
    beats the other three.
    """
    names = (
        "index-iogs",
        "guarded-iogs",
        "migrate-iogs",
        "iogs",
        "adaptive-iogs",
        "gs",
    )
    found = [runs.mean("slowdown", name, 8, 0.5) for name in names]
    assert found == sorted(found)
    assert found[1] < 0.5 * found[2]
