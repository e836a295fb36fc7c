"""Migrate-IOGS: Adaptive-IOGS that moves remote jobs to their file nodes (Section 3.6)."""

from ioopt.decisions.gang.rules import ADAPTIVE, Rules
from ioopt.solvers.gang.policy import Policy, Settings

POLICY = Policy("migrate-iogs", Rules(ADAPTIVE, migrate=True, local_first=True))


def policy(settings: Settings) -> Policy:
    """The policy, which has no settings of its own."""
    return POLICY
