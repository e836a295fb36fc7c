"""Own solvers that cheat, crash or answer nonsense: marked rows, and no
figures of theirs anywhere.
"""

import csv
import io
import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

import ioopt
from ioopt.catalog import resolve
from ioopt.comparing.picture import plot_comparison
from ioopt.embed import ReplicationPlanner
from ioopt.embed.guard import Guard
from ioopt.errors import InstanceError, OutOfTime
from ioopt.protocols import Outcome

MODULE = """
import sys
import ioopt
from ioopt.protocols import Outcome


def one_node(problem):
    tasks = [task.id for task in problem.tasks]
    node = problem.nodes[0].id
    fetched = [(file.id, node) for file in problem.files]
    assign = dict.fromkeys(tasks, node)
    return {"assign": assign, "order": {node: tasks}, "remote": fetched}


def prints(problem):
    print("a line of the solver")
    return one_node(problem)


def without_disks(problem):
    data = problem.model_dump(mode="json")
    for node in data["nodes"]:
        node["disk_bytes"] = None
    return ioopt.solve(data, "minmin").plan


def forgets(problem):
    plan = one_node(problem)
    plan["assign"] = {}
    plan["order"] = {node: tasks[:1] for node, tasks in plan["order"].items()}
    return plan


def crashes(problem):
    return problem.tasks[999]


def deep(problem):
    return deep(problem)


def leaves(problem):
    sys.exit(3)


def refuses(problem):
    return ioopt.solve({"format": "none"})


def nothing(problem):
    return None


def text(problem):
    return "a plan"


def not_a_number(problem):
    return one_node(problem) | {"dispatches": [[float("nan"), "t0", "n0"]]}


def false_bound(problem, request):
    return Outcome(one_node(problem), bound=float("nan"))


def false_plan(problem, request):
    return Outcome("a plan")


def boasts(problem, request):
    return Outcome(one_node(problem), bound=14.12, objective_name="makespan_seconds")


def hopeless(problem, request):
    return Outcome(None, infeasible=True)


def late(problem, request):
    form = ioopt.problems.replication.ReplicationPlan
    plan = ioopt.solve(problem, "minmin").plan_as(form)
    request.incumbents.report(plan, 1.0)
    raise RuntimeError("too late")
"""
CRASH = f"theirs.py:{MODULE.splitlines().index('    return problem.tasks[999]') + 1}"
EXIT = f"theirs.py:{MODULE.splitlines().index('    sys.exit(3)') + 1}"
FAILED = {
    "without_disks": "",
    "forgets": "the plan cannot be carried out",
    "crashes": f"failed (IndexError: tuple index out of range) at {CRASH}",
    "deep": "failed (RecursionError",
    "leaves": f"failed (SystemExit: 3) at {EXIT}",
    "refuses": "failed (InstanceError: instance: format: 'none' is not",
    "text": "must be an object, not 'a plan'",
    "not_a_number": "must be a finite number, not nan",
    "false_bound": "bound: wanted a finite number or None, not nan",
    "false_plan": "must be an object, not 'a plan'",
    "hopeless": "says that no plan exists, but minmin has one",
    "late": "failed (RuntimeError: too late) at theirs.py",
}
"""What is marked as failed on a batch with small disks, and what its note holds."""


@pytest.fixture(autouse=True)
def theirs(tmp_path, monkeypatch):
    (tmp_path / "theirs.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("theirs", None)


def plain(text):
    """Return *text* without its line breaks."""
    return " ".join(text.split())


def words(*names):
    return [word for name in names for word in ("--solver", name)]


def test_every_failure_marks_its_row_and_ends_nothing(run):
    """rounds4: four tasks on disks of one file; whoever ignores the
    disks would end first.
    """
    named = [f"theirs:{name}" for name in FAILED]
    asked = words("minmin", *named, "theirs:nothing", "job-data-present")
    code, out, err = run("compare", "rounds4", *asked, "--format", "json")
    rows = {row["solver"]: row for row in json.loads(out)["rows"]}
    assert code == 5 and len(rows) == len(FAILED) + 3
    for name, said in FAILED.items():
        row = rows[f"theirs:{name}"]
        figures = [
            row[key] for key in ("value", "objective", "bound", "gap", "ratio_to_best")
        ]
        assert (row["status"], figures, row["metrics"]) == ("error", [None] * 5, {}), (
            name
        )
        assert said in " ".join(row["notes"]), name
    assert rows["theirs:nothing"]["status"] == "unknown"
    assert rows["minmin"]["ratio_to_best"] == 1.0
    assert rows["job-data-present"]["value"] is not None
    assert (
        f"theirs:crashes: failed (IndexError: tuple index out of range) at {CRASH}"
        in plain(err)
    )


def test_no_form_of_the_table_shows_what_broke_a_rule(run):
    asked = words("minmin", "theirs:without_disks")
    _, out, err = run("compare", "rounds4", *asked, "--wide")
    line = next(line for line in out.splitlines() if line.startswith("theirs:"))
    assert line.split()[1:5] == ["failed", "-", "-", "-"] and set(line.split()[7:]) == {
        "-"
    }
    assert "theirs:without_disks: 2 violations, such as (21) disk: n0: " in plain(err)
    _, out, _ = run("compare", "rounds4", *asked, "--format", "csv")
    row = list(csv.DictReader(io.StringIO(out)))[1]
    assert row["solver"] == "theirs:without_disks" and row["status"] == "error"
    assert {key for key, cell in row.items() if cell} <= {
        "instance",
        "solver",
        "status",
        "objective_name",
        "measure",
        "seconds",
    }
    _, out, _ = run("compare", "rounds4", *asked, "--format", "markdown")
    assert "|theirs:without_disks | failed " in out


def test_a_picture_has_no_bar_of_it(run):
    asked = words("minmin", "theirs:without_disks")
    _, out, _ = run("compare", "rounds4", *asked, "--format", "json")
    axes = plot_comparison(json.loads(out)["rows"], "makespan_seconds")
    assert len(axes.patches) == 1 and any(
        " failed" in text.get_text() for text in axes.texts
    )


def test_ratios_to_a_baseline_leave_it_out(run):
    """On its own it would take less than minmin: 2 disks that hold
    all four files at once.
    """
    asked = words("minmin", "job-data-present", "theirs:without_disks")
    _, out, err = run(
        "compare",
        "rounds4",
        "two-pairs",
        *asked,
        "--baseline",
        "minmin",
        "--format",
        "json",
    )
    assert {row["solver"] for row in json.loads(out)["ratios"]} == {
        "minmin",
        "job-data-present",
    }
    assert (
        "rounds4 and 1 more: theirs:without_disks: 4 violations, such as (21) disk"
        in plain(err)
    )


def test_several_instances_give_one_summary_and_their_tables_when_wide(run):
    asked = (
        "compare",
        "rounds4",
        "two-pairs",
        *words("minmin", "job-data-present"),
        "--baseline",
        "minmin",
    )
    _, out, _ = run(*asked)
    assert out.startswith("2 instances, by makespan_seconds")
    assert "rounds4, by" not in out and out.count("\nminmin ") == 1
    _, out, _ = run(*asked, "--wide")
    told = ("2 instances", "rounds4, by", "two-pairs, by", "ratios to minmin, ")
    order = [out.index(text) for text in told]
    assert order == sorted(order)


def test_python_agrees_with_the_command(run):
    names = ["minmin", "theirs:without_disks", "theirs:crashes", "theirs:text"]
    frame = ioopt.compare("rounds4", names)
    _, out, _ = run("compare", "rounds4", *words(*names), "--format", "json")
    rows = json.loads(out)["rows"]
    assert list(frame["status"]) == [row["status"] for row in rows]
    assert frame["makespan_seconds"].isna().tolist() == [False, True, True, True]
    assert frame["ratio_to_best"].isna().tolist() == [False, True, True, True]


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        (
            "crashes",
            2,
            f"crashes failed (IndexError: tuple index out of range) at {CRASH}",
        ),
        ("leaves", 2, f"leaves failed (SystemExit: 3) at {EXIT}"),
        ("refuses", 2, "failed (InstanceError"),
        ("nothing", 4, "returned None, no plan"),
        ("text", 2, "must be an object, not 'a plan'"),
        ("without_disks", 5, "violation: (21) disk: n0"),
    ],
)
def test_a_single_solve_says_the_same(run, name, code, said):
    found, _, err = run("solve", "rounds4", "--solver", f"theirs:{name}")
    assert found == code and said in plain(err)
    if name != "text":  # which raises
        result = ioopt.solve("rounds4", f"theirs:{name}")
        assert (result.value, result.objective, result.gap) == (None, None, None)


def test_the_whole_traceback_is_shown_when_asked_for(run):
    for command in ("solve", "compare"):
        asked = (command, "cycle3", *words("theirs:crashes"))
        assert "Traceback" not in run(*asked)[2]
        err = run(*asked, "--traceback")[2]
        assert "Traceback" in err and "return problem.tasks[999]" in plain(err)


def test_what_a_solver_writes_to_the_descriptor_is_no_part_of_the_answer(tmp_path):
    (tmp_path / "raw.py").write_text(
        "import ctypes, os, ioopt\n"
        "def solve(problem):\n"
        "    os.write(1, b'a line\\n')\n"
        "    os.system('echo another')\n"
        "    ctypes.CDLL(None).puts(b'a third')\n"
        "    return ioopt.solve(problem, 'minmin').plan\n"
    )
    words = [
        "-m",
        "ioopt",
        "solve",
        "cycle3",
        "--solver",
        "raw:solve",
        "--format",
        "json",
    ]
    buffered = {
        key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"
    }
    done = subprocess.run(
        [sys.executable, *words],
        cwd=tmp_path,
        env=buffered,
        capture_output=True,
        text=True,
    )
    assert json.loads(done.stdout)["objective"] == pytest.approx(6.748)
    assert "a line\nanother\n" in done.stderr and "a third\n" in done.stderr


def test_a_closed_standard_output_does_not_lose_the_result(tmp_path):
    words = f"{sys.executable} -m ioopt -q solve cycle3 --solver minmin -o r.json >&-"
    done = subprocess.run(
        words, cwd=tmp_path, shell=True, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "r.json").read_text())["objective"] == pytest.approx(
        6.748
    )


def test_an_error_that_cannot_say_what_it_is_is_named_by_its_class(run, tmp_path):
    (tmp_path / "mute.py").write_text(
        "class Mute(Exception):\n"
        "    def __str__(self):\n"
        "        raise ValueError\n"
        "def solve(problem):\n"
        "    raise Mute\n"
    )
    code, _, err = run("solve", "cycle3", *words("mute:solve"))
    assert code == 2 and "mute:solve failed (Mute) at mute.py:5" in plain(err)


def test_what_a_solver_prints_is_no_part_of_the_answer(run):
    """64 MB over a link of 12.5 MB/s and six tasks of 1.5 s on one node: 5.12 + 9 s."""
    _, out, err = run(
        "solve", "cycle3", "--solver", "theirs:prints", "--format", "json"
    )
    assert json.loads(out)["objective"] == pytest.approx(14.12)
    assert "a line of the solver" in plain(err)
    _, out, _ = run("compare", "cycle3", *words("theirs:prints"), "--format", "json")
    assert json.loads(out)["rows"][0]["value"] == pytest.approx(14.12)


def test_a_proof_that_another_plan_contradicts_is_no_proof(run, tmp_path):
    """All on one node takes 14.12 s, which it calls proven;
    minmin's plan takes 9.748 s.
    """
    mine = json.loads(Path(resolve("cycle3")).read_text()) | {"name": "mine"}
    (tmp_path / "mine.json").write_text(json.dumps(mine))
    _, out, err = run(
        "compare", "mine.json", *words("theirs:boasts", "minmin"), "--format", "json"
    )
    row = json.loads(out)["rows"][0]
    assert row["value"] == pytest.approx(14.12) and row["status"] == "feasible"
    assert row["bound"] < 9.748 and row["ratio_to_best"] == pytest.approx(14.12 / 9.748)
    assert "its bound 14.12 contradicts the plan of minmin and is left out" in plain(
        err
    )


def test_a_proof_that_the_best_known_plan_contradicts_is_no_proof(run):
    """The best known plan of cycle3 takes 8.248 s, less than the 14.12 s that a
    solver of the user's calls proven.
    """
    code, out, err = run("solve", "cycle3", *words("theirs:boasts"), "--format", "json")
    found = json.loads(out)
    assert (code, found["status"], found["objective_name"]) == (
        0,
        "feasible",
        "makespan_seconds",
    )
    assert found["bound"] == pytest.approx(8.12)  # what the instance alone tells
    assert "its bound 14.12 is left out: the best known plan" in plain(err)


QUEUES = """
def both(problem):
    order = {node.id: [] for node in problem.nodes}
    assign = {}
    for k, task in enumerate(problem.tasks):
        assign[task.id] = problem.nodes[k % len(order)].id
        order[assign[task.id]].append(task.id)
    return {"assign": assign, "order": order}

def queues(problem):
    return both(problem)["order"]

def outcome(problem, request):
    from ioopt.protocols import Outcome
    return Outcome(queues(problem))

def missing(problem):
    plan = both(problem)
    plan["order"][problem.nodes[0].id].remove(problem.tasks[0].id)
    return plan

def twice(problem):
    plan = queues(problem)
    plan[problem.nodes[1].id].append(problem.tasks[0].id)
    return plan

def nowhere(problem):
    return queues(problem) | {"n9": []}

def stranger(problem):
    plan = queues(problem)
    plan[problem.nodes[0].id].append("t99")
    return plan

def elsewhere(problem):
    plan = both(problem)
    plan["assign"][problem.tasks[0].id] = problem.nodes[1].id
    return plan

def partly(problem):
    plan = both(problem)
    del plan["assign"][problem.tasks[1].id]
    return plan

def numbers(problem):
    return {problem.nodes[0].id: [0]}
"""
WRONG = {
    "missing": "task 't0' is in no queue",
    "twice": "task 't0' is listed twice in the queues: on n0 and on n1",
    "nowhere": "order: there is no node 'n9'",
    "stranger": "order of n0: there is no task 't99'",
    "elsewhere": "task 't0' is assigned to 'n1', but stands in the queue of 'n0'",
    "partly": "assign: task 't1' is missing",
    "numbers": "order.n0[0]: input should be a valid string, not 0 (and 1 more)",
}


@pytest.fixture
def heuristics(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "queues.py").write_text(QUEUES)


@pytest.mark.parametrize("instance", ["rounds4", "image-16x3", "flow-chains"])
def test_queues_are_a_plan_whose_transfers_the_replay_makes(run, heuristics, instance):
    """On disks of one file as in a workflow; assign and order, or queues alone."""
    named = [f"deep/queues.py:{name}" for name in ("both", "queues", "outcome")]
    code, out, _ = run("compare", instance, *words(*named), "--format", "json")
    rows = json.loads(out)["rows"]
    assert code == 0 and len({row["value"] for row in rows}) == 1
    result = ioopt.solve(instance, named[0])
    assert not result.violations and not ioopt.check(instance, result)
    assert result.schedule is not None and result.schedule["transfers"]
    order = {"order": result.plan["order"], "eviction": result.plan["eviction"]}
    assert ioopt.simulate(instance, order).metrics["makespan_seconds"] == result.value


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_queue_is_one_line_that_names_the_item(run, heuristics, name):
    named = f"deep/queues.py:{name}"
    said = f"the plan of {named}: {WRONG[name]}\n"
    assert run("solve", "rounds4", *words(named)) == (2, "", f"ioopt: {said}")
    code, out, err = run("compare", "rounds4", *words(named, "minmin"))
    assert code == 5 and "minmin" in out and err.count("\n") <= 2
    assert plain(err) == plain(f"note: rounds4: {named}: {said}")


def test_a_solver_in_a_file_is_read_again_once_changed(run, tmp_path):
    """It may import files beside it, and has settings like one in a module."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "beside.py").write_text("NODE = 0\n")
    file = tmp_path / "deep" / "h.py"
    file.write_text(
        "from beside import NODE\n"
        "from pydantic import BaseModel\n"
        "class Settings(BaseModel):\n"
        "    node: int = NODE\n"
        "def solve(problem, request):\n"
        "    tasks = [task.id for task in problem.tasks]\n"
        "    return {problem.nodes[request.settings.node].id: tasks}\n"
    )
    for asked, node in (("", "n0"), (":node=1", "n1")):
        text = f"deep/h.py:solve{asked}"
        code, out, _ = run("compare", "cycle3", *words(text), "--format", "json")
        row = json.loads(out)["rows"][0]
        assert (code, row["solver"], row["status"]) == (0, text, "feasible")
        chosen = {"node": int(node[1:])}
        plan = ioopt.solve("cycle3", "deep/h.py:solve", settings=chosen).plan
        assert list(plan["order"]) == [node]
    file.write_text(file.read_text().replace("NODE\n    ", "2\n    ", 1))
    file.write_text(file.read_text().replace("int = NODE", "int = 2"))
    os.utime(file, ns=(1, 1))
    assert list(ioopt.solve("cycle3", "deep/h.py:solve").plan["order"]) == ["n2"]


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("theirs.py", "solver 'theirs.py': name its function too: theirs.py:FUNCTION"),
        ("theirs.py:crash", "theirs.py has no 'crash'; did you mean 'crashes'?"),
        ("none.py:solve", "FileNotFoundError: [Errno 2] No such file or directory"),
        ("broken.py:solve", "cannot be loaded: SyntaxError: "),
    ],
)
def test_a_file_without_the_solver_is_named(run, tmp_path, named, said):
    (tmp_path / "broken.py").write_text("def solve(problem:\n")
    code, out, err = run("solve", "cycle3", *words(named))
    assert (code, out) == (2, "") and said in plain(err) and err.count("\n") == 1


def test_a_module_that_exits_when_it_is_loaded_is_named(run, tmp_path):
    (tmp_path / "script.py").write_text("import sys\nsys.exit(7)\n")
    code, _, err = run("compare", "cycle3", *words("script:solve"))
    assert code == 2 and "'script:solve' cannot be loaded: SystemExit: 7" in plain(err)


def test_a_solver_that_never_ends_is_ended_at_its_limit(monkeypatch):
    """5 s, and its overtime of 5 % and .8 s, by the clock on the wall: it may sleep."""
    timers = []

    def over(seconds, message, wall_clock=False):
        timers.append((seconds, wall_clock))
        if wall_clock:
            raise OutOfTime(message)
        return nullcontext()

    monkeypatch.setattr("ioopt.solving.cut_off", over)
    monkeypatch.setattr("ioopt.options.now", lambda: 0.0)
    result = ioopt.solve("cycle3", lambda problem: None, time_limit=5.0)
    assert (6.05, True) in [(round(seconds, 9), wall) for seconds, wall in timers]
    assert (result.status, result.stop, result.plan) == ("unknown", "time", None)
    assert "did not return within its time limit of 5 s" in result.notes[0]


def test_out_of_time_an_own_solver_is_answered_by_nobody():
    def waits(problem):
        raise OutOfTime("did not return")

    result = ioopt.solve("cycle3", waits)
    assert (result.status, result.stop, result.plan) == ("unknown", "time", None)


def test_a_wrong_form_is_an_error_of_the_call():
    with pytest.raises(InstanceError, match="stop: 'soon' is no StopReason"):
        ioopt.solve("cycle3", lambda problem, request: Outcome(None, stop="soon"))


def test_no_exception_of_a_solver_reaches_a_loop_that_embeds_it():
    def leave():
        raise SystemExit(3)

    value, notes = Guard().run(leave, lambda: "greedy", lambda value: None, None)
    assert value == "greedy" and "the solver failed (SystemExit: 3)" in notes[0]
    value, notes = Guard().run(leave, lambda: "greedy", lambda value: None, 60.0)
    assert value == "greedy" and "SystemExit" in notes[0]


def test_a_planner_says_where_its_solver_failed():
    problem = ioopt.load("cycle3")
    planner = ReplicationPlanner(
        problem.network, problem.nodes, problem.files, solver="theirs:crashes"
    )
    decision = planner.submit(problem.tasks)
    assert decision.value == 6 and planner.next("n0") is not None
    assert f"tuple index out of range) at {CRASH}" in decision.notes[0]
    assert "answered by the greedy" in decision.notes[0]


def test_a_function_without_a_module_is_a_solver():
    names = {}
    exec("def one(problem): return {'n0': [t.id for t in problem.tasks]}", names)
    names["one"].__module__ = None
    assert ioopt.solve("cycle3", names["one"], time_limit=5).value is not None
