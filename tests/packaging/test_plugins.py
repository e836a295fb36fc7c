"""Solvers from outside: functions, ``module:function``, and
packages with entry points.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT, command_beside

import ioopt
from ioopt.cli.main import main
from ioopt.errors import InstanceError, UsageError
from ioopt.protocols import Outcome

PAGE = (ROOT / "docs/extending.md").read_text("utf-8")
FILES = dict(re.findall(r"```(?:toml|python)\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))
MODULE = FILES["first-node/ioopt_first_node.py"]
(THREE,) = re.findall(
    r'```json\n(\{"format": "ioopt/transfers".*?)```', PAGE, re.DOTALL
)
POINTS = """[ioopt.solvers]
first-node = ioopt_first_node:ROW
lost = no_such_module:ROW
number = ioopt_first_node:NUMBER
twin = ioopt_first_node:TWIN
[ioopt.importers]
tide = ioopt_first_node:tide
wreck = no_such_module:tide
"""
EXTRA = """
from dataclasses import replace
import click
NUMBER = 1
TWIN = replace(ROW, name="minmin")

@click.command()
def tide():
    print("imported")
"""


def first(problem):
    """Everything on the first node."""
    tasks = [task.id for task in problem.tasks]
    node = problem.nodes[0]
    read = dict.fromkeys(name for task in problem.tasks for name in task.inputs)
    return {
        "assign": dict.fromkeys(tasks, node.id),
        "order": {node.id: tasks},
        "remote": [[name, node.id] for name in read if name not in node.holds],
    }


def two(problem, request):
    assert request.deadline.remaining() > 0
    return Outcome(
        ioopt.loading.plan_of(ioopt.registry.KINDS["replication"], first(problem))
    )


@pytest.mark.parametrize("function", [first, two])
def test_a_function_is_a_solver(function):
    result = ioopt.solve("cycle3", function)
    name = f"{function.__module__}:{function.__qualname__}"
    assert (result.status, result.solver) == ("feasible", name)
    assert ioopt.check("cycle3", result) == []
    # All six tasks of 1.5 s on one node: no less than 9 s, and every
    # file is fetched once.
    assert result.metrics["makespan_seconds"] >= 9.0
    table = ioopt.compare("cycle3", ["minmin", function])
    assert list(table.index) == ["minmin", name]
    assert table["makespan_seconds"].iloc[1] == result.value


def test_a_plan_of_another_form_is_named():
    with pytest.raises(InstanceError, match=r"the plan of .*lambda.*: "):
        ioopt.solve("cycle3", lambda problem: {"assign": 3})
    with pytest.raises(InstanceError, match="task 't0' is in no queue"):
        ioopt.solve("cycle3", lambda problem: {"assign": {}, "order": {}})
    moves = {"assign": {}, "order": {}, "remote": [("f0", "n0")]}
    result = ioopt.solve("cycle3", lambda problem: moves)
    assert result.status == "error" and result.violations


def test_what_fails_is_answered_by_nobody():
    def fails(problem):
        raise RuntimeError("no tide")

    result = ioopt.solve("cycle3", fails)
    line = fails.__code__.co_firstlineno + 1
    place = f"{Path(__file__).name}:{line}"
    assert (result.status, result.plan, result.value) == ("error", None, None)
    assert "failed (RuntimeError: no tide) at " in result.notes[0]
    assert result.notes[0].endswith(place)


def test_a_function_by_name_from_the_working_folder(tmp_path, monkeypatch, capsys):
    (tmp_path / "by_hand.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    command = [
        "compare",
        "cycle3",
        "--solver",
        "minmin",
        "--solver",
        "by_hand:solve:node=1",
    ]
    assert main([*command, "--format", "csv"]) == 0
    assert "by_hand:solve:node=1" in capsys.readouterr().out
    assert (
        main(["solve", "cycle3", "--solver", "by_hand:solve", "--set", "knot=1"]) == 2
    )
    assert "by_hand:solve has no setting 'knot'" in capsys.readouterr().err
    assert main(["solve", "cycle3", "--solver", "by_hand:sail"]) == 2
    assert "no attribute 'sail'" in capsys.readouterr().err
    assert sys.path == before


def record(folder, name, points):
    """What pip leaves of a package beside its modules."""
    info = folder / f"{name}-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n"
    )
    (info / "entry_points.txt").write_text(points)


def write_page(folder):
    """Both packages of the page."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture
def plugins(tmp_path):
    """A folder as pip leaves it: a module, and a package's record with
    good and broken points.
    """
    (tmp_path / "ioopt_first_node.py").write_text(MODULE + EXTRA)
    record(tmp_path, "ioopt-first-node", POINTS)
    return command_beside(tmp_path)


@pytest.fixture
def family(tmp_path):
    """The page's family, installed in the same way, and an instance of it."""
    write_page(tmp_path)
    record(tmp_path, "ioopt-transfers", points_of(FILES["transfers/pyproject.toml"]))
    (tmp_path / "three.json").write_text(THREE)
    return command_beside(tmp_path, tmp_path / "transfers")


def points_of(project):
    """The entry points of a pyproject.toml as pip records them."""
    groups = tomllib.loads(project)["project"]["entry-points"]
    return "\n".join(
        line
        for group, rows in groups.items()
        for line in (f"[{group}]", *(f"{name} = {at}" for name, at in rows.items()))
    )


@pytest.mark.slow
def test_entry_points_are_solvers_and_importers(plugins):
    listed = plugins("instances", "solvers", "replication")
    assert "first-node" in listed.stdout and "everything on one node" in listed.stdout
    solved = plugins("solve", "cycle3", "--solver", "first-node", "--set", "node=2")
    assert solved.returncode == 0 and "feasible" in solved.stdout, solved.stderr
    assert plugins("import", "tide").stdout == "imported\n"


@pytest.mark.slow
def test_a_broken_plugin_breaks_nothing_and_is_named(plugins):
    assert plugins("--help").returncode == 0
    assert "wreck" in plugins("import", "--help").stdout
    compared = plugins("compare", "cycle3", "--solver", "minmin")
    assert compared.returncode == 0 and "lost" not in compared.stderr
    lost = plugins("solve", "cycle3", "--solver", "lost")
    assert lost.returncode == 2 and lost.stderr.count("\n") == 1
    assert (
        "the plugin lost of ioopt-first-node (ioopt.solvers) cannot be loaded"
        in lost.stderr
    )
    assert "No module named 'no_such_module'" in lost.stderr
    wreck = plugins("import", "wreck")
    assert wreck.returncode == 2 and "the plugin 'wreck'" in wreck.stderr
    told = plugins("doctor").stdout
    for name, wrong in (
        ("lost", "no_such_module"),
        ("number", "wanted a SolverSpec, not int"),
        ("twin", "ioopt has one of that name"),
    ):
        assert f"{name} of ioopt-first-node" in told and wrong in told


OLD_KIND = """
from ioopt.registry.types import KindSpec
KIND = KindSpec(kind="tides", family="tides")
"""
SHORT_KIND = """
from ioopt.registry.types import Kind, Metric
class Short(Kind):
    kind = family = "short"
    default_solver = "none"
class Idle(Kind):
    kind = family = "idle"
    default_solver = "none"
    metrics = (Metric("cost"),)
class Whole(Idle):
    def problem_class(self):
        return dict
    def check(self, problem, plan, schedule):
        return None
class Twin(Whole):
    kind = family = "gang"
class Numbered(Whole):
    kind = 3
class Wordy(Whole):
    metrics = ("cost",)
"""


@pytest.mark.slow
def test_a_kind_that_cannot_be_one_is_named(tmp_path):
    """A module of the last version, classes that lack what every kind has, names that
    are taken.
    """
    (tmp_path / "old_kind.py").write_text(OLD_KIND)
    (tmp_path / "short_kind.py").write_text(SHORT_KIND)
    (tmp_path / "leaving_kind.py").write_text('raise SystemExit("no GPU")')
    points = {
        "leaving": "leaving_kind:KIND",
        "old": "old_kind:KIND",
        "short": "short_kind:Short",
        "idle": "short_kind:Idle",
        "numbered": "short_kind:Numbered",
        "wordy": "short_kind:Wordy",
        "whole": "short_kind:Whole",
        "yet": "short_kind:Whole",
        "twin": "short_kind:Twin",
        "made": "json:dumps",
    }
    rows = [f"{name} = {place}" for name, place in points.items()]
    record(tmp_path, "ioopt-kinds", "\n".join(["[ioopt.kinds]", *rows]))
    run = command_beside(tmp_path)
    assert run("solve", "two-writers", "--solver", "fill").returncode == 0
    told = run("doctor").stdout
    for name, wrong in (
        ("leaving", "SystemExit: no GPU"),
        ("old", "KindSpec is now the"),
        ("short", "the class Short has no 'metrics'"),
        ("idle", "the class Idle has no method"),
        ("numbered", "kind: wanted text, not 3"),
        ("wordy", "metrics: wanted a Metric, not"),
        ("whole", "present"),
        ("yet", "another plugin has one of"),
        ("twin", "ioopt has one of that name"),
        ("made", "wanted a class derived from Kind,"),
    ):
        (line,) = [row for row in told.splitlines() if f" {name} of" in row]
        assert wrong in line
    for name in ("short", "old"):
        (tmp_path / "file.json").write_text(f'{{"format": "ioopt/{name}"}}')
        solved = run("solve", str(tmp_path / "file.json"))
        assert solved.returncode == 2
        assert f"the plugin {name} of ioopt-kinds (ioopt.kinds)" in solved.stderr


ROWS = """
from ioopt.registry import SolverSpec
LOST = SolverSpec("lost", ("gang",), "no_such_module:f", "lost", "ours")
UNSET = SolverSpec("unset", ("gang",), "json:loads", "x", "x", "no_such_module:S")
STRAY = SolverSpec("stray", ("no-kind",), "json:loads", "stray", "ours")
EMPTY = SolverSpec("empty", ("gang",), "json:nothing", "empty", "ours")
"""


@pytest.mark.slow
def test_a_solver_without_kind_or_function_breaks_no_other(tmp_path):
    (tmp_path / "rows.py").write_text(ROWS)
    names = ("lost", "unset", "stray", "empty")
    points = [f"{name} = rows:{name.upper()}" for name in names]
    points.append("later = rows:EMPTY")
    record(tmp_path, "ioopt-rows", "\n".join(["[ioopt.solvers]", *points]))
    run = command_beside(tmp_path)
    listed = run("instances", "solvers", "--format", "json")
    assert listed.returncode == 0 and "lost" not in listed.stdout
    told = run("doctor").stdout
    for name, wrong in (
        ("lost", "no_such_module:f: there is no"),
        ("unset", "no_such_module:S: there is no"),
        ("stray", "kinds: there is no 'no-kind'"),
        ("later", "another plugin has one of"),
    ):
        (line,) = [row for row in told.splitlines() if f" {name} of" in row]
        assert wrong in line
    solved = run("solve", "gang-figure-5", "--solver", "empty")
    assert solved.returncode == 2 and solved.stderr.count("\n") == 1
    assert "json:nothing cannot be loaded: AttributeError" in solved.stderr
    words = ("compare", "gang-figure-5", "--solver", "gs", "--solver", "empty")
    compared = run(*words)
    assert compared.returncode == 2 and "3.167" in compared.stdout


def test_the_function_must_be_one():
    with pytest.raises(UsageError, match="a int, not a function"):
        ioopt.solve("cycle3", "sys:maxsize")


def test_a_family_from_outside_is_solved_compared_and_checked(family, tmp_path):
    # 30, 10 and 20 MB at 10 MB/s take 3, 1 and 2 s. Smallest first they end at 1, 3 and
    # 6 s, in order of the file at 3, 4 and 6 s: means 10/3 and 13/3.
    compared = family("compare", "three.json", "--format", "json")
    rows = json.loads(compared.stdout)["rows"]
    assert [row["objective"] for row in rows] == pytest.approx([10 / 3, 13 / 3])
    assert [row["gap"] for row in rows] == pytest.approx([0, 3 / 13])
    assert family("solve", "three.json", "-o", "r.json").returncode == 0
    assert "no violation" in family("check", "three.json", "r.json").stdout
    replayed = family("simulate", "three.json", "r.json", "--format", "json")
    assert json.loads(replayed.stdout)["metrics"] == {"makespan_seconds": 6.0}
    told = tmp_path / "r.json"
    told.write_text(told.read_text().replace('"order": [', '"order": ["a", '))
    wrong = family("check", "three.json", "r.json")
    assert wrong.returncode == 5 and "wanted every file once" in wrong.stdout
    assert "shortest" in family("instances", "solvers", "transfers").stdout
    assert "bytes_per_second" in family("instances", "schema", "transfers").stdout
    (tmp_path / "none.json").write_text(THREE.replace("10e6,", "0,"))
    refused = family("solve", "none.json")
    assert refused.returncode == 2 and "none.json: bytes_per_second" in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "file", "solver"),
    [("first-node", "cycle3", "first-node"), ("transfers", "three.json", "shortest")],
)
def test_the_page_s_packages_are_built_installed_and_run(tmp_path, name, file, solver):
    write_page(tmp_path)
    site = tmp_path / "site"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "--target",
            str(site),
            str(tmp_path / name),
        ],
        check=True,
    )
    (site / "three.json").write_text(THREE)
    run = command_beside(site)("solve", file, "--solver", solver)
    assert run.returncode == 0 and solver in run.stdout, run.stderr
