"""ADAPTIVE chooses the sets that playing them to their ends chooses."""

from __future__ import annotations

import random
from collections.abc import Sequence

from ioopt.decisions.batch_io import Limits, Request, View
from ioopt.problems.batch_io import Machine
from ioopt.registry.policies import io_policy

FOUR_NODES = Machine(
    nodes=64, unit_nodes=1, allocation="flat", node_bytes_per_second=1, storage_bytes_per_second=4
)


def view_of(requests: Sequence[tuple[int, float]]) -> View:
    """Requests of (nodes, bytes left) behind a storage that four nodes fill."""
    limits = Limits.of(FOUR_NODES)
    made = [Request(k, n, limits, float(k), left) for k, (n, left) in enumerate(requests)]
    return View(limits, 100.0, made)


def adaptive(view: View) -> list[float]:
    """The policy's rates."""
    return io_policy("adaptive").decide(view)


def test_chosen_and_played_sets_are_the_same() -> None:
    rng = random.Random(1)
    for _ in range(200):
        asked = [(rng.choice((1, 1, 2, 4, 8)), rng.uniform(1, 30)) for _ in range(20)]
        view = view_of(asked)
        granted = [rate > 0 for rate in adaptive(view)]
        played = View(view.limits._replace(own_peaks=True), view.now, view.requests)
        assert granted == [rate > 0 for rate in adaptive(played)]


def test_a_tie_does_not_share() -> None:
    """4 nodes with 8 bytes take 2 s alone. One as large beside it: both end at 4 s, 4 + 4 = 8; one
    after the other 2 + (2 + 2) = 6. 4 nodes with nothing left join a set that has nothing left: 0
    against 0, which does not pay."""
    assert adaptive(view_of([(4, 8.0), (4, 8.0)])) == [4.0, 0.0]
    assert adaptive(view_of([(4, 0.0), (4, 0.0)])) == [4.0, 0.0]
