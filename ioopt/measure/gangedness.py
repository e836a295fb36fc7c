"""The gangedness monitor's verdicts on recorded message counts (Lee et al., Section 5; F3)."""

from collections import Counter
from typing import Annotated

from pydantic import Field

from ioopt.measure import Measurement
from ioopt.measure.gangedness_monitor import (
    RUNNING_THRESHOLD,
    THRESHOLD,
    GangednessMonitor,
    judge_means,
)
from ioopt.options import Deadline
from ioopt.problems.base import Record
from ioopt.problems.flexgang.message_counts import (
    QUANTA,
    ApplicationVerdict,
    GangednessVerdicts,
    MessageCounts,
    MessageCountsProblem,
    Verdict,
)

SHOWN = ("gangedness", "ratio", "low", "high", "gamma", "reason")


class Settings(Record):
    """Thresholds of the ratio for non-running and for running processors."""

    threshold: Annotated[float, Field(gt=0)] = THRESHOLD
    running_threshold: Annotated[float, Field(gt=0)] = RUNNING_THRESHOLD


def measure(
    problem: MessageCountsProblem,
    settings: Settings | None = None,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> Measurement[GangednessVerdicts]:
    """LOW, HIGH or UNKNOWN need of the gang for every application, with the evidence.

    Notes say where only means were known. Nothing is random, and no *deadline* is too short.

    Examples
    --------
    >>> import ioopt
    >>> from ioopt.measure import gangedness
    >>> found = gangedness.measure(ioopt.load("gangedness-table-3")).found
    >>> [(item.id, item.verdict.gangedness) for item in found.applications][:2]
    [('Enum', 'LOW'), ('Water', 'HIGH')]
    """
    chosen = settings or Settings()
    found = tuple(
        ApplicationVerdict(id=counts.id, verdict=judge(problem, counts, chosen))
        for counts in problem.applications
    )
    tally = Counter(item.verdict.gangedness for item in found)
    metrics = {
        "low_applications": tally["LOW"],
        "high_applications": tally["HIGH"],
        "unknown_applications": tally["UNKNOWN"],
    }
    rows = tuple(
        {"application": item.id} | {name: getattr(item.verdict, name) for name in SHOWN}
        for item in found
    )
    means = [counts.id for counts in problem.applications if counts.means_only]
    said = f"{', '.join(means)}: means only, classed by the point ratio; no interval was possible"
    verdicts = GangednessVerdicts(applications=found)
    return Measurement(verdicts, rows, metrics, (said,) if means else ())


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
