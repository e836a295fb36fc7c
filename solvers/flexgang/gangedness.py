"""Solver ``gangedness``: the monitor's verdict on recorded message counts."""

from typing import Annotated

from pydantic import Field

from ioopt.measure.gangedness_monitor import (
    RUNNING_THRESHOLD,
    THRESHOLD,
    GangednessMonitor,
    judge_means,
)
from ioopt.problems.base import Record
from ioopt.problems.flexgang.message_counts import (
    QUANTA,
    ApplicationVerdict,
    GangednessPlan,
    MessageCounts,
    MessageCountsProblem,
    Verdict,
)
from ioopt.protocols import Outcome, SolveRequest


class Settings(Record):
    """Thresholds of the ratio for non-running and for running processors."""

    threshold: Annotated[float, Field(gt=0)] = THRESHOLD
    running_threshold: Annotated[float, Field(gt=0)] = RUNNING_THRESHOLD


def solve(
    problem: MessageCountsProblem, request: SolveRequest[Settings, GangednessPlan]
) -> Outcome[GangednessPlan]:
    """Judge every application; notes say where only means were known."""
    settings = request.settings or Settings()
    found = tuple(
        ApplicationVerdict(id=counts.id, verdict=judge(problem, counts, settings))
        for counts in problem.applications
    )
    means = [counts.id for counts in problem.applications if counts.means_only]
    notes = (
        (f"{', '.join(means)}: means only, classed by the point ratio; no interval was possible",)
        if means
        else ()
    )
    return Outcome(GangednessPlan(applications=found), notes=notes)


def judge(problem: MessageCountsProblem, counts: MessageCounts, settings: Settings) -> Verdict:
    """Feed one application's counts to a monitor, or judge its means."""
    thresholds = settings.threshold, settings.running_threshold
    gang = counts.mean("gang")
    if counts.means_only and gang is not None:
        means = counts.mean("nonrunning"), counts.mean("running")
        return judge_means(gang, *means, problem.processors, *thresholds)
    monitor = GangednessMonitor(problem.processors, *thresholds)
    for quantum, processor, ganged, running, messages in counts.rows(problem.processors):
        monitor.observe(ganged, running, messages, quantum, processor)
    if counts.absent:
        return monitor.evidence()
    for name in QUANTA:
        for messages in counts.counts(name):
            monitor.observe(name == "gang", name != "nonrunning", messages)
    return monitor.evidence()
