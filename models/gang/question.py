"""Express one scheduling decision as options of jobs and sets of conflicting options.

A running job can stay on its columns or migrate to its file nodes. A waiting job can
start on its file nodes or on any free nodes of one row (docs/gang.md, Exact decisions;
ours). The options that cover a node conflict. Only the largest sets of conflicting
options matter: the cliques K.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

from ioopt.decisions.gang.rules import Weight, guard_slots
from ioopt.decisions.gang.state import Gang, State, move_speed, weights
from ioopt.problems.gang import nodes_of

LARGEST_WORTH = 10**11
"""Largest scaled worth.

It is so large that rounding the worths of 500 rows changes a sum by less than 1e-9 of
it.
"""

Deed = Literal["stay", "move", "local", "remote"]


class Option(NamedTuple):
    """Represent one way to place a job.

    ``columns`` is the mask of the nodes, 0 for ``remote``, whose columns are chosen
    later. ``size`` is the number of nodes, ``cost`` the number of tasks that migrate.
    ``worth`` is weight x speed of one row, scaled and rounded up to a whole number.
    """

    job: int
    deed: Deed
    columns: int
    size: int
    cost: int
    worth: int


@dataclass(frozen=True)
class Question:
    """Hold all options of all jobs, running jobs first, and what limits them.

    ``nodes`` and ``levels`` are the numbers of columns and rows of the matrix.
    ``by_job`` has, for each job, the positions of its options, and ``cliques`` those of
    each set of conflicting options. ``budget`` is the number of tasks that may migrate.
    ``remote_slots`` is the number of slots that ``guarded`` options may take. A sum of
    worths divided by ``scale`` is a value in units of weight.
    """

    nodes: int
    levels: int
    jobs: tuple[Gang, ...]
    num_running: int
    options: tuple[Option, ...]
    by_job: tuple[tuple[int, ...], ...]
    cliques: tuple[tuple[int, ...], ...]
    budget: int
    fcfs: bool
    scale: float
    remote_slots: int

    @property
    def remote(self) -> tuple[int, ...]:
        """Return the positions of the remote options, which have no columns."""
        return tuple(
            o for o, option in enumerate(self.options) if option.deed == "remote"
        )

    @property
    def guarded(self) -> tuple[int, ...]:
        """Return the positions of the remote options that are slower than local
        ones.
        """
        jobs = self.jobs
        options = self.options
        return tuple(o for o in self.remote if _slower(jobs[options[o].job]))


def ask(
    state: State,
    weight: Weight = "las",
    *,
    fcfs: bool = False,
    window: int | None = None,
    share: Fraction = Fraction(1),
) -> Question:
    """Return all options at *state*, the matrix before an update, with worths by
    *weight*.

    Only the first *window* waiting jobs of the queue have options (None: all). With
    *fcfs* a waiting job may start only if the job before it starts. *share* is the
    guard: running jobs and jobs slowed by a remote start may together take at most this
    share of the M x P slots (1: all).
    """
    waiting = list(state.waiting)[:window]
    levels = len(state.rows)
    running = sum(job.size for job in state.jobs)
    remote_slots = max(0, guard_slots(share, state.nodes, levels) - running)
    drafts: list[tuple[int, Deed, int, int, float]] = []
    moving = move_speed(state.clock)
    for j, (job, columns) in enumerate(zip(state.jobs, state.columns)):
        cost = (job.files & ~columns).bit_count()
        speed: float = 1
        if cost:
            speed = job.local / job.remote
        drafts.append((j, "stay", columns, 0, speed))
        if cost and cost <= state.budget:
            drafts.append((j, "move", job.files, cost, moving))
    for j, job in enumerate(waiting, start=len(state.jobs)):
        drafts.append((j, "local", job.files, 0, 1))
        if job.size <= remote_slots or not _slower(job):
            drafts.append((j, "remote", 0, 0, job.local / job.remote))
    jobs = (*state.jobs, *waiting)
    heavy = weights(weight, jobs, state.clock)
    scale = LARGEST_WORTH / float(max(heavy, default=1))
    options: list[Option] = []
    for j, deed, mask, cost, speed in drafts:
        worth = math.ceil(float(heavy[j] * speed) * scale)
        # A migration may cost a million slices. It is never chosen, and solvers cannot
        # hold numbers of that size.
        worth = max(-LARGEST_WORTH, worth)
        options.append(Option(j, deed, mask, jobs[j].size, cost, worth))
    by_job: list[list[int]] = [[] for _ in jobs]
    for o, option in enumerate(options):
        by_job[option.job].append(o)
    return Question(
        state.nodes,
        levels,
        jobs,
        len(state.jobs),
        tuple(options),
        tuple(map(tuple, by_job)),
        cliques_of([option.columns for option in options], state.nodes),
        state.budget,
        fcfs,
        scale,
        remote_slots,
    )


def _slower(job: Gang) -> bool:
    return job.remote > job.local


def cliques_of(masks: Sequence[int], nodes: int) -> tuple[tuple[int, ...], ...]:
    """Return the sets of two or more masks that share a node, without subsets of other
    sets.

    A set holds positions in *masks*; larger sets come first.

    >>> cliques_of([0b0011, 0b0110, 0b1100], 4)
    ((0, 1), (1, 2))
    """
    cover = [0] * nodes
    for o, mask in enumerate(masks):
        for node in nodes_of(mask):
            cover[node] |= 1 << o
    atoms = sorted(set(cover), key=lambda atom: (-atom.bit_count(), atom))
    kept: list[int] = []
    for atom in atoms:
        if atom.bit_count() > 1 and not any(atom & ~other == 0 for other in kept):
            kept.append(atom)
    return tuple(nodes_of(atom) for atom in kept)
