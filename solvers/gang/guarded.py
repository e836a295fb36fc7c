"""guarded-iogs (ours): Migrate-IOGS that refuses remote starts on a crowded machine.

A remote job holds its slots R/L times as long, which makes the next start remote too; the guard
keeps the matrix empty enough for migration to undo remote starts. FCFS is kept: a refused head
blocks the queue.
"""

from typing import Annotated

from pydantic import Field

from ioopt.solvers.gang import policy as policies
from ioopt.solvers.gang.migrate_iogs import POLICY as MIGRATE_IOGS
from ioopt.solvers.gang.policy import Policy
from ioopt.units import exact


class Settings(policies.Settings):
    """``guard``: share of all M P slots that home instances may fill after a remote start."""

    guard: Annotated[float, Field(ge=0, le=1)] = 0.7


def policy(settings: Settings) -> Policy:
    """Migrate-IOGS with the guard of *settings* on its Schedule phase."""
    return Policy("guarded-iogs", MIGRATE_IOGS.rules._replace(guard=exact(settings.guard)))
