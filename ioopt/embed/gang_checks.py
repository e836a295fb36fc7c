"""What an embedded gang scheduler refuses: jobs that cannot be, matrices that cannot run."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ioopt.decisions.gang.state import State
from ioopt.problems.base import LARGEST
from ioopt.problems.gang import nodes_of
from ioopt.sim.gang.standing import Memory

rows_of = lru_cache(maxsize=4096)(nodes_of)
"""The rows of a mask; there are few."""


def refusal(
    job: Any, nodes: Any, times: tuple[Any, ...], priority: Any, size: Any, more: Any,
    count: int, memory: Memory | None,
) -> str | None:  # fmt: skip
    """Why this cannot be a job on *count* nodes; None when it can."""
    if not isinstance(job, (int, str)):
        return "its id must be a number or text"
    sets: list[Any] = [nodes, *more] if isinstance(more, (list, tuple)) else [None]
    for one in sets:
        good = isinstance(one, (list, tuple)) and all(
            isinstance(node, int) and 0 <= node < count for node in one
        )
        if not good or not one or len(set(one)) != len(one) or len(one) != len(nodes):
            last = count - 1
            return f"its file nodes must be different nodes of 0 .. {last}, as many in each set"
    if not is_number(*times) or not 0 < times[0] <= times[1]:
        return "it needs 0 < local_seconds <= remote_seconds"
    if not isinstance(priority, int) or isinstance(priority, bool) or priority < 1:
        return "its priority must be a whole number, 1 or more"
    if not is_number(size) or size < 0:
        return "its resident_bytes must be 0 or more"
    if memory is not None and not any(
        most_on_a_host(one, memory.host_nodes) * size <= memory.bytes for one in sets
    ):
        return f"its {size:g} bytes a task are more than a host has"
    return None


def most_on_a_host(nodes: Sequence[int], wide: int) -> int:
    """Most of *nodes* on one host of so many."""
    return max(Counter(node // wide for node in nodes).values())


def is_number(*values: Any) -> bool:
    """Whether all are finite numbers that can be times."""
    return all(
        isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST
        for value in values
    )


def unsound(before: State, after: State) -> str | None:
    """What is wrong with a matrix, None when it can be run."""
    rows, slots, levels = [0] * len(before.rows), 0, len(before.rows)
    for job, columns, home, span in zip(after.jobs, after.columns, after.homes, after.spans):
        if columns.bit_count() != job.size or columns >> before.nodes:
            return f"a job of {job.size} tasks on the nodes {nodes_of(columns)}"
        if not span >> home & 1 or span >> levels:
            return f"home row {home} is not among the rows {nodes_of(span)}"
        held = rows_of(span)
        slots += job.size * len(held)
        for row in held:
            rows[row] ^= columns
    # A cell that two jobs hold cancels out.
    if sum(row.bit_count() for row in rows) != slots:
        return "two jobs on one node of a row"
    known = {job.key for job in (*before.jobs, *after.admitted)}
    if len(after.jobs) != len(known) or any(job.key not in known for job in after.jobs):
        return "running jobs were lost or invented"
    if after.tasks_moved > before.budget:
        return f"{after.tasks_moved} tasks migrate, but only {before.budget} may"
    return None
