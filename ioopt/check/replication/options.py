"""What plans with options beyond the rules may do, recomputed from the schedule (workflow rules 21 and 22).

What happens within one instant has an order that a schedule does not tell. So a choice is wrong only
if it is wrong whatever that order was.
"""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator

from ioopt.check.pipes import time_slack
from ioopt.check.replication.schedule import Stays, pipes_of, stays_of
from ioopt.check.replication.workflow import late, saved_at
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.protocols import Schedule
from ioopt.result import Violation, violation

SAME_RATE = 1e-9
"""Rates that differ by a smaller share are the same."""


def option_violations(
    problem: ReplicationProblem, plan: ReplicationPlan, schedule: Schedule
) -> list[Violation]:
    """What *schedule*, whose names are all known, does that the options of *plan* do not allow."""
    found = list(_depths(problem, schedule)) if plan.dispatches is None else []
    if plan.sources == "least-loaded":
        found += _sources(problem, schedule, stays_of(problem, schedule))
    return found


def _depths(problem: ReplicationProblem, schedule: Schedule) -> Iterator[Violation]:
    """Where several files may come in at once: each for one of the first so many unstarted tasks."""
    if schedule.get("copy_entries"):
        return  # they stand in the queues too, and no row tells when they began to wait
    starts: dict[str, list[float]] = defaultdict(list)
    readers: dict[tuple[str, str], list[float]] = defaultdict(list)
    for run in schedule.get("tasks", ()):
        starts[run["node"]].append(run["start_seconds"])
        for file in problem.tasks[problem.task_index[run["id"]]].inputs:
            readers[file, run["node"]].append(run["start_seconds"])
    for times in starts.values():
        times.sort()
    for row in schedule.get("transfers", ()):
        target = row["destination"]
        if target is None:
            continue
        depth, start = problem.nodes[problem.node_index[target]].staging, row["start_seconds"]
        after = [t for t in readers[row["file"], target] if not late(row["end_seconds"], t)]
        before = bisect_right(starts[target], start + time_slack(start))
        first = bisect_left(starts[target], min(after, default=math.inf))
        if depth > 1 and first >= before + depth:
            text = f"comes to {target} at {start:g} s for a task behind the first {depth} there"
            yield violation("staging", row["file"], text)


def _holders(problem: ReplicationProblem, stays: Stays, file: str, time: float) -> list[str]:
    """The nodes on which a file is complete just before and just after an instant."""
    return [
        node.id
        for node in problem.nodes
        if any(late(time, s.ready) and late(s.end, time) for s in stays.of.get((file, node.id), ()))
    ]


class _Loads:
    """How many transfers cross each pipe at an instant."""

    def __init__(self, problem: ReplicationProblem, moves: Iterable[Schedule]) -> None:
        self._of: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
        for row in moves:
            file = problem.files[problem.file_index[row["file"]]]
            for pipe, _ in pipes_of(problem, row, file) if file.bytes else ():
                self._of[pipe][0].append(row["start_seconds"])
                self._of[pipe][1].append(row["end_seconds"])
        for starts, ends in self._of.values():
            starts.sort()
            ends.sort()

    def share(self, pipe: tuple[str, float], time: float, most: bool) -> float:
        """The most, or least, that one more transfer gets of a pipe by what may be under way."""
        name, rate = pipe
        starts, ends = self._of[name]
        slack = time_slack(time)
        if most:
            count = bisect_left(starts, time - slack) - bisect_right(ends, time + slack)
        else:
            count = bisect_right(starts, time + slack) - bisect_left(ends, time - slack)
        return rate / (max(0, count) + 1)


def _sources(problem: ReplicationProblem, schedule: Schedule, stays: Stays) -> Iterator[Violation]:
    """No other source would have been faster, by equal shares of what was under way."""
    moves, saved = schedule.get("transfers", ()), saved_at(schedule)
    loads = _Loads(problem, moves)
    for row in moves:
        name, target, time = row["file"], row["destination"], row["start_seconds"]
        if target is None:
            continue
        holders = [node for node in _holders(problem, stays, name, time) if node != target]
        file = problem.files[problem.file_index[name]]
        product = problem.producer[problem.file_index[name]] >= 0
        others: list[str | None] = [node for node in holders if node != row["source"]]
        if row["source"] and (not product or late(time, saved.get(name, math.inf))):
            others.append(None)

        def rate(source: str | None, most: bool) -> float:
            way = pipes_of(problem, {"source": source, "destination": target}, file)[1:]  # noqa: B023
            return min(loads.share(pipe, time, most) for pipe in way)  # noqa: B023

        own = rate(row["source"], True)
        for source in others:
            if rate(source, False) > own * (1 + SAME_RATE):
                text = f"comes to {target} at {time:g} s from a source slower than {source or 'the storage'}"
                yield violation("source", name, text)
