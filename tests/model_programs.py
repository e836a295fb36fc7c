"""Solve exported models by programs that are not ours."""

import subprocess

import highspy
import pulp


def highs(model, target, style=0):
    solver = highspy.Highs()
    solver.silent()
    solver.readModel(str(model))
    solver.run()
    solver.writeSolution(str(target), style)
    return solver.getInfo().objective_function_value


def cbc(path, folder):
    """Return the optimum that CBC's own command finds in a model file."""
    found = folder / "cbc.txt"
    command = [pulp.PULP_CBC_CMD().path, str(path), "solve", "solution", str(found)]
    subprocess.run(command, check=True, capture_output=True)
    return float(found.read_text().splitlines()[0].split()[-1])
