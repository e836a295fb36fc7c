"""ioopt: where should work run and where should its data be, when I/O is the
bottleneck?

>>> import ioopt
>>> problem = ioopt.load("cycle3")
>>> ioopt.solve(problem, solver="minmin").status
<Status.FEASIBLE: 'feasible'>
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ioopt.errors import UsageError
from ioopt.options import DEFAULT_TIME_LIMIT_SECONDS
from ioopt.version import __version__ as __version__

if TYPE_CHECKING:
    from pulp import LpProblem

    from ioopt import embed as embed
    from ioopt.building import Batch as Batch
    from ioopt.building import Workflow as Workflow
    from ioopt.comparing import compare as compare
    from ioopt.comparing import study as study
    from ioopt.comparing.shown import Study as Study
    from ioopt.options import Deadline
    from ioopt.protocols import Incumbents, Simulation
    from ioopt.result import Result as Result
    from ioopt.result import Status as Status
    from ioopt.result import StopReason as StopReason
    from ioopt.result import Violation as Violation
    from ioopt.solvers.model_files import ExportedModel

__all__ = [
    "Batch",
    "Result",
    "Status",
    "StopReason",
    "Violation",
    "Workflow",
    "check",
    "compare",
    "from_pulp",
    "load",
    "model",
    "simulate",
    "solve",
    "study",
    "to_pulp",
]

Solver = str | Callable[..., object]
"""The name of a solver, ``file.py:function``, ``module:function``, or a function."""

_LOADED_LATER = {
    "Batch": "ioopt.building",
    "Workflow": "ioopt.building",
    "Result": "ioopt.result",
    "Status": "ioopt.result",
    "StopReason": "ioopt.result",
    "Violation": "ioopt.result",
    "compare": "ioopt.comparing",
    "study": "ioopt.comparing",
}
"""Public classes and functions -> the modules from which they are imported on first
use.
"""


def load(source: object) -> Any:
    """Return the problem that *source* describes.

    *source* is a path, the name of a bundled instance, ``-`` (standard input), a
    dictionary, a builder, or a problem, which is returned unchanged. Raises
    InstanceError with one line that names the place of the fault when the instance is
    not valid.

    >>> load("cycle3")
    <ReplicationProblem cycle3: 3 nodes, 1 file, 6 tasks>
    """
    from ioopt import loading

    return loading.load(source)


def model(
    source: object,
    which: str | None = None,
    settings: Mapping[str, object] | None = None,
) -> ExportedModel:
    """Return the integer program of an instance that ``ioopt export`` would write.

    *which* names the model (None: the default of the kind), and *settings* are those of
    ``ioopt export --set``. Raises UsageError for a kind without a program, and for a
    model or a setting that the kind does not have.

    >>> program = model("cycle3", settings={"cycles": "printed"}).program
    >>> len(program.variables), program.variables[0].name
    (31, 'T_t0_n0')
    """
    from ioopt import exchange, loading

    return exchange.model_of(loading.load(source), which, settings or {})[0]


def to_pulp(model: object) -> LpProblem:
    """Return the program of *model*, or of the default model of an instance, as a new
    PuLP problem, to change and to solve; its times are in seconds.

    >>> lp = to_pulp(model("cycle3"))
    >>> lp += lp.variablesDict()["T_t0_n0"] == 1, "mine"
    >>> lp.constraints["mine"]
    1*T_t0_n0 + -1 = 0
    """
    from ioopt import exchange, loading
    from ioopt.solvers.backends import pulp_program
    from ioopt.solvers.model_files import ExportedModel

    if not isinstance(model, ExportedModel):
        model = exchange.model_of(loading.load(model), None, {})[0]
    return pulp_program.to_pulp(model.program.in_seconds())[0]


def from_pulp(
    source: object,
    lp: LpProblem,
    which: str | None = None,
    settings: Mapping[str, object] | None = None,
) -> Result:
    """Return the checked, simulated :class:`Result` of a solved PuLP problem.

    *lp* is what :func:`to_pulp` made of ``model(source, which, settings)``, and rows
    may have been added to it. Names, whole numbers and rows are checked as by ``ioopt
    import sol``; a note says what was added. Raises InstanceError for a problem without
    a solution, and for a solution that is not one of this model.

    >>> import pulp
    >>> lp = to_pulp(model("cycle3"))
    >>> lp.solve(pulp.PULP_CBC_CMD(msg=False))
    1
    >>> round(from_pulp("cycle3", lp).objective, 3)
    5.184
    """
    from pulp import LpProblem

    from ioopt import exchange, loading

    if not isinstance(lp, LpProblem):
        raise UsageError(
            "from_pulp takes the instance, then the solved PuLP problem, not "
            f"{type(lp).__name__}"
        )
    return exchange.result_of_pulp(loading.load(source), lp, which, settings or {})


def solve(
    source: object,
    solver: Solver | None = None,
    *,
    measure: str | None = None,
    time_limit: float | str | None = DEFAULT_TIME_LIMIT_SECONDS,
    gap: float | None = None,
    threads: int = 1,
    seed: int = 0,
    backend: str | None = None,
    settings: Mapping[str, object] | None = None,
    warm_start: object = None,
    log: str | None = None,
    progress: Callable[[Incumbents[Any]], None] | None = None,
    bound: bool = True,
    deadline: Deadline | None = None,
) -> Result:
    """Solve one instance and return a checked, simulated :class:`Result`.

    *solver* is a name (None: the default solver of the kind), ``"file.py:function"``,
    ``"module:function"``, or a function. The function takes the problem, or the problem
    and a :class:`~ioopt.protocols.SolveRequest`. It returns an Outcome, a plan or the
    plan's dictionary; for tasks on nodes the queue of each node is enough.

    If *measure* is given, the objective, bound and gap of the result refer to that
    metric, and solvers that can optimise it do so. Otherwise they refer to the solver's
    own objective. The time limit is a number of seconds or text such as ``"2min"``;
    None means no limit. It counts from this call, without the time in which the first
    call imports its solver, or from the time when the caller made *deadline*. *gap*,
    *threads*, *seed*, *backend* and *log* are explained at
    :class:`ioopt.options.SolveOptions`; *settings* are the solver's own settings
    (``--set`` on the command line). *warm_start* is a Result or a plan. *progress* is
    called with the best plan so far. If *bound* is False, no bound is computed for
    solvers that prove none, because such a bound may need an integer program.

    Raises UsageError or InstanceError for bad input, BackendMissingError, and OutOfTime
    when *source* cannot be read in time. Infeasibility, other limits and failing
    solvers are returned as results.

    >>> result = solve("two-writers", "fill")
    >>> result.status.value, result.violations
    ('optimal', ())
    """
    from ioopt import solving

    return solving.solve(
        source,
        solver,
        measure=measure,
        time_limit=time_limit,
        gap=gap,
        threads=threads,
        seed=seed,
        backend=backend,
        settings=settings,
        warm_start=warm_start,
        log=log,
        progress=progress,
        bound=bound,
        deadline=deadline,
    ).unpacked()


def simulate(
    source: object,
    plan: object,
    *,
    link: str | None = None,
    actual: Mapping[str, float] | None = None,
    arithmetic: str | None = None,
    engine: str | None = None,
    rates: str | None = None,
    seed: int | None = None,
    seeds: Sequence[int] | None = None,
    seconds: float | None = None,
    deadline: Deadline | None = None,
) -> Simulation:
    """Replay *plan* on the simulator of the instance's kind; *plan* is a plan or a
    Result, as an object or a dictionary.

    The keywords depend on the kind. Replication takes *link* (``shared``,
    ``per-node``), *actual* (the actual compute seconds of each task) and *engine*. Work
    directories take *actual*. Traces of batch I/O take *arithmetic*, *engine* and
    *rates*. Quantum selection takes *seed* and *seconds*, and flexible gangs take
    *seeds* and *seconds*. A replay that can be stopped early returns, at the
    *deadline*, the part simulated so far and a note. Raises SimulationError for a plan
    that cannot be carried out.

    >>> simulate("cycle3", solve("cycle3", "minmin").plan).metrics["remote_bytes"]
    64000000
    """
    from ioopt import solving

    given = {
        "link": link,
        "actual": actual,
        "arithmetic": arithmetic,
        "engine": engine,
        "rates": rates,
        "seed": seed,
        "seeds": seeds,
        "seconds": seconds,
    }
    options = {name: value for name, value in given.items() if value is not None}
    replay = solving.simulate(source, plan, deadline=deadline, **options)
    return replay.unpacked()


def check(
    source: object,
    result: object = None,
    link: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Violation]:
    """Check *result*, a result or a bare plan, against the instance *source*; return
    the violations, an empty list if there are none.

    Without *result*, only the instance is checked. Every statement of a Result is
    checked, not only its plan. *settings* are the settings, such as ``{"loop":
    "open"}``, that the result may add to its instance; any other added setting is a
    violation. *link* is short for the setting ``{"link": link}``. Raises InstanceError
    for invalid input and for an instance that no plan can serve.

    >>> check("cycle3", solve("cycle3", "minmin"))
    []
    """
    from ioopt import checking

    return checking.check(source, result, link, settings)


def __getattr__(name: str) -> Any:
    """Import a public name of another module, or the package ``embed``, on first
    use.
    """
    if name in _LOADED_LATER:
        value = getattr(import_module(_LOADED_LATER[name]), name)
    elif name == "embed":
        value = import_module("ioopt.embed")
    else:
        raise AttributeError(f"module 'ioopt' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, "embed", "__version__", "__doc__", "__file__", "__path__"})
