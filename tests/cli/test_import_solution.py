"""``ioopt import solution``: what other solvers wrote of an exported model becomes a plan."""

from __future__ import annotations

import json
import subprocess

import highspy
import pulp
import pytest

import ioopt

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
def test_the_plan_has_the_objective_that_the_solver_found(run, tmp_path, form, writer):
    model, solution = tmp_path / f"m.{form}", tmp_path / "m.sol"
    assert run("export", form, "cycle3", *SWITCH, "-o", model)[0] == 0
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
    assert run("import", "solution", "cycle3", solution, *SWITCH, "-o", plan)[0] == 0
    found = json.loads(plan.read_text())
    assert ioopt.check("cycle3", {"plan": found}) == []
    proven = ioopt.solve("cycle3", "ip-printed", settings={"cycles": "acyclic"})
    assert objective == pytest.approx(proven.metrics["additive_seconds"])
    again = ioopt.solve("cycle3", lambda problem: found)
    assert again.metrics["additive_seconds"] == pytest.approx(objective)


def test_what_is_no_solution_of_the_model_is_refused(run, tmp_path):
    assert run("export", "lp", "cycle3", "-o", "m.lp")[0] == 0
    highs("m.lp", "m.sol", style=1)  # the value stands before the name
    (tmp_path / "other.sol").write_text("x 1\ny 0\n")
    for name in ("m.sol", "other.sol"):
        code, _, said = run("import", "solution", "cycle3", name, "-o", "p.json")
        assert code == 2 and said.startswith(f"ioopt: {name}: the solution places ")
        assert "of 6 tasks" in said and said.count("\n") == 1
    code, _, said = run("import", "solution", "two-writers", "m.sol", "-o", "p.json")
    assert code == 2 and "two-writers is batch-io; import solution takes replication" in said
    assert not (tmp_path / "p.json").exists()
