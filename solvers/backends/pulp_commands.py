"""CBC and GLPK on PuLP models, each run as a child of ours, and the SCIP of OR-Tools.

PuLP's own drivers wait for the child without a limit, leave it running after Ctrl-C, and
(GLPK) call every solution optimal. Here PuLP writes the model and reads the solution; the child,
its log, its end and its status line are handled here.
"""

from __future__ import annotations

import contextlib
import math
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ioopt.errors import BackendFailureError, BackendMissingError
from ioopt.result import Status, StopReason
from ioopt.solvers.backends.answer import BackendLimits, run_interruptibly

if TYPE_CHECKING:
    from pulp import LpProblem

GRACE_SECONDS = 0.3
_TERMINATE_SECONDS = 0.4


@dataclass(frozen=True)
class RawAnswer:
    """Status, values by name, bound and version as one backend reported them."""

    status: Status
    stop: StopReason
    values: Mapping[str, float] = field(default_factory=dict)
    bound: float | None = None
    version: str = ""


def run(command: list[str], limits: BackendLimits) -> tuple[str, bool]:
    """Run a solver to its end; its output, and whether it was cut off before it could finish.

    A child that passes its limit is asked to stop (SIGINT) and killed when it does not; it never
    outlives this call. What a child that was cut off leaves in its files may be half written.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        late = False
        try:
            limit = None if limits.seconds is None else limits.seconds + GRACE_SECONDS
            child.wait(limit)
        except subprocess.TimeoutExpired:
            late = True
            child.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_TERMINATE_SECONDS)
        finally:
            child.kill()  # nothing where it has ended
            child.wait()
        output.seek(0)
        text = output.read()
    if limits.log is not None:
        with open(limits.log, "a", encoding="utf-8") as stream:
            stream.write(text)
    if child.returncode != 0 and not late:
        tail = " ".join(text.split("\n")[-4:]).strip()
        raise BackendFailureError(f"{command[0]} ended with code {child.returncode}: {tail}")
    return text, child.returncode != 0


def _last(pattern: str, text: str) -> str:
    """What the last line of *text* that matches names; empty where none does."""
    return (re.findall(pattern, text, re.M) or [""])[-1]


def _bound(pattern: str, text: str) -> float | None:
    """A bound in the log of a run; None where it is none."""
    try:
        bound = float(_last(pattern, text))
    except ValueError:
        return None
    return bound if abs(bound) < 1e49 else None


# ------------------------------------------------------------------------------------------- CBC

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


def solve_cbc(lp: LpProblem, limits: BackendLimits, start: Mapping[str, float] | None) -> RawAnswer:
    """Run CBC; the bound is read from the closing lines of its log (minimisation only)."""
    import pulp

    path = cbc_path()
    if path is None:
        raise BackendMissingError("backend CBC is not here: put cbc on the PATH or reinstall pulp")
    with tempfile.TemporaryDirectory(prefix="ioopt-cbc-") as folder:
        model, solution, begin = (Path(folder, f"model.{end}") for end in ("mps", "sol", "mst"))
        variables, names, rows, _ = lp.writeMPS(str(model), rename=1)
        reader = pulp.COIN_CMD(path=path, msg=False)
        command = [path, str(model)]
        if lp.sense == pulp.LpMaximize:
            command.append("-max")
        if start is not None:
            for variable in variables:
                variable.varValue = start.get(variable.name, 0.0)
            reader.writesol(str(begin), lp, variables, names, rows)
            command += ["-mips", str(begin)]
        command += _cbc_options(limits)
        command += ["-solve", "-printingOptions", "all", "-solution", str(solution)]
        begun = time.monotonic()
        text, cut_off = run(command, limits)
        late = limits.seconds is not None and time.monotonic() - begun > 0.8 * limits.seconds
        version = _last(r"^Version: (\S+)", text)
        if cut_off:
            return RawAnswer(Status.UNKNOWN, StopReason.TIME, version=version)
        if not solution.exists() or not (first := solution.read_text("utf-8").partition("\n")[0]):
            raise BackendFailureError(f"CBC wrote no solution file: {text[-200:].strip()}")
        status, stop = cbc_status(first)
        if status is Status.INFEASIBLE and late:
            # Out of time during preprocessing, CBC 2.10 calls feasible models infeasible.
            return RawAnswer(Status.UNKNOWN, StopReason.TIME, version=version)
        values: Mapping[str, float] = {}
        if status in (Status.OPTIMAL, Status.FEASIBLE):
            values = reader.readsol_MPS(str(solution), lp, variables, names, rows)[1]
        bound = _bound(r"^Lower bound:\s+(\S+)", text) if lp.sense == pulp.LpMinimize else None
        return RawAnswer(status, stop, values, bound, version)


def _cbc_options(limits: BackendLimits) -> list[str]:
    options = ["-timeMode", "elapsed", "-randomCbcSeed", str(limits.seed + 1)]
    threads = limits.threads if limits.threads > 1 else None
    pairs = (("-sec", limits.seconds), ("-ratio", limits.gap), ("-threads", threads))
    return options + [str(part) for pair in pairs if pair[1] is not None for part in pair]


def cbc_status(line: str) -> tuple[Status, StopReason]:
    """Status and stop reason in the first line of CBC's solution file; unknown words raise."""
    words = line.split()
    if words[0] not in _CBC_STATUS:
        raise BackendFailureError(f"CBC answered {line.strip()!r}, which is not in its table")
    status = _CBC_STATUS[words[0]]
    if status is not Status.FEASIBLE:
        within_gap = status is Status.OPTIMAL and "gap" in words
        return status, StopReason.GAP if within_gap else StopReason.FINISHED
    reason = words[2].lower() if len(words) > 2 else ""
    if reason not in _CBC_STOP:
        raise BackendFailureError(f"CBC stopped for a reason not in its table: {line.strip()!r}")
    if "(no" in words:
        status = Status.UNKNOWN
    return status, _CBC_STOP[reason]


# ------------------------------------------------------------------------------------------ GLPK

_GLPK_STATUS = {
    "INTEGER OPTIMAL": (Status.OPTIMAL, StopReason.FINISHED),
    "OPTIMAL": (Status.OPTIMAL, StopReason.FINISHED),
    "INTEGER NON-OPTIMAL": (Status.FEASIBLE, StopReason.TIME),
    "FEASIBLE": (Status.FEASIBLE, StopReason.TIME),
    "INTEGER UNDEFINED": (Status.UNKNOWN, StopReason.TIME),
    "UNDEFINED": (Status.UNKNOWN, StopReason.TIME),
    "INTEGER EMPTY": (Status.INFEASIBLE, StopReason.FINISHED),
    "INFEASIBLE (FINAL)": (Status.INFEASIBLE, StopReason.FINISHED),
    "INFEASIBLE (INTERMEDIATE)": (Status.UNKNOWN, StopReason.TIME),
}


def solve_glpk(lp: LpProblem, limits: BackendLimits) -> RawAnswer:
    """Run glpsol; it gives no bound and has no threads."""
    import pulp

    path = shutil.which("glpsol")
    if path is None:
        raise BackendMissingError("backend GLPK needs the program glpsol (Debian: glpk-utils)")
    with tempfile.TemporaryDirectory(prefix="ioopt-glpk-") as folder:
        model, out, sol = (str(Path(folder, name)) for name in ("m.lp", "m.out", "m.sol"))
        lp.writeLP(model, writeSOS=False)
        command = [path, "--cpxlp", model, "-o", out, "-w", sol, "--seed", str(limits.seed + 1)]
        if limits.seconds is not None:
            command += ["--tmlim", str(max(1, math.floor(limits.seconds)))]
        if limits.gap is not None:
            command += ["--mipgap", str(limits.gap)]
        text, cut_off = run(command, limits)
        version = _last(r"GLPSOL.*?(\d+\.\d+)", text)
        if cut_off or not Path(out).exists():
            return RawAnswer(Status.UNKNOWN, StopReason.TIME, version=version)
        if "PROBLEM HAS NO PRIMAL FEASIBLE SOLUTION" in text:
            return RawAnswer(Status.INFEASIBLE, StopReason.FINISHED, version=version)
        status, stop = glpk_status(Path(out).read_text("utf-8"))
        values: Mapping[str, float] = {}
        if status in (Status.OPTIMAL, Status.FEASIBLE):
            texts = pulp.GLPK_CMD(path=path, msg=False).readsol(out, sol)[1]
            values = {name: float(text) for name, text in texts.items()}
        return RawAnswer(status, stop, values, None, version)


def glpk_status(report: str) -> tuple[Status, StopReason]:
    """Status in the ``Status:`` line of glpsol's report; unknown text raises."""
    text = _last(r"^Status:\s+(.*?)\s*$", report) or "no status"
    if text not in _GLPK_STATUS:
        raise BackendFailureError(f"GLPK answered {text!r}, which is not in its table")
    return _GLPK_STATUS[text]


# ------------------------------------------------------------------------------------------ SCIP

_SCIP_STATUS = {
    "OPTIMAL": (Status.OPTIMAL, StopReason.FINISHED),
    "INFEASIBLE": (Status.INFEASIBLE, StopReason.FINISHED),
    "FEASIBLE": (Status.FEASIBLE, StopReason.TIME),
    "NOT_SOLVED": (Status.UNKNOWN, StopReason.TIME),
}


def solve_scip(lp: LpProblem, limits: BackendLimits) -> RawAnswer:
    """Run the SCIP that comes with OR-Tools, which tells neither its log nor why it stopped early."""
    try:
        import ortools
        from ortools.linear_solver.python import model_builder
    except ImportError as error:
        raise BackendMissingError(f"backend SCIP needs the package ortools ({error})") from None
    import pulp

    model, solver = model_builder.Model(), model_builder.Solver("scip")
    with tempfile.TemporaryDirectory(prefix="ioopt-scip-") as folder:
        variables, *_ = lp.writeMPS(file := str(Path(folder, "model.mps")), rename=1)
        model.import_from_mps_file(file)
    model.helper.set_maximize(lp.sense == pulp.LpMaximize)
    settings = {"limits/gap": limits.gap, "randomization/randomseedshift": limits.seed or None}
    given = [f"{name} = {value}" for name, value in settings.items() if value is not None]
    solver.set_solver_specific_parameters("\n".join(given))
    if limits.seconds is not None:
        solver.set_time_limit_in_seconds(limits.seconds)
    name = run_interruptibly(lambda: solver.solve(model), solver.stop_search).name
    if name not in _SCIP_STATUS:
        raise BackendFailureError(f"SCIP answered {name}, which is not in its table")
    status, stop = _SCIP_STATUS[name]
    if status is Status.OPTIMAL and limits.gap is not None:
        stop = StopReason.GAP
    version = f"OR-Tools {ortools.__version__}"
    if status not in (Status.OPTIMAL, Status.FEASIBLE):
        return RawAnswer(status, stop, version=version)
    places = map(model.var_from_index, range(len(variables)))
    values = {v.name: float(solver.value(at)) for v, at in zip(variables, places)}
    whole = any(variable.cat == pulp.LpInteger for variable in variables)
    bound = float(solver.best_objective_bound)
    return RawAnswer(status, stop, values, bound if whole and abs(bound) < 1e19 else None, version)
