"""Solve an instance: choose the solver, limit its time, solve, replay and check the
plan, and return the result.

Every result is checked. The objective and the violations come from the family's
checker, and the metrics from its simulator. A named solver that fails gives a result
with status ``error``. The kind's fallback solver answers, with a note, if a default
solver fails or a built-in solver runs out of time.
"""

import math
import platform
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypedDict

from ioopt import errors, registry
from ioopt.families import Kind, Metric, SolverSpec
from ioopt.loading import load, plan_in, plan_of
from ioopt.options import Deadline, SolveOptions
from ioopt.overtime import cut_off, processor_seconds_left
from ioopt.problems.base import Json, Problem
from ioopt.protocols import (
    CheckReport,
    Incumbents,
    Known,
    Outcome,
    Schedule,
    Simulation,
    SolveRequest,
    SolverFunction,
)
from ioopt.registry import measure_of
from ioopt.result import Result, StopReason, Violation, plan_dict, violation
from ioopt.units import parse_seconds, title
from ioopt.verdict import (
    Claim,
    Evidence,
    Verdict,
    false_metrics,
    is_reference,
    verdict_on_plan,
    verdict_without_plan,
)
from ioopt.version import __version__

COUNTED_VIOLATIONS = "the checker found"
"""The beginning of the note that counts the violations of a plan."""
INTERRUPTED = "interrupted: the best plan so far"
OVERLOOKED_SECONDS = 0.1
"""The seconds that a solver may work past its deadline before it is ended."""
REPLAY_SHARE = 0.75
"""The share of the time left that replay and check may use; after that the plan is
checked without a replay.
"""
NOISE_SHARE = 0.25
"""The share of the time left that replays under noise may use, by an estimate."""
SOLVER_SHARE = 0.6
"""The share of the time left, overtime included, that a solver may use when its time
limit is nearly over.
"""


def load_within(source: object, deadline: Deadline) -> Any:
    """Load *source*; raise OutOfTime when reading it takes longer than *deadline*
    allows.
    """
    with cut_off(
        processor_seconds_left(deadline), _ended_before("the instance was read")
    ):
        return load(source)


def beyond(
    kind: Kind, problem: Problem, plan: object, schedule: Schedule | None
) -> Json:
    """Return, by name, the settings that plan and schedule add to those of the
    instance.
    """
    told = kind.beyond(problem, plan, schedule)
    usual = kind.beyond(problem, None, None)
    return {key: value for key, value in told.items() if value != usual[key]}


def check_plan(
    kind: Kind, problem: Problem, plan: object, schedule: Schedule | None
) -> CheckReport:
    """Return the report of the kind's checker on a plan and its schedule; a missing
    plan is a violation.
    """
    judged = kind.judged_by_schedule or kind.plan_class() is None
    if plan is None and not judged:
        missing = violation("plan", problem.name, "there is no plan to check")
        return CheckReport((missing,))
    return kind.check(problem, plan, schedule)


def replay_plan(
    kind: Kind, problem: Problem, plan: object, **options: Any
) -> Simulation:
    """Replay a plan object on the simulator of its kind, under the policy that the plan
    names.
    """
    policy = registry.policy_of_plan(kind, plan)
    if policy is None:
        return kind.simulate(problem, plan, **options)
    return kind.simulate(problem, plan, policy=policy, **options)


def simulate(
    source: object,
    plan: object,
    *,
    deadline: Deadline | None = None,
    **options: object,
) -> Simulation:
    """Replay *plan* on the simulator of the instance's kind; *plan* is a plan or a
    Result, as an object or a dictionary.

    *options* are keywords of the simulator, to which *deadline* is given too. The
    metrics contain the kind's bounds. Raises SimulationError for a plan that cannot be
    carried out.

    >>> simulate("cycle3", solve("cycle3", "minmin").plan).metrics["remote_bytes"]
    64000000
    """
    problem = load(source)
    kind = registry.kind_of_problem(problem)
    if not kind.simulates:
        kind.simulate(problem, plan)  # raises an error
    found = plan_of(kind, plan_in(plan))
    if found is None:
        raise errors.UsageError("there is no plan to simulate")
    if deadline is not None:
        options["deadline"] = deadline
    replay = replay_plan(kind, problem, found, **options)
    return with_bounds(kind, problem, replay, deadline)


def with_bounds(
    kind: Kind, problem: Problem, replay: Simulation, deadline: Deadline | None = None
) -> Simulation:
    """Return *replay* with the kind's bounds beside its metrics, as far as they can be
    computed before *deadline*.
    """
    bounds = kind.stated_bounds(problem, replay.schedule, deadline)
    return replace(replay, metrics={**replay.metrics, **bounds})


class SolveKeywords(TypedDict, total=False):
    """The keywords of :func:`solve` that can hold for several solvers, which a
    comparison hands on. :func:`ioopt.solve` explains them.
    """

    measure: str | None
    time_limit: float | str | None
    gap: float | None
    threads: int
    seed: int
    backend: str | None
    settings: Mapping[str, object] | None
    warm_start: object
    log: str | None
    progress: Callable[[Incumbents], None] | None


def solve(
    source: object,
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

    This is the body of :func:`ioopt.solve`, which explains the parameters and errors.

    >>> result = solve("two-writers", "fill")
    >>> result.status.value, result.violations
    ('optimal', ())
    """
    limit = None if time_limit is None else parse_seconds(time_limit)
    options = SolveOptions(limit, gap, threads, seed, backend, log)
    counted, deadline = deadline, deadline or Deadline(limit)
    problem = load_within(source, deadline)
    kind = registry.kind_of_problem(problem)
    measure_of(kind, measure)  # raises an error that lists the kind's measures
    spec = registry.solver(solver, kind)
    if backend is not None:
        options = replace(options, backend=registry.backend_of(spec, backend))
    if counted is None:
        deadline = _after_imports(kind, spec, options.backend, problem, deadline)
    chosen = registry.settings_for(spec, settings or {})
    start, left_out = _start(kind, problem, warm_start)
    incumbents = Incumbents(
        deadline, listener=progress, maximise=kind.objective.sense == "max"
    )
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
    return _result_in_time(kind, spec, problem, request, outcome, notes, bound)


def _after_imports(
    kind: Kind,
    spec: SolverSpec,
    backend: str | None,
    problem: Problem,
    deadline: Deadline,
) -> Deadline:
    """Import what the solver, the replay and the check need, and return the deadline
    without the time for it.

    Only the first call of a process takes such time, so that equal calls have equal
    limits.
    """
    if (kind.kind, spec.name, backend) in _IMPORTED:
        return deadline
    begun, processor = deadline.clock(), time.thread_time()
    _import(kind, spec, backend, problem)
    return deadline.without(deadline.clock() - begun, time.thread_time() - processor)


_IMPORTED: set[tuple[str, str, str | None]] = set()
"""The kinds, solvers of ioopt and backends that were imported for every instance."""


def _import(
    kind: Kind, spec: SolverSpec, backend: str | None, problem: Problem
) -> None:
    asked = (kind.kind, spec.name, backend)
    if asked in _IMPORTED:
        return
    kind.load()
    # The solver itself says what is wrong with it.
    with suppress(errors.UsageError, errors.BackendMissingError):
        if spec.bundled:
            spec.load(backend, problem)
            if spec.libraries is None:
                _IMPORTED.add(asked)


def import_solver(problem: Problem, solver: str | None) -> None:
    """Import what :func:`solve` needs for *problem*, so that a caller's deadline that
    begins afterwards does not count it.
    """
    kind = registry.kind_of_problem(problem)
    spec = registry.solver(solver, kind)
    _import(kind, spec, registry.backend_of(spec, None), problem)


def result_of_plan(
    problem: Problem, program: str, outcome: Outcome, options: Json
) -> Result:
    """Return the checked and replayed result of a plan that another *program* found;
    the result states nothing about the run of that program but *options*.
    """
    kind = registry.kind_of_problem(problem)
    spec = SolverSpec(program, (kind.kind,), "", "another program", "")
    request: SolveRequest = SolveRequest(SolveOptions(None), Deadline(None))
    wanted = _Wanted(replay=kind.simulates, bound=True)
    found = _result(kind, spec, problem, request, outcome, [], wanted)
    untold = {"build_seconds": None, "solve_seconds": None, "seed": None}
    return found.model_copy(update={**untold, "options": options})


def _result_in_time(
    kind: Kind,
    spec: SolverSpec,
    problem: Problem,
    request: SolveRequest,
    outcome: Outcome,
    notes: list[str],
    bound: bool,
) -> Result:
    """Return the result after replaying and checking the plan. If that takes too long,
    the plan is only checked. If the check alone takes too long as well, the result has
    no plan.
    """
    wanted = _Wanted(replay=kind.simulates, bound=bound)
    try:
        replayed = _ended_before("the plan was replayed and checked")
        with cut_off(REPLAY_SHARE * processor_seconds_left(request.deadline), replayed):
            return _result(kind, spec, problem, request, outcome, notes, wanted)
    except errors.OutOfTime as error:
        notes = [*notes, str(error)]
    if outcome.plan is not None and not kind.judged_by_schedule:
        alone = replace(wanted, replay=False)
        stated = replace(outcome, simulation=None, stop=StopReason.TIME)
        try:
            checked = _ended_before("the plan was checked")
            with cut_off(processor_seconds_left(request.deadline), checked):
                return _result(kind, spec, problem, request, stated, notes, alone)
        except errors.OutOfTime as error:
            notes = [*notes, str(error)]
    nothing: Outcome[Any] = Outcome(None, stop=StopReason.TIME)
    return _result(kind, spec, problem, request, nothing, notes, wanted)


def _ended_before(what: str) -> str:
    return f"the time limit ended before {what}"


def _ended_in_time(
    spec: SolverSpec, request: SolveRequest
) -> AbstractContextManager[None]:
    """Return a context that ends a solver that runs past its deadline because it does
    not look at the deadline.

    A part of the overtime is reserved for replay, check and report; the solver may use
    the whole time limit. A solver of the user may sleep, so it is timed by the wall
    clock.
    """
    deadline, limit = request.deadline, request.options.time_limit_seconds
    if spec.own:
        message = (
            f"did not return within its time limit of {limit:g} s" if limit else ""
        )
        left = deadline.with_overtime().remaining()
        return cut_off(left, message, wall_clock=True)
    left = processor_seconds_left(deadline)
    until_limit = deadline.remaining() + OVERLOOKED_SECONDS
    seconds = min(left, max(until_limit, SOLVER_SHARE * left))
    return cut_off(seconds, _ended_before("a plan was complete"))


def _start(kind: Kind, problem: Problem, given: object) -> tuple[object, list[str]]:
    """Return the plan to start from, and notes. If the given plan breaks a rule, it is
    replaced by None, and a note says so.
    """
    start = plan_of(kind, plan_in(given))
    if start is None or kind.judged_by_schedule:
        return start, []
    broken = check_plan(kind, problem, start, None).violations
    if broken:
        return None, [f"the warm start is left out: {broken[0]}"]
    return kind.start(start), []


def _run(
    kind: Kind,
    spec: SolverSpec,
    problem: Problem,
    request: SolveRequest,
    named: bool,
) -> tuple[Outcome, list[str]]:
    """Run the solver and return its outcome and notes; an interrupted solver answers
    with the best plan so far.

    If the user *named* the solver and it raises an error, no other solver answers in
    its place. The kind's fallback answers for a default solver that fails, and for a
    built-in solver that runs out of time.
    """
    best = request.incumbents
    try:
        with _ended_in_time(spec, request):
            outcome = _call(kind, spec, problem, request)
        if (
            outcome.stop is StopReason.INTERRUPTED
        ):  # ended by itself, with a complete plan
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
    except BaseException as error:  # a solver may call sys.exit()
        from ioopt.failures import failure

        note = failure(spec, error)
        if named:
            return replace(_best(best, StopReason.FINISHED), failed=True), [note]
        return _answered_instead(
            kind, spec, problem, request, note, StopReason.FALLBACK
        )


def _answered_instead(
    kind: Kind,
    spec: SolverSpec,
    problem: Problem,
    request: SolveRequest,
    note: str,
    stop: StopReason,
) -> tuple[Outcome, list[str]]:
    """Return the best plan that the solver had reported or, if there is none, the
    answer of the kind's fallback; *note* says why.
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
    kind: Kind, spec: SolverSpec, problem: Problem, request: SolveRequest
) -> Outcome:
    run: SolverFunction[Problem, Any, Any] = spec.solve_function()
    asked = replace(request, policy=spec.make_policy(request.settings))
    if spec.own:
        from ioopt.failures import call_own

        answer = call_own(spec, run, problem, asked)
    else:
        answer = run(problem, asked)
    name = f"the plan of {spec.name}"
    if answer is None:
        return Outcome(None, notes=(f"{spec.name} returned None, no plan",))
    if not isinstance(answer, Outcome):
        answer = Outcome(answer)
    elif not spec.own:
        return answer
    meant = kind.plan_meant(problem, answer.plan, name)
    return replace(answer, plan=plan_of(kind, meant, name))


@dataclass(frozen=True)
class _Wanted:
    """The parts of a result to compute for a plan, in addition to its check."""

    replay: bool
    bound: bool


def _result(
    kind: Kind,
    spec: SolverSpec,
    problem: Problem,
    request: SolveRequest,
    outcome: Outcome,
    notes: list[str],
    wanted: _Wanted,
) -> Result:
    found = outcome
    if wanted.replay:
        outcome = kind.as_asked(problem, request, found)
    values = _of_run(kind, spec, problem, request, outcome)
    if outcome is not found:
        values["trace"] = ()  # the trace is of plans as the solver found them
    claim = Claim(
        kind.metric(outcome.objective_name or kind.objective.name), outcome.bound
    )
    if outcome.plan is None and outcome.simulation is None:
        answer = verdict_without_plan(
            claim, _asked(kind, request), outcome.infeasible, outcome.failed
        )
        values |= _of_verdict(answer)
        return Result(
            notes=(*outcome.notes, *notes), metrics=dict(answer.proofs), **values
        )
    return _checked(kind, problem, request, outcome, claim, notes, values, wanted)


def _of_run(
    kind: Kind,
    spec: SolverSpec,
    problem: Problem,
    request: SolveRequest,
    outcome: Outcome,
) -> Json:
    """Return the fields of a result that describe its run."""
    # Both times use one clock and one start, so that they add up to the time spent and
    # neither is negative.
    seconds = request.deadline.elapsed()
    build = outcome.build_seconds
    if build is not None:
        build = min(max(build, 0.0), seconds)
    return {
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
        "measure": measure_of(kind, request.measure).name,
        "trace": tuple(
            row for row in request.incumbents.trace if math.isfinite(row[1])
        ),
    }


def _of_verdict(answer: Verdict) -> Json:
    """Return the fields of a result that the verdict on its plan determines."""
    return {
        "status": answer.status,
        "objective": answer.value,
        "objective_name": answer.metric.name,
        "bound": answer.bound,
        "gap": answer.gap,
    }


def _asked(kind: Kind, request: SolveRequest) -> Metric | None:
    """Return the metric that the user asked for; None for the solver's own
    objective.
    """
    return None if request.measure is None else kind.metric(request.measure)


class _Replay(NamedTuple):
    """The replay of a plan, or the reason why there is none."""

    simulation: Simulation | None
    notes: tuple[str, ...] = ()
    late: bool = False
    failure: str | None = None


def _replayed(
    kind: Kind,
    problem: Problem,
    request: SolveRequest,
    outcome: Outcome,
    wanted: _Wanted,
) -> _Replay:
    """Return the replay that the solver gave; if it gave none, replay its plan."""
    if outcome.simulation is not None:
        given = with_bounds(kind, problem, outcome.simulation, request.deadline)
        return _Replay(given, given.notes)
    if not wanted.replay:
        return _Replay(None)
    try:
        simulation = simulate(problem, outcome.plan, deadline=request.deadline)
    except errors.OutOfTime as error:
        note = f"checked, but not replayed: {error}"
        return _Replay(None, (note,), late=True)
    except errors.SimulationError as error:
        return _Replay(None, failure=f"the plan cannot be carried out: {error}")
    return _Replay(simulation, simulation.notes)


def _checked(
    kind: Kind,
    problem: Problem,
    request: SolveRequest,
    outcome: Outcome,
    claim: Claim,
    notes: list[str],
    values: Json,
    wanted: _Wanted,
) -> Result:
    """Return the result for a plan, which is replayed, checked, and judged by the
    measure.
    """
    begun = request.deadline.elapsed()
    replay = _replayed(kind, problem, request, outcome, wanted)
    schedule = replay.simulation.schedule if replay.simulation else None
    measured = replay.simulation.metrics if replay.simulation else {}
    report = check_plan(kind, problem, outcome.plan, schedule)
    violations: tuple[Violation, ...] = (
        *report.violations,
        *false_metrics(measured, report),
    )
    policy = getattr(outcome.plan, "policy", None)
    if values["solver"] != policy:
        violations += report.excused
    settings = beyond(kind, problem, outcome.plan, schedule)
    if replay.simulation is not None and not (violations or settings):
        seconds = NOISE_SHARE * processor_seconds_left(request.deadline)
        noisy = kind.under_noise(problem, outcome.plan, seconds)
        measured = {**measured, **noisy}
    quick_bound = partial(kind.bound, problem, request.deadline)
    found = Evidence(
        kind.objective,
        report,
        {**outcome.metrics, **report.metrics, **measured},
        replayed=replay.simulation is not None,
        sound=not violations,
        failed=outcome.failed or replay.failure is not None,
        reference=is_reference(kind.kind, policy),
        quick_bound=quick_bound if wanted.bound else None,
        known=_known(values["solver"], problem, claim, settings),
    )
    answer = verdict_on_plan(claim, _asked(kind, request), found)
    said = request.incumbents.objective_name or claim.metric.name
    if answer.metric.name != said:
        values["trace"] = ()  # the trace is of another objective
    if replay.late:
        values["stop"] = StopReason.TIME
    wrong = [] if replay.failure is None else [replay.failure]
    if violations:
        wrong.append(f"{COUNTED_VIOLATIONS} {len(violations)} violation(s)")
    values |= _of_verdict(answer)
    return Result(
        simulate_seconds=request.deadline.elapsed() - begun,
        metrics={**found.metrics, **answer.proofs},
        violations=violations,
        notes=(
            *outcome.notes,
            *notes,
            *_two_values(kind, answer.metric, values["measure"], replay),
            *replay.notes,
            *wrong,
            *answer.notes,
        ),
        settings=settings,
        plan=plan_dict(outcome.plan),
        schedule=schedule,
        **values,
    )


def _two_values(
    kind: Kind, objective: Metric, measure: str, replay: _Replay
) -> tuple[str, ...]:
    """Return the notes that tell the minimised *objective* from the *measure*, which
    the replay gives, and from the schedule; nothing if the objective is not that of the
    kind, or needs no words.
    """
    if replay.simulation is None or objective.name != kind.objective.name:
        return ()
    told = replay.simulation.objective_notes
    if objective.name == measure or not objective.meaning:
        return told
    own, shown = title(objective.name), title(measure)
    return (
        f"the objective is {own}: {objective.meaning}; {shown} is of the replay on a "
        "clock, where tasks wait for files; each bound is of the value that it names",
        *told,
    )


def _known(
    solver: str, problem: Problem, claim: Claim, settings: Json
) -> Mapping[str, Known]:
    """Return the best known plans of *problem*, with which the claim of a user's own
    solver is compared.

    For built-in solvers the tests make this comparison. The best known plans are plans
    of the unchanged instance, so that none is returned when *settings* were added.
    """
    if ":" not in solver or claim.bound is None or settings:
        return {}
    from ioopt.known_plans import known_plans

    return known_plans(problem)
