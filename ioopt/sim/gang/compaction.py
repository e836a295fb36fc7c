"""Run CompactMatrix, in place on a gang matrix (rule 13).

The code runs in plain Python and compiled. Ties between rows and jobs go to the lowest
index.
"""

from ioopt.decisions.gang.rules import RuleNumbers
from ioopt.sim.gang.matrix import Matrix
from ioopt.sim.gang.nodes import is_free
from ioopt.sim.gang.placement import put, take_out


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
