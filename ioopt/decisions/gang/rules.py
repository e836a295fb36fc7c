"""Define the rules in which the gang policies differ (rules 11 to 15 of
docs/rules/gang.md), and the weight of a job.

Times are floats. In exact arithmetic fractions take their place: the code is the same.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple, cast

UNLIMITED = 1 << 62
"""A number of tasks or slots that is never reached; it means that there is no limit."""

BEST_FIT = 0
"""Value of :attr:`Rules.place` for the Schedule rule of GS."""
FILE_NODES = 1
"""Value of :attr:`Rules.place` for the Schedule rule of IOGS."""
ADAPTIVE = 2
"""Value of :attr:`Rules.place` for the Schedule rule of Adaptive-IOGS."""

UNWEIGHTED = 0
"""Value of :attr:`Rules.weight` if jobs have no weights and stay in the order of their
starts.
"""
ONE = 1
"""Value of :attr:`Rules.weight` if all jobs have the same weight."""
LAS = 2
"""Value of :attr:`Rules.weight` for least attained service (:func:`weight_of`)."""
HDF = 3
"""Value of :attr:`Rules.weight` for highest density first (:func:`weight_of`)."""
Weight = Literal["las", "hdf", "one"]
WEIGHTS: dict[Weight, int] = {"las": LAS, "hdf": HDF, "one": ONE}

LEAST_NEED_SECONDS = 50
"""Least remaining work in seconds that the weight HDF counts. Otherwise a job about to
end would outweigh all others.
"""


@dataclass(slots=True)
class RuleNumbers:
    """The rules of a policy applied to one machine, as numbers for the kernels.

    ``limit`` is the number of home slots that a remote start may fill (the guard).
    ``slots`` is the number of slots of the machine if ``Rules.break_even``, else 0.
    """

    place: int
    migrate: bool
    local_first: bool
    weight: int
    free_queue: bool
    age: float
    limit: int
    patience: float
    quantum: float
    slots: int


class Rules(NamedTuple):
    """The choices by which policies differ when they run the phases of a matrix update.

    ``place`` is the Schedule rule. If ``migrate``, remote jobs move to their file
    nodes. If ``local_first``, FillMatrix serves all local jobs before remote ones. With
    a ``weight`` the heaviest job goes first in MigrateMatrix and FillMatrix. If
    ``free_queue``, the queue passes over jobs that do not fit, except those that have
    waited longer than ``age`` seconds (0: no such limit).

    ``guard`` is the largest share of all slots up to which a remote start may fill the
    matrix. It holds until the job has waited ``patience`` times (R - L) seconds, where
    R and L are its remote and its local run time. Until then the queue passes over the
    job. With ``break_even``, remote starts may always fill the share L/R, because a
    machine full of remote jobs does as much work. Jobs whose R/L is at most
    ``pack_ratio`` gain little from their files. They start where they get the most
    rows, ignore the guard, and never migrate.
    """

    place: int
    migrate: bool = False
    local_first: bool = False
    weight: int = UNWEIGHTED
    free_queue: bool = False
    age: float = 0.0
    guard: Fraction = Fraction(1)
    patience: Fraction = Fraction(UNLIMITED)
    break_even: bool = False
    pack_ratio: Fraction = Fraction(0)

    def numbers(self, nodes: int, levels: int, quantum: float) -> RuleNumbers:
        """Return the rules for a matrix of *nodes* x *levels* slots and time slices of
        *quantum* seconds.
        """
        patience = float(self.patience)
        if isinstance(quantum, Fraction):
            patience = cast(float, self.patience)
        slots = 0
        if self.break_even:
            slots = nodes * levels
        return RuleNumbers(
            place=self.place,
            migrate=self.migrate,
            local_first=self.local_first,
            weight=self.weight,
            free_queue=self.free_queue,
            age=float(self.age),
            limit=guard_slots(self.guard, nodes, levels),
            patience=patience,
            quantum=quantum,
            slots=slots,
        )


def guard_slots(share: Fraction, nodes: int, levels: int) -> int:
    """Return the largest number of home slots that may be occupied after a remote
    start.

    This number is *share* times the number of all slots, rounded down.
    """
    return nodes * levels * share.numerator // share.denominator


def weight_of(
    weight: int, local: float, attained: float, need: float, quantum: float
) -> float:
    """Return the weight of a job as docs/gang.md defines it.

    Its unit is 1/s^2 for LAS and HDF; for ONE it is the number 1. *weight* names the
    kind of weight. *local* is the run time of the job on its file nodes. *attained* and
    *need* are the scheduled time that it has received and that it still needs. All
    times are in seconds.
    """
    if weight == LAS:
        since = attained + quantum
        return 1 / (since * since)
    if weight == HDF:
        return 1 / (max(local, quantum) * max(need, LEAST_NEED_SECONDS))
    return 1
