"""One wrapper runs every policy: through the simulator for a trace, once for a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from ioopt.decisions.batch_io import TWINS, IoPolicy, Limits, Request, View
from ioopt.errors import InstanceError, OutOfTime, UsageError
from ioopt.models.batch_io.bounds import mean_response_bound, most_granted
from ioopt.options import Deadline
from ioopt.problems.base import Record
from ioopt.problems.batch_io import (
    BatchIoPlan,
    BatchIoProblem,
    IoGrantsPlan,
    IoRequestsProblem,
    Knapsack,
    Loop,
    Policy,
    Share,
)
from ioopt.protocols import Outcome, Simulation, SolveRequest
from ioopt.result import StopReason
from ioopt.sim.batch_io.results import metrics_of, schedule_of, timeline_of
from ioopt.sim.batch_io.simulate import simulate_trace
from ioopt.sim.batch_io.trace import Run, Trace
from ioopt.sim.relay import Handover, relay_to
from ioopt.solvers.batch_io.policies import policy as policy_named
from ioopt.solvers.batch_io.set10 import set_of

Engine = Literal["auto", "python", "compiled"]
Recording = Literal["auto", "yes", "no"]

_COMPILED = "ioopt.sim.batch_io.compiled"
RATES_UP_TO_PHASES = 100_000
"""``rates=auto`` records the rates of traces up to this size; they are most of a result's bytes."""
CHEAPEST = "base-line"
"""Answers in the place of a policy that cannot be simulated within the limit."""
SECONDS_PER_PHASE = 1.5e-5
"""Of writing down and checking a schedule."""
TIMELINE_UP_TO_PHASES = 20_000

ONE_A_SET = (
    "set-10 lets one job of each order of magnitude transfer at a time: where jobs are of one kind "
    "the storage idles; set-10+top gives what is left to the others"
)


class Settings(Record):
    """Settings of every policy (``--set``).

    ``ef`` is the expansion factor of rule 23; ``loop=open`` fixes every job's start and nodes to
    those of an uncongested run; ``arithmetic=exact`` runs on rationals; ``engine`` is the pure
    Python or the compiled simulator (auto: Python, until its pace says that compiled code, where it
    stands ready, is done sooner); ``rates`` says whether the schedule holds the
    rate of every request over time (auto: unless the trace is large).
    """

    policy: Policy
    top: bool = False
    ef: float = Field(1.0, ge=0)
    loop: Loop = "closed"
    arithmetic: Literal["float", "exact"] = "float"
    engine: Engine = "auto"
    rates: Recording = "auto"


class SharingSettings(Settings):
    """Settings of the policies that share: ``share`` is how (rule 7)."""

    share: Share = "per-node"


class MaxUtilSettings(Settings):
    """Settings of Cons-MaxUtil: ``knapsack`` solves its knapsack (the default is by far the fastest)."""

    knapsack: Knapsack = "bitset"


class FillSettings(Settings):
    """Settings of FILL: ``alpha`` weighs a request's nodes (rule 17)."""

    alpha: float = Field(0.5, ge=0)


def solve(problem: BatchIoProblem | IoRequestsProblem, request: SolveRequest) -> Outcome:
    """Run the policy that the settings name on *problem*, a trace or one decision's snapshot."""
    settings = request.settings
    if isinstance(problem, IoRequestsProblem):
        return _decide_once(problem, settings)
    plan = BatchIoPlan(
        policy=settings.policy,
        top=settings.top,
        ef=settings.ef,
        loop=settings.loop,
        share=getattr(settings, "share", "per-node"),
        alpha=getattr(settings, "alpha", 0.5),
        knapsack=getattr(settings, "knapsack", "bitset"),
    )
    how = settings.arithmetic, settings.engine, settings.rates
    deadline = _leaving_time(problem, request.deadline)
    notes: tuple[str, ...] = ()
    stop = StopReason.FINISHED
    try:
        simulation, notes = _simulate(problem, plan, *how, deadline)
    except OutOfTime as late:
        cheap = BatchIoPlan(policy=CHEAPEST, ef=plan.ef, loop=plan.loop)
        try:
            simulation, notes = _simulate(problem, cheap, *how, deadline)
        except OutOfTime:
            return Outcome(None, stop=StopReason.TIME, notes=(str(late),))
        notes = (f"{settings.policy}: {late}; answered by {CHEAPEST}", *notes)
        plan, stop = cheap, StopReason.FALLBACK
    if plan.policy == "set-10" and not plan.top:
        notes = (*notes, ONE_A_SET)
    bound = mean_response_bound(problem, plan)
    return Outcome(plan, bound, stop, simulation=simulation, notes=notes)


def _leaving_time(problem: BatchIoProblem, deadline: Deadline) -> Deadline:
    """*deadline* less what it takes to write down and check the schedule of all phases."""
    left = deadline.remaining()
    phases = sum(phase.repeat for job in problem.jobs for phase in job.phases)
    return deadline.within(max(left / 2, left - SECONDS_PER_PHASE * phases))


def simulate(
    problem: BatchIoProblem,
    plan: BatchIoPlan,
    *,
    arithmetic: Literal["float", "exact"] = "float",
    engine: Engine = "auto",
    rates: Recording = "auto",
) -> Simulation:
    """Replay *plan*: simulate its policy on *problem*. The options are those of :class:`Settings`."""
    return _simulate(problem, plan, arithmetic, engine, rates, Deadline(None))[0]


def _simulate(
    problem: BatchIoProblem,
    plan: BatchIoPlan,
    arithmetic: str,
    engine: Engine,
    rates: Recording,
    deadline: Deadline,
) -> tuple[Simulation, tuple[str, ...]]:
    trace = Trace.of(problem, plan.ef, arithmetic == "exact")
    phases = trace.num_phases
    record = rates == "yes" or (rates == "auto" and phases <= RATES_UP_TO_PHASES)
    run = run_trace(trace, plan, engine, record, deadline)
    metrics: dict[str, float | None] = {
        name: None if value is None else float(value)
        for name, value in metrics_of(trace, run).items()
    }
    timeline = timeline_of(trace, run) if phases <= TIMELINE_UP_TO_PHASES else None
    metrics |= {"instants": run.events, "io_decisions": run.decisions}
    notes = []
    if not record and rates == "auto":
        notes.append(f"{phases} phases: rates not recorded (--set rates=yes), so checked in part")
    return Simulation(schedule_of(trace, run), metrics, timeline), tuple(notes)


def run_trace(
    trace: Trace,
    plan: BatchIoPlan,
    engine: Engine = "auto",
    record_rates: bool = False,
    deadline: Deadline | None = None,
) -> Run:
    """Simulate *trace* as *plan* says on the chosen engine.

    Raises UsageError when the compiled engine is asked for what it does not do (rationals, sharing
    per application, other knapsack engines), OutOfTime when the deadline passes.
    """
    policy = policy_named(
        plan.policy, top=plan.top, alpha=plan.alpha, share=plan.share, knapsack=plan.knapsack
    )
    unable = _obstacle(trace, plan)
    if engine == "compiled" and unable:
        raise UsageError(f"engine=compiled cannot run with {unable}; use engine=python")
    if engine == "auto" and unable:
        engine = "python"
    starts: tuple[Sequence[Any], Sequence[int]] | None = None
    if plan.loop == "open":
        reference = policy_named("no-congestion")
        free = _run(trace, reference, plan.alpha, engine, False, None, deadline)
        starts = free.start, free.block
    return _run(trace, policy, plan.alpha, engine, record_rates, starts, deadline)


def _obstacle(trace: Trace, plan: BatchIoPlan) -> str | None:
    """What the compiled engine cannot do."""
    if plan.policy not in TWINS:
        return f"policy={plan.policy}"
    if trace.limits.exact:
        return "arithmetic=exact"
    if plan.share == "per-application" and plan.policy in ("base-line", "adaptive"):
        return "share=per-application"
    if plan.knapsack != "bitset" and plan.policy == "cons-max-util":
        return f"knapsack={plan.knapsack}"
    return None


def _run(
    trace: Trace,
    policy: IoPolicy,
    alpha: float,
    engine: Engine,
    record_rates: bool,
    starts: tuple[Sequence[Any], Sequence[int]] | None,
    deadline: Deadline | None,
) -> Run:
    """One run; ``auto`` begins in plain Python (:mod:`ioopt.sim.relay`)."""
    if engine != "compiled":
        module = _COMPILED if engine == "auto" else ""
        watch = relay_to(module, "advance", deadline, policy.name == CHEAPEST)
        try:
            return simulate_trace(
                trace, policy, record_rates=record_rates, starts=starts, relay=watch
            )  # fmt: skip
        except Handover:
            pass
    from ioopt.sim.batch_io.compiled import simulate_compiled

    sets: Sequence[int] = ()
    if policy.name.startswith("set-10"):
        sets = [set_of(w) if w else 0 for w in trace.iteration]
    return simulate_compiled(
        trace, policy.name, alpha=alpha, set_numbers=sets, record_rates=record_rates,
        starts=starts, deadline=deadline,
    )  # fmt: skip


def _decide_once(problem: IoRequestsProblem, settings: Settings) -> Outcome:
    for key in ("ef", "loop", "engine", "rates"):
        default = Settings.model_fields[key].default
        if getattr(settings, key) != default:
            raise UsageError(f"setting {key} is for traces; this is one decision")
    policy = policy_named(
        settings.policy,
        top=settings.top,
        alpha=getattr(settings, "alpha", 0.5),
        share=getattr(settings, "share", "per-node"),
        knapsack=getattr(settings, "knapsack", "bitset"),
    )
    view = view_of(problem, settings.arithmetic == "exact", policy)
    rates = policy.decide(view)
    grants = {request.id: float(rate) for request, rate in zip(view.requests, rates)}
    ordered = {request.id: grants[request.id] for request in problem.requests}
    plan = IoGrantsPlan(grants=ordered, policy=settings.policy, top=settings.top)
    return Outcome(plan, bound=most_granted(problem, settings.policy))


def view_of(
    problem: IoRequestsProblem, use_exact: bool = False, policy: IoPolicy | None = None
) -> View:
    """The snapshot as a policy sees it; requests in FCFS order (rule 10).

    Raises InstanceError when *policy* is MIN_AGGR_SLD and a request does not say what it needs.
    """
    limits = Limits.of(problem.machine, use_exact)
    number = limits.number
    needs = policy is not None and policy.name.startswith("cons-min-aggr-sld")
    requests = []
    for item in problem.requests:
        nodes = problem.machine.allocated_nodes(item.nodes)
        request = Request(
            item.id, nodes, limits, number(item.request_seconds), number(item.left_bytes)
        )
        request.moved = number(item.moved_bytes)
        if needs and item.start_seconds is None:
            raise InstanceError(f"request {item.id!r}: cons-min-aggr-sld needs start_seconds")
        if item.start_seconds is not None:
            request.start = number(item.start_seconds)
        request.compute_so_far = number(item.compute_seconds_so_far or 0)
        request.ideal_so_far = number(item.ideal_io_seconds_so_far or 0)
        transfer = (request.left + request.moved) / request.peak
        request.iteration = (
            number(item.iteration_seconds)
            if item.iteration_seconds is not None
            else request.compute_so_far + request.ideal_so_far + transfer
        )
        requests.append(request)
    requests.sort(key=lambda request: request.key)
    return View(limits, number(problem.now_seconds), requests)
