"""Several solvers on one instance by one measure, one row a solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from ioopt import registry
from ioopt.comparing.measures import Row, add_ratios, spent, tightest
from ioopt.compiled import choice as machine_code
from ioopt.errors import (
    BackendMissingError,
    ExitCode,
    InstanceError,
    NotApplicableError,
    UsageError,
)
from ioopt.options import SolveOptions, parse_assignments, refuse_left_backend
from ioopt.problems.base import Problem
from ioopt.registry import (
    KindSpec,
    Measure,
    SolverSpec,
    load_target,
    measure_of,
    own_bound,
)
from ioopt.registry.types import BOUND, REFERENCE
from ioopt.result import Result, Status, StopReason
from ioopt.solving import load, solve

if TYPE_CHECKING:
    import pandas as pd


def parse_solver(text: str) -> tuple[str, dict[str, str]]:
    """Split ``name:key=value,key=value`` into a solver's name and its settings.

    >>> parse_solver("fill:alpha=0")
    ('fill', {'alpha': '0'})
    >>> parse_solver("mine:solve")
    ('mine:solve', {})
    """
    name, _, words = text.partition(":")
    function, _, rest = words.partition(":")
    if function and "=" not in function:
        name, words = f"{name}:{function}", rest
    return name, parse_assignments(words.split(",")) if words else {}


PLAIN_ITEMS = 50
"""So many tasks or jobs are replayed in plain Python before machine code is loaded."""
MORE_COLUMNS = 2
"""Metrics beside the measure in the frame of :func:`compare`."""
Solvers = str | Callable[..., object] | Sequence[str | Callable[..., object]]


def compare(
    source: Any, solvers: Solvers | None = None, *, wide: bool = False, **options: Any
) -> pd.DataFrame:
    """Run *solvers* (default: the kind's own list); a DataFrame, one row a
    solver, by its name.

    *source* is an instance, or a list of them: the index is then (instance, solver). A
    solver is a name, ``name:key=value``, ``module:function``, or a function. *options*
    are those of :func:`ioopt.solving.solve`. The columns are status, the measure (in
    its unit: the default is what the user of the kind waits for) with bound, gap and
    ratio to the best, seconds of building and solving, and two more metrics; *wide*:
    all keys of a result, and every metric.

    >>> compare("cycle3", ["minmin", "job-data-present"])["makespan_seconds"].round(3).to_dict()
    {'minmin': 9.748, 'job-data-present': 14.12}
    """
    import pandas as pd

    several = isinstance(source, (list, tuple))
    problems = [load(one) for one in (source if several else [source])]
    rows: list[Row] = []
    for problem in problems:
        rows += compare_rows(problem, solvers, **options)
        if interrupted(rows):
            break
    index = ["instance", "solver"] if several else ["solver"]
    kind = registry.kind_of_problem(problems[0])
    by = measure_of(kind, options.get("measure")).name
    flat = [
        row | row["metrics"] | {by: row["value"], "seconds": spent(row)} for row in rows
    ]
    frame = pd.DataFrame(flat).set_index(index)
    if wide:
        return frame.drop(columns=["metrics", "options", "versions"])
    more = [name for name in kind.compare_columns if name != by][:MORE_COLUMNS]
    return frame.reindex(
        columns=["status", by, "bound", "gap", "ratio_to_best", "seconds", *more]
    )


def compare_rows(
    source: Any,
    solvers: Solvers | None = None,
    *,
    measure: str | None = None,
    settings: Mapping[str, object] | None = None,
    **options: Any,
) -> list[Row]:
    """The rows of :func:`compare` as plain dictionaries (a result
    without plan, schedule).

    *settings* go to every solver that knows them (a key that none knows is a
    UsageError); a solver that lacks its backend, fails or breaks a rule gives a
    row with status ``error`` and no figures, one that cannot take the instance a
    row with ``does not apply``, and the others go on. After an interruption no
    further solver is run.
    """
    refuse_left_backend(options.get("backend"))
    problem = load(source)
    kind = registry.kind_of_problem(problem)
    by = measure_of(kind, measure)
    named = [solvers] if isinstance(solvers, str) or callable(solvers) else solvers
    texts = named or default_solvers(kind, problem)
    chosen = [_chosen(kind, text, settings or {}) for text in texts]
    known = {key for choice in chosen for key in choice.known}
    for key in settings or {}:
        if key not in known:
            raise UsageError(
                f"no solver compared here has a setting {key!r}; "
                f"{registry.suggest(key, known)}"
            )
    rows: list[Row] = []
    shared = None
    try:
        limit = options.get("time_limit", SolveOptions.time_limit_seconds)
        _load_shared(problem, kind, [row.spec for row in chosen], limit)
        for choice in chosen:
            result = _run(problem, kind, choice, {"measure": by.name, **options})
            rows.append(_row(result, choice))
            if interrupted(rows):
                break
        else:
            shared = _common_bound(rows, chosen, problem, kind, by)
    except (
        KeyboardInterrupt
    ):  # outside of a solver, which answers with the best plan so far
        if len(rows) < len(chosen):
            choice = chosen[len(rows)]
            rows.append(_row(_unanswered(problem, kind, choice, "interrupted"), choice))
        rows[-1]["stop"] = str(StopReason.INTERRUPTED)
    _doubt_own_claims(rows, chosen, kind, by)
    add_ratios(rows, by, shared)
    return rows


def interrupted(rows: Sequence[Row]) -> bool:
    """Whether the last of *rows* was interrupted: nothing more is to be run."""
    return bool(rows) and rows[-1]["stop"] == StopReason.INTERRUPTED


def _row(result: Result, choice: _Choice) -> Row:
    row = result.summary()
    row["solver"] = choice.text
    row["value"] = result.value
    row["reference"] = REFERENCE in choice.spec.abilities
    if (
        result.status is Status.ERROR
    ):  # figures of what failed would be compared with the others'
        row |= {"objective": None, "bound": None, "gap": None, "metrics": {}}
    return row


def _doubt_own_claims(
    rows: Sequence[Row], chosen: Sequence[_Choice], kind: KindSpec, measure: Measure
) -> None:
    """Take from the user's own solvers a proof that a sound plan of
    another row contradicts.
    """
    rivals = [row for row in rows if row["value"] is not None and not row["reference"]]
    for row, choice in zip(rows, chosen):
        others = [other for other in rivals if other is not row]
        if not others or not choice.spec.own:
            continue
        pick = max if measure.sense == "max" else min
        best = pick(others, key=lambda other: other["value"])
        if row["status"] == Status.INFEASIBLE:
            said = f"says that no plan exists, but {best['solver']} has one"
            row |= {"status": str(Status.ERROR), "notes": [*row["notes"], said]}
        bound = row["bound"]
        if (
            bound is not None
            and tightest(best["value"], [bound], measure.sense) is None
        ):
            said = (
                f"its bound {bound:g} contradicts the plan of {best['solver']} and is "
                "left out"
            )
            row |= {"bound": None, "notes": [*row["notes"], said]}
            row["bound"] = own_bound(row, kind, measure.name)
            if row["status"] == Status.OPTIMAL:
                row["status"] = str(Status.FEASIBLE)


def _load_shared(
    problem: Problem, kind: KindSpec, specs: Sequence[SolverSpec], limit: float | None
) -> None:
    """Load what rows share before the first is timed: modules, and the replay's
    machine code if made.
    """
    for target in (
        kind.check,
        kind.simulate,
        kind.bound,
        *(spec.target for spec in specs),
    ):
        if target is not None:
            load_target(target)
    if any("CP-SAT" in spec.backends for spec in specs):
        import_module("ioopt.solvers.backends.cpsat_program")
    items = getattr(problem, "tasks", getattr(problem, "jobs", ()))
    if len(items) > PLAIN_ITEMS and (
        limit is None or limit > 2 * machine_code.LOADING_SECONDS
    ):
        family = kind.family.replace("_", "-")
        # The first kernel of a family is its replay's, and loading numba
        # is most of the time.
        kernels = (
            kernel
            for kernel in machine_code.KERNELS.values()
            if kernel.family == family
        )
        if (first := next(kernels, None)) and first.ready():
            first.compile()


def default_solvers(kind: KindSpec, problem: Problem) -> tuple[str, ...]:
    """What ``compare`` runs on *problem* when no solver is named."""
    if kind.choose_solvers is not None:
        chosen: tuple[str, ...] = load_target(kind.choose_solvers)(problem)
        return chosen
    return kind.compare_solvers or tuple(
        spec.name for spec in registry.solvers_for(kind.kind)
    )


class _Choice(NamedTuple):
    """A solver as the user named it, and the settings that it gets."""

    text: str
    spec: SolverSpec
    solver: str | Callable[..., object]
    known: Set[str]
    settings: Mapping[str, object]


def _chosen(
    kind: KindSpec, solver: str | Callable[..., object], common: Mapping[str, object]
) -> _Choice:
    """The solver that was named or given, with those of the *common*
    settings that it knows.
    """
    name, own = parse_solver(solver) if isinstance(solver, str) else (solver, {})
    spec = registry.solver(name, kind)
    text = solver if isinstance(solver, str) else spec.name
    known = set(load_target(spec.settings).model_fields) if spec.settings else set()
    return _Choice(
        text,
        spec,
        name,
        known,
        {key: common[key] for key in common if key in known} | own,
    )


def _run(
    problem: Problem, kind: KindSpec, choice: _Choice, options: Mapping[str, Any]
) -> Result:
    """Return the result of one solver; a failure and an instance it cannot
    take are results too.
    """
    spec, given = choice.spec, dict(options)
    if given.get("backend") not in spec.backends:
        given.pop("backend", None)  # heuristics need none
    try:
        # The kind's bound is the same for all rows: _common_bound computes it once.
        return solve(
            problem, choice.solver, settings=choice.settings, bound=False, **given
        )
    except BackendMissingError as error:
        return _failed(problem, kind, choice, str(error), error.exit_code)
    except NotApplicableError as error:
        refused = _unanswered(problem, kind, choice, str(error))
        return refused.model_copy(update={"status": Status.NOT_APPLICABLE})
    except (UsageError, InstanceError) as error:
        if not spec.own:
            raise
        return _failed(problem, kind, choice, str(error), error.exit_code)
    except Exception as error:
        from ioopt.failures import failure

        return _failed(problem, kind, choice, failure(spec, error), ExitCode.INTERNAL)


def _failed(
    problem: Problem, kind: KindSpec, choice: _Choice, note: str, code: ExitCode
) -> Result:
    """Return the result of a solver that failed; *code* is what it alone would
    end the command with.
    """
    failed = _unanswered(problem, kind, choice, note)
    given = {"exit_code": int(code)}
    return failed.model_copy(update={"status": Status.ERROR, "options": given})


def _unanswered(problem: Problem, kind: KindSpec, choice: _Choice, note: str) -> Result:
    return Result(
        instance=problem.name,
        family=kind.family,
        kind=kind.kind,
        solver=choice.spec.name,
        status=Status.UNKNOWN,
        stop=StopReason.FINISHED,
        notes=(note,),
    )


def _common_bound(
    rows: Sequence[Row],
    chosen: Sequence[_Choice],
    problem: Problem,
    kind: KindSpec,
    measure: Measure,
) -> float | None:
    """The best bound that holds for every plan: what solvers of the whole problem
    proved, or the kind's.
    """
    proved = [
        row["bound"]
        for row, choice in zip(rows, chosen)
        if _is_universal(choice.spec, row)
    ]
    lacking = any(row["bound"] is None and row["value"] is not None for row in rows)
    if lacking and kind.bound is not None and measure.name == kind.objective_name:
        proved.append(load_target(kind.bound)(problem))
    return tightest(None, proved, measure.sense)


def _is_universal(spec: SolverSpec, row: Row) -> bool:
    if BOUND not in spec.abilities or spec.fixed:
        return False
    plain = registry.settings_for(spec, {})
    return plain is None or row["options"].get("settings") == plain.model_dump(
        mode="json"
    )
