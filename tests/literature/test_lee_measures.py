"""The claims of Lee et al. as the reproduction prints them."""

from __future__ import annotations

from collections import Counter

import pytest
from papers import lee, lee_gangedness
from papers.claims import HOLDS, NOT, PARTLY

from ioopt.generate.flexgang.message_counts import message_samples
from ioopt.measure.gangedness import GangednessMonitor
from ioopt.problems.flexgang.message_counts import QUANTA, Quanta
from ioopt.problems.flexgang.perturbation import Barrier, Msg, PerturbationProblem


@pytest.mark.slow
def test_figures_2_and_3() -> None:
    """ "Bumps" are not there, and one of the four regions of low inversion is low only in part."""
    rows = lee.claims(True, "quanta")
    assert [row.verdict for row in rows] == [HOLDS, HOLDS, HOLDS, NOT, HOLDS, HOLDS, HOLDS, PARTLY]
    assert rows[-1].other[0][1] == PARTLY or not rows[-1].other


@pytest.mark.slow
def test_heavy_mixes() -> None:
    rows = lee.claims(True, "mixes")
    assert [row.verdict for row in rows] == [HOLDS] * 5 and all(row.own for row in rows)


@pytest.mark.slow
def test_types_and_real_applications() -> None:
    """The types are exact; of the real ones, what depends on neither rates nor loads that are ours."""
    assert {row.verdict for row in lee.claims(True, "slopes")} == {HOLDS}
    rows = {row.claim: row for row in lee.claims(True, "programs", "table")}
    sure = ("message rate alone", "load imbalance makes", "a bottleneck slows", "buffered messages")
    for words in sure:
        (row,) = [row for claim, row in rows.items() if words in claim]
        assert row.verdict == HOLDS and not row.other, row
    (row,) = [row for claim, row in rows.items() if "factor of five" in claim]
    assert row.verdict == NOT and row.ours == "LU / Water 4.11, LU / Barnes 4.93"


@pytest.mark.slow
def test_monitor_on_unseen_workloads() -> None:
    done = lee_gangedness.trials(lee_gangedness.unseen(5), seeds=6, runs=4)
    scored = [trial for trial in done if trial.truth is not None]
    assert len(scored) >= 18
    assert {trial.truth for trial in scored} == {"LOW", "HIGH"}
    right, wrong, unknown = lee_gangedness.score(scored)
    assert right >= 0.95 * (right + wrong + unknown)
    assert wrong <= 0.01 * (right + wrong + unknown)


def heard(trial: lee_gangedness.Trial, names: tuple[Quanta, ...]) -> Counter[str]:
    """Classes of six recordings by a monitor that hears the counts of *names*, and no quantum."""
    found: Counter[str] = Counter()
    problem = PerturbationProblem(applications=(trial.app,), **lee_gangedness.RECORDING)
    for seed in range(6):
        counts = message_samples(problem, trial.app, "Sub_RR", 1000 + seed)
        monitor = GangednessMonitor(4)
        for name in names:
            for messages in counts.counts(name):
                monitor.observe(name == "gang", name != "nonrunning", messages)
        found[monitor.classify()] += 1
    return found


def test_meetings_rarer_than_quanta_are_told_from_progress_in_time_only() -> None:
    """Barriers 1.2 and 1.6 quanta apart need the gang, requests 1.2 a quantum all along do not; single
    quanta of all three look alike."""
    apps = [
        *(Barrier(id=f"B-{x}", interval_quanta=x) for x in (1.2, 1.6)),
        Msg(id="A", phase_quanta=20.0, requests_per_phase=24),
    ]
    done = lee_gangedness.trials(apps, seeds=6, runs=4)
    assert [trial.truth for trial in done] == ["HIGH", "HIGH", "LOW"]
    right, wrong, _ = lee_gangedness.score(done)
    assert (right, wrong) == (18, 0)
    by_count = [heard(trial, QUANTA) for trial in done]
    assert sum(found[trial.truth] for trial, found in zip(done, by_count)) < 9
    assert all(set(found) <= {trial.truth, "UNKNOWN"} for trial, found in zip(done, by_count))
    ratio = [heard(trial, ("gang", "nonrunning")) for trial in done[:2]]  # both barriers, always
    assert [found["LOW"] for found in ratio] == [6, 6]
