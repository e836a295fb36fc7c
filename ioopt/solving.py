"""The one front door: load, pick, time, solve, check, simulate, return.

No result leaves unchecked: the objective and the violations come from the family's
checker, the metrics from its simulator. A named solver that fails is a result with
status ``error``. The kind's fallback answers, with a note, for a default solver that
fails and for one of ours out of time.
"""

import math
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ioopt import errors, registry
from ioopt.catalog import resolve
from ioopt.formats.native import read_json, shown, validate
from ioopt.options import REMOVED_SOLVERS, Deadline, SolveOptions, suggest
from ioopt.overtime import cut_off, processor_seconds_left
from ioopt.problems.base import Json, Problem
from ioopt.protocols import (
    Checker,
    CheckReport,
    Incumbents,
    Metrics,
    Outcome,
    Schedule,
    Simulation,
    SolveRequest,
    SolverFunction,
)
from ioopt.registry import (
    KindSpec,
    SolverSpec,
    by_measure,
    load_target,
    measure_of,
    own_bound,
    sense_of,
)
from ioopt.result import Result, Status, StopReason, plan_dict, relative_gap, violation
from ioopt.statements import (
    false_metrics,
    is_reference,
    past_bound,
    proves,
    within_limits,
)
from ioopt.units import is_number, parse_seconds
from ioopt.version import __version__

JUDGED_BY_SCHEDULE = ("batch-io", "gang")
"""Kinds whose schedules can be checked without a plan."""
COUNTED_VIOLATIONS = "the checker found"
"""How the note begins that counts the violations of a plan."""
INTERRUPTED = "interrupted: the best plan so far"
OVERLOOKED_SECONDS = 0.1
"""How far past its deadline a solver may work before it is ended."""
REPLAY_SHARE = 0.75
"""Of the time left, what replay and check may use before the plan is
checked without a replay.
"""
SOLVER_SHARE = 0.6
"""Of the time left, overtime included, what a solver may use where its
limit is nearly over.
"""
SOLVER_TOLERANCE = 1e-6
"""Absolute tolerance of the backends: what a bound may be off without being wrong."""


def load(source: Any) -> Any:
    """A problem from a path, a bundled name, ``-``, a dict, a builder, or
    a problem (as it is).

    Raises InstanceError with one line that names the place when it is not valid.

    >>> len(load("cycle3").tasks)
    6
    """
    if isinstance(source, (str, os.PathLike)):
        path = resolve(source)
        return problem_from_dict(
            read_json(path), "<stdin>" if path == "-" else os.fspath(source)
        )
    if isinstance(source, Mapping):
        return problem_from_dict(source, "instance")
    if hasattr(source, "build"):
        return source.build()
    registry.format_of_problem(source)
    return source


def load_within(source: Any, deadline: Deadline) -> Any:
    """Load *source*, and raise OutOfTime where reading alone takes too long."""
    with cut_off(
        processor_seconds_left(deadline), _ended_before("the instance was read")
    ):
        return load(source)


def problem_from_dict(data: object, name: str) -> Any:
    """Build the problem that plain *data* describes; *name* is used in messages."""
    if not isinstance(data, Mapping):
        raise errors.InstanceError(
            f"{name}: an instance is a JSON object, not {type(data).__name__}"
        )
    form = registry.format_of(data.get("format"), name)
    return validate(load_target(form.problem), data, name)


def result_from_dict(data: object, name: str) -> Result:
    """Build a :class:`Result` from plain data, or raise InstanceError with one line."""
    if not isinstance(data, Mapping) or data.get("format") != "ioopt/result":
        given = data.get("format") if isinstance(data, Mapping) else type(data).__name__
        raise errors.InstanceError(
            f"{name}: format: wanted 'ioopt/result', not {shown(given)}"
        )
    require_finite(data, name)
    result = validate(Result, data, name)
    instead = REMOVED_SOLVERS.get(result.family, {}).get(result.solver)
    if instead is not None:
        raise errors.InstanceError(
            f"{name}: solver: {result.solver} of {result.family} was removed; solve "
            f"again with {instead}"
        )
    return result


def require_finite(data: Mapping[str, Any], name: str) -> None:
    """Raise InstanceError where a metric, option or setting of a result
    is no finite number.

    Plans, schedules and figures have forms of their own that refuse it.
    """
    for part in ("metrics", "options", "settings"):
        told = data.get(part)
        for key, value in told.items() if isinstance(told, Mapping) else ():
            if not _is_finite(value):
                raise errors.InstanceError(
                    f"{name}: {part}.{key}: must be a finite number, or null "
                    "where it is unknown"
                )


def _is_finite(value: object) -> bool:
    """Whether every number in *value* is finite."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(_is_finite(part) for part in value.values())
    return not isinstance(value, (list, tuple)) or all(
        _is_finite(part) for part in value
    )


def plan_in(given: object) -> object:
    """The plan of a Result or of its dictionary; a bare plan as it is."""
    if isinstance(given, Result):
        return given.plan
    return given["plan"] if isinstance(given, Mapping) and "plan" in given else given


def plan_of(kind: KindSpec, plan: object, name: str = "plan") -> Any:
    """The plan object of a kind from its dictionary (an object
    is returned as it is).
    """
    if plan is None or kind.plan is None or isinstance(plan, load_target(kind.plan)):
        return plan
    found = validate(load_target(kind.plan), plan, name)
    rows = registry.solvers_for(kind.kind)
    known = [row.name for row in rows if row.policy and row.variant_of is None]
    given = getattr(found, "policy", None)
    if known and given is not None and given not in known:
        raise errors.InstanceError(
            f"{name}: policy: there is no {given!r}; {suggest(given, known)}"
        )
    return found


def require_form(kind: KindSpec, data: Mapping[str, object], name: str) -> None:
    """Raise InstanceError when the plan or the schedule in *data* does not have
    the form of its kind.
    """
    plan_of(kind, data.get("plan"), f"{name}: plan")
    if data.get("schedule") is not None and kind.schedule is not None:
        validate(load_target(kind.schedule), data["schedule"], f"{name}: schedule")


def beyond(
    kind: KindSpec, problem: Problem, plan: object, schedule: Schedule | None
) -> Json:
    """What plan and schedule say of the question that the
    instance does not, by name.
    """
    if kind.beyond is None:
        return {}
    told, usual = (
        load_target(kind.beyond)(problem, *of)
        for of in ((plan, schedule), (None, None))
    )
    return {key: value for key, value in told.items() if value != usual[key]}


def check_plan(
    kind: KindSpec, problem: Problem, plan: object, schedule: Schedule | None
) -> CheckReport:
    """The report of the kind's checker."""
    if plan is None and kind.plan is not None and kind.kind not in JUDGED_BY_SCHEDULE:
        return CheckReport(
            (violation("plan", problem.name, "there is no plan to check"),)
        )
    judge: Checker[Problem, object] = load_target(kind.check)
    return judge(problem, plan, schedule)


def simulate(source: Any, plan: object, **options: object) -> Simulation:
    """Replay a plan (or a Result; objects or dictionaries) on the
    family's timeline simulator.

    *options* are the simulator's. Raises SimulationError for a plan that
    cannot be carried out.

    >>> simulate("cycle3", solve("cycle3", "minmin").plan).metrics["remote_bytes"]
    64000000
    """
    problem = load(source)
    kind = registry.kind_of_problem(problem)
    if kind.simulate is None:
        raise errors.UsageError(
            f"{kind.kind} has no simulator: it is one decision, not a schedule"
        )
    found = plan_of(kind, plan_in(plan))
    if found is None:
        raise errors.UsageError("there is no plan to simulate")
    replayed: Simulation = load_target(kind.simulate)(problem, found, **options)
    return replayed


def solve(
    source: Any,
    solver: str | Callable[..., object] | None = None,
    *,
    measure: str | None = None,
    time_limit: float | str | None = SolveOptions.time_limit_seconds,
    gap: float | None = None,
    threads: int = 1,
    seed: int = 0,
    backend: str | None = None,
    settings: Mapping[str, object] | None = None,
    warm_start: object = None,
    log: str | None = None,
    progress: Callable[[Incumbents], None] | None = None,
    bound: bool = True,
    deadline: Deadline | None = None,
) -> Result:
    """Solve one instance and return a checked, simulated :class:`Result`.

    Parameters are those of :class:`ioopt.options.SolveOptions` (the time limit
    also as ``"2min"``); ``settings`` are the solver's own (``--set``),
    ``warm_start`` a Result or plan. With *measure* objective, bound and gap are of
    that metric, and a solver that can optimise it does; without it they are of the
    solver's own objective. *solver* may be a function of the problem, or of it and
    a :class:`~ioopt.protocols.SolveRequest`, that returns an Outcome, a plan or
    its dictionary (as text: ``"module:function"``). Without *bound* none is
    computed for solvers that prove none: it may be an integer program. The time
    limit counts from this call, or as *deadline* was set where a caller has begun
    before. Raises UsageError or InstanceError for bad input, BackendMissingError;
    OutOfTime where *source* cannot be read in time; infeasibility, other limits
    and failing solvers are results.

    >>> result = solve("two-writers", "fill")
    >>> result.status.value, result.violations
    ('optimal', ())
    """
    limit = None if time_limit is None else parse_seconds(time_limit)
    options = SolveOptions(limit, gap, threads, seed, backend, log)
    deadline = deadline or Deadline(limit)
    problem = load_within(source, deadline)
    kind = registry.kind_of_problem(problem)
    measure_of(kind, measure)  # says what there is
    if not bound:
        kind = replace(kind, bound=None)
    spec = registry.solver(solver, kind)
    registry.require_backend(spec, backend)
    chosen = registry.settings_for(spec, settings or {})
    start, left_out = _start(kind, problem, warm_start)
    incumbents = Incumbents(deadline, listener=progress, maximise=kind.sense == "max")
    request = SolveRequest(
        options, deadline, chosen, start, incumbents, measure=measure
    )
    try:
        outcome, notes = _run(kind, spec, problem, request, named=solver is not None)
    except errors.NotApplicableError as error:
        if solver is not None or kind.fallback is None:
            raise
        spec = registry.solver(kind.fallback, kind)
        request = replace(request, settings=registry.settings_for(spec, settings or {}))
        outcome, notes = _run(kind, spec, problem, request, named=False)
        notes = [f"{error}; answered by {spec.name}", *notes]
    notes = [*left_out, *notes, *problem.synthetic_notes]
    return _result_in_time(kind, spec, problem, request, outcome, notes)


def _result_in_time(
    kind: KindSpec,
    spec: SolverSpec,
    problem: Problem,
    request: SolveRequest,
    outcome: Outcome,
    notes: list[str],
) -> Result:
    """Replay and check the plan; check it alone where both take too long;
    else there is no answer.
    """
    try:
        replayed = _ended_before("the plan was replayed and checked")
        with cut_off(REPLAY_SHARE * processor_seconds_left(request.deadline), replayed):
            return _result(kind, spec, problem, request, outcome, notes)
    except errors.OutOfTime as error:
        notes = [*notes, str(error)]
    if outcome.plan is not None and kind.kind not in JUDGED_BY_SCHEDULE:
        stated = replace(outcome, simulation=None, stop=StopReason.TIME)
        try:
            checked = _ended_before("the plan was checked")
            with cut_off(processor_seconds_left(request.deadline), checked):
                return _result(
                    replace(kind, simulate=None), spec, problem, request, stated, notes
                )
        except errors.OutOfTime as error:
            notes = [*notes, str(error)]
    nothing: Outcome[Any] = Outcome(None, stop=StopReason.TIME)
    return _result(kind, spec, problem, request, nothing, notes)


def _ended_before(what: str) -> str:
    return f"the time limit ended before {what}"


@contextmanager
def _ended_in_time(spec: SolverSpec, request: SolveRequest) -> Iterator[None]:
    """End a solver that overlooks its deadline.

    Replay, check and report need time too, but never that of the limit. A solver of the
    user may sleep, so it is timed by the clock on the wall.
    """
    deadline, limit = request.deadline, request.options.time_limit_seconds
    if spec.own:
        message = (
            f"did not return within its time limit of {limit:g} s" if limit else ""
        )
        with cut_off(deadline.with_overtime().remaining(), message, wall_clock=True):
            yield
        return
    left = processor_seconds_left(deadline)
    until_limit = deadline.remaining() + OVERLOOKED_SECONDS
    seconds = min(left, max(until_limit, SOLVER_SHARE * left))
    with cut_off(seconds, _ended_before("a plan was complete")):
        yield


def _start(kind: KindSpec, problem: Problem, given: object) -> tuple[object, list[str]]:
    """The plan to begin from; None and a note for one that breaks a rule."""
    start = plan_of(kind, plan_in(given))
    if start is None or kind.kind in JUDGED_BY_SCHEDULE:
        return start, []
    broken = check_plan(kind, problem, start, None).violations
    return (
        (None, [f"the warm start is left out: {broken[0]}"]) if broken else (start, [])
    )


def _run(
    kind: KindSpec,
    spec: SolverSpec,
    problem: Problem,
    request: SolveRequest,
    named: bool,
) -> tuple[Outcome, list[str]]:
    """Run the solver; on interruption answer with the best plan so far.

    A solver that was *named* and raises has failed: no other answers in its name.
    The kind's fallback answers for a default solver that fails, and for one of ours
    that is out of time.
    """
    best = request.incumbents
    try:
        with _ended_in_time(spec, request):
            outcome = _call(kind, spec, problem, request)
        if outcome.stop is StopReason.INTERRUPTED:  # ended by itself, with a whole plan
            return outcome, [INTERRUPTED]
        return outcome, []
    except KeyboardInterrupt:
        note = INTERRUPTED if best.plan is not None else "interrupted before any plan"
        return _best(best, StopReason.INTERRUPTED), [note]
    except (errors.UsageError, errors.InstanceError, errors.BackendMissingError):
        raise
    except errors.OutOfTime as error:
        note = f"{spec.name}: {error}"
        if spec.own:
            return _best(best, StopReason.TIME), [note]
        return _answered_instead(kind, spec, problem, request, note, StopReason.TIME)
    except BaseException as error:  # sys.exit() too: a solver ends no command
        from ioopt.failures import failure

        note = failure(spec, error)
        if named:
            return replace(_best(best, StopReason.FINISHED), failed=True), [note]
        return _answered_instead(
            kind, spec, problem, request, note, StopReason.FALLBACK
        )


def _answered_instead(
    kind: KindSpec,
    spec: SolverSpec,
    problem: Problem,
    request: SolveRequest,
    note: str,
    stop: StopReason,
) -> tuple[Outcome, list[str]]:
    """Return the best plan that the solver had reported, else the answer of
    the kind's fallback.
    """
    best = request.incumbents
    if best.plan is not None:
        return _best(best, stop), [f"{note}; the best plan it had found"]
    unanswered: Outcome = Outcome(None, stop=stop, failed=stop is StopReason.FALLBACK)
    if kind.fallback is None or kind.fallback == spec.name:
        return unanswered, [note]
    fallback = registry.solver(kind.fallback, kind)
    settings, until = (
        registry.settings_for(fallback, {}),
        request.deadline.with_overtime(),
    )
    plain = replace(request, settings=settings, start=None, deadline=until)
    try:
        with _ended_in_time(fallback, plain):
            outcome = _call(kind, fallback, problem, plain)
    except (errors.NotApplicableError, errors.OutOfTime) as second:
        return unanswered, [note, f"{fallback.name}: {second}"]
    return replace(outcome, stop=StopReason.FALLBACK), [
        f"{note}; answered by {fallback.name}"
    ]


def _best(found: Incumbents, stop: StopReason) -> Outcome:
    return Outcome(found.plan, found.bound, stop, objective_name=found.objective_name)


def _call(
    kind: KindSpec, spec: SolverSpec, problem: Problem, request: SolveRequest
) -> Outcome:
    policy = load_target(spec.policy)(request.settings) if spec.policy else None
    run: SolverFunction[Problem, Any, Any] = load_target(spec.target)
    asked = replace(request, policy=policy)
    if spec.own:
        from ioopt.failures import call_own

        answer = call_own(spec, run, problem, asked)
    else:
        answer = run(problem, asked)
    plan = f"the plan of {spec.name}"
    if not isinstance(answer, Outcome):
        notes = (f"{spec.name} returned None, no plan",) if answer is None else ()
        return Outcome(plan_of(kind, answer, plan), notes=notes)
    return (
        replace(answer, plan=plan_of(kind, answer.plan, plan)) if spec.own else answer
    )


def _result(
    kind: KindSpec,
    spec: SolverSpec,
    problem: Problem,
    request: SolveRequest,
    outcome: Outcome,
    notes: list[str],
) -> Result:
    # One clock and one start for both, so that together they are the time spent
    # and none is below 0.
    seconds = request.deadline.elapsed()
    build = outcome.build_seconds
    if build is not None:
        build = min(max(build, 0.0), seconds)
    values: Json = {
        "instance": problem.name,
        "family": kind.family,
        "kind": kind.kind,
        "solver": spec.name,
        "stop": outcome.stop,
        "build_seconds": build,
        "solve_seconds": seconds - (build or 0.0),
        "seed": request.options.seed,
        "options": request.stated(),
        "versions": {"ioopt": __version__, "python": platform.python_version()}
        | dict(outcome.versions),
        "objective_name": outcome.objective_name or kind.objective_name,
        "bound": outcome.bound,
        "measure": measure_of(kind, request.measure).name,
        "trace": tuple(
            row for row in request.incumbents.trace if math.isfinite(row[1])
        ),
    }
    if outcome.plan is None and outcome.simulation is None:
        values["bound"] = within_limits(
            kind, values["objective_name"], outcome.bound, CheckReport(())
        )
        status = Status.INFEASIBLE if outcome.infeasible else Status.UNKNOWN
        if outcome.failed:
            status = Status.ERROR
        metrics = by_measure(request.measure, values)
        return Result(
            status=status, notes=(*outcome.notes, *notes), metrics=metrics, **values
        )
    return _checked(kind, problem, request, outcome, notes, values)


def _checked(
    kind: KindSpec,
    problem: Problem,
    request: SolveRequest,
    outcome: Outcome,
    notes: list[str],
    values: Json,
) -> Result:
    deadline = request.deadline
    begun = deadline.elapsed()
    simulation, failure = outcome.simulation, None
    if simulation is None and kind.simulate is not None:
        try:
            limits = {"deadline": deadline} if kind.limited_replay else {}
            simulation = simulate(problem, outcome.plan, **limits)
        except errors.OutOfTime as error:
            notes = [*notes, f"checked, but not replayed: {error}"]
            values["stop"] = StopReason.TIME
        except errors.SimulationError as error:
            failure = f"the plan cannot be carried out: {error}"
    schedule = simulation.schedule if simulation else None
    notes = [*notes, *(simulation.notes if simulation else ())]
    report = check_plan(kind, problem, outcome.plan, schedule)
    measured = simulation.metrics if simulation else {}
    metrics = {**outcome.metrics, **report.metrics, **measured}
    violations = (*report.violations, *false_metrics(measured, report))
    policy = getattr(outcome.plan, "policy", None)
    if values["solver"] != policy:
        violations += report.excused
    name = values["objective_name"]
    if (
        simulation is None
        and name not in report.objectives
        and kind.objective_name != name
    ):
        # Without a replay only the plan can be measured, and a bound of another
        # measure does not apply.
        name = values["objective_name"] = kind.objective_name
        values["bound"] = None
    values["bound"] = within_limits(kind, name, values["bound"], report)
    metrics |= by_measure(request.measure, values)
    name = values["objective_name"]
    if name != (
        request.incumbents.objective_name
        or outcome.objective_name
        or kind.objective_name
    ):
        values["trace"] = ()  # its values are of another objective
    sense = sense_of(kind, name)
    objective = report.objectives.get(name, metrics.get(name))
    objective = float(objective) if isinstance(objective, bool) else objective
    if objective is not None and not (
        is_number(objective) and math.isfinite(objective)
    ):
        objective = None
    bound = None
    if not is_reference(kind, policy):
        bound = _bound(kind, problem, deadline, values, objective, metrics)
        bound = within_limits(kind, name, bound, report)
    wrong = [] if failure is None else [failure]
    wrong += (
        [f"{COUNTED_VIOLATIONS} {len(violations)} violation(s)"] if violations else []
    )
    bad = bool(wrong) or outcome.failed
    status = Status.ERROR if bad else Status.FEASIBLE
    if violations:
        objective = None  # what breaks a rule is worth nothing
    gap = relative_gap(objective, bound, sense)
    if not bad and objective is not None and bound is not None:
        past = past_bound(sense, objective, bound, report.rounding)
        status, wrong = _standing(
            past, proves(sense, objective, bound), objective, bound
        )
        if wrong and status is Status.FEASIBLE:
            bound = gap = None
        gap = 0.0 if status is Status.OPTIMAL else gap
    values |= {"bound": bound, "simulate_seconds": deadline.elapsed() - begun}
    return Result(
        status=status,
        objective=objective,
        gap=gap,
        metrics=metrics,
        violations=violations,
        notes=(*outcome.notes, *notes, *wrong),
        settings=beyond(kind, problem, outcome.plan, schedule),
        plan=plan_dict(outcome.plan),
        schedule=schedule,
        **values,
    )


def _standing(
    past: float | None, proven: bool, objective: float, bound: float
) -> tuple[Status, list[str]]:
    """The status of a sound plan whose *bound* lies *past* its objective (None: it
    does not), and notes.
    """
    if past is None:
        return Status.OPTIMAL if proven else Status.FEASIBLE, []
    if past > SOLVER_TOLERANCE:
        return Status.ERROR, [f"bound {bound!r} contradicts the plan's {objective!r}"]
    # A backend's absolute tolerance: more than values this small can bear.
    return Status.FEASIBLE, [
        f"bound {bound!r} of {objective!r} is rounding and left out"
    ]


def _bound(
    kind: KindSpec,
    problem: Problem,
    deadline: Deadline,
    values: Json,
    objective: float | None,
    metrics: Metrics,
) -> float | None:
    """The bound of the solver, else of the kind; at least what a metric proves."""
    name, bound = values["objective_name"], values["bound"]
    # What was not measured needs no bound: a workflow that was not
    # replayed has no objective.
    wanted = name == kind.objective_name and objective is not None
    if bound is None and kind.bound is not None and wanted:
        limits = {"deadline": deadline} if kind.limited_bound else {}
        bound = load_target(kind.bound)(problem, **limits)
    if bound is None and objective is not None:
        bound = own_bound({**values, "metrics": metrics}, kind, name)
    proven = metrics.get(kind.proven_metrics.get(name, ""))
    return bound if bound is None or proven is None else max(bound, proven)
