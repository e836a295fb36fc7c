"""What may be imported when, and by whom."""

import ast
import subprocess
import sys
from functools import cache

import networkx
from conftest import ROOT
from source_trees import syntax_tree

HEAVY = {
    "pandas",
    "numpy",
    "scipy",
    "numba",
    "pulp",
    "ortools",
    "matplotlib",
    "networkx",
}
LIGHT = (
    "--help",
    "solve --help",
    "compare --help",
    "import --help",
    "advise --help",
    "instances solvers",
    "--version",
)
PROBE = f"""
import sys
from ioopt.cli.main import main
for words in {LIGHT}:
    code = main(words.split())
    loaded = {{m.partition(".")[0] for m in sys.modules}} & {HEAVY}
    print(words, code, *loaded, file=sys.stderr)
"""


def test_help_loads_nothing_heavy():
    run = subprocess.run(
        [sys.executable, "-c", PROBE], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0 and run.stdout
    assert run.stderr.splitlines() == [f"{words} 0" for words in LIGHT]


MOST_MODULES = 65
"""Of more than one line, that a small exact solve imports; fewer is better, and
then this is lowered.
"""
COUNT = """
import sys
from pathlib import Path
from ioopt.cli.main import main
main(["-q", "solve", "cycle3", "--solver", "ip"])
files = []
for name, module in sys.modules.items():
    if name.partition(".")[0] == "ioopt" and module.__file__:
        files.append(module.__file__)
texts = [Path(file).read_text("utf-8") for file in files]
print(sum(len(text.splitlines()) > 1 for text in texts), file=sys.stderr)
"""


def test_a_solve_imports_few_modules():
    run = subprocess.run(
        [sys.executable, "-c", COUNT], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stderr.splitlines()[-1]) <= MOST_MODULES


LAYERS = (
    # from the lowest up; a module imports from its own layer and from those below it
    {"errors", "version"},
    {
        "units",
        "options",
        "overtime",
        "arguments",
        "timeline",
        "waits",
        "graphs",
        "catalog",
        "arrays",
    },
    {"compiled"},
    {"problems", "result", "metrics", "tables"},
    {"protocols", "decisions"},
    {"checks"},
    {"models", "sim", "measure", "generate", "formats", "sentences"},
    {"solvers", "plot"},
    {"families"},
    {"registry"},
    {
        "verdict",
        "statements",
        "run_statements",
        "known_plans",
        "failures",
        "loading",
        "solving",
        "checking",
        "comparing",
        "pictures",
    },
    {"explaining", "building", "library", "exchange"},
    {"embed", "campaign", "advice", "budget", "validation"},
    {"cli", "__main__", "ioopt"},
)
LAYER_OF = {room: number for number, rooms in enumerate(LAYERS) for room in rooms}
PLOT_NEEDS = {
    "errors",
    "result",
    "problems",
    "tables",
    "timeline",
    "waits",
    "units",
    "formats",
}
"""A picture is drawn from a result, not by a solver."""


def modules():
    """Dotted name -> path of every module of ioopt, models and solvers."""
    found = {}
    for folder in ("ioopt", "models", "solvers"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = list(path.relative_to(ROOT).with_suffix("").parts)
            if folder == "ioopt" and parts[1] in ("models", "solvers", "instances"):
                continue  # links to the folders at the top
            parts = parts if folder == "ioopt" else ["ioopt", *parts]
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()
PACKAGES = {name for name, path in MODULES.items() if path.name == "__init__.py"}
LEAVES = PACKAGES - {name.rpartition(".")[0] for name in PACKAGES}
"""Folders without folders in them."""


@cache
def imported(path):
    """Every import of a file, at any depth: (module, name taken from it or None)."""
    found = []
    for node in ast.walk(syntax_tree(path)):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [
                ("." * node.level + (node.module or ""), a.name) for a in node.names
            ]
    return found


def arrows():
    """(importing module, imported module) inside ioopt."""
    for module, path in MODULES.items():
        for source, name in imported(path):
            target = f"{source}.{name}" if f"{source}.{name}" in MODULES else source
            assert not source.startswith("."), f"{module}: imports are absolute"
            if target.partition(".")[0] == "ioopt":
                assert target in MODULES, (
                    f"{module} imports {target}, which is not there"
                )
                yield module, target


def room(module):
    """The folder (or top-level module) of a module: what has a layer."""
    return module.split(".")[1] if "." in module else module


def place(module):
    """The folder of a module, or the module itself where it stands
    beside other folders.
    """
    folder = module.rpartition(".")[0]
    return folder if folder in LEAVES else module


def test_every_module_has_one_layer():
    assert sum(map(len, LAYERS)) == len(LAYER_OF)
    assert {room(module) for module in MODULES} == set(LAYER_OF)
    # A checker reaches nothing that solves or simulates, as imports point one way.
    assert all(
        LAYER_OF["checks"] < LAYER_OF[other]
        for other in ("models", "sim", "measure", "solvers")
    )


def test_imports_point_one_way():
    wrong = {
        f"{module} imports {target}"
        for module, target in arrows()
        if LAYER_OF[room(target)] > LAYER_OF[room(module)]
    }
    assert wrong == set()


APART = {
    # Who is checked shares no code with the checker.
    ("models", "checks"),
    ("sim", "checks"),
    ("solvers", "checks"),
    # The verdict compares a replay with bounds; the replay knows none.
    ("sim", "models"),
}


def test_checkers_and_replays_are_independent():
    assert {
        (room(module), room(target)) for module, target in arrows()
    } & APART == set()


def test_replays_of_work_directories_do_not_import_each_other():
    """What `simulate` replays with and the checker share no code but the instance,
    its faults and ticks.
    """
    checker, replay = "ioopt.checks.work_directory", "ioopt.sim.work_directory.replay"
    reached = {
        start: networkx.descendants(networkx.DiGraph(arrows()), start)
        for start in (checker, replay)
    }
    assert replay not in reached[checker] and checker not in reached[replay]
    simulating = {name for name in reached[checker] if name.startswith("ioopt.sim")}
    assert simulating == set() and not any(
        n.startswith("ioopt.checks.") for n in reached[replay]
    )


def test_pictures_are_drawn_from_results_alone():
    assert {room(target) for module, target in arrows() if room(module) == "plot"} <= {
        *PLOT_NEEDS,
        "plot",
    }


def test_no_circle_of_folders():
    folders = networkx.DiGraph(
        (room(module), room(target))
        for module, target in arrows()
        if room(module) != room(target)
    )
    assert list(networkx.simple_cycles(folders)) == []
    places = networkx.DiGraph(
        (place(module), place(target))
        for module, target in arrows()
        if place(module) != place(target)
    )
    assert list(networkx.simple_cycles(places)) == []


def test_no_circle_of_modules():
    graph = networkx.DiGraph(
        (module, target) for module, target in arrows() if module != target
    )
    assert list(networkx.simple_cycles(graph)) == []


def test_nobody_imports_the_top_level_folders():
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for folder in ("ioopt", "models", "solvers", "scripts", "tests")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name, _ in imported(path)
        if name.partition(".")[0] in ("models", "solvers", "instances")
    ]
    assert wrong == []


LIBRARIES = {
    "pulp",
    "ortools.sat",
    "ortools.math_opt",
    "scipy.optimize",
    "ioopt.solvers",
}
"""What solves, or stands for something that does."""
FORMULATING = {
    "CpModel",
    "new_int_var",
    "new_bool_var",
    "new_interval_var",
    "add_hint",
    "NewIntVar",
    "NewBoolVar",
    "LpProblem",
    "LpVariable",
    "LpAffineExpression",
    "lpSum",
    "addConstraint",
    "setObjective",
    "linprog",
    "milp",
    "Program",
}
"""Names that only a formulation (or a backend) has a use for."""


def formulates(path):
    """The names of FORMULATING that a file takes, calls or looks up."""
    for node in ast.walk(syntax_tree(path)):
        called = node.func if isinstance(node, ast.Call) else None
        name = getattr(called, "attr", getattr(called, "id", None))
        owner = getattr(called, "value", None)
        extended = getattr(owner, "attr", getattr(owner, "id", None)) == "program"
        if name in FORMULATING or (
            extended and name in ("add", "binary", "hold", "whole", "real")
        ):
            yield name


def test_models_never_solve():
    wrong = [
        f"{module} imports {source}"
        for module, path in MODULES.items()
        if room(module) == "models"
        for source, name in imported(path)
        if any(f"{source}.{name}.".startswith(f"{library}.") for library in LIBRARIES)
    ]
    assert wrong == []


def test_solvers_never_formulate():
    wrong = [
        f"{module} calls {name}"
        for module, path in MODULES.items()
        if room(module) in {"solvers", "embed", "registry"}
        and not module.startswith("ioopt.solvers.backends.")
        for name in formulates(path)
    ]
    assert wrong == []
