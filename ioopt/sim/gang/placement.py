"""Put jobs into rows of a gang matrix and take them out, for the phases of an update.

The code runs in plain Python and compiled.
"""

from ioopt.decisions.gang.rules import RuleNumbers, weight_of
from ioopt.sim.gang.matrix import Job, Matrix
from ioopt.sim.gang.nodes import add, assign, remove


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
