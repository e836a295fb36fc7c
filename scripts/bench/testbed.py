"""Carry plans of the README's instances out on an emulated cluster, and compare what
was planned with what was measured.

Each node has a network namespace with an interface of a limited rate, files are real,
and tasks wait for as long as they compute (:mod:`testbed`). Instances are scaled so
that a run takes seconds. A plan is carried out in two ways: ``schedule`` follows its
bound schedule, and ``live`` decides again by the timeline rules whenever something
ends. This needs Linux, root and iproute2; all traffic stays inside the namespaces.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from statistics import mean
from typing import Literal

from testbed.cluster import CarryingFault, Cluster
from testbed.executor import Record, carry_out, move_of, require_space
from testbed.network import Network, add_all, missing
from testbed.scale import reason_against, scaled

import ioopt
from bench.foretold import NOISE
from bench.frame import ROOT, show
from ioopt.formats.cluster import Machine
from ioopt.formats.nextflow.trace import read_nextflow_trace
from ioopt.generate.replication.generate import generate
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.protocols import Simulation
from ioopt.result import Result
from ioopt.sim.replication.bind import bind
from ioopt.sim.replication.noisy import noisy_makespans, spread_of
from ioopt.units import counted

Mode = Literal["schedule", "live"]
HEADS = (
    "instance",
    "solver",
    "mode",
    "planned s",
    "95 % within",
    "measured s",
    "error",
    "other moves",
)
SEARCH_SECONDS = 10.0
"""Time limit of each search."""
DRAWS = 40
"""Number of noisy replays of a plan."""
PRIORITY = -10
"""The priority of agents and of the executor; 0 is usual, -20 the highest."""
SMOKE_ERROR = 0.05
"""Largest error of the smoke test."""


@dataclass(frozen=True)
class Case:
    """An instance, the factor of its times, and the simple solver beside ``auto``."""

    make: Callable[[], ReplicationProblem]
    factor: float
    simple: str


def _recorded() -> ReplicationProblem:
    """Return a recorded Nextflow run whose tasks read all files of those before."""
    samples = ROOT / "docs" / "samples"
    machine = Machine(nodes=3, cores=8, disk="4GB")
    dag = str(samples / "dag.dot")
    trace = str(samples / "trace.txt")
    problem = read_nextflow_trace(trace, dag, machine, waits=False)
    return problem.model_copy(update={"name": "rna"})


GROUPS = {"groups": 6, "nodes": 3, "disk_share": 1.5}
SMOKE = Case(partial(ioopt.load, "two-pairs"), 0.55, "minmin")
"""A plan with fetches, copies and evictions that unequal shares hardly move (.5 %)."""
CASES = (
    Case(partial(ioopt.load, "cycle3"), 2.0, "minmin"),
    Case(partial(ioopt.load, "eight-tasks"), 0.3, "heft"),
    Case(partial(ioopt.load, "image-100x4"), 1 / 16, "minmin"),
    Case(partial(ioopt.load, "flow-chains"), 0.1, "heft"),
    Case(partial(generate, "chains", {"chains": 8}, 1), 0.07, "heft"),
    Case(partial(generate, "many-small-groups", GROUPS, 3), 0.25, "heft"),
    Case(_recorded, 1 / 30, "heft"),
)
"""The instances of batches and workflows in the README; a run takes 15 to 30 s."""


@dataclass(frozen=True)
class Carried:
    """A plan that was carried out: what its exact replay says, and what happened."""

    solver: str
    mode: Mode
    plan: ReplicationPlan
    replay: Simulation
    record: Record

    @property
    def planned(self) -> float:
        """Return the makespan, in seconds, that the plan promises."""
        return float(self.replay.metrics["makespan_seconds"])

    @property
    def error(self) -> float:
        """Return the measured makespan over the planned one, less 1."""
        return self.record.makespan_seconds / self.planned - 1.0

    def moves_otherwise(self) -> int:
        """Return how many of the transfers and saves that were made are not in the
        planned schedule.
        """
        rows = self.replay.schedule["transfers"]
        planned = Counter(move_of(row) for row in rows)
        made = Counter(self.record.moves())
        return sum((made - planned).values())


def carried_out(problem: ReplicationProblem, result: Result, mode: Mode) -> Carried:
    """Carry the plan of *result* out on an emulated network; return what happened."""
    plan = plan_of(problem, result, mode)
    with (
        hurrying(),
        tempfile.TemporaryDirectory(prefix="ioopt-testbed-") as folder,
        Network() as network,
        Cluster(folder, "cubic") as cluster,
    ):
        require_space(problem, folder)
        add_all(network, cluster, problem)
        record = carry_out(problem, plan, cluster)
    return Carried(result.solver, mode, plan, ioopt.simulate(problem, plan), record)


def plan_of(problem: ReplicationProblem, result: Result, mode: Mode) -> ReplicationPlan:
    """Return the plan of *result*, which is bound in the mode ``schedule``."""
    plan = ReplicationPlan.model_validate(result.plan)
    if mode == "schedule":
        plan = bind(problem, plan)
    return plan


@contextmanager
def hurrying() -> Iterator[None]:
    """Give this process, and those that it starts, priority over others inside the
    ``with`` block, as far as that is allowed: load on the machine delays networks.
    """
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, min(before, PRIORITY))
    try:
        yield
    finally:
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, before)


def main(quick: bool) -> None:
    """Plan and carry out all cases, and print the table; skip it where the machine
    lacks something.
    """
    if skipped():
        return
    rows = []
    errors: dict[Mode, list[float]] = {"schedule": [], "live": []}
    for case in CASES[:2] if quick else CASES:
        problem = case_problem(case)
        for carried in runs_of(problem, case):
            errors[carried.mode].append(carried.error)
            rows.append(row_of(problem, carried))
            print(", ".join(rows[-1]), file=sys.stderr, flush=True)
    show("Planned and carried out", HEADS, rows)
    for mode, found in errors.items():
        sizes = [abs(error) for error in found]
        print(
            f"{mode}: {counted(len(found), 'run')}, off by {percent(mean(sizes))} on "
            f"average, {percent(max(sizes))} at most"
        )


def percent(share: float) -> str:
    """Return *share* as text."""
    return f"{100 * share:.1f} %"


def skipped() -> bool:
    """Return whether this machine cannot emulate a network, after a line that says
    why.
    """
    lacking = missing()
    if lacking is not None:
        print(f"testbed: skipped, {lacking}", flush=True)
    return lacking is not None


def runs_of(problem: ReplicationProblem, case: Case) -> Iterator[Carried]:
    """Yield the runs of a case: ``auto`` in both ways, which shows what deciding again
    costs, and the simple solver, which decides again.
    """
    searched = solved(problem, "auto")
    yield run_of(problem, searched, "schedule")
    yield run_of(problem, searched, "live")
    yield run_of(problem, solved(problem, case.simple), "live")


def run_of(problem: ReplicationProblem, result: Result, mode: Mode) -> Carried:
    """Carry the plan of *result* out; end the program in one line if that fails."""
    try:
        return carried_out(problem, result, mode)
    except CarryingFault as fault:
        raise SystemExit(f"testbed: {fault}") from None


def case_problem(case: Case) -> ReplicationProblem:
    """Return the scaled instance of *case*."""
    problem = case.make()
    reason = reason_against(problem)
    if reason is not None:
        raise SystemExit(f"testbed: {problem.name} cannot be emulated: {reason}")
    return scaled(problem, case.factor)


def solved(problem: ReplicationProblem, solver: str) -> Result:
    """Return the result of *solver* within the time limit."""
    return ioopt.solve(problem, solver, time_limit=SEARCH_SECONDS)


def row_of(problem: ReplicationProblem, carried: Carried) -> tuple[str, ...]:
    """Return the row of a run, with the columns of HEADS."""
    noisy = spread_of(noisy_makespans(problem, carried.plan, NOISE, DRAWS))
    return (
        problem.name,
        carried.solver,
        carried.mode,
        f"{carried.planned:.2f}",
        f"{noisy['p95']:.2f}",
        f"{carried.record.makespan_seconds:.2f}",
        f"{100 * carried.error:+.1f} %",
        str(carried.moves_otherwise()),
    )


def smoke() -> None:
    """Carry one small plan out; exit with 1 unless the measured makespan is near the
    planned one.

    A run that was late is repeated once, because load on the machine delays networks.
    """
    if skipped():
        return
    problem = case_problem(SMOKE)
    result = solved(problem, SMOKE.simple)
    for attempt in ("first", "second"):
        carried = run_of(problem, result, "schedule")
        measured = carried.record.makespan_seconds
        print(
            f"testbed: {problem.name} planned {carried.planned:.2f} s, measured "
            f"{measured:.2f} s ({100 * carried.error:+.1f} %), {attempt} run",
            flush=True,
        )
        if abs(carried.error) <= SMOKE_ERROR:
            return
    raise SystemExit(f"testbed: more than {100 * SMOKE_ERROR:g} % off, twice")
