"""A slow reference for gang scheduling, with Fractions and an explicit matrix of cells.

It was written from the rules, and shares no code with the simulator, the phases or the
checker. Each cell holds a job or None. Time advances to the next arrival, slice
boundary or earliest end of a job in the present row.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass
class RefJob:
    position: int
    arrival: Fraction
    files: list[int]
    local: Fraction
    remote: Fraction
    left: Fraction = Fraction(1)
    stall: Fraction = Fraction(0)
    cols: list[int] = field(default_factory=list)
    home: int = -1
    started: Fraction | None = None
    finished: Fraction | None = None

    @property
    def at_files(self) -> bool:
        return sorted(self.cols) == sorted(self.files)

    @property
    def length(self) -> Fraction:
        return self.local if self.at_files else self.remote

    def time_needed(self) -> Fraction:
        return self.stall + self.left * self.length

    def work(self, seconds: Fraction) -> None:
        burnt = min(seconds, self.stall)
        self.stall -= burnt
        self.left -= (seconds - burnt) / self.length


class Reference:
    """Simulate *jobs* on a number of nodes and rows.

    *quantum* and *cost* are the length of a slice and the cost of a migration; *budget*
    limits the migrated tasks in a slice (None: no limit). *policy* is gs, iogs,
    adaptive-iogs, migrate-iogs or guarded-iogs.
    """

    def __init__(
        self,
        nodes: int,
        rows: int,
        quantum: Fraction,
        cost: Fraction,
        budget: int | None,
        jobs: list[RefJob],
        policy: str,
        boundary: bool = False,
    ) -> None:
        self.P, self.M, self.T, self.C, self.Q = nodes, rows, quantum, cost, budget
        self.policy, self.boundary = policy, boundary
        self.future = sorted(jobs, key=lambda job: (job.arrival, job.position))
        self.queue: list[RefJob] = []
        self.running: list[RefJob] = []
        self.cells: list[list[RefJob | None]] = [[None] * nodes for _ in range(rows)]
        self.spent_in, self.spent, self.moved = -1, 0, 0

    def run(self) -> None:
        """Run until every job has ended."""
        now, dirty = Fraction(0), False
        while self.future or self.queue or self.running:
            index = math.floor(now / self.T)
            gone = [job for job in self.running if job.left == 0 and job.stall == 0]
            came = [job for job in self.future if job.arrival <= now]
            for job in gone:
                if job.finished is None:
                    job.finished = now
            on_boundary = now == index * self.T
            dirty = dirty or bool(gone or came)
            if dirty and (on_boundary or not self.boundary):
                self.future = [job for job in self.future if job not in came]
                self.queue += came
                self.running = [job for job in self.running if job not in gone]
                self.update(now, index)
                dirty = False
            now = self.step(now, index)

    def step(self, now: Fraction, index: int) -> Fraction:
        end = (index + 1) * self.T
        later = [job.arrival for job in self.future if job.arrival > now]
        active: list[RefJob] = []
        for cell in self.cells[index % self.M]:
            if cell is not None and cell not in active and cell.finished is None:
                active.append(cell)
        stops = [end, *later, *(now + job.time_needed() for job in active)]
        until = min(stops)
        for job in active:
            job.work(until - now)
        return until

    def update(self, now: Fraction, index: int) -> None:
        if index != self.spent_in:
            self.spent_in, self.spent = index, 0
        self.clean()
        if self.policy in ("migrate-iogs", "guarded-iogs"):
            self.migrate()
        self.compact()
        for job in list(self.queue):
            if self.place(job, now):
                self.queue.remove(job)
                job.started = now
                self.running.append(job)
            elif not self.refused:
                break
        self.fill()

    def clean(self) -> None:
        self.cells = [[None] * self.P for _ in range(self.M)]
        for job in self.running:
            for column in job.cols:
                assert self.cells[job.home][column] is None
                self.cells[job.home][column] = job

    def migrate(self) -> None:
        changed = True
        while changed:
            changed = False
            for job in self.running:
                if job.at_files:
                    continue
                cost = len([node for node in job.files if node not in job.cols])
                if self.Q is not None and self.spent + cost > self.Q:
                    continue
                for row in range(self.M):
                    if all(self.cells[row][node] in (None, job) for node in job.files):
                        job.cols, job.home = list(job.files), row
                        job.stall += self.C
                        self.spent += cost
                        self.moved += cost
                        self.clean()
                        changed = True
                        break

    def used(self, row: int) -> int:
        return sum(cell is not None for cell in self.cells[row])

    def compact(self) -> None:
        again = True
        while again:
            again = self.compact_once()

    def compact_once(self) -> bool:
        sources = sorted(range(self.M), key=lambda row: (self.used(row), row))
        targets = sorted(range(self.M), key=lambda row: (-self.used(row), row))
        for source in sources:
            for target in targets:
                if target == source or self.used(target) < self.used(source):
                    continue
                for job in [job for job in self.running if job.home == source]:
                    if all(self.cells[target][column] is None for column in job.cols):
                        job.home = target
                        self.clean()
                        return True
        return False

    def place(self, job: RefJob, now: Fraction) -> bool:
        self.refused = False
        free = [self.P - self.used(row) for row in range(self.M)]
        if self.policy != "gs":
            fitting = [
                row
                for row in range(self.M)
                if all(self.cells[row][node] is None for node in job.files)
            ]
            if fitting:
                self.put(
                    job, min(fitting, key=lambda row: (free[row], row)), list(job.files)
                )
                return True
        if self.policy == "iogs":
            return False
        fitting = [row for row in range(self.M) if free[row] >= len(job.files)]
        if not fitting:
            return False
        if self.policy == "guarded-iogs":
            taken = self.P * self.M - sum(free) + len(job.files)
            waited, dear = now - job.arrival, job.remote - job.local
            room = self.P * self.M * max(Fraction(7, 10), job.local / job.remote)
            if taken > room and waited < 15 * dear:
                self.refused = True
                return False
        row = min(fitting, key=lambda row: (free[row], row))
        columns = [node for node in range(self.P) if self.cells[row][node] is None]
        columns.sort(
            key=lambda node: (-sum(line[node] is None for line in self.cells), node)
        )
        self.put(job, row, sorted(columns[: len(job.files)]))
        return True

    def put(self, job: RefJob, row: int, columns: list[int]) -> None:
        job.home, job.cols = row, columns
        for column in columns:
            self.cells[row][column] = job

    def fill(self) -> None:
        if self.policy in ("gs", "iogs"):
            groups = [list(self.running)]
        else:
            groups = [
                [job for job in self.running if job.at_files],
                [job for job in self.running if not job.at_files],
            ]
        for group in groups:
            while any([self.replicate(job) for job in group]):
                pass

    def replicate(self, job: RefJob) -> bool:
        for row in range(self.M):
            if all(self.cells[row][column] is None for column in job.cols):
                for column in job.cols:
                    self.cells[row][column] = job
                return True
        return False
