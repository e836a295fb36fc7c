"""What ``ioopt compare`` says: one measure, marked rows, tables that fit."""

import json
import math
import random
import re
from operator import truediv
from pathlib import Path

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


def test_a_count_of_instances_fills_a_folder_with_seeds_in_order(run, files, tmp_path):
    """They are the six files that six calls write; an old file is no folder."""
    words = ("instances", "generate", "replication", "--preset", "tiny")
    for seed, path in enumerate(files):
        assert run(*words, "--seed", str(seed), "-o", "-")[1] == Path(path).read_text()
    code, _, err = run(*words, "--count", "2", "-o", "mine.py")
    assert code == 2 and err == "ioopt: mine.py: no folder to write to: File exists\n"
    assert "def in_turn" in (tmp_path / "mine.py").read_text()


def test_an_own_solver_alone_gets_quick_rivals_over_several_instances(run, files):
    code, out, err = run("compare", *files, "--solver", "mine.py:in_turn")
    assert code == 0 and out.startswith("6 instances") and " ratios to mine.py" in out
    assert [line.split()[0] for line in out.splitlines()[5:8]] == [
        "mine.py:in_turn",
        "minmin",
        "job-data-present",
    ]
    assert "mine.py:in_turn is compared with minmin, job-data-present" in err
    code, out, _ = run("compare", files[0], "--solver", "mine.py:in_turn")
    assert code == 0 and "minmin" not in out


def test_a_summary_agrees_with_the_rows(run, files):
    """The ratio is the sixth root of the product; json has the uncorrected p too."""
    asked = ("compare", *files, *("--solver", "mine.py:in_turn", "--solver", "minmin"))
    _, text, _ = run(*asked)
    document = json.loads(run(*asked, "--format", "json")[1])
    values = {"mine.py:in_turn": [], "minmin": []}
    for row in document["rows"]:
        values[row["solver"]].append(row["value"])
    ratio = math.prod(map(truediv, values["minmin"], values["mine.py:in_turn"]))
    line = next(line for line in text.splitlines() if line.startswith("minmin"))
    assert line.split()[1:3] == ["6", f"{ratio ** (1 / 6):.3f}"]
    found = next(
        row
        for row in document["ratios"]
        if row["solver"] == "minmin" and row["metric"] == "makespan_seconds"
    )
    assert f"{found['wins']}/{found['ties']}/{found['losses']}" in line
    assert found["p_value"] == found["holm_p_value"] <= 1  # one rival


def test_a_latex_table_needs_booktabs_alone(run, files):
    """What is no comment is one tabular, whose lines have as files cells as columns."""
    asked = ("--solver", "mine.py:in_turn", "--solver", "minmin", "--format", "latex")
    _, out, _ = run("compare", *files, *asked)
    lines = [line for line in out.splitlines() if not line.startswith("% ")]
    form = re.fullmatch(r"\\begin\{tabular\}\{([lr]+)\}", lines[0])
    assert form is not None and lines[-1] == r"\end{tabular}"
    assert [lines[1], lines[3], lines[-2]] == [r"\toprule", r"\midrule", r"\bottomrule"]
    for line in (lines[2], *lines[4:-2]):
        assert len(line.split(" & ")) == len(form[1]) and line.endswith(r" \\")
    assert r"mine.py:in\_turn & 6 & 1.000" in out and r"95 \% interval" in out
    _, out, _ = run("compare", files[0], *asked)
    assert out.startswith("% ") and out.count(r"\begin{tabular}") == 1


def test_a_choice_of_columns_keeps_a_table_narrow(run, files):
    asked = ("--solver", "mine.py:in_turn", "--solver", "minmin", "--format", "latex")
    _, out, _ = run("compare", *files, *asked, "--columns", "p, ratio")
    assert r"\begin{tabular}{llr}" in out and r"solver & p & ratio \\" in out


def test_latex_escapes_every_character_that_it_would_read():
    text = render(["a"], [["&%$#_{}~^\\<>[*\n"]], "latex").splitlines()[4]
    assert text == (
        r"\&\%\$\#\_\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}"
        r"$<$$>${[}{*}  \\"
    )


def test_a_picture_for_a_paper_has_the_width_asked_for(run, files, tmp_path):
    """85 mm are 240.94 points; fonts are embedded as TrueType, no text is below 6."""
    pytest.importorskip("matplotlib")
    asked = ("--solver", "mine.py:in_turn", "--solver", "minmin", "--plot-width", "85")
    run("compare", *files, *asked[:-2], "--format", "json", "-o", "many.json")
    for words in (
        ("compare", *files[:1], *asked, "--plot", "out.pdf"),
        ("compare", *files, *asked, "--plot", "out.pdf"),
        ("plot", "many.json", "-o", "out.pdf", "--width", "85"),
    ):
        assert run(*words)[0] == 0
        pdf = (tmp_path / "out.pdf").read_bytes()
        box = re.search(rb"/MediaBox \[ 0 0 ([0-9.]+) ", pdf)
        assert box is not None and float(box[1]) == pytest.approx(85 / 25.4 * 72)
        assert b"/Type3" not in pdf
    for words, said in (
        (("compare", *files, *asked[:-1], "5", "--plot", "out.pdf"), "60.0<=x<=400.0"),
        (("compare", *files, *asked), "add --plot OUT.pdf"),
        (("plot", "a.json", "b.json", "-o", "o.pdf", "--width", "85"), "one compar"),
    ):
        code, _, err = run(*words)
        assert code == 2 and said in err


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
