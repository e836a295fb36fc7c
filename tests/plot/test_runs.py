"""The picture of runs below each other."""

import random

import pytest
from matplotlib.collections import PolyCollection

from ioopt.plot.page import svg_text
from ioopt.plot.palette import OTHERS
from ioopt.plot.runs import REST, Run, Span, colours_of, lanes_of, plot_runs


def drawn_spans(count, processes=3, nodes=4):
    rng = random.Random(1)
    found = []
    for number in range(count):
        start = rng.uniform(0, 1000)
        found.append(
            Span(
                f"n{number % nodes}",
                f"p{number % processes}",
                start,
                start + rng.uniform(1, 100),
            )
        )
    return found


def test_tasks_that_run_at_once_have_lanes_of_their_own():
    spans = drawn_spans(200)
    lanes = lanes_of(spans)
    for one, lane in zip(spans, lanes, strict=True):
        beside = [
            other
            for other, place in zip(spans, lanes, strict=True)
            if other.node == one.node and place == lane and other is not one
        ]
        assert all(other.end <= one.start or one.end <= other.start for other in beside)


def test_a_process_has_one_colour_in_all_panels_and_the_axis_is_shared():
    spans = drawn_spans(30)
    later = [
        span._replace(start=2 * span.start, end=2 * span.end)
        for span in reversed(spans)
    ]
    axes = plot_runs([Run("recorded", spans), Run("replayed", later)])
    colours = []
    for panel in axes.figure.axes:
        found = [c for c in panel.collections if isinstance(c, PolyCollection)]
        colours.append({tuple(c.get_facecolor()[0]): len(c.get_paths()) for c in found})
    assert colours[0] == colours[1] and sum(colours[0].values()) == 30
    first, second = axes.figure.axes
    assert first.get_xlim() == second.get_xlim()
    assert [text.get_text() for text in first.get_yticklabels()] == [
        "n0",
        "n1",
        "n2",
        "n3",
    ]


def test_processes_beyond_the_palette_are_grey():
    spans = [Span("n", f"p{k}", 0.0, 1.0 + k) for k in range(9)]
    colours = colours_of(spans)
    assert colours[REST] == OTHERS
    assert "p0" not in colours and "p1" not in colours and len(colours) == 8
    # One colour of grey is not spent on a single process less than the palette has.
    assert REST not in colours_of(spans[:7])


@pytest.mark.slow
def test_a_picture_of_many_tasks_stays_small():
    spans = drawn_spans(2000, processes=7, nodes=8)
    axes = plot_runs([Run(name, spans) for name in ("recorded", "replayed", "plan")])
    assert len(svg_text(axes.figure)) < 900_000
