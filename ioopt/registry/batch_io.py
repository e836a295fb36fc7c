"""Registry of the batch_io family (Zhou et al.)."""

from __future__ import annotations

from ioopt.registry.types import ONLINE, REFERENCE, KindSpec, SolverSpec

_RUN = "ioopt.solvers.batch_io.run:"
_KINDS = ("batch-io", "io-requests")
_ONLINE = frozenset({ONLINE})
_POLICIES = (
    "base-line",
    "cons-fcfs",
    "cons-max-util",
    "cons-min-inst-sld",
    "cons-min-aggr-sld",
    "adaptive",
    "set-10",
    "set-10+top",
    "fill",
)

KINDS: tuple[KindSpec, ...] = (
    KindSpec(
        kind="batch-io",
        family="batch-io",
        problem="ioopt.problems.batch_io:BatchIoProblem",
        plan="ioopt.problems.batch_io:BatchIoPlan",
        schedule="ioopt.problems.schedules:BatchIoSchedule",
        check="ioopt.check.batch_io.check:check",
        simulate=_RUN + "simulate",
        generate="ioopt.generate.batch_io.generate:generate",
        presets="ioopt.generate.batch_io.generate:PRESETS",
        plot="ioopt.plot.bandwidth:plot_batch_io",
        pictures={"gantt": "ioopt.plot.jobs:plot_jobs"},
        default_solver="fill",
        objective_name="mean_response_seconds",
        compare_solvers=("no-congestion", *_POLICIES),
        most=("utilisation", "useful_utilisation"),
        compare_columns=(
            "mean_response_seconds",
            "mean_wait_seconds",
            "mean_slowdown",
            "max_slowdown",
            "io_delay_seconds",
            "node_weighted_io_delay",
            "utilisation",
            "useful_utilisation",
        ),
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
        objective_name="granted_bytes_per_second",
        sense="max",
        compare_solvers=_POLICIES,
        compare_columns=("granted_requests", "partial_grants"),
        decision=True,
        summary="one I/O decision: the outstanding requests at an instant (Zhou et al.)",
    ),
)


def _policy(
    name: str, summary: str, source: str, settings: str = "Settings", top: bool = False
) -> SolverSpec:
    return SolverSpec(
        name + ("+top" if top else ""), _KINDS, _RUN + "solve", summary, source,
        _RUN + settings, fixed={"policy": name, "top": top},
        abilities=_ONLINE | {REFERENCE} if name == "no-congestion" else _ONLINE,
        variant_of=name if top else None,
    )  # fmt: skip


def _conservative(
    name: str, summary: str, source: str, settings: str = "Settings"
) -> tuple[SolverSpec, SolverSpec]:
    return (
        _policy(name, summary, source, settings),
        _policy(
            name,
            f"{name} that gives left-over bandwidth to the skipped requests",
            "ours, on " + source,
            settings,
            top=True,
        ),
    )


SOLVERS: tuple[SolverSpec, ...] = (
    _policy(
        "no-congestion", "every request at its peak rate: the reference without contention",
        "Zhou et al., Section IV", "Settings",
    ),
    _policy(
        "base-line", "all outstanding requests share the storage by nodes",
        "Zhou et al., Section IV.D", "SharingSettings",
    ),
    *_conservative("cons-fcfs", "first fit by request time", "Zhou et al., Section III.C.2"),
    *_conservative(
        "cons-max-util", "the subset that keeps the most nodes busy", "Zhou et al., Section III.C.2",
        "MaxUtilSettings",
    ),
    *_conservative(
        "cons-min-inst-sld", "least slowdown of the present request first",
        "Zhou et al., Section III.C.2",
    ),
    *_conservative(
        "cons-min-aggr-sld", "least slowdown of the job so far first",
        "Zhou et al., Section III.C.2",
    ),
    _policy(
        "adaptive", "first fit by request time, sharing where that lowers the mean I/O time",
        "Zhou et al., Section III.C.2, Algorithm 1", "SharingSettings",
    ),
    _policy(
        "set-10", "one request at a time in each order of magnitude of the iteration length",
        "IO-Sets, doi 10.1109/TPDS.2023.3305028",
    ),
    _policy(
        "set-10", "set-10 that gives left-over bandwidth to the other requests, earliest first",
        "ours, on IO-Sets", top=True,
    ),
    _policy(
        "fill", "least bytes left per node^alpha first, bandwidth always filled", "ours", "FillSettings"
    ),
)  # fmt: skip
