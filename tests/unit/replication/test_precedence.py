"""Precedence is kept or refused in one line, by whatever takes a workflow: no
list of names in here.
"""

import json
from pathlib import Path
from typing import Any

import click
import pytest
from replication_samples import document

import ioopt
from ioopt.campaign.grid import build_grid, read_config
from ioopt.campaign.work import perform
from ioopt.cli.export import export_group
from ioopt.cli.imports import group as import_group
from ioopt.cli.main import COMMANDS
from ioopt.embed.service import Service
from ioopt.errors import NotApplicableError
from ioopt.registry import KINDS, solvers_for
from ioopt.solving import check_plan

SECONDS = {"a": 2, "b": 1, "c": 1, "d": 1}
EDGES = {("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")}
"""A diamond whose file names its tasks backwards, so that the order of
the file violates it.
"""


def diamond() -> Any:
    reads = {k: [f"f{p}" for p, q in sorted(EDGES) if q == k] for k in SECONDS}
    tasks = {k: (SECONDS[k], reads[k], [f"f{k}"]) for k in reversed(SECONDS)}
    return document(2, {f"f{k}": 10 for k in SECONDS}, tasks, 1000, 1000)


def dropped() -> Any:
    """A result of the batch without outputs."""
    data = diamond()
    batch = {**data, "tasks": [{**task, "outputs": []} for task in data["tasks"]]}
    return ioopt.solve(batch, "minmin")


def keeps(schedule: Any) -> bool:
    """Whether every task starts after the ends of those whose files it reads."""
    runs = {run["id"]: run for run in schedule["tasks"]}
    return all(runs[p]["end_seconds"] <= runs[q]["start_seconds"] for p, q in EDGES)


def edges(problem: Any) -> set[tuple[str, str]]:
    names = [task.id for task in problem.tasks]
    return {
        (names[p], names[q])
        for q, before in enumerate(problem.predecessors)
        for p in before
    }


@pytest.mark.parametrize("name", [spec.name for spec in solvers_for("replication")])
def test_a_solver_keeps_it_or_says_that_it_does_not_take_it(name: str) -> None:
    try:
        result = ioopt.solve(diamond(), name, time_limit=60)
    except NotApplicableError as error:
        said = str(error)
    else:
        assert result.violations == () and keeps(result.schedule)
        return
    assert "workflows" in said and "\n" not in said


def test_the_checker_sees_it_dropped() -> None:
    """The schedule of the batch without outputs, held against the workflow."""
    result = dropped()
    assert not keeps(result.schedule)
    report = check_plan(
        KINDS["replication"], ioopt.load(diamond()), result.plan, result.schedule
    )
    assert report.violations


@pytest.fixture
def run(run: Any) -> Any:
    """A command in a folder with the diamond and a result of it."""
    Path("w.json").write_text(json.dumps(diamond()))
    assert run("solve", "w.json", "--solver", "heft", "-o", "r.json")[0] == 0
    return run


LOOKED_AT = {
    "solve",
    "compare",
    "simulate",
    "check",
    "plot",
    "sweep",
    "serve",
    "instances",
    "doctor",
    "import",
    "export",
}
"""Commands that these tests run, that draw or sum up checked results, or
that take no instance.
"""


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - LOOKED_AT))
def test_a_command_that_nobody_looked_at_refuses_workflows(run: Any, name: str) -> None:
    """Whoever adds a command that takes them says here what becomes of precedence."""
    assert run(name, "w.json")[0] == 2


@pytest.mark.parametrize("form", sorted(set(export_group.commands) - {"wfformat"}))
def test_an_export_without_a_place_for_it_is_refused(run: Any, form: str) -> None:
    code, _, errors = run("export", form, "w.json", "-o", "x")
    assert code == 2 and errors.count("\n") == 1 and not Path("x").exists()


@pytest.mark.parametrize(
    "form",
    sorted(
        set(import_group.list_commands(click.Context(import_group)))
        - {"wfformat", "estee", "saga", "nextflow-trace"}
    ),
)
def test_an_import_without_a_place_for_it_is_refused(run: Any, form: str) -> None:
    """Importers of workflows are tested with edges of theirs; whoever
    adds one says so here.
    """
    assert run("import", form, "w.json", "-o", "x")[0] == 2 and not Path("x").exists()


def test_the_importers_of_graphs_keep_it(run: Any) -> None:
    """The diamond as graphs of Estee and SAGA, and as a Nextflow trace with its DAG."""
    place = {k: x for x, k in enumerate(SECONDS)}
    graph = [
        {
            "d": SECONDS[k],
            "cpus": 1,
            "outputs": [{"s": 1}],
            "inputs": [[place[p], 0] for p, q in sorted(EDGES) if q == k],
        }
        for k in SECONDS
    ]
    table = {"graph_name": {"0": "diamond"}, "graph": {"0": json.dumps(graph)}}
    Path("estee.json").write_text(json.dumps(table))
    rows = [
        f"{x}\t{k}\tCOMPLETED\t{SECONDS[k]}s\t1 KB\t1 KB" for x, k in enumerate(SECONDS)
    ]
    head = "task_id\tname\tstatus\trealtime\trchar\twchar"
    Path("trace.txt").write_text("\n".join([head, *rows]) + "\n")
    arrows = "".join(f"{p} -> {q};\n" for p, q in sorted(EDGES))
    labels = "".join(f'{k} [label="{k}"];\n' for k in SECONDS)
    Path("dag.dot").write_text(f"digraph g {{\n{labels}{arrows}}}\n")
    assert run("import", "estee", "estee.json", "-o", "e.json")[0] == 0
    named = dict(
        zip("abcd", (task.id for task in ioopt.load("e.json").tasks), strict=True)
    )
    assert edges(ioopt.load("e.json")) == {(named[p], named[q]) for p, q in EDGES}
    arcs = [{"source": p, "target": q, "size": 1} for p, q in sorted(EDGES)]
    costs = [{"name": k, "cost": SECONDS[k]} for k in SECONDS]
    Path("s.json").write_text(
        json.dumps({"task_graph": {"tasks": costs, "dependencies": arcs}})
    )
    assert run("import", "saga", "s.json", "-o", "s-flow.json")[0] == 0
    assert edges(ioopt.load("s-flow.json")) == EDGES
    words = [
        "import",
        "nextflow-trace",
        "trace.txt",
        "--dag",
        "dag.dot",
        "-o",
        "n.json",
    ]
    assert run(*words)[0] == 0
    assert len(edges(ioopt.load("n.json"))) == len(EDGES)


def test_a_batch_of_a_workflow_says_what_it_drops(run: Any) -> None:
    run("export", "wfformat", "w.json", "-o", "wf.json")
    code, _, errors = run(
        "import", "wfformat", "wf.json", "--flatten", "-o", "batch.json"
    )
    assert code == 0 and edges(ioopt.load("batch.json")) == set()
    assert "precedence is dropped" in errors


def test_commands_keep_it_or_refuse(run: Any) -> None:
    code, out, _ = run("simulate", "w.json", "r.json", "--format", "json")
    assert code == 0 and keeps(json.loads(out)["schedule"])
    for policy in ("fifo", "locality", "ready-min-min", "rolling"):
        code, out, _ = run("simulate", "w.json", "--solver", policy, "--format", "json")
        assert code == 0 and keeps(json.loads(out)["schedule"])
    assert run("check", "w.json", "r.json")[0] == 0
    stored = json.loads(Path("r.json").read_text())
    stored["schedule"]["tasks"][0]["start_seconds"] = 90.0
    Path("wrong.json").write_text(json.dumps(stored))
    assert run("check", "w.json", "wrong.json")[0] == 5
    code, out, _ = run("check", "w.json", "r.json", "--explain", "--format", "json")
    assert (
        code == 0 and json.loads(out)["knobs"][0]["value"] >= 4
    )  # a 2 s, b or c 1 s, d 1 s
    code, _, errors = run("solve", "w.json", "--now")
    assert code == 2 and errors.count("\n") == 1
    named = [f"--solver={name}" for name in ("minmin", "ip-printed", "heft")]
    code, out, _ = run("compare", "w.json", *named, "--format", "json")
    rows = {row["solver"]: row for row in json.loads(out)["rows"]}
    assert rows["heft"]["status"] in ("feasible", "optimal")
    assert {rows["minmin"]["status"], rows["ip-printed"]["status"]} == {
        "does not apply"
    }


def test_a_point_of_a_sweep_keeps_it_or_does_not_apply(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text(json.dumps(diamond()))
    text = (
        'time_limit = 5\n[[instances]]\npath = "w.json"\n[[solvers]]\nname = "minmin"\n'
    )
    (tmp_path / "g.toml").write_text(f'{text}[[solvers]]\nname = "heft"\n')
    grid = build_grid(read_config(str(tmp_path / "g.toml")), str(tmp_path))
    rows = {p.solver: perform(p, grid.sources[p.source]) for p in grid.points}
    assert rows["minmin"]["status"] == "does not apply"
    assert rows["heft"]["violations"] == 0 and rows["heft"]["error"] is None


def test_what_is_embedded_refuses_or_keeps_it() -> None:
    """The service; the planner is tested beside the instances."""
    data = diamond()
    asked = {"ioopt": 1, "op": "decide", "instance": data}
    reply = json.loads(
        Service().handle(json.dumps({**asked, "solver": "minmin"}).encode())
    )
    assert (
        reply["error"]["code"] == "invalid" and "workflows" in reply["error"]["message"]
    )
    reply = json.loads(
        Service().handle(json.dumps({**asked, "solver": "heft"}).encode())
    )
    assert check_plan(
        KINDS["replication"], ioopt.load(data), reply["result"]["plan"], None
    )
