"""Estimate the cost of a disturbed quantum from the messages in stretches of quanta
(rule 7 of docs/rules/flexgang.md).
"""

import math
from dataclasses import dataclass, field

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass

from ioopt.errors import UsageError

HALF = 8
"""Number of quanta over which the weights of a stretch rise; they fall over as many.

The messages of one synchronisation arrive together. A stretch with hard ends would
therefore have one synchronisation more or fewer by chance. The length is several times
the distance between synchronisations, and a recording has many stretches.
"""
FADED = 6 * HALF**2 / (4 * HALF**2 - 1)
"""Ratio of a number of overlapping stretches to the number of independent stretches
that give an equally precise estimate.

The ratio is HALF divided by the sum of the squared weights, about 3/2.
"""
MIN_STRETCHES = 8
"""Least number of stretches from which a loss is estimated."""
Z_90 = 1.645
"""Quantile of the normal distribution for a 90 % interval."""


@dataclass(frozen=True)
class Loss:
    """The estimated loss ``gamma`` with its 90 % interval, and the number of
    ``stretches`` used.
    """

    gamma: float
    low: float
    high: float
    stretches: int


@checked_dataclass(config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Stretches:
    """Sum the messages of all processors over stretches of quanta.

    A stretch is 2 ``HALF`` quanta with weights that rise and then fall. The next
    stretch begins in its middle. A quantum counts only if the counts of all
    ``processors`` are known. The memory used is constant.
    """

    processors: int
    quantum: int = -1
    heard: list[int] = field(default_factory=list)
    """The last quantum observed, and the processors whose count of it is known so
    far.
    """
    away: list[int] = field(default_factory=list)
    disturbed: bool = False
    messages: float = 0.0
    """Of the last quantum: the absent processors, whether it was disturbed, and the
    number of its messages.
    """
    absences: list[int] = field(default_factory=list)
    disturbances: int = 0
    """Number of quanta that each processor missed, and number of disturbed quanta."""
    length: int = 0
    rising_hits: float = 0.0
    rising_received: float = 0.0
    falling_hits: float = 0.0
    falling_received: float = 0.0
    """Number of consecutive quanta so far. Then, for both open stretches, the weighted
    numbers of disturbed quanta and of messages.
    """
    count: int = 0
    mean_hits: float = 0.0
    mean_received: float = 0.0
    hits_hits: float = 0.0
    hits_received: float = 0.0
    received_received: float = 0.0
    """Number of complete stretches, the means over them, and the sums of products of
    deviations (Welford's method).
    """

    def __post_init__(self) -> None:
        self.absences = self.absences or [0] * self.processors
        if len(self.absences) != self.processors:
            raise ValueError(f"stretches of {len(self.absences)} processors")

    def expect(self, quantum: int, processor: int) -> None:
        """Raise UsageError unless quanta are in order and each processor has one count
        in a quantum.
        """
        if not 0 <= processor < self.processors:
            raise UsageError(
                f"processors are 0 to {self.processors - 1}, not {processor}"
            )
        if quantum < max(0, self.quantum):
            raise UsageError(f"quanta come in order: {quantum} after {self.quantum}")
        if quantum == self.quantum and processor in self.heard:
            raise UsageError(f"quantum {quantum}: processor {processor} comes twice")

    def add(
        self, quantum: int, processor: int, ganged: bool, running: bool, messages: float
    ) -> None:
        """Add one count; the count of the last processor completes the quantum."""
        if quantum != self.quantum:
            if len(self.heard) < self.processors and self.heard:
                self.length = 0  # After a gap all stretches begin anew.
                self.rising_hits = self.rising_received = 0.0
            self.quantum = quantum
            self.heard = []
            self.away = []
            self.disturbed = False
            self.messages = 0.0
        self.heard.append(processor)
        self.messages += messages
        self.disturbed = self.disturbed or not ganged
        if not running:
            self.away.append(processor)
        if len(self.heard) == self.processors:
            self._end_quantum()

    def _end_quantum(self) -> None:
        """Add a complete quantum to both open stretches."""
        for processor in self.away:
            self.absences[processor] += 1
        self.disturbances += self.disturbed
        weight = (self.length % HALF + 0.5) / HALF
        self.rising_hits += weight * self.disturbed
        self.rising_received += weight * self.messages
        self.falling_hits += (1 - weight) * self.disturbed
        self.falling_received += (1 - weight) * self.messages
        self.length += 1
        if self.length % HALF:
            return
        if self.length > HALF:
            self._end_stretch(self.falling_hits, self.falling_received)
        self.falling_hits = self.rising_hits
        self.falling_received = self.rising_received
        self.rising_hits = self.rising_received = 0.0

    def _end_stretch(self, hits: float, received: float) -> None:
        self.count += 1
        step = hits - self.mean_hits
        rise = received - self.mean_received
        self.mean_hits += step / self.count
        self.mean_received += rise / self.count
        self.hits_hits += step * (hits - self.mean_hits)
        self.hits_received += step * (received - self.mean_received)
        self.received_received += rise * (received - self.mean_received)

    def away_at_once(self) -> float:
        """Return the mean number of processors that are absent in a disturbed quantum.

        Return 1 if there was no disturbed quantum.
        """
        if self.disturbances:
            return max(1.0, sum(self.absences) / self.disturbances)
        return 1.0

    def loss(self) -> Loss | None:
        """Estimate gamma_sub from the messages (rule 7); return None if they do not
        suffice.

        A line is fitted to the messages of a stretch as a function of its disturbed
        quanta, with one point for each stretch. It gives the loss of messages per
        disturbed quantum, in units of the messages of one quantum. Let m be the share
        of the disturbed quanta in which the processor that missed most was absent. Then
        gamma = (loss - m) / (1 - m). The interval is that of the ratio of the
        coefficients of the line (delta method).
        """
        if self.count < MIN_STRETCHES:
            return None
        if self.hits_hits <= 0 or self.disturbances <= 0:
            return None
        slope = self.hits_received / self.hits_hits
        undisturbed = self.mean_received - slope * self.mean_hits
        share = max(self.absences) / self.disturbances
        if undisturbed <= self.mean_received / 2 or share >= 1:
            return None
        free = self.count / FADED - 2
        squares = max(0.0, self.received_received - slope * self.hits_received)
        residual = squares / (self.count - 2)
        lever = slope / undisturbed
        of_slope = (1 + lever * self.mean_hits) ** 2 / self.hits_hits
        of_level = lever**2 / self.count
        spread = math.sqrt(FADED * residual * (of_slope + of_level))
        unit = HALF / undisturbed / (1 - share)
        student = Z_90 * (1 + (Z_90**2 + 1) / (4 * free))
        gamma = -slope * unit - share / (1 - share)
        half = student * spread * unit
        return Loss(gamma, gamma - half, gamma + half, self.count)
