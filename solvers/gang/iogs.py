"""IOGS: a job starts on its file nodes or waits (Section 3.3)."""

from ioopt.decisions.gang.rules import FILE_NODES, Rules
from ioopt.solvers.gang.policy import Policy, Settings

POLICY = Policy("iogs", Rules(FILE_NODES))


def policy(settings: Settings) -> Policy:
    """The policy, which has no settings of its own."""
    return POLICY
