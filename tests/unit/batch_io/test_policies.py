"""Each policy on states small enough to decide by hand."""

import random
from fractions import Fraction

import pytest
from batch_io_traces import FLAT, by_hand, random_trace, view
from conftest import ENGINES

import ioopt
from ioopt.checks.batch_io.check import check
from ioopt.decisions.batch_io import IoPolicy, View
from ioopt.embed import IoArbiter
from ioopt.errors import UsageError
from ioopt.registry import solvers_for
from ioopt.registry.policies import io_policy
from ioopt.sim.batch_io.trace import Trace
from ioopt.solvers.batch_io.run import run_trace
from ioopt.solvers.batch_io.set10 import set_of

MACHINE = {**FLAT, "nodes": 8, "storage_bytes_per_second": 4.0}


def policy(name: str, **settings: object) -> IoPolicy:
    return io_policy(name, settings)


def test_peaks_and_sharing() -> None:
    # r = 16 is capped at BW = 10; N_S = 16 + 4 = 20, rho = 10 / 20, rates 8 and
    # 2 (rules 5 and 7).
    state = view((16, 0, 1), (4, 0, 1))
    assert [request.peak for request in state.requests] == [10, 4]
    assert policy("no-congestion").decide(state) == [10, 4]
    assert policy("base-line").decide(state) == [8, 2]
    # Even shares: 5 each, but the second takes only its peak 4, the first 6.
    assert policy("base-line", share="per-application").decide(state) == [6, 4]


def test_first_fit_skips_and_top_hands_out_the_rest() -> None:
    # 6 fits, 8 does not, 4 fits in what is left; nothing remains.
    assert policy("cons-fcfs").decide(view((6, 0, 1), (8, 1, 1), (4, 2, 1))) == [
        6,
        0,
        4,
    ]
    # 6, then 8 is skipped, 3 fits; the 1 left over goes to the skipped one.
    state = view((6, 0, 1), (8, 1, 1), (3, 2, 1))
    assert policy("cons-fcfs").decide(state) == [6, 0, 3]
    assert policy("cons-fcfs+top").decide(state) == [6, 1, 3]


def test_min_inst_sld_starves_the_suspended_newcomer() -> None:
    # Old: 6 (100 - 0) / 300 = 2. Newcomer that waits since 90: infinite.
    # One that asks now: 1.
    state = view((6, 0, 50), (6, 90, 50), (6, 100, 50))
    state.requests[0].moved = 300
    assert policy("cons-min-inst-sld").decide(state) == [0, 0, 6]
    down = policy("cons-min-inst-sld", order="descending")
    assert down.decide(state) == [0, 6, 0]
    state.requests[1].moved = 40  # 6 (100 - 90) / 40 = 3/2: below the 2 of the old one
    assert down.decide(state) == [6, 0, 0]
    state.requests[1].moved, state.requests[2].requested = 0, Fraction(99)
    assert policy("cons-min-inst-sld").decide(state) == [6, 0, 0]
    assert down.decide(state) == [0, 6, 0]  # both infinite: first come first


def test_min_aggr_sld_counts_the_whole_job() -> None:
    state = view((6, 90, 50), (6, 95, 50))
    first, second = state.requests
    # (100 - 0) / (40 + 10) = 2 and (100 - 40) / (30 + 10) = 3/2: the
    # second is less slowed.
    first.start, first.compute_so_far, first.ideal_so_far = 0, 40, 10
    second.start, second.compute_so_far, second.ideal_so_far = 40, 30, 10
    assert policy("cons-min-aggr-sld").decide(state) == [0, 6]
    assert policy("cons-min-aggr-sld", order="descending").decide(state) == [6, 0]
    # Nothing done since the start: 1 at the start's instant, else infinite.
    second.compute_so_far, second.ideal_so_far = 0, 0
    assert policy("cons-min-aggr-sld").decide(state) == [6, 0]
    second.start = state.now
    assert policy("cons-min-aggr-sld").decide(state) == [0, 6]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("order", "ends"), [("ascending", [5, 4]), ("descending", [3, 5])]
)
def test_the_order_reaches_simulators_plans_and_arbiters(
    engine: str, order: str, ends: list[float]
) -> None:
    """Rule 52: A computes 1 s, B 2 s, both move 8 B at 4 B/s. At 2 s A is
    slowed 2 / 1, B 2 / 2.

    Ascending B goes first, from 2 to 4, and A has its other 4 B at 5; descending
    A ends at 3, B at 5.
    """
    how = {"order": order, "engine": engine}
    instance = by_hand([("A", 0, 4, 9, [(1, 8)]), ("B", 0, 4, 9, [(2, 8)])])
    result = ioopt.solve(instance, "cons-min-aggr-sld", settings=how)
    again = ioopt.simulate(instance, result.plan)
    for schedule in (result.schedule, again.schedule):
        assert schedule and [job["end_seconds"] for job in schedule["jobs"]] == ends
    arbiter = IoArbiter(MACHINE, "cons-min-aggr-sld", {"order": order})
    for job, asked in (("A", 1.0), ("B", 2.0)):
        arbiter.request(
            job, 4, 8.0, asked, start_seconds=0.0, compute_seconds_so_far=asked
        )
    assert (arbiter.decide(2.0)["A"] == 4.0) == (order == "descending")


def test_adaptive_chooses_what_playing_the_sets_to_their_ends_chooses() -> None:
    rng = random.Random(1)
    shared = declined = 0
    for number in range(200):
        rows = [(rng.choice((1, 1, 2, 4, 8)), k, rng.randint(1, 60)) for k in range(20)]
        state = view(*rows, storage=rng.choice([4, 10, 15, 33]), exact=number % 40 == 0)
        quick = policy("adaptive").decide(state)
        limits = state.limits.with_own_peaks()  # every set is played to its end
        played = policy("adaptive").decide(View(limits, state.now, state.requests))
        assert quick == pytest.approx(played), rows
        granted = [request.peak for request, rate in zip(state.requests, quick) if rate]
        shared += sum(granted) > state.limits.storage
        declined += len(granted) < len(rows)
    assert shared > 20 and declined > 20


def test_a_tie_of_adaptive_does_not_share() -> None:
    """4 nodes with 8 bytes take 2 s alone. One as large beside it: both end at 4 s, 4 +
    4 = 8; one after the other 2 + (2 + 2) = 6. 4 nodes with nothing left join a set
    that has nothing left: 0 against 0, which does not pay."""
    for left in (8, 0):
        state = view((4, 0, left), (4, 1, left), storage=4, exact=False)
        assert policy("adaptive").decide(state) == [4, 0]


def test_adaptive_goes_by_the_time_of_the_request() -> None:
    """Line 2: of two that want 6 of 6 B/s for 60 B, the earlier one runs. The other
    waits: 10 + (10 + 10) = 30 s in all, sharing 20 + 20.
    """
    state = view((6, 1, 60), (6, 0, 60), storage=6)
    found = policy("adaptive").decide(state)
    ids = [request.id for request in state.requests]
    assert dict(zip(ids, found, strict=True)) == {1: 6, 0: 0}


def test_nothing_is_left_beside_a_set_that_shares() -> None:
    """Line 16, storage 10. A (6 B/s, 60 B) leaves 4. B (5 B/s, 240 B): waiting 10 +
    (10 + 48) = 68 s; sharing A ends at 11, B at 49: 60, it shares. C (4 B/s, 60 B)
    would have fitted: waiting 60 + (11 + 15) = 86; sharing by 15 nodes A ends at 15, C
    at 20, B at 53: 88, it waits.
    """
    state = view((6, 0, 60), (5, 1, 240), (4, 2, 60))
    share = Fraction(10, 11)
    assert policy("adaptive").decide(state) == [6 * share, 5 * share, 0]
    alone = view((6, 0, 60), (4, 2, 60))
    assert policy("adaptive").decide(alone) == [6, 4]


def test_policies_say_what_engines_may_assume() -> None:
    rng = random.Random(3)
    asked = 0
    for _ in range(300):
        rows = [
            (rng.randint(1, 6), k, rng.randint(1, 9)) for k in range(rng.randint(1, 5))
        ]
        state = view(*rows)
        peaks = [request.peak for request in state.requests]
        for name in (row.name for row in solvers_for("batch-io") if row.policy):
            chosen: IoPolicy = policy(name)
            rates = chosen.decide(state)
            if chosen.ignores_limit or (chosen.full_when_fits and sum(peaks) <= 10):
                assert rates == peaks
                asked += 1
            if not chosen.ignores_limit:
                assert sum(rates) <= 10
            if name.startswith("cons-") and not name.endswith("+top"):
                assert all(rate in (0, peak) for rate, peak in zip(rates, peaks))
    assert asked > 1000


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("fulfil", {}, "did you mean .fill."),
        ("fill", {"top": True}, "fixes it to False"),
        ("fill+top", {}, "did you mean"),
        ("set-10+top", {}, "is now fill"),
        ("base-line", {"share": "per-core"}, "per-application"),
        ("adaptive", {"share": "even-split"}, "no setting 'share'"),
        ("fill", {"alpha": -1}, "alpha"),
        ("turns", {"least_bytes": -1}, "least_bytes"),
        ("cons-fcfs", {"least_bytes": 1}, "least_bytes is .* give preempt=no"),
    ],
)
def test_refusals(name: str, settings: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("+", r"\+")):
        policy(name, **settings)


def test_expansion_factors_that_lose_digits_are_refused() -> None:
    with pytest.raises(UsageError, match=r"ef.*at least"):
        ioopt.solve("mira-day", "fill", settings={"ef": 1e-10})
    assert [set_of(seconds) for seconds in (5e-324, 1e-150, 1e200)] == [-150, -150, 150]


def test_least_delay_lets_narrow_requests_run_together() -> None:
    """A wide one wants all 4 B/s for 7 B, two narrow ones 2 B/s each for 8 B.

    Keys 7 x 8^.5 = 19.8 and 8 x 2^.5 = 11.3: both narrow ones run, at 4 s the wide one;
    it loses 4 s. The wide one first, as with FILL (7 / 8^.5 = 2.5 against 5.7), costs
    1.75 s twice: here FILL is right.
    """
    for name, granted in (("least-delay", (0.0, 2.0, 2.0)), ("fill", (4.0, 0.0, 0.0))):
        arbiter = IoArbiter(MACHINE, name)
        for job, nodes, size in (("wide", 8, 7.0), ("x", 2, 8.0), ("y", 2, 8.0)):
            arbiter.request(job, nodes, size, 0.0)
        assert tuple(arbiter.decide(0.0).values()) == granted


THREE_STEPS = by_hand(
    [
        (1, 0, 2, 100, [(0, 200)]),
        (2, 1, 1, 100, [(0, 30)]),
        (3, 2, 2, 100, [(0, 200)]),
    ],
    {"node_bytes_per_second": 10, "storage_bytes_per_second": 20},
)
"""On nodes of 10 B/s before a storage of 20 B/s, all to write: job 1 (2 nodes, 200 B),
at 1 s job 2 (1 node, 30 B), at 2 s job 3 (2 nodes, 200 B).
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_turns_of_large_requests_by_hand(engine: str) -> None:
    """Requests of 100 B or more need a turn. Job 1 has moved 20 B at 1 s. Then job 2
    begins at once and shares with it: 20/3 B/s of 20 B/s on its one node of three, so
    its 30 B take 4.5 s, until 5.5 s. Job 1 has 180 - 4.5 x 40/3 = 120 B left then, and
    ends at 11.5 s; job 3 has its turn after it, until 21.5 s.

    With turns for all, job 1 ends at 10 s, job 2 at 13 s and job 3 at 23 s.
    """
    trace = Trace.of(ioopt.load(THREE_STEPS))
    starts = (trace.submit, [-1] * 3)
    for least, ends in ((100, [11.5, 5.5, 21.5]), (30, [10, 13, 23])):
        turns = policy("turns", least_bytes=least)
        run = run_trace(trace, turns, engine=engine, starts=starts)
        assert list(run.end) == pytest.approx(ends)


def test_turns_of_large_requests_are_checked() -> None:
    """The plan states the least size, which the checker reads: with another one the
    small request should not have shared, or a large one should have waited.
    """
    for problem in (ioopt.load(THREE_STEPS), *map(random_trace, range(3))):
        sizes = [phase.io_bytes for job in problem.jobs for phase in job.phases]
        least = sorted(sizes)[len(sizes) // 2] + 1
        result = ioopt.solve(problem, "turns", settings={"least_bytes": least})
        assert result.plan["settings"] == {"preempt": False, "least_bytes": least}
        assert not check(problem, result.plan, result.schedule).violations
    problem = ioopt.load(THREE_STEPS)
    for solver, wrong, words in (
        ("base-line", 30, "turns for 30"),
        ("turns", 100, "needs no turn"),
    ):
        schedule = ioopt.solve(problem, solver).schedule
        plan = ioopt.solve(problem, "turns", settings={"least_bytes": wrong}).plan
        found = check(problem, plan, schedule).violations
        assert found[0].rule == "turns" and words in found[0].message


def test_exact_arithmetic_has_the_key_of_least_delay() -> None:
    for seed in range(6):
        problem = random_trace(seed)
        floats, rationals = (
            run_trace(
                Trace.of(problem, 1.0, exactly),
                io_policy("least-delay"),
                "open",
                "python",
            )
            for exactly in (False, True)
        )
        assert all(isinstance(end, (Fraction, int)) for end in rationals.end)
        assert [float(end) for end in rationals.end] == pytest.approx(
            list(floats.end), rel=1e-7
        )
