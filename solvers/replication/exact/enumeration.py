"""Prove optimality by enumeration, for few tasks on two to four equal nodes (ours).

The method is described in docs/replication-models.md.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from functools import reduce as fold
from itertools import pairwise, takewhile

from ioopt.compiled.library import maker
from ioopt.compiled.memory import Maker
from ioopt.models.replication.aggregated import attach, horizon
from ioopt.models.replication.file_options import (
    FileGroup,
    FileMix,
    FileOption,
    file_options,
)
from ioopt.models.replication.static import Cycles, Moves, StaticInstance
from ioopt.options import Deadline
from ioopt.result import Status
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat
from ioopt.solvers.replication.exact import enumeration_kernel as kernel
from ioopt.solvers.replication.plans import flat

MOST_NODES = 4
"""Largest number of compute nodes of an instance that is enumerated (2 to 4).

This and the next two values were chosen on PPA and IMAGE-85 batches, such that a proof
takes some seconds.
"""
MOST_TASKS = 24
"""Largest number of tasks of an instance that is enumerated (1 to 30)."""
MOST_KINDS = 8
"""Largest number of kinds of files, which differ in fetch time, copy time or size (1 to
16).
"""
MOST_NODES_VISITED = {True: 100_000_000, False: 20_000}
"""Largest number of tree nodes visited, with compiled code (True) or without (False).

This takes a few seconds with compiled code, otherwise a few tenths of a second.
"""
LEAF_NODES = {True: 300_000, False: 3_000}
"""Tree nodes visited for the files of one assignment of tasks, compiled or not.

After that, CP-SAT places the files.
"""
LEAF_SECONDS = 5.0
"""Seconds that CP-SAT may take to place the files of one assignment."""
_CHUNK = {True: 1_000_000, False: 2_000}
"""Tree nodes visited between two checks of the clock, with compiled code or without."""


def applies(instance: StaticInstance) -> bool:
    """Return whether the instance is small enough, and its nodes are equal and hold no
    files.
    """
    nodes = instance.problem.nodes
    if not 1 < len(nodes) <= MOST_NODES or any(instance.held):
        return False
    speeds = {node.speed for node in nodes}
    if len(speeds) > 1 or len(set(instance.room)) > 1:
        return False
    if not 0 < len(instance.problem.tasks) <= MOST_TASKS:
        return False
    return len(_kinds(instance)) <= MOST_KINDS


def _kinds(instance: StaticInstance) -> list[tuple[int, int, int]]:
    """Return the kinds of files, the one with the longest fetch first.

    A kind is (units of a fetch, units of one end of a copy, bytes).
    """
    every = zip(instance.far, instance.near, instance.sizes, strict=True)
    return sorted(set(every), reverse=True)


def _order(instance: StaticInstance) -> list[int]:
    """Return the task classes in an order in which each shares many bytes with earlier
    ones.
    """
    left = set(range(len(instance.classes)))
    order: list[int] = []
    seen: set[int] = set()

    def key(k: int) -> tuple[int, int, int]:
        """Return the sort key of class *k*; of the remaining classes, the one with the
        largest key is next.

        The key is the bytes shared with earlier classes, then all input bytes, then
        ``-k``.
        """
        inputs = instance.classes[k].inputs
        shared = sum(instance.sizes[f] for f in inputs if f in seen)
        return shared, sum(instance.sizes[f] for f in inputs), -k

    while left:
        best = max(left, key=key)
        left.remove(best)
        order.append(best)
        seen.update(instance.classes[best].inputs)
    return order


class _Options:
    """List the ways to bring a file to its readers, called options, for each group of
    files.

    A group has the number ``(kind << num_nodes) + mask``, where *mask* is the bit set
    of the nodes that read the file. The options of group g are ``every[first[g]:first[g
    + 1]]`` in order of rising sum of loads. ``base[kind * (num_nodes + 1) + p]`` is the
    least sum of loads for p reader nodes; the cell for p = 0 repeats that for p = 1.
    """

    def __init__(
        self, instance: StaticInstance, cycles: Cycles, replication: bool, relays: bool
    ) -> None:
        self.kinds = _kinds(instance)
        nodes = instance.num_nodes
        self.every: list[FileOption] = []
        self.first = [0, 0]
        self.excess: list[int] = []
        self.low: list[int] = []
        self.base: list[int] = []
        for number, (far, near, _) in enumerate(self.kinds):
            least = [0] * (nodes + 1)
            if number:
                self.first.append(len(self.every))
            for mask in range(1, 1 << nodes):
                readers = frozenset(i for i in range(nodes) if mask >> i & 1)
                options = file_options(
                    nodes, far, near, readers, cycles, replication, relays
                )
                total = sum(options[0].loads)
                least[len(readers)] = total
                for option in options:
                    self.excess.append(sum(option.loads) - total)
                    for i, load in enumerate(option.loads):
                        self.low.append(load - far if i in option.roots else load)
                self.every.extend(options)
                self.first.append(len(self.every))
            self.base.extend([least[1], *least[1:]])


class Enumeration:
    """Enumerate the plans of one instance for which :func:`applies` is true.

    The search can run in pieces. ``relays``: nodes may receive files that they do not
    read but send on. ``make`` makes the data of the kernel; None stands for compiled
    ones if there are any. ``stuck`` is set when the search could not settle an
    assignment of tasks; after that the search proves nothing.
    """

    def __init__(
        self,
        instance: StaticInstance,
        cycles: Cycles,
        replication: bool,
        deadline: Deadline,
        relays: bool = False,
        make: Maker | None = None,
    ) -> None:
        self.instance = instance
        self.deadline = deadline
        self.stuck = False
        self.make = make or maker(sum(instance.sizes))
        self.relays = relays
        self.options = _Options(instance, cycles, replication, relays)
        self._tasks: list[int] = []
        self._class: list[int] = []
        for k in _order(instance):
            tasks = instance.classes[k].tasks
            self._tasks += tasks
            self._class += [k] * len(tasks)
        rows = zip(instance.far, instance.near, instance.sizes, strict=True)
        self._kind = [self.options.kinds.index(row) for row in rows]
        self._horizon = horizon(instance)
        self.data = self._data()
        self.state = self._state()

    def _data(self) -> kernel.Data:
        """Return the constant data of the instance for the kernel."""
        instance = self.instance
        options = self.options
        make = self.make
        kinds = options.kinds
        room = instance.room[0]
        inputs_ptr, inputs = flat(instance.classes[k].inputs for k in self._class)
        alike = [int(before == after) for before, after in pairwise(self._class)]
        far = [time for time, _, _ in kinds]
        dividers: list[int] = []
        for first in range(len(kinds)):
            for last in range(len(kinds)):
                dividers.append(max(1, fold(math.gcd, far[first : last + 1], 0)))
        loads: list[int] = []
        holders: list[int] = []
        for option in options.every:
            loads.extend(option.loads)
            holders.append(sum(1 << i for i in option.holders))
        return make.table(
            kernel.Data,
            num_nodes=instance.num_nodes,
            num_tasks=len(self._tasks),
            num_files=instance.num_files,
            num_kinds=len(kinds),
            ptr=make.ints(inputs_ptr),
            files=make.ints(inputs),
            work=make.ints([instance.work[k][0] for k in self._class]),
            alike=make.ints([0, *alike]),
            kind=make.ints(self._kind),
            far=make.ints(far),
            size=make.ints([size for _, _, size in kinds]),
            base=make.ints(options.base),
            divisor=make.ints(dividers),
            opt_ptr=make.ints(options.first),
            opt_load=make.ints(loads),
            opt_low=make.ints(options.low),
            opt_excess=make.ints(options.excess),
            opt_has=make.ints(holders),
            room=-1 if room is None else room,
        )

    def _state(self) -> kernel.State:
        """Return what the search changes, with its initial values."""
        make = self.make
        nodes = self.instance.num_nodes
        files = self.instance.num_files
        depths = len(self._tasks) + 1
        places = files + 1
        groups = len(self.options.first) - 1

        def zeros(count: int) -> list[int]:
            return make.ints([0] * count)

        state = make.table(
            kernel.State,
            assign=make.ints([-1] * depths),
            mask=zeros(depths * files),
            cost=zeros(depths),
            top=zeros(depths),
            load=zeros(depths * nodes),
            used=zeros(depths * nodes),
            count=zeros(groups),
            low=zeros(groups * nodes),
            group=zeros(places),
            end=zeros(len(self.options.kinds)),
            fetch=zeros(places),
            must=zeros(places * nodes),
            chosen=zeros(places),
            spare=zeros(places),
            total=zeros(places * nodes),
            stored=zeros(places * nodes),
        )
        work = sum(self.instance.work[k][0] for k in self._class)
        state.cost[0] = work + sum(
            self.options.base[kind * (nodes + 1)] for kind in self._kind
        )
        return state

    def advance(
        self,
        nodes: int,
        over: Callable[[], bool],
        upper: Callable[[], int],
        found: Callable[[Moves], None],
    ) -> int | None:
        """Visit up to *nodes* more tree nodes; return a proven lower bound in units, or
        None while the search is unfinished.

        The search ends early once *over* returns True. It looks for plans whose largest
        load is at most *upper* units; *upper* is called repeatedly, and its value may
        only fall. Every plan found is passed to *found*, after which *upper* must
        return less than the plan's largest load.
        """
        run = self.make.function(kernel.search)
        state = self.state
        fast = self.make.compiled
        last = state.visited + nodes
        while not (self.stuck or over()) and state.visited < last:
            state.upper = min(upper(), self._horizon)
            limit = min(state.visited + _CHUNK[fast], last)
            verdict = run(self.data, state, limit, LEAF_NODES[fast])
            if verdict == kernel.DONE:
                return state.upper + 1
            moves = None
            if verdict == kernel.FOUND:
                files = range(self.instance.num_files)
                moves = self._moves([state.chosen[place] for place in files])
            elif verdict == kernel.STUCK:
                moves = self._settled()
            if moves is not None:
                found(moves)
        return None

    def _settled(self) -> Moves | None:
        """Return the best plan with the present assignment of tasks, or None if none is
        found.

        CP-SAT solves the model :class:`FileMix`. The search then continues with the
        next assignment.
        """
        options = self.options
        nodes = self.instance.num_nodes
        depth = len(self._tasks)
        room = self.data.room
        spare = self.state.spare[0]
        groups = []
        for group, many in sorted(Counter(self.state.group[:-1]).items()):
            within = takewhile(
                lambda at: options.excess[at] <= spare,
                range(options.first[group], options.first[group + 1]),
            )
            size = options.kinds[group >> nodes][2]
            groups.append(
                FileGroup(many, size, [(at, options.every[at]) for at in within])
            )
        loads = [self.state.load[depth * nodes + i] for i in range(nodes)]
        mix = FileMix(groups, loads, room if room >= 0 else None, self.state.upper)
        seconds = min(LEAF_SECONDS, self.deadline.remaining())
        answer = solve_by_cpsat(
            mix.program, BackendLimits(seconds=seconds, work=LEAF_SECONDS)
        )
        self.stuck = answer.status not in (Status.OPTIMAL, Status.INFEASIBLE)
        self.state.depth -= 1
        return self._moves(mix.chosen(answer.values)) if answer.found else None

    def _moves(self, chosen: list[int]) -> Moves:
        """Return the plan of the present assignment of tasks to nodes.

        The *chosen* options of a group are given to the files of the group in order.
        """
        state = self.state
        options = self.options
        nodes = self.instance.num_nodes
        assign = [0] * len(self._tasks)
        for task, node in zip(self._tasks, state.assign, strict=False):
            assign[task] = node
        last = len(self._tasks) * self.instance.num_files
        waiting: dict[int, list[int]] = {}
        for file in reversed(range(self.instance.num_files)):
            group = (self._kind[file] << nodes) + state.mask[last + file]
            waiting.setdefault(group, []).append(file)
        remote: list[tuple[int, int]] = []
        copies: list[tuple[int, int, int]] = []
        for at in chosen:
            option = options.every[at]
            file = waiting[bisect_right(options.first, at) - 1].pop()
            roots = sorted(option.roots)
            receivers = sorted(option.receivers)
            remote += [(file, node) for node in roots]
            pairs = attach(roots, receivers, dict(enumerate(option.sends)))
            copies += [(file, source, target) for source, target in pairs]
        return Moves(tuple(assign), tuple(sorted(remote)), tuple(sorted(copies)))
