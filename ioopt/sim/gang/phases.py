"""Run the phases of a matrix update (Section 3.1 of Zhang et al., rules 11 to 15), in
place on a board.

Plain Python and machine code run the same code. Ties between rows, nodes and jobs go to
the lowest index. The choices in which policies differ are in
:class:`~ioopt.decisions.gang.rules.Rules`.
"""

from ioopt.decisions.gang.rules import (
    ADAPTIVE,
    BEST_FIT,
    FILE_NODES,
    UNLIMITED,
    UNWEIGHTED,
    Number,
    RuleNumbers,
    weight_of,
)
from ioopt.sim.gang.board import (
    BUDGET,
    HEAD,
    MOVED,
    RUNNING,
    SLOTS,
    TAIL,
    TASKS,
    Board,
    Jobs,
)
from ioopt.sim.gang.nodes import (
    Sets,
    add,
    add_where_free,
    assign,
    clear,
    copy_rows,
    equal,
    find_layers,
    first_free_but_own,
    first_to_fit,
    is_free,
    num_outside,
    num_rows,
    remove,
    sort_keys,
    take_lowest,
)

NO_ROOM = -1
"""Stands in place of a row number if no row fits the job."""
REFUSED = -2
"""Stands in place of a row number if the guard refuses the job."""


def take_out(board: Board, jobs: Jobs, j: int) -> None:
    """Remove job *j* from its home row."""
    remove(board.homes, jobs.home[j], jobs.columns, j)
    board.population[jobs.home[j]] -= jobs.size[j]


def put(board: Board, jobs: Jobs, j: int, row: int) -> None:
    """Put job *j* into *row*, which becomes its home row; its columns stay the same."""
    add(board.homes, row, jobs.columns, j)
    board.population[row] += jobs.size[j]
    jobs.home[j] = row
    jobs.span[j] = 1 << row


def use_files(jobs: Jobs, j: int) -> None:
    """Make the file nodes of job *j* its columns, so that it is local."""
    assign(jobs.columns, j, jobs.files)
    jobs.local[j] = True


def clean(board: Board, jobs: Jobs, rules: RuleNumbers, now: Number) -> None:
    """CleanMatrix (rule 11): remove all replicas, so that each job stays only in its
    home row.
    """
    for j in board.run[: board.tally[RUNNING]]:
        jobs.span[j] = 1 << jobs.home[j]


def sort_by_worth(board: Board, jobs: Jobs, rules: RuleNumbers, num: int) -> None:
    """Sort the first *num* jobs of the group by weight times speed, largest first."""
    worth = board.worth
    for j in board.group[:num]:
        local = jobs.at_files[j]
        remote = jobs.remote[j]
        weight = weight_of(
            rules.weight, local, jobs.attained[j], jobs.need[j], rules.quantum
        )
        worth[j] = weight if jobs.local[j] else weight * local / remote
    sort_keys(board.group, num, worth, True)


def migrate(board: Board, jobs: Jobs, rules: RuleNumbers, now: Number) -> None:
    """MigrateMatrix (rule 12): move remote jobs to their file nodes, in a row where
    these are free.

    A job's own columns in its home row count as free. A move that would exceed the
    budget of migrating tasks is skipped as a whole. Passes over the jobs repeat until
    one changes nothing.
    """
    tally = board.tally
    group = board.group
    num = 0
    for j in board.run[: tally[RUNNING]]:
        if not jobs.local[j] and not jobs.packed[j]:
            group[num] = j
            num += 1
    if rules.weight != UNWEIGHTED and num > 1:
        sort_by_worth(board, jobs, rules, num)
    changed = num > 0
    while changed:
        changed = False
        for j in group[:num]:
            if jobs.local[j]:
                continue
            cost = num_outside(jobs.files, jobs.columns, j)
            if cost > tally[BUDGET]:
                continue
            row = first_free_but_own(
                board.homes, jobs.files, j, jobs.columns, jobs.home[j]
            )
            if row >= 0:
                take_out(board, jobs, j)
                use_files(jobs, j)
                put(board, jobs, j, row)
                tally[BUDGET] -= cost
                tally[TASKS] += cost
                board.moved[tally[MOVED]] = j
                tally[MOVED] += 1
                changed = True


def compact(board: Board, jobs: Jobs, rules: RuleNumbers, now: Number) -> None:
    """CompactMatrix (rule 13): move jobs from sparse rows to fuller ones; their columns
    stay the same.
    """
    while move_one(board, jobs):
        pass


def move_one(board: Board, jobs: Jobs) -> bool:
    """Make the first feasible move of CompactMatrix; return False if there is none."""
    population = board.population
    ascending = board.ascending
    descending = board.descending
    running = board.run[: board.tally[RUNNING]]
    for row in range(board.levels):
        ascending[row] = row
        descending[row] = row
    sort_keys(ascending, board.levels, population, False)
    sort_keys(descending, board.levels, population, True)
    for source in ascending:
        if population[source] == 0:
            continue
        for target in descending:
            if population[target] < population[source]:
                break
            if target == source or population[target] == board.nodes:
                continue
            j = first_to_fit(
                running, jobs.home, source, jobs.columns, board.homes, target
            )
            if j >= 0:
                take_out(board, jobs, j)
                put(board, jobs, j, target)
                return True
    return False


def file_row(board: Board, jobs: Jobs, j: int) -> int:
    """Return the row in which IOGS starts job *j*; -1 if there is none.

    Of the rows in which all file nodes of the job are free, take the row with the
    fewest free nodes.
    """
    best = -1
    fullest = -1
    for row in range(board.levels):
        taken = board.population[row]
        fitting = fullest < taken <= board.nodes - jobs.size[j]
        if fitting and is_free(board.homes, row, jobs.files, j):
            best = row
            fullest = taken
    return best


def best_fit_row(board: Board, size: int) -> int:
    """Return the row in which GS starts a job of *size* tasks; -1 if there is none.

    Of the rows with at least *size* free nodes, take the row with the fewest free
    nodes.
    """
    best = -1
    fullest = -1
    for row in range(board.levels):
        if fullest < board.population[row] <= board.nodes - size:
            best = row
            fullest = board.population[row]
    return best


def choose_nodes(
    rows: Sets, row: int, nodes: int, size: int, layers: Sets, columns: Sets, j: int
) -> None:
    """Choose the columns of job *j*: *size* of the nodes that are free in *row*.

    The nodes that are free in most other rows come first; of equals, the lowest.
    """
    find_layers(rows, row, nodes, layers)
    clear(columns, j)
    for k in range(len(rows), -1, -1):
        size -= take_lowest(layers, k, columns, j, size)
        if size == 0:
            break


def rows_free(board: Board, sets: Sets, j: int) -> int:
    """Count the rows that hold none of the nodes of set *j*."""
    count = 0
    for row in range(board.levels):
        if is_free(board.homes, row, sets, j):
            count += 1
    return count


def place(board: Board, jobs: Jobs, rules: RuleNumbers, now: Number, j: int) -> int:
    """Choose the columns of job *j*; return the row in which it can start (rule 14).

    Return NO_ROOM or REFUSED, which are negative, if it cannot start. A packed job is
    placed in the row that gives it the most run time.
    """
    row = NO_ROOM
    if rules.place != BEST_FIT:
        row = file_row(board, jobs, j)
    packed = jobs.packed[j]
    if rules.place == FILE_NODES or (row >= 0 and not packed):
        if row >= 0:
            use_files(jobs, j)
        return row
    other = best_fit_row(board, jobs.size[j])
    if other < 0:
        return NO_ROOM
    if rules.place == ADAPTIVE and not packed:
        occupied = jobs.size[j]
        for taken in board.population:
            occupied += taken
        near = jobs.at_files[j]
        far = jobs.remote[j]
        crowded = occupied > rules.limit and occupied * far > rules.slots * near
        if crowded and now - jobs.arrival[j] < rules.patience * (far - near):
            return REFUSED
    size = jobs.size[j]
    choose_nodes(board.homes, other, board.nodes, size, board.layers, jobs.columns, j)
    jobs.local[j] = equal(jobs.columns, jobs.files, j)
    if row >= 0:
        at_files = rows_free(board, jobs.files, j)
        elsewhere = rows_free(board, jobs.columns, j)
        if at_files * jobs.remote[j] >= elsewhere * jobs.at_files[j]:
            use_files(jobs, j)
            return row
    return other


def passes(jobs: Jobs, rules: RuleNumbers, now: Number, j: int, row: int) -> bool:
    """Return whether later jobs may start before job *j*, which cannot start.

    If ``rules.free_queue``, they may until *j* has waited longer than ``rules.age``.
    Otherwise they may only if the guard refused *j*.
    """
    if rules.free_queue:
        return rules.age <= 0 or now - jobs.arrival[j] <= rules.age
    return row == REFUSED and rules.patience < UNLIMITED


def schedule(board: Board, jobs: Jobs, rules: RuleNumbers, now: Number) -> None:
    """Schedule (rule 14): start jobs in FCFS order.

    Stop at the first job that can neither start nor be passed over.
    """
    queue = board.queue
    tally = board.tally
    at = tally[HEAD]
    kept = at
    while at < tally[TAIL]:
        j = queue[at]
        row = place(board, jobs, rules, now, j)
        if row >= 0:
            put(board, jobs, j, row)
            board.run[tally[RUNNING]] = j
            tally[RUNNING] += 1
        elif passes(jobs, rules, now, j, row):
            queue[kept] = j
            kept += 1
        else:
            break
        at += 1
    while kept > tally[HEAD]:  # jobs passed over move up behind each other
        kept -= 1
        at -= 1
        queue[at] = queue[kept]
    tally[HEAD] = at


def fill(board: Board, jobs: Jobs, rules: RuleNumbers, now: Number) -> None:
    """FillMatrix (rule 15): add replicas of jobs in the free cells of other rows."""
    copy_rows(board.homes, board.filled)
    add_replicas(board, jobs, rules)
    slots = 0
    for j in board.run[: board.tally[RUNNING]]:
        slots += jobs.size[j] * num_rows(jobs.span[j])
    board.tally[SLOTS] = slots


def add_replicas(board: Board, jobs: Jobs, rules: RuleNumbers) -> None:
    """Fill the free cells with replicas of the running jobs.

    With weights, the heaviest job gets all possible replicas first. Without weights,
    the jobs get one replica each in turn. A replica goes to the first row where the
    job's columns are free.
    """
    running = board.run[: board.tally[RUNNING]]
    group = board.group
    local = jobs.local
    filled = board.filled
    columns = jobs.columns
    span = jobs.span
    turns = 1
    if rules.local_first:
        turns = 2
    for turn in range(turns):
        num = 0
        for j in running:
            if not rules.local_first or local[j] == (turn == 0):
                group[num] = j
                num += 1
        if rules.weight == UNWEIGHTED:
            add_in_turns(board, jobs, num)
            continue
        sort_by_worth(board, jobs, rules, num)
        for j in group[:num]:
            row = add_where_free(filled, columns, j)
            while row >= 0:
                span[j] |= 1 << row
                row = add_where_free(filled, columns, j)


def add_in_turns(board: Board, jobs: Jobs, num: int) -> None:
    """Add replicas of the first *num* jobs of the group, one for each job in turn,
    until no replica fits.
    """
    while num > 0:
        found = 0
        for j in board.group[:num]:
            row = add_where_free(board.filled, jobs.columns, j)
            if row >= 0:
                jobs.span[j] |= 1 << row
                board.group[found] = j
                found += 1
        num = found
