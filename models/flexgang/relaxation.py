"""Formulate linear programs (F5): a relaxed pattern, the loose CPU of a placement.

Columns are alike, so an optimum uses every block of a job alike
(docs/flexgang-assignment.md). With n_j strict rows, tau_j loose CPU, x_i / y_i for I/O
job i strict / loose, and a = columns of a job / C:

  sum a n + sum a x <= R
  sum a (n + tau) + sum a (1 - fragment) x + sum a beta L y <= K
  sum a beta L y <= 0.6 k;   x_i + y_i = 1;   n_j + (1 - gamma_j) tau_j >= K phi_j
"""

from collections.abc import Mapping

from ioopt.models.flexgang.frame import PatternData, Placement, column_capacity
from ioopt.models.program import Number, Program, Term
from ioopt.problems.flexgang.flexible_gang import FlexibleGangProblem


def universal_bound(problem: FlexibleGangProblem) -> float:
    """Return a bound on the objective of every plan of every pattern.

    Compute jobs share the machine in the order of their weights; I/O jobs cost nothing.
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
    """Build the relaxed program of one pattern.

    ``feasible`` is False if some job fits nowhere; there is no solution then.
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
        """Add rows and loose CPU of a compute job; False if its floor needs more
        rows.
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
        """Add an I/O job, strict or loose; False when it can be neither."""
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
"""Quanta by which rounding may overfill a column."""
SHORT = 1e-9
"""Quanta by which rounding may leave rows below a floor."""


class TauModel:
    """Build the program of one placement.

    Times are in quanta, so that solvers' tolerances are small compared with them.
    Floors of progress may be missed by *slack*. ``feasible`` is False if a column is
    overfull or a job without loose CPU misses its floor; there is no program then.
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
        """Add the variables of one job: one tau, or one t for each column.

        Return False if a job without loose CPU misses its floor.
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
        """Return tau in seconds by job, from a solution.

        Also return the seconds by column of self-balancing jobs.
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
