"""One measure from solve to report: what ip optimises, what rows state, what
comes once a comparison.
"""

import json
from typing import Any

import pytest
from conftest import first
from unit.core.test_measures import MAKESPAN, REPLICATION, result_row

import ioopt
from ioopt import comparing, solving
from ioopt.cli.main import main
from ioopt.comparing import compare_rows
from ioopt.comparing.measures import add_ratios
from ioopt.comparing.table import comparison_text
from ioopt.models.gang import slowdown_bound
from ioopt.registry import KINDS, measure_of

# cycle3: one file of 64 MB for six tasks of 1.5 s on three nodes, 12.5 MB/s from far.
# Fetched and copied once, two tasks a node, it adds up to 5.184 s (the worked case);
# replayed that plan ends at 9.684 s, and the queues that end first at 8.248 s.
ADDITIVE, REPLAYED, LEAST = 5.184, 9.684, 8.248


def solved(solver: str = "ip", measure: str | None = None, **settings: str) -> Any:
    return ioopt.solve(
        "cycle3", solver, measure=measure, time_limit=None, settings=settings
    )


def test_without_a_measure_ip_is_the_papers_program_and_its_value_the_makespan() -> (
    None
):
    result = solved()
    assert (result.objective_name, result.status) == ("additive_seconds", "optimal")
    assert (result.objective, result.bound, result.gap) == pytest.approx(
        (ADDITIVE, ADDITIVE, 0)
    )
    assert (result.measure, result.value) == (
        "makespan_seconds",
        pytest.approx(REPLAYED),
    )
    assert repr(result) == (
        "<Result of ip on cycle3: status: optimal (additive objective, equation 13), "
        "makespan: 9.684 s; 95 % of noisy runs within 9.684 s, additive: 5.184 s>"
    )


def test_ip_optimises_the_measure_by_itself() -> None:
    least = solved(measure="makespan_seconds")
    assert (least.objective_name, least.objective) == (
        "makespan_seconds",
        pytest.approx(LEAST),
    )
    assert least.value == least.objective and ioopt.check("cycle3", least) == []
    assert "makespan: 8.248 s" in repr(least)
    added = solved(measure="additive_seconds")
    assert (added.value, added.status) == (pytest.approx(ADDITIVE), "optimal")
    assert "additive: 5.184 s" in repr(added) and ioopt.check("cycle3", added) == []


@pytest.mark.parametrize(
    ("solver", "settings"),
    [("ip", {"anneal": "false"}), ("ip-no-replication", {})],
)
def test_a_setting_wins_over_the_measure_and_says_so(
    solver: str, settings: dict[str, str]
) -> None:
    result = solved(solver, "makespan_seconds", **settings)
    assert (
        result.notes[0]
        == "additive_seconds is optimised; the measure is makespan_seconds"
    )
    assert (result.status, result.objective_name) == ("feasible", "makespan_seconds")
    proven = result.metrics["additive_bound_seconds"]
    assert proven == pytest.approx(result.metrics["additive_seconds"])
    assert ioopt.check("cycle3", result) == []


KINDS_AND_MEASURES = [
    row
    for name, kind in (
        ("cycle3", KINDS["replication"]),
        ("two-writers", KINDS["batch-io"]),
        ("gang-figure-5", KINDS["gang"]),
        ("gang-figure-3", KINDS["gang-matrix"]),
        ("flexgang-tiny", KINDS["flexible-gang"]),
        ("quantum-plain", KINDS["quantum-selection"]),
        ("two-writers-now", KINDS["io-requests"]),
    )
    for row in first(
        1 if name == "quantum-plain" else 2,
        [
            (name, kind.kind, measure)
            for measure in dict.fromkeys(
                [measure_of(kind).name, kind.objective.name, *kind.columns]
            )
        ],
    )
]


@pytest.mark.parametrize(("name", "kind", "measure"), KINDS_AND_MEASURES)
def test_every_measure_is_stated_and_checked(
    name: str, kind: str, measure: str
) -> None:
    solver = {"replication": "minmin"}.get(kind)
    result = ioopt.solve(name, solver, measure=measure, time_limit=20)
    assert (result.measure, result.objective_name) == (measure, measure)
    assert (
        result.value
        == result.objective
        == result.metrics.get(measure, result.objective)
    )
    assert ioopt.check(name, result) == []


def test_the_frame_has_the_solvers_as_index_and_eight_columns() -> None:
    table = ioopt.compare("cycle3", ["minmin", "job-data-present"], time_limit=None)
    assert table.index.name == "solver" and list(table.index) == [
        "minmin",
        "job-data-present",
    ]
    assert list(table) == [
        "status",
        "makespan_seconds",
        "bound",
        "gap",
        "ratio_to_best",
        "seconds",
        "noisy_mean_seconds",
        "remote_bytes",
    ]
    wide = ioopt.compare("cycle3", "minmin", time_limit=None, wide=True)
    assert {"format", "value", "objective", "evictions", "notes"} <= set(wide)
    both = ioopt.compare(["cycle3", "two-pairs"], "minmin", time_limit=None)
    assert list(both.index) == [("cycle3", "minmin"), ("two-pairs", "minmin")]


def test_times_of_a_table_have_one_unit() -> None:
    """56 and 120.667 s, not 0.933 and 2.011 min; the solver's own time
    stays apart, in seconds.
    """
    rows = [result_row("feasible", 56.0), result_row("feasible", 120.667)]
    rows[1]["solve_seconds"] = 0.25
    add_ratios(rows, MAKESPAN, shared=56.0)
    lines = comparison_text(rows, REPLICATION, MAKESPAN, None).splitlines()
    assert lines[0].endswith("bound 56 s")
    cells = [line.split() for line in lines[3:]]
    assert [line[2:4] for line in cells] == [["56.0", "s"], ["120.7", "s"]]
    assert cells[1][-2:] == ["0.250", "s"]


def test_the_bound_of_the_kind_is_computed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    true = slowdown_bound.mean_slowdown_bound

    def counted(*arguments: Any) -> Any:
        asked.append(arguments[0])
        return true(*arguments)

    monkeypatch.setattr(slowdown_bound, "mean_slowdown_bound", counted)
    rows = compare_rows("gang-figure-5", ["gs", "iogs", "index-iogs"], time_limit=None)
    assert len(asked) == 1 and len({row["bound"] for row in rows}) == 1


@pytest.mark.parametrize(
    "inside", [True, False], ids=["in a solver", "between solvers"]
)
def test_an_interruption_ends_the_whole_command(
    inside: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two solvers on three files; the third solve of six is interrupted: one
    file, one row, no third.
    """
    calls = []

    def interrupt(target: Any, name: str) -> None:
        true = getattr(target, name)

        def counted(*arguments: Any, **more: Any) -> Any:
            calls.append(arguments)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return true(*arguments, **more)

        monkeypatch.setattr(target, name, counted)

    interrupt(*((solving, "_call") if inside else (comparing, "solve")))
    files = ("cycle3", "two-pairs", "image-16x3")
    both = ["--solver", "minmin", "--solver", "job-data-present"]
    code = main(["compare", *files, *both, "--format", "json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert code == 130 and len(calls) == 3
    assert [(row["instance"], row["stop"]) for row in rows] == [
        ("cycle3", "finished"),
        ("cycle3", "finished"),
        ("two-pairs", "interrupted"),
    ]


def test_a_summary_reads_neither_plan_nor_schedule() -> None:
    """It is the rest of the whole; what JSON cannot hold stands in
    both, and is not met.
    """
    result = solved()
    rest = {
        key: value
        for key, value in result.to_dict().items()
        if key not in ("plan", "schedule")
    }
    assert result.summary() == rest and list(result.summary()) == list(rest)
    hidden = {"plan": {"x": object()}, "schedule": {"x": object()}}
    assert result.model_copy(update=hidden).summary() == rest
    with pytest.raises(ValueError, match="serialize"):
        result.model_copy(update=hidden).to_dict()


def test_answers_to_another_question_are_not_compared() -> None:
    """The open loop starts every job at once: shorter, and no better."""
    rows = ioopt.comparing.compare_rows(
        "small-8", ["fill", "fill:loop=open", "base-line"]
    )
    assert [row["reference"] for row in rows] == [False, True, False]
    assert rows[1]["ratio_to_best"] is None and "(loop=open)" in rows[1]["notes"][-1]
