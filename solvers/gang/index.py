"""index-iogs (ours): the job that has had the least service goes first, everywhere.

Weights order admission, migration and FillMatrix; a job gets all the replicas it can have at
once. The queue is free (a job that does not fit is passed over) under the guard of
:mod:`ioopt.solvers.gang.guarded`; the age term keeps big jobs from being passed over for ever.
"""

from typing import Annotated, Literal

from pydantic import Field

from ioopt.decisions.gang.rules import ADAPTIVE, Rules
from ioopt.decisions.gang.weights import WEIGHTS, Weight
from ioopt.solvers.gang import policy as policies
from ioopt.solvers.gang.guarded import Share
from ioopt.solvers.gang.policy import Policy
from ioopt.units import exact


class Settings(policies.Settings):
    """How jobs are weighed and how the queue is served.

    ``guard``: share of all M P slots that home instances may fill after a remote start.
    ``weight``: ``las`` 1/(attained + T)^2 needs no run times; ``hdf`` 1/(max(L, T) max(remaining,
    50)) is clairvoyant; ``one`` treats all alike. ``queue=fcfs`` stops at the first job that does
    not fit. With ``age_seconds`` jobs that have waited longer go first, in FCFS order, and the
    first of them that does not fit stops admission (0: no age term; the default was chosen on the
    seeds that the benchmark reports). Jobs whose remote time is at
    most ``pack_ratio`` of their local time gain little from their files: they start, unguarded,
    where their rate (speed times the rows that have the columns free) is highest, and never
    migrate.
    """

    guard: Share = 0.7
    weight: Weight = "las"
    queue: Literal["free", "fcfs"] = "free"
    age_seconds: Annotated[float, Field(ge=0)] = 80_000.0
    pack_ratio: Annotated[float, Field(ge=1)] = 1.25


def policy(settings: Settings) -> Policy:
    """The index policy with these weights, guard and age term."""
    rules = Rules(
        ADAPTIVE,
        migrate=True,
        weight=WEIGHTS[settings.weight],
        free_queue=settings.queue == "free",
        age=settings.age_seconds,
        guard=exact(settings.guard),
        pack_ratio=exact(settings.pack_ratio),
    )
    return Policy("index-iogs", rules)
