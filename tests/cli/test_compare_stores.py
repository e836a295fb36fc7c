"""Stores of sweeps, compared like kept runs; bounds and seeds of joined runs."""

import json
import math
from pathlib import Path

import pytest

import ioopt
from ioopt.campaign.grid import Config, build_grid
from ioopt.campaign.store import Store
from ioopt.campaign.work import perform
from ioopt.comparing import opened
from ioopt.comparing.joined import joined
from ioopt.comparing.runs import runs_in
from ioopt.metrics import paired_ratios

FILES = {"path": "many/*.json"}
MADE = {
    "generate": "replication",
    "preset": "tiny",
    "set": {"disk": ["100MB", "1GB"]},
    "seeds": [0, 1, 2, 3, 4, 5],
}
TWO = [{"name": "mine.py:in_turn"}, {"name": "minmin"}]


def store(name, instances, solvers=TWO, **more):
    """Run a sweep in this process."""
    config = {"instances": instances, "solvers": solvers, **more}
    grid = build_grid(Config.model_validate(config))
    with Store(name) as runs:
        for point in grid.points:
            runs.put(perform(point, grid.sources[point.source]))


def ratios(run, *words):
    """Return the ratios of a comparison, without what depends on the solvers' order."""
    code, out, _ = run("compare", *words, "--format", "json")
    assert code == 0
    found = [row for row in json.loads(out)["ratios"] if row["solver"] == "minmin"]
    return {row["metric"]: row for row in found}


def test_a_store_gives_the_ratios_of_the_same_comparison(run, many):
    store("s.sqlite", [FILES])
    words = ("--baseline", "mine.py:in_turn")
    solvers = ("--solver", "mine.py:in_turn", "--solver", "minmin")
    mine = ratios(run, "s.sqlite", *words)
    assert mine == ratios(run, "many", *solvers, *words)
    assert mine["makespan_seconds"]["pairs"] == 6
    run("compare", "many", *solvers, "--format", "json", "-o", "kept.json")
    assert mine == ratios(run, "s.sqlite", "kept.json", *words)  # each run once


def test_generated_instances_of_a_store_state_their_settings(run, many):
    store("s.sqlite", [MADE])
    words = ("compare", "s.sqlite", "--baseline", "minmin")
    code, out, _ = run(*words, "--by", "disk", "--plot", "disks.png")
    assert code == 0 and Path("disks.png").exists()
    assert out.index("disk=100MB: 6 inst") < out.index("disk=1GB: 6 inst")
    _, out, _ = run(*words)
    assert "12 (6)" in out
    code, _, err = run(*words, "--by", "colour")
    assert code == 2 and "states no setting 'colour'" in err


def test_runs_with_several_seeds_count_as_one(run, many):
    solvers = [{"name": "mine.py:again", "set": {"step": [1, 2]}, "seeds": [0, 1]}]
    store("s.sqlite", [FILES], [*solvers, {"name": "minmin"}], repeats=2)
    _, out, _ = run("compare", "s.sqlite", "--baseline", "minmin")
    for variant in ("mine.py:again:step=1", "mine.py:again:step=2"):
        assert f"{variant}  12 (6)" in out
    assert "runs of one instance with several seeds" in " ".join(out.split())
    runs = opened("s.sqlite").rows
    assert len(runs) == 6 * 5  # of two repeats the first


def test_failed_runs_of_a_store_are_told(run, many):
    store("s.sqlite", [FILES], [{"name": "mine.py:gives_up"}, *TWO])
    code, out, err = run("compare", "s.sqlite", "--baseline", "minmin")
    assert code == 5 and "mine.py:gives_up" in out, err
    assert err.count("note: ") == 1 and "ValueError: 8 tasks" in err


def test_what_is_no_comparison_is_refused(run, many):
    Path("bad.sqlite").write_bytes(b"SQLite format 3\0" + bytes(99))
    code, _, err = run("compare", "bad.sqlite")
    assert code == 2 and "bad.sqlite: the run store cannot be used" in err
    Store("none.sqlite").close()
    code, _, err = run("compare", "none.sqlite")
    assert code == 2 and "none.sqlite: the store has no runs yet" in err
    store("s.sqlite", [FILES])
    code, _, err = run("compare", "s.sqlite", "--solver", "minmin")
    assert code == 2 and "leave out --solver" in err
    assert len(ioopt.compare("s.sqlite", summary=True, baseline="minmin")) == 2


def kept(run, name, *solvers):
    words = [word for solver in solvers for word in ("--solver", solver)]
    run("compare", "many", *words, "--format", "json", "-o", name)
    return json.loads(Path(name).read_text())


def test_joined_runs_have_the_strongest_bound_of_all_files(run, many):
    """The bound of the user's function, which nobody proved, is not shared."""
    first = kept(run, "a.json", "mine.py:in_turn", "minmin")
    second = kept(run, "b.json", "job-data-present", "minmin")
    bounds = {row["instance"]: row["bound"] for row in second["rows"]}
    for row in first["rows"]:
        own = row["solver"] == "mine.py:in_turn"
        row["bound"] = row["objective"] if own else 0.5 * row["bound"]
        row["gap"] = None
    both = joined([runs_in(first, "a.json"), runs_in(second, "b.json")])
    assert len(both.rows) == 18
    for row in both.rows:
        bound = bounds[row["instance"]]
        if row["solver"] == "mine.py:in_turn":
            bound = row["value"]
        assert row["bound"] == pytest.approx(bound)
        assert row["gap"] == pytest.approx(1 - bound / row["value"])


def test_one_seed_is_compared_with_all_seeds_of_the_other():
    """By hand: 2 and 8 over 1 on one instance have the mean 4; 3 over 1 is alone."""

    def row(solver, instance, seed, value):
        metrics = {"makespan_seconds": value}
        told = {"status": "feasible", "objective_name": None, "metrics": metrics}
        return {"solver": solver, "instance": instance, "seed": seed} | told

    rows = [
        row("base", "i", 0, 1.0),
        row("base", "k", 0, 1.0),
        row("h", "i", 1, 2.0),
        row("h", "i", 2, 8.0),
        row("h", "k", 1, 3.0),
    ]
    (pair,) = [
        pair
        for pair in paired_ratios(rows, "base", ["makespan_seconds"])
        if pair.solver == "h"
    ]
    assert (pair.pairs, pair.independent) == (3, 2)
    assert pair.mean_ratio == pytest.approx(math.sqrt(4.0 * 3.0))
    both = [*rows, row("base", "i", 1, 4.0)]
    pair = paired_ratios(both, "base", ["makespan_seconds"])[1]
    assert (pair.pairs, pair.independent) == (2, 2)  # equal seeds: 2 over 4, 3 over 1
    assert pair.mean_ratio == pytest.approx(math.sqrt(0.5 * 3.0))


RECIPES = {
    "generate": "replication",
    "preset": "tiny",
    "set": {"disk": "1GB"},
    "seeds": [0, 1, 2, 3, 4, 5],
}


@pytest.fixture
def disks(run, own):
    """A folder with the files of the instances that RECIPES generates."""
    words = ("replication", "--preset", "tiny", "--set", "disk=1GB", "--count", "6")
    assert run("instances", "generate", *words, "-o", "many")[0] == 0


@pytest.mark.parametrize("files", [["s.sqlite", "k.json"], ["k.json", "s.sqlite"]])
def test_twins_of_a_sweep_and_kept_runs_count_once(run, disks, files):
    """The store has other names of instances, and settings that are defaults."""
    solvers = [
        {"name": "mine.py:again", "set": {"step": [2, 3]}},
        {"name": "minmin", "set": {"eviction": "popularity"}},
    ]
    store("s.sqlite", [RECIPES], solvers)
    kept(run, "k.json", "mine.py:again", "minmin")
    runs = joined([opened(name) for name in files])
    assert len(runs.instances) == 6
    assert len(runs.solvers) == 3 and "mine.py:again:step=3" in runs.solvers
    assert len(runs.rows) == 18
    assert not runs.notes


def test_an_edited_instance_is_no_twin_of_its_recipe(run, disks):
    for path in Path("many").iterdir():
        data = json.loads(path.read_text())
        for task in data["tasks"]:
            task["compute_seconds"] = 99.0
        path.write_text(json.dumps(data))
    store("s.sqlite", [RECIPES], [{"name": "minmin"}])
    kept(run, "k.json", "minmin")
    code, _, err = run("compare", "s.sqlite", "k.json")
    assert code == 2 and "minmin on tiny-disk=1GB-seed=0 differs between" in err


def test_solvers_that_may_be_twins_are_named(run, many):
    """Stores have only the settings given to a function, and no values differ."""
    store("a.sqlite", [FILES], [{"name": "mine.py:again"}, {"name": "minmin"}])
    store("b.sqlite", [FILES], [{"name": "mine.py:again", "set": {"step": 2}}])
    code, _, err = run("compare", "a.sqlite", "b.sqlite")
    assert code == 0
    assert err.count("note: ") == 1
    assert "mine.py:again and mine.py:again:step=2 may be the same solver" in err


def test_twins_with_other_values_stay_apart(run, many):
    first = kept(run, "a.json", "minmin", "mine.py:again")
    second = kept(run, "b.json", "minmin:eviction=popularity")
    for row in second["rows"]:
        row["objective"] *= 2.0
    both = joined([runs_in(first, "a.json"), runs_in(second, "b.json")])
    assert len(both.solvers) == 3
    (note,) = both.notes
    assert "have the same settings but other values on 6 instances" in note


def test_solvers_are_named_in_any_spelling_and_by_label(run, many):
    (many.parent / "set.py").write_text(
        "def h(problem, *, k=1, lru=True):\n"
        "    nodes = [node.id for node in problem.nodes]\n"
        "    tasks = [task.id for task in problem.tasks]\n"
        "    return {node: tasks[i :: len(nodes)] for i, node in enumerate(nodes)}\n"
    )
    solvers = [{"name": "set.py:h", "set": {"lru": [True, False], "k": 2}}]
    store("s.sqlite", [{"path": "many"}], [*solvers, {"name": "minmin"}])
    words = ("compare", "s.sqlite", "--baseline")
    for spelling in ("lru=true,k=2", "lru=yes,k=2.0", "k=2,lru=on"):
        code, out, err = run(*words, f"set.py:h:{spelling}")
        assert code == 0, err
        assert "ratios to set.py:h:lru=yes,k=2" in " ".join(out.split())
    label = ("--label", "set.py:h:lru=false,k=2=Ours (k=2)")
    code, out, err = run(*words, "Ours (k=2)", *label)
    assert code == 0 and "ratios to Ours (k=2)" in " ".join(out.split()), err
    code, _, err = run(*words, "set.py:h:k=3", *label)
    assert code == 2 and "'set.py:h:k=3' is not among the solvers" in err
    words = ("compare", "many", "--solver", "minmin", "--solver", "job-data-present")
    code, out, err = run(*words, "--label", "minmin=M=1", "--baseline", "M=1")
    assert code == 0 and "ratios to M=1" in out, err


def test_a_twin_is_named_as_in_either_file(run, many):
    kept(run, "a.json", "minmin", "mine.py:again")
    kept(run, "b.json", "minmin:eviction=popularity", "job-data-present")
    words = ("compare", "a.json", "b.json", "--baseline")
    for name in ("minmin", "minmin:eviction=popularity"):
        code, out, err = run(*words, name)
        assert code == 0 and "ratios to minmin\n" in out, err


def test_the_correction_of_parts_is_told(run, many):
    store("s.sqlite", [MADE], [*TWO, {"name": "job-data-present"}])
    words = ("compare", "s.sqlite", "--baseline", "minmin")
    said = "Holm's correction is within each part"
    _, out, _ = run(*words, "--by", "disk")
    assert out.count(said) == 1
    assert said not in run(*words)[1]


def test_a_baseline_that_fails_everywhere_has_advice(run, many):
    solvers = ("--solver", "mine.py:gives_up", "--solver", "minmin")
    _, out, _ = run("compare", "many", *solvers, "--baseline", "mine.py:gives_up")
    assert "mine.py:gives_up: name another --baseline" in " ".join(out.split())
    _, out, _ = run("compare", "many", *solvers, "--baseline", "minmin")
    assert "name another" not in out


def test_a_bad_number_is_told_without_its_type(run, many):
    words = ("compare", "many", "--solver", "minmin", "--solver")
    code, _, err = run(*words, "mine.py:again:step=foo")
    assert code == 2 and "setting step='foo': must be a number" in err
