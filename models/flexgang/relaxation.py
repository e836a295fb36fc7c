"""Formulate two linear programs of flexible gangs (F5).

:class:`RelaxedModel` relaxes a pattern. All columns are alike, so some optimum uses all
blocks of a job alike (docs/flexgang-assignment.md), and one mean column suffices. A
frame has K rows of one quantum, R strict and k loose. Variables: n_j is the number of
strict rows of compute job j, tau_j its loose CPU in quanta; x_i and y_i are the parts
of I/O job i that are strict and loose. For each job, a is the part of all columns that
it takes. fragment_i is what I/O job i leaves free of a strict row, and beta_i L what it
uses in a frame when loose, both in quanta. Constraints:

- strict rows: sum of a n_j + sum of a x_i <= R
- CPU: sum of a (n_j + tau_j) + sum of a (1 - fragment_i) x_i + sum of a beta_i L y_i <=
  K
- loose I/O: sum of a beta_i L y_i <= 0.6 k
- I/O job i is strict or loose: x_i + y_i = 1
- floor phi_j of progress: n_j + (1 - gamma_j) tau_j >= K phi_j, with gangedness gamma_j

:class:`TauModel` divides the loose CPU of a given placement.
"""

from collections.abc import Mapping

from ioopt.models.flexgang.frame import PatternData, Placement, column_capacity
from ioopt.models.program import Number, Program, Term
from ioopt.problems.flexgang.flexible_gang import FlexibleGangProblem


def universal_bound(problem: FlexibleGangProblem) -> float:
    """Return an upper bound of the objective of every plan in every pattern.

    It gives the processors to the compute jobs in order of weight, largest first, and
    charges nothing for I/O jobs.
    """
    free = 1.0
    value = 0.0
    compute = [job for job in problem.jobs if not job.is_io]
    for job in sorted(compute, key=lambda job: -job.weight):
        part = min(free, job.processes / problem.machine.processors)
        free -= part
        value += job.weight * part
    return value


class RelaxedModel:
    """Build the relaxed program of one pattern; :attr:`program` is to be maximised.

    ``feasible`` is False if some job cannot be placed; then the program is incomplete
    and must not be solved.
    """

    def __init__(self, data: PatternData) -> None:
        self.data = data
        self.program = Program("relaxation", maximise=True)
        self._rows: list[Term] = []
        self._cpu: list[Term] = []
        self._loose: list[Term] = []
        self._floors: list[tuple[str, list[Term], float]] = []
        self._placed: list[tuple[str, list[Term]]] = []
        self.feasible = all(map(self._add_compute, data.compute_jobs())) and all(
            map(self._add_io, data.io_jobs())
        )
        pattern = data.pattern
        self.program.add("rows", self._rows, most=float(pattern.strict_rows))
        self.program.add("cpu", self._cpu, most=float(pattern.rows))
        self.program.add(
            "loose_io", self._loose, most=data.problem.loose_io_limit * pattern.k
        )
        for name, terms, least in self._floors:
            self.program.add(name, terms, least=least)
        for name, terms in self._placed:
            self.program.add(name, terms, 1.0, 1.0)

    def _add_compute(self, job: int) -> bool:
        """Add the strict rows and the loose CPU of a compute job.

        Return False if its floor needs more strict rows than the pattern has.
        """
        problem = self.data.problem
        pattern = self.data.pattern
        item = problem.jobs[job]
        frame = pattern.rows
        width = problem.job_columns(job) / problem.machine.num_columns
        gain = problem.share(job) / frame
        least = self.data.min_rows(job)
        if least > pattern.strict_rows:
            return False
        rows = self.program.real(f"n_{job}", least, pattern.strict_rows)
        self.program.objective[rows] = gain
        self._rows.append((rows, width))
        self._cpu.append((rows, width))
        if item.takes_loose_cpu:
            kept = 1.0 - (item.gamma or 0.0)
            tau = self.program.real(f"tau_{job}", 0.0, frame)
            self.program.objective[tau] = gain * kept
            self._cpu.append((tau, width))
            floor = frame * problem.phi(job)
            self._floors.append((f"floor_{job}", [(rows, 1.0), (tau, kept)], floor))
        return True

    def _add_io(self, job: int) -> bool:
        """Add an I/O job as strict, loose, or both in part.

        Return False if the pattern lets it be neither.
        """
        problem = self.data.problem
        quantum = self.data.problem.machine.quantum_seconds
        width = problem.job_columns(job) / problem.machine.num_columns
        places: list[Term] = []
        if self.data.pattern.strict_rows:
            strict = self.program.real(f"x_{job}", 0.0, 1.0)
            self.program.objective[strict] = -self.data.io_penalty(job, False)
            self._rows.append((strict, width))
            self._cpu.append(
                (strict, width * (1.0 - self.data.fragment(job) / quantum))
            )
            places.append((strict, 1.0))
        if job in self.data.loose:
            loose = self.program.real(f"y_{job}", 0.0, 1.0)
            self.program.objective[loose] = -self.data.io_penalty(job, True)
            used = width * self.data.loose_cpu(job) / quantum
            self._cpu.append((loose, used))
            self._loose.append((loose, used))
            places.append((loose, 1.0))
        self._placed.append((f"placed_{job}", places))
        return bool(places)


OVERFULL = 1e-7
"""Quanta by which rounding may fill a column beyond its capacity."""
SHORT = 1e-9
"""Quanta by which rounding may leave a job's strict rows below its floor."""


class TauModel:
    """Build the program that divides the loose CPU of one placement among compute jobs.

    :attr:`program` is to be maximised. Times are in quanta, so that solvers' tolerances
    are small compared with them. A job may miss its floor of progress by *slack*.
    ``feasible`` is False if a column is overfull or a job that cannot use loose CPU
    misses its floor. Then the program must not be solved.
    """

    def __init__(
        self, data: PatternData, placement: Placement, slack: float = 0.0
    ) -> None:
        self.data = data
        self.placement = placement
        self.slack = slack
        self.unit = data.problem.machine.quantum_seconds
        self.program = Program("tau", maximise=True)
        self.parts: list[tuple[int, int | None]] = []
        capacity = [seconds / self.unit for seconds in column_capacity(data, placement)]
        self._loads: list[list[Term]] = [[] for _ in capacity]
        self._means: list[tuple[str, list[Term], float]] = []
        self.feasible = min(capacity) >= -OVERFULL and all(
            map(self._add, data.compute_jobs())
        )
        for c, limit in enumerate(capacity):
            self.program.add(f"capacity_{c}", self._loads[c], most=max(0.0, limit))
        for name, terms, least in self._means:
            self.program.add(name, terms, least=least)

    def _add(self, job: int) -> bool:
        """Add the variables of one job: its tau, or one t for each column if it is
        self-balancing.

        Return False if the job cannot use loose CPU and misses its floor.
        """
        problem = self.data.problem
        frame = self.data.pattern.rows
        item = problem.jobs[job]
        wanted = (problem.phi(job) - self.slack) * frame
        short = wanted - self.placement.rows.get(job, 0)
        if not item.takes_loose_cpu:
            return short <= SHORT
        assert item.gamma is not None
        least = max(0.0, short) / (1.0 - item.gamma)
        block = problem.block(job, self.placement.home[job])
        gain = problem.share(job) * (1.0 - item.gamma) / frame
        if not item.self_balancing:
            at = self.program.real(f"t_{job}_None", least)
            self.program.objective[at] = gain
            self.parts.append((job, None))
            for column in block:
                self._loads[column].append((at, 1.0))
            return True
        mean: list[Term] = []
        for column in block:
            at = self.program.real(f"t_{job}_{column}", 0.0)
            self.program.objective[at] = gain / len(block)
            self.parts.append((job, column))
            mean.append((at, 1.0 / len(block)))
            self._loads[column].append((at, 1.0))
        self._means.append((f"mean_{job}", mean, least))
        return True

    def read(
        self, values: Mapping[int, Number]
    ) -> tuple[dict[int, float], dict[int, list[float]]]:
        """Return the loose CPU in a solution, in seconds.

        The first dictionary has the tau of each job. The second has, for each
        self-balancing job, the seconds in each of its columns.
        """
        tau: dict[int, float] = {}
        by_column: dict[int, list[float]] = {}
        for at, (job, part) in enumerate(self.parts):
            seconds = max(0.0, float(values[at])) * self.unit
            if part is None:
                tau[job] = seconds
            else:
                by_column.setdefault(job, []).append(seconds)
        for job, granted in by_column.items():
            tau[job] = sum(granted) / len(granted)
        return tau, by_column
