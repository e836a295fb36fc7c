"""The reproduction of Zhou et al.: its statistics by hand, Figure 7, and
trends on small workloads.
"""

import re

import pytest
from batch_io_traces import by_hand
from conftest import ENGINES
from papers import zhou
from papers.claims import HOLDS, NOT, PARTLY, TIE

import ioopt
from ioopt.generate.batch_io.generate import generate


def test_a_claim_stands_under_each_reading_and_workload() -> None:
    """Base-line waits 8 s by nodes and 4 s evenly shared; cons-fcfs 6 s, with its
    left-overs used 3 s.
    """
    waits = {
        "base-line:share=per-node": 8.0,
        "base-line:share=even-if-congested": 4.0,
        "cons-fcfs": 6.0,
        "cons-fcfs+top": 3.0,
    }
    runs = zhou.Runs(
        {
            (workload, "closed", policy, 1.0, zhou.FAST): [
                {zhou.WAIT: wait * scale} for scale in (1, 1)
            ]
            for policy, wait in waits.items()
            for workload in zhou.WORKLOADS
        }
    )
    words = {}
    for name in ("as printed", zhou.BY_NODES, "left-overs used"):
        read = runs._replace(reading=zhou.READINGS[name])
        words[name] = zhou.compared(read, zhou.WAIT, "cons-fcfs")
    assert words["as printed"][:2] == (
        "; ".join(f"{k}: 1.50 [1.50 .. 1.50]" for k in (1, 2, 3)),
        NOT,
    )
    assert words[zhou.BY_NODES][1] == words["left-overs used"][1] == HOLDS
    more = {"policy": "cons-fcfs", "workloads": ["2"], "higher": True}
    assert zhou.compared(runs, zhou.WAIT, up_to=1.6, **more)[1] == HOLDS
    assert zhou.compared(runs, zhou.WAIT, up_to=1.1, **more)[1] == PARTLY
    runs.values["3", "closed", "cons-fcfs", 1.0, zhou.FAST][:] = [
        {zhou.WAIT: 4.0},
        {zhou.WAIT: 4.0},
    ]
    assert zhou.pairs(runs, zhou.WAIT, ["cons-fcfs"], ["base-line"], ["3"])[1] == TIE


@pytest.mark.parametrize("engine", ENGINES)
def test_figure_7(engine: str) -> None:
    """A and B, 4 B/s each of 10, transfer 8 and 40 B; C and D, 4 B/s, 8 B, ask
    for more than is left.

    Cons-FCFS: A ends at 2, C runs to 4, D to 6, B ends at 10. ADAPTIVE on C: alone with
    A and B it would end at 2 + 2, 2 + 10 + 4 = 16 in all; sharing, all at 10/3, A and C
    end at 2.4, B at 10.4, 15.2 in all: C starts. On D: 15.2 + 2.4 + 2 = 19.6 waiting;
    sharing at 2.5, A, C, D end at 3.2, B at 11.2, 20.8: D waits, runs from 2.4 to 4.4.
    """
    volumes = {"A": 8, "B": 40, "C": 8, "D": 8}
    jobs = [(name, 0, 4, 99, [(0, volume)]) for name, volume in volumes.items()]
    problem = by_hand(jobs, {"nodes": 16, "storage_bytes_per_second": 10})
    for policy, ends in (
        ("cons-fcfs", [2, 10, 4, 6]),
        ("adaptive", [2.4, 10.4, 2.4, 4.4]),
    ):
        schedule = ioopt.solve(problem, policy, settings={"engine": engine}).schedule
        assert [job["end_seconds"] for job in schedule["jobs"]] == pytest.approx(
            ends
        ), policy


@pytest.mark.slow
def test_trends_on_small_workloads() -> None:
    runs = zhou.run_all(zhou.Size(3, {"jobs": "100", "days": "1"}, "python"))
    delay = [
        sum(runs.of("io_delay_seconds", "adaptive", "month", f, "open"))
        for f in (0.3, 1.5)
    ]
    assert delay[1] > 5 * delay[0] > 0
    for factor in (0.3, 1.5):
        assert (
            runs.ratio("io_delay_seconds", "fill", "month", factor, "adaptive", "open")[
                0
            ]
            < 0.7
        )
    again = zhou.READINGS["per application, left-overs shared again"]
    lost, kept = (
        sum(read.of(zhou.WAIT, "base-line", "1", 1.5))
        for read in (runs, runs._replace(reading=again))
    )
    assert lost > kept


def test_cons_min_aggr_sld_grows_more_slowly_than_algorithm_1() -> None:
    """Section VI: sorting K requests against playing up to K sets of K to their
    ends.
    """
    figure, word = zhou.cheaper(zhou.Runs({}), 8, 32)
    assert word == HOLDS
    powers = [float(text) for text in re.findall(r"as K\^([.\d]+)", figure)]
    assert powers[0] < 1.2 and powers[1] > 2


def test_slow_nodes_keep_the_length_of_every_phase_and_saturate_by_a_quarter() -> None:
    """A quarter of 49,152 nodes at 20.3 MB/s sends the 250 GB/s of the storage."""
    problem = generate("mira-mixed", {"jobs": 50, "days": 1}, 0)
    slow = zhou.with_slow_nodes(problem)
    rate = slow.machine.node_bytes_per_second
    assert rate == pytest.approx(20.3e6, rel=3e-3)
    assert rate * 49_152 / 4 == pytest.approx(250e9)
    for before, after in zip(problem.jobs, slow.jobs, strict=True):
        nodes = problem.machine.allocated_nodes(before.nodes)
        for one, other in zip(before.phases, after.phases, strict=True):
            seconds = one.io_bytes / problem.machine.peak(nodes)
            assert other.io_bytes / slow.machine.peak(nodes) == pytest.approx(seconds)
            assert other.compute_seconds == one.compute_seconds
