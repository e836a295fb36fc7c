"""``ioopt import solution``: what other solvers wrote of an exported model becomes a plan."""

from __future__ import annotations

import json
import subprocess

import highspy
import pulp
import pytest

import ioopt
from ioopt.cli.main import main

SWITCH = ["--set", "cycles=acyclic"]


def highs(model, target, style=0):
    solver = highspy.Highs()
    solver.silent()
    solver.readModel(str(model))
    solver.run()
    solver.writeSolution(str(target), style)
    return solver.getInfo().objective_function_value


def as_glpk(text):
    """The columns of HiGHS' file as glpsol writes them: numbered, long names on a line of their own."""
    rows = text.partition("# Columns")[2].partition("# Rows")[0].splitlines()[1:]
    lines = ["   No. Column name       Activity     Lower bound   Upper bound"]
    for k, (name, value) in enumerate(row.split() for row in rows):
        gap = "\n" + " " * 20 if len(name) > 12 else " "
        lines.append(f"{k:6d} {name}{gap}*      {value}             0             1")
    return "\n".join(lines)


@pytest.mark.parametrize("form", ["lp", "mps"])
@pytest.mark.parametrize("writer", ["highs", "glpk", "cbc"])
def test_the_plan_has_the_objective_that_the_solver_found(tmp_path, form, writer):
    model, solution = tmp_path / f"m.{form}", tmp_path / "m.sol"
    assert main(["export", form, "cycle3", *SWITCH, "-o", str(model)]) == 0
    objective = highs(model, solution)
    if writer == "glpk":
        solution.write_text(as_glpk(solution.read_text()))
    if writer == "cbc":
        cbc = pulp.PULP_CBC_CMD()
        if not cbc.available():
            pytest.skip("PuLP brings no CBC for this machine")
        command = [cbc.path, str(model), "solve", "solution", str(solution)]
        subprocess.run(command, check=True, capture_output=True)
    plan = tmp_path / "p.json"
    assert main(["import", "solution", "cycle3", str(solution), *SWITCH, "-o", str(plan)]) == 0
    found = json.loads(plan.read_text())
    assert ioopt.check("cycle3", {"plan": found}) == []
    proven = ioopt.solve("cycle3", "ip-printed", settings={"cycles": "acyclic"})
    assert objective == pytest.approx(proven.metrics["additive_seconds"])
    again = ioopt.solve("cycle3", lambda problem: found)
    assert again.metrics["additive_seconds"] == pytest.approx(objective)


def test_what_is_no_solution_of_the_model_is_refused(tmp_path, capsys):
    model, solution, plan = (tmp_path / name for name in ("m.lp", "m.sol", "p.json"))
    assert main(["export", "lp", "cycle3", "-o", str(model)]) == 0
    highs(model, solution, style=1)  # the value stands before the name
    (tmp_path / "other.sol").write_text("x 1\ny 0\n")
    for name in ("m.sol", "other.sol"):
        assert main(["import", "solution", "cycle3", str(tmp_path / name), "-o", str(plan)]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"ioopt: {tmp_path / name}: the solution places ")
        assert "of 6 tasks" in said and said.count("\n") == 1
    assert main(["import", "solution", "two-writers", str(solution), "-o", str(plan)]) == 2
    assert "two-writers is batch-io; import solution takes replication" in capsys.readouterr().err
    assert not plan.exists()
