"""The compiled kernels: the C text is up to date, what cannot be used is not, and mypy
knows the fields.
"""

import ast
import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, needs_kernels

sys.path.insert(0, str(ROOT / "scripts" / "tools"))

import kernels

import ioopt
from ioopt.compiled import library
from ioopt.compiled.memory import Machine, Plain
from ioopt.decisions.batch_io import IoPolicy
from ioopt.errors import BackendMissingError, UsageError
from ioopt.models.replication.static import loads, reduce
from ioopt.options import Deadline
from ioopt.problems.batch_io import BatchIoPlan
from ioopt.solvers.batch_io.base_line import even_split
from ioopt.solvers.batch_io.run import simulate
from ioopt.solvers.replication.search.anneal import anneal


@pytest.fixture
def fresh(monkeypatch):
    """Whether kernels are compiled is asked once in a process: forget the answer."""
    monkeypatch.delenv(library.PLAIN, raising=False)
    asked = (library.why_plain, library.loaded)
    for function in asked:
        function.cache_clear()
    yield
    for function in asked:
        function.cache_clear()


def test_the_c_text_is_that_of_the_kernels():
    """In a process of its own: Python 3.11 raises a SystemError if two threads parse
    at a time (bpo-106905), and threads of other tests may still run here.
    """
    command = [sys.executable, kernels.__file__, "--check"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.usefixtures("fresh")
def test_a_variable_of_the_environment_turns_compiled_kernels_off(monkeypatch):
    monkeypatch.setenv(library.PLAIN, "1")
    assert library.why_plain() == "IOOPT_PLAIN is set"
    assert isinstance(library.maker(), Plain)


@pytest.mark.usefixtures("fresh")
def test_kernels_that_are_missing_damaged_or_of_another_version_are_not_used(
    monkeypatch, tmp_path
):
    here = tmp_path / "kernels.so"
    monkeypatch.setattr(library, "LIBRARY", here)
    assert "no C compiler worked" in library.why_plain()
    here.write_bytes(b"no library")
    library.why_plain.cache_clear()
    assert "cannot be loaded" in library.why_plain()
    assert isinstance(library.maker(), Plain)


@needs_kernels
@pytest.mark.usefixtures("fresh")
def test_kernels_whose_text_is_missing_are_not_used(monkeypatch, tmp_path):
    monkeypatch.setattr(library, "SOURCE", tmp_path / "kernels.c")
    assert "cannot be loaded" in library.why_plain()
    assert isinstance(library.maker(), Plain)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not here")
@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("digest", "why"), [("0123", "of another version"), (None, "")]
)
def test_kernels_of_another_text_are_not_used(monkeypatch, tmp_path, digest, why):
    text = library.SOURCE.read_text("utf-8")
    ours = text.split()[2]
    source, built = tmp_path / "kernels.c", tmp_path / "kernels.so"
    source.write_text(text.replace(ours, digest or ours))
    flags = ("-w", "-O0", "-shared", "-fPIC")
    subprocess.run(["gcc", *flags, "-o", built, source, "-lm"], check=True)
    monkeypatch.setattr(library, "LIBRARY", built)
    assert why in library.why_plain()
    assert isinstance(library.maker(), Plain if why else Machine)


@needs_kernels
def test_a_wrapped_policy_is_not_taken_for_the_compiled_one():
    calls = []

    @functools.wraps(even_split)
    def noted(view, rates):
        calls.append(view.size)
        even_split(view, rates)

    assert library.maker().has(even_split) and not library.maker().has(noted)
    problem = ioopt.load("small-8")
    plan = BatchIoPlan(policy="base-line")
    ran = [simulate(problem, plan, IoPolicy("even", g)) for g in (even_split, noted)]
    assert calls and ran[0].metrics == ran[1].metrics


def test_numbers_beyond_64_bits_are_left_to_plain_python():
    """Twelve files of 10^18 bytes on one disk are more than 2^63."""
    task = {"id": "t", "compute_seconds": 1, "inputs": [f"f{k}" for k in range(12)]}
    instance = {
        "format": "ioopt/replication",
        "network": {"remote_bytes_per_second": 1e17, "replica_bytes_per_second": 1e17},
        "nodes": [{"id": "a"}, {"id": "b"}],
        "files": [{"id": f"f{k}", "bytes": 10**18} for k in range(12)],
        "tasks": [task, task | {"id": "u"}],
    }
    data = reduce(ioopt.load(instance))
    assert isinstance(library.maker(sum(data.sizes)), Plain)
    wanted = (UsageError, BackendMissingError)
    with pytest.raises(wanted, match=r"more than 64 bits|compiled kernels"):
        library.maker(sum(data.sizes), "compiled")
    moves, complete = anneal(data, True, 0, 1_000, Deadline(None))
    # One node fetches all for 120 s and computes 2 s: 122 s; apart, each waits for
    # copies or fetches of its own.
    assert complete and moves is not None
    assert data.seconds(max(loads(data, moves))) <= 122 + 1e-9


CALLED = [
    *(
        f"ioopt.sim.batch_io.{name}"
        for name in ("agenda", "boxes", "jobs", "plans", "storage", "waiting")
    ),
    "ioopt.sim.fluid",
    "ioopt.sim.replication.disk",
    "ioopt.sim.replication.moves",
    "ioopt.solvers.replication.search.line_moves",
    "ioopt.solvers.replication.exact.queue_bound",
]
"""Modules whose functions kernels of other modules call."""


@pytest.mark.slow
def test_mypy_finds_a_misspelt_field_in_every_kernel(tmp_path):
    """``job.stauts = 2``: the first field that a kernel sets, or reads if it sets none,
    gets a letter more.
    """
    pytest.importorskip("mypy")
    entries = {entry.partition(":")[0] for entry in kernels.ENTRIES}
    modules = sorted(entries | set(CALLED))
    planted = {}
    for module in modules:
        text = Path(ROOT, *module.split(".")).with_suffix(".py").read_text("utf-8")
        name = "_".join(module.split(".")[-2:])
        (tmp_path / f"right_{name}.py").write_text(text)
        used = [
            node
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Attribute)
        ]
        stored = min(used, key=lambda node: not isinstance(node.ctx, ast.Store))
        field = stored.attr
        wrong = f"{field}x"
        lines = text.splitlines(keepends=True)
        at = stored.lineno - 1
        lines[at] = lines[at].replace(f".{field}", f".{wrong}", 1)
        (tmp_path / f"wrong_{name}.py").write_text("".join(lines))
        planted[f"wrong_{name}.py:{stored.lineno}"] = wrong
    files = sorted(path.name for path in tmp_path.iterdir())
    options = ("--no-incremental", "--follow-imports=silent")
    # Kernels of several modules import their records from ioopt.
    env = os.environ | {"MYPYPATH": str(ROOT)}
    command = [sys.executable, "-m", "mypy", *options, *files]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=env)
    found = re.findall(
        r'^(\w+\.py:\d+): error: .* has no attribute "(\w+)"', run.stdout, re.M
    )
    assert len(planted) >= 11 and dict(found) == planted
