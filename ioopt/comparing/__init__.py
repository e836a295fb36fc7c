"""Compare several solvers on one instance by one measure; each solver has one row."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from importlib import import_module
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple, Unpack

from ioopt import registry
from ioopt.catalog import resolve, with_folders_opened
from ioopt.comparing.joined import is_universal, joined
from ioopt.comparing.measures import Row, add_ratios, restrict, spent
from ioopt.comparing.runs import (
    Runs,
    is_stored,
    runs_in,
    told_again,
)
from ioopt.errors import (
    BackendMissingError,
    ExitCode,
    InstanceError,
    NotApplicableError,
    UsageError,
)
from ioopt.families import (
    ANYTIME,
    BOUND,
    EXACT,
    REFERENCE,
    Kind,
    Metric,
    SolverSpec,
)
from ioopt.formats.native import is_sqlite, read_json
from ioopt.loading import load, problem_from_dict
from ioopt.options import (
    DEFAULT_TIME_LIMIT_SECONDS,
    backend_among,
    parse_solver,
    refuse_left_backend,
)
from ioopt.problems.base import Json, Problem, first_repeated
from ioopt.registry import measure_of
from ioopt.result import Result, Status, StopReason
from ioopt.run_statements import forbids_copies
from ioopt.solving import SolveKeywords, solve
from ioopt.verdict import best_of, own_bound, strongest, strongest_sound

if TYPE_CHECKING:
    import pandas as pd

    from ioopt.comparing.shown import Study


SLOW = {ANYTIME, BOUND, EXACT, REFERENCE}
"""Abilities of solvers that may use their whole time limit, or that do not compete."""
MORE_COLUMNS = 2
"""The number of metrics, besides the measure, in the table that :func:`compare`
returns.
"""
Solver = str | Callable[..., object]
Solvers = Solver | Sequence[Solver]


def compare(
    source: object,
    solvers: Solvers | Mapping[str, Solver] | None = None,
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
    wide: bool = False,
    summary: bool = False,
    baseline: str | None = None,
    by: str | None = None,
) -> pd.DataFrame:
    """Run *solvers* (default: the kind's own list) and return a DataFrame with one row
    for each solver.

    *source* is an instance, a list of them, or a folder of instance files; for several
    the index of the DataFrame is (instance, solver). If *source* is a file of ``ioopt
    compare --format json``, its runs are returned and nothing is solved. A solver is a
    name, ``name:key=value``, ``file.py:function``, ``module:function``, or a function.
    The other keywords are those of :func:`ioopt.solve` and apply to every solver; a
    setting goes only to the solvers that have it. The columns are the status, the
    measure (default: the kind's first one) with its bound, its gap and its ratio to the
    best, the seconds of building and solving, and two more metrics. If *wide* is true,
    the columns are all fields of a result and all metrics.

    If *summary* is true, there is one row for each solver over all instances, with the
    fields of :class:`ioopt.comparing.summary.SummaryRow` as columns: ratios to
    *baseline* (default: the kind's baseline or the first solver) with interval, wins,
    test, mean gap and median time, over verified plans only. With *by*, the name of a
    setting of the instances' preset such as ``"disk"``, there is such a row for each
    value of it, and the index is (value, solver).

    >>> found = compare("cycle3", ["minmin", "job-data-present"])
    >>> found["makespan_seconds"].round(3).to_dict()
    {'minmin': 9.748, 'job-data-present': 14.12}
    """
    import pandas as pd

    if baseline is not None and not summary:
        raise UsageError("baseline: the baseline of a summary: add summary=True")
    if by is not None and not summary:
        raise UsageError("by: the setting of a summary: add summary=True")
    options: SolveKeywords = {
        "measure": measure,
        "time_limit": time_limit,
        "gap": gap,
        "threads": threads,
        "seed": seed,
        "backend": backend,
        "settings": settings,
        "warm_start": warm_start,
        "log": log,
    }
    several, runs = _runs(source, solvers, options, summary)
    if summary:
        return _study_of(runs, baseline, by, {}).summary()
    index = ["instance", "solver"] if several else ["solver"]
    shown = runs.measure.name
    flat = []
    for row in runs.labelled().rows:
        flat.append(row | row["metrics"] | {shown: row["value"], "seconds": spent(row)})
    frame = pd.DataFrame(flat).set_index(index)
    if wide:
        return frame.drop(columns=["metrics", "options", "versions"])
    more = [name for name in runs.kind.columns if name != shown][:MORE_COLUMNS]
    return frame.reindex(
        columns=["status", shown, "bound", "gap", "ratio_to_best", "seconds", *more]
    )


def study(
    source: object,
    solvers: Solvers | Mapping[str, Solver] | None = None,
    *,
    measure: str | None = None,
    time_limit: float | str | None = DEFAULT_TIME_LIMIT_SECONDS,
    seed: int = 0,
    settings: Mapping[str, object] | None = None,
    baseline: str | None = None,
    by: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Study:
    """Compare *solvers* as :func:`compare` does, and return an object that makes the
    table and the picture of a paper.

    ``print(study)`` shows the table of the command, ``study.summary()`` is a DataFrame,
    ``study.latex("table.tex")`` and ``study.plot("ratios.pdf", width=85)`` write LaTeX
    and the picture, and ``study.save("runs.json")`` keeps the runs for the command and
    for this function. Solvers may have names: ``{"Ours": function, "MinMin":
    "minmin"}``. Stored runs take *labels* for the names that they have. A function
    alone on several instances is compared with the quick heuristics too. The other
    parameters are those of :func:`compare`.

    >>> found = study("cycle3", {"MinMin": "minmin", "JDP": "job-data-present"})
    >>> found.summary()["ratio"].round(3).to_dict()
    {'MinMin': 1.0, 'JDP': 1.449}
    """
    options: SolveKeywords = {
        "measure": measure,
        "time_limit": time_limit,
        "seed": seed,
        "settings": settings,
    }
    _, runs = _runs(source, solvers, options, True)
    return _study_of(runs, baseline, by, labels or {})


def _study_of(
    runs: Runs, baseline: str | None, by: str | None, labels: Mapping[str, str]
) -> Study:
    """Return the comparison that *runs* make, under the *labels* of their solvers."""
    from ioopt.comparing.shown import Study

    given = [f"{solver}={label}" for solver, label in labels.items()]
    return Study(told_again(runs, baseline, given), by)


def _runs(
    source: object,
    solvers: Solvers | Mapping[str, Solver] | None,
    options: SolveKeywords,
    ratios: bool,
) -> tuple[bool, Runs]:
    """Return whether *source* may be several instances, and the runs of *solvers* on
    it, or those that it has stored. For *ratios*, a function alone gets rivals.
    """
    several, sources = _opened_all(source)
    stored = [one for one in sources if isinstance(one, Runs)]
    if not stored:
        problems = [one for one in sources if not isinstance(one, Runs)]
        if ratios:
            solvers = _with_rivals(problems, solvers)
        return several, _run_all(problems, solvers, options)
    if solvers is not None:
        raise UsageError("stored runs are not solved again: leave out the solvers")
    runs = joined(stored)
    return len(runs.instances) > 1, runs


def opened(source: object) -> Problem | Runs:
    """Return the problem that *source* describes or, for a file of stored runs or the
    store of a sweep, these runs.
    """
    if not isinstance(source, (str, os.PathLike)):
        return load(source)
    path = resolve(source)
    if is_sqlite(path):
        # Import by name, because the modules of campaigns import this package.
        read: Callable[[str], Runs] = resolve_name(
            "ioopt.campaign.comparison:runs_of_store"
        )
        return read(os.fspath(path))
    data = read_json(path)
    name = "<stdin>" if path == "-" else os.fspath(source)
    return runs_in(data, name) if is_stored(data) else problem_from_dict(data, name)


def _opened_all(source: object) -> tuple[bool, list[Problem | Runs]]:
    """Return whether *source* may be several instances, a list or a folder, and what
    is in it: only instances, or only stored runs.
    """
    if isinstance(source, (list, tuple)):
        several, sources = True, list(source)
    elif isinstance(source, (str, os.PathLike)):
        several = os.path.isdir(source)
        sources = list(with_folders_opened([os.fspath(source)]))
    else:
        several, sources = False, [source]
    if not sources:
        raise UsageError("there is no instance to compare on")
    found = [opened(one) for one in sources]
    if len({isinstance(one, Runs) for one in found}) > 1:
        raise UsageError("name only files of stored runs, or only instances")
    return several, found


def _run_all(
    problems: Sequence[object],
    solvers: Solvers | Mapping[str, Solver] | None,
    options: SolveKeywords,
) -> Runs:
    """Run *solvers* on all *problems*, until the user interrupts. The keys of a mapping
    label the solvers or, where two solvers are called alike, are their names.
    """
    kind = registry.kind_of_problem(problems[0])
    labels: dict[str, str] = {}
    if isinstance(solvers, Mapping):
        named = {_text_of(kind, solver): name for name, solver in solvers.items()}
        if len(named) == len(solvers):
            labels = {text: name for text, name in named.items() if text != name}
            solvers = list(solvers.values())
    rows: list[Row] = []
    for problem in problems:
        rows += compare_rows(problem, solvers, **options)
        if interrupted(rows):
            break
    return Runs(rows, kind, measure_of(kind, options.get("measure")), None, labels)


def _text_of(kind: Kind, solver: Solver) -> str:
    """Return the text that names *solver* in the rows of a comparison."""
    return solver if isinstance(solver, str) else registry.solver(solver, kind).name


def compare_rows(
    source: object,
    solvers: Solvers | Mapping[str, Solver] | None = None,
    **options: Unpack[SolveKeywords],
) -> list[Row]:
    """Return the rows of :func:`compare` as dictionaries; each is a result without plan
    and schedule.

    The keys of a mapping of solvers are the names of their rows. ``settings`` go to
    every solver that knows them, and ``backend`` goes to every solver that has it. A
    setting or backend that no solver knows is a UsageError. A solver that fails, that
    breaks a rule, or whose backend is not installed has a row with status ``error`` and
    no figures. A solver that cannot take the instance has a row with status ``does not
    apply``. The other solvers still run. After an interruption no further solver is
    run.
    """
    problem = load(source)
    kind = registry.kind_of_problem(problem)
    by = measure_of(kind, options.get("measure"))
    common = options.get("settings") or {}
    chosen = _choices(kind, problem, solvers, common)
    _require_known(common, chosen)
    options["backend"] = _backend_of(options.get("backend"), chosen)
    options["measure"] = by.name
    rows: list[Row] = []
    shared = None
    try:
        _load_shared(kind, [row.spec for row in chosen])
        for choice in chosen:
            answer = _run(problem, kind, choice, options)
            rows.append(_row(answer, choice, kind))
            if interrupted(rows):
                break
        else:
            shared = _common_bound(rows, chosen, problem, kind, by)
    except KeyboardInterrupt:
        # A solver that is interrupted answers with its best plan; here the interruption
        # came while no solver was running.
        if len(rows) < len(chosen):
            choice = chosen[len(rows)]
            stopped = _unanswered(problem, kind, choice, "interrupted")
            rows.append(_row(_Answer(stopped), choice, kind))
        rows[-1]["stop"] = str(StopReason.INTERRUPTED)
    _doubt_own_claims(rows, chosen, by)
    add_ratios(rows, by, shared)
    told: Json = {"base": base_of(problem), "generated": settings_of(problem)}
    told["digest"] = problem.digest
    return [row | told for row in rows]


def settings_of(problem: Problem) -> Json:
    """Return the settings with which *problem* was generated, as far as it states
    them.
    """
    settings: Json = (problem.meta or {}).get("settings", {})
    return settings


def base_of(problem: Problem) -> str | None:
    """Return the base instance of a generated *problem*: its preset and seed, which
    instances that differ only in settings share. None if it states neither.
    """
    meta = problem.meta or {}
    preset, seed = meta.get("preset"), meta.get("seed")
    return None if preset is None or seed is None else f"{preset}, seed {seed}"


def _require_known(settings: Mapping[str, object], chosen: Sequence[_Choice]) -> None:
    """Raise UsageError for a setting that none of the chosen solvers has."""
    known: set[str] = set()
    for choice in chosen:
        known |= choice.known
    for key in settings:
        if key not in known:
            raise UsageError(
                f"no solver compared here has a setting {key!r}; "
                f"{registry.suggest(key, sorted(known))}"
            )


def _backend_of(name: str | None, chosen: Sequence[_Choice]) -> str | None:
    """Return the backend called *name*, in upper or lower case, of the chosen solvers;
    None for None.

    Raise UsageError if none of them has it.
    """
    refuse_left_backend(name)
    if name is None:
        return None
    known: dict[str, None] = {}
    for choice in chosen:
        known |= dict.fromkeys(choice.spec.backends)
    backend = backend_among(known, name)
    if backend is None:
        raise UsageError(
            f"no solver compared here has a backend {name!r}; "
            f"{registry.suggest(name, known)}"
        )
    return backend


def interrupted(rows: Sequence[Row]) -> bool:
    """Return whether the run of the last of *rows* was interrupted, so that no further
    solver is run.
    """
    return bool(rows) and rows[-1]["stop"] == StopReason.INTERRUPTED


def _row(answer: _Answer, choice: _Choice, kind: Kind) -> Row:
    """Return the row of one solver; its ``solver`` is the text with which the user
    named it.
    """
    result = answer.result
    row = result.summary()
    row["solver"] = choice.text
    row["value"] = result.value
    row["reference"] = REFERENCE in choice.spec.abilities
    if BOUND in choice.spec.abilities and forbids_copies(choice.spec, row):
        restrict(row, kind.objective)
    if answer.exit_code is not None:
        row["exit_code"] = int(answer.exit_code)
    if result.status is Status.ERROR:
        # Without this, figures of a failed run would be compared with those of other
        # rows.
        row |= {"objective": None, "bound": None, "gap": None, "metrics": {}}
    return row


def _doubt_own_claims(
    rows: Sequence[Row], chosen: Sequence[_Choice], metric: Metric
) -> None:
    """Remove claims of the user's own solvers that a sound plan of another row
    contradicts; *rows* are changed.
    """
    for row, choice in zip(rows, chosen):
        if not choice.spec.own:
            continue
        best = _best_rival(rows, row, metric)
        if best is None:
            continue
        if row["status"] == Status.INFEASIBLE:
            said = f"says that no plan exists, but {best['solver']} has one"
            row |= {"status": str(Status.ERROR), "notes": [*row["notes"], said]}
        bound = row["bound"]
        if bound is None:
            continue
        if strongest_sound(metric.sense, best["value"], [bound]) is None:
            said = (
                f"its bound {bound:g} contradicts the plan of {best['solver']} and is "
                "left out"
            )
            row |= {"bound": None, "notes": [*row["notes"], said]}
            row["bound"] = own_bound(row, metric)
            if row["status"] == Status.OPTIMAL:
                row["status"] = str(Status.FEASIBLE)


def _best_rival(rows: Sequence[Row], row: Row, metric: Metric) -> Row | None:
    """Return the best of the other *rows* that have a sound plan and are no references;
    None if there is none.
    """
    rivals = [
        other
        for other in rows
        if other is not row and other["value"] is not None and not other["reference"]
    ]
    best = best_of(metric.sense, [other["value"] for other in rivals])
    for other in rivals:
        if other["value"] == best:
            return other
    return None


def _load_shared(kind: Kind, specs: Sequence[SolverSpec]) -> None:
    """Load the modules that all rows use, before the first row is timed."""
    kind.load()
    for spec in specs:
        with suppress(UsageError):  # the row of the solver says what is wrong
            spec.solve_function()
    if any("CP-SAT" in spec.backends for spec in specs):
        import_module("ioopt.solvers.backends.cpsat_program")


def default_solvers(kind: Kind, problem: Problem) -> tuple[str, ...]:
    """Return the names of the solvers that ``compare`` runs on *problem* if the user
    names none.
    """
    return kind.solvers_to_compare(problem) or tuple(
        spec.name for spec in registry.solvers_for(kind.kind)
    )


def rivals(kind: Kind, problems: Sequence[Problem], solver: Solver) -> tuple[str, ...]:
    """Return rivals for a *solver* of the user that stands alone over several
    *problems*, where ratios need two: the quick ones of those compared by default.
    """
    name = parse_solver(solver)[0] if isinstance(solver, str) else solver
    if len(problems) == 1 or not registry.solver(name, kind).own:
        return ()
    return tuple(
        rival
        for rival in default_solvers(kind, problems[0])
        if not registry.solver(rival, kind).abilities & SLOW
    )


def _with_rivals(
    problems: Sequence[Problem], solvers: Solvers | Mapping[str, Solver] | None
) -> Solvers | Mapping[str, Solver] | None:
    """Return *solvers* with the rivals of one that stands alone, if it has any."""
    if isinstance(solvers, str) or callable(solvers):
        solvers = [solvers]
    if not isinstance(solvers, (Sequence, Mapping)) or len(solvers) != 1:
        return solvers
    kind = registry.kind_of_problem(problems[0])
    if isinstance(solvers, Mapping):
        (alone,) = solvers.values()
        return {**solvers, **{name: name for name in rivals(kind, problems, alone)}}
    return [*solvers, *rivals(kind, problems, solvers[0])]


class _Choice(NamedTuple):
    """A solver to compare: the text with which the user named it, its registry row, the
    settings that it knows, and the settings given.
    """

    text: str
    spec: SolverSpec
    solver: str | Callable[..., object]
    known: Set[str]
    settings: Mapping[str, object]


def _choices(
    kind: Kind,
    problem: Problem,
    solvers: Solvers | Mapping[str, Solver] | None,
    common: Mapping[str, object],
) -> list[_Choice]:
    """Return the chosen *solvers*, by default those of the kind for *problem*; the keys
    of a mapping name them.
    """
    if isinstance(solvers, str) or callable(solvers):
        solvers = [solvers]
    if solvers is not None and not isinstance(solvers, Iterable):
        raise UsageError(f"solvers: wanted names or functions, not {solvers!r:.40}")
    if not solvers:
        solvers = default_solvers(kind, problem)
    if isinstance(solvers, Mapping):
        return [
            _chosen(kind, solver, common)._replace(text=name)
            for name, solver in solvers.items()
        ]
    chosen = [_chosen(kind, solver, common) for solver in solvers]
    twice = first_repeated([choice.text for choice in chosen])
    if twice:
        name = chosen[twice[0]].text
        raise UsageError(
            f"two solvers are called {name!r}: leave one out or, in Python, name them: "
            "{'A': one, 'B': other}"
        )
    return chosen


def _chosen(
    kind: Kind, solver: str | Callable[..., object], common: Mapping[str, object]
) -> _Choice:
    """Return the chosen solver with its own settings and those of the *common* settings
    that it knows.
    """
    name: str | Callable[..., object] = solver
    own: dict[str, str] = {}
    if isinstance(solver, str):
        name, own = parse_solver(solver)
    spec = registry.solver(name, kind)
    text = solver if isinstance(solver, str) else spec.name
    settings_class = spec.settings_class()
    known = set() if settings_class is None else {*settings_class.model_fields}
    shared = {key: value for key, value in common.items() if key in known}
    registry.settings_for(spec, shared | own)  # refuse before anything is solved
    return _Choice(text, spec, name, known, shared | own)


class _Answer(NamedTuple):
    """The answer of one solver; *exit_code* is the exit code of the command if only
    this solver failed.
    """

    result: Result
    exit_code: ExitCode | None = None


def _run(
    problem: Problem, kind: Kind, choice: _Choice, options: SolveKeywords
) -> _Answer:
    """Run one solver and return its answer; a failure, or an instance that the solver
    cannot take, is also an answer.
    """
    spec = choice.spec
    given: SolveKeywords = {**options, "settings": choice.settings}
    if given.get("backend") not in spec.backends:
        given["backend"] = None  # heuristics need no backend
    try:
        # The kind's bound is the same for all rows: _common_bound computes it once.
        result = solve(problem, choice.solver, bound=False, **given)
    except BackendMissingError as error:
        return _failed(problem, kind, choice, str(error), error.exit_code)
    except NotApplicableError as error:
        return _Answer(
            _unanswered(problem, kind, choice, str(error), Status.NOT_APPLICABLE)
        )
    except (UsageError, InstanceError) as error:
        if spec.bundled:
            raise
        return _failed(problem, kind, choice, str(error), error.exit_code)
    except Exception as error:
        from ioopt.failures import failure

        return _failed(problem, kind, choice, failure(spec, error), ExitCode.INTERNAL)
    return _Answer(result)


def _failed(
    problem: Problem, kind: Kind, choice: _Choice, note: str, code: ExitCode
) -> _Answer:
    """Return the answer for a solver that failed; *note* says why."""
    return _Answer(_unanswered(problem, kind, choice, note, Status.ERROR), code)


def _unanswered(
    problem: Problem,
    kind: Kind,
    choice: _Choice,
    note: str,
    status: Status = Status.UNKNOWN,
) -> Result:
    """Return a result without a plan; *note* says why."""
    return Result(
        instance=problem.name,
        family=kind.family,
        kind=kind.kind,
        solver=choice.spec.name,
        status=status,
        stop=StopReason.FINISHED,
        notes=(note,),
    )


def _common_bound(
    rows: Sequence[Row],
    chosen: Sequence[_Choice],
    problem: Problem,
    kind: Kind,
    measure: Metric,
) -> float | None:
    """Return the strongest bound that holds for every plan. Candidates are the bounds
    of solvers that exclude no plan, and the kind's quick bound.
    """
    proved = [
        row["bound"]
        for row, choice in zip(rows, chosen)
        if is_universal(choice.spec, row)
    ]
    lacking = any(row["bound"] is None and row["value"] is not None for row in rows)
    if lacking and measure.name == kind.objective.name:
        proved.append(kind.bound(problem))
    return strongest(measure.sense, proved)
