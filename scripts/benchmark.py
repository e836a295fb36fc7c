"""Benchmarks: ``python scripts/benchmark.py NAME [--quick]``.

Each prints its figures side by side from one run; quote ratios, not single times.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def available(prefix: str) -> list[str]:
    """Names of the modules beside this one that start with *prefix*, as typed by users."""
    return sorted(
        path.stem.removeprefix(prefix).replace("_", "-") for path in HERE.glob(f"{prefix}*.py")
    )


def main() -> None:
    """Run the benchmarks named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="+", choices=available("bench_"))
    parser.add_argument("--quick", action="store_true", help="smaller sizes, minutes at most")
    arguments = parser.parse_args()
    sys.path[:0] = [str(HERE), str(HERE.parent)]
    for name in arguments.name:
        importlib.import_module(f"bench_{name.replace('-', '_')}").main(arguments.quick)


if __name__ == "__main__":
    main()
