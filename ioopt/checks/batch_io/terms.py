"""Prepare the data of the batch I/O checker from the problem and the plan."""

from __future__ import annotations

from dataclasses import dataclass

from ioopt.problems.batch_io import BatchIoPlan, BatchIoProblem

SLACK_SECONDS = 4e-9
"""Largest difference in seconds of two times that count as one instant. Rule 2 allows
1e-9 s for each time.
"""


@dataclass(frozen=True)
class Terms:
    """The problem, with the settings of the run that the plan states.

    ``ef`` is the expansion factor. ``closed`` tells whether jobs wait in a queue for
    free nodes. Requests of less than ``least_bytes`` need no turn (rule 54; None: the
    policy is another one).
    """

    problem: BatchIoProblem
    policy: str | None
    top: bool
    ef: float
    closed: bool
    least_bytes: float | None = None

    @classmethod
    def of(cls, problem: BatchIoProblem, plan: BatchIoPlan | None) -> Terms:
        """Return the terms of *plan*.

        Without a plan the policy is unknown, the expansion factor is 1, and the loop is
        closed.
        """
        if plan is None:
            return cls(problem, None, False, 1.0, True)
        least = (plan.settings or {}).get("least_bytes")
        closed = plan.loop == "closed"
        return cls(problem, plan.policy, plan.top, plan.ef, closed, least)

    @property
    def storage(self) -> float:
        """Return the rate of the storage, BW_max, in bytes per second."""
        return self.problem.machine.storage_bytes_per_second

    @property
    def interferes(self) -> bool:
        """Return whether concurrent requests lower the storage's rate (rule 29)."""
        return self.problem.machine.interference > 0

    @property
    def limited(self) -> bool:
        """Return whether the storage limits the sum of rates; it does not under the
        uncongested reference policy.
        """
        return self.policy != "no-congestion"
