"""Formulate the gang decision by the number of rows of each option (ours).

The matrix has M rows (time slices) and P columns (nodes). An option o places a job on
n_o nodes. Q is what is left of the budget of migrations. Variables: u[o] is 1 if option
o is taken; y[o] is its number of rows, with u[o] <= y[o] <= M u[o].

Objective: maximise the sum of worth_o y[o]. Constraints:

(1) sum of u[o] over the options of a running job = 1, of a waiting job <= 1
(2) sum of y[o] over the options in a clique K <= M
(3) with remote options: y[o] = u[o] for each of them, and over all options sum of n_o
    y[o] <= P M and, for k = 1 to 4, sum of (ceil((k+1) n_o / P) - 1) y[o] <= k M
(4) sum of cost_o u[o] <= Q
(5) with a FCFS queue: sum of u[o] over the options of a waiting job <= the same sum of
    the job before it
(6) guard (ours): nodes of the running jobs + sum of n_o u[o] over the remote options
    that are slower than local ones <= share x M x P

A clique K is a set of options that share a node. The last form of (3) is rounded
(Chvatal-Gomory): for k = 1 it says that M rows hold at most M times a job of more than
P/2 nodes.

The program is exact where every option covers an interval of the columns (interval
graphs are perfect) and the remote jobs find room. Otherwise it bounds
:mod:`ioopt.models.gang.assignment` from above.

:class:`ReplicatedModel` lets a remote option have up to M rows. It bounds the matrix of
every policy, also of those that give several rows to a job that starts remote. Such a
job has the same columns in all its rows. A class A is a set of |A| columns that the
same options cover; F_A is the number of rows that these options take there. Further
variables: z[o,k] is 1 if option o has k rows; t[A,k] is the number of columns of A
given to tasks of jobs with k rows; g[A,k] is a whole number, the most tasks with at
least k rows that one column of A can take.

(7) sum over k of z[o,k] = u[o] and sum over k of k z[o,k] = y[o], for every remote o;
    sum over A of t[A,k] = sum over the remote o of n_o z[o,k], for every k
(8) |A| F_A + sum over k of k t[A,k] <= |A| M, for every A
(9) sum over i >= k of t[A,i] <= |A| g[A,k] and k g[A,k] <= M - F_A, for every A and k
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from ioopt.models.gang.question import Question
from ioopt.models.program import Program

ROUNDED = 4
"""Number of rounded forms of constraint (3): k = 1 to this number."""


def program_of(question: Question, name: str) -> Program:
    """Return an empty program to be maximised.

    Its unit is the inverse of the largest worth, to suit the tolerances of backends.
    """
    largest = max((abs(option.worth) for option in question.options), default=1)
    return Program(name, maximise=True, unit=Fraction(1, largest or 1))


def add_choice(program: Program, question: Question) -> list[int | None]:
    """Add the variables u[o] and the constraints (1), (4), (5) and (6).

    Return the variable of each option. It is None for the only option of a running job,
    which is always taken.
    """
    taken: list[int | None] = [None] * len(question.options)
    for j, options in enumerate(question.by_job):
        if j < question.num_running and len(options) == 1:
            continue
        for o in options:
            taken[o] = program.binary(f"u_{o}")
        least = None
        if j < question.num_running:
            least = 1
        program.add(f"choice_{j}", _terms(taken, options, 1), least, 1)
    _add_budget(program, question, taken)
    _add_guard(program, question, taken)
    if question.fcfs:
        for j in range(question.num_running + 1, len(question.jobs)):
            later = _terms(taken, question.by_job[j], 1)
            before = _terms(taken, question.by_job[j - 1], -1)
            program.add(f"fcfs_{j}", [*later, *before], most=0)
    return taken


def _terms(
    taken: list[int | None], options: Sequence[int], factor: int
) -> list[tuple[int, int]]:
    """Return *factor* times the sum of u[o] over *options*.

    Options without a variable u[o] are left out.
    """
    return [(at, factor) for o in options if (at := taken[o]) is not None]


def _add_budget(program: Program, question: Question, taken: list[int | None]) -> None:
    """Add (4): the migrations cost at most what is left of the budget."""
    costs = []
    for at, option in zip(taken, question.options):
        if option.cost and at is not None:
            costs.append((at, option.cost))
    if costs:
        program.add("budget", costs, most=question.budget)


def _add_guard(program: Program, question: Question, taken: list[int | None]) -> None:
    """Add the guard (6), unless all guarded remote starts together satisfy it."""
    starts = []
    for o in question.guarded:
        at = taken[o]
        if at is not None:
            starts.append((at, question.options[o].size))
    if sum(size for _, size in starts) > question.remote_slots:
        program.add("guard", starts, most=question.remote_slots)


class RowFreeModel:
    """Build the row-free program of a question.

    :attr:`program` is to be maximised: its objective is the sum of the worths. With
    *replicated* a remote option may have more than one row.
    """

    def __init__(self, question: Question, replicated: bool = False) -> None:
        self.question = question
        self.replicated = replicated
        self.program = program_of(question, "gang_row_free")
        self.taken = add_choice(self.program, question)
        self.rows = [self._rows_variable(o) for o in range(len(question.options))]
        for k, clique in enumerate(question.cliques):  # (2)
            terms = [(self.rows[o], 1) for o in clique]
            self.program.add(f"clique_{k}", terms, most=question.levels)
        self._add_slots()

    def _rows_variable(self, o: int) -> int:
        """Add the variable y[o] with u[o] <= y[o] <= M u[o], and return its
        position.
        """
        option = self.question.options[o]
        taken = self.taken[o]
        most = self.question.levels
        if option.deed == "remote" and not self.replicated:
            most = 1
        rows = self.program.whole(f"y_{o}", 0 if taken is not None else 1, most)
        if option.worth:
            self.program.objective[rows] = option.worth
        if taken is not None:
            self.program.add(f"some_{o}", [(taken, 1), (rows, -1)], most=0)
            self.program.add(f"most_{o}", [(rows, 1), (taken, -most)], most=0)
        return rows

    def _add_slots(self) -> None:
        """Add (3), if there are remote options: all tasks together fit into all
        slots.
        """
        question = self.question
        if not question.remote:
            return
        terms = [(at, option.size) for at, option in zip(self.rows, question.options)]
        self.program.add("slots", terms, most=question.nodes * question.levels)
        for k in range(1, ROUNDED + 1):
            rounded = []
            for at, option in zip(self.rows, question.options):
                factor = -(-(k + 1) * option.size // question.nodes) - 1
                if factor:
                    rounded.append((at, factor))
            self.program.add(f"slots_{k}", rounded, most=k * question.levels)

    def start(self, spans: Mapping[int, int]) -> list[int]:
        """Return the values of all variables that represent a matrix.

        *spans* holds, for each option taken, the mask of its rows.
        """
        values = [0] * len(self.program.variables)
        for o, span in spans.items():
            limit = self.program.variables[self.rows[o]].most
            values[self.rows[o]] = min(span.bit_count(), int(limit or 0))
            if (taken := self.taken[o]) is not None:
                values[taken] = 1
        return values

    def counts(self, point: Sequence[int]) -> dict[int, int]:
        """Return, for each option that a solution takes, its number of rows."""
        return {o: point[at] for o, at in enumerate(self.rows) if point[at]}


class ReplicatedModel(RowFreeModel):
    """Build the row-free program in which remote options may have several rows.

    A remote option has the same columns in all its rows.
    """

    def __init__(self, question: Question) -> None:
        super().__init__(question, replicated=True)
        if question.remote:
            self.add_columns(self.add_row_counts())

    def add_row_counts(self) -> list[list[tuple[int, int]]]:
        """Add the variables z[o,k] and the part of constraints (7) for each option.

        Return, for each k, (variable z[o,k], number of tasks n_o) of every remote
        option.
        """
        levels = self.question.levels
        program = self.program
        counted: list[list[tuple[int, int]]] = [[] for _ in range(levels)]
        for o in self.question.remote:
            have = [program.binary(f"z_{o}_{k}") for k in range(1, levels + 1)]
            taken = self.taken[o]
            assert taken is not None
            program.add(f"one_{o}", [*((z, 1) for z in have), (taken, -1)], 0, 0)
            linked = [(z, k) for k, z in enumerate(have, start=1)]
            program.add(f"rows_{o}", [*linked, (self.rows[o], -1)], 0, 0)
            for tasks, z in zip(counted, have):
                tasks.append((z, self.question.options[o].size))
        return counted

    def add_columns(self, counted: list[list[tuple[int, int]]]) -> None:
        """Add (8) and (9) for every class of columns, and the part of (7) for each k.

        *counted* is what :meth:`add_row_counts` returns.
        """
        program = self.program
        levels = self.question.levels
        classes = self._classes()
        places: list[list[tuple[int, int]]] = [[] for _ in range(levels)]
        for a, (cover, size) in enumerate(classes.items()):
            used = [
                program.whole(f"t_{a}_{k}", 0, size * (levels // k))
                for k in range(1, levels + 1)
            ]
            taken = [(self.rows[o], 1) for o in cover]
            slots = [(at, size) for at, _ in taken] + [
                (t, k) for k, t in enumerate(used, start=1)
            ]
            program.add(f"column_slots_{a}", slots, most=size * levels)
            for k in range(2, levels + 1):
                room = program.whole(f"g_{a}_{k}", 0, levels // k)
                program.add(f"room_{a}_{k}", [*taken, (room, k)], most=levels)
                deep = [(t, 1) for t in used[k - 1 :]]
                program.add(f"deep_{a}_{k}", [*deep, (room, -size)], most=0)
            for k, t in enumerate(used):
                places[k].append((t, -1))
        for k, tasks in enumerate(counted, start=1):
            program.add(f"tasks_{k}", [*tasks, *places[k - 1]], 0, 0)

    def _classes(self) -> Counter[tuple[int, ...]]:
        """Return the number of columns in each class.

        The key of a class is the tuple of the options that cover its columns.
        """
        options = self.question.options
        fixed = [o for o, option in enumerate(options) if option.columns]
        classes = Counter[tuple[int, ...]]()
        for node in range(self.question.nodes):
            classes[tuple(o for o in fixed if options[o].columns >> node & 1)] += 1
        return classes
