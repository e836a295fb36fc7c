"""MinMin with implicit replication (paper 003, Section 3): least completion time first.

Plans statically: a task's completion on a node is the node's planned ready time + its transfers
(copied where any node has the file in the plan, else fetched; summed, no overlap) + compute. The
least goes first, ties by (time, task, node), and its files are present from then on. Under a disk
limit the plan and its replay evict by popularity, equation (22).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ioopt.problems.base import Record
from ioopt.problems.replication import EvictionPolicy, ReplicationPlan, ReplicationProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.sim.compiled import compiled, pays
from ioopt.sim.replication_state import Instance, instance_arrays
from ioopt.solvers.replication import minmin_kernel as kernel
from ioopt.solvers.replication.plans import build_plan, require_room

SECONDS_PER_CELL = 5e-6
"""Pure Python time per input and node, to judge whether compiling pays."""


class Settings(Record):
    """``replication``: plan copies between nodes; ``eviction``: policy of the replay.

    The plan itself always evicts by popularity, as the paper has it.
    """

    replication: bool = True
    eviction: EvictionPolicy = "popularity"


def solve(problem: ReplicationProblem, request: SolveRequest) -> Outcome:
    """Plan with MinMin; the planned end of the last task is metric ``planned_makespan_seconds``."""
    settings = request.settings or Settings()
    plan, ready = plan_minmin(problem, settings.replication, settings.eviction)
    return Outcome(plan, metrics={"planned_makespan_seconds": max(ready)})


def answer_instead(
    problem: ReplicationProblem, request: SolveRequest, reason: str, *notes: str
) -> Outcome:
    """MinMin's plan for a solver that found none, with *reason* in its notes."""
    outcome = solve(problem, replace(request, settings=None, start=None))
    said = (*outcome.notes, *notes, f"{reason}; answered by minmin")
    return replace(outcome, stop=StopReason.FALLBACK, notes=said)


def plan_minmin(
    problem: ReplicationProblem,
    replication: bool = True,
    eviction: EvictionPolicy = "popularity",
) -> tuple[ReplicationPlan, list[float]]:
    """MinMin's plan and the planned ready time of each node in seconds.

    Raises UnsolvableInstanceError for a task that no disk can hold.
    """
    require_room(problem)
    nodes = len(problem.nodes)
    cells = sum(map(len, problem.inputs)) * nodes
    fast = pays(kernel.__name__, "plan", SECONDS_PER_CELL * cells)
    inst = instance_arrays(problem, compiled=fast)
    work = _work(problem, inst, fast)
    run = compiled(kernel.__name__, "plan") if fast else kernel.plan
    run(
        inst, work, replication, 1.0 / problem.network.remote_bytes_per_second,
        1.0 / problem.network.replica_bytes_per_second,
    )  # fmt: skip
    queues: list[list[int]] = [[] for _ in range(nodes)]
    for step in range(len(problem.tasks)):
        queues[work.out_node[step]].append(int(work.out_task[step]))
    moves = [
        (int(work.move_file[n]), int(work.move_source[n]), int(work.move_node[n]))
        for n in range(work.counters[kernel.MOVES])
    ]
    model = "replay" if work.counters[kernel.EVICTIONS] else "static"
    plan = build_plan(problem, queues, eviction, moves, model)  # type: ignore[arg-type]
    return plan, [float(value) for value in work.ready]


def _work(problem: ReplicationProblem, inst: Instance, fast: bool) -> kernel.Work:
    nodes, files, tasks = inst.num_nodes, inst.num_files, inst.num_tasks
    reads = len(inst.files)
    leaves = 1
    while leaves < tasks:
        leaves *= 2
    reader_ptr: list[int] = [0]
    readers: list[int] = []
    for row in problem.readers:
        readers.extend(row)
        reader_ptr.append(len(readers))

    def array(values: list[Any], kind: str) -> Any:
        if not fast:
            return values
        import numpy

        return numpy.array(values, dtype=kind)

    def zeros(length: int, kind: str = "int64") -> Any:
        if not fast:
            return [0.0 if kind == "float64" else 0] * length
        import numpy

        return numpy.zeros(length, dtype=kind)

    return kernel.Work(
        reader_ptr=array(reader_ptr, "int64"), readers=array(readers, "int64"),
        fits=zeros(tasks * nodes, "int8"), on=zeros(nodes * files, "int8"),
        residents=zeros(nodes * files, "int32"), seat=zeros(nodes * files, "int32"),
        num_residents=zeros(nodes), copies=zeros(files),
        pending=zeros(files), wanted=array([-1] * files, "int64"),
        used=zeros(nodes), fetch=zeros(tasks * nodes),
        copy=zeros(tasks * nodes), open=zeros(tasks, "int8"), ready=zeros(nodes, "float64"),
        leaves=leaves, tree=zeros(2 * leaves * nodes, "int32"),
        seconds=zeros(tasks * nodes, "float64"), out_task=zeros(tasks), out_node=zeros(tasks),
        move_file=zeros(reads), move_source=zeros(reads),
        move_node=zeros(reads), counters=zeros(2),
    )  # fmt: skip
