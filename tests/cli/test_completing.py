"""What the shell offers, asked as click's own scripts ask it."""

import json
import subprocess
import sys

import pytest
from click.shell_completion import BashComplete, FishComplete, ZshComplete
from conftest import ROOT

from ioopt.cli.main import cli


def offered(line: str, begun: str = "") -> list[str]:
    items = BashComplete(cli, {}, "ioopt", "_IOOPT_COMPLETE").get_completions(
        line.split(), begun
    )
    return [item.value if item.type == "plain" else f"<{item.type}>" for item in items]


@pytest.mark.parametrize(
    ("line", "begun", "wanted"),
    [
        ("", "so", ["solve"]),
        ("solve", "--time", ["--time-limit"]),
        ("compare cycle3 --format", "c", ["csv"]),
        ("solve", "cyc", ["<file>", "cycle3"]),
        ("compare cycle3", "rounds", ["<file>", "rounds4"]),
        ("instances copy", "two-w", ["two-writers", "two-writers-now"]),
        # A bundled instance has its kind's solvers; before any is named there are all.
        ("solve two-writers --solver", "min", []),
        ("solve cycle3 --solver", "minm", ["minmin", "minmin-no-replication"]),
        ("compare cycle3 --solver", "minm", ["minmin", "minmin-no-replication"]),
        ("solve --solver", "fi", ["fifo", "fill"]),
        ("instances solvers", "ga", ["gang", "gang-matrix"]),
        ("instances generate replication --preset", "ppa", ["ppa", "ppa-2000"]),
        ("instances generate gang --preset", "image", []),
        *(
            (line, "r", ["<file>"])
            for line in (
                "check cycle3",
                "simulate cycle3",
                "check cycle3 --explain",
                "plot",
                "solve cycle3 -o",
                "solve cycle3 --log",
                "solve x --warm-start",
                "import swf",
                "advise",
                "sweep",
            )
        ),
    ],
)
def test_what_is_offered(line, begun, wanted):
    assert offered(line, begun) == wanted


@pytest.mark.parametrize("shell", [BashComplete, FishComplete, ZshComplete])
def test_every_shell_has_its_script(shell):
    made = shell(cli, {}, "ioopt", "_IOOPT_COMPLETE")
    assert (
        f"_IOOPT_COMPLETE={shell.name}_complete"
        in made.source_template % made.source_vars()
    )


def test_asking_loads_nothing_heavy():
    code = (
        "import os, sys, json\n"
        "from ioopt.cli.main import main\n"
        "try: main([])\n"
        "except SystemExit: pass\n"
        "print(json.dumps([m for m in ('numpy', 'pandas', 'ortools', 'pulp') if m in "
        "sys.modules]), file=sys.stderr)"
    )
    asked = {
        "_IOOPT_COMPLETE": "bash_complete",
        "COMP_CWORD": "4",
        "COMP_WORDS": "ioopt solve cycle3 --solver heft",
        "PATH": "",
    }
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=asked,
        text=True,
        capture_output=True,
    )
    assert (
        run.stdout == "plain,heft\n" and json.loads(run.stderr.splitlines()[-1]) == []
    )
