"""Anneal one order of all tasks, for the link-aware search.

The text runs as plain Python and compiled. A plan has one of two scores. The first
is the makespan of its replay. The second is the time of all its transfers if its tasks
ran one after the other in the order, each on its node, and a full disk evicted the file
that is read last in the order (Belady). Under the second score, nodes do not wait for
each other, so a move changes little but the transfers of its files. Annealing therefore
gets much further than with replays, and scoring a plan takes a tenth of the time.
Annealing with replays then continues from the resulting order, and moves barriers too.
"""

import math

from ioopt.sim.replication.kernel import FINISHED, replay
from ioopt.sim.replication.world import World
from ioopt.solvers.replication.search.line_moves import (
    Line,
    change,
    keep,
    keep_best,
    put_back,
    uniform,
    write_queues,
)


def score(w: World, fetch_cost: float, copy_cost: float, limit: float) -> float:
    """Return the makespan of the replay of *w* in seconds, or if *w* is logged the
    batch time.

    The result is infinite if the queues cannot run, or if the makespan is above
    *limit*. *fetch_cost* and *copy_cost* are seconds per byte.
    """
    seconds, code = replay(w, float("inf") if w.logging else limit)
    if code != FINISHED:
        return float("inf")
    if w.logging:
        return batch_time(w, fetch_cost, copy_cost)
    return seconds


def noisy_mean(
    w: World,
    fetch_cost: float,
    copy_cost: float,
    first: int,
    count: int,
    most: float,
) -> float:
    """Return the mean score, in seconds, of *count* replays of *w* under unfair
    sharing, by the draws *first*, *first* + 1 and so on.

    The result is infinite if the mean is above *most* seconds.
    """
    limit = most * count
    total = 0.0
    for draw in range(first, first + count):
        w.fluid.draw = draw
        total += score(w, fetch_cost, copy_cost, limit - total)
        if total > limit:
            w.fluid.draw = 0
            return float("inf")
    w.fluid.draw = 0
    return total / count


def batch_time(w: World, fetch_cost: float, copy_cost: float) -> float:
    """Return the batch time (13) in seconds: the largest sum of transfers and computing
    of a node.

    A fetch counts at the node that reads the file, a copy at both nodes. The sum of
    each node is kept in the scratch of its interface.
    """
    for i in range(w.num_nodes):
        node = w.nodes[i]
        busy = 0.0
        for p in range(node.first_place, node.end_place):
            busy += w.entries[w.places[p].entry].compute / node.speed
        w.fluid.resources[i].left = busy
    for n in range(w.run.transfers):
        transfer = w.transfers[n]
        size = w.files[transfer.file].size
        cost = fetch_cost
        if transfer.source >= 0:
            cost = copy_cost
            w.fluid.resources[transfer.source].left += size * cost
        w.fluid.resources[transfer.destination].left += size * cost
    most = w.fluid.resources[0].left
    for i in range(1, w.num_nodes):
        most = max(most, w.fluid.resources[i].left)
    return most


def score_line(w: World, line: Line, limit: float) -> float:
    """Return the score of the present plan in seconds; the plan is written to *w*.

    A score above *limit* may be infinite instead.
    """
    if line.by_bytes:
        return transfer_seconds(w, line, limit)
    take_rules(w, line)
    write_queues(w, line)
    return replayed(w, line, limit)


def replayed(w: World, line: Line, limit: float) -> float:
    """Return the score, in seconds, of the queues of *w*: that of the exact replay, or
    the mean over noisy replays if *line* asks for them.

    A score above *limit*, or with noise an exact score above ``line.most_exact``, is
    infinite.
    """
    fetch_cost = line.fetch_cost
    copy_cost = line.copy_cost
    if line.draws == 0:
        return score(w, fetch_cost, copy_cost, limit)
    if score(w, fetch_cost, copy_cost, line.most_exact) > line.most_exact:
        return float("inf")
    return noisy_mean(w, fetch_cost, copy_cost, line.first_draw, line.draws, limit)


def take_rules(w: World, line: Line) -> None:
    """Replay the plans of *line* under its eviction policy, and with barriers if it has
    them.
    """
    w.policy = line.policy
    w.barriers = line.barriers
    w.num_rounds = w.num_tasks if line.barriers else 0
    w.num_entries = w.num_tasks


def anneal(
    w: World,
    line: Line,
    steps: int,
    first: int,
    total: int,
    hot: float,
    cold: float,
    target: float,
) -> None:
    """Perform a stretch of annealing: the moves *first* to *first + steps - 1* of
    *total*.

    It starts from a plan whose score is ``line.now``. The temperature falls from *hot*
    to *cold* seconds over all moves. The stretch ends early once the best score is at
    most *target* seconds. The result does not depend on how a run is cut into
    stretches.
    """
    if not line.by_bytes:
        take_rules(w, line)
        write_queues(w, line)
    for step in range(first, first + steps):
        if line.best <= target:
            return
        heat = hot * (cold / hot) ** (step / total)
        keep(line, line.kept_order, line.kept_node, line.kept_cut)
        change(w, line)
        limit = line.now - heat * math.log(uniform(line.chance))
        value = line.now
        if line.by_bytes:
            value = transfer_seconds(w, line, limit)
        elif write_queues(w, line):
            value = replayed(w, line, limit)
        line.evaluations += 1
        if value > limit:
            put_back(line)
            if not line.by_bytes:
                write_queues(w, line)
            continue
        line.now = value
        if value < line.best:
            line.best = value
            keep_best(line)


def settle(w: World, line: Line, i: int, f: int) -> None:
    """Record file *f* as stored on node *i*."""
    first = i * w.num_files
    line.cells[first + line.num_residents[i]].resident = f
    line.cells[first + f].on = 1
    line.num_residents[i] += 1
    line.files[f].copies += 1
    line.used[i] += w.files[f].size


def make_room(w: World, line: Line, i: int, size: int, p: int) -> None:
    """Evict files from node *i* until *size* bytes are free for the task at place *p*.

    Files without further readers leave first, then files with other copies, then the
    file whose next reader is last in the order. Of equal files, the one first in the
    instance leaves.
    """
    first = i * w.num_files
    tasks = w.num_tasks
    while line.used[i] + size > w.nodes[i].disk:
        best = -1
        worth = -1
        victim = -1
        for x in range(first, first + line.num_residents[i]):
            g = line.cells[x].resident
            file = line.files[g]
            if file.wanted == p:
                continue
            value = file.next_place
            if value == tasks:
                value = 3 * tasks
            elif file.copies > 1:
                value += tasks
            if value > worth or (value == worth and g < victim):
                best = x
                worth = value
                victim = g
        line.num_residents[i] -= 1
        last = line.cells[first + line.num_residents[i]]
        line.cells[best].resident = last.resident
        line.cells[first + victim].on = 0
        line.used[i] -= w.files[victim].size
        gone = line.files[victim]
        gone.copies -= 1
        if gone.next_place < tasks and gone.copies == 0:
            line.owed += w.files[victim].size


def begin(w: World, line: Line) -> None:
    """Initialise the score by bytes: held files on the disks, and no bytes moved.

    The next reader of each file is its first reader in the order.
    """
    tasks = w.num_tasks
    for file in line.files:
        file.next_place = tasks
        file.wanted = -1
        file.copies = 0
    for p in range(tasks - 1, -1, -1):
        entry = w.entries[line.order[p]]
        for x in range(entry.first_input, entry.end_input):
            file = line.files[w.reads[x].file]
            line.follow[x] = file.next_place
            file.next_place = p
    for i in range(w.num_nodes):
        first = i * w.num_files
        for x in range(first, first + line.num_residents[i]):
            line.cells[first + line.cells[x].resident].on = 0
        line.num_residents[i] = 0
        line.used[i] = 0
    for held in w.held:
        settle(w, line, held.node, held.file)
    line.fetched = 0
    line.copied = 0
    line.owed = 0
    for f in range(w.num_files):
        file = line.files[f]
        if file.copies == 0 and file.next_place < tasks:
            line.owed += w.files[f].size


def serve(w: World, line: Line, p: int) -> None:
    """Bring the missing files of the task at place *p* to its node, and count their
    bytes.
    """
    k = line.order[p]
    i = line.node[k]
    entry = w.entries[k]
    for x in range(entry.first_input, entry.end_input):
        file = line.files[w.reads[x].file]
        file.wanted = p
        file.next_place = line.follow[x]
    for x in range(entry.first_input, entry.end_input):
        f = w.reads[x].file
        if line.cells[i * w.num_files + f].on:
            continue
        size = w.files[f].size
        if line.files[f].copies > 0:
            line.copied += size
        else:
            line.fetched += size
            line.owed -= size
        if line.used[i] + size > w.nodes[i].disk:
            make_room(w, line, i, size, p)
        settle(w, line, i, f)


def transfer_seconds(w: World, line: Line, limit: float) -> float:
    """Return the time of all transfers in seconds, or infinity once it must exceed
    *limit*.
    """
    begin(w, line)
    for p in range(w.num_tasks):
        serve(w, line, p)
        fetched = (line.fetched + line.owed) * line.fetch_cost
        if fetched + line.copied * line.copy_cost > limit:
            return float("inf")
    return line.fetched * line.fetch_cost + line.copied * line.copy_cost
