"""The form of a reproduction row of paper 001, and how a table of them is printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ioopt.tables import render


class Claim(NamedTuple):
    """One claim: what the paper says where, what we measured, and whether it is reproduced."""

    claim: str
    where: str
    paper: str
    ours: str
    reproduced: str


def verdict(holds: bool) -> str:
    """The word of the last column."""
    return "reproduced" if holds else "not reproduced"


def show(title: str, rows: Sequence[Claim]) -> None:
    """Print a titled table."""
    print(f"\n{title}\n")
    print(render(("claim", "where", "paper", "measured", "verdict"), rows), flush=True)
