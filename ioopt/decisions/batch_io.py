"""Define the view of an I/O policy: the outstanding requests and the limits of the
machine.

Numbers are floats, or ``fractions.Fraction`` throughout for exact answers. ``eps`` is
the relative tolerance of comparisons that can tie (rule 2); it is 0 for Fractions.
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
    """The constants of the machine that a policy needs.

    ``node_rate`` is b, ``storage`` BW_max. ``capacity_units`` is floor(BW_max / (b
    unit)); ``saturating_units`` is the smallest allocation whose peak is BW_max. Both
    are computed with Fractions. ``slack`` is 1 + ``eps``. ``own_peaks`` is true when
    some request's peak is below that of its nodes (rule 24). ``interference`` is c of
    rule 29. ``zero`` is 0 in the arithmetic of the limits.
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
        """Return r_i = min(p, b N_i, BW_max), where p is the request's *own* peak
        (rules 5, 24).
        """
        if nodes >= self.saturating_units * self.unit_nodes:
            rate = self.storage
        else:
            rate = self.node_rate * nodes
        if own is None:
            return rate
        return min(rate, self.number(own))

    def has_own_peak(self, request: Request) -> bool:
        """Return whether *request* has a peak below that of its nodes (rule 24)."""
        return bool(request.peak < self.peak(request.nodes))

    def number(self, value: float | int | Fraction) -> Number:
        """Return *value* in the arithmetic of these limits."""
        if self.exact:
            return exact(value)
        return float(value)


@lru_cache(maxsize=16)  # cached: services ask about the same machine repeatedly
def _fractions(
    node_rate: float, storage: float, unit_nodes: int
) -> tuple[Fraction, Fraction, Fraction]:
    """Return both rates, and the number of units that saturates the storage."""
    rate = exact(node_rate)
    most = exact(storage)
    return rate, most, most / (rate * unit_nodes)


class Request:
    """One outstanding request; policies read it, the caller of the policy updates it.

    ``nodes`` is N_i (rule 4), ``units`` the same in allocation units, ``peak`` r_i.
    ``requested`` is the request time, ``start`` the job's start. ``compute_so_far`` and
    ``ideal_so_far`` are the two sums of rule 14, ``iteration`` is the w_iter of rule
    16, ``weight`` a number that the policy computes for each request.
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
        """Return the request of a snapshot, in the arithmetic of *limits*."""
        nodes = machine.allocated_nodes(item.nodes)
        number = limits.number
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
        """Return the sort key of first come, first served (rule 10)."""
        return self.requested, self.id


class View(NamedTuple):
    """A read-only snapshot for one decision; ``requests`` are in FCFS order."""

    limits: Limits
    now: Number
    requests: Sequence[Request]


Rates = list[Number]
DecideFunction = Callable[[View], Rates]


class KernelView(NamedTuple):
    """The outstanding requests of a decision, and work space for the policy.

    The requests in FCFS order are ``jobs[out[k]]`` for k < ``size``, with the fields of
    :class:`Request` (no ``key``). With ``top``, the rate that is left goes to the
    skipped requests (rule 11); ``power`` is an integer parameter of the policy. The
    other fields are work space: ``keys``, ``depths``, ``sizes`` and ``finishes`` for
    numbers, ``order`` for indices. ``bits`` is a table that has one row more than there
    are requests, and words of ``width`` bits; ``loads``, ``values`` and ``rows`` are
    the states of rule 26.
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
        """Return an empty view with work space for all *jobs*; *box* is one of
        :func:`ioopt.compiled.boxes`.
        """
        most = len(jobs)

        def real() -> Box:
            return box([limits.zero] * (most + 1), real=True)

        return cls(
            jobs,
            box(range(most + 2)),
            0,
            limits.zero,
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
"""The types of ``bits``, ``width``, ``loads`` and ``values`` of a
:class:`KernelView`.
"""


class Growing(list[Number]):
    """A list that grows when the position after its end is written."""

    def __setitem__(self, k: Any, value: Any) -> None:
        if k == len(self):
            self.append(value)
        else:
            super().__setitem__(k, value)


def plain_knapsack(limits: Limits, requests: int) -> Knapsack:
    """Return knapsack tables in plain Python, where one word has the bits of all
    units.
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
    """A policy: ``grant(view, rates)`` writes each request's bytes per second.

    ``rates`` is all zeros when the function is called. Simulators, services and
    compiled code use the same source: a module-level function that numba can compile,
    on lists or arrays, of floats or Fractions, which allocates no memory. Other
    functions, such as closures, run in plain Python only. Without ``grant`` every
    request always has its peak rate.

    ``full_when_fits``: the policy grants all peak rates whenever they fit together, so
    that it need not be called then. ``top`` and ``power`` are passed to it in its view
    (``power`` in exact runs only; else it is 1). ``weigh(nodes, iteration)`` computes
    the ``weight`` of each job's requests. ``needs_start``: it reads the starts of jobs.
    ``tabulates``: it needs the work space of rule 26.
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
        """Return the policy of a function that returns rates, in plain Python."""

        def grant(view: KernelView, rates: Box) -> None:
            requests = [view.jobs[view.out[k]] for k in range(view.size)]
            found = decide(View(view.limits, view.now, requests))
            if len(found) != view.size:
                raise ValueError(f"{len(found)} rates for {view.size} requests")
            rates[: view.size] = found

        return cls(name, grant, full_when_fits)

    @property
    def ignores_limit(self) -> bool:
        """Return whether every request always has its peak rate."""
        return self.grant is None

    @property
    def compilable(self) -> bool:
        """Return whether numba can import the policy's function by its name."""
        if self.grant is None:
            return True
        name = getattr(self.grant, "__name__", "")
        return getattr(import_module(self.grant.__module__), name, None) is self.grant

    def by_clock(self, limits: Limits) -> bool:
        """Return whether a virtual clock can simulate the policy.

        For that, all requests must have the same rate for each of their nodes.
        """
        if limits.own_peaks or limits.interference:
            return False
        return self.grant is share_by_nodes

    def decide(self, view: View) -> Rates:
        """Return bytes per second for each of ``view.requests``, in plain Python."""
        limits = view.limits
        requests = view.requests
        if self.grant is None:
            return [request.peak for request in requests]
        size = len(requests)
        if self.weigh:
            for request in requests:
                request.weight = self.weigh(request.nodes, request.iteration)
        rates: Rates = [limits.zero] * size
        room = KernelView.of(
            self, requests, limits, plain_knapsack(limits, size), boxes(False)
        )
        self.grant(room._replace(size=size, now=view.now), rates)
        return rates


def place_by_level(view: KernelView, size: int, k: int, weight: Number) -> int:
    """Insert request *k* among *size* requests in ``order``, sorted by peak rate over
    *weight*; return its place.
    """
    keys = view.keys
    order = view.order
    keys[k] = view.jobs[view.out[k]].peak / weight
    view.sizes[k] = weight
    while size > 0 and keys[order[size - 1]] > keys[k]:
        order[size] = order[size - 1]
        size -= 1
    order[size] = k
    return size


def share_out(view: KernelView, rates: Box, size: int, left: Number) -> None:
    """Share *left* by weight among *size* requests in ``order`` (rule 25).

    No request gets more than its peak rate.
    """
    whole = view.limits.zero
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
    """Share by nodes: rate_i = rho N_i, rho = min(b, BW_max / N_S).

    Rules 7, 16 and 25.
    """
    nodes = 0
    limits = view.limits
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
    """Sort the requests by ``view.keys``, all 0 or more, ties in FCFS order."""
    sort_places(view.keys, view.order, view.size, view.limits.exact)


def as_they_came(view: KernelView) -> None:
    """Set ``order`` to FCFS order."""
    for k in range(view.size):
        view.order[k] = k


def first_fit(view: KernelView, rates: Box) -> None:
    """Grant peak rates in order to the requests that fit; with ``top`` also what is
    left (rule 11).
    """
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
    """Give the rate *left* to the requests that have no rate, in order, until only
    rounding is left.
    """
    for q in range(view.size):
        if left <= view.limits.storage * view.limits.eps:
            return
        k = view.order[q]
        if rates[k] == 0:
            rates[k] = min(view.jobs[view.out[k]].peak, left)
            left -= rates[k]


def slow_down(rates: Box, count: int, storage: Number, interference: Number) -> None:
    """Lower the *rates* of *count* requests by their interference (rule 29)."""
    active = 0
    total: Number = 0
    for k in range(count):
        if rates[k] > 0:
            active += 1
            total += rates[k]
    most = storage / (1 + interference * max(active - 1, 0))
    if total > most:
        part = most / total
        for k in range(count):
            rates[k] *= part
