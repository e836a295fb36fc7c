"""Import and export on the command line: answers, warnings, exit codes."""

import csv
import json

import pytest
from conftest import ROOT
from model_programs import cbc, highs
from unit.batch_io.test_darshan import HEADER, write_record

import ioopt
from ioopt.tables import named_once

SWF = """; MaxProcs: 8
1  0 -1 7200  4 -1 -1  4 9000 -1 1 1 1 1 1 1 -1 -1
2 60 -1  600 -1 -1 -1  2   -1 -1 1 1 1 1 1 1 -1 -1
3 90 -1   -1  8 -1 -1  8   60 -1 0 1 1 1 1 1 -1 -1
"""


def test_swf_to_a_compared_instance(run, tmp_path):
    (tmp_path / "a.swf").write_text(SWF)
    code, out, err = run(
        "import", "swf", "a.swf", "--io-period", "1800", "-o", "a.json"
    )
    assert (code, out) == (0, "")
    *warnings, wrote = err.splitlines()
    assert wrote == "wrote a.json"
    told = [text.removeprefix("ioopt: warning: ") for text in warnings]
    assert told[0] == "a.swf: 1 jobs left out, without a run time: 3"
    assert [text.split(":")[0] for text in told[1:]] == [
        "I/O assumed",
        "rates assumed",
    ]
    problem = ioopt.load("a.json")
    assert [job.id for job in problem.jobs] == [1, 2]
    assert problem.jobs[0].phases[0].repeat == 4
    assert named_once(problem.meta["warnings"], "a.swf") == told
    code, out, _ = run("compare", "a.json", "--format", "json")
    assert code == 0 and len(json.loads(out)["rows"]) >= 9
    code, out, err = run(
        "compare", "a.json", "--solver", "fill", "--solver", "base-line"
    )
    footnote = (
        "I/O is synthetic in a.swf: these figures depend on it (see meta.synthetic)."
    )
    assert code == 0 and out.endswith(footnote + "\n") and "synthetic" not in err


def test_quiet_and_machine_options(run, tmp_path):
    (tmp_path / "a.swf").write_text(SWF)
    rows = (
        "nodes = 16",
        "unit_nodes = 4",
        'allocation = "partition"',
        'node_rate = "1GB/s"',
        "storage_rate = 9e9",
        'queue = "fcfs"',
        'disk = "1TB"',
    )
    (tmp_path / "m.toml").write_text("\n".join(rows))
    code, _, err = run(
        "import",
        "swf",
        "a.swf",
        "-q",
        "--machine",
        "m.toml",
        "--machine",
        "storage_rate=4GB/s,kill=true,backfill=none",
        "-o",
        "a.json.gz",
    )
    assert (code, err) == (0, "")
    problem = ioopt.load("a.json.gz")
    machine = problem.machine
    assert (machine.nodes, machine.unit_nodes, machine.allocation) == (
        16,
        4,
        "partition",
    )
    assert (machine.node_bytes_per_second, machine.storage_bytes_per_second) == (
        1e9,
        4e9,
    )
    options = problem.options
    assert (options.kill, options.queue, options.backfill) == (True, "fcfs", "none")


def test_batsim_there_and_back(run, tmp_path):
    """One job waits 9 s, another writes 20 bytes, on two nodes each."""
    workload = json.loads(SOURCES["batsim"])
    workload["jobs"][0]["id"] = "1"
    workload["jobs"].append({"id": "2", "subtime": 1, "res": 2, "profile": "w"})
    workload["profiles"]["w"] = {
        "type": "parallel_homogeneous_pfs",
        "bytes_to_write": 10,
    }
    (tmp_path / "w.json").write_text(json.dumps(workload))
    code, _, err = run("import", "batsim", "w.json", "-o", "b.json")
    assert code == 0 and "rates assumed" in err and "platform assumed" in err
    assert run("solve", "b.json", "--solver", "fill", "-o", "r.json")[0] == 0
    assert run("export", "batsim", "b.json", "r.json", "-o", "jobs.csv")[0] == 0
    with (tmp_path / "jobs.csv").open() as stream:
        assert {row["job_id"] for row in csv.DictReader(stream)} == {"1", "2"}
    assert run("export", "batsim", "b.json", "-o", "again.json")[0] == 0
    assert run("import", "batsim", "again.json", "-o", "b2.json")[0] == 0
    assert ioopt.load("b2.json").jobs == ioopt.load("b.json").jobs
    code, out, _ = run("compare", "b2.json", "--format", "json")
    assert code == 0 and all(row["violations"] == [] for row in json.loads(out)["rows"])


def test_swf_joined_with_a_folder_of_darshan_logs(run, tmp_path):
    (tmp_path / "a.swf").write_text(SWF)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "one.txt").write_text(SOURCES["darshan"].replace("77", "2"))
    (tmp_path / "logs" / "notes.txt").write_text("no log\n")
    code, _, err = run("import", "swf", "a.swf", "--darshan", "logs", "-o", "p.json")
    assert code == 0 and "1 jobs have a Darshan log of their own, 1 have none" in err
    assert (
        "log left out: logs" in err and "notes.txt: no '# darshan log version'" in err
    )
    rates = {job.id: job.io_bytes_per_second for job in ioopt.load("p.json").jobs}
    assert rates == {1: None, 2: pytest.approx(100 / 4.5)}


SOURCES = {
    "swf": SWF,
    "darshan": HEADER + write_record(0, 1, 10, 14, 100),
    "wfformat": json.dumps(
        {
            "name": "w",
            "schemaVersion": "1.5",
            "workflow": {
                "specification": {
                    "tasks": [{"id": "a"}, {"id": "b", "parents": ["a"]}]
                },
                "execution": {
                    "tasks": [{"id": x, "runtimeInSeconds": 1.0} for x in "ab"]
                },
            },
        }
    ),
    "estee": json.dumps(
        {"graph_name": {"0": "g"}, "graph": {"0": '[{"d": 2, "e_d": 3}]'}}
    ),
    "saga": json.dumps({"task_graph": {"tasks": [{"name": "a", "cost": 2}]}}),
    "nextflow-trace": "name\trealtime\trchar\twchar\nA\t5s\t1 KB\t2 KB\n",
    "batsim": json.dumps(
        {
            "nb_res": 4,
            "jobs": [{"id": 1, "subtime": 0, "res": 2, "profile": "p"}],
            "profiles": {"p": {"type": "delay", "delay": 9}},
        }
    ),
}
TOLD = {
    "swf": ("I/O assumed", "rates assumed"),
    "swf --family gang": ("machine of 8 nodes is not used", "local", "I/O assumed"),
    "darshan": ("does not see the queue", "rates assumed"),
    "wfformat": ("machine assumed", "files of 0 bytes assumed"),
    "wfformat --flatten": ("precedence is dropped: 1 of 2 tasks", "machine assumed"),
    "estee": ("1 tasks are planned with expected durations", "machine assumed"),
    "saga": ("its network is not used", "machine assumed"),
    "nextflow-trace": (
        "precedence is unknown",
        "file names assumed: the trace has byte counts only",
    ),
    "batsim": (
        "reads and writes are treated alike",
        "rates assumed",
        "platform assumed",
    ),
}


@pytest.mark.parametrize("words", TOLD)
def test_every_importer_tells_what_it_changes(run, tmp_path, words):
    name, *options = words.split()
    source = options.pop() if words in SOURCES and options else "source"
    (tmp_path / source).write_text(SOURCES[words if words in SOURCES else name])
    code, _, err = run("import", name, source, *options, "-o", "made.json")
    assert code == 0
    problem = ioopt.load("made.json")
    *warnings, wrote = err.splitlines()
    assert wrote == "wrote made.json"
    told = [text.removeprefix("ioopt: warning: ") for text in warnings]
    assert named_once(problem.meta["warnings"], source) == told
    for what in TOLD[words]:
        assert any(what in text for text in told), (what, told)
    assert set(problem.meta.get("synthetic", ())) == {
        text.partition(" assumed: ")[0].rpartition(": ")[2]
        for text in told
        if " assumed: " in text
    }
    # What stands in meta is no part of the problem.
    assert ioopt.load(
        {**problem.model_dump(mode="json", by_alias=True), "meta": None}
    ) == (problem.model_copy(update={"meta": None}))


def test_bad_darshan_logs_are_left_out_and_listed_when_asked(run, tmp_path):
    (tmp_path / "good.txt").write_text(SOURCES["darshan"])
    (tmp_path / "bad.txt").write_text("no log\n")
    words = ("import", "darshan", "bad.txt", "good.txt", "gone.txt", "-o", "d.json")
    code, _, err = run(*words)
    assert code == 2 and len(err.splitlines()) == 1 and "bad.txt" in err
    code, _, err = run(*words, "--skip-bad")
    assert code == 2 and "2 of 3 logs cannot be read, more than 5 %" in err
    code, _, err = run(*words, "--skip-bad", "0.7")
    left_out = [text for text in err.splitlines() if "log left out" in text]
    assert code == 0 and ["bad.txt" in left_out[0], "gone.txt" in left_out[1]] == [
        True,
        True,
    ]
    problem = ioopt.load("d.json")
    assert (
        len(problem.jobs) == 1
        and "log left out: bad.txt" in problem.meta["warnings"][0]
    )
    code, _, err = run("import", "darshan", "bad.txt", "--skip-bad", "-o", "e.json")
    assert (
        code == 2
        and "none of 1 logs can be read" in err
        and not (tmp_path / "e.json").exists()
    )


GOOD_ROWS = {
    "swf": ("", "{k} 0 5 10 4", "1 0 5 10"),
    "sacct": (
        "JobID|Submit|Start|End|State|NCPUS",
        "{k}|2024-05-01T10:00:00Z|2024-05-01T10:00:00Z|2024-05-01T11:00:00Z|COMPLETED|8",
        "30|2024-05-01T10:00:00Z|2024-05-01T10:00:00Z|2024-05-01T11:00:00Z|COMPLETED|8|9",
    ),
    "pbs": (
        "",
        "05/01/2024 11:00:00;E;{k};ctime=1714550400 start=1714550400 "
        "end=1714554000 Resource_List.ncpus=2",
        "05/01/2024 11:00:00;E;30;ctime=1714550400 start=-1714550400 "
        "end=1714554000 Resource_List.ncpus=2",
    ),
    "nextflow-trace": (
        "task_id\tname\trealtime\twchar",
        "{k}\tA\t5s\t9",
        "30\tA\t-5s\t9",
    ),
}


def log_of(kind: str, good: int) -> str:
    """A log of so many good rows, and a bad one at its end."""
    heading, row, bad = GOOD_ROWS[kind]
    lines = [heading, *(row.format(k=k) for k in range(1, good + 1)), bad]
    return "\n".join(line for line in lines if line) + "\n"


@pytest.mark.parametrize("kind", GOOD_ROWS)
def test_bad_rows_are_left_out_and_counted_when_asked(run, tmp_path, kind):
    """One of 20 rows is 5 %, one of 19 more; the option may stand before the file."""
    (tmp_path / "log").write_text(log_of(kind, 19))
    (tmp_path / "short").write_text(log_of(kind, 18))
    code, _, err = run("import", kind, "log", "-o", "x.json")
    assert code == 2 and len(err.splitlines()) == 1
    assert "log: line 2" in err and "--skip-bad leaves out such rows" in err
    for words in (
        ("--skip-bad", "log"),
        ("log", "--skip-bad"),
        ("log", "--skip-bad", "0.05"),
    ):
        code, _, err = run("import", kind, *words, "-o", "x.json")
        assert code == 0 and "1 of 20 rows left out" in err, words
        problem = ioopt.load("x.json")
        assert len(problem.tasks if kind == "nextflow-trace" else problem.jobs) == 19
        assert any("rows left out" in text for text in problem.meta["warnings"])
    code, _, err = run("import", kind, "short", "--skip-bad", "-o", "y.json")
    assert (
        code == 2
        and len(err.splitlines()) == 1
        and "1 of 19 rows cannot be read" in err
    )
    assert "--skip-bad 0.06 allows that" in err and not (tmp_path / "y.json").exists()
    assert run("import", kind, "short", "--skip-bad", "0.06", "-o", "y.json")[0] == 0


def test_every_reader_of_rows_takes_the_share(run, tmp_path):
    (tmp_path / "trace").write_text(log_of("nextflow-trace", 2))
    (tmp_path / "log").write_text(log_of("swf", 2))
    share = ("--skip-bad", "0.4")
    for words in (
        ("import", "work-directory", "trace", "--cores", "4", *share, "-o", "x.json"),
        ("budget", "trace", "--cores", "4", "--time-limit", "1", *share),
        ("import", "swf", "log", "--family", "gang", *share, "-o", "x.json"),
    ):
        code, _, err = run(*words)
        assert code == 0 and "1 of 3 rows left out" in err, (words, err)
    code, _, err = run("import", "swf", "log", "--skip-bad", "1.5", "-o", "x.json")
    assert code == 2 and "--skip-bad" in err
    (tmp_path / "2024").write_text(log_of("swf", 19))
    assert run("import", "swf", "--skip-bad", "2024", "-o", "x.json")[0] == 0


def test_import_and_export_wfformat(run, tmp_path):
    """42 tasks; 3 % of their bytes is less than one task reads."""
    assert run("export", "wfformat", "flow-montage", "-o", "flow.json")[0] == 0
    words = (
        "--machine",
        "nodes=2,disk=3%",
        "--flatten",
        "--select",
        "all",
        "-o",
        "part.json",
    )
    code, _, err = run("import", "wfformat", "flow.json", *words)
    assert code == 0 and "raised to the" in err
    assert run("export", "wfformat", "part.json", "-o", "again.json")[0] == 0
    assert run("import", "wfformat", "again.json", "-o", "back.json")[0] == 0
    first, second = (
        json.loads((tmp_path / name).read_text()) for name in ("part.json", "back.json")
    )
    assert first["tasks"] == second["tasks"] and len(first["tasks"]) == 42
    assert len(first["nodes"]) == 2


@pytest.mark.parametrize("form", ["lp", "mps"])
def test_an_exported_program_has_the_optimum_of_the_read_me(run, tmp_path, form):
    """64 MB come once at 12.5 MB/s, 5.12 s, and go once to a
    neighbour at 1 GB/s, .064 s.

    With a cycle of copies, as printed, the fetch alone is the longest load: 5.12 s.
    """
    model = tmp_path / f"cycle3.{form}"
    assert run("export", form, "cycle3", "-o", str(model))[0] == 0
    assert cbc(model, tmp_path) == pytest.approx(5.184, abs=1e-6)
    assert (
        run("export", form, "cycle3", "-o", str(model), "--set", "cycles=printed")[0]
        == 0
    )
    assert cbc(model, tmp_path) == pytest.approx(5.12, abs=1e-6)


def test_models_are_written_and_solve_to_the_same_optimum(run, tmp_path):
    lp = ("export", "lp", "flexgang-tiny", "-o", "model.lp", "--set", "d=2", "--set")
    assert run(*lp, "k=2")[0] == 0
    assert "capacity_0" in (tmp_path / "model.lp").read_text()
    assert run("export", "mps", "quantum-plain", "-o", "model.mps")[0] == 0
    mps = [word.replace(".lp", "-max.mps").replace("lp", "mps") for word in lp]
    assert run(*mps, "k=2")[0] == 0
    models = {"model.lp": 0.579, "model-max.mps": 0.579, "model.mps": 0.8306444}
    for path, wanted in models.items():
        assert highs(path, "model.sol") == pytest.approx(wanted, abs=1e-6)
    for path, name in (("model.lp", "flexgang-tiny"), ("model.mps", "quantum-plain")):
        highs(path, "model.sol")
        words = ("import", "sol", "model.sol", "--instance", name, "--model", path)
        assert run(*words, "-o", "result.json")[0] == 0
        result = json.loads((tmp_path / "result.json").read_text())
        assert result["status"] == "optimal" and result["violations"] == []
        assert result["objective"] == pytest.approx(models[path], abs=1e-6)
        assert run("check", name, "result.json")[0] == 0
    code, _, err = run(*lp, "k=3")
    assert code == 2 and "0,1 1,1 2,1 2,2 3,1 4,1" in err
    assert run("export", "lp", "flexgang-tiny", "-o", "model.mps")[0] == 2


def test_a_machine_may_say_how_many_files_a_node_receives_at_once(run, tmp_path):
    trace = ROOT / "docs/samples/trace.txt"
    out = tmp_path / "flow.json"
    command = ["import", "nextflow-trace", trace, "-o", out, "--machine"]
    code, _, _ = run(*command, "nodes=2,cores=8,memory=32GB,staging=2")
    assert code == 0
    nodes = json.loads(out.read_text())["nodes"]
    assert [node["staging"] for node in nodes] == [2, 2]
    assert [node["memory_bytes"] for node in nodes] == [32_000_000_000] * 2
    code, _, err = run(*command, "staging=ahead")
    assert code == 2
    assert "staging: burst buffers have left" in err
