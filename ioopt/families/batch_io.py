"""Define the batch I/O family (Zhou et al.): job traces that share one storage system,
and single decisions on which I/O requests transfer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ioopt.families import (
    ANYTIME,
    BOUND,
    EXACT,
    ONLINE,
    REFERENCE,
    THREADS,
    Kind,
    Loader,
    MadePolicy,
    Metric,
    Solve,
    SolverSpec,
    Turn,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ioopt.decisions.batch_io import IoPolicy
    from ioopt.plot.result_page import Contents
    from ioopt.problems.base import Json, Rows
    from ioopt.problems.batch_io import (
        BatchIoPlan,
        BatchIoProblem,
        IoGrantsPlan,
        IoRequestsProblem,
    )
    from ioopt.problems.batch_jobs import BatchJobs
    from ioopt.problems.columns import Objects
    from ioopt.problems.schedules import BatchIoSchedule
    from ioopt.protocols import CheckReport, Schedule, Simulation
    from ioopt.result import Result
    from ioopt.solvers.model_files import Models

_KINDS = ("batch-io", "io-requests")
_RENAMED = {"exact": "io-exact", "fixed-share": "base-line", "set-10+top": "fill"}


@Loader
def _run() -> Solve:
    from ioopt.solvers.batch_io.run import solve

    return solve


@Loader
def _plain_settings() -> type[BaseModel]:
    from ioopt.solvers.batch_io.settings import Settings

    return Settings


@Loader
def _base_line() -> Callable[[Any], IoPolicy]:
    from ioopt.solvers.batch_io.base_line import policy

    return policy


@Loader
def _sharing_settings() -> type[BaseModel]:
    from ioopt.solvers.batch_io.settings import SharingSettings

    return SharingSettings


@Loader
def _conservative_policy() -> Callable[[Any], IoPolicy]:
    from ioopt.solvers.batch_io.conservative import policy

    return policy


@Loader
def _first_come_settings() -> type[BaseModel]:
    from ioopt.solvers.batch_io.settings import FirstComeSettings

    return FirstComeSettings


@Loader
def _max_util() -> Callable[[Any], IoPolicy]:
    from ioopt.solvers.batch_io.max_util import policy

    return policy


@Loader
def _max_util_settings() -> type[BaseModel]:
    from ioopt.solvers.batch_io.max_util import MaxUtilSettings

    return MaxUtilSettings


@Loader
def _ordered_settings() -> type[BaseModel]:
    from ioopt.solvers.batch_io.settings import OrderedSettings

    return OrderedSettings


@Loader
def _adaptive() -> Callable[[Any], IoPolicy]:
    from ioopt.solvers.batch_io.adaptive import policy

    return policy


@Loader
def _set_10() -> Callable[[Any], IoPolicy]:
    from ioopt.solvers.batch_io.set10 import policy

    return policy


@Loader
def _fill() -> Callable[[Any], IoPolicy]:
    from ioopt.solvers.batch_io.fill import policy

    return policy


@Loader
def _fill_settings() -> type[BaseModel]:
    from ioopt.solvers.batch_io.fill import FillSettings

    return FillSettings


@Loader
def _least_delay() -> Callable[[Any], IoPolicy]:
    from ioopt.solvers.batch_io.fill import least_delay

    return least_delay


@Loader
def _exact() -> Solve:
    from ioopt.solvers.batch_io.exact import solve

    return solve


@Loader
def _exact_settings() -> type[BaseModel]:
    from ioopt.solvers.batch_io.exact import ExactSettings

    return ExactSettings


@Loader
def _exact_policy() -> Callable[[Any], IoPolicy]:
    from ioopt.solvers.batch_io.exact import policy

    return policy


@Loader
def _auto() -> Solve:
    from ioopt.families.best_policy import best_of

    return best_of(KINDS, SOLVERS)


def _policy(
    name: str,
    policy: Loader[Callable[[Any], IoPolicy]],
    summary: str,
    source: str,
    settings: Loader[type[BaseModel]] = _plain_settings,
    abilities: Set[str] = frozenset({ONLINE}),
) -> SolverSpec:
    """Return the row of a solver that runs one I/O policy
    (:mod:`ioopt.solvers.batch_io.run`).
    """
    return SolverSpec(
        name,
        _KINDS,
        _run,
        summary,
        source,
        settings,
        policy,
        fixed={"policy": name, "top": False},
        abilities=abilities,
    )


def _conservative(
    name: str,
    policy: Loader[Callable[[Any], IoPolicy]],
    summary: str,
    settings: Loader[type[BaseModel]],
) -> tuple[SolverSpec, SolverSpec]:
    """Return the row of a conservative policy, and the row of its variant ``+top``."""
    row = _policy(name, policy, summary, "Zhou et al., Section III.C.2", settings)
    left = f"{name} that gives left-over bandwidth to the skipped requests"
    variant = replace(
        row,
        name=f"{name}+top",
        summary=left,
        source=f"ours, on {row.source}",
        fixed={"policy": name, "top": True},
        variant_of=name,
    )
    return row, variant


_FIRST_COME = _conservative(
    "cons-fcfs",
    _conservative_policy,
    "first fit by request time",
    _first_come_settings,
)
_TURNS = replace(
    _FIRST_COME[0],
    name="turns",
    summary="cons-fcfs that stops no transfer: what scripts in job steps can do",
    source=f"ours, on {_FIRST_COME[0].source}",
    fixed={"policy": "cons-fcfs", "top": False, "preempt": False},
    variant_of="cons-fcfs",
)
"""The policy that ``ioopt advise`` calls turns."""

SOLVERS: tuple[SolverSpec, ...] = (
    SolverSpec(
        "auto",
        ("batch-io",),
        _auto,
        "every policy on the trace; returns the best plan",
        "ours",
        abilities={ANYTIME},
    ),
    _policy(
        "no-congestion",
        _base_line,
        "every request at its peak rate: the reference without contention",
        "Zhou et al., Section IV",
        abilities={ONLINE, REFERENCE},
    ),
    _policy(
        "base-line",
        _base_line,
        "all outstanding requests share the storage by nodes",
        "Zhou et al., Section IV.D",
        _sharing_settings,
    ),
    *_FIRST_COME,
    _TURNS,
    *_conservative(
        "cons-max-util",
        _max_util,
        "the subset that keeps the most nodes busy",
        _max_util_settings,
    ),
    *_conservative(
        "cons-min-inst-sld",
        _conservative_policy,
        "least slowdown of the present request first",
        _ordered_settings,
    ),
    *_conservative(
        "cons-min-aggr-sld",
        _conservative_policy,
        "least slowdown of the job so far first",
        _ordered_settings,
    ),
    _policy(
        "adaptive",
        _adaptive,
        "first fit by request time, sharing where that lowers the mean I/O time",
        "Zhou et al., Section III.C.2, Algorithm 1",
    ),
    _policy(
        "set-10",
        _set_10,
        "one request at a time in each order of magnitude of the iteration length",
        "IO-Sets, doi 10.1109/TPDS.2023.3305028",
    ),
    _policy(
        "fill",
        _fill,
        "least bytes left per node^alpha first, bandwidth always filled",
        "ours",
        _fill_settings,
    ),
    _policy(
        "least-delay",
        _least_delay,
        "least bytes left x node^1/2 first, bandwidth always filled: for the "
        "total I/O delay",
        "ours",
    ),
    SolverSpec(
        "io-exact",
        ("batch-io",),
        _exact,
        "the least I/O delay for given starts, up to 30 requests: shows what "
        "deciding online costs",
        "ours",
        _exact_settings,
        _exact_policy,
        fixed={"policy": "io-exact", "top": False},
        abilities={EXACT, BOUND, THREADS},
        backends=("HiGHS", "CBC"),
    ),
)
"""One row for each solver: its name, its function, and its description."""

_COMPARED = tuple(
    row.name
    for row in SOLVERS
    if row.variant_of is None and row.name not in ("auto", "io-exact")
)

_ONLINE_ROWS = sorted(
    (row for row in SOLVERS if row.abilities == {ONLINE}),
    key=lambda row: row.variant_of is not None,
)
_BEST_FIRST = ("fill", "least-delay", "cons-max-util")


class BatchIo(Kind["BatchIoProblem", "BatchIoPlan"]):
    """The problem of deciding, whenever several jobs have I/O requests, which job
    transfers at what rate.
    """

    kind = "batch-io"
    family = "batch-io"
    summary = "a job trace with I/O phases behind one storage system (Zhou et al.)"
    default_solver = "auto"
    fallback = "base-line"
    baseline = "base-line"
    policies = tuple(dict.fromkeys((*_BEST_FIRST, *(row.name for row in _ONLINE_ROWS))))
    metrics = (
        Metric("mean_response_seconds", objective=True),
        Metric("mean_wait_seconds"),
        # The wait in the queue is no part of it, as it is in gang scheduling.
        Metric("mean_slowdown", label="mean I/O slowdown"),
        Metric("max_slowdown", label="max I/O slowdown"),
        Metric("io_delay_seconds", bounded_by="io_delay_bound"),
        Metric("node_weighted_io_delay", bounded_by="node_weighted_io_delay_bound"),
        Metric("utilisation", "max"),
        Metric("useful_utilisation", "max"),
    )
    compare_solvers = _COMPARED
    follows = True
    judged_by_schedule = True
    undrawn: Mapping[str, object] = {"drawn": False}
    exports = frozenset({"batsim"})
    renamed = _RENAMED

    def problem_class(self) -> type[BatchIoProblem]:
        from ioopt.problems.batch_io import BatchIoProblem

        return BatchIoProblem

    def columns_class(self) -> type[BatchJobs]:
        from ioopt.problems.batch_jobs import BatchJobs

        return BatchJobs

    def plan_class(self) -> type[BatchIoPlan]:
        from ioopt.problems.batch_io import BatchIoPlan

        return BatchIoPlan

    def schedule_class(self) -> type[BatchIoSchedule]:
        from ioopt.problems.schedules import BatchIoSchedule

        return BatchIoSchedule

    @property
    def presets(self) -> Mapping[str, type[BaseModel]]:
        from ioopt.generate.batch_io.generate import PRESETS

        return PRESETS

    def generate(
        self, preset: str | None, settings: Mapping[str, object], seed: int
    ) -> BatchIoProblem:
        from ioopt.generate.batch_io.generate import generate

        return generate(preset, settings, seed)

    def rows_reader(self) -> Callable[[Objects], Rows]:
        from ioopt.checks.batch_io.table import read_columns

        return read_columns

    def load(self) -> None:
        import ioopt.checks.batch_io.check
        import ioopt.solvers.batch_io.run  # noqa: F401

    def check(
        self,
        problem: BatchIoProblem,
        plan: BatchIoPlan | None,
        schedule: Schedule | None,
    ) -> CheckReport:
        from ioopt.checks.batch_io.check import check

        return check(problem, plan, schedule)

    def policy_of(self, plan: BatchIoPlan) -> str:
        """Return the policy of *plan*, with ``+top`` if it distributes the bandwidth
        that is left over.
        """
        return f"{plan.policy}+top" if plan.top else plan.policy

    def policy_settings(
        self, plan: BatchIoPlan, known: Set[str]
    ) -> Mapping[str, object]:
        told = plan.model_dump(include=set(known) - {"policy", "top"})
        return {**told, **(plan.settings or {})}

    def simulate(
        self,
        problem: BatchIoProblem,
        plan: BatchIoPlan,
        *,
        policy: MadePolicy | None = None,
        **options: Any,
    ) -> Simulation:
        """Simulate the queue and the storage under *policy*. A *deadline* is ignored.

        *options* are ``arithmetic``, ``engine``, ``rates`` and ``drawn``.
        """
        from ioopt.solvers.batch_io.run import simulate

        assert policy is not None, "a plan of this kind names its policy"
        options.pop("deadline", None)  # the command ends a long replay
        return simulate(problem, plan, policy.policy, **options)

    def beyond(
        self,
        problem: BatchIoProblem,
        plan: BatchIoPlan | None,
        schedule: Schedule | None,
    ) -> Json:
        """Return the loop (open or closed) and the expansion factor of the plan."""
        from ioopt.problems.batch_io import beyond

        return beyond(problem, plan, schedule)

    def page(self, result: Result) -> Contents:
        from ioopt.plot.panels import batch_io_contents

        return batch_io_contents(result)

    def pictures(self) -> Mapping[str, Callable[..., Any]]:
        from ioopt.plot.bandwidth import plot_batch_io
        from ioopt.plot.gantt import plot_jobs

        return {"default": plot_batch_io, "gantt": plot_jobs}

    def explain(self, problem: BatchIoProblem, result: Result) -> list[str]:
        from ioopt.sentences.batch_io import told

        return told(problem, result)

    def knobs(self) -> Mapping[str, Turn]:
        from ioopt.sentences.batch_io import KNOBS

        return KNOBS


class IoRequests(Kind["IoRequestsProblem", "IoGrantsPlan"]):
    """The problem of deciding which of the I/O requests at one instant are granted, and
    at what rate.
    """

    kind = "io-requests"
    family = "batch-io"
    summary = "one I/O decision: the outstanding requests at an instant (Zhou et al.)"
    default_solver = "fill"
    fallback = "base-line"
    metrics = (
        Metric("granted_bytes_per_second", "max", objective=True),
        Metric("granted_requests", "max"),
        Metric("partial_grants"),
        Metric("granted_nodes", "max"),
    )
    compare_solvers = _COMPARED[1:]
    decision = True
    exports = frozenset({"lp", "mps"})
    renamed = _RENAMED

    def problem_class(self) -> type[IoRequestsProblem]:
        from ioopt.problems.batch_io import IoRequestsProblem

        return IoRequestsProblem

    def plan_class(self) -> type[IoGrantsPlan]:
        from ioopt.problems.batch_io import IoGrantsPlan

        return IoGrantsPlan

    def load(self) -> None:
        import ioopt.checks.batch_io.io_requests  # noqa: F401

    def check(
        self,
        problem: IoRequestsProblem,
        plan: IoGrantsPlan | None,
        schedule: Schedule | None,
    ) -> CheckReport:
        from ioopt.checks.batch_io.io_requests import check

        return check(problem, plan, schedule)

    def models(self) -> Models:
        from ioopt.solvers.batch_io.exported import MODELS

        return MODELS


KINDS = (BatchIo(), IoRequests())
