"""Use the I/O policies inside another scheduler: register transfer requests, and ask at
which rate each of them may transfer.

>>> from ioopt.embed import IoArbiter
>>> machine = {
...     "nodes": 8, "unit_nodes": 1, "allocation": "flat",
...     "node_bytes_per_second": 1e9, "storage_bytes_per_second": 4e9,
... }
>>> arbiter = IoArbiter(machine, "fill")
>>> arbiter.request("A", nodes=4, size=8e9, now=0.0)
>>> arbiter.request("B", nodes=4, size=8e9, now=0.0)
>>> arbiter.decide(0.0)
{'A': 4000000000.0, 'B': 0.0}
>>> arbiter.finish("A")
>>> arbiter.decide(2.0)
{'B': 4000000000.0}
"""

from bisect import insort
from collections.abc import Mapping
from operator import attrgetter, le
from typing import Annotated, Self

from ioopt import arguments
from ioopt.decisions.batch_io import (
    DecideFunction,
    IoPolicy,
    Limits,
    Rates,
    Request,
    View,
    slow_down,
)
from ioopt.embed.guard import Guard, restoring
from ioopt.errors import InstanceError, StateError, UsageError
from ioopt.formats.native import validate
from ioopt.options import shown
from ioopt.problems.base import Json
from ioopt.problems.batch_io import IoRequest, Machine
from ioopt.registry.policies import NameOf, io_policy
from ioopt.solvers.batch_io.base_line import BASE_LINE
from ioopt.units import counted

_KEY = attrgetter("key")
_SLACK = 1 + 1e-9
_ROUNDED = (1 + 1e-6) * _SLACK
"""Engines round the bytes that they count, and report slightly more than a size."""
_KEPT = (
    "nodes",
    "requested",
    "left",
    "moved",
    "start",
    "compute_so_far",
    "ideal_so_far",
    "iteration",
)


class IoArbiter:
    """Decide which requests transfer and at which rates, by the I/O policies of the
    simulators.

    *machine* is the ``machine`` of an ``ioopt/batch-io`` instance. *policy* is the name
    of a policy, such as ``fill``, ``adaptive`` or ``cons-fcfs+top``, or a function from
    a :class:`~ioopt.decisions.batch_io.View` to rates. *settings* are the settings of a
    policy given by name, as in ``--set``. The arbiter reads neither clock nor file. It
    is not thread-safe: one scheduler thread must make all calls. Invalid input to
    :meth:`request`, :meth:`progress` and :meth:`finish` raises an ioopt error and
    changes nothing; :meth:`decide` never raises. A request takes part until
    :meth:`finish` is called, also when nothing of it is left. The attribute ``policy``
    is the policy's name, and ``notes`` describe what went wrong in the last decision.
    """

    def __init__(
        self,
        machine: Json | Machine,
        policy: Annotated[str, NameOf("batch-io")] | IoPolicy | DecideFunction = "fill",
        settings: Mapping[str, object] | None = None,
    ) -> None:
        self.machine: Machine = validate(Machine, machine, "machine")
        self._settings = dict(settings or {})
        named = policy if isinstance(policy, str) else None
        if isinstance(policy, str):
            policy = io_policy(policy, self._settings)
        elif not isinstance(policy, IoPolicy):
            policy = IoPolicy.of(getattr(policy, "__name__", "custom"), policy)
        self._policy = policy
        # A variant such as turns has the name of its policy; a state needs its own.
        self.policy = named or policy.name
        self._limits = Limits.of(self.machine)
        self._own_limits = self._limits.with_own_peaks()
        self._own: set[int | str] = set()
        self._requests: list[Request] = []
        self._by_id: dict[int | str, Request] = {}
        self._guard = Guard()
        if policy.ignores_limit:
            self._most = float("inf")
        else:
            self._most = self._limits.storage * _SLACK
        self.notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        told = f"{counted(self.machine.nodes, 'node')}, {counted(len(self), 'request')}"
        return f"{type(self).__name__}({self.policy}, {told})"

    def __len__(self) -> int:
        return len(self._requests)

    def request(
        self,
        id: int | str,
        nodes: int,
        size: float,
        now: float,
        *,
        start_seconds: float | None = None,
        compute_seconds_so_far: float = 0.0,
        ideal_io_seconds_so_far: float = 0.0,
        iteration_seconds: float | None = None,
        io_bytes_per_second: float | None = None,
    ) -> None:
        """Register the request *id* of a job on *nodes* nodes, made at time *now*
        (seconds), to transfer *size* bytes.

        *start_seconds* is when the job started, *compute_seconds_so_far* its computing
        up to now in seconds, and *ideal_io_seconds_so_far* the seconds of its earlier
        transfers without congestion; the policy ``cons-min-aggr-sld`` needs these
        three. *iteration_seconds* is how long one iteration of the job takes (None:
        known parts are added up). *io_bytes_per_second* is the job's own peak rate
        (None: that of its nodes). Raises InstanceError for invalid values, an id that
        is outstanding already, number ids mixed with text ids, and more nodes than the
        machine has.
        """
        given = {
            "id": id,
            "nodes": nodes,
            "request_seconds": now,
            "left_bytes": size,
            "start_seconds": start_seconds,
            "iteration_seconds": iteration_seconds,
            "compute_seconds_so_far": compute_seconds_so_far,
            "ideal_io_seconds_so_far": ideal_io_seconds_so_far,
            "io_bytes_per_second": io_bytes_per_second,
        }
        try:
            item: IoRequest = validate(IoRequest, given, f"request {id!r}")
        except InstanceError as error:  # in the words of this call
            text = str(error).replace("left_bytes", "size")
            raise InstanceError(text.replace("request_seconds", "now")) from None
        if item.nodes > self.machine.nodes:
            raise InstanceError(
                f"request {id!r}: nodes {nodes}, but the machine has "
                f"{self.machine.nodes}"
            )
        if id in self._by_id:
            raise StateError(f"request {id!r} is outstanding already; finish it first")
        if self._requests:
            first = self._requests[0].id
            if isinstance(id, str) != isinstance(first, str):
                raise InstanceError(
                    f"request {id!r}: ids are numbers or text, not both"
                )
        new = Request.of(item, self.machine, self._limits)
        if self._limits.has_own_peak(new):
            self._own.add(id)
        self._by_id[id] = new
        insort(self._requests, new, key=_KEY)

    def progress(self, id: int | str, moved_bytes: float) -> None:
        """Record that request *id* has transferred *moved_bytes* bytes in total so far.

        Up to a millionth more than the request's size, as after rounding, counts as the
        size. Raises UsageError for an unknown id, and for a number of bytes that is
        negative or larger than that.
        """
        request = self._known(id)
        total = request.left + request.moved
        most = total * _ROUNDED
        if not arguments.is_real(moved_bytes) or not 0 <= moved_bytes <= most:
            raise UsageError(
                f"request {id!r}: moved {moved_bytes!r} of {total!r} bytes"
            )
        request.moved = min(float(moved_bytes), total)
        request.left = total - request.moved

    def finish(self, id: int | str) -> None:
        """Remove request *id*, which has ended or was cancelled. Raises UsageError when
        the request is not outstanding.
        """
        request = self._known(id)
        del self._by_id[id]
        self._own.discard(id)
        self._requests.remove(request)

    def decide(
        self, now: float, deadline: float | None = None
    ) -> dict[int | str, float]:
        """Return the rate of every outstanding request at time *now* (seconds), in
        bytes per second; requests that wait have rate 0.

        This method never raises. When the policy raises, misses the *deadline*
        (seconds) or returns rates that the machine cannot provide, the storage rate is
        shared equally among the nodes instead, and a note says so. Without a deadline
        the policy runs in the calling thread, which is faster: built-in policies take
        microseconds.
        """
        deadline, ignored = arguments.usable_deadline(deadline)
        if not arguments.is_real(now):
            ignored += (
                f"now: wanted a number of seconds, not {shown(now)}; taken as 0",
            )
            now = 0.0
        limits = self._limits
        if self._own:
            limits = self._own_limits
        # The view has a copy of the requests: a policy that still runs in an abandoned
        # thread must not see requests that come later.
        view = View(limits, now, list(self._requests))
        rates, self.notes = self._guard.run(
            lambda: self._policy.decide(view),
            lambda: BASE_LINE.decide(view),
            self._problem,
            deadline,
        )
        self.notes = ignored + self.notes
        if limits.interference and not self._policy.ignores_limit:
            rates = list(rates)
            slow_down(rates, len(rates), limits.storage, limits.interference)
        return {request.id: float(rate) for request, rate in zip(view.requests, rates)}

    def _problem(self, rates: Rates) -> str | None:
        """Return what is wrong with *rates*, or None if they are valid. NaN fails every
        comparison in this check, and so is reported.
        """
        requests = self._requests
        if len(rates) != len(requests):
            return f"{len(rates)} rates for {len(requests)} requests"
        if not rates:
            return None
        most = [request.peak * _SLACK for request in requests]
        if not (min(rates) >= 0 and all(map(le, rates, most))):
            return "a rate is below 0 or above the request's peak"
        if not sum(rates) <= self._most:
            return (
                f"{sum(rates)!r} bytes/s in all, the storage takes "
                f"{self._limits.storage!r}"
            )
        return None

    def _known(self, id: int | str) -> Request:
        request = None
        if isinstance(id, (int, str)):
            request = self._by_id.get(id)
        if request is None:
            raise StateError(f"request {shown(id)} is not outstanding")
        return request

    def state(self) -> Json:
        """Return the state of the arbiter as plain JSON values, for :meth:`restore`."""
        requests: list[Json] = []
        for request in self._requests:
            row: Json = {"id": request.id}
            for key in _KEPT:
                row[key] = getattr(request, key)
            if request.id in self._own:
                row["peak"] = request.peak
            requests.append(row)
        return {
            "machine": self.machine.model_dump(mode="json"),
            "policy": self.policy,
            "settings": self._settings,
            "requests": requests,
        }

    @classmethod
    def restore(
        cls, state: Json, policy: IoPolicy | DecideFunction | None = None
    ) -> Self:
        """Return an arbiter in the saved *state*.

        *policy* must be given when the policy of the saved arbiter was a function.
        Raises InstanceError when *state* is not a return value of :meth:`state`.
        """
        with restoring("arbiter"):
            made = cls(state["machine"], policy or state["policy"], state["settings"])
            for item in state["requests"]:
                made.request(
                    item["id"],
                    item["nodes"],
                    item["left"],
                    item["requested"],
                    io_bytes_per_second=item.get("peak"),
                )
                request = made._by_id[item["id"]]
                for key in _KEPT:
                    setattr(request, key, type(getattr(request, key))(item[key]))
        return made
