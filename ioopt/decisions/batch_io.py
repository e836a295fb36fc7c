"""What an I/O policy sees: the outstanding requests at one instant, and the
limits of the machine.

Numbers are floats, or ``fractions.Fraction`` throughout for exact answers; ``eps`` is
the relative tolerance of comparisons that can tie (rule 2) and 0 for Fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from ioopt.compiled import Box, boxes
from ioopt.decisions.ordering import FIT_TOLERANCE, Number, sort_places
from ioopt.problems.batch_io import IoRequest, Machine
from ioopt.units import exact

if TYPE_CHECKING:
    from ioopt.compiled import Floats, Ints


class Limits(NamedTuple):
    """Constants of the machine as a policy needs them.

    ``node_rate`` is b, ``storage`` BW_max. ``capacity_units`` = floor(BW_max /
    (b unit)) and ``saturating_units``, the smallest allocation whose peak is
    BW_max, are computed with Fractions. ``slack`` is 1 + ``eps``; ``own_peaks``
    says that some request has a peak below that of its nodes (rule 24);
    ``interference`` is c of rule 29. ``zero`` is 0 in the arithmetic of the limits.
    """

    node_rate: Number
    storage: Number
    unit_nodes: int
    capacity_units: int
    saturating_units: int
    eps: Number
    slack: Number
    exact: bool
    interference: Number = 0
    own_peaks: bool = False
    zero: Number = 0.0

    @classmethod
    def of(cls, machine: Machine, use_exact: bool = False) -> Limits:
        """Return the limits of *machine*, as Fractions when *use_exact*."""
        number = exact if use_exact else float
        rate, storage, units = _fractions(
            machine.node_bytes_per_second,
            machine.storage_bytes_per_second,
            machine.unit_nodes,
        )
        return cls(
            node_rate=rate if use_exact else float(rate),
            storage=storage if use_exact else float(storage),
            unit_nodes=machine.unit_nodes,
            capacity_units=math.floor(units),
            saturating_units=math.ceil(units),
            eps=0 if use_exact else FIT_TOLERANCE,
            slack=1 if use_exact else 1 + FIT_TOLERANCE,
            exact=use_exact,
            interference=number(machine.interference),
            zero=number(0),
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
    """One outstanding request. Policies only read it; its owner keeps ``left``
    and ``moved`` current.

    ``nodes`` is N_i (rule 4), ``units`` the same in allocation units, ``peak`` r_i;
    ``requested`` the request time, ``start`` the job's start; ``compute_so_far`` and
    ``ideal_so_far`` the two sums of rule 14; ``iteration`` the w_iter of rule 16;
    ``weight`` the policy's own number of it.
    """

    __slots__ = (
        "compute_so_far",
        "id",
        "ideal_so_far",
        "iteration",
        "left",
        "moved",
        "nodes",
        "peak",
        "requested",
        "start",
        "units",
        "weight",
    )

    def __init__(
        self,
        id: Any,
        nodes: int,
        limits: Limits,
        requested: Number,
        left: Number,
        own: float | None = None,
    ) -> None:
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
        self.weight: Number = 0

    @classmethod
    def of(cls, item: IoRequest, machine: Machine, limits: Limits) -> Request:
        """The request of a snapshot, in the arithmetic of *limits*."""
        nodes, number = machine.allocated_nodes(item.nodes), limits.number
        made = cls(
            item.id,
            nodes,
            limits,
            number(item.request_seconds),
            number(item.left_bytes),
            item.io_bytes_per_second,
        )
        made.moved = number(item.moved_bytes)
        if item.start_seconds is not None:
            made.start = number(item.start_seconds)
        made.compute_so_far = number(item.compute_seconds_so_far or 0)
        made.ideal_so_far = number(item.ideal_io_seconds_so_far or 0)
        transfer = (made.left + made.moved) / made.peak
        made.iteration = made.compute_so_far + made.ideal_so_far + transfer
        if item.iteration_seconds is not None:
            made.iteration = number(item.iteration_seconds)
        return made

    @property
    def key(self) -> tuple[Number, Any]:
        """What requests are ordered by, first come first served (rule 10)."""
        return self.requested, self.id


class View(NamedTuple):
    """A read-only snapshot for one decision: ``now``, ``limits``,
    ``requests`` in FCFS order.
    """

    limits: Limits
    now: Number
    requests: Sequence[Request]


Rates = list[Number]
DecideFunction = Callable[[View], Rates]


class KernelView(NamedTuple):
    """What a policy decides on: the outstanding requests, and room to work in.

    The requests in FCFS order are ``jobs[out[k]]`` for k < ``size``, with the fields of
    :class:`Request` (no ``key``). ``top`` gives what is left to the skipped requests
    (rule 11); ``power`` is the policy's own whole number. The rest is room: ``keys``,
    ``depths``, ``sizes`` and ``finishes`` for numbers, ``order`` for places, ``bits`` a
    table with a row more than requests and ``width`` units of the storage a word,
    ``loads``, ``values`` and ``rows`` that of rule 26.
    """

    jobs: Sequence[Request]
    out: Ints
    size: int
    now: Number
    limits: Limits
    top: bool
    power: int
    keys: Floats
    order: Ints
    depths: Floats
    sizes: Floats
    finishes: Floats
    bits: Ints
    width: int
    loads: Floats
    values: Ints
    rows: Ints

    @classmethod
    def of(
        cls,
        policy: IoPolicy,
        jobs: Sequence[Request],
        limits: Limits,
        knapsack: Knapsack,
        box: Callable[..., Box],
    ) -> KernelView:
        """A view of none of *jobs* with room for all; *box* is one
        of :func:`ioopt.compiled.boxes`.
        """
        most, zero = len(jobs), limits.storage * 0

        def real() -> Box:
            return box([zero] * (most + 1), real=True)

        return cls(
            jobs,
            box(range(most + 2)),
            0,
            zero,
            limits,
            policy.top,
            policy.power if limits.exact else 1,
            real(),
            box([0] * (most + 2)),
            real(),
            real(),
            real(),
            *knapsack,
            box([0] * (most + 2)),
        )


Knapsack = tuple[Box, int, Box, Box]
"""``bits``, ``width``, ``loads`` and ``values`` of a :class:`KernelView`."""


class Growing(list[Number]):
    """Room for as many numbers as are written, one after the other."""

    def __setitem__(self, k: Any, value: Any) -> None:
        if k == len(self):
            self.append(value)
        else:
            super().__setitem__(k, value)


def plain_knapsack(limits: Limits, requests: int) -> Knapsack:
    """Tables for so many requests in plain Python, whose words hold
    any number of units.
    """
    return (
        [[0] for _ in range(requests + 1)],
        limits.capacity_units + 1,
        Growing(),
        Growing(),
    )


GrantFunction = Callable[[KernelView, Box], None]


@dataclass(frozen=True)
class IoPolicy:
    """A policy: ``grant(view, rates)`` writes bytes per second for each
    request into ``rates``.

    The rates come to it full of zeros. One text serves simulators, services and
    machine code: a function of a module that numba compiles with what it calls, over
    lists or arrays, of floats or Fractions; it allocates nothing. Other functions,
    closures for instance, run in plain Python alone. Without ``grant`` every request
    has its peak always.

    ``full_when_fits`` says that it grants every peak whenever all peaks together fit,
    so that it need not be asked; ``top`` and ``power`` (in exact runs; else 1) reach it
    in its view; ``weigh(nodes, iteration)`` gives the ``weight`` of each job's
    requests. ``needs_start``: it looks at the starts of jobs; one that ``tabulates``
    needs the room of rule 26.
    """

    name: str
    grant: GrantFunction | None
    full_when_fits: bool = True
    top: bool = False
    power: int = 1
    weigh: Callable[[int, Number], Number] | None = None
    needs_start: bool = False
    tabulates: bool = False

    @classmethod
    def of(
        cls, name: str, decide: DecideFunction, full_when_fits: bool = True
    ) -> IoPolicy:
        """A policy that returns its rates, in plain Python."""

        def grant(view: KernelView, rates: Box) -> None:
            requests = [view.jobs[view.out[k]] for k in range(view.size)]
            found = decide(View(view.limits, view.now, requests))
            if len(found) != view.size:
                raise ValueError(f"{len(found)} rates for {view.size} requests")
            rates[: view.size] = found

        return cls(name, grant, full_when_fits)

    @property
    def ignores_limit(self) -> bool:
        """Whether every request has its peak always, whatever the storage takes."""
        return self.grant is None

    @property
    def compilable(self) -> bool:
        """Whether the policy has a place where numba finds it."""
        if self.grant is None:
            return True
        name = getattr(self.grant, "__name__", "")
        return getattr(import_module(self.grant.__module__), name, None) is self.grant

    def by_clock(self, limits: Limits) -> bool:
        """Whether a virtual clock plays the policy: all requests
        move at one rate a node.
        """
        return (
            self.grant is share_by_nodes
            and not limits.own_peaks
            and not limits.interference
        )

    def decide(self, view: View) -> Rates:
        """One decision, in plain Python: bytes per second for each
        of ``view.requests``.
        """
        limits, requests = view.limits, view.requests
        if self.grant is None:
            return [request.peak for request in requests]
        zero, size = limits.storage * 0, len(requests)
        if self.weigh:
            for request in requests:
                request.weight = self.weigh(request.nodes, request.iteration)
        rates: Rates = [zero] * size
        room = KernelView.of(
            self, requests, limits, plain_knapsack(limits, size), boxes(False)
        )
        self.grant(room._replace(size=size, now=view.now), rates)
        return rates


def place_by_level(view: KernelView, size: int, k: int, weight: Number) -> int:
    """Put request *k*, of so much *weight*, among *size* in ``order`` by peak
    / weight; its place.
    """
    keys, order = view.keys, view.order
    keys[k] = view.jobs[view.out[k]].peak / weight
    view.sizes[k] = weight
    while size > 0 and keys[order[size - 1]] > keys[k]:
        order[size] = order[size - 1]
        size -= 1
    order[size] = k
    return size


def share_out(view: KernelView, rates: Box, size: int, left: Number) -> None:
    """Share *left* among *size* requests in ``order``, by weight, none
    above its peak (rule 25).
    """
    whole = left * 0
    for q in range(size):
        whole += view.sizes[view.order[q]]
    for q in range(size):
        k = view.order[q]
        weight = view.sizes[k]
        if weight > 0:
            rates[k] = min(view.jobs[view.out[k]].peak, left * weight / whole)
            left -= rates[k]
            whole -= weight


def share_by_nodes(view: KernelView, rates: Box) -> None:
    """Everybody shares by nodes: rate_i = rho N_i, rho = min(b, BW_max / N_S)
    (rules 7, 16 and 25).
    """
    nodes, limits = 0, view.limits
    for k in range(view.size):
        request = view.jobs[view.out[k]]
        nodes += request.nodes
        rates[k] = request.peak
        if limits.own_peaks:
            place_by_level(view, k, k, request.nodes)
    if limits.own_peaks:
        share_out(view, rates, view.size, limits.storage)
    elif limits.node_rate * nodes > limits.storage:
        rho = limits.storage / nodes
        for k in range(view.size):
            rates[k] = rho * view.jobs[view.out[k]].nodes


def by_key(view: KernelView) -> None:
    """Order the requests by ``view.keys``, all 0 or more, ascending;
    ties: first come first.
    """
    sort_places(view.keys, view.order, view.size, view.limits.exact)


def as_they_came(view: KernelView) -> None:
    """Order the requests first come first."""
    for k in range(view.size):
        view.order[k] = k


def first_fit(view: KernelView, rates: Box) -> None:
    """What fits in what is left, in order; then the rest where ``top`` (rule 11)."""
    left = view.limits.storage
    for q in range(view.size):
        k = view.order[q]
        peak = view.jobs[view.out[k]].peak
        if peak <= left * view.limits.slack:
            rates[k] = peak
            left -= peak
    if view.top:
        top_up(view, rates, left)


def top_up(view: KernelView, rates: Box, left: Number) -> None:
    """Give *left* to the requests without a rate, in order, but no amount of
    the size of rounding.
    """
    for q in range(view.size):
        if left <= view.limits.storage * view.limits.eps:
            return
        k = view.order[q]
        if rates[k] == 0:
            rates[k] = min(view.jobs[view.out[k]].peak, left)
            left -= rates[k]


def slow_down(rates: Box, count: int, storage: Number, interference: Number) -> None:
    """Rule 29: what *count* requests get of a storage on which they interfere."""
    active, total = 0, storage * 0
    for k in range(count):
        if rates[k] > 0:
            active += 1
            total += rates[k]
    most = storage / (1 + interference * max(active - 1, 0))
    if total > most:
        part = most / total
        for k in range(count):
            rates[k] *= part
