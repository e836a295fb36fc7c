"""Aggregated formulation (ours, exact): the static model with O(C L) columns
instead of O(C^2 L).

Who copies to whom is found afterwards (:meth:`AggregatedModel.moves`;
docs/replication-models.md). Sets: nodes i, files l, task classes k. Variables:

    T_ki tasks of class k on node i R_li file l fetched to node i (0-1) N_li file l
    copied to node i (0-1) A_li, B_li copies of l sent by i as a root, as a copy M batch
    time (13) K_li held file kept (only with ``evictable``)

X_li = R_li + N_li (+ 1 or K_li where held). With ``cycles="printed"`` A and B are one variable;
(3), (6) follow from X being 0-1 (rule 2).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain

from ioopt.models.program import Number, Program, Term
from ioopt.models.replication.static import Cycles, Moves, StaticInstance, loads
from ioopt.problems.base import collector_paused


class AggregatedModel:
    """The aggregated model of one static instance; times are whole
    units of the instance.

    ``replication=False`` leaves out every copy. ``lower`` and ``upper`` bound M in
    units. ``evictable`` lets held files go before the transfers begin (later rounds).
    ``relays`` lets nodes receive what they do not read, where they pass it on twice or
    more (acyclic copies only).
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
        self.T = [
            [program.whole(f"T_{k}_{i}", 0, group.count) for i in nodes]
            for k, group in enumerate(instance.classes)
        ]
        held = instance.held
        self.R = {
            (l, i): program.binary(f"R_{l}_{i}")
            for l in files
            for i in nodes
            if l not in held[i]
        }
        self.K = {
            (l, i): program.binary(f"K_{l}_{i}")
            for l in files
            for i in nodes
            if evictable and l in held[i]
        }
        self.N: dict[tuple[int, int], int] = {}
        self.A: dict[tuple[int, int], int] = {}
        self.B: dict[tuple[int, int], int] = {}
        if replication and most > 0:
            self.N = {key: program.binary(f"N_{key[0]}_{key[1]}") for key in self.R}
            self.A = {
                (l, i): program.whole(f"A_{l}_{i}", 0, most)
                for l in files
                for i in nodes
            }
            if cycles == "acyclic" and most > 1:
                self.B = {
                    key: program.whole(f"B_{key[0]}_{key[1]}", 0, most - 1)
                    for key in self.N
                }
        self.span = program.time(
            "M", lower, horizon(instance) if upper is None else upper
        )
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

    def stored(self, file: int, node: int) -> list[Term]:
        """X_li as terms (variable, 1); a held file that cannot go has none
        and is always there.
        """
        keys = (
            table[file, node]
            for table in (self.R, self.N, self.K)
            if (file, node) in table
        )
        return [(variable, 1) for variable in keys]

    def always(self, file: int, node: int) -> bool:
        """Whether the file is on the node whatever the model decides."""
        return file in self.instance.held[node] and not self.evictable

    def eq_2_copies_have_readers(self) -> None:
        """(2): a file is copied only to a node with a task that
        reads it, or a relay.
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
        """(4): all tasks of a class are on nodes."""
        for k, group in enumerate(self.instance.classes):
            terms = [(variable, 1) for variable in self.T[k]]
            self.program.add(f"eq4_{k}", terms, group.count, group.count)

    def eq_5_stored_once(self) -> None:
        """(3), (5), (6): a file reaches a node once, by fetch or by copy."""
        for key in self.N:
            self.program.add(f"eq5_{key[0]}_{key[1]}", self.stored(*key), most=1)

    def eq_7_inputs_are_there(self) -> None:
        """(7): tasks run only where their files are."""
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
        """(8): at least one remote transfer of every file that no node holds."""
        for file in self._files:
            if not self.instance.holders(file):
                fetches = [(self.R[file, node], 1) for node in self._nodes]
                self.program.add(f"eq8_{file}", fetches, least=1)

    def senders_hold(self) -> None:
        """(1): roots send what they fetched or hold, other nodes
        what was copied to them.
        """
        most = self.instance.num_nodes - 1
        for (file, node), sends in self.A.items():
            if self.always(file, node):
                continue
            has = (
                [self.R, self.K]
                if self.cycles == "acyclic"
                else [self.R, self.K, self.N]
            )
            rights = [(t[file, node], most) for t in has if (file, node) in t]
            self.program.add(f"sendR_{file}_{node}", [*rights, (sends, -1)], least=0)
        for (file, node), sends in self.B.items():
            terms = [(self.N[file, node], most - 1), (sends, -1)]
            self.program.add(f"sendN_{file}_{node}", terms, least=0)

    def sends_match_arrivals(self) -> None:
        """As many copies are sent as arrive, and none of a
        node's sends is to itself.
        """
        for file in self._files if self.A else ():
            arrivals = [
                (self.N[file, i], 1) for i in self._nodes if (file, i) in self.N
            ]
            sends = [
                (t[file, i], -1)
                for t in (self.A, self.B)
                for i in self._nodes
                if (file, i) in t
            ]
            self.program.add(f"flow_{file}", [*arrivals, *sends], 0, 0)
            for node in self._nodes:
                others = [
                    (self.N[file, i], 1)
                    for i in self._nodes
                    if i != node and (file, i) in self.N
                ]
                out = [
                    (t[file, node], -1) for t in (self.A, self.B) if (file, node) in t
                ]
                self.program.add(f"self_{file}_{node}", [*others, *out], least=0)

    def descent(self) -> None:
        """Acyclic: where a copy arrives, some root sends one, so that it
        can descend from it.
        """
        if self.cycles == "printed":
            return
        for (file, node), arrives in self.N.items():
            roots = [(self.A[file, i], 1) for i in self._nodes]
            self.program.add(f"descent_{file}_{node}", [*roots, (arrives, -1)], least=0)

    def load(self, node: int) -> list[Term]:
        """Exec_i (12) as terms in units: (9) both ends of a copy, (10)
        compute, (11) fetches.
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
            terms.extend(
                (t[key], instance.near[file])
                for t in (self.N, self.A, self.B)
                if key in t
            )
        return [(variable, factor) for variable, factor in terms if factor]

    def eq_13_batch_time(self) -> None:
        """(13): M is no less than any Exec_i; and C M no less
        than their sum (a cut).
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
        """(21): the files on a node fit what its disk has left beside
        held files nobody reads.
        """
        for node, room in enumerate(self.instance.room):
            if room is None:
                continue
            sizes = self.instance.sizes
            fixed = sum(sizes[file] for file in self._files if self.always(file, node))
            terms = [
                (variable, sizes[file])
                for file in self._files
                for variable, _ in self.stored(file, node)
            ]
            self.program.add(f"eq21_{node}", terms, most=room - fixed)

    def hint(self, moves: Moves) -> dict[int, int]:
        """A value for EVERY variable, by position, that stands for *moves*."""
        instance = self.instance
        # What decides most first.
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
            sent = self.B if (file, source) in arrived and self.B else self.A
            values[sent[file, source]] += 1
        values[self.span] = max(loads(instance, moves), default=0)
        return values

    def moves(self, values: Mapping[int, Number]) -> Moves:
        """The tasks, fetches and copies that *values* (by position) stand for."""
        instance = self.instance

        def value(variable: int) -> int:
            return round(values[variable])

        assign = [0] * len(instance.problem.tasks)
        for group, row in zip(instance.classes, self.T, strict=True):
            waiting = iter(group.tasks)
            for node, variable in enumerate(row):
                for _ in range(value(variable)):
                    assign[next(waiting)] = node
        remote = [move for move, variable in self.R.items() if value(variable)]
        there = {
            *remote,
            *(pair for pair, variable in self.K.items() if value(variable)),
        }
        receivers: dict[int, list[int]] = defaultdict(list)
        for (file, node), variable in self.N.items():
            if value(variable):
                receivers[file].append(node)
        copies: list[tuple[int, int, int]] = []
        for file, nodes in sorted(receivers.items()):
            sends = {
                node: sum(
                    value(t[file, node]) for t in (self.A, self.B) if (file, node) in t
                )
                for node in self._nodes
            }
            roots = [
                i for i in self._nodes if (file, i) in there or self.always(file, i)
            ]
            copies.extend((file, i, j) for i, j in attach(roots, nodes, sends))
        return Moves(tuple(assign), tuple(remote), tuple(copies))


def attach(
    roots: Iterable[int], receivers: Iterable[int], sends: Mapping[int, int]
) -> list[tuple[int, int]]:
    """(source, destination) pairs, from the roots on: one copy a receiver,
    ``sends[i]`` from node i.
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
        sources = [node for node in sorted(left) for _ in range(left[node])]
        pairs.extend(_pass_round(sources, waiting))
    return pairs


def _pass_round(sources: list[int], targets: list[int]) -> list[tuple[int, int]]:
    """Match sources with targets so that nobody sends to itself, by
    exchanging where needed.
    """
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
    """More units than any useful plan takes: all files fetched by one
    node, all tasks on it.
    """
    total = sum(instance.far) + 2 * instance.num_nodes * sum(instance.near)
    work = sum(g.count * max(instance.work[k]) for k, g in enumerate(instance.classes))
    return total + work


def num_columns(instance: StaticInstance) -> int:
    """About how many columns the aggregated model has."""
    return instance.num_nodes * (5 * instance.num_files + len(instance.classes))
