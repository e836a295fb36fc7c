"""Units: parsing of sizes, times and rates that people type, and exact scaling to integers.

Sizes are bytes, times seconds, rates bytes per second; 1 MB is 10^6 bytes, 1 MiB is 2^20.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

from ioopt.errors import UsageError

_BYTE_UNITS: dict[str, int | Fraction] = {
    "": 1, "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "pb": 10**15,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40, "pib": 2**50,
}  # fmt: skip
_TIME_UNITS: dict[str, int | Fraction] = {
    "": 1, "s": 1, "ns": Fraction(1, 10**9), "us": Fraction(1, 10**6), "ms": Fraction(1, 1000),
    "m": 60, "min": 60, "h": 3600, "d": 86400,
}  # fmt: skip
_QUANTITY = re.compile(r"^\s*([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)\s*$")


def exact(value: int | float | Fraction | str) -> Fraction:
    """Return *value* as the rational its decimal text means: ``0.1`` is 1/10, not the nearest double.

    >>> exact(0.1)
    Fraction(1, 10)
    """
    if isinstance(value, (int, Fraction)):
        return Fraction(value)
    return Fraction(repr(value) if isinstance(value, float) else value)


def _quantity(text: str, units: dict[str, int | Fraction], what: str) -> Fraction:
    match = _QUANTITY.match(text)
    if match is None or match.group(2).lower() not in units:
        known = ", ".join(sorted(name for name in units if name))
        raise UsageError(f"{what} {text!r} is not a number with a unit; known units: {known}")
    return Fraction(match.group(1)) * units[match.group(2).lower()]


def parse_bytes(text: str | int) -> int:
    """Parse a size such as ``500MB`` or ``2GiB`` into bytes; raises UsageError on anything else.

    >>> parse_bytes("1.5GB")
    1500000000
    """
    return text if isinstance(text, int) else math.floor(_quantity(text, _BYTE_UNITS, "size"))


def parse_rate(text: str | int | float) -> float:
    """Parse a rate such as ``12.5MB/s``, ``1GB`` or ``100Mbps`` (bits) into bytes per second.

    >>> parse_rate("100Mbps"), parse_rate("12.5MB/s")
    (12500000.0, 12500000.0)
    """
    if isinstance(text, (int, float)):
        return float(text)
    bits = re.fullmatch(r"\s*([0-9.eE+-]+)\s*([kKmMgGtT]?)bps\s*", text)
    if bits is not None:
        scale = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}[bits.group(2).lower()]
        return float(_quantity(bits.group(1), {"": 1}, "rate") * scale / 8)
    return float(_quantity(re.sub(r"/s\s*$", "", text), _BYTE_UNITS, "rate"))


def parse_seconds(text: str | int | float) -> float:
    """Parse a time such as ``90``, ``250ms`` or ``2h`` into seconds.

    >>> parse_seconds("250ms")
    0.25
    """
    if isinstance(text, (int, float)):
        return float(text)
    return float(_quantity(text, dict(_TIME_UNITS), "time"))


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
