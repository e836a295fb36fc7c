"""JobDataPresent with DataLeastLoaded, by hand (rule 9)."""

import pytest
from replication_samples import made

import ioopt
from ioopt.problems.replication import CopyEntry
from ioopt.solvers.replication.greedy.job_data_present import plan_job_data_present


@pytest.mark.parametrize(
    ("tasks", "copies"), [(5, 0), (6, 1), (11, 1), (12, 2), (30, 2)]
)
def test_every_sixth_access_since_the_last_copy_makes_one(
    tasks: int, copies: int
) -> None:
    """One file, one access a task: copied at the 6th, at the 12th,
    then no node lacks it.
    """
    problem = made(3, {"f": 10}, {f"t{k}": (1, "f") for k in range(tasks)}, 10, 20)
    plan, _ = plan_job_data_present(problem)
    entries = [entry for queue in plan.order.values() for entry in queue]
    assert sum(isinstance(entry, CopyEntry) for entry in entries) == copies
    never, _ = plan_job_data_present(problem, threshold=None)
    assert sum(map(len, never.order.values())) == tasks


@pytest.mark.parametrize(
    ("when", "order"),
    [
        # a brings f to n0, b brings g to n1, which has less to do.
        ("start", {"n0": ("a", "c"), "n1": ("b", "d")}),
        # n0 idles at 2 and 3 s, n1 at 5 s.
        ("idle-head", {"n0": ("a", "c", "d"), "n1": ("b",)}),
        # To n1, idle from 0 on, c takes a copy alone; it idles at 1.5 s, n0 at 2 s.
        ("idle-scan", {"n0": ("a", "d"), "n1": ("c", "b")}),
    ],
)
def test_a_task_goes_where_its_data_are_or_to_who_idles(when: str, order: dict) -> None:
    tasks = {"a": (1, "f"), "b": (4, "g"), "c": (1, "f"), "d": (1, "g")}
    problem = made(2, {"f": 10, "g": 10}, tasks, 10, 20)
    plan, _ = plan_job_data_present(problem, when=when)
    assert plan.order == order


@pytest.mark.parametrize(
    ("seconds", "target"),
    [
        # n1 is busy for .1 + .2 s, in floating point 5e-17 s above the .3 s of n2: a
        # tie, the lowest node gets the copy.
        (0.3, "n1"),
        # .2999 s are less than .1 + .2 s.
        (0.2999, "n2"),
    ],
)
def test_a_copy_goes_to_the_least_loaded_node_ties_to_the_lowest(
    seconds: float, target: str
) -> None:
    """n0 holds f: a and five more tasks read it there, and the sixth
    access makes a copy.

    x, y and z read nothing: they go to n1 (0 s), n2 (0 s), and n1 (.1 s against y's).
    """
    tasks = {"a": (10, "f"), "x": (0.1,), "y": (seconds,), "z": (0.2,)}
    tasks |= {f"b{k}": (1, "f") for k in range(5)}
    problem = made([{"holds": ["f"]}, {}, {}], {"f": 10}, tasks, 10, 20)
    plan, _ = plan_job_data_present(problem)
    assert [entry for entry in plan.order["n0"] if isinstance(entry, CopyEntry)] == []
    copied = [
        node for node, queue in plan.order.items() if CopyEntry(copy="f") in queue
    ]
    assert copied == [target]


def test_a_node_that_cannot_hold_a_file_gets_no_copy() -> None:
    """n1 computes 1 s and has 9 bytes for the 10 of f; n2, which
    computes 5 s, gets the copy.
    """
    tasks = {"w": (5,), "v": (1,), "u": (5,)} | {f"b{k}": (1, "f") for k in range(6)}
    nodes = [{"holds": ["f"]}, {"disk_bytes": 9}, {"disk_bytes": 10}]
    plan, busy = plan_job_data_present(made(nodes, {"f": 10}, tasks, 10, 20))
    copied = [
        node for node, queue in plan.order.items() if CopyEntry(copy="f") in queue
    ]
    assert copied == ["n2"]
    # n0: w and six readers; n1: v; n2: u and the copy, 10 bytes at 20 a second.
    assert busy == [5 + 6, 1, 5 + 0.5]


def test_the_least_recently_used_file_leaves_in_the_plan_and_in_the_replay() -> None:
    """Two of three files fit. h comes for d, after a, b and c read f, g and f: g
    leaves, though two tasks still want it and only one wants f (Section 4.3).
    """
    tasks = {name: (1, f) for name, f in zip("abcdexy", "fgfhfgg", strict=True)}
    problem = made([{"disk_bytes": 20}], dict.fromkeys("fgh", 10), tasks, 10, 20)
    plan, busy = plan_job_data_present(problem, threshold=None)
    assert sorted(file for file, _ in plan.remote) == ["f", "g", "g", "h"]
    assert busy == [7 + 4]
    gone = ioopt.simulate(problem, plan).schedule["evictions"]
    assert [row["file"] for row in gone] == ["g", "h"]


def test_of_two_idle_nodes_the_lowest_chooses_the_next_task() -> None:
    """Both idle at 0 s: n0, which fetches h for z (.1 s) or g for w (.5 s),
    takes z; n1 takes w.

    n1 would copy f and fetch h for z (.6 s) or fetch g for w (.5 s):
    chosen for it, w is first.
    """
    nodes = [{"holds": ["f"]}, {}]
    tasks = {"w": (1, "g"), "z": (1, ["f", "h"])}
    problem = made(nodes, {"f": 10, "g": 5, "h": 1}, tasks, 10, 20)
    plan, _ = plan_job_data_present(problem, when="idle-scan")
    assert plan.order == {"n0": ("z",), "n1": ("w",)}
