"""Write programs of :mod:`ioopt.models.program` as PuLP models, and run CBC on them.

PuLP's own driver of CBC waits for the child process without a limit and leaves it
running after Ctrl-C. Here PuLP only writes the model and reads the solution; the
child process and its status line are handled in this module.
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
    """*program*, which is in seconds, for PuLP, and its variables by position."""
    import pulp

    lp = pulp.LpProblem(
        program.name, pulp.LpMaximize if program.maximise else pulp.LpMinimize
    )
    columns = [
        pulp.LpVariable(
            item.name,
            item.least,
            item.most,
            "Integer" if item.nature == "whole" else "Continuous",
        )
        for item in program.variables
    ]
    terms = [(columns[at], factor) for at, factor in program.objective.items()]
    lp.setObjective(pulp.LpAffineExpression(terms))
    for row in program.rows:
        made = [columns[at] for at in row.columns]
        for name, sense, right in _sides(row):
            total = pulp.LpAffineExpression(list(zip(made, row.factors)))
            lp.addConstraint(pulp.LpConstraint(total, sense, rhs=right), name)
    return lp, columns


def _sides(row: Row) -> list[tuple[str, int, Number]]:
    """(name, PuLP's sense, right-hand side) of the one or two constraints of a row."""
    if row.most is None:
        return [] if row.least is None else [(row.name, 1, row.least)]
    if row.least is None:
        return [(row.name, -1, row.most)]
    if row.least == row.most:
        return [(row.name, 0, row.least)]
    return [(row.name, -1, row.most), (f"{row.name}_least", 1, row.least)]


def _by_position(
    columns: list[LpVariable], named: Mapping[str, float]
) -> dict[int, float]:
    """Values by position; a variable that stands in no row takes its limit."""
    return {
        at: named.get(column.name, column.lowBound) for at, column in enumerate(columns)
    }


def _last(pattern: str, text: str) -> str:
    """What the last line of *text* that matches names; empty where none does."""
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
    """The CBC program: one on the PATH, else the one that PuLP brings along."""
    from pulp.apis import coin_api

    return shutil.which("cbc") or shutil.which(coin_api.pulp_cbc_path)


def solve_cbc(
    program: Program, limits: BackendLimits, start: Mapping[int, float]
) -> BackendAnswer:
    """Run CBC; the bound is read from the closing lines of its log
    (minimisation only).
    """
    import pulp

    path = cbc_path()
    if path is None:
        raise BackendMissingError(
            "backend CBC is not here: put cbc on the PATH or reinstall pulp"
        )
    lp, columns = to_pulp(program)
    with tempfile.TemporaryDirectory(prefix="ioopt-cbc-") as folder:
        model, solution, begin = (
            Path(folder, f"model.{end}") for end in ("mps", "sol", "mst")
        )
        variables, names, rows, _ = lp.writeMPS(str(model), rename=1)
        reader = pulp.COIN_CMD(path=path, msg=False)
        command = [path, str(model)]
        if program.maximise:
            command.append("-max")
        if start:
            for at, column in enumerate(columns):
                column.varValue = start.get(at, 0.0)
            reader.writesol(str(begin), lp, variables, names, rows)
            command += ["-mips", str(begin)]
        command += _cbc_options(limits)
        command += ["-solve", "-printingOptions", "all", "-solution", str(solution)]
        begun = time.monotonic()
        text, cut_off = run_child(command, limits)
        late = (
            limits.seconds is not None
            and time.monotonic() - begun > 0.8 * limits.seconds
        )
        version = _last(r"^Version: (\S+)", text)
        unknown = BackendAnswer(
            Status.UNKNOWN, StopReason.TIME, backend="CBC", version=version
        )
        if cut_off:
            return unknown
        if not solution.exists() or not (
            first := solution.read_text("utf-8").partition("\n")[0]
        ):
            raise BackendFailureError(
                f"CBC wrote no solution file: {text[-200:].strip()}"
            )
        status, stop = cbc_status(first)
        if status is Status.INFEASIBLE and late:
            # Out of time during preprocessing, CBC 2.10 calls feasible
            # models infeasible.
            return unknown
        values: Mapping[int, float] = {}
        if status in _FOUND:
            named = reader.readsol_MPS(str(solution), lp, variables, names, rows)[1]
            values = _by_position(columns, named)
        bound = (
            None if program.maximise else _bound(_last(r"^Lower bound:\s+(\S+)", text))
        )
        return BackendAnswer(
            status, stop, values, bound=bound, backend="CBC", version=version
        )


def _bound(text: str) -> float | None:
    """A bound in the log of a run; None where it is none."""
    try:
        bound = float(text)
    except ValueError:
        return None
    return bound if abs(bound) < 1e49 else None


def _cbc_options(limits: BackendLimits) -> list[str]:
    options = ["-timeMode", "elapsed", "-randomCbcSeed", str(limits.seed + 1)]
    threads = limits.threads if limits.threads > 1 else None
    pairs = (("-sec", limits.seconds), ("-ratio", limits.gap), ("-threads", threads))
    return options + [
        str(part) for pair in pairs if pair[1] is not None for part in pair
    ]


def cbc_status(line: str) -> tuple[Status, StopReason]:
    """Status and stop reason in the first line of CBC's solution file;
    unknown words raise.
    """
    words = line.split()
    if words[0] not in _CBC_STATUS:
        raise BackendFailureError(
            f"CBC answered {line.strip()!r}, which is not in its table"
        )
    status = _CBC_STATUS[words[0]]
    if status is not Status.FEASIBLE:
        within_gap = status is Status.OPTIMAL and "gap" in words
        return status, StopReason.GAP if within_gap else StopReason.FINISHED
    reason = words[2].lower() if len(words) > 2 else ""
    if reason not in _CBC_STOP:
        raise BackendFailureError(
            f"CBC stopped for a reason not in its table: {line.strip()!r}"
        )
    if "(no" in words:
        status = Status.UNKNOWN
    return status, _CBC_STOP[reason]
