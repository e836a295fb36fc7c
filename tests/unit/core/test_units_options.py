"""Units, options, deadlines and settings: values by hand, refusals as tables."""

import pytest
from pydantic import BaseModel, ConfigDict

from ioopt.errors import UsageError
from ioopt.options import (
    Deadline,
    SolveOptions,
    limit_before,
    parse_assignments,
    parse_settings,
)
from ioopt.protocols import Incumbents
from ioopt.units import parse_bytes, parse_rate, parse_seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("500MB", 500_000_000),
        ("1KiB", 2**10),
        ("1MiB", 2**20),
        ("2GiB", 2 * 2**30),
        ("1.5 GB", 1_500_000_000),
        ("7", 7),
        (7, 7),
        ("3kB", 3000),
    ],
)
def test_sizes(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("100Mbps", 12.5e6),
        ("12.5MB/s", 12.5e6),
        ("8Gbps", 1e9),
        (3, 3.0),
        ("1GB/s", 1e9),
        # b is bits, B is bytes, whatever stands around it.
        ("100Mb/s", 12.5e6),
        ("100Mbit/s", 12.5e6),
        ("1Gbit/s", 1.25e8),
        ("800b/s", 100.0),
        ("8Kib/s", 1024.0),
        ("100MBps", 1e8),
        ("100mB/s", 1e8),
        ("7/s", 7.0),
    ],
)
def test_rates(text, rate):
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        *(
            (parse_bytes, text, "is not a number with a unit")
            for text in ("", "MB", "5 parsecs", "--3MB", "1..2MB")
        ),
        (parse_bytes, "-3MB", "size '-3MB' is negative; it must be 0 or more"),
        (parse_rate, "-3MB/s", "is negative; it must be 0 or more"),
        (parse_seconds, " -8s", "time ' -8s' is negative; it must be 0 or more"),
        *(
            (parse_rate, text, "is not a number with a unit; known units: B, kB")
            for text in ("5ps", "3Mb/h", "1Mbb", "MB/s", "1e9999999999B/s", "5M")
        ),
        *(
            (parse_rate, text, f"is a size, not a rate; write {text}/s")
            for text in ("10MB", "1Gb", "800 bits", "1Gbit")
        ),
        *(
            (parse_bytes, text, f"is in bits .*; write {meant} for bytes")
            for text, meant in (("500Mb", "500MB"), ("2 Gib", "2 GiB"), ("9b", "9B"))
        ),
        *(
            (parse, text, f"may mean bytes or bits; write {meant} for bytes")
            for parse, text, meant in (
                (parse_rate, "100 mb/s", "MB"),
                (parse_rate, "1gb/s", "GB"),
                (parse_bytes, "2 gib", "GiB"),
            )
        ),
    ],
)
def test_what_means_nothing_is_refused(parse, text, said):
    with pytest.raises(UsageError, match=said):
        parse(text)


@pytest.mark.parametrize(
    "bad",
    [
        {"time_limit_seconds": 0},  # no time is no answer
        {"time_limit_seconds": float("nan")},
        {"gap": -0.1},
        {"gap": float("inf")},
        {"threads": 0},
        {"seed": -1},
    ],
)
def test_options_refuse_nonsense(bad):
    with pytest.raises(UsageError, match="must be"):
        SolveOptions(**bad)


def test_deadline_counts_from_its_start():
    now = [100.0]
    deadline = Deadline(10.0, lambda: now[0])
    assert (deadline.elapsed(), deadline.remaining(), deadline.expired()) == (
        0.0,
        10.0,
        False,
    )
    now[0] = 107.0
    assert deadline.remaining() == 3.0
    assert deadline.within(60.0).remaining() == 3.0
    assert deadline.within(1.0).remaining() == 1.0
    now[0] = 111.0
    assert deadline.expired() and deadline.remaining() == 0.0
    assert Deadline(None).remaining() == float("inf")


@pytest.mark.parametrize("seconds", [0.01, 1.0, 2.0, 3.0, 5.0, 10.0, 3600.0])
def test_a_solve_with_its_overtime_ends_before_the_deadline_of_its_caller(seconds):
    limit = limit_before(seconds, 0.8)
    assert 0.25 * seconds <= limit <= 0.8 * seconds
    if seconds >= 2.0:  # a shorter deadline is less than the overtime
        assert Deadline(limit).with_overtime().limit_seconds < 0.95 * seconds


class Knobs(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    alpha: float = 0.5
    barriers: bool = True


def test_settings_come_as_text():
    knobs = parse_settings(
        Knobs, parse_assignments(("alpha=0.25", "barriers=no")), "fill"
    )
    assert (knobs.alpha, knobs.barriers) == (0.25, False)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["beta=1"], "fill has no setting 'beta'; its settings: alpha, barriers"),
        (["alpha=half"], "fill: setting alpha='half'"),
        (["alpha"], "--set wants KEY=VALUE, not 'alpha'"),
        (["=1"], "--set wants KEY=VALUE"),
        (["alpha=1", "alpha=2"], "given twice"),
    ],
)
def test_settings_refuse(words, message):
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        parse_settings(Knobs, parse_assignments(words), "fill")


def test_the_best_incumbent_stays() -> None:
    best = Incumbents(Deadline(None))
    for value in (5.0, 7.0):
        best.report(value, value)
    assert (best.plan, best.objective, len(best.trace)) == (5.0, 5.0, 1)
