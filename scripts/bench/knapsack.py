"""Time a decision of Cons-MaxUtil beside the knapsack solvers of OR-Tools.

Both sides begin and end with Python objects: ours with a view of requests and their
rates, OR-Tools with lists of weights and values and the list of those chosen. OR-Tools
takes any of equal subsets, so only values are compared.
"""

from __future__ import annotations

import random
import time
import timeit
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import geometric_mean, median
from typing import NamedTuple

from ortools.algorithms.python import knapsack_solver

from bench.frame import show
from ioopt import registry
from ioopt.decisions.batch_io import IoPolicy, Limits, Rates, Request, View
from ioopt.problems.batch_io import BatchIoPlan, Machine
from ioopt.registry.policies import io_policy
from ioopt.solvers.batch_io.run import simulate

KINDS = knapsack_solver.SolverType
TABLE = KINDS.KNAPSACK_DYNAMIC_PROGRAMMING_SOLVER
BRANCH = KINDS.KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER
BRANCH_64 = KINDS.KNAPSACK_64ITEMS_SOLVER
"""Branch and bound for at most 64 requests."""
DRAWN = 12
"""Instances of a row."""
MOST_CELLS = 10_000_000
"""The largest table, requests times units, for which the dynamic program is asked."""
MOST_SECONDS = 0.5
"""Branch and bound is given up after this time."""
REQUESTS = (2, 3, 5, 8, 12, 20, 50, 200, 500, 2000)
SIZES = (8, 32, 128, 1000, 20_000)
"""Largest units of a request, drawn evenly from 1 on."""


class Case(NamedTuple):
    """Units of the requests in FCFS order, and the units that the storage serves."""

    units: Sequence[int]
    room: int


def main(quick: bool) -> None:
    """Print the table: generated sizes, then the decisions of a month of Mira."""
    groups = [*drawn(quick), *of_mira(quick)]
    rows = [row(name, cases) for name, cases in groups if cases]
    head = ("sizes", "requests", "units", "ours", "DP", "B&B", "B&B 64", "ratio")
    show(
        "Cons-MaxUtil: microseconds of a decision (medians); ratio of the faster of DP "
        "and B&B to ours:\ngeometric mean, and least",
        (*head, "least"),
        rows,
    )


def drawn(quick: bool) -> Iterator[tuple[str, list[Case]]]:
    """Yield cases of each number of requests and each range of sizes, of which the
    storage serves an eighth to seven eighths.
    """
    for most in SIZES:
        for count in REQUESTS[:: 3 if quick else 1]:
            draw = random.Random(f"{most} {count}")
            cases = []
            for _ in range(DRAWN):
                units = [draw.randint(1, most) for _ in range(count)]
                room = round(draw.uniform(0.125, 0.875) * sum(units))
                cases.append(Case(units, max(1, room)))
            yield f"1 to {most}", cases
    for count in (20, 200, 2000):  # few fit
        draw = random.Random(count)
        units = [draw.choice((1, 2, 4, 8, 16)) for _ in range(count)]
        yield "1, 2, .. 16", [Case(units, room) for room in (15, 16, 31, 47)]


def of_mira(quick: bool) -> Iterator[tuple[str, list[Case]]]:
    """Yield decisions of a generated month of Mira, by number of requests."""
    preset = "mira-week" if quick else "mira-month"
    made = registry.generate(registry.generator_of("batch-io"), preset, {}, 1)
    ours = io_policy("cons-max-util", {})
    found: list[Case] = []

    def decide(view: View) -> Rates:
        units = [request.units for request in view.requests]
        found.append(Case(units, view.limits.capacity_units))
        return ours.decide(view)

    plan = BatchIoPlan(policy="cons-max-util")
    simulate(made, plan, IoPolicy.of("recorded", decide), rates="no", drawn=False)
    random.Random(1).shuffle(found)
    for first, last in ((2, 4), (5, 9), (10, 19), (20, 99)):
        cases = [case for case in found if first <= len(case.units) <= last]
        yield preset, cases[: 5 * DRAWN]


def row(name: str, cases: list[Case]) -> tuple[str, ...]:
    """Return a row of the table; raise AssertionError if values differ."""
    times = [times_of(case) for case in cases]
    ratios = [min(time[1:3]) / time[0] for time in times]
    counts = [len(case.units) for case in cases]
    rooms = [case.room for case in cases]
    medians = [median(column) for column in zip(*times)]
    return (
        name,
        span(counts),
        span(rooms),
        *("-" if each == float("inf") else f"{1e6 * each:.4g}" for each in medians),
        f"{geometric_mean(ratios):.2f}",
        f"{min(ratios):.2f}",
    )


def span(values: Sequence[int]) -> str:
    """Return the least and the most of *values* as text."""
    least, most = min(values), max(values)
    return f"{least}" if least == most else f"{least} to {most}"


def times_of(case: Case) -> tuple[float, ...]:
    """Return the seconds of one decision: ours, DP, B&B, and B&B for 64 requests;
    infinity where one was not asked.
    """
    view = view_of(case)
    policy = io_policy("cons-max-util", {})
    value = sum(units for units, rate in zip(case.units, policy.decide(view)) if rate)
    times = [seconds_of(lambda: policy.decide(view))]
    for kind in (TABLE, BRANCH, BRANCH_64):
        asked = kind != TABLE or len(case.units) * case.room <= MOST_CELLS
        if not asked or (kind == BRANCH_64 and len(case.units) > 64):
            times.append(float("inf"))
            continue
        begun = time.process_time()
        found, _ = chosen_by(kind, case, MOST_SECONDS)
        taken = time.process_time() - begun
        if taken < MOST_SECONDS:
            assert found == value, (case, found, value)
            taken = seconds_of(partial(chosen_by, kind, case))
        times.append(taken)
    return tuple(times)


def view_of(case: Case) -> View:
    """Return the view of *case* on a machine with a byte per second and node."""
    machine = Machine(
        nodes=sum(case.units),
        unit_nodes=1,
        allocation="flat",
        node_bytes_per_second=1.0,
        storage_bytes_per_second=float(case.room),
    )
    limits = Limits.of(machine)
    requests = [
        Request.made(k, units, limits, 0.0, 1.0) for k, units in enumerate(case.units)
    ]
    return View(limits, 1.0, requests)


def chosen_by(
    kind: KINDS, case: Case, limit: float | None = None
) -> tuple[int, list[int]]:
    """Return the value found by a solver of OR-Tools, and the requests chosen."""
    solver = knapsack_solver.KnapsackSolver(kind, "decision")
    if limit is not None:
        solver.set_time_limit(limit)
    # A request that saturates the storage needs all of it.
    weights = [min(units, case.room) for units in case.units]
    solver.init(case.units, [weights], [case.room])
    value = solver.solve()
    contains = solver.best_solution_contains
    return value, [k for k in range(len(weights)) if contains(k)]


def seconds_of(call: Callable[[], object]) -> float:
    """Return the processor seconds of a *call*, the least of three measurements."""
    timer = timeit.Timer(call, timer=time.process_time)
    number = 1
    while (taken := timer.timeit(number)) < 0.004:
        number = 2 * number if taken < 0.001 else int(number * 0.005 / taken) + 1
    return min(taken, *timer.repeat(2, number)) / number
