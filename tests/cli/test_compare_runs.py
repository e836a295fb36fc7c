"""Runs that are kept and printed again, labels, folders, notes, and what counts as
one pair.
"""

import json
import math
import os
import re
import shutil
import sys
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

import ioopt
from ioopt.comparing.joined import joined
from ioopt.comparing.picture import plot_comparison
from ioopt.comparing.runs import runs_in
from ioopt.errors import UsageError
from ioopt.metrics import PairedRatio, geometric_mean, paired_ratios, signed_rank_p
from ioopt.tables import folded

MINE = ("--solver", "mine.py:in_turn", "--solver", "minmin")


def kept(run, *words):
    """Run a comparison of the folder twice: kept as r.json, and printed."""
    asked = ("compare", "many", *MINE, *words)
    assert run(*asked, "--format", "json", "-o", "r.json")[0] in (0, 5)
    return asked


def untimed(text):
    """Return *text* without the figures and the blanks of its column of times."""
    text = re.sub(r"[\d.]+ m?s\b|(?<=& )[\d.]+ \\\\|time \(m?s\)", "T", text)
    return re.sub(r"[ ─-]+", " ", text)


@pytest.mark.parametrize(
    "form",
    [(), ("--wide",), ("--format", "latex"), ("--format", "markdown")],
)
def test_stored_runs_are_printed_as_at_first(run, many, monkeypatch, form):
    """Nothing is solved: the second time no solver may be called."""
    asked = kept(run, "--solver", "mine.py:gives_up", "--baseline", "minmin")
    code, first, _ = run(*asked, *form)
    (many.parent / "mine.py").unlink()
    shutil.rmtree(many)
    monkeypatch.setattr("ioopt.comparing.solve", None)
    again, text, said = run("compare", "r.json", *form)
    assert (again, untimed(text)) == (code, untimed(first)) and code == 5
    # Notes of the runs are not told again, but failures are.
    assert said.count("note: ") == 1 and "mine.py:gives_up: failed" in said
    assert run("compare", "r.json", *form)[1] == text
    _, document, _ = run("compare", "r.json", "--format", "json")
    kept_first = json.loads(Path("r.json").read_text())
    printed = json.loads(document)
    assert printed["ratios"] == kept_first["ratios"]
    for row, old in zip(printed["rows"], kept_first["rows"], strict=True):
        assert old.items() <= row.items()


def test_a_single_instance_is_printed_again_too(run, many):
    for instance in ("cycle3", "two-writers"):
        code, first, _ = run("compare", instance, "--time-limit", "5")
        run(
            "compare", instance, "--time-limit", "5", "--format", "json", "-o", "1.json"
        )
        assert untimed(run("compare", "1.json")[1]) == untimed(first) and code == 0


def test_options_of_solving_are_refused_for_stored_runs(run, many):
    kept(run)
    for words, said in (
        (("--solver", "minmin"), "leave out --solver"),
        (("--time-limit", "5"), "leave out --time-limit"),
        (("--measure", "makespan_seconds"), "leave out --measure"),
        (("many",), "r.json has stored runs: name only such files"),
        (("--baseline", "heft"), "--baseline 'heft' is not among the solvers"),
    ):
        code, out, err = run("compare", "r.json", *words)
        assert (code, out) == (2, "") and said in err
    data = json.loads(Path("r.json").read_text())
    data["rows"][1]["kind"] = "gang"
    Path("r.json").write_text(json.dumps(data))
    code, _, err = run("compare", "r.json")
    assert code == 2 and "r.json: wanted runs of one kind, not of gang, repl" in err


def test_another_baseline_of_stored_runs(run, many):
    """The ratio to the other solver is the inverse."""
    kept(run)
    means = []
    for baseline, solver in (
        ("minmin", "mine.py:in_turn"),
        ("mine.py:in_turn", "minmin"),
    ):
        asked = ("compare", "r.json", "--baseline", baseline, "--format", "json")
        ratios = json.loads(run(*asked)[1])["ratios"]
        means += [
            row["mean_ratio"]
            for row in ratios
            if (row["solver"], row["metric"]) == (solver, "makespan_seconds")
        ]
    assert means[0] * means[1] == pytest.approx(1)


def test_rows_of_another_objective_are_read_by_the_measure(run, many):
    """minmin on cycle3 ends after 9.748 s."""
    result = ioopt.solve("cycle3", "minmin").to_dict({"plan", "schedule"})
    result |= {"objective_name": "additive_seconds", "objective": 6.0, "bound": 5.0}
    result["status"] = "feasible"
    document = {"format": "ioopt/comparison", "version": 1, "rows": [result]}
    runs = runs_in(document | {"measure": "makespan_seconds"}, "r.json")
    assert runs.rows[0]["value"] == pytest.approx(9.748)
    assert runs.rows[0]["bound"] is None
    runs = runs_in(document | {"measure": "additive_seconds"}, "r.json")
    assert (runs.rows[0]["value"], runs.rows[0]["bound"]) == (6.0, 5.0)


def test_labels_name_solvers_everywhere(run, many, tmp_path):
    pytest.importorskip("matplotlib")
    labels = ("--label", "mine.py:in_turn=Ours_1 & more", "--label", "minmin=MinMin")
    asked = kept(run, *labels)
    _, out, _ = run(*asked)
    assert "ratios to Ours_1 & more" in out and out.count("\nMinMin ") == 1
    assert "mine.py" not in out and run("compare", "r.json")[1].count("Ours_1 & more")
    _, out, _ = run("compare", "r.json", "--format", "latex")
    assert r"Ours\_1 \& more & 6 & 1.000 & -- & -- & -- & " in out
    document = json.loads(Path("r.json").read_text())
    assert document["labels"]["minmin"] == "MinMin"
    assert {row["solver"] for row in document["rows"]} == {"mine.py:in_turn", "minmin"}
    _, out, _ = run("compare", "r.json", "--label", "minmin=M", "--format", "csv")
    assert [line.split(",")[1] for line in out.splitlines()[1:3]] == [
        "Ours_1 & more",
        "M",
    ]
    for target in (("compare", "r.json", "--plot"), ("plot", "r.json", "-o")):
        assert run(*target, "out.svg")[0] == 0
        text = (tmp_path / "out.svg").read_text()
        assert "MinMin" in text and "over that of Ours_1 &amp; more" in text
        assert text.count("n = 6") == 1


def test_a_label_is_for_a_solver_that_is_compared(run, many):
    asked = ("compare", "many", *MINE, "--solver", "link-aware:evaluations=9")
    for label, said in (
        (
            "heft=H",
            "wanted SOLVER=LABEL with one of the solvers mine.py:in_turn, minmin",
        ),
        ("minmin", "wanted SOLVER=LABEL"),
        ("minmin= ", "the label is empty"),
        ("minmin=mine.py:in_turn", "two solvers would be called 'mine.py:in_turn'"),
    ):
        code, out, err = run(*asked, "--label", label)
        assert (code, out) == (2, "") and said in err
    code, out, _ = run(*asked, "--label", "link-aware:evaluations=9=LA")
    assert code == 0 and "\nLA " in out


def test_a_folder_is_its_files_in_order(run, many, tmp_path):
    names = [f"many/{name}" for name in sorted(os.listdir(many))]
    text = untimed(run("compare", *names, *MINE, "--wide")[1])
    assert untimed(run("compare", "many/", *MINE, "--wide")[1]) == text
    table = ioopt.compare("many", ["minmin"])
    assert list(dict.fromkeys(table.index.get_level_values("instance"))) == [
        Path(name).stem for name in names
    ]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("notes.txt", "words", "many/notes.txt: no instance file; move it out of"),
        (".hidden", "", "many/.hidden: no instance file"),
        ("old.json/x", "", "many/old.json: a folder in a folder; name the inner"),
        ("x.json", "{}", 'many/x.json: format: missing; an instance says "format"'),
        ("x.json", "{", "many/x.json: "),
    ],
)
def test_what_is_no_instance_in_a_folder_is_named(run, many, name, content, said):
    (many / name).parent.mkdir(exist_ok=True)
    (many / name).write_text(content)
    code, out, err = run("compare", "many", *MINE)
    assert (code, out) == (2, "") and said in err and err.count("\n") == 1


def test_an_empty_folder_and_a_file_given_twice_are_refused(run, many):
    Path("none").mkdir()
    assert "none: the folder is empty" in run("compare", "none")[2]
    code, _, err = run("compare", "many", "many/tiny-8x2-s1.json", *MINE)
    assert code == 2 and "many/tiny-8x2-s1.json is given 2 times" in err


def test_notes_of_one_kind_are_one_line(run, many):
    """The tasks are eight in each; the name of the instance differs."""
    asked = ("compare", "many", *MINE, "--solver", "mine.py:gives_up")
    _, _, err = run(*asked, "--solver", "mine.py:odd")
    plain = " ".join(err.split())
    for said in (
        "gives_up: failed (ValueError: 8 tasks, 'tiny-8x2-s0') at mine.py:8 note: ",
        "note: tiny-8x2-s0 and 2 more: mine.py:odd: returned None, no plan",
        "note: tiny-8x2-s0 and 5 more: mine.py:gives_up: ",
    ):
        assert said in plain
    assert plain.count("note: ") == 2


def test_solvers_with_the_same_note_share_its_line(run):
    solvers = ("--solver", "ip", "--solver", "auto")
    _, _, err = run("compare", "cycle3", *solvers, "--measure", "additive_seconds")
    plain = " ".join(err.split())
    assert "note: cycle3: ip, auto: additive is of the plan's transfers" in plain
    assert plain.count("additive is of") == 1


def rows_of(ratios):
    """Return rows of two solvers, given the ratios keyed by instance and base."""
    rows = []
    for (instance, base), ratio in ratios.items():
        for solver, value in (("base", 2.0), ("mine", 2.0 * ratio)):
            rows.append(
                {
                    "solver": solver,
                    "instance": instance,
                    "base": base,
                    "status": "feasible",
                    "objective_name": "x",
                    "objective": value,
                    "metrics": {},
                }
            )
    return rows


def ratio_of(rows) -> PairedRatio:
    return next(
        row for row in paired_ratios(rows, "base", ["x"]) if row.solver == "mine"
    )


def test_instances_of_one_base_count_once():
    """Six bases at three sizes: as six ratios, each the geometric mean of three."""
    sizes = [0.5, 1.0, 4.0]
    made = {
        (f"s{seed}-{k}", f"seed {seed}"): size * (1 + seed / 10)
        for seed in range(6)
        for k, size in enumerate(sizes)
    }
    found = ratio_of(rows_of(made))
    each = [math.prod(sizes) ** (1 / 3) * (1 + seed / 10) for seed in range(6)]
    assert (found.pairs, found.independent) == (18, 6)
    assert (found.wins + found.losses + found.ties, found.wins) == (18, 6)
    middle = geometric_mean(each)
    assert found.mean_ratio == pytest.approx(middle.mean)
    assert (found.low, found.high) == pytest.approx((middle.low, middle.high))
    assert found.p_value == pytest.approx(signed_rank_p(each)) == 0.03125
    apart = ratio_of(rows_of({(name, None): r for (name, _), r in made.items()}))
    assert apart.independent == 18 and apart.p_value != found.p_value


def test_fewer_than_five_bases_have_no_interval():
    made = {(f"{seed}-{k}", str(seed)): 0.5 for seed in range(4) for k in range(9)}
    found = ratio_of(rows_of(made))
    assert (found.pairs, found.independent, found.low, found.p_value) == (
        36,
        4,
        None,
        None,
    )


def test_the_same_seeds_with_other_disks_are_told(run, many):
    """Six seeds at two sizes of disks: the p of six pairs is at least 1/32."""
    words = ("replication", "--preset", "tiny", "--set", "disk=600MB", "--count", "6")
    assert run("instances", "generate", *words, "-o", "small")[0] == 0
    _, out, _ = run("compare", "many", "small", *MINE)
    assert "12 instances" in out and "(6 for 12 pairs)" in " ".join(out.split())
    assert "preset and seed" not in run("compare", "many", *MINE)[1]
    _, out, _ = run("compare", "many", "small", *MINE, "--format", "json")
    document = json.loads(out)
    assert {row["base"] for row in document["rows"]} == {
        f"tiny, seed {seed}" for seed in range(6)
    }
    (found,) = [
        row
        for row in document["ratios"]
        if (row["solver"], row["metric"]) == ("minmin", "makespan_seconds")
    ]
    assert (found["pairs"], found["independent"]) == (12, 6)
    assert found["p_value"] >= 1 / 32


def test_python_gives_the_summary_of_the_table(run, many):
    _, out, _ = run(*kept(run))
    frame = ioopt.compare("many", ["mine.py:in_turn", "minmin"], summary=True)
    stored = ioopt.compare("r.json", summary=True)
    assert frame.drop(columns="seconds").equals(stored.drop(columns="seconds"))
    minmin = frame.loc["minmin"]
    line = next(line for line in out.splitlines() if line.startswith("minmin"))
    assert line.split()[1:3] == [str(int(minmin["pairs"])), f"{minmin['ratio']:.3f}"]
    counts = "/".join(str(int(minmin[key])) for key in ("wins", "ties", "losses"))
    assert counts in line and f"{minmin['low']:.3f} to {minmin['high']:.3f}" in line
    inverse = ioopt.compare("r.json", summary=True, baseline="minmin")
    assert inverse.loc["mine.py:in_turn", "ratio"] == pytest.approx(1 / minmin["ratio"])
    assert ioopt.compare("r.json").shape[0] == 12
    for words, said in (
        ({"baseline": "minmin"}, "add summary=True"),
        ({"summary": True, "baseline": "heft"}, "not among the solvers"),
        ({"solvers": "minmin"}, "leave out the solvers"),
    ):
        with pytest.raises(ioopt.errors.UsageError, match=said):
            ioopt.compare("r.json", **words)


def test_python_makes_the_table_and_the_picture_of_the_command(run, many, tmp_path):
    """Solvers may have names, which two settings of one function need."""
    pytest.importorskip("matplotlib")
    names = {"Ours": "mine.py:in_turn", "MinMin": "minmin"}
    study = ioopt.study("many", names)
    study.save("r.json")
    latex = run("compare", "r.json", "--format", "latex", "--columns", "ratio,p")[1]
    assert study.latex("t.tex", columns="ratio,p") == latex
    assert (tmp_path / "t.tex").read_text() == latex and "\nOurs & 1.000 & " in latex
    study.plot("python.svg", width=85)
    assert run("compare", "r.json", "--plot", "r.svg", "--plot-width", "85")[0] == 0
    drawn = [(tmp_path / name).read_bytes() for name in ("python.svg", "r.svg")]
    assert drawn[0] == drawn[1]
    assert untimed(str(study)) == untimed(run("compare", "r.json")[1])
    assert study.summary().index.tolist() == ["Ours", "MinMin"]
    stored = ioopt.study("r.json", baseline="MinMin", labels={"Ours": "Mine"})
    assert stored.summary().loc["MinMin", "ratio"] == 1
    assert {row["solver"] for row in stored.rows} == {"Mine", "MinMin"}
    alike = {name: partial(lambda problem, k: None, k=k) for k, name in enumerate("ab")}
    assert ioopt.study("many", alike).runs.labelled().solvers == ["a", "b"]
    with pytest.raises(ioopt.errors.UsageError, match="--columns 'ratios'"):
        study.latex(columns="ratios")
    for width in (0, 1, -85, float("nan")):
        with pytest.raises(ioopt.errors.UsageError, match="wanted 60 to 400 mm"):
            study.plot(width=width)
    with pytest.raises(ioopt.errors.UsageError, match="there is no instance"):
        ioopt.study([])
    with pytest.raises(ioopt.errors.UsageError, match="wanted names or functions"):
        ioopt.study("cycle3", 5)


def test_the_remark_counts_proven_optima(run, many):
    asked = ("--solver", "exact-workflow", "--solver", "mine.py:in_turn")
    _, out, _ = run("compare", "many", *asked, "--format", "json")
    proven = sum(
        row["status"] == "optimal" and row["solver"] == "exact-workflow"
        for row in json.loads(out)["rows"]
    )
    _, out, _ = run("compare", "many", *asked)
    assert f"exact-workflow {proven} of 6" in " ".join(out.split()) and proven > 0


@pytest.mark.parametrize("named", ["deep/h.py:solve", "lazy_h:solve"])
def test_a_function_may_import_what_lies_beside_it(run, tmp_path, monkeypatch, named):
    monkeypatch.chdir(tmp_path)
    text = "def solve(problem):\n    from {0} import NODE\n    tasks = "
    text += "[task.id for task in problem.tasks]\n"
    text += "    return {{problem.nodes[NODE].id: tasks}}\n"
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "h.py").write_text(text.format("lazily_beside"))
    (tmp_path / "deep" / "lazily_beside.py").write_text("NODE = 1\n")
    (tmp_path / "lazy_h.py").write_text(text.format("lazily_here"))
    (tmp_path / "lazily_here.py").write_text("NODE = 1\n")
    code, out, _ = run("compare", "cycle3", "--solver", named, "--format", "json")
    assert code == 0 and json.loads(out)["rows"][0]["status"] == "feasible"
    assert list(ioopt.solve("cycle3", named).plan["order"]) == ["n1"]


def test_a_module_of_another_folder_is_not_taken_in_its_place(
    run, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "namesake.py").write_text("NODE = 0\n")
        (tmp_path / folder / "h.py").write_text(
            "def solve(problem):\n    import namesake\n"
            "    return {problem.nodes[0].id: [task.id for task in problem.tasks]}\n"
        )
    assert run("compare", "cycle3", "--solver", "one/h.py:solve")[0] == 0
    code, _, err = run("compare", "cycle3", "--solver", "two/h.py:solve")
    assert code == 2 and "another namesake is loaded already" in " ".join(err.split())


def test_a_picture_needs_a_pair(run, many, tmp_path):
    """The table is printed before; a solver without a pair says so."""
    pytest.importorskip("matplotlib")
    asked = ("compare", "many", *MINE, "--solver", "mine.py:gives_up")
    code, out, err = run(*asked, "--baseline", "mine.py:gives_up", "--plot", "o.png")
    assert code == 2 and "6 instances" in out and not (tmp_path / "o.png").exists()
    assert "no picture: no instance has verified plans of mine.py:gives_up" in err
    rows = json.loads(run(*asked, "--format", "json")[1])["rows"]
    axes = plot_comparison(rows, "makespan_seconds", "minmin")
    assert [text.get_text() for text in axes.texts].count(" failed") == 1
    odd = ("--solver", "mine.py:odd", "--solver", "mine.py:even")
    rows = json.loads(run(*asked, *odd, "--format", "json")[1])["rows"]
    axes = plot_comparison(rows, "makespan_seconds", "mine.py:odd")
    told = [text.get_text() for text in axes.texts]
    assert (told.count(" no pair"), told.count(" failed")) == (1, 1)


def test_names_in_pictures_are_folded_not_cut(run, many):
    pytest.importorskip("matplotlib")
    kept(run, "--solver", "link-aware:evaluations=20,robust=no")
    rows = json.loads(Path("r.json").read_text())["rows"]
    axes = plot_comparison(rows[:3], "makespan_seconds", None, 85.0)
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names[-1].startswith("link-aware:\nevaluations=20,")
    assert "…" not in "".join(names) and axes.figure.get_figwidth() == 85 / 25.4
    axes.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.get_yticklabels()]
    for above, below in pairwise(boxes):
        assert above.y0 >= below.y1


@pytest.mark.parametrize("width", [60.0, 85.0, 170.0])
def test_a_narrow_picture_has_names_above_and_shows_its_intervals(run, many, width):
    """No text lies on another or on a stroke; the interval is wider than its dot; there
    are at least four ticks, and the number of instances stands there once.
    """
    pytest.importorskip("matplotlib")
    kept(run, "--solver", "link-aware:evaluations=20,robust=no")
    rows = json.loads(Path("r.json").read_text())["rows"]
    for r in rows:  # ratios of 0.7, 1.0 and 1.3 to the best, with some spread
        r["ratio_to_best"] = 0.7 + 0.3 * ["mine.py", "minmin", "link-aware"].index(
            r["solver"].partition(":")[0]
        )
        r["ratio_to_best"] *= 1 + 0.04 * (len(r["instance"] + r["base"]) % 2)
        r["ratio_to_best"] *= 1 + 0.03 * (int(r["instance"][-1]) % 3)
    axes = plot_comparison(rows, "makespan_seconds", None, width)
    axes.figure.draw_without_rendering()
    texts = [text for text in axes.texts if text.get_text()]
    boxes = [text.get_window_extent() for text in texts]
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])
    strokes = [line for line in axes.lines if line.get_marker() == "|"]
    rows_at = [
        axes.transData.transform((1, line.get_ydata()[0]))[1] for line in strokes
    ]
    for box in boxes if width < 170 else ():
        assert not any(box.y0 < at < box.y1 for at in rows_at)
    for bar in axes.containers:
        (low, high) = bar.lines[2][0].get_segments()[0][:, 0]
        wide = axes.transData.transform([(low, 0), (high, 0)])[:, 0]
        dot = bar.lines[0].get_markersize() * axes.figure.dpi / 72
        assert wide[1] - wide[0] > dot
    low, high = axes.get_xlim()
    assert sum(low <= tick <= high for tick in axes.get_xticks()) >= 4
    assert axes.get_xlabel().replace("\n", " ").endswith("n = 6")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("abc", ["abc"]),
        ("ab:cdef=g", ["ab:", "cdef=g"]),
        ("abc_defghij", ["abc_", "defghi", "j"]),
        ("abcdefghij", ["abcdef", "ghij"]),
        ("abcdef:x", ["abcdef", ":x"]),
        ("f:k=1,lm=12345", ["f:k=1,", "lm=", "12345"]),
    ],
)
def test_names_are_folded_after_signs(text, lines):
    assert folded(text, 6).split("\n") == lines


def test_a_narrow_table_folds_names_and_cuts_no_figure(run, many):
    """The columns beside the name take 63 of 80 characters, or 25 for one instance."""
    long = "mine.py:in_turn:first_of_all_nodes=false,second=no"
    (many.parent / "mine.py").write_text(
        "def in_turn(problem, first_of_all_nodes=True, second=True):\n"
        "    nodes = [node.id for node in problem.nodes]\n"
        "    queues = {node: [] for node in nodes}\n"
        "    for k, task in enumerate(problem.tasks):\n"
        "        queues[nodes[k % len(nodes)]].append(task.id)\n"
        "    return queues\n"
    )
    names = ("--solver", long, "--solver", "minmin")
    for words in (("many",), ("cycle3",), ("many", "--baseline", "minmin")):
        out = run("compare", *words, *names)[1]
        table = out[: out.find("ratio: geometric")] if "many" in words else out
        assert "\u2026" not in table
        assert max(map(len, table.splitlines())) <= 80
        assert not any(line.startswith(long) for line in table.splitlines()[4:])
    frame = ioopt.compare("many", [long, "minmin"], summary=True)
    out = run("compare", "many", *names)[1]
    assert f"{frame.loc['minmin', 'ratio']:.3f}" in out


def test_two_solvers_of_one_name_are_refused(run, many):
    """Runs of both would be one line of the summary."""
    one, other = (lambda problem: None), (lambda problem: None)
    for pair in ([one, other], ["minmin", "minmin"]):
        for call in (ioopt.study, ioopt.compare):
            with pytest.raises(ioopt.errors.UsageError, match="two solvers are called"):
                call("cycle3", pair)
    code, _, err = run("compare", "cycle3", "--solver", "minmin", "--solver", "minmin")
    assert code == 2 and "two solvers are called 'minmin': leave one out" in err

    def of_node(problem, k=0):
        return None

    pair = [partial(of_node, k=k) for k in (1, 2)]
    names = ioopt.study("cycle3", pair).runs.solvers
    assert [name.rpartition(":")[2] for name in names] == ["k=1", "k=2"]
    with pytest.raises(ioopt.errors.UsageError, match=r"not take kk; .* problem, k"):
        ioopt.study("cycle3", {"mine": partial(of_node, kk=1)})
    code, _, err = run("compare", "cycle3", "--solver", "mine.py:in_turn:room")
    assert (
        code == 2 and "solver 'mine.py:in_turn:room' wants KEY=VALUE, not 'room'" in err
    )


def test_runs_of_python_and_of_the_command_are_of_the_same_solvers(
    run, many, monkeypatch
):
    """Names of a mapping are labels; a function of a file here has the file's name."""
    monkeypatch.syspath_prepend(str(many.parent))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    mine = import_module("mine")
    monkeypatch.setitem(sys.modules, "mine", mine)
    study = ioopt.study("many", {"Ours": mine.in_turn, "MinMin": "minmin"})
    study.save("python.json")
    words = ("--solver", "mine.py:in_turn", "--solver", "minmin", "--format", "json")
    labels = ("--label", "mine.py:in_turn=Ours")
    assert run("compare", "many", *words, *labels, "-o", "command.json")[0] == 0
    code, out, err = run("compare", "python.json", "command.json")
    assert code == 0, err
    table = out.partition("\u2500\n")[2].partition("ratio: ")[0]
    rows = [line.split() for line in table.splitlines()]
    assert [row[:2] for row in rows] == [["Ours", "6"], ["MinMin", "6"]]
    alone = ioopt.study("many", mine.in_turn).runs.solvers
    assert alone == ["mine.py:in_turn", "minmin", "job-data-present"]
    assert len(ioopt.study("cycle3", mine.in_turn).runs.solvers) == 1


def test_a_printed_study_says_why_a_solver_failed(run, many):
    def forgets(problem):
        return {node.id: [] for node in problem.nodes}

    study = ioopt.study("many", {"minmin": "minmin", "mine": forgets})
    last = str(study).splitlines()[-1]
    assert last.startswith("note: ") and " and 5 more: mine: " in last
    assert "is in no queue" in last


def test_pictures_of_stored_runs_are_equal_to_the_byte(run, many, tmp_path):
    pytest.importorskip("matplotlib")
    asked = kept(run)
    for name in ("a.pdf", "a.svg", "a.png"):
        run(*asked, "--plot", name)
        first = (tmp_path / name).read_bytes()
        assert run("compare", "r.json", "--plot", name)[0] == 0
        assert (tmp_path / name).read_bytes() == first


def test_presets_and_settings_have_meanings(run):
    """Each setting that a preset has stands in the table with words."""
    from ioopt import registry

    _, names, _ = run("instances", "generate", "--list")
    code, out, err = run("instances", "generate", "-o", "-")
    assert (code, out) == (2, "") and "missing FAMILY" in err
    for kind in registry.FORMATS.values():
        if not kind.presets:
            continue
        assert re.search(rf"^{kind.kind} +{next(iter(kind.presets))}\b", names, re.M)
        _, out, _ = run("instances", "generate", kind.kind, "--list")
        presets, _, settings = out.partition("\nsetting ")
        for name, cls in kind.presets.items():
            assert re.search(rf"^{re.escape(name)} +\w", presets, re.M)
            for key, field in cls.model_fields.items():
                assert field.description, (name, key)
                assert re.search(rf"^{key} +\w", settings, re.M), (name, key)


@pytest.fixture
def disks(run, own, tmp_path):
    """A folder of three seeds with two sizes of disks."""
    words = ("replication", "--preset", "image-85", "--set", "tasks=12")
    for disk in ("400MB", "1GB"):
        more = ("--set", f"disk={disk}", "--count", "3", "-o", "disks")
        code, _, err = run("instances", "generate", *words, *more)
        assert code == 0 and err == "3 instances in disks\n"
    return tmp_path / "disks"


def test_generated_files_of_other_settings_replace_nothing(run, disks):
    names = sorted(path.name for path in disks.iterdir())
    assert len(names) == 6
    assert names[0] == "image-85-12x4-s0-tasks=12-disk=1GB.json"
    (disks / names[0]).write_text("{}")
    words = ("--preset", "image-85", "--set", "tasks=12", "--set", "disk=1GB")
    asked = ("instances", "generate", "replication", *words, "--count", "3", "-o")
    err = run(*asked, "disks")[2]
    assert err == "3 instances in disks; 1 of the files had other contents\n"
    assert len(list(disks.iterdir())) == 6


def test_stored_runs_of_several_files_are_one_comparison(run, disks):
    """The table by disks is that of all runs at once, however they were kept."""
    keep = ("--format", "json", "-o")
    for name, some in (("small", "400MB"), ("large", "1GB")):
        files = [str(path) for path in sorted(disks.glob(f"*disk={some}.json"))]
        assert run("compare", *files, *MINE, *keep, f"{name}.json")[0] == 0
    third = ("--solver", "job-data-present")
    assert run("compare", "disks", *third, *keep, "more.json")[0] == 0
    stored = ("compare", "small.json", "large.json", "more.json")
    code, out, _ = run(*stored, "--by", "disk")
    assert code == 0
    assert "disk=1GB: 3 instances" in out, out
    first, second = out.split("disk=1GB: 3 instances")
    assert first.startswith("disk=400MB: 3 instances")
    whole = run("compare", "disks", *MINE, *third, "--by", "disk")[1]
    ratio = re.compile(r"^(\S+ +\d+ +\d\.\d{3})", re.M)
    assert ratio.findall(whole) == ratio.findall(out)
    assert len(ratio.findall(first)) == len(ratio.findall(second)) == 3
    assert "6 instances" in run(*stored)[1]
    frame = ioopt.compare(["small.json", "large.json"], summary=True)
    assert list(frame["pairs"]) == [6, 6] and list(frame["independent"]) == [3, 3]


def test_runs_that_do_not_fit_together_are_refused(run, disks):
    small = [str(path) for path in sorted(disks.glob("*400MB.json"))]
    run("compare", *small, *MINE, "--format", "json", "-o", "a.json")
    document = json.loads(Path("a.json").read_text())
    for row in document["rows"]:
        del row["generated"], row["digest"]
    Path("old.json").write_text(json.dumps(document))
    changed = json.loads(Path(small[0]).read_text())
    changed["network"]["remote_bytes_per_second"] *= 2
    Path("changed.json").write_text(json.dumps(changed))
    words = ("--solver", "locality", "--solver", "minmin:eviction=lru")
    run("compare", "changed.json", *words, "--format", "json", "-o", "other.json")
    solver = ("--solver", "gs", "--format", "json", "-o", "gang.json")
    run("compare", "gang-mixed-60", *solver)
    for words, said in (
        (("a.json", "other.json"), "is not the same instance in all files"),
        (("a.json", "old.json"), "do not say whether it is the same instance"),
        (("a.json", "gang.json"), "make no comparison"),
        (("a.json", "--by", "dsk"), "did you mean 'disk'?"),
        (("old.json", "--by", "disk"), "states no setting 'disk'; known: preset"),
        (("a.json", "--by", "disk", "--by", "cap"), "--by is given 2 times"),
        (("a.json", "--columns", "ratio,pp"), "wanted some of pairs, ratio, interval"),
        (("cycle3", "eight-tasks", "--by", "disk"), "cycle3 states no setting"),
        ((str(small[0]), "--by", "disk"), "and there is one"),
    ):
        code, out, err = run("compare", *words)
        assert (code, out) == (2, "") and said in err, err


def test_an_own_function_alone_is_added_to_stored_runs(run, disks):
    """The rivals that come with it are the same runs, and are taken once."""
    keep = ("--format", "json", "-o")
    third = ("--solver", "job-data-present")
    run("compare", "disks", *MINE, *third, *keep, "runs.json")
    own = ("--solver", "mine.py:again:step=1")
    run("compare", "disks", *own, *keep, "one.json")
    names = {row["solver"] for row in json.loads(Path("one.json").read_text())["rows"]}
    assert names == {"mine.py:again:step=1", "minmin", "job-data-present"}
    code, out, err = run("compare", "runs.json", "one.json", "--format", "json")
    assert (code, err) == (0, "")
    rows = json.loads(out)["rows"]
    assert len(rows) == 6 * 4 and not any("file" in row for row in rows)
    whole = run("compare", "disks", *MINE, *third, *own, "--format", "json")[1]
    assert json.loads(out)["ratios"] == json.loads(whole)["ratios"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"value": 9.0}, "(value 9, 7)"),
        ({"seed": 3}, "(seed 3, 0)"),
        ({"options": {"settings": {"step": 2}}}, "(settings {'step': 2}, {'step': 1})"),
        ({"digest": None}, "(instance's contents not stated)"),
    ],
)
def test_runs_of_one_solver_that_differ_are_refused(change, said):
    result = ioopt.solve("cycle3", "minmin").to_dict({"plan", "schedule"})
    base = runs_in({"format": "ioopt/comparison", "rows": [result]}, "a.json")
    same = {"value": 7.0, "digest": "1" * 64, "options": {"settings": {"step": 1}}}
    kept = [row | same | {"generated": {"disk": 1}} for row in base.rows]
    other = base._replace(rows=kept, file="b.json")
    assert len(joined([base._replace(rows=kept), other]).rows) == 1
    changed = base._replace(rows=[row | change for row in kept])
    with pytest.raises(ioopt.errors.UsageError) as caught:
        joined([changed, other])
    assert said in str(caught.value) and "between a.json and b.json" in str(
        caught.value
    )


def test_a_setting_groups_every_form(run, disks, tmp_path):
    """Three seeds with two disks: two tables, one tabular, two panels, a column."""
    pytest.importorskip("matplotlib")
    run("compare", "disks", *MINE, "--format", "json", "-o", "r.json")
    by = ("compare", "r.json", "--by", "disk")
    _, out, _ = run(*by, "--format", "latex", "--columns", "ratio,interval")
    lines = [line for line in out.splitlines() if not line.startswith("%")]
    assert lines[:2] == [r"\begin{tabular}{lrl}", r"\toprule"]
    assert out.count(r"\begin{tabular}") == 1 and out.count(r"\midrule") == 2
    assert lines[4] == r"\multicolumn{3}{l}{disk=400MB: 3 instances} \\"
    assert lines[8] == r"\multicolumn{3}{l}{disk=1GB: 3 instances} \\"
    assert len(lines) == 13 and out.count("% ratio: geometric mean") == 1
    _, out, _ = run(*by, "--format", "csv")
    heads, *cells = (line.split(",")[:2] for line in out.splitlines())
    assert heads == ["disk", "instance"] and len(cells) == 12
    for disk, name in cells:
        assert ("disk=1GB" in name) == (disk == "1000000000")
    ratios = json.loads(run(*by, "--format", "json")[1])["ratios"]
    frame = ioopt.compare("r.json", summary=True, by="disk")
    assert frame.index.names == ["disk", "solver"]
    for row in ratios:
        if row["metric"] == "makespan_seconds":
            found = frame.loc[(row["disk"], row["solver"])]
            assert (found["pairs"], row["pairs"]) == (3, 3)
            assert found["ratio"] == pytest.approx(row["mean_ratio"])
    assert run(*by, "--plot", "by.svg", "--plot-width", "85")[0] == 0
    # What was left out is counted in each part, not once for two parts alike.
    failing = ("--solver", "mine.py:gives_up", "--by", "disk")
    out = run("compare", "disks", *MINE, *failing)[1]
    assert out.count("Left out: mine.py:gives_up on 3 instances (failed).") == 2
    text = (tmp_path / "by.svg").read_text()
    for said in ("disk=400MB, n = 3", "disk=1GB, n = 3"):
        assert text.count(f"<!-- {said} -->") == 1 or text.count(f">{said}<") == 1
    with pytest.raises(ioopt.errors.UsageError, match="add summary=True"):
        ioopt.compare("r.json", by="disk")
    assert run("compare", "r.json", "--by", "preset")[1].startswith("preset=image-85: ")


def test_a_paper_says_how_many_instances_are_independent(run, disks, tmp_path):
    pytest.importorskip("matplotlib")
    _, out, _ = run("compare", "disks", *MINE, "--format", "latex", "--plot", "o.svg")
    assert "solver & pairs (indep.) & ratio" in out and " & 6 (3) & " in out
    assert "6 pairs, 3 independent" in (tmp_path / "o.svg").read_text()


def test_math_in_a_label_stays_math(run, many, tmp_path):
    pytest.importorskip("matplotlib")
    label = ("--label", r"mine.py:in_turn=Turn_1 ($\sigma=0.3$)")
    asked = kept(run, *label)
    _, out, _ = run(*asked, "--format", "latex", "--plot", "out.svg")
    assert "\n" + r"Turn\_1 ($\sigma=0.3$) & 6 & 1.000" in out
    assert r"\sigma" not in (tmp_path / "out.svg").read_text().partition("<defs>")[0]
    bad = ("--label", r"minmin=M ($\foo$)", "--plot", "bad.svg")
    code, _, err = run("compare", "r.json", *bad)
    assert code == 2 and "cannot draw the math of" in err and err.count("\n") == 1


def test_labels_of_stored_runs_name_solvers(run, many):
    kept(run, "--label", "mine.py:in_turn=Ours", "--label", "minmin=MinMin")
    asked = ("compare", "r.json", "--baseline", "MinMin", "--label", "Ours=Mine")
    code, out, _ = run(*asked)
    assert code == 0 and "ratios to MinMin" in out and "\nMine " in out
    assert "Ours" not in out


def test_quiet_hides_no_reason_of_a_failure(run, many):
    asked = ("compare", "many", "--solver", "mine.py:gives_up", *MINE[2:], "-q")
    code, _, err = run(*asked)
    assert code == 5 and err.count("note: ") == 1
    assert "ValueError: 8 tasks" in err and "at mine.py:8" in err


def test_a_store_of_a_sweep_is_no_instance(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.sqlite").write_bytes(b"SQLite format 3\0" + bytes(99))
    code, _, err = run("solve", "runs.sqlite")
    assert code == 2 and "runs.sqlite: a store of the runs of a sweep" in err


def test_a_refused_setting_lists_the_known_ones_in_order():
    with pytest.raises(UsageError, match="'nonsense'; known: ") as caught:
        ioopt.compare("gang-figure-5", ["gs", "iogs"], settings={"nonsense": 1})
    known = str(caught.value).partition("known: ")[2].split(", ")
    assert known == sorted(known)
    assert len(known) > 2
