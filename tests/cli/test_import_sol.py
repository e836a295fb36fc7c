"""Solutions of exported models, read back.

The samples were written for the model of ``ioopt export lp cycle3`` by CBC 2.10.8
(docs/samples) and 2.10.3 (cbc-all), HiGHS 1.12.0, Gurobi 13.0.3, SCIP 10.0 and GLPK
5.0. The infeasible ones are of the same model with Batch_Exec_Time <= 1.
"""

import json
import re

import pulp
import pytest
from conftest import ROOT

import ioopt
from ioopt.errors import InstanceError
from ioopt.pictures import result_to_draw
from ioopt.registry import kind_of_problem
from ioopt.solvers.replication.exact import ip, ip_steps

SAMPLES = ROOT / "tests/data/solutions"
CBC = "../../../docs/samples/cycle3.sol"
READ = {
    CBC: "CBC",
    "cbc-all.sol": "CBC",
    "highs-raw.sol": "HiGHS",
    "highs-pretty.sol": "HiGHS",
    "highs-sparse.sol": "HiGHS",
    "gurobi.sol": "Gurobi",
    "scip.sol": "SCIP",
    "glpk-o.sol": "GLPK",
}
CYCLE3 = ("--instance", "cycle3", "-o", "result.json")


def sample(name):
    return (SAMPLES / name).read_text("utf-8")


@pytest.mark.parametrize("name", READ)
def test_a_solution_is_the_optimum_of_the_read_me(run, tmp_path, name):
    """5.12 s to fetch the file, .064 s to send it once; the replay makes these
    transfers and no others.
    """
    code, out, err = run("import", "sol", SAMPLES / name, *CYCLE3)
    assert code == 0 and "additive           5.184 s" in out
    assert f"{name} ({READ[name]}) says" in " ".join(err.split())
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["status"], result["solver"]) == ("optimal", READ[name])
    assert result["objective"] == pytest.approx(5.184)
    assert result["metrics"]["makespan_seconds"] == pytest.approx(9.748)
    assert result["options"] == {"settings": {"cycles": "acyclic", "replication": True}}
    plan, schedule = result["plan"], result["schedule"]
    moved = {(t["file"], t["source"], t["destination"]) for t in schedule["transfers"]}
    assert moved == {
        *((file, None, node) for file, node in plan["remote"]),
        *((file, source, node) for file, source, node in plan["copies"]),
    }
    assert len(plan["order"]) == 3 and len(plan["copies"]) == 2
    assert run("check", "cycle3", "result.json")[0] == 0


def test_the_rows_of_the_program_are_the_sums_of_the_checker(run, tmp_path):
    """The rows eq13 of the exported text, with the values that CBC wrote, are what the
    checker adds up for each node of the plan, which knows no program.
    """
    assert run("export", "lp", "cycle3", "-o", "cycle3.lp")[0] == 0
    text = (tmp_path / "cycle3.lp").read_text().partition("Subject To")[2]
    _, *lines = sample(CBC).splitlines()
    values = {line.split()[1]: float(line.split()[2]) for line in lines}
    rows = {}
    for node, row in re.findall(r"eq13_(n\d): - Batch_Exec_Time(.*?)<= 0", text, re.S):
        terms = re.findall(r"\+ ([\d.]+) (\w+)", row)
        rows[node] = sum(float(cost) * values[name] for cost, name in terms)
    assert run("import", "sol", SAMPLES / CBC, *CYCLE3)[0] == 0
    result = result_to_draw(json.loads((tmp_path / "result.json").read_text()), "")
    problem = ioopt.load("cycle3")
    told = kind_of_problem(problem).addends(problem, result)
    sums = {node: parts["sum"] for node, parts in told.items()}
    assert rows == pytest.approx(sums)
    assert rows == pytest.approx({"n0": 4.628, "n1": 5.184, "n2": 4.564})


def test_glpk_writes_numbers_whose_names_are_in_the_model(run, tmp_path):
    assert run("export", "lp", "cycle3", "-o", "cycle3.lp")[0] == 0
    written = SAMPLES / "glpk-w.sol"
    code, _, err = run("import", "sol", written, *CYCLE3)
    assert code == 2 and "has numbers in place of names" in err
    assert run("import", "sol", written, *CYCLE3, "--model", "cycle3.lp")[0] == 0
    by_number = json.loads((tmp_path / "result.json").read_text())["plan"]
    # glpsol wrote both files in one run.
    assert run("import", "sol", SAMPLES / "glpk-o.sol", *CYCLE3)[0] == 0
    assert json.loads((tmp_path / "result.json").read_text())["plan"] == by_number
    run("export", "lp", "cycle3", "-o", "printed.lp", "--set", "cycles=printed")
    code, _, err = run("import", "sol", written, *CYCLE3, "--model", "printed.lp")
    assert code == 2 and "has 34 columns, the exported file 31" in err


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("gurobi.sol", "T_t0_n0 1", "T_t0_n0 0.5", "T_t0_n0 is 0.5, not a whole"),
        (
            "gurobi.sol",
            "T_t0_n0 1",
            "T_t0_n0 0",
            "eq4_t0: T_t0_n0 + T_t0_n1 + T_t0_n2 is 0 and must be 1",
        ),
        ("gurobi.sol", "T_t0_n0 1", "T_t0_n0 2", "T_t0_n0 is 2 and must be at most 1"),
        ("gurobi.sol", "T_t0_n0 1\n", "", "has no value of T_t0_n0"),
        ("gurobi.sol", "T_t0_n0 1", "T_t9_n0 1", "T_t9_n0 is not a variable of"),
        ("gurobi.sol", "T_t0_n0 1", "T_t0_n0 1\nT_t0_n0 1", "T_t0_n0 has two values"),
        ("gurobi.sol", "T_t0_n0 1", "T_t0_n0 one", "'one' is not a finite number"),
        ("gurobi.sol", "T_t0_n0 1", "T_t0_n0 nan", "'nan' is not a finite number"),
        ("highs-raw.sol", "5.184", "7.3", "calls the objective 7.3 optimal, but its"),
        ("highs-raw.sol", "Time 5.184", "Time 5.1", "must be at most 0"),
        (
            "scip.sol",
            "T_t0_n0",
            "T_t0_n2",
            " is 1.5 and must be at most 0 in the model",
        ),
        (CBC, "Optimal - ", "Stopped on time (no integer solution) - ", "no sol"),
        ("glpk-o.sol", "INTEGER OPTIMAL", "INTEGER UNDEFINED", "holds no solution"),
        ("gurobi.sol", "# Sol", "! Sol", "'! Solution for model OBJ': not a solution"),
        ("gurobi.sol", "# Sol", "Value of objective function: 5\n", "by lp_solve, who"),
        ("cbc-infeasible.sol", "", "", "holds no solution: CBC says 'Infeasible'"),
        ("highs-infeasible.sol", "", "", "holds no solution: HiGHS says 'Infeasible'"),
        ("glpk-infeasible.sol", "", "", "holds no solution: GLPK says 'INTEGER EMPTY'"),
    ],
)
def test_what_is_wrong_with_a_solution_is_named(run, tmp_path, name, old, new, said):
    text = sample(name)
    assert old in text
    (tmp_path / "bad.sol").write_text(text.replace(old, new))
    code, out, err = run("import", "sol", "bad.sol", *CYCLE3)
    assert code == 2 and out == ""
    assert err.startswith("ioopt: bad.sol: ") and said in err
    assert err.count("\n") == 1 and not (tmp_path / "result.json").exists()


def test_names_that_a_solver_made_up_are_told(run, tmp_path):
    """CBC drops all names of an LP file that it cannot read well."""
    text = sample(CBC).replace("T_t0_n1", "x0")
    (tmp_path / "made.sol").write_text(text)
    code, _, err = run("import", "sol", "made.sol", *CYCLE3)
    assert code == 2 and "x0 is not a variable" in err and "names of the LP file" in err


def test_a_solution_of_other_settings_is_read_with_its_model(run, tmp_path):
    """As printed, two nodes feed each other and none pays: no bound of plans holds for
    such a solution.
    """
    text = sample("gurobi.sol")
    without = "\n".join(row for row in text.splitlines() if not row.startswith("U_"))
    (tmp_path / "p.sol").write_text(without.replace("5.184", "5.12"))
    assert "has no value of U_f0_n0" in run("import", "sol", "p.sol", *CYCLE3)[2]
    run("export", "mps", "cycle3", "-o", "p.mps", "--set", "cycles=printed")
    (tmp_path / "p.sol").write_text(without)
    told = run("import", "sol", "p.sol", *CYCLE3, "--model", "p.mps")
    named = run("import", "sol", "p.sol", *CYCLE3, "--set", "cycles=printed")
    assert told[0] == named[0] == 0
    assert json.loads((tmp_path / "result.json").read_text())["status"] == "feasible"
    optimal = "\n".join(row for row in sample(CBC).splitlines() if " U_" not in row)
    (tmp_path / "c.sol").write_text(optimal)
    said = " ".join(
        run("import", "sol", "c.sol", *CYCLE3, "--model", "p.mps")[2].split()
    )
    assert "solutions are proven for acyclic copies only" in said
    both = ("--model", "p.mps", "--set", "cycles=printed")
    assert "leave --set out" in run("import", "sol", "p.sol", *CYCLE3, *both)[2]
    assert run("import", "sol", "p.sol", *CYCLE3, "--model", "other")[0] == 2


def test_a_model_of_another_instance_is_refused(run, tmp_path):
    cycle3 = ioopt.load("cycle3").model_dump(mode="json")
    cycle3["tasks"][0]["compute_seconds"] = 1.25
    (tmp_path / "other.json").write_text(json.dumps(cycle3))
    run("export", "lp", "other.json", "-o", "other.lp")
    cbc = SAMPLES / CBC
    code, _, err = run("import", "sol", cbc, *CYCLE3, "--model", "other.lp")
    assert code == 2 and "other.lp: was exported from another instance" in err
    (tmp_path / "bare.lp").write_text("Minimize\nOBJ: x\nEnd\n")
    code, _, err = run("import", "sol", cbc, *CYCLE3, "--model", "bare.lp")
    assert code == 2 and "bare.lp: lacks the comments of ioopt export" in err
    code, _, err = run("import", "sol", cbc, "--instance", "small-8", "-o", "r.json")
    assert code == 2 and "small-8 is batch-io, which has no model" in err


def test_a_solution_of_an_own_instance_is_proven_shortly(run, tmp_path):
    """The file's own word is not believed, and an instance that is not bundled has only
    the quick bound of 4.707 s before the proof.
    """
    cycle3 = ioopt.load("cycle3").model_dump(mode="json") | {"name": "mine"}
    (tmp_path / "mine.json").write_text(json.dumps(cycle3))
    command = ("import", "sol", SAMPLES / CBC, "--instance", "mine.json")
    assert run(*command, "-o", "result.json")[0] == 0
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["status"], result["bound"]) == ("optimal", pytest.approx(5.184))


def small_disk():
    """A batch whose fast third node can hold one of the two files."""
    batch = ioopt.Batch(remote="10MB/s", replica="100MB/s", name="small disk")
    batch.add_nodes(2, disk="1GB")
    batch.add_node("fast", disk="300MB", speed=2)
    one, two = batch.add_file("120MB"), batch.add_file("200MB")
    for seconds, inputs in ((5, [one]), (7, [two]), (4, [one, two])) * 2:
        batch.add_task(f"{seconds}s", inputs=inputs)
    return batch.build()


@pytest.mark.parametrize(
    ("on_n0", "value", "status"), [(1, 25.2, "optimal"), (2, 28.0, "feasible")]
)
def test_rows_of_the_user_do_not_weaken_the_bound(on_n0, value, status):
    """Four tasks of 8 s, one file of 120 MB: a node fetches it in 12 s and sends it in
    1.2 s, so 12 + 1.2 + 8 s with one task there, 1.2 + 3 x 8 s on the other. With two
    tasks on each both fetch it: 12 + 16 s.
    """
    batch = ioopt.Batch(remote="10MB/s", replica="100MB/s")
    batch.add_nodes(2, disk="1GB")
    shared = batch.add_file("120MB")
    for _ in range(4):
        batch.add_task("8s", inputs=[shared])
    problem = batch.build()
    lp = ioopt.to_pulp(problem)
    names = lp.variablesDict()
    lp += names["R_f0_n0"] == 1, "fetch"
    lp += pulp.lpSum(names[f"T_t{k}_n0"] for k in range(4)) == on_n0, "mine"
    lp.solve(pulp.PULP_CBC_CMD(msg=False))
    result = ioopt.from_pulp(problem, lp)
    assert result.objective == pytest.approx(value)
    assert result.bound == pytest.approx(25.2) and result.status == status
    assert any("the bound and the gap are without them" in n for n in result.notes)
    with pytest.raises(ioopt.errors.UsageError, match="takes the instance, then"):
        ioopt.from_pulp(lp, problem)


def test_a_solution_that_only_eviction_may_beat_is_called_so(monkeypatch):
    """The program has no evictions; its optimum is one of plans of one round."""
    problem = small_disk()
    lp = ioopt.to_pulp(ioopt.model(problem))
    lp.solve(pulp.PULP_CBC_CMD(msg=False))
    result = ioopt.from_pulp(problem, lp)
    text = str(result)
    assert result.status == "feasible" and result.bound < result.objective
    assert result.metrics["one_round_bound_seconds"] == result.objective
    assert "feasible (finished; optimal among plans of one round)" in text
    assert "note: no plan of one round" in text and "note:" not in result.table()
    assert ioopt.from_pulp(problem, lp).bound == result.bound
    # Without the proof there is the quick bound alone.
    monkeypatch.setattr(ip, "LIMITS", ip_steps.SearchLimits(small_columns=0))
    quick = ioopt.from_pulp(problem, lp)
    assert quick.bound < result.bound
    assert "`ioopt solve INSTANCE --solver ip --warm-start RESULT` may" in str(
        " ".join(quick.notes)
    )


def test_an_instance_with_one_node_and_odd_names_comes_back(run, tmp_path):
    batch = ioopt.Batch(remote="1MB/s", replica="1MB/s", name="one node")
    batch.add_node("the only node")
    batch.add_task("2s", "a/b", inputs=[batch.add_file("1MB", "x y")])
    (tmp_path / "one.json").write_text(batch.build().model_dump_json())
    assert run("export", "lp", "one.json", "-o", "one.lp")[0] == 0
    text = (tmp_path / "one.lp").read_text()
    assert '\\ instance: "one node"' in text
    values = "Batch_Exec_Time 3\nT_t0_n0 1\nX_f0_n0 1\nR_f0_n0 1\n"
    (tmp_path / "one.sol").write_text(f"# Solution for model OBJ\n{values}")
    command = ("import", "sol", "one.sol", "--instance", "one.json", "-o", "r.json")
    code, _, err = run(*command)
    assert code == 0, err
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["plan"]["assign"] == {"a/b": "the only node"}
    assert (result["status"], result["objective"]) == ("optimal", 3.0)


def test_no_variable_is_written_for_a_row_without_variables(run, tmp_path):
    """Nothing is copied to a node that holds the file, so that (3) is empty there;
    PuLP would give such a row a variable of its own.
    """
    cycle3 = ioopt.load("cycle3").model_dump(mode="json")
    cycle3["nodes"][0]["holds"] = ["f0"]
    (tmp_path / "held.json").write_text(json.dumps(cycle3))
    assert run("export", "lp", "held.json", "-o", "held.lp")[0] == 0
    text = (tmp_path / "held.lp").read_text()
    assert "eq3_f0_n1" in text and "dummy" not in text and "eq3_f0_n0" not in text


def test_a_changed_objective_of_an_mps_file_is_told(run, tmp_path):
    assert run("export", "mps", "cycle3", "-o", "cycle3.mps")[0] == 0
    text = (tmp_path / "cycle3.mps").read_text()
    (tmp_path / "goal.mps").write_text(text.replace("OBJ        1", "OBJ        2"))
    command = ("import", "sol", SAMPLES / CBC, *CYCLE3, "--model")
    assert "changed" not in run(*command, "cycle3.mps")[2]
    assert "objective was changed, to 'Batch_Exec_" in run(*command, "goal.mps")[2]


def test_a_solution_that_is_not_called_optimal_may_be_worse(run, tmp_path):
    """GLPK stopped early, before the batch time had met the time of the nodes."""
    text = sample("glpk-o.sol").replace("INTEGER OPTIMAL", "INTEGER NON-OPTIMAL")
    (tmp_path / "early.sol").write_text(text.replace("5.184", "6.5"))
    code, _, err = run("import", "sol", "early.sol", *CYCLE3)
    assert code == 0 and "'INTEGER NON-OPTIMAL' with objective 6.5" in err
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["status"], result["objective"]) == ("optimal", pytest.approx(5.184))


def test_a_changed_file_is_told(run, tmp_path):
    """What was added or changed in the exported file is not checked; that is said."""
    assert run("export", "lp", "cycle3", "-o", "cycle3.lp")[0] == 0
    text = (tmp_path / "cycle3.lp").read_text()
    row = "mine: Y_n0_n1_f0 >= 0"
    changed = {
        "same.lp": text,
        "row.lp": text.replace("Subject To\n", f"Subject To\n{row}\n"),
        "factor.lp": text.replace("5.12 ", "4.12 ", 1),
        "goal.lp": text.replace("Exec_Time\n", "Exec_Time + 9 Y_n0_n1_f0\n", 1),
    }
    for name, content in changed.items():
        (tmp_path / name).write_text(content)
        code, _, err = run("import", "sol", SAMPLES / CBC, *CYCLE3, "--model", name)
        assert code == 0, err
        rows = "not as it was exported" in err
        assert rows == (name in ("row.lp", "factor.lp")), err
        assert ("objective was changed, to 'Minim" in err) == (name == "goal.lp"), err
        assert (row in " ".join(err.split())) == (name == "row.lp")
    assert "--warm-start" not in err


@pytest.fixture
def lp():
    """Return a function that solves the program of an instance by CBC in PuLP."""

    def solved(*model, rows=(), **how):
        lp = ioopt.to_pulp(ioopt.model(*model, **how))
        for name, row in rows:
            lp += row(lp.variablesDict()), name
        lp.solve(pulp.PULP_CBC_CMD(msg=False))
        return lp

    return solved


def test_a_problem_solved_by_pulp_is_read_like_a_file(lp, run, tmp_path):
    solved = lp("cycle3")
    result = ioopt.from_pulp("cycle3", solved)
    assert (result.status, result.solver) == ("optimal", "PuLP")
    assert result.objective == pytest.approx(5.184)
    assert result.metrics["makespan_seconds"] == pytest.approx(9.748)
    assert not any("not as it was exported" in note for note in result.notes)
    result.save(str(tmp_path / "result.json"))
    assert run("check", "cycle3", "result.json")[0] == 0
    solved.variablesDict()["T_t0_n0"].varValue = 0.5
    with pytest.raises(InstanceError, match="T_t0_n0 is 0"):
        ioopt.from_pulp("cycle3", solved)
    with pytest.raises(InstanceError, match="is not a variable of the"):
        ioopt.from_pulp("two-pairs", solved)
    selected = ioopt.from_pulp("rounds4", lp("rounds4", "sub-batch"), "sub-batch")
    assert selected.objective == 2


def test_rows_added_in_pulp_are_told(lp):
    """Node 0 sends twice: 5.12 s and 2 x 0.064 s."""
    rows = [
        ("fetches", lambda at: at["R_f0_n0"] == 1),
        ("sends_twice", lambda at: at["Y_n0_n1_f0"] + at["Y_n0_n2_f0"] == 2),
    ]
    result = ioopt.from_pulp("cycle3", lp("cycle3", rows=rows))
    assert result.objective == pytest.approx(5.248)
    (told,) = [note for note in result.notes if "not as it was exported" in note]
    assert "PuLP problem replication" in told and "R_f0_n0 = 1" in told
    assert not any("--warm-start" in note for note in result.notes)


def test_a_pulp_problem_without_a_solution_is_refused(lp):
    unsolved = ioopt.to_pulp(ioopt.model("cycle3"))
    with pytest.raises(InstanceError, match="holds no solution: PuLP says 'Not Solv"):
        ioopt.from_pulp("cycle3", unsolved)
    with pytest.raises(InstanceError, match="'Infeasible'; the disks cannot hold"):
        ioopt.from_pulp("rounds4", lp("rounds4"))


@pytest.mark.parametrize("model", ["printed", "allocation"])
def test_a_program_without_a_solution_is_told_at_the_export(run, model):
    """Four tasks of two files each, on disks that hold two files."""
    code, _, err = run("export", "lp", "rounds4", "-o", "r.lp", "--model", model)
    assert code == 0 and "wrote r.lp" in err
    assert "rounds4: the program has no solution: the disks cannot hold this" in err
    told = run("export", "lp", "cycle3", "-o", "c.lp", "--model", model)[2]
    assert told == "wrote c.lp\n"
    written = SAMPLES / "cbc-infeasible.sol"
    code, _, err = run("import", "sol", written, "--instance", "rounds4")
    assert code == 2 and "CBC says 'Infeasible'; the disks cannot hold this" in err


@pytest.mark.parametrize(("disk", "packs"), [(10, False), (12, True)])
def test_disks_too_small_for_any_placement_are_told_at_the_export(
    run, tmp_path, disk, packs
):
    """Three files of 6 bytes are less than two disks of 10, which hold one each."""
    batch = ioopt.Batch(remote="10MB/s", replica="100MB/s", name="three")
    batch.add_nodes(2, disk=f"{disk}B")
    for _ in range(3):
        batch.add_task("1s", inputs=[batch.add_file("6B")])
    batch.save(str(tmp_path / "three.json"))
    code, _, err = run("export", "lp", "three.json", "-o", "three.lp")
    told = "three.json: the program has no solution: the disks cannot hold this" in err
    assert code == 0 and told is not packs


@pytest.mark.parametrize("model", [None, "ip"])
def test_check_proves_a_small_bound_anew(run, tmp_path, model):
    """It says so; a plan that is not optimal gets no such word."""
    cycle3 = ioopt.load("cycle3").model_dump(mode="json") | {"name": "mine"}
    (tmp_path / "mine.json").write_text(json.dumps(cycle3))
    if model is None:
        words = ("import", "sol", SAMPLES / CBC, "--instance", "mine.json")
    else:
        words = ("solve", "mine.json", "--solver", model)
    assert run(*words, "-o", "r.json")[0] == 0
    code, _, err = run("check", "mine.json", "r.json")
    assert code == 0 and "r.json: the bound 5.184 s was proven anew" in err
    assert "only its solver" not in err and "not recomputed: solver" in err


def test_files_that_are_not_there_are_no_bundled_instances(run):
    code, _, err = run("import", "sol", "none.sol", *CYCLE3)
    assert (code, err) == (2, "ioopt: none.sol: no such file\n")
    code, _, err = run("import", "sol", SAMPLES / CBC, *CYCLE3, "--model", "none.lp")
    assert (code, err) == (2, "ioopt: none.lp: no such file\n")
    code, _, err = run("import", "sol", SAMPLES / CBC, "--instance", "none.json")
    assert code == 2 and "none.json: no such file, and no bundled instance" in err
    code, _, err = run("import", "sol", SAMPLES / CBC, "--instance", "two-pairs")
    assert code == 2 and "give the --instance that was exported, and --model" in err


@pytest.mark.parametrize("words", [("solve", "cycle3"), ("import", "sol", "sol")])
def test_a_result_is_not_written_into_a_picture(run, tmp_path, words):
    (tmp_path / "sol").write_text(sample(CBC) if words[0] == "import" else "")
    more = CYCLE3 if words[0] == "import" else ()
    code, _, err = run(*words, *more, "-o", "out.PNG")
    assert code == 2 and "is for JSON" in err and "ioopt plot result.json" in err
    assert not (tmp_path / "out.PNG").exists()
