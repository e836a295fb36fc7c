"""Packing whole components: tasks and files that hang together go to one node, nothing is copied.

Where a batch falls into many parts that share no file (PPA: one part a file), placing whole parts
so that the largest load is least is P||Cmax, for which longest first with exchanges is often as good as
the bound.
"""

from collections.abc import Iterator

from ioopt.models.replication.static import Moves, StaticInstance


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


def packed(instance: StaticInstance) -> Moves | None:
    """A plan with every component whole, each file fetched once; None where they cannot be balanced.

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
    assign, load = [0] * len(instance.problem.tasks), [0] * nodes
    remote: list[tuple[int, int]] = []
    for (classes, files), weight, node in zip(parts, weights, longest_first(weights, nodes)):
        load[node] += weight
        remote += [(file, node) for file in files]
        for k in classes:
            for task in instance.classes[k].tasks:
                assign[task] = node
    for k, group in enumerate(instance.classes):
        for task in () if group.inputs else group.tasks:
            node = assign[task] = load.index(min(load))
            load[node] += instance.work[k][node]
    return Moves(tuple(assign), tuple(sorted(remote)), ())


def longest_first(weights: list[int], nodes: int) -> list[int]:
    """A node for every weight: heaviest first to the least load, then exchanges that lower the top.

    An exchange moves one weight off the fullest node, or swaps one of it with a smaller one
    elsewhere; the one that leaves the lower of the two highest loads is made, a hundred at most.
    """
    load, node_of = [0] * nodes, [0] * len(weights)
    for part in sorted(range(len(weights)), key=lambda part: (-weights[part], part)):
        node_of[part] = load.index(min(load))
        load[node_of[part]] += weights[part]

    def exchanges(top: int) -> Iterator[tuple[int, int, int, int]]:
        """Larger load after it, part, other part (-1: none), node."""
        others = [part for part, node in enumerate(node_of) if node != top]
        for part in (part for part, node in enumerate(node_of) if node == top):
            for other in (-1, *others):
                shift = weights[part] - (weights[other] if other >= 0 else 0)
                for node in (node_of[other],) if other >= 0 else range(nodes):
                    if node != top:
                        yield max(load[top] - shift, load[node] + shift), part, other, node

    for _ in range(100 if len(weights) <= 600 else 0):
        top = load.index(max(load))
        after, part, other, node = min(exchanges(top))
        if after >= load[top]:
            break
        shift = weights[part] - (weights[other] if other >= 0 else 0)
        load[top], load[node] = load[top] - shift, load[node] + shift
        node_of[part] = node
        if other >= 0:
            node_of[other] = top
    return node_of
