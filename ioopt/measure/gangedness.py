"""Decide whether an application needs gang scheduling (Lee et al., Section 5; feature
F3 of docs/rules/flexgang.md).

By rules 6 and 7, the ratio of message counts decides. If it cannot decide, and the
quantum and processor of each count are known, stretches of quanta decide
(:mod:`ioopt.measure.message_loss`).
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
"""Threshold of the ratio for absent processes: the geometric mean of the ratios of LU
(.312) and Water (.0759) in Table 3.
"""
RUNNING_THRESHOLD = 0.427
"""Threshold of the ratio for running processes: the geometric mean of the ratios of LU
(.737) and Water (.247), both times (P - 1) / (P - 2). P is the number of processors.
"""
MIN_SAMPLES = 8
"""Least number of counts of each kind for an answer other than UNKNOWN."""
MIN_GANG_MEAN = 1.0 - 1e-9
"""Least mean number of messages in a gang quantum from which an application can be
judged.

The value is slightly below 1: rounding may bring the running mean of counts below 1
although their mean is 1.
"""
GAMMA_THRESHOLD = 0.606
"""Value of gamma_sub, the loss per disturbed quantum, that separates low from high
gangedness.

The value is 1 - (1 - e^-x) / x, where (1 - e^-x) / x is the progress of a running
process while another one is absent. That progress is the geometric mean of its values
at 3 requests per quantum (LU) and at 12 (Water, Table 2).
"""
LU_GAMMA = 0.368
"""Value of gamma_sub at LU's rate of requests; a program of low gangedness may reach
it.
"""
WAITING_SHARE = 0.723
"""Limit of a share above which all other processes may be waiting for the absent one.

The share is that of counts without a message, or with one message from each other
process, among all counts of absent processes. The limit is (1 - e^-x)^3 for the x of
:data:`GAMMA_THRESHOLD`.
"""
SILENCE = 3.0
"""If this many messages are expected at the threshold and none comes, that is evidence
of high gangedness (e^-3 = 5 %).
"""
FEW_SENDERS = 2.0
"""If the number of senders is smaller by this factor or more, only HIGH or UNKNOWN is
answered.

The thresholds assume about one absent process. The few processes that still send may be
about to wait.
"""
STATE_FORMAT = "ioopt/gangedness-state"


@dataclass(config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Tally:
    """Track the number, the mean and the sum of squared deviations of a stream of
    message counts (Welford's method).
    """

    count: NonNegativeInt = 0
    mean: NonNegativeFloat = 0.0
    squares: NonNegativeFloat = 0.0

    def add(self, value: float) -> None:
        """Add one count to the tally."""
        self.count += 1
        step = value - self.mean
        self.mean += step / self.count
        self.squares += step * (value - self.mean)

    def variance(self) -> float:
        """Return the sample variance, but at least the mean, because few samples
        underestimate the variance.
        """
        spread = 0.0
        if self.count > 1:
            spread = self.squares / (self.count - 1)
        return max(spread, self.mean)


class GangednessMonitor:
    """Collect the message counts of one application, one for each processor and
    quantum.

    *processors* is P, the size of the gang. Without it (or with P = 2), counts of
    running processors cannot be normalised. Neither these counts nor stretches of
    quanta are then used. The monitor reads no clock and no file, and its memory is
    constant.

    The application needs the gang if the ratio of the messages of absent processes to
    those in the gang is below *threshold*, or the ratio of running ones below
    *running_threshold*.

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
        """Number of counts of absent processes with one message from every other
        process, or with one message more.
        """
        self.silent = 0
        """Number of counts of absent processes without a message."""
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
        """Add *messages*, the number of messages that one processor received in one
        quantum.

        *ganged* says whether all processes ran in the quantum, and *running* whether
        the process of this processor ran. *quantum* is a number that never falls, and
        *processor* is 0 to P - 1. Both may be left out. If they are given for all P
        processors, the monitor can distinguish two kinds of processes: those that meet
        less than once per quantum, and those that make progress. Raises UsageError for
        a gang quantum with a process not running, a count that is not a number >= 0, or
        an invalid quantum or processor.
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
        """Return the kind of samples to use, their tally, their normalising factor and
        their threshold.
        """
        size = self.processors
        can_run = size is not None and size > 2 and self.running.count > 0
        if self.nonrunning.count >= MIN_SAMPLES or not can_run:
            return "non-running", self.nonrunning, 1.0, self.threshold
        assert size is not None
        return "running", self.running, (size - 1) / (size - 2), self.running_threshold

    def ratio(self) -> float | None:
        """Return the mean number of messages in disturbed quanta divided by the mean in
        gang quanta.

        Return None if one of the means is not known. If there are 8 or more counts of
        non-running processors, these are used. Otherwise counts of running processors
        are used. These receive messages from P - 2 others instead of P - 1, if exactly
        one process is absent.
        """
        _, tally, factor, _ = self._basis()
        if tally.count == 0 or self.gang.count == 0 or self.gang.mean == 0:
            return None
        return factor * tally.mean / self.gang.mean

    def classify(self, deadline_seconds: float | None = None) -> Gangedness:
        """Return the gangedness ``LOW``, ``HIGH`` or ``UNKNOWN``; :meth:`evidence`
        gives the reason.

        *deadline_seconds* is an argument of all embedded objects. It is always met
        here, because the work is a dozen additions, whatever the number of samples.
        """
        return self.evidence().gangedness

    def evidence(self) -> Verdict:
        """Return the gangedness, the reason, the ratio with its 90 % interval, and the
        figures that support them.
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
        """Return the gangedness and the reason when the ratio has an interval.

        If other figures decide, they are added to *known*.
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
        """Return the loss estimated from stretches of quanta, and add it to *known*;
        None without an estimate.
        """
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
        """Return the gangedness and the reason when the whole interval of the ratio is
        above *threshold*.
        """
        if loss is None or loss.gamma <= GAMMA_THRESHOLD or loss.low <= LU_GAMMA:
            return "LOW", f"the whole interval is above the threshold {threshold:g}"
        said = f"the ratio is above {threshold:g}, but the loss per disturbed quantum"
        if loss.low >= GAMMA_THRESHOLD:
            return "HIGH", f"{said} is above {GAMMA_THRESHOLD:g}"
        return "UNKNOWN", f"{said} may be above {GAMMA_THRESHOLD:g}"

    def _fewer_senders(self, basis: Basis) -> float:
        """Return the factor by which the number of senders is smaller than with one
        absent process.

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
        """Return the 90 % interval of the ratio: the mean of *tally*, times *factor*,
        divided by the mean of gang quanta.
        """
        gang = self.gang
        spread = math.sqrt(
            gang.variance() / (gang.count * gang.mean**2)
            + tally.variance() / (tally.count * tally.mean**2)
        )
        ratio = factor * tally.mean / gang.mean
        return ratio * math.exp(-Z_90 * spread), ratio * math.exp(Z_90 * spread)

    def _may_wait(self, certainly: bool) -> bool:
        """Return whether absent processes may receive just one message from each other
        process, or none.

        Absent processes receive such counts if all others wait for them. If
        *certainly*, the share of such counts must exceed its limit beyond chance.
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
        """Return the gangedness and the reason when all other processes may be waiting
        for the absent one.

        The ratio proves nothing then.
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
        """Return the state of the monitor as plain JSON values, which :meth:`restore`
        reads.
        """
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
        """Return the monitor that was saved as *state*; raise InstanceError for invalid
        data.
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
    """Judge an application by the ratio of its mean message counts, when single counts
    are unknown.

    The arguments *gang*, *nonrunning* and *running* are these means. The gangedness is
    UNKNOWN if there are no messages.
    """
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
    """Settings of the judgement: the thresholds of the ratio for non-running and for
    running processors.
    """

    threshold: Annotated[float, Field(gt=0)] = THRESHOLD
    running_threshold: Annotated[float, Field(gt=0)] = RUNNING_THRESHOLD


def measure(
    problem: MessageCountsProblem,
    settings: Settings | None = None,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> Measurement[GangednessVerdicts]:
    """Judge for every application whether its need of gang scheduling is LOW, HIGH or
    UNKNOWN.

    Notes name the applications of which only means are known. Nothing is random. The
    *deadline* is always met.

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
    """Judge one application by its message counts or, if these are unknown, by its
    means.
    """
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
