"""Check one gang-scheduling decision, and compute the value of its matrix as
docs/gang.md defines it.
"""

from ioopt.problems.base import JobId, Json
from ioopt.problems.gang import (
    GangMatrixPlan,
    GangMatrixProblem,
    MatrixJob,
    PlacedJob,
    RunningJob,
    mask_of,
)
from ioopt.protocols import CheckReport
from ioopt.result import Violation, violation

WEIGHTS = ("las", "hdf", "one")
"""Names of the weights of jobs; the objective with each weight is ``value_<name>``."""


def check(
    problem: GangMatrixProblem, plan: GangMatrixPlan, schedule: Json | None
) -> CheckReport:
    """Return the violations of the matrix *plan*, its value with each kind of weight,
    and metrics.
    """
    jobs = {job.id: job for job in (*problem.running, *problem.waiting)}
    violations = [*_membership(problem, plan, jobs), *_cells(problem, plan)]
    known = [placed for placed in plan.jobs if placed.id in jobs]
    for placed in known:
        violations += _shape(problem, placed, jobs[placed.id])
    moves = _moves(known, jobs)
    left = problem.tasks_left
    tasks = sum(cost for _, cost in moves)
    if left is not None and tasks > left:
        text = f"{tasks} tasks migrate, but only {left} more may do so in this slice"
        violations.append(violation("migration-budget", "plan", text, tasks - left))
    objectives = {f"value_{kind}": value_of(problem, plan, kind) for kind in WEIGHTS}
    slots = problem.machine.nodes * problem.machine.levels
    metrics = {
        **objectives,
        "jobs_in_matrix": len(known),
        "started_jobs": sum(
            not isinstance(jobs[placed.id], RunningJob) for placed in known
        ),
        "local_jobs": sum(_is_local(placed, jobs[placed.id]) for placed in known),
        "migrated_jobs": len(moves),
        "migrated_tasks": tasks,
        "matrix_utilisation": sum(len(p.columns) * len(p.rows) for p in known) / slots,
    }
    return CheckReport(
        tuple(violations), objectives, metrics, limits=limits_of(problem)
    )


def limits_of(problem: GangMatrixProblem) -> dict[str, float]:
    """Return upper bounds on the values of all matrices.

    The bounds are computed as if every job were in every row both as a local and as a
    remote job, which no matrix allows.
    """
    machine = problem.machine
    jobs = (*problem.running, *problem.waiting)
    limits: dict[str, float] = {"local_jobs": len(jobs), "matrix_utilisation": 1.0}
    for kind in WEIGHTS:
        worth = 0.0
        for job in jobs:
            speeds = 1.0 + job.local_seconds / job.remote_seconds
            worth += weight_of(job, machine.quantum_seconds, kind) * speeds
        limits[f"value_{kind}"] = worth * machine.levels
    return limits


def value_of(problem: GangMatrixProblem, plan: GangMatrixPlan, kind: str) -> float:
    """Return the value of a matrix: the sum over its jobs of weight times speed times
    number of rows.

    *kind* is the kind of weight, as for :func:`weight_of`. The speed is 1 for local
    jobs and L/R for remote jobs, where L and R are the local and the remote run time.
    For a job that migrates the speed is reduced by C/(2T), where C is the time of a
    migration and T the quantum.
    """
    jobs = {job.id: job for job in (*problem.running, *problem.waiting)}
    machine = problem.machine
    total = 0.0
    for placed in plan.jobs:
        job = jobs.get(placed.id)
        if job is None:
            continue
        speed = job.local_seconds / job.remote_seconds
        if _is_local(placed, job):
            speed = 1.0
            if isinstance(job, RunningJob) and set(job.columns) != set(placed.columns):
                speed -= machine.migration_seconds / (2 * machine.quantum_seconds)
        total += (
            weight_of(job, machine.quantum_seconds, kind) * speed * len(placed.rows)
        )
    return total


def weight_of(job: MatrixJob, quantum: float, kind: str) -> float:
    """Return the weight of a job.

    The weight is 1/(attained + T)^2 for ``las``, 1/(max(L, T) max(remaining, 50)) for
    ``hdf``, and 1 for ``one``. L is the local run time of the job, and T is the
    quantum. Times are in seconds.
    """
    if kind == "las":
        return 1.0 / (job.attained_seconds + quantum) ** 2
    if kind == "hdf":
        seconds = job.local_seconds
        if isinstance(job, RunningJob) and set(job.columns) != set(job.file_nodes):
            seconds = job.remote_seconds
        remaining = job.stall_seconds + job.remaining_fraction * seconds
        return 1.0 / (max(job.local_seconds, quantum) * max(remaining, 50.0))
    return 1.0


def _is_local(placed: PlacedJob, job: MatrixJob) -> bool:
    return set(placed.columns) == set(job.file_nodes)


def _membership(
    problem: GangMatrixProblem, plan: GangMatrixPlan, jobs: dict[JobId, MatrixJob]
) -> list[Violation]:
    found = []
    seen = set()
    for placed in plan.jobs:
        if placed.id not in jobs:
            found.append(
                violation(
                    "unknown-job", str(placed.id), "is neither running nor waiting"
                )
            )
        if placed.id in seen:
            found.append(violation("job-twice", str(placed.id), "is placed twice"))
        seen.add(placed.id)
    for job in problem.running:
        if job.id not in seen:
            message = "was running but has no place in the new matrix"
            found.append(violation("job-dropped", str(job.id), message))
    return found


def _shape(
    problem: GangMatrixProblem, placed: PlacedJob, job: MatrixJob
) -> list[Violation]:
    found: list[Violation] = []

    def add(rule: str, message: str) -> None:
        found.append(violation(rule, str(placed.id), message))

    machine = problem.machine
    columns = set(placed.columns)
    if len(columns) != job.size or len(placed.columns) != job.size:
        add("columns", f"has {job.size} tasks, but {len(placed.columns)} columns")
    if max((*columns, 0)) >= machine.nodes or max((*placed.rows, 0)) >= machine.levels:
        add("outside", "is placed outside the matrix")
    if placed.home_row not in placed.rows or len(set(placed.rows)) != len(placed.rows):
        add(
            "home-row",
            f"home row {placed.home_row} must be one of its rows {placed.rows}",
        )
    if placed.local is not None and placed.local != _is_local(placed, job):
        add("local", "is local if and only if its columns are its file nodes")
    ends_at = [set(job.file_nodes)]
    if isinstance(job, RunningJob):
        ends_at.append(set(job.columns))
        if columns not in ends_at:
            add("migration", "moves, but not to its file nodes")
    return found


def _cells(problem: GangMatrixProblem, plan: GangMatrixPlan) -> list[Violation]:
    found = []
    rows = dict.fromkeys(range(problem.machine.levels), 0)
    for placed in plan.jobs:
        columns = mask_of(placed.columns)
        for row in set(placed.rows) & set(rows):
            if rows[row] & columns:
                message = f"shares a node of row {row} with another job"
                found.append(violation("cell-twice", str(placed.id), message))
            rows[row] |= columns
    return found


def _moves(
    known: list[PlacedJob], jobs: dict[JobId, MatrixJob]
) -> list[tuple[JobId, int]]:
    moves = []
    for placed in known:
        job = jobs[placed.id]
        if isinstance(job, RunningJob) and set(job.columns) != set(placed.columns):
            moves.append((placed.id, len(set(placed.columns) - set(job.columns))))
    return moves
