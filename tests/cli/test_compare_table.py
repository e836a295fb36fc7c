"""What ``ioopt compare`` says: one measure, marked rows, tables that fit."""

import json
import random
import re

import pytest
from rich.cells import cell_len

from ioopt.tables import fitting, render


def test_a_solver_that_cannot_take_the_instance_does_not_apply(run):
    """rounds4: four tasks on disks of one round; ip-printed plans one
    round: no word about it.
    """
    code, _, err = run("solve", "rounds4", "--solver", "ip")
    assert code == 2 and "cannot hold this batch in one round" in err
    both = ("--solver", "ip-printed", "--solver", "minmin", "--time-limit", "5")
    code, out, err = run("compare", "rounds4", *both)
    assert code == 0 and "does not apply" in out and "infeasible" not in out
    assert "cannot hold this batch in one round" in err
    assert run("compare", "rounds4", *both[:2])[0] == 2
    rows = json.loads(run("compare", "rounds4", *both, "--format", "json")[1])["rows"]
    assert rows[0]["status"] == "does not apply" and rows[1]["objective"] > 0


def test_defaults_fit_the_instance_and_no_line_is_wider_than_the_terminal(run):
    """image-100x4 has disks of 500 MB for 4.4 GB: rounds, not the one round of ip."""
    code, out, err = run("compare", "image-100x4", "--time-limit", "1")
    assert code == 0
    solvers = [line.split()[0] for line in out.splitlines()[3:-2]]
    assert solvers == ["auto", "two-stage", "minmin", "job-data-present"]
    assert (
        "infeasible" not in out
        and "by makespan_seconds (less is better); bound " in out
    )
    assert max(map(len, (out + err).splitlines())) <= 80


@pytest.mark.parametrize(
    ("backend", "told"),
    [
        ("gurobi", "has a backend 'gurobi'; known: CP-SAT, HiGHS"),
        ("HiGHSS", "has a backend 'HiGHSS'; known: CP-SAT, HiGHS"),
        ("glpk", "GLPK is no longer a backend; take CP-SAT"),
    ],
)
def test_a_backend_that_no_solver_has_is_refused(run, backend, told):
    words = ("compare", "cycle3", "--solver", "ip", "--solver", "minmin")
    code, out, err = run(*words, "--backend", backend)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1


def test_every_measure_can_be_asked_for_and_others_are_named(run):
    words = ("compare", "cycle3", "--solver", "minmin", "--solver", "job-data-present")
    _, out, _ = run(*words, "--measure", "additive_seconds", "--wide")
    assert out.startswith("cycle3, by additive_seconds (less is better); bound 4.708 s")
    code, _, err = run(*words, "--measure", "aditive_seconds")
    assert code == 2 and "did you mean 'additive_seconds'" in err


def test_a_baseline_works_with_one_file(run):
    """cycle3: minmin ends after 9.748 s, job-data-present after 14.12 s: 1.449 to 1."""
    words = ("compare", "cycle3", "--solver", "minmin", "--solver", "job-data-present")
    _, out, _ = run(*words, "--baseline", "minmin")
    lines = out[out.index("ratios to minmin") :].splitlines()
    assert lines[-1].split() == [
        "job-data-present",
        "makespan",
        "1",
        "1.449",
        "-",
        "0",
        "0",
        "1",
    ]


def test_the_reference_has_no_ratio(run):
    _, out, _ = run(
        "compare", "two-writers", "--solver", "no-congestion", "--solver", "fill"
    )
    cells = {line.split()[0]: line.split() for line in out.splitlines()[3:5]}
    # both writers end at 2 s without the storage's limit; with it 2 and 4 s,
    # mean 3, are the best
    assert cells["no-congestion"][1:6] == ["reference", "2.000", "s", "-", "-"]
    assert cells["fill"][1:7] == ["optimal", "3.000", "s", "0", "%", "1.000"]


def test_solvers_are_listed_by_family_with_readable_sources(run):
    _, out, _ = run("instances", "solvers", "batch-io")
    assert out.startswith("batch-io (default: auto)") and "(default: auto, fill)" in out
    assert "cons-fcfs " in out and "cons-fcfs+top" not in out and "--all" in out
    assert "cons-fcfs+top" in run("instances", "solvers", "batch-io", "--all")[1]
    marks = dict(line.split()[:2] for line in out.splitlines() if line[:1].isalpha())
    assert marks["io-exact"] == "yes" and marks["fill"] == marks["cons-fcfs"] == "-"
    sources = [
        spec["source"]
        for spec in json.loads(run("instances", "solvers", "--format", "json")[1])
    ]
    assert any(source.startswith("Khanna et al., Section 4.1") for source in sources)
    assert not any(
        re.search(r"\b00[0-3]\b|contract|rule", source) for source in sources
    )


def test_set_10_says_what_its_rule_costs_and_what_mends_it(run):
    """The day's jobs are of one or two kinds: set-10 leaves the storage
    idle, fill does not.
    """
    words = ("compare", "mira-day", "--solver", "set-10", "--solver", "fill")
    code, out, err = run(*words, "--format", "json")
    rows = json.loads(out)["rows"]
    assert (
        code == 0
        and rows[0]["value"] > 2 * rows[1]["value"]
        and not rows[1]["violations"]
    )
    assert " ".join(err.split()).count("least-delay and fill use all of it") == 1


@pytest.mark.slow
def test_compare_runs_all_policies(run):
    _, out, _ = run("compare", "mira-day", "--format", "json", "--set", "loop=open")
    rows = json.loads(out)["rows"]
    assert len(rows) == 10
    assert not any(row["violations"] for row in rows)
    # with given starts nothing is faster than no congestion, which as a
    # reference proves nothing
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
        "compare",
        "mira-day",
        "small-8",
        "--solver",
        "base-line",
        "--solver",
        "fill",
        "--format",
        "json",
    )
    document = json.loads(out)
    values = {"base-line": [], "fill": []}
    for row in document["rows"]:
        values[row["solver"]].append(row["metrics"]["mean_response_seconds"])
    ratios = [fill / base for fill, base in zip(values["fill"], values["base-line"])]
    found = next(
        row
        for row in document["ratios"]
        if row["solver"] == "fill" and row["metric"] == "mean_response_seconds"
    )
    assert found["mean_ratio"] == pytest.approx((ratios[0] * ratios[1]) ** 0.5)
    assert (found["pairs"], found["low"], found["high"]) == (2, None, None)


@pytest.mark.parametrize("seed", range(20))
def test_as_many_columns_are_shown_as_fit(seed):
    """The rendered columns fit the width, and with one more they would not."""
    draw = random.Random(seed)
    cells = ["a", "日本", "1.5 s", None, 2.25, "two\nlines", "[b]not bold", "x" * 20]
    names = [f"column {k}" for k in range(draw.randint(2, 7))]
    rows = [[draw.choice(cells) for _ in names] for _ in range(3)]
    width = draw.randint(10, 80)
    count = fitting(names, rows, width, 1)

    def widest(columns):
        text = render(names[:columns], [row[:columns] for row in rows])
        return max(map(cell_len, text.splitlines()))

    assert count == 1 or widest(count) <= width
    assert count == len(names) or widest(count + 1) > width
