"""Does an application need gang scheduling? (Lee et al., Section 5; F3, rules 6 and 7.)

Where the monitor is told which quantum and processor a count is of, whole stretches of
quanta decide where the ratio cannot: see :mod:`ioopt.measure.message_loss`.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Self

from pydantic import (
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    ValidationError,
)
from pydantic.dataclasses import dataclass

from ioopt import arguments
from ioopt.errors import InstanceError, UsageError
from ioopt.measure import Measurement
from ioopt.measure.message_loss import Z_90, Loss, Stretches
from ioopt.options import Deadline, shown
from ioopt.problems.base import LARGEST, MAX_NODES, Json, Record
from ioopt.problems.flexgang.message_counts import (
    QUANTA,
    ApplicationVerdict,
    Basis,
    Gangedness,
    GangednessVerdicts,
    MessageCounts,
    MessageCountsProblem,
    Verdict,
)

THRESHOLD = 0.154
"""Geometric mean of the ratios of LU (.312) and Water (.0759), Table 3."""
RUNNING_THRESHOLD = 0.427
"""The same for running processors, times (P - 1) / (P - 2): LU .737 and Water .247."""
MIN_SAMPLES = 8
MIN_GANG_MEAN = (
    1.0 - 1e-9
)  # a running mean of counts that are 1 on average may be below 1
"""Messages a quantum below which an application is too quiet to judge."""
GAMMA_THRESHOLD = 0.606
"""gamma_sub between the classes: 1 - (1 - e^-x) / x, where this progress of a running
process beside an absent one is the geometric mean of that at LU's 3 and Water's 12
requests a quantum (Table 2)."""
LU_GAMMA = 0.368
"""The same at LU's rate: what a program of low gangedness may well lose."""
WAITING_SHARE = 0.723
"""Share of counts of absent processes at one message from each other, or none, above
which all may wait: (1 - e^-x)^3 for the same x."""
SILENCE = 3.0
"""Messages expected at the threshold from which hearing none proves something (e^-3 = 5
%).
"""
FEW_SENDERS = 2.0
"""Times fewer senders from which only HIGH is said: the class is about one process
absent, and what the few send may be their last words."""
STATE_FORMAT = "ioopt/gangedness-state"


@dataclass(config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Tally:
    """Number, mean and sum of squared deviations of a stream of counts (Welford)."""

    count: NonNegativeInt = 0
    mean: NonNegativeFloat = 0.0
    squares: NonNegativeFloat = 0.0

    def add(self, value: float) -> None:
        """Take in one count."""
        self.count += 1
        step = value - self.mean
        self.mean += step / self.count
        self.squares += step * (value - self.mean)

    def variance(self) -> float:
        """Sample variance, but no less than the mean: fewer samples than that say too
        little.
        """
        if self.count > 1:
            spread = self.squares / (self.count - 1)
        else:
            spread = 0.0
        return max(spread, self.mean)


class GangednessMonitor:
    """Collects message counts of one application, a processor and quantum at a time.

    ``processors`` is P, the size of the gang; without it (or with 2) counts of running
    processors cannot be normalised and are not used, nor are stretches of quanta. Reads
    no clock and no file; memory is constant.

    Examples
    --------
    >>> from ioopt.embed import GangednessMonitor
    >>> monitor = GangednessMonitor(processors=4)
    >>> for quantum in range(10):
    ...     for processor in range(4):
    ...         monitor.observe(ganged=True, running=True, messages=20)
    ...     monitor.observe(ganged=False, running=False, messages=1)
    >>> monitor.classify()
    'HIGH'
    >>> round(monitor.ratio(), 3)
    0.05
    """

    def __init__(
        self,
        processors: int | None = None,
        threshold: float = THRESHOLD,
        running_threshold: float = RUNNING_THRESHOLD,
    ) -> None:
        if processors is not None:
            processors = arguments.whole(
                processors, "processors of a gang", 2, MAX_NODES
            )
        for value in (threshold, running_threshold):
            if not arguments.number(value, "threshold") > 0:
                raise UsageError(f"threshold: must be more than 0, not {value}")
        self.processors = processors
        self.threshold = threshold
        self.running_threshold = running_threshold
        self.gang = Tally()
        self.running = Tally()
        self.nonrunning = Tally()
        self.one_each = 0
        """Counts of absent processes that are one message from every other process, or
        one more.
        """
        self.silent = 0
        if processors is None:
            self.stretches = None
        else:
            self.stretches = Stretches(processors)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.gang.count} gang counts, "
            f"{self.running.count} running)"
        )

    def observe(
        self,
        ganged: bool,
        running: bool,
        messages: float,
        quantum: int | None = None,
        processor: int | None = None,
    ) -> None:
        """Take in the messages that one processor received in one quantum.

        *ganged*: the quantum was undisturbed, all processes ran. *running*: this one's
        did. *quantum*, a number that never falls, and *processor*, 0 to P - 1, are not
        needed; with both of all P processors, meetings rarer than quanta can be told
        from progress. Raises UsageError for a gang quantum with a process not running,
        a count that is not a number >= 0, or a quantum or processor that cannot be.
        """
        for value in (ganged, running):
            if value not in (True, False):
                raise UsageError(
                    f"ganged and running are True or False, not {shown(value)}"
                )
        if ganged and not running:
            raise UsageError(
                "in a gang quantum all processes run: ganged and not running is wrong"
            )
        messages = arguments.number(messages, "messages")
        if quantum is not None and processor is not None and self.stretches is not None:
            quantum = arguments.whole(quantum, "quantum", 0, LARGEST)
            processor = arguments.whole(processor, "processor", 0, MAX_NODES - 1)
            self.stretches.expect(quantum, processor)
            self.stretches.add(quantum, processor, ganged, running, float(messages))
        if ganged:
            tally = self.gang
        elif running:
            tally = self.running
        else:
            tally = self.nonrunning
        tally.add(float(messages))
        if tally is self.nonrunning and self.processors is not None:
            self.one_each += self.processors - 1 <= messages <= self.processors
            self.silent += messages == 0

    def _basis(self) -> tuple[Basis, Tally, float, float]:
        """The samples to use, their normalising factor and their threshold."""
        size = self.processors
        can_run = size is not None and size > 2 and self.running.count > 0
        if self.nonrunning.count >= MIN_SAMPLES or not can_run:
            return "non-running", self.nonrunning, 1.0, self.threshold
        assert size is not None
        return "running", self.running, (size - 1) / (size - 2), self.running_threshold

    def ratio(self) -> float | None:
        """Messages in disturbed quanta over messages in gang quanta; None when one is
        not known.

        Non-running processors are used when there are 8 samples or more of them.
        Running ones hear from P - 2 others instead of P - 1, which presumes that
        exactly one process is absent.
        """
        _, tally, factor, _ = self._basis()
        if tally.count == 0 or self.gang.count == 0 or self.gang.mean == 0:
            return None
        return factor * tally.mean / self.gang.mean

    def classify(self, deadline_seconds: float | None = None) -> Gangedness:
        """``LOW``, ``HIGH`` or ``UNKNOWN``; :meth:`evidence` says why.

        *deadline_seconds* is taken as by every embedded object and always met: the work
        is a dozen additions, whatever the number of samples.
        """
        return self.evidence().gangedness

    def evidence(self) -> Verdict:
        """The class with the ratio, its 90 % interval and the numbers behind it."""
        basis, tally, factor, threshold = self._basis()
        gang = self.gang
        known: Json = {
            "basis": basis,
            "ratio": self.ratio(),
            "threshold": threshold,
            "gang_samples": gang.count,
            "samples": tally.count,
            "gang_mean": gang.mean if gang.count else None,
            "mean": tally.mean if tally.count else None,
        }

        def verdict(gangedness: Gangedness, reason: str) -> Verdict:
            return Verdict(gangedness=gangedness, reason=reason, **known)

        if gang.count < MIN_SAMPLES:
            return verdict(
                "UNKNOWN", f"{gang.count} gang samples, {MIN_SAMPLES} are needed"
            )
        if tally.count < MIN_SAMPLES:
            return verdict(
                "UNKNOWN", f"{tally.count} {basis} samples, {MIN_SAMPLES} are needed"
            )
        if gang.mean < MIN_GANG_MEAN:
            quiet = f"{gang.mean:.3g} messages a gang quantum are too few to judge"
            return verdict("UNKNOWN", quiet)
        if tally.mean == 0:
            expected = tally.count * threshold * gang.mean / self._fewer_senders(basis)
            if expected >= SILENCE:
                silent = f"silent where {expected:.3g} messages would be the threshold"
                return verdict("HIGH", silent)
            few = f"silence, but only {expected:.3g} messages would be expected"
            return verdict("UNKNOWN", few)
        known["low"], known["high"] = self._interval(tally, factor)
        return verdict(*self._by_interval(known, basis, threshold))

    def _by_interval(
        self, known: Json, basis: Basis, threshold: float
    ) -> tuple[Gangedness, str]:
        """The verdict where the ratio has an interval; *known* is told what else
        decides.
        """
        low = known["low"]
        high = known["high"]
        fewer = self._fewer_senders(basis)
        loss = self.stretches.loss() if self.stretches else None
        if loss is not None:
            known |= {
                "gamma": loss.gamma,
                "gamma_low": loss.low,
                "gamma_high": loss.high,
                "stretches": loss.stretches,
            }
        if fewer * high <= threshold:
            return "HIGH", f"the whole interval is below the threshold {threshold:g}"
        if fewer >= FEW_SENDERS:
            return (
                "UNKNOWN",
                f"several are absent at once: {fewer:.3g} times fewer senders",
            )
        if basis == "non-running" and self._may_wait(certainly=loss is None):
            known["one_each"] = (self.one_each + self.silent) / self.nonrunning.count
            known["running_threshold"] = self.running_threshold
            found = self._waiting(loss)
            if found[0] != "LOW" or low >= threshold:
                return found
        if low < threshold:
            return "UNKNOWN", f"the interval straddles the threshold {threshold:g}"
        if loss is None or loss.gamma <= GAMMA_THRESHOLD or loss.low <= LU_GAMMA:
            return "LOW", f"the whole interval is above the threshold {threshold:g}"
        said = f"the ratio is above {threshold:g}, but what stretches of quanta lose"
        if loss.low >= GAMMA_THRESHOLD:
            return "HIGH", f"{said} is above {GAMMA_THRESHOLD:g}"
        return "UNKNOWN", f"{said} may be above {GAMMA_THRESHOLD:g}"

    def _fewer_senders(self, basis: Basis) -> float:
        """How many times fewer send than when one process is absent, as the thresholds
        presume.
        """
        if self.stretches is None or self.stretches.away_at_once() == 1:
            return 1.0
        heard_by = 0 if basis == "non-running" else 1
        away = self.stretches.away_at_once()
        size = self.stretches.processors
        left = size - heard_by - away
        return (size - heard_by - 1) / left if left > 0 else math.inf

    def _interval(self, tally: Tally, factor: float) -> tuple[float, float]:
        """The 90 % interval of the ratio of *tally* to gang quanta."""
        gang = self.gang
        spread = math.sqrt(
            gang.variance() / (gang.count * gang.mean**2)
            + tally.variance() / (tally.count * tally.mean**2)
        )
        ratio = factor * tally.mean / gang.mean
        return ratio * math.exp(-Z_90 * spread), ratio * math.exp(Z_90 * spread)

    def _may_wait(self, certainly: bool) -> bool:
        """Whether absent processes hear one message from each other one and no
        more, as when all wait.
        """
        count = self.nonrunning.count
        running = self.running
        if (
            self.processors is None
            or self.processors < 3
            or running.count < MIN_SAMPLES
        ):
            return False
        chance = Z_90 * math.sqrt(WAITING_SHARE * (1 - WAITING_SHARE) / count)
        share = (self.one_each + self.silent) / count
        return running.mean > 0 and share >= WAITING_SHARE + chance * certainly

    def _waiting(self, loss: Loss | None) -> tuple[Gangedness, str]:
        """The verdict where the others may all wait for the absent process: the
        ratio proves nothing.
        """
        assert self.processors is not None
        factor = (self.processors - 1) / (self.processors - 2)
        _, high = self._interval(self.running, factor)
        said = (
            f"absent processes hear {self.processors - 1} messages, one from each "
            "other one"
        )
        if self.silent:
            said += ", or none"
        if high <= self.running_threshold:
            return (
                "HIGH",
                f"{said}, and running ones are below {self.running_threshold:g}",
            )
        said += ": all may be waiting"
        if loss is None:
            return "UNKNOWN", f"{said}, the ratio proves no progress"
        if loss.low >= GAMMA_THRESHOLD:
            return (
                "HIGH",
                f"{said}, and what stretches of quanta lose is above "
                f"{GAMMA_THRESHOLD:g}",
            )
        if loss.high <= GAMMA_THRESHOLD:
            return (
                "LOW",
                f"{said}, but what stretches of quanta lose is below "
                f"{GAMMA_THRESHOLD:g}",
            )
        return (
            "UNKNOWN",
            f"{said}, and what stretches of quanta lose straddles {GAMMA_THRESHOLD:g}",
        )

    def state(self) -> Json:
        """All that the monitor knows, as plain JSON values; see :meth:`restore`."""
        return {
            "format": STATE_FORMAT,
            "version": 1,
            "processors": self.processors,
            "threshold": self.threshold,
            "running_threshold": self.running_threshold,
            "gang": asdict(self.gang),
            "running": asdict(self.running),
            "nonrunning": asdict(self.nonrunning),
            "one_each": self.one_each,
            "silent": self.silent,
            "stretches": None if self.stretches is None else asdict(self.stretches),
        }

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Self:
        """A monitor that goes on where :meth:`state` was taken; InstanceError for
        anything else.
        """
        if state.get("format") != STATE_FORMAT or state.get("version") != 1:
            raise InstanceError(
                f"gangedness state: format: wanted {STATE_FORMAT!r} version 1, not "
                f"{state.get('format')!r} version {state.get('version')!r}"
            )
        try:
            monitor = cls(
                state["processors"], state["threshold"], state["running_threshold"]
            )
            for name in ("gang", "running", "nonrunning"):
                setattr(monitor, name, Tally(**state[name]))
            monitor.one_each = int(state.get("one_each", 0))
            monitor.silent = int(state.get("silent", 0))
            if monitor.processors is not None and "stretches" in state:
                size = {"processors": monitor.processors}
                monitor.stretches = Stretches(**{**state["stretches"], **size})
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            raise InstanceError(
                f"gangedness state: {where}: {error.errors()[0]['msg']}"
            ) from None
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise InstanceError(
                f"gangedness state: {error} is missing or misplaced"
            ) from None
        return monitor


def judge_means(
    gang: float,
    nonrunning: float | None,
    running: float | None,
    processors: int | None = None,
    threshold: float = THRESHOLD,
    running_threshold: float = RUNNING_THRESHOLD,
) -> Verdict:
    """The class by the point ratio where only means are known: silence stays UNKNOWN."""
    basis: Basis = "non-running"
    mean = nonrunning
    factor = 1.0
    limit = threshold
    if (
        nonrunning is None
        and running is not None
        and processors is not None
        and processors > 2
    ):
        basis = "running"
        mean = running
        limit = running_threshold
        factor = (processors - 1) / (processors - 2)
    ratio = None if mean is None or gang == 0 else factor * mean / gang
    if ratio is not None and not math.isfinite(ratio):
        ratio = None  # by next to no messages

    def verdict(gangedness: Gangedness, reason: str) -> Verdict:
        return Verdict(
            gangedness=gangedness,
            reason=reason,
            basis=basis,
            ratio=ratio,
            threshold=limit,
            gang_mean=gang,
            mean=mean,
        )

    if mean is None:
        return verdict("UNKNOWN", "no mean of disturbed quanta that could be used")
    if gang < MIN_GANG_MEAN or ratio is None:
        return verdict(
            "UNKNOWN", f"{gang:.3g} messages a gang quantum are too few to judge"
        )
    if mean == 0:
        return verdict("UNKNOWN", "silence, and no number of samples to weigh it")
    return verdict(
        "LOW" if ratio >= limit else "HIGH",
        f"point ratio {ratio:.3g} against {limit:g}; no interval from means alone",
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

    Notes say where only means were known. Nothing is random, and no
    *deadline* is too short.

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
    said = (
        f"{', '.join(means)}: means only, classed by the point ratio; no interval was "
        "possible"
    )
    verdicts = GangednessVerdicts(applications=found)
    return Measurement(verdicts, rows, metrics, (said,) if means else ())


def judge(
    problem: MessageCountsProblem, counts: MessageCounts, settings: Settings
) -> Verdict:
    """Feed one application's counts to a monitor, or judge its means."""
    thresholds = settings.threshold, settings.running_threshold
    gang = counts.mean("gang")
    if counts.means_only and gang is not None:
        means = counts.mean("nonrunning"), counts.mean("running")
        return judge_means(gang, *means, problem.processors, *thresholds)
    monitor = GangednessMonitor(problem.processors, *thresholds)
    for quantum, processor, ganged, running, messages in counts.rows(
        problem.processors
    ):
        monitor.observe(ganged, running, messages, quantum, processor)
    if counts.absent:
        return monitor.evidence()
    for name in QUANTA:
        for messages in counts.counts(name):
            monitor.observe(name == "gang", name != "nonrunning", messages)
    return monitor.evidence()
