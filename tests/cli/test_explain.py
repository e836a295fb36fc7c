"""``ioopt check --explain``: shares, bounds and gains of instances small enough to work out by hand."""

import json

import pytest
from replication_samples import document

import ioopt
from ioopt.comparing import compare_rows
from ioopt.comparing.measures import Measure
from ioopt.errors import UsageError
from ioopt.explaining import Knob, _helped, _standing, explain

ONE = document(1, {"f": 120_000_000}, {"t": (8.0, "f")}, 10e6, 100e6)
"""12 s over the link, then 8 s of computing: 20 s, and nothing can be shorter."""


def test_times_bound_and_help_of_one_task():
    found = explain(ONE, ioopt.solve(ONE, "minmin"), time_limit=1.0)
    standing, times, again, held, helped = found.sentences
    assert standing == "The makespan of minmin's plan is 20 s, which is proven to be the best."
    assert "remote link is busy 60.0 % of that time; cores compute 40.0 %" in times
    assert "disk space 60.0 %, and are idle at the end 0 %" in times
    assert again.startswith("The plan fetches 120 MB from remote storage, no file twice")
    # Link: 12 / 1.1 + 8 = 18.909 s, 5.5 % less. Speed: 12 + 8 / 1.1 = 19.273 s, 3.6 % less.
    assert held == "The bound is held by the remote link: 10 % more of it moves it by 5.5 %."
    assert helped == (
        "10 % more of the remote link would help most: 5.5 %, to 18.91 s (computing speed 3.6 %)."
    )
    values = {knob.resource: knob.value for knob in found.knobs}
    assert values == {
        None: pytest.approx(20.0), "the remote link": pytest.approx(12 / 1.1 + 8),
        "the nodes' network": pytest.approx(20.0), "computing speed": pytest.approx(12 + 8 / 1.1),
    }  # fmt: skip


def test_what_is_fetched_again_is_told():
    """Two tasks read a, b, a of 6 MB on a disk of 10 MB: a comes twice, 6 of 18 MB."""
    tasks = {f"t{k}": (1.0, name) for k, name in enumerate("aba")}
    problem = document(
        [{"disk_bytes": 10**7}], {"a": 6 * 10**6, "b": 6 * 10**6}, tasks, 10e6, 100e6
    )
    plan = {"order": {"n0": ["t0", "t1", "t2"]}, "assign": dict.fromkeys(("t0", "t1", "t2"), "n0")}
    result = ioopt.solve(problem, lambda given: plan)
    (_, again) = explain_told(problem, result)
    assert (
        "The plan fetches 18 MB from remote storage, 6 MB (33.3 %) of it files that were fetched before"
        in again
    )


def test_as_it_is_is_solved_last(monkeypatch):
    """What loaded kernels gain by then counts for the plan at hand, not for a resource."""
    tried = []

    def recorded(data, *words, **limits):
        tried.append((data["network"]["remote_bytes_per_second"], data["nodes"][0]["speed"]))
        return compare_rows(data, *words, **limits)

    monkeypatch.setattr("ioopt.explaining.compare_rows", recorded)
    found = explain(ONE, ioopt.solve(ONE, "minmin"), time_limit=1.0)
    assert tried[0] == (pytest.approx(11e6), 1.0) and tried[-1] == (10e6, 1.0)
    assert tried[-2] == (10e6, pytest.approx(1.1))
    assert found.knobs[0].resource is None and found.knobs[1].resource == "the remote link"


def test_gains_that_no_speed_can_bring_are_told_as_the_searchs():
    """100 s now; 10 % more speed can bring 1 - 1/1.1 = 9.1 % at most, disk anything."""

    def helped(resource, value, searching=True):
        knobs = [Knob(None, 100.0, 50.0), Knob(resource, value, 50.0)]
        return _helped(Measure("makespan_seconds", "min"), knobs, searching)

    assert "is the search's, cut short" in helped("computing speed", 80.0)
    assert "the search's" not in helped("computing speed", 91.0)
    assert "the search's" not in helped("disk", 80.0)
    assert "the search's" not in helped("computing speed", 80.0, searching=False)
    assert helped("rows", 122.0, searching=False) == (
        "10 % more of no single resource would help this solver; "
        "with more rows its plan is even 22.0 % worse."
    )


def test_a_better_plan_of_the_second_solve_is_told():
    """The plan at hand takes 20 s; the second solve finds 15 s, and no plan has less than 12 s."""
    result = ioopt.solve(ONE, "minmin")
    told = _standing(result, Measure("makespan_seconds", "min"), Knob(None, 15.0, 12.0))
    assert told == (
        "The makespan of minmin's plan is 20 s (solved again: 15 s); no plan has less than 12 s, so at "
        "most 20.0 % can be gained."
    )


def test_objectives_below_0_are_told_with_their_sign():
    """More is better: -1.2 may reach -.9, which is a quarter of it; a tenth more of rows brings -1.1."""
    result = ioopt.solve(ONE, "minmin").model_copy(
        update={"objective": -1.2, "objective_name": "worth", "metrics": {}}
    )
    measure, knobs = Measure("worth", "max"), [Knob(None, -1.2, -0.9), Knob("rows", -1.1, -0.9)]
    assert _standing(result, measure, knobs[0]).endswith("so at most 25.0 % can be gained.")
    assert _helped(measure, knobs, False).startswith("10 % more of rows would help most: 8.3 %")


def test_nothing_is_not_counted():
    """One task whose file lies on its node: no link, no copy; two jobs have no tenth."""
    problem = {**ONE, "nodes": [{"id": "n", "holds": ["f"]}]}
    times, again = explain_told(problem, ioopt.solve(problem, "minmin"))
    assert times.startswith("The remote link is not used; cores compute 100.0 %")
    assert again == "The plan fetches nothing from remote storage; nothing is copied between nodes."
    writers = explain("two-writers", ioopt.solve("two-writers", "fill")).sentences
    assert "per job for their first byte; job B waits longest (2 s)." in writers[2]


def test_staging_has_its_share():
    """One job of the eight stages its input for 48 s of 8 x 241.5 s: 2.5 %."""
    found = explain("buffer-per-node-8", ioopt.solve("buffer-per-node-8", "fill"), time_limit=1.0)
    assert (
        "68.0 % waiting in the queue, 2.5 % staging input, 13.8 % computing" in found.sentences[1]
    )


def explain_told(problem, result):
    from ioopt.explaining.replication import told

    return told(ioopt.load(problem), result)


@pytest.mark.parametrize(
    ("name", "solver", "measure"),
    [("small-8", "fill", "mean_response_seconds"), ("gang-figure-5", "iogs", "mean_slowdown")],
)
def test_batch_and_gang_on_the_command_line(run, name, solver, measure):
    assert run("solve", name, "--solver", solver, "-o", "r.json")[0] == 0
    code, out, _ = run("check", "--explain", name, "r.json")
    assert code == 0 and f"of {solver}'s plan is" in out and "10 % more of" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    code, out, _ = run("check", "--explain", name, "r.json", "--format", "json")
    told = json.loads(out)
    assert code == 0 and told["measure"] == measure and told["knobs"][0]["resource"] is None
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
