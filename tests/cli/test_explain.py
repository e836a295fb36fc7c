"""``ioopt check --explain``: shares, bounds and gains of instances small enough
to work out by hand.
"""

import json

import pytest
from replication_samples import document

import ioopt
from ioopt.errors import UsageError
from ioopt.explaining import (
    NO_LIMIT_SECONDS,
    Knob,
    _gain,
    _helped,
    _standing,
    explain,
)
from ioopt.families.replication import Replication
from ioopt.registry import kind_of_problem
from ioopt.registry.types import Metric

ONE = document(1, {"f": 120_000_000}, {"t": (8.0, "f")}, 10e6, 100e6)
"""12 s over the link, then 8 s of computing: 20 s, and nothing can be shorter."""


def test_times_bound_and_help_of_one_task():
    found = explain(ONE, ioopt.solve(ONE, "minmin"))
    standing, times, again, held, helped = found.sentences
    assert (
        standing
        == "The makespan of minmin's plan is 20 s, which is proven to be the best."
    )
    assert "remote link is busy 60.0 % of that time; cores compute 40.0 %" in times
    assert "disk space 60.0 %, and are idle at the end 0 %" in times
    assert again.startswith(
        "The plan fetches 120 MB from remote storage, no file twice"
    )
    # Link: 12 / 1.1 + 8 = 18.909 s, 5.5 % less. Speed: 12 + 8 / 1.1 =
    # 19.273 s, 3.6 % less.
    assert held == (
        "The remote link sets the lower bound: 10 % more bandwidth lowers it by 5.5 %."
    )
    assert helped == (
        "10 % more of the remote link would help most: 5.5 %, from 20 s to 18.91 s "
        "(computing speed 3.6 %)."
    )
    values = {knob.resource: knob.value for knob in found.knobs}
    assert values == {
        None: pytest.approx(20.0),
        "the remote link": pytest.approx(12 / 1.1 + 8),
        "the nodes' network": pytest.approx(20.0),
        "computing speed": pytest.approx(12 + 8 / 1.1),
    }


def test_rates_that_no_record_states_are_marked():
    """The rate of the remote link is that of the import; a rate that was changed in the
    file is stated.
    """
    meta = {"assumed_rates": {"remote_rate": 10e6, "replica_rate": 1e9}}
    found = explain(ONE | {"meta": meta}, ioopt.solve(ONE, "minmin"))
    assert found.assumed == ("the remote link",)
    assert "The remote link (assumed) is busy 60.0 %" in found.sentences[1]
    assert "10 % more of the remote link (assumed) would" in found.sentences[4]
    assert found.sentences[5] == (
        "Assumed, not recorded: 10 MB/s for the remote link. All figures here hang on "
        "that; import again with --machine remote_rate= to state it."
    )


def test_the_last_save_is_part_of_the_makespan():
    """2 s over the link, 8 s of computing, 10 s of saving: the link is busy 12 of
    20 s.
    """
    files = {"f": 20_000_000, "made": 100_000_000}
    saved = document(1, files, {"t": (8.0, "f")}, 10e6, 100e6)
    saved["tasks"][0]["outputs"] = ["made"]
    saved["files"][1]["keep"] = True
    times = explain(saved, ioopt.solve(saved, "heft")).sentences[1]
    assert times == (
        "The remote link is busy 60.0 % of that time; cores compute 40.0 %, wait for "
        "files, other tasks or disk space 10.0 %, and are idle at the end 50.0 %."
    )


def test_what_is_fetched_again_is_told():
    """Two tasks read a, b, a of 6 MB on a disk of 10 MB: a comes twice, 6 of 18 MB."""
    tasks = {f"t{k}": (1.0, name) for k, name in enumerate("aba")}
    problem = document(
        [{"disk_bytes": 10**7}], {"a": 6 * 10**6, "b": 6 * 10**6}, tasks, 10e6, 100e6
    )
    plan = {
        "order": {"n0": ["t0", "t1", "t2"]},
        "assign": dict.fromkeys(("t0", "t1", "t2"), "n0"),
    }
    result = ioopt.solve(problem, lambda given: plan)
    (_, again) = explain_told(problem, result)
    assert (
        "The plan fetches 18 MB from remote storage, 6 MB (33.3 %) of it files "
        "that were fetched before" in again
    )


def test_an_explanation_does_not_depend_on_the_clock(run, tmp_path, monkeypatch):
    """No solver runs against a limit that it can reach, and what is printed is the
    same whatever limit is asked for.
    """
    asked = []

    def recorded(data, solver, **more):
        asked.append((solver, more.get("settings"), more.get("time_limit")))
        return ioopt.solve(data, solver, **more)

    (tmp_path / "two.json").write_text(json.dumps(TWO))
    assert run("solve", "two.json", "--time-limit", "1", "-o", "r.json")[0] == 0
    code, out, err = run("check", "two.json", "r.json", "--explain")
    assert code == 0 and "--time-limit" not in err
    assert "link-aware finds with evaluations=1000" in " ".join(out.split())
    monkeypatch.setattr("ioopt.explaining.solve", recorded)
    words = ("check", "two.json", "r.json", "--explain", "--time-limit", "0.001")
    code, again, err = run(*words)
    assert (code, again) == (0, out) and "no longer does anything" in err
    searches = [row for row in asked if isinstance(row[0], str)]
    # The instance as it is with two seeds, and three resources of this instance.
    limit = NO_LIMIT_SECONDS
    assert searches == [("link-aware", {"evaluations": 1000}, limit)] * 5


def test_a_planner_plans_again_and_long_searches_get_fewer_replays():
    asked = explain(ONE, ioopt.solve(ONE, "minmin")).method
    assert asked.endswith("of the plans that minmin makes for each row.")
    many = ioopt.load(
        {**ONE, "tasks": [{"id": f"t{k}", "compute_seconds": 1} for k in range(2000)]}
    )
    for problem, evaluations in ((ioopt.load(ONE), 1000), (many, 8)):
        told = kind_of_problem(problem).counted_search(problem)
        assert told == ("link-aware", {"evaluations": evaluations})


def test_the_progress_of_an_explanation_ends_at_its_last_step():
    """Five searches (two of the instance as it is), and four rounds of replays."""
    shown = []
    solved = ioopt.solve(TWO, settings={"evaluations": 50}, solver="link-aware")
    explain(TWO, solved, lambda done, total, words: shown.append((done, total)))
    assert shown[0][0] == 1 and shown[-1][0] == shown[-1][1] == len(shown)


def test_what_is_below_the_noise_cannot_be_told():
    """100 s now, searches 4 s apart: 3 % of a resource cannot be told from
    luck, 5 % of another can.
    """
    measure = Metric("makespan_seconds", "min")
    same = Knob(None, 100.0, 50.0)
    small = Knob("disk", 97.0, 50.0, gain=0.03, sure=False)
    large = Knob("the remote link", 95.0, 50.0, gain=0.05)
    doubt = (
        "cannot tell for disk: less than the 4.0 % by which two searches of the "
        "instance as it is differ"
    )
    assert doubt in _helped(measure, [same, small], 0.04)
    told = _helped(measure, [same, small, large], 0.04)
    assert told.startswith(
        "10 % more of the remote link would help most: 5.0 %, from 100 s to 95 s; "
        "cannot"
    )
    assert _helped(measure, [same, Knob("disk", 100.0, 50.0, gain=0.0)]) == (
        "10 % more of no single resource would help."
    )


COUNTS: list[int] = []


def erratic(problem):
    """Put the tasks on as many nodes as the next of ``COUNTS`` says."""
    count = COUNTS.pop(0)
    names = [node.id for node in problem.nodes][:count]
    tasks = [task.id for task in problem.tasks]
    order = {name: tasks[k::count] for k, name in enumerate(names)}
    assign = {task: name for name in names for task in order[name]}
    remote = [(file.id, name) for file in problem.files for name in names]
    return {"assign": assign, "order": order, "remote": remote}


def erratic_search(kind, problem):
    return f"{__name__}:erratic", {}


TWO = document(
    2, {"f": 10_000_000}, {f"t{k}": (10.0, "f") for k in range(2)}, 10e6, 100e6
)
"""One file that arrives after 1 s on the first node; two tasks of 10
s: 21 s on one node.
"""


def test_more_of_a_resource_is_never_worse_than_the_plan_at_hand(monkeypatch):
    """The plan at hand has both nodes: 1 s of fetching, .1 s of
    copying, 10 s of computing.

    The search for a better one uses one node, with more of whatever resource: 1 + 20 s.
    """
    monkeypatch.setattr(f"{__name__}.COUNTS", [2, 1, 1, 1, 1, 1])
    monkeypatch.setattr(Replication, "counted_search", erratic_search)
    result = ioopt.solve(TWO, erratic)
    assert result.value == pytest.approx(11.1)
    found = explain(TWO, result)
    values = {knob.resource: knob.value for knob in found.knobs}
    assert values == {
        None: pytest.approx(11.1),
        "the remote link": pytest.approx(1 / 1.1 + 0.1 + 10),
        "the nodes' network": pytest.approx(1 + 0.1 / 1.1 + 10),
        "computing speed": pytest.approx(1 + 0.1 + 10 / 1.1),
    }
    # What is found again is worse by 9.9 s: more than any of the gains.
    assert (
        found.noise == pytest.approx(9.9 / 21.0)
        and "cannot tell for" in found.sentences[-1]
    )


def test_a_plan_found_with_more_counts_for_less_too(monkeypatch):
    """The plan at hand uses one node; the search with a faster link, alone, finds both.

    That is no gain of the link: replayed as it is, the plan takes 11.1 s instead of 21.
    """
    monkeypatch.setattr(f"{__name__}.COUNTS", [1, 1, 1, 2, 1, 1])
    monkeypatch.setattr(Replication, "counted_search", erratic_search)
    result = ioopt.solve(TWO, erratic)
    assert result.value == pytest.approx(21.0)
    found = explain(TWO, result)
    assert found.knobs[0].value == pytest.approx(11.1)
    assert found.knobs[1].value == pytest.approx(1 / 1.1 + 0.1 + 10)


def test_a_solver_without_a_name_is_explained_by_its_plan():
    plan = ioopt.solve(ONE, "minmin").plan
    found = explain(ONE, ioopt.solve(ONE, lambda given: plan))
    # 12 s of fetching and 8 s of computing, as above.
    values = {knob.resource: knob.value for knob in found.knobs}
    assert values["computing speed"] == pytest.approx(12 + 8 / 1.1)


def test_a_better_plan_that_was_found_is_told():
    """The plan at hand takes 20 s; another takes 15 s, and no plan has less than
    12 s: from 20 s, 8 s or 40 % can be gained.
    """
    result = ioopt.solve(ONE, "minmin")
    told = _standing(result, Metric("makespan_seconds", "min"), Knob(None, 15.0, 12.0))
    assert told == (
        "The makespan of minmin's plan is 20 s (best plan found: 15 s); no plan has "
        "less than 12 s, so at most 40.0 % can be gained."
    )


def test_objectives_below_0_are_told_with_their_sign():
    """More is better: -1.2 may reach -.9, which is a quarter of it; a tenth more
    of rows brings -1.1.
    """
    result = ioopt.solve(ONE, "minmin").model_copy(
        update={"objective": -1.2, "objective_name": "worth", "metrics": {}}
    )
    measure = Metric("worth", "max")
    knobs = [
        Knob(None, -1.2, -0.9),
        Knob("rows", -1.1, -0.9, gain=_gain(measure, -1.2, -1.1)),
    ]
    assert _standing(result, measure, knobs[0]).endswith(
        "so at most 25.0 % can be gained."
    )
    assert _helped(measure, knobs).startswith(
        "10 % more of rows would help most: 8.3 %"
    )


def test_nothing_is_not_counted():
    """One task whose file lies on its node: no link, no copy;
    two jobs have no tenth.
    """
    problem = {**ONE, "nodes": [{"id": "n", "holds": ["f"]}]}
    times, again = explain_told(problem, ioopt.solve(problem, "minmin"))
    assert times.startswith("The remote link is not used; cores compute 100.0 %")
    assert (
        again
        == "The plan fetches nothing from remote storage; nothing is copied between "
        "nodes."
    )
    writers = explain("two-writers", ioopt.solve("two-writers", "fill")).sentences
    assert "per job for their first byte; job B waits longest (2 s)." in writers[2]


def explain_told(problem, result):
    from ioopt.sentences.replication import told

    return told(ioopt.load(problem), result)


@pytest.mark.parametrize(
    ("name", "solver", "measure"),
    [
        ("small-8", "fill", "mean_response_seconds"),
        ("gang-figure-5", "iogs", "mean_slowdown"),
    ],
)
def test_batch_and_gang_on_the_command_line(run, name, solver, measure):
    assert run("solve", name, "--solver", solver, "-o", "r.json")[0] == 0
    code, out, _ = run("check", "--explain", name, "r.json")
    assert code == 0 and f"of {solver}'s plan is" in out and "10 % more of" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    code, out, _ = run("check", "--explain", name, "r.json", "--format", "json")
    told = json.loads(out)
    assert (
        code == 0
        and told["measure"] == measure
        and told["knobs"][0]["resource"] is None
    )
    assert len(told["sentences"]) == 5


def test_other_kinds_and_results_without_a_schedule_are_refused():
    result = ioopt.solve("two-writers-now", time_limit=1.0)
    with pytest.raises(
        UsageError, match="io-requests is not explained; kinds that are: replication"
    ):
        explain("two-writers-now", result)
    bare = ioopt.solve(ONE, "minmin").model_copy(update={"schedule": None})
    with pytest.raises(UsageError, match="has no schedule to explain"):
        explain(ONE, bare)


def test_a_plan_that_carries_out_its_fetches_is_compared_with_its_queues(run, tmp_path):
    """All three nodes of cycle3 fetch: 15.36 s shared by three, then two tasks; when a
    node may copy, the same queues take 8.248 s, and so says the search that is named.
    """
    solved = ioopt.solve("cycle3", "ip-no-replication", settings={"moves": "plan"})
    assert solved.metrics["makespan_seconds"] == pytest.approx(18.36)
    found = explain("cycle3", solved)
    assert "link-aware finds with evaluations=1000" in found.method
    told = {"evaluations": 1000}
    named = ioopt.solve("cycle3", "link-aware", settings=told)
    assert found.knobs[0].value == pytest.approx(named.value) == pytest.approx(8.248)


def test_the_sums_of_the_additive_objective_are_told(run, tmp_path, monkeypatch):
    """As instances show has them: 5.12 + 0.064, 2 x 0.064 + 3 x 1.5, 0.064 + 4.5."""
    monkeypatch.chdir(tmp_path)
    result = ioopt.solve("cycle3", "ip", settings={"moves": "plan"})
    sums = explain("cycle3", result).addends
    totals = sorted(parts["sum"] for parts in sums.values())
    assert totals == pytest.approx([4.564, 4.628, 5.184])
    (most,) = [node for node in sums if sums[node]["sum"] == pytest.approx(5.184)]
    assert sums[most]["fetches"] == pytest.approx(5.12)
    assert sums[most]["copies"] == pytest.approx(0.064)
    assert sums[most]["computing"] == 0
    result.save("r.json")
    _, out, _ = run("check", "cycle3", "r.json", "--explain")
    assert out.startswith("node  fetches") and "\nbest plan, as it is  " in out
    assert f"{most}    5.120 s  0.064 s    0.000 s  5.184 s" in out
    assert f"is the largest sum, that of {most};" in out
    assert explain("cycle3", ioopt.solve("cycle3", "link-aware")).addends == {}


@pytest.mark.parametrize(("solver", "value"), [("minmin", 9.748), ("auto", 8.248)])
def test_bounds_of_one_kind_are_compared(solver, value):
    """Every plan has the same bound, which a search proved, 8.248 s; the effect of the
    link is that on the bounds known without one, 3 + 5.12 s and 3 + 5.12 / 1.1 s.
    """
    found = explain("cycle3", ioopt.solve("cycle3", solver))
    bounds = {knob.resource: knob.bound for knob in found.knobs}
    assert bounds[None] == pytest.approx(3 + 5.12)
    assert bounds["the remote link"] == pytest.approx(3 + 5.12 / 1.1)
    assert found.proven == pytest.approx(8.248)
    standing, *_, held, _ = found.sentences
    told = "no plan has less than 8.248 s" if value > 8.248 else "proven to be the best"
    assert told in standing
    assert held.endswith("10 % more bandwidth lowers it by 5.7 %.")


@pytest.mark.parametrize("rooted", [False, True])
def test_copies_in_a_cycle_are_told(rooted):
    """As printed, n0 and n1 copy to each other what n2 alone fetches."""
    first = "n2" if rooted else "n1"
    plan = {
        "assign": {f"t{k}": f"n{k % 2}" for k in range(6)},
        "order": {f"n{k}": [f"t{j}" for j in range(k, 6, 2)] for k in range(2)},
        "remote": [("f0", "n2")],
        "copies": [("f0", first, "n0"), ("f0", "n0", "n1")],
        "moves": "printed",
    }
    plan["order"]["n2"] = []
    result = ioopt.solve("cycle3", lambda given: plan)
    (_, moved) = explain_told("cycle3", result)
    cycle = "the copies of f0 form a cycle"
    assert (cycle in moved) == (cycle in result.gantt().get_title()) == (not rooted)
