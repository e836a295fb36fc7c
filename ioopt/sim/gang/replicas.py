"""Run CleanMatrix and FillMatrix, which remove and add replicas, in place on a gang
matrix (rules 11 and 15).

The code runs in plain Python and compiled.
"""

from ioopt.decisions.gang.rules import UNWEIGHTED, RuleNumbers
from ioopt.sim.gang.matrix import Job, Matrix
from ioopt.sim.gang.nodes import add, is_free
from ioopt.sim.gang.placement import sort_by_worth


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
