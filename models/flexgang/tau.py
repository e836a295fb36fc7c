"""Linear program for the loose and fragment CPU of a given placement (F5): max weighted progress of tau."""

from collections.abc import Mapping

from ioopt.models.flexgang.frame import PatternData, Placement, column_capacity
from ioopt.models.program import Number, Program, Term

OVERFULL, SHORT = 1e-7, 1e-9
"""Quanta by which rounding may overfill a column, or leave rows below a floor."""


class TauModel:
    """The program of one placement; times are in quanta, small numbers for small tolerances.

    Floors of progress may be missed by *slack*. ``feasible`` is False where a column is overfull or
    a job without loose CPU misses its floor; there is no program then.
    """

    def __init__(self, data: PatternData, placement: Placement, slack: float = 0.0) -> None:
        self.data, self.placement, self.slack = data, placement, slack
        self.unit = data.problem.machine.quantum_seconds
        self.program = Program("tau", maximise=True)
        self.parts: list[tuple[int, int | None]] = []
        capacity = [seconds / self.unit for seconds in column_capacity(data, placement)]
        self._loads: list[list[Term]] = [[] for _ in capacity]
        self._means: list[tuple[str, list[Term], float]] = []
        self.feasible = min(capacity) >= -OVERFULL and all(map(self._add, data.compute_jobs()))
        for c, limit in enumerate(capacity):
            self.program.add(f"capacity_{c}", self._loads[c], most=max(0.0, limit))
        for name, terms, least in self._means:
            self.program.add(name, terms, least=least)

    def _add(self, job: int) -> bool:
        """The variables of one job: its tau, or its t in every column; False where it falls short."""
        problem, frame = self.data.problem, self.data.pattern.rows
        item = problem.jobs[job]
        short = (problem.phi(job) - self.slack) * frame - self.placement.rows.get(job, 0)
        if not item.takes_loose_cpu:
            return short <= SHORT
        assert item.gamma is not None
        least = max(0.0, short) / (1.0 - item.gamma)
        block = problem.block(job, self.placement.home[job])
        gain = problem.share(job) * (1.0 - item.gamma) / frame
        parts: list[int | None] = list(block) if item.self_balancing else [None]
        mean: list[Term] = []
        for part in parts:
            at = self.program.real(f"t_{job}_{part}", 0.0 if item.self_balancing else least)
            self.program.objective[at] = gain / len(parts)
            self.parts.append((job, part))
            mean.append((at, 1.0 / len(parts)))
            for column in block if part is None else (part,):
                self._loads[column].append((at, 1.0))
        if item.self_balancing:
            self._means.append((f"mean_{job}", mean, least))
        return True

    def read(self, values: Mapping[int, Number]) -> tuple[dict[int, float], dict[int, list[float]]]:
        """Seconds of tau by job, and seconds by column of self-balancing jobs, of a solution."""
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
