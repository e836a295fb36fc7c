"""Assign rows and columns in one gang decision (docs/gang.md, The mathematics; ours).

Variables: x[o,r] 0/1, option o is in row r of M; u[o] 0/1, option o is taken.
  (1) sum of u over a running job's options = 1, over a waiting job's <= 1
  (2) u_o <= sum_r x_or,  x_or <= u_o;  remote options: sum_r x_or = u_o
  (3) sum over the options in a clique K of x_or <= 1 for every r
  (4) with remote options: sum over all options of n_o x_or <= P for every r
  (5) sum of cost u <= what is left of Q
  (6) FCFS variant: admitted(k) <= admitted(k-1)
  (7) guard (ours): n_j of running jobs
      + sum of n_o u_o over slower remote options <= share M P
Objective: max sum of worth_o x_or. Remote options have no columns: n free nodes of a
row suffice, whichever they are. Rows are alike, so homes are chosen when the answer is
decoded.
"""

from collections.abc import Mapping, Sequence

from ioopt.models.gang.question import Question
from ioopt.models.gang.row_free import add_choice, program_of


class AssignmentModel:
    """Build the row model of a question; :attr:`program` maximises the sum of
    worths.
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
        """Add (3): in every row at most one of the options that share a node."""
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
        """Add (2): an option has rows if and only if it is taken; a remote one has
        one row.
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
        """Return the values of all variables for a matrix: row masks by option."""
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
        """Return the row mask of every option that a solution takes."""
        found = {}
        for o, cells in enumerate(self.cells):
            span = sum(1 << r for r, cell in enumerate(cells) if point[cell])
            if span:
                found[o] = span
        return found
