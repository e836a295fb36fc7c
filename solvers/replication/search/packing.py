"""Packing whole components: tasks and files that hang together go to one node, nothing is copied.

Where a batch falls into many parts that share no file (PPA: one part a file), placing whole parts
so that the largest load is least is P||Cmax, for which longest first with exchanges is often as good as
the bound.
"""

from ioopt.models.replication.static import Moves, StaticInstance
from ioopt.solvers.replication.plans import lacking


def components(instance: StaticInstance) -> list[tuple[list[int], list[int]]]:
    """(task classes, files) of each part that shares no file with another, in a fixed order."""
    import networkx as nx

    graph = nx.Graph()
    for k, group in enumerate(instance.classes):
        if not group.inputs:
            continue
        graph.add_edges_from((("class", k), ("file", file)) for file in group.inputs)
    parts = []
    for nodes in nx.connected_components(graph):
        classes = sorted(k for kind, k in nodes if kind == "class")
        parts.append((classes, sorted(f for kind, f in nodes if kind == "file")))
    return sorted(parts)


def packed(instance: StaticInstance) -> list[int] | None:
    """A node for every task with every component whole, or None where that cannot be balanced.

    Asked only for nodes that are alike and hold nothing. Tasks without files fill up the rest.
    """
    nodes = instance.num_nodes
    speeds = {node.speed for node in instance.problem.nodes}
    if len(speeds) > 1 or any(instance.held) or nodes == 1:
        return None
    parts = components(instance)
    if len(parts) < 2 * nodes:
        return None
    weights = [
        sum(instance.far[file] for file in files)
        + sum(instance.classes[k].count * instance.work[k][0] for k in classes)
        for classes, files in parts
    ]
    return _assigned(instance, parts, weights, longest_first(weights, nodes))


def longest_first(weights: list[int], nodes: int) -> list[int]:
    """A node for every weight: heaviest first to the least load, then exchanges that lower the top.

    An exchange moves one weight off the fullest node, or swaps one of it with a smaller one
    elsewhere; the one that leaves the lower of the two highest loads is made, a hundred at most.
    """
    load, node_of = [0] * nodes, [0] * len(weights)
    for part in sorted(range(len(weights)), key=lambda part: (-weights[part], part)):
        node_of[part] = load.index(min(load))
        load[node_of[part]] += weights[part]
    for _ in range(100 if len(weights) <= 600 else 0):
        top = load.index(max(load))
        inside = [part for part, node in enumerate(node_of) if node == top]
        others: list[int | None] = [None]
        others += [part for part, node in enumerate(node_of) if node != top]
        best: tuple[int, int, int | None, int] | None = None
        for part in inside:
            for other in others:
                for node in range(nodes) if other is None else (node_of[other],):
                    shift = weights[part] - (0 if other is None else weights[other])
                    after = max(load[top] - shift, load[node] + shift)
                    if node != top and after < (load[top] if best is None else best[0]):
                        best = (after, part, other, node)
        if best is None:
            break
        _, part, swapped, node = best
        shift = weights[part] - (0 if swapped is None else weights[swapped])
        load[top], load[node] = load[top] - shift, load[node] + shift
        node_of[part] = node
        if swapped is not None:
            node_of[swapped] = top
    return node_of


def _assigned(
    instance: StaticInstance,
    parts: list[tuple[list[int], list[int]]],
    weights: list[int],
    node_of: list[int],
) -> list[int]:
    """Tasks to the nodes of their parts; parts of no weight and tasks without files balance."""
    assign = [0] * len(instance.problem.tasks)
    load = [0] * instance.num_nodes
    for part, (classes, _) in enumerate(parts):
        node = node_of[part]
        load[node] += weights[part]
        for k in classes:
            for task in instance.classes[k].tasks:
                assign[task] = node
    for k, group in enumerate(instance.classes):
        for task in () if group.inputs else group.tasks:
            node = load.index(min(load))
            assign[task] = node
            load[node] += instance.work[k][node]
    return assign


def gathered(instance: StaticInstance, assign: list[int]) -> Moves:
    """Every file fetched wherever one of its tasks runs, nothing copied."""
    return Moves(tuple(assign), tuple(lacking(instance, assign)), ())
