"""Adaptive-IOGS: on the file nodes where they are free, else as GS does (Section 3.5)."""

from ioopt.decisions.gang.rules import ADAPTIVE, Rules
from ioopt.solvers.gang.policy import Policy, Settings

POLICY = Policy("adaptive-iogs", Rules(ADAPTIVE, local_first=True))


def policy(settings: Settings) -> Policy:
    """The policy, which has no settings of its own."""
    return POLICY
