"""Find the least peak of a work directory by trying every order, from the rules B2 and
B9 alone.

It reads an instance as plain data and shares no code with ioopt. Tasks run one at a
time, which suffices for the peak: all bytes that are inside while a task runs were
inside at its start. Times, releases and cores do not matter, not even times of 0.
"""

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]


def orders(tasks: list[Json], done: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield every order of *tasks* in which each task follows the producers of its
    inputs.
    """
    if len(done) == len(tasks):
        yield done
    maker = {name: task["id"] for task in tasks for name in task.get("outputs", [])}
    for task in tasks:
        before = {maker[name] for name in task.get("inputs", []) if name in maker}
        if task["id"] not in done and before <= set(done):
            yield from orders(tasks, (*done, task["id"]))


def inside_after(instance: Json, ended: tuple[str, ...]) -> int:
    """Return the bytes inside after exactly the tasks *ended* have run."""
    total = 0
    for file in instance["files"]:
        makers = [
            t["id"] for t in instance["tasks"] if file["id"] in t.get("outputs", [])
        ]
        readers = [
            t["id"] for t in instance["tasks"] if file["id"] in t.get("inputs", [])
        ]
        written = bool(makers) and makers[0] in ended
        wanted = file.get("keep", False) or any(name not in ended for name in readers)
        if written and wanted:
            total += file["bytes"]
    return total


def peak(instance: Json, order: tuple[str, ...]) -> int:
    """Return the most bytes inside while the tasks run one at a time in *order*."""
    sizes = {file["id"]: file["bytes"] for file in instance["files"]}
    tasks = {task["id"]: task for task in instance["tasks"]}
    most = 0
    for place, name in enumerate(order):
        task = tasks[name]
        own = task.get("scratch_bytes", 0)
        own += sum(sizes[file] for file in task.get("outputs", []))
        most = max(most, inside_after(instance, order[:place]) + own)
    return most


def least_peak(instance: Json) -> int:
    """Return the least peak over all orders."""
    return min(peak(instance, order) for order in orders(instance["tasks"]))
