"""guarded-iogs (ours): Migrate-IOGS that refuses remote starts on a crowded machine.

A remote job holds its slots R/L times as long, which makes the next start remote too; the guard
keeps the matrix empty enough for migration to undo remote starts. A refused job does not block the
queue, and is refused only until waiting has cost it a multiple of what remote reading would. Nor is
one refused that leaves the matrix below the share L/R: the slots kept empty for it would cost more work
than remote reading does.
"""

from typing import Annotated

from pydantic import Field

from ioopt.solvers.gang import policy as policies
from ioopt.solvers.gang.policy import MIGRATE_IOGS, Policy
from ioopt.units import exact

Share = Annotated[float, Field(ge=0, le=1)]


class Settings(policies.Settings):
    """``guard``: share of all M P slots that home instances may fill after a remote start (or L/R
    of the job, if that is more).

    ``patience``: once a job has waited this many times R - L, it may start remote all the same.
    """

    guard: Share = 0.7
    patience: Annotated[float, Field(ge=0, le=1e9)] = 15.0


def policy(settings: Settings) -> Policy:
    """Migrate-IOGS with the guard of *settings* on its Schedule phase."""
    rules = MIGRATE_IOGS.rules._replace(
        guard=exact(settings.guard), patience=exact(settings.patience), break_even=True
    )
    return Policy("guarded-iogs", rules)
