"""Migrate-IOGS: Adaptive-IOGS that moves remote jobs to their file nodes (Section 3.6)."""

from __future__ import annotations

from ioopt.decisions.gang.state import ADAPTIVE, Twin
from ioopt.solvers.gang.phases import (
    clean,
    compact,
    file_nodes_or_best_fit,
    fill,
    local_first,
    migrate,
    schedule,
)
from ioopt.solvers.gang.policy import Policy
from ioopt.solvers.gang.run import fixed

POLICY = Policy(
    "migrate-iogs",
    {
        "clean": clean,
        "migrate": migrate,
        "compact": compact,
        "schedule": schedule(file_nodes_or_best_fit),
        "fill": fill(local_first),
    },
    Twin(ADAPTIVE, migrate=True, local_first=True),
)

policy, solve = fixed(POLICY)
