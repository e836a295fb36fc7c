"""Benchmarks: ``python scripts/bench.py NAME [--quick]``; without a name it lists them.

This only starts the package of the same name beside it, which Python prefers to this file.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(folder) for folder in Path(__file__).resolve().parents[:2]]

from bench.run import main  # noqa: E402

if __name__ == "__main__":
    main()
