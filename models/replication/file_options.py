"""Enumerate the ways to bring a file to its readers on a few equal nodes (ours)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, product
from typing import NamedTuple

from ioopt.models.program import Number, Program, Term
from ioopt.models.replication.static import Cycles


@dataclass(frozen=True)
class FileOption:
    """Describe one way to bring a file to its readers.

    ``loads`` is the time that the transfers take on each node, in units. The nodes in
    ``roots`` fetch the file, those in ``receivers`` get a copy; ``sends`` is the number
    of copies that each node sends.
    """

    loads: tuple[int, ...]
    roots: frozenset[int]
    receivers: frozenset[int]
    sends: tuple[int, ...]

    @property
    def holders(self) -> frozenset[int]:
        """Return the nodes that store the file."""
        return self.roots | self.receivers


def file_options(
    num_nodes: int,
    far: int,
    near: int,
    readers: frozenset[int],
    cycles: Cycles,
    replication: bool,
    relays: bool = False,
) -> list[FileOption]:
    """Return the options that no other option beats, in order of their total load.

    *far* and *near* are the units that a fetch, and one end of a copy, take. Copies go
    to *readers* only (2). With *relays* (up to four nodes) a copy may also go to a node
    that sends on at least two. Unless *cycles* is ``printed``, copies need a root that
    sends one.
    """
    found: list[FileOption] = []
    for flags in product((0, 1), repeat=num_nodes):
        roots = frozenset(compress(range(num_nodes), flags))
        lacking = readers - roots
        if not roots or (lacking and not replication):
            continue
        found += _options(num_nodes, far, near, roots, lacking, cycles)
        if relays and len(lacking) > 1:
            for relay in sorted(set(range(num_nodes)) - readers - roots):
                receivers = lacking | {relay}
                for option in _options(num_nodes, far, near, roots, receivers, cycles):
                    if option.sends[relay] > 1:
                        found.append(option)
    found.sort(key=lambda o: (sum(o.loads), o.loads, sorted(o.holders)))
    kept: list[FileOption] = []
    for option in found:
        if not any(_beats(other, option) for other in kept):
            kept.append(option)
    return kept


def _options(
    num_nodes: int,
    far: int,
    near: int,
    roots: frozenset[int],
    receivers: frozenset[int],
    cycles: Cycles,
) -> Iterator[FileOption]:
    """Yield the options in which *roots* fetch a file and *receivers* get a copy."""
    for sends in _sends(num_nodes, roots, receivers, cycles):
        loads = [near * ends for ends in sends]
        for node in roots:
            loads[node] += far
        for node in receivers:
            loads[node] += near
        yield FileOption(tuple(loads), roots, receivers, sends)


def _beats(other: FileOption, option: FileOption) -> bool:
    """Return whether *other* loads no node more than *option*, and stores the file
    nowhere else.
    """
    if not other.holders <= option.holders:
        return False
    return all(a <= b for a, b in zip(other.loads, option.loads, strict=True))


def _sends(
    num_nodes: int, roots: frozenset[int], receivers: frozenset[int], cycles: Cycles
) -> Iterator[tuple[int, ...]]:
    """Yield the ways to divide the sending among the nodes; each receiver gets one
    copy.

    A way is the number of copies sent by each node.
    """
    copies = len(receivers)
    ranges = []
    for node in range(num_nodes):
        most = 0
        if node in receivers:
            most = copies - 1
        elif node in roots:
            most = copies
        ranges.append(range(most + 1))
    for sends in product(*ranges):
        if sum(sends) != copies:
            continue
        if copies and cycles == "acyclic" and not any(sends[i] for i in roots):
            continue
        yield sends


class FileGroup(NamedTuple):
    """Represent equal files with the same readers.

    ``files`` is their number, ``bytes`` the size of one of them. ``options`` are pairs
    (key, option).
    """

    files: int
    bytes: int
    options: Sequence[tuple[int, FileOption]]


class FileMix:
    """Choose an option for each file of each group, so that the largest load is least.

    Variables: n_go is the number of files of group g that take option o; M is the
    largest load of a node, to be minimised.

    (1) sum over o of n_go = number of files of g, for every g
    (2) load of node i without files + sum over g and o of loads_oi n_go <= M, for every
        node i, where loads_oi is the load of option o on node i
    (3) M <= ``upper``
    (4) bytes stored on a node <= ``room``, for every node
    """

    def __init__(
        self,
        groups: Sequence[FileGroup],
        loads: Sequence[int],
        room: int | None,
        upper: int,
    ) -> None:
        self.program = program = Program("file_mix")
        span = program.whole("M", 0, upper)
        program.objective[span] = 1
        self._counts: list[tuple[int, int]] = []
        nodes = range(len(loads))
        work: list[list[Term]] = [[] for _ in nodes]
        stored: list[list[Term]] = [[] for _ in nodes]
        for g, group in enumerate(groups):
            row = []
            for o, option in group.options:
                count = program.whole(f"n_{g}_{o}", 0, group.files)
                row.append(count)
                self._counts.append((o, count))
                for i in nodes:
                    work[i].append((count, option.loads[i]))
                    if i in option.holders:
                        stored[i].append((count, group.bytes))
            program.add(
                f"all_{g}", [(count, 1) for count in row], group.files, group.files
            )
        for i in nodes:
            program.add(f"load_{i}", [*work[i], (span, -1)], most=-loads[i])
            if room is not None:
                program.add(f"disk_{i}", stored[i], most=room)

    def chosen(self, values: Mapping[int, Number]) -> list[int]:
        """Return the keys of the options in a solution, one for each file, group by
        group.
        """
        found: list[int] = []
        for key, count in self._counts:
            found += [key] * round(values[count])
        return found
