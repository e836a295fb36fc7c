"""One comparison, one measure: values, bounds, gaps, ratios, and
how tables show them.
"""

import math
import random
from itertools import product

import pytest

from ioopt.comparing import compare_rows
from ioopt.comparing.measures import add_ratios, standing
from ioopt.comparing.table import comparison_text, summary_text
from ioopt.errors import UsageError
from ioopt.metrics import holm, paired_ratios, signed_rank_p
from ioopt.registry import KINDS, measure_of
from ioopt.registry.types import Metric
from ioopt.result import relative_gap
from ioopt.tables import render
from ioopt.timeline import Interval, Timeline
from ioopt.units import column, quantity, show, title
from ioopt.verdict import strongest_sound

REPLICATION = KINDS["replication"]
MAKESPAN = measure_of(REPLICATION)


def result_row(status, makespan, *, reference=False, bound=None, **metrics):
    """A comparison's row by makespan, before ratios are added;
    *bound* is the row's own.
    """
    value = makespan if status in ("optimal", "feasible") else None
    return {
        "instance": "i",
        "solver": "s",
        "status": status,
        "stop": "finished",
        "objective": makespan,
        "objective_name": "makespan_seconds",
        "bound": bound,
        "gap": None,
        "metrics": {"makespan_seconds": makespan, **metrics},
        "reference": reference,
        "violations": [],
        "build_seconds": None,
        "solve_seconds": None,
        "value": value,
    }


def test_default_measures_are_what_the_user_waits_for():
    found = {name: str(measure_of(kind)) for name, kind in KINDS.items()}
    assert found["replication"] == "makespan_seconds (less is better)"
    assert found["batch-io"] == "mean_response_seconds (less is better)"
    assert found["gang"] == "mean_slowdown (less is better)"
    assert found["flexible-gang"] == "weighted_progress (more is better)"
    assert measure_of(KINDS["batch-io"], "useful_utilisation").sense == "max"
    with pytest.raises(UsageError, match="did you mean 'makespan_seconds'"):
        measure_of(REPLICATION, "makespan_second")


def test_what_is_proven_of_another_objective_has_columns_of_its_own():
    """A plan of 12 s that is proven the best by 7 s of additive
    time, beside one of 10 s.
    """
    proof = {"additive_seconds": 7.0, "additive_bound_seconds": 7.0}
    rows = [
        result_row("feasible", 12.0, **proof),
        result_row("feasible", 10.0, additive_seconds=8.0),
    ]
    add_ratios(rows, MAKESPAN)
    assert [(standing(row), row["gap"]) for row in rows] == [("feasible", None)] * 2
    cells = [
        line.split()
        for line in comparison_text(rows, REPLICATION, MAKESPAN, None).splitlines()
    ]
    assert cells[1][-3:] == ["additive", "additive", "gap"]
    assert [line[-3:] for line in cells[3:]] == [["s", "0", "%"], ["8.000", "s", "-"]]
    # where no row proves it, the column is not there
    del rows[0]["metrics"]["additive_bound_seconds"]
    assert "additive" not in comparison_text(rows, REPLICATION, MAKESPAN, None)


def test_gaps_are_to_the_tightest_bound_that_holds():
    rows = [result_row("feasible", 12.0, bound=6.0), result_row("feasible", 10.0)]
    add_ratios(rows, MAKESPAN, shared=10.0)
    assert [row["gap"] for row in rows] == [pytest.approx(2 / 12), 0.0]
    assert [row["status"] for row in rows] == ["feasible", "optimal"]
    assert [standing(row) for row in rows] == ["feasible", "optimal"]
    # a bound that a value contradicts was proven under other rules, and
    # is not used for it
    assert strongest_sound("min", 9.0, [6.0, 10.0]) == 6.0
    assert strongest_sound("max", 9.0, [12.0, 8.0]) == 12.0


def test_ratios_are_1_for_the_best_and_more_for_worse():
    for sense, ratios in (("min", [1.2, 1.0]), ("max", [1.0, 1.2])):
        rows = [result_row("feasible", 12.0), result_row("feasible", 10.0)]
        add_ratios(rows, Metric("makespan_seconds", sense))
        assert [row["ratio_to_best"] for row in rows] == pytest.approx(ratios)


def test_gap_of_a_maximisation_divides_by_the_bound():
    assert relative_gap(0.8, 1000.0, "max") == pytest.approx(0.9992)  # not 124900 %
    assert relative_gap(0.0, 5.0, "max") == 1.0
    assert relative_gap(10.0, 9.0) == pytest.approx(0.1)
    assert relative_gap(-1.2, -0.9, "max") == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("value", "bound", "sense"),
    [(-1.2, 1.0, "max"), (-1.2, 0.0, "max"), (4.0, -1.0, "min")],
)
def test_there_is_no_gap_across_0(value, bound, sense):
    assert relative_gap(value, bound, sense) is None
    row = result_row("feasible", value, bound=bound)
    add_ratios([row], Metric("makespan_seconds", sense))
    assert (row["bound"], row["gap"]) == (bound, None)


@pytest.mark.parametrize(
    ("status", "stop", "said"),
    [
        ("unknown", "time", "no answer"),
        ("error", "finished", "failed"),
        ("failed", None, "failed"),
        ("feasible", "fallback", "fell back"),
        ("does not apply", "finished", "does not apply"),
        ("infeasible", "finished", "infeasible"),
    ],
)
def test_what_became_of_a_row(status, stop, said):
    rows = [result_row(status, 3.0) | {"stop": stop}]
    add_ratios(rows, MAKESPAN)
    assert standing(rows[0]) == said


def several(values):
    """Rows of solvers on instances: {(solver, instance): value, or why there is
    none}.
    """
    rows = []
    for name in dict.fromkeys(instance for _, instance in values):
        own = []
        for (solver, instance), value in values.items():
            if instance != name:
                continue
            known = isinstance(value, float)
            one = result_row("feasible", value) if known else result_row(value, None)
            more = {"solver": solver, "instance": name}
            if known:
                more["metrics"] = {"makespan_seconds": value}
            own.append(one | more)
        add_ratios(own, MAKESPAN)
        rows += own
    return rows


def test_a_summary_is_over_pairs_and_names_what_is_left_out():
    """a and b have two pairs, 10/8 and 1/2; c is nowhere, a broken plan and no answer
    of b take one pair each.
    """
    values = {("a", "i"): 10.0, ("b", "i"): 8.0, ("c", "i"): "does not apply"}
    values |= {("a", "j"): 1.0, ("b", "j"): "unknown", ("c", "j"): "does not apply"}
    values |= {("a", "k"): 1.0, ("b", "k"): 2.0, ("c", "k"): "does not apply"}
    values |= {("a", "l"): "error", ("b", "l"): 2.0, ("c", "l"): "feasible"}
    rows = several(values)
    for row in rows:
        row["violations"] = (
            [{}] if (row["solver"], row["instance"]) == ("a", "l") else []
        )
    text = summary_text({"": rows}, REPLICATION, MAKESPAN, "b", "table", 80)
    assert text.startswith("4 instances, by makespan_seconds (less is better); ratios")
    cells = {line.split()[0]: line.split() for line in text.splitlines()[5:8]}
    # solver, pairs, ratio, interval, wins/ties/losses, p, gap, time
    assert cells["a"][1:5] == ["2", "0.791", "-", "1/0/1"]
    assert cells["b"][1:3] == ["3", "1.000"] and cells["c"][1:4] == ["0", "-", "-"]
    assert (
        "Left out: c on 3 instances (does not apply), b on 1 instance (no answer), "
        "a on 1 instance (broke a rule), c on 1 instance (without this measure)."
    ) in " ".join(text.split())
    assert "interval and p need 5 pairs" in text


def test_a_summary_states_the_corrected_test():
    """b is longer than a on six of six, c on five of six by the same factors."""
    factors = [1.1, 1.2, 1.3, 1.4, 1.5, 1.6]
    values = {}
    for name, factor in zip("ijklmn", factors):
        values["a", name] = 1.0
        values["b", name] = factor
        values["c", name] = factor if name != "i" else 1 / 1.1
    text = summary_text({"": several(values)}, REPLICATION, MAKESPAN, "a", "csv", None)
    b, c = (line.split(",") for line in text.splitlines()[3:5])
    assert (b[4], c[4]) == ("0/0/6", "1/0/5")
    # 2/64 twice over; 4/64, the greatest sum of ranks but one
    assert (b[5], c[5]) == ("0.062", "0.062")
    assert "Holm-corrected for 2 solvers" in text and "Left out" not in text


@pytest.mark.parametrize("restricted", ["ip-no-replication", "ip:replication=no"])
def test_bounds_of_a_restricted_problem_are_not_of_the_instance(restricted):
    """Without copies cycle3 costs 8.12 s a node, with copies 5.184, which
    bounds the other two.
    """
    solvers = [restricted, "ip", "job-data-present"]
    measure = measure_of(REPLICATION, "additive_seconds")
    rows = compare_rows("cycle3", solvers, measure=measure.name, time_limit=20)
    assert [row["value"] for row in rows] == pytest.approx([8.12, 5.184, 14.184])
    assert [row["bound"] for row in rows] == pytest.approx([5.184] * 3)
    assert [row["status"] for row in rows] == ["feasible", "optimal", "feasible"]
    assert rows[0]["gap"] == pytest.approx((8.12 - 5.184) / 8.12)
    assert "optimal for the solver's own model" in " ".join(rows[0]["notes"])
    assert "bound 5.184 s" in comparison_text(rows, REPLICATION, measure, None)
    text = summary_text({"": rows}, REPLICATION, measure, "ip", "table", None)
    assert "proven optimal (gap 0): ip 1 of 1." in text


def test_a_restricted_problem_alone_has_the_quick_bound():
    row = compare_rows("cycle3", ["ip-no-replication"], measure="additive_seconds")[0]
    assert row["status"] == "feasible" and 0 < row["bound"] <= 5.184


UNITS = [
    ("makespan_seconds", 90.0, "90 s"),
    ("makespan_seconds", 552.752, "9.213 min"),
    ("makespan_seconds", 9000.0, "2.5 h"),
    ("makespan_seconds", 200_000.0, "2.315 d"),
    ("io_delay_seconds", -8e-11, "0 s"),
    ("quantum_seconds", 0.004, "4 ms"),
    ("remote_bytes", 6_896_000_000, "6.896 GB"),
    ("granted_bytes_per_second", 4e9, "4 GB/s"),
    ("utilisation", 0.9398, "93.98 %"),
    ("evictions", 12, "12"),
    ("mean_slowdown", 1.25, "1.25"),
    ("node_weighted_io_delay", 75.0, "75 s"),
    ("value_las", 3.9e-5, "3.9e-05"),
    ("makespan_seconds", None, "-"),
    ("remote_bytes", 0, "0 B"),
]


@pytest.mark.parametrize(("name", "value", "text"), UNITS)
def test_every_number_has_its_unit(name, value, text):
    assert quantity(name, value) == text


def test_a_column_has_one_unit_and_no_minus_zero():
    assert column("wait_seconds", [8000.0, 60.0, -8e-11]) == [
        "2.222 h",
        "0.017 h",
        "0.000 h",
    ]
    assert show(1e300) == "1e+300" and len(show(10**400)) < 16 and show(-8e-11) == "0"
    assert title("mean_response_seconds") == "mean response"


@pytest.mark.parametrize("width", [60, 80, 100, 160])
@pytest.mark.parametrize("kind", ["replication", "batch-io", "gang", "flexible-gang"])
def test_no_line_is_wider_than_the_terminal(width, kind):
    spec = KINDS[kind]
    by = measure_of(spec)
    metrics = {name: 123456.789 for name in spec.columns}
    rows = [
        result_row("optimal", metrics[by.name])
        | {"solver": "cons-min-inst-sld+top", "metrics": metrics}
    ]
    add_ratios(rows, by, shared=123456.0 if by.sense == "min" else 999999.0)
    text = comparison_text(rows, spec, by, width)
    assert max(map(len, text.splitlines()[1:])) <= width
    wide = comparison_text(rows, spec, by, None)
    assert ("--wide" in text) == (len(wide.splitlines()[1]) > len(text.splitlines()[1]))
    summary = summary_text({"": rows}, spec, by, rows[0]["solver"], "table", width)
    assert max(map(len, summary.splitlines()[1:])) <= max(80, width)


def test_tables_drop_columns_from_the_right_and_wrap_only_the_last():
    headers, rows = ("name", "value", "words"), [("a", 1, "some words " * 6)]
    assert render(headers, rows, width=40, keep=2).splitlines()[0].split() == [
        "name",
        "value",
    ]
    folded = render(headers, rows, width=40, wrap=1).splitlines()
    assert (
        max(map(len, folded)) <= 40 and sum(line.count("some") for line in folded) == 6
    )


def row(solver, instance, value, status="feasible"):
    return {
        "solver": solver,
        "instance": instance,
        "status": status,
        "objective_name": "other",
        "metrics": {"m": value},
    }


def test_intervals_wins_ties_and_losses_by_hand():
    """b / a is 1/2, 1/2, 1, 2 and 2: the mean of their logarithms is 0.

    Their variance is 4 ln(2)^2 / 4, the mean's error ln(2) / sqrt(5), Student's t of
    four degrees 2.776445: the interval goes to exp(2.776445 x .693147 / 2.236068) =
    exp(.860662) = 2.364711.
    """
    rows = [row("a", name, 2.0) for name in "ijklm"]
    rows += [
        row("b", name, value) for name, value in zip("ijklm", (1.0, 1.0, 2.0, 4.0, 4.0))
    ]
    rows += [row("c", name, value) for name, value in zip("ijkl", (4.0, 1.0, 4.0, 1.0))]
    for most in ((), ("m",)):
        _, b, c = paired_ratios(rows, "a", ["m"], most)
        assert (b.wins, b.ties, b.losses) == (2, 1, 2)
        assert (c.wins, c.ties, c.losses) == (2, 0, 2)
    assert (b.mean_ratio, b.low, b.high) == pytest.approx((1.0, 1 / 2.364711, 2.364711))
    # Four pairs have a mean and no interval; an arithmetic mean would say 1.25.
    assert (c.mean_ratio, c.pairs, c.low, c.high) == (pytest.approx(1.0), 4, None, None)


@pytest.mark.parametrize("seed", range(5))
def test_the_signed_rank_test_counts_all_signs(seed):
    """The share of the 2^n assignments of signs whose sum of positive ranks is as far
    from its mean as the one found.
    """
    draw = random.Random(seed)
    logs = [draw.gauss(0.4, 1.0) for _ in range(8)]
    ranks = [sorted(map(abs, logs)).index(abs(log)) + 1 for log in logs]
    found = abs(sum(rank for rank, log in zip(ranks, logs) if log > 0) - 18)
    far = 0
    for signs in product((0, 1), repeat=8):
        far += abs(sum(rank for rank, sign in zip(ranks, signs) if sign) - 18) >= found
    ratios = [math.exp(log) for log in logs]
    assert signed_rank_p(ratios) == pytest.approx(far / 2**8)
    assert signed_rank_p([*ratios, 1.0, 1 + 1e-12]) == pytest.approx(far / 2**8)
    assert signed_rank_p(ratios[:4]) is None and signed_rank_p([*ratios, 0.0]) is None


def test_holm_corrects_step_by_step_and_keeps_the_order():
    """Four values: times 4, 3, 2, 1 in ascending order, never below the one before."""
    assert holm([0.03, 0.01, 0.02, 0.9]) == pytest.approx([0.06, 0.04, 0.06, 0.9])
    assert holm([0.6, 0.7]) == [1.0, 1.0] and holm([]) == []


def test_what_is_not_sound_has_no_ratio_and_no_win():
    """d breaks a rule on both instances and is half as long: it is in no pair."""
    rows = [row("a", name, 2.0) for name in "ij"]
    rows += [row("d", name, 1.0, status="error") for name in "ij"]
    assert [found.solver for found in paired_ratios(rows, "a", ["m"])] == ["a"]


def test_a_ratio_of_0_has_no_geometric_mean():
    rows = [
        row("a", "i", 2.0),
        row("a", "j", 2.0),
        row("b", "i", 0.0),
        row("b", "j", 2.0),
    ]
    b = paired_ratios(rows, "a", ["m"])[1]
    assert (b.mean_ratio, b.wins, b.ties) == (None, 1, 1)


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
    assert text[-1].index("10") + 2 == text[-2].index("1.5") + 3
    assert render(("a", "b"), [(1, None)], "csv") == "a,b\n1,\n"
    assert render(("a", "b"), [(1, 2)], "markdown").splitlines()[0].startswith("|")


def test_timeline_orders_and_names_resources():
    timeline = Timeline.of(
        [Interval(2, 3, "n1", "compute", "b"), Interval(0, 2, "n0", "remote", "f")],
        ("n0",),
    )
    assert [item.label for item in timeline.intervals] == ["f", "b"]
    assert timeline.resources == ("n0", "n1")
    assert timeline.makespan == 3
    assert timeline.intervals[1].duration == 1
