"""Split a Batsim job into a chain of steps, and decide when the transfers among the
steps begin.

A transfer that has begun cannot be slowed or stopped.
"""

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ioopt.embed.arbiter import IoArbiter
from ioopt.formats.batsim.profiles import Platform, Profiles
from ioopt.problems.base import Json

MAX_STEPS = 1000
"""The largest number of steps into which a job is split; a job with more steps runs in
one piece.
"""
_TINY = 1e-9


@dataclass(frozen=True)
class Step:
    """A profile that contains no other profiles. ``io_bytes`` is above 0 if the profile
    is a transfer.
    """

    profile: str
    io_bytes: float = 0.0


def steps_of(profiles: Json, key: str, nodes: int) -> tuple[Step, ...]:
    """Return the steps into which a job with profile *key* on *nodes* nodes is split.

    There are no steps if the profile contains no transfer, or has too many steps. A
    transfer is a profile that reads or writes a storage, or stages data. Raises
    InstanceError when a profile is missing, contradicts the format or is a trace;
    Batsim finds traces only from its own workload file.
    """
    known = Profiles(profiles, Platform(), "profiles")
    leaves = itertools.islice(known.leaves(key, MAX_STEPS), MAX_STEPS + 1)
    found = tuple(Step(leaf, _transfer(known, leaf, nodes)) for leaf in leaves)
    if len(found) <= MAX_STEPS and any(step.io_bytes for step in found):
        return found
    return ()


def _transfer(known: Profiles, leaf: str, nodes: int) -> float:
    phases = known.phases(leaf, nodes, f"profile {leaf!r}")
    if any(phase.compute_seconds > 0 for phase in phases):
        return 0.0
    return sum(phase.io_bytes * phase.repeat for phase in phases)


@dataclass
class _Transfer:
    """The transfer of one job: its size, peak rate and current rate (0 until it
    begins), and the bytes moved until the time ``since``.
    """

    size: float
    peak: float
    rate: float = 0.0
    since: float = 0.0
    moved: float = 0.0


class Transfers:
    """Ask an :class:`IoArbiter` for rates, and begin the transfers for which the
    storage has rate left.

    A transfer that has begun keeps its rate until a later decision gives it another
    rate above 0. The bytes that it has moved are computed from its rates, because
    Batsim does not report them.
    """

    def __init__(self, machine: Json, policy: str) -> None:
        self._arbiter = IoArbiter(machine, policy)
        self._storage = float(machine["storage_bytes_per_second"])
        self._here: dict[str, _Transfer] = {}
        # The policy no-congestion may exceed the storage rate.
        self._bounded = policy != "no-congestion"
        self.notes: tuple[str, ...] = ()

    def waiting(self) -> list[str]:
        """Return the jobs whose transfers have not begun, in the order of their
        requests.
        """
        return [name for name, each in self._here.items() if not each.rate]

    def request(
        self,
        job: str,
        nodes: int,
        size: float,
        now: float,
        *,
        start: float,
        computed: float,
        moved: float,
    ) -> None:
        """Add a request of *job* to transfer *size* bytes.

        The job runs on *nodes* nodes. It started at time *start*, has computed for
        *computed* seconds and has moved *moved* bytes since then.
        """
        machine = self._arbiter.machine
        peak = machine.peak(machine.allocated_nodes(nodes))
        self._arbiter.request(
            job,
            nodes,
            size,
            now,
            start_seconds=start,
            compute_seconds_so_far=computed,
            ideal_io_seconds_so_far=moved / peak,
        )
        self._here[job] = _Transfer(size, peak)

    def finish(self, job: str) -> None:
        """Remove the transfer of *job*, which has ended or was withdrawn."""
        self._arbiter.finish(job)
        del self._here[job]

    def under_way(self) -> tuple[float, int]:
        """Return a lower bound of the time (seconds) at which the last running transfer
        ends, and the number of transfers that have begun.
        """
        begun = (each for each in self._here.values() if each.rate)
        ends = [each.since + (each.size - each.moved) / each.peak for each in begun]
        return max(ends, default=0.0), len(ends)

    def admit(self, now: float, barred: Collection[str] = ()) -> list[str]:
        """Return the jobs whose transfers begin now; transfers of the jobs *barred* do
        not begin.

        ``notes`` say whether the policy failed.
        """
        self.notes = ()
        begun = {job: each for job, each in self._here.items() if each.rate}
        self._advance(begun, now)
        waiting = self.waiting()
        if not waiting:
            return []
        rates = self._arbiter.decide(now)
        self.notes = self._arbiter.notes
        for job, state in begun.items():
            state.rate = rates[job] or state.rate
        left = self._storage - sum(state.rate for state in begun.values())
        admitted = []
        for job in waiting:
            if job in barred or rates[job] <= 0:
                continue
            # Batsim shares the storage among the transfers that have begun, so a
            # transfer that fits only in part may begin and use the rest.
            if self._bounded and left <= _TINY * self._storage:
                continue
            left -= rates[job]
            self._here[job].rate = rates[job]
            self._here[job].since = now
            admitted.append(job)
        return admitted

    def _advance(self, begun: Mapping[str, _Transfer], now: float) -> None:
        """Report to the arbiter how many bytes the transfers that have *begun* have
        moved until *now*.
        """
        for job, state in begun.items():
            moved = state.moved + state.rate * (now - state.since)
            state.moved = min(moved, state.size)
            state.since = now
            self._arbiter.progress(job, state.moved)
