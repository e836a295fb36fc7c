"""Find the best I/O of a small trace whose job starts are given (ours).

The result shows how much online policies lose. An integer program
(:mod:`ioopt.models.batch_io.io_order`) on HiGHS or CBC searches over the orders of all
issues and finishes of requests. The plan stores the rates for every set of outstanding
requests, so it is replayed like a policy. If the search finds nothing, the answer is
the plan of the best policy.
"""

import math
from collections.abc import Mapping, Sequence

from pydantic import Field

from ioopt.decisions.batch_io import IoPolicy, Rates, RequestId, View
from ioopt.decisions.ordering import nine_digits
from ioopt.errors import NotApplicableError
from ioopt.models.batch_io.bounds import WORK, chains_of, mean_response_bound
from ioopt.models.batch_io.io_order import IoOrderModel
from ioopt.models.batch_io.prices import delay_bound
from ioopt.problems.batch_io import BatchIoPlan, BatchIoProblem, Loop
from ioopt.protocols import Outcome, SolveRequest
from ioopt.result import StopReason
from ioopt.sim.batch_io.trace import Run, Trace
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.solve import solve_program
from ioopt.solvers.batch_io import adaptive, base_line, fill
from ioopt.solvers.batch_io.run import run_trace, simulate
from ioopt.solvers.batch_io.settings import Settings

MOST_REQUESTS = 30
"""Largest number of requests of a trace that can be solved."""
MANY_JOBS = 1000
"""Largest number of jobs of a trace that is simulated without checking the time
limit.
"""
PRICE_ROUNDS = 60
"""Number of rounds in which prices are adjusted to improve the bound."""
SHORT_SECONDS = 5.0
"""Time limit in seconds below which the work of these rounds is limited too."""
TOLERANCE = 1e-6
"""Relative distance from a proven optimum within which a replay counts as optimal."""

Rows = Sequence[Sequence[tuple[int, float, float]]]
"""For each set of outstanding requests, (rank of the job, I/O so far, rate) of each
request.

The I/O so far is in seconds at the peak rate; the rate is in bytes per second.
"""


class ExactSettings(Settings):
    """Configure ``io-exact``, for which job starts are given (``loop=open``).

    ``rows`` are the rates of a plan.
    """

    loop: Loop = "open"
    rows: list[list[tuple[int, float, float]]] = Field(default_factory=list)


def solve(problem: BatchIoProblem, request: SolveRequest) -> Outcome:
    """Find the least mean response, with the job starts of the uncongested run."""
    settings = request.settings
    _require_small(problem, settings)
    trace = Trace.of(problem, settings.ef)
    deadline = request.deadline
    plain = Settings(policy="any")
    rivals = [fill.least_delay(plain), adaptive.policy(plain), base_line.BASE_LINE]
    # Small traces are simulated so fast that the limit need not be checked.
    limit = deadline if len(trace) > MANY_JOBS else None
    runs = [
        run_trace(trace, rival, "open", "python", deadline=limit) for rival in rivals
    ]
    known, best = min((_delay(trace, run), k) for k, run in enumerate(runs))
    starts = dict(zip(trace.ids, map(float, runs[0].start)))
    chains = chains_of(problem, settings.ef, starts)
    least = 0.0
    rows = []
    stop = StopReason.FINISHED
    notes = []
    if known > TOLERANCE:
        origin = min(chain.begin for chain in chains)
        chains = [chain._replace(begin=chain.begin - origin) for chain in chains]
        rival = BatchIoPlan(policy=rivals[best].name, ef=settings.ef, loop="open")
        request.incumbents.objective_name = "io_delay_seconds"
        request.incumbents.report(rival, known / len(trace))
        short = deadline.remaining() < SHORT_SECONDS
        least = delay_bound(chains, known, PRICE_ROUNDS, WORK if short else math.inf)
        stop = StopReason.TIME
        if deadline.remaining() > 0:
            model = IoOrderModel(chains, known * (1 + TOLERANCE), least)
            limits = BackendLimits.of(request)
            answer = solve_program(model.program, request.options.backend, limits)
            stop = answer.stop
            if answer.bound is not None:
                least = max(least, min(known, answer.bound - model.ideal))
            if answer.found:
                rows = _rows(trace, problem, model.rates(answer.values))
    plan = BatchIoPlan(
        policy="io-exact", ef=settings.ef, loop="open", settings={"rows": rows}
    )
    simulation = simulate(problem, plan, replay(rows))
    reached = simulation.metrics["io_delay_seconds"] * len(trace)
    if reached > known:
        plan = BatchIoPlan(policy=rivals[best].name, ef=settings.ef, loop="open")
        simulation = simulate(problem, plan, rivals[best])
        reached = known
        notes.append(f"found no order better than {plan.policy}")
    if reached - least <= TOLERANCE * max(1.0, known) and stop is StopReason.FINISHED:
        least = reached
    bound = mean_response_bound(problem, plan, starts, least / len(trace))
    if least == reached:
        bound = simulation.metrics["mean_response_seconds"]
    metrics = {"io_delay_bound": least / len(trace)}
    notes.append("starts are taken from the uncongested run (loop=open)")
    return Outcome(
        plan, bound, stop, simulation=simulation, notes=tuple(notes), metrics=metrics
    )


def _require_small(problem: BatchIoProblem, settings: ExactSettings) -> None:
    """Raise NotApplicableError for a trace that the integer program cannot
    represent.
    """
    asked = 0
    for job in problem.jobs:
        for phase in job.phases:
            if phase.io_bytes * settings.ef > 0:
                asked += phase.repeat
    reasons = {
        "needs given starts: --set loop=open": settings.loop == "closed",
        "cannot kill jobs (options.kill)": problem.options.kill,
        "cannot represent interference": problem.machine.interference > 0,
        "computes with floats only": settings.arithmetic == "exact",
        f"takes at most {MOST_REQUESTS} requests; the trace has {asked}": asked
        > MOST_REQUESTS,
        "needs at least one job": not problem.jobs,
    }
    for reason, holds in reasons.items():
        if holds:
            raise NotApplicableError(f"exact {reason}")


def _delay(trace: Trace, run: Run) -> float:
    """Return the total I/O delay of all jobs in a run, in seconds."""
    return float(
        sum(run.end[j] - run.start[j] - trace.ideal[j] for j in range(len(trace)))
    )


def _rows(
    trace: Trace,
    problem: BatchIoProblem,
    spans: Sequence[Mapping[tuple[int, int], float]],
) -> list[list[tuple[int, float, float]]]:
    """Translate the *spans* of a solution into rows of a plan.

    A span has the share of the storage of each outstanding request.
    """
    places = {name: j for j, name in enumerate(trace.ids)}
    keys = []
    volume = trace.volume.tolist()
    for job in problem.jobs:
        j = places[job.id]
        so_far = 0.0
        found = []
        for place in range(trace.offset[j], trace.offset[j + 1]):
            if volume[place] > 0:
                found.append((trace.rank[j], so_far))
                so_far += volume[place] / trace.peak[j]
        if found:
            keys.append(found)
    storage = trace.limits.storage
    return [
        [(*keys[j][k], share * storage) for (j, k), share in span.items()]
        for span in spans
    ]


def replay(rows: Rows) -> IoPolicy:
    """Return the policy that grants the rates of a plan.

    A set of requests is recognised by its jobs and their I/O so far. FILL decides for
    sets that are not in *rows*; they occur only through rounding.
    """
    table: dict[frozenset[tuple[RequestId, float]], dict[RequestId, float]] = {}
    for row in rows:
        here = frozenset((rank, nine_digits(so_far)) for rank, so_far, _ in row)
        table[here] = {rank: rate for rank, _, rate in row}
    otherwise = fill.made("fill", 0.0)

    def decide(view: View) -> Rates:
        here = frozenset(
            (r.id, nine_digits(float(r.ideal_so_far))) for r in view.requests
        )
        rates = table.get(here)
        if rates is None:
            return otherwise.decide(view)
        return [min(view.limits.number(rates[r.id]), r.peak) for r in view.requests]

    return IoPolicy.of("io-exact", decide, full_when_fits=False)


def policy(how: ExactSettings) -> IoPolicy:
    """Return the policy that replays the rates in *how*; without rates it is FILL."""
    return replay(how.rows)
