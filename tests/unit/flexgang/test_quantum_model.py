"""quantum-model instances: parsing, measuring, generating and plotting."""

from typing import Any

import pytest
from conftest import deadline_of_checks

import ioopt
from ioopt.errors import InstanceError, NotApplicableError, OutOfTime, UsageError
from ioopt.generate.flexgang.quantum_model import generate
from ioopt.measure.quantum_model import Settings, measure
from ioopt.options import Deadline
from ioopt.plot.measured import plot_quantum_model
from ioopt.problems.flexgang.quantum_model import (
    MeasuredPoint,
    QuantumMeasures,
    QuantumModelProblem,
)

ONE = {
    "format": "ioopt/quantum-model",
    "version": 1,
    "name": "one",
    "points": [{"qi_seconds": 0.01, "qc_seconds": 0.02}],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": []}, "points: must have 1 or more items, not []"),
        ({"points": [{"qi_seconds": 0.0, "qc_seconds": 0.1}]}, "points[0].qi_seconds"),
        ({"points": [{"qi_seconds": 0.1, "qc_seconds": -1.0}]}, "points[0].qc_seconds"),
        ({"processors": 0}, "processors"),  # somebody must run
        ({"donation": "sometimes"}, "donation"),
        ({"burst_ms": 5}, "burst_ms: unknown key"),
    ],
)
def test_bad_instances_name_the_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InstanceError, match=message.replace("[", r"\[")):
        ioopt.load({**ONE, **change})


MODEL = QuantumModelProblem.model_validate(ONE)
STEADY = MODEL.model_copy(update={"burst_shape": None})
EVENTS = Settings(engine="event")


def test_a_seed_repeats() -> None:
    chain = measure(MODEL)
    first, again, other = (measure(MODEL, EVENTS, seed=k) for k in (7, 7, 8))
    assert first == again != other
    assert chain.metrics == measure(MODEL, seed=5).metrics  # nothing of it is random
    assert chain.metrics["max_slowdown"] == chain.rows[0]["slowdown"]


def test_the_chain_takes_only_what_is_random() -> None:
    assert measure(STEADY).metrics["slowdown"] == pytest.approx(1.2)
    with pytest.raises(NotApplicableError, match="engine=event"):
        measure(STEADY, Settings(engine="chain"))


@pytest.mark.parametrize("engine", ["event", "chain"])
def test_without_time_the_chain_answers_coarsely(engine: Any) -> None:
    fine = measure(MODEL).metrics
    late = measure(MODEL, Settings(engine=engine), deadline=Deadline(1e-9))
    assert "after 0 of 1 points" in late.notes[0]
    assert late.metrics["slowdown"] == pytest.approx(fine["slowdown"], rel=1e-3)
    assert late.metrics["fragmentation"] == pytest.approx(
        fine["fragmentation"], abs=4e-3
    )


def test_points_past_the_deadline_are_coarse() -> None:
    points = [{"qi_seconds": 0.01, "qc_seconds": qc} for qc in (0.0, 0.01, 0.02)]
    problem = QuantumModelProblem(points=points, horizon_seconds=5.0)
    cut = measure(problem, deadline=deadline_of_checks(3))
    assert "after 2 of 3 points" in cut.notes[0]
    assert cut.found.points[:2] == measure(problem).found.points[:2]
    with pytest.raises(OutOfTime, match="0 of 1 points simulated"):
        measure(STEADY, deadline=Deadline(1e-9))


GOOD = {
    # qi = qc = 40 ms with io = 0.02 and burst 0.005 at S = 1.2: 0.03 s an
    # iteration, beta = 1/6.
    "qi_seconds": 0.04,
    "qc_seconds": 0.04,
    "slowdown": 1.2,
    "response_seconds": 0.010,
    "fragmentation": 0.2,
    "useful": 1 - 0.2 - 1 / 6,
}


def test_figure_presets() -> None:
    second = generate("figure-2", {}, 0)
    assert len(second.points) == 4 * 40
    assert (second.processors, second.burst_shape) == (32, 5)
    assert (second.burst_seconds, second.io_seconds) == (0.005, 0.020)
    third = generate("figure-3", {"qc_seconds": "0.01", "longest_seconds": "0.002"}, 0)
    assert [(p.qi_seconds, p.qc_seconds) for p in third.points] == [
        (0.001, 0.01),
        (0.002, 0.01),
    ]
    with pytest.raises(UsageError, match="no preset 'figure-9'"):
        generate("figure-9", {}, 0)
    with pytest.raises(UsageError, match="less than one step_seconds"):
        generate("figure-2", {"longest_seconds": "0.0001"}, 0)
    assert ioopt.load(third.model_dump(mode="json")) == third


def test_plot_draws_one_curve_for_each_fixed_quantum() -> None:
    problem = generate(
        "figure-3", {"qc_seconds": "0.01,0.02", "longest_seconds": "0.003"}, 0
    )
    left = plot_quantum_model(measure(problem).found, "figure 3")
    assert [line.get_label() for line in left.lines] == ["qc = 10 ms", "qc = 20 ms"]
    assert list(left.lines[0].get_xdata()) == [1.0, 2.0, 3.0]
    assert left.get_xlabel() == "I/O quantum qi (ms)"
    one = QuantumMeasures(points=(MeasuredPoint.model_validate(GOOD),))
    _, right = plot_quantum_model(one).figure.axes
    assert right.lines[0].get_ydata()[0] == pytest.approx(20.0)
