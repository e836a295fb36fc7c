"""The command line end to end: answers, streams, exit codes, and
what it leaves on disk.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from cli.test_import_export import SWF
from conftest import ROOT, command_beside
from replication_samples import document

from ioopt.cli.listings import json_schema, schema_classes
from ioopt.cli.main import main
from ioopt.options import RENAMED


def test_solve_check_simulate_plot_round_trip(run, tmp_path):
    code, out, _ = run("solve", "cycle3", "--solver", "minmin", "-o", "r.json")
    assert code == 0 and "additive " in out
    assert run("check", "cycle3", "r.json")[:2] == (0, "r.json: no violation\n")
    result = json.loads((tmp_path / "r.json").read_text())
    (tmp_path / "plan.json").write_text(json.dumps(result["plan"]))
    code, out, _ = run("check", "cycle3", "plan.json")
    assert (code, out) == (0, "plan.json: no violation; additive 6.748 s\n")
    code, out, _ = run(
        "simulate", "cycle3", "r.json", "--format", "json", "--timeline", "t.csv"
    )
    stored = json.loads((tmp_path / "r.json").read_text())
    assert (
        json.loads(out)["metrics"]["makespan_seconds"]
        == stored["metrics"]["makespan_seconds"]
    )
    assert (tmp_path / "t.csv").read_text().count("\n") > 6
    assert run("simulate", "cycle3", "r.json", "--timeline", "t.json")[0] == 0
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert any(event["ph"] == "X" for event in events)
    for ending in ("png", "svg", "html"):
        assert run("plot", "r.json", "-o", f"p.{ending}")[0] == 0
        assert (tmp_path / f"p.{ending}").stat().st_size > 1000


def test_settings_may_follow_the_name_of_a_solver(run, tmp_path):
    """As in `compare`; --set comes after, and a function's colon is not a setting."""
    told = ("solve", "cycle3", "--solver", "link-aware:evaluations=60", "-o", "r.json")
    assert run(*told)[0] == 0
    settings = json.loads((tmp_path / "r.json").read_text())["options"]["settings"]
    assert settings["evaluations"] == 60
    code, _, err = run("solve", "cycle3", "--solver", "link-aware:evaluation=60")
    assert code == 2 and "link-aware has no setting 'evaluation'" in err


def test_a_replay_is_drawn_like_a_result(run, tmp_path):
    rolling = ("--solver", "rolling", "-o", "replay.json")
    assert run("simulate", "flow-fork-join", *rolling)[0] == 0
    replay = json.loads((tmp_path / "replay.json").read_text())
    assert (replay["kind"], replay["solver"]) == ("replication", "rolling")
    assert run("plot", "replay.json", "-o", "replay.svg")[0] == 0
    assert "flow-fork-join: rolling" in (tmp_path / "replay.svg").read_text()
    code, _, err = run("check", "flow-fork-join", "replay.json")
    assert (code, err) == (0, "")


def test_only_order_and_eviction_are_needed_to_simulate(run, tmp_path):
    plan = {"order": {"n0": ["t0", "t1", "t2", "t3", "t4", "t5"]}, "eviction": "lru"}
    (tmp_path / "plan.json").write_text(json.dumps({"plan": plan}))
    code, out, _ = run("simulate", "cycle3", "plan.json", "--format", "json")
    # one fetch of 64 MB at 12.5 MB/s, then six tasks of 1.5 s on one node
    assert code == 0
    assert json.loads(out)["metrics"]["makespan_seconds"] == pytest.approx(5.12 + 9)


def test_results_follow_their_schema_and_the_contract(run):
    _, out, _ = run(
        "solve", "two-pairs", "--solver", "job-data-present", "--format", "json"
    )
    result = json.loads(out)
    jsonschema.validate(result, json_schema(schema_classes()["result"]()))
    keys = (
        "instance family solver status stop objective objective_name bound gap "
        "build_seconds"
    )
    keys += (
        " solve_seconds simulate_seconds seed options versions notes violations "
        "metrics plan"
    )
    for key in [*keys.split(), "schedule"]:
        assert key in result
    assert {
        "additive_seconds",
        "makespan_seconds",
        "link_bound_seconds",
        "remote_bytes",
        "replica_bytes",
        "remote_transfers",
        "replications",
        "evictions",
        "compute_imbalance",
    } <= set(result["metrics"])


def test_compare_in_every_form(run, tmp_path):
    solvers = ("--solver", "minmin", "--solver", "job-data-present")
    code, out, _ = run(
        "compare",
        "cycle3",
        "two-pairs",
        *solvers,
        "--plot",
        "bars.png",
        "--baseline",
        "minmin",
    )
    assert (
        code == 0 and out.count("\nminmin ") == 1 and (tmp_path / "bars.png").exists()
    )
    code, out, _ = run("compare", "cycle3", *solvers, "--format", "json")
    document = json.loads(out)
    assert (document["format"], document["version"]) == ("ioopt/comparison", 1)
    assert min(row["ratio_to_best"] for row in document["rows"]) == 1
    assert all("plan" not in row and "schedule" not in row for row in document["rows"])
    (tmp_path / "c.json").write_text(out)
    assert run("plot", "c.json", "-o", "c.svg")[0] == 0
    code, out, _ = run("compare", "cycle3", *solvers, "--format", "csv")
    assert len(out.splitlines()) == 3
    code, out, _ = run("compare", "cycle3", *solvers, "--format", "markdown")
    title, _, header = out.splitlines()[:3]
    assert title.startswith("**cycle3, by makespan_seconds (less is better); bound ")
    assert header.replace(" ", "") == "|solver|status|makespan|gap|ratio|time|"


def test_instances_and_solvers_and_schemas(run, tmp_path):
    code, out, _ = run("instances")
    assert code == 0 and "cycle3" in out
    assert json.loads(run("instances", "show", "cycle3")[1])["best_objective"] == 5.184
    assert run("instances", "copy", "cycle3", "-o", "copy.json")[0] == 0
    assert run("check", "copy.json")[0] == 0
    code, _, err = run("instances", "copy", "cycle3", "-o", "copy.json")
    assert code == 2 and "exists already" in err
    names = [
        spec["name"]
        for spec in json.loads(run("instances", "solvers", "--format", "json")[1])
    ]
    assert {"ip", "minmin", "job-data-present"} <= set(names)
    for name in run("instances", "schema")[1].split():
        assert json.loads(run("instances", "schema", name)[1])["$schema"]


@pytest.mark.parametrize("name", sorted(schema_classes()))
def test_schemas_are_valid(name):
    jsonschema.Draft202012Validator.check_schema(json_schema(schema_classes()[name]()))


BAD = [
    (("solve", "absent.json"), 2, "no such file"),
    (
        ("solve", "cycle3", "--solver", "minmin", "--backend", "CBC"),
        2,
        "no backend 'CBC'",
    ),
    (("solve", "cycle3", "--solver", "minmin", "--set", "x=1"), 2, "no setting 'x'"),
    (("solve", "cycle3", "--time-limit", "-1"), 2, "time limit must be more than 0"),
    (("solve", "cycle3", "--threads", "0"), 2, "threads must be 1 or more"),
    (
        ("solve", "cycle3", "--solver", "minmin", "--threads", "2"),
        2,
        "minmin uses one thread; more",
    ),
    (
        ("solve", "two-writers-now", "--now", "--threads", "2"),
        2,
        "to no solver of io-requests",
    ),
    (
        ("solve", "cycle3", "--solver", "minmin", "-o", "no/such/dir.json"),
        2,
        "cannot be written",
    ),
    (
        ("compare", "cycle3", "--solver", "minmin", "--set", "x=1"),
        2,
        "has a setting 'x'",
    ),
    (
        ("compare", "cycle3", "--solver", "minmin", "--baseline", "ip"),
        2,
        "not among the solvers",
    ),
    (("simulate", "cycle3", "empty.json"), 2, "empty.json"),
    (("check", "broken.json"), 2, "broken.json: line 1 column"),
    (("solve", "toobig.json", "--solver", "minmin"), 2, "t0"),
    (("solve", "toobig.json", "--solver", "ip"), 2, "90 bytes"),
    (
        ("instances", "generate", "replicatoin", "-o", "x.json"),
        2,
        "did you mean 'replication'",
    ),
    (("instances", "generate", "replication"), 2, "missing -o FILE"),
    (("plot", "broken.json", "-o", "x.bmp"), 2, "a picture's name ends in"),
    (
        ("solve", "cycle3", "--now"),
        2,
        "one decision is made from io-requests, gang-matrix",
    ),
    (("instances", "schema", "replicaton"), 2, "did you mean 'replication'"),
    (("instances", "solvers", "--family", "gnag"), 2, "gang"),
    (("check", "cycle3", "--explain"), 2, "needs a RESULT"),
    (("check", "cycle3", "--format", "json"), 2, "is only for --explain"),
    (
        ("import", "swf", "a.swf", "--node-rate", "1GB/s"),
        2,
        "--node-rate is now --machine node_rate=",
    ),
    (
        ("import", "swf", "a.swf", "--machine", "disk=1GB", "-o", "x"),
        2,
        "no key 'disk'; known: nodes",
    ),
    (("simulate", "cycle3", "--policy", "fifo"), 2, "--policy is now --solver"),
    (("slove", "cycle3"), 2, "did you mean 'solve'"),
    (("solve",), 2, "Missing argument"),
    (
        ("check", "toobig.json"),
        2,
        "task 't0' reads 90 bytes, but the largest disk holds 50",
    ),
    (("solve", "half.json"), 2, "half.json: machine: missing"),
    (("solve", "cycle3", "--solver", "minmim"), 2, "did you mean 'minmin'?"),
    (("solve", "cycle3", "--solver", "MinMin"), 2, "did you mean 'minmin'?"),
    (("solve", "cycle3", "--solver", "mimmin"), 2, "did you mean 'minmin'?"),
    # Near to nothing of this kind, but to a solver of another one.
    (
        ("solve", "cycle3", "--solver", "adaptiv"),
        2,
        "did you mean 'adaptive', which takes batch-io",
    ),
    (
        ("solve", "cycle3", "--solver", "minmin", "--set", "evction=lru"),
        2,
        "did you mean 'eviction'? its settings: ",
    ),
    (("compare", "cycle3", "--set", "evction=lru"), 2, "did you mean 'eviction'?"),
    (("solve", "cycl3"), 2, "did you mean 'cycle3'?"),
    (("instances", "show", "cycl3"), 2, "did you mean 'cycle3'?"),
    (("solve", "cycle3", "--solver", "two-stage", "--set", "thresh=-1"), 2, "thresh"),
    (
        ("solve", "cycle3", "--solver", "hierarchical", "--set", "hierarchy=4:2"),
        2,
        "8 nodes",
    ),
    (
        ("solve", "cycle3", "--measure", "makespan"),
        2,
        "did you mean 'makespan_seconds'",
    ),
    *(
        (
            words,
            2,
            "message-counts instances are measured, not solved: ioopt measure FILE",
        )
        for words in (
            ("solve", "gangedness-table-3"),
            ("compare", "gangedness-table-3"),
            ("simulate", "gangedness-table-3", "empty.json"),
            ("check", "gangedness-table-3", "empty.json"),
        )
    ),
    (("measure", "cycle3"), 2, "replication instances are solved, not measured"),
    (("measure", "quantum-ties", "--set", "engine=magic"), 2, "engine"),
    (
        ("measure", "quantum-ties", "--time-limit", "1e-9"),
        4,
        "0 of 5 points simulated before the time limit",
    ),
    *(
        ((*words, "-o", "x.json"), 2, message)
        for words, message in [
            (
                ("instances", "generate", "replication", "--preset", "image-86"),
                "did you mean 'image-85'?",
            ),
            (
                ("instances", "generate", "replication", "--preset", "mira-month"),
                "is one of batch-io, not",
            ),
            (("instances", "generate", "replication", "--set", "disk=lots"), "lots"),
            (
                ("instances", "generate", "gang", "--set", "jobs=1e30"),
                "too large to make",
            ),
            (
                (
                    "instances",
                    "generate",
                    "quantum-model",
                    "--set",
                    "processors=" + "9" * 20,
                ),
                "processors: must be 1e+18 or less, not 99999999999999999999",
            ),
            (("import", "wfformat", "nowhere.json"), "nowhere.json"),
            (("import", "wfformat", "broken.json"), "broken.json: line 1"),
            (("import", "wfformat", "flow.json", "--machine", "disk=much"), "much"),
            (("import", "wfformat", "flow.json", "--machine", "nodes=0"), "nodes"),
            (("import", "swf", "missing.swf"), "missing.swf: no such file"),
            (("import", "swf", "bad.swf"), "bad.swf: line 1: submit_seconds 'two'"),
            (
                ("import", "swf", "a.swf", "--io-fraction", "2"),
                "no share from 0 to 1; for",
            ),
            (
                ("import", "swf", "a.swf", "--machine", "nodes=6,unit_nodes=4"),
                "unit_nodes",
            ),
            (("import", "darshan", "a.swf"), "no '# darshan log version' line"),
            (("import", "batsim", "a.swf"), "not complete, valid JSON"),
            (("export", "batsim", "cycle3", "r.json"), "takes batch-io"),
        ]
    ),
    (("advise", "gone.swf"), 2, "gone.swf: no such file"),
    (("advise", "a.swf", "--solver", "base-line"), 2, "not base-line itself"),
    (("advise", "a.swf", "--solver", "fil"), 2, "fill"),
    (
        ("advise", "a.swf", "--solver", "fill:ef=2"),
        2,
        "ef is no setting of the policy fill",
    ),
    (("advise", "a.swf"), 2, "2 of the 2 jobs that ran have no start"),
    (("advise", "a.swf", "--io-fraction", "7"), 2, "from 0 to 1"),
    (("advise", "a.swf", "-o", "p.html", "--format", "json"), 2, "p.html is a page"),
    (("advise", "a.swf", "--darshan", "."), 2, "no Darshan log in ."),
    (("budget", "trace.tsv"), 2, "--cores N"),
    (
        ("budget", "trace.tsv", "--cores", "2", "--quota", "lots"),
        2,
        "--quota: size 'lots' is not a number",
    ),
    (("budget", "trace.tsv", "--cores", "2", "--noise", "0.3"), 2, "--quota BYTES"),
    (("budget", "none.txt", "--cores", "2"), 2, "none.txt"),
    (("budget", "empty.tsv", "--cores", "2"), 2, "no task wrote a byte"),
    (("budget", "cycle3"), 2, "wanted ioopt/work-directory"),
]


@pytest.mark.parametrize(
    ("words", "code", "message"), BAD, ids=lambda value: str(value)[:40]
)
def test_bad_input_gets_one_line_and_a_code(run, tmp_path, words, code, message):
    (tmp_path / "broken.json").write_text('{"format": "ioopt/replication", ')
    (tmp_path / "empty.json").write_text("{}")
    (tmp_path / "toobig.json").write_text(json.dumps(_task_no_disk_holds()))
    (tmp_path / "half.json").write_text(
        '{"format": "ioopt/batch-io", "name": "x", "jobs": []}'
    )
    flow = {"specification": {"tasks": [{"id": "a"}]}}
    (tmp_path / "flow.json").write_text(
        json.dumps({"schemaVersion": "1.5", "name": "f", "workflow": flow})
    )
    (tmp_path / "a.swf").write_text(SWF)
    (tmp_path / "bad.swf").write_text("1 two 3\n")
    (tmp_path / "empty.tsv").write_text("name\trealtime\nTRIM (a)\t10s\n")
    (tmp_path / "trace.tsv").write_text("name\trealtime\twchar\nTRIM (a)\t10s\t6\n")
    (tmp_path / "x.json").write_text("older\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    got, out, err = run(*words)
    assert got == code
    assert message in err and out == "" and "Traceback" not in err
    assert len(err.splitlines()) == 1 or err.startswith("Usage: ")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def _task_no_disk_holds():
    return document([{"disk_bytes": 50}], {"f0": 90}, {"t0": (1, ["f0"])}, 1, 1)


def test_standard_input_and_output(tmp_path):
    text = json.dumps(_task_no_disk_holds() | {"files": [{"id": "f0", "bytes": 9}]})
    done = command_beside(tmp_path)(
        "solve", "-", "--solver", "minmin", "-o", "-", input=text
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["instance"] == "made"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_solve_still_writes_its_best_plan(tmp_path, number):
    """The process is signalled once it has reported its first plan (seen in
    its log of incumbents).
    """
    code = f"""
import os, signal, sys
from ioopt.cli.main import main
from ioopt.protocols import Incumbents
report = Incumbents.report
def reported(self, plan, objective, bound=None):
    report(self, plan, objective, bound)
    os.kill(os.getpid(), {int(number)})
Incumbents.report = reported
words = ["solve", "image-16x3", "--solver", "ip", "--time-limit", "3600"]
sys.exit(main([*words, "-o", "r.json"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 130, done.stderr
    result = json.loads((tmp_path / "r.json").read_text())
    assert (
        result["stop"] == "interrupted" and result["plan"] and result["objective"] > 0
    )


def test_where_nothing_can_be_written_is_said_before_the_work(
    run, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        "ioopt.cli.solve.load_within", lambda *given: pytest.fail("read first")
    )
    for option in ("-o", "--log"):
        for target, reason in [
            (tmp_path, "Is a directory"),
            (tmp_path / "no" / "x", "No such"),
        ]:
            code, out, err = run("solve", "cycle3", option, str(target))
            assert code == 2 and out == ""
            assert err.startswith(f"ioopt: {target}: cannot be written: {reason}")


@pytest.mark.parametrize(
    "command",
    [
        ("solve", "cycle3", "--solver", "minmin"),
        ("compare", "cycle3", "--solver", "minmin", "--solver", "fifo"),
        (
            "instances",
            "generate",
            "replication",
            "--preset",
            "image-85",
            "--set",
            "tasks=4",
        ),
        ("export", "lp", "cycle3"),
    ],
)
def test_output_through_a_link_leaves_the_link(run, command, tmp_path):
    link = tmp_path / "l.lp"
    link.symlink_to("real")
    code, _, err = run(*command, "-o", str(link))
    assert code == 0, err
    assert link.is_symlink() and (tmp_path / "real").stat().st_size > 20


def test_help_lists_few_commands_and_old_ones_still_answer(run):
    listed = (
        run("--help")[1]
        .partition("Commands:")[2]
        .partition("Examples:")[0]
        .split("\n  ")
    )
    names = [line.split()[0] for line in listed[1:] if line.strip()]
    assert len(names) <= 15 and not {*names} & {*RENAMED["command"]}
    for old, new in RENAMED["command"].items():
        assert new.split()[0] in names
        assert run(old, "--help")[2] == f"ioopt: {old} is now {new}\n"
    assert run("-q", "schema", "replication") == run(
        "instances", "schema", "replication"
    )


def test_what_left_names_what_to_take(run, tmp_path):
    result = tmp_path / "result.json"
    run("solve", "cycle3", "--solver", "ip-printed", "-o", str(result))
    data = json.loads(result.read_text())
    data["options"]["backend"] = "GLPK"
    result.write_text(json.dumps(data))
    for words in (
        ("solve", "cycle3", "--solver", "ip-printed", "--backend", "GLPK"),
        ("compare", "cycle3", "--backend", "GLPK"),
        ("check", "cycle3", str(result)),
    ):
        code, _, errors = run(*words)
        assert code == 2 and errors.count("\n") == 1
        assert "GLPK is no longer a backend; take CP-SAT, HiGHS, CBC or SCIP" in errors
    for words in (("submit",), ("instances", "submit", "cycle3", str(result))):
        code, _, errors = run(*words)
        assert code == 2 and errors.count("\n") == 1
        assert "`python scripts/tools/library.py submit FILE RESULT`" in errors


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("two-writers", "exact", "io-exact"),
        ("flexgang-tiny", "exact", "flex-exact"),
        ("cycle3", "lpt", "auto"),
        ("gang-figure-3", "dedicated", "iogs"),
    ],
)
def test_an_old_solver_names_the_new_one(name, old, new, capsys):
    assert main(["solve", name, "--solver", old]) == 2
    assert capsys.readouterr().err.endswith(f" is now {new}\n")
    assert main(["solve", name, "--solver", new]) == 0


@pytest.mark.parametrize("solver", ["anneal", "lp-rounding"])
def test_a_solver_that_was_removed_names_what_to_take(solver, tmp_path, capsys):
    assert main(["solve", "cycle3", "--solver", solver]) == 2
    instead = "--solver ip or --measure additive_seconds"
    said = f"ioopt: {solver} of replication was removed; take {instead}\n"
    assert capsys.readouterr().err == said
    stored = tmp_path / "result.json"
    assert main(["-q", "solve", "cycle3", "--solver", "minmin", "-o", str(stored)]) == 0
    stored.write_text(stored.read_text().replace('"minmin"', f'"{solver}"'))
    capsys.readouterr()
    told = f"solver: {solver} of replication was removed; solve again with {instead}\n"
    for words in users_of(stored):
        assert main(words) == 2, words
        assert capsys.readouterr().err == f"ioopt: {stored}: {told}"


def users_of(stored: Path) -> list[list[str]]:
    """Return a command of each kind that reads the result in *stored*."""
    file = str(stored)
    picture = str(stored.with_suffix(".svg"))
    return [
        ["check", "cycle3", file],
        ["simulate", "cycle3", file],
        ["solve", "cycle3", "--solver", "ip", "--warm-start", file],
        ["plot", file, "-o", picture],
    ]


def test_a_result_of_a_removed_backend_names_what_to_take(tmp_path, capsys):
    stored = tmp_path / "result.json"
    words = ["solve", "cycle3", "--solver", "ip-printed", "--backend", "HiGHS"]
    assert main(["-q", *words, "-o", str(stored)]) == 0
    stored.write_text(stored.read_text().replace('"HiGHS"', '"GLPK"'))
    capsys.readouterr()
    for user in users_of(stored):
        assert main(user) == 2, user
        said = capsys.readouterr().err
        assert said.startswith(f"ioopt: {stored}: options.backend: GLPK is no longer")


def test_how_an_optimum_was_proven_is_told_with_v_only(capsys):
    words = ["solve", "eight-tasks", "--solver", "exact-workflow", "-o", "-"]
    assert main(words) == 0
    assert "proven optimal" not in capsys.readouterr().err
    assert main(["-v", *words]) == 0
    assert "note: proven optimal after" in capsys.readouterr().err
