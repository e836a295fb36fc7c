"""Select jobs such that the files they write fit a disk.

:class:`ioopt.embed.WorkDirectory` decides. The jobs are its tasks, and the files that
they write are its products. Temporary files are removed after their last reader has
ended; other files stay. The expected size of a file is computed from the ``disk_mb`` of
its job, and the largest share of it that the same output of the rule has used so far.
Without ``disk_mb``, it is the mean size that this output has had, or at first the bytes
that the job reads. The record of an earlier run replaces both, for the rules that are
in it. Once the job has ended, the size on the disk is used. Run times are neither known
nor estimated.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Iterable
from math import ceil
from typing import TYPE_CHECKING, Any

import networkx as nx

from ioopt.embed import WorkDirectory
from ioopt.errors import UnsolvableInstanceError
from ioopt.formats.native import validate
from ioopt.options import Deadline
from ioopt.problems.work_directory import WorkDirectoryProblem
from ioopt.sim.work_directory.order import groups_of, least_order, sequential_peak
from snakemake_scheduler_plugin_ioopt.sizes import Place, RecordedSizes

if TYPE_CHECKING:
    from snakemake_scheduler_plugin_ioopt import Job, Question, TempInputs

SAME = 0.1
"""The relative change of the mean size of an output up to which the mean is not
reported again.
"""


class Room:
    """The ready jobs, and the amounts of resources that are free for them."""

    def __init__(self, asked: Question) -> None:
        self._rows = dict(zip(map(name_of, asked.jobs), asked.ready))
        self._free = list(asked.capacities)

    def able(self, running: Container[str], priority: int | None = None) -> list[str]:
        """Return the names of the jobs outside *running* for which enough resources are
        free.

        If *priority* is given, only jobs of that priority are returned.
        """
        return [
            name
            for name, row in self._rows.items()
            if priority in (None, row.priority)
            and name not in running
            and self._fits(row.resources)
        ]

    def takes(self, name: str) -> bool:
        """Return whether enough resources are free for job *name*."""
        return self._fits(self._rows[name].resources)

    def _fits(self, needs: Iterable[int]) -> bool:
        """Return whether at least the amount in *needs* is free of every resource."""
        return all(need <= have for need, have in zip(needs, self._free))

    def take(self, name: str) -> None:
        """Subtract the resources of job *name* from the free amounts."""
        needs = self._rows[name].resources
        self._free = [have - need for need, have in zip(needs, self._free)]


class DiskTooSmall(Exception):
    """No job runs, and none fits the disk: the run has to stop."""


class DataOrder:
    """Track one run of Snakemake: the running jobs, and the sizes of the files that
    rules have written.
    """

    def __init__(
        self,
        dag: Any,
        temp: TempInputs,
        quota: int | None,
        sizes: RecordedSizes | None = None,
        **how: Any,
    ) -> None:
        """Begin a run in which the files on the disk may have *quota* bytes at once
        (None: any number).

        *sizes* are those of an earlier run. *how* are the settings ``policy`` and
        ``in_flight``.
        """
        self._sizes = sizes
        self._dag = dag
        self._temp = temp
        self._quota = quota
        self._how = how
        self._run = WorkDirectory({"cores": 1}, **how)
        self._jobs: dict[str, Job] = {}
        self._running: dict[str, Job] = {}
        self._idle: dict[str, int] = {}
        self._round = 0
        self._kept = 0
        self._kept_before = 0  # when the present instance was made
        self._safe = True
        self._was_unsafe = False
        self._told_safe = False
        self._guessed = False  # whether only guessed sizes fit no order
        self._seen: dict[Place, tuple[int, int]] = {}
        self._told: dict[Place, float] = {}
        self._used: dict[Place, float] = {}
        self._ends: set[str] = set()
        self.notes: list[str] = []
        self.hints: list[str] = []

    def choose(
        self, asked: Question, remaining: Iterable[Job], until: Deadline
    ) -> list[Job]:
        """Return the jobs to start now; *remaining* are all jobs that have not ended.

        If no job runs, at least one job is returned, provided that the resources allow
        one. ``notes`` are warnings, and ``hints`` say which sizes are estimated and
        when an order fits. Raises :class:`DiskTooSmall` if no job runs, and none fits
        the disk.
        """
        self.notes = []
        self.hints = []
        self._round += 1
        self._idle = self._idle or asked.free
        self._look(asked)
        left = {name_of(job): job for job in remaining}
        if not left.keys() <= self._jobs.keys():
            self._begin(left | self._running)
        told = self._estimates if self._round == 1 else self._safe_now
        self.hints = [text for text in (told(left.values()), *self.hints) if text]
        room = Room(asked)
        chosen = self._chosen(asked, room, until)
        if not self._running and room.able(()):
            if self._safe:  # Files are larger than expected: look for another order.
                self._begin(left)
                chosen = self._chosen(asked, room, until)
            if not chosen:
                raise DiskTooSmall(self._too_small(room.able(())))
        return [self._jobs[name] for name in chosen]

    def _safe_now(self, jobs: Iterable[Job]) -> str:
        """Return once, and else "", a line that an order of *jobs* fits the limit from
        now on: none did before, or the sizes of all rules are known now.
        """
        if self._quota is None or self._told_safe or not self._safe:
            return ""
        unseen = sorted({rule_of(job) for job in jobs if self._unseen(job)})
        if unseen and not self._was_unsafe:
            return ""
        self._told_safe = True
        sizes = "sizes of all rules are known or stated"
        if unseen:
            sizes = f"sizes of rule {', '.join(unseen)} are still estimates"
        return (
            f"an order of the jobs fits {_megabytes(self._quota)} now, and several may "
            f"run at a time ({sizes}); the limit holds unless jobs write more than "
            "expected"
        )

    def _chosen(self, asked: Question, room: Room, until: Deadline) -> list[str]:
        """Return the names of the jobs to start now, recorded as started.

        While no order of the jobs is known that fits the disk, one job runs at a time.
        """
        chosen = self._alone(room)
        if chosen is not None:
            return chosen
        chosen = []
        for priority in sorted({row.priority for row in asked.ready}, reverse=True):
            while not (chosen and until.expired()):
                if self._running and not self._safe:
                    break
                able = self._not_again(room.able(self._running, priority))
                name = self._run.next(among=able)
                if name is None:
                    break
                self._start(name, room)
                chosen.append(name)
        return chosen

    def _alone(self, room: Room) -> list[str] | None:
        """Return the names of the jobs to start if a job of unknown size is ready or
        runs: it starts once no other job runs, and no job starts beside it. Return None
        if there is none, or if it may not start yet.
        """
        if self._quota is None:
            return None
        if any(self._unknown(job) for job in self._running.values()):
            return []
        able = [name for name in room.able(()) if self._unknown(self._jobs[name])]
        if not able:
            return None
        if self._running:
            return []
        name = self._run.next(among=able)
        if name is None:
            return None
        self._start(name, room)
        return [name]

    def _not_again(self, names: list[str]) -> list[str]:
        """Return those of the jobs *names* that may start beside the running ones.

        With a limit, the first job of a rule whose sizes are taken from its inputs runs
        without another of its rule.
        """
        if self._quota is None:
            return names
        new = {rule_of(job) for job in self._running.values() if self._unseen(job)}
        return [name for name in names if rule_of(self._jobs[name]) not in new]

    def _unseen(self, job: Job) -> bool:
        """Return whether nothing tells the sizes of the outputs of *job*: neither
        ``disk_mb``, nor a record, nor a job of its rule that has ended.
        """
        if _stated_mb(job) or rule_of(job) in self._ends:
            return False
        return any(self._recorded(job, at) is None for at in range(len(job.output)))

    def _recorded(self, job: Job, at: int) -> int | None:
        """Return the bytes of output *at* of *job* by an earlier run, if they are
        known.
        """
        if self._sizes is None:
            return None
        return self._sizes.of(str(job.output[at]), (rule_of(job), at))

    def _unknown(self, job: Job) -> bool:
        """Return whether *job* is unseen and reads no bytes that would let expect
        any.
        """
        return self._unseen(job) and not any(map(size_of, inputs_of(job)))

    def _too_small(self, names: list[str]) -> str:
        """Return why none of the jobs *names* may start: the one of them that goes on
        with the most temporary bytes, what it is expected to write, and the bytes that
        lie on the disk.
        """

        def held(name: str) -> int:
            job = self._jobs[name]
            return sum(size_of(file) or 0 for file in self._temp[job])

        names.sort(key=held, reverse=True)
        job = self._jobs[names[0]]
        reads = sum(size_of(file) or 0 for file in inputs_of(job))
        writes = sum(self._expected(job, reads))
        there = self._run.use + self._kept_before
        return (
            f"no job is left that fits: the next, {rule_of(job)} (job {names[0]}), is "
            f"expected to write {_megabytes(writes)}, and the files of this run have "
            f"{_megabytes(there)} of {_megabytes(self._quota or 0)}"
        )

    def _start(self, name: str, room: Room) -> None:
        """Record that job *name* starts, and take its resources from *room*."""
        self._run.started(name)
        self._running[name] = self._jobs[name]
        room.take(name)

    def _look(self, asked: Question) -> None:
        """Record which running jobs have ended or failed.

        If a job has failed for good, a new instance is made of the remaining jobs.
        """
        ready = set(asked.jobs)
        none_runs = asked.free == self._idle
        for name, job in [*self._running.items()]:
            ended = self._dag.finished(job)
            if not (ended or job in ready or none_runs):
                continue
            del self._running[name]
            if ended:
                self._ended(name, job)
            elif job in ready:
                self._run.failed(name)
            else:
                self._jobs = {}

    def _ended(self, name: str, job: Job) -> None:
        """Record that job *name* has ended, and the sizes of the files that it
        wrote.
        """
        sizes = [size_of(str(file)) for file in job.output]
        expected = self._run.use
        self._run.expect(
            {
                str(file): size
                for file, size in zip(job.output, sizes)
                if size is not None
            }
        )
        self._note_too_large(name, job, self._run.use - expected)
        self._run.ended(name, self._round)
        self._jobs.pop(name, None)
        self._ends.add(rule_of(job))
        for at, (file, size) in enumerate(zip(job.output, sizes)):
            if size is None:  # The file is already removed, because no task reads it.
                continue
            if not file.is_flagged("temp"):
                self._kept += size
            self._learn(job, at, size)

    def _note_too_large(self, name: str, job: Job, more: int) -> None:
        """Add a note if the *more* bytes that *job* has written than were expected have
        exceeded the limit.
        """
        there = self._run.use + self._kept_before
        if self._quota is not None and more > 0 and there > self._quota:
            self.notes.append(
                f"{rule_of(job)} (job {name}) wrote {_megabytes(more)} more than "
                f"expected: the files of this run had up to {_megabytes(there)} of "
                f"{_megabytes(self._quota)}, with the outputs of running jobs in full; "
                "state disk_mb in its rule"
            )

    def _learn(self, job: Job, at: int, size: int) -> None:
        """Record the *size* of output *at* of *job*; if other bytes are expected of the
        same output of its rule now, expect them.
        """
        place = (rule_of(job), at)
        recorded = self._recorded(job, at)
        share = _stated_share(job) if recorded is None else 0
        jobs = self._jobs
        if share:
            used = size / share
            if used <= self._used.get(place, -1.0):
                return
            self._used[place] = used
        else:
            # Per file, or per recorded byte: sizes then keep their proportions.
            count, total = self._seen.get(place, (0, 0))
            before = self._told.get(place, 1.0 if recorded else -1.0)
            self._seen[place] = (count + (recorded or 1), total + size)
            mean = (total + size) / self._seen[place][0]
            if abs(mean - before) <= SAME * mean:
                return
            self._told[place] = mean
            if not count and self._quota is not None:  # Readers of it expect more, too.
                self._jobs = {}
        expected = {
            str(other.output[at]): self._learned(other, at)
            for name, other in jobs.items()
            if name not in self._running and rule_of(other) == place[0]
        }
        self._run.expect({f: size for f, size in expected.items() if size is not None})
        if not self._safe:  # With the new size there may be an order that fits.
            self._jobs = {}

    def _learned(self, job: Job, at: int) -> int | None:
        """Return the bytes that earlier jobs of its rule let expect of output *at* of
        *job*; None if no job has ended that tells.

        Where ``disk_mb`` is stated, this is the largest share of it that was used: the
        limit is to hold, and a rule may state more for larger samples. Where a record
        has the size, it is multiplied by the mean growth since.
        """
        place = (rule_of(job), at)
        recorded = self._recorded(job, at)
        if recorded:
            return round(recorded * self._told.get(place, 1.0))
        share = _stated_share(job)
        if recorded == 0 or not share:
            mean = self._told.get(place, recorded)
            return None if mean is None else round(mean)
        if place not in self._used:
            return None
        return ceil(share * self._used[place])

    def _begin(self, jobs: dict[str, Job]) -> None:
        """Make a new instance of *jobs*, which include the running jobs, and begin a
        new run on it.
        """
        problem = self._problem(jobs)
        self._kept_before = self._kept
        try:
            self._run = WorkDirectory(problem, **self._how)
            self._safe = True
        except UnsolvableInstanceError:
            small = self._problem(jobs, unseen=False)
            order = least_order(small)
            self._say_no_order(jobs, problem, small, order)
            self._run = WorkDirectory(
                small, [small.tasks[k].id for k in order], safe=False
            )
            self._safe = False
            self._was_unsafe = True
        self._jobs = jobs
        for task in problem.tasks:
            if task.id not in jobs or task.id in self._running:
                self._run.started(task.id)
            if task.id not in jobs:
                self._run.ended(task.id, 0)

    def _say_no_order(
        self,
        jobs: dict[str, Job],
        problem: WorkDirectoryProblem,
        small: WorkDirectoryProblem,
        order: list[int],
    ) -> None:
        """Say that no order of *problem*, the instance of *jobs*, was found that fits
        the disk: as a hint while this hangs on guessed sizes, else as a warning.

        *order* is the best of *small*, where outputs of unseen rules have no bytes.
        """
        quota = self._quota or 0
        most = sequential_peak(problem, least_order(problem)) + self._kept
        least = sequential_peak(small, order) + self._kept
        new = ", ".join(
            sorted({rule_of(job) for job in jobs.values() if self._unseen(job)})
        )
        guessed = bool(new) and least <= quota
        if guessed and self._safe:
            self.hints.append(
                f"as usual at the start, the sizes of some rules ({new}) are guesses "
                f"until one job of each has run; jobs run one at a time until an order "
                f"fits {_megabytes(quota)} (by the guesses the best needs "
                f"{_megabytes(most)}); --scheduler-ioopt-sizes takes the sizes of an "
                "earlier run"
            )
        elif not guessed and (self._safe or self._guessed):
            needs = f"{_megabytes(most)} by the sizes known, stated and estimated"
            if least < most:
                needs += (
                    f", and {_megabytes(least)} without the rules not seen yet ({new})"
                )
            self.notes.append(
                f"no order of the jobs was found that fits {_megabytes(quota)}: the "
                f"best needs {needs}; until sizes turn out smaller, jobs run one at a "
                "time, and the run stops before a job that does not fit"
            )
        self._guessed = guessed

    def _problem(
        self, jobs: dict[str, Job], unseen: bool = True
    ) -> WorkDirectoryProblem:
        """Return the instance of *jobs* on the disk; if *unseen* is false, the outputs
        of unseen rules have no bytes.
        """
        tasks, sizes = self._tasks(jobs)
        kept: set[str] = set()
        for name in tasks.keys() & jobs.keys():
            output = jobs[name].output
            kept |= {str(file) for file in output if not file.is_flagged("temp")}
            if not unseen and name not in self._running and self._unseen(jobs[name]):
                sizes |= dict.fromkeys(map(str, output), 0)
        quota = None
        if self._quota is not None:
            quota = max(0, self._quota - self._kept)
        instance = {
            "cores": len(tasks) + 1,  # Snakemake counts them itself.
            "quota_bytes": quota,
            "tasks": [
                {"id": name, "compute_seconds": 0, **row} for name, row in tasks.items()
            ],
            "files": [
                {"id": file, "bytes": size, "keep": file in kept}
                for file, size in sizes.items()
            ],
        }
        return in_samples(validate(WorkDirectoryProblem, instance, "the jobs"))

    def _tasks(
        self, jobs: dict[str, Job]
    ) -> tuple[dict[str, dict[str, Any]], dict[str, int]]:
        """Return the tasks for the instance, keyed by name, and the bytes of each file.

        A temporary file that exists gets a task that has written it. Jobs that read a
        missing temporary file are left out, because the job that writes the file has
        failed for good.
        """
        sizes: dict[str, int] = {}
        tasks: dict[str, dict[str, Any]] = {}
        for name in _in_order(jobs):
            job = jobs[name]
            temporary = self._temp[job]
            reads = inputs_of(job)
            there = {file: size_of(file) for file in reads if file not in sizes}
            if any(there[file] is None for file in there.keys() & temporary):
                continue
            for file, size in there.items():
                sizes[file] = size or 0
            for file in there.keys() & temporary:
                tasks[f"there: {file}"] = {"outputs": [file]}
            outputs = [str(file) for file in job.output]
            expected = self._expected(job, sum(sizes[file] for file in reads))
            sizes |= zip(outputs, expected)
            row = {"inputs": reads, "outputs": outputs, "sample": sample_of(job)}
            tasks[name] = row
        return tasks, sizes

    def _expected(self, job: Job, reads: int) -> list[int]:
        """Return the expected bytes of each output of *job*, which reads *reads* bytes.

        Before a job of the rule has ended, the rule's ``disk_mb``, or else *reads*, is
        divided equally among the outputs.
        """
        share = _stated_share(job) or -(-reads // max(1, len(job.output)))
        learned = (self._learned(job, at) for at in range(len(job.output)))
        return [share if size is None else size for size in learned]

    def _estimates(self, jobs: Iterable[Job]) -> str:
        """Return a line on where the sizes of the files that *jobs* will write come
        from; empty if they write none.
        """
        recorded: Counter[str] = Counter()
        guessed: Counter[str] = Counter()
        alone: set[str] = set()
        sizes = self._sizes
        for job in jobs:
            for at, file in enumerate(job.output):
                if sizes is None or self._recorded(job, at) is None:
                    way = _way_to_guess(job)
                    guessed[way] += 1
                    if way == UNKNOWN:
                        alone.add(rule_of(job))
                elif str(file) in sizes:
                    recorded[f"as in {sizes.name}"] += 1
                else:
                    recorded[f"as the mean of their rule in {sizes.name}"] += 1
        if not guessed and not recorded:
            return ""
        told = f": {_counts(recorded)}" if recorded else ""
        if sizes is not None and not recorded:
            told = f" are not in {sizes.name}, which has no rule of this run"
        if guessed:
            told += f"{';' if told else ' are'} estimates: {_counts(guessed)}"
        if alone:
            told += (
                f" (no input and no disk_mb: rule {', '.join(sorted(alone))}; with a "
                "limit, the first job of each runs alone)"
            )
        return (
            f"sizes of files not yet written{told}; later by what jobs of the rule "
            f"have written; run times are not used{self._fits_now(guessed)}"
        )

    def _fits_now(self, guessed: Counter[str]) -> str:
        """Return the words that an order of the jobs fits the limit, where it does
        without *guessed* sizes.
        """
        if self._quota is None or guessed or not self._safe:
            return ""
        self._told_safe = True
        return f"; by these sizes an order of the jobs fits {_megabytes(self._quota)}"


def _counts(ways: Counter[str]) -> str:
    """Return *ways* with their numbers, as words."""
    return ", ".join(f"{count} {way}" for way, count in sorted(ways.items()))


def in_samples(problem: WorkDirectoryProblem) -> WorkDirectoryProblem:
    """Return *problem* with groups of jobs that only last jobs join as its samples, if
    no job has the wildcard ``sample`` and there are such groups.
    """
    ways = groups_of(problem)
    if not ways or any(task.sample is not None for task in problem.tasks):
        return problem
    tasks = [
        task.model_copy(update={"sample": group})
        for task, group in zip(problem.tasks, ways[0], strict=True)
    ]
    return problem.model_copy(update={"tasks": tuple(tasks)})


def _megabytes(count: int) -> str:
    """Return *count* bytes in megabytes, rounded up to two decimals."""
    return f"{ceil(count / 10**4) / 100:,.2f}".rstrip("0").rstrip(".") + " MB"


UNKNOWN = "unknown"


def _way_to_guess(job: Job) -> str:
    """Return how the sizes of the outputs of *job* are guessed."""
    if _stated_mb(job):
        return "from disk_mb of their rules"
    return "from their jobs' inputs" if job.input else UNKNOWN


def _stated_mb(job: Job) -> int:
    """Return the ``disk_mb`` of a job; 0 if its rule states none."""
    stated = job.scheduler_resources.get("disk_mb", 0)
    return stated if isinstance(stated, int) else 0


def _stated_share(job: Job) -> int:
    """Return the bytes of one output of *job* by its ``disk_mb``; 0 without it."""
    return -(-_stated_mb(job) * 10**6 // max(1, len(job.output)))


def inputs_of(job: Job) -> list[str]:
    """Return the names of the files that *job* reads, without duplicates."""
    return list(dict.fromkeys(map(str, job.input)))


def _in_order(jobs: dict[str, Job]) -> list[str]:
    """Return the names of *jobs* in an order in which each job follows the jobs that
    write its input files, as closely as possible.

    For the last jobs in turn, first all that they need is listed, in the order of their
    inputs. Ties in the order of starts are decided so: an index that is needed first
    does not come after all jobs that need nothing.
    """
    writer: dict[str, str] = {}
    for name, job in jobs.items():
        for file in job.output:
            writer[str(file)] = name
    needs = nx.DiGraph()
    needs.add_nodes_from(sorted(jobs, key=lambda name: (len(name), name)))
    for name in list(needs):
        for file in inputs_of(jobs[name]):
            if file in writer:
                needs.add_edge(name, writer[file])
    last = [name for name, readers in needs.in_degree() if not readers]
    needs.add_edges_from(("", name) for name in last)  # no job is called ""
    return list(nx.dfs_postorder_nodes(needs, ""))[:-1]


def name_of(job: Job) -> str:
    return str(getattr(job, "jobid", job))


def sample_of(job: Job) -> str | None:
    """Return the sample of a job: its wildcard ``sample``, or None without one."""
    return getattr(getattr(job, "wildcards", None), "sample", None)


def rule_of(job: Job) -> str:
    return str(getattr(getattr(job, "rule", None), "name", job))


def size_of(path: str) -> int | None:
    """Return the number of bytes of a file, or of all files in a folder; None if *path*
    does not exist.
    """
    try:
        if not os.path.isdir(path):
            return os.stat(path).st_size
        total = 0
        for folder, _, names in os.walk(path):
            for name in names:
                total += os.path.getsize(os.path.join(folder, name))
        return total
    except OSError:
        return None
