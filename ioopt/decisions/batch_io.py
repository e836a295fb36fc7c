"""What an I/O policy sees: the outstanding requests at one instant, and the limits of the machine.

Numbers are floats, or ``fractions.Fraction`` throughout for exact answers; ``eps`` is the relative
tolerance of comparisons that can tie (rule 2) and 0 for Fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ulp
from typing import Any, NamedTuple

from ioopt.problems.batch_io import Machine
from ioopt.units import exact

COMPILED_AS = "ioopt.decisions.batch_io_arrays"

Number = Any
"""A float, or a Fraction in exact runs."""

FIT_TOLERANCE = 1e-12
TIME_TOLERANCE_SECONDS = 1e-9
TIME_TOLERANCE_ULPS = 4
CLOSE = 1.1e-8
"""Numbers that differ by more than this part of them differ in their nine digits."""


def time_tolerance(now: float) -> float:
    """Rule 2: two floats this close to *now* are one instant.

    The ulp part keeps the tolerance above rounding noise however late it is: a purely absolute
    tolerance livelocks after 97 simulated days.
    """
    return TIME_TOLERANCE_SECONDS + TIME_TOLERANCE_ULPS * ulp(now)


def nine_digits(value: float) -> float:
    """*value* rounded to 9 significant digits: how priority keys are compared in floats (rule 2).

    Compiled code rounds by the same arithmetic, so both see the same ties.

    >>> nine_digits(0.1234567894)
    0.123456789
    """
    if value == 0.0 or math.isinf(value):
        return value
    exponent = math.floor(math.log10(value))
    if -290 < exponent < 290:
        if exponent <= 8:
            scale = 10.0 ** (8 - exponent)
            return math.floor(value * scale + 0.5) / scale
        scale = 10.0 ** (exponent - 8)
        return math.floor(value / scale + 0.5) * scale
    return value


def rounded(key: float) -> float:
    """:func:`nine_digits` for keys of either sign."""
    return math.copysign(nine_digits(abs(key)), key)


def ascending(keys: Sequence[Number], use_exact: bool) -> list[int]:
    """Positions by key, ties by position; float keys are compared at nine digits (rule 2).

    Only keys close to each other can round to the same nine digits, so the others are not rounded.

    >>> ascending([2.0, 1.00000000001, 1.0], False), ascending([2.0, 1.001, 1.0], False)
    ([1, 2, 0], [2, 1, 0])
    """
    order = sorted(range(len(keys)), key=keys.__getitem__)
    if use_exact or len(order) < 2:
        return order
    before = keys[order[0]]
    for k in order:
        key = keys[k]
        if key != before:
            if not key - before > CLOSE * abs(before):
                near = [rounded(key) for key in keys]
                return sorted(range(len(keys)), key=near.__getitem__)
            before = key
    return order


@dataclass(frozen=True)
class Limits:
    """Constants of the machine as a policy needs them.

    ``node_rate`` is b, ``storage`` BW_max. ``capacity_units`` = floor(BW_max / (b unit)) and
    ``saturating_units``, the smallest allocation whose peak is BW_max, are computed with Fractions.
    ``own_peaks`` says that some request has a peak below that of its nodes (rule 24);
    ``interference`` is c of rule 29.
    """

    node_rate: Number
    storage: Number
    unit_nodes: int
    capacity_units: int
    saturating_units: int
    eps: float
    exact: bool
    interference: Number = 0
    own_peaks: bool = False

    @classmethod
    def of(cls, machine: Machine, use_exact: bool = False) -> Limits:
        """The limits of *machine*, as Fractions when *use_exact*."""
        rate, storage, units = _fractions(
            machine.node_bytes_per_second, machine.storage_bytes_per_second, machine.unit_nodes
        )
        return cls(
            node_rate=rate if use_exact else float(rate),
            storage=storage if use_exact else float(storage),
            unit_nodes=machine.unit_nodes,
            capacity_units=math.floor(units),
            saturating_units=math.ceil(units),
            eps=0.0 if use_exact else FIT_TOLERANCE,
            exact=use_exact,
            interference=(exact if use_exact else float)(machine.interference),
        )

    def peak(self, nodes: int, own: float | None = None) -> Number:
        """r_i = min(p, b N_i, BW_max), p being its *own* peak (rules 5 and 24)."""
        saturates = nodes >= self.saturating_units * self.unit_nodes
        rate = self.storage if saturates else self.node_rate * nodes
        return rate if own is None else min(rate, self.number(own))

    def has_own_peak(self, request: Request) -> bool:
        """Whether *request* has a peak below that of its nodes (rule 24)."""
        return bool(request.peak < self.peak(request.nodes))

    def number(self, value: float | int | Fraction) -> Number:
        """*value* in the arithmetic of these limits."""
        return exact(value) if self.exact else float(value)


@lru_cache(maxsize=16)  # a service is asked about one machine all the time
def _fractions(
    node_rate: float, storage: float, unit_nodes: int
) -> tuple[Fraction, Fraction, Fraction]:
    """Both rates, and the units whose nodes together have that of the storage."""
    rate, most = exact(node_rate), exact(storage)
    return rate, most, most / (rate * unit_nodes)


class Request:
    """One outstanding request. Policies only read it; its owner keeps ``left`` and ``moved`` current.

    ``nodes`` is N_i (rule 4), ``units`` the same in allocation units, ``peak`` r_i;
    ``requested`` the request time, ``start`` the job's start; ``compute_so_far`` and
    ``ideal_so_far`` the two sums of rule 14; ``iteration`` the w_iter of rule 16; ``belief`` the bytes that
    a policy which is not told ``left`` takes the request for.
    """

    __slots__ = (
        "belief", "compute_so_far", "id", "ideal_so_far", "iteration", "left", "moved", "nodes", "peak",
        "requested", "start", "units",
    )  # fmt: skip

    def __init__(
        self, id: Any, nodes: int, limits: Limits, requested: Number, left: Number,
        own: float | None = None,
    ) -> None:  # fmt: skip
        self.id = id
        self.nodes = nodes
        self.units = nodes // limits.unit_nodes
        self.peak = limits.peak(nodes, own)
        self.requested = requested
        self.left = left
        self.moved: Number = 0
        self.start = requested
        self.compute_so_far: Number = 0
        self.ideal_so_far: Number = 0
        self.iteration: Number = left / self.peak
        self.belief = left

    @property
    def key(self) -> tuple[Number, Any]:
        """What requests are ordered by, first come first served (rule 10)."""
        return self.requested, self.id


class View:
    """A read-only snapshot for one decision: ``now``, ``limits``, ``requests`` in FCFS order."""

    __slots__ = ("limits", "now", "requests")

    def __init__(self, limits: Limits, now: Number, requests: Sequence[Request]) -> None:
        self.limits = limits
        self.now = now
        self.requests = requests

    def same_instant(self, time: Number) -> bool:
        """Whether *time*, not after now, is now (tolerant in floats, rule 2)."""
        if time == self.now:
            return True
        return not self.limits.exact and self.now - time <= time_tolerance(self.now)


Rates = list[Number]
DecideFunction = Callable[[View], Rates]


class KernelView(NamedTuple):
    """What the compiled form of a policy sees: flat arrays, or lists in plain Python.

    The outstanding requests in FCFS order are ``jobs[out[k]]`` for k < ``size``, with the fields of
    :class:`Request` (no ``key``) and ``constant``, the policy's own number of each. ``storage`` to
    ``own_peaks`` are those of :class:`Limits`; ``top`` gives what is left to the skipped
    requests (rule 11). The rest is room to work in: ``keys``, ``depths``, ``sizes`` and
    ``finishes`` for numbers, ``order`` for places, ``bits`` a table with a row more than requests
    and 62 units of the storage a word, ``loads``, ``values`` and ``rows`` that of rule 26.
    """

    jobs: Any
    out: Any
    size: int
    now: float
    storage: float
    node_rate: float
    capacity_units: int
    saturating_units: int
    own_peaks: bool
    top: bool
    keys: Any = ()
    order: Any = ()
    depths: Any = ()
    sizes: Any = ()
    finishes: Any = ()
    bits: Any = ()
    loads: Any = ()
    values: Any = ()
    rows: Any = ()


KernelFunction = Callable[[KernelView, Any], None]


@dataclass(frozen=True)
class Twin:
    """The compiled form of a policy, for floats.

    ``kernel(view, rates)`` writes bytes per second for each request into ``rates``, which come to
    it full of zeros. It stands in a module, where numba finds it with what it calls; it allocates
    nothing. ``top`` reaches it in the view, and so does the ``constant`` of each job, of which it
    is told ``nodes`` and ``iteration``. One that ``tabulates`` needs the room of rule 26.
    """

    kernel: KernelFunction
    top: bool = False
    constant: Callable[[Any], float] | None = None
    tabulates: bool = False


@dataclass(frozen=True)
class IoPolicy:
    """A policy: ``decide(view)`` returns bytes per second for each of ``view.requests``.

    ``full_when_fits`` says that it grants every peak whenever all peaks together fit, so that an
    engine need not ask; ``ignores_limit`` that it grants every peak always; ``shares_by_nodes``
    that it is rule 7 for everybody, which a virtual clock plays without looking at each request
    (:meth:`by_clock`);
    ``reads_progress`` that it needs ``left`` and ``moved`` to be current. ``conservative``
    policies never grant more than the storage can take, and never less than the peak (except the
    last one of a ``+top`` variant). A decision of a ``slow`` one takes milliseconds. With ``lane``,
    which is told ``nodes`` and ``iteration`` of a job, only the first request of each lane, in FCFS
    order, is granted anything, and how much depends on these first requests alone, not on time.
    ``needs_start`` says that it looks at the start of a request's job. ``believes`` gives the ``belief``
    of a request that its engine sets: told the job's id, how many requests it finished, the true size, and
    the mean sizes of the job's requests and of those finished (0: none). ``twin`` is its compiled form;
    one without runs in plain Python, and ``no_twin`` names the setting that is to blame, if one is.
    """

    name: str
    decide: DecideFunction
    full_when_fits: bool = True
    ignores_limit: bool = False
    shares_by_nodes: bool = False
    reads_progress: bool = True
    conservative: bool = False
    slow: bool = False
    lane: Callable[[Any], Any] | None = None
    needs_start: bool = False
    believes: Callable[[Any, int, float, float, float], float] | None = None
    twin: Twin | None = None
    no_twin: str | None = None

    def by_clock(self, limits: Limits) -> bool:
        """Whether a virtual clock plays the policy: all requests move at one rate a node."""
        return self.shares_by_nodes and not limits.own_peaks and not limits.interference

    @property
    def untwinned(self) -> str | None:
        """What keeps the policy from the compiled engine; None where nothing does."""
        return None if self.twin else self.no_twin or f"policy={self.name}"
