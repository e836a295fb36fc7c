"""Proof by enumeration (ours) for a few tasks on a few equal nodes (docs/replication-models.md).

Branch and bound in two layers: tasks on nodes, then for a whole assignment a way to bring every file
to the nodes that read it. Loads are whole units.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise, product
from operator import add

from ioopt.models.replication.aggregated import Cycles, attach, horizon
from ioopt.models.replication.static import Moves, StaticInstance

MOST_NODES, MOST_TASKS, MOST_KINDS = 4, 24, 8
MOST_VISITS = 20_000
"""Nodes of the search that are visited: a few tenths of a second."""
VISITS_A_LOOK = 1_000
"""Nodes visited between two looks at the clock."""
Loads = tuple[int, ...]


def applies(instance: StaticInstance) -> bool:
    """Whether the instance has few tasks and file kinds, and few equal nodes that hold nothing."""
    nodes = instance.problem.nodes
    return (
        1 < len(nodes) <= MOST_NODES
        and not any(instance.held)
        and len({(node.speed, room) for node, room in zip(nodes, instance.room, strict=True)}) == 1
        and 0 < len(instance.problem.tasks) <= MOST_TASKS
        and len(_kinds(instance)) <= MOST_KINDS
    )


def _kinds(instance: StaticInstance) -> list[tuple[int, int, int]]:
    """Different (fetch, copy end, bytes) of files, longest fetch first."""
    every = zip(instance.far, instance.near, instance.sizes, strict=True)
    return sorted(set(every), reverse=True)


def _order(instance: StaticInstance) -> list[int]:
    """Classes so that each shares as many bytes as it can with those before it."""
    left, order, seen = set(range(len(instance.classes))), list[int](), set[int]()

    def rank(k: int) -> tuple[int, int, int]:
        sizes = {file: instance.sizes[file] for file in instance.classes[k].inputs}
        return sum(sizes[f] for f in sizes if f in seen), sum(sizes.values()), -k

    while left:
        best = max(left, key=rank)
        left.remove(best)
        order.append(best)
        seen.update(instance.classes[best].inputs)
    return order


@dataclass(frozen=True)
class FileOption:
    """One way to bring a file to the nodes that read it, on as many equal nodes as there are ``loads``.

    ``loads`` units a node, ``roots`` nodes that fetch it, ``receivers`` nodes that get a copy,
    ``sends`` copies sent a node.
    """

    loads: Loads
    roots: frozenset[int]
    receivers: frozenset[int]
    sends: tuple[int, ...]

    @cached_property
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

    *far* and *near* are the units of a fetch and of one end of a copy. Copies go to readers (2), with
    ``relays`` (up to four nodes) also to one that passes them on to two; unless ``printed``, some root
    sends one where there are any.
    """
    found = []
    for flags in product((0, 1), repeat=num_nodes):
        roots = frozenset(node for node, flag in enumerate(flags) if flag)
        lacking = readers - roots
        if not roots or (lacking and not replication):
            continue
        between = set(range(num_nodes)) - readers - roots if relays and len(lacking) > 1 else set()
        for relay in (frozenset[int](), *(frozenset({node}) for node in sorted(between))):
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
        range(copies - (i in receivers) + 1) if i in holders else range(1) for i in range(num_nodes)
    ]
    for sends in product(*ranges):
        if sum(sends) != copies:
            continue
        if copies and cycles == "acyclic" and not any(sends[i] for i in roots):
            continue
        yield sends


class _GivenUp(Exception):
    """The search takes too long."""


class Enumeration:
    """The search over one instance that :func:`applies` to; ``visits`` counts its nodes.

    ``relays`` is as in the model. Looks for plans of at most *upper* units until it is *over*; every plan
    goes to *found*, after which *upper*, which may only fall, must be below its largest load.
    """

    def __init__(
        self,
        instance: StaticInstance,
        cycles: Cycles,
        replication: bool,
        relays: bool,
        over: Callable[[], bool],
        upper: Callable[[], int],
        found: Callable[[Moves], None],
    ) -> None:
        self.instance, self.over, self._asked, self.found = instance, over, upper, found
        self.visits = 0
        self.num_nodes = nodes = instance.num_nodes
        self.room = instance.room[0]
        order = _order(instance)
        self._tasks = [task for k in order for task in instance.classes[k].tasks]
        self._class = [k for k in order for _ in instance.classes[k].tasks]
        self._alike = [False, *(a == b for a, b in pairwise(self._class))]
        self.kinds = _kinds(instance)
        keys = zip(instance.far, instance.near, instance.sizes, strict=True)
        self.kind = [self.kinds.index(key) for key in keys]
        self._assign = [0] * len(self._tasks)

        @lru_cache(None)
        def options(kind: int, mask: int) -> list[FileOption]:
            far, near, _ = self.kinds[kind]
            readers = frozenset(i for i in range(nodes) if mask >> i & 1)
            return file_options(nodes, far, near, readers, cycles, replication, relays)

        @lru_cache(None)
        def least(kind: int, readers: int) -> int:
            return sum(options(kind, (1 << max(1, readers)) - 1)[0].loads)

        @lru_cache(None)
        def divisors(first: int) -> list[tuple[int, int]]:
            """(kind, common divisor of the fetch times from *first* to it), later kinds in order."""
            far = [kind[0] for kind in self.kinds[first:]]
            steps = accumulate(far, math.gcd)
            return [(first + x, max(1, step)) for x, step in enumerate(steps)]

        self.options, self._least, self.divisors = options, least, divisors

    def run(self, most: int = MOST_VISITS) -> int | None:
        """A proven lower bound in units; None where *most* nodes do not suffice, or all is over."""
        self.upper = min(self._asked(), horizon(self.instance))
        work = sum(self.instance.work[k][0] for k in self._class)
        cost = work + sum(self._least(kind, 0) for kind in self.kind)
        none = (0,) * self.num_nodes
        self._most = most
        try:
            self._place(0, (0,) * self.instance.num_files, cost, 0, none, none)
        except _GivenUp:
            return None
        return self.upper + 1

    def _place(
        self, depth: int, masks: Loads, cost: int, top: int, load: Loads, used: Loads
    ) -> None:
        """Go through the nodes of task number *depth*, of which *top* are used; files are on *masks*."""
        if depth == len(self._tasks):
            while self._settle(masks, cost, load):
                pass
            return
        nodes, k = self.num_nodes, self._class[depth]
        # Nodes are alike: a task goes to a used one or to the first that is not.
        for node in range(
            self._assign[depth - 1] if self._alike[depth] else 0, min(top + 1, nodes)
        ):
            self.visit()
            there, total, stored = list(masks), cost, used[node]
            for file in self.instance.classes[k].inputs:
                if not masks[file] >> node & 1:
                    there[file] |= 1 << node
                    kind, readers = self.kind[file], masks[file].bit_count()
                    total += self._least(kind, readers + 1) - self._least(kind, readers)
                    stored += self.kinds[kind][2]
            if total > nodes * self.upper or (self.room is not None and stored > self.room):
                continue
            self._assign[depth] = node
            self._place(
                depth + 1, tuple(there), total, max(top, node + 1),
                _plus(load, node, self.instance.work[k][0]), (*used[:node], stored, *used[node + 1 :]),
            )  # fmt: skip

    def visit(self) -> None:
        """Count a node of the search; raises _GivenUp where no more may be visited."""
        if self.visits >= self._most or (self.visits % VISITS_A_LOOK == 0 and self.over()):
            raise _GivenUp
        self.visits += 1

    def _settle(self, masks: Loads, cost: int, load: Loads) -> bool:
        """Whether a plan of this assignment was found within the upper limit."""
        spare = self.num_nodes * self.upper - cost
        if spare < 0:
            return False
        leaf = _Leaf(self, masks, spare)
        chosen = leaf.choose(load)
        if chosen is None:
            return False
        self.found(self._moves(leaf.files, chosen))
        self.upper = min(self._asked(), self.upper)
        if self.over():  # also where a plan with relays does not lower the limit
            raise _GivenUp
        return True

    def _moves(self, files: list[int], chosen: list[FileOption]) -> Moves:
        """The plan of the assignment at hand with these options."""
        assign = [0] * len(self._tasks)
        for task, node in zip(self._tasks, self._assign, strict=True):
            assign[task] = node
        remote: list[tuple[int, int]] = []
        copies: list[tuple[int, int, int]] = []
        for file, option in zip(files, chosen, strict=True):
            roots, receivers = sorted(option.roots), sorted(option.receivers)
            remote += [(file, node) for node in roots]
            pairs = attach(roots, receivers, dict(enumerate(option.sends)))
            copies += [(file, source, target) for source, target in pairs]
        return Moves(tuple(assign), tuple(sorted(remote)), tuple(sorted(copies)))


def _plus(numbers: Loads, node: int, more: int) -> Loads:
    return (*numbers[:node], numbers[node] + more, *numbers[node + 1 :])


class _Leaf:
    """The files of a whole assignment: who fetches each, and who sends it on.

    ``files`` stand by kind, those that several nodes read first, as they decide most. From each place on
    ``_fetch`` must still be fetched, and ``_must`` falls on each node beside the fetches.
    """

    def __init__(self, search: Enumeration, masks: Loads, spare: int) -> None:
        self._search, self._spare = search, spare
        kind, nodes = search.kind, range(search.num_nodes)
        self.files = sorted(range(len(masks)), key=lambda file: (kind[file], -masks[file], file))
        self._keys = [(kind[file], masks[file]) for file in self.files]
        self._options = [search.options(*key) for key in self._keys]
        self._fetch, self._must = [0], [(0,) * len(nodes)]
        self._end = [len(self.files)] * len(search.kinds)
        low: Loads = ()
        for place, key in reversed([*enumerate(self._keys)]):
            far, options = search.kinds[key[0]][0], self._options[place]
            if key not in self._keys[place + 1 : place + 2]:
                least = sum(options[0].loads)
                near = [o for o in options if sum(o.loads) - least <= spare]
                low = tuple(min(o.loads[i] - far * (i in o.roots) for o in near) for i in nodes)
            self._end[: key[0]] = [place] * key[0]
            self._fetch.append(self._fetch[-1] + far)
            self._must.append(tuple(map(add, self._must[-1], low)))
        self._fetch.reverse()
        self._must.reverse()

    def _may_fit(self, place: int, total: Loads) -> bool:
        """Whether what is left to fetch from *place* on fits in whole common divisors of free room."""
        upper = self._search.upper
        free = [upper - load - must for load, must in zip(total, self._must[place], strict=True)]
        if min(free) < 0:
            return False
        if place == len(self._keys):
            return True
        for kind, step in self._search.divisors(self._keys[place][0]):
            wanted = self._fetch[place] - self._fetch[self._end[kind]]
            if wanted > sum(units // step * step for units in free):
                return False
        return True

    def choose(self, load: Loads) -> list[FileOption] | None:
        """Options of the files, depth first; None where none will do."""
        if not self._may_fit(0, load):
            return None
        room, met = self._search.room, set[object]()
        stack, at = [(load, (0,) * len(load), self._spare)], [0]
        while stack:
            place = len(stack) - 1
            if place == len(self.files):
                return [row[x - 1] for row, x in zip(self._options, at, strict=False)]
            total, stored, spare = stack[-1]
            options = self._options[place]
            self._search.visit()
            excess = 0
            if at[place] < len(options):
                option = options[at[place]]
                excess = sum(option.loads) - sum(options[0].loads)
            if at[place] == len(options) or excess > spare:
                stack.pop()
                at.pop()
                continue
            at[place] += 1
            total = tuple(map(add, total, option.loads))
            size = self._search.kinds[self._keys[place][0]][2]
            stored = tuple(used + size * (i in option.holders) for i, used in enumerate(stored))
            if (room is not None and max(stored) > room) or not self._may_fit(place + 1, total):
                continue
            same = self._keys[place] in self._keys[place + 1 : place + 2]
            if not same and (place, total, stored) in met:
                continue
            met.add((place, total, stored))
            stack.append((total, stored, spare - excess))
            at.append(at[place] - 1 if same else 0)
        return None
