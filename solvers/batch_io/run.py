"""Run the I/O policies: simulate a trace, or make the decision of a snapshot."""

from collections.abc import Sequence
from typing import Literal

from ioopt.compiled.library import MOST, Engine, maker
from ioopt.compiled.memory import Maker, Plain
from ioopt.decisions.batch_io import IoPolicy, Limits, Request, View, slow_down
from ioopt.decisions.ordering import Number
from ioopt.errors import InstanceError, OutOfTime, UsageError
from ioopt.models.batch_io.bounds import delay_bounds, mean_response_bound, most_granted
from ioopt.options import Deadline
from ioopt.problems.batch_io import (
    BatchIoPlan,
    BatchIoProblem,
    IoGrantsPlan,
    IoRequestsProblem,
    Loop,
)
from ioopt.protocols import Outcome, Simulation, SolveRequest
from ioopt.result import StopReason
from ioopt.sim.batch_io.initial import Starts
from ioopt.sim.batch_io.results import metrics_of, schedule_of
from ioopt.sim.batch_io.simulate import simulate_trace
from ioopt.sim.batch_io.trace import Run, Trace
from ioopt.sim.pace import Pace
from ioopt.solvers.batch_io.base_line import BASE_LINE, NO_CONGESTION
from ioopt.solvers.batch_io.settings import Recording, Settings
from ioopt.timeline import jobs_timeline

RATES_UP_TO_PHASES = 100_000
"""Largest number of phases of a trace whose rates are recorded with ``rates=auto``,
because rates make results large.
"""
PLAIN_SECONDS_PER_JOB = 4.5e-4
"""Estimated seconds to simulate a job in plain Python; long queues take longer."""
PLAIN_SECONDS_PER_PHASE = 3e-5
"""Estimated seconds to simulate a phase in plain Python."""
SECONDS_PER_RECORDED_PHASE = 1e-4
"""Seconds to record and check the rates of a phase.

With ``rates=auto`` a shorter time limit means that no rates are recorded.
"""
SECONDS_PER_PHASE = 2.5e-5
"""Seconds to write and check a phase of a schedule without rates, on a busy machine."""
TIMELINE_UP_TO_PHASES = 20_000
MOST_STATES = 1 << 27
"""Largest number of cells of a knapsack table (rule 26) in compiled code: two arrays of
1 GB.
"""
OF_TRACES = {
    key: Settings.model_fields[key].default for key in ("ef", "loop", "engine", "rates")
} | {"least_bytes": 0.0}
"""The settings that a single decision does not have, and their defaults."""

ONE_A_SET = (
    "set-10 lets one job of each order of magnitude transfer at a time, so the "
    "storage idles if all jobs are of one kind; least-delay and fill use all of "
    "it"
)


def solve(
    problem: BatchIoProblem | IoRequestsProblem, request: SolveRequest
) -> Outcome:
    """Run the policy of *request* on *problem*: a trace, or a snapshot with one
    decision.
    """
    settings = request.settings
    policy = request.policy
    if isinstance(problem, IoRequestsProblem):
        return _decide_once(problem, policy, settings)
    known = settings.model_dump(include=set(BatchIoPlan.model_fields))
    known_elsewhere = {*BatchIoPlan.model_fields, *Settings.model_fields}
    own = settings.model_dump(exclude=known_elsewhere, exclude_defaults=True)
    plan = BatchIoPlan(**known, settings=own or None)
    stop = StopReason.FINISHED
    notes: tuple[str, ...] = ()
    answers = policy
    simulation: Simulation | None = None
    while simulation is None:
        try:
            simulation = simulate(
                problem,
                plan,
                answers,
                arithmetic=settings.arithmetic,
                engine=settings.engine,
                rates="no" if request.trials else settings.rates,
                deadline=request.deadline,
                drawn=False,
            )
        except OutOfTime as error:
            notes = (*notes, f"{plan.policy}: {error}")
            if answers is BASE_LINE or request.incumbents.plan is not None:
                return Outcome(None, stop=StopReason.TIME, notes=notes)
            stop = StopReason.FALLBACK
            answers = BASE_LINE
            plan = BatchIoPlan(policy=BASE_LINE.name, ef=plan.ef, loop=plan.loop)
    if stop is StopReason.FALLBACK:
        notes = (f"{notes[0]}; answered by {BASE_LINE.name}",)
    if request.trials:
        return Outcome(plan, stop=stop, simulation=simulation, notes=notes, trial=True)
    if plan.policy == "set-10":
        notes = (*notes, ONE_A_SET)
    if plan.loop == "closed" or not problem.jobs:
        bound = mean_response_bound(problem, plan)
        return Outcome(plan, bound, stop, simulation=simulation, notes=notes)
    # In the open loop starts are given, so I/O delays have bounds too.
    starts = {row["id"]: row["start_seconds"] for row in simulation.schedule["jobs"]}
    delays = delay_bounds(problem, plan, starts, simulation.metrics, request.deadline)
    bound = mean_response_bound(problem, plan, starts, delays["io_delay_bound"])
    return Outcome(
        plan, bound, stop, simulation=simulation, notes=notes, metrics=delays
    )


def simulate(
    problem: BatchIoProblem,
    plan: BatchIoPlan,
    policy: IoPolicy,
    *,
    arithmetic: Literal["float", "exact"] = "float",
    engine: Engine = "auto",
    rates: Recording = "auto",
    deadline: Deadline | None = None,
    drawn: bool = True,
) -> Simulation:
    """Replay *plan* with its *policy*; the options are those of :class:`Settings`.

    A timeline is made only if the answer will be *drawn*. The exceptions are those of
    :func:`run_trace`.
    """
    deadline = deadline or Deadline(None)
    trace = Trace.of(problem, plan.ef, arithmetic == "exact")
    phases = trace.num_phases
    record = rates == "yes"
    if rates == "auto":
        record = phases <= _most_recorded(deadline)
    until = _end_of_run(deadline, record, phases)
    run = run_trace(trace, policy, plan.loop, engine, record, until)
    metrics: dict[str, float | None] = {}
    for name, value in metrics_of(trace, run).items():
        metrics[name] = None if value is None else float(value)
    metrics["instants"] = run.events
    metrics["io_decisions"] = run.decisions
    notes = []
    if not record and rates == "auto":
        notes.append(
            f"rates of {phases} phases not recorded (--set rates=yes records "
            "them), so the check is partial"
        )
    schedule = schedule_of(trace, run)
    timeline = None
    if drawn and phases <= TIMELINE_UP_TO_PHASES:
        submits = {job.id: job.submit_seconds for job in problem.jobs}
        timeline = jobs_timeline(schedule["jobs"], submits)
    return Simulation(schedule, metrics, timeline, tuple(notes))


def _most_recorded(deadline: Deadline) -> int:
    """Return the largest number of phases of a trace whose rates are recorded."""
    if deadline.limit_seconds is None:
        return RATES_UP_TO_PHASES
    fitting = int(deadline.limit_seconds / SECONDS_PER_RECORDED_PHASE)
    return min(RATES_UP_TO_PHASES, fitting)


def _end_of_run(deadline: Deadline, record: bool, phases: int) -> Deadline:
    """Return the deadline of a run that leaves time to write and check its schedule.

    The run gets at least half of the time left until *deadline*.
    """
    seconds = SECONDS_PER_RECORDED_PHASE / 2 if record else SECONDS_PER_PHASE
    until = deadline.with_overtime(seconds * phases)
    half = deadline.remaining() / 2
    if until.remaining() < half:
        return deadline.within(half)
    return until


def run_trace(
    trace: Trace,
    policy: IoPolicy,
    loop: Loop = "closed",
    engine: Engine = "auto",
    record_rates: bool = False,
    deadline: Deadline | None = None,
    starts: Starts | None = None,
) -> Run:
    """Simulate *trace* under *policy* on the chosen engine.

    *starts* fixes when and where jobs start. Raise UsageError if the compiled engine is
    asked for something that it cannot do, BackendMissingError if there is none, and
    OutOfTime if the deadline passes.
    """
    deadline = deadline or Deadline(None)
    make = _maker(trace, policy, loop, engine)
    if loop == "closed":
        return _run(trace, policy, make, record_rates, starts, deadline)
    free = _run(trace, NO_CONGESTION, make, False, None, deadline)
    starts = free.start, free.block
    run = _run(trace, policy, make, record_rates, starts, deadline)
    run.units = free.units
    return run


def _maker(trace: Trace, policy: IoPolicy, loop: Loop, engine: Engine) -> Maker:
    """Return what makes and runs the kernels for *trace*: compiled ones if there are
    any that can run it, unless *engine* asks for plain Python.
    """
    unable = _not_compiled(trace, policy, loop)
    if engine == "compiled" and unable:
        raise UsageError(f"engine=compiled cannot run with {unable}; use engine=python")
    return Plain() if unable else maker(engine=engine)


def _largest_number(trace: Trace) -> int:
    """Return the largest whole number that may occur in a simulation of *trace*."""
    largest = max(trace.allocated, default=0)
    return max(largest * largest, sum(trace.allocated), trace.limits.saturating_units)


def _not_compiled(trace: Trace, policy: IoPolicy, loop: Loop) -> str:
    """Return why compiled kernels cannot run *trace*; an empty string if they can."""
    if trace.limits.exact:
        return "arithmetic=exact"
    if policy.grant is not None and not (policy.is_text and maker().has(policy.grant)):
        return f"policy={policy.name}"
    states = 0
    if trace.limits.own_peaks and policy.tabulates:
        states = trace.most_states(loop == "closed")
    if _largest_number(trace) > MOST:
        return "numbers of nodes that have more than 64 bits"
    if states > MOST_STATES:
        return "peak rates of single jobs on a machine of so many allocation units"
    return ""


def _run(
    trace: Trace,
    policy: IoPolicy,
    make: Maker,
    record_rates: bool,
    starts: Starts | None,
    deadline: Deadline,
) -> Run:
    seconds = (
        PLAIN_SECONDS_PER_JOB * len(trace) + PLAIN_SECONDS_PER_PHASE * trace.num_phases
    )
    pace = Pace(deadline, seconds / make.times, policy is BASE_LINE)
    return simulate_trace(
        trace, policy, make, record_rates=record_rates, starts=starts, pace=pace
    )


def _decide_once(
    problem: IoRequestsProblem, policy: IoPolicy, settings: Settings
) -> Outcome:
    """Return the outcome of a snapshot: the grants of *policy* at one instant."""
    for key in settings.model_fields_set & OF_TRACES.keys():
        if getattr(settings, key) != OF_TRACES[key]:
            raise UsageError(
                f"setting {key} applies to traces; this instance is a single decision"
            )
    view = view_of(problem, settings.arithmetic == "exact", policy)
    rates = policy.decide(view)
    if view.limits.interference and not policy.ignores_limit:
        slow_down(rates, len(rates), view.limits.storage, view.limits.interference)
    plan = plan_of_rates(problem, view, rates, settings.policy, settings.top)
    return Outcome(plan, bound=most_granted(problem, settings.policy))


def plan_of_rates(
    problem: IoRequestsProblem,
    view: View,
    rates: Sequence[Number],
    policy: str | None,
    top: bool = False,
) -> IoGrantsPlan:
    """Return the plan that grants *rates*, in the order of the requests of *view*."""
    grants = {request.id: float(rate) for request, rate in zip(view.requests, rates)}
    ordered = {request.id: grants[request.id] for request in problem.requests}
    return IoGrantsPlan(grants=ordered, policy=policy, top=top)


def view_of(
    problem: IoRequestsProblem, use_exact: bool = False, policy: IoPolicy | None = None
) -> View:
    """Return what a policy sees of a snapshot, with the requests in FCFS order
    (rule 10).

    Raise InstanceError if *policy* needs job starts and a request has none.
    """
    limits = Limits.of(problem.machine, use_exact)
    for item in problem.requests:
        if policy is not None and policy.needs_start and item.start_seconds is None:
            raise InstanceError(
                f"request {item.id!r}: cons-min-aggr-sld needs start_seconds"
            )
    requests = [Request.of(item, problem.machine, limits) for item in problem.requests]
    requests.sort(key=lambda request: request.key)
    own = any(item.io_bytes_per_second is not None for item in problem.requests)
    if own and any(map(limits.has_own_peak, requests)):
        limits = limits.with_own_peaks()
    return View(limits, limits.number(problem.now_seconds), requests)
