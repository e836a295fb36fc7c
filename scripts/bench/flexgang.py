"""Benchmark of the flexgang family: each section is a function that prints a table."""

from __future__ import annotations

import importlib

SECTIONS = ("bench.flexgang_measures", "bench.flexgang_assignment")


def main(quick: bool = False) -> None:
    """Run all sections."""
    for section in SECTIONS:
        importlib.import_module(section).main(quick)
