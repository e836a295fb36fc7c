"""One scheduling decision as options: what every job may do, and which options exclude
each other.

Options of a running job: stay on its columns, or migrate to its file nodes; of a
waiting job: start on its file nodes, or anywhere in one row (docs/gang.md, The
mathematics; ours). Nodes with the same covering options are one atom; only maximal
atoms, the cliques K, are kept.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

from ioopt.decisions.gang.rules import Number, Weight, guard_slots
from ioopt.decisions.gang.state import Gang, State, move_speed, weights
from ioopt.problems.gang import nodes_of

LARGEST_WORTH = 10**11
"""Worths are scaled to whole numbers up to this: 500 rows of rounding stay below 1e-9
of a sum.
"""

Deed = Literal["stay", "move", "local", "remote"]


class Option(NamedTuple):
    """One thing a job may do; ``columns`` is 0 for ``remote``, whose columns are chosen
    later.

    ``worth`` is weight x speed for each row, scaled and rounded up; ``cost`` the tasks
    it migrates.
    """

    job: int
    deed: Deed
    columns: int
    size: int
    cost: int
    worth: int


@dataclass(frozen=True)
class Question:
    """Options of all jobs, running ones first; ``cliques`` and ``by_job`` hold option
    positions.

    ``remote_slots`` is how many tasks may start away from their files (``guarded`` options).
    A value in weight units is the sum of worths divided by ``scale``.
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
        """Positions of the options without columns."""
        return tuple(
            o for o, option in enumerate(self.options) if option.deed == "remote"
        )

    @property
    def guarded(self) -> tuple[int, ...]:
        """Positions of the remote options that are slower than local ones."""
        jobs, options = self.jobs, self.options
        return tuple(o for o in self.remote if _slower(jobs[options[o].job]))


def ask(
    state: State,
    weight: Weight = "las",
    *,
    fcfs: bool = False,
    window: int | None = None,
    share: Fraction = Fraction(1),
) -> Question:
    """The question that *state* (before an update) poses under *weight*.

    Only the first *window* waiting jobs in queue order are asked about (None: all).
    With *fcfs* a job may start only if the one before it does. Running jobs and those
    that start remote, and slower for it, may have at most *share* of all M P slots
    (the guard; 1: all).
    """
    waiting = list(state.waiting)[:window]
    levels = len(state.rows)
    running = sum(job.size for job in state.jobs)
    remote_slots = max(0, guard_slots(share, state.nodes, levels) - running)
    drafts: list[tuple[int, Deed, int, int, Number]] = []
    moving = move_speed(state.clock)
    for j, (job, columns) in enumerate(zip(state.jobs, state.columns)):
        cost = (job.files & ~columns).bit_count()
        drafts.append((j, "stay", columns, 0, job.local / job.remote if cost else 1))
        if cost and cost <= state.budget:
            drafts.append((j, "move", job.files, cost, moving))
    for j, job in enumerate(waiting, start=len(state.jobs)):
        drafts.append((j, "local", job.files, 0, 1))
        if job.size <= remote_slots or not _slower(job):
            drafts.append((j, "remote", 0, 0, job.local / job.remote))
    jobs = (*state.jobs, *waiting)
    heavy = weights(weight, jobs, state.clock)
    scale = LARGEST_WORTH / float(max(heavy, default=1))
    # A move may cost a million slices; nobody makes it, and solvers hold no
    # numbers of that size.
    worths = (
        max(-LARGEST_WORTH, math.ceil(float(heavy[j] * s) * scale))
        for j, *_, s in drafts
    )
    options = tuple(
        Option(j, deed, mask, jobs[j].size, cost, worth)
        for (j, deed, mask, cost, _), worth in zip(drafts, worths)
    )
    by_job: list[list[int]] = [[] for _ in jobs]
    for o, option in enumerate(options):
        by_job[option.job].append(o)
    return Question(
        state.nodes,
        levels,
        jobs,
        len(state.jobs),
        options,
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
    """Maximal sets of two or more column masks that share a node, as positions, largest
    first.

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
