"""``ioopt advise``: answers worked by hand, verdicts against the truth of made logs,
intervals, settings, refusals, page and commands.
"""

import gzip
import io
import itertools
import json
import math
import re
import shlex
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from advice_logs import NODE_RATE, Machine, truth
from batch_io_traces import by_hand
from conftest import shared_path
from tools import make_logs

import ioopt
from ioopt.advice import page, study, verdict
from ioopt.advice import workload as workload_module
from ioopt.advice.answer import AxisPoint, Kind, Switch, verdict_kind
from ioopt.advice.knobs import (
    FREE,
    SHARING,
    TURNS,
    Option,
    rate_limit,
    settings_at,
)
from ioopt.advice.plausible import conflict_of
from ioopt.advice.replays import busiest_week, replay
from ioopt.advice.samples import SAMPLES, sample_or_path
from ioopt.advice.spread import Blocks, Figure, figure_of, paying_range
from ioopt.advice.workload import Point, Question, known_fraction, workload_of
from ioopt.cli import options
from ioopt.cli.imports.logs import SACCT_COMMAND
from ioopt.cli.options import counting
from ioopt.formats import sacct
from ioopt.formats.darshan.log import DarshanLog, DarshanPhase
from ioopt.formats.io_rule import IoRule, MachineRule
from ioopt.formats.job_log import read_log
from ioopt.formats.swf.log import parse_swf
from ioopt.sim.batch_io.trace import Trace

DAY = 86400
LOGS = Path(__file__).parents[2] / "docs" / "samples"


def log(days: int = 40, jobs_a_day: int = 3, nodes: int = 2) -> str:
    """Return a log of jobs of half an hour that start together, a line each, on four
    nodes.
    """
    lines = []
    for day in range(days):
        for k in range(jobs_a_day):
            number = jobs_a_day * day + k + 1
            lines.append(
                f"{number} {day * DAY} 0 1800 {nodes} -1 -1 {nodes} 3600 -1 1 1 1 1 1 "
                "1 -1 -1"
            )
    return "; MaxProcs: 4\n" + "\n".join(lines) + "\n"


RATES = ("--machine", "node_rate=1MB/s,storage_rate=1MB/s")
QUICK = ("--solver", "fill", "--draws", "2", "--resamples", "100")
FIFTH = (*QUICK, *RATES, "--io-fraction", "0.2")


def pairs(**changed: object) -> Question:
    """Ask of 60 pairs of jobs that start together, run 1,800 s and only write: each of
    one node of 10 B/s, before a storage of 10 B/s.
    """
    asked = Question(
        parse_swf(log(60, 2, nodes=1), "pairs.swf"),
        machine=MachineRule(node_rate=10, storage_rate=10),
        io=IoRule(1.0),
        fraction_given=True,
        period_given=True,
        solvers=("fill",),
        draws=2,
    )
    return replace(asked, **changed)


@pytest.fixture
def unmoved(monkeypatch):
    """Keep the starts in all draws, so that they are alike where all I/O is known."""
    monkeypatch.setattr(workload_module, "SHIFT_SECONDS", 0.0)


@pytest.mark.usefixtures("unmoved")
def test_two_jobs_whose_writes_overlap_by_hand():
    """Sharing, both have 5 B/s and write 5 x 1,800 = 9,000 B: half of what the rule
    invents (18,000 B at 10 B/s), so the scale is 1/2. Alone each needs 900 s, so
    congestion costs 900 of 1,800 s: 50 %.

    With turns A ends after 900 s and B after 1,800 s: 2,700 s in all instead of
    3,600 s, which saves 25 %. With 5 B/s a job both need 1,800 s: 0 %. All pairs are
    alike, so there is no doubt.

    At 20 B/s nobody is delayed and nothing is saved. So the saving passes 1 % on the
    way from a load of 1/2 (0 %) to 1 (25 %), at 1/2 + 1/2 x 1/25 = .52: 10 B/s / .52 =
    19.23 B/s.
    """
    advice = study.advise(pairs())
    assert advice.scale == pytest.approx(0.5)
    assert advice.cost == pytest.approx((0.5, 0.5, 0.5))
    assert advice.setting == "turns" and advice.verdict == Kind.SAVES
    assert advice.switch.saves == pytest.approx((0.25, 0.25, 0.25))
    assert advice.policy_saves == pytest.approx((0.25, 0.25, 0.25))
    limited = [row for row in advice.switches if row.name == "rate limit"]
    assert limited[0].saves == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)
    assert [point.value for point in advice.storage.points] == [10, 20, 40]
    assert advice.storage.pays_from == pytest.approx((10 / 0.52,) * 3)
    assert advice.storage.pays_to == (None, None, None)
    lines = verdict.answer(advice)
    assert lines[0] == (
        "Switch on turns: all I/O in steps that wait for each other (tickets). It "
        "saves 25.0 % of run time (95 %: 25.0 to 25.0) at 100 % I/O and a storage of "
        "10 B/s."
    )
    assert lines[1:4] == [
        "I/O fraction 100 % (given): pays at all of 25 to 100 %.",
        "Storage 10 B/s (given): pays below 19.2 B/s (between 19.2 and 19.2).",
        "I/O period 60 min (given). Machine: 4 nodes (the log's processors, one a "
        "node: state processors_per_node) of 10 B/s (given). Assumed: jobs do I/O at "
        "full rate (their nodes', up to the storage's). If yours is slower, less is "
        "saved.",
    ]
    pasted = [line.removeprefix("  ") for line in lines[4:]]
    assert pasted[0].startswith("# Once, as root.")
    assert "nodes, here 4. Write how many there are: a job of more nodes" in pasted[2]
    assert pasted[3] == "install -d -m 1777 /shared/turns"
    described = pasted[5].split("'")[1]
    assert json.loads(described) == workload_of(pairs()).trace.machine.model_dump()
    assert " srun -N1 -n1 --prolog=/etc/slurm/turn-acquire.sh" in pasted[-1]


def test_where_the_number_of_nodes_comes_from():
    """The lines to paste ask for the number of nodes unless it was stated."""

    def nodes(lines: str, **machine: float) -> str:
        rule = MachineRule(node_rate=10, storage_rate=10, **machine)
        asked = pairs(trace=parse_swf(lines, "pairs.swf"), machine=rule)
        found = workload_of(asked)
        turns = "\n".join(settings_at(found, Point(1.0, 10.0, 3600.0), 1.0)[0][0].lines)
        assert ("Not given: nodes" in turns) == (found.nodes_source != "given")
        return f"{found.trace.machine.nodes} nodes ({found.nodes_source})"

    text = log(60, 2, nodes=1)
    one = "one a node: state processors_per_node"
    assert nodes(text) == f"4 nodes (the log's processors, {one})"
    assert nodes(text, processors_per_node=2) == "2 nodes (the log's processors)"
    assert nodes(text, nodes=3) == "3 nodes (given)"
    bare = text.replace("; MaxProcs: 4\n", "")
    assert nodes(bare) == f"1 nodes (the processors of the largest job, {one})"
    asked = Question(read_log(sample_or_path("month.sacct")))
    assert workload_of(asked).nodes_source == "the most in use at once"


def test_the_rate_of_a_node_that_nobody_stated_decides_nothing():
    """The pairs of the test above, with the rates that are guessed for 4 nodes."""
    guessed = study.advise(pairs(machine=MachineRule(storage_rate=31.25e6)))
    assert guessed.verdict == Kind.UNCERTAIN and guessed.pasted is None
    lines = verdict.answer(guessed)
    assert lines[0].endswith("docs/tune.md says, and state --machine node_rate=RATE")
    assert "31.2 MB/s (a guess; state yours: --machine node_rate=RATE)" in lines[-1]
    given = MachineRule(storage_rate=31.25e6, node_rate=31.25e6)
    assert study.advise(pairs(machine=given)).verdict == Kind.SAVES


def test_who_loses_is_said():
    """Of 2,000 jobs the ten per cent of most nodes wait longest for their turn."""
    advice = study.advise(pairs())
    assert verdict.losers(advice) == ""
    worse = [
        row._replace(run_time=Figure(-0.028, -0.03, -0.02))
        if (row.option, row.group) == ("turns", "large jobs")
        else row
        for row in advice.savings
    ]
    told = verdict.losers(replace(advice, savings=worse))
    assert told == " Some jobs run longer: large jobs (1 node or more) 2.8 %."
    sentence = verdict.sentence(replace(advice, savings=worse))
    assert sentence.endswith(told)


@pytest.mark.usefixtures("unmoved")
def test_jobs_start_when_the_log_says_though_nodes_are_short():
    """Two jobs of 3 of 4 nodes run together for 1,800 s: 2 nodes too many, that is one
    node-hour a day.
    """
    asked = pairs(trace=parse_swf(log(60, 2, nodes=3), "wide.swf"))
    workload = workload_of(asked)
    trace = workload.at(Point(1.0, 10.0, 3600.0), scale=0.5)
    for option in (SHARING, FREE, TURNS, rate_limit(2.0)):
        found = replay(trace, option)
        assert found.start == [DAY * (job // 2) for job in range(120)]
    advice = study.advise(asked)
    assert advice.node_hours_above_machine == pytest.approx(60)
    # With turns one job runs 900 s only: half an hour of 2 nodes becomes a quarter.
    assert advice.node_hours_above_machine_with_setting == pytest.approx(30)


def test_draws_move_starts_and_invent_other_io():
    workload = workload_of(pairs(io=IoRule(0.2)))
    point = Point(0.2, 10.0, 3600.0)
    first, second = (workload.at(point, draw) for draw in (0, 1))
    assert first.submit == [DAY * (job // 2) for job in range(120)]
    moved = np.abs(np.array(second.submit) - np.array(first.submit))
    assert 0 < moved.max() <= 900 and np.median(moved) > 100
    assert first.pieces != second.pieces
    assert workload.at(point, 1).pieces == second.pieces


def as_pasted(turns: Switch) -> Option:
    """Return turns with the least size that the lines to paste of *turns* state."""
    described = json.loads("\n".join(turns.lines).split("'")[1])
    return Option("x", f"turns:least_bytes={described.get('least_bytes', 0)}")


@pytest.mark.parametrize(
    ("fraction", "kind"),
    [(0.02, Kind.NOTHING), (0.12, Kind.SAVES)],
    ids=["below", "above"],
)
@pytest.mark.parametrize(
    ("days", "draws", "factors"),
    [
        (10, 3, (1.0,)),
        pytest.param(56, 4, study.FACTORS, marks=pytest.mark.slow),
    ],
)
def test_verdicts_on_logs_whose_truth_is_known(
    fraction, kind, days, draws, factors, monkeypatch
):
    """What the machine that wrote the log would save with the setting that is advised,
    turns for large steps (printed with -s).

    Its storage takes what one node sends, so that each job can fill it.
    """
    monkeypatch.setattr(study, "FACTORS", factors)
    made = Machine(truth(NODE_RATE, fraction, 4, days))
    asked = Question(
        parse_swf(made.swf(), "made.swf"),
        io=IoRule(made.io_fraction),
        fraction_given=True,
        period_given=True,
        machine=MachineRule(node_rate=NODE_RATE, storage_rate=NODE_RATE),
        solvers=("fill",),
        draws=draws,
    )
    advice = study.advise(asked)
    true = made.saves(as_pasted(advice.switch))
    print(f"\ntruth: {100 * true:.1f} %", *verdict.answer(advice), sep="\n  ")
    assert advice.setting == "turns for large steps" and advice.verdict == kind
    assert (true > 0.01) == (kind == Kind.SAVES)
    saved = advice.switch.saves
    assert saved.low - 0.005 <= true <= saved.high + 0.005
    begin = advice.fraction.pays_from.value
    if kind == Kind.SAVES:
        assert 0.02 < begin < made.io_fraction
    else:
        assert begin is None or begin > made.io_fraction
    for point in (*advice.fraction.points, *advice.storage.points):
        if not point.trusted:  # it has no intervals
            continue
        for found in (point.cost, point.policy, point.setting):
            assert found.low <= found.value <= found.high
        # No policy saves more than congestion costs.
        assert point.policy.value <= point.cost.value + 1e-9


def test_without_congestion_nothing_is_to_be_changed():
    asked = pairs(machine=MachineRule(node_rate=10, storage_rate=40))
    advice = study.advise(asked)
    assert advice.verdict == Kind.NOTHING and advice.cost.value == 0
    assert verdict.answer(advice)[0].startswith("Change nothing: the best setting")


@pytest.mark.usefixtures("unmoved")
def test_a_guess_never_decides_alone():
    """Without an I/O fraction, or a storage rate, the answer is where a change pays."""
    known = study.advise(pairs())
    unknown = study.advise(pairs(fraction_given=False))
    assert known.verdict == Kind.SAVES and unknown.verdict == Kind.DEPENDS
    assert [point.value for point in unknown.fraction.points] == list(study.FRACTIONS)
    begin = unknown.fraction.pays_from
    assert begin.low <= begin.value <= begin.high
    lines = verdict.answer(unknown)
    assert re.match(
        r"Not decided: it depends on the I/O fraction\. .* Next: .* --io-fraction F$",
        lines[0],
    )
    assert re.match(r"I/O fraction not given: pays above \d.* \(between ", lines[1])
    text = page.as_text(unknown, list(page.parts(unknown, "")), 79)
    assert "LMT" in text
    # Of 10 nodes the storage is guessed to take 1.63 times what one sends.
    ten = parse_swf(log(60, 2, nodes=1).replace("MaxProcs: 4", "MaxProcs: 10"), "t.swf")
    guessed = study.advise(pairs(trace=ten, machine=MachineRule(node_rate=10)))
    assert guessed.verdict == Kind.DEPENDS and guessed.storage.source == "a guess"
    lines = verdict.answer(guessed)
    assert lines[0].startswith("Not decided: it depends on the storage rate. The best")
    assert lines[0].endswith("--machine storage_rate=RATE")
    # Nothing pays from a quarter to four times a guess, but below it may.
    small = pairs(trace=ten, machine=MachineRule(node_rate=10), io=IoRule(0.01))
    assert study.advise(small).verdict == Kind.UNCERTAIN
    slow = replace(small, machine=MachineRule(node_rate=10, storage_rate=40))
    assert study.advise(slow).verdict == Kind.NOTHING
    for advice in (known, unknown, guessed):
        lines = verdict.wrapped_answer(advice, 80)
        assert len([line for line in lines if not line.startswith("  ")]) <= 12


def point_kind(point: AxisPoint) -> Kind:
    """Return the conclusion at *point*."""
    return verdict_kind(point.setting, point.waiting)


def long_pairs(**changed: object) -> Question:
    """Ask of 60 pairs of jobs of four hours, whose I/O period nobody states."""
    text = log(60, 2, nodes=1).replace(" 0 1800 ", " 0 14400 ")
    trace = parse_swf(text, "long.swf")
    asked = pairs(trace=trace, io=IoRule(0.07), period_given=False, resamples=200)
    return replace(asked, **changed)


def test_turns_of_large_steps_have_a_size_from_the_log_and_paste_it():
    """60 pairs of jobs that only write at 10 B/s: steps of 9,000 B, and of 90,000 B,
    where the second job of a pair runs ten times as long in one step.

    The large ones have 10/11 = 91 % of the bytes, so all shares tried give one size.
    Where all steps are alike, there is none.
    """
    text = log(60, 2, nodes=1)
    rows = text.splitlines()
    rows[2::2] = [row.replace(" 1800 ", " 18000 ", 1) for row in rows[2::2]]
    found = workload_of(pairs(trace=parse_swf("\n".join(rows), "a.swf")))
    point = Point(1.0, 10.0, 18000.0)
    *_, (large,) = settings_at(found, point, 0.5)
    assert large.solver == "turns:least_bytes=90000"
    assert large.words.startswith("turns for I/O steps of at least 90 kB (tickets);")
    assert '"least_bytes": 90000}' in "\n".join(large.lines)
    assert large.policy().least == 90000
    names = [options[0].name for options in settings_at(workload_of(pairs()), point, 1)]
    assert names == ["turns", "rate limit"]


def test_where_a_node_cannot_fill_the_storage_all_nodes_transfer_in_a_step():
    """The line to paste, run with a function in place of srun by a job of 3 nodes."""

    def ran(storage: float) -> str:
        found = workload_of(
            pairs(machine=MachineRule(node_rate=10, storage_rate=storage))
        )
        point = Point(1.0, storage, 3600.0)
        *notes, line = settings_at(found, point, 1.0)[0][0].lines
        assert ("A copy by one node" in " ".join(notes)) == (storage > 10)
        line = line.replace("FOLDER", ".").replace("COMMAND", "true")
        shell = f'srun() {{ echo "$IO_NODES $*"; }}\nSLURM_JOB_NUM_NODES=3\n{line}'
        return subprocess.run(
            ["sh", "-c", shell], capture_output=True, text=True, check=True
        ).stdout

    assert ran(10).startswith("1 -N1 -n1 --prolog=")
    assert ran(40).startswith("3 -N3 --ntasks-per-node=1 --prolog=")


def test_turns_are_not_said_to_need_another_file_system(monkeypatch):
    """Turns as a policy to compare, beside one that suspends transfers, or alone."""
    monkeypatch.setattr(study, "FACTORS", (1.0,))
    turns = "turns:least_bytes=1000"
    for solvers, told in (((turns, "fill"), "Policies like fill need"), ((turns,), "")):
        advice = study.advise(pairs(solvers=solvers))
        text = " ".join(page.as_text(advice, list(page.parts(advice, "")), 79).split())
        assert told in text and f"Policies like {turns}" not in text
        assert advice.policy == turns and not advice.policy_suspends
        assert "stops and resumes" not in text and "no file system of" not in text
        assert ("suspends and resumes transfers" in text) == bool(told)


def test_a_setting_is_advised_only_if_it_saves_at_all_values_of_a_guess(monkeypatch):
    """At each period another setting saves, so none is best for a guessed period: the
    line says where that of the value shown does.
    """
    monkeypatch.setattr(study, "FACTORS", (1.0,))
    monkeypatch.setattr(study, "PERIODS", (3600.0, 7200.0))
    figure_at = study._Study.figure

    def made(self, option, point, *words):
        own = option == self.best[point]
        if option in self.settings or own:
            return YES if own else NO
        return figure_at(self, option, point, *words)

    monkeypatch.setattr(study._Study, "figure", made)
    asked = replace(uneven(period_given=False), io=IoRule(0.3))
    advice = study.advise(asked)
    periods = [point.setting for point in advice.period.points]
    assert periods == [YES, YES] and advice.period.saves_at == [3600.0]
    assert advice.verdict == Kind.DEPENDS and advice.pasted is None
    line = verdict.answer(advice)[3]
    assert "but the setting of 60 min surely only at 60 min" in line
    assert study.advise(replace(asked, period_given=True)).verdict == Kind.SAVES


def test_node_hours_beyond_the_machine_are_a_sentence_of_their_own():
    advice = replace(
        study.advise(pairs()), node_hours_above_machine=15.0, node_utilisation=0.01
    )
    hours = 0.01 * 4 * advice.span_seconds / 3600
    told = f"{100 * 15 / hours:.2g} % of the node-hours (15 of {hours:.0f}) are on more"
    assert f". {told} nodes than there are" in verdict.load_line(advice)


def test_a_curve_has_no_band_where_there_is_no_interval():
    """A band of no width would look like certainty."""
    from ioopt.plot.curves import plot_curve

    points = [(0.01, 0.005, 0.02), (0.02, 0.01, 0.03), (0.03, math.nan, math.nan)]
    axes = plot_curve([3.83, 7.66, 15.32], {"a": points}, "x", "%", 7.66, 0.01, [15.32])
    (band,) = axes.collections
    assert band.get_paths()[0].vertices[:, 0].max() == 7.66
    ticks = axes.xaxis.get_major_formatter().format_ticks([3.83, 7.66, 15.32])
    assert ticks == ["3.8", "7.7", "15"]
    share, *ends = page._band(Figure(0.1))
    assert share == 0.1 and all(math.isnan(end) for end in ends)


@pytest.mark.usefixtures("unmoved")
def test_an_io_period_that_nobody_stated_does_not_decide_alone():
    """At one I/O step an hour turns surely save 1 %, at one in four hours not."""
    advice = study.advise(long_pairs())
    assert [point.value for point in advice.period.points] == list(study.PERIODS)
    kinds = [point_kind(point) for point in advice.period.points]
    assert kinds[1] == Kind.SAVES and kinds[3] == Kind.UNCERTAIN
    assert advice.verdict == Kind.DEPENDS and advice.pasted is None
    lines = verdict.answer(advice)
    assert lines[0].startswith("Not decided: it depends on the I/O period. The best")
    assert lines[0].endswith("docs/tune.md says, and state --io-period TIME")
    assert lines[3].startswith("I/O period 60 min (a guess): pays on average at all of")
    # Stated, the same hour decides; nothing else is tried.
    stated = study.advise(long_pairs(period_given=True))
    assert stated.verdict == Kind.SAVES and len(stated.period.points) == 1
    assert stated.switch.saves == advice.switch.saves
    # Where the answer is the same at all periods, the guess does not matter.
    often = study.advise(long_pairs(io=IoRule(0.3)))
    assert often.verdict == Kind.SAVES and often.period.value is None


def uneven(**changed: object) -> Question:
    """Ask of three jobs a day, which run 1 to 11 half hours."""
    rows = log(60, 3, nodes=1).splitlines()
    rows[1:] = [
        row.replace(" 1800 ", f" {1800 * (1 + 7 * job % 11)} ", 1)
        for job, row in enumerate(rows[1:])
    ]
    trace = parse_swf("\n".join(rows), "uneven.swf")
    return pairs(trace=trace, io=IoRule(0.1), resamples=100, **changed)


@pytest.mark.parametrize("changed", ["fraction", "period"])
def test_another_value_of_an_axis_is_what_the_same_command_says_there(
    changed, monkeypatch
):
    """Other fractions and periods are other sizes of steps, so the best setting is not
    the same.
    """
    monkeypatch.setattr(study, "FACTORS", (1.0, 2.0))
    monkeypatch.setattr(study, "PERIODS", (3600.0, 7200.0))
    asked = uneven(period_given=changed == "fraction")
    first = study.advise(asked)
    other = getattr(first, changed).points[1]
    rule = IoRule(0.2) if changed == "fraction" else IoRule(0.1, 7200.0)
    second = study.advise(replace(asked, io=rule, period_given=True))
    assert second.switch.words != first.switch.words
    assert other.value == 2 * getattr(first, changed).shown
    assert other.setting == second.switch.saves
    assert other.setting_name == second.setting


@pytest.mark.usefixtures("unmoved")
def test_a_long_log_has_no_more_draws_than_a_clear_verdict_takes(monkeypatch):
    """The pairs are surely delayed, so two draws after the first one decide: the answer
    is that of three draws.
    """
    monkeypatch.setattr(study, "LONG_LOG", 120)
    monkeypatch.setattr(study, "FACTORS", (1.0,))
    told = []
    asked = pairs(draws=5)
    advice = study.advise(asked, progress=lambda *done: told.append(done))
    assert advice.draws == 3 and told[-1][0] == told[-1][1]
    assert "2 of 4 further replays made" in advice.warnings[-1]
    three = study.advise(pairs(draws=3))
    assert advice.verdict == three.verdict == Kind.SAVES
    assert advice.switches == three.switches and advice.savings == three.savings
    assert study.advise(replace(asked, draws_given=True)).draws == 5
    # If it depends on the fraction after two draws, more of them do not change that.
    unknown = study.advise(replace(asked, fraction_given=False))
    kinds = {row.setting.low > 0.01 for row in unknown.fraction.points if row.trusted}
    assert unknown.verdict == Kind.DEPENDS and kinds == {True, False}
    assert unknown.draws == 3
    # A saving whose interval ends near 1 % takes all draws.
    near = figure_of(np.array([0.02, 0.012, 0.028]))
    monkeypatch.setattr(study._Study, "figure", lambda *given: near)
    assert study.advise(asked).draws == 5


@pytest.mark.usefixtures("unmoved")
def test_where_nothing_is_concluded_one_draw_is_replayed():
    """The storage of .5 node rates cannot be; at 100 % I/O and four jobs at once on one
    node's rate three of four I/O seconds are waits.
    """
    four = parse_swf(log(60, 4, nodes=1), "four.swf")
    advice = study.advise(pairs(trace=four, io=IoRule(0.5)))
    marked = [point for point in advice.fraction.points if not point.trusted]
    assert marked and all(point.setting.low is None for point in marked)
    assert all(point.setting.value is not None for point in marked)
    sure = [point for point in advice.fraction.points if point.trusted]
    assert sure and all(point.setting.low is not None for point in sure)


def test_traffic_of_sharing_is_that_of_recorded_rates():
    """Jobs of 1 to 32 nodes on a storage that takes what 4 send."""
    problem = truth(4 * NODE_RATE, 0.3, seed=1, days=14)
    trace = Trace.of(problem)
    found = busiest_week(trace, SHARING)
    recorded = busiest_week(trace, Option("base-line", "base-line:share=per-node"))
    assert 0.05 < found.full < 0.95
    assert found.full == pytest.approx(recorded.full)
    for kind, rates in recorded.classes.items():
        assert found.classes[kind] == pytest.approx(rates, abs=1.0), kind
        assert max(rates) > 0


def test_other_periods_are_other_phases():
    workload = workload_of(long_pairs())
    hourly = workload.at(Point(0.06, 10.0, 3600.0))
    whole = workload.at(Point(0.06, 10.0, 14400.0))
    assert hourly.offset[:3] == [0, 4, 8] and whole.offset[:3] == [0, 1, 2]
    assert sum(hourly.volume) == pytest.approx(sum(whole.volume), rel=1e-3)
    assert hourly.ideal == pytest.approx(whole.ideal, rel=1e-3)


@pytest.mark.usefixtures("unmoved")
def test_near_a_limit_and_with_one_draw_the_answer_says_so():
    advice = replace(study.advise(pairs()), verdict=Kind.SAVES, waiting=0.5)

    def told(low: float, **changed: object) -> str:
        switch = advice.switch._replace(saves=Figure(0.02, low, 0.03))
        return verdict.sentence(replace(advice, switches=[switch], **changed))

    assert "Near a limit" not in told(0.015)
    assert told(0.015, waiting=0.586).endswith(
        "Near a limit: 59 % of the I/O time is waiting (no verdict above 60 %)."
    )
    assert "Near a limit: the interval ends at 1.04 %" in told(0.0104)
    # One draw of the same jobs switches nothing on, though it saves 25 %.
    one = study.advise(pairs(draws=1))
    assert one.switch.kind == Kind.SAVES and one.verdict == Kind.UNCERTAIN
    assert one.pasted is None
    assert verdict.answer(one)[0].endswith("Next: run with --draws 5")


def test_twelve_lines_are_enough_for_the_longest_answer():
    """The lines to paste are not counted."""
    advice = study.advise(long_pairs(io=IoRule(0.1)))
    limit = next(row for row in advice.switches if row.name == "rate limit")
    limit = limit._replace(kind=Kind.SAVES, saves=Figure(0.021, 0.017, 0.025))
    worse = [
        row._replace(option="rate limit", run_time=Figure(-0.028, -0.03, -0.02))
        for row in advice.savings
        if row.option == "turns" and row.group != "all jobs"
    ]
    longest = replace(
        advice,
        verdict=Kind.SAVES,
        setting="rate limit",
        switches=[limit],
        savings=worse,
    )
    lines = verdict.wrapped_answer(longest, 80)
    assert lines[-len(limit.lines) :] == ["  " + line for line in limit.lines]
    words = lines[: -len(limit.lines)]
    assert "Some jobs run longer: " in " ".join(words[:5])
    assert len(words) <= 12, "\n".join(words)


def test_inconclusive_names_the_next_step():
    advice = replace(
        study.advise(pairs()), verdict=Kind.UNCERTAIN, span_seconds=50 * DAY
    )

    def told(value: float, low: float, high: float, **changed: object) -> str:
        switch = advice.switch._replace(saves=Figure(value, low, high))
        return verdict.sentence(replace(advice, switches=[switch], **changed))

    # The interval must shrink to half, which takes four times the days.
    leave = "A change is worth it from 1 % on. Next: leave all as it is"
    decides = "a log of about 200 days (this one: 50) would decide."
    assert f"{leave} for now; {decides}" in told(0.02, 0.0, 0.03, waiting=0)
    # So near to 1 % nothing but a longer log shows on which side it is, if it is wide.
    never = "no log of less than 600 days (this one: 50) would decide, as"
    near = told(0.0112, 0.004, 0.018, waiting=0)
    assert f"{leave}: {never} 1.1 % is too near to 1 %." in near
    assert (
        f"{leave} for now; a log of about 170 days (this one: 50) would narrow the "
        "interval to 1 % on each side."
    ) in told(0.0096, -0.012, 0.024, waiting=0)
    wide = told(0.0101, -0.05, 0.06, waiting=0)
    assert f"{leave}: {never} the interval is too wide." in wide
    assert "give Darshan logs" in told(0.02, 0.0, 0.03, waiting=0.8)
    # Where no value tried pays, no figure is asked for: it would change nothing.
    known = advice.fraction
    unknown = replace(known, value=None, source="not given", decides=True)
    least = unknown.points[0]._replace(setting=Figure(0.009, 0.005, 0.016), waiting=0.0)
    unknown = replace(unknown, pays_from=Figure(None), points=[least])
    text = told(0.004, 0.001, 0.0096, fraction=unknown, waiting=0)
    assert text.startswith("Inconclusive: the interval holds 1 % at 25 % I/O. ")
    assert "(95 %: 0.1 to 0.96)" in text and "--io-fraction" not in text
    assert text.endswith("leave all as it is; no setting saves 1 % at any value tried.")
    # What to do does not change when the figure is stated.
    for found in (Figure(-0.003, -0.017, 0.016), Figure(0.008, 0.003, 0.013)):
        point = least._replace(setting=found)
        guessed = replace(unknown, points=[point])
        texts = [told(*found, fraction=axis, waiting=0) for axis in (known, guessed)]
        assert len({text.partition("Next: ")[2] for text in texts}) == 1
    text = told(-0.003, -0.017, 0.016, waiting=0)
    assert text.endswith("leave all as it is: on average no setting saves anything.")


def test_figures_that_cannot_go_together_are_said_before_any_replay():
    """15 nodes that write all the time at 10 B/s ask for 150 B/s of a storage of 10.
    With 60 % of it waiting they ask for 25: a sixth of the I/O or of the rates.
    """
    text = log(8, 15, nodes=1).replace(" 0 1800 ", f" 0 {DAY} ")
    asked = pairs(trace=parse_swf(text, "a.swf"))
    told = []
    advice = study.advise(
        asked,
        progress=lambda done, total: told.append(done),
        warn=lambda text: told.append(text),
    )
    assert "100 % I/O at 10 B/s a node, on the 4 nodes of this log" in told[0]
    assert "asks for 150 B/s on average of a storage of 10 B/s. There will" in told[0]
    assert told[1] == 0 and advice.verdict == Kind.UNCERTAIN
    sentence = verdict.sentence(advice)
    assert sentence.startswith("Inconclusive: the figures cannot go together. 100 %")
    assert sentence.endswith(
        "state an I/O fraction below 17 %, a node_rate below 1.6 B/s or a storage_rate "
        "above 61 B/s."
    )
    for figures in (
        {"io": IoRule(0.16)},
        {"machine": MachineRule(node_rate=1.6, storage_rate=10)},
        {"machine": MachineRule(node_rate=10, storage_rate=61)},
        {"fraction_given": False},
    ):
        assert conflict_of(workload_of(replace(asked, **figures))) is None


@pytest.mark.usefixtures("unmoved")
def test_compare_and_advise_judge_the_same_jobs(run, tmp_path):
    """The instance that advise writes has the scale, and compare knows turns."""
    (tmp_path / "a.swf").write_text(log(60, 2, nodes=1))
    words = (
        *QUICK,
        "--machine",
        "node_rate=10B/s,storage_rate=10B/s",
        "--io-period",
        "1h",
    )
    words = (*words, "--io-fraction", "100%", "-o", "page.txt")
    code, out, _ = run("advise", "a.swf", *words, "--instance", "judged.json")
    assert code == 0 and "saves 25.0 % of run time" in " ".join(out.split())
    assert out.splitlines()[-1] == (
        "  ioopt compare judged.json --solver base-line --solver turns"
    )
    problem = ioopt.load("judged.json")
    assert sum(job.phases[0].io_bytes for job in problem.jobs) == 120 * 9000
    assert "bytes times 0.5" in problem.meta["synthetic"]["I/O"]
    sharing = ioopt.solve(problem, "base-line").metrics["mean_runtime_seconds"]
    turns = ioopt.solve(problem, "turns").metrics["mean_runtime_seconds"]
    assert sharing == pytest.approx(1800)
    assert 1 - turns / sharing == pytest.approx(0.25)


def test_waits_are_said_to_be_those_of_no_log(run, tmp_path):
    """Each day two jobs of a node, submitted together on one node: the log starts the
    second one when the first has ended. Submitted at the starts nobody waits.
    """
    lines = log(60, 2, nodes=1).replace("MaxProcs: 4", "MaxProcs: 1").splitlines()
    lines[2::2] = [line.replace(" 0 1800", " 2000 1800") for line in lines[2::2]]
    (tmp_path / "a.swf").write_text("\n".join(lines) + "\n")
    words = (
        *QUICK,
        "--machine",
        "node_rate=10B/s,storage_rate=10B/s",
        "--io-fraction",
        "9%",
    )
    waits = {}
    for when, said in (
        ("start", "started them"),
        ("log", "(order wfp, backfill easy)"),
    ):
        words_of = (*words, "--instance", "a.json", "--instance-submit", when)
        assert run("advise", "a.swf", *words_of, "-o", "a.txt")[0] == 0
        code, out, _ = run("compare", "a.json", "--solver", "turns", "--format", "json")
        row = json.loads(out)["rows"][0]
        waits[when] = row["metrics"]["mean_wait_seconds"]
        code, out, err = run("compare", "a.json", "--solver", "turns")
        assert code == 0 and "Waits are not those of the log" in out
        assert said in " ".join(out.split()) and "Waits" not in err
        assert "To switch a setting on, believe advise" in " ".join(out.split())
        starts = [
            job.submit_seconds + job.wait_seconds for job in ioopt.load("a.json").jobs
        ]
        assert starts[:4] == [0, 2000, DAY, DAY + 2000]
    assert waits["start"] < 1 and waits["log"] > 800


def test_darshan_logs_of_another_machine_are_refused(run, tmp_path):
    for words in (("advise", "month.swf"), ("import", "swf", "month.swf")):
        code, out, err = run(*words, "--darshan", LOGS / "darshan", "-o", "x.json")
        assert (code, out) == (2, "") and len(err.splitlines()) == 1
        assert "no Darshan log belongs to a job: 8 Darshan logs have the number" in err
        assert "log has jobs 1 to 2000, started 2024-05-06T01:25 to" in err


def test_an_sacct_log_without_nodes_is_asked_for_them(run, tmp_path):
    text = gzip.decompress(Path(sample_or_path("month.sacct")).read_bytes()).decode()
    rows = [row.split("|") for row in text.splitlines()]
    bare = ["|".join([*row[:8], row[9]]) for row in rows]
    (tmp_path / "bare.sacct").write_text("\n".join(bare))
    code, _, err = run("advise", "bare.sacct", *RATES)
    assert code == 2 and "--machine processors_per_node=N, or ask sacct for" in err
    code, _, err = run("import", "sacct", "bare.sacct", "-o", "bare.json")
    assert code == 0 and "each counts as a node of its own" in err
    code, _, err = run("import", "sacct", "month.sacct", "-o", "month.json")
    assert code == 0 and "each counts as a node of its own" not in err
    # import and advise read the same nodes, and those that the machine has.
    workload = workload_of(Question(read_log(sample_or_path("month.sacct"))))
    imported = ioopt.load("month.json")
    assert imported.machine == workload.trace.machine and imported.machine.nodes == 64
    assert sorted(job.nodes for job in imported.jobs) == sorted(workload.trace.nodes)


def test_the_text_begins_with_the_answer_and_has_all_else_under_headings():
    advice = study.advise(pairs())
    text = page.as_text(advice, list(page.parts(advice, "ioopt advise")), 80)
    first, *rest = text.split("\n\n")
    assert first.splitlines() == verdict.wrapped_answer(advice, 80)
    assert rest[0].splitlines()[1] == "-" * len(rest[0].splitlines()[0])


@pytest.mark.slow
def test_the_same_question_has_the_same_answer_in_two_processes(monkeypatch):
    monkeypatch.setattr(study, "FACTORS", (1.0,))
    asked = pairs(io=IoRule(0.2), draws=2)
    found = study.advise(asked, threads=2).document((), "")
    assert found == study.advise(asked).document((), "")


def test_what_pays_and_what_does_not():
    cases = {
        (0.1, 0.04, 0.15): Kind.SAVES,
        (0.03, 0.005, 0.06): Kind.UNCERTAIN,
        (0.004, -0.002, 0.008): Kind.NOTHING,
        (-0.05, -0.09, -0.01): Kind.NOTHING,
        (0.3, None, None): Kind.UNCERTAIN,
    }
    for figure, kind in cases.items():
        assert verdict_kind(Figure(*figure)) == kind


def test_a_loss_is_called_one():
    assert verdict.effect(Figure(-0.232)) == "costs 23.2 % more run time"
    assert verdict.effect(Figure(0.01, -0.02, 0.04)) == (
        "saves 1.00 % of run time (95 %: -2.0 to 4.0)"
    )


def test_a_loss_that_is_no_sure_one_is_not_called_one():
    advice = study.advise(pairs())
    unclear = Figure(-0.001, -0.009, 0.006)
    switch = advice.switch._replace(saves=unclear)
    text = verdict.sentence(
        replace(advice, verdict=Kind.UNCERTAIN, switches=[switch], waiting=0)
    )
    assert "turns, costs 0.1 % of run time, within the noise (95 %: costs 0.9 " in text
    switch = advice.switch._replace(saves=Figure(-0.02, -0.03, -0.01))
    text = verdict.sentence(replace(advice, verdict=Kind.NOTHING, switches=[switch]))
    assert "no setting saves; the least harmful, turns, costs 2.0 % more" in text


YES, NO = Figure(0.02, 0.015, 0.03), Figure(0.002, -0.01, 0.005)
MAYBE, MAYBE_NOT = Figure(0.017, 0.0, 0.025), Figure(0.0096, -0.012, 0.024)


@pytest.mark.parametrize(
    ("found", "limits", "words"),
    [
        # From slow to fast storage: the expected direction, with one sure side.
        ((YES, YES, NO), (None, 30), "pays below 30 B/s (between 25 and 35)"),
        ((YES, YES, MAYBE_NOT), (None, 30), "pays below 30 B/s"),
        # Nothing is sure anywhere, in either direction.
        ((MAYBE, MAYBE, MAYBE_NOT), (None, 30), "the noise hides where a change pays"),
        ((MAYBE_NOT, MAYBE, MAYBE), (12, None), "the noise hides where a change pays"),
        # The reverse direction is believed only if both sides are sure.
        ((NO, MAYBE, MAYBE), (12, None), "the noise hides where a change pays at 10"),
        ((NO, YES, YES), (12, None), "pays above 12 B/s"),
        ((NO, NO, NO), (None, None), "no setting pays at 10 to 40 B/s"),
        (
            (NO, NO, MAYBE_NOT),
            (None, None),
            "none pays on average at 10 to 40 B/s, but one may.",
        ),
        # It pays everywhere, at some values by luck alone.
        ((YES, YES, YES), (None, None), "pays at all of 10 to 40 B/s."),
        (
            (YES, MAYBE, YES),
            (None, None),
            "pays on average at all of 10 to 40 B/s, but surely only at 10 and 40 B/s.",
        ),
        (
            (MAYBE, MAYBE, YES),
            (None, None),
            "pays on average at all of 10 to 40 B/s, but surely only at 40 B/s.",
        ),
        (
            (MAYBE,) * 3,
            (None, None),
            "pays on average at all of 10 to 40 B/s, but surely at none.",
        ),
    ],
)
def test_a_threshold_within_the_noise_is_none(found, limits, words):
    advice = study.advise(pairs())
    begin, end = (
        Figure(limit, limit and limit - 5, limit and limit + 5) for limit in limits
    )
    points = [
        point._replace(setting=figure, waiting=0.0)
        for point, figure in zip(advice.storage.points, found)
    ]
    # The limits are those of a load, which falls as the rate rises.
    pays = any(limits) or words.startswith("pays")
    axis = replace(
        advice.storage,
        points=points,
        pays_from=end if end.value else Figure(100.0 if pays else None),
        pays_to=begin,
    )
    line = verdict.axis_lines(replace(advice, storage=axis))[1]
    assert line.startswith(f"Storage 10 B/s (given): {words}")


@pytest.mark.parametrize(
    ("scales", "words"),
    [
        (
            (0.3, 0.3, 0.5),
            "pays at 40 B/s; not known at 10 B/s, where over 60 % of the",
        ),
        ((0.3, 0.5, 0.6), "pays at all of 20 to 40 B/s; not known at 10 B/s, where"),
        (
            (0.3, 0.3, 0.3),
            "where a change pays is not known: over 60 % of the I/O time",
        ),
        ((0.5, 0.3, 0.6), "pays at all of 10 to 40 B/s."),
    ],
)
def test_a_value_at_which_nearly_all_io_time_is_waiting_is_not_said_to_pay(
    scales, words
):
    """The value given is the first of the three, 10 B/s."""
    advice = study.advise(pairs())
    points = [
        point._replace(setting=YES, waiting=1 - scale)
        for point, scale in zip(advice.storage.points, scales)
    ]
    axis = replace(advice.storage, points=points, pays_from=Figure(100.0))
    line = verdict.axis_lines(replace(advice, storage=axis))[1]
    assert line.startswith(f"Storage 10 B/s (given): {words}")


def told(blocks: Blocks, rows: list[np.ndarray], member: np.ndarray) -> Figure:
    """Return what jobs save whose run times are *rows*, one a draw, instead of 1."""
    option = np.array([blocks.sums(row * member) for row in rows])
    ones = blocks.sums(np.ones(len(member)) * member)
    return figure_of(blocks.saved(option, np.array([ones] * len(rows))))


def test_intervals_of_resampled_weeks_and_draws():
    starts = np.arange(105) * DAY / 3.0
    drawn = Blocks(starts, 1, 1000, 0)
    everybody = np.ones(105, bool)
    ones = np.ones(105)
    assert (drawn.count, drawn.words) == (5, "weeks")
    # The same in every week: no doubt. One week of five twice as long: -.2, and doubt.
    assert told(drawn, [0.9 * ones], everybody) == pytest.approx((0.1, 0.1, 0.1))
    half = np.arange(105) % 2 == 0
    assert told(drawn, [np.where(half, 0.5, 2.0)], half).value == pytest.approx(0.5)
    found = told(drawn, [np.where(drawn.block == 0, 2.0, 1.0)], everybody)
    assert found.value == pytest.approx(-0.2)
    assert -1 <= found.low < -0.2 < found.high <= 0
    # Weeks alike, draws not: luck alone has an interval too. Of two draws one is drawn.
    lucky = told(Blocks(starts, 2, 1000, 0), [0.8 * ones, 1.0 * ones], everybody)
    assert lucky == pytest.approx((0.1, 0.0, 0.2))
    # Two days and one draw tell nothing.
    short = Blocks(np.arange(105) * DAY / 60, 1, 1000, 0)
    assert told(short, [0.9 * ones], everybody) == (pytest.approx(0.1), None, None)


def test_no_estimate_outside_its_interval():
    """Resamples that all lie on one side of the value: the interval reaches to it."""
    assert figure_of(np.array([0.5, *np.linspace(0, 0.1, 100)])) == (
        0.5,
        pytest.approx(0.1 * 2 / 99),
        0.5,
    )
    assert figure_of(np.array([np.inf, 0.1, 0.2])) == (None, 0.1, None)


@pytest.mark.parametrize(
    ("saved", "known", "begin", "end"),
    [
        ((0.0, 0.0), None, np.inf, np.inf),
        ((0.0, 0.02), None, 0.15, np.inf),
        ((0.02, 0.02), None, 0.05, np.inf),
        # What pays only by luck below is not where it begins.
        ((0.02, 0.0, 0.03), None, 0.2 + 0.1 / 3, np.inf),
        # But where it pays at the known value, that is the range.
        ((0.02, 0.0, 0.03), 0, 0.05, 0.15),
        ((0.02, -0.02, -0.03), None, 0.05, 0.125),
    ],
)
def test_where_a_change_pays(saved, known, begin, end):
    grid = (0.1, 0.2, 0.3)[: len(saved)]
    found = paying_range(grid, [np.array([value]) for value in saved], known)
    assert found.begin[0] == pytest.approx(begin)
    assert found.end[0] == pytest.approx(end)


def test_turns_and_rate_limits():
    """A (1 node, 100 B), at 1 s B (2 nodes, 200 B), at 2 s C (1 node, 100 B), all to
    write, on nodes of 10 B/s before a storage of 20 B/s.

    Turns: B needs the whole storage and waits for A, which ends at 10 s; C fits beside
    A and ends at 12 s, then B writes until 22 s. First come first served that preempts
    stops C at 10 s, when it has 80 B; its last 20 B come from 20 s on. With 5 B/s a
    job A takes 20 s.
    """
    jobs = [
        (1, 0, 1, 100, [(0, 100)]),
        (2, 1, 2, 100, [(0, 200)]),
        (3, 2, 1, 100, [(0, 100)]),
    ]
    machine = {"nodes": 4, "node_bytes_per_second": 10, "storage_bytes_per_second": 20}
    trace = Trace.of(ioopt.load(by_hand(jobs, machine, queue="fcfs")))
    assert replay(trace, TURNS).end == [10, 22, 12]
    assert replay(trace, Option("x", "cons-fcfs")).end == [10, 20, 22]
    assert replay(trace, rate_limit(5.0)).end == [20, 41, 22]


@pytest.mark.usefixtures("unmoved")
def test_the_page_the_text_the_data_and_standard_input(run, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "FACTORS", (0.5, 1.0))
    (tmp_path / "a.swf").write_text(log())
    words = ["advise", "a.swf", *FIFTH, "-o", "page.html"]
    monkeypatch.setattr("sys.argv", ["ioopt", *words])
    code, out, _ = run(*words)
    assert code == 0 and out.startswith("Switch on turns")
    html = (tmp_path / "page.html").read_text()
    assert "<h1>Which setting of Slurm or Lustre shortens the jobs of a.swf?" in html
    assert html.count("<svg") == 4 and "<h2>How to repeat it</h2>" in html
    assert not re.search(
        r"(src|href)=\"(?!data:)[^#\"]", html.replace("xlink:href", "")
    )
    code, text, err = run("advise", "a.swf", *FIFTH)
    assert (code, err) == (0, "") and len(text.splitlines()) <= 22
    assert text.splitlines()[-1].startswith("Details, curves and pictures: -o page")
    assert run("advise", "a.swf", *FIFTH, "-o", "page.txt")[0] == 0
    details = (tmp_path / "page.txt").read_text()
    assert "120 jobs in 39.02 d on 4 nodes" in details
    assert details.startswith(text.partition("\n\n")[0])
    assert text.splitlines()[0] == out.splitlines()[0]
    words = ["advise", "a.swf", *FIFTH, "--format", "json"]
    monkeypatch.setattr("sys.argv", ["ioopt", *words])
    code, out, _ = run(*words)
    found = json.loads(out)
    assert (found["format"], found["version"]) == ("ioopt/advice", 3)
    assert found["answer"][0].startswith(text.splitlines()[0])
    assert shlex.split(found["command"]) == ["ioopt", *words]
    assert found["policy"] == "fill" and found["groups"]["all jobs"] == 120
    # 120 jobs of 2 nodes for 1,800 s, of 4 nodes until the last one ends.
    assert found["node_utilisation"] == pytest.approx(432_000 / (4 * (39 * DAY + 1800)))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(log().encode())))
    code, piped, _ = run("advise", "-", *FIFTH, "--format", "json")
    assert code == 0 and json.loads(piped)["switches"] == found["switches"]


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        (log(33), (), "99 jobs that can be used; advice needs at least 100"),
        (log(7, 20), (), "6 d from the first start to the last; advice needs at least"),
        (
            log().replace(" 0 1800", " -1 1800"),
            (),
            "120 of the 120 jobs that ran have no",
        ),
        (log(), (*RATES, "--io-fraction", "0%"), "no job has I/O, so change nothing"),
        (log(), (*RATES, "--io-fraction", "20"), "for 20 % write 20%"),
        (log(), (*RATES, "--io-fraction", "120%"), "'120%' is no share from 0 to 1"),
        (
            log(),
            ("--machine", "node_rate=2MB/s,storage_rate=1MB/s"),
            "the storage's rate 1 MB/s is below the rate of one node, 2 MB/s: advice",
        ),
        (log(), (), "(a guess) is below the rate of one node"),
        (
            log(),
            ("--machine", "node_rate=1,storage_rate=1"),
            "node_rate=1 has no unit and would be 1 B/s: write 1GB/s, 1MB/s or 1B/s",
        ),
        (
            log(),
            (*RATES, "--io-period", "30"),
            "would be 30 s: write 30s, 30min or 30h",
        ),
        (log(), ("--jobs", "99"), "advice needs at least 100; take a larger --jobs"),
        (log(), ("--machine", "storage_rate=0"), "storage_rate"),
        (
            log(),
            ("--machine", "node_rate=1MB/s,storage_rate=1PB/s"),
            "1 PB/s is more than 1000 times what all 4 nodes can send, 4 MB/s",
        ),
        (log(), ("--site", "site.toml"), "--site was removed: every job starts"),
        (log(), ("--queue", "wfp"), "--queue was removed: every job starts"),
        (
            log(),
            ("--machine", "backfill=easy"),
            "--machine backfill=...: every job starts at the time in the",
        ),
    ],
)
def test_refusals_in_one_line(run, tmp_path, text, words, said):
    (tmp_path / "a.swf").write_text(text)
    code, out, err = run("advise", "a.swf", *words)
    assert (code, out) == (2, "")
    assert said in err and len(err.splitlines()) == 1


def test_some_jobs_without_a_start_are_left_out():
    lines = log().splitlines()
    lines[5] = lines[5].replace(" 0 1800", " -1 1800")
    workload = workload_of(pairs(trace=parse_swf("\n".join(lines), "a.swf")))
    assert len(workload.trace) == 119
    assert "1 job left out, without a start" in workload.warnings


def test_darshan_logs_are_counted_on_the_terminal(run, monkeypatch):
    words = (*QUICK, "--jobs", "150", "--format", "json")
    jobs = LOGS / "cluster.swf"
    monkeypatch.setattr(study, "FACTORS", (1.0,))
    code, out, err = run("advise", jobs, "--darshan", LOGS / "darshan", *words)
    assert code == 0, err
    found = json.loads(out)
    assert found["fraction"]["value"] is None
    assert re.search(r"\d+ jobs have a Darshan log of their own, \d+ have none", err)


def darshan_logs(numbers: range, io_seconds: float = 900.0) -> tuple[DarshanLog, ...]:
    """Return a log for each of the jobs *numbers* of :func:`pairs`, which writes at 10
    B/s at its end.
    """
    written = round(10 * io_seconds)
    phase = DarshanPhase(1800 - io_seconds, 1800, 0, written)
    return tuple(
        DarshanLog("a", "3.41", job, 1, 0, 1800, 0, written, io_seconds, (phase,))
        for job in numbers
    )


@pytest.mark.usefixtures("unmoved")
def test_with_logs_of_all_jobs_no_assumption_about_io_is_varied():
    """All write in their last 900 of 1,800 s, which a stated fraction cannot change."""
    asked = pairs(darshan=darshan_logs(range(1, 121)), period_given=False)
    advice = study.advise(asked)
    assert "stated I/O fraction and period are not used" in advice.warnings[-1]
    assert (advice.fraction.shown, advice.scale) == (0.5, 1.0)
    assert len(advice.fraction.points) == len(advice.period.points) == 1
    lines = verdict.answer(advice)
    assert lines[1] == "I/O of all 120 jobs by Darshan: 50 % of run time."
    assert lines[2].startswith("Storage 10 B/s (given)")
    text = " ".join(lines)
    assert "Assumed" not in text and "I/O period" not in text
    assert text.count("holds the congestion of its time") == 1
    headings = [part.heading for part in page.parts(advice, "")]
    assert "By I/O fraction" not in headings and "By I/O period" not in headings
    assert "I/O, and" not in verdict.policy_line(advice)


@pytest.mark.usefixtures("unmoved")
def test_waiting_is_a_share_of_measured_and_assumed_io():
    """Of each pair the first job has a log: it writes 18,000 B at 10 B/s for 1,800 s.
    Shared, it has 5 B/s until the other one ends, after 1,800 s as in the log; that one
    writes 9,000 B then, half of what the rule invents. The first one needs 900 s more.

    Alone they need 1,800 and 900 s, so 1,800 of 4,500 s are waiting: 40 %.
    """
    asked = pairs(darshan=darshan_logs(range(1, 121, 2), 1800.0))
    advice = study.advise(asked)
    assert advice.scale == pytest.approx(0.5, abs=0.01)
    assert advice.waiting == pytest.approx(0.4, abs=0.01)
    line = verdict.axis_lines(advice)[0]
    assert line.startswith("I/O fraction of the 60 jobs without a Darshan log 100 % (")
    assert "jobs without a Darshan log do I/O at full rate" in verdict.answer(advice)[3]
    # What was given is not asked for.
    close = advice.switch._replace(saves=Figure(0.02, 0.0, 0.03))
    waits = replace(
        advice, verdict=Kind.UNCERTAIN, waiting=0.8, switches=[close], conflict=None
    )
    assert verdict.sentence(waits).endswith("Darshan logs of more jobs (60 of 120).")
    measured = replace(waits, fraction=replace(waits.fraction, source="by Darshan"))
    text = verdict.sentence(measured)
    assert "80 % of the I/O time is waiting there, so these rates do not fit" in text
    assert text.endswith(
        "Next: measure node_rate and storage_rate as docs/tune.md says."
    )


def test_darshan_logs_of_most_jobs_say_the_fraction():
    asked = pairs(fraction_given=False)
    assert workload_of(asked).fraction is None
    trace = workload_of(asked).trace
    half = {place: [(0.0, 1.0, 1)] for place in range(60)}
    assert known_fraction(asked, trace, half) == (1.0, "by Darshan")


@pytest.mark.parametrize("name", SAMPLES)
def test_the_samples_are_those_of_the_script(name):
    """Unpacked: what packs them may differ from one version of zlib to the next."""
    packed = Path(sample_or_path(name)).read_bytes()
    made = make_logs.texts()[SAMPLES[name]]
    assert gzip.decompress(packed) == made
    assert packed[4:8] == bytes(4) and len(packed) < 100_000
    workload = workload_of(
        Question(read_log(sample_or_path(name)), machine=MachineRule(node_rate=1e9))
    )
    assert len(workload.trace) == 2000 and workload.starts.max() > 28 * DAY


def test_a_file_comes_before_a_sample_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert sample_or_path("month.swf") != "month.swf"
    (tmp_path / "month.swf").touch()
    assert sample_or_path("month.swf") == "month.swf"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 15))
def test_no_verdict_is_wrong_on_made_logs(seed, monkeypatch):
    """Ten logs of four weeks, with little to much congestion (printed with -s)."""
    monkeypatch.setattr(study, "FACTORS", (1.0,))
    for storage, fraction in itertools.product((1e9, 4e9), (0.05, 0.1, 0.15, 0.2, 0.3)):
        made = Machine(truth(storage, fraction, seed, 28))
        asked = Question(
            parse_swf(made.swf(), "made.swf"),
            io=IoRule(made.io_fraction),
            fraction_given=True,
            period_given=True,
            machine=MachineRule(node_rate=NODE_RATE, storage_rate=storage),
            solvers=("fill",),
            draws=3,
        )
        advice = study.advise(asked)
        for turns in advice.switches:
            if not turns.name.startswith("turns"):
                continue
            true = made.saves(as_pasted(turns))
            print(f"true {100 * true:.1f} %", advice.scale, turns.saves, turns.name)
            if turns.kind == Kind.SAVES:
                assert true > 0.01
            if turns.kind == Kind.NOTHING:
                assert true < 0.01


@pytest.mark.slow
def test_the_docs_show_what_is_printed(run):
    text = (LOGS.parent / "tune.md").read_text("utf-8")
    command = re.search(r"^ioopt (advise month.swf .*)$", text, re.MULTILINE)[1]
    code, out, _ = run(*command.split())
    assert code == 0 and out in text
    where = re.search(r"I/O period 60 min \(a guess\): [^.]*\.", text)[0]
    code, out, _ = run(*command.replace("--io-period 1h ", "").split())
    assert code == 0 and where in out and out.startswith("Not decided: it depends on")


def test_the_docs_and_the_help_ask_sacct_for_the_same_columns_all_of_them_read():
    wanted = re.findall(r"-o (JobID[A-Za-z,]+)", SACCT_COMMAND)
    text = (LOGS.parent / "tune.md").read_text("utf-8")
    assert re.findall(r"-o (JobID[A-Za-z,]+)", text) == wanted
    assert set(wanted[0].split(",")) <= sacct._READ
    assert set(sacct.NEEDED) <= set(wanted[0].split(","))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["KTH-SP2-1996-2.1-cln.first20000.swf", "HPC2N-2002-excerpt-alea.swf"]
)
def test_real_logs_have_an_answer(name):
    asked = Question(
        read_log(shared_path("data", "swf", name)),
        io=IoRule(0.2),
        fraction_given=True,
        period_given=True,
        machine=MachineRule(node_rate=1e9, storage_rate=5e9),
        max_jobs=3000,
        solvers=("fill",),
        draws=2,
    )
    advice = study.advise(asked)
    print("", *verdict.answer(advice), sep="\n")
    assert advice.cost.low <= advice.cost.value <= advice.cost.high
    assert advice.policy_saves.value <= advice.cost.value


@pytest.mark.parametrize("draws", [1, 3])
def test_progress_ends_at_the_number_of_replays(draws):
    told = []
    asked = long_pairs(draws=draws)
    study.advise(asked, progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1]
    assert [done for done, _ in told] == sorted(done for done, _ in told)


@pytest.mark.parametrize(("took", "left"), [(60.0, "90 s"), (333.0, "8 min")])
def test_progress_in_a_log_file_estimates_the_rest(capsys, monkeypatch, took, left):
    """If 4 of 10 steps took 60 s, the other 6 take 90 s."""
    now = [0.0]
    monkeypatch.setattr(options.time, "monotonic", lambda: now[0])
    with counting("simulating", every=0.01) as show:
        show(0, 10, "done")
        now[0] = took
        show(4, 10, "done")
        while "4 of 10" not in (said := capsys.readouterr().err):
            threading.Event().wait(0.01)
    assert said.splitlines()[-1] == f"simulating: 4 of 10 done, about {left} left"


def test_progress_is_written_only_if_it_is_new(capsys, monkeypatch):
    """The rate is that since the number of steps changed: 20 of 100 in 60 s."""
    now = [0.0]
    monkeypatch.setattr(options.time, "monotonic", lambda: now[0])
    with counting("simulating", every=0.01) as show:
        show(0, 200, "done")
        while "0 of 200" not in (said := capsys.readouterr().err):
            threading.Event().wait(0.01)
        threading.Event().wait(0.05)
        assert capsys.readouterr().err == ""
        show(60, 160, "done")
        now[0] = 60.0
        show(80, 160, "done")
        while "80 of 160" not in (said := capsys.readouterr().err):
            threading.Event().wait(0.01)
    assert said.splitlines()[-1] == "simulating: 80 of 160 done, about 4 min left"


def test_a_log_in_columns_asks_for_a_separator(run, tmp_path):
    (tmp_path / "a.txt").write_text("JobID     Submit   Start\n1 2024 2024\n")
    code, _, err = run("advise", "a.txt")
    assert code == 2 and "line 1: columns of sacct" in err and "use sacct -P" in err


def test_progress_goes_into_a_log_file_by_the_clock(capsys):
    with counting("simulating", every=0.01) as show:
        show(3, 9, "")
        while "3 of 9" not in (said := capsys.readouterr().err):
            time.sleep(0.01)
    assert said.splitlines()[-1] == "simulating: 3 of 9"
