"""Save a run of a workflow as plain JSON values, and resume it."""

from collections.abc import Mapping
from typing import Any

from ioopt.embed.workflow_run import WorkflowRun
from ioopt.formats.native import validate
from ioopt.problems.base import Json
from ioopt.problems.replication import Network, Node, Task

WAITS = "waits"
ENDED = "ended"
WITHDRAWN = "withdrawn"


def saved_places(run: WorkflowRun) -> dict[int, int]:
    """Return the tasks of *run* that its saved state has, each with its index there.

    The state lacks tasks that were forgotten, withdrawn, or that run again at another
    index. Tasks that were withdrawn and write files are kept.
    """
    names = {f: name for name, f in run.file.items()}
    kept = [k for k in range(run.num_entered()) if _is_kept(run, k, names)]
    return {k: place for place, k in enumerate(kept)}


def _is_kept(run: WorkflowRun, k: int, names: Mapping[int, str]) -> bool:
    """Return whether the saved state has the task at index *k*; *names* are those of
    the files that were not forgotten.
    """
    if run.place.get(run.task(k).id) == k:
        return True
    return any(f in names and run.writer.get(f) == k for f in run.outputs(k))


def saved(run: WorkflowRun, places: Mapping[int, int]) -> Json:
    """Return the state of *run*, with the tasks *places* of :func:`saved_places`.

    For a running task, the state has its node, its start, and the seconds that its
    staging took.
    """
    names = {f: name for name, f in run.file.items()}
    tasks = [[run.task_as_json(k), _how_far(run, k)] for k in places]
    arriving = []
    for copies in run.arriving:
        row = {names[f]: run.node_id(source) for f, source in sorted(copies.items())}
        arriving.append(row)
    return {
        "network": run.network.model_dump(mode="json"),
        "nodes": [node.model_dump(mode="json") for node in run.nodes],
        "files": [run.file_as_json(f) for f in sorted(names)],
        "tasks": tasks,
        "attempts": dict(run.attempts),
        "failed_on": {run.task(k).id: i for k, i in run.failed_on.items()},
        "written": [names[f] for f in sorted(run.written)],
        "holds": [[names[f] for f in sorted(held)] for held in run._holds],
        "arriving": arriving,
        "idle": [list(times) for times in run._idle_since],
        "down": sorted(run.lost),
        "overfull": sorted(run.overfull),
        "avoided": {name: sorted(nodes) for name, nodes in run.avoided.items()},
        "unfit": [run.task(k).id for k in sorted(run.unfit)],
        "node_changes": run.node_changes,
        "now": run.now,
        "round": run.round,
    }


def _how_far(run: WorkflowRun, k: int) -> object:
    """Return the progress of the task at index *k*: how it stands in the state."""
    i = run.node_of(k)
    if i is not None:
        return [i, *run._computing[i][k]]
    name = run.task(k).id
    if name in run.ended:
        return ENDED
    if run.place.get(name) == k:
        return WAITS
    return WITHDRAWN


def resumed(state: Json, stored: bool) -> WorkflowRun:
    """Return the run in the saved *state*.

    A damaged state raises ValueError or another error, which the caller turns into
    InstanceError.
    """
    run = WorkflowRun(
        validate(Network, state["network"], "network"),
        tuple(validate(Node, node, "nodes") for node in state["nodes"]),
        stored,
    )
    run.add_files(state["files"])
    run.files_as_json = {f: dict(given) for f, given in enumerate(state["files"])}
    run.now = float(state["now"])
    run.round = int(state["round"])
    tasks = [(validate(Task, given, "tasks"), how) for given, how in state["tasks"]]
    # A task that fits no node waits for one that joins.
    run.check([task for task, how in tasks if how != WITHDRAWN], room=False)
    for k, (task, how) in enumerate(tasks):
        _resume_task(run, k, task, how)
    run.tasks_as_json = {k: dict(row[0]) for k, row in enumerate(state["tasks"])}
    run.written = {run.known_file(name) for name in state["written"]}
    run.lost = {range(len(run.nodes))[i] for i in state["down"]}
    _resume_nodes(run, state)
    _resume_faults(run, state)
    for k in range(len(tasks)):
        run.is_not_ready(k)
        run.now_ready(k)
    run.find_sources()
    return run


def _resume_task(run: WorkflowRun, k: int, task: Task, how: Any) -> None:
    """Add one task of a saved state at index *k*. *how* is the progress of the task, as
    :func:`_how_far` returned it.
    """
    if how != WAITS:
        run.given.add(k)
    run.enter(task)
    if how == ENDED:
        run.ended.add(task.id)
    elif how == WITHDRAWN:
        del run.place[task.id]
    elif how != WAITS:
        node, start, staging = how
        run._running[k] = range(len(run.nodes))[node]
        run._computing[node][k] = float(start), float(staging)


def _resume_nodes(run: WorkflowRun, state: Json) -> None:
    """Let each node of *run* have the files and idle cores that *state* says."""
    run._idle_since = [[float(at) for at in row] for row in state["idle"]]
    rows = zip(state["holds"], run._idle_since, run._computing, strict=True)
    for i, (held, idle, busy) in enumerate(rows):
        run.come({run.known_file(name) for name in held}, i)
        node = run.nodes[i]
        if len(idle) + sum(run.task(k).cores for k in busy) != node.cores:
            raise ValueError(f"node {node.id!r}: cores")


def _resume_faults(run: WorkflowRun, state: Json) -> None:
    """Restore what is arriving, what has failed and what has changed.

    States of earlier versions do not say it.
    """
    for i, copies in enumerate(state.get("arriving", ())):
        _resume_copies(run, i, copies)
    run.overfull = {range(len(run.nodes))[i] for i in state.get("overfull", ())}
    run.node_changes = int(state.get("node_changes", 0))
    run.attempts = {name: int(n) for name, n in state.get("attempts", {}).items()}
    for k, _, _ in run.running_tasks():
        run.attempts.setdefault(run.task(k).id, 1)
    for name, nodes in state.get("avoided", {}).items():
        run.avoided[name] = {range(len(run.nodes))[i] for i in nodes}
    run.unfit = {run.place[name] for name in state.get("unfit", ())}
    for name, i in state.get("failed_on", {}).items():
        run.failed_on[run.place[name]] = range(len(run.nodes))[i]


def _resume_copies(run: WorkflowRun, i: int, copies: Any) -> None:
    """Add the copies that node *i* is receiving in a saved state.

    States of earlier versions list the files without their sources. Such a file seems
    to come from its own node, so that it gets another source.
    """
    if not isinstance(copies, dict):
        copies = dict.fromkeys(copies, run.nodes[i].id)
    for name, source in copies.items():
        f = run.known_file(name)
        run.arriving[i][f] = None if source is None else run.index(source)
        if not run.holds(i, f):
            raise ValueError(f"node {run.nodes[i].id!r}: files that arrive")
