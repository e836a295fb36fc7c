"""The gangedness monitor, its verdicts on files of counts, CSV reader and plot."""

import json
import math
from typing import Any

import numpy as np
import pytest
from conftest import shared_path
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.gangedness_reference import differences

import ioopt
import ioopt.embed
from ioopt.errors import InstanceError, UsageError
from ioopt.generate.flexgang.message_counts import TABLE_3, generate
from ioopt.measure import gangedness
from ioopt.measure.gangedness import GangednessMonitor, judge_means
from ioopt.plot.measured import plot_message_counts
from ioopt.problems.flexgang.message_counts import GangednessVerdicts


def measured(source: Any) -> GangednessVerdicts:
    """The verdicts on an instance, which the reference shares."""
    problem = ioopt.load(source)
    found = gangedness.measure(problem).found
    assert differences(problem, found) == []
    return found


def classes_of(found: GangednessVerdicts) -> dict[str, str]:
    return {item.id: item.verdict.gangedness for item in found.applications}


def fed(
    gang: list[float],
    nonrunning: list[float],
    running: list[float] | None = None,
    processors: int = 4,
) -> GangednessMonitor:
    monitor = GangednessMonitor(processors)
    for ganged, runs, counts in (
        (True, True, gang),
        (False, False, nonrunning),
        (False, True, running),
    ):
        for messages in counts or []:
            monitor.observe(ganged, runs, messages)
    return monitor


def test_ratio_and_interval_by_hand() -> None:
    """Gang: 16 counts of 10, absent: 8 of 1. v is the mean where the counts do not
    vary, so the log ratio's deviation is sqrt(10/(16 x 100) + 1/(8 x 1)) =
    sqrt(.00625 + .125) = .36228."""
    monitor = fed([10] * 16, [1] * 8)
    found = monitor.evidence()
    assert monitor.ratio() == pytest.approx(0.1)
    assert found.low == pytest.approx(0.1 * math.exp(-1.645 * 0.362284))
    assert found.high == pytest.approx(0.1 * math.exp(1.645 * 0.362284))
    assert found.high == pytest.approx(0.1815, abs=1e-4)
    assert monitor.classify() == "UNKNOWN"  # .0551 to .1815 straddles .154
    assert (
        fed([10] * 64, [1] * 32).classify() == "HIGH"
    )  # half the deviation: .0742 to .1347
    assert fed([10] * 64, [3] * 32).classify() == "LOW"


def test_counts_of_one_on_average_are_enough_whatever_their_order() -> None:
    """The running mean of 0, .., 0, 2, 3, 3 is 1 less a rounding, which
    was too few to judge.
    """
    counts = [0.0] * 5 + [2.0, 3.0, 3.0]
    assert fed(counts, [1] * 8).gang.mean < 1.0
    lists = {"id": "a", "gang": counts, "nonrunning": [1.0] * 8}
    problem = {
        "format": "ioopt/message-counts",
        "processors": 4,
        "applications": [lists],
    }
    (found,) = measured(problem).applications
    assert found.verdict.low is not None and found.verdict.low > 0


def test_sample_variance_widens_the_interval() -> None:
    """Mean 3 both: 0 and 6 by turns (variance 9.1), or four bursts of 48
    among 64 (variance 137).
    """
    calm, wild = (
        fed([10] * 64, [0.0, 6.0] * 32),
        fed([10] * 64, [0.0] * 60 + [48.0] * 4),
    )
    assert calm.ratio() == wild.ratio() == pytest.approx(0.3)
    assert calm.classify() == "LOW"
    assert wild.classify() == "UNKNOWN"


@pytest.mark.parametrize(
    ("gang", "absent", "word"),
    [
        ([0.2] * 99, [0.2] * 99, "too few to judge"),  # under one message a quantum
        ([10.0] * 7, [1.0] * 99, "7 gang samples"),
        ([10.0] * 99, [1.0] * 7, "7 non-running samples"),
        ([0.0] * 99, [0.0] * 99, "too few to judge"),  # silence everywhere
        ([2.0] * 99, [0.0] * 9, "no message, but only 2.77"),  # 9 x .154 x 2 = 2.77 < 3
    ],
)
def test_unknown(gang: list[float], absent: list[float], word: str) -> None:
    found = fed(gang, absent).evidence()
    assert found.gangedness == "UNKNOWN"
    assert word in found.reason


def test_silence_proves_something_where_three_messages_were_due() -> None:
    """10 x .154 x 2 = 3.08 messages would be due at the threshold."""
    assert fed([2.0] * 99, [0.0] * 10).classify() == "HIGH"


def test_running_samples_are_used_when_there_are_few_others() -> None:
    monitor = fed([10.0] * 64, [9.0] * 7, [5.0] * 96)
    assert monitor.evidence().basis == "running"
    assert monitor.ratio() == pytest.approx(0.5 * 3 / 2)
    assert monitor.classify() == "LOW"  # .75 against .427
    monitor.observe(False, False, 9.0)
    assert monitor.evidence().basis == "non-running"
    assert monitor.ratio() == pytest.approx(0.9)
    # Two processes, or an unknown number: there is nothing to normalise by.
    assert fed([10.0] * 64, [], [5.0] * 96, processors=2).classify() == "UNKNOWN"
    assert fed([10.0] * 64, [], [3.0] * 960, processors=8).ratio() == pytest.approx(
        0.3 * 7 / 6
    )


def test_last_words_are_no_proof_of_progress() -> None:
    """A barrier every .2 quantum, P = 4: 5 x 3 messages in gang quanta; in disturbed
    ones the absent process hears 3 arrivals, running ones 2. Ratio 3/15 = .2, but
    running ones 3/2 x 2/15 = .2 < .427.
    """
    barrier = fed([15] * 64, [3] * 32, [2] * 96).evidence()
    assert barrier.gangedness == "HIGH"
    assert (barrier.ratio, barrier.one_each, barrier.running_threshold) == (
        0.2,
        1.0,
        0.427,
    )
    assert "one from each other process" in barrier.reason
    # Without counts of running processors the ratio alone decides.
    assert fed([15] * 64, [3] * 32).classify() == "LOW"
    # Two meetings a quantum: 6 messages, running ratio .5: cannot be
    # told from progress.
    assert fed([6] * 64, [3] * 32, [2] * 96).classify() == "UNKNOWN"
    # One request from each of three a quantum, all answered: 1.5 x 4 / 6 =
    # 1, not known either.
    assert fed([6] * 64, [3] * 32, [4] * 96).classify() == "UNKNOWN"


@pytest.mark.parametrize(("last_words", "gangedness"), [(28, "HIGH"), (27, "LOW")])
def test_how_many_last_words_are_needed(last_words: int, gangedness: str) -> None:
    """.723 + 1.645 sqrt(.723 x .277 / 32) = .8531: 28 of 32 are .875, 27 are .844."""
    absent = [3.0] * last_words + [7.0] * (32 - last_words)
    assert fed([15] * 64, absent, [2] * 96).classify() == gangedness


def test_laboratory_barriers_by_how_often_they_meet() -> None:
    """The slope of all of them is near 1, also of those that meet less
    than once a quantum.
    """
    found, untold = {}, {}
    for interval in (0.01, 0.15, 0.25, 0.5, 1.5):
        heard = generate(
            "laboratory",
            {
                "barrier_quanta": str(interval),
                "requests_per_quantum": "3",
                "phase_quanta": "20",
            },
            4,
        )
        classes = classes_of(measured(heard))
        assert (classes["Blocking-3"], classes["Msg-20"]) == ("LOW", "LOW")
        found[interval] = classes[f"Barrier-{interval:g}"]
        (barrier,) = [
            item for item in heard.applications if item.id.startswith("Barrier")
        ]
        rest = [
            list(barrier.counts(name)) for name in ("gang", "nonrunning", "running")
        ]
        untold[interval] = fed(*rest).classify()
    assert set(found.values()) == {"HIGH"}
    # Not told which quantum and processor: all may have been waiting.
    assert untold == {
        0.01: "HIGH",
        0.15: "HIGH",
        0.25: "HIGH",
        0.5: "UNKNOWN",
        1.5: "UNKNOWN",
    }


def test_table_3_case() -> None:
    case = json.loads(
        shared_path("cases", "flexgang", "06_gangedness_table3.json").read_text()
    )
    expected, ratios = case["expected"], {}
    for name, means in case["inputs"].items():
        full = judge_means(means["gang"], means["nonrunning"], means["running"], 4)
        only = judge_means(means["gang"], None, means["running"], 4)
        assert full.ratio == pytest.approx(expected["rho"][name]["value"], abs=0.001)
        assert only.ratio == pytest.approx(
            expected["rho_running_norm"][name]["value"], abs=0.001
        )
        assert full.gangedness == only.gangedness == expected["cls"][name]
        ratios[name] = full.ratio
    assert ratios["LU"] / ratios["Water"] == pytest.approx(4.114, abs=0.01)
    assert sorted(ratios, key=ratios.__getitem__) == ["Barnes", "Water", "LU", "Enum"]


def test_means_alone_never_prove_by_silence() -> None:
    assert judge_means(10.0, 0.0, None).gangedness == "UNKNOWN"
    assert judge_means(0.2, 0.2, None).gangedness == "UNKNOWN"
    assert (
        judge_means(10.0, None, 5.0, None).gangedness == "UNKNOWN"
    )  # how many processors?


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((True, False, 1.0), "ganged and not running"),
        ((False, False, -1.0), "0 or more, not -1.0"),
        ((False, False, math.nan), "0 or more, not nan"),
    ],
)
def test_bad_observations_are_refused(
    arguments: tuple[bool, bool, float], message: str
) -> None:
    monitor = GangednessMonitor()
    with pytest.raises(UsageError, match=message):
        monitor.observe(*arguments)
    assert monitor.state() == GangednessMonitor().state()


def test_bad_monitors_are_refused() -> None:
    with pytest.raises(
        UsageError,
        match=r"processors of a gang: wanted a whole number from 2 to [0-9]*, not 1",
    ):
        GangednessMonitor(1)
    with pytest.raises(UsageError, match="threshold: "):
        GangednessMonitor(4, threshold=0)


@settings(max_examples=60, deadline=None)
@given(
    gang=st.lists(st.integers(0, 40), min_size=8, max_size=40),
    absent=st.lists(st.integers(0, 40), min_size=8, max_size=40)
    | st.lists(st.integers(2, 4), min_size=8, max_size=40),
    running=st.lists(st.integers(0, 5), max_size=20),
    seed=st.integers(0, 1000),
)
def test_order_does_not_matter_and_the_reference_agrees(
    gang: list[int], absent: list[int], running: list[int], seed: int
) -> None:
    counts = {
        "id": "a",
        "gang": list(map(float, gang)),
        "nonrunning": list(map(float, absent)),
        "running": list(map(float, running)),
    }
    instance = {
        "format": "ioopt/message-counts",
        "version": 1,
        "applications": [counts],
    }
    found = measured(instance)
    shuffled = np.random.default_rng(seed).permutation(gang).tolist()
    rest = counts["nonrunning"], counts["running"]
    first, second = fed(counts["gang"], *rest), fed(shuffled, *rest)
    assert first.classify() == second.classify() == classes_of(found)["a"]


def test_bad_instances_name_the_item() -> None:
    one: dict[str, Any] = {"format": "ioopt/message-counts", "version": 1}
    for applications, message in (
        ([{"id": "a"}], "a: no counts given"),
        (
            [{"id": "a", "gang": [1.0], "running": 1.0}],
            "running is a mean and gang a list",
        ),
        ([{"id": "a", "running": 1.0}], "the mean of gang quanta is missing"),
        ([{"id": "a", "gang": [-1.0]}], r"applications\[0\] \(a\).gang\[0\]"),
        ([{"id": "a", "gang": "many"}], r"applications\[0\] \(a\).gang: "),
        ([{"id": "a", "gang": [1.0]}] * 2, "already the id"),
        (
            [{"id": "a", "gang": [1.0] * 4, "absent": [[], []]}],
            "2 quanta have 8 gang counts, not 4",
        ),
        (
            [{"id": "a", "gang": [1.0] * 4, "absent": [[4]]}],
            r"absent\[0\]: \[4\]: each of 0 to 3",
        ),
    ):
        with pytest.raises(InstanceError, match=message):
            ioopt.load({**one, "applications": applications})


def test_plot_names_every_application() -> None:
    axes = plot_message_counts(measured(generate("table-3", {}, 0)), "table 3")
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        "Enum (LOW)",
        "Water (HIGH)",
        "LU (LOW)",
        "Barnes (HIGH)",
    ]
    assert axes.get_xscale() == "log"


def test_table_3_has_means_only() -> None:
    problem = generate("table-3", {}, 0)
    assert classes_of(measured(problem)) == {
        "Enum": "LOW",
        "Water": "HIGH",
        "LU": "LOW",
        "Barnes": "HIGH",
    }
    found = gangedness.measure(problem)
    assert "without an interval" in found.notes[0]
    assert found.metrics["unknown_applications"] == 0
    assert {row["application"] for row in found.rows} == set(TABLE_3)


def test_a_ratio_to_next_to_no_messages_is_none() -> None:
    """1.4 over 5e-324 has no double, so the class is UNKNOWN."""
    counts = {"id": "a", "gang": 5e-324, "running": 1.4, "nonrunning": 0.89}
    problem = {"format": "ioopt/message-counts", "name": "x", "applications": [counts]}
    (found,) = measured(problem).applications
    assert found.verdict.ratio is None and found.verdict.gangedness == "UNKNOWN"
