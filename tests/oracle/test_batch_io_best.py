"""The exact order of I/O and the bound by prices against every order of
events on tiny jobs.
"""

import random
from typing import Any

import pytest
from batch_io_best import least_delay
from batch_io_traces import by_hand
from conftest import first

import ioopt
from ioopt.errors import NotApplicableError
from ioopt.generate.batch_io.generate import generate
from ioopt.models.batch_io.io_order import IoOrderModel
from ioopt.models.batch_io.prices import Chain, Step, delay_bound
from ioopt.result import Status, StopReason
from ioopt.solvers.backends.answer import BackendAnswer, BackendLimits
from ioopt.solvers.backends.solve import solve_program
from ioopt.solvers.batch_io import exact


def _chains(seed: int) -> list[Chain]:
    """Three jobs, four requests, whole and half seconds; some have
    no computing between.
    """
    rng = random.Random(seed)
    chains = []
    for count in (2, 1, 1):
        steps = [
            Step(
                rng.randint(1, 6) / 2,
                rng.choice([0.4, 0.5, 0.75, 1.0]),
                rng.choice([0.0, 0.5, 2.0]),
            )
            for _ in range(count)
        ]
        steps[-1] = steps[-1]._replace(after=0.0)
        chains.append(Chain(rng.choice([0.0, 0.0, 0.5, 1.0, 2.0]), tuple(steps)))
    return chains


def _best(chains: list[Chain], most: float) -> float:
    model = IoOrderModel(chains, most)
    answer = solve_program(model.program, "HiGHS", BackendLimits())
    assert answer.objective is not None
    return answer.objective - model.ideal


@pytest.mark.parametrize("seed", first(1, range(4)))
def test_the_program_finds_the_best_of_all_orders(seed: int) -> None:
    chains = _chains(seed)
    true = least_delay([(chain.begin, chain.steps) for chain in chains])
    assert _best(chains, true + 3.0) == pytest.approx(true, abs=1e-6)
    assert delay_bound(chains, true + 0.5, rounds=30) <= true + 1e-9


def test_by_hand() -> None:
    """A moves 2 s of the storage at 0 and, 2 s after, 2 s again; B 3 s at
    0, all at full rate.

    A first: A 0-2, B 2-4 and, while A has its second turn at 4-6, waits; then 6-7: B
    loses 4 s. B on through 5: A's second turn, ready at 4, begins at 5: B loses 2, A
    loses 1, 3 s in all. B first: 0-3, A 3-5 and 7-9 loses 3 s as well.
    """
    chains = [
        Chain(0.0, (Step(2.0, 1.0, 2.0), Step(2.0, 1.0))),
        Chain(0.0, (Step(3.0, 1.0),)),
    ]
    assert _best(chains, 10.0) == pytest.approx(3.0)
    assert least_delay(
        [(chain.begin, chain.steps) for chain in chains]
    ) == pytest.approx(3.0)


def _burst(left: list[int], nodes: list[int]) -> dict[str, Any]:
    """Requests of so many bytes at one instant, of jobs of so many nodes; the
    storage moves 8 a second.
    """
    jobs = [(k, 0, n, 1e6, [(0, r)]) for k, (r, n) in enumerate(zip(left, nodes), 1)]
    return by_hand(jobs, {"nodes": 64, "storage_bytes_per_second": 8})


@pytest.mark.slow
def test_no_policy_beats_the_best_order() -> None:
    rng = random.Random(11)
    for _ in range(4):
        left = [rng.randint(1, 60) for _ in range(3)]
        nodes = [rng.choice([1, 2, 4, 8]) for _ in range(3)]
        best = least_delay([(0.0, [(r / 8, n / 8, 0.0)]) for r, n in zip(left, nodes)])
        for solver in ("fill", "cons-fcfs", "cons-fcfs+top", "cons-max-util"):
            found = ioopt.solve(_burst(left, nodes), solver).metrics["io_delay_seconds"]
            assert 3 * found >= best - 1e-6


def test_fill_is_the_best_order_for_equal_nodes() -> None:
    """5, 17, 30, 40 in turn: they finish at 5/8, 22/8, 52/8, 92/8,
    delays 0, 5/8, 22/8, 52/8.
    """
    found = ioopt.solve(_burst([40, 5, 17, 30], [8, 8, 8, 8]), "fill")
    assert found.metrics["io_delay_seconds"] * 4 == pytest.approx(79 / 8)
    three = (
        ioopt.solve(_burst([40, 5, 17], [8, 8, 8]), "fill").metrics["io_delay_seconds"]
        * 3
    )
    assert three == pytest.approx(
        least_delay([(0.0, [(r / 8, 1.0, 0.0)]) for r in (40, 5, 17)])
    )


@pytest.mark.parametrize("backend", ["HiGHS", "CBC"])
def test_the_plan_is_replayed_and_no_policy_is_better(backend: str) -> None:
    problem = ioopt.load("two-writers")
    found = ioopt.solve(problem, "io-exact", backend=backend)
    assert found.objective == pytest.approx(3.0) and not found.violations
    assert (
        found.bound == pytest.approx(3.0, rel=1e-3) and found.bound <= found.objective
    )
    again = ioopt.simulate(problem, found)
    assert again.metrics["mean_response_seconds"] == pytest.approx(3.0)


def test_what_it_does_not_take() -> None:
    with pytest.raises(NotApplicableError, match="loop=open"):
        ioopt.solve("two-writers", "io-exact", settings={"loop": "closed"})
    with pytest.raises(NotApplicableError, match="at most 30 requests"):
        ioopt.solve("mira-day", "io-exact")


@pytest.mark.parametrize("limit", [1e-6, 60.0])
def test_a_limit_leaves_an_honest_gap(
    limit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program is never searched, or in vain: a policy decides,
    the bound is by prices.
    """
    searched: list[object] = []
    late = BackendAnswer(Status.UNKNOWN, StopReason.TIME)
    monkeypatch.setattr(
        exact, "solve_program", lambda *asked: (searched.append(asked), late)[1]
    )
    problem = generate("small", {"jobs": "4"}, 1)
    found = ioopt.solve(problem, "io-exact", time_limit=limit)
    assert bool(searched) is (limit == 60.0)
    assert (found.status, found.stop) == (
        "feasible",
        "time",
    ) and found.bound < found.objective
    assert found.plan["policy"] in ("io-exact", "least-delay", "adaptive", "base-line")
