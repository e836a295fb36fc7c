"""Run MigrateMatrix and Schedule, in place on a gang matrix (rules 12 and 14).

The code runs in plain Python and compiled. Ties between rows, nodes and jobs go to the
lowest index. The choices in which policies differ are in
:class:`~ioopt.decisions.gang.rules.Rules`. The other phases of a matrix update (Section
3.1 of Zhang et al.) are in :mod:`ioopt.sim.gang.compaction` and
:mod:`ioopt.sim.gang.replicas`.
"""

from ioopt.decisions.gang.rules import (
    ADAPTIVE,
    BEST_FIT,
    FILE_NODES,
    UNLIMITED,
    UNWEIGHTED,
    RuleNumbers,
)
from ioopt.sim.gang.matrix import Job, Matrix
from ioopt.sim.gang.nodes import choose_nodes, equal, is_free, num_outside
from ioopt.sim.gang.placement import put, sort_by_worth, take_out, use_files

NO_ROOM = -1
"""Stands in place of a row number if no row fits the job."""
REFUSED = -2
"""Stands in place of a row number if the guard refuses the job."""


def migrate(matrix: Matrix, rules: RuleNumbers) -> None:
    """MigrateMatrix (rule 12): move remote jobs to their file nodes, in a row where
    these are free.

    A job's own columns in its home row count as free. A move that would exceed the
    budget of migrating tasks is skipped as a whole. Passes over the jobs repeat until
    one changes nothing.
    """
    if matrix.tasks_left <= 0:
        return
    jobs = matrix.jobs
    group = matrix.group
    keys = matrix.running
    if rules.weight != UNWEIGHTED:
        keys = matrix.order
    num = 0
    for k in range(matrix.num_running):
        j = keys[k]
        job = jobs[j]
        if not job.local and not job.packed:
            group[num] = j
            num += 1
    if rules.weight != UNWEIGHTED and num > 1:
        sort_by_worth(matrix, rules, group, num)
    changed = num > 0
    while changed:
        changed = False
        for k in range(num):
            j = group[k]
            if not jobs[j].local and move_to_files(matrix, j):
                changed = True


def move_to_files(matrix: Matrix, j: int) -> bool:
    """Move the remote job *j* to its file nodes; return False if it must stay."""
    cost = num_outside(matrix.files, matrix.columns, j, matrix.words)
    if cost > matrix.tasks_left:
        return False
    row = row_to_move_to(matrix, j)
    if row < 0:
        return False
    take_out(matrix, j)
    use_files(matrix, j)
    put(matrix, j, row)
    matrix.tasks_left -= cost
    matrix.tasks_moved += cost
    matrix.moved[matrix.num_moved] = j
    matrix.num_moved += 1
    return True


def row_to_move_to(matrix: Matrix, j: int) -> int:
    """Return the first row in which all file nodes of job *j* are free; -1 if there is
    none.

    In its home row the job's own columns count as free.
    """
    homes = matrix.homes
    files = matrix.files
    columns = matrix.columns
    words = matrix.words
    job = matrix.jobs[j]
    home = job.home
    if words == 1:
        wanted = files[j]
        for row in range(len(homes)):
            taken = homes[row]
            if row == home:
                taken &= ~columns[j]
            if taken & wanted == 0:
                return row
        return -1
    room = matrix.nodes - job.size
    for row in range(matrix.levels):
        if row == home:
            taken = 0
            for w in range(words):
                others = homes[row * words + w] & ~columns[j * words + w]
                taken |= others & files[j * words + w]
            if taken == 0:
                return row
        elif matrix.population[row] <= room and is_free(homes, row, files, j, words):
            return row
    return -1


def file_row(matrix: Matrix, j: int) -> int:
    """Return the row in which IOGS starts job *j*; -1 if there is none.

    Of the rows in which all file nodes of the job are free, take the row with the
    fewest free nodes.
    """
    population = matrix.population
    room = matrix.nodes - matrix.jobs[j].size
    best = -1
    fullest = -1
    for row in range(matrix.levels):
        taken = population[row]
        if fullest < taken <= room and is_free(
            matrix.homes, row, matrix.files, j, matrix.words
        ):
            best = row
            fullest = taken
    return best


def best_fit_row(matrix: Matrix, size: int) -> int:
    """Return the row in which GS starts a job of *size* tasks; -1 if there is none.

    Of the rows with at least *size* free nodes, take the row with the fewest free
    nodes.
    """
    population = matrix.population
    room = matrix.nodes - size
    best = -1
    fullest = -1
    for row in range(matrix.levels):
        taken = population[row]
        if fullest < taken <= room:
            best = row
            fullest = taken
    return best


def rows_free(matrix: Matrix, sets: list[int], j: int) -> int:
    """Count the rows that hold none of the nodes of set *j*."""
    count = 0
    for row in range(matrix.levels):
        if is_free(matrix.homes, row, sets, j, matrix.words):
            count += 1
    return count


def refused(matrix: Matrix, rules: RuleNumbers, job: Job) -> bool:
    """Return whether the guard refuses that *job* starts remote now."""
    occupied = job.size
    for taken in matrix.population:
        occupied += taken
    if occupied <= rules.limit:
        return False
    if occupied * job.remote <= rules.slots * job.at_files:
        return False
    waited = matrix.now - job.arrival
    return waited < rules.patience * (job.remote - job.at_files)


def place(matrix: Matrix, rules: RuleNumbers, j: int) -> int:
    """Choose the columns of job *j*; return the row in which it can start (rule 14).

    Return NO_ROOM or REFUSED, which are negative, if it cannot start. A packed job is
    placed in the row that gives it the most run time.
    """
    job = matrix.jobs[j]
    row = NO_ROOM
    if rules.place != BEST_FIT:
        row = file_row(matrix, j)
    if rules.place == FILE_NODES or (row >= 0 and not job.packed):
        if row >= 0:
            use_files(matrix, j)
        return row
    other = best_fit_row(matrix, job.size)
    if other < 0:
        return NO_ROOM
    if rules.place == ADAPTIVE and not job.packed and refused(matrix, rules, job):
        return REFUSED
    choose_nodes(
        matrix.homes,
        other,
        matrix.every,
        job.size,
        matrix.layers,
        matrix.columns,
        j,
    )
    job.local = equal(matrix.columns, matrix.files, j, matrix.words)
    if row >= 0:
        at_files = rows_free(matrix, matrix.files, j)
        elsewhere = rows_free(matrix, matrix.columns, j)
        if at_files * job.remote >= elsewhere * job.at_files:
            use_files(matrix, j)
            return row
    return other


def passes(matrix: Matrix, rules: RuleNumbers, j: int, row: int) -> bool:
    """Return whether later jobs may start before job *j*, which cannot start.

    If ``rules.free_queue``, they may until *j* has waited longer than ``rules.age``.
    Otherwise they may only if the guard refused *j*.
    """
    if rules.free_queue:
        return rules.age <= 0 or matrix.now - matrix.jobs[j].arrival <= rules.age
    return row == REFUSED and rules.patience < UNLIMITED


def schedule(matrix: Matrix, rules: RuleNumbers) -> None:
    """Schedule (rule 14): start jobs in FCFS order.

    Stop at the first job that can neither start nor be passed over.
    """
    queue = matrix.queue
    at = matrix.queue_head
    kept = at
    while at < matrix.queue_tail:
        j = queue[at]
        row = place(matrix, rules, j)
        if row >= 0:
            put(matrix, j, row)
            begin(matrix, j)
        elif passes(matrix, rules, j, row):
            queue[kept] = j
            kept += 1
        else:
            break
        at += 1
    while kept > matrix.queue_head:  # jobs passed over move up behind each other
        kept -= 1
        at -= 1
        queue[at] = queue[kept]
    matrix.queue_head = at


def begin(matrix: Matrix, j: int) -> None:
    """Add job *j* to the running jobs, of which it is the last that started."""
    matrix.running[matrix.num_running] = j
    matrix.order[matrix.num_running] = j
    matrix.num_running += 1
    matrix.jobs[j].rank = matrix.num_started
    matrix.num_started += 1
