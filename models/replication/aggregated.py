"""Formulate the static model with few columns (ours, exact).

It has O(C L) columns instead of O(C^2 L), for C nodes and L files. The source of each
copy is found afterwards (:meth:`AggregatedModel.moves`; docs/replication-models.md).
Sets: nodes i, files l, task classes k. A root of a file is a node that fetches it or
holds it from the start. Variables:

    T_ki  number of tasks of class k on node i
    R_li  1 if file l is fetched to node i
    N_li  1 if file l is copied to node i
    A_li  number of copies of file l that node i sends as a root
    B_li  number of copies of file l that node i sends after it got a copy itself
    M     batch time (13)
    K_li  1 if a file held from the start is kept (only with ``evictable``)

X_li = R_li + N_li says whether file l is stored on node i; where it is held from the
start, add 1 or K_li. With ``cycles="printed"`` A_li counts all copies and there is no
B. Equations (3) and (6) of the paper follow from X being 0-1 (rule 2).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, product

from ioopt.models.program import Number, Program, Term
from ioopt.models.replication.static import Cycles, Moves, StaticInstance, loads
from ioopt.problems.base import collector_paused

Key = tuple[int, int]
"""A file and a node."""


class AggregatedModel:
    """Build the aggregated model of one static instance, with times in whole units.

    ``replication=False`` leaves out every copy. ``lower`` and ``upper`` limit M, in
    units. ``evictable`` lets held files be deleted before the transfers begin (for
    later rounds). ``relays`` lets a node receive a file that it does not read, if it
    sends on at least two copies (acyclic copies only).
    """

    @collector_paused()
    def __init__(
        self,
        instance: StaticInstance,
        *,
        cycles: Cycles = "acyclic",
        replication: bool = True,
        evictable: bool = False,
        relays: bool = False,
        lower: int = 0,
        upper: int | None = None,
    ) -> None:
        self.instance = instance
        self.program = program = Program("replication", unit=instance.unit)
        self.cycles = cycles
        self.replication = replication
        self.evictable = evictable
        self.relays = relays
        nodes = range(instance.num_nodes)
        files = range(instance.num_files)
        self._nodes = nodes
        self._files = files
        most = instance.num_nodes - 1
        self.T: list[list[int]] = []
        for k, group in enumerate(instance.classes):
            row = [program.whole(f"T_{k}_{i}", 0, group.count) for i in nodes]
            self.T.append(row)
        pairs = list(product(files, nodes))
        fetched = [(l, i) for l, i in pairs if l not in instance.held[i]]
        kept = [(l, i) for l, i in pairs if l in instance.held[i]]
        has_copies = replication and most > 0
        has_relays = has_copies and cycles == "acyclic" and most > 1
        self.R = self._binaries("R", fetched)
        self.K = self._binaries("K", kept if evictable else [])
        self.N = self._binaries("N", fetched if has_copies else [])
        self.A = self._counts("A", pairs if has_copies else [], most)
        self.B = self._counts("B", fetched if has_relays else [], most - 1)
        if upper is None:
            upper = horizon(instance)
        self.span = program.time("M", lower, upper)
        for method in (
            self.eq_2_copies_have_readers,
            self.eq_4_every_task_runs,
            self.eq_5_stored_once,
            self.eq_7_inputs_are_there,
            self.eq_8_every_file_is_fetched,
            self.senders_hold,
            self.sends_match_arrivals,
            self.descent,
            self.eq_13_batch_time,
            self.eq_21_disks,
        ):
            method()
        program.objective[self.span] = 1

    def _binaries(self, name: str, keys: list[Key]) -> dict[Key, int]:
        """Return a new 0-1 variable for each (file, node) of *keys*."""
        return {(l, i): self.program.binary(f"{name}_{l}_{i}") for l, i in keys}

    def _counts(self, name: str, keys: list[Key], most: int) -> dict[Key, int]:
        """Return a new integer variable from 0 to *most* for each (file, node) of
        *keys*.
        """
        return {(l, i): self.program.whole(f"{name}_{l}_{i}", 0, most) for l, i in keys}

    def stored(self, file: int, node: int) -> list[Term]:
        """Return X_li as terms.

        A held file that cannot leave is always there, and has no terms.
        """
        key = file, node
        return [(table[key], 1) for table in (self.R, self.N, self.K) if key in table]

    def always(self, file: int, node: int) -> bool:
        """Return whether *file* is on *node* in every solution."""
        return file in self.instance.held[node] and not self.evictable

    def eq_2_copies_have_readers(self) -> None:
        """(2): a file is copied only to a node with a task that reads it, or to a
        relay.
        """
        for (file, node), arrives in self.N.items():
            factor = 2 if self.relays else 1
            rights = [(self.T[k][node], factor) for k in self.instance.readers[file]]
            if self.relays:
                rights.append((self.B[file, node], 1))
            self.program.add(
                f"eq2_{file}_{node}", [*rights, (arrives, -factor)], least=0
            )

    def eq_4_every_task_runs(self) -> None:
        """(4): every task of a class runs on some node."""
        for k, group in enumerate(self.instance.classes):
            terms = [(variable, 1) for variable in self.T[k]]
            self.program.add(f"eq4_{k}", terms, group.count, group.count)

    def eq_5_stored_once(self) -> None:
        """(3), (5), (6): a file reaches a node at most once, by a fetch or by a
        copy.
        """
        for key in self.N:
            self.program.add(f"eq5_{key[0]}_{key[1]}", self.stored(*key), most=1)

    def eq_7_inputs_are_there(self) -> None:
        """(7): a task runs only on a node that stores all its files."""
        for k, group in enumerate(self.instance.classes):
            for file in group.inputs:
                for node in self._nodes:
                    if self.always(file, node):
                        continue
                    there = [(v, -group.count) for v, _ in self.stored(file, node)]
                    self.program.add(
                        f"eq7_{k}_{file}_{node}", [(self.T[k][node], 1), *there], most=0
                    )

    def eq_8_every_file_is_fetched(self) -> None:
        """(8): every file that no node holds is fetched at least once."""
        for file in self._files:
            if not self.instance.holders(file):
                fetches = [(self.R[file, node], 1) for node in self._nodes]
                self.program.add(f"eq8_{file}", fetches, least=1)

    def senders_hold(self) -> None:
        """(1): a node sends only copies of a file that it stores.

        A counts for files that it fetched or holds, B for files that were copied to it.
        """
        most = self.instance.num_nodes - 1
        has = [self.R, self.K]
        if self.cycles == "printed":
            has.append(self.N)
        for (file, node), sends in self.A.items():
            if self.always(file, node):
                continue
            rights = [
                (table[file, node], most) for table in has if (file, node) in table
            ]
            self.program.add(f"sendR_{file}_{node}", [*rights, (sends, -1)], least=0)
        for (file, node), sends in self.B.items():
            terms = [(self.N[file, node], most - 1), (sends, -1)]
            self.program.add(f"sendN_{file}_{node}", terms, least=0)

    def sends_match_arrivals(self) -> None:
        """Require that as many copies are sent as arrive, and that no node sends to
        itself.
        """
        if not self.A:
            return
        for file in self._files:
            arrivals: dict[int, Term] = {}
            for node in self._nodes:
                if (file, node) in self.N:
                    arrivals[node] = (self.N[file, node], 1)
            sends = self._sent(self.A, file) + self._sent(self.B, file)
            self.program.add(f"flow_{file}", [*arrivals.values(), *sends], 0, 0)
            for node in self._nodes:
                others = [term for i, term in arrivals.items() if i != node]
                tables = [table for table in (self.A, self.B) if (file, node) in table]
                out = [(table[file, node], -1) for table in tables]
                self.program.add(f"self_{file}_{node}", [*others, *out], least=0)

    def _sent(self, table: Mapping[tuple[int, int], int], file: int) -> list[Term]:
        """Return minus the number of copies of *file* sent, counted by the variables in
        *table*.
        """
        return [(table[file, i], -1) for i in self._nodes if (file, i) in table]

    def descent(self) -> None:
        """Require for acyclic copies: if a copy of a file arrives, some root sends
        one.
        """
        if self.cycles == "printed":
            return
        for (file, node), arrives in self.N.items():
            roots = [(self.A[file, i], 1) for i in self._nodes]
            self.program.add(f"descent_{file}_{node}", [*roots, (arrives, -1)], least=0)

    def load(self, node: int) -> list[Term]:
        """Return Exec_i (12), the time of a node, as terms in units.

        The parts are both ends of a copy (9), the computing (10) and the fetches (11).
        """
        instance = self.instance
        terms = [
            (self.T[k][node], instance.work[k][node])
            for k in range(len(instance.classes))
        ]
        for file in self._files:
            key = (file, node)
            if key in self.R:
                terms.append((self.R[key], instance.far[file]))
            for table in (self.N, self.A, self.B):
                if key in table:
                    terms.append((table[key], instance.near[file]))
        return [(variable, factor) for variable, factor in terms if factor]

    def eq_13_batch_time(self) -> None:
        """(13): M >= Exec_i for every node i, and C M >= the sum of all Exec_i (a
        cut).
        """
        everything: list[Term] = []
        for node in self._nodes:
            terms = self.load(node)
            everything += terms
            self.program.add(
                f"eq13_{node}", [*terms, (self.span, -1)], most=0, timed=True
            )
        everything.append((self.span, -len(self._nodes)))
        self.program.add("total_load", everything, most=0, timed=True)

    def eq_21_disks(self) -> None:
        """(21): the files stored on a node fit on its disk, beside held files that
        nobody reads.
        """
        for node, room in enumerate(self.instance.room):
            if room is None:
                continue
            sizes = self.instance.sizes
            fixed = sum(sizes[file] for file in self._files if self.always(file, node))
            terms: list[Term] = []
            for file in self._files:
                terms += [(x, sizes[file]) for x, _ in self.stored(file, node)]
            self.program.add(f"eq21_{node}", terms, most=room - fixed)

    def hint(self, moves: Moves) -> dict[int, int]:
        """Return a value for every variable, by position, that represents *moves*."""
        instance = self.instance
        # The most decisive variables come first.
        tables = (table.values() for table in (self.R, self.K, self.N, self.A, self.B))
        values = dict.fromkeys(chain([self.span], *self.T, *tables), 0)
        for node, k in zip(moves.assign, instance.class_of, strict=True):
            values[self.T[k][node]] += 1
        for variable in self.K.values():
            values[variable] = 1
        for move in moves.remote:
            values[self.R[move]] = 1
        arrived = {(file, target) for file, _, target in moves.copies}
        for file, source, target in moves.copies:
            values[self.N[file, target]] = 1
            sent = self.A
            if self.B and (file, source) in arrived:
                sent = self.B
            values[sent[file, source]] += 1
        values[self.span] = max(loads(instance, moves), default=0)
        return values

    def moves(self, values: Mapping[int, Number]) -> Moves:
        """Return the assignment, fetches and copies of a solution; *values* are keyed
        by variable.
        """
        instance = self.instance

        def value(variable: int) -> int:
            return round(values[variable])

        assign = [0] * len(instance.problem.tasks)
        for group, row in zip(instance.classes, self.T, strict=True):
            waiting = iter(group.tasks)
            for node, variable in enumerate(row):
                for _ in range(value(variable)):
                    assign[next(waiting)] = node
        remote = [pair for pair, variable in self.R.items() if value(variable)]
        kept = [pair for pair, variable in self.K.items() if value(variable)]
        copies = self._copies_of({*remote, *kept}, value)
        return Moves(tuple(assign), tuple(remote), tuple(copies))

    def _copies_of(
        self, there: set[tuple[int, int]], value: Callable[[int], int]
    ) -> list[tuple[int, int, int]]:
        """Return (file, source, destination) of all copies in a solution.

        *there* are the pairs (file, node) of fetched and kept files; *value* returns
        the value of a variable.
        """
        receivers: dict[int, list[int]] = defaultdict(list)
        for (file, node), variable in self.N.items():
            if value(variable):
                receivers[file].append(node)
        copies: list[tuple[int, int, int]] = []
        for file, nodes in sorted(receivers.items()):
            sends = dict.fromkeys(self._nodes, 0)
            roots = []
            for node in self._nodes:
                for table in (self.A, self.B):
                    if (file, node) in table:
                        sends[node] += value(table[file, node])
                if (file, node) in there or self.always(file, node):
                    roots.append(node)
            copies.extend((file, i, j) for i, j in attach(roots, nodes, sends))
        return copies


def attach(
    roots: Iterable[int], receivers: Iterable[int], sends: Mapping[int, int]
) -> list[tuple[int, int]]:
    """Return (source, destination) pairs so that each receiver gets one copy.

    Node i sends ``sends[i]`` copies. The roots send first.
    """
    left = dict(sends)
    open_nodes = [node for node in roots if left.get(node, 0) > 0]
    waiting = sorted(receivers, key=lambda node: (-sends.get(node, 0), node))
    pairs: list[tuple[int, int]] = []
    while waiting and open_nodes:
        source = open_nodes[0]
        target = waiting.pop(0)
        pairs.append((source, target))
        left[source] -= 1
        if left.get(target, 0) > 0:
            open_nodes.append(target)
        if left[source] == 0:
            open_nodes.pop(0)
    if waiting:
        sources: list[int] = []
        for node in sorted(left):
            sources += [node] * left[node]
        pairs.extend(_pass_round(sources, waiting))
    return pairs


def _pass_round(sources: list[int], targets: list[int]) -> list[tuple[int, int]]:
    """Match sources with targets, and exchange some so that no node sends to itself."""
    pairs = list(zip(sources, sorted(targets), strict=True))
    for k, (source, target) in enumerate(pairs):
        if source != target:
            continue
        for m, (other, place) in enumerate(pairs):
            if other != target and place != source:
                pairs[k] = (other, target)
                pairs[m] = (source, place)
                break
    return pairs


def horizon(instance: StaticInstance) -> int:
    """Return an upper limit of M: the time if one node fetched and computed
    everything.
    """
    total = sum(instance.far) + 2 * instance.num_nodes * sum(instance.near)
    for group, work in zip(instance.classes, instance.work, strict=True):
        total += group.count * max(work)
    return total


def num_columns(instance: StaticInstance) -> int:
    """Return the approximate number of columns of the aggregated model."""
    return instance.num_nodes * (5 * instance.num_files + len(instance.classes))
