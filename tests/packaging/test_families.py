"""Families stand in files of their own: generic code knows none by name, and every name
in the code can be followed.
"""

import ast
import inspect
from functools import cache

import pytest
from conftest import ROOT
from source_trees import syntax_tree

import ioopt
from ioopt import registry
from ioopt.families import Kind, Loader, load_target
from ioopt.registry import BROKEN, FAMILIES, FORMATS, SOLVERS

OF_FAMILIES = {
    # Folders with a file or a folder a family.
    "families",
    "problems",
    "checks",
    "sim",
    "measure",
    "generate",
    "plot",
    "decisions",
    "sentences",
    # Readers of files that say what they are, and objects of one family.
    "formats",
    "advice",
    "embed",
}
FILES_OF_FAMILIES = {
    "ioopt/cli/imports/__init__.py",  # commands named after what they make
    "ioopt/cli/imports/logs.py",
    "ioopt/cli/imports/workflows.py",
}
LOOKUPS = {
    "__import__",
    "attrgetter",
    "getattr",
    "hasattr",
    "import_module",
    "load_target",
    "resolve_name",
    "setattr",
}


@cache
def sources():
    """Path -> syntax tree of every file of ioopt, its models and its solvers."""
    found = {}
    for folder in ("ioopt", "models", "solvers"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            linked = ("ioopt/models/", "ioopt/solvers/", "ioopt/instances/")
            if not name.startswith(linked):
                found[name] = syntax_tree(path)
    return found


def is_generic(name):
    """Whether a file serves every family."""
    top, *rest = name.split("/")
    return (
        top == "ioopt" and rest[0] not in OF_FAMILIES and name not in FILES_OF_FAMILIES
    )


def test_generic_code_names_no_family():
    names = {*registry.families(), *FORMATS}
    found = set()
    for file, tree in sources().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value in names:
                found.add((file, node.value))
    named = {(file, word) for file, word in found if is_generic(file)}
    # A setting of that name: whether a plan may copy files between nodes.
    assert named == {("ioopt/run_statements.py", "replication")}
    assert {word for _, word in found} >= names


def test_no_name_is_put_together_from_text():
    for file, tree in sources().items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = getattr(node.func, "attr", getattr(node.func, "id", None))
            if called in LOOKUPS:
                formatted = [
                    ast.unparse(argument)
                    for argument in node.args
                    if isinstance(argument, (ast.JoinedStr, ast.BinOp))
                ]
                assert not formatted, f"{file}:{node.lineno}: {called}({formatted})"


def test_every_target_of_ours_is_a_loader_of_its_kind_of_thing():
    for row in SOLVERS:
        for target in (row.target, row.settings, row.policy):
            assert target is None or isinstance(target, Loader), row.name
        assert row.bundled and callable(row.solve_function())
        settings = row.settings_class()
        assert settings is None or inspect.isclass(settings)
        if row.policy is not None:
            assert row.make_policy(row.default_settings()) is not None


@pytest.mark.parametrize("kind", registry.KINDS.values(), ids=registry.KINDS)
def test_a_kind_is_whole(kind):
    rows = {row.name: row for row in registry.solvers_for(kind.kind)}
    named = {kind.default_solver, kind.fallback, kind.baseline, *kind.policies} - {None}
    compared = {text.partition(":")[0] for text in kind.compare_solvers}
    assert named | compared <= rows.keys()
    assert all(rows[name].policy is not None for name in kind.policies)
    assert kind.problem_class().model_fields["format"].default == kind.format
    assert kind.plan_class() is not None and kind.summary and type(kind).__doc__
    assert (kind.schedule_class() is not None) == kind.simulates
    assert bool(kind.presets) == kind.generates
    assert bool(kind.knobs()) == kind.explains
    assert {*kind.renamed}.isdisjoint(rows)
    kind.load()


def test_a_kind_overrides_what_kinds_have():
    """A misspelt method would never be called."""
    own = {"kind", "family"}
    # Python adds these: where a class begins, and what a copy of its objects needs.
    added = {"__firstlineno__", "__slotnames__"}
    for form in FORMATS.values():
        known = {*dir(Kind), *dir(registry.MeasuredKind), *own, *Kind.__annotations__}
        assert {*vars(type(form))} - known <= added


def test_families_are_modules_of_one_folder():
    for family in FAMILIES:
        assert family.__name__.startswith("ioopt.families.")
        assert family.KINDS and family.SOLVERS
    assert BROKEN == {}


def test_load_target_takes_the_names_of_users():
    assert load_target("math:pi") > 3 and load_target(len) is len
    assert load_target(Loader(lambda: 7)) == 7


def test_plain_checks_and_repr():
    """`ioopt.check` is a function, whatever of the checkers is imported."""
    import ioopt.checks.gang.check

    assert inspect.isfunction(ioopt.check) and ioopt.checks.gang.check
    assert repr(ioopt.load("cycle3")) == str(ioopt.load("cycle3"))
    assert repr(ioopt.load("cycle3")).startswith(
        "<ReplicationProblem cycle3: 3 nodes, "
    )


@pytest.mark.parametrize(
    "name", [name for name in ioopt.__all__ if inspect.isfunction(getattr(ioopt, name))]
)
def test_public_functions_name_their_keywords(name):
    parameters = inspect.signature(getattr(ioopt, name)).parameters.values()
    kinds = {parameter.kind for parameter in parameters}
    assert kinds.isdisjoint(
        {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    )


def test_embed_names_what_is_public():
    assert ioopt.embed.__all__ == sorted(ioopt.embed.__all__)
    for name in ioopt.embed.__all__:
        assert inspect.isclass(getattr(ioopt.embed, name))
