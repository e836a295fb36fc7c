"""Rates of flows that share resources, worked out by hand."""

from typing import Any

import pytest

from ioopt.compiled.memory import Maker, Plain
from ioopt.sim.fluid import (
    CROSSED,
    Busy,
    Flow,
    Fluid,
    Resource,
    begin_flow,
    fill,
    left_on,
    share_rates,
    weight_of,
)


def fluid_of(
    capacities: list[float],
    crossing: list[list[int]],
    weights: list[float],
    **more: Any,
) -> Fluid:
    """Return one busy flow for each list of the resources that it crosses."""
    make: Maker = Plain()
    use = [x for row in crossing for x in [*row, *[-1] * (CROSSED - len(row))]]
    count = len(crossing)
    return make.table(
        Fluid,
        crossed=CROSSED,
        flows=make.records(Flow, count, weight=weights),
        resources=make.records(Resource, len(capacities), capacity=capacities),
        busy=make.records(Busy, count, flow=range(count)),
        use=make.ints(use),
        weights=make.floats([1.0]),
        **more,
    )


@pytest.mark.parametrize(
    ("capacities", "crossing", "weights", "rates"),
    [
        # 30 on a link of 60 for two, which leaves 30 of the second link of 90 to one.
        ([60.0, 90.0], [[0], [0, 1], [1]], [1.0, 1.0, 1.0], [30.0, 30.0, 60.0]),
        # Weights 1 and 2 on a link of 60.
        ([60.0], [[0], [0]], [1.0, 2.0], [20.0, 40.0]),
        # A door of 10 holds one back; the link's other 50 go to the other.
        ([60.0, 10.0], [[0, 1], [0]], [1.0, 1.0], [10.0, 50.0]),
        # Nothing limits a flow that crosses nothing.
        ([60.0], [[], [0]], [1.0, 1.0], [float("inf"), 60.0]),
    ],
)
def test_rates_are_max_min_fair_by_weight(
    capacities: list[float],
    crossing: list[list[int]],
    weights: list[float],
    rates: list[float],
) -> None:
    fluid = fluid_of(capacities, crossing, weights)
    fill(fluid, len(crossing))
    assert [busy.rate for busy in fluid.busy] == pytest.approx(rates)


def test_a_change_of_rates_keeps_the_bytes_moved() -> None:
    """40 bytes alone at 10 a second for 2 s; then two share: 20 bytes at 5, until 6
    s.
    """
    fluid = fluid_of([10.0], [[0], [0]], [1.0, 1.0])
    first, second = fluid.flows
    assert begin_flow(fluid, first, 40, 0.0)
    share_rates(fluid, 1, 0.0)
    assert (first.rate, first.due) == (10.0, 4.0)
    assert begin_flow(fluid, second, 40, 2.0)
    share_rates(fluid, 2, 2.0)
    assert (first.left, first.due, second.due) == (20.0, 6.0, 10.0)
    assert left_on(first, 3.0) == 15.0


def test_bytes_move_after_the_latency_of_a_draw() -> None:
    fluid = fluid_of([10.0], [[0]], [1.0], latency=0.5)
    (flow,) = fluid.flows
    assert begin_flow(fluid, flow, 40, 1.0)  # draw 0 is exact
    fluid.draw = 1
    assert not begin_flow(fluid, flow, 40, 1.0)
    assert (flow.due, left_on(flow, 1.4)) == (1.5, 40)


def test_a_draw_selects_weights_by_file_and_receiver() -> None:
    fluid = fluid_of([10.0], [[0]], [1.0])
    fluid.weights = [float(k) for k in range(8191)]
    assert weight_of(fluid, 3, 2) == 1.0
    fluid.draw = 2
    assert weight_of(fluid, 3, 2) == (7919 * 3 + 1543 * 2 + 4801 * 2) % 8191
