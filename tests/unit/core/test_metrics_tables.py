"""Metrics and tables by hand."""

from __future__ import annotations

import pytest

from ioopt.comparing.measures import add_ratios
from ioopt.metrics import paired_ratios
from ioopt.registry import KINDS, measure_of
from ioopt.tables import render
from ioopt.timeline import Interval, Timeline

REPLICATION = KINDS["replication"]


def result_row(status, makespan, *, reference=False, bound=None, **metrics):
    """A comparison's row by makespan, before ratios are added; *bound* is the row's own."""
    value = makespan if status in ("optimal", "feasible") else None
    return {
        "instance": "i", "solver": "s", "status": status, "stop": "finished",
        "objective": makespan, "objective_name": "makespan_seconds", "bound": bound, "gap": None,
        "metrics": {"makespan_seconds": makespan, **metrics}, "reference": reference,
        "build_seconds": None, "solve_seconds": None, "value": value,
    }  # fmt: skip


def row(solver, instance, value):
    return {"solver": solver, "instance": instance, "metrics": {"m": value}}


def test_ratios_are_paired_by_instance():
    rows = [row("a", "i", 2.0), row("a", "j", 4.0), row("b", "i", 1.0), row("b", "j", 1.0)]
    rows.append(row("b", "alone", 9.0))
    found = {ratio.solver: ratio for ratio in paired_ratios(rows, "a", ["m"])}
    assert found["a"].mean_ratio == 1.0
    assert found["b"].mean_ratio == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert found["b"].pairs == 2


def test_intervals_wins_ties_and_losses_by_hand():
    """b / a is 1/2, 1 and 3/2: mean 1, variance 1/4, error 1/sqrt(12); t of two degrees is 4.302653."""
    rows = [row("a", name, 2.0) for name in "ijk"]
    rows += [row("b", name, value) for name, value in zip("ijk", (1.0, 2.0, 3.0), strict=True)]
    rows.append(row("c", "j", 4.0))  # answered one instance only: a ratio, but no interval
    for most, counts in (((), (1, 1, 1)), (("m",), (1, 1, 1))):
        _, b, c = paired_ratios(rows, "a", ["m"], most)
        assert (b.wins, b.ties, b.losses) == counts
        assert (c.wins, c.losses) == ((1, 0) if most else (0, 1))
    half = 4.302653 / 12**0.5
    assert (b.mean_ratio, b.low, b.high) == pytest.approx((1.0, 1 - half, 1 + half))
    assert (c.mean_ratio, c.pairs, c.low, c.high) == (2.0, 1, 2.0, 2.0)


def test_ratio_to_best_ignores_failed_rows_and_references():
    rows = [
        result_row(status, value, reference=k == 3)
        for k, (status, value) in enumerate(
            [("optimal", 4.0), ("feasible", 5.0), ("error", 1.0), ("feasible", 2.0)]
        )
    ]
    add_ratios(rows, measure_of(REPLICATION))
    assert [r["ratio_to_best"] for r in rows] == [1.0, 1.25, None, None]


def test_tables_align_in_every_form():
    rows = [("short", 1.5, None), ("a longer name", 10, "x")]
    text = render(("name", "value", "note"), rows).splitlines()
    assert len({len(line.rstrip()) for line in text if "-" not in line[:1]}) >= 1
    assert text[-1].index("10") + 2 == text[-2].index("1.5") + 3
    assert render(("a", "b"), [(1, None)], "csv") == "a,b\n1,\n"
    assert render(("a", "b"), [(1, 2)], "markdown").splitlines()[0].startswith("|")


def test_timeline_orders_and_names_resources():
    timeline = Timeline.of(
        [Interval(2, 3, "n1", "compute", "b"), Interval(0, 2, "n0", "remote", "f")], ("n0",)
    )
    assert [item.label for item in timeline.intervals] == ["f", "b"]
    assert timeline.resources == ("n0", "n1")
    assert timeline.makespan == 3
    assert timeline.on("n1")[0].duration == 1
