"""What stretches of quanta lose in messages: gamma_sub as far as messages show it."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.gangedness_reference import differences

import ioopt
from ioopt.errors import UsageError
from ioopt.measure import gangedness
from ioopt.measure.gangedness import GangednessMonitor
from ioopt.measure.message_loss import FADED, HALF, Loss, Stretches


def heard(
    received: Sequence[float], absent: Sequence[tuple[int, ...]], processors: int = 4
) -> Stretches:
    """Stretches fed *received* messages a quantum, spread evenly, with
    *absent* processors.
    """
    made = Stretches(processors)
    for quantum, (messages, missing) in enumerate(zip(received, absent)):
        for processor in range(processors):
            made.expect(quantum, processor)
            runs = processor not in missing
            made.add(quantum, processor, not missing, runs, messages / processors)
    return made


def every_fourth(quanta: int, until: int) -> list[tuple[int, ...]]:
    """One of four processors in turn is absent in every fourth
    quantum up to *until*.
    """
    return [(k // 4 % 4,) if k % 4 == 0 and k < until else () for k in range(quanta)]


def test_weights_by_hand() -> None:
    """Weights 1/16, 3/16 .. 15/16 and back: squares 2 (1 + 9 + .. + 225) / 256 = 2 x
    680 / 256 = 5.3125, so 8 / 5.3125 = 1.50588."""
    squares = 2 * sum(((2 * k + 1) / 16) ** 2 for k in range(HALF))
    assert squares == pytest.approx(5.3125)
    assert pytest.approx(HALF / squares) == FADED == pytest.approx(1.50588, abs=1e-5)


@pytest.mark.parametrize(("left", "gamma"), [(0, 1.0), (12, 0.0), (4, 2 / 3)])
def test_loss_in_the_quantum_itself_by_hand(left: float, gamma: float) -> None:
    """16 messages a gang quantum, *left* in a disturbed one: the loss is 1 - left / 16
    exactly, and gamma = (loss - 1/4) / (3/4): of 4 left (3/4 - 1/4) / (3/4) = 2/3."""
    absent = every_fourth(96, 64)
    loss = heard([left if missing else 16 for missing in absent], absent).loss()
    assert loss is not None
    assert (loss.gamma, loss.low, loss.high) == pytest.approx(
        (gamma, gamma, gamma), abs=1e-6
    )
    assert loss.stretches == 96 // HALF - 1


def test_a_loss_in_the_next_quantum_counts_all_the_same() -> None:
    """As many messages as ever in the disturbed quantum, none in the next: gamma
    near 1, not below 0.
    """
    absent = every_fourth(192, 128)
    received = [0.0 if k and absent[k - 1] else 16.0 for k in range(192)]
    loss = heard(received, absent).loss()
    assert loss is not None
    assert loss.low < 1 < loss.high
    assert loss.gamma == pytest.approx(1, abs=0.02)
    assert loss.high - loss.low < 0.2


def test_what_shows_nothing() -> None:
    absent = every_fourth(96, 64)
    received = [4.0 if missing else 16.0 for missing in absent]
    assert heard(received[:71], absent[:71]).loss() is None  # 7 stretches of 8 and 8
    assert isinstance(heard(received[:72], absent[:72]).loss(), Loss)  # 8 stretches
    assert heard(received, [()] * 96).loss() is None  # never disturbed
    assert (
        heard(received, [(0,)] * 96).loss() is None
    )  # always: nothing to compare with
    # Always the same processor: one that never waits loses as much as
    # one that always does.
    assert heard(received, [missing and (2,) for missing in absent]).loss() is None
    assert heard([0.0] * 96, absent).loss() is None  # silence
    # Far more in disturbed quanta than in others: not a meter of work.
    assert (
        heard([160.0 if missing else 16.0 for missing in absent], absent).loss() is None
    )


def test_a_gap_begins_stretches_anew() -> None:
    made = Stretches(2)
    for quantum in range(20):
        for processor in range(2 if quantum != 10 else 1):
            made.add(quantum, processor, True, True, 1.0)
    # Quanta 0 to 9 and 11 to 19, ten and nine: no stretch of 16 without a gap.
    assert (made.count, made.length) == (0, 9)
    for quantum in range(20, 27):
        for processor in range(2):
            made.add(quantum, processor, True, True, 1.0)
    assert (made.count, made.mean_received) == (1, 2 * HALF)  # 11 to 26


@pytest.mark.parametrize(
    ("quantum", "processor", "message"),
    [(3, 4, "0 to 3, not 4"), (2, 0, "2 after 3"), (3, 1, "processor 1 comes twice")],
)
def test_what_cannot_come_next_is_refused(
    quantum: int, processor: int, message: str
) -> None:
    monitor = GangednessMonitor(4)
    monitor.observe(True, True, 1.0, quantum=3, processor=1)
    before = monitor.state()
    with pytest.raises(UsageError, match=message):
        monitor.observe(True, True, 1.0, quantum=quantum, processor=processor)
    assert monitor.state() == before


def test_several_absent_at_once_send_less() -> None:
    """Three of four absent in a disturbed quantum: an absent one hears one
    sender, not three, so a ratio of .1 may be .3 and is not HIGH; where one is
    absent at a time it is."""
    classes = {}
    for away in (1, 3):
        monitor = GangednessMonitor(4)
        for quantum in range(64):
            hit = quantum % 2 == 0
            missing = [(quantum // 2 + k) % 4 for k in range(away)] if hit else []
            for processor in range(4):
                runs = processor not in missing
                messages = 20.0 if not hit else 2.0
                monitor.observe(not hit, runs, messages, quantum, processor)
        assert monitor.ratio() == pytest.approx(0.1)
        classes[away] = monitor.classify()
    assert classes == {1: "HIGH", 3: "UNKNOWN"}


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(data=st.data(), processors=st.integers(2, 5), quanta=st.integers(8, 90))
def test_the_reference_agrees_and_saved_monitors_go_on(
    data: st.DataObject, processors: int, quanta: int
) -> None:
    """Recordings in time: the reference's own arithmetic agrees; so does a
    monitor restored midway.
    """
    draw = data.draw(st.randoms(use_true_random=False))
    often = draw.random()
    level = draw.choice([1, 3, 20])
    absent = [
        sorted(draw.sample(range(processors), 1)) if draw.random() < often else []
        for _ in range(quanta)
    ]
    lists: dict[str, list[float]] = {"gang": [], "running": [], "nonrunning": []}
    rows = []
    for quantum, missing in enumerate(absent):
        for processor in range(processors):
            kind = (
                "gang"
                if not missing
                else "nonrunning"
                if processor in missing
                else "running"
            )
            messages = float(
                draw.randrange(level + 1) if missing else draw.randrange(2 * level + 1)
            )
            lists[kind].append(messages)
            rows.append(
                (not missing, kind != "nonrunning", messages, quantum, processor)
            )
    one = {"id": "a", **lists, "absent": absent}
    instance = {
        "format": "ioopt/message-counts",
        "version": 1,
        "processors": processors,
        "applications": [one],
    }
    problem = ioopt.load(instance)
    found = gangedness.measure(problem).found
    assert differences(problem, found) == []
    verdict = found.applications[0].verdict
    monitor = GangednessMonitor(processors)
    middle = draw.randrange(len(rows))
    for place, row in enumerate(rows):
        if place == middle:
            monitor = GangednessMonitor.restore(json.loads(json.dumps(monitor.state())))
        monitor.observe(*row)
    assert monitor.evidence() == verdict
    if verdict.gamma is not None:
        assert verdict.gamma_low <= verdict.gamma <= verdict.gamma_high  # type: ignore[operator]
