"""Programs of :mod:`ioopt.models.program` on PuLP's backends: HiGHS, CBC, SCIP and GLPK.

The status comes from each solver's own words through one table per backend, never from PuLP's
``LpProblem.status`` (which says "Optimal" for a run that the clock stopped); what claims to be a
solution is put back into the constraints before it is believed.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ioopt.errors import BackendFailureError, BackendMissingError, UsageError
from ioopt.models.program import Number, Program, Row, Variable, collector_paused
from ioopt.result import Status, StopReason
from ioopt.solvers.backends import pulp_commands as commands
from ioopt.solvers.backends.answer import BackendAnswer, BackendLimits, proven, run_interruptibly

if TYPE_CHECKING:
    from pulp import LpAffineExpression, LpProblem, LpVariable

BACKENDS = ("HiGHS", "CBC", "SCIP", "GLPK")
FEASIBILITY = 1e-5
APART_TERMS = 30_000
"""Coefficients from which HiGHS runs in a process of its own, where a time limit is set."""

_HIGHS_STATUS = {
    "kOptimal": (Status.OPTIMAL, StopReason.FINISHED),
    "kModelEmpty": (Status.OPTIMAL, StopReason.FINISHED),
    "kInfeasible": (Status.INFEASIBLE, StopReason.FINISHED),
    "kTimeLimit": (Status.FEASIBLE, StopReason.TIME),
    "kIterationLimit": (Status.FEASIBLE, StopReason.ITERATIONS),
    "kSolutionLimit": (Status.FEASIBLE, StopReason.ITERATIONS),
    "kMemoryLimit": (Status.FEASIBLE, StopReason.ITERATIONS),
    "kObjectiveTarget": (Status.FEASIBLE, StopReason.ITERATIONS),
    "kObjectiveBound": (Status.FEASIBLE, StopReason.ITERATIONS),
    "kInterrupt": (Status.FEASIBLE, StopReason.INTERRUPTED),
    "kHighsInterrupt": (Status.FEASIBLE, StopReason.INTERRUPTED),
}


def available() -> tuple[str, ...]:
    """The backends that can run here, in the order of preference."""
    here = {
        "HiGHS": find_spec("highspy") is not None,
        "CBC": commands.cbc_path() is not None,
        "SCIP": find_spec("ortools") is not None,
        "GLPK": shutil.which("glpsol") is not None,
    }
    return tuple(name for name in BACKENDS if here[name])


@dataclass(frozen=True)
class PulpProgram:
    """A program as a ``pulp.LpProblem``; ``columns`` are its variables by position."""

    program: Program
    lp: LpProblem
    columns: list[LpVariable]

    @classmethod
    @collector_paused()
    def of(cls, program: Program) -> PulpProgram:
        """Write *program* for PuLP: rows and times in units become seconds."""
        import pulp

        unit = program.unit
        times = {at for at, item in enumerate(program.variables) if item.nature == "time"}

        def number(given: Number) -> Number:
            return given if unit == 1 else float(given * unit)

        def factor(at: int, given: Number) -> Number:
            return given if at in times else number(given)

        def column(item: Variable) -> LpVariable:
            if item.nature == "time":
                return pulp.LpVariable(item.name, float(item.least * unit), None)
            category = "Integer" if item.nature == "whole" else "Continuous"
            return pulp.LpVariable(item.name, item.least, item.most, category)

        lp = pulp.LpProblem(program.name, pulp.LpMaximize if program.maximise else pulp.LpMinimize)
        columns = [column(item) for item in program.variables]
        terms = [(columns[at], factor(at, f)) for at, f in program.objective.items()]
        lp.setObjective(pulp.LpAffineExpression(terms))
        for row in program.rows:
            factors = [factor(at, f) for at, f in row.terms] if row.timed else row.factors
            made = [columns[at] for at in row.columns]
            for name, sense, right in _sides(row):
                total = pulp.LpAffineExpression(list(zip(made, factors)))
                limit = number(right) if row.timed else right
                lp.addConstraint(pulp.LpConstraint(total, sense, rhs=limit), name)
        return cls(program, lp, columns)

    def solve(
        self,
        backend: str | None,
        limits: BackendLimits,
        start: Mapping[int, Number] | None = None,
        cancel: threading.Event | None = None,
    ) -> BackendAnswer:
        """:func:`solve_pulp` with values and *start* by position, objective and bound in units."""
        named = None if start is None else self._named(start)
        answer = solve_pulp(self.lp, backend, limits, named, cancel)
        values = {
            at: answer.values.get(column.name, column.lowBound)
            for at, column in enumerate(self.columns)
        }
        return replace(
            answer,
            values=values if answer.found else {},
            objective=self._units(answer.objective),
            bound=self._units(answer.bound),
        )

    def _named(self, start: Mapping[int, Number]) -> dict[str, float]:
        variables, unit = self.program.variables, self.program.unit
        return {
            self.columns[at].name: float(value * unit if variables[at].nature == "time" else value)
            for at, value in start.items()
        }

    def _units(self, value: float | None) -> float | None:
        if value is None or self.program.unit == 1:
            return value
        return float(Fraction(value) / self.program.unit)


def _sides(row: Row) -> list[tuple[str, int, Number]]:
    """(name, PuLP's sense, right-hand side) of the one or two constraints of a row."""
    if row.most is None:
        return [] if row.least is None else [(row.name, 1, row.least)]
    if row.least is None:
        return [(row.name, -1, row.most)]
    if row.least == row.most:
        return [(row.name, 0, row.least)]
    return [(row.name, -1, row.most), (f"{row.name}_least", 1, row.least)]


def solve_by_pulp(
    program: Program,
    backend: str | None,
    limits: BackendLimits,
    start: Mapping[int, Number] | None = None,
    cancel: threading.Event | None = None,
) -> BackendAnswer:
    """Write *program* for PuLP and solve it, both within *limits*; see :meth:`PulpProgram.solve`."""
    begun = time.monotonic()
    written = PulpProgram.of(program)
    return written.solve(backend, limits.after(time.monotonic() - begun), start, cancel)


def solve_pulp(
    lp: LpProblem,
    backend: str | None,
    limits: BackendLimits,
    start: Mapping[str, float] | None = None,
    cancel: threading.Event | None = None,
) -> BackendAnswer:
    """Solve a PuLP model on one of :data:`BACKENDS` (None: HiGHS) and say what the run earned.

    ``start`` gives values by variable name (HiGHS and CBC; UsageError for the others). Without
    ``limits.gap`` HiGHS is told to close the gap entirely; ``cancel``, once set, ends its run early.
    Raises BackendMissingError, and BackendFailureError for statuses that no table knows.
    """
    name = backend or "HiGHS"
    begun = time.monotonic()
    if name == "HiGHS":
        raw = _solve_highs(lp, limits, start, cancel)
    elif name == "CBC":
        raw = commands.solve_cbc(lp, limits, start)
    elif name in ("SCIP", "GLPK"):
        if start is not None:
            raise UsageError(f"backend {name} takes no start; leave it out or use HiGHS or CBC")
        raw = (commands.solve_scip if name == "SCIP" else commands.solve_glpk)(lp, limits)
    else:
        raise UsageError(f"no backend {name!r}; known: {', '.join(BACKENDS)}")
    return _judged(lp, raw, name, time.monotonic() - begun)


def _judged(lp: LpProblem, raw: commands.RawAnswer, name: str, seconds: float) -> BackendAnswer:
    """Believe values only when they keep every constraint, and "optimal" only without a gap."""
    status, stop, bound = raw.status, raw.stop, raw.bound
    if bound is not None and lp.objective is not None:
        # No model file or solver is given the constant of the objective.
        bound += lp.objective.constant
    if status not in (Status.OPTIMAL, Status.FEASIBLE):
        return BackendAnswer(status, stop, {}, None, bound, seconds, name, raw.version)
    names = [variable.name for variable in lp.variables()]
    stated = {name: raw.values.get(name) for name in names}
    values = {n: value for n, value in stated.items() if value is not None and math.isfinite(value)}
    worst = violation(lp, values) if len(values) == len(names) else math.inf
    if worst > FEASIBILITY:
        if status is Status.OPTIMAL:
            raise BackendFailureError(f"{name} calls optimal what breaks a constraint by {worst:g}")
        return BackendAnswer(Status.UNKNOWN, stop, {}, None, bound, seconds, name, raw.version)
    objective = 0.0 if lp.objective is None else _evaluate(lp.objective, values)
    if status is Status.OPTIMAL:
        if stop is StopReason.GAP and not proven(objective, bound):
            status = Status.FEASIBLE
        else:
            stop, bound = StopReason.FINISHED, objective
    return BackendAnswer(status, stop, values, objective, bound, seconds, name, raw.version)


def _evaluate(expression: LpAffineExpression, values: Mapping[str, float]) -> float:
    terms = (factor * values[variable.name] for variable, factor in expression.items())
    return float(math.fsum(terms) + expression.constant)


def violation(lp: LpProblem, values: Mapping[str, float]) -> float:
    """The largest amount by which *values* break a bound, an integrality or a constraint of *lp*.

    Rows are measured against the size of their largest term, so that bytes and seconds compare.
    """
    import pulp

    worst = 0.0
    for variable in lp.variables():
        value = values[variable.name]
        if variable.lowBound is not None:
            worst = max(worst, variable.lowBound - value)
        if variable.upBound is not None:
            worst = max(worst, value - variable.upBound)
        if variable.cat == pulp.LpInteger:
            worst = max(worst, abs(value - round(value)))
    for row in lp.constraints.values():
        amount = _evaluate(row, values)
        scale = max([1.0, abs(row.constant), *(abs(factor) for factor in row.values())])
        if row.sense == pulp.LpConstraintLE:
            amount = max(amount, 0.0)
        elif row.sense == pulp.LpConstraintGE:
            amount = max(-amount, 0.0)
        worst = max(worst, abs(amount) / scale)
    return worst


def _solve_highs(
    lp: LpProblem,
    limits: BackendLimits,
    start: Mapping[str, float] | None,
    cancel: threading.Event | None,
) -> commands.RawAnswer:
    try:
        import highspy
        import pulp
    except ImportError as error:
        raise BackendMissingError(
            f"backend HiGHS needs the package highspy ({error}); pip install 'highspy>=1.10,<1.13'"
        ) from None
    size = sum(len(row) for row in lp.constraints.values())
    if limits.seconds is not None and size > APART_TERMS:
        return _solve_highs_apart(lp, limits, start)
    begun = time.monotonic()
    builder = pulp.HiGHS(msg=False)
    builder.createAndConfigureSolver(lp)
    highs = lp.solverModel
    for option, value in _highs_options(limits).items():
        highs.setOptionValue(option, value)
    builder.buildSolverModel(lp)
    if limits.seconds is not None:
        left = limits.seconds - (time.monotonic() - begun)
        highs.setOptionValue("time_limit", max(left, 0.0))
    if start is not None:
        begin = highspy.HighsSolution()
        begin.col_value = [start.get(variable.name, 0.0) for variable in lp.variables()]
        highs.setSolution(begin)
    highs.HandleUserInterrupt = True
    with _stdout_kept_clean():
        run_interruptibly(highs.solve, highs.cancelSolve, cancel)
    if highs.getModelStatus() == highspy.HighsModelStatus.kUnboundedOrInfeasible:
        # Presolve saw only that there is no optimum; the simplex tells which of the two it is.
        highs.setOptionValue("presolve", "off")
        with _stdout_kept_clean():
            run_interruptibly(highs.solve, highs.cancelSolve, cancel)
    columns = list(highs.getSolution().col_value)
    values = {v.name: columns[k] for k, v in enumerate(lp.variables())} if columns else {}
    lp.solverModel = None
    sign = -1.0 if lp.sense == pulp.LpMaximize else 1.0
    bound = sign * highs.getInfo().mip_dual_bound
    return _highs_answer(lp, limits, highs.getModelStatus().name, values, bound, highs.version())


def _highs_answer(
    lp: LpProblem,
    limits: BackendLimits,
    name: str,
    values: Mapping[str, float],
    bound: float,
    version: str,
) -> commands.RawAnswer:
    import pulp

    status, stop = highs_status(name)
    if stop is StopReason.FINISHED and limits.gap is not None:
        stop = StopReason.GAP
    integer = any(variable.cat == pulp.LpInteger for variable in lp.variables())
    known = bound if integer and math.isfinite(bound) and abs(bound) < 1e29 else None
    return commands.RawAnswer(status, stop, values, known, version)


def _solve_highs_apart(
    lp: LpProblem, limits: BackendLimits, start: Mapping[str, float] | None
) -> commands.RawAnswer:
    """HiGHS in a process of its own, ended on time; its best solution so far is still read."""
    import pulp

    assert limits.seconds is not None
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ioopt-highs-") as folder:
        model, job, answer = (str(Path(folder, n)) for n in ("m.mps", "job.json", "answer.json"))
        _, names, _, _ = lp.writeMPS(model, rename=True)
        left = max(0.1, limits.seconds - (time.monotonic() - begun))
        options = _highs_options(replace(limits, seconds=left, log=None))
        options["output_flag"] = limits.log is not None
        options["log_to_console"] = limits.log is not None
        begin = None if start is None else {names[key]: value for key, value in start.items()}
        asked = {"options": options, "maximize": lp.sense == pulp.LpMaximize, "start": begin}
        Path(job).write_text(json.dumps(asked), "utf-8")
        child = str(Path(__file__).with_name("highs_child.py"))
        commands.run([sys.executable, child, model, job, answer], replace(limits, seconds=left))
        if not Path(answer).exists():
            return commands.RawAnswer(Status.UNKNOWN, StopReason.TIME)
        found = json.loads(Path(answer).read_text("utf-8"))
    columns = {name: found["values"].get(short) for name, short in names.items()}
    values = columns if found["values"] else {}
    return _highs_answer(lp, limits, found["status"], values, found["bound"], found["version"])


_REDIRECTED = threading.Lock()


@contextmanager
def _stdout_kept_clean() -> Iterator[None]:
    """Send what HiGHS 1.12 prints past its own log settings to standard error.

    Answers go to standard output, where a stray line would spoil JSON. Runs that overlap share the
    first one's redirection.
    """
    if not _REDIRECTED.acquire(blocking=False):
        yield
        return
    try:
        sys.stdout.flush()
        kept = os.dup(1)
        try:
            os.dup2(2, 1)
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)
    finally:
        _REDIRECTED.release()


def _highs_options(limits: BackendLimits) -> dict[str, object]:
    options: dict[str, object] = {
        "output_flag": limits.log is not None,
        "log_to_console": False,
        "threads": limits.threads,
        "random_seed": limits.seed,
        "mip_rel_gap": limits.gap or 0.0,
        "mip_abs_gap": 0.0,
    }
    more = {"log_file": limits.log, "time_limit": limits.seconds}
    return options | {key: value for key, value in more.items() if value is not None}


def highs_status(name: str) -> tuple[Status, StopReason]:
    """Status and stop reason for a ``HighsModelStatus``; unknown ones and errors raise."""
    if name not in _HIGHS_STATUS:
        raise BackendFailureError(f"HiGHS answered {name}, which is not in its table")
    return _HIGHS_STATUS[name]
