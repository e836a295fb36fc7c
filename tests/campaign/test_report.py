"""The report: figures by hand, and the page as a browser sees it, without a network."""

import re

import pytest
from campaign_helpers import MINIMAL, row, run_sweep, write_config
from result_pages import opened

from ioopt.campaign import frame as frames
from ioopt.campaign.report import report_html
from ioopt.campaign.store import Store
from ioopt.cli.main import main
from ioopt.errors import UsageError


def put(folder, *rows, name="runs"):
    """The path of a store of *rows*."""
    path = str(folder / f"{name}.sqlite")
    with Store(path) as store:
        for each in rows:
            store.put(each)
    return path


def stored(folder, rows):
    made = []
    for k, (solver, instance, makespan, status) in enumerate(rows):
        metrics = {"makespan_seconds": makespan} if makespan is not None else {}
        made.append(
            row(
                f"k{k:03}",
                solver=solver,
                digest=instance,
                metrics=metrics,
                status=status,
            )
        )
    return put(folder, *made)


ROWS = [
    ("exact", "i", 10.0, "optimal"),
    ("greedy", "i", 20.0, "feasible"),
    ("exact", "j", 30.0, "feasible"),
    ("greedy", "j", 15.0, "feasible"),
    ("exact", "k", None, "failed"),
    ("greedy", "k", 7.0, "feasible"),
]


def test_a_solver_is_named_as_in_compare(tmp_path):
    given = {"seven": {"alpha": 0.7, "loop": "open"}, "plain": {}}
    rows = [row(key, solver="fill", settings=some) for key, some in given.items()]
    frame = frames.read_frame([put(tmp_path, *rows)]).set_index("key")
    assert frame.loc["seven", "variant"] == "fill:alpha=0.7,loop=open"
    assert frame.loc["plain", "variant"] == "fill"


def test_ratios_and_wins_by_hand(tmp_path):
    frame = frames.read_frame([stored(tmp_path, ROWS)])
    table = frames.summary(frame).set_index("variant")
    # over i and j, which both answered: exact 10/10 and 30/15, greedy 20/10 and 15/15
    assert table.loc["exact", "mean_ratio"] == pytest.approx(2**0.5)
    assert table.loc["greedy", "mean_ratio"] == pytest.approx(2**0.5)
    assert table["common"].to_list() == [2, 2]
    assert table["wins"].to_dict() == {"exact": 1, "greedy": 2}
    assert table["failed"].to_dict() == {"exact": 1, "greedy": 0}


def test_what_breaks_a_rule_has_no_ratio_and_no_win(tmp_path):
    """Over five instances b / a is 1/2, 1/2, 1, 2 and 2; the cheat
    halves the best of each.

    Ratios to the best of a are 2, 2, 1, 1, 1: the mean of their logarithms is 2 ln(2) /
    5 = .277259, a geometric mean of 1.319508. Their variance is (.4 x .6 x 5 / 4)
    ln(2)^2, the error of the mean ln(2) sqrt(.3 / 5) = .169786, times 2.776445 of
    Student's t .471401: .824 to 2.114.
    """
    rows = [("a", name, 2.0, "feasible") for name in "ijklm"]
    rows += [
        ("b", name, at, "feasible")
        for name, at in zip("ijklm", (1.0, 1.0, 2.0, 4.0, 4.0))
    ]
    path = stored(tmp_path, rows)
    with Store(path) as store:
        for k, name in enumerate("ijklm"):
            store.put(
                row(
                    f"c{k}",
                    solver="cheat",
                    digest=name,
                    status="error",
                    violations=3,
                    metrics={"makespan_seconds": 0.5},
                )
            )
    frame = frames.read_frame([path])
    table = frames.summary(frame).set_index("variant")
    assert table["wins"].to_dict() == {"a": 3, "b": 3, "cheat": 0}
    assert table.loc["cheat", "failed"] == 5
    assert (
        frame.loc[frame["solver"] == "cheat", ["value", "ratio", "gap"]]
        .isna()
        .all(axis=None)
    )
    ends = [table.loc["a", name] for name in ("mean_ratio", "low", "high")]
    assert ends == pytest.approx(
        [1.319508, 1.319508 / 1.602237, 1.319508 * 1.602237], rel=1e-5
    )
    # With four instances there is no interval.
    few = frames.summary(frame[frame["digest"] != "m"]).set_index("variant")
    assert few.loc["a", ["low", "high"]].isna().all() and few.loc["a", "mean_ratio"] > 1
    assert "0.824 to 2.114" in report_html([path])


def test_gaps_are_of_one_measure_and_every_standing_is_counted(tmp_path):
    """ip proves 7 s of equation (13); the makespans 12 and 10 have the
    bound 6 in their metrics.
    """
    limit = {"lower_bound_seconds": 6.0}
    path = put(
        tmp_path,
        row(
            "a",
            solver="ip",
            status="optimal",
            objective=7.0,
            bound=7.0,
            gap=0.0,
            objective_name="additive_seconds",
            metrics={"makespan_seconds": 12.0, **limit},
        ),
        row(
            "b",
            solver="minmin",
            objective=8.0,
            bound=2.0,
            gap=0.75,
            stop="fallback",
            objective_name="additive_seconds",
            metrics={"makespan_seconds": 10.0, **limit},
        ),
        row("c", solver="w", status="does not apply"),
        row("d", solver="x", status="unknown"),
        row("e", solver="y", status="failed"),
    )
    frame = frames.read_frame([path]).set_index("solver")
    assert frame.loc["ip", "standing"] == "feasible"
    assert frame["gap"].dropna().to_dict() == pytest.approx({"ip": 0.5, "minmin": 0.4})
    table = frames.summary(frame.reset_index()).set_index("variant")
    assert table.loc["ip", "proven"] == 0 and table.loc["minmin", "fell back"] == 1
    assert [
        table.loc[name, what]
        for name, what in (("w", "does not apply"), ("x", "no answer"), ("y", "failed"))
    ] == [1, 1, 1]
    other = frames.read_frame([path], "additive_seconds").set_index("solver")
    assert other.loc["ip", "standing"] == "optimal"
    # ip's proof holds for every plan, so that minmin is within 1/8 of it
    assert other["gap"].dropna().to_dict() == pytest.approx(
        {"ip": 0.0, "minmin": 1 / 8}
    )
    assert "by additive_seconds" in report_html([path], measure="additive_seconds")
    with pytest.raises(UsageError, match="did you mean"):
        frames.read_frame([path], "makespan")
    target = str(tmp_path / "profile.svg")
    assert main(["plot", path, "--measure", "additive_seconds", "-o", target]) == 0
    assert main(["plot", path, "--measure", "makespan", "-o", target]) == 2


@pytest.mark.parametrize(
    ("solver", "settings"), [("ip-no-replication", {}), ("ip", {"replication": False})]
)
def test_a_bound_of_plans_without_copies_is_no_bound_of_the_instance(
    tmp_path, solver, settings
):
    """ip proves 5 s; without copies 8 s is the least."""
    proven = {"status": "optimal", "objective_name": "additive_seconds", "gap": 0.0}
    path = put(
        tmp_path,
        row("a", solver="ip", settings={}, objective=5.0, bound=5.0, **proven),
        row("b", solver=solver, settings=settings, objective=8.0, bound=8.0, **proven),
    )
    frame = frames.read_frame([path], "additive_seconds")
    assert frame["gap"].to_list() == pytest.approx([0.0, 3 / 8])
    assert frame["standing"].to_list() == ["optimal", "feasible"]


def test_stores_are_exported_together(tmp_path):
    import pandas as pd

    path = stored(tmp_path, ROWS[:4])
    (tmp_path / "more").mkdir()
    other = stored(tmp_path / "more", ROWS)
    target = str(tmp_path / "rows.csv")
    assert main(["plot", path, other, "-o", target]) == 0
    table = pd.read_csv(target)
    assert list(table["key"]) == [f"k{k:03}" for k in range(6)]
    assert list(table["value"].dropna()) == [10.0, 20.0, 30.0, 15.0, 7.0]
    assert list(table["ratio"].dropna()) == [1.0, 2.0, 2.0, 1.0, 1.0]


def test_the_page_names_failures_and_needs_no_network(tmp_path):
    page = report_html([stored(tmp_path, ROWS)])
    assert '<h2>Failures</h2><div class="wide"><table>' in page
    assert not re.search(r'(src|href)="https?:', page)


def test_the_page_says_where_io_is_synthetic(tmp_path):
    made = {
        "metrics": {"makespan_seconds": 2.0},
        "notes": ["I/O is synthetic: mean 0.1 of the run time"],
    }
    own = row("b", instance="own", digest="2", metrics={"makespan_seconds": 1.0})
    path = put(
        tmp_path, row("a", instance="kth.swf", digest="1", **made), own, name="made"
    )
    page = report_html([path])
    assert "<p>I/O is synthetic in kth.swf: these figures depend on it" in page
    assert list(frames.read_frame([path])["synthetic_io"]) == [1, 0]
    assert "I/O is synthetic" not in report_html([stored(tmp_path, ROWS)])


@pytest.mark.slow
def test_the_report_opens_in_a_browser(tmp_path):
    config, store = write_config(tmp_path, seeds=2), tmp_path / "runs.sqlite"
    assert run_sweep(config, store, "--workers", "2").returncode == 0
    page = tmp_path / "report.html"
    page.write_text(report_html([str(store)]))
    shown = opened(page, tmp_path / "profile")
    assert shown.count("<table") >= 3 and shown.count("<svg") >= 1


def test_a_sweep_is_by_one_measure_and_draws_its_ratios(tmp_path):
    """cycle3: the plan of minmin ends at 9.748 s and adds up to 6.748 s by (13)."""
    from ioopt.campaign.grid import build_grid, read_config
    from ioopt.campaign.work import perform

    (tmp_path / "grid.toml").write_text(MINIMAL + '[[solvers]]\nname = "ip"\n')
    config = read_config(str(tmp_path / "grid.toml"))
    keys = set()
    for measure, value in ((None, 9.748), ("additive_seconds", 6.748)):
        grid = build_grid(config.model_copy(update={"measure": measure}))
        keys |= {point.key for point in grid.points}
        found = perform(grid.points[0], grid.sources[grid.points[0].source])
        assert (found["solver"], found["objective"]) == ("minmin", pytest.approx(value))
        assert found["objective_name"] == (measure or "makespan_seconds")
    assert len(keys) == 4  # a store does not mix them
    with pytest.raises(UsageError, match="did you mean 'additive_seconds'"):
        build_grid(config.model_copy(update={"measure": "additive_second"}))
    path, target = stored(tmp_path, ROWS), tmp_path / "ratios.svg"
    assert main(["plot", path, "--picture", "ratios", "-o", str(target)]) == 0
    words = target.read_text()
    assert "over the best of the instance" in words and "n = 2" in words
    assert "Ratios to the best of each instance" in report_html([path])
