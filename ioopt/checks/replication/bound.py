"""Check a bound plan and its schedule against timeline rule 12.

The module is written from the rule alone; it shares nothing with the simulator. A
schedule does not record the order of events within one instant, so an order is a
violation only if the times contradict it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ioopt.checks.replication.workflow import late, times_of
from ioopt.problems.replication import (
    CopyEntry,
    ReplicationPlan,
    ReplicationProblem,
)
from ioopt.protocols import Schedule
from ioopt.result import Violation, violation

Key = tuple[str, str | None, str | None]
"""File, source and destination of a transfer; None is the remote storage."""


def bound_violations(
    problem: ReplicationProblem, plan: ReplicationPlan, schedule: Schedule | None
) -> list[Violation]:
    """Return the violations of timeline rule 12 in a bound plan and, if given, in its
    schedule, whose names must all be known.
    """
    found = [*_unknown(problem, plan), *_numbers(plan)]
    if found or schedule is None:
        return found
    found = [*_counts(plan, schedule)]
    if found:
        return found
    rows = _rows_of_moves(plan, schedule)
    starts = _entry_starts(plan, schedule)
    return [
        *_order(plan, rows),
        *_starts(problem, plan, rows, starts),
        *_rooms(plan, schedule, rows),
    ]


def _unknown(problem: ReplicationProblem, plan: ReplicationPlan) -> Iterator[Violation]:
    """Yield a violation for each name in moves and evictions that the problem does not
    have.
    """
    rows: list[tuple[str, str, str | None]] = []
    for number, (node, file, source) in enumerate(plan.bound_moves or ()):
        where = f"moves[{number}]"
        rows += [(where, "file", file), (where, "node", node), (where, "node", source)]
    for number, (node, file, before) in enumerate(plan.evictions):
        where = f"evictions[{number}]"
        rows += [(where, "file", file), (where, "node", node)]
        if isinstance(before, str):
            rows.append((where, "task", before))
    for where, what, name in rows:
        if name is not None and name not in problem.index_of(what):
            text = f"{where} names it, but there is no such {what}"
            yield violation("unknown", name, text)


def _numbers(plan: ReplicationPlan) -> Iterator[Violation]:
    """Check that the numbers of entries and of moves exist, and that each move has two
    different ends.
    """
    moves = plan.bound_moves or ()
    for number, (node, file, source) in enumerate(moves):
        if node == source:
            yield violation("moves", file, f"moves[{number}] has the same ends")
    for number, after in enumerate(plan.moves_after or ()):
        node = _node_of(moves[number])
        queue = plan.order.get(node, ())
        if after > len(queue):
            text = f"moves_after[{number}] is {after}; the queue has {len(queue)}"
            yield violation("moves", node, text)
    for number, (_, file, before) in enumerate(plan.evictions):
        if isinstance(before, int) and before >= len(moves):
            text = f"evictions[{number}]: there is no moves[{before}]"
            yield violation("eviction", file, text)


def _node_of(row: tuple[str | None, str, str | None]) -> str:
    """Return the node in whose order a move stands: the receiver, or the node that
    saves.
    """
    node, _, source = row
    return str(source if node is None else node)


def _counts(plan: ReplicationPlan, schedule: Schedule) -> Iterator[Violation]:
    """Check that the schedule makes each move and each eviction as often as the plan
    states, and no others.
    """
    moves: Counter[Key] = Counter()
    for node, file, source in plan.bound_moves or ():
        moves[file, source, node] += 1
    done: Counter[Key] = Counter()
    for row in schedule.get("transfers", ()):
        done[row["file"], row["source"], row["destination"]] += 1
    for key in sorted(moves.keys() | done.keys(), key=str):
        more = done[key] - moves[key]
        if more:
            file, source, target = key
            text = (
                f"the number of moves from {source or 'the storage'} to "
                f"{target or 'the storage'} differs from the plan by {more:+}"
            )
            yield violation("carry out", file, text, abs(more))
    leaving = Counter((file, node) for node, file, _ in plan.evictions)
    left = Counter((row["file"], row["node"]) for row in schedule.get("evictions", ()))
    for file, node in sorted(leaving.keys() | left.keys()):
        more = left[file, node] - leaving[file, node]
        if more:
            text = f"the number of evictions from {node} differs by {more:+}"
            yield violation("carry out", file, text, abs(more))


@dataclass(frozen=True)
class _Times:
    """The start and the end of a move, in seconds."""

    start: float
    end: float


def _rows_of_moves(plan: ReplicationPlan, schedule: Schedule) -> list[_Times]:
    """Return the times of each move of the plan.

    If a file comes to a node from the same source several times, its rows of the
    schedule belong to those of the plan in order of time.
    """
    times: dict[Key, list[_Times]] = defaultdict(list)
    for row in sorted(schedule.get("transfers", ()), key=_by_start, reverse=True):
        key = row["file"], row["source"], row["destination"]
        times[key].append(_Times(row["start_seconds"], row["end_seconds"]))
    found = []
    for node, file, source in plan.bound_moves or ():
        found.append(times[file, source, node].pop())
    return found


def _by_start(row: Schedule) -> tuple[float, float]:
    return row["start_seconds"], row["end_seconds"]


def _entry_starts(
    plan: ReplicationPlan, schedule: Schedule
) -> Mapping[str, Sequence[float]]:
    """Return, for each node, the start of each entry of its queue in seconds; infinity
    for an entry that never starts.
    """
    starts = {row["id"]: row["start_seconds"] for row in schedule.get("tasks", ())}
    copied = times_of(schedule, "copy_entries")
    for times in copied.values():
        times.sort(reverse=True)
    found: dict[str, list[float]] = {}
    for node, queue in plan.order.items():
        found[node] = []
        for entry in queue:
            if isinstance(entry, CopyEntry):
                times = copied[entry.copy_file, node]
                found[node].append(times.pop() if times else math.inf)
            else:
                found[node].append(starts.get(entry, math.inf))
    return found


def _order(plan: ReplicationPlan, rows: Sequence[_Times]) -> Iterator[Violation]:
    """Check that the moves to each node, and the saves of each node, start in the order
    of the plan.
    """
    moves = plan.bound_moves or ()
    lines: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for number, move in enumerate(moves):
        lines[_node_of(move), move[0] is None].append(number)
    for (node, saved), numbers in lines.items():
        for first, second in pairwise(numbers):
            if late(rows[first].start, rows[second].start):
                verb = "is saved from" if saved else "comes to"
                text = (
                    f"{verb} {node} at {rows[second].start:g} s, before "
                    f"{moves[first][1]}, which the plan moves first"
                )
                yield violation("move order", moves[second][1], text)


def _starts(
    problem: ReplicationProblem,
    plan: ReplicationPlan,
    rows: Sequence[_Times],
    starts: Mapping[str, Sequence[float]],
) -> Iterator[Violation]:
    """Check that each move starts after the entries of its node that the plan has start
    before it.
    """
    moves = plan.bound_moves or ()
    after = plan.moves_after
    if after is None:
        after = _after_by_queue(problem, plan)
    for number, count in enumerate(after):
        node = _node_of(moves[number])
        if not count:
            continue
        begun = starts[node][count - 1]
        if late(begun, rows[number].start):
            text = (
                f"moves at {rows[number].start:g} s, before entry {count} in the queue "
                f"of {node} starts"
            )
            yield violation("move start", moves[number][1], text)


def _after_by_queue(
    problem: ReplicationProblem, plan: ReplicationPlan
) -> tuple[int, ...]:
    """Return ``moves_after`` of a plan without it: a file comes once the entry before
    its next reader has started, and a save waits for no entry.
    """
    latest: dict[str, int] = defaultdict(int)
    found = []
    for node, file, _ in plan.bound_moves or ():
        if node is None:
            found.append(0)
            continue
        queue = plan.order.get(node, ())
        for place in range(latest[node], len(queue)):
            entry = queue[place]
            if isinstance(entry, CopyEntry):
                reads = entry.copy_file == file
            else:
                reads = file in problem.tasks[problem.task_index[entry]].inputs
            if reads:
                latest[node] = place
                break
        found.append(latest[node])
    return tuple(found)


def _rooms(
    plan: ReplicationPlan, schedule: Schedule, rows: Sequence[_Times]
) -> Iterator[Violation]:
    """Check that each file leaves its node before what needs its room starts."""
    tasks = {row["id"]: row["start_seconds"] for row in schedule.get("tasks", ())}
    gone = times_of(schedule, "evictions")
    for times in gone.values():
        times.sort(reverse=True)
    for node, file, before in plan.evictions:
        seconds = gone[file, node].pop()
        if before is None:
            continue
        if isinstance(before, str):
            name = before
            start = tasks.get(before, math.inf)
        else:
            name = (plan.bound_moves or ())[before][1]
            start = rows[before].start
        if late(seconds, start):
            text = (
                f"leaves {node} at {seconds:g} s, but {name} takes its room at "
                f"{start:g} s"
            )
            yield violation("eviction", file, text)
