"""Settings, seed and request of a user's own function."""

import json
from pathlib import Path

import pytest

import ioopt

OWN = """
from dataclasses import dataclass
from ioopt.protocols import Outcome

def everything(problem, *said):
    queues = {problem.nodes[0].id: [task.id for task in problem.tasks]}
    return Outcome({"order": queues}, notes=(repr(said),))

def keywords(problem, weight=0.5, *, rounds=3, mode="a", fast=False, stop=None):
    return everything(problem, weight, rounds, mode, fast, stop)

def seeded(problem, seed=9):
    return everything(problem, seed)

def named(problem, weight=1, request=None):
    return everything(problem, weight, request.options.seed, request.settings.weight)

def hidden(problem, _cache={}, table=()):
    return everything(problem, len(_cache), table)

def two_needed(problem, request, weight):
    return everything(problem)
"""
SETTINGS = {
    "dataclass": "@dataclass(frozen=True)\nclass Settings:\n    weight: float = 0.5\n",
    "pydantic": "from pydantic import BaseModel\n"
    "class Settings(BaseModel):\n    weight: float = 0.5\n",
    "plain": "class Settings:\n    weight = 0.5\n",
}
BESIDE = """
def asks(problem, request):
    assert isinstance(request.settings, Settings)
    return everything(problem, request.settings.weight)

def both(problem, request, weight=0.5):
    return everything(problem)

def alone(problem, weight=0.25):
    return everything(problem, weight)
"""


def said_by(run, solver, *words):
    """Solve cycle3 with *solver*; return the values that its function was given, or
    the message.
    """
    given = ("--solver", solver, *words, "--format", "json", "-o", "r.json")
    code, _, err = run("compare", "cycle3", *given)
    if code:
        return err
    return json.loads(Path("r.json").read_text())["rows"][0]["notes"][0]


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return a function that writes own.py with a class of settings of some kind."""
    monkeypatch.chdir(tmp_path)

    def write(kind=None):
        beside = "" if kind is None else SETTINGS[kind] + BESIDE
        (tmp_path / "own.py").write_text(OWN + beside)

    return write


def test_keyword_parameters_are_settings(run, own):
    own()
    for text, said in (
        ("keywords", "(0.5, 3, 'a', False, None)"),
        ("keywords:weight=0.7,rounds=2.5,mode=b", "(0.7, 2.5, 'b', False, None)"),
        ("keywords:fast=yes,stop=4,rounds=2", "(0.5, 2, 'a', True, 4)"),
        ("named:weight=3", "(3, 0, 3)"),
        ("hidden", "(0, ())"),
    ):
        assert said in said_by(run, f"own.py:{text}")
    assert "(0.9," in said_by(run, "own.py:keywords", "--set", "weight=0.9")
    result = ioopt.solve("cycle3", "own.py:keywords", settings={"weight": 0.8})
    assert "(0.8," in result.notes[0]


def test_the_seed_is_that_of_the_run_or_a_setting(run, own):
    own()
    assert said_by(run, "own.py:seeded").endswith("(0,)")
    assert said_by(run, "own.py:seeded", "--seed", "4").endswith("(4,)")
    assert said_by(run, "own.py:seeded:seed=6", "--seed", "4").endswith("(6,)")


@pytest.mark.parametrize("kind", ["dataclass", "pydantic"])
def test_a_class_of_settings_is_read(run, own, kind):
    own(kind)
    assert said_by(run, "own.py:asks").endswith("(0.5,)")
    assert said_by(run, "own.py:asks:weight=2").endswith("(2.0,)")
    assert said_by(run, "own.py:alone:weight=2").endswith("(2.0,)")
    wrong = said_by(run, "own.py:asks:wieght=2")
    assert "no setting 'wieght'; did you mean 'weight'?" in wrong


@pytest.mark.parametrize(
    ("kind", "solver", "said"),
    [
        ("plain", "asks", "Settings is neither a dataclass nor a pydantic class"),
        ("dataclass", "both", "both the class Settings and the parameters weight"),
        (None, "two_needed", "its parameter 'weight' has no default"),
        (None, "keywords:weight=x", "own.py:keywords: setting weight='x': "),
        (None, "hidden:table=1", "has no setting 'table'; its settings: none"),
        (None, "keywords:heavy=1", "its settings: weight, rounds, mode, fast, stop"),
    ],
)
def test_other_settings_are_a_message(run, own, kind, solver, said):
    own(kind)
    code, out, err = run("compare", "cycle3", "--solver", f"own.py:{solver}")
    assert (code, out) == (2, "") and said in err and "internal" not in err
