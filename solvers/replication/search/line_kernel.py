"""Anneal one order of all tasks, for the link-aware search.

The same code runs in plain Python and compiled. A plan has one of two scores. The first
is the makespan of its replay. The second is the time of all its transfers if its tasks
ran one after the other in the order, each on its node, and a full disk evicted the file
that is read last in the order (Belady). Under the second score, nodes do not wait for
each other, so a move changes little but the transfers of its files. Annealing therefore
gets much further than with replays, and scoring a plan takes a tenth of the time.
Annealing with replays then continues from the resulting order, and moves barriers too.
"""

import math
from typing import NamedTuple

from ioopt.sim.replication.kernel import FINISHED, replay
from ioopt.sim.replication.state import TRANSFERS, Instance, Log, Queues, State
from ioopt.solvers.replication.search.line_moves import (
    BEST,
    EVALUATIONS,
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
    """A stretch of annealing: the moves *first* to *first + steps - 1* of *total*.

    The temperature falls from *hot* to *cold* seconds over all moves. The stretch ends
    early once the best score is at most *target* seconds. ``by_bytes``: 1 if the score
    is the time of all transfers, 0 if plans are replayed.
    """

    steps: int
    first: int
    total: int
    hot: float
    cold: float
    target: float
    by_bytes: int


def replayed(
    inst: Instance, plan: Queues, st: State, log: Log, line: Line, limit: float
) -> float:
    """Return the makespan of a replay of *plan* in seconds, or if *log* is enabled the
    batch time.

    The result is infinite if the queues cannot run, or if the makespan is above
    *limit*.
    """
    value, code = replay(inst, plan, st, log, float("inf") if log.enabled else limit)
    if code != FINISHED:
        return float("inf")
    return batch_time(inst, plan, st, log, line) if log.enabled else value


def batch_time(inst: Instance, plan: Queues, st: State, log: Log, line: Line) -> float:
    """Return the batch time (13) in seconds: the largest sum of transfers and computing
    of a node.

    A fetch counts at the node that reads the file, a copy at both nodes.
    """
    busy = st.room
    for i in range(inst.num_nodes):
        busy[i] = 0.0
        for p in range(plan.ptr[i], plan.ptr[i + 1]):
            busy[i] += inst.compute[plan.entry[p]] / inst.speed[i]
    for n in range(st.counters[TRANSFERS]):
        size = inst.size[log.file[n]]
        source = log.source[n]
        if source >= 0:
            busy[source] += size * line.costs[1]
        busy[log.destination[n]] += size * line.costs[1 if source >= 0 else 0]
    most = busy[0]
    for i in range(1, inst.num_nodes):
        most = max(most, busy[i])
    return most


def anneal(
    inst: Instance, plan: Queues, st: State, log: Log, line: Line, schedule: Schedule
) -> None:
    """Perform the stretch of annealing that *schedule* describes.

    It starts from a plan whose score is ``line.values[NOW]``. The result does not
    depend on how a run is cut into stretches. With no steps, the present plan is only
    scored: a separate kernel for scoring would double the time to compile.
    """
    first = schedule.first
    hot = schedule.hot
    cold = schedule.cold
    if schedule.steps == 0:
        if schedule.by_bytes:
            line.values[NOW] = seconds(inst, line, float("inf"))
        else:
            line.values[NOW] = replayed(inst, plan, st, log, line, float("inf"))
    for step in range(first, first + schedule.steps):
        if line.values[BEST] <= schedule.target:
            return
        heat = hot * (cold / hot) ** (step / schedule.total)
        keep(line, line.kept_order, line.kept_node, line.kept_cut)
        if plan.barriers:
            change_barriers(inst, line)
        else:
            change(inst, line)
        now = line.values[NOW]
        limit = now - heat * math.log(uniform(line.random))
        value = now
        if schedule.by_bytes:
            value = seconds(inst, line, limit)
        elif write_queues(inst, plan, line):
            value = replayed(inst, plan, st, log, line, limit)
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


FETCHED = 0
COPIED = 1
OWED = 2
"""Cells of ``sums``: bytes fetched and copied so far, and bytes of files that are on no
disk but must still be read.
"""


def settle(inst: Instance, line: Line, i: int, f: int) -> None:
    """Record file *f* as stored on node *i*."""
    x = i * inst.num_files
    line.residents[x + line.num_residents[i]] = f
    line.num_residents[i] += 1
    line.on[x + f] = 1
    line.copies[f] += 1
    line.used[i] += inst.size[f]


def make_room(inst: Instance, line: Line, i: int, size: int, p: int) -> None:
    """Evict files from node *i* until *size* bytes are free for the task at place *p*.

    Files without further readers leave first, then files with other copies, then the
    file whose next reader is last in the order. Of equal files, the one first in the
    instance leaves.
    """
    base = i * inst.num_files
    tasks = inst.num_tasks
    while line.used[i] + size > inst.disk[i]:
        best = -1
        worth = -1
        first = -1
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
                best = s
                worth = value
                first = g
        line.num_residents[i] -= 1
        line.residents[base + best] = line.residents[base + line.num_residents[i]]
        line.on[base + first] = 0
        line.copies[first] -= 1
        line.used[i] -= inst.size[first]
        if line.nxt[first] < tasks and line.copies[first] == 0:
            line.sums[OWED] += inst.size[first]


def begin(inst: Instance, line: Line) -> None:
    """Initialise the score by bytes: held files on the disks, and no bytes moved.

    The next reader of each file is its first reader in the order.
    """
    files = inst.num_files
    tasks = inst.num_tasks
    for f in range(files):
        line.nxt[f] = tasks
        line.wanted[f] = -1
        line.copies[f] = 0
    for p in range(tasks - 1, -1, -1):
        k = line.order[p]
        for x in range(inst.ptr[k], inst.ptr[k + 1]):
            line.follow[x] = line.nxt[inst.files[x]]
            line.nxt[inst.files[x]] = p
    for i in range(inst.num_nodes):
        for x in range(i * files, i * files + line.num_residents[i]):
            line.on[i * files + line.residents[x]] = 0
        line.num_residents[i] = 0
        line.used[i] = 0
    for x in range(len(inst.held_node)):
        settle(inst, line, inst.held_node[x], inst.held_file[x])
    line.sums[FETCHED] = line.sums[COPIED] = line.sums[OWED] = 0
    for f in range(files):
        if line.copies[f] == 0 and line.nxt[f] < tasks:
            line.sums[OWED] += inst.size[f]


def serve(inst: Instance, line: Line, p: int) -> None:
    """Bring the missing files of the task at place *p* to its node, and count their
    bytes.
    """
    k = line.order[p]
    i = line.node[k]
    files = inst.num_files
    for x in range(inst.ptr[k], inst.ptr[k + 1]):
        f = inst.files[x]
        line.wanted[f] = p
        line.nxt[f] = line.follow[x]
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


def seconds(inst: Instance, line: Line, limit: float) -> float:
    """Return the time of all transfers in seconds, or infinity once it must exceed
    *limit*.
    """
    begin(inst, line)
    sums = line.sums
    for p in range(inst.num_tasks):
        serve(inst, line, p)
        if (sums[FETCHED] + sums[OWED]) * line.costs[0] + sums[COPIED] * line.costs[
            1
        ] > limit:
            return float("inf")
    return float(sums[FETCHED] * line.costs[0] + sums[COPIED] * line.costs[1])
