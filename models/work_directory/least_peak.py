"""Formulate the least peak of a work directory as a linear program (ours).

Times do not matter for the least peak (rule B9), so the tasks run one at a time, at
positions t = 0, 1, .... Sets: tasks k, products f with their writer w(f) and readers.
Variables: S_kt is 1 if task k has started by position t; H_ft is 1 if product f is
inside while the task at position t runs; P is the peak.

Objective: minimise P. Constraints, where S is 0 before position 0:

(1) S_k,t-1 <= S_kt: a task that has started stays so
(2) sum over k of S_kt = t + 1: one task starts at each position
(3) S_kt <= S_p,t-1 for every predecessor p of k
(4) H_ft >= S_w(f),t - S_r,t-1 for every reader r of f: the product is inside until its
    last reader has ended; H_ft >= S_w(f),t if it is kept
(5) P >= sum over f of size_f H_ft + sum over k of loose_k (S_kt - S_k,t-1)

loose_k is what task k takes only while it runs: its scratch, and products that nobody
reads and that are not kept.
"""

from collections.abc import Mapping, Sequence

from ioopt.models.program import Number, Program, Term
from ioopt.problems.work_directory import WorkDirectoryProblem


class LeastPeakModel:
    """Build the program of the least peak.

    *sizes* has the size of each product (0 for one that counts as loose), and *loose*
    what each task takes only while it runs, both in the same unit of bytes.
    """

    def __init__(
        self, problem: WorkDirectoryProblem, sizes: Sequence[int], loose: Sequence[int]
    ) -> None:
        self.problem = problem
        self.program = Program("least_peak")
        self._tasks = range(len(problem.tasks))
        self._positions = range(len(problem.tasks))
        last = len(problem.tasks) - 1
        self.S = [
            [self.program.whole(f"S_{k}_{t}", int(t == last), 1) for t in self._tasks]
            for k in self._tasks
        ]
        self.peak = self.program.whole("Peak", 0, sum(sizes) + sum(loose))
        self.program.objective = {self.peak: 1}
        self._eq_1_to_3()
        self._inside: list[list[Term]] = [[] for _ in self._positions]
        for writer, files in enumerate(problem.outputs):
            for file in files:
                if sizes[file]:
                    self._eq_4(file, writer, sizes[file])
        self._eq_5(loose)

    def _started(self, task: int, position: int, factor: int) -> list[Term]:
        """Return *factor* times S as terms; before position 0 there are none."""
        return [(self.S[task][position], factor)] if position >= 0 else []

    def _eq_1_to_3(self) -> None:
        """(1)-(3): one task starts at each position, after its predecessors."""
        for t in self._positions:
            row = [(self.S[k][t], 1) for k in self._tasks]
            self.program.add(f"eq2_{t}", row, t + 1, t + 1)
            for k in self._tasks:
                if t:
                    stays = [*self._started(k, t, 1), *self._started(k, t - 1, -1)]
                    self.program.add(f"eq1_{k}_{t}", stays, least=0)
                for p in self.problem.predecessors[k]:
                    later = [*self._started(k, t, 1), *self._started(p, t - 1, -1)]
                    self.program.add(f"eq3_{k}_{p}_{t}", later, most=0)

    def _eq_4(self, file: int, writer: int, size: int) -> None:
        """(4): a product is inside from its writer's start to its last reader's end."""
        readers = self.problem.readers[file]
        for t in self._positions:
            held = self.program.binary(f"H_{file}_{t}")
            self._inside[t].append((held, size))
            begun = [(held, 1), *self._started(writer, t, -1)]
            if self.problem.products[file].keep:
                self.program.add(f"eq4_{file}_{t}", begun, least=0)
                continue
            for r in readers:
                needed = [*begun, *self._started(r, t - 1, 1)]
                self.program.add(f"eq4_{file}_{r}_{t}", needed, least=0)

    def _eq_5(self, loose: Sequence[int]) -> None:
        """(5): the peak is at least the use while each task runs."""
        for t in self._positions:
            use = [(at, -size) for at, size in self._inside[t]]
            for k in self._tasks:
                if loose[k]:
                    use += self._started(k, t, -loose[k])
                    use += self._started(k, t - 1, loose[k])
            self.program.add(f"eq5_{t}", [(self.peak, 1), *use], least=0)

    def order(self, values: Mapping[int, Number]) -> list[int]:
        """Return the tasks in the order of a solution."""
        first = [sum(1 - round(values[at]) for at in row) for row in self.S]
        return sorted(self._tasks, key=lambda k: first[k])
