"""GS: plain gang scheduling, blind to where the files are (Section 3.2)."""

from __future__ import annotations

from ioopt.decisions.gang.state import BEST_FIT, Twin
from ioopt.solvers.gang.phases import best_fit, clean, compact, fill, schedule, start_order
from ioopt.solvers.gang.policy import Policy
from ioopt.solvers.gang.run import fixed

POLICY = Policy(
    "gs",
    {
        "clean": clean,
        "compact": compact,
        "schedule": schedule(best_fit),
        "fill": fill(start_order),
    },
    Twin(BEST_FIT, migrate=False, local_first=False),
)

policy, solve = fixed(POLICY)
