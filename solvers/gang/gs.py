"""GS: plain gang scheduling, blind to where the files are (Section 3.2)."""

from ioopt.decisions.gang.rules import BEST_FIT, Rules
from ioopt.solvers.gang.policy import Policy, Settings

POLICY = Policy("gs", Rules(BEST_FIT))


def policy(settings: Settings) -> Policy:
    """The policy, which has no settings of its own."""
    return POLICY
