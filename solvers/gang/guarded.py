"""guarded-iogs (ours): Migrate-IOGS that refuses remote starts on a crowded machine.

A remote job holds its slots R/L times as long, which makes the next start remote too; the guard
keeps the matrix empty enough for migration to undo remote starts. FCFS is kept: a refused head
blocks the queue.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import Field

from ioopt.decisions.gang.state import ADAPTIVE, Gang, Twin, guard_slots
from ioopt.solvers.gang import run
from ioopt.solvers.gang.migrate_iogs import POLICY as MIGRATE_IOGS
from ioopt.solvers.gang.phases import Board, Place, file_nodes_or_best_fit, schedule
from ioopt.solvers.gang.policy import Policy
from ioopt.units import exact


class Settings(run.Settings):
    """``guard``: share of all M P slots that home instances may fill after a remote start."""

    guard: Annotated[float, Field(ge=0, le=1)] = 0.7


def guarded(place: Place, share: Fraction) -> Place:
    """*place*, except that a remote start may not fill more than *share* of the home slots."""

    def rule(job: Gang, board: Board) -> tuple[int, int] | None:
        found = place(job, board)
        if found is None or found[1] == job.files:
            return found
        levels = len(board.free)
        occupied = board.nodes * levels - sum(board.counts)
        return found if occupied + job.size <= guard_slots(share, board.nodes, levels) else None

    return rule


def policy(settings: Settings) -> Policy:
    """Migrate-IOGS with the guard of *settings* on its Schedule phase."""
    share = exact(settings.guard)
    place = guarded(file_nodes_or_best_fit, share)
    return Policy(
        "guarded-iogs",
        {**MIGRATE_IOGS.phases, "schedule": schedule(place)},
        Twin(ADAPTIVE, migrate=True, local_first=True, share=share),
    )


solve = run.solver(policy)
