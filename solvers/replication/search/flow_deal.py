"""A depth-first order, which keeps few live bytes, and its stretches: what searches begin from.

A product lives on a disk from its start to its last reader's. Where disks are small, list
schedulers start more than the disks can hold and save it all over the shared link; whoever
finishes what has been begun first, as in a pebble game, saves next to nothing.
"""

from bisect import bisect_right
from itertools import accumulate

from ioopt.problems.replication import ReplicationProblem
from ioopt.solvers.replication.plans import successors

RECENT, READERS = 60, 8
"""Tasks that a depth-first order has in mind to go on with, and readers of a file among them."""


def depth_first(problem: ReplicationProblem) -> list[int]:
    """An order in which what a task waits for comes just before it, then readers of the same files.

    Among those it goes on with the one that waits for the fewest bytes, ties to the latest.
    """
    done = [False] * len(problem.tasks)
    order: list[int] = []
    recent: list[int] = []
    seen = [0] * len(problem.files)
    weight = [sum(problem.files[f].bytes for f in files) for files in problem.outputs]
    waits = [sum([weight[j] for j in before]) for before in problem.predecessors]
    after = successors(problem)

    def visit(first: int) -> None:
        stack = [(first, iter(problem.predecessors[first]))]
        while stack:
            k, before = stack[-1]
            j = next((j for j in before if not done[j]), None)
            if j is not None:
                stack.append((j, iter(problem.predecessors[j])))
                continue
            stack.pop()
            if done[k]:
                continue
            done[k] = True
            order.append(k)
            for j in after[k]:
                waits[j] -= weight[k]
            for f in (*problem.outputs[k], *problem.inputs[k]):
                readers = problem.readers[f]
                while seen[f] < len(readers) and done[readers[seen[f]]]:
                    seen[f] += 1
                recent.extend(readers[seen[f] : seen[f] + READERS])

    for start in range(len(done)):
        if not done[start]:
            visit(start)
        while recent:
            recent[:] = [k for k in recent[-RECENT:] if not done[k]]
            if recent:
                place = min(range(len(recent)), key=lambda x: (waits[recent[x]], -x))
                visit(recent.pop(place))
    return order


def stretches(problem: ReplicationProblem, order: list[int]) -> list[list[int]]:
    """Queues: each node a stretch of *order*, by its share of all core time; costs next to nothing."""
    power = list(accumulate(node.cores * node.speed for node in problem.nodes))
    work = [task.compute_seconds * task.cores for task in problem.tasks]
    queues: list[list[int]] = [[] for _ in problem.nodes]
    done, total = 0.0, sum(work)
    for k in order:
        first = bisect_right(power, done / total * power[-1]) if total else 0
        done += work[k]
        nodes = [i % len(queues) for i in range(first, first + len(queues))]
        queues[next(i for i in nodes if problem.fits(k, i))].append(k)
    return queues
