"""A workflow run as plain values and back: what is left of it, not how it came about."""

from collections.abc import Mapping, Sequence
from typing import Any

from ioopt.errors import InstanceError
from ioopt.formats.native import validate
from ioopt.problems.base import Json
from ioopt.problems.replication import ReplicationProblem, Task

Run = Any
"""A :class:`ioopt.embed.WorkflowDispatcher`, which imports this module."""

WAITS, ENDED, WITHDRAWN = "waits", "ended", "withdrawn"


def saved(run: Run) -> Json:
    """The run as plain JSON values, without what is forgotten.

    A task that runs is told with its node, its start and the seconds that its staging took.
    """
    names = {f: name for name, f in run._file.items()}
    tasks: list[Any] = []
    for k, task in enumerate(run._tasks):
        here = run._place.get(task.id) == k
        writes = any(f in names and run._writer.get(f) == k for f in run.outputs(k))
        if not here and not writes:
            continue  # it runs again at another place, or is forgotten
        how: Any = ENDED if task.id in run._ended else WAITS if here else WITHDRAWN
        if k in run._running:
            i = run._running[k]
            how = [i, *run._computing[i][k]]
        tasks.append([task.model_dump(mode="json"), how])
    return {
        "network": run.network.model_dump(mode="json"),
        "nodes": [node.model_dump(mode="json") for node in run.nodes],
        "files": [run._files[f].model_dump(mode="json") for f in sorted(names)],
        "tasks": tasks, "written": [names[f] for f in sorted(run._written)],
        "holds": [[names[f] for f in sorted(held)] for held in run._holds],
        "idle": run._idle_since, "down": sorted(run._down),
        "now": run.now, "round": run.round, **run._how,
    }  # fmt: skip


def resume(run: Run, state: Mapping[str, Any]) -> None:
    """Bring a new *run* to where :func:`saved` left one; ValueError and the like for a damaged state."""
    run.now, run.round = float(state["now"]), int(state["round"])
    tasks = [(validate(Task, given, "tasks"), how) for given, how in state["tasks"]]
    check(run, [task for task, how in tasks if how != WITHDRAWN])
    for k, (task, how) in enumerate(tasks):
        if how != WAITS:
            run._given.add(k)
        run._enter(task)
        if how == ENDED:
            run._ended.add(task.id)
        elif how == WITHDRAWN:
            del run._place[task.id]
        elif how != WAITS:
            i, start, staging = how
            run._running[k] = range(len(run.nodes))[i]
            run._computing[i][k] = float(start), float(staging)
    run._written = {run._known_file(name) for name in state["written"]}
    run._down = {range(len(run.nodes))[i] for i in state["down"]}
    run._idle_since = [[float(at) for at in row] for row in state["idle"]]
    for node, held, idle, busy in zip(
        run.nodes, state["holds"], run._idle_since, run._computing, strict=True
    ):
        i = run._index(node.id)
        run._go(set(run._holds[i]), i)
        run._come({run._known_file(name) for name in held}, i)
        if len(idle) + sum(run.task(k).cores for k in busy) != node.cores:
            raise ValueError(f"node {node.id!r}: cores")
    for k in range(len(run._tasks)):
        run.is_not_ready(k)
        run._now_ready(k)


def check(run: Run, added: Sequence[Task]) -> None:
    """Whether tasks can be added: ids, files, one writer a file, no cycle, some node; raises if not."""
    waiting = [run._tasks[k] for k in run._place.values() if k not in run._given]
    names = {f for task in (*added, *waiting) for f in (*task.inputs, *task.outputs)}
    files = tuple(run._files[run._known_file(f)] for f in sorted(names))
    given: Json = {"name": "run", "network": run.network, "files": files,
                   "nodes": tuple(n.model_copy(update={"holds": ()}) for n in run.nodes),
                   "tasks": (*waiting, *added)}  # fmt: skip
    validate(ReplicationProblem, given, "run").require_room()
    for task in added:
        if task.id in run._place:
            raise InstanceError(f"tasks: {task.id!r} was submitted before")
        for name in task.outputs:
            if run._file[name] in run._writer:
                raise InstanceError(f"tasks: {task.id!r} writes {name!r}, as another task does")
