"""Formulate the integer program of Khanna et al., Section 4.1, (1)-(13), and (21).

The equations are as printed. Sets: compute nodes i and j, C in number; tasks k; files
l. Access_k are the files that task k reads, Require_l the tasks that read file l.
Variables, all 0-1 but for the last:

    T_ki   1 if task k runs on node i
    X_li   1 if file l is stored on node i
    R_li   1 if file l is fetched to node i from remote storage
    Y_ijl  1 if node i copies file l to node j
    Batch_Exec_Time, at least the execution time Exec_i of every node i

Departures from the paper:

- (9) and (11) of the paper omit the file size. The costs t_rep and t_rem are per byte,
  so every term is multiplied by the size.
- (10) divides the compute time Comp_k by the speed of the node (1 in the paper).
- Files that no task reads are left out. A file that node i holds from the start has
  X_li = 1, R_li = 0 and no copies to i, and (8) is waived for it.
- From three nodes up, (1)-(8) allow copies in a cycle: nodes copy a file to each other
  and none has it from a source (rule 3). ``cycles="printed"`` keeps that. ``"acyclic"``
  adds a level U_li of each file on each node and U_jl >= U_il + 1 - C (1 - Y_ijl).
- ``replication=False`` leaves out every Y (Figure 4a, "IP with no replication").
- (21) is added for nodes with a disk limit.
"""

import re
from collections.abc import Mapping
from itertools import product

from ioopt.models.program import Number, Program, Term
from ioopt.models.replication.static import Cycles, Moves, StaticInstance, reduce
from ioopt.problems.replication import ReplicationProblem

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9.]{0,23}")


class PrintedModel:
    """Build the printed model of one problem, in seconds and with readable names.

    A name contains ids of the instance if all ids of the kind are short and plain,
    otherwise positions: ``T_t0_n1``, ``X_f3_n0``, ``R_f3_n0``, ``Y_n0_n1_f3``.
    """

    def __init__(
        self,
        problem: ReplicationProblem,
        cycles: Cycles = "printed",
        replication: bool = True,
    ) -> None:
        self.instance: StaticInstance = reduce(problem, merge=False)
        self.cycles = cycles
        self.replication = replication
        self._f = _names("f", [problem.files[k].id for k in self.instance.files])
        self._n = _names("n", [node.id for node in problem.nodes])
        self._t = _names("t", [task.id for task in problem.tasks])
        self._nodes = range(len(self._n))
        self._files = range(len(self._f))
        self.program = Program("replication")
        self._variables()
        self.program.objective[self.M] = 1
        for method in (
            self.eq_1,
            self.eq_2,
            self.eq_3,
            self.eq_4,
            self.eq_5,
            self.eq_6,
            self.eq_7,
            self.eq_8,
            self.eq_13,
            self.eq_21,
            self.levels,
        ):
            method()

    def _variables(self) -> None:
        """Add the variables, and fix X = 1 and R = 0 of files held from the start."""
        f = self._f
        n = self._n
        t = self._t
        held = self.instance.held
        binary = self.program.binary
        tasks = product(range(len(t)), self._nodes)
        self.T = {(k, i): binary(f"T_{t[k]}_{n[i]}") for k, i in tasks}
        pairs = list(product(self._files, self._nodes))
        self.X = {(l, i): binary(f"X_{f[l]}_{n[i]}") for l, i in pairs}
        self.R = {(l, i): binary(f"R_{f[l]}_{n[i]}") for l, i in pairs}
        self.Y: dict[tuple[int, int, int], int] = {}
        if self.replication:
            for i, j, l in product(self._nodes, self._nodes, self._files):
                if i != j and l not in held[j]:
                    self.Y[i, j, l] = binary(f"Y_{n[i]}_{n[j]}_{f[l]}")
        self.U: dict[tuple[int, int], int] = {}
        if self.cycles == "acyclic":
            most = max(len(n) - 1, 0)
            self.U = {
                (l, i): self.program.real(f"U_{f[l]}_{n[i]}", 0, most) for l, i in pairs
            }
        self.M = self.program.real("Batch_Exec_Time", 0)
        for node, files in enumerate(held):
            for file in files:
                self.program.hold(self.X[file, node], least=1)
                self.program.hold(self.R[file, node], most=0)

    def _in(self, file: int, node: int, factor: int = 1) -> list[Term]:
        """Return *factor* times the sum over j of Y_jil: the copies of a file to a
        node.
        """
        sources = ((j, node, file) for j in self._nodes)
        return [(self.Y[key], factor) for key in sources if key in self.Y]

    def eq_1(self) -> None:
        """(1): Y_ijl <= X_li. A node copies only what it stores."""
        for (i, j, l), y in self.Y.items():
            name = f"eq1_{self._n[i]}_{self._n[j]}_{self._f[l]}"
            self.program.add(name, [(y, 1), (self.X[l, i], -1)], most=0)

    def eq_2(self) -> None:
        """(2): Y_ijl <= sum of T_kj over k in Require_l. A file is copied only to a
        node with a task that reads it.
        """
        for (i, j, l), y in self.Y.items():
            readers = [(self.T[k, j], -1) for k in self.instance.readers[l]]
            name = f"eq2_{self._n[i]}_{self._n[j]}_{self._f[l]}"
            self.program.add(name, [(y, 1), *readers], most=0)

    def eq_3(self) -> None:
        """(3): sum over j of Y_jil <= 1. At most one node copies a file to a node."""
        if not self.Y:
            return
        for l, i in self.X:
            self.program.add(f"eq3_{self._f[l]}_{self._n[i]}", self._in(l, i), most=1)

    def eq_4(self) -> None:
        """(4): sum over i of T_ki = 1. Each task runs on one node."""
        for k, name in enumerate(self._t):
            self.program.add(
                f"eq4_{name}", [(self.T[k, i], 1) for i in self._nodes], 1, 1
            )

    def eq_5(self) -> None:
        """(5): X_li = R_li + sum over j of Y_jil. A stored file was fetched or copied.

        A file held from the start needs neither and has no such equation.
        """
        for (l, i), x in self.X.items():
            if l not in self.instance.held[i]:
                terms = [(x, 1), (self.R[l, i], -1), *self._in(l, i, -1)]
                self.program.add(f"eq5_{self._f[l]}_{self._n[i]}", terms, 0, 0)

    def eq_6(self) -> None:
        """(6): R_li + sum over j of Y_jil <= 1. A file is not both fetched and copied
        to a node.
        """
        for (l, i), r in self.R.items():
            terms = [(r, 1), *self._in(l, i)]
            self.program.add(f"eq6_{self._f[l]}_{self._n[i]}", terms, most=1)

    def eq_7(self) -> None:
        """(7): T_ki <= X_li for l in Access_k. A task runs only where all its files are
        stored.
        """
        for k, group in enumerate(self.instance.classes):
            for l in group.inputs:
                for i in self._nodes:
                    name = f"eq7_{self._t[k]}_{self._f[l]}_{self._n[i]}"
                    self.program.add(
                        name, [(self.T[k, i], 1), (self.X[l, i], -1)], most=0
                    )

    def eq_8(self) -> None:
        """(8): sum over i of R_li >= 1. Every file is fetched at least once, unless a
        node holds it.
        """
        for l, name in enumerate(self._f):
            if not self.instance.holders(l):
                terms = [(self.R[l, i], 1) for i in self._nodes]
                self.program.add(f"eq8_{name}", terms, least=1)

    def replication_seconds(self, node: int) -> list[Term]:
        """Return Replication_i (9): sum over j and l of (Y_jil + Y_ijl) x t_rep x size
        of l.

        Both ends of a copy are charged (rule 4).
        """
        near = self.instance.near
        seconds = self.instance.seconds
        return [
            (y, seconds(near[l])) for (i, j, l), y in self.Y.items() if node in (i, j)
        ]

    def computation_seconds(self, node: int) -> list[Term]:
        """Return Computation_i (10): sum over k of Comp_k x T_ki, divided by the speed
        of the node.
        """
        work = self.instance.work
        seconds = self.instance.seconds
        return [(self.T[k, node], seconds(work[k][node])) for k in range(len(self._t))]

    def remote_seconds(self, node: int) -> list[Term]:
        """Return Remote_i (11): sum over l of R_li x t_rem x size of l."""
        far = self.instance.far
        seconds = self.instance.seconds
        return [(self.R[l, node], seconds(far[l])) for l in self._files]

    def eq_13(self) -> None:
        """(12), (13): Batch_Exec_Time >= Exec_i = Replication_i + Remote_i +
        Computation_i.
        """
        for i, name in enumerate(self._n):
            exec_seconds = [
                *self.replication_seconds(i),
                *self.computation_seconds(i),
                *self.remote_seconds(i),
            ]
            self.program.add(f"eq13_{name}", [*exec_seconds, (self.M, -1)], most=0)

    def eq_21(self) -> None:
        """(21): sum over l of X_li x size of l <= DiskSpace_i, for nodes with a disk
        limit.
        """
        for i, room in enumerate(self.instance.room):
            if room is not None:
                sizes = [(self.X[l, i], self.instance.sizes[l]) for l in self._files]
                self.program.add(f"eq21_{self._n[i]}", sizes, most=room)

    def levels(self) -> None:
        """Forbid copies in a cycle (not in the paper): U_jl >= U_il + 1 - C (1 -
        Y_ijl).

        A copy goes to a higher level U of its file. C is the number of nodes.
        """
        if not self.U:
            return
        count = len(self._n)
        for (i, j, l), y in self.Y.items():
            name = f"level_{self._n[i]}_{self._n[j]}_{self._f[l]}"
            terms = [(self.U[l, j], 1), (self.U[l, i], -1), (y, -count)]
            self.program.add(name, terms, least=1 - count)

    def moves(self, values: Mapping[int, Number]) -> Moves:
        """Return the assignment, fetches and copies of a solution; *values* are keyed
        by variable.
        """

        def on(variable: int) -> bool:
            return values[variable] > 0.5

        node_of = {k: i for (k, i), variable in self.T.items() if on(variable)}
        return Moves(
            tuple(node_of[k] for k in range(len(self._t))),
            tuple(move for move, variable in self.R.items() if on(variable)),
            tuple((l, i, j) for (i, j, l), variable in self.Y.items() if on(variable)),
        )


def _names(prefix: str, ids: list[str]) -> list[str]:
    """Return *ids* as names if all are short and plain; otherwise *prefix* plus
    position.
    """
    if all(_PLAIN.fullmatch(name) for name in ids):
        return ids
    return [f"{prefix}{k}" for k in range(len(ids))]


def num_terms(problem: ReplicationProblem, replication: bool = True) -> int:
    """Return the approximate number of coefficients of the printed model."""
    nodes = len(problem.nodes)
    pairs = nodes * (nodes - 1) if replication else 0
    requests = sum(len(files) for files in problem.inputs)
    files = sum(1 for readers in problem.readers if readers)
    return pairs * (files * 12 + requests) + nodes * (requests * 2 + files * 6)
