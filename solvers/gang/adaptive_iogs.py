"""Adaptive-IOGS: on the file nodes where they are free, else as GS does (Section 3.5)."""

from __future__ import annotations

from ioopt.decisions.gang.state import ADAPTIVE, Twin
from ioopt.solvers.gang.phases import (
    clean,
    compact,
    file_nodes_or_best_fit,
    fill,
    local_first,
    schedule,
)
from ioopt.solvers.gang.policy import Policy
from ioopt.solvers.gang.run import fixed

POLICY = Policy(
    "adaptive-iogs",
    {
        "clean": clean,
        "compact": compact,
        "schedule": schedule(file_nodes_or_best_fit),
        "fill": fill(local_first),
    },
    Twin(ADAPTIVE, migrate=False, local_first=True),
)

policy, solve = fixed(POLICY)
