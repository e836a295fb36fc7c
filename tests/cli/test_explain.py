"""``ioopt explain``: shares, bounds and gains of instances small enough to work out by hand."""

from __future__ import annotations

import json

import pytest

import ioopt
from ioopt.cli.main import main
from ioopt.errors import UsageError
from ioopt.explaining import explain

ONE = {
    "format": "ioopt/replication", "version": 1, "name": "one",
    "network": {"remote_bytes_per_second": 10e6, "replica_bytes_per_second": 100e6},
    "nodes": [{"id": "n", "disk_bytes": None}],
    "files": [{"id": "f", "bytes": 120_000_000}],
    "tasks": [{"id": "t", "compute_seconds": 8.0, "inputs": ["f"]}],
}  # fmt: skip
"""12 s over the link, then 8 s of computing: 20 s, and nothing can be shorter."""


def test_times_bound_and_help_of_one_task():
    found = explain(ONE, ioopt.solve(ONE, "minmin"), time_limit=1.0)
    standing, times, again, held, helped = found.sentences
    assert standing == "The makespan of minmin's plan is 20 s, which is proven to be the best."
    assert "remote link 60.0 % of that time; cores compute 40.0 %" in times
    assert "room 60.0 % and have nothing left to do 0 %" in times
    assert again.startswith("It fetches 120 MB from remote storage, no file twice")
    # Link: 12 / 1.1 + 8 = 18.909 s, 5.5 % less. Speed: 12 + 8 / 1.1 = 19.273 s, 3.6 % less.
    assert held == "The bound is held by the remote link: 10 % more of it move it by 5.5 %."
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
    tasks = [
        {"id": f"t{k}", "compute_seconds": 1.0, "inputs": [name]} for k, name in enumerate("aba")
    ]
    files = [{"id": name, "bytes": 6_000_000} for name in "ab"]
    problem = {
        **ONE,
        "nodes": [{"id": "n", "disk_bytes": 10_000_000}],
        "files": files,
        "tasks": tasks,
    }
    plan = {"order": {"n": ["t0", "t1", "t2"]}, "assign": dict.fromkeys(("t0", "t1", "t2"), "n")}
    result = ioopt.solve(problem, lambda given: plan)
    (_, again) = explain_told(problem, result)
    assert (
        "It fetches 18 MB from remote storage, 6 MB (33.3 %) of it files that were fetched before"
        in again
    )


def explain_told(problem, result):
    from ioopt.explaining.replication import told

    return told(ioopt.load(problem), result)


def test_batch_and_gang_on_the_command_line(tmp_path, capsys):
    for name, solver, measure in (("small-8", "fill", "mean_response_seconds"),
                                  ("gang-figure-5", "iogs", "mean_slowdown")):  # fmt: skip
        target = str(tmp_path / f"{name}.json")
        assert main(["solve", name, "--solver", solver, "-o", target]) == 0
        capsys.readouterr()
        assert main(["explain", name, target]) == 0
        out = capsys.readouterr().out
        assert f"of {solver}'s plan is" in out and "10 % more of" in out
        assert all(len(line) <= 80 for line in out.splitlines())
        assert main(["explain", name, target, "--format", "json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["measure"] == measure and told["knobs"][0]["resource"] is None
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
