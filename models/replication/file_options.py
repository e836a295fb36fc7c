"""Ways to bring one file to the nodes that read it, on a few equal nodes (ours)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, product
from typing import NamedTuple

from ioopt.models.program import Number, Program, Term
from ioopt.models.replication.static import Cycles


@dataclass(frozen=True)
class FileOption:
    """One way to bring a file to the nodes that read it, on ``num_nodes`` equal nodes.

    ``loads`` units a node, ``roots`` nodes that fetch it, ``receivers`` nodes that get
    a copy, ``sends`` copies sent a node.
    """

    loads: tuple[int, ...]
    roots: frozenset[int]
    receivers: frozenset[int]
    sends: tuple[int, ...]

    @property
    def holders(self) -> frozenset[int]:
        """Nodes that store the file."""
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
    """Every way that no other one beats on all nodes, least sum of loads first.

    *far* and *near* are the units of a fetch and of one end of a copy. Copies go to
    readers (2), with ``relays`` (up to four nodes) also to one that passes them on to
    two; unless ``printed``, some root sends one where there are any.
    """
    found = []
    for flags in product((0, 1), repeat=num_nodes):
        roots = frozenset(compress(range(num_nodes), flags))
        lacking = readers - roots
        if not roots or (lacking and not replication):
            continue
        between = (
            set(range(num_nodes)) - readers - roots
            if relays and len(lacking) > 1
            else set()
        )
        for relay in (
            frozenset[int](),
            *(frozenset({node}) for node in sorted(between)),
        ):
            receivers = lacking | relay
            for sends in _sends(num_nodes, roots, receivers, cycles):
                loads = tuple(
                    far * (i in roots) + near * ((i in receivers) + sends[i])
                    for i in range(num_nodes)
                )
                if all(sends[i] > 1 for i in relay):
                    found.append(FileOption(loads, roots, receivers, sends))
    found.sort(key=lambda o: (sum(o.loads), o.loads, sorted(o.holders)))
    kept: list[FileOption] = []
    for option in found:
        if not any(
            all(a <= b for a, b in zip(other.loads, option.loads, strict=True))
            and other.holders <= option.holders
            for other in kept
        ):
            kept.append(option)
    return kept


def _sends(
    num_nodes: int, roots: frozenset[int], receivers: frozenset[int], cycles: Cycles
) -> Iterator[tuple[int, ...]]:
    copies = len(receivers)
    holders = roots | receivers
    ranges = [
        range(copies - (i in receivers) + 1) if i in holders else range(1)
        for i in range(num_nodes)
    ]
    for sends in product(*ranges):
        if sum(sends) != copies:
            continue
        if copies and cycles == "acyclic" and not any(sends[i] for i in roots):
            continue
        yield sends


class FileGroup(NamedTuple):
    """Files that are alike and have the same readers: how many, bytes
    each, options by key.
    """

    files: int
    bytes: int
    options: Sequence[tuple[int, FileOption]]


class FileMix:
    """How many files of each group take which option so that the largest load is least.

    Variables: n_go files of group g that take option o; M. (1) sum_o n_go = files of g; (2) load of
    node i without files + sum of loads_oi n_go <= M <= ``upper``; (3) stored bytes <= ``room``.
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
        """The key of the option of every file, group by group, of a solution."""
        return [o for o, count in self._counts for _ in range(round(values[count]))]
