"""Benchmarks: ``python scripts/benchmark.py NAME [--quick]``.

Each prints its figures side by side from one run; quote ratios, not single times.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


NAMES = (
    "additive", "batch-io", "batch-io-exact", "bounds", "campaign", "embed", "embed-dask",
    "embed-snakemake", "end-to-end", "first-contact",
    "defaults", "flexgang", "gang", "gang-exact", "library", "replication", "replication-large",
    "replication-search",
    "workflow", "workflow-exact", "workflow-online", "workflow-options", "workflow-trends",
)  # fmt: skip
"""As typed by users; each is a module of ``scripts/bench`` with a ``main``."""
WHOLE = ("bounds", "campaign", "end-to-end", "first-contact")
"""Of all families together, in ``scripts/bench/whole``."""


def main() -> None:
    """Run the benchmarks named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="+", choices=NAMES)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, minutes at most")
    arguments = parser.parse_args()
    sys.path[:0] = [str(HERE), str(HERE.parent)]
    for name in arguments.name:
        room = "bench.whole" if name in WHOLE else "bench"
        if name.startswith("embed-"):
            room = "bench.engines"
        importlib.import_module(f"{room}.{name.replace('-', '_')}").main(arguments.quick)


if __name__ == "__main__":
    main()
