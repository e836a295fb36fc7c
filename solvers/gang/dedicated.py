"""``dedicated``: each job alone on its file nodes in order of arrival, without time slices.

Its schedule follows in closed form (:mod:`ioopt.sim.gang.dedicated`), so that it takes no decision
on a matrix.
"""

from __future__ import annotations

from ioopt.solvers.gang.policy import Policy
from ioopt.solvers.gang.run import DEDICATED, fixed

POLICY = Policy(DEDICATED, {})

policy, solve = fixed(POLICY)
