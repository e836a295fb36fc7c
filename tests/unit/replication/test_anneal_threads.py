"""``anneal`` on two threads: the better of two seeds."""

from __future__ import annotations

import ioopt


def test_two_threads_anneal_from_two_seeds() -> None:
    how = {"settings": {"steps": 300}, "bound": False}
    alone = [ioopt.solve("image-16x3", "anneal", seed=seed, **how) for seed in (0, 1)]
    assert alone[0].objective > alone[1].objective  # so that the other thread's plan is the answer
    both = ioopt.solve("image-16x3", "anneal", seed=0, threads=2, **how)
    assert both.plan == alone[1].plan
