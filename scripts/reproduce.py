"""What the papers claim and what we measure: ``python scripts/reproduce.py khanna|...|all``.

Each paper's module prints a table: claim, where it stands, the paper's word, our figure with its
interval, and whether it is reproduced. A claim that does not hold is printed as not reproduced.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

from benchmark import HERE, available


def main() -> None:
    """Reproduce the papers named on the command line."""
    papers = available("reproduce_")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paper", choices=[*papers, "all"])
    parser.add_argument("--quick", action="store_true", help="smaller sizes, minutes at most")
    arguments = parser.parse_args()
    sys.path.insert(0, str(Path(HERE).parent))
    for paper in papers if arguments.paper == "all" else [arguments.paper]:
        begun = time.monotonic()
        rows = importlib.import_module(f"reproduce_{paper}").main(arguments.quick)
        print(f"\n{paper}: {len(rows)} claims, {time.monotonic() - begun:.0f} s\n")


if __name__ == "__main__":
    main()
