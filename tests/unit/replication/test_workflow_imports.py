"""Estee's and SAGA's graphs and Nextflow traces: what becomes what, what is
refused, and by which words.
"""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from conftest import shared_path

import ioopt
from ioopt.cli.main import main
from ioopt.errors import InstanceError, UsageError
from ioopt.formats.cluster import Machine, Part, built
from ioopt.formats.estee.instance import read_estee
from ioopt.formats.nextflow.trace import bytes_of, read_nextflow_trace, seconds_of
from ioopt.formats.saga.instance import read_saga

TASKS: list[dict[str, Any]] = [
    {
        "d": 2.5,
        "e_d": 4,
        "cpus": 2,
        "outputs": [{"s": 1.5, "e_s": 2}, {"s": 0, "e_s": 0}],
        "inputs": [],
    },
    {"d": 3, "e_d": None, "cpus": 1, "outputs": [], "inputs": [[0, 0], [0, 1], [0, 0]]},
]


def table(**graphs: list[dict[str, Any]]) -> str:
    names = {str(k): name for k, name in enumerate(graphs)}
    texts = {str(k): json.dumps(tasks) for k, tasks in enumerate(graphs.values())}
    return json.dumps({"graph_name": names, "graph_id": names, "graph": texts})


def zipped(path: Path, *members: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for k, text in enumerate(members):
            archive.writestr(f"{k}.zip", text)
    return path


def test_an_estee_graph_is_planned_with_expected_durations_and_actual_sizes(
    tmp_path: Path,
) -> None:
    path = zipped(tmp_path / "g.zip", table(a=TASKS, b=TASKS[:1]))
    problem, actual = read_estee(str(path), "a", Machine(nodes=2))
    assert [(t.id, t.compute_seconds, t.cores) for t in problem.tasks] == [
        ("t0", 4, 2),
        ("t1", 3, 1),
    ]
    assert problem.tasks[1].inputs == ("t0.0", "t0.1") and problem.predecessors == (
        (),
        (0,),
    )
    assert [(f.id, f.bytes, f.keep) for f in problem.files] == [
        ("t0.0", 1_500_000, False),
        ("t0.1", 0, False),
    ]
    assert actual == {"t0": 2.5} and {node.cores for node in problem.nodes} == {2}
    said = " ".join(problem.meta["warnings"])
    assert (
        "expected sizes of 1 files are dropped" in said
        and "taken once, in task: t1" in said
    )
    kept = read_estee(str(path), "1", keep=True)[0]
    assert kept.name == "b" and all(file.keep for file in kept.files)


@pytest.mark.parametrize(
    ("text", "graph", "words"),
    [
        (table(a=TASKS, b=TASKS), None, "several graphs; --graph takes .*: a, b"),
        (table(a=TASKS, b=TASKS), "c", "no graph 'c'"),
        (table(a=TASKS, b=TASKS), "2", "no graph '2'"),
        (table(a=[]), "a", "graph 'a': "),
        (table(a=[{"d": -1}]), "a", "d: "),
        (table(a=[{"d": 1, "cpus": 0}]), "a", "cpus"),
        (table(a=[{"d": 1, "inputs": [[3, 0]]}]), "a", r"task 0 reads .*3, 0"),
        (
            table(a=[{"d": 1, "outputs": [{"s": 1}], "inputs": [[0, 0]]}]),
            "a",
            "dependency cycle",
        ),
        ('{"graph_name": {}}', "a", "graph"),
        ('{"graph_name": {}, "graph": {"0": "[{"}}', "0", "not complete, valid JSON"),
        ("PK", None, "JSON"),
    ],
)
def test_estee_files_that_are_refused(
    tmp_path: Path, text: str, graph: str, words: str
) -> None:
    path = tmp_path / "g.json"
    path.write_text(text)
    with pytest.raises((InstanceError, UsageError), match=words) as caught:
        read_estee(str(path), graph)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def test_archives_are_bounded(tmp_path: Path) -> None:
    with pytest.raises(InstanceError, match="must hold exactly one file"):
        read_estee(str(zipped(tmp_path / "two.zip", "{}", "{}")))
    bomb = io.StringIO(" " * ((1 << 26) + 1))
    with pytest.raises(InstanceError, match="unpack it first"):
        read_estee(str(zipped(tmp_path / "bomb.zip", bomb.getvalue())))
    cut = tmp_path / "cut.zip"
    cut.write_bytes(zipped(tmp_path / "whole.zip", table(a=TASKS)).read_bytes()[:60])
    with pytest.raises(InstanceError, match="cannot be unpacked"):
        read_estee(str(cut))


TRACE = """\
task_id\thash\tname\tstatus\texit\trealtime\tcpus\trchar\twchar
1\tab/1\tRNA:INDEX (genome)\tCOMPLETED\t0\t1m 3s\t2\t1 KB\t2 KB
2\tab/2\tRNA:QUANT (a)\tCOMPLETED\t0\t350ms\t4\t2.5 KB\t10 B
3\tab/3\tRNA:QUANT (b)\tCACHED\t0\t1h\t4\t1 KB\t20 B
4\tab/4\tRNA:FASTQC (a)\tFAILED\t1\t5s\t1\t1 KB\t1 KB
5\tab/5\tRNA:COUNT (a)\tCOMPLETED\t0\t5s\t-\t10\t-
"""
DOT = """\
digraph "flow" {
v0 [shape=point,label="",fixedsize=true,width=0.1,xlabel="Channel.of"];
v1 [label="INDEX"];
v0 -> v1;
v2 [shape=circle,label="",fixedsize=true,width=0.1,xlabel="collect"];
v1 -> v2 [label="index"];
v3 [label="RNA:QUANT"];
v2 -> v3;
v4 [label="RNA:COUNT"];
v3 -> v4;
}
"""
MERMAID = """\
flowchart TB
    subgraph RNA
    v1([INDEX])
    v2(( ))
    v3([QUANT])
    v4([COUNT])
    end
    v1 -->|index| v2
    v2 --> v3
    v3 --> v4
"""


def test_a_trace_may_be_separated_by_semicolons(tmp_path: Path) -> None:
    (tmp_path / "tabs.txt").write_text(TRACE)
    for mark in ";,":
        (tmp_path / "other.csv").write_text(TRACE.replace("\t", mark))
        one, two = (
            read_nextflow_trace(str(tmp_path / f)) for f in ("tabs.txt", "other.csv")
        )
        assert one.tasks == two.tasks and one.files == two.files


def test_a_run_time_of_nothing_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(
        "name\trealtime\tcpus\nA (1)\t0\t1\nA (2)\t0ms\t1\nB\t5\t1\n"
    )
    problem = read_nextflow_trace(str(tmp_path / "t.txt"))
    said = [text for text in problem.meta["warnings"] if "run time of 0 s" in text]
    assert said == [f"{tmp_path}/t.txt: a run time of 0 s, in task: A (1) and 1 more"]


def test_a_trace_alone_has_no_edges_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "trace.txt").write_text(TRACE)
    problem = read_nextflow_trace(str(tmp_path / "trace.txt"))
    rows = [(t.id, t.compute_seconds, t.cores) for t in problem.tasks]
    assert rows == [
        ("RNA:INDEX (genome)", 63, 2),
        ("RNA:QUANT (a)", 0.35, 4),
        ("RNA:QUANT (b)", 3600, 4),
        ("RNA:COUNT (a)", 5, 1),
    ]
    sizes = {file.id: (file.bytes, file.keep) for file in problem.files}
    assert sizes["RNA:INDEX (genome) reads"] == (1024, False)
    assert sizes["RNA:QUANT (b) wrote"] == (20, True)
    assert not any(problem.predecessors)
    said = [text.split(": ", 1)[1] for text in problem.meta["warnings"]]
    assert said[0] == (
        "tasks that did not complete are left out, and with them what they left in the "
        "work directory: RNA:FASTQC (a), 1.024 kB"
    )
    assert said[1] == "a task without wchar counts as 0 bytes: RNA:COUNT (a)"
    assert said[2].startswith("cores of tasks without cpus: the most that %cpu shows")
    assert said[2].endswith("(else --task-cpus PROCESS=N): RNA:COUNT 1")
    assert said[3].startswith("precedence is unknown (without a DAG)")
    assert set(problem.meta["synthetic"]) == {"machine", "file names", "staging"}


@pytest.mark.parametrize("dag", [DOT, MERMAID])
def test_a_dag_joins_tasks_of_one_tag_else_all(tmp_path: Path, dag: str) -> None:
    """INDEX (genome) has no tag of QUANT: both read its 2 KB; COUNT (a) waits
    for QUANT (a) alone.

    QUANT (a) read 2.5 KB: 512 bytes beyond the index; QUANT (b) 1 KB: nothing beyond.
    """
    (tmp_path / "trace.txt").write_text(TRACE)
    (tmp_path / "dag").write_text(dag)
    trace, dag = str(tmp_path / "trace.txt"), str(tmp_path / "dag")
    problem = read_nextflow_trace(trace, dag, waits=False)
    assert problem.predecessors == ((), (0,), (0,), (1,))
    sizes = {file.id: file.bytes for file in problem.files}
    assert sizes["RNA:QUANT (a) reads"] == 512 and "RNA:QUANT (b) reads" not in sizes
    assert "one tag" in problem.meta["synthetic"]["precedence"]
    assert {file.id for file in problem.files if file.keep} == {
        "RNA:QUANT (b) wrote",
        "RNA:COUNT (a) wrote",
    }


def test_commas_raw_values_and_repeated_names(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "name,realtime,read_bytes,write_bytes\nA,1500,7,8\nA,-,9,1\n"
    )
    problem = read_nextflow_trace(str(tmp_path / "t.csv"), read="read_bytes")
    assert [(t.id, t.compute_seconds) for t in problem.tasks] == [
        ("A", 1.5),
        ("A #2", 0),
    ]
    assert {file.id: file.bytes for file in problem.files}["A #2 reads"] == 9


def test_pipes_that_count_as_written_are_told(tmp_path: Path) -> None:
    """A and B wrote 30 by wchar and 10 on disk: 3 times as much, most of it A's."""
    text = "name,realtime,wchar,write_bytes\nA,1500,25,6\nB,1500,5,4\n"
    (tmp_path / "t.csv").write_text(text)
    told = " ".join(read_nextflow_trace(str(tmp_path / "t.csv")).meta["warnings"])
    assert "wchar has 3.0 x the bytes" in told and "most in: A" in told
    other = read_nextflow_trace(str(tmp_path / "t.csv"), read="read_bytes")
    assert "wchar has" not in " ".join(other.meta["warnings"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name\tstatus\nA\tCOMPLETED\n", "column 'realtime' is missing"),
        (
            "name\trealtime\nA\t5 parsecs\n",
            "line 2: realtime '5 parsecs' is not a number",
        ),
        ("name\trealtime\tcpus\nA\t5s\tmany\n", "cpus 'many'"),
        ("name\trealtime\trchar\nA\t5s\t1 furlong\n", "rchar '1 furlong'"),
        ("name\trealtime\n\t5s\n", "is no process"),
        ("name\trealtime\tstatus\nA\t5s\tFAILED\n", "no task completed successfully"),
        ("name\trealtime\nA\t1e300\n", "realtime '1e300' is above"),
    ],
)
def test_traces_that_are_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "trace.txt").write_text(text)
    with pytest.raises(InstanceError, match=words):
        read_nextflow_trace(str(tmp_path / "trace.txt"))


COLUMNS = "task_id\thash\tname\tstatus\trealtime\tcpus\trchar\twchar"


def traced(tmp_path: Path, *rows: str, columns: str = COLUMNS, **how: Any) -> Any:
    """The workflow of a trace of *rows*, whose cells stand apart by blanks."""
    lines = [row.replace(" ", "\t").replace("~", " ") for row in rows]
    (tmp_path / "trace.txt").write_text("\n".join([columns, *lines]) + "\n")
    return read_nextflow_trace(str(tmp_path / "trace.txt"), **how)


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("1 a/1 A COMPLETED -3s 1 1 1", "realtime '-3s' is negative"),
        ("1 a/1 A COMPLETED -1500 1 1 1", "realtime '-1500' is negative"),
        ("1 a/1 A COMPLETED 3s~5s 1 1 1", "realtime '3s 5s' is not a number"),
        ("1 a/1 A COMPLETED 1,5s 1 1 1", "realtime '1,5s' is not a number"),
        ("1 a/1 A COMPLETED 3s -2 1 1", "cpus '-2' is negative"),
        ("1 a/1 A COMPLETED 3s 80% 1 1", "cpus '80%' is not a number"),
        ("1 a/1 A COMPLETED 3s 1 -5 1", "rchar '-5' is negative"),
        ("1 a/1 A COMPLETED 3s 1 1 -2~KB", "wchar '-2' is negative"),
        ("1 a/1 A COMPLETED 3s 1 1,5~GB 1", "rchar '1,5' is not a number"),
        ("1 a/1 A COMPLETED 3s 1 9~EB 1", "rchar '9 EB' is above"),
        ("1 a/1 A COMPLETED 3s 1 1_000 1", "rchar '1_000' is not a number"),
        ("1 a/1 A COMPLETED 3s 1 1", "7 cells, but the heading has 8"),
        ("1 a/1 A COMPLETED 16901 3s 1 1 1", "9 cells, but the heading has 8"),
    ],
)
def test_a_bad_row_of_a_trace_is_refused_or_left_out_and_counted(
    tmp_path: Path, row: str, what: str
) -> None:
    good = [f"{k} b/{k} B COMPLETED 3s 1 1 1" for k in range(2, 21)]
    with pytest.raises(InstanceError) as told:
        traced(tmp_path, *good, row)
    assert f"line 21: {what}" in str(told.value)
    problem = traced(tmp_path, *good, row, skip_bad=0.05)  # 1 of 20
    assert (
        len(problem.tasks) == 19
        and "1 of 20 rows left out" in problem.meta["warnings"][0]
    )
    with pytest.raises(
        InstanceError, match=r"1 of 19 rows cannot be read, more than 5 %"
    ):
        traced(tmp_path, *good[1:], row, skip_bad=0.05)


def test_an_attempt_that_stands_twice_is_one_task(tmp_path: Path) -> None:
    """Also as it is cached by a later run; another attempt of the
    name is another task.
    """
    problem = traced(
        tmp_path,
        "1 a/1 A~(x) COMPLETED 3s 1 1 1",
        "1 a/1 A~(x) COMPLETED 3s 1 1 1",
        "7 a/1 A~(x) CACHED 3s 1 1 1",
        "2 a/2 A~(x) FAILED 3s 1 1 1",
        "2 a/2 A~(x) COMPLETED 4s 1 1 1",
        "3 - B COMPLETED 5s 1 1 1",
        "3 - B COMPLETED 5s 1 1 1",
    )
    assert [(task.id, task.compute_seconds) for task in problem.tasks] == [
        ("A (x)", 3),
        ("A (x) #2", 4),
        ("B", 5),
    ]
    assert "3 repeated rows counted once: line 3, 4, 8" in (problem.meta["warnings"][0])
    unnamed = traced(tmp_path, "A 3s", "A 3s", columns="name\trealtime")
    assert len(unnamed.tasks) == 2
    assert any(
        "equal rows without task_id or hash" in text
        for text in unnamed.meta["warnings"]
    )


def test_thousands_units_quotes_and_line_ends(tmp_path: Path) -> None:
    """1,500 ms; 1,024 KB are 2^20 bytes; a mark of byte order, and \\r
    at the ends of lines.
    """
    row = '1\ta/1\t"A (""x"")"\t-\t1,500\t-\t1,024 KB\t-'
    text = f"{COLUMNS}\r\n{row}\r\n\r\n{COLUMNS}\r\n"
    for coding in ("utf-8-sig", "utf-16"):
        (tmp_path / "trace.txt").write_bytes(text.encode(coding))
        (task,) = read_nextflow_trace(str(tmp_path / "trace.txt")).tasks
        assert (task.id, task.compute_seconds, task.cores) == ('A ("x")', 1.5, 1)
    (tmp_path / "quote.txt").write_text('name\trealtime\n"A\t3s\nB\t4s\n"C\t5s\n')
    found = read_nextflow_trace(str(tmp_path / "quote.txt")).tasks
    assert [task.id for task in found] == ['"A', "B", '"C']
    (tmp_path / "quote.csv").write_text('name,realtime\n"A,3s\nB,4s\n')
    with pytest.raises(InstanceError, match="line 3: not CSV"):
        read_nextflow_trace(str(tmp_path / "quote.csv"))


def test_a_dag_of_another_form_and_units(tmp_path: Path) -> None:
    (tmp_path / "trace.txt").write_text(TRACE)
    (tmp_path / "dag").write_text("<html>")
    with pytest.raises(InstanceError, match="neither DOT"):
        read_nextflow_trace(str(tmp_path / "trace.txt"), str(tmp_path / "dag"))
    assert seconds_of("2d 1h 1m 1.5s", "x") == 2 * 86400 + 3661.5
    assert (bytes_of("1.5 MB", "x"), bytes_of("12", "x"), bytes_of("3.2 B", "x")) == (
        1572864,
        12,
        4,
    )


def test_actual_durations_of_a_real_estee_graph_go_round(
    tmp_path: Path, capsys: Any
) -> None:
    """Planned with e_d, replayed with d: as the same queues of an instance
    that has d as its times.
    """
    source = shared_path("data/workflows/elementary.zip")
    graph, actual, plan = (
        str(tmp_path / name) for name in ("g.json", "a.json", "r.json")
    )
    asked = [
        "--graph",
        "merge_triplets",
        "--machine",
        "nodes=4,cores=4",
        "--actual",
        actual,
    ]
    assert main(["import", "estee", str(source), *asked, "-o", graph]) == 0
    assert main(["solve", graph, "--solver", "b-level", "-o", plan]) == 0
    capsys.readouterr()
    assert main(["simulate", graph, plan, "--actual", actual, "--format", "json"]) == 0
    replayed = json.loads(capsys.readouterr().out)
    times = json.loads(Path(actual).read_text())
    assert (
        len(times) == 148
    )  # every task's expected duration differs from its actual one
    assert replayed["schedule"]["actual_compute_seconds"] == times
    true = json.loads(Path(graph).read_text())
    for task in true["tasks"]:
        task["compute_seconds"] = times[task["id"]]
    queues = json.loads(Path(plan).read_text())["plan"]
    again = ioopt.simulate(true, queues)
    assert again.schedule["tasks"] == replayed["schedule"]["tasks"]
    planned = ioopt.simulate(graph, queues).metrics["makespan_seconds"]
    assert again.metrics["makespan_seconds"] != planned


def saga(folder: Path, *edges: tuple[str, str, float]) -> str:
    """A file of tasks a, b, c, whose costs are 1.5, 2 and 3, and of *edges*."""
    tasks = [
        {"name": name, "cost": cost} for name, cost in (("a", 1.5), ("b", 2), ("c", 3))
    ]
    rows = [
        dict(zip(("source", "target", "size"), edge, strict=True)) for edge in edges
    ]
    graph = {"task_graph": {"tasks": tasks, "dependencies": rows}}
    (folder / "graph.json").write_text(json.dumps(graph))
    return str(folder / "graph.json")


def test_a_saga_task_writes_one_file_where_its_edges_agree(tmp_path: Path) -> None:
    """a sends .5 to both others: one file of 500,000 bytes; .5 and 2: a
    file to each of them.
    """
    one = read_saga(saga(tmp_path, ("a", "b", 0.5), ("a", "c", 0.5), ("b", "c", 1e-7)))
    two = read_saga(saga(tmp_path, ("a", "b", 0.5), ("a", "c", 2)))
    assert {file.id: file.bytes for file in one.files} == {"a": 500_000, "b": 1}
    assert [(t.compute_seconds, t.inputs, t.outputs) for t in one.tasks] == [
        (1.5, (), ("a",)),
        (2, ("a",), ("b",)),
        (3, ("a", "b"), ()),
    ]
    assert {file.id: file.bytes for file in two.files} == {
        "a -> b": 500_000,
        "a -> c": 2_000_000,
    }


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([("a", "d", 1)], "'a' -> 'd': no such task"),
        ([("a", "b", -1)], "must be 0 or more"),
        ([("a", "b", 1), ("b", "a", 1)], "cycle"),
        ([("a", "b", 1), ("a", "b", 1)], "twice"),
    ],
)
def test_saga_graphs_that_are_refused(tmp_path: Path, edges: Any, words: str) -> None:
    with pytest.raises(InstanceError, match=words):
        read_saga(saga(tmp_path, *edges))


def test_two_kinds_of_nodes() -> None:
    """What a kind does not say is the machine's; what neither says
    is said to be assumed.
    """
    rows = (
        {"count": 2, "cores": 4, "disk": "1GB"},
        {"cores": 16, "speed": 2.0, "disk": "50%"},
    )
    task = {"id": "t", "compute_seconds": 1.0, "cores": 1}
    part = Part({"t": ["f"]}, {"t": []}, {"f": 100}, frozenset(), ())
    made = built(
        {"name": "x"}, [task], part, Machine(nodes=rows, link="shared"), (), "x"
    )
    assert [(node.cores, node.disk_bytes, node.speed) for node in made.nodes] == [
        (4, 10**9, 1.0),
        (4, 10**9, 1.0),
        (16, 100, 2.0),
    ]
    assert made.meta["synthetic"]["machine"].startswith(
        "speed 1, 12.5 MB/s from remote storage"
    )
    assert any(
        "disk 50% is 50 bytes, raised to the 100" in text for text in made.warnings
    )


def test_the_memory_of_a_trace_is_what_tasks_hold(tmp_path: Path) -> None:
    rows = ["1 a/1 A COMPLETED 3s 1 1 1 6~GB", "2 a/2 B COMPLETED 3s 1 1 1 -"]
    machine = Machine(nodes=2, memory=8_000_000_000)
    columns = f"{COLUMNS}\tmemory"
    problem = traced(tmp_path, *rows, columns=columns, machine=machine)
    assert [task.memory_bytes for task in problem.tasks] == [6 * 1024**3, 0]
    assert {node.memory_bytes for node in problem.nodes} == {8_000_000_000}
    plain = traced(tmp_path, "1 a/1 A COMPLETED 3s 1 1 1")
    assert plain.tasks[0].memory_bytes == 0
    assert plain.nodes[0].memory_bytes is None
    with pytest.raises(InstanceError, match="memory 'much' is not a number"):
        traced(tmp_path, "1 a/1 A COMPLETED 3s 1 1 1 much", columns=columns)


def test_nodes_of_a_trace_receive_several_files_at_once(tmp_path: Path) -> None:
    row = "1 a/1 A COMPLETED 3s 1 1 1"
    problem = traced(tmp_path, row)
    assert {node.staging for node in problem.nodes} == {4}
    assert problem.meta["synthetic"]["staging"].startswith("a node receives up to 4")
    told = traced(tmp_path, row, machine=Machine(staging=1))
    assert {node.staging for node in told.nodes} == {1}
    assert "staging" not in told.meta["synthetic"]


def test_the_machine_of_an_import_may_have_shared_storage(tmp_path: Path) -> None:
    row = "1 a/1 A COMPLETED 3s 1 1 1"
    shared = traced(tmp_path, row, machine=Machine(products="shared", cache="read"))
    assert (shared.products, shared.cache) == ("shared", "read")
    usual = traced(tmp_path, row, machine=Machine(products="shared"))
    assert (usual.products, usual.cache) == ("shared", None)
    assert traced(tmp_path, row).products == "node"
    with pytest.raises(UsageError, match="cache=read is for products=shared"):
        traced(tmp_path, row, machine=Machine(cache="read"))
