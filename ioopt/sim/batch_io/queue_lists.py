"""The batch queue and the units of the machine in the plain engine: lists, dictionaries, and bits.

For each function here numba takes its namesake of :mod:`ioopt.sim.batch_io.queue_arrays`, which does
the same with arrays. Nothing here decides anything: the rules stand in the modules that call it.
"""

import itertools
import math
from bisect import bisect_right
from collections import deque
from typing import Any

from ioopt.decisions.batch_io import CLOSE, Number, ascending, rounded
from ioopt.sim.batch_io.buffer import release_time
from ioopt.sim.batch_io.state import ActiveRequest, Moment, World, block_starts

COMPILED_AS = "ioopt.sim.batch_io.queue_arrays"
FEW = 40
"""Up to here all groups of the queue are ordered; more are looked through first."""

Waiting = tuple[int, int, Number, Number, int, int]
"""A job in the queue: which arrival it was, its number, submit time, walltime, nodes and units."""


# The batch queue. Waiting jobs stand in groups of equal walltime, length and nodes, each in the order
# of arrival. In a group that order is also the order of the queue, and when the first cannot start
# in a pass neither can the others: a pass looks at the first of every group, not at every job; one
# that gives boxes looks at all.


def _kind(w: World, r: ActiveRequest) -> tuple[Any, ...]:
    """What jobs of one group have in common."""
    if w.buffered:
        return r.walltime, r.asked_nodes, r.length, w.buffer.size[r.job]
    return r.walltime, r.asked_nodes, r.length


def arrive(w: World, m: Moment, r: ActiveRequest) -> None:
    """Put *r* into the queue; nobody arrives at an earlier time than those before."""
    m.recent += 1
    m.waiting += 1
    kind = _kind(w, r)
    waiting = (m.recent, r.job, r.submit, r.walltime, r.asked_nodes, r.units)
    if kind in w.groups:
        w.groups[kind].append(waiting)
    else:
        w.groups[kind] = deque([waiting])


def withdraw(w: World, m: Moment, r: ActiveRequest) -> None:
    """Take *r*, which waits, out of the queue."""
    m.waiting -= 1
    kind = _kind(w, r)
    group = w.groups[kind]
    del group[next(k for k, waiting in enumerate(group) if waiting[1] == r.job)]
    if not group:
        del w.groups[kind]


def smallest(w: World, m: Moment) -> int:
    """Units of the smallest waiting job."""
    w.heads = [group[0] for group in w.groups.values()]
    return min([head[5] for head in w.heads])


def line_up(w: World, m: Moment) -> None:
    """Put the jobs that a pass looks at into ``line`` (rules 19 and 30), ties by arrival."""
    heads, m.short_first = w.heads, w.short_first
    if w.boxed:
        heads = [waiting for group in w.groups.values() for waiting in group]
    elif len(heads) > FEW and not w.buffered:
        heads = _candidates(w, m, heads)
    heads.sort()
    w.heads = [heads[k] for k in ascending(_keys(w, m, heads), w.exact or not w.wfp)]
    w.line = [head[1] for head in w.heads]
    m.lined_up = len(w.line)


def line_up_rest(w: World, m: Moment, turn: int) -> None:
    """Order those in ``line`` from *turn* on by (walltime, arrival): rule 30."""
    m.short_first = True
    w.heads[turn:] = sorted(w.heads[turn:], key=lambda head: _rank(w, m, head))
    w.line = [head[1] for head in w.heads]


def line_up_all(w: World, m: Moment) -> int:
    """Put all waiting jobs into ``line_all`` in the order of the queue; how many."""
    behind, m.short_first = m.short_first, w.short_first
    waiting = sorted(itertools.chain.from_iterable(w.groups.values()))
    order = ascending(_keys(w, m, waiting), w.exact or not w.wfp)
    w.line_all = [waiting[k][1] for k in order]
    m.short_first = behind
    return len(order)


def take(w: World, m: Moment, r: ActiveRequest, turn: int) -> None:
    """*r*, the last before *turn*, leaves the queue; the next of its group has its turn later."""
    if w.boxed:
        withdraw(w, m, r)
        return
    m.waiting -= 1
    kind = _kind(w, r)
    group = w.groups[kind]
    group.popleft()
    if group:
        rank = _rank(w, m, group[0])
        place = bisect_right(w.heads, rank, lo=turn, key=lambda head: _rank(w, m, head))
        w.heads.insert(place, group[0])
        w.line.insert(place, group[0][1])
        m.lined_up += 1
    else:
        del w.groups[kind]


def close_pass(w: World, m: Moment) -> None:
    """A pass is over."""


def _largest(w: World, m: Moment, sizes: set[int]) -> int:
    """Units that a job may have to start now, of *sizes*: blocks nest, so smaller ones could too."""
    if not w.partition:
        return m.free
    most = 0
    for units in sorted(sizes):
        if find_place(w, m, units, 0, 0) < 0:
            break
        most = units
    return most


def _candidates(w: World, m: Moment, heads: list[Waiting]) -> list[Waiting]:
    """Those of the *heads* of groups that a pass has to look at: with few enough units to start.

    Of the others, which cannot start in this pass, the first alone: nodes may be promised to it.
    """
    most = _largest(w, m, {head[5] for head in heads})
    found = [head for head in heads if head[5] <= most]
    if len(found) < len(heads):
        others = [head for head in heads if head[5] > most]
        keys = _keys(w, m, others)
        best = min(keys)
        slack = 0 if w.exact else CLOSE * abs(best)
        ties = [head for key, head in zip(keys, others) if not key - best > slack]
        found.append(min(ties, key=lambda head: _rank(w, m, head)))
    return found


def _rank(w: World, m: Moment, head: Waiting) -> tuple[Number, int]:
    """What the queue is ordered by."""
    (key,) = _keys(w, m, [head])
    return (key if w.exact or m.short_first else rounded(key)), head[0]


def _keys(w: World, m: Moment, heads: list[Waiting]) -> list[Number]:
    """Walltimes; WFP scores, the highest being the least; ``fcfs``: all equal, as ties go by arrival."""
    if m.short_first:
        return [head[3] for head in heads]
    if not w.wfp:
        return [0] * len(heads)
    now = m.now
    return [
        -((wait := (now - submit) / walltime) * wait * wait * nodes)
        for _, _, submit, walltime, nodes, _ in heads
    ]


# Units of the machine. Those in use are bits of ``busy``; ``until`` says how long by the walltimes.


def occupy(w: World, m: Moment, r: ActiveRequest, place: int) -> None:
    """Give *r* its units, from *place* on where there are partitions."""
    m.free -= r.units
    end = w.ends[r.job] = m.now + r.walltime
    if w.partition:
        r.block = place
        w.until[place : place + r.units] = [end] * r.units
        w.busy |= ((1 << r.units) - 1) << place
    elif w.numbered:
        w.busy |= w.chosen[r.job]


def vacate(w: World, m: Moment, r: ActiveRequest) -> None:
    """Take the units of *r* back."""
    m.free += r.units
    del w.ends[r.job]
    if w.numbered and not w.partition:
        w.busy &= ~w.chosen[r.job]
    if w.partition:
        w.busy &= ~(((1 << r.units) - 1) << r.block)
        w.until[r.block : r.block + r.units] = [-math.inf] * r.units


def find_place(w: World, m: Moment, units: int, avoid: int, length: int) -> int:
    """Lowest free block of *units* outside the *length* units from *avoid*; -1: none; flat: 0."""
    if units > m.free:
        return -1
    if not w.partition:
        return 0
    return lowest_block(w, units, w.busy | ((1 << length) - 1) << avoid if length else w.busy)


def lowest_block(w: World, units: int, taken: int) -> int:
    """The lowest aligned block of *units* outside the bits *taken*; -1: none."""
    if units == w.total:
        return -1 if taken else 0
    # Bit p of free: the units from p on, as many as the doublings have reached, are all free.
    free, reached = ~taken, 1
    while reached < units:
        free &= free >> reached
        reached *= 2
    if units not in w.starts:
        w.starts[units] = block_starts(w.total, units)
    free &= w.starts[units]
    return (free & -free).bit_length() - 1 if free else -1


def line_up_ends(w: World, m: Moment, passed: Number, late: Number) -> int:
    """Bring the running jobs into the order of their predicted ends, *late* once *passed*."""
    ends = [(end if end > passed else late, job) for job, end in w.ends.items()]
    if m.num_tails:
        tails = w.buffer.tails[: m.num_tails]
        ends = [item for item in ends if item[1] not in tails]
        ends += [(release_time(w, m, job), job) for job in tails]
    w.sorted_ends = sorted(ends)
    return len(w.sorted_ends)


def next_end(w: World, m: Moment, turn: int) -> tuple[Number, int]:
    """The predicted end whose *turn* it is (asked in turn, from 0), and the job."""
    return w.sorted_ends[turn]


def line_up_units(w: World, m: Moment, passed: Number, late: Number) -> None:
    """Predict from when on each unit is free, *late* where the end has *passed*."""
    if min(w.ends.values(), default=late) <= passed:
        w.free_from = [late if -math.inf < end <= passed else end for end in w.until]
    else:
        w.free_from = w.until
    if m.num_tails and w.buffer.keeps:
        free_from = w.free_from = [*w.free_from]
        for job in w.buffer.tails[: m.num_tails]:
            r = w.jobs[job]
            free_from[r.block : r.block + r.units] = [release_time(w, m, job)] * r.units


def block_free_from(w: World, m: Moment, place: int, units: int) -> Number:
    """From when on the *units* from *place* on are all predicted to be free."""
    return max(w.free_from[place : place + units])
