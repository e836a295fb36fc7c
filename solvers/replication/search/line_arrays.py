"""The arrays of a search over one order of all tasks and a node for each."""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from random import Random

from ioopt.compiled import Box, boxes
from ioopt.problems.replication import ReplicationProblem
from ioopt.sim.replication.state import Instance
from ioopt.solvers.replication.plans import flat
from ioopt.solvers.replication.search.line_moves import LONGEST_BLOCK, Line

CODE_BITS = 48
"""Two sets of files on disks have one sum of codes with probability 2 to the minus that."""
MOST_MARKED = 400_000
"""Room for the files on disks at marked places of an order; a batch too large for a mark has none."""


def new_line(
    problem: ReplicationProblem, inst: Instance, order: Sequence[int], node: Sequence[int], random: Box,
    fast: bool, by_bytes: bool,
) -> Line:  # fmt: skip
    """The state of a search that begins from *order*, task k on node ``node[k]``, without barriers."""
    box, tasks, nodes = boxes(fast), len(order), inst.num_nodes
    files = inst.num_files if by_bytes else 0
    place = [0] * tasks
    for p, k in enumerate(order):
        place[k] = p
    before_ptr, before = map(box, flat(problem.predecessors))
    after_ptr, after = map(box, flat(successors(problem)))
    reader_ptr, readers = map(box, flat(problem.readers))
    fits = [
        int(problem.task_bytes(k) <= inst.disk[i] and inst.cores[k] <= inst.node_cores[i])
        for k in range(tasks)
        for i in range(nodes)
    ]
    rng = Random(0)
    cells, places = [0] * (nodes * files), [0] * (tasks + 1 if by_bytes else 0)
    marks = min(tasks, MOST_MARKED // max(1, nodes * files))
    network, none = problem.network, [0] * tasks
    costs = [1.0 / network.remote_bytes_per_second, 1.0 / network.replica_bytes_per_second]
    return Line(
        order=box(order), place=box(place), node=box(node), cut=box(none),
        kept_order=box(order), kept_node=box(node), kept_cut=box(none),
        best_order=box(order), best_node=box(node), best_cut=box(none),
        before_ptr=before_ptr, before=before, after_ptr=after_ptr, after=after,
        reader_ptr=reader_ptr, readers=readers, fits=box(fits),
        moved=box([0] * LONGEST_BLOCK), flag=box(none), scratch=box(none),
        queued=box([0] * (nodes + 1)), random=random,
        values=box([float("inf")] * 2, real=True), counts=box([0, 0]),
        on=box(cells), copies=box([0] * files), nxt=box([0] * files),
        follow=box([0] * (len(inst.files) if by_bytes else 0)), wanted=box([0] * files),
        used=box([0] * nodes), residents=box(cells), num_residents=box([0] * nodes),
        costs=box(costs, real=True), fetched=box(places), copied=box(places), digest=box(places),
        code=box([rng.getrandbits(CODE_BITS) for _ in cells]), marked=box([0] * (marks * nodes)),
        mark=box([0] * (marks * nodes * files)), sums=box([0] * 4),
    )  # fmt: skip


def successors(problem: ReplicationProblem) -> list[list[int]]:
    """Per task, those that read what it writes, ascending."""
    after: list[list[int]] = [[] for _ in problem.tasks]
    for k, before in enumerate(problem.predecessors):
        for j in before:
            after[j].append(k)
    return after


def merged(problem: ReplicationProblem, queues: list[list[int]]) -> list[int]:
    """One order that all *queues* keep and no reader stands in before its producers.

    Of the tasks that may come next the one nearest to the front of its queue, as a share of it.
    """
    after = successors(problem)
    waits = [len(before) for before in problem.predecessors]
    share = [0.0] * len(waits)
    for queue in queues:
        for place, k in enumerate(queue):
            share[k] = place / len(queue)
        for first, second in pairwise(queue):
            after[first].append(second)
            waits[second] += 1
    ready = [(share[k], k) for k, number in enumerate(waits) if not number]
    heapify(ready)
    order = []
    while ready:
        k = heappop(ready)[1]
        order.append(k)
        for j in after[k]:
            waits[j] -= 1
            if not waits[j]:
                heappush(ready, (share[j], j))
    return order
