"""Registry of the batch_io family (Zhou et al.)."""

from ioopt.registry.types import (
    ANYTIME,
    BOUND,
    EXACT,
    ONLINE,
    REFERENCE,
    THREADS,
    KindSpec,
    Metric,
    SolverSpec,
)

_AT = "ioopt.solvers.batch_io."
_KINDS = ("batch-io", "io-requests")
_ONLINE = {ONLINE}


def _policy(
    name: str,
    policy: str,
    summary: str,
    source: str,
    settings: str = "settings:Settings",
    top: bool = False,
) -> SolverSpec:
    return SolverSpec(
        name + "+top" * top,
        _KINDS,
        _AT + "run:solve",
        summary,
        source,
        _AT + settings,
        _AT + policy,
        fixed={"policy": name, "top": top},
        abilities=_ONLINE | {REFERENCE} if name == "no-congestion" else _ONLINE,
        variant_of=name if top else None,
    )


def _conservative(
    name: str, policy: str, summary: str, settings: str
) -> tuple[SolverSpec, SolverSpec]:
    source = "Zhou et al., Section III.C.2"
    left = f"{name} that gives left-over bandwidth to the skipped requests"
    return (
        _policy(name, policy, summary, source, settings),
        _policy(name, policy, left, "ours, on " + source, settings, top=True),
    )


SOLVERS: tuple[SolverSpec, ...] = (
    SolverSpec(
        "auto",
        ("batch-io",),
        "ioopt.registry.policies:best_policy",
        "every policy on the trace, the best answers",
        "ours",
        abilities={ANYTIME},
    ),
    _policy(
        "no-congestion",
        "base_line:policy",
        "every request at its peak rate: the reference without contention",
        "Zhou et al., Section IV",
    ),
    _policy(
        "base-line",
        "base_line:policy",
        "all outstanding requests share the storage by nodes",
        "Zhou et al., Section IV.D",
        "settings:SharingSettings",
    ),
    *_conservative(
        "cons-fcfs",
        "conservative:policy",
        "first fit by request time",
        "settings:FirstComeSettings",
    ),
    *_conservative(
        "cons-max-util",
        "max_util:policy",
        "the subset that keeps the most nodes busy",
        "max_util:MaxUtilSettings",
    ),
    *_conservative(
        "cons-min-inst-sld",
        "conservative:policy",
        "least slowdown of the present request first",
        "settings:OrderedSettings",
    ),
    *_conservative(
        "cons-min-aggr-sld",
        "conservative:policy",
        "least slowdown of the job so far first",
        "settings:OrderedSettings",
    ),
    _policy(
        "adaptive",
        "adaptive:policy",
        "first fit by request time, sharing where that lowers the mean I/O time",
        "Zhou et al., Section III.C.2, Algorithm 1",
    ),
    _policy(
        "set-10",
        "set10:policy",
        "one request at a time in each order of magnitude of the iteration length",
        "IO-Sets, doi 10.1109/TPDS.2023.3305028",
    ),
    _policy(
        "fill",
        "fill:policy",
        "least bytes left per node^alpha first, bandwidth always filled",
        "ours",
        "fill:FillSettings",
    ),
    _policy(
        "least-delay",
        "fill:least_delay",
        "least bytes left x node^1/2 first, bandwidth always filled: for the "
        "total I/O delay",
        "ours",
    ),
    SolverSpec(
        "io-exact",
        ("batch-io",),
        _AT + "exact:solve",
        "the least I/O delay for given starts, up to 30 requests: what being "
        "online costs",
        "ours",
        _AT + "exact:ExactSettings",
        _AT + "exact:policy",
        fixed={"policy": "io-exact", "top": False},
        abilities={EXACT, BOUND, THREADS},
        backends=("HiGHS", "CBC"),
    ),
)
"""One row a policy: its name, its file, and what is said of it."""

_COMPARED = tuple(
    row.name
    for row in SOLVERS
    if row.variant_of is None and row.name not in ("auto", "io-exact")
)

_ONLINE_ROWS = sorted(
    (row for row in SOLVERS if row.abilities == _ONLINE),
    key=lambda row: row.variant_of is not None,
)

KINDS: tuple[KindSpec, ...] = (
    KindSpec(
        kind="batch-io",
        family="batch-io",
        problem="ioopt.problems.batch_io:BatchIoProblem",
        plan="ioopt.problems.batch_io:BatchIoPlan",
        schedule="ioopt.problems.schedules:BatchIoSchedule",
        check="ioopt.check.batch_io.check:check",
        simulate="ioopt.registry.policies:simulate_batch_io",
        follows=True,
        beyond="ioopt.problems.batch_io:beyond",
        generate="ioopt.generate.batch_io.generate:generate",
        plot="ioopt.plot.bandwidth:plot_batch_io",
        pictures={"gantt": "ioopt.plot.gantt:plot_jobs"},
        explain="ioopt.explaining.batch_io:FAMILY",
        default_solver="auto",
        fallback="base-line",
        policies=tuple(
            dict.fromkeys(
                (
                    "fill",
                    "least-delay",
                    "cons-max-util",
                    *(row.name for row in _ONLINE_ROWS),
                )
            )
        ),
        metrics=(
            Metric("mean_response_seconds", objective=True),
            Metric("mean_wait_seconds"),
            Metric("mean_slowdown"),
            Metric("max_slowdown"),
            Metric("io_delay_seconds", bounded_by="io_delay_bound"),
            Metric("node_weighted_io_delay", bounded_by="node_weighted_io_delay_bound"),
            Metric("utilisation", "max"),
            Metric("useful_utilisation", "max"),
        ),
        compare_solvers=_COMPARED,
        baseline="base-line",
        summary="a job trace with I/O phases behind one storage system (Zhou et al.)",
    ),
    KindSpec(
        kind="io-requests",
        family="batch-io",
        problem="ioopt.problems.batch_io:IoRequestsProblem",
        plan="ioopt.problems.batch_io:IoGrantsPlan",
        check="ioopt.check.batch_io.io_requests:check",
        default_solver="fill",
        fallback="base-line",
        metrics=(
            Metric("granted_bytes_per_second", "max", objective=True),
            Metric("granted_requests"),
            Metric("partial_grants"),
        ),
        compare_solvers=_COMPARED[1:],
        decision=True,
        summary="one I/O decision: the outstanding requests at an instant (Zhou et "
        "al.)",
    ),
)
