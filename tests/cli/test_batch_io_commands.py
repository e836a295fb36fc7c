"""Comparisons, decisions and refusals of batch I/O on the command line."""

from __future__ import annotations

import json

import pytest


@pytest.mark.slow
def test_compare_runs_all_policies(run):
    _, out, _ = run("compare", "mira-day", "--format", "json", "--set", "loop=open")
    rows = json.loads(out)["rows"]
    assert len(rows) == 10
    assert not any(row["violations"] for row in rows)
    # with given starts nothing is faster than no congestion, which as a reference proves nothing
    assert {row["status"] for row in rows} == {"feasible"}
    best = min(rows, key=lambda row: row["objective"])
    assert best["solver"] == "no-congestion" and best["ratio_to_best"] is None
    assert min(row["ratio_to_best"] for row in rows if not row["reference"]) == 1


@pytest.mark.parametrize(
    ("solver", "grants"),
    [("base-line", {"A": 2e9, "B": 2e9}), ("cons-fcfs", {"A": 4e9, "B": 0.0})],
)
def test_decide(run, solver, grants):
    _, out, _ = run("solve", "two-writers-now", "--now", "--solver", solver)
    assert json.loads(out)["grants"] == grants


def test_several_files_give_paired_ratios_to_base_line(run):
    _, out, _ = run(
        "compare", "mira-day", "small-8", "--solver", "base-line", "--solver", "fill",
        "--format", "json",
    )  # fmt: skip
    document = json.loads(out)
    values = {"base-line": [], "fill": []}
    for row in document["rows"]:
        values[row["solver"]].append(row["metrics"]["mean_response_seconds"])
    ratios = [fill / base for fill, base in zip(values["fill"], values["base-line"])]
    found = next(
        row for row in document["ratios"]
        if row["solver"] == "fill" and row["metric"] == "mean_response_seconds"
    )  # fmt: skip
    assert found["mean_ratio"] == pytest.approx(sum(ratios) / 2)
    # Two values: the standard error of their mean is half their distance.
    assert found["standard_error"] == pytest.approx(abs(ratios[0] - ratios[1]) / 2)
