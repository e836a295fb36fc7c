"""What the shell offers, asked as click's own scripts ask it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.shell_completion import BashComplete, FishComplete, ZshComplete
from conftest import ROOT

from ioopt.cli.main import cli


def offered(line: str, begun: str = "") -> list[str]:
    items = BashComplete(cli, {}, "ioopt", "_IOOPT_COMPLETE").get_completions(line.split(), begun)
    return [item.value if item.type == "plain" else f"<{item.type}>" for item in items]


def test_commands_and_their_options():
    assert offered("", "so") == ["solve"]
    assert "--time-limit" in offered("solve", "--t")
    assert offered("compare cycle3 --format", "c") == ["csv"]


def test_instances_beside_files():
    assert offered("solve", "cyc") == ["<file>", "cycle3"]
    assert offered("compare cycle3", "rounds") == ["<file>", "rounds4"]
    assert offered("instances copy", "two-w") == ["two-writers", "two-writers-now"]


def test_solvers_of_the_instance():
    """A bundled instance has its kind's; before any is named there are all."""
    assert offered("solve two-writers --solver", "min") == []
    assert offered("solve cycle3 --solver", "minm") == ["minmin", "minmin-no-replication"]
    assert offered("compare cycle3 --solver", "minm") == ["minmin", "minmin-no-replication"]
    assert {"fill", "fifo"} <= set(offered("solve --solver", "f"))


def test_families_and_their_presets():
    assert offered("instances solvers", "ga") == ["gang", "gang-matrix"]
    assert offered("instances generate replication --preset", "ppa") == ["ppa", "ppa-2000"]
    assert offered("instances generate gang --preset", "image") == []


@pytest.mark.parametrize("line", ["check cycle3", "simulate cycle3", "check cycle3 --explain", "plot",
                                  "solve cycle3 -o", "solve cycle3 --log", "solve x --warm-start",
                                  "import swf", "advise", "sweep"])  # fmt: skip
def test_what_is_a_file_is_completed_as_one(line):
    assert offered(line, "r") == ["<file>"]


@pytest.mark.parametrize("shell", [BashComplete, FishComplete, ZshComplete])
def test_every_shell_has_its_script(shell):
    made = shell(cli, {}, "ioopt", "_IOOPT_COMPLETE")
    assert f"_IOOPT_COMPLETE={shell.name}_complete" in made.source_template % made.source_vars()


def test_asking_loads_nothing_heavy():
    code = (
        "import os, sys, json\n"
        "from ioopt.cli.main import main\n"
        "try: main([])\n"
        "except SystemExit: pass\n"
        "print(json.dumps([m for m in ('numpy', 'pandas', 'ortools', 'pulp') if m in sys.modules]),"
        " file=sys.stderr)"
    )
    asked = {"_IOOPT_COMPLETE": "bash_complete", "COMP_CWORD": "4",
             "COMP_WORDS": "ioopt solve cycle3 --solver heft", "PATH": ""}  # fmt: skip
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=asked, text=True, capture_output=True
    )
    assert run.stdout == "plain,heft\n" and json.loads(run.stderr.splitlines()[-1]) == []
