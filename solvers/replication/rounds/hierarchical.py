"""The hierarchical scheme (Khanna et al., Section 4.4): the two stages over a tree of virtual nodes."""

import math
from typing import Annotated, Literal

from pydantic import Field, field_validator

from ioopt.errors import UsageError
from ioopt.problems.replication import ReplicationProblem
from ioopt.protocols import Outcome, SolveRequest
from ioopt.solvers.replication.rounds import two_stage

PAPER = {8: (4, 2), 16: (4, 4), 32: (8, 4)}
"""Hierarchies of Figure 6."""


class Settings(two_stage.Settings):
    """``hierarchy`` such as ``4:2`` or ``2:2:4`` (None: by the number of nodes); others as two-stage.

    The models are smaller than those of the flat scheme, so each gets less ``effort``.
    """

    hierarchy: str | None = None
    ties: Literal["any", "bytes"] = "bytes"
    effort: Annotated[float, Field(gt=0, le=10_000)] = 0.1

    @field_validator("hierarchy")
    @classmethod
    def _numbers(cls, value: str | None) -> str | None:
        if value is not None:
            parts = value.split(":")
            if not all(part.strip().isdecimal() and 0 < int(part) < 10**6 for part in parts):
                raise ValueError("wanted whole numbers with colons, such as 4:2")
        return value


def levels_for(num_nodes: int, hierarchy: str | None) -> tuple[int, ...]:
    """Children at every level, from the top; raises UsageError when they do not make *num_nodes*.

    Without a hierarchy: that of the paper for 8, 16 and 32 nodes, else leaves of 4 or of 2 nodes
    where that divides the nodes, else one level.

    >>> levels_for(8, "2:2:2"), levels_for(12, None), levels_for(3, None)
    ((2, 2, 2), (3, 4), (3,))
    """
    if hierarchy is not None:
        levels = tuple(int(part) for part in hierarchy.split(":"))
        if math.prod(levels) != num_nodes:
            raise UsageError(
                f"hierarchy {hierarchy} has {math.prod(levels)} nodes, the instance {num_nodes}"
            )
        return levels
    if num_nodes in PAPER:
        return PAPER[num_nodes]
    for leaves in (4, 2):
        if num_nodes > leaves and num_nodes % leaves == 0:
            return num_nodes // leaves, leaves
    return (num_nodes,)


def solve(problem: ReplicationProblem, request: SolveRequest) -> Outcome:
    """Solve in rounds down the tree of virtual nodes."""
    settings = request.settings or Settings()
    levels = levels_for(len(problem.nodes), settings.hierarchy)
    return two_stage.solve_in_rounds(problem, request, settings, levels)
