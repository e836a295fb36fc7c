"""Write programs of :mod:`ioopt.models.program` as PuLP models, and run CBC on them.

PuLP's own driver of CBC waits for the child process without a limit and leaves it
running after Ctrl-C. Here PuLP only writes the model and reads the solution. This
module runs the child process and reads its status line.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ioopt.errors import BackendFailureError, BackendMissingError
from ioopt.models.program import Number, Program, Row
from ioopt.problems.base import collector_paused
from ioopt.result import Status, StopReason
from ioopt.solvers.backends.answer import BackendAnswer, BackendLimits
from ioopt.solvers.backends.child import run_child

if TYPE_CHECKING:
    from pulp import LpProblem, LpVariable

_FOUND = (Status.OPTIMAL, Status.FEASIBLE)


@collector_paused()
def to_pulp(program: Program) -> tuple[LpProblem, list[LpVariable]]:
    """Return *program*, which must be in seconds, for PuLP, and its variables by
    position.
    """
    import pulp

    sense = pulp.LpMaximize if program.maximise else pulp.LpMinimize
    lp = pulp.LpProblem(program.name, sense)
    columns = []
    for item in program.variables:
        category = "Integer" if item.nature == "whole" else "Continuous"
        columns.append(pulp.LpVariable(item.name, item.least, item.most, category))
    terms = [(columns[at], factor) for at, factor in program.objective.items()]
    lp.setObjective(pulp.LpAffineExpression(terms))
    for row in program.rows:
        made = [columns[at] for at in row.columns]
        for name, direction, right in _sides(row):
            total = pulp.LpAffineExpression(list(zip(made, row.factors)))
            lp.addConstraint(pulp.LpConstraint(total, direction, rhs=right), name)
    return lp, columns


def _sides(row: Row) -> list[tuple[str, int, Number]]:
    """Return the one or two PuLP constraints of a row: (name, sense, right-hand side).

    The list is empty for a row without limits, and for one without variables that 0
    satisfies, because PuLP would add a variable to it.
    """
    if not row.columns and (row.least or 0) <= 0 <= (row.most or 0):
        return []
    if row.most is None:
        if row.least is None:
            return []
        return [(row.name, 1, row.least)]
    if row.least is None:
        return [(row.name, -1, row.most)]
    if row.least == row.most:
        return [(row.name, 0, row.least)]
    return [(row.name, -1, row.most), (f"{row.name}_least", 1, row.least)]


def _by_position(
    columns: list[LpVariable], named: Mapping[str, float]
) -> dict[int, float]:
    """Return the values of *columns* by position, from values by name.

    A variable that is in no row has no value, and takes its lower limit.
    """
    return {
        at: named.get(column.name, column.lowBound) for at, column in enumerate(columns)
    }


def _last(pattern: str, text: str) -> str:
    """Return the group of *pattern* in the last match in *text*; an empty string
    without one.
    """
    return (re.findall(pattern, text, re.M) or [""])[-1]


# First word of CBC's solution file. CBC exits 0 even on infeasible models.
_CBC_STATUS = {
    "Optimal": Status.OPTIMAL,
    "Infeasible": Status.INFEASIBLE,
    "Integer": Status.INFEASIBLE,
    "Stopped": Status.FEASIBLE,
}
_CBC_STOP = {
    "time": StopReason.TIME,
    "nodes": StopReason.ITERATIONS,
    "iterations": StopReason.ITERATIONS,
    "solutions": StopReason.ITERATIONS,
    "gap": StopReason.GAP,
    "event": StopReason.INTERRUPTED,
    "user": StopReason.INTERRUPTED,
    "ctrl-c": StopReason.TIME,
}


def cbc_path() -> str | None:
    """Return the path of CBC, from the PATH or else as shipped with PuLP; None if
    missing.
    """
    from pulp.apis import coin_api

    return shutil.which("cbc") or shutil.which(coin_api.pulp_cbc_path)


def solve_cbc(
    program: Program, limits: BackendLimits, start: Mapping[int, float]
) -> BackendAnswer:
    """Run CBC on *program* and return its answer.

    The bound is read from the log, and only when minimising.
    """
    path = cbc_path()
    if path is None:
        raise BackendMissingError(
            "backend CBC is not installed: put cbc on the PATH or reinstall pulp"
        )
    with tempfile.TemporaryDirectory(prefix="ioopt-cbc-") as folder:
        files = _CbcFiles(program, path, Path(folder))
        command = files.command(limits, start)
        begun = time.monotonic()
        text, cut_off = run_child(command, limits)
        seconds = time.monotonic() - begun
        version = _last(r"^Version: (\S+)", text)
        unknown = BackendAnswer(
            Status.UNKNOWN, StopReason.TIME, backend="CBC", version=version
        )
        if cut_off:
            return unknown
        first = files.first_line()
        if not first:
            raise BackendFailureError(
                f"CBC wrote no solution file: {text[-200:].strip()}"
            )
        status, stop = cbc_status(first)
        late = limits.seconds is not None and seconds > 0.8 * limits.seconds
        if status is Status.INFEASIBLE and late:
            # When CBC 2.10 runs out of time during preprocessing, it calls infeasible
            # models feasible.
            return unknown
        values: Mapping[int, float] = {}
        if status in _FOUND:
            values = files.values()
        bound = None
        if not program.maximise:
            bound = _bound(_last(r"^Lower bound:\s+(\S+)", text))
        return BackendAnswer(
            status, stop, values, bound=bound, backend="CBC", version=version
        )


class _CbcFiles:
    """Handle the files of one run of CBC in a folder: model, solution and start."""

    def __init__(self, program: Program, path: str, folder: Path) -> None:
        import pulp

        self._path = path
        self._maximise = program.maximise
        self._model = folder / "model.mps"
        self._solution = folder / "model.sol"
        self._start = folder / "model.mst"
        self._lp, self._columns = to_pulp(program)
        variables, names, rows, _ = self._lp.writeMPS(str(self._model), rename=1)
        self._mps = (self._lp, variables, names, rows)
        self._reader = pulp.COIN_CMD(path=path, msg=False)

    def command(self, limits: BackendLimits, start: Mapping[int, float]) -> list[str]:
        """Write the file of start values, if *start* is given, and return the command
        line of CBC.
        """
        command = [self._path, str(self._model)]
        if self._maximise:
            command.append("-max")
        if start:
            for at, column in enumerate(self._columns):
                column.varValue = start.get(at, 0.0)
            self._reader.writesol(str(self._start), *self._mps)
            command += ["-mips", str(self._start)]
        command += _cbc_options(limits)
        command += ["-solve", "-printingOptions", "all"]
        command += ["-solution", str(self._solution)]
        return command

    def first_line(self) -> str:
        """Return the first line of the solution file; an empty string if there is no
        file.
        """
        if not self._solution.exists():
            return ""
        return self._solution.read_text("utf-8").partition("\n")[0]

    def values(self) -> dict[int, float]:
        """Return the values of the solution, keyed by the position of the variable."""
        named = self._reader.readsol_MPS(str(self._solution), *self._mps)[1]
        return _by_position(self._columns, named)


def _bound(text: str) -> float | None:
    """Return the bound printed in the log of a run.

    Return None if *text* is not a number or stands for infinity.
    """
    try:
        bound = float(text)
    except ValueError:
        return None
    if abs(bound) >= 1e49:
        return None
    return bound


def _cbc_options(limits: BackendLimits) -> list[str]:
    """Return the command-line options of CBC that apply *limits*."""
    options = ["-timeMode", "elapsed", "-randomCbcSeed", str(limits.small_seed + 1)]
    if limits.seconds is not None:
        options += ["-sec", str(limits.seconds)]
    if limits.gap is not None:
        options += ["-ratio", str(limits.gap)]
    if limits.threads > 1:
        options += ["-threads", str(limits.threads)]
    return options


def cbc_status(line: str) -> tuple[Status, StopReason]:
    """Return the status and the stop reason from the first line of CBC's solution file.

    Raise BackendFailureError for unknown words.
    """
    words = line.split()
    if words[0] not in _CBC_STATUS:
        raise BackendFailureError(
            f"CBC gave an answer that ioopt does not know: {line.strip()!r}"
        )
    status = _CBC_STATUS[words[0]]
    if status is Status.OPTIMAL and "gap" in words:
        return status, StopReason.GAP
    if status is not Status.FEASIBLE:
        return status, StopReason.FINISHED
    reason = ""
    if len(words) > 2:
        reason = words[2].lower()
    if reason not in _CBC_STOP:
        raise BackendFailureError(
            f"CBC stopped for a reason that ioopt does not know: {line.strip()!r}"
        )
    if "(no" in words:
        status = Status.UNKNOWN
    return status, _CBC_STOP[reason]
