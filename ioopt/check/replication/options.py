"""What plans with options beyond the rules may do, recomputed from the schedule (workflow rules 21 to 25).

What happens within one instant has an order that a schedule does not tell. So a choice is wrong only
if it is wrong whatever that order was.
"""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

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
    moves = schedule.get("transfers", ())
    sent = [row for row in moves if row.get("evacuated")]
    if not (sent or plan.overtake or plan.sources != "lowest" or plan.saves != "soon"):
        return found
    stays = stays_of(problem, schedule)
    found += _evacuations(problem, plan, schedule, stays)
    if plan.sources == "least-loaded":
        found += _sources(problem, schedule, stays)
    if plan.saves == "deferred":
        found += _deferred(problem, moves)
    if plan.overtake:
        found += _overtaking(problem, plan, schedule, stays)
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
        if target is None or row.get("evacuated"):
            continue
        depth, start = problem.nodes[problem.node_index[target]].staging, row["start_seconds"]
        after = [t for t in readers[row["file"], target] if not late(row["end_seconds"], t)]
        before = bisect_right(starts[target], start + time_slack(start))
        first = bisect_left(starts[target], min(after, default=math.inf))
        if depth > 1 and first >= before + depth:
            text = f"comes to {target} at {start:g} s for a task behind the first {depth} there"
            yield violation("staging", row["file"], text)


def _evacuations(
    problem: ReplicationProblem, plan: ReplicationPlan, schedule: Schedule, stays: Stays
) -> Iterator[Violation]:
    """Once a file at most, a product that was at risk where it came from."""
    saved, seen = saved_at(schedule), set()
    starts: dict[str, list[float]] = defaultdict(list)
    for run in schedule.get("tasks", ()):
        for file in problem.tasks[problem.task_index[run["id"]]].inputs:
            starts[file].append(run["start_seconds"])
    for entry in schedule.get("copy_entries", ()):
        starts[entry["file"]].append(entry["seconds"])
    for row in schedule.get("transfers", ()):
        if not row.get("evacuated"):
            continue
        name, time = row["file"], row["start_seconds"]
        f = problem.file_index[name]
        wrong = {
            "the plan does not ask for that": not plan.evacuate,
            "it is no product, or one to keep": problem.producer[f] < 0 or problem.files[f].keep,
            "it has been so before": name in seen,
            "it is saved by then": late(time, saved.get(name, math.inf)),
            "it is elsewhere too": len(_holders(problem, stays, name, time)) > 1,
            "nobody reads it any more": all(late(time, start) for start in starts[name]),
        }
        seen.add(name)
        for why in (why for why, holds in wrong.items() if holds):
            yield violation("evacuation", name, f"is evacuated at {time:g} s, but {why}")


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
        if target is None or row.get("evacuated"):
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


def _deferred(problem: ReplicationProblem, moves: Sequence[Schedule]) -> Iterator[Violation]:
    """Where no disk is short, nothing is saved while the same link brings files."""
    shared = problem.network.remote_link == "shared"
    ample = {node.id for node in problem.nodes if node.disk_bytes is None}
    fetches = [row for row in moves if row["source"] is None]
    for row in moves:
        node, time = row["source"], row["start_seconds"]
        if row["destination"] is None and node in ample:
            same = (other for other in fetches if shared or other["destination"] == node)
            if any(
                late(time, other["start_seconds"]) and late(other["end_seconds"], time)
                for other in same
            ):
                text = f"is saved at {time:g} s from {node}, while the link brings files"
                yield violation("save", row["file"], text)


def _overtaking(
    problem: ReplicationProblem, plan: ReplicationPlan, schedule: Schedule, stays: Stays
) -> Iterator[Violation]:
    """A task is given past one that still lacks an input alone, and starts at once."""
    runs = {row["id"]: row for row in schedule.get("tasks", ())}
    waiting: dict[str, str] = {}
    for seconds, _, name, node in plan.dispatches or ():
        head = waiting.get(node)
        if head is None or head not in runs or not late(runs[head]["start_seconds"], seconds):
            waiting[node] = name
            continue
        wanted = problem.tasks[problem.task_index[head]].inputs
        there = all(node in _holders(problem, stays, file, seconds) for file in wanted)
        if there or (name in runs and late(runs[name]["start_seconds"], seconds)):
            text = f"given to {node} at {seconds:g} s past {head}, which it may not pass"
            yield violation("dispatch", name, text)
