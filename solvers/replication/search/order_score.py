"""The bytes that one order of all tasks moves, counted anew only where a move changes them.

Plain Python and compiled alike. Places before the first that a move changes stay as they are, but for what
the disks let go there: that hangs on when a file is read next, so on the places of the tasks that moved. It
is the same up to the last reader, ahead of the change, of each file that they read: what a disk held in
between is read again before any of them. Behind the change the rest is as before from the first place on
where the disks hold the same files that are still read.
"""

from typing import Any

MOVED = 1
"""Cell of ``counts``: how many tasks a move took to other places."""
FETCHED, COPIED, OWED, DIGEST = 0, 1, 2, 3
"""Cells of ``sums``: bytes moved so far, bytes on no disk that are still read, codes of what lies where."""


def settle(inst: Any, work: Any, i: int, f: int) -> None:
    """File *f* takes its space on node *i*."""
    x = i * inst.num_files
    work.residents[x + work.num_residents[i]] = f
    work.num_residents[i] += 1
    work.on[x + f] = 1
    work.copies[f] += 1
    work.used[i] += inst.size[f]
    if work.nxt[f] < inst.num_tasks:
        work.sums[DIGEST] += work.code[x + f]


def make_room(inst: Any, work: Any, i: int, size: int, p: int) -> None:
    """Evict from node *i*, for the task at place *p*: dead files, duplicates, then what is read last.

    Ties go to the lowest file index.
    """
    base, tasks = i * inst.num_files, inst.num_tasks
    while work.used[i] + size > inst.disk[i]:
        best, worth, first = -1, -1, -1
        for s in range(work.num_residents[i]):
            g = work.residents[base + s]
            if work.wanted[g] == p:
                continue
            value = work.nxt[g]
            if value == tasks:
                value = 3 * tasks
            elif work.copies[g] > 1:
                value += tasks
            if value > worth or (value == worth and g < first):
                best, worth, first = s, value, g
        work.num_residents[i] -= 1
        work.residents[base + best] = work.residents[base + work.num_residents[i]]
        work.on[base + first] = 0
        work.copies[first] -= 1
        work.used[i] -= inst.size[first]
        if work.nxt[first] < tasks:
            work.sums[DIGEST] -= work.code[base + first]
            if work.copies[first] == 0:
                work.sums[OWED] += inst.size[first]


def look_ahead(inst: Any, work: Any, first: int) -> None:
    """The next reader of every file from place *first* on."""
    for f in range(inst.num_files):
        work.nxt[f] = inst.num_tasks
        work.wanted[f] = -1
    for p in range(inst.num_tasks - 1, first - 1, -1):
        k = work.order[p]
        for x in range(inst.ptr[k], inst.ptr[k + 1]):
            work.follow[x] = work.nxt[inst.files[x]]
            work.nxt[inst.files[x]] = p


def stride(inst: Any, work: Any) -> int:
    """Places from one to the next whose disks are remembered; beyond the order where there is no room."""
    marks = len(work.marked) // inst.num_nodes
    return int(inst.num_tasks // marks + 1 if marks > 0 else inst.num_tasks + 1)


def restore(inst: Any, work: Any, first: int) -> None:
    """The disks as they were before place *first*, which is remembered or 0."""
    files, nodes = inst.num_files, inst.num_nodes
    for i in range(nodes):
        for x in range(i * files, i * files + work.num_residents[i]):
            work.on[i * files + work.residents[x]] = 0
        work.num_residents[i] = 0
        work.used[i] = 0
    for f in range(files):
        work.copies[f] = 0
    for x in range(4):
        work.sums[x] = 0
    if first > 0:
        m = nodes * (first // stride(inst, work))
        for i in range(nodes):
            base = (m + i) * files
            for x in range(base, base + work.marked[m + i]):
                settle(inst, work, i, work.mark[x])
        work.sums[FETCHED] = work.fetched[first]
        work.sums[COPIED] = work.copied[first]
    else:
        for x in range(len(inst.held_node)):
            settle(inst, work, inst.held_node[x], inst.held_file[x])
    for f in range(files):
        if work.copies[f] == 0 and work.nxt[f] < inst.num_tasks:
            work.sums[OWED] += inst.size[f]


def remember(inst: Any, work: Any, p: int, every: int) -> None:
    """Keep what lies where, and the bytes moved, before place *p*."""
    work.digest[p] = work.sums[DIGEST]
    work.fetched[p] = work.sums[FETCHED]
    work.copied[p] = work.sums[COPIED]
    if p % every > 0 or len(work.marked) == 0:
        return
    for i in range(inst.num_nodes):
        m = inst.num_nodes * (p // every) + i
        work.marked[m] = work.num_residents[i]
        for x in range(work.num_residents[i]):
            work.mark[m * inst.num_files + x] = work.residents[i * inst.num_files + x]


def serve(inst: Any, work: Any, p: int) -> None:
    """The task at place *p* gets its files."""
    k = work.order[p]
    i = work.node[k]
    files = inst.num_files
    for x in range(inst.ptr[k], inst.ptr[k + 1]):
        f = inst.files[x]
        work.wanted[f] = p
        work.nxt[f] = work.follow[x]
        if work.follow[x] == inst.num_tasks:
            for j in range(inst.num_nodes):
                if work.on[j * files + f]:
                    work.sums[DIGEST] -= work.code[j * files + f]
    for x in range(inst.ptr[k], inst.ptr[k + 1]):
        f = inst.files[x]
        if work.on[i * files + f]:
            continue
        if work.copies[f] > 0:
            work.sums[COPIED] += inst.size[f]
        else:
            work.sums[FETCHED] += inst.size[f]
            work.sums[OWED] -= inst.size[f]
        if work.used[i] + inst.size[f] > inst.disk[i]:
            make_room(inst, work, i, inst.size[f], p)
        settle(inst, work, i, f)


def evaluate(inst: Any, work: Any, first: int, end: int, limit: float, keep: bool) -> float:
    """Seconds of all transfers; given up above *limit*.

    Up to place *first* (remembered) all is as it was, from *end* on the order is. *keep* remembers it.
    """
    tasks, sums, every = inst.num_tasks, work.sums, stride(inst, work)
    look_ahead(inst, work, first)
    restore(inst, work, first)
    p = first
    while p < tasks and (p < end or sums[DIGEST] != work.digest[p]):
        if keep:
            remember(inst, work, p, every)
        serve(inst, work, p)
        p += 1
        if (sums[FETCHED] + sums[OWED]) * work.costs[0] + sums[COPIED] * work.costs[1] > limit:
            return float("inf")
    fetched, copied = sums[FETCHED], sums[COPIED]
    if p < tasks:
        fetched += work.fetched[tasks] - work.fetched[p]
        copied += work.copied[tasks] - work.copied[p]
    if keep:
        more, copies = sums[FETCHED] - work.fetched[p], sums[COPIED] - work.copied[p]
        for q in range(p, tasks + 1):
            work.fetched[q] += more
            work.copied[q] += copies
    return float(fetched * work.costs[0] + copied * work.costs[1])


def seconds(inst: Any, work: Any, limit: float) -> float:
    """Seconds of all transfers, counted and remembered from the beginning; given up above *limit*."""
    return evaluate(inst, work, 0, inst.num_tasks, limit, True)


def begin_of_change(inst: Any, work: Any) -> int:
    """The first place whose task or node a move has changed; the number of tasks where none is."""
    p = 0
    while p < inst.num_tasks and (
        work.order[p] == work.kept_order[p]
        and work.node[work.order[p]] == work.kept_node[work.order[p]]
    ):
        p += 1
    return p


def end_of_change(inst: Any, work: Any) -> int:
    """One more than the last such place; 0 where none is."""
    p = inst.num_tasks
    while p > 0 and (
        work.order[p - 1] == work.kept_order[p - 1]
        and work.node[work.order[p - 1]] == work.kept_node[work.order[p - 1]]
    ):
        p -= 1
    return p


def start_of(inst: Any, work: Any, first: int) -> int:
    """Up to which remembered place disks stay as they were; *first* is the first changed one.

    ``place`` is that of before the move.
    """
    start = first
    for m in range(work.counts[MOVED]):
        k = work.moved[m]
        for x in range(inst.ptr[k], inst.ptr[k + 1]):
            f = inst.files[x]
            last = -1
            for y in range(work.reader_ptr[f], work.reader_ptr[f + 1]):
                q = work.place[work.readers[y]]
                if last < q < first:
                    last = q
            if last < 0 and len(inst.held_file) > 0:
                last = 0
            if 0 <= last < start:
                start = last
    return start - start % stride(inst, work)


def rescore(inst: Any, work: Any, now: float, limit: float) -> float:
    """Seconds of all transfers after a move from an order of *now* seconds; infinite above *limit*.

    What is remembered is that of the new order where it is within the limit.
    """
    first, end = begin_of_change(inst, work), end_of_change(inst, work)
    if first >= end:
        return now
    start = start_of(inst, work, first)
    value = evaluate(inst, work, start, end, limit, False)
    if value > limit:
        return float("inf")
    evaluate(inst, work, start, end, float("inf"), True)
    return value
