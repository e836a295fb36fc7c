"""The arrays of a search over a workflow's plans: one order of all tasks and a node for each."""

from heapq import heapify, heappop, heappush
from itertools import pairwise

from ioopt.compiled import boxes
from ioopt.problems.replication import ReplicationProblem
from ioopt.solvers.replication.plans import flat
from ioopt.solvers.replication.search.flow_kernel import Flow


def flow_arrays(problem: ReplicationProblem, queues: list[list[int]], fast: bool) -> Flow:
    """The state of a search that begins from *queues*; empty for a batch, or where they are."""
    box = boxes(fast)
    order = merged(problem, queues) if problem.is_workflow and any(queues) else []
    node, place = [0] * len(order), [0] * len(order)
    for i, queue in enumerate(queues if order else []):
        for k in queue:
            node[k] = i
    for p, k in enumerate(order):
        place[k] = p
    empty = [0] * len(order)
    links = (problem.predecessors, successors(problem)) if order else ((), ())
    nodes = range(len(problem.nodes))
    fits = [int(problem.fits(k, i)) for k in range(len(order)) for i in nodes]
    fields = (order, place, node, order, node, empty, empty, *flat(links[0]), *flat(links[1]), fits)
    return Flow(*[box(values) for values in fields])


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
