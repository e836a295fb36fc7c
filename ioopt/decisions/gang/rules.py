"""What the policies of the five phases differ in (rules 11 to 15), and the weight of a
job.
"""

from fractions import Fraction
from typing import Literal, NamedTuple

Number = float | Fraction

UNLIMITED = 1 << 62
"""A number of tasks or slots that nothing exhausts."""

BEST_FIT, FILE_NODES, ADAPTIVE = 0, 1, 2
"""Values of :attr:`Rules.place`: the Schedule rules of GS, IOGS and Adaptive-IOGS."""

UNWEIGHTED, ONE, LAS, HDF = 0, 1, 2, 3
"""Values of :attr:`Rules.weight`: start order, or a weight (:func:`weight_of`)."""
Weight = Literal["las", "hdf", "one"]
WEIGHTS: dict[Weight, int] = {"las": LAS, "hdf": HDF, "one": ONE}

LEAST_NEED_SECONDS = 50
"""The weight HDF counts at least so much remaining work, or a job about to end would be
all.
"""


class RuleNumbers(NamedTuple):
    """The rules on one machine, as numbers for the kernels; ``limit`` is the guard in
    slots.

    ``slots`` are all of the machine's under ``Rules.break_even``, else 0.
    """

    place: int
    migrate: bool
    local_first: bool
    weight: int
    free_queue: bool
    age: float
    limit: int
    patience: Number
    quantum: Number
    slots: int


class Rules(NamedTuple):
    """How a policy runs the phases.

    ``local_first``: FillMatrix serves local jobs to exhaustion, then remote ones.
    With a ``weight`` the heaviest job goes first in MigrateMatrix and FillMatrix,
    and a ``free_queue`` passes over jobs that do not fit, but not over those that
    have waited longer than ``age`` seconds (0: none). A remote start may not fill
    more than the share ``guard`` of all slots until the job has waited ``patience``
    (R - L); the queue passes over it meanwhile. With ``break_even`` it may always
    fill the share L/R: a machine full of remote jobs does no less. Jobs whose R/L is
    at most ``pack_ratio`` hardly need their files: they start where they run most,
    unguarded, and never migrate.
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

    def numbers(self, nodes: int, levels: int, quantum: Number) -> RuleNumbers:
        """The rules on a machine of *nodes* x *levels* slots with slices of *quantum*
        seconds.
        """
        limit = guard_slots(self.guard, nodes, levels)
        exact = isinstance(quantum, Fraction)
        patience = self.patience if exact else float(self.patience)
        return RuleNumbers(
            self.place,
            self.migrate,
            self.local_first,
            self.weight,
            self.free_queue,
            float(self.age),
            limit,
            patience,
            quantum,
            nodes * levels * self.break_even,
        )


def guard_slots(share: Fraction, nodes: int, levels: int) -> int:
    """Home slots that may be occupied after a remote start: the whole part of share x M
    P.
    """
    return nodes * levels * share.numerator // share.denominator


def weight_of(
    weight: int, local: Number, attained: Number, need: Number, quantum: Number
) -> Number:
    """The weight of a job (docs/gang.md, The mathematics), per second squared; 1 for
    ``ONE``.
    """
    if weight == LAS:
        since = attained + quantum
        return 1 / (since * since)
    if weight == HDF:
        return 1 / (max(local, quantum) * max(need, LEAST_NEED_SECONDS))
    return 1
