"""Everything public has types and an example that runs; plans may be
dictionaries wherever they go.
"""

import ast
import doctest
import inspect
import sys

import pytest
from conftest import ROOT
from source_trees import syntax_tree

import ioopt
from ioopt import registry
from ioopt.catalog import entries
from ioopt.cli.main import main
from ioopt.formats.native import dump_json


@pytest.mark.parametrize("name", ioopt.__all__)
def test_a_public_name_has_an_example_that_runs(name):
    found = getattr(ioopt, name)
    home = vars(sys.modules.get(getattr(found, "__module__", found.__name__), ioopt))
    tests = doctest.DocTestFinder(recurse=False).find(found, name, globs={**home})
    examples = [test for test in tests if test.examples]
    assert examples, f"ioopt.{name} has no example"
    for test in examples:
        assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize("name", ioopt.__all__)
def test_a_public_name_has_types(name):
    found = getattr(ioopt, name)
    calls = (
        [found]
        if not inspect.isclass(found)
        else [
            value
            for key, value in vars(found).items()
            if inspect.isfunction(value) and not key.startswith("_")
        ]
    )
    for call in calls:
        signature = inspect.signature(call)
        assert signature.return_annotation is not inspect.Signature.empty, call
        for parameter in signature.parameters.values():
            typed = parameter.annotation is not inspect.Parameter.empty
            assert typed or parameter.name in ("self", "cls"), (call, parameter)


def test_the_list_of_parameters_ends_a_docstring():
    """The builder of the pages takes a paragraph below it for one more
    parameter, and refuses it.
    """
    lists = 0
    for path in (ROOT / "ioopt").rglob("*.py"):
        for node in ast.walk(syntax_tree(path)):
            if not isinstance(node, ast.FunctionDef):
                continue
            _, title, listed = (ast.get_docstring(node) or "").partition(
                "Parameters\n----------\n"
            )
            lists += bool(title)
            names = {
                line
                for line in listed.splitlines()
                if line and not line.startswith(" ")
            }
            assert names <= {arg.arg for arg in node.args.args}, (path, node.name)
    assert lists


def test_dir_is_what_is_public():
    assert {*ioopt.__all__, "embed"} < {*dir(ioopt)}
    assert all(
        name.startswith("__") for name in {*dir(ioopt)} - {*ioopt.__all__, "embed"}
    )


SMALL = {
    "replication": "cycle3",
    "batch-io": "two-writers",
    "gang": "gang-figure-5",
    "flexible-gang": "flexgang-tiny",
    "io-requests": "two-writers-now",
    "work-directory": "directory-two-chains",
}
"""An instance of each kind whose plans are replayed, and of one that is a decision."""


@pytest.mark.parametrize("kind", SMALL)
def test_a_plan_may_be_a_dictionary_everywhere(kind, tmp_path, monkeypatch):
    """As an object, a dictionary, the dictionary of a result, a file: one answer."""
    name = SMALL[kind]
    assert entries()[name]["kind"] == kind
    monkeypatch.chdir(tmp_path)
    row = registry.KINDS[kind]
    result = ioopt.solve(name, row.fallback, time_limit=2)
    forms = (
        result,
        result.plan,
        result.to_dict(),
        ioopt.loading.plan_of(row, result.plan),
    )
    whole = forms if kind != "batch-io" else (result, result.to_dict())
    assert all(
        ioopt.check(name, form) == [] for form in whole
    )  # a policy alone says nothing of jobs
    if row.simulates:
        replays = [dict(ioopt.simulate(name, form).metrics) for form in forms]
        assert all(replay == replays[0] for replay in replays[1:])
    (tmp_path / "bare.json").write_text(dump_json(result.plan))
    if row.simulates:
        assert main(["-q", "simulate", name, "bare.json", "-o", "replay.json"]) == 0
        assert main(["-q", "plot", "replay.json", "-o", "replay.svg"]) == 0
        assert (tmp_path / "replay.svg").stat().st_size > 1000


def test_a_search_begins_from_a_dictionary():
    plan = ioopt.solve("cycle3", "minmin")
    for start in (plan, plan.plan, plan.to_dict()):
        begun = ioopt.solve("cycle3", "ip", warm_start=start, time_limit=5)
        assert begun.objective <= plan.objective and begun.stop != "fallback"
