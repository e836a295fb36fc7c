"""Define what an I/O policy sees at a decision: the outstanding requests and the limits
of the machine.

Numbers are floats, or ``fractions.Fraction`` throughout for exact answers. ``eps`` is
the relative tolerance of comparisons in which values can tie (rule 2 of
docs/rules/batch-io.md). It is 0 for Fractions. Grant functions and what they read are
kernel text (:mod:`ioopt.compiled.memory`).
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, TypeVar, cast

from ioopt.decisions.ordering import FIT_TOLERANCE, Number, sort_places
from ioopt.problems.batch_io import IoRequest, Machine
from ioopt.units import exact

RequestId = Annotated[int | str, ctypes.c_int64]
"""In a simulation the rank of a job's id among all ids; live the id itself."""


@dataclass(slots=True, frozen=True)
class Limits:
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
        return _limits(
            machine.node_bytes_per_second,
            machine.storage_bytes_per_second,
            machine.unit_nodes,
            machine.interference,
            use_exact,
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
        return number(value, self.exact)

    def with_own_peaks(self) -> Limits:
        """Return these limits for requests of which some have peak rates below those
        of their nodes (rule 24).
        """
        return replace(self, own_peaks=True)


def number(value: float | Fraction, use_exact: bool) -> Number:
    """Return *value* as a Fraction if *use_exact*, else as a float."""
    if use_exact:
        return cast("Number", exact(value))
    return float(value)


@lru_cache(maxsize=16)  # cached: services ask about the same machine repeatedly
def _limits(
    node_rate: float,
    storage: float,
    unit_nodes: int,
    interference: float,
    use_exact: bool,
) -> Limits:
    """Return the limits of a machine with these rates, as :meth:`Limits.of` does."""
    rate = exact(node_rate)
    most = exact(storage)
    units = most / (rate * unit_nodes)
    return Limits(
        node_rate=number(rate, use_exact),
        storage=number(most, use_exact),
        unit_nodes=unit_nodes,
        capacity_units=math.floor(units),
        saturating_units=math.ceil(units),
        eps=0 if use_exact else FIT_TOLERANCE,
        slack=1 if use_exact else 1 + FIT_TOLERANCE,
        exact=use_exact,
        interference=number(interference, use_exact),
        zero=number(0, use_exact),
    )


@dataclass(slots=True, eq=False)
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

    id: RequestId
    nodes: int
    units: int
    peak: Number
    requested: Number
    left: Number
    moved: Number
    start: Number
    compute_so_far: Number
    ideal_so_far: Number
    iteration: Number
    weight: Number

    @classmethod
    def made(
        cls,
        id: RequestId,
        nodes: int,
        limits: Limits,
        requested: Number,
        left: Number,
        own: float | None = None,
    ) -> Request:
        """Return a request on *nodes* nodes that has moved nothing yet; *own* is its
        own peak rate, if it has one.
        """
        peak = limits.peak(nodes, own)
        return cls(
            id=id,
            nodes=nodes,
            units=nodes // limits.unit_nodes,
            peak=peak,
            requested=requested,
            left=left,
            moved=0,
            start=requested,
            compute_so_far=0,
            ideal_so_far=0,
            iteration=left / peak,
            weight=0,
        )

    @classmethod
    def of(cls, item: IoRequest, machine: Machine, limits: Limits) -> Request:
        """Return a request of a snapshot as a policy reads it, in the arithmetic of
        *limits*.
        """
        nodes = machine.allocated_nodes(item.nodes)
        number: Callable[[float], Number] = limits.number if limits.exact else float
        made = cls.made(
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
        if item.iteration_seconds is not None:
            made.iteration = number(item.iteration_seconds)
        else:
            transfer = (made.left + made.moved) / made.peak
            made.iteration = made.compute_so_far + made.ideal_so_far + transfer
        return made

    @property
    def key(self) -> tuple[Number, RequestId]:
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


@dataclass(slots=True)
class KernelView:
    """The outstanding requests at a decision, and work space for the policy.

    The requests in FCFS order are ``jobs[out[k]]`` for k < ``size``. If ``top``, the
    rate that is left over goes to the requests that were skipped (rule 11). ``power``
    is an integer parameter of the policy, and ``least`` a number of bytes (rule 54).
    The other fields are work space. ``keys``, ``depths``, ``sizes`` and ``finishes``
    hold numbers, and ``order`` holds indices.
    ``bits`` is a table of bits, in words of ``width`` bits, with one row more than
    there are requests. ``loads``, ``values`` and ``rows`` hold the
    states of rule 26.
    """

    limits: Limits
    jobs: list[Request]
    out: list[int]
    size: int
    now: Number
    top: bool
    power: int
    least: Number
    keys: list[Number]
    order: list[int]
    depths: list[Number]
    sizes: list[Number]
    finishes: list[Number]
    bits: list[int]
    width: int
    loads: list[Number]
    values: list[int]
    rows: list[int]

    @classmethod
    def plain(cls, policy: IoPolicy, jobs: list[Request], limits: Limits) -> KernelView:
        """Return a view of no requests, with work space for all *jobs*, for plain
        Python.
        """
        most = len(jobs) + 2
        return cls(
            limits=limits,
            jobs=jobs,
            out=list(range(most)),
            size=0,
            now=limits.zero,
            top=policy.top,
            power=policy.power if limits.exact else 1,
            least=limits.number(policy.least),
            keys=[limits.zero] * most,
            order=[0] * most,
            depths=[limits.zero] * most,
            sizes=[limits.zero] * most,
            finishes=[limits.zero] * most,
            bits=[0] * most,
            # One whole number holds the bits of all units.
            width=limits.capacity_units + 1,
            loads=Growing(),
            values=Growing(),
            rows=[0] * most,
        )


NumberT = TypeVar("NumberT", int, float)


class Growing(list[NumberT]):
    """A list that grows by one when the position after its end is written."""

    def __setitem__(self, k: Any, value: Any) -> None:
        if k == len(self):
            self.append(value)
        else:
            super().__setitem__(k, value)


GrantFunction = Callable[[KernelView, list[Number]], None]


@dataclass(frozen=True)
class IoPolicy:
    """An I/O policy: ``grant(view, rates)`` writes the bytes per second of each
    request.

    All *rates* are zero when ``grant`` is called. Simulators and services use the same
    ``grant``. Those of ioopt are kernel text, which is compiled when ioopt is
    installed: they work on floats or Fractions and allocate no memory. Any other
    function runs in plain Python. If ``grant`` is None, every request always has its
    peak rate.

    ``full_when_fits`` says that the policy grants all peak rates whenever they fit
    together; it is then not called. The view passes ``top``, ``power`` and ``least`` to
    the policy (``power`` in exact runs only, else 1). ``weigh(nodes, iteration)``
    computes the ``weight`` of each job's requests. ``needs_start`` says that the policy
    reads the starts of jobs. ``tabulates`` says that it needs the work space of rule
    26. ``at_once(view, top)`` returns the same rates as ``grant``, without work space,
    for requests without peak rates of their own; None: only ``grant`` does.
    """

    name: str
    grant: GrantFunction | None
    full_when_fits: bool = True
    top: bool = False
    power: int = 1
    least: float = 0.0
    weigh: Callable[[int, Number], Number] | None = None
    needs_start: bool = False
    tabulates: bool = False
    at_once: Callable[[View, bool], Rates] | None = None

    @classmethod
    def of(
        cls, name: str, decide: DecideFunction, full_when_fits: bool = True
    ) -> IoPolicy:
        """Return a policy for plain Python whose rates are those that the function
        *decide* returns.
        """

        def grant(view: KernelView, rates: list[Number]) -> None:
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
    def is_text(self) -> bool:
        """Return whether the policy is kernel text, not a function that :meth:`of`
        calls.
        """
        return "<locals>" not in getattr(self.grant, "__qualname__", "")

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
        if self.at_once is not None and not limits.own_peaks:
            return self.at_once(view, self.top)
        size = len(requests)
        if self.weigh:
            for request in requests:
                request.weight = self.weigh(request.nodes, request.iteration)
        rates: Rates = [limits.zero] * size
        kernel_view = KernelView.plain(self, list(requests), limits)
        kernel_view.size = size
        kernel_view.now = view.now
        self.grant(kernel_view, rates)
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


def share_out(view: KernelView, rates: list[Number], size: int, left: Number) -> None:
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


def share_by_nodes(view: KernelView, rates: list[Number]) -> None:
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


def first_fit(view: KernelView, rates: list[Number]) -> None:
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


def top_up(view: KernelView, rates: list[Number], left: Number) -> None:
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


def slow_down(
    rates: list[Number], count: int, storage: Number, interference: Number
) -> None:
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
