"""The policy of docs/extending.md, tried as a reader would: its block a file, its
row in the registry.
"""

import ctypes
import re
import shutil
import subprocess
import sys

import pytest
from batch_io_traces import by_hand
from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "tools"))

from ctext.translate import translate

import ioopt
import ioopt.solvers.batch_io as policies
from ioopt import registry
from ioopt.cli.main import main
from ioopt.compiled import library
from ioopt.embed import IoArbiter
from ioopt.families import batch_io as rows

PAGE = (ROOT / "docs/extending.md").read_text("utf-8")
JOBS = [
    ("long", 0.0, 4, 100.0, [(10.0, 40.0)]),
    ("short", 0.0, 4, 100.0, [(10.0, 8.0)]),
]
"""Four nodes each that compute 10 s and then write 40 or 8 bytes at 4 B/s,
which is all there is.
"""
TRACE = by_hand(JOBS)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The page's block as ``shortest.py`` of the policies' folder, its
    row in the registry.
    """
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (block,) = [text for text in blocks if "def policy(how: Settings)" in text]
    (tmp_path / "shortest.py").write_text(block)
    monkeypatch.setattr(policies, "__path__", [*policies.__path__, str(tmp_path)])
    (loader,) = [text for text in blocks if "def _shortest()" in text]
    (row,) = re.findall(r"`(_policy\([^`]*\))`", PAGE)
    names = dict(vars(rows))
    exec(loader, names)
    made = eval(row, names)
    monkeypatch.setattr(registry, "SOLVERS", (*registry.SOLVERS, made))
    return made.name


def test_the_page_s_policy_is_simulated_live_and_on_the_command_line(installed, capsys):
    ends = {
        solver: {
            run["id"]: run["end_seconds"]
            for run in ioopt.solve(TRACE, solver).schedule["jobs"]
        }
        for solver in ("cons-fcfs", installed)
    }
    # Both ask for all 4 B/s at 10 s. In order of the file: 40 / 4 = 10
    # s, then 8 / 4 = 2 s.
    assert ends["cons-fcfs"] == {"long": 20.0, "short": 22.0}
    assert ends[installed] == {"long": 22.0, "short": 12.0}
    result = ioopt.solve(TRACE, installed)
    assert ioopt.check(TRACE, result) == [] and result.plan["policy"] == installed
    arbiter = IoArbiter(TRACE["machine"], installed)
    for name, volume in (("long", 40.0), ("short", 8.0)):
        arbiter.request(name, nodes=4, size=volume, now=0.0)
    assert arbiter.decide(0.0) == {"long": 0.0, "short": 4.0} and arbiter.notes == ()
    assert (
        main(["instances", "solvers", "batch-io"]) == 0
        and installed in capsys.readouterr().out
    )


@pytest.fixture
def in_c(installed, tmp_path, monkeypatch):
    """The engine and the page's policy, put into C and compiled, as after
    ``scripts/tools/kernels.py`` and an installation.
    """
    root = tmp_path / "root"
    folder = root / "ioopt" / "solvers" / "batch_io"
    folder.mkdir(parents=True)
    (folder / "shortest.py").write_text((tmp_path / "shortest.py").read_text())
    for room in (ROOT / "ioopt").iterdir():
        if room.name != "solvers":
            (root / "ioopt" / room.name).symlink_to(room)
    engine = "ioopt.sim.batch_io.engine:"
    entries = (f"{engine}advance", "ioopt.solvers.batch_io.shortest:shortest_first")
    source = tmp_path / "kernels.c"
    source.write_text(translate(root, entries))
    built = tmp_path / "kernels.so"
    flags = ("-w", "-O0", "-fwrapv", "-ffp-contract=off", "-shared", "-fPIC")
    subprocess.run(["gcc", *flags, "-o", built, source, "-lm"], check=True)
    monkeypatch.setattr(library, "loaded", lambda: ctypes.CDLL(str(built)))
    return installed


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not here")
def test_its_machine_code_decides_as_its_function_does(in_c):
    """On the bundled traces both engines give the same schedule to the bit."""
    for trace in (TRACE, "small-8"):
        plain, compiled = (
            ioopt.solve(
                trace, in_c, settings={"engine": engine}, time_limit=None
            ).schedule
            for engine in ("python", "compiled")
        )
        assert plain == compiled
