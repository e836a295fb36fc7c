"""Assign rows and columns of the gang matrix in one decision (ours).

See docs/gang.md, Exact decisions. The matrix has M rows (time slices) and P columns
(nodes). An option o places a job in one way; it takes n_o nodes in each of its rows. Q
is what is left of the budget of migrations. Variables: x[o,r] is 1 if option o is in
row r; u[o] is 1 if option o is taken.

Objective: maximise the sum of worth_o x[o,r] over all options and rows. Constraints:

(1) sum of u[o] over the options of a running job = 1, of a waiting job <= 1
(2) u[o] <= sum over the rows r of x[o,r]; x[o,r] <= u[o]; for a remote option the sum
    over the rows = u[o]
(3) sum of x[o,r] over the options in a clique K <= 1, for every row r
(4) sum of n_o x[o,r] over all options <= P, for every row r, if there are remote
    options
(5) sum of cost_o u[o] <= Q
(6) with a FCFS queue: sum of u[o] over the options of a waiting job <= the same sum of
    the job before it
(7) guard (ours): nodes of the running jobs + sum of n_o u[o] over the remote options
    that are slower than local ones <= share x M x P

A clique K is a set of options that share a node. Remote options have no columns yet:
any n_o free nodes of a row suffice. All rows are alike, so the columns are chosen when
the answer is decoded.
"""

from collections.abc import Mapping, Sequence

from ioopt.models.gang.question import Question
from ioopt.models.gang.row_free import add_choice, program_of


class AssignmentModel:
    """Build the row model of a question.

    :attr:`program` is to be maximised: its objective is the sum of the worths.
    """

    def __init__(self, question: Question) -> None:
        self.question = question
        self.program = program_of(question, "gang_assignment")
        self.taken = add_choice(self.program, question)
        self.cells = [
            [self.program.binary(f"x_{o}_{r}") for r in range(question.levels)]
            for o in range(len(question.options))
        ]
        self.program.objective = {
            cell: option.worth
            for option, cells in zip(question.options, self.cells)
            for cell in cells
            if option.worth
        }
        self._add_rows()
        self._add_cliques()
        if question.remote:
            self._add_slots()

    def _add_cliques(self) -> None:
        """Add (3): in each row at most one of the options that share a node."""
        for k, clique in enumerate(self.question.cliques):
            for r in range(self.question.levels):
                cells = [(self.cells[o][r], 1) for o in clique]
                self.program.add(f"clique_{k}_{r}", cells, most=1)

    def _add_slots(self) -> None:
        """Add (4): in each row all options together use at most P nodes."""
        question = self.question
        for r in range(question.levels):
            rows = zip(self.cells, question.options)
            terms = [(cells[r], option.size) for cells, option in rows]
            self.program.add(f"slots_{r}", terms, most=question.nodes)

    def _add_rows(self) -> None:
        """Add (2): an option has rows if and only if it is taken. A remote one has one
        row.
        """
        for o, (option, taken) in enumerate(zip(self.question.options, self.taken)):
            cells = [(cell, 1) for cell in self.cells[o]]
            if taken is None:
                self.program.add(f"some_{o}", cells, least=1)
            elif option.deed == "remote":
                self.program.add(f"once_{o}", [*cells, (taken, -1)], least=0, most=0)
            else:
                self.program.add(f"some_{o}", [*cells, (taken, -1)], least=0)
                for r, (cell, _) in enumerate(cells):
                    self.program.add(f"taken_{o}_{r}", [(cell, 1), (taken, -1)], most=0)

    def start(self, spans: Mapping[int, int]) -> list[int]:
        """Return the values of all variables that represent a matrix.

        *spans* holds, for each option taken, the mask of its rows.
        """
        values = [0] * len(self.program.variables)
        for o, span in spans.items():
            if self.question.options[o].deed == "remote":
                span &= -span
            for r, cell in enumerate(self.cells[o]):
                values[cell] = span >> r & 1
            if (taken := self.taken[o]) is not None:
                values[taken] = 1
        return values

    def spans(self, point: Sequence[int]) -> dict[int, int]:
        """Return, for each option that a solution takes, the mask of its rows."""
        found = {}
        for o, cells in enumerate(self.cells):
            span = sum(1 << r for r, cell in enumerate(cells) if point[cell])
            if span:
                found[o] = span
        return found
