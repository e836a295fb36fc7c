"""``dedicated``: each job alone on its file nodes in order of arrival, without time slices.

Its schedule follows in closed form (:mod:`ioopt.sim.gang.dedicated`), so that it takes no decision
on a matrix.
"""

from ioopt.decisions.gang.state import State
from ioopt.solvers.gang.policy import DEDICATED, Settings


class Dedicated:
    """A policy in name: there is no matrix to update."""

    name = DEDICATED
    rules = None

    def update(self, state: State) -> State:
        """The state as it was."""
        return state


POLICY = Dedicated()


def policy(settings: Settings) -> Dedicated:
    """The policy, which has no settings of its own."""
    return POLICY
