"""Decide whether an application needs gang scheduling (Lee et al., Section 5; F3).

Rules 6 and 7: the ratio of message counts decides; if it cannot, and each count has its
quantum and processor, stretches of quanta decide (:mod:`ioopt.measure.message_loss`).
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
"""The same mean for running processors, of ratios times (P - 1) / (P - 2): LU .737 and
Water .247.
"""
MIN_SAMPLES = 8
"""Least counts of each kind for an answer other than UNKNOWN."""
MIN_GANG_MEAN = 1.0 - 1e-9
"""An application with fewer messages per quantum than this cannot be judged.

A running mean of counts that are 1 on average may be slightly below 1.
"""
GAMMA_THRESHOLD = 0.606
"""gamma_sub that separates the classes.

It is 1 - (1 - e^-x) / x, where (1 - e^-x) / x is the progress of a running process
beside an absent one: the geometric mean of that at LU's 3 and Water's 12 requests per
quantum (Table 2).
"""
LU_GAMMA = 0.368
"""gamma_sub at LU's rate, which a program of low gangedness may reach."""
WAITING_SHARE = 0.723
"""Share of counts of absent processes above which all others may be waiting.

Such a count is one message from each other process, or none. The share is (1 - e^-x)^3
for the x of :data:`GAMMA_THRESHOLD`.
"""
SILENCE = 3.0
"""Messages expected at the threshold from which their complete absence is evidence
(e^-3 = 5 %).
"""
FEW_SENDERS = 2.0
"""Decrease of the number of senders from which only HIGH is answered.

The classes assume about one absent process, and the few that still send may be about to
wait.
"""
STATE_FORMAT = "ioopt/gangedness-state"


@dataclass(config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Tally:
    """Track number, mean and sum of squared deviations of a stream of counts
    (Welford).
    """

    count: NonNegativeInt = 0
    mean: NonNegativeFloat = 0.0
    squares: NonNegativeFloat = 0.0

    def add(self, value: float) -> None:
        """Add one count."""
        self.count += 1
        step = value - self.mean
        self.mean += step / self.count
        self.squares += step * (value - self.mean)

    def variance(self) -> float:
        """Return the sample variance, but no less than the mean.

        Few samples underestimate the variance.
        """
        spread = 0.0
        if self.count > 1:
            spread = self.squares / (self.count - 1)
        return max(spread, self.mean)


class GangednessMonitor:
    """Collect message counts of one application, by processor and quantum.

    ``processors`` is P, the size of the gang; without it (or with P = 2) counts of
    running processors cannot be normalised; then neither they nor stretches of quanta
    are used. The monitor reads no clock and no file, and its memory is constant.

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
        """Counts of absent processes: one message from every other process, or one
        more.
        """
        self.silent = 0
        """Counts of absent processes without a message."""
        self.stretches = None
        if processors is not None:
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
        """Add the messages that one processor received in one quantum.

        *ganged*: all processes ran in the quantum. *running*: this processor's process
        ran. *quantum*, a number that never falls, and *processor*, 0 to P - 1, may be
        left out; with both for all P processors, the monitor can distinguish processes
        that meet less than once per quantum from processes that progress. Raises
        UsageError for a gang quantum with a process not running, a count that is no
        number >= 0, or an invalid quantum or processor.
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
        """Return the samples to use, their normalising factor and their threshold."""
        size = self.processors
        can_run = size is not None and size > 2 and self.running.count > 0
        if self.nonrunning.count >= MIN_SAMPLES or not can_run:
            return "non-running", self.nonrunning, 1.0, self.threshold
        assert size is not None
        return "running", self.running, (size - 1) / (size - 2), self.running_threshold

    def ratio(self) -> float | None:
        """Return messages in disturbed quanta over messages in gang quanta.

        None when one of them is not known. Counts of non-running processors are used
        when there are 8 or more. Running processors hear from P - 2 others instead of
        P - 1, which presumes that exactly one process is absent.
        """
        _, tally, factor, _ = self._basis()
        if tally.count == 0 or self.gang.count == 0 or self.gang.mean == 0:
            return None
        return factor * tally.mean / self.gang.mean

    def classify(self, deadline_seconds: float | None = None) -> Gangedness:
        """Return ``LOW``, ``HIGH`` or ``UNKNOWN``; :meth:`evidence` says why.

        *deadline_seconds* is an argument of every embedded object, and always met here:
        the work is a dozen additions, whatever the number of samples.
        """
        return self.evidence().gangedness

    def evidence(self) -> Verdict:
        """Return the class with the ratio, its 90 % interval and the supporting
        figures.
        """
        basis, tally, factor, threshold = self._basis()
        gang = self.gang
        known: Json = {
            "basis": basis,
            "ratio": self.ratio(),
            "threshold": threshold,
            "gang_samples": gang.count,
            "samples": tally.count,
            "gang_mean": None,
            "mean": None,
        }
        if gang.count:
            known["gang_mean"] = gang.mean
        if tally.count:
            known["mean"] = tally.mean

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
            quiet = f"{gang.mean:.3g} messages per gang quantum are too few to judge"
            return verdict("UNKNOWN", quiet)
        if tally.mean == 0:
            expected = tally.count * threshold * gang.mean / self._fewer_senders(basis)
            if expected >= SILENCE:
                silent = (
                    f"no message where {expected:.3g} messages would be the threshold"
                )
                return verdict("HIGH", silent)
            few = f"no message, but only {expected:.3g} messages would be expected"
            return verdict("UNKNOWN", few)
        known["low"], known["high"] = self._interval(tally, factor)
        return verdict(*self._by_interval(known, basis, threshold))

    def _by_interval(
        self, known: Json, basis: Basis, threshold: float
    ) -> tuple[Gangedness, str]:
        """Return class and reason if the ratio has an interval.

        Other deciding figures are added to *known*.
        """
        low = known["low"]
        high = known["high"]
        fewer = self._fewer_senders(basis)
        loss = self._loss(known)
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
        return self._above_threshold(loss, threshold)

    def _loss(self, known: Json) -> Loss | None:
        """Return the loss estimated from stretches of quanta; add it to *known*."""
        if self.stretches is None:
            return None
        loss = self.stretches.loss()
        if loss is not None:
            known["gamma"] = loss.gamma
            known["gamma_low"] = loss.low
            known["gamma_high"] = loss.high
            known["stretches"] = loss.stretches
        return loss

    def _above_threshold(
        self, loss: Loss | None, threshold: float
    ) -> tuple[Gangedness, str]:
        """Return class and reason if the whole interval is above the *threshold*."""
        if loss is None or loss.gamma <= GAMMA_THRESHOLD or loss.low <= LU_GAMMA:
            return "LOW", f"the whole interval is above the threshold {threshold:g}"
        said = f"the ratio is above {threshold:g}, but the loss per disturbed quantum"
        if loss.low >= GAMMA_THRESHOLD:
            return "HIGH", f"{said} is above {GAMMA_THRESHOLD:g}"
        return "UNKNOWN", f"{said} may be above {GAMMA_THRESHOLD:g}"

    def _fewer_senders(self, basis: Basis) -> float:
        """Return the factor by which there are fewer senders than with one absent
        process.

        The thresholds assume one absent process.
        """
        if self.stretches is None or self.stretches.away_at_once() == 1:
            return 1.0
        senders = self.stretches.processors
        if basis == "running":
            senders -= 1
        left = senders - self.stretches.away_at_once()
        if left <= 0:
            return math.inf
        return (senders - 1) / left

    def _interval(self, tally: Tally, factor: float) -> tuple[float, float]:
        """Return the 90 % interval of the ratio of *tally* to gang quanta."""
        gang = self.gang
        spread = math.sqrt(
            gang.variance() / (gang.count * gang.mean**2)
            + tally.variance() / (tally.count * tally.mean**2)
        )
        ratio = factor * tally.mean / gang.mean
        return ratio * math.exp(-Z_90 * spread), ratio * math.exp(Z_90 * spread)

    def _may_wait(self, certainly: bool) -> bool:
        """Return whether absent processes receive just one message from each other
        process.

        This happens if all others wait for the absent one. *certainly*: beyond chance.
        """
        if self.processors is None or self.processors < 3:
            return False
        if self.running.count < MIN_SAMPLES or self.running.mean <= 0:
            return False
        count = self.nonrunning.count
        limit = WAITING_SHARE
        if certainly:
            limit += Z_90 * math.sqrt(WAITING_SHARE * (1 - WAITING_SHARE) / count)
        return (self.one_each + self.silent) / count >= limit

    def _waiting(self, loss: Loss | None) -> tuple[Gangedness, str]:
        """Return class and reason if all others may wait for the absent process.

        Then the ratio proves nothing.
        """
        assert self.processors is not None
        factor = (self.processors - 1) / (self.processors - 2)
        _, high = self._interval(self.running, factor)
        said = (
            f"absent processes receive {self.processors - 1} messages, one from "
            "each other process"
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
            return "UNKNOWN", f"{said}, so the ratio proves no progress"
        if loss.low >= GAMMA_THRESHOLD:
            return (
                "HIGH",
                f"{said}, and the loss per disturbed quantum is above "
                f"{GAMMA_THRESHOLD:g}",
            )
        if loss.high <= GAMMA_THRESHOLD:
            return (
                "LOW",
                f"{said}, but the loss per disturbed quantum is below "
                f"{GAMMA_THRESHOLD:g}",
            )
        return (
            "UNKNOWN",
            (
                f"{said}, and the loss per disturbed quantum has an interval across "
                f"{GAMMA_THRESHOLD:g}"
            ),
        )

    def state(self) -> Json:
        """Return the monitor's state as plain JSON values; see :meth:`restore`."""
        stretches = None
        if self.stretches is not None:
            stretches = asdict(self.stretches)
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
            "stretches": stretches,
        }

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Self:
        """Return the monitor saved as *state*; InstanceError for invalid data."""
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
    """Judge by the ratio of means if counts are unknown; UNKNOWN without messages."""
    basis: Basis = "non-running"
    mean = nonrunning
    factor = 1.0
    limit = threshold
    can_run = running is not None and processors is not None and processors > 2
    if nonrunning is None and can_run:
        assert processors is not None
        basis = "running"
        mean = running
        limit = running_threshold
        factor = (processors - 1) / (processors - 2)
    ratio = None
    if mean is not None and gang != 0:
        ratio = factor * mean / gang
        if not math.isfinite(ratio):  # The mean of gang quanta is almost 0.
            ratio = None

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
        return verdict("UNKNOWN", "no usable mean of disturbed quanta")
    if gang < MIN_GANG_MEAN or ratio is None:
        return verdict(
            "UNKNOWN", f"{gang:.3g} messages a gang quantum are too few to judge"
        )
    if mean == 0:
        return verdict("UNKNOWN", ("no message, and the number of samples is unknown"))
    reason = (
        f"point ratio {ratio:.3g} compared with {limit:g}; means alone give no interval"
    )
    if ratio >= limit:
        return verdict("LOW", reason)
    return verdict("HIGH", reason)


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
    """Judge every application: LOW, HIGH or UNKNOWN need of gang scheduling.

    Notes say where only means were known. Nothing is random, and every *deadline* is
    met.

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
    notes: tuple[str, ...] = ()
    if means:
        notes = (
            f"{', '.join(means)}: only means given, classified by the point ratio "
            "without an interval",
        )
    verdicts = GangednessVerdicts(applications=found)
    return Measurement(verdicts, rows, metrics, notes)


def judge(
    problem: MessageCountsProblem, counts: MessageCounts, settings: Settings
) -> Verdict:
    """Judge one application by a monitor of its counts, or by its means."""
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
