"""Convert Batsim's job profiles to phases of compute and I/O.

The table of profile types is in docs/formats.md.

Compute and communication between nodes form one activity here, as in Zhou et al.,
Section III.A.1: no other job uses the network between a job's nodes. All parts of a
parallel task advance together, so the task takes as long as its longest part. A part is
the operations of a node, or the bytes that a node sends or receives. The key ``bb`` of
burst-buffer workloads is a number of bytes for each node. They are staged in before the
job and staged out after it. Trace replays need Batsim itself and raise
:class:`UnsupportedProfileError`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field, StrictInt

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.native import validate
from ioopt.formats.values import LARGEST, Amount

MAX_PHASES = 100_000
MAX_DEPTH = 50
"""Largest number of levels of nested sequences."""
_EACH = ("DefinedAmountsUsedForEachValue", "defined_amount_used_for_each_value")
_SPREAD = ("DefinedAmountsSpreadUniformly", "defined_amount_spread_uniformly")

_KINDS = {
    "delay": ("delay", "delayprofile"),
    "task": ("parallel", "ptask", "paralleltaskprofile", "msg_par"),
    "homogeneous": (
        "parallel_homogeneous",
        "ptask_homogeneous",
        "paralleltaskhomogeneousprofile",
        "msg_par_hg",
    ),
    "homogeneous_total": ("parallel_homogeneous_total", "msg_par_hg_tot"),
    "storage": (
        "parallel_homogeneous_pfs",
        "ptask_on_storage_homogeneous",
        "paralleltaskonstoragehomogeneousprofile",
        "msg_par_hg_pfs",
    ),
    "staging": (
        "data_staging",
        "ptask_data_staging_between_storages",
        "paralleltaskdatastagingbetweenstoragesprofile",
    ),
    "sequence": ("composed", "sequential_composition", "sequentialcompositionprofile"),
}
"""For each kind of profile, its names in the releases of Batsim, in lower case."""
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names}
_REPLAYED = ("smpi", "usage_trace", "trace_replay", "tracereplayprofile")
_PARALLEL_KEYS = frozenset({"cpu", "com", "generation_strategy", "bb"})
_KEYS = {
    "delay": frozenset({"delay"}),
    "task": frozenset({"cpu", "com"}),
    "homogeneous": _PARALLEL_KEYS,
    "homogeneous_total": _PARALLEL_KEYS,
    "storage": frozenset({"bytes_to_read", "bytes_to_write", "generation_strategy"}),
    "staging": frozenset({"nb_bytes"}),
    "sequence": frozenset({"seq", "repeat", "nb"}),
}
"""For each kind of profile, the keys that are read."""
_PASSED_OVER = frozenset(
    {"type", "ret", "extra_data", "command", "storage", "host", "from", "to"}
)
"""Keys of profiles that are ignored without a warning: they change neither the duration
nor the bytes read and written.
"""


class UnsupportedProfileError(InstanceError):
    """Report a profile that only Batsim can run, such as the replay of an MPI trace."""


class PhaseRow(NamedTuple):
    """Represent one phase of a job; the fields are keys of the instance format."""

    compute_seconds: float
    io_bytes: float
    repeat: int = 1


@dataclass(frozen=True)
class Platform:
    """State the rates of a node, which Batsim reads from its platform file.

    ``flops`` is the number of operations per second. The defaults are those of
    ``dragonfly96.xml`` (1 Gflop/s, 1250 MB/s), for which the burst-buffer workloads
    were made.
    """

    flops: float = 1e9
    network_bytes_per_second: float = 1.25e9

    def __post_init__(self) -> None:
        for name in ("flops", "network_bytes_per_second"):
            if not 0 < getattr(self, name) < float("inf"):
                raise UsageError(f"{name} must be above 0, not {getattr(self, name)}")

    def describe(self) -> str:
        """Return the rates as one line, for the ``meta`` of an instance."""
        return (
            f"{self.flops:g} flop/s a node, {self.network_bytes_per_second:g} bytes/s "
            "network"
        )


Times = Annotated[StrictInt, Field(ge=0, le=LARGEST)]


class Profile(BaseModel, extra="allow"):
    """Represent a profile of any type; it has every key that some type reads."""

    type: str
    generation_strategy: str | None = None
    delay: Amount | None = None
    cpu: Amount | list[Amount] | None = None
    com: Amount | list[Amount] | None = None
    bb: Amount = 0.0
    bytes_to_read: Amount | None = None
    bytes_to_write: Amount | None = None
    nb_bytes: Amount | None = None
    seq: list[str] | None = None
    repeat: Times | None = None
    nb: Times | None = None

    @property
    def spread(self) -> bool:
        """Return whether amounts are totals of the whole job, rather than for each
        node.
        """
        return self.generation_strategy in _SPREAD

    @property
    def times(self) -> int:
        """Return the number of times a sequence runs.

        The key is ``repeat``; older releases call it ``nb``.
        """
        if self.repeat is not None:
            return self.repeat
        if self.nb is not None:
            return self.nb
        return 1

    def contradiction(self) -> str:
        """Return what is wrong with the repetitions or the generation strategy.

        Return empty text if nothing is wrong. ``nb`` is the older name of ``repeat``,
        so both must be equal if both are given.
        """
        if None not in (self.nb, self.repeat) and self.nb != self.repeat:
            return (
                f"nb and repeat: {self.nb} and {self.repeat}; nb is the older "
                "name of repeat; give one of them"
            )
        if self.generation_strategy not in (None, *_EACH, *_SPREAD):
            known = f"{_EACH[0]} or {_SPREAD[0]}"
            return (
                f"generation_strategy: wanted {known}, not "
                f"{self.generation_strategy[:40]!r}"
            )
        return ""


class Profiles:
    """Convert the profiles of a workload to phases for a given number of nodes."""

    def __init__(
        self, profiles: Mapping[str, object], platform: Platform, name: str
    ) -> None:
        self._profiles = profiles
        self._platform = platform
        self.name = name
        self._found: dict[tuple[str, int], tuple[PhaseRow, ...]] = {}
        self._unread: dict[str, dict[str, None]] = {}

    def unread(self) -> dict[str, list[str]]:
        """Return, for each key that was not read, the profiles that have it."""
        return {key: list(profiles) for key, profiles in self._unread.items()}

    def phases(self, key: str, nodes: int, where: str) -> tuple[PhaseRow, ...]:
        """Return the phases (at least one) of the profile *key* on *nodes* nodes.

        *where* names the job in messages.
        """
        known = (key, nodes)
        if known not in self._found:
            found = merge(self._build(key, nodes, where, ()))
            self._found[known] = tuple(found) or (PhaseRow(0.0, 0.0),)
        return self._found[known]

    def _build(
        self, key: str, nodes: int, where: str, above: tuple[str, ...]
    ) -> list[PhaseRow]:
        """Return the phases of the profile *key* and of the profiles that it contains.

        A sequence of one phase becomes a single phase that is repeated. *above* has the
        profiles that contain this one.
        """
        profile, place = self._profile(key, where, above)
        kind = _kind(profile, place)
        for other in profile.model_fields_set - _KEYS[kind] - _PASSED_OVER:
            self._unread.setdefault(other, {})[key] = None
        if kind != "sequence":
            return _simple(kind, profile, nodes, place, self._platform)
        if profile.seq is None:
            raise InstanceError(f"{place}: seq: missing")
        repeat = profile.times
        once: list[PhaseRow] = []
        for name in profile.seq:
            once += self._build(name, nodes, place, (*above, key))
            _limit(len(once), place)
        once = merge(once)
        if len(once) == 1 and repeat:
            _limit(once[0].repeat, place)
            return [once[0]._replace(repeat=once[0].repeat * repeat)]
        _limit(len(once) * repeat, place)
        return once * repeat

    def leaves(self, key: str, most: int, above: tuple[str, ...] = ()) -> Iterator[str]:
        """Yield the names of the profiles that are not sequences, in execution order.

        Each sequence is repeated at most *most* + 1 times.
        """
        profile, _ = self._profile(key, self.name, above)
        if profile.seq is None:
            yield key
            return
        for _ in range(min(profile.times, most + 1)):
            for name in profile.seq:
                yield from self.leaves(name, most, (*above, key))

    def _profile(
        self, key: str, where: str, above: tuple[str, ...]
    ) -> tuple[Profile, str]:
        """Return the profile called *key*, and its place for messages.

        Raises InstanceError if the profile is missing, or contains itself, or is nested
        too deep.
        """
        if key not in self._profiles:
            raise InstanceError(f"{where}: there is no profile {key!r}")
        if key in above:
            raise InstanceError(f"{self.name}: profile {key!r} contains itself")
        if len(above) > MAX_DEPTH:
            raise InstanceError(
                f"{self.name}: profile {above[0]!r} is nested more than "
                f"{MAX_DEPTH} deep"
            )
        place = f"{self.name}: profile {key!r}"
        profile: Profile = validate(Profile, self._profiles[key], place)
        if wrong := profile.contradiction():
            raise InstanceError(f"{place}: {wrong}")
        return profile, place


def _limit(count: int, place: str) -> None:
    """Raise InstanceError if *count*, a number of phases, is above ``MAX_PHASES``."""
    if count > MAX_PHASES:
        raise InstanceError(f"{place}: more than {MAX_PHASES} phases")


def _kind(profile: Profile, place: str) -> str:
    """Return the kind of a profile, a key of ``_KINDS``, from any name of its type.

    Raises UnsupportedProfileError for a trace replay.
    """
    name = profile.type
    if name.lower() in _REPLAYED:
        raise UnsupportedProfileError(
            f"profile type {name} is a trace that only Batsim replays"
        )
    kind = _KIND_OF.get(name.lower())
    if kind is None:
        raise InstanceError(f"{place}: type {name!r} is not a profile type ioopt knows")
    if kind == "homogeneous" and profile.spread:
        return "homogeneous_total"
    return kind


def _simple(
    kind: str, profile: Profile, nodes: int, place: str, platform: Platform
) -> list[PhaseRow]:
    """Return the phases of a profile that contains no other profiles."""
    if kind == "delay":
        if profile.delay is None:
            raise InstanceError(f"{place}: delay: missing")
        return [PhaseRow(profile.delay, 0.0)]
    if kind == "staging":
        if profile.nb_bytes is None:
            raise InstanceError(f"{place}: nb_bytes: missing")
        return [PhaseRow(0.0, profile.nb_bytes)]
    if kind == "storage":
        return [PhaseRow(0.0, _storage_bytes(profile, nodes, place))]
    if profile.cpu is None and profile.com is None:
        raise InstanceError(f"{place}: cpu, com: both are missing")
    if kind == "task":
        return [PhaseRow(_task_seconds(profile, nodes, place, platform), 0.0)]
    seconds = _homogeneous_seconds(kind, profile, nodes, place, platform)
    staged = profile.bb * nodes
    return [PhaseRow(0.0, staged), PhaseRow(seconds, staged)]


def _storage_bytes(profile: Profile, nodes: int, place: str) -> float:
    """Return the bytes that all nodes of a task on a storage read and write."""
    if profile.bytes_to_read is None and profile.bytes_to_write is None:
        raise InstanceError(f"{place}: bytes_to_read, bytes_to_write: both are missing")
    total = (profile.bytes_to_read or 0.0) + (profile.bytes_to_write or 0.0)
    if profile.spread:
        return total
    return total * nodes


def _homogeneous_seconds(
    kind: str, profile: Profile, nodes: int, place: str, platform: Platform
) -> float:
    """Return the seconds of a parallel task in which all nodes do the same work."""
    cpu = profile.cpu or 0.0
    com = profile.com or 0.0
    if isinstance(cpu, list) or isinstance(com, list):
        raise InstanceError(
            f"{place}: cpu and com: give one number each, as all nodes are alike"
        )
    if kind == "homogeneous_total":
        cpu /= nodes
        com /= nodes
        if nodes == 1:
            com = 0.0
    else:
        com *= nodes - 1
    return max(cpu / platform.flops, com / platform.network_bytes_per_second)


def _task_seconds(
    profile: Profile, nodes: int, place: str, platform: Platform
) -> float:
    """Return the seconds of a parallel task, which are those of its longest part.

    A part is the operations of a node, or the bytes that a node sends or receives.
    """
    cpu = _vector(profile.cpu, nodes, f"{place}: cpu")
    com = _vector(profile.com, nodes * nodes, f"{place}: com")
    longest = max(cpu, default=0.0) / platform.flops
    if com:
        for k in range(nodes):
            sent = sum(com[k * nodes : (k + 1) * nodes]) - com[k * nodes + k]
            received = sum(com[k::nodes]) - com[k * nodes + k]
            longest = max(
                longest, max(sent, received) / platform.network_bytes_per_second
            )
    return longest


def _vector(values: float | list[float] | None, length: int, place: str) -> list[float]:
    """Return *values* as a list, which is empty for None.

    Raises InstanceError if there are not *length* values.
    """
    if values is None or (isinstance(values, list) and len(values) == length):
        return values or []
    given = repr(values)
    if isinstance(values, list):
        given = f"{len(values)} numbers"
    raise InstanceError(
        f"{place}: wanted {length} numbers for a job of this size, not {given}"
    )


def merge(phases: list[PhaseRow]) -> list[PhaseRow]:
    """Join each phase without I/O with the phase after it, unless that phase repeats.

    Phases without compute and I/O are dropped. The totals do not change.

    >>> merge([PhaseRow(1, 0), PhaseRow(2, 5), PhaseRow(0, 0)])
    [PhaseRow(compute_seconds=3, io_bytes=5, repeat=1)]
    """
    out: list[PhaseRow] = []
    for phase in phases:
        if phase.io_bytes == 0:
            phase = PhaseRow(phase.compute_seconds * phase.repeat, 0.0)
            if phase.compute_seconds == 0:
                continue
        if out and out[-1].io_bytes == 0 and phase.repeat == 1:
            compute = out[-1].compute_seconds + phase.compute_seconds
            out[-1] = PhaseRow(compute, phase.io_bytes)
        else:
            out.append(phase)
    return out


def intervals(resources: list[int]) -> str:
    """Return the numbers of *resources* as an interval set in the notation of Batsim.

    >>> intervals([0, 1, 2, 5, 7, 8])
    '0-2 5 7-8'
    """
    parts: list[list[int]] = []
    for resource in sorted(resources):
        if parts and resource == parts[-1][-1] + 1:
            parts[-1][1:] = [resource]
        else:
            parts.append([resource])
    return " ".join("-".join(map(str, part)) for part in parts)


def numbers(text: str) -> set[int]:
    """Return the numbers in *text*, an interval set in the notation of Batsim.

    >>> sorted(numbers('0-2 5'))
    [0, 1, 2, 5]
    """
    found: set[int] = set()
    for part in text.split():
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found
