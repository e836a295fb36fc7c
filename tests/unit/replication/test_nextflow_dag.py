"""Nextflow's graph of processes: every form it is written in, and
which process ran where.
"""

from pathlib import Path

import pytest
from conftest import shared_root

from ioopt.errors import InstanceError
from ioopt.formats.nextflow.trace import read_nextflow_trace
from ioopt.problems.replication import ReplicationProblem

HEADING = "name\tstatus\trealtime\tcpus\trchar\twchar\n"


def imported(folder: Path, dag: str, *names: str) -> ReplicationProblem:
    """The workflow of a trace with one task of each of *names*, and of *dag*."""
    rows = [f"{name} (1)\tCOMPLETED\t10s\t1\t1000\t100\n" for name in names]
    (folder / "trace.txt").write_text(HEADING + "".join(rows))
    (folder / "dag").write_text(dag)
    return read_nextflow_trace(str(folder / "trace.txt"), str(folder / "dag"))


def waits(problem: ReplicationProblem) -> dict[str, list[str]]:
    """Process -> the processes that its only task waits for."""
    names = [task.id.partition(" ")[0] for task in problem.tasks]
    pairs = zip(names, problem.predecessors, strict=True)
    return {name: sorted(names[k] for k in before) for name, before in pairs}


DIRECTIVE = """\
%%{
  init: {
    'theme': 'base',
    'themeVariables': { 'lineColor': '#545555' }
  }
}%%
"""
CHAIN = """\
flowchart TB
    subgraph " "
    v0["Channel.of"]
    end
    v1([A])
    v2(( ))
    v3([B])
    v0 --> v1
    v1 --> v2
    v2 --> v3
"""
MERMAID_PAGE = f"""\
<!-- Copyright -->
<html>
<body>
<pre class="mermaid" style="text-align: center;">
{DIRECTIVE}{CHAIN}</pre>
<script type="module">import mermaid from 'somewhere';</script>
</body>
</html>
"""
CYTOSCAPE_PAGE = """\
<html><head><script>
  var cy = window.cy = cytoscape({
    style: cytoscape.stylesheet().selector('node').css({'content': 'data(label)'}),
elements: {
nodes: [
{ data: { id: 'p0'}, classes: 'ORIGIN' },
{ data: { id: 'p1', label: 'A'}, classes: 'PROCESS' },
{ data: { id: 'p2', label: 'B'}, classes: 'OPERATOR' },
{ data: { id: 'p3', label: 'B'}, classes: 'PROCESS' },
],
edges: [
{ data: { source: 'p0', target: 'p1', label: 'seeds' } },
{ data: { source: 'p1', target: 'p2'} },
{ data: { source: 'p2', target: 'p3'} },
],
},
  });
</script></head><body><div id="cy"></div></body></html>
"""
DOT = """\
// drawn by hand
digraph "flow" {
  rankdir = LR; node [shape=box];
  p1 [label="A"]; p2 [shape=circle,
    label="", xlabel="map"];
  p3 [label="B"]
  p1 -> p2 -> p3 [label="a label"];
}
"""


@pytest.mark.parametrize(
    "dag",
    [
        CHAIN,
        DIRECTIVE + CHAIN,
        "%%{init: {'theme': 'base'}}%%\n%% a comment\n" + CHAIN,
        "---\ntitle: a flow\n---\n" + CHAIN,
        "graph TD; v1([A]) -->|index| v3([B]);",
        "flowchart LR\nv1([A]) -- a text --> v2(( )) & v4(( ))\nv4 --> v3([B])\n",
        "flowchart LR\nA --> B\n",
        MERMAID_PAGE,
        MERMAID_PAGE.replace("-->", "--&gt;"),
        MERMAID_PAGE.replace("\n", "\r\n"),
        CYTOSCAPE_PAGE,
        CYTOSCAPE_PAGE.replace("\n", " ").replace("'", '"'),
        DOT,
        "strict digraph { A -> {B} }",
    ],
)
def test_every_form_says_that_b_waits_for_a(tmp_path: Path, dag: str) -> None:
    assert waits(imported(tmp_path, dag, "A", "B")) == {"A": [], "B": ["A"]}


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        # Nextflow counts the tasks of a process that has no tag: B (1) is one
        # task, of all three.
        (("A (1)", "A (2)", "A (3)", "B (1)"), {"B (1)": ["A (1)", "A (2)", "A (3)"]}),
        (
            ("A (1)", "A (2)", "B (1)", "B (2)"),
            {"B (1)": ["A (1)"], "B (2)": ["A (2)"]},
        ),
        (("A (x)", "A (y)", "B (x)"), {"B (x)": ["A (x)"]}),
        (
            ("A (x)", "A (y)", "B (z)", "B"),
            {"B (z)": ["A (x)", "A (y)"], "B": ["A (x)", "A (y)"]},
        ),
    ],
)
def test_numbers_that_count_tasks_are_no_tags(
    tmp_path: Path, tags: tuple[str, ...], expected: dict[str, list[str]]
) -> None:
    rows = [f"{name}\tCOMPLETED\t10s\t1\t1000\t100\n" for name in tags]
    (tmp_path / "trace.txt").write_text(HEADING + "".join(rows))
    (tmp_path / "dag").write_text(CHAIN)
    problem = read_nextflow_trace(str(tmp_path / "trace.txt"), str(tmp_path / "dag"))
    found = {
        task.id: [problem.tasks[k].id for k in before]
        for task, before in zip(problem.tasks, problem.predecessors, strict=True)
        if before
    }
    assert found == expected
    counted = any(
        "tags do not pair the tasks of two processes" in text
        for text in problem.warnings
    )
    assert counted == (tags[-1] == "B (1)")


TWO_SUBWORKFLOWS = """\
flowchart TB
    subgraph sub_1
    v0([a])
    v1([b])
    end
    subgraph "main:sub_2 [sub_2]"
    v2([b])
    v3([a])
    end
    v0 --> v1
    v2 --> v3
"""


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (("sub_1:a", "sub_1:b"), {"sub_1:a": [], "sub_1:b": ["sub_1:a"]}),
        (("sub_2:a", "sub_2:b"), {"sub_2:a": ["sub_2:b"], "sub_2:b": []}),
        (
            ("main:sub_2:a", "main:sub_2:b"),
            {"main:sub_2:a": ["main:sub_2:b"], "main:sub_2:b": []},
        ),
        (
            ("sub_1:a", "sub_1:b", "sub_2:a", "sub_2:b"),
            {
                "sub_1:a": [],
                "sub_1:b": ["sub_1:a"],
                "sub_2:a": ["sub_2:b"],
                "sub_2:b": [],
            },
        ),
    ],
)
def test_one_label_in_two_subworkflows_is_the_one_that_ran(
    tmp_path: Path, names: tuple[str, ...], order: dict[str, list[str]]
) -> None:
    assert waits(imported(tmp_path, TWO_SUBWORKFLOWS, *names)) == order


def test_a_process_at_the_top_is_not_taken_for_one_of_a_subworkflow(
    tmp_path: Path,
) -> None:
    """a and b stand at the top, and in X, where b comes first; the trace has no X."""
    dag = "flowchart TB\nv0([a]) --> v1([b])\nsubgraph X\nv2([b]) --> v3([a])\nend\n"
    assert waits(imported(tmp_path, dag, "a", "b")) == {"a": [], "b": ["a"]}
    both = waits(imported(tmp_path, dag, "a", "b", "X:a", "X:b"))
    assert both == {"a": [], "b": ["a"], "X:a": ["X:b"], "X:b": []}


def test_a_process_of_another_subworkflow_is_not_taken(tmp_path: Path) -> None:
    """sub_3:b is neither of the two b's: it is independent, and that is said."""
    problem = imported(tmp_path, TWO_SUBWORKFLOWS, "sub_1:a", "sub_3:b")
    assert waits(problem) == {"sub_1:a": [], "sub_3:b": []}
    assert any("does not name a process" in text for text in problem.warnings)


def test_names_that_do_not_tell_which_ran_are_refused(tmp_path: Path) -> None:
    """A trace of a and b alone could be either: both orders at once are a cycle."""
    with pytest.raises(
        InstanceError, match=r"dependency cycle of processes .*leave out --dag"
    ):
        imported(tmp_path, TWO_SUBWORKFLOWS, "a", "b")


COLLAPSED = """\
flowchart TB
    v1([A])
    v2([B])
    v3(( ))
    v1 --> v3
    v3 --> v2
    v2 --> v3
    v3 --> v1
"""


def test_a_cycle_through_a_collapsed_operator_points_to_the_setting(
    tmp_path: Path,
) -> None:
    arrows = "A -> x; x -> B; B -> x; x -> A;"
    graphviz = f'digraph d {{ {arrows} A [label=A]; B [label=B]; x [label=""] }}'
    for dag in (COLLAPSED, f'<pre class="mermaid">\n{COLLAPSED}</pre>', graphviz):
        with pytest.raises(
            InstanceError, match=r"cycle of processes \(.*dag\.verbose = true"
        ):
            imported(tmp_path, dag, "A", "B")


def test_an_operator_that_leads_back_to_its_process_is_told(tmp_path: Path) -> None:
    """A hands to the operator, which hands to B, which hands to it too, and it to C."""
    dag = "flowchart TB\nA --> x(( ))\nx --> B\nB --> x\nx --> C\n"
    problem = imported(tmp_path, dag, "A", "B", "C")
    assert waits(problem) == {"A": [], "B": ["A"], "C": ["A", "B"]}
    assert any(
        "dag.verbose = true keeps them apart): B" in text for text in problem.warnings
    )


@pytest.mark.parametrize(
    ("dag", "words"),
    [
        ("<html><body>report</body></html>", "neither DOT nor a page with a Mermaid"),
        ("<svg></svg>", "neither DOT nor a page"),
        ("some words", "neither DOT"),
        ("%%{ init: \nflowchart TB\n", "directive %%{ is not closed"),
        (MERMAID_PAGE.replace("</pre>", ""), "neither DOT nor a page"),
        (MERMAID_PAGE + MERMAID_PAGE, "2 Mermaid graphs"),
        (MERMAID_PAGE.replace("flowchart TB", "pie"), "not a flowchart"),
        (CHAIN.replace("v1 --> v2", "v1 ~~~ v2"), "line 9: cannot be read as Mermaid"),
        (CHAIN.replace("v2 --> v3", "v2 --> "), "line 10: cannot be read"),
        (CHAIN.replace("v1([A])", "v1([A"), r"line 5: node 'v1' is not closed by \]\)"),
        (CHAIN + "end\n", "line 11: an end without a subgraph"),
        (CHAIN.replace("    end\n", ""), "a subgraph is not closed"),
        (CHAIN + "v3([C])\n", "line 11: node 'v3' is given twice"),
        (
            CYTOSCAPE_PAGE.replace("{ data: { source: 'p1'", "{ dta: { source: 'p1'"),
            "line 13: ",
        ),
        (
            CYTOSCAPE_PAGE.replace("target: 'p2'", "label: 'p2'"),
            "line 13: neither a node nor",
        ),
        (
            CYTOSCAPE_PAGE.replace("target: 'p2'", "target: 'p9'"),
            "'p9', which is no node",
        ),
        (
            CYTOSCAPE_PAGE.replace("id: 'p2'", "id: 'p1'"),
            "line 8: node 'p1' is given twice",
        ),
        (
            CYTOSCAPE_PAGE[: CYTOSCAPE_PAGE.index("{ data: { source: 'p2'")],
            "does not end here",
        ),
        (DOT[:-2], "wanted a name, not the end of the file"),
        (
            DOT.replace('label="A"', "label=->"),
            "line 4: not DOT: wanted a name, not '->'",
        ),
        (DOT + "}", "wanted the end of the file"),
        ("digraph { a -> § }", "line 1: not DOT"),
        ("digraph " + "{" * 9999, "not DOT|nested too deeply"),
    ],
)
def test_what_cannot_be_read_whole_is_refused_with_its_place(
    tmp_path: Path, dag: str, words: str
) -> None:
    with pytest.raises(InstanceError, match=words) as caught:
        imported(tmp_path, dag, "A", "B")
    assert str(caught.value).startswith(f"{tmp_path}/dag: ") and "\n" not in str(
        caught.value
    )


def test_recorded_runs_read_with_the_page_that_lies_beside_them() -> None:
    """Every process is in its page; those that read of another
    (edges.csv), and no more, wait.
    """
    pages = sorted(shared_root().glob("data/recorded-runs/*/dag.html"))
    if not pages:
        pytest.skip(
            "recorded-runs is not here (set IOOPT_SHARED to the folder that holds it)"
        )
    for page in pages:
        trace = min(page.parent.glob("*-nodes/*.csv.gz"))
        problem = read_nextflow_trace(str(trace), str(page))
        assert any(problem.predecessors), trace
        assert not any(
            "does not name a process" in text for text in problem.warnings
        ), trace
        names = [task.id.partition(" ")[0] for task in problem.tasks]
        joined = {
            (name, names[k])
            for name, earlier in zip(names, problem.predecessors, strict=True)
            for k in earlier
        }
        edges = trace.parent / trace.name.replace(".csv.gz", ".edges.csv")
        if edges.exists():
            pairs = [line.split(",") for line in edges.read_text().splitlines()[1:]]
            assert joined == {
                (reader.partition(" ")[0], writer.partition(" ")[0])
                for reader, writer in pairs
            }
