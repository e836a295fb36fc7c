"""Moves of the link-aware search over workflows: pure Python and compiled alike.

A plan is one order of all tasks, producers before readers, and a node for each task; the queue of
a node is its part of the order, so that no queues ever wait for each other (workflow rule 10).
"""

from typing import Any, NamedTuple

MODULUS = 2147483647
LONGEST_BLOCK = 8
EVALUATIONS, ACCEPTED, IMPROVED = 0, 1, 2
NOW, BEST = 0, 1


class Flow(NamedTuple):
    """The order and nodes under search, and what does not change.

    ``order`` lists the tasks, ``place`` is its inverse, ``node`` the node of each task; ``kept_*``
    are copies. ``before`` and ``after`` list the tasks that a task waits for and that wait for it.
    Cell (k, i) of ``fits`` stands at ``k * num_nodes + i``. The rest is scratch.
    """

    order: Any
    place: Any
    node: Any
    kept_order: Any
    kept_node: Any
    mark: Any
    scratch: Any
    before_ptr: Any
    before: Any
    after_ptr: Any
    after: Any
    fits: Any


def draw(random: Any, below: int) -> int:
    """The next number in 0 .. below - 1 (Park and Miller's generator, revised multiplier)."""
    random[0] = random[0] * 48271 % MODULUS
    return random[0] % below


def uniform(random: Any) -> float:
    """The next number strictly between 0 and 1."""
    return draw(random, MODULUS) / MODULUS


def keep(flow: Any) -> None:
    """Remember order and nodes as they are."""
    for k in range(len(flow.order)):
        flow.kept_order[k] = flow.order[k]
        flow.kept_node[k] = flow.node[k]


def put_back(flow: Any) -> None:
    """Return to what :func:`keep` remembers."""
    for p in range(len(flow.order)):
        flow.order[p] = flow.kept_order[p]
        flow.place[flow.order[p]] = p
        flow.node[p] = flow.kept_node[p]


def write_queues(inst: Any, plan: Any, flow: Any) -> None:
    """The queues of *plan*: each node's part of the order."""
    nodes = inst.num_nodes
    for i in range(nodes + 1):
        plan.ptr[i] = 0
    for k in range(len(flow.node)):
        plan.ptr[flow.node[k] + 1] += 1
    for i in range(nodes):
        plan.ptr[i + 1] += plan.ptr[i]
    for p in range(len(flow.order)):
        k = flow.order[p]
        i = flow.node[k]
        plan.entry[plan.ptr[i]] = k
        plan.ptr[i] += 1
    for i in range(nodes, 0, -1):
        plan.ptr[i] = plan.ptr[i - 1]
    plan.ptr[0] = 0


def send(inst: Any, flow: Any, k: int, i: int) -> None:
    """Task *k* goes to node *i* if it fits there."""
    if flow.fits[k * inst.num_nodes + i]:
        flow.node[k] = i


def hasten(flow: Any, k: int, to: int) -> int:
    """Task *k* and all it waits for from place *to* on go to that place; how many they are."""
    last = flow.place[k]
    for p in range(to, last + 1):
        flow.mark[flow.order[p]] = 0
    flow.mark[k] = 1
    moved = 0
    for p in range(last, to - 1, -1):
        j = flow.order[p]
        if flow.mark[j]:
            moved += 1
            for x in range(flow.before_ptr[j], flow.before_ptr[j + 1]):
                flow.mark[flow.before[x]] = 1
    part(flow, to, last + 1, to, to + moved)
    return moved


def delay(flow: Any, k: int, to: int) -> int:
    """Task *k* and all that wait for it up to place *to* go to that place; how many they are."""
    first = flow.place[k]
    for p in range(first, to + 1):
        flow.mark[flow.order[p]] = 0
    flow.mark[k] = 1
    moved = 0
    for p in range(first, to + 1):
        j = flow.order[p]
        if flow.mark[j]:
            moved += 1
            for x in range(flow.after_ptr[j], flow.after_ptr[j + 1]):
                flow.mark[flow.after[x]] = 1
    part(flow, first, to + 1, to + 1 - moved, first)
    return moved


def part(flow: Any, first: int, end: int, marked: int, others: int) -> None:
    """Of places *first* to *end*, marked tasks go to place *marked* on, the others to *others* on."""
    for p in range(first, end):
        flow.scratch[p] = flow.order[p]
    for p in range(first, end):
        j = flow.scratch[p]
        if flow.mark[j]:
            flow.order[marked] = j
            flow.place[j] = marked
            marked += 1
        else:
            flow.order[others] = j
            flow.place[j] = others
            others += 1


def pick(random: Any, ptr: Any, listed: Any, k: int) -> int:
    """A random one of those listed for *k*; -1 where there is none."""
    width = ptr[k + 1] - ptr[k]
    return listed[ptr[k] + draw(random, width)] if width else -1


def relative(inst: Any, search: Any, k: int) -> int:
    """A random task that writes or reads a file that *k* reads or writes; *k* where there is none."""
    flow, random = search.flow, search.random
    j = -1
    kind = draw(random, 4)
    if kind == 0:
        j = pick(random, flow.before_ptr, flow.before, k)
    elif kind == 1:
        j = pick(random, flow.after_ptr, flow.after, k)
    else:
        f = pick(random, inst.ptr, inst.files, k)
        if f >= 0:
            j = pick(random, search.reader_ptr, search.readers, f)
    return j if j >= 0 else k


def change_flow(inst: Any, plan: Any, search: Any) -> None:
    """One random move: nodes swapped, a block or a family of tasks sent elsewhere, a task shifted."""
    flow, random = search.flow, search.random
    kind = draw(random, 100)
    k, q = draw(random, inst.num_tasks), draw(random, inst.num_tasks)
    if kind < 10:
        i = flow.node[k]
        send(inst, flow, k, flow.node[q])
        send(inst, flow, q, i)
    elif kind < 25:
        send_block(inst, flow, k, draw(random, inst.num_nodes), 1 + draw(random, LONGEST_BLOCK))
    elif kind < 40:
        i = draw(random, inst.num_nodes)
        if draw(random, 2):
            i = flow.node[relative(inst, search, k)]
        send(inst, flow, k, i)
        if draw(random, 2):
            for x in range(flow.before_ptr[k], flow.before_ptr[k + 1]):
                send(inst, flow, flow.before[x], i)
        else:
            for x in range(flow.after_ptr[k], flow.after_ptr[k + 1]):
                send(inst, flow, flow.after[x], i)
    else:
        if draw(random, 2):
            q = relative(inst, search, k)
        i = flow.node[k] if draw(random, 3) == 0 else flow.node[q]
        shift(inst, search, k, flow.place[q], i)
    write_queues(inst, plan, flow)


def send_block(inst: Any, flow: Any, k: int, i: int, most: int) -> None:
    """Task *k* and those after it in its queue, *most* of them, go to node *i* and keep their places."""
    a = flow.node[k]
    left = most
    for p in range(flow.place[k], inst.num_tasks):
        if left > 0 and flow.node[flow.order[p]] == a:
            send(inst, flow, flow.order[p], i)
            left -= 1


def shift(inst: Any, search: Any, k: int, to: int, i: int) -> None:
    """Task *k* goes to place *to* of the order, or as near as it can alone, and to node *i*."""
    flow, random = search.flow, search.random
    alone = draw(random, 2)
    p = flow.place[k]
    if p > to:
        if alone:
            for x in range(flow.before_ptr[k], flow.before_ptr[k + 1]):
                to = max(to, flow.place[flow.before[x]] + 1)
        moved = hasten(flow, k, to)
        first = to
    else:
        if alone:
            for x in range(flow.after_ptr[k], flow.after_ptr[k + 1]):
                to = min(to, flow.place[flow.after[x]] - 1)
        moved = delay(flow, k, to)
        first = to + 1 - moved
    if not alone and draw(random, 2):
        for p in range(first, first + moved):
            send(inst, flow, flow.order[p], i)
    else:
        send(inst, flow, k, i)
