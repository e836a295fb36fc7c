"""Plans that hand files on between small disks."""

from __future__ import annotations

import random
from typing import Any

import pytest
from replication_samples import made

import ioopt
from ioopt.generate.replication.generate import generate
from ioopt.options import Deadline, SolveOptions
from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import SolveRequest
from ioopt.solvers.replication.search import link_run
from ioopt.solvers.replication.search.forwarding import forwarded


def batch(tasks: dict[str, str], disks: tuple[int, ...] = (100, 100)) -> Any:
    """Tasks of 1 s by the letters they read, 50 bytes each; the link takes 10 bytes a second."""
    files = dict.fromkeys(sorted(set("".join(tasks.values()))), 50)
    nodes = [{"disk_bytes": disk} for disk in disks]
    return made(nodes, files, {name: (1, row) for name, row in tasks.items()}, 10, 1000)


def test_a_file_that_is_read_again_goes_to_the_disk_with_room() -> None:
    """n0 has a and b, n1 has c and the dead d; z on n0 needs a and c, so b moves to n1 before it.

    x 0-11; y 11-22; b to n1 -22.05; c to n0 -22.1; z -23.1; e -28.1; w -29.1.  250 bytes, b only once.
    """
    problem = batch({"x": "ab", "y": "cd", "z": "ac", "w": "be"})
    plan = forwarded(problem, [0, 1, 2, 3], 1, 1)
    assert ioopt.check(problem, plan) == []
    assert plan.to_dict()["order"] == {"n0": ["x", "z"], "n1": ["y", {"copy": "b"}, "w"]}
    assert plan.rounds is not None
    assert [part.evicted for part in plan.rounds] == [(), (), (("b", "n0"),), ()]
    metrics = ioopt.simulate(problem, plan).metrics
    assert metrics["makespan_seconds"] == pytest.approx(29.1)
    assert metrics["remote_bytes"] == 250


def test_a_disk_takes_no_more_than_it_has_room_for() -> None:
    """z needs a, b and c, so 150 bytes on n1. Beside c and g, still read, n1 has 50 free after y: a comes at
    once, b waits on n0 for the next round. g has no room then, and is fetched again: 350 bytes.
    """
    problem = batch({"x": "ab", "y": "cgd", "z": "cab", "w": "gk"}, (100, 150))
    plan = forwarded(problem, [0, 1, 2, 3], 1, 1)
    assert ioopt.check(problem, plan) == []
    assert plan.to_dict()["order"] == {"n0": ["x", "w"], "n1": ["y", {"copy": "a"}, "z"]}
    assert ioopt.simulate(problem, plan).metrics["remote_bytes"] == 350


def test_tasks_that_read_nothing_else_ride_along() -> None:
    """w reads b alone, which x brings: both run in the first round."""
    plan = forwarded(batch({"x": "ab", "y": "cd", "w": "b"}), [0, 1, 2], 1, 1)
    assert plan.rounds is not None
    assert [part.tasks for part in plan.rounds] == [("x", "w"), ("y",)]


def test_a_window_prefers_what_the_disks_have() -> None:
    """After x with a and b, z reads a: it goes before y among two tasks, behind y where there is one."""
    problem = batch({"x": "ab", "y": "cd", "z": "ae"}, (100,))
    for window, order in ((1, ["x", "y", "z"]), (2, ["x", "z", "y"])):
        plan = forwarded(problem, [0, 1, 2], 1, window)
        assert plan.to_dict()["order"] == {"n0": order}


def uneven(rng: random.Random) -> ReplicationProblem:
    """Twelve tasks; two to four disks of other sizes, of which the first holds all a task reads."""
    sizes = [rng.randint(0, 9) for _ in range(8)]
    rows = [rng.sample(range(8), rng.randint(0, 3)) for _ in range(12)]
    least = max(sum(sizes[f] for f in row) for row in rows)
    disks = [least + rng.randint(0, 6), *(rng.randint(0, 20) for _ in range(rng.randint(1, 3)))]
    held = [f for f in range(8) if sizes[f] <= disks[1]][:1]
    nodes = [
        {"disk_bytes": disk, "holds": [f"f{f}" for f in held if i == 1]}
        for i, disk in enumerate(disks)
    ]
    files = {f"f{f}": size for f, size in enumerate(sizes)}
    tasks = {f"t{k}": (rng.randint(0, 2), [f"f{f}" for f in row]) for k, row in enumerate(rows)}
    return made(nodes, files, tasks, 1, 9)


@pytest.mark.parametrize("most", [1, 2, 4])
def test_plans_can_be_carried_out_on_any_disks(most: int) -> None:
    """No replay waits for ever or breaks a rule, and each fetches what the plan says."""
    for seed in range(40):
        problem = uneven(random.Random(seed))
        plan = forwarded(problem, list(range(12)), most, 1 + seed % 3)
        assert ioopt.check(problem, plan) == []
        metrics = ioopt.simulate(problem, plan).metrics
        size = {file.id: file.bytes for file in problem.files}
        fetched = sum(size[f] for part in plan.rounds or () for f, _ in part.remote)
        assert metrics["remote_bytes"] == fetched


def test_a_search_on_small_disks_begins_with_such_plans() -> None:
    """100 tasks on four nodes: its first plans beat MinMin, and end when the replay of the answer does."""
    problem = generate("image-85-follow-up", {"tasks": 100, "nodes": 4, "disk": "500MB"}, 0)
    request = SolveRequest(SolveOptions(), Deadline(None))
    run = link_run.LinkAwareRun(problem, request, 12)
    run.start()
    minmin = run.best.score
    run.deal()
    assert run.best.origin == link_run.HANDED_ON
    assert run.best.score < minmin
    replayed = ioopt.simulate(problem, run.best_plan()).metrics["makespan_seconds"]
    assert replayed == pytest.approx(run.best.score)
