"""The base install: everything but pictures works without numba, matplotlib
and the other extras.
"""

import json
import tomllib

import pytest
from campaign_helpers import MINIMAL
from conftest import ROOT, command_beside

from ioopt.errors import EXTRAS

HIDE = f"""
import importlib.machinery as machinery
plain = machinery.PathFinder.find_spec
hidden = {{{", ".join(map(repr, (*EXTRAS, "dask")))}}}
def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in hidden else plain(name, path, target)
machinery.PathFinder.find_spec = find_spec
"""


@pytest.fixture
def light(tmp_path):
    """The command line in a process that finds none of the optional packages."""
    (tmp_path / "sitecustomize.py").write_text(HIDE)
    return command_beside(tmp_path)


@pytest.mark.slow
def test_every_family_is_solved_checked_and_replayed(light, tmp_path):
    for name, *how in (
        ("cycle3", "--solver", "minmin"),
        ("flow-groups", "--solver", "locality"),
        ("two-writers", "--solver", "fill"),
        ("gang-figure-5",),
        ("quantum-plain", "--solver", "quantum-greedy"),
        ("flexgang-heavy-mix", "--solver", "greedy"),
    ):
        solved = light("solve", name, *how, "-o", f"{name}.json")
        assert solved.returncode == 0, (name, solved.stderr)
        checked = light("check", name, f"{name}.json")
        assert checked.returncode == 0, (name, checked.stdout)
        assert json.loads((tmp_path / f"{name}.json").read_text())["status"] in (
            "feasible",
            "optimal",
        )
    assert (
        light("compare", "cycle3", "--solver", "ip", "--solver", "minmin").returncode
        == 0
    )


@pytest.mark.slow
def test_what_needs_an_extra_names_it(light):
    assert (
        light("solve", "cycle3", "--solver", "minmin", "-o", "r.json").returncode == 0
    )
    for words, extra in (
        (("plot", "r.json", "-o", "r.png"), "plot"),
        (("serve", "--http", "0", "--token-file", "token"), "serve"),
    ):
        run = light(*words)
        assert run.returncode == 6, (words, run.stderr)
        assert (
            f"pip install 'ioopt[{extra}]'" in run.stderr
            and run.stderr.count("\n") == 1
        )
    told = {
        row["name"]: row
        for row in json.loads(light("doctor", "--format", "json").stdout)
    }
    note = told["matplotlib"]["note"]
    assert told["matplotlib"]["state"] == "missing" and "ioopt[plot]" in note


@pytest.mark.slow
def test_a_report_has_its_tables(light, tmp_path):
    store = str(tmp_path / "s.sqlite")
    (tmp_path / "s.toml").write_text("time_limit = 3600\n" + MINIMAL)
    abroad = light(
        "sweep", "s.toml", "--store", store, "--scheduler", "tcp://127.0.0.1:1"
    )
    assert abroad.returncode == 6 and "ioopt[campaign]" in abroad.stderr
    assert not (tmp_path / "s.sqlite").exists()
    assert light("sweep", "s.toml", "--store", store).returncode == 0
    assert light("plot", store, "-o", "s.html").returncode == 0
    page = (tmp_path / "s.html").read_text()
    assert "minmin" in page and "ioopt[plot]" in page and "<svg" not in page


def test_every_extra_is_in_the_project_file():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    names = {"zmq": "pyzmq"}
    for package, extra in EXTRAS.items():
        assert any(
            line.startswith(names.get(package, package)) for line in extras[extra]
        ), package
