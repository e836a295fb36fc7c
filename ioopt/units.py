"""Units: parsing of sizes, times and rates that people type, and exact scaling to integers.

Sizes are bytes, times seconds, rates bytes per second; 1 MB is 10^6 bytes, 1 MiB is 2^20. ``B`` is
bytes and ``b`` bits, everywhere: 100 Mb/s is 12.5 MB/s.
"""

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ioopt.errors import UsageError

_PREFIXES = {
    "": 1,
    "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15,
    "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40, "pi": 2**50,
}  # fmt: skip
_DATA_UNIT = re.compile(r"((?:[kmgtpKMGTP][iI]?)?)(B|b|bits?)")
_KNOWN_DATA = "B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB (B is bytes; b, as in Mb, is bits)"
_TIME_UNITS: dict[str, int | Fraction] = {
    "": 1, "s": 1, "ns": Fraction(1, 10**9), "us": Fraction(1, 10**6), "ms": Fraction(1, 1000),
    "m": 60, "min": 60, "h": 3600, "d": 86400,
}  # fmt: skip
EXACT_INTEGERS = 2.0**53
"""Below this, a float without a fraction is the whole number that its text names."""


def whole(value: Any) -> Any:
    """A float that is a whole number, such as ``8e9``, as an int; anything else as it is.

    >>> whole(8e9), whole(8.5)
    (8000000000, 8.5)
    """
    exact_int = type(value) is float and abs(value) < EXACT_INTEGERS and value.is_integer()
    return int(value) if exact_int else value


_QUANTITY = re.compile(r"^\s*([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?)\s*([A-Za-z]*)\s*$")


def exact(value: int | float | Fraction | str) -> Fraction:
    """Return *value* as the rational its decimal text means: ``0.1`` is 1/10, not the nearest double.

    >>> exact(0.1)
    Fraction(1, 10)
    """
    if isinstance(value, (int, Fraction)):
        return Fraction(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT_INTEGERS:
        return Fraction(int(value))  # its text says no more
    return Fraction(repr(value) if isinstance(value, float) else value)


def _amount(text: str, what: str, known: str) -> tuple[Fraction, str]:
    """The number and the unit of *text*."""
    match = _QUANTITY.match(text)
    if match is None:
        raise UsageError(f"{what} {text!r} is not a number with a unit; known units: {known}")
    return Fraction(match.group(1)), match.group(2)


def _data(text: str, what: str, unit_end: str = "") -> tuple[Fraction, bool]:
    """Bytes or bits in *text*, and whether it counts bits: ``b`` is bits, ``B`` is bytes.

    *unit_end* is a pattern of what may follow the unit (``/s``).
    """
    number, unit = _amount(re.sub(rf"{unit_end}\s*$", "", text), what, _KNOWN_DATA)
    found = _DATA_UNIT.fullmatch(unit)
    if unit and found is None:
        raise UsageError(f"{what} {text!r} is not a number with a unit; known units: {_KNOWN_DATA}")
    if found is None:
        return number, False
    return number * _PREFIXES[found.group(1).lower()], found.group(2) != "B"


def parse_bytes(text: str | float) -> int:
    """Parse a size such as ``500MB`` or ``2GiB`` into bytes; raises UsageError on anything else.

    A size in bits (``500Mb``) is refused: it is a slip of the pen for ``500MB``.

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
            f"size {text!r} is in bits (b is bits, B is bytes); write {meant} for bytes"
        )
    return math.floor(size)


def parse_rate(text: str | int | float) -> float:
    """Parse a rate such as ``12.5MB/s``, ``100Mb/s`` or ``100Mbps`` (bits) into bytes per second.

    ``b`` is bits and ``B`` bytes; ``/s`` or ``ps`` may be left out.

    >>> parse_rate("100Mbps"), parse_rate("100Mb/s"), parse_rate("12.5MB/s")
    (12500000.0, 12500000.0, 12500000.0)
    """
    if isinstance(text, (int, float)):
        return float(text)
    size, bits = _data(text, "rate", r"(?:/s|(?<=[bB])ps)")
    return float(size / 8 if bits else size)


def parse_seconds(text: str | int | float) -> float:
    """Parse a time such as ``90``, ``250ms`` or ``2h`` into seconds.

    >>> parse_seconds("250ms")
    0.25
    """
    if isinstance(text, (int, float)):
        return float(text)
    known = ", ".join(sorted(name for name in _TIME_UNITS if name))
    number, unit = _amount(text, "time", known)
    if unit.lower() not in _TIME_UNITS:
        raise UsageError(f"time {text!r} is not a number with a unit; known units: {known}")
    return float(number * _TIME_UNITS[unit.lower()])


def parse_any(text: str) -> tuple[float, str] | None:
    """A number with a unit of any dimension as (value, ``seconds``, ``bytes`` or a rate); else None.

    A number without a unit has the dimension ``""``.

    >>> parse_any("300MB"), parse_any("2h"), parse_any("7"), parse_any("lru")
    ((300000000.0, 'bytes'), (7200.0, 'seconds'), (7.0, ''), None)
    """
    if text.rstrip().lower().endswith(("/s", "bps")):
        readers: tuple[tuple[Callable[[str], float], str], ...] = (
            (parse_rate, "bytes_per_second"),
        )
    else:
        readers = ((float, ""), (parse_bytes, "bytes"), (parse_seconds, "seconds"))
    for read, dimension in readers:
        try:
            value = float(read(text))
        except (ValueError, UsageError):
            continue
        return (value, dimension) if math.isfinite(value) else None
    return None


def format_bytes(count: float) -> str:
    """Render a size for people, decimal units, three significant digits.

    >>> format_bytes(25_000_000_000)
    '25 GB'
    """
    size, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB", "TB", "PB"):
        if abs(size) < 1000 or unit == "PB":
            break
        size /= 1000
    return f"{size:.3g} {unit}" if abs(size) < 1000 else f"{size:.0f} {unit}"
