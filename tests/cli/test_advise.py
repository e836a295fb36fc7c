"""``ioopt advise``: what it says of a log, how sure that is, and whether its commands repeat it."""

from __future__ import annotations

import json
import re
import shlex

import numpy as np
import pytest
from conftest import shared_path

from ioopt.advice import page, study
from ioopt.formats.io_rule import IoRule
from ioopt.formats.swf.log import parse_swf

DAY = 86400


def log(days: int = 30) -> str:
    """Three jobs of two nodes a day, half an hour each, on four nodes; a line a job."""
    lines = [
        f"{3 * day + k + 1} {day * DAY + 60 * k} 30 1800 2 -1 -1 2 3600 -1 1 1 1 1 1 1 -1 -1"
        for day in range(days)
        for k in range(3)
    ]
    return "; MaxProcs: 4\n" + "\n".join(lines) + "\n"


QUICK = ("--solver", "fill", "--machine", "storage_rate=40MB/s", "--io-fraction", "0.2")


def test_the_page_the_text_and_the_data(run, tmp_path):
    (tmp_path / "a.swf").write_text(log())
    code, out, _ = run("advise", "a.swf", *QUICK, "-o", "page.html")
    assert code == 0 and len(out.splitlines()) == 5 and "90 jobs in 29 d on 4 nodes" in out
    html = (tmp_path / "page.html").read_text()
    assert html.count("<svg") == 3 and "<h2>How to repeat it</h2>" in html
    assert not re.search(r"(src|href)=\"(?!data:)[^#\"]", html.replace("xlink:href", ""))
    code, text, err = run("advise", "a.swf", *QUICK)
    assert (code, err) == (0, "")
    assert "Under other assumptions" in text and "base-line" in text
    code, out, _ = run("advise", "a.swf", *QUICK, "--format", "json")
    found = json.loads(out)
    assert found["best"] == "fill" and found["groups"]["all jobs"] == 90
    assert len(found["sensitivity"]) == 9 and found["blocks"] == "weeks"
    # 90 jobs of 2 nodes for 1,800 s: 324,000 of 4 nodes x 2,505,720 s.
    assert found["load"]["node_utilisation"] == pytest.approx(324_000 / (4 * (29 * DAY + 120)))
    assert found["load"]["mean_wait_in_log_seconds"] == 30
    fill = next(row for row in found["policies"] if row["measure"] == "io_delay_seconds")
    assert fill["solver"] == "fill" and 0 < fill["low"] <= fill["ratio"] <= fill["high"] < 1
    # The third job of a day waits for the first: sharing makes it wait longer.
    assert 0.9 < found["verdict"]["ratio"] < 1


def test_every_command_runs_and_says_the_same(run, tmp_path):
    (tmp_path / "my log.swf").write_text(log(14))
    code, out, _ = run("advise", "my log.swf", *QUICK, "--seed", "3", "--format", "json")
    assert code == 0
    found = json.loads(out)
    outputs = []
    for command in found["commands"]:
        words = shlex.split(command)
        assert words[0] == "ioopt"
        code, out, err = run(*words[1:], *["--format", "json"] * (words[1] == "compare"))
        assert code == 0, (command, err)
        outputs.append(out)
    rows = json.loads(outputs[1])["rows"]
    means = {row["solver"]: row["metrics"]["mean_response_seconds"] for row in rows}
    assert means["fill"] / means["base-line"] == pytest.approx(found["verdict"]["ratio"])
    make = shlex.split(found["commands"][0])[1:-2]  # the last --machine and --io-fraction count
    for cell in found["sensitivity"]:
        rate, share = cell["storage_bytes_per_second"], cell["io_fraction"]
        cell_of = ("--machine", f"storage_rate={rate}B/s", "--io-fraction", str(share))
        assert run(*make, *cell_of, "-o", "cell.json")[0] == 0
        pair = ("--solver", "base-line", "--solver", found["best"], "--format", "json")
        low, top = json.loads(run("compare", "cell.json", *pair)[1])["rows"]
        ratio = top["metrics"]["mean_response_seconds"] / low["metrics"]["mean_response_seconds"]
        assert ratio == pytest.approx(cell["ratio"])
    assert (tmp_path / "my log.html").read_text().count("<svg") == 3


def test_killed_jobs_have_no_delay_below_nothing():
    # Walltimes of 1,500 s end every job of 1,800 s before its I/O, whatever the policy.
    text = log(7).replace(" 3600 ", " 1500 ")
    asked = study.Question(parse_swf(text, "a.swf"), io=IoRule(0.2), options={"kill": True})
    assert set(study._Jobs(asked.problem(asked.io), asked).alone) == {1500.0}
    found = study.advise(asked)
    delays = [row for row in found["policies"] if row["measure"] == "io_delay_seconds"]
    assert {row["ratio"] for row in delays} == {1.0}
    assert "less than the noise of the queue" in page.answer(found)[3]


def test_more_processes_give_the_same_answer():
    asked = study.Question(parse_swf(log(7), "a.swf"), io=IoRule(0.2), solvers=("fill",), draws=2)
    seen = []
    alone = study.advise(asked, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (22, 22) and alone["blocks"] == "days"
    assert study.advise(asked, threads=2) == alone


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("gone.swf",), "gone.swf: no such file"),
        (("-",), "LOG must be a file"),
        (("a.swf", "--solver", "base-line"), "not base-line itself"),
        (("a.swf", "--solver", "fil"), "fill"),
        (("a.swf", "--io-fraction", "0"), "no job has I/O"),
        (("a.swf", "--io-fraction", "7"), "from 0 to 1"),
        (("a.swf", "-o", "p.html", "--format", "json"), "p.html is a page"),
        (("a.swf", "--darshan", "."), "no Darshan log in ."),
    ],
)
def test_refusals_are_one_line(run, tmp_path, words, what):
    (tmp_path / "a.swf").write_text(log(3))
    code, out, err = run("advise", *words)
    assert (code, out) == (2, "") and what in err and len(err.splitlines()) == 1


def verdict(ratio: float, low: float | None, high: float | None) -> str:
    found = {"ratio": ratio, "low": low, "high": high}
    return page.verdict(
        {"verdict": found, "best": "fill", "baseline": "base-line", "blocks": "none: too short"}
    )


def test_what_pays_and_what_does_not():
    assert verdict(0.9, 0.85, 0.95).startswith(
        "Clear benefit: the best policy, fill, changes the mean"
    )
    assert verdict(0.97, 0.95, 0.995).startswith("Small benefit: the best policy, fill, changes")
    assert verdict(0.96, 0.9, 1.02).startswith("No clear benefit: ")
    assert verdict(1.01, 0.99, 1.03).startswith("No benefit:")
    assert verdict(0.5, None, None) == (
        "Unknown: the best policy, fill, changes the mean response by -50.0 %, and too short."
    )


def weeks(days: int) -> study._Weeks:
    asked = study.Question(parse_swf(log(days), "a.swf"), io=IoRule(0.2))
    return study._Weeks(study._Jobs(asked.problem(asked.io), asked), asked)


def test_intervals_of_resampled_weeks():
    drawn, everybody = weeks(35), np.ones(105, bool)
    assert (drawn.count, drawn.words) == (5, "weeks")
    bottom = np.ones(105)
    # The same gain in every week: no doubt. Half of the jobs: their own ratio.
    same = drawn.ratio([(0.9 * bottom, bottom)], everybody, 0.95)
    assert list(same.values()) == pytest.approx([0.9, 0.9, 0.9])
    half = np.arange(105) % 2 == 0
    top = np.where(half, 0.5, 2.0)
    assert drawn.ratio([(top, bottom)], half, 0.95)["ratio"] == pytest.approx(0.5)
    # One week of five is twice as long: 1.2, between no such week and five of them.
    top = np.where(drawn.block == 0, 2.0, 1.0)
    found = drawn.ratio([(top, bottom)], everybody, 0.95)
    assert found["ratio"] == pytest.approx(1.2) and 1.0 <= found["low"] < 1.2 < found["high"] <= 2.0
    wider = drawn.ratio([(top, bottom)], everybody, 0.99)
    assert wider["low"] <= found["low"] and wider["high"] >= found["high"]


def test_too_short_a_log_has_no_intervals():
    drawn = weeks(2)
    found = drawn.ratio([(np.ones(6), np.ones(6))], np.ones(6, bool), 0.95)
    assert found == {"ratio": 1.0, "low": None, "high": None} and "too short" in drawn.words


@pytest.mark.slow
def test_a_real_log(run, tmp_path):
    """HPC2N: sharing costs much at the assumed rates."""
    trace = shared_path("data", "swf", "HPC2N-2002-excerpt-alea.swf")
    code, out, err = run("advise", str(trace), "-o", "page.html")
    assert code == 0 and "3145 jobs" in out, err
    assert "Clear benefit: the best policy, fill" in out
