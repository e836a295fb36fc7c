"""Check on random instances of all families that no bound is better than the value of a
plan.

A check compares one bound with the value of the same measure for one plan of the same
instance. The bound comes from a solver, from a metric that bounds another metric, or
from the kind of problem itself. Equal bounds and equal values of an instance count
once. Solvers are called through :func:`ioopt.solve` by their names in the registry, so
that new solvers are checked too. For replication, further plans are made at random,
with copy entries anywhere; only those that the checker accepts are used. 100,000 checks
take about 15 minutes on one core.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import ioopt
from bench.frame import ROOT, cpu, show, timed
from ioopt import registry
from ioopt.errors import IooptError, NotApplicableError
from ioopt.families import REFERENCE, Kind, SolverSpec
from ioopt.result import Result
from ioopt.solving import check_plan
from ioopt.verdict import own_bound, past_bound

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "oracle")]

from batch_io_traces import random_trace  # noqa: E402
from gang_tools import random_matrix, random_workload  # noqa: E402
from random_replication import random_case  # noqa: E402
from random_workflows import random_workflow  # noqa: E402
from workflow_bounds import random_plan  # noqa: E402

Maker = Callable[[random.Random], Any]
LIMIT_SECONDS = 2.0
WHOLE = 100_000
"""The number of checks of a full run."""
QUICK = 2_000
"""The number of checks of a quick run."""
DEALT = 80
"""The number of random plans for each instance of replication."""
SETTINGS: dict[str, dict[str, Any]] = {
    "ip-printed": {"cycles": "acyclic"},
    "exact-workflow": {"replays": 5_000},
    "link-aware": {"evaluations": 100},
}
"""Settings of the solvers whose defaults cannot be used here.

By default, the first of them answers another question (copies that feed each other in a
cycle). The others end by the clock by default, and here after a number of steps.
"""
SCOPED = ("ip-printed", "ip-no-replication")
"""Solvers whose bounds cover only some plans: the plans that satisfy constraint (2) of
the program, or plans without copies.
"""


def batch(rng: random.Random) -> Any:
    """Generate a replication batch with tight disks, storages and held files."""
    return ioopt.load(random_case(rng.randrange(1 << 30))[0])


def workflow(rng: random.Random) -> Any:
    """Generate a workflow of 2 to 9 tasks, with or without limited disks."""
    seed = rng.randrange(1 << 30)
    return ioopt.load(
        {"format": "ioopt/replication", **random_workflow(seed, rng.randint(2, 9))}
    )


def trace(rng: random.Random) -> Any:
    """Generate a batch I/O trace."""
    seed = rng.randrange(1 << 30)
    return random_trace(seed, rng.randint(1, 12))


def requests(rng: random.Random) -> Any:
    """Generate one I/O decision: a machine and the requests outstanding at one time."""
    machine = {
        "nodes": 16,
        "unit_nodes": 1,
        "allocation": "flat",
        "node_bytes_per_second": 1.0,
        "storage_bytes_per_second": rng.choice((2.0, 5.5, 9.0)),
    }
    asked = [
        {
            "id": k,
            "nodes": rng.randint(1, 8),
            "request_seconds": rng.random() * 9,
            "left_bytes": rng.uniform(1, 50),
            "moved_bytes": rng.uniform(0, 9),
            "start_seconds": 0.0,
        }
        for k in range(rng.randint(1, 9))
    ]
    return ioopt.load(
        {
            "format": "ioopt/io-requests",
            "name": "decision",
            "machine": machine,
            "now_seconds": 10.0,
            "requests": asked,
        }
    )


def gangs(rng: random.Random) -> Any:
    """Generate a gang workload with many simultaneous events."""
    return random_workload(rng.randrange(1 << 30), 10)


def matrix(rng: random.Random) -> Any:
    """Generate one decision about a gang matrix."""
    return random_matrix(rng.randrange(1 << 30))


def drawn(kind: str, presets: Sequence[str], **choices: Sequence[object]) -> Maker:
    """Return a function that generates instances of *presets*; the value of each
    setting is drawn at random from its *choices*.
    """

    def make(rng: random.Random) -> Any:
        given = {key: str(rng.choice(values)) for key, values in choices.items()}
        return registry.generate(
            registry.KINDS[kind], rng.choice(presets), given, rng.randrange(1 << 30)
        )

    return make


FLEXIBLE = drawn(
    "flexible-gang",
    ["heavy-mix"],
    jobs=range(2, 6),
    io_fraction=(0.2, 0.4, 0.6),
    lambda_weight=(0, 0.1, 0.5),
)
QUANTA = drawn(
    "quantum-selection",
    ("plain", "mixed"),
    io_jobs=(1, 2),
    compute_jobs=(1, 2),
    compute_share=(0, 0.1, 0.2, 0.3, 0.4),
    mu=(0, 0.5, 1),
)
PARTS: dict[str, tuple[Maker, dict[str, Any], float]] = {
    "replication batches": (batch, {}, 0.35),
    "workflows": (workflow, {}, 0.2),
    "batch I/O, closed loop": (trace, {}, 0.06),
    "batch I/O, open loop": (trace, {"loop": "open"}, 0.03),
    "I/O decisions": (requests, {}, 0.1),
    "gangs": (gangs, {}, 0.23),
    "gang decisions": (matrix, {}, 0.03),
    "flexible gangs": (FLEXIBLE, {}, 0.002),
    "quanta": (QUANTA, {}, 0.001),
}
"""For each family: the function that generates instances, the settings of the solvers,
and the share of all checks.
"""


def stated(problem: Any, settings: dict[str, Any], rng: random.Random) -> Any:
    """Return the kind of *problem*, and for each measure all bounds and all values of
    plans, each with its source.
    """
    kind = registry.kind_of_problem(problem)
    found = Stated(kind)
    if not settings:
        with suppress(NotApplicableError):
            bound = kind.bound(problem)
            if bound is not None:
                found.bounds[kind.objective.name][bound] = "the kind"
    for row in registry.solvers_for(kind.kind):
        try:
            result = ioopt.solve(
                problem,
                row.name,
                time_limit=LIMIT_SECONDS,
                seed=rng.randrange(99),
                settings=settings | SETTINGS.get(row.name, {}),
            )
        except IooptError:
            continue  # The solver does not take this instance.
        if (result.plan or {}).get("loop", "closed") != settings.get("loop", "closed"):
            continue  # The solver takes open loops only.
        found.add(row, result)
    if kind.kind == "replication":
        for _ in range(DEALT):
            for measure, value in dealt(problem, rng).items():
                found.values[measure].setdefault(value, "a random plan")
    return kind, found.bounds, found.values


class Stated:
    """All bounds and all values of plans of one instance of *kind*, for each measure,
    each with its source.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.bounds: dict[str, dict[float, str]] = defaultdict(dict)
        self.values: dict[str, dict[float, str]] = defaultdict(dict)

    def add(self, row: SolverSpec, result: Result) -> None:
        """Add the bounds and values that the *result* of the solver *row* states."""
        if row.name not in SCOPED:
            for measure, bound in told_bounds(self.kind, result):
                self.bounds[measure][bound] = row.name
        if any("contradicts" in note for note in result.notes):
            # Return a bound of 1 and a value of 0: this counts as a bound beyond a
            # plan.
            contradiction = f"of {row.name}"
            self.bounds[contradiction][1.0] = row.name
            self.values[contradiction][0.0] = "; ".join(result.notes)
        if result.violations or result.plan is None or REFERENCE in row.abilities:
            return
        objective = str(result.objective_name)
        metrics = {**result.metrics, objective: result.objective}
        for measure in {objective, *(metric.name for metric in self.kind.metrics)}:
            if isinstance(metrics.get(measure), (int, float)):
                self.values[measure][metrics[measure]] = row.name


def told_bounds(kind: Kind, result: Result) -> Iterator[tuple[str, float]]:
    """Yield all bounds in a result as (measure, bound): the bound of the objective, and
    metrics that bound others.
    """
    if result.bound is not None:
        yield str(result.objective_name), result.bound
    for metric in kind.metrics:
        if metric.bounded_by is None and metric.raised_by is None:
            continue
        for bound in (
            own_bound(result.summary(), metric),
            result.metrics.get(metric.raised_by or ""),
        ):
            if bound is not None:
                yield metric.name, bound


def dealt(problem: Any, rng: random.Random) -> Mapping[str, float]:
    """Return all measures of a random plan; empty if the plan breaks a rule."""
    with suppress(IooptError):
        problem.require_room()
        plan = random_plan(problem, rng).model_dump(by_alias=True, exclude_none=True)
        schedule = ioopt.simulate(problem, plan).schedule
        report = check_plan(registry.KINDS["replication"], problem, plan, schedule)
        if not report.violations:
            return report.objectives
    return {}


def checked(part: str, wanted: int, seed: int) -> list[Any]:
    """Make at least *wanted* checks of one family; return its row of the table without
    the time.
    """
    make, settings, _ = PARTS[part]
    rng = random.Random(f"{part} {seed}")
    instances = 0
    checks = 0
    tight = 0
    wrong: list[str] = []
    while checks < wanted:
        problem = make(rng)
        kind, bounds, values = stated(problem, settings, rng)
        instances += 1
        for measure in bounds:
            sense = kind.metric(measure).sense
            for bound, by in bounds[measure].items():
                for value, of in values[measure].items():
                    checks += 1
                    tight += abs(bound - value) <= 1e-9 * max(1.0, abs(value))
                    past = past_bound(sense, value, bound, 1e-9)
                    if past is not None:
                        said = f"{measure} {bound!r} of {by} past {value!r} of {of}"
                        wrong.append(f"{problem.name}: {said}")
    for line in wrong[:10]:
        print(f"  {part}: {line}", file=sys.stderr)
    return [part, instances, checks, tight, len(wrong)]


def main(quick: bool, seed: int = 1) -> int:
    """Print the number of checks and of violations of each family; return the number of
    all violations.
    """
    total = QUICK if quick else WHOLE
    table: list[list[Any]] = []
    for part, (*_, share) in PARTS.items():
        seconds, row = timed(partial(checked, part, int(total * share), seed), cpu)
        table.append([*row, f"{seconds:.0f}"])
    totals = [sum(row[column] for row in table) for column in (1, 2, 3, 4)]
    table.append(["all", *totals, ""])
    head = (
        "family",
        "instances",
        "checks",
        "bound met",
        "bounds beyond a plan",
        "CPU seconds",
    )
    show("Bounds against plans", head, table)
    return int(table[-1][4])
