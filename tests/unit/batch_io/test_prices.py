"""The bound of the I/O delay for given starts, by hand and below every policy."""

import random

import pytest
from batch_io_traces import random_trace

import ioopt
from ioopt.models.batch_io import prices
from ioopt.models.batch_io.bounds import chains_of
from ioopt.models.batch_io.prices import Chain, Step, delay_bound
from ioopt.options import Deadline
from ioopt.problems.batch_io import BatchIoProblem
from ioopt.registry.policies import io_policy
from ioopt.sim.batch_io.results import metrics_of
from ioopt.sim.batch_io.trace import Trace
from ioopt.solvers.batch_io.run import run_trace

POLICIES = (
    "base-line",
    "cons-fcfs",
    "cons-fcfs+top",
    "cons-max-util",
    "cons-max-util+top",
    "cons-min-inst-sld+top",
    "cons-min-aggr-sld+top",
    "adaptive",
    "fill",
    "least-delay",
)


def test_two_writers_by_hand() -> None:
    """Two requests of 2 s of the whole storage at once: one of them waits 2
    s, however they share.

    Half of each now and half later costs 2 s as well, so that the prices reach
    it but for the grid.
    """
    two = [Chain(0.0, (Step(2.0, 1.0),))] * 2
    assert 1.6 < delay_bound(two, known=2.0, rounds=80) <= 2.0


def test_weights_count_and_apart_nobody_waits() -> None:
    """Weights 3 and 1: the light one waits, 2 s. Requests that do
    not meet lose nothing.
    """
    heavy = [Chain(0.0, (Step(2.0, 1.0),), 3.0), Chain(0.0, (Step(2.0, 1.0),), 1.0)]
    assert 1.5 < delay_bound(heavy, known=2.0, rounds=80) <= 2.0
    apart = [Chain(0.0, (Step(2.0, 1.0),)), Chain(2.0, (Step(2.0, 1.0),))]
    assert delay_bound(apart, known=1.0, rounds=50) == 0.0


def test_a_job_dodges_others_once() -> None:
    """A and B meet at 0 (2 s each) and, in step, at 10 again: whoever
    waited 2 s waits no more.
    """
    chain = Chain(0.0, (Step(2.0, 1.0, 8.0), Step(2.0, 1.0)))
    assert 1.5 < delay_bound([chain, chain], known=2.0, rounds=80) <= 2.0


def test_work_limits_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """No round is begun that *work* does not pay for."""
    two = [Chain(0.0, (Step(2.0, 1.0),))] * 2
    assert delay_bound(two, known=2.0, rounds=200, work=10) == 0.0
    begun: list[int] = []
    monkeypatch.setattr(
        prices._Market, "ascend", lambda self, k, _: begun.append(k) or 0.0
    )
    slots = 2 * 2.0 / (1.0 / prices.STEPS_OF_MEAN) + 2
    delay_bound(two, known=2.0, rounds=200, work=7.5 * prices.LEVELS * slots)
    assert begun == [7]


def test_no_round_where_nothing_is_scarce_or_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Free storage that is enough for all ends it after one look; a clock that
    ticks, at its limit.

    The deadline is set at tick 0 and passes at tick 3: looks at ticks 1 and 2 only.
    """
    looks: list[float] = []
    bound = prices._Market.bound
    monkeypatch.setattr(
        prices._Market,
        "bound",
        lambda market, p: (looks.append(0.0), bound(market, p))[1],
    )
    apart = [Chain(0.0, (Step(2.0, 1.0),)), Chain(2.5, (Step(2.0, 1.0),))]
    assert delay_bound(apart, known=1.0, rounds=50) == 0.0
    assert len(looks) == 1
    looks.clear()
    ticks = iter(map(float, range(9)))
    two = [Chain(0.0, (Step(2.0, 1.0),))] * 2
    assert (
        delay_bound(two, 2.0, 50, deadline=Deadline(3.0, clock=lambda: next(ticks))) > 0
    )
    assert len(looks) == 2


def checked(seed: int) -> list[float]:
    """Bounds of a random trace against all policies, over the delay of the best."""
    rng = random.Random(seed)
    problem: BatchIoProblem = random_trace(seed, jobs=rng.randint(2, 6))
    problem = problem.model_copy(
        update={"options": problem.options.model_copy(update={"kill": False})}
    )
    trace = Trace.of(problem)
    delays = []
    for name in POLICIES:
        run = run_trace(trace, io_policy(name), "open", engine="python")
        metrics = metrics_of(trace, run)
        delays.append((metrics["io_delay_seconds"], metrics["node_weighted_io_delay"]))
    starts = {trace.ids[j]: float(run.start[j]) for j in range(len(trace))}
    widths, tight = [float(size) for size in trace.allocated], []
    for at, total in ((0, float(len(trace))), (1, sum(widths))):
        chains = chains_of(problem, 1.0, starts, by_nodes=at == 1)
        least = min(delay[at] for delay in delays) * total
        seconds = sum(
            item.amount / item.share for chain in chains for item in chain.steps
        )
        known = rng.uniform(0.3, 3) * max(least, 0.2 * seconds)
        bound = delay_bound(chains, known, rounds=12)
        tight.append(bound / least if least else 0.0)
        assert bound <= least * (1 + 1e-9) + 1e-9, (seed, at)
    return tight


def test_no_policy_beats_the_bound_of_the_delay() -> None:
    assert max(ratio for seed in range(6) for ratio in checked(seed)) > 0.2


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 625, 75))
def test_no_policy_beats_the_bound_of_the_delay_on_many(first: int) -> None:
    """Twenty plans a seed, more than 10,000 in all."""
    assert all(map(checked, range(first, first + 75)))


def test_open_loop_has_a_bound_of_the_delay_and_a_closer_one_of_the_response() -> None:
    """small-8: starts are given, so that waits count in full; closed loop has
    no bound of the delay.
    """
    opened = ioopt.solve("small-8", "fill", settings={"loop": "open"})
    waits = opened.metrics["mean_wait_seconds"]
    assert 0 < opened.metrics["io_delay_bound"] <= opened.metrics["io_delay_seconds"]
    assert waits < opened.bound <= opened.objective
    assert "io_delay_bound" not in ioopt.solve("small-8", "fill").metrics
    free = ioopt.solve("small-8", "no-congestion", settings={"loop": "open"})
    assert (
        free.bound is None and free.status == "feasible"
    )  # a reference proves nothing
