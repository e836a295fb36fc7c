"""First stage of the paper's two: which pending tasks the disks can serve without eviction (rule 5)."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ioopt.errors import UnsolvableInstanceError
from ioopt.models.replication.subbatch import Place, SubBatchModel
from ioopt.problems.replication import ReplicationProblem
from ioopt.result import Status
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat

LEAST_SECONDS = 0.05
"""With less than this the greedy selection is taken as it is."""
HINTED = {"symmetry_level": 0}
"""Presolve with symmetries can call a complete feasible hint infeasible."""
ROWS_PER_SECOND = 40_000
"""Rows (14) that Python writes in a second; a model that would take half its time is not built."""


@dataclass(frozen=True)
class Selection:
    """Tasks of each place; whether (17) was kept, and whether (20) was proven."""

    tasks: tuple[tuple[int, ...], ...]
    balanced: bool
    proven: bool

    @property
    def count(self) -> int:
        """Number of tasks selected."""
        return sum(map(len, self.tasks))


def select(
    problem: ReplicationProblem,
    pending: Sequence[int],
    places: Sequence[Place],
    thresh: float,
    limits: BackendLimits,
    ties: Literal["any", "bytes"] = "any",
) -> Selection:
    """A largest balanced sub-batch within *limits*; never empty while something is pending.

    Raises UnsolvableInstanceError when no place can take any pending task.
    """
    greedy = greedy_selection(problem, pending, places)
    for balance in (thresh, None):
        left = timed(
            limits, sum(len(problem.inputs[k]) for k in pending) * len(places) / ROWS_PER_SECOND
        )
        if left is None:
            break
        begun = time.monotonic()
        model = SubBatchModel(problem, pending, places, balance, ties)
        start = model.hint(greedy)
        left = left.after(time.monotonic() - begun)
        answer = solve_by_cpsat(model.program, left, start, parameters=HINTED)
        chosen = model.decode(answer.values) if answer.found else []
        if any(chosen):
            proven = answer.status is Status.OPTIMAL
            return Selection(tuple(map(tuple, chosen)), balance is not None, proven)
        if answer.status is Status.UNKNOWN:
            break
        limits = limits.after(time.monotonic() - begun)
    if not any(greedy):
        task = problem.tasks[pending[0]]
        raise UnsolvableInstanceError(
            f"task {task.id!r} and {len(pending) - 1} others fit no disk; raise disk_bytes"
        )
    return Selection(tuple(map(tuple, greedy)), False, False)


def timed(limits: BackendLimits, build_seconds: float) -> BackendLimits | None:
    """*limits*, or None where the time is too short to build a model of *build_seconds* and solve."""
    if limits.seconds is not None and limits.seconds < max(LEAST_SECONDS, 2 * build_seconds):
        return None
    return limits


def quick_selection(
    problem: ReplicationProblem, pending: Sequence[int], places: Sequence[Place]
) -> list[list[int]]:
    """Pending tasks in order, place after place, an even number each; for when time is over.

    Never empty where some place can take the first pending task.
    """
    share = -(-len(pending) // len(places))
    chosen: list[list[int]] = [[] for _ in places]
    at = 0
    for mine, place in zip(chosen, places, strict=True):
        used, stored = 0, set[int]()
        while at < len(pending) and len(mine) < share:
            task = pending[at]
            used += sum(problem.files[f].bytes for f in problem.inputs[task] if f not in stored)
            if place.disk_bytes is not None and used > place.disk_bytes:
                break
            stored.update(problem.inputs[task])
            mine.append(task)
            at += 1
    return chosen


def greedy_selection(
    problem: ReplicationProblem, pending: Sequence[int], places: Sequence[Place]
) -> list[list[int]]:
    """Tasks one by one: the place with the least computing takes what brings it the fewest bytes.

    A place leaves when nothing fits any more. Ties: lowest place, then first pending task.
    """
    import numpy as np

    sizes = [file.bytes for file in problem.files]
    rows = list(pending)
    row_of = {task: row for row, task in enumerate(rows)}
    total = np.array([problem.task_bytes(task) for task in rows], dtype=np.int64)
    missing = np.tile(total, (len(places), 1))
    used, load = [0] * len(places), [0.0] * len(places)
    stored: list[set[int]] = [set() for _ in places]
    open_rows = np.ones(len(rows), dtype=bool)
    chosen: list[list[int]] = [[] for _ in places]
    working = set(range(len(places)))
    free = [
        np.array([0 if p.present.issuperset(problem.inputs[task]) else 1 for task in rows])
        for p in places
    ]
    while working and open_rows.any():
        i = min(working, key=lambda at: (load[at], at))
        place = places[i]
        fits = open_rows.copy()
        if place.largest_disk is not None:
            fits &= total <= place.largest_disk
        if place.disk_bytes is not None:
            fits &= missing[i] <= place.disk_bytes - used[i]
        if not fits.any():
            working.discard(i)
            continue
        candidates = np.flatnonzero(fits)
        # Bytes decide; what is on the place already breaks ties.
        row = int(candidates[np.lexsort((free[i][candidates], missing[i][candidates]))[0]])
        task = rows[row]
        chosen[i].append(task)
        open_rows[row] = False
        load[i] += problem.tasks[task].compute_seconds / place.speed
        for file in problem.inputs[task]:
            if file not in stored[i]:
                stored[i].add(file)
                used[i] += sizes[file]
                for reader in problem.readers[file]:
                    if reader in row_of:
                        missing[i][row_of[reader]] -= sizes[file]
    return [sorted(tasks) for tasks in chosen]
