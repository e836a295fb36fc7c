"""What may be imported when, and by whom."""

from __future__ import annotations

import ast
import json
import subprocess
import sys

import pytest
from conftest import ROOT

HEAVY = (
    "pandas",
    "numpy",
    "scipy",
    "numba",
    "pulp",
    "ortools",
    "highspy",
    "matplotlib",
    "networkx",
)
PROBE = """
import sys, json
from ioopt.cli.main import main
code = main({arguments!r})
print(json.dumps(sorted(m for m in sys.modules if m.partition(".")[0] in {heavy!r})), file=sys.stderr)
raise SystemExit(code)
"""


@pytest.mark.parametrize("arguments", [["--help"], ["solve", "--help"], ["compare", "--help"],
                                       ["import", "--help"], ["solvers"], ["--version"]])  # fmt: skip
def test_help_loads_nothing_heavy(arguments):
    code = PROBE.format(arguments=arguments, heavy=HEAVY)
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout
    assert json.loads(run.stderr.splitlines()[-1]) == []


def imported(path):
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


LAYERS = {
    # a folder -> what it may never import: data flows problem -> model -> solver -> check -> result
    "ioopt/problems": ("check", "sim", "models", "solvers", "solving", "cli", "embed", "plot"),
    "ioopt/check": ("sim", "models", "solvers", "solving", "cli", "embed", "plot", "generate"),
    "models": ("solvers", "solving", "cli", "embed", "plot", "check"),
    "solvers": ("solving", "cli", "plot", "campaign"),
    "ioopt/plot": ("solvers", "models", "solving", "cli"),
    "ioopt/generate": ("solvers", "models", "solving", "cli", "plot"),
}


@pytest.mark.parametrize("folder", LAYERS)
def test_imports_point_one_way(folder):
    # a package's __init__ may hold a public call that reaches up; its modules may not
    files = [path for path in sorted((ROOT / folder).rglob("*.py")) if path.stem != "__init__"]
    assert files
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in imported(path)
        if name.startswith("ioopt.") and name.split(".")[1] in LAYERS[folder]
    ]
    assert wrong == []


def test_nobody_imports_the_top_level_folders():
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for folder in ("ioopt", "models", "solvers", "scripts", "tests")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name in imported(path)
        if name.partition(".")[0] in ("models", "solvers", "instances")
    ]
    assert wrong == []
