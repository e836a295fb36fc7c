"""Formulate flexible gang assignment of one pattern (k, d) as a mixed integer program.

Lee et al., Section 7, sketch strict and loose rounds; the model is ours (F5, rules 10
and 11).

Sets: compute jobs j, I/O jobs i, aligned blocks b of columns, columns c. A frame has K
rows of one quantum q each and takes L = K q; R = K - k of its rows are strict, and k
are loose. P is the number of processors.

Data of a job: n is its number of processes, w its weight, gamma its gangedness, phi its
floor of progress. Data of an I/O job: its slowdown S and the share beta of the CPU that
it uses. Both depend on its turns: (on, off) of the loose windows, (q, L - q) in a
strict row. lambda is the price of a slowdown.

Variables, with times in quanta (so q = 1 and L = K), because solvers' tolerances are
then small compared with the times:

- s[j,b] is 1 if block b is the home of compute job j.
- x[i,b] is 1 if I/O job i holds one strict row at b.
- y[i,b] is 1 if I/O job i is loose at b.
- n[j,b] is the number of strict rows that compute job j holds at b.
- tau[j,b] >= 0 is the loose CPU, also from fragments, that each process of job j gets
  in a frame at home b.
- t[j,b,c] >= 0 is the same in column c, for a self-balancing job; tau is the mean.

The constraints stand at the methods that add them. Departures from the rules as
written, all of them exact:

- Rows are counted, not numbered. Aligned blocks of powers of two are nested or
  disjoint. So counts that fit every column can always be laid out in rows (see
  :func:`ioopt.models.flexgang.frame.lay_out`), and numbered rows only add symmetry.
- The rules say for fairness tau_j <= t[j,c] + L (1 - s_{j,c}) and t[j,c] <= L s_{j,c}.
  Here t[j,c] is the sum of tau[j,b] over the blocks b that contain c, and tau[j,b] <= L
  s[j,b]. More CPU than tau in one column is of no use. The big M that would weaken the
  bound is gone.
"""

from collections.abc import Iterable, Mapping

from ioopt.models.flexgang.frame import PatternData, Placement
from ioopt.models.program import Number, Program, Term
from ioopt.problems.flexgang.flexible_gang import FlexibleGangPlan, FlexibleGangProblem


class AssignmentModel:
    """Build the program of one pattern; :attr:`program` is to be maximised."""

    def __init__(self, data: PatternData) -> None:
        self.data = data
        self.problem = data.problem
        self.pattern = data.pattern
        self.quantum = data.problem.machine.quantum_seconds
        self.program = Program(
            f"flexgang_k{self.pattern.k}_d{self.pattern.d}", maximise=True
        )
        self.s: dict[tuple[int, int], int] = {}
        self.x: dict[tuple[int, int], int] = {}
        self.y: dict[tuple[int, int], int] = {}
        self.n: dict[tuple[int, int], int] = {}
        self.tau: dict[tuple[int, int], int] = {}
        self.t: dict[tuple[int, int, int], int] = {}
        self._add_variables()
        self._set_objective()
        self._add_homes()
        self._add_loose_cpu()
        self._add_floors()

    def _add_variables(self) -> None:
        """Add the variables of every job at every block."""
        rows = self.pattern.strict_rows
        frame = self.pattern.rows
        for j, job in enumerate(self.problem.jobs):
            for b in range(self.problem.num_positions(j)):
                at = f"{j}_{b}"
                if job.is_io:
                    if rows:
                        self.x[j, b] = self.program.binary(f"x_{at}")
                    if j in self.data.loose:
                        self.y[j, b] = self.program.binary(f"y_{at}")
                    continue
                self.s[j, b] = self.program.binary(f"s_{at}")
                if rows:
                    self.n[j, b] = self.program.whole(f"n_{at}", 0, rows)
                if not job.takes_loose_cpu:
                    continue
                self.tau[j, b] = self.program.real(f"tau_{at}", 0, frame)
                if job.self_balancing:
                    for c in self.problem.block(j, b):
                        self.t[j, b, c] = self.program.real(f"t_{at}_{c}", 0, frame)

    def _set_objective(self) -> None:
        """Set the objective: the weighted progress minus lambda times the weighted
        slowdown.

        It is sum over the compute jobs j of w_j (n_j/P) pr_j minus lambda x sum over
        the I/O jobs i of w_i (n_i/P) (S_i - 1). pr_j is the progress of job j
        (:meth:`progress`).
        """
        goal = self.program.objective
        for j in self.data.compute_jobs():
            share = self.problem.share(j)
            goal.update(
                _nonzero((at, share * factor) for at, factor in self.progress(j))
            )
        for loose, family in ((False, self.x), (True, self.y)):
            costs = (
                (at, -self.data.io_penalty(i, loose)) for (i, _), at in family.items()
            )
            goal.update(_nonzero(costs))

    def progress(self, job: int) -> list[Term]:
        """Return the progress pr_j of a compute job as terms.

        pr_j = (q rows_j + (1 - gamma_j) tau_j) / L, where rows_j is its number of
        strict rows and tau_j its loose CPU in a frame.
        """
        frame = self.pattern.rows
        loose = 1.0 - (self.problem.jobs[job].gamma or 0.0)
        rows = [(at, 1.0 / frame) for (j, _), at in self.n.items() if j == job]
        tau = [(at, loose / frame) for (j, _), at in self.tau.items() if j == job]
        return _nonzero([*rows, *tau])

    def _add_homes(self) -> None:
        """Give each job one home, and strict rows only there.

        - I/O job: sum over b of x[i,b] + sum over b of y[i,b] = 1 (a coordinated job
          has no y).
        - Compute job: sum over b of s[j,b] = 1.
        - Rows only at home: n[j,b] <= R s[j,b].
        - A cell (row, column) holds at most one job: in every column at most R rows are
          held.
        """
        for i in self.data.io_jobs():
            places = [*self._of_job(self.x, i), *self._of_job(self.y, i)]
            self.program.add(f"placed_{i}", places, 1, 1)
        for j in self.data.compute_jobs():
            self.program.add(f"home_{j}", self._of_job(self.s, j), 1, 1)
        for (j, b), at in self.n.items():
            terms = [(at, 1), (self.s[j, b], -self.pattern.strict_rows)]
            self.program.add(f"rows_at_home_{j}_{b}", terms, most=0)
        if not self.pattern.strict_rows:
            return
        for c in range(self.problem.machine.num_columns):
            held = [(at, 1) for _, at in (*self._at(self.n, c), *self._at(self.x, c))]
            self.program.add(f"column_rows_{c}", held, most=self.pattern.strict_rows)

    def _of_job(self, family: dict[tuple[int, int], int], job: int) -> list[Term]:
        """Return the sum of the variables in *family* that belong to *job*, over all
        blocks.
        """
        return [(at, 1) for (j, _), at in family.items() if j == job]

    def _add_loose_cpu(self) -> None:
        """Share the loose CPU among the jobs that can use it.

        - Only at home: tau[j,b] <= L s[j,b].
        - Self-balancing job: tau[j,b] = mean over the columns c of b of t[j,b,c].
        - Capacity of each column c: strict rows of compute jobs + sum over i of (1 -
          fragment_i) x[i,c] + sum over i of beta_i L y[i,c] + sum over j of t[j,c] <=
          K.
        - Loose I/O in each column c: sum over i of beta_i(on, off) L y[i,c] <= 0.6 k.

        An index c sums over the blocks that contain column c. fragment_i is the time of
        its strict row that I/O job i leaves free. 0.6 is the problem's
        ``loose_io_limit``.
        """
        for (j, b), at in self.tau.items():
            terms: list[Term] = [(at, 1), (self.s[j, b], -self.pattern.rows)]
            self.program.add(f"tau_at_home_{j}_{b}", terms, most=0)
            if self.problem.jobs[j].self_balancing:
                block = self.problem.block(j, b)
                mean = [(self.t[j, b, c], -1.0 / len(block)) for c in block]
                self.program.add(f"tau_mean_{j}_{b}", [(at, 1), *mean], 0, 0)

        loads = []
        for c in range(self.problem.machine.num_columns):
            used: list[Term] = [(at, 1.0) for _, at in self._at(self.n, c)]
            for (i, _), at in self._at(self.x, c):
                used.append((at, 1.0 - self.data.fragment(i) / self.quantum))
            load: list[Term] = []
            for (i, _), at in self._at(self.y, c):
                load.append((at, self.data.loose_cpu(i) / self.quantum))
            loads.append(load)
            used += load
            for (j, b), at in self._at(self.tau, c):
                if self.problem.jobs[j].self_balancing:
                    at = self.t[j, b, c]
                used.append((at, 1))
            self.program.add(f"capacity_{c}", _nonzero(used), most=self.pattern.rows)
        limit = self.problem.loose_io_limit * self.pattern.k
        for c, load in enumerate(loads):
            if load:
                self.program.add(f"loose_io_{c}", _nonzero(load), most=limit)

    def _add_floors(self) -> None:
        """Add the floors of progress: pr_j >= phi_j.

        The floor of a job that cannot use loose CPU is a number of strict rows, rounded
        up.
        """
        for j in self.data.compute_jobs():
            if self.problem.jobs[j].takes_loose_cpu:
                self.program.add(
                    f"floor_{j}", self.progress(j), least=self.problem.phi(j)
                )
            else:
                rows = [(at, 1) for (job, _), at in self.n.items() if job == j]
                self.program.add(f"floor_{j}", rows, least=self.data.min_rows(j))

    def _at(
        self, family: dict[tuple[int, int], int], column: int
    ) -> list[tuple[tuple[int, int], int]]:
        """Return the variables in *family* whose block contains *column*.

        Each comes as ((job, block), variable).
        """
        return [
            ((j, b), at)
            for (j, b), at in family.items()
            if column in self.problem.block(j, b)
        ]

    def placement(self, values: Mapping[int, Number]) -> Placement:
        """Return the homes, the numbers of strict rows and the loose jobs of a
        solution.
        """
        found = Placement()
        for family in (self.s, self.x, self.y):
            for (j, b), var in family.items():
                if values[var] > 0.5:
                    found.home[j] = b
                    if family is self.x:
                        found.rows[j] = 1
                    if family is self.y:
                        found.loose.add(j)
        for (j, b), var in self.n.items():
            count = round(values[var])
            if count and found.home.get(j) == b:
                found.rows[j] = count
        return found

    def start_values(self, plan: FlexibleGangPlan) -> dict[int, float]:
        """Return the values of all variables that represent *plan*."""
        placement, tau, by_column = _by_position(self.problem, plan)
        families = (
            (self.s, dict.fromkeys(placement.home, 1.0)),
            (self.x, {j: float(j not in placement.loose) for j in placement.home}),
            (self.y, dict.fromkeys(placement.loose, 1.0)),
            (self.n, {j: float(rows) for j, rows in placement.rows.items()}),
            (self.tau, {j: seconds / self.quantum for j, seconds in tau.items()}),
        )
        values: dict[int, float] = {}
        for family, found in families:
            for (j, b), var in family.items():
                values[var] = 0.0
                if placement.home.get(j) == b:
                    values[var] = found.get(j, 0.0)
        for (j, b, c), var in self.t.items():
            values[var] = 0.0
            if placement.home.get(j) == b:
                values[var] = by_column[j, c] / self.quantum
        return values


def _nonzero(terms: Iterable[Term]) -> list[Term]:
    """Drop terms with a factor of 0, because backends count effort by coefficients."""
    return [(at, factor) for at, factor in terms if factor]


def _by_position(
    problem: FlexibleGangProblem, plan: FlexibleGangPlan
) -> tuple[Placement, dict[int, float], dict[tuple[int, int], float]]:
    """Return three parts of *plan*, with positions of jobs in place of ids.

    These are the placement, the tau of each job in seconds, and the granted seconds of
    each (job, column).
    """
    index = problem.job_index
    home = {index[name]: block for name, block in plan.home.items()}
    tau = {index[name]: seconds for name, seconds in plan.tau_seconds.items()}
    by_column: dict[tuple[int, int], float] = {}
    for name in plan.home:
        j = index[name]
        granted = plan.granted_seconds(name, problem.job_columns(j))
        for at, c in enumerate(problem.block(j, home[j])):
            by_column[j, c] = granted[at]
    rows = {index[name]: len(held) for name, held in plan.rows.items()}
    return Placement(home, rows, {index[name] for name in plan.loose}), tau, by_column
