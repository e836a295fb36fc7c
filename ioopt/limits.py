"""How much memory one run may take; what would need more is refused before it is allocated."""

from __future__ import annotations

from ioopt.errors import InstanceError

MOST_NUMBERS = 50_000_000
"""Numbers that one run holds at once, all its tables and their copies together: 400 MB."""


def require_numbers(count: float, what: str, remedy: str) -> None:
    """Raise InstanceError when *what* needs more than ``MOST_NUMBERS``; *remedy* says what to do."""
    if not count <= MOST_NUMBERS:
        raise InstanceError(
            f"{what} would need {count:.3g} numbers in memory, at most {MOST_NUMBERS:.3g}; {remedy}"
        )
