"""Run the phases of a matrix update (Section 3.1 of Zhang et al., rules 11 to 15), in
place on a matrix.

The code runs in plain Python and compiled. Ties between rows, nodes and jobs go to the
lowest index. The choices in which policies differ are in
:class:`~ioopt.decisions.gang.rules.Rules`.
"""

from ioopt.decisions.gang.rules import (
    ADAPTIVE,
    BEST_FIT,
    FILE_NODES,
    UNLIMITED,
    UNWEIGHTED,
    RuleNumbers,
    weight_of,
)
from ioopt.sim.gang.matrix import Job, Matrix
from ioopt.sim.gang.nodes import (
    add,
    assign,
    choose_nodes,
    equal,
    is_free,
    num_outside,
    remove,
)

NO_ROOM = -1
"""Stands in place of a row number if no row fits the job."""
REFUSED = -2
"""Stands in place of a row number if the guard refuses the job."""


def take_out(matrix: Matrix, j: int) -> None:
    """Remove job *j* from its home row."""
    job = matrix.jobs[j]
    remove(matrix.homes, job.home, matrix.columns, j, matrix.words)
    matrix.population[job.home] -= job.size


def put(matrix: Matrix, j: int, row: int) -> None:
    """Put job *j* into *row*, which becomes its home row; its columns stay the same."""
    job = matrix.jobs[j]
    add(matrix.homes, row, matrix.columns, j, matrix.words)
    matrix.population[row] += job.size
    job.home = row
    job.span = 1 << row
    job.rows = 1


def use_files(matrix: Matrix, j: int) -> None:
    """Make the file nodes of job *j* its columns, so that it is local."""
    assign(matrix.columns, j, matrix.files, matrix.words)
    matrix.jobs[j].local = True


def drop(keys: list[int], count: int, j: int) -> None:
    """Remove *j* from the first *count* of the *keys*; keys behind it move up."""
    at = 0
    while keys[at] != j:
        at += 1
    for k in range(at, count - 1):
        keys[k] = keys[k + 1]


def clean(matrix: Matrix, rules: RuleNumbers) -> None:
    """CleanMatrix (rule 11): remove all replicas, so that each job stays only in its
    home row.
    """
    jobs = matrix.jobs
    running = matrix.running
    for k in range(matrix.num_running):
        job = jobs[running[k]]
        job.span = 1 << job.home
        job.rows = 1


def worth_of(job: Job, rules: RuleNumbers) -> float:
    """Return the weight of *job* times its speed."""
    weight = weight_of(
        rules.weight, job.at_files, job.attained, job.need, rules.quantum
    )
    if job.local:
        return weight
    return weight * job.at_files / job.remote


def sort_by_worth(
    matrix: Matrix, rules: RuleNumbers, keys: list[int], num: int
) -> None:
    """Sort the first *num* of the *keys* by the worth of the jobs, largest first; of
    equals, the one that started first.

    The order changes little between two updates, so keys are moved one by one.
    """
    jobs = matrix.jobs
    for k in range(num):
        job = jobs[keys[k]]
        job.worth = worth_of(job, rules)
    for k in range(1, num):
        j = keys[k]
        job = jobs[j]
        worth = job.worth
        at = k
        while at > 0:
            other = jobs[keys[at - 1]]
            if other.worth > worth:
                break
            if other.worth == worth and other.rank < job.rank:
                break
            keys[at] = keys[at - 1]
            at -= 1
        keys[at] = j


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


def compact(matrix: Matrix, rules: RuleNumbers) -> None:
    """CompactMatrix (rule 13): move jobs from sparse rows to fuller ones; their columns
    stay the same.
    """
    while move_one(matrix):
        pass


def move_one(matrix: Matrix) -> bool:
    """Make the first feasible move of CompactMatrix; return False if there is none."""
    population = matrix.population
    sort_rows(matrix.ascending, population, 1)
    sort_rows(matrix.descending, population, -1)
    for source in matrix.ascending:
        if population[source] == 0:
            continue
        num = -1
        for target in matrix.descending:
            if population[target] < population[source]:
                break
            if target == source or population[target] == matrix.nodes:
                continue
            if num < 0:
                num = jobs_at_home(matrix, source)
            j = first_to_fit(matrix, num, target)
            if j >= 0:
                take_out(matrix, j)
                put(matrix, j, target)
                return True
    return False


def sort_rows(rows: list[int], population: list[int], sign: int) -> None:
    """Sort *rows* by *sign* times their *population*; of equals, the lowest row first.

    The order changes little between two calls, so rows are moved one by one.
    """
    for k in range(1, len(rows)):
        row = rows[k]
        key = sign * population[row]
        at = k
        while at > 0:
            other = rows[at - 1]
            rank = sign * population[other]
            if rank < key or (rank == key and other < row):
                break
            rows[at] = other
            at -= 1
        rows[at] = row


def jobs_at_home(matrix: Matrix, row: int) -> int:
    """Collect in the group the running jobs whose home is *row*; return their
    number.
    """
    jobs = matrix.jobs
    running = matrix.running
    group = matrix.group
    num = 0
    for k in range(matrix.num_running):
        j = running[k]
        if jobs[j].home == row:
            group[num] = j
            num += 1
    return num


def first_to_fit(matrix: Matrix, num: int, row: int) -> int:
    """Return the first of *num* jobs of the group whose columns are free in *row*; -1
    if there is none.
    """
    homes = matrix.homes
    columns = matrix.columns
    group = matrix.group
    words = matrix.words
    if words == 1:
        taken = homes[row]
        for k in range(num):
            j = group[k]
            if taken & columns[j] == 0:
                return j
        return -1
    room = matrix.nodes - matrix.population[row]
    for k in range(num):
        j = group[k]
        if matrix.jobs[j].size <= room and is_free(homes, row, columns, j, words):
            return j
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


def fill(matrix: Matrix, rules: RuleNumbers) -> None:
    """FillMatrix (rule 15): add replicas of jobs in the free cells of other rows."""
    for k in range(len(matrix.homes)):
        matrix.filled[k] = matrix.homes[k]
    matrix.slots = 0
    for row in range(matrix.levels):
        matrix.slots += matrix.population[row]
        matrix.room[row] = matrix.nodes - matrix.population[row]
    add_replicas(matrix, rules)


def add_replicas(matrix: Matrix, rules: RuleNumbers) -> None:
    """Fill the free cells with replicas of the running jobs.

    With weights, the heaviest job gets all possible replicas first. Without weights,
    the jobs get one replica each in turn. A replica goes to the first row where the
    job's columns are free.
    """
    weighted = rules.weight != UNWEIGHTED
    keys = matrix.running
    if weighted:
        keys = matrix.order
        sort_by_worth(matrix, rules, keys, matrix.num_running)
    if not rules.local_first:
        add_in_turns(matrix, keys, weighted, True, True)
        return
    add_in_turns(matrix, keys, weighted, True, False)
    add_in_turns(matrix, keys, weighted, False, True)


def add_in_turns(
    matrix: Matrix, keys: list[int], at_once: bool, local: bool, remote: bool
) -> None:
    """Add replicas of the running jobs, of which *keys* is the order, until none fits.

    The *local* jobs take part, the *remote* ones, or both. Each job gets one replica in
    turn, or all its replicas *at_once*. Rows only get fuller, so that a job for which a
    row was too full need not try it again.
    """
    jobs = matrix.jobs
    group = matrix.group
    num = 0
    for k in range(matrix.num_running):
        j = keys[k]
        job = jobs[j]
        if (job.local and local) or (not job.local and remote):
            job.next_row = 0
            group[num] = j
            num += 1
    while num > 0:
        found = 0
        for k in range(num):
            j = group[k]
            added = add_replica(matrix, j)
            while added and at_once:
                added = add_replica(matrix, j)
            if added:
                group[found] = j
                found += 1
        num = found


def add_replica(matrix: Matrix, j: int) -> bool:
    """Add a replica of job *j* to the next row in which its columns are free; return
    False if there is none.
    """
    job = matrix.jobs[j]
    row = next_free_row(matrix, j, job)
    if row < 0:
        return False
    job.span |= 1 << row
    job.rows += 1
    job.next_row = row + 1
    matrix.slots += job.size
    return True


def next_free_row(matrix: Matrix, j: int, job: Job) -> int:
    """Add the columns of job *j* to the next row in which they are free; return the
    row, -1 if there is none.
    """
    filled = matrix.filled
    columns = matrix.columns
    words = matrix.words
    if words == 1:
        wanted = columns[j]
        for row in range(job.next_row, len(filled)):
            if filled[row] & wanted == 0:
                filled[row] |= wanted
                return row
        return -1
    size = job.size
    for row in range(job.next_row, matrix.levels):
        if size <= matrix.room[row] and is_free(filled, row, columns, j, words):
            add(filled, row, columns, j, words)
            matrix.room[row] -= size
            return row
    return -1
