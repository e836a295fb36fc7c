"""Fractions, floats and the compiled engine give one schedule where no
reference stands beside them.
"""

import math
import random
from typing import Any

import pytest
from conftest import ENGINES, first, needs_kernels
from hypothesis import given
from hypothesis import strategies as st

import ioopt
from ioopt.decisions import ordering
from ioopt.decisions.ordering import (
    ascending,
    insert_by_digits,
    nine_digits,
)
from ioopt.models.batch_io import bounds
from tests.batch_io_traces import POLICIES, by_hand, random_trace


def times(result: ioopt.Result) -> list[float]:
    assert result.violations == ()
    assert result.schedule is not None
    found: list[Any] = []
    for job in result.schedule["jobs"]:
        found += [
            job["start_seconds"],
            job["end_seconds"],
            job["killed"],
            job["first_node"],
        ]
        for record in job["io"]:
            found += [
                record[key]
                for key in ("phase", "request_seconds", "first_grant_seconds")
            ]
            found.append(record["finish_seconds"])
    return [-1.0 if value is None else float(value) for value in found]


@pytest.mark.parametrize("name", first(6, POLICIES))
@pytest.mark.parametrize("engine", ENGINES)
def test_engines_agree(name: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an open loop, which the slow reference does not know."""
    monkeypatch.setattr(
        bounds, "WORK", 0
    )  # the bound of the I/O delay is not what is compared
    delayed = 0
    for seed in range(12):
        problem = random_trace(seed)
        runs = [
            ioopt.solve(problem, name, settings={"loop": "open", "ef": "1.5", **kind})
            for kind in ({"arithmetic": "exact"}, {"engine": engine})
        ]
        exact, other = (times(run) for run in runs)
        assert other == pytest.approx(exact, abs=1e-6), (seed, name)
        metrics = [run.metrics for run in runs]
        for key, value in metrics[0].items():
            assert metrics[1][key] == pytest.approx(value, abs=1e-6), (seed, key)
        delayed += metrics[0]["io_delay_seconds"] > 0
    # The traces must put the policies to the test: contention in most of them.
    assert delayed > 7 or name == "no-congestion"


def wide_trace(seed: int) -> Any:
    """Requests of up to 200 units before a storage that takes 63 to 193:
    subset-sums of many words.
    """
    rng = random.Random(seed)
    jobs = [
        (
            k,
            rng.choice([0, 0, 1, 2, 5]),
            rng.choice([1, 3, 7, 17, 33, 40, 63, 64, 65, 90, 130, 200]),
            500,
            [(rng.choice([0, 1, 3]), rng.choice([50, 200, 400, 1000]))] * 2,
        )
        for k in range(25)
    ]
    storage = rng.choice([63, 64, 65, 128, 150, 193])
    return ioopt.load(
        by_hand(jobs, {"nodes": 400, "storage_bytes_per_second": storage})
    )


def on_both(problem: Any, name: str, **settings: str) -> ioopt.Result:
    """The run in plain Python, which machine code repeats."""
    plain, fast = (
        ioopt.solve(problem, name, settings={"engine": engine, **settings})
        for engine in ("python", "compiled")
    )
    assert times(fast) == times(plain), name
    return plain


@needs_kernels
@pytest.mark.parametrize("name", ["cons-max-util", "cons-max-util+top"])
def test_engines_agree_on_wide_subset_sums(name: str) -> None:
    for seed in range(12):
        assert on_both(wide_trace(seed), name).metrics["io_delay_seconds"] > 0


@needs_kernels
@pytest.mark.slow
def test_open_loop_with_more_requests_than_units() -> None:
    """Open loop counts no nodes: two jobs start at a time, one transfers,
    so requests pile up.
    """
    jobs = [(k, k, 38 + k % 3, 50, [(1, 160 * (1 + k % 5))]) for k in range(220)]
    problem = ioopt.load(by_hand(jobs, {"nodes": 80, "storage_bytes_per_second": 41}))
    for name in ("cons-max-util", "cons-max-util+top"):
        plain = on_both(problem, name, loop="open")
        assert plain.schedule is not None
        asked = [job["io"][0]["request_seconds"] for job in plain.schedule["jobs"]]
        done = [job["io"][0]["finish_seconds"] for job in plain.schedule["jobs"]]
        assert sum(start <= asked[-1] < end for start, end in zip(asked, done)) > 80


BASES = st.one_of(
    st.sampled_from([0.0, 1.0, 9.999999995, 10.0, 1e9, 1e-7, math.inf]),
    st.floats(1e-12, 1e12),
)


@given(st.lists(BASES, min_size=1, max_size=8), st.floats(-3e-8, 3e-8))
def test_order_at_nine_digits(bases: list[float], noise: float) -> None:
    """Keys are ordered as if all were rounded, though only close ones are."""
    keys = [*bases, *(base * (1 + noise) for base in bases)]
    expected = sorted(range(len(keys)), key=lambda k: (nine_digits(keys[k]), k))
    assert ascending(keys, False) == expected
    found = [0] * len(keys)  # as C has it: it rounds close ones alone
    insert_by_digits(keys, found, len(keys), False)
    assert found == expected


WHOLE = st.lists(st.integers(0, 9), max_size=40)


@given(WHOLE, st.floats(0, 9), st.data())
def test_what_c_sorts_and_finds_is_what_python_does(
    numbers: list[int], value: float, data: st.DataObject
) -> None:
    keys = [float(number) for number in numbers]
    first = data.draw(st.integers(0, len(keys)))
    last = data.draw(st.integers(first, len(keys)))
    ours, theirs = list(range(len(keys))), list(range(len(keys)))
    ordering.sort_by(keys, ours, first, last)
    ordering.shell_sort(keys, theirs, first, last)
    assert ours == theirs
    count = last - first
    least = ordering.least(keys, first, count)
    assert ordering.scan(keys, first, count) == least
    keys.sort()
    place = ordering.bisect_right(keys, value, first, last)
    assert ordering.search(keys, value, first, last) == place
