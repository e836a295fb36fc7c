"""Parse sizes, times and rates that people type, keep integers exact, and show figures
to people.

Sizes are in bytes, times in seconds, and rates in bytes per second; 1 MB is 10^6 bytes,
and 1 MiB is 2^20. ``B`` always means bytes and ``b`` bits: 100 Mb/s is 12.5 MB/s.
Figures are shown with four digits. The name of a figure says whether it is a size, a
time or a rate; its unit is scaled to its values.
"""

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from ioopt.errors import UsageError

_PREFIXES = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "p": 10**15,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
    "pi": 2**50,
}
AMBIGUOUS = ("m", "g", "t", "p")
"""Prefixes in lower case: a unit such as ``gb`` is as often meant as bytes."""
_DATA_UNIT = re.compile(r"((?:[kmgtpKMGTP][iI]?)?)(B|b|bits?)")
_KNOWN_DATA = (
    "B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB (B is bytes; b, as in Mb, is bits)"
)
_TIME_UNITS: dict[str, int | Fraction] = {
    "": 1,
    "s": 1,
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "m": 60,
    "min": 60,
    "h": 3600,
    "d": 86400,
}
EXACT_INTEGERS = 2.0**53
"""Below this number, a float without a fraction represents exactly the whole number
that its text shows.
"""


def whole(value: Any) -> Any:
    """Return a float without a fraction, such as ``8e9``, as an int; anything else
    unchanged.

    >>> whole(8e9), whole(8.5)
    (8000000000, 8.5)
    """
    exact_int = (
        type(value) is float and abs(value) < EXACT_INTEGERS and value.is_integer()
    )
    return int(value) if exact_int else value


_QUANTITY = re.compile(
    r"^\s*([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?)\s*([A-Za-z]*)\s*$"
)


def exact(value: int | float | Fraction | str) -> Fraction:
    """Return the rational number that the decimal text of *value* denotes: ``0.1`` is
    1/10, not the nearest double.

    >>> exact(0.1)
    Fraction(1, 10)
    """
    if isinstance(value, (int, Fraction)):
        return Fraction(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT_INTEGERS:
        return Fraction(int(value))  # longer text adds no precision
    return Fraction(repr(value) if isinstance(value, float) else value)


def _amount(text: str, what: str, known: str) -> tuple[Fraction, str]:
    """Return the number and the unit in *text*."""
    sign, _, unsigned = text.rpartition("-")
    if unsigned != text and not sign.strip() and _QUANTITY.match(unsigned):
        raise UsageError(f"{what} {text[:40]!r} is negative; it must be 0 or more")
    match = _QUANTITY.match(text)
    if match is None:
        raise UsageError(
            f"{what} {text[:40]!r} is not a number with a unit; known units: {known}"
        )
    if len(match.group(1)) > LONGEST_NUMBER:
        raise UsageError(
            f"{what} {text[:40]!r}... has more than {LONGEST_NUMBER} digits"
        )
    return Fraction(match.group(1)), match.group(2)


LONGEST_NUMBER = 400
"""The largest accepted number of characters of a number; the largest float has 309
digits.
"""


def _as_float(number: Fraction, text: str, what: str) -> float:
    """Return *number* as a float; raise UsageError if it is too large for a float. The
    message quotes *text*, as the user typed it.
    """
    try:
        return float(number)
    except OverflowError:
        raise UsageError(
            f"{what} {text[:40]!r} is too large: the largest number is 1.7e308"
        ) from None


def _data(text: str, what: str, unit_end: str = "") -> tuple[Fraction, bool]:
    """Return the number of bytes or bits in *text*, and whether they are bits;
    *unit_end* is a pattern such as ``/s`` that may follow the unit.
    """
    number, unit = _amount(re.sub(rf"{unit_end}\s*$", "", text), what, _KNOWN_DATA)
    found = _DATA_UNIT.fullmatch(unit)
    if unit and found is None:
        raise UsageError(
            f"{what} {text[:40]!r} is not a number with a unit; known units: "
            f"{_KNOWN_DATA}"
        )
    if found is None:
        return number, False
    prefix, letter = found.groups()
    if letter == "b" and prefix[:1] in AMBIGUOUS:
        meant = prefix[:1].upper() + prefix[1:]
        raise UsageError(
            f"{what} {text[:40]!r} may mean bytes or bits; write {meant}B for bytes or "
            f"{meant}b for bits"
        )
    return number * _PREFIXES[found.group(1).lower()], found.group(2) != "B"


def parse_bytes(text: str | float) -> int:
    """Parse a size such as ``500MB`` or ``2GiB`` into bytes; raise UsageError for
    anything else.

    A size in bits (``500Mb``) is refused, because ``500MB`` is nearly always meant.

    >>> parse_bytes("1.5GB")
    1500000000
    """
    if not isinstance(text, str):
        if not isinstance(count := whole(text), int):
            raise UsageError(f"size {text!r} is not a whole number of bytes")
        return count
    size, bits = _data(text, "size")
    if bits:
        meant = re.sub(r"b(its?)?\s*$", "B", text.strip())
        raise UsageError(
            f"size {text[:40]!r} is in bits (b is bits, B is bytes); write "
            f"{meant[:40]} for bytes"
        )
    return math.floor(size)


def parse_rate(text: str | int | float) -> float:
    """Parse a rate such as ``12.5MB/s``, ``100Mb/s`` or ``100Mbps`` (bits)
    into bytes per second.

    ``b`` is bits and ``B`` bytes. A number without a unit is in bytes per second. A
    unit without ``/s`` or ``ps`` is refused, because it is that of a size.

    >>> parse_rate("100Mbps"), parse_rate("100Mb/s"), parse_rate("12.5MB/s")
    (12500000.0, 12500000.0, 12500000.0)
    """
    if isinstance(text, (int, float)):
        return float(text)
    size, bits = _data(text, "rate", r"(?:/s|(?<=[bB])ps)")
    per_second = text.rstrip().endswith(("/s", "ps"))
    if not per_second and text.rstrip()[-1].isalpha():
        raise UsageError(
            f"rate {text[:40]!r} is a size, not a rate; write {text.strip()[:40]}/s"
        )
    return _as_float(size / 8 if bits else size, text, "rate")


def parse_share(text: str) -> float:
    """Parse a share such as ``0.15`` or ``15%`` into a number from 0 to 1.

    >>> parse_share("15 %"), parse_share("0.15")
    (0.15, 0.15)
    """
    number, percent, rest = text.partition("%")
    try:
        share = Fraction(number.strip()) / (100 if percent else 1)
    except ValueError:
        share = Fraction(-1)
    if 0 <= share <= 1 and not rest.strip():
        return float(share)
    hint = "write 0.15 or 15%"
    if 1 < share <= 100 and not percent:
        hint = f"for {text.strip()} % write {text.strip()}%"
    raise UsageError(f"{text[:40]!r} is no share from 0 to 1; {hint}")


def parse_seconds(text: str | int | float) -> float:
    """Parse a time such as ``90``, ``250ms`` or ``2h`` into seconds.

    >>> parse_seconds("250ms")
    0.25
    """
    if isinstance(text, (int, float)):
        return text if isinstance(text, float) else float(text)
    known = ", ".join(sorted(name for name in _TIME_UNITS if name))
    number, unit = _amount(text, "time", known)
    if unit.lower() not in _TIME_UNITS:
        raise UsageError(
            f"time {text[:40]!r} is not a number with a unit; known units: {known}"
        )
    return _as_float(number * _TIME_UNITS[unit.lower()], text, "time")


Unit = tuple[float, str]
"""A unit: its size in basic units (such as seconds or bytes), and its name."""
NOISE = 1e-9
"""Seconds, bytes and shares below this are regarded as rounding errors and shown as
0.
"""
_TIMES = (
    (86400.0, "d"),
    (3600.0, "h"),
    (60.0, "min"),
    (1.0, "s"),
    (1e-3, "ms"),
    (1e-6, "us"),
)
_TWO_UNITS = ("d", "h", "min")
"""Units that are used only for values of at least two of them: 90 s is not shown as 1.5
min.
"""
_BYTES = tuple(
    (1000.0**k, unit)
    for k, unit in zip(range(5, -1, -1), ("PB", "TB", "GB", "MB", "kB", "B"))
)
_SECONDS_TOO = ("node_weighted_io_delay",)
_PLAIN = ((1.0, ""),)


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, which takes an s in the plural.

    >>> counted(1, "file"), counted(2, "task")
    ('1 file', '2 tasks')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


TITLES = {
    "cores_busy": "core utilisation",
    # It stands below other objectives too.
    "lower_bound_seconds": "makespan bound",
}
"""The headings of metrics whose names do not say enough."""


def title(name: str) -> str:
    """Return a metric's name as a heading, without its unit, which is written beside
    the values.

    >>> title("mean_response_seconds"), title("remote_bytes"), title("cores_busy")
    ('mean response', 'remote bytes', 'core utilisation')
    """
    if name in TITLES:
        return TITLES[name]
    if name != "byte_seconds":
        name = name.removesuffix("_seconds").removesuffix("_per_second")
    return name.replace("_", " ")


def column(
    name: str, values: Sequence[Any], unit: Unit | None = None
) -> list[str | None]:
    """Return the values of one metric as text, all in one unit (:func:`unit_for`) and
    with equally many decimals; None stays None.

    >>> column("makespan_seconds", [552.752, 1350.15, None])
    ['9.21 min', '22.50 min', None]
    >>> column("io_delay_seconds", [-8e-11]), column("gap_share", [0.12345])
    (['0 s'], ['0.123'])
    """
    known = [value for value in values if value is not None]
    numbers = [abs(value) for value in known if is_number(value)]
    largest = max(filter(math.isfinite, numbers), default=0.0)
    text = show
    whole = all(isinstance(value, int) for value in known)
    if _units(name) != _PLAIN or not whole or largest >= 1e15:
        scale, mark = unit or unit_for(name, largest)
        text = partial(_in_unit, scale=scale, mark=mark, largest=largest)
    return [None if value is None else text(value) for value in values]


def _in_unit(value: Any, scale: float, mark: str, largest: float) -> str:
    """Return *value* in the unit *mark* of size *scale*, with as many decimals as the
    *largest* value of its column has; no number stays as it is.
    """
    if not is_number(value):
        return show(value)
    text = _number(value / scale, largest / scale)
    return f"{text} {mark}" if mark else text


def quantity(name: str, value: object, *beside: Any, unit: Unit | None = None) -> str:
    """Return one value of a metric as text with its unit. The unit also suits the
    values *beside*, next to which the text is read.

    >>> quantity("makespan_seconds", 9.748), quantity("remote_bytes", 64000000)
    ('9.748 s', '64 MB')
    >>> quantity("utilisation", 0.94), quantity("mean_slowdown", 1.5)
    ('94 %', '1.5')
    >>> quantity("wait_seconds", 91.5), quantity("wait_seconds", 91.5, 140)
    ('91.5 s', '1.525 min')
    """
    text = column(name, [value, *beside], unit)[0]
    if text is None:
        return "-"
    number, space, mark = text.partition(" ")
    if "." in number and "e" not in number:
        number = number.rstrip("0").rstrip(".")
    return number + space + mark


def show(value: object) -> str:
    """Return the text of a table cell: fractions have six significant digits, whole
    numbers at most 15 digits, and an unknown value is ``-``.

    >>> show(5.184), show(None), show(1234567), show(0.00001)
    ('5.184', '-', '1234567', '1e-05')
    >>> show(-8e-11), show(10**300)
    ('0', '1.00000e+300')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value) if abs(value) < 10**15 else f"{Decimal(value):.5e}"
    if isinstance(value, float):
        if abs(value) < NOISE:
            return "0"
        if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        return (
            f"{value:.6g}" if abs(value) < 1e6 or abs(value) >= 1e15 else f"{value:.1f}"
        )
    return str(value)


def is_number(value: object) -> bool:
    """Return whether *value* is a number; True and False do not count as numbers."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _units(name: str) -> tuple[tuple[float, str], ...]:
    if name.endswith("bytes_per_second"):
        return tuple((scale, unit + "/s") for scale, unit in _BYTES)
    if name.endswith("bytes"):
        return _BYTES
    if name == "byte_seconds":
        return _PLAIN
    if name.endswith("seconds") or name in _SECONDS_TOO:
        return _TIMES
    if name == "cores_busy" or name.endswith(("utilisation", "_gap")):
        return ((0.01, "%"),)
    return _PLAIN


def unit_for(name: str, largest: float) -> Unit:
    """Return the unit in which the value *largest* of the metric *name* is easy to
    read, as (size in basic units, name of the unit).

    >>> unit_for("makespan_seconds", 7200), unit_for("storage_bytes_per_second", 2.5e11)
    ((3600.0, 'h'), (1000000000.0, 'GB/s'))
    """
    units = _units(name)
    scale, unit = (1.0, "s") if units == _TIMES else units[-1]
    if largest >= NOISE:
        for scale, unit in units:
            if largest >= scale * (2 if unit in _TWO_UNITS else 1):
                break
    return scale, unit


def is_time(name: str) -> bool:
    """Return whether the metric *name* is a time."""
    return _units(name) is _TIMES


def time_unit(seconds: Sequence[float]) -> Unit:
    """Return one unit for all times of a table: the smallest unit, from seconds on, in
    which every time is below 10,000. Times below one second get a smaller unit.

    >>> time_unit([56.0, 120.667]), time_unit([60.0, 90_000.0]), time_unit([0.004])
    ((1.0, 's'), (60.0, 'min'), (0.001, 'ms'))
    """
    largest = max(map(abs, seconds), default=0.0)
    if largest < 1:
        return unit_for("seconds", largest)
    return next(
        unit
        for unit in reversed(_TIMES[:4])
        if largest < 1e4 * unit[0] or unit[1] == "d"
    )


def _number(value: float, largest: float) -> str:
    if largest < NOISE:
        return "0"
    if not math.isfinite(value) or largest >= 1e7 or largest < 1e-2:
        return f"{value:.4g}"
    decimals = min(3, max(0, 3 - math.floor(math.log10(largest))))
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text
