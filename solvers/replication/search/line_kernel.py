"""Annealing of one order of all tasks: pure Python and compiled alike.

Plans are scored by the timeline simulator, or by the bytes that the order moves where its tasks run one
after the other, each on its node, and a disk lets go what the order reads last (Belady). There nodes do not
wait for each other, so that a move changes little but the files it touches: annealing gets much further than
over replays, a tenth as long each. Annealing over replays goes on from such an order, and moves barriers too.
"""

import math
from typing import NamedTuple

from ioopt.sim.replication.kernel import FINISHED, replay
from ioopt.sim.replication.state import Instance, Log, Queues, State
from ioopt.solvers.replication.search.line_moves import (
    BEST,
    EVALUATIONS,
    MOVED,
    NOW,
    Line,
    change,
    change_barriers,
    keep,
    keep_best,
    put_back,
    uniform,
    write_queues,
)


class Schedule(NamedTuple):
    """Moves *first* to *first + steps* of *total*, from *hot* to *cold* seconds; ends at *target*.

    ``by_bytes``: scored by the seconds of all transfers instead of replays.
    """

    steps: int
    first: int
    total: int
    hot: float
    cold: float
    target: float
    by_bytes: int


def makespan(inst: Instance, plan: Queues, st: State, log: Log, limit: float) -> float:
    """The end of the queues of *plan*; infinite above *limit* or where they cannot run."""
    value, code = replay(inst, plan, st, log, limit)
    return value if code == FINISHED else float("inf")


def anneal(
    inst: Instance, plan: Queues, st: State, log: Log, line: Line, schedule: Schedule
) -> None:
    """A stretch of an annealing, as *schedule* has it.

    Starts from a plan whose score is ``values[NOW]``. The pieces that a run is cut into do not change it.
    Without steps the queues, or the order, are only scored: a kernel of its own for that would take as long
    again to compile.
    """
    first, hot, cold = schedule.first, schedule.hot, schedule.cold
    if schedule.steps == 0:
        if schedule.by_bytes:
            line.values[NOW] = seconds(inst, line, float("inf"))
        else:
            line.values[NOW] = makespan(inst, plan, st, log, float("inf"))
    for step in range(first, first + schedule.steps):
        if line.values[BEST] <= schedule.target:
            return
        heat = hot * (cold / hot) ** (step / schedule.total)
        keep(line)
        if plan.barriers:
            change_barriers(inst, line)
        else:
            change(inst, line)
        now = line.values[NOW]
        limit = now - heat * math.log(uniform(line.random))
        value = now
        if schedule.by_bytes:
            value = rescore(inst, line, now, limit)
        elif write_queues(inst, plan, line):
            value = makespan(inst, plan, st, log, limit)
        line.counts[EVALUATIONS] += 1
        if value > limit:
            put_back(line)
            if not schedule.by_bytes:
                write_queues(inst, plan, line)
            continue
        line.values[NOW] = value
        if value < line.values[BEST]:
            line.values[BEST] = value
            keep_best(line)


FETCHED, COPIED, OWED, DIGEST = 0, 1, 2, 3
"""Cells of ``sums``: bytes moved so far, bytes on no disk that are still read, codes of what lies where."""


def settle(inst: Instance, line: Line, i: int, f: int) -> None:
    """File *f* takes its space on node *i*."""
    x = i * inst.num_files
    line.residents[x + line.num_residents[i]] = f
    line.num_residents[i] += 1
    line.on[x + f] = 1
    line.copies[f] += 1
    line.used[i] += inst.size[f]
    if line.nxt[f] < inst.num_tasks:
        line.sums[DIGEST] += line.code[x + f]


def make_room(inst: Instance, line: Line, i: int, size: int, p: int) -> None:
    """Evict from node *i*, for the task at place *p*: dead files, duplicates, then what is read last.

    Ties go to the lowest file index.
    """
    base, tasks = i * inst.num_files, inst.num_tasks
    while line.used[i] + size > inst.disk[i]:
        best, worth, first = -1, -1, -1
        for s in range(line.num_residents[i]):
            g = line.residents[base + s]
            if line.wanted[g] == p:
                continue
            value = line.nxt[g]
            if value == tasks:
                value = 3 * tasks
            elif line.copies[g] > 1:
                value += tasks
            if value > worth or (value == worth and g < first):
                best, worth, first = s, value, g
        line.num_residents[i] -= 1
        line.residents[base + best] = line.residents[base + line.num_residents[i]]
        line.on[base + first] = 0
        line.copies[first] -= 1
        line.used[i] -= inst.size[first]
        if line.nxt[first] < tasks:
            line.sums[DIGEST] -= line.code[base + first]
            if line.copies[first] == 0:
                line.sums[OWED] += inst.size[first]


def look_ahead(inst: Instance, line: Line, first: int) -> None:
    """The next reader of every file from place *first* on."""
    for f in range(inst.num_files):
        line.nxt[f] = inst.num_tasks
        line.wanted[f] = -1
    for p in range(inst.num_tasks - 1, first - 1, -1):
        k = line.order[p]
        for x in range(inst.ptr[k], inst.ptr[k + 1]):
            line.follow[x] = line.nxt[inst.files[x]]
            line.nxt[inst.files[x]] = p


def stride(inst: Instance, line: Line) -> int:
    """Places from one to the next whose disks are remembered; beyond the order where there is no room."""
    marks = len(line.marked) // inst.num_nodes
    return int(inst.num_tasks // marks + 1 if marks > 0 else inst.num_tasks + 1)


def restore(inst: Instance, line: Line, first: int) -> None:
    """The disks as they were before place *first*, which is remembered or 0."""
    files, nodes = inst.num_files, inst.num_nodes
    for i in range(nodes):
        for x in range(i * files, i * files + line.num_residents[i]):
            line.on[i * files + line.residents[x]] = 0
        line.num_residents[i] = 0
        line.used[i] = 0
    for f in range(files):
        line.copies[f] = 0
    for x in range(4):
        line.sums[x] = 0
    if first > 0:
        m = nodes * (first // stride(inst, line))
        for i in range(nodes):
            base = (m + i) * files
            for x in range(base, base + line.marked[m + i]):
                settle(inst, line, i, line.mark[x])
        line.sums[FETCHED] = line.fetched[first]
        line.sums[COPIED] = line.copied[first]
    else:
        for x in range(len(inst.held_node)):
            settle(inst, line, inst.held_node[x], inst.held_file[x])
    for f in range(files):
        if line.copies[f] == 0 and line.nxt[f] < inst.num_tasks:
            line.sums[OWED] += inst.size[f]


def remember(inst: Instance, line: Line, p: int, every: int) -> None:
    """Keep what lies where, and the bytes moved, before place *p*."""
    line.digest[p] = line.sums[DIGEST]
    line.fetched[p] = line.sums[FETCHED]
    line.copied[p] = line.sums[COPIED]
    if p % every > 0 or len(line.marked) == 0:
        return
    for i in range(inst.num_nodes):
        m = inst.num_nodes * (p // every) + i
        line.marked[m] = line.num_residents[i]
        for x in range(line.num_residents[i]):
            line.mark[m * inst.num_files + x] = line.residents[i * inst.num_files + x]


def serve(inst: Instance, line: Line, p: int) -> None:
    """The task at place *p* gets its files."""
    k = line.order[p]
    i = line.node[k]
    files = inst.num_files
    for x in range(inst.ptr[k], inst.ptr[k + 1]):
        f = inst.files[x]
        line.wanted[f] = p
        line.nxt[f] = line.follow[x]
        if line.follow[x] == inst.num_tasks:
            for j in range(inst.num_nodes):
                if line.on[j * files + f]:
                    line.sums[DIGEST] -= line.code[j * files + f]
    for x in range(inst.ptr[k], inst.ptr[k + 1]):
        f = inst.files[x]
        if line.on[i * files + f]:
            continue
        if line.copies[f] > 0:
            line.sums[COPIED] += inst.size[f]
        else:
            line.sums[FETCHED] += inst.size[f]
            line.sums[OWED] -= inst.size[f]
        if line.used[i] + inst.size[f] > inst.disk[i]:
            make_room(inst, line, i, inst.size[f], p)
        settle(inst, line, i, f)


def evaluate(inst: Instance, line: Line, first: int, end: int, limit: float, keep: bool) -> float:
    """Seconds of all transfers; given up above *limit*.

    Up to place *first* (remembered) all is as it was, from *end* on the order is. *keep* remembers it.
    """
    tasks, sums, every = inst.num_tasks, line.sums, stride(inst, line)
    look_ahead(inst, line, first)
    restore(inst, line, first)
    p = first
    while p < tasks and (p < end or sums[DIGEST] != line.digest[p]):
        if keep:
            remember(inst, line, p, every)
        serve(inst, line, p)
        p += 1
        if (sums[FETCHED] + sums[OWED]) * line.costs[0] + sums[COPIED] * line.costs[1] > limit:
            return float("inf")
    fetched, copied = sums[FETCHED], sums[COPIED]
    if p < tasks:
        fetched += line.fetched[tasks] - line.fetched[p]
        copied += line.copied[tasks] - line.copied[p]
    if keep:
        more, copies = sums[FETCHED] - line.fetched[p], sums[COPIED] - line.copied[p]
        for q in range(p, tasks + 1):
            line.fetched[q] += more
            line.copied[q] += copies
    return float(fetched * line.costs[0] + copied * line.costs[1])


def seconds(inst: Instance, line: Line, limit: float) -> float:
    """Seconds of all transfers, counted and remembered from the beginning; given up above *limit*."""
    return evaluate(inst, line, 0, inst.num_tasks, limit, True)


def begin_of_change(inst: Instance, line: Line) -> int:
    """The first place whose task or node a move has changed; the number of tasks where none is."""
    p = 0
    while p < inst.num_tasks and (
        line.order[p] == line.kept_order[p]
        and line.node[line.order[p]] == line.kept_node[line.order[p]]
    ):
        p += 1
    return p


def end_of_change(inst: Instance, line: Line) -> int:
    """One more than the last such place; 0 where none is."""
    p = inst.num_tasks
    while p > 0 and (
        line.order[p - 1] == line.kept_order[p - 1]
        and line.node[line.order[p - 1]] == line.kept_node[line.order[p - 1]]
    ):
        p -= 1
    return p


def start_of(inst: Instance, line: Line, first: int) -> int:
    """Up to which remembered place disks stay as they were; *first* is the first changed one.

    Before it all places are as they were.
    """
    start = first
    for m in range(line.counts[MOVED]):
        k = line.moved[m]
        for x in range(inst.ptr[k], inst.ptr[k + 1]):
            f = inst.files[x]
            last = -1
            for y in range(line.reader_ptr[f], line.reader_ptr[f + 1]):
                q = line.place[line.readers[y]]
                if last < q < first:
                    last = q
            if last < 0 and len(inst.held_file) > 0:
                last = 0
            if 0 <= last < start:
                start = last
    return start - start % stride(inst, line)


def rescore(inst: Instance, line: Line, now: float, limit: float) -> float:
    """Seconds of all transfers after a move from an order of *now* seconds; infinite above *limit*.

    What is remembered is that of the new order where it is within the limit.
    """
    first, end = begin_of_change(inst, line), end_of_change(inst, line)
    if first >= end:
        return now
    start = start_of(inst, line, first)
    value = evaluate(inst, line, start, end, limit, False)
    if value > limit:
        return float("inf")
    evaluate(inst, line, start, end, float("inf"), True)
    return value
