"""Exported models, solved by CBC and HiGHS and read back as checked results."""

import json

import pytest
from model_programs import cbc, highs

import ioopt

MACHINE = {
    "nodes": 32,
    "unit_nodes": 2,
    "allocation": "flat",
    "node_bytes_per_second": 1e9,
    "storage_bytes_per_second": 20e9,
}
KNAPSACK = {
    "format": "ioopt/io-requests",
    "name": "knapsack",
    "machine": MACHINE,
    "now_seconds": 9,
    "requests": [
        {"id": name, "nodes": nodes, "request_seconds": 0, "left_bytes": 1e9}
        for name, nodes in {"A": 12, "B": 10, "C": 10}.items()
    ],
}
"""A alone leaves 8 GB/s unused, B and C together nothing."""

TWO_CHAINS = {
    "format": "ioopt/work-directory",
    "name": "chains",
    "cores": 4,
    "quota_bytes": 11_000_000,
    "files": [
        {"id": "raw-a", "bytes": 10_000_000},
        {"id": "raw-b", "bytes": 10_000_000},
        {"id": "small-a", "bytes": 1_000_000, "keep": True},
        {"id": "small-b", "bytes": 1_000_000},
    ],
    "tasks": [
        {"id": f"{what}-{x}", "compute_seconds": 0.1, "inputs": i, "outputs": [o]}
        for x in "ab"
        for what, i, o in (
            ("fetch", [], f"raw-{x}"),
            ("pack", [f"raw-{x}"], f"small-{x}"),
        )
    ],
}
"""What chain a keeps is beside chain b, if a runs first: 12 MB, 1 above the quota."""

SOLVED = {
    # A disk holds the two files of one of the four tasks.
    "sub-batch": ("rounds4", 2, "first_round_tasks", 2),
    # 5.12 s to fetch the file, .064 s to send it once.
    "allocation": ("cycle3", 5.184, "additive_seconds", 5.184),
    # Five allocation units each, of two nodes.
    "max-util": (KNAPSACK, 10, "granted_nodes", 20),
    # Two rows of eight nodes at full speed, three remote jobs at half speed.
    "assignment": ("gang-figure-3", 5.5, "value_one", 5.5),
    "row-free": ("gang-figure-7", 3.9, "value_one", 3.9),
    # b first: 11 MB, none of it left, then a, 11 MB; a first would need 12.
    "least-peak": (TWO_CHAINS, 11, "peak_bytes", 11e6),
}
"""Model -> instance, optimum of the program, metric and its value in the result."""


@pytest.mark.parametrize("by", ["cbc", "highs"])
@pytest.mark.parametrize("name", SOLVED)
def test_another_program_finds_the_optimum_and_its_plan(run, tmp_path, name, by):
    instance, optimum, metric, value = SOLVED[name]
    if isinstance(instance, dict):
        (tmp_path / "instance.json").write_text(json.dumps(instance))
        instance = "instance.json"
    words = ["--model", name]
    if metric == "value_one":
        words += ["--set", "weight=one"]
    assert run("export", "lp", instance, "-o", "model.lp", *words)[0] == 0
    if by == "cbc":
        found = cbc(tmp_path / "model.lp", tmp_path)
        (tmp_path / "cbc.txt").rename(tmp_path / "model.sol")
    else:
        found = highs("model.lp", "model.sol")
    assert abs(found) == pytest.approx(optimum, rel=1e-6)
    read = ("import", "sol", "model.sol", "--instance", instance, "--model", "model.lp")
    code, _, err = run(*read, "-o", "result.json")
    assert code == 0, err
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["objective_name"] == metric
    assert result["objective"] == pytest.approx(value, rel=1e-6)
    assert result["violations"] == []
    assert run("check", instance, "result.json")[0] == 0


def test_a_worse_solution_is_not_called_optimal(run, tmp_path):
    """A alone has the value 6."""
    (tmp_path / "k.json").write_text(json.dumps(KNAPSACK))
    text = "Optimal - objective value 10\n 0 x_0 1 6\n"
    (tmp_path / "k.sol").write_text(text)
    words = ("import", "sol", "k.sol", "--instance", "k.json", "-o", "r.json")
    assert run(*words)[0] == 0
    (tmp_path / "k.sol").write_text(text.replace("10", "3"))
    code, _, err = run(*words)
    assert code == 2 and "calls the objective 3 optimal, but its plan reaches 6" in err
    (tmp_path / "k.sol").write_text(
        "Optimal - objective value 11\n0 x_0 1 6\n1 x_1 1 5\n"
    )
    code, _, err = run(*words)
    assert code == 2 and "5 x_1 + 5 x_2 is 11 and must be at most 10" in err


def test_the_first_round_is_the_selection_of_the_solution():
    model = ioopt.model("rounds4", "sub-batch")
    names = [item.name for item in model.program.variables]
    values = dict.fromkeys(range(len(names)), 0)
    for name in ("T_3_0", "X_6_0", "X_7_0"):
        values[names.index(name)] = 1
    plan = model.outcome(values).plan
    assert plan.rounds[0].assign == {"t3": "n0"}
    assert sum(len(part.tasks) for part in plan.rounds) == 4
    assert ioopt.check("rounds4", plan) == []


def test_without_remote_starts_jobs_wait_for_their_file_nodes():
    def starts(guard):
        settings = {"weight": "one", "guard": guard}
        names = ioopt.to_pulp(ioopt.model("gang-figure-3", "assignment", settings))
        return len(names.variables())

    assert starts(0) < starts(1)
