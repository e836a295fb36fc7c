"""MinMin's plan under limited disk: one case by hand, many against
the slow exact planner.
"""

from fractions import Fraction

import pytest
from random_replication import random_case
from replication_samples import document
from workflow_planners import ready_min_min

import ioopt
from ioopt.solvers.replication.greedy.minmin import plan_minmin


def hand_case():
    # 1 byte/s remotely, 10 bytes/s between nodes; a task computes for no time.
    reads = {"t0": "a", "t1": "ab", "t2": "cd", "t3": "bd", "t4": "ac"}
    return document(
        [{"disk_bytes": 9}, {"disk_bytes": 8}],
        {"a": 4, "b": 3, "c": 2, "d": 5},
        {name: (0, files) for name, files in reads.items()},
        1,
        10,
    )


def test_plan_evicts_the_least_popular_until_the_next_file_fits():
    """By hand; planned ends (ready + transfers), least first, ties by task, then node.

    1. t0 ends at 4 on either node: n0. Disk of n0: a (4 of 9).
    2. On n1: t4 = .4 + 2 = 2.4 (a copied, c fetched); t1 = .4 + 3. On n0: t4 = 4 + 2.
       So t4 on n1 at 2.4. Disk of n1: a, c (6 of 8).
    3. On n1: t1 = 2.4 + 3 = 5.4, t2 = 2.4 + 5 = 7.4, t3 = 2.4 + 8. On n0: t1 = 4 + 3
       = 7, t2 = 4 + .2 + 5. So t1 on n1 at 5.4. b (3) needs 1 more: a is t1's own, so
       c goes although t2 still wants it. Disk of n1: a, b (7 of 8).
    4. c is nowhere now. On n0: t2 = 4 + 2 + 5 = 11, t3 = 4 + .3 + 5 = 9.3. On n1: t3 =
       5.4 + 5 = 10.4, t2 = 5.4 + 7. So t3 on n0 at 9.3: b fits (7 of 9); d (5) needs 3
       more: a, read by no task any more, popularity 0. Disk of n0: b, d (8 of 9).
    5. t2 on n0: 9.3 + 2 = 11.3; on n1: 5.4 + 2 + .5 = 7.9. So n1 at 7.9: c (2) needs 1
       more: a and b both have popularity 0, a is the lower index; then d (5) over b, c
       (5 of 8) needs 2: b.
    """
    case = hand_case()
    order = {"n0": ["t0", "t3"], "n1": ["t4", "t1", "t2"]}
    evicted = [("c", "n1"), ("a", "n0"), ("a", "n1"), ("b", "n1")]
    ready = {"n0": Fraction(93, 10), "n1": Fraction(79, 10)}
    assert ready_min_min(case) == (order, ready, evicted)
    plan, ends = plan_minmin(ioopt.load(case))
    assert {node: list(queue) for node, queue in plan.order.items()} == order
    assert ends == pytest.approx([9.3, 7.9])


def test_replay_evicts_by_the_same_rule():
    """The queues above, replayed on the shared link; a file in flight is waited for.

    A node's 10 bytes/s are for both directions: while it fetches at 1, it sends at 9.
    0: n0 fetches a, n1 skips a (on its way) and fetches c (2 bytes), each at half a
       byte a second.
    4: c is there; a has 2 bytes left and ends at 6: t0 runs. n1 copies a: t4 runs at
       6 4/9.
    6: n0 stages t3 and fetches b (3); n1 waits for it.
    9: b is there. n0 goes on with d (5): 4 + 3 + 5 > 9, and a goes (b is t3's own). n1
       copies b: 6 + 3 > 8, and c goes (a is t1's own). t1 runs at 9 1/3.
    9 1/3: n1 stages t2 and fetches c: 4 + 3 + 2 > 8; a (popularity 0) goes before b (t3
       wants it). d has 4 2/3 left and c 2: c ends at 13 1/3, d has 2 2/3 left and ends
       at 16: t3 runs.
    16: n1 copies d: 3 + 2 + 5 > 8, b goes. t2 ends at 16.5.
    """
    case = hand_case()
    problem = ioopt.load(case)
    replayed = ioopt.simulate(problem, ioopt.solve(problem, "minmin"))
    assert replayed.metrics["makespan_seconds"] == pytest.approx(16.5)
    evictions = [
        (e["file"], e["node"], e["seconds"]) for e in replayed.schedule["evictions"]
    ]
    assert [row[:2] for row in evictions] == [
        ("a", "n0"),
        ("c", "n1"),
        ("a", "n1"),
        ("b", "n1"),
    ]
    assert [row[2] for row in evictions] == pytest.approx([9, 9, 28 / 3, 16])


def test_room_for_the_largest_task_is_made_as_each_ends():
    """The mechanism of Section 4.3: c (5 + 1 s) is first, then a (6 + 1); room for the
    90 bytes of b empties the disk after each, and b fetches f and g: 9 + 1. Where what
    is missing alone leaves, f stays for b: 3 + 1.
    """
    tasks = {"a": (1, "f"), "b": (1, "fg"), "c": (1, "h")}
    case = document([{"disk_bytes": 100}], {"f": 60, "g": 30, "h": 50}, tasks)
    problem = ioopt.load(case)
    for room, end, fetched in (("largest", 23, "ffgh"), ("missing", 17, "fgh")):
        plan, ends = plan_minmin(problem, room=room)
        assert plan.order == {"n0": ("c", "a", "b")}
        assert ends == [end]
        assert sorted(file for file, _ in plan.remote) == list(fetched)


def test_plans_equal_the_exact_planner():
    evictions = 0
    for seed in range(200):
        instance, _, _ = random_case(seed)
        order, ready, evicted = ready_min_min(instance)
        plan, ends = plan_minmin(ioopt.load(instance))
        evictions += len(evicted)
        assert {node: list(queue) for node, queue in plan.order.items()} == order, seed
        assert ends == pytest.approx(
            [float(value) for value in ready.values()], abs=1e-9
        ), seed
    assert evictions > 100, "the disks must be tight enough to test anything"
