"""``ioopt advise``: verdicts against the truth of made logs, intervals,
settings, page and commands.
"""

import io
import json
import random
import re
import shlex
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from advice_logs import NODE_RATE, NODES, QUEUE, io_share, mean_response, swf, truth
from batch_io_traces import by_hand

import ioopt
from ioopt.advice import page, study, verdict
from ioopt.advice.fit import Fit, fit
from ioopt.advice.runs import BASELINE, Option, Question, run_option
from ioopt.advice.spread import Blocks, break_even, told
from ioopt.cli.options import counting
from ioopt.formats.io_rule import IoRule, MachineRule
from ioopt.formats.swf.log import parse_swf
from ioopt.problems.batch_io import BatchIoProblem

DAY = 86400
PASSED = Fit(
    "passed",
    "The simulated queue reproduces the waits of this log.",
    logged_seconds=100.0,
    simulated_seconds=98.0,
    rank=0.9,
    knobs=("backfill: EASY",),
    exact=True,
    options={"queue": "fcfs", "backfill": "easy"},
)


def log(days: int = 30) -> str:
    """Three jobs of two nodes a day, half an hour each, on four nodes; a line a job."""
    lines = [
        f"{3 * day + k + 1} {day * DAY + 60 * k} 30 1800 2 -1 -1 2 3600 -1 1 1 1 "
        "1 1 1 -1 -1"
        for day in range(days)
        for k in range(3)
    ]
    return "; MaxProcs: 4\n" + "\n".join(lines) + "\n"


QUICK = ("--solver", "fill", "--machine", "storage_rate=40MB/s", "--draws", "2")
FIFTH = (*QUICK, "--io-fraction", "0.2")


@pytest.mark.parametrize(
    ("storage", "delay", "begins", "kind"),
    [
        (8e9, None, "Saves ", verdict.SAVES),
        (NODES * NODE_RATE, None, "No clear benefit: ", verdict.NOTHING),
        (8e9, 20_000.0, "The simulated queue ", verdict.SAVES),
    ],
    ids=["made congested", "without congestion", "of another queue"],
)
@pytest.mark.parametrize(
    ("days", "draws"), [(7, 2), pytest.param(112, 4, marks=pytest.mark.slow)]
)
def test_verdicts_on_logs_whose_truth_is_known(
    storage, delay, begins, kind, days, draws
):
    """What the machine that wrote the log would save under the same
    policy (printed with -s).

    A storage that takes what all nodes send has no congestion. The waits of the third
    log are random, as if people started its jobs: they are not believed, and no word is
    said of response times. The short logs, to which no queue can be fitted, are told
    what a fit would say.
    """
    made, waits = truth(storage, 0.2, 3, days), random.Random(1)
    text = swf(
        made,
        (lambda wait: waits.expovariate(1 / delay)) if delay else (lambda wait: wait),
    )
    trace = parse_swf(text, "made.swf")
    fitted = (
        fit(trace)
        if days > 100
        else replace(PASSED, status="refused" if delay else "passed")
    )
    asked = Question(
        trace,
        io=IoRule(io_share(made)),
        fraction_given=True,
        fit=fitted,
        options=QUEUE,
        machine=MachineRule(node_rate=NODE_RATE, storage_rate=storage),
        solvers=("fill",),
        draws=draws,
    )
    found = study.advise(asked)
    lines = page.answer(found)
    true = 1 - mean_response(made, found["best"]) / mean_response(made, BASELINE)
    print(
        f"\ntruth: {found['best']} saves {100 * true:.1f} % of response time",
        *lines,
        sep="\n  ",
    )
    assert lines[0].startswith(begins) and found["verdict"]["kind"] == kind
    said = " ".join(lines)
    assert re.search(
        r"assuming that jobs spend 2\d % of run time in I/O \(given\)", said
    )
    if delay:
        assert (
            "on a queue that is not yours" in lines[1]
            and "of what congestion adds" in lines[1]
        )
        assert "response time" not in said and found["measure"] == verdict.RUN
    else:
        near = (
            0.0 if days > 100 else 0.03
        )  # one drawing of few days has no interval of its luck
        assert found["verdict"]["low"] - near <= true <= found["verdict"]["high"] + near
        assert "the queue is as fitted (unseen half: mean wait" in lines[0]
    # No policy is said to save more than congestion costs.
    assert found["verdict"]["value"] <= found["cost"]["value"]


def test_without_a_fraction_the_answer_is_the_one_from_which_on_it_pays():
    made = truth(8e9, 0.2, seed=3, days=5)
    asked = Question(
        parse_swf(swf(made), "made.swf"),
        options=QUEUE,
        solvers=("fill",),
        draws=2,
        machine=MachineRule(node_rate=NODE_RATE, storage_rate=8e9),
    )
    found = study.advise(asked)
    assert [row["fraction"] for row in found["curve"]] == list(study.FRACTIONS)
    even = found["break_even"]
    assert 0.05 < even["low"] <= even["value"] <= even["high"] < 0.2
    told = verdict.sentence(found)
    assert re.match(
        r"Pays if jobs spend more than \d.* % \(95 %: .*\) of run time in I/O", told
    )
    # The details are of the first fraction that pays, and nobody need guess how
    # to find one's own.
    assert found["shown_fraction"] in (0.1, 0.2) and "LMT" in page.as_text(
        "x", list(page.parts(found, "")), 79
    )
    assert study.advise(asked, threads=2) == found


def figure(value: float | None, low: float | None, high: float | None) -> dict:
    return {"value": value, "low": low, "high": high}


def test_what_pays_and_what_does_not():
    cases = {
        (0.1, 0.04, 0.15, 0.2): verdict.SAVES,
        (0.03, 0.005, 0.06, 0.2): verdict.UNCERTAIN,
        (0.004, -0.002, 0.008, 0.2): verdict.NOTHING,
        (-0.05, -0.09, -0.01, 0.2): verdict.NOTHING,
        # Congestion costs less than is worth a change, whatever the queue's luck says.
        (0.004, -0.03, 0.06, 0.009): verdict.NOTHING,
        (0.3, None, None, None): verdict.UNCERTAIN,
    }
    for (value, low, high, bound), kind in cases.items():
        assert verdict.kind(figure(value, low, high), bound) == kind
    found = {
        "verdict": figure(0.099, 0.04, 0.15) | {"kind": verdict.SAVES},
        "cost": figure(0.2, 0.1, 0.3),
        "best": "fill",
        "measure": "response time",
        "curve": [{"fraction": 0.3}],
        "fraction": 0.2,
        "break_even": figure(0.1, None, None),
        "relief": figure(0.5, 0.4, 0.6),
        "fraction_from": "by Darshan",
        "storage_given": False,
        "yours": True,
        "storage_bytes_per_second": 5e8,
        "fit": {"simulated_seconds": 7080.0, "logged_seconds": 7140.0, "rank": 0.85},
    }
    assert verdict.sentence(found) == (
        "Saves 9.9 % of response time (95 %: 4.0 to 15.0), with the policy fill, "
        "assuming that jobs spend 20 % of run time in I/O (by Darshan), the storage "
        "takes 500 MB/s (a guess) and the queue is as fitted (unseen half: mean wait "
        "118 min of 119 min, rank 0.85)."
    )
    found |= {"fraction": None, "break_even": figure(0.02, 0.01, None)}
    assert verdict.sentence(found).startswith(
        "Inconclusive: pays perhaps if jobs spend more than 2 % (95 %: 1 to above 30)"
    )
    found |= {"break_even": figure(None, 0.25, None)}
    found["verdict"]["kind"] = verdict.NOTHING
    assert verdict.sentence(found).startswith(
        "No clear benefit at any I/O fraction up to 30 %"
    )


def test_intervals_of_resampled_weeks_and_drawings():
    submit = np.arange(105) * DAY / 3.0
    drawn, everybody, ones = (
        Blocks(submit, 1, 1000, 0),
        np.ones(105, bool),
        np.ones(105),
    )
    assert (drawn.weeks.shape[1], drawn.words) == (5, "weeks")

    def saved(blocks, top, member=everybody):
        return told(blocks.saved(top, [ones] * len(top), member))

    # The same in every week: no doubt. One week of five twice as long: -.2, and doubt.
    assert saved(drawn, [0.9 * ones]) == pytest.approx(figure(0.1, 0.1, 0.1))
    half = np.arange(105) % 2 == 0
    assert saved(drawn, [np.where(half, 0.5, 2.0)], half)["value"] == pytest.approx(0.5)
    found = saved(drawn, [np.where(drawn.block == 0, 2.0, 1.0)])
    assert (
        found["value"] == pytest.approx(-0.2)
        and -1 <= found["low"] < -0.2 < found["high"] <= 0
    )
    # Weeks alike, drawings not: luck alone has an interval too. Of two
    # drawings one is drawn.
    lucky = saved(Blocks(submit, 2, 1000, 0), [0.8 * ones, 1.0 * ones])
    assert lucky == pytest.approx(figure(0.1, 0.0, 0.2))
    # Two days and one drawing tell nothing.
    short = Blocks(np.arange(105) * DAY / 60, 1, 1000, 0)
    assert saved(short, [0.9 * ones]) == figure(pytest.approx(0.1), None, None)


@pytest.mark.parametrize(
    ("saved", "even"),
    [
        ((0.0, 0.0), float("inf")),
        ((0.0, 0.02), 0.15),
        ((0.02, 0.02), 0.05),
        # What pays only by luck below is not where it begins.
        ((0.02, 0.0, 0.03), 0.2 + 0.1 / 3),
    ],
)
def test_where_a_saving_begins(saved, even):
    grid = (0.1, 0.2, 0.3)[: len(saved)]
    assert break_even(grid, [np.array([value]) for value in saved])[0] == pytest.approx(
        even
    )


def one_machine(*jobs: tuple) -> BatchIoProblem:
    """Four nodes of 10 B/s before a storage of 20 B/s, first come
    first served with EASY.
    """
    machine = {"nodes": 4, "node_bytes_per_second": 10, "storage_bytes_per_second": 20}
    return ioopt.load(by_hand(jobs, machine, queue="fcfs"))


ASKED = Question(parse_swf(log(), "a.swf"))


def test_turns_and_rate_limits():
    """A (1 node, 100 B), at 1 s B (2 nodes, 200 B), at 2 s C (1 node,
    20 B), all to write.

    Turns: B needs the whole storage and waits for A, which ends at 10 s; C fits beside
    A and ends at 4 s. First come first served that preempts has the same here; but with
    C of 100 B (to 12 s) B would stop it at 10 s. With turns B waits to 12 s and ends at
    22 s. With 5 B/s a job A takes 20 s.
    """
    problem = one_machine(
        (1, 0, 1, 100, [(0, 100)]),
        (2, 1, 2, 100, [(0, 200)]),
        (3, 2, 1, 100, [(0, 100)]),
    )
    ends = (
        np.arange(3)
        + run_option(ASKED, problem, Option("x", "cons-fcfs:preempt=no")).response
    )
    assert ends.tolist() == [10, 22, 12]
    ends = np.arange(3) + run_option(ASKED, problem, Option("x", "cons-fcfs")).response
    assert ends.tolist() == [
        10,
        20,
        22,
    ]  # C has 80 B by 10 s, and its last 20 B from 20 s on
    assert run_option(ASKED, problem, Option("x", job_rate=5.0)).run.tolist() == [
        20,
        40,
        20,
    ]


def test_where_only_the_fit_knows_the_queue_its_starts_count():
    class Later(Fit):
        def starts(self, run_seconds=None):
            return [60.0 * k + 7.0 for k in range(len(self.job_ids))]

    told = {name: getattr(PASSED, name) for name in Fit.__dataclass_fields__}
    later = Later(**told | {"exact": False, "job_ids": (1, 2, 3)})
    asked = Question(parse_swf(log(1), "a.swf"), fit=later, io=IoRule(0.0))
    found = run_option(asked, asked.problem(0.0), Option(BASELINE))
    assert (
        found.response.tolist() == [1807, 1807, 1807]
        and found.run.tolist() == [1800] * 3
    )


def test_the_page_the_text_the_data_and_standard_input(run, tmp_path, monkeypatch):
    (tmp_path / "a.swf").write_text(log())
    code, out, _ = run("advise", "a.swf", *FIFTH, "-o", "page.html")
    assert (
        code == 0 and "90 jobs in 29 d on 4 nodes" in out and len(out.splitlines()) == 5
    )
    html = (tmp_path / "page.html").read_text()
    assert html.count("<svg") == 2 and "<h2>How to repeat it</h2>" in html
    assert not re.search(
        r"(src|href)=\"(?!data:)[^#\"]", html.replace("xlink:href", "")
    )
    code, text, err = run("advise", "a.swf", *FIFTH)
    assert (code, err) == (0, "") and "What can be switched on" in text
    code, out, _ = run("advise", "a.swf", *FIFTH, "--format", "json")
    found = json.loads(out)
    assert found["best"] == "fill" and found["groups"]["all jobs"] == 90
    # 90 jobs of 2 nodes for 1,800 s: 324,000 of 4 nodes x 2,505,720 s.
    assert found["node_utilisation"] == pytest.approx(324_000 / (4 * (29 * DAY + 120)))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(log().encode())))
    code, piped, _ = run("advise", "-", *FIFTH, "--format", "json")
    assert code == 0 and json.loads(piped)["verdict"] == found["verdict"]


def test_a_queue_that_passed_is_the_one_simulated(run, tmp_path, monkeypatch):
    """Of as many processors as was fitted; the page ends with the
    command that made it.
    """
    monkeypatch.setattr(
        "ioopt.advice.fit.fit",
        lambda log, site=None, deadline=None: replace(PASSED, processors=3),
    )
    words = ["advise", "my log.swf", *QUICK, "--seed", "3", "--format", "json"]
    monkeypatch.setattr("sys.argv", ["ioopt", *words])
    (tmp_path / "my log.swf").write_text(log(14))
    code, out, _ = run(*words)
    found = json.loads(out)
    assert code == 0 and found["yours"] and found["nodes"] == 3
    assert "the queue is as fitted" in found["answer"][0]
    assert shlex.split(found["command"]) == ["ioopt", *words]


def test_darshan_logs_of_most_jobs_say_the_fraction(run, tmp_path):
    """Logs that match no job are counted on the terminal."""
    samples = Path(__file__).parents[2] / "docs" / "samples"
    words = ("--draws", "1", "--jobs", "40", "--solver", "fill", "--format", "json")
    jobs, logs = samples / "cluster.swf", samples / "darshan"
    code, out, err = run("advise", jobs, "--darshan", logs, *words)
    assert code == 0, err
    found = json.loads(out)
    assert found["fraction"] is None
    assert re.search(r"\d+ jobs have a Darshan log of their own, \d+ have none", err)


def test_progress_goes_into_a_log_file_by_the_clock(capsys):
    with counting("simulating", every=0.01) as show:
        show(3, 9, "")
        while "3 of 9" not in (said := capsys.readouterr().err):
            time.sleep(0.01)
    assert said.splitlines()[-1] == "simulating: 3 of 9"
