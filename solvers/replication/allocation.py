"""Second stage of the paper's two: the integer program with (21) on one sub-batch and its nodes.

The aggregated formulation in CP-SAT, started from the selection's own allocation, which is also the
answer when nothing better is found (Section 4.2: "we will get the same solution").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ioopt.models.replication.aggregated import AggregatedModel
from ioopt.models.replication.bounds import area
from ioopt.models.replication.engines import CpSatEngine
from ioopt.models.replication.static import (
    Moves,
    StaticInstance,
    class_of_task,
    loads,
    queue_order,
    reduce,
    tidied,
)
from ioopt.problems.replication import ReplicationProblem
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_backend import solve_cpsat

LEAST_SECONDS = 0.05


@dataclass(frozen=True)
class Allocation:
    """One sub-batch on *nodes* by positions in the whole problem: where, in which order, what moves."""

    nodes: tuple[int, ...]
    assign: Mapping[int, int]
    order: Mapping[int, Sequence[int]]
    remote: tuple[tuple[int, int], ...]
    copies: tuple[tuple[int, int, int], ...]

    def arrivals(self) -> list[tuple[int, int]]:
        """(file, node) of everything that is brought."""
        return [*self.remote, *((file, node) for file, _, node in self.copies)]

    def read_on(self, problem: ReplicationProblem, node: int) -> set[int]:
        """Files that the sub-batch's tasks on *node* read."""
        return {file for task in self.order.get(node, ()) for file in problem.inputs[task]}

    def used_on(self, problem: ReplicationProblem, node: int) -> set[int]:
        """Files that *node* must not evict: read there, or sent from there."""
        return self.read_on(problem, node) | {f for f, source, _ in self.copies if source == node}


def allocate(
    problem: ReplicationProblem,
    start: Mapping[int, Sequence[int]],
    nodes: Sequence[int],
    present: Sequence[frozenset[int]],
    limits: BackendLimits,
) -> Allocation:
    """Allocate the tasks of *start* (node -> tasks, which fits the disks) to *nodes*.

    *present* are the files on every node of the problem; on *nodes* they are free and may go.
    """
    tasks = sorted(task for part in start.values() for task in part)
    small = _restricted(problem, tasks, nodes, present)
    instance = reduce(small)
    local = {node: at for at, node in enumerate(nodes)}
    row = {task: at for at, task in enumerate(tasks)}
    assign = [0] * len(tasks)
    for node, part in start.items():
        for task in part:
            assign[row[task]] = local[node]
    best = first_moves(instance, assign)
    if tasks and (limits.seconds is None or limits.seconds >= LEAST_SECONDS):
        best = _improved(instance, best, limits)
    files = [instance.files[k] for k in range(instance.num_files)]
    where = {task: nodes[best.assign[at]] for at, task in enumerate(tasks)}
    queues = {
        node: [tasks[k] for k in queue_order(instance, mine)]
        for node, at in local.items()
        if (mine := [k for k in range(len(tasks)) if best.assign[k] == at])
    }
    return Allocation(
        tuple(nodes), where, queues,
        tuple((files[f], nodes[i]) for f, i in best.remote),
        tuple((files[f], nodes[i], nodes[j]) for f, i, j in best.copies),
    )  # fmt: skip


def _restricted(
    problem: ReplicationProblem,
    tasks: Sequence[int],
    nodes: Sequence[int],
    present: Sequence[frozenset[int]],
) -> ReplicationProblem:
    """The problem of these tasks on these nodes; file positions stay.

    A node holds what is present and read by these tasks: anything else may go and costs nothing.
    """
    read = {file for task in tasks for file in problem.inputs[task]}
    return ReplicationProblem.model_construct(
        name=problem.name,
        network=problem.network,
        storages=problem.storages,
        files=problem.files,
        tasks=tuple(problem.tasks[task] for task in tasks),
        nodes=tuple(
            problem.nodes[node].model_copy(
                update={
                    "holds": tuple(problem.files[file].id for file in sorted(present[node] & read))
                }
            )
            for node in nodes
        ),
    )


def first_moves(instance: StaticInstance, assign: Sequence[int]) -> Moves:
    """Transfers for a fixed assignment: what a task's node lacks is copied from a node that reads it.

    Held copies that no task of their node reads are no sources, since they may have to go. Where no
    node can send, the reader with the least load fetches the file and sends it on if that pays.
    """
    of_task = class_of_task(instance)
    readers: dict[int, set[int]] = {}
    for task, node in enumerate(assign):
        for file in instance.classes[of_task[task]].inputs:
            readers.setdefault(file, set()).add(node)
    remote: list[tuple[int, int]] = []
    copies: list[tuple[int, int, int]] = []
    load = loads(instance, Moves(tuple(assign), (), ()))
    for file, nodes in sorted(readers.items()):
        lacking = sorted(
            (i for i in nodes if file not in instance.held[i]), key=lambda i: (load[i], i)
        )
        sources = sorted(nodes - set(lacking))
        if lacking and not sources:
            first = lacking.pop(0)
            remote.append((file, first))
            load[first] += instance.far[file]
            sources = [first]
        for node in lacking:
            source = min(sources, key=lambda i: (load[i], i))
            if 2 * instance.near[file] < instance.far[file]:
                copies.append((file, source, node))
                load[source] += instance.near[file]
                load[node] += instance.near[file]
            else:
                remote.append((file, node))
                load[node] += instance.far[file]
            sources.append(node)
    return Moves(tuple(assign), tuple(remote), tuple(copies))


def _improved(instance: StaticInstance, best: Moves, limits: BackendLimits) -> Moves:
    """The best allocation CP-SAT finds within *limits*, never worse than *best*."""
    before = max(loads(instance, best), default=0)
    engine = CpSatEngine()
    model = AggregatedModel(
        instance, engine, evictable=True, lower=int(area(instance)), upper=before
    )
    of_task = class_of_task(instance)
    used = {(f, i) for t, i in enumerate(best.assign) for f in instance.classes[of_task[t]].inputs}
    hint = model.hint(best)
    hint.update({engine.key(variable): int(at in used) for at, variable in model.K.items()})
    for index, value in hint.items():
        engine.model.add_hint(engine.model.get_int_var_from_proto_index(index), value)
    answer = solve_cpsat(engine.model, limits, parameters={"symmetry_level": 0})
    if not answer.found:
        return best
    found = tidied(instance, model.moves(answer.values))
    return found if max(loads(instance, found), default=0) < before else best
