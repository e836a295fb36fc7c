"""Simulate turns in which a part of the I/O steps or of the jobs takes part.

All other transfers begin at once, and share the storage with those that have their
turn. The logs are the two samples of ``ioopt advise`` and, where the shared folder has
it, one of HPC2N.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bench.frame import shared_data, show
from ioopt.advice.replays import FLAT, scale_of
from ioopt.advice.samples import sample_or_path
from ioopt.advice.workload import Point, Question, Workload, workload_of
from ioopt.decisions.batch_io import IoPolicy, Rates, Request, View
from ioopt.formats.io_rule import IoRule, MachineRule
from ioopt.formats.job_log import read_log
from ioopt.registry.policies import io_policy
from ioopt.sim.batch_io.trace import Trace
from ioopt.solvers.batch_io.run import run_trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ioopt.arrays import Floats

SHARES = (0.9, 0.75, 0.5, 0.25)
HPC2N = "HPC2N-2002-excerpt-alea.swf"


class Case(NamedTuple):
    """A log with its machine, I/O fraction and I/O period (seconds)."""

    log: str
    machine: MachineRule
    io: IoRule


def partial_turns(takes_part: Callable[[Request], bool]) -> IoPolicy:
    """Return the policy that gives turns to the requests that take part.

    These begin first come, first served, when the sum of their peak rates fits the
    storage, and are never stopped. All others begin at once. The storage divides its
    rate among all that transfer, in proportion to their nodes.
    """
    sharing = io_policy("base-line")

    def decide(view: View) -> Rates:
        asking = [request for request in view.requests if takes_part(request)]
        asking.sort(key=lambda request: not request.moved)
        left = view.limits.storage
        begun = {request.id for request in view.requests if not takes_part(request)}
        for request in asking:
            if request.peak <= left * view.limits.slack:
                left -= request.peak
                begun.add(request.id)
        active = [request for request in view.requests if request.id in begun]
        rates = sharing.decide(view._replace(requests=active))
        of_active = dict(zip((request.id for request in active), rates))
        return [of_active.get(request.id, 0.0) for request in view.requests]

    return IoPolicy.of("partial turns", decide)


def machine(node: float, storage: float, **stated: int) -> MachineRule:
    """Return a machine with these rates (bytes/s) and what else is *stated*."""
    return MachineRule(
        node_bytes_per_second=node, storage_bytes_per_second=storage, **stated
    )


def of_jobs(ranks: Iterable[int]) -> Callable[[Request], bool]:
    """Return a test of whether an I/O step is of one of the jobs with these *ranks*."""
    known = frozenset(ranks)
    return lambda request: request.id in known


def run_seconds(trace: Trace, policy: IoPolicy) -> Floats:
    """Return the run time of each job of *trace* under *policy*."""
    found = run_trace(trace, policy, starts=(trace.submit, [FLAT] * len(trace)))
    return np.array(found.end) - np.array(found.start)


def by_step(trace: Trace, share: float) -> tuple[float, NDArray[np.bool_]]:
    """Return the least size of I/O step, in bytes, such that all steps from this size
    on have *share* of the bytes; and which jobs have such steps.
    """
    volume = np.array(trace.volume, float)
    falling = np.sort(volume)[::-1]
    least = falling[np.searchsorted(np.cumsum(falling), share * falling.sum())]
    some = np.logical_or.reduceat(volume >= least, trace.offset[:-1])
    return float(least), some


def saved(after: Floats, before: Floats, jobs: NDArray[np.bool_]) -> float:
    """Return the share of run time saved by *jobs*."""
    return 1 - float(after[jobs].sum() / before[jobs].sum())


def draw(trace: Trace, seed: int) -> dict[str, tuple[float, ...]]:
    """Return the results of one draw, keyed by who takes part: the share of jobs, and
    the run time saved by all jobs, by those that take part and by the others.
    """
    before = run_seconds(trace, io_policy("base-line"))
    everybody = np.ones(len(trace), bool)
    rng = np.random.default_rng(seed)
    results = {}

    def add(name: str, jobs: NDArray[np.bool_], after: Floats) -> None:
        some = [saved(after, before, who) for who in (everybody, jobs, ~jobs)]
        results[name] = (float(jobs.mean()), *some)

    after = run_seconds(trace, io_policy("turns"))
    results["all steps"] = (1.0, *[saved(after, before, everybody)] * 2, np.nan)
    for share in SHARES:
        least, jobs = by_step(trace, share)
        policy = io_policy("turns", {"least_bytes": least})
        name = f"largest steps, {share:.0%} of the bytes"
        add(name, jobs, run_seconds(trace, policy))
    for share in SHARES[1:]:
        jobs = rng.random(len(trace)) < share
        policy = partial_turns(of_jobs(np.array(trace.rank)[jobs].tolist()))
        add(f"any {share:.0%} of the jobs", jobs, run_seconds(trace, policy))
    return results


def main(quick: bool) -> None:
    """Print a table for each log, with means over the draws."""
    month = IoRule(0.13, 3600.0)
    cases = [
        Case(
            "month.swf",
            machine(1e9, 1e9),
            month,
        ),
        Case(
            "month.sacct",
            machine(1e9, 4e9),
            month,
        ),
    ]
    if not quick:
        path = str(shared_data("swf") / HPC2N)
        cases.append(
            Case(
                path, machine(100e6, 800e6, processors_per_node=2), IoRule(0.2, 3600.0)
            )
        )
    for case in cases:
        log = read_log(sample_or_path(case.log))
        asked = Question(log, machine=case.machine, io=case.io, fraction_given=True)
        report(workload_of(asked), case, range(1, 2 if quick else 5))


def report(workload: Workload, case: Case, draws: range) -> None:
    """Print the table of one log."""
    point = Point(case.io.fraction, workload.storage, case.io.period_seconds)
    scale = scale_of(workload, point)
    found = [draw(workload.at(point, number, scale), number) for number in draws]
    rows = []
    for name in found[0]:
        means = np.mean([results[name] for results in found], axis=0)
        cells = ["-" if np.isnan(mean) else f"{100 * mean:.1f} %" for mean in means]
        rows.append((name, *cells))
    heading = (
        f"{workload.name}: run time saved by turns, mean of {len(draws)} draws, "
        f"{case.io.fraction:.0%} I/O, scale {scale:.2f}"
    )
    show(heading, ("take part", "jobs", "all save", "they save", "others save"), rows)
