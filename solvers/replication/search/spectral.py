"""Order tasks along the Fiedler vector, so that tasks that share bytes are neighbours.

The Fiedler vector belongs to the second smallest eigenvalue of the Laplacian matrix of
a graph. In this graph, tasks that share a file are joined, and the bytes of the file
are spread over the pairs of its readers (clique expansion). A file with many readers
becomes a vertex instead, joined to its readers (star expansion); this keeps the size of
the graph near the number of inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioopt.problems.replication import ReplicationProblem

if TYPE_CHECKING:
    import networkx as nx
    from scipy.sparse import csr_array

CLIQUE_READERS = 12
"""Largest number of readers of a file that does not become a vertex (2 to 100)."""
DENSE_TASKS = 60
"""Largest number of vertices for which all eigenvectors are computed.

For small graphs this is quicker than to compute two of them.
"""


def load_libraries() -> None:
    """Import the libraries that :func:`task_order` uses."""
    import scipy.sparse.linalg  # noqa: F401


def task_order(problem: ReplicationProblem) -> list[int]:
    """Return all tasks in one list, such that tasks that share bytes are neighbours.

    Each connected component of the graph is a stretch of the list, in the order of its
    Fiedler vector.
    """
    import networkx as nx

    graph = sharing_graph(problem)
    order: list[int] = []
    components = sorted(nx.connected_components(graph), key=min)
    for component in components:
        tasks = sorted(v for v in component if v < len(problem.tasks))
        order.extend(_along_fiedler(graph, sorted(component), tasks))
    return order


def sharing_graph(problem: ReplicationProblem) -> nx.Graph[int]:
    """Return a graph of the tasks that share files.

    Vertex k is task k. If file f has many readers, it is the vertex ``number of tasks +
    f``. Weights are shared megabytes.
    """
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(problem.tasks)))
    for f, readers in enumerate(problem.readers):
        weight = max(problem.files[f].bytes, 1) / 1e6
        if len(readers) > CLIQUE_READERS:
            for k in readers:
                graph.add_edge(k, len(problem.tasks) + f, weight=2.0 * weight)
            continue
        for x, first in enumerate(readers):
            for second in readers[x + 1 :]:
                before = graph.get_edge_data(first, second, {"weight": 0.0})["weight"]
                joined = before + weight / (len(readers) - 1)
                graph.add_edge(first, second, weight=joined)
    return graph


def _along_fiedler(
    graph: nx.Graph[int], vertices: list[int], tasks: list[int]
) -> list[int]:
    """Return *tasks* in the order of their entries in the Fiedler vector of a
    component.

    *vertices* are all vertices of the component. The sign of the vector is arbitrary;
    the one that gives the lexicographically smaller list is taken, so that runs repeat.
    """
    if len(tasks) < 3:
        return tasks
    vector = _fiedler(graph, vertices)
    at = {v: float(vector[x]) for x, v in enumerate(vertices)}
    ranked = sorted(tasks, key=lambda k: (round(at[k], 12), k))
    mirrored = sorted(tasks, key=lambda k: (round(-at[k], 12), k))
    return min(ranked, mirrored)


def _fiedler(graph: nx.Graph[int], vertices: list[int]) -> list[float]:
    """Return the Fiedler vector of the component with these *vertices*, one entry for
    each.
    """
    import networkx as nx
    import numpy as np

    laplacian: csr_array = nx.laplacian_matrix(
        graph, nodelist=vertices, weight="weight"
    ).astype(float)
    if len(vertices) <= DENSE_TASKS:
        _, vectors = np.linalg.eigh(laplacian.toarray())
        return list(vectors[:, 1])
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import LinearOperator, eigsh, splu

    start = np.cos(np.arange(len(vertices), dtype=float))
    shift = 1e-6 * float(laplacian.diagonal().mean())
    shifted = (laplacian + shift * eye_array(len(vertices))).tocsc()
    factors = splu(shifted, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    inverse = LinearOperator(shifted.shape, factors.solve)
    _, vectors = eigsh(shifted, k=2, sigma=0.0, v0=start, tol=1e-6, OPinv=inverse)
    return list(vectors[:, 1])
