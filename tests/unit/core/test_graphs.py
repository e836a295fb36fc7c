"""Problems and schedules as networkx graphs."""

import networkx
import pytest

import ioopt
from ioopt.errors import UsageError


def chain():
    """One node: fetch 10 MB at 1 MB/s, wash 5 s, then use what it wrote 3 s."""
    flow = ioopt.Workflow(remote="1MB/s", replica="1MB/s")
    flow.add_node("n")
    raw, clean = flow.add_file("10MB", "raw"), flow.add_file("1MB", "clean")
    flow.add_task("5s", "wash", inputs=[raw], outputs=[clean])
    flow.add_task("3s", "use", inputs=[clean])
    return flow.build()


def test_files_are_read_and_written():
    graph = chain().graph()
    assert set(graph.edges) == {
        (("file", "raw"), ("task", "wash")),
        (("task", "wash"), ("file", "clean")),
        (("file", "clean"), ("task", "use")),
    }
    assert graph.nodes["task", "use"] == {"compute_seconds": 3.0}
    assert graph.nodes["file", "raw"] == {"bytes": 10_000_000}
    path = networkx.dag_longest_path(graph)
    assert [name for _, name in path] == ["raw", "wash", "clean", "use"]


def test_a_work_directory_has_the_same_graph():
    data = {
        "format": "ioopt/work-directory",
        "cores": 1,
        "files": [{"id": "f", "bytes": 7}],
        "tasks": [
            {"id": "a", "compute_seconds": 1, "outputs": ["f"]},
            {"id": "b", "compute_seconds": 2, "inputs": ["f"]},
        ],
    }
    graph = ioopt.load(data).graph()
    assert networkx.shortest_path(graph, ("task", "a"), ("task", "b"))
    after = ioopt.solve(data).graph()
    edge = (("task", "a"), ("task", "b"), True)
    assert list(after.edges(data="critical")) == [edge]
    assert after.nodes["task", "b"]["end_seconds"] == 3.0


def test_the_critical_path_leads_from_the_fetch_to_the_last_task():
    graph = ioopt.solve(chain(), "heft").graph()
    fetch, wash, use = ("transfer", 0), ("task", "wash"), ("task", "use")
    assert set(graph.edges(data="critical")) == {(fetch, wash, True), (wash, use, True)}
    assert graph.nodes[fetch] == {
        "node": "n",
        "start_seconds": 0.0,
        "end_seconds": 10.0,
        "file": "raw",
        "kind": "remote",
        "source": None,
        "critical": True,
    }
    assert graph.nodes[use]["end_seconds"] == 18.0


def test_evictions_are_nodes_and_edges_begin_when_their_source_ended():
    graph = ioopt.solve("rounds4", "two-stage").graph()
    gone = [name for name in graph if name[0] == "eviction"]
    assert len(gone) == 4
    for before, after in graph.edges:
        end = graph.nodes[before]["end_seconds"]
        assert graph.nodes[after]["start_seconds"] == pytest.approx(end)
    assert networkx.is_directed_acyclic_graph(graph)


def test_a_result_without_tasks_has_no_graph():
    with pytest.raises(UsageError, match="no schedule of tasks"):
        ioopt.solve("small-8", "fill").graph()
