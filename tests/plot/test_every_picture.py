"""What holds for every picture: names in titles, units on axes, legends
beside the data, colours.
"""

import json
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, first
from result_pages import data_of

import ioopt
from ioopt.comparing.picture import plot_comparison
from ioopt.options import Deadline
from ioopt.pictures import draw_beside, draw_result, page_of, result_to_draw
from ioopt.plot import palette
from ioopt.plot.bars import plot_bars
from ioopt.plot.curves import plot_curve, plot_sweep
from ioopt.plot.gantt import ARROW_SHIFT, plot_replication, plot_timeline
from ioopt.plot.lanes import Rows
from ioopt.plot.layout import Box, name_boxes, new_axes, unit_for
from ioopt.plot.work_directory import plot_frontier
from ioopt.registry import KINDS
from ioopt.timeline import Interval, Timeline

SAMPLES = [
    ("cycle3", "minmin"),
    ("image-100x4", "minmin"),
    ("small-8", "adaptive"),
    ("gang-figure-5", "iogs"),
    ("gang-figure-3", "guarded-iogs"),
    ("gang-mixed-60", "gs"),
    ("flexgang-tiny", "greedy"),
    ("flexgang-heavy-40", "greedy"),
    ("quantum-plain", "quantum-ip"),
    ("directory-two-chains", "in-flight"),
    ("directory-methylseq", "in-flight"),
]
CATEGORIES = ("node", "job", "application (gangedness)", "row (time slice)")


def panels(axes: Any) -> list[Any]:
    return [panel for panel in axes.figure.axes if panel.get_visible()]


def overlap(one: Any, other: Any) -> bool:
    """Whether two boxes share more than their edges."""
    across = min(one.x1, other.x1) - max(one.x0, other.x0)
    up = min(one.y1, other.y1) - max(one.y0, other.y0)
    return bool(across > 0.5 and up > 0.5)


def reads_well(axes: Any) -> None:
    """Legends touch no panel, texts touch no other text, tick labels do not
    run into each other.
    """
    figure = axes.figure
    figure.draw_without_rendering()
    legends = [*figure.legends, *(panel.get_legend() for panel in panels(axes))]
    for legend in filter(None, legends):
        for panel in panels(axes):
            assert not overlap(legend.get_window_extent(), panel.bbox)
    for panel in panels(axes):
        for one, other in combinations(panel.texts, 2):
            assert not overlap(one.get_window_extent(), other.get_window_extent())
        for axis in (panel.xaxis, panel.yaxis):
            low, high = sorted(axis.get_view_interval())
            labels = [
                label.get_window_extent()
                for at, label in zip(axis.get_ticklocs(), axis.get_ticklabels())
                if label.get_text() and label.get_visible() and low <= at <= high
            ]
            assert not any(overlap(one, other) for one, other in pairwise(labels))


def labels_have_units(axes: Any) -> None:
    for panel in panels(axes):
        for label in (panel.get_xlabel(), panel.get_ylabel()):
            shared = "perturbations" in axes.get_xlabel() and not label
            assert shared or label in CATEGORIES or label.endswith(")"), label
    assert axes.get_legend() or axes.figure.legends
    reads_well(axes)


@pytest.fixture(scope="module")
def results() -> dict[tuple[str, str], Any]:
    settings = {
        "gang-mixed-60": {"history": "yes"},
        "gang-figure-5": {"history": "yes"},
    }
    limits = {"flexgang-heavy-40": 1e-9}  # its frame is drawn, and needs no simulation
    return {
        (name, solver): ioopt.solve(
            name, solver, settings=settings.get(name, {}), time_limit=limits.get(name)
        )
        for name, solver in SAMPLES
    }


DRAWN = [
    (name, solver, picture)
    for name, solver in SAMPLES
    for picture in ioopt.registry.kind_of_problem(ioopt.load(name)).pictures()
]


@pytest.mark.parametrize(("name", "solver", "picture"), first(9, DRAWN))
def test_every_picture_of_a_result(results, name, solver, picture):
    axes = draw_result(results[name, solver], picture)
    title = axes.get_title() + (axes.figure.get_suptitle() or "")
    assert name in title and solver in title
    labels_have_units(axes)


PANELS = {
    "replication": {"Plan, by node", "Links: transfers at once"},
    "batch-io": {"Bandwidth of the storage, by job", "Jobs"},
    "gang": {"Jobs"},
    "gang-matrix": {"Matrix after the decision"},
    "flexible-gang": {"One frame"},
    "quantum-selection": {"Jobs"},
    "work-directory": {"Work directory, by stage", "Tasks, by stage"},
}


@pytest.mark.parametrize(("name", "solver"), SAMPLES)
def test_every_page_of_a_result(results, name, solver):
    result = results[name, solver]
    data = data_of(page_of(result))
    assert {panel["title"] for panel in data["panels"]} >= PANELS[result.kind]
    for panel in data["panels"]:
        assert 0 < data["axes"][panel["axis"]]["until"] < float("inf")
        for box in panel.get("boxes", ()):
            kind, low, high, start, end, label, waits, _, source = box
            assert (source >= 0) == (kind == "copy")
            assert kind in data["kinds"] and label and start <= end
            assert -0.5 <= low < low + high <= len(panel["rows"]) - 0.5 + 1e-9
            # Nothing waits for what has not ended.
            assert waits < 0 or panel["boxes"][waits][4] == pytest.approx(start)


@pytest.mark.parametrize(
    "name", first(2, ["quantum-ties", "gangedness-table-3", "perturbation-blocking"])
)
def test_every_picture_of_a_measurement(name):
    problem = ioopt.load(name)
    row = ioopt.registry.FORMATS[problem.format.removeprefix("ioopt/")]
    found = row.measure(problem, row.settings_class()(), 0, Deadline(None)).found
    axes = row.plot(found, name)
    assert name in axes.get_title() + (axes.figure.get_suptitle() or "")
    labels_have_units(axes)


def test_arrows_to_copies_of_one_time_are_apart():
    """One node sends to the two others at once."""
    from matplotlib.patches import FancyArrowPatch

    axes = draw_result(ioopt.solve("cycle3"))
    at = []
    for arrow in axes.patches:
        if isinstance(arrow, FancyArrowPatch):
            middle = arrow.get_path().vertices[0]
            at.append(arrow.get_transform().transform(middle)[0])
    pixels = axes.figure.dpi / 72
    assert at[1] - at[0] == pytest.approx(ARROW_SHIFT * pixels)


@pytest.mark.parametrize("most", [40, 1])
def test_arrows_lead_from_senders_to_copies(monkeypatch, most):
    """The fetching node sends to one node, which sends to the third."""
    from matplotlib.patches import FancyArrowPatch

    monkeypatch.setattr("ioopt.plot.gantt.MOST_ARROWS", most)
    result = ioopt.solve("cycle3", "ip", settings={"moves": "plan"})
    axes = draw_result(result)
    arrows = [item for item in axes.patches if isinstance(item, FancyArrowPatch)]
    words = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    if most == 1:
        assert not arrows and "from the sending node" not in words
        return
    assert "from the sending node" in words
    assert "additive 5.184 s, makespan 9.748 s" in axes.get_title()
    rows = [label.get_text() for label in axes.get_yticklabels()]
    led = []
    for arrow in arrows:
        (at, begin), (_, end) = arrow.get_path().vertices[[0, 2]]
        led.append((rows[round(begin)], rows[round(end)], pytest.approx(at)))
    copies = [row for row in result.schedule["transfers"] if row["source"]]
    assert len(copies) == 2 and led == [
        (
            row["source"],
            row["destination"],
            (row["start_seconds"] + row["end_seconds"]) / 2,
        )
        for row in copies
    ]
    data = data_of(page_of(result))
    (plan,) = [p for p in data["panels"] if p["title"] == "Plan, by node"]
    sent = [box for box in plan["boxes"] if box[8] >= 0]
    assert [plan["rows"][box[8]] for box in sent] == [row["source"] for row in copies]


def test_every_kind_is_among_the_samples(results):
    drawn = {result.kind for result in results.values()}
    pictured = {name for name, spec in KINDS.items() if spec.pictures()}
    assert pictured == drawn


def test_units_fit_the_size():
    sizes = (0, 2e-4, 0.03, 119, 121, 1e5, 4e5)
    assert [unit_for("time_seconds", size).name for size in sizes] == [
        "s",
        "us",
        "ms",
        "s",
        "min",
        "h",
        "d",
    ]
    assert unit_for("remote_bytes", 2.5e11) == (1e9, "GB")
    assert unit_for("bytes_per_second", 999).name == "B/s"
    assert unit_for("mean_slowdown", 1e12) == (1.0, "factor")


def test_names_are_written_where_they_fit_and_only_there():
    axes = new_axes(6, 2)
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 2)
    boxes = [
        Box(0, 0, 60, 1, "a name", "#000000"),
        Box(60, 0, 3, 1, "upwards", "#FFFFFF"),
        Box(64, 0, 1, 1, "narrow", "#FFFFFF"),
    ]
    boxes += [
        Box(0, 1.5, 60, 0.02, "flat", "#000000"),
        Box(70, 0, 30, 2, "x" * 80, "#000000"),
    ]
    written = {text.get_text(): text for text in name_boxes(axes, boxes)}
    angles = {name: text.get_rotation() for name, text in written.items()}
    assert angles == {"a name": 0, "upwards": 90}
    many = [Box(k, 0, 1, 1, "x", "#000000") for k in range(1000)]
    axes.set_xlim(0, 5)
    assert len(name_boxes(axes, many, most=7)) == 7


def test_a_gantt_chart_of_many_intervals_is_a_bitmap():
    # 4 nodes compute half of the time, in 50,000 pieces of 1 s with 1 s between them.
    intervals = [
        Interval(2.0 * k, 2.0 * k + 1, f"n{node}", "compute", f"t{k}")
        for node in range(4)
        for k in range(12_500)
    ]
    axes = plot_timeline(Timeline.of(intervals))
    (pieces,) = axes.collections
    assert len(pieces.get_paths()) == 50_000 and pieces.get_rasterized()
    rows = Timeline.of([Interval(0, 1, f"n{k}", "compute", "t") for k in range(1000)])
    wide = plot_timeline(rows, title="x")
    assert wide.get_title() == "x, the first 60 of 1000 nodes"
    assert len(wide.get_yticks()) == 60


def test_transfers_of_a_node_that_overlap_get_lanes_of_their_own():
    """Two reads, two saves and one core: five lanes; what follows takes the first."""
    intervals = [
        Interval(0, 4, "n0", "remote", "a"),
        Interval(1, 3, "n0", "remote", "b"),
        Interval(3, 5, "n0", "copy", "c"),
        Interval(0, 4, "n0", "save", "d"),
        Interval(2, 4, "n0", "save", "e"),
        Interval(0, 5, "n0", "compute", "t", info={"cores": 1}),
    ]
    place = Rows({"n0": 0}, intervals)
    tops = [place(item)[0] for item in intervals]
    each = 0.76 / 5
    expected = [-0.38, -0.38 + each, -0.38 + each, -0.38 + 2 * each, -0.38 + 3 * each]
    assert tops == pytest.approx([*expected, -0.38 + 4 * each])
    crowd = [Interval(0, 1, "n0", "remote", f"f{k}") for k in range(20)]
    lows = {place(item)[0] for place in [Rows({"n0": 0}, crowd)] for item in crowd}
    assert len(lows) == 8 and max(lows) < 0.38


def test_a_node_without_tasks_has_a_row_and_the_title_names_the_objective():
    """The replay of this plan makes its own transfers, and none to n2."""
    axes = plot_replication(ioopt.solve("cycle3", "ip"))
    assert [text.get_text() for text in axes.get_yticklabels()] == ["n0", "n1", "n2"]
    assert "ip, additive 5.184 s, makespan 9.684 s" in axes.get_title()


def test_the_legend_of_shared_storage_names_whole_tasks():
    batch = ioopt.Batch(remote=10, replica=10, products="shared")
    batch.add_node()
    batch.add_task(1, inputs=[batch.add_file(20)], outputs=[batch.add_file(10)])
    axes = plot_replication(ioopt.solve(batch, "fifo"))
    (legend,) = axes.figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert "task: reads, computes, writes" in words and "computing" not in words


def test_no_error_bar_of_a_time_goes_below_zero():
    lines = {
        "a": [(1.0, 10.0, 25.0, 3), (2.0, 30.0, 5.0, 3)],
        "b": [(1.0, 5.0, 0.0, 1)],
    }
    axes = plot_sweep(lines, "disk", "makespan_seconds")
    segments = [bar.get_segments() for _, _, (bar,) in axes.containers]
    assert [list(segment[:, 1]) for segment in segments[0]] == [[0, 35], [25, 35]]
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    assert left < 1 and right > 2 and low == 0 and 35 < high < 45
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("disk (count)", "makespan (s)")
    signed = plot_sweep(lines, "jobs", "objective", floor=None)
    assert signed.containers[0][2][0].get_segments()[0][0, 1] == -15
    reads_well(axes)


def test_settings_of_several_magnitudes_have_a_tick_each():
    points = [(0.3, 9.0, 0.0, 1), (1.0, 8.0, 0.0, 1), (4.0, 7.0, 0.0, 1)]
    axes = plot_sweep({"a": points}, "disk", "mean_slowdown")
    axes.figure.draw_without_rendering()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.3", "1", "4"]
    assert axes.get_xscale() == "log"
    assert (axes.get_xlabel(), axes.get_ylabel()) == (
        "disk (count)",
        "mean slowdown (factor)",
    )


def test_thirty_solvers_have_lines_that_differ():
    styles = [palette.series(k) for k in range(28)]
    assert len({(style["color"], style["linestyle"]) for style in styles}) == 28
    lines = {
        f"solver-{k}": [(1.0, 9.0 + k, 0.0, 1), (2.0, 8.0, 0.0, 1)] for k in range(30)
    }
    reads_well(plot_sweep(lines, "tasks", "makespan_seconds"))


def row(
    instance: str, solver: str, makespan: float | None, **more: Any
) -> dict[str, Any]:
    metrics = {} if makespan is None else {"makespan_seconds": makespan}
    status = "unknown" if makespan is None else "feasible"
    return {
        "instance": instance,
        "family": "replication",
        "kind": "replication",
        "solver": solver,
        "status": status,
        "objective": makespan,
        "objective_name": "makespan_seconds",
        "bound": None,
        "metrics": metrics,
        "stop": "finished",
        "measure": "makespan_seconds",
        "reference": False,
        "value": makespan,
        "ratio_to_best": None,
        **more,
    }


def test_bounds_and_references_of_a_comparison_are_lines():
    rows = [
        row("one", "ip", 1200.0, bound=600.0),
        row("one", "minmin", 2400.0, bound=300.0),
        row("one", "two-stage", None),
        row("one", "free", 900.0, reference=True, bound=900.0),
    ]
    axes = plot_comparison(rows, "makespan_seconds")
    assert (axes.get_title(), axes.get_xlabel()) == ("one", "makespan (min)")
    assert [bar.get_width() for bar in axes.patches] == [20, 40]
    assert [line.get_xdata()[0] for line in axes.lines] == [
        10,
        15,
    ]  # the better of two bounds
    assert [text.get_text().strip() for text in axes.texts] == ["20", "40", "no answer"]
    (legend,) = axes.figure.legends
    names = {text.get_text() for text in legend.get_texts()}
    assert names == {"exact", "heuristic", "proven bound", "free"}
    assert axes.patches[0].get_facecolor() != axes.patches[1].get_facecolor()
    reads_well(axes)


def test_a_comparison_of_several_instances_is_one_picture_of_ratios():
    """b is 2, 1 and 1.5 times a: the cube root of 3 on the line of b,
    strokes at the three.
    """
    rows = [row(f"i{k}", "a", 10.0, ratio_to_best=1.0) for k in range(3)]
    rows += [
        row(f"i{k}", "b", 10.0 * ratio, ratio_to_best=ratio)
        for k, ratio in enumerate((2.0, 1.0, 1.5))
    ]
    rows.append(row("i0", "c", None) | {"violations": []})
    for baseline, solvers in (
        (None, ["a (n = 3)", "b (n = 3)", "c (n = 0)"]),
        ("a", ["b (n = 3)", "c (n = 0)"]),
    ):
        axes = plot_comparison(rows, "makespan_seconds", baseline)
        assert panels(axes) == [axes]
        assert [text.get_text() for text in axes.get_yticklabels()] == solvers
        words = "the best of the instance" if baseline is None else "that of a"
        assert axes.get_xlabel() == f"makespan over {words} (factor)"
        strokes = [line for line in axes.lines if line.get_markersize() == 11]
        assert list(strokes[-1].get_xdata()) == [2.0, 1.0, 1.5]
        means = [text.get_text().strip() for text in axes.texts]
        assert "1.442" in means and "no answer" in means
        reads_well(axes)


# Machado, Oliveira and Fernandes (IEEE TVCG 15(6), 2009), severity 1: linear
# RGB as it is seen.
SEEN = {
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
}
TO_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))


def lab(colour: str, seen: str) -> Any:
    """CIE L*a*b* (D65) of a colour as these readers see it."""
    light = [palette._linear(int(colour[k : k + 2], 16) / 255) for k in (1, 3, 5)]
    xyz = np.array(TO_XYZ) @ np.clip(np.array(SEEN[seen]) @ light, 0, 1)
    f = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


TOGETHER = {
    "a gantt chart": (palette.COMPUTE, palette.REMOTE, palette.REPLICA, palette.IDLE),
    "jobs": (palette.COMPUTE, palette.IO, palette.WAITING, "#FFFFFF"),
    "a comparison": (palette.EXACT, palette.HEURISTIC, palette.BOUND),
    "lines": palette.HUES,
}


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("colours", TOGETHER.values(), ids=TOGETHER)
def test_colours_of_a_picture_are_told_apart_by_colour_blind_readers(colours, seen):
    seen_colours = [lab(colour, seen) for colour in colours]
    nearest = min(np.linalg.norm(a - b) for a, b in combinations(seen_colours, 2))
    assert nearest > 15, nearest  # a difference of 2.3 is just noticed


@pytest.mark.parametrize(
    "colour", [palette.COMPUTE, palette.REMOTE, palette.IO, palette.IDLE]
)
def test_names_contrast_with_their_boxes(colour):
    def luminance(name: str) -> float:
        parts = [palette._linear(int(name[k : k + 2], 16) / 255) for k in (1, 3, 5)]
        return float(np.dot((0.2126, 0.7152, 0.0722), parts))

    text = {"white": 1.0, "black": 0.0}[palette.ink(colour)]
    high, low = sorted((luminance(colour), text), reverse=True)
    assert (high + 0.05) / (low + 0.05) >= 4.5  # WCAG 2, level AA


def test_the_quota_asked_for_is_marked_on_the_curve_of_a_budget():
    rows = [
        {"quota_bytes": 5, "makespan_seconds": None, "bound": 900.0},
        {"quota_bytes": 10, "makespan_seconds": 90.0, "bound": 40.0},
        {"quota_bytes": 20, "makespan_seconds": None, "bound": 30.0},
        {"quota_bytes": 40, "makespan_seconds": 30.0, "bound": 20.0},
    ]
    asked = {"quota_bytes": 30, "makespan_seconds": 50.0, "bound": 25.0}
    statuses = ("infeasible", "feasible", "unknown", "feasible", "feasible")
    for row, status in zip([*rows, asked], statuses):
        row["status"] = status
    answer = {"instance": "x", "curve": rows, "at_quota": asked, "fits": {"way": None}}
    answer["least"] = {"bound_bytes": 7}
    axes = plot_frontier(answer)
    found, bound, quota, mark = axes.lines
    # Where no plan exists, no bound is drawn.
    assert max(bound.get_ydata()) == 40
    (shaded,) = axes.patches
    assert (shaded.get_x(), shaded.get_width()) == (0, 7)
    assert list(found.get_xdata()) == [10, 30, 40] and len(bound.get_xdata()) == 4
    # A plan keeps every larger quota, and a bound holds for every smaller one.
    assert [found.get_drawstyle(), bound.get_drawstyle()] == ["steps-post", "steps-pre"]
    assert set(quota.get_xdata()) == set(mark.get_xdata()) == {30}
    assert list(mark.get_ydata()) == [50]
    assert quota.get_label() == "your quota, 30 B:\n50 s by the best plan"
    fits = {"way": "nextflow", "takes_seconds": 60.0}
    *_, quota, mark = plot_frontier(answer | {"fits": fits}).lines
    assert list(mark.get_ydata()) == [60]  # what an engine does, before a plan
    told = "60 s with caps of Nextflow\n50 s by the best plan"
    assert quota.get_label() == f"your quota, 30 B:\n{told}"
    asked["makespan_seconds"] = None
    axes = plot_frontier(answer)
    assert axes.lines[-1].get_label() == "your quota, 30 B:\nno plan found"
    assert axes.get_xscale() == "linear"
    asked["quota_bytes"] = 40_000  # Far beyond the curve, which stays readable.
    assert plot_frontier(answer).get_xscale() == "log"
    # A curve of one point is a marker.
    (alone, _) = plot_frontier(answer | {"curve": rows[1:2], "at_quota": None}).lines
    assert alone.get_marker() == "o"
    reads_well(axes)


def test_points_of_things_without_an_order_are_not_joined():
    points = [(1.0, 9.0, 0.0, 1), (2.0, 8.0, 0.0, 1)]
    for joined, style in ((True, "-"), (False, "None")):
        axes = plot_sweep({"a": points}, "application", "s", joined=joined)
        assert axes.lines[0].get_linestyle() == style
        assert axes.lines[0].get_marker() == "o"


def test_bars_in_panels_have_one_axis_from_0():
    """Heights in minutes; an error bar ends at 0, where its length is more."""
    bars = [("A", 600.0, 900.0), ("B", 1200.0, 60.0)]
    fewer = [("A", 300.0, 0.0), ("B", 900.0, 0.0)]
    solvers = {"one": bars, "two": fewer}
    axes = plot_bars(
        {"left": solvers, "right": solvers}, "workload", "makespan_seconds"
    )
    left, right = axes.figure.axes
    assert left.get_ylim() == right.get_ylim() and left.get_ylim()[0] == 0
    assert left.get_ylabel().endswith("(min)")
    assert [bar.get_height() for bar in right.patches] == [10.0, 20.0, 5.0, 15.0]
    lows = [line.get_segments()[0][0][1] for line in left.collections]
    assert min(lows) == 0.0
    legend = axes.figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["one", "two"]
    assert [panel.get_title() for panel in (left, right)] == ["left", "right"]


def test_the_legend_of_several_results_explains_only_what_is_there():
    """Each box of the first picture has its name: no entry for boxes without."""
    names = ("planned", "measured")
    paths = [ROOT / "docs" / "samples" / f"{name}.json" for name in names]
    results = [result_to_draw(json.loads(path.read_text()), "x") for path in paths]
    figure = draw_beside(results).figure
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "computing" in words and "no name: box too small" not in words


def test_entries_of_the_legend_look_as_what_they_explain():
    """Evictions are marks, with their number where several are at once; the critical
    path is a frame.
    """
    result = ioopt.solve("eight-tasks", "exact-workflow")
    axes = draw_result(result)
    entries = {
        entry.get_label(): entry for entry in axes.figure.legends[0].legend_handles
    }
    frame, mark = entries["critical path"], entries["file deleted (eviction)"]
    assert frame.get_facecolor()[3] == 0 and frame.get_edgecolor()[3] == 1
    drawn = [line for line in axes.lines if line.get_marker() == mark.get_marker()]
    assert mark.get_color() == drawn[0].get_color() and mark.get_linestyle() == "None"
    evictions = result.schedule["evictions"]
    places = {(row["node"], row["seconds"]) for row in evictions}
    assert len(drawn) == 1 and len(drawn[0].get_xdata()) == len(places)
    assert "2" in [text.get_text() for text in axes.texts] and len(evictions) == 3


def test_names_in_boxes_lack_the_workflows_around_a_process() -> None:
    """Ten workflows deep, the name is far longer than its box."""
    name = "NFCORE:" * 10 + "STAR_ALIGN (a)"
    interval = Interval(0.0, 60.0, "n0", "compute", name)
    axes = plot_timeline(Timeline((interval,), ("n0",)))
    assert [text.get_text() for text in axes.texts] == ["STAR_ALIGN (a)"]


def test_ticks_of_a_curve_are_plain_numbers():
    values = [30.0, 60.0, 120.0, 240.0]
    lines = {"saves": [(0.01, 0.0, 0.02)] * 4}
    axes = plot_curve(values, lines, "I/O period", "min", 60.0, 0.01)
    axes.figure.draw_without_rendering()
    shown = [label.get_text() for label in axes.get_xticklabels()]
    assert shown == ["30", "60", "120", "240"]
