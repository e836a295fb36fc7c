"""One run of MathOpt, here or in a process of its own: ``mathopt_run.py JOB ANSWER`` (pickled files)."""

from __future__ import annotations

import datetime
import os
import pickle
import sys
import time
from typing import NamedTuple, TypedDict

LEAST_SECONDS = 1e-6
"""Of a limit that has passed: 0 may be none."""


class Job(TypedDict):
    """A serialised model, the name of its solver, values to start from, and what limits the run.

    ``until`` is by the clock of all processes, so that what starting one takes counts.
    """

    model: bytes
    solver: str
    start: dict[int, float]
    until: float | None
    gap: float | None
    threads: int
    seed: int
    log: str | None


class Found(NamedTuple):
    """Why a run ended and which limit it met, in MathOpt's words; values by position, and the bound."""

    reason: str
    limit: str
    detail: str
    values: dict[int, float]
    bound: float


def run(job: Job) -> Found:
    """Solve; without a gap only a proof ends the run."""
    from ortools.math_opt import model_pb2
    from ortools.math_opt.python import mathopt
    from ortools.math_opt.solvers import highs_pb2

    model = mathopt.Model.from_model_proto(model_pb2.ModelProto.FromString(job["model"]))
    hints = {model.get_variable(at): value for at, value in job["start"].items()}
    how = mathopt.SolveParameters(relative_gap_tolerance=job["gap"])
    if job["until"] is not None:
        left = max(LEAST_SECONDS, job["until"] - time.time())
        how.time_limit = datetime.timedelta(seconds=left)
    if job["solver"] == "HiGHS":
        # MathOpt gives HiGHS no number of threads; its own options do.
        how.highs = highs_pb2.HighsOptionsProto(
            int_options={"threads": job["threads"], "random_seed": job["seed"]},
            double_options={"mip_rel_gap": job["gap"] or 0.0, "mip_abs_gap": 0.0},
        )
    elif job["seed"]:
        how.random_seed = job["seed"]
    solver = {"HiGHS": mathopt.SolverType.HIGHS, "SCIP": mathopt.SolverType.GSCIP}[job["solver"]]
    lines: list[str] = []
    given = mathopt.ModelSolveParameters()
    if hints:
        given.solution_hints.append(mathopt.SolutionHint(variable_values=hints))
    for presolve in (None, mathopt.Emphasis.OFF):
        how.presolve = presolve
        result = mathopt.solve(
            model,
            solver,
            params=how,
            model_params=given,
            msg_cb=lines.extend if job["log"] else None,
        )
        # Presolve may see only that there is no optimum; the simplex tells which of the two it is.
        if result.termination.reason is not mathopt.TerminationReason.INFEASIBLE_OR_UNBOUNDED:
            break
    if job["log"] is not None:
        with open(job["log"], "a", encoding="utf-8") as stream:
            stream.writelines(f"{line}\n" for line in lines)
    end = result.termination
    values = result.variable_values() if result.has_primal_feasible_solution() else {}
    return Found(
        end.reason.name,
        "" if end.limit is None else end.limit.name,
        end.detail,
        {variable.id: float(value) for variable, value in values.items()},
        end.objective_bounds.dual_bound,
    )


def main(job: str, answer: str) -> None:
    """Read, solve, write; the answer appears when it is complete."""
    with open(job, "rb") as stream:
        found = run(pickle.load(stream))
    with open(f"{answer}.part", "wb") as out:
        pickle.dump(tuple(found), out)
    os.replace(f"{answer}.part", answer)


if __name__ == "__main__":
    main(*sys.argv[1:3])
