"""Define what an I/O policy sees at a decision: the outstanding requests and the limits
of the machine.

Numbers are floats, or ``fractions.Fraction`` throughout for exact answers. ``eps`` is
the relative tolerance of comparisons in which values can tie (rule 2 of
docs/rules/batch-io.md). It is 0 for Fractions.
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

    ``node_rate`` is b, the rate of one node, and ``storage`` is BW_max, the rate of the
    storage, both in bytes/s. ``capacity_units`` is the number of units that the storage
    serves at their full rate, rounded down. ``saturating_units`` is the smallest
    allocation, in units, whose peak rate is BW_max. Both are computed with Fractions.
    ``slack`` is 1 + ``eps``. ``own_peaks`` is true if some request has a peak rate
    below that of its nodes (rule 24). ``interference`` is the coefficient c of rule 29.
    ``zero`` is 0 in the arithmetic of the limits.
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
        """Return the limits of *machine*, as Fractions if *use_exact*."""
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
        """Return the peak rate of a request on *nodes* nodes in bytes/s (rules 5, 24).

        The peak rate is the least of the rate of the nodes, the rate of the storage,
        and the request's *own* peak if it has one.
        """
        if nodes >= self.saturating_units * self.unit_nodes:
            rate = self.storage
        else:
            rate = self.node_rate * nodes
        if own is None:
            return rate
        return min(rate, self.number(own))

    def has_own_peak(self, request: Request) -> bool:
        """Return whether *request* has a peak rate below that of its nodes (rule
        24).
        """
        return bool(request.peak < self.peak(request.nodes))

    def number(self, value: float | int | Fraction) -> Number:
        """Return *value* in the arithmetic of these limits (float or Fraction)."""
        if self.exact:
            return exact(value)
        return float(value)


@lru_cache(maxsize=16)  # cached: services ask about the same machine repeatedly
def _fractions(
    node_rate: float, storage: float, unit_nodes: int
) -> tuple[Fraction, Fraction, Fraction]:
    """Return the rate of a node, the rate of the storage, and the number of units that
    saturates the storage, as Fractions.
    """
    rate = exact(node_rate)
    most = exact(storage)
    return rate, most, most / (rate * unit_nodes)


class Request:
    """One outstanding request; policies read it, and the caller of the policy updates
    it.

    ``nodes`` is N_i, the number of allocated nodes (rule 4), and ``units`` the same
    number in allocation units. ``peak`` is the peak rate r_i in bytes/s. ``left`` and
    ``moved`` are numbers of bytes. ``requested`` is the time of the request, and
    ``start`` the start of the job. ``compute_so_far`` and ``ideal_so_far`` are the two
    sums of rule 14 in seconds. ``iteration`` is w_iter of rule 16, the seconds of one
    iteration without congestion. ``weight`` is a number that the policy computes for
    each request.
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
        """Return a request of a snapshot as a policy reads it, in the arithmetic of
        *limits*.
        """
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
        """Return the sort key that orders requests first come, first served (rule
        10).
        """
        return self.requested, self.id


class View(NamedTuple):
    """A read-only snapshot for one decision at the time ``now``; ``requests`` are in
    FCFS order.
    """

    limits: Limits
    now: Number
    requests: Sequence[Request]


Rates = list[Number]
DecideFunction = Callable[[View], Rates]


class KernelView(NamedTuple):
    """The outstanding requests at a decision, and work space for the policy.

    The requests in FCFS order are ``jobs[out[k]]`` for k < ``size``; they have the
    fields of :class:`Request` except ``key``. If ``top``, the rate that is left over
    goes to the requests that were skipped (rule 11). ``power`` is an integer parameter
    of the policy. The other fields are work space. ``keys``, ``depths``, ``sizes`` and
    ``finishes`` hold numbers, and ``order`` holds indices. ``bits`` is a table of bits
    with one row more than there are requests, in words of ``width`` bits. ``loads``,
    ``values`` and ``rows`` hold the states of rule 26.
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
        """Return an empty view with work space for all *jobs*.

        *box* is a function that :func:`ioopt.compiled.boxes` returns; it makes lists or
        arrays.
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
"""Types of the fields ``bits``, ``width``, ``loads`` and ``values`` of a
:class:`KernelView`.
"""


class Growing(list[Number]):
    """A list that grows by one when the position after its end is written."""

    def __setitem__(self, k: Any, value: Any) -> None:
        if k == len(self):
            self.append(value)
        else:
            super().__setitem__(k, value)


def plain_knapsack(limits: Limits, requests: int) -> Knapsack:
    """Return the knapsack tables for plain Python, where one word holds the bits of all
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
    """An I/O policy: ``grant(view, rates)`` writes the bytes per second of each
    request.

    All *rates* are zero when ``grant`` is called. Simulators, services and compiled
    code use the same ``grant``. For this it must be a function at module level that
    numba can compile. It must work on lists or arrays and on floats or Fractions, and
    must allocate no memory. Other functions, such as closures, run in plain Python
    only. If ``grant`` is None, every request
    always has its peak rate.

    ``full_when_fits`` says that the policy grants all peak rates whenever they fit
    together; it is then not called. The view passes ``top`` and ``power`` to the policy
    (``power`` in exact runs only, else 1). ``weigh(nodes, iteration)`` computes the
    ``weight`` of each job's requests. ``needs_start`` says that the policy reads the
    starts of jobs. ``tabulates`` says that it needs the work space of rule 26.
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
        """Return a policy for plain Python whose rates are those that the function
        *decide* returns.
        """

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
        """Return whether numba can import the policy's grant function by its name."""
        if self.grant is None:
            return True
        name = getattr(self.grant, "__name__", "")
        return getattr(import_module(self.grant.__module__), name, None) is self.grant

    def by_clock(self, limits: Limits) -> bool:
        """Return whether a virtual clock can simulate the policy.

        A virtual clock requires that all requests always have the same rate per node.
        """
        if limits.own_peaks or limits.interference:
            return False
        return self.grant is share_by_nodes

    def decide(self, view: View) -> Rates:
        """Return the bytes per second of each of ``view.requests``, computed in plain
        Python.
        """
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
    """Insert request *k* into ``order``, which holds *size* requests sorted by peak
    rate divided by weight.

    Return the position at which it was inserted. *weight* is the weight of request *k*.
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
    """Divide the rate *left* among the first *size* requests in ``order``, in
    proportion to their weights (rule 25).

    No request gets more than its peak rate. The requests must be sorted by peak rate
    divided by weight.
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
    """Divide the rate of the storage among the requests in proportion to their nodes
    (rules 7, 16, 25).

    Request i gets rho N_i, where N_i is its number of nodes. The rate per node is rho =
    min(b, BW_max / N_S): b is the rate of a node, BW_max the rate of the storage, and
    N_S the number of nodes of all requests.
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
    """Sort the indices of the requests in ``order`` by ``view.keys``; ties stay in FCFS
    order.

    All keys must be 0 or more.
    """
    sort_places(view.keys, view.order, view.size, view.limits.exact)


def as_they_came(view: KernelView) -> None:
    """Put the indices of the requests into ``order`` in FCFS order."""
    for k in range(view.size):
        view.order[k] = k


def first_fit(view: KernelView, rates: Box) -> None:
    """Go through the requests in order; grant the peak rate of each for which enough of
    the storage's rate is left.

    With ``top`` the rate that is left goes to the skipped requests (rule 11).
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
    """Give the rate *left* to the requests without a rate, in order.

    Stop when what remains is no more than a rounding error.
    """
    for q in range(view.size):
        if left <= view.limits.storage * view.limits.eps:
            return
        k = view.order[q]
        if rates[k] == 0:
            rates[k] = min(view.jobs[view.out[k]].peak, left)
            left -= rates[k]


def slow_down(rates: Box, count: int, storage: Number, interference: Number) -> None:
    """Lower the *rates* of *count* requests by the interference between them (rule
    29).
    """
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
