"""IOGS: a job starts on its file nodes or waits (Section 3.3)."""

from __future__ import annotations

from ioopt.decisions.gang.state import FILE_NODES, Twin
from ioopt.solvers.gang.phases import clean, compact, fill, on_file_nodes, schedule, start_order
from ioopt.solvers.gang.policy import Policy
from ioopt.solvers.gang.run import fixed

POLICY = Policy(
    "iogs",
    {
        "clean": clean,
        "compact": compact,
        "schedule": schedule(on_file_nodes),
        "fill": fill(start_order),
    },
    Twin(FILE_NODES, migrate=False, local_first=False),
)

policy, solve = fixed(POLICY)
