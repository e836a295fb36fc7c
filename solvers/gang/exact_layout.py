"""Convert solutions of the gang models to rows and columns, and a matrix to a start of
them.
"""

from collections.abc import Mapping

from ioopt.decisions.gang.state import State
from ioopt.models.gang.question import Question
from ioopt.problems.gang import mask_of, nodes_of
from ioopt.sim.gang.nodes import choose_nodes

Placed = dict[int, tuple[int, int]]
"""For each option that is taken, the mask of its columns and the mask of its rows."""


def lay_out(
    question: Question, counts: Mapping[int, int], partial: bool = False
) -> Placed | None:
    """Return rows and columns for a solution of the row-free model.

    *counts* has the number of rows of each option taken. First, remote jobs get
    contiguous nodes that fewer than M rows use: large jobs first, each the tightest
    gap. Then the options get rows in order of the left end of their columns. Each takes
    the free rows whose last job ends nearest to it; this never fails for intervals of a
    line.

    If a remote job finds no gap, or columns have holes, the other jobs are packed into
    the lowest rows, and remote jobs take free nodes of a row. Return None if a job
    finds no room; with *partial* such a job is left out.
    """
    fixed = {
        o: question.options[o].columns for o in counts if question.options[o].columns
    }
    masks = _in_gaps(question, counts, dict(fixed))
    if masks is not None:
        spans = colour(masks, counts, question.levels, nearest=True)
        if spans is not None:
            return {o: (masks[o], span) for o, span in spans.items()}
    spans = colour(fixed, counts, question.levels)
    if spans is None:
        return None
    return _in_rows(question, counts, spans, partial)


def _in_gaps(
    question: Question, counts: Mapping[int, int], masks: dict[int, int]
) -> dict[int, int] | None:
    """Add to *masks*, for each remote option in *counts*, a mask of contiguous columns
    in the tightest gap; return *masks*.

    Return None if an option finds no gap.
    """
    levels = question.levels
    # crowded[k]: the nodes that at least k of the masks cover (crowded[0] is unused).
    crowded = [0] * (levels + 1)
    for o in masks:
        for _ in range(counts[o]):
            _add(crowded, masks[o])
    for o in _largest_first(question, counts):
        free = (1 << question.nodes) - 1 & ~crowded[levels]
        columns = tightest_run(free, question.options[o].size)
        if columns is None:
            return None
        masks[o] = columns
        _add(crowded, columns)
    return masks


def colour(
    masks: Mapping[int, int],
    counts: Mapping[int, int],
    levels: int,
    nearest: bool = False,
) -> dict[int, int] | None:
    """Return, for each of *masks*, its rows as a mask; None if a mask finds too few
    rows.

    *counts* has the number of rows of each. Masks are placed in order of their left
    ends. Each takes the lowest free rows, or with *nearest* the rows whose last mask
    ends nearest to it.
    """
    rows = [0] * levels
    spans = {}
    for o in sorted(masks, key=lambda o: (masks[o] & -masks[o], o)):
        left = (masks[o] & -masks[o]).bit_length() - 1
        free = [r for r in range(levels) if not rows[r] & masks[o]]
        if len(free) < counts[o]:
            return None
        if nearest:
            free.sort(key=lambda r: -(rows[r] & (1 << left) - 1).bit_length())
        for r in free[: counts[o]]:
            rows[r] |= masks[o]
        spans[o] = mask_of(free[: counts[o]])
    return spans


def _in_rows(
    question: Question, counts: Mapping[int, int], spans: dict[int, int], partial: bool
) -> Placed | None:
    """Put each remote job into a row; large jobs choose first.

    A job takes the row with the fewest free nodes among those with enough of them.
    """
    rows = _rows(
        question, {o: (question.options[o].columns, s) for o, s in spans.items()}
    )
    spans = dict(spans)
    counted = [question.nodes - row.bit_count() for row in rows]
    for o in _largest_first(question, counts):
        size = question.options[o].size
        fitting = [(free, r) for r, free in enumerate(counted) if free >= size]
        if not fitting and not partial:
            return None
        if not fitting:
            continue
        row = min(fitting)[1]
        counted[row] -= size
        spans[o] = 1 << row
    return with_columns(question, spans)


def _rows(question: Question, placed: Placed) -> list[int]:
    """Return, for each row, the mask of its occupied nodes."""
    rows = [0] * question.levels
    for columns, span in placed.values():
        for r in nodes_of(span):
            rows[r] |= columns
    return rows


def _add(covered: list[int], mask: int) -> None:
    """Add *mask* to the counts; ``covered[k]`` are the nodes that at least k masks
    cover.
    """
    for k in range(len(covered) - 1, 1, -1):
        covered[k] |= covered[k - 1] & mask
    covered[1] |= mask


def _largest_first(question: Question, chosen: Mapping[int, int]) -> list[int]:
    """Return the remote options in *chosen*, those of the largest jobs first."""
    remote = [o for o in chosen if not question.options[o].columns]
    return sorted(remote, key=lambda o: (-question.options[o].size, o))


def tightest_run(free: int, size: int) -> int | None:
    """Return a mask of *size* contiguous bits in the shortest run of *free* that holds
    them.

    They are the lowest bits of the run. Return None if all runs are too short.

    >>> bin(tightest_run(0b1101111, 2))
    '0b1100000'
    """
    best: tuple[int, int] | None = None
    rest = free
    while rest:
        start = (rest & -rest).bit_length() - 1
        length = (~(rest >> start) & (rest >> start) + 1).bit_length() - 1
        rest &= ~(((1 << length) - 1) << start)
        if length >= size and (best is None or length < best[0]):
            best = (length, start)
    if best is None:
        return None
    _, start = best
    return ((1 << size) - 1) << start


def with_columns(question: Question, spans: Mapping[int, int]) -> Placed:
    """Return rows and columns of all options in *spans*, which has their rows.

    A remote option takes the tightest gap that fits in its row. If there is none, it
    takes the nodes that are free in most rows.
    """
    placed = {o: (question.options[o].columns, span) for o, span in spans.items()}
    rows = _rows(question, placed)
    chosen = [0]
    layers = [0] * (question.levels + 1)
    every = (1 << question.nodes) - 1
    for o in _largest_first(question, spans):
        row = spans[o].bit_length() - 1
        size = question.options[o].size
        columns = tightest_run(every & ~rows[row], size)
        if columns is None:
            choose_nodes(rows, row, [every], size, layers, chosen, 0)
            columns = chosen[0]
        rows[row] |= columns
        placed[o] = (columns, spans[o])
    return placed


def spans_of(question: Question, before: State, after: State) -> dict[int, int]:
    """Return, for each option that the greedy update chose, the mask of its rows.

    *before* and *after* are the matrices of the update. A job that stays on its columns
    or starts on its file nodes has taken the first of its options, any other job the
    second. Jobs without options in the question are left out.
    """
    position = {job.key: j for j, job in enumerate(question.jobs)}
    spans = {}
    for job, columns, span in zip(after.jobs, after.columns, after.spans):
        j = position.get(job.key)
        if j is None:
            continue
        choices = question.by_job[j]
        stays = j < question.num_running and columns == before.columns[j]
        starts_local = j >= question.num_running and columns == job.files
        if stays or starts_local:
            spans[choices[0]] = span
        else:
            spans[choices[1]] = span
    return spans


def state_with(before: State, question: Question, placed: Placed) -> State:
    """Return the matrix in which the options have the rows and columns *placed*.

    A job keeps its home row if it still has that row. Otherwise its lowest row is its
    home.
    """
    by_job = {question.options[o].job: o for o in placed}
    order = sorted(by_job)
    columns = []
    homes = []
    spans = []
    moved = []
    cost = 0
    rows = [0] * question.levels
    for j in order:
        option = question.options[by_job[j]]
        mask, span = placed[by_job[j]]
        home = (span & -span).bit_length() - 1
        if j < question.num_running and span >> before.homes[j] & 1:
            home = before.homes[j]
        columns.append(mask)
        spans.append(span)
        homes.append(home)
        for r in nodes_of(span):
            rows[r] |= mask
        if option.deed == "move":
            moved.append(question.jobs[j].key)
            cost += option.cost
    return before._replace(
        jobs=[question.jobs[j] for j in order],
        columns=columns,
        homes=homes,
        spans=spans,
        rows=rows,
        budget=before.budget - cost,
        tasks_moved=cost,
        moved=tuple(moved),
        admitted=tuple(question.jobs[j] for j in order if j >= question.num_running),
    )
