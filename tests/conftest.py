"""Shared settings and helpers of all tests: repeatable limits, test data, and running
commands.
"""

import itertools
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from ioopt import options
from ioopt.cli.main import main
from ioopt.compiled import library
from ioopt.compiled.library import Engine
from ioopt.compiled.memory import Machine, Maker, Plain
from ioopt.options import Deadline
from ioopt.solvers.backends import cpsat_program, mathopt_program, pulp_program
from ioopt.solvers.backends.answer import LEAST_SECONDS, BackendLimits
from ioopt.solvers.replication.exact import exact_workflow
from ioopt.solvers.replication.search import anneal, params

os.environ.setdefault("MPLBACKEND", "Agg")
# Interpreters that tests start use the bytecode that the first one compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# Hypothesis would try constants of all modules imported so far, and these differ from
# run to run.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants

# A run in the background may inherit that SIGINT is ignored, but tests send this signal
# to themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The examples of a property depend neither on the speed of the machine nor on chance.
# To look for new counterexamples, use pytest --hypothesis-profile=explore.
settings.register_profile(
    "explore", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "repeatable", settings.get_profile("explore"), derandomize=True
)
settings.load_profile("repeatable")

ROOT = Path(__file__).resolve().parent.parent

needs_kernels = pytest.mark.skipif(
    bool(library.why_plain()), reason=f"plain kernels: {library.why_plain()}"
)
ENGINES = ("python", pytest.param("compiled", marks=needs_kernels))
"""How kernels run; compiled ones only where a compiler was found."""


def first(count: int, values: Iterable[Any]) -> list[Any]:
    """Return *values* as parameters of a test; all after the first *count* are marked
    slow.
    """
    slow = pytest.mark.slow
    return [
        value
        if k < count or isinstance(value, ParameterSet)
        else pytest.param(
            *(value if isinstance(value, tuple) else (value,)), marks=slow
        )
        for k, value in enumerate(values)
    ]


def both_makers() -> list[Maker]:
    """Return what makes the data of plain kernels and of compiled ones.

    The test is skipped, visibly, where no kernels were compiled.
    """
    loaded = library.loaded()
    if loaded is None:
        pytest.skip(f"kernels are plain Python here: {library.why_plain()}")
    return [Plain(), Machine(loaded)]


def both_engines() -> tuple[Engine, Engine]:
    """Return how plain and how compiled kernels are asked for.

    The test is skipped, visibly, where no kernels were compiled.
    """
    both_makers()
    return "python", "compiled"


def deadline_of_checks(count: int) -> Deadline:
    """Return a deadline that expires after *count* checks, whatever the clock says."""
    return ticking(count - 0.5)


def ticking(limit: float, seconds: float = 1.0) -> Deadline:
    """Return a deadline whose clock advances by *seconds* whenever it is read."""
    ticks = itertools.count()
    return Deadline(limit, clock=lambda: next(ticks) * seconds)


def shared_root() -> Path:
    """Return the folder of the worked cases and real data.

    It is ``IOOPT_SHARED`` or, if that is not set, ``shared`` beside the checkout.
    """
    return Path(os.environ.get("IOOPT_SHARED", ROOT.parent / "shared"))


def shared_path(*parts: str) -> Path:
    """Return a path under the shared folder or, if it does not exist there, under
    ``tests``.

    The folder ``tests`` holds the worked cases and small files. If the path exists in
    neither folder, the test is skipped with a message.
    """
    for root in (shared_root(), Path(__file__).parent):
        if root.joinpath(*parts).exists():
            return root.joinpath(*parts)
    pytest.skip(
        f"{Path(*parts)} is not here (set IOOPT_SHARED to the folder that holds it)"
    )


def shared_files(folder: str, pattern: str = "*.json") -> list[Path]:
    """Return the files in *folder* that match *pattern*, as parameters of a test.

    The list is empty if the folder is missing; pytest then skips the test with a
    message.
    """
    roots = (shared_root(), Path(__file__).parent)
    return next(
        (found for r in roots if (found := sorted((r / folder).glob(pattern)))), []
    )


def present(folder: str, rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return those *rows* whose first item names a file that exists in *folder*.

    Large logs are not part of the project, so some may be missing.
    """
    return [row for row in rows if shared_files(folder, row[0])]


def worked_case(path: Path) -> Any:
    """Return a worked case of batch I/O without the policies that were removed.

    Copies of the case in the shared folder still contain them.
    """
    case = json.loads(path.read_text())
    case["expected"].pop("set-10+top", None)
    return case


@pytest.fixture(scope="session", autouse=True)
def a_library_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Use a temporary library, so that tests do not change that of the checkout."""
    os.environ["IOOPT_LIBRARY"] = str(tmp_path_factory.mktemp("library"))
    found = [
        str(shared_root() / "data" / name)
        for name in ("dagbench", "workflows", "wfformat")
    ]
    os.environ.setdefault("IOOPT_SOURCES", os.pathsep.join(found))


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs a command in an empty folder, with 80 columns.

    The function returns the exit code, standard output and standard error.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def command_beside(*folders: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs ioopt in a new process.

    The process runs in the first of *folders*, and its Python path contains all of
    them.
    """
    path = os.pathsep.join([*map(str, folders), str(ROOT)])
    code = "import sys; from ioopt.cli.main import main; sys.exit(main())"

    def call(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
        env = os.environ | {"PYTHONPATH": path}
        return subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=folders[0],
            text=True,
            capture_output=True,
            env=env,
            **more,
        )

    return call


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the module of the Snakemake plugin in the checkout."""
    pytest.importorskip("snakemake_interface_scheduler_plugins")
    pytest.importorskip("snakemake_interface_common")
    monkeypatch.syspath_prepend(
        str(ROOT / "plugins" / "snakemake-scheduler-plugin-ioopt")
    )
    return import_module("snakemake_scheduler_plugin_ioopt")


LOOK_SECONDS = 2.0**-6
"""Seconds by which the clock of the default tests advances at each reading."""
MOST_WORK = 5.0
"""Largest number of deterministic seconds for a run of CP-SAT."""
LOOKS = itertools.count()


def by_work(configure: Callable[..., None]) -> Callable[..., None]:
    """Return *configure* with limits on CP-SAT's deterministic time instead of its
    clock time.

    The limit has the same number of seconds, but at most ``MOST_WORK``.
    """

    def configured(parameters: Any, limits: BackendLimits, more: Any) -> None:
        work = min(limits.work or math.inf, limits.seconds or math.inf, MOST_WORK)
        limits = replace(limits, seconds=None, work=work)
        configure(parameters, limits, more)

    return configured


def to_the_end(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return *run* without the time limit of HiGHS and CBC, unless it is practically
    zero.
    """

    def solve(*given: Any) -> Any:
        def longer(item: Any) -> Any:
            late = item.seconds is not None and item.seconds <= LEAST_SECONDS
            return item if late or "SCIP" in given else replace(item, seconds=None)

        return run(
            *(
                longer(item) if isinstance(item, BackendLimits) else item
                for item in given
            )
        )

    return solve


COUNTED: list[tuple[Any, str, Any]] = [
    (options, "now", lambda: next(LOOKS) * LOOK_SECONDS),
    (cpsat_program, "_configure", by_work(cpsat_program._configure)),
    (mathopt_program, "solve_by_mathopt", to_the_end(mathopt_program.solve_by_mathopt)),
    (pulp_program, "solve_cbc", to_the_end(pulp_program.solve_cbc)),
    # A count ends these searches; in plain Python they take a tenth of a second.
    (
        params,
        "PARAMS",
        params.SearchParams(
            evaluations_per_task=2,
            fewest_evaluations=60,
            tasks_per_second=100,
            most_steps=10,
            first_restart=30,
            most_restarts=2,
        ),
    ),
    (
        exact_workflow,
        "LIMITS",
        exact_workflow.LIMITS.model_copy(update={"tiny_replays": 500}),
    ),
    (anneal, "STEP_SECONDS", 5e-4),
]
REAL = [(module, name, getattr(module, name)) for module, name, _ in COUNTED]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Make default tests independent of the speed of the machine.

    Deadlines count how often they are checked, and backends count deterministic work
    instead of seconds. Slow tests use the real clock.
    """
    for module, name, found in REAL if item.get_closest_marker("slow") else COUNTED:
        setattr(module, name, found)
