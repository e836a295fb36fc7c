"""Solvers of a user and instances to compare them on."""

import pytest

OWN = """
def in_turn(problem):
    nodes = [node.id for node in problem.nodes]
    tasks = [task.id for task in problem.tasks]
    return {node: tasks[k :: len(nodes)] for k, node in enumerate(nodes)}

def gives_up(problem):
    raise ValueError(f"{len(problem.tasks)} tasks, {problem.name!r}")

def even(problem):
    return None if problem.meta["seed"] % 2 else in_turn(problem)

def again(problem, *, step=2):
    return in_turn(problem)

def odd(problem):
    return in_turn(problem) if problem.meta["seed"] % 2 else None
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A working directory with solvers in the file mine.py."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN)


@pytest.fixture
def many(run, own, tmp_path):
    """A folder of six small batches, beside the solvers."""
    words = ("replication", "--preset", "tiny", "--count", "6", "-o", "many")
    assert run("instances", "generate", *words)[0] == 0
    return tmp_path / "many"


@pytest.fixture
def files(many):
    """The files of these batches, in order."""
    return sorted(map(str, many.glob("*.json")))
