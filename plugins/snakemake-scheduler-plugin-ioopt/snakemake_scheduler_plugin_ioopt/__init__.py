"""Select jobs for ``snakemake --scheduler ioopt``, by :mod:`ioopt.embed.selection`.

Snakemake finds this package by its name. The package passes jobs, resources and input
sizes to ioopt, and returns the selected jobs. If anything fails it returns ``None``,
and Snakemake uses its greedy scheduler. With the options of the data order, such as
``--scheduler-ioopt-disk-mb``, :class:`DataOrder` selects the jobs instead, and with
``--scheduler-ioopt-plan`` :class:`PlanOrder`.
"""

# Annotations are not postponed, because Snakemake reads the types of settings.
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_scheduler_plugins.base import SchedulerBase
from snakemake_interface_scheduler_plugins.settings import SchedulerSettingsBase

from ioopt.embed.selection import ReadyJob, load_solver, select
from ioopt.errors import IooptError, UsageError
from ioopt.options import Deadline
from ioopt.problems.base import collector_paused
from ioopt.sim.work_directory.dispatch import Policy
from ioopt.units import parse_bytes
from snakemake_scheduler_plugin_ioopt.data import DataOrder, DiskTooSmall
from snakemake_scheduler_plugin_ioopt.plan import PlanOrder
from snakemake_scheduler_plugin_ioopt.record import Recorder
from snakemake_scheduler_plugin_ioopt.sizes import RecordedSizes, read_sizes

ENDLESS = 1 << 40
Job = Any
"""A job of Snakemake."""


def _setting(kind: type, help: str, default: object = None) -> Any:
    """Return a field of the settings with a default, and with the type and the help
    text of its option on the command line.
    """
    return field(default=default, metadata={"help": help, "type": kind})


def _disk_bytes(limit: str | int | None) -> int | None:
    """Return *limit* in bytes: megabytes, or a size with its unit, such as 4GB.

    Raises UsageError for any other text.
    """
    if limit is None:
        return None
    try:
        return int(limit) * 10**6
    except ValueError:
        pass
    try:
        return parse_bytes(limit)
    except UsageError as error:
        raise UsageError(f"disk-mb: {error}") from None


def _known_policy(policy: str | None) -> str:
    """Return *policy*, or the default for None; raise UsageError for an unknown one."""
    known = get_args(Policy)
    if policy is not None and policy not in known:
        raise UsageError(f"policy: there is no {policy!r}; take {', '.join(known)}")
    return policy or "depth-first"


def _some(in_flight: int | None) -> int | None:
    """Return *in_flight*; raise UsageError if it is below 1."""
    if in_flight is not None and in_flight < 1:
        raise UsageError(f"in-flight: wanted 1 sample or more, not {in_flight}")
    return in_flight


@dataclass
class SchedulerSettings(SchedulerSettingsBase):
    """Settings, which become options on Snakemake's command line, such as
    ``--scheduler-ioopt-time-limit``.
    """

    time_limit: float | None = _setting(
        float, "Largest number of seconds for one selection of jobs. Default: 2.", 2.0
    )
    data: bool = field(
        default=False,
        metadata={
            "help": "First start the jobs that lead soonest to the deletion of "
            "temporary files, even if some cores stay idle."
        },
    )
    disk_mb: str | None = _setting(
        str,
        "Largest number of megabytes (10^6 bytes) that the files of this run may have "
        "on the disk at once, or a size with its unit, such as 4GB. The sizes of files "
        "that are not written yet are estimates, from 'disk_mb' of their rules or else "
        "from the inputs of their jobs.",
    )
    policy: str | None = _setting(
        str,
        "With a disk limit, the job to start first: 'depth-first', the job whose "
        "sample is closest to its end, 'submission', the job that has been ready "
        "longest, or 'newest-first', the job that became ready last. Default: "
        "depth-first.",
    )
    in_flight: int | None = _setting(
        int,
        "Largest number of samples that are begun and not ended at once. A sample is "
        "a value of the wildcard 'sample', or without one in any rule a group of jobs "
        "that only the last jobs join.",
    )
    sizes: str | None = _setting(
        str,
        "File with the record of an earlier run (of --scheduler-ioopt-record): files "
        "that are not written yet are expected to be as large as there, and those of "
        "other samples as large as the mean of their rule there.",
    )
    plan: str | None = _setting(
        str,
        "File with a plan of 'ioopt solve --set moves=schedule'. Jobs start in the "
        "order of the plan. Needs --scheduler-ioopt-instance.",
    )
    instance: str | None = _setting(
        str, "File with the ioopt instance for which the plan was made."
    )
    record: str | None = _setting(
        str,
        "File to write at the end of the run: times, files and sizes of its jobs, as "
        "'ioopt budget' reads them.",
    )


class Scheduler(SchedulerBase):
    """The scheduler plugin: it selects the ready jobs that start now."""

    def __post_init__(self) -> None:
        self._temp = TempInputs(self.dag)
        self._recorder: Recorder | None = None
        target = getattr(self.settings, "record", None)
        main = getattr(getattr(self.dag, "workflow", None), "is_main_process", True)
        if target is not None and main:
            self._recorder = Recorder(self.dag, target, self.logger)
        disk = getattr(self.settings, "disk_mb", None)
        policy = getattr(self.settings, "policy", None)
        in_flight = getattr(self.settings, "in_flight", None)
        stated = any(value is not None for value in (disk, policy, in_flight))
        self._data: DataOrder | None = None
        self._plan = self._plan_order(
            stated or bool(getattr(self.settings, "data", False))
        )
        if self._plan is not None:
            return
        if not stated and not getattr(self.settings, "data", False):
            if getattr(self.settings, "sizes", None) is not None:
                raise WorkflowError(
                    "--scheduler-ioopt-sizes: is used with a limit: give "
                    "--scheduler-ioopt-disk-mb too"
                )
            load_solver()  # now, and not within the first selection's deadline
            return
        try:
            self._data = DataOrder(
                self.dag,
                self._temp,
                _disk_bytes(disk),
                policy=_known_policy(policy),
                in_flight=_some(in_flight),
                sizes=self._recorded_sizes(),
            )
        except IooptError as error:
            raise WorkflowError(f"--scheduler-ioopt-{error}") from None

    def _recorded_sizes(self) -> RecordedSizes | None:
        """Return the sizes in the record of the settings; None if there is none.

        Raises UsageError for a file that is no record.
        """
        record = getattr(self.settings, "sizes", None)
        if record is None:
            return None
        try:
            return read_sizes(record)
        except IooptError as error:
            raise UsageError(f"sizes: {error}") from None

    def _plan_order(self, by_data: bool) -> PlanOrder | None:
        """Return the order of the plan in the settings; None if there is none.

        Raises WorkflowError for a plan without its instance, one that cannot be
        followed, and one beside the data order.
        """
        plan = getattr(self.settings, "plan", None)
        instance = getattr(self.settings, "instance", None)
        if plan is None and instance is None:
            return None
        if plan is None or instance is None:
            raise WorkflowError(
                "--scheduler-ioopt-plan and --scheduler-ioopt-instance go together"
            )
        if by_data:
            raise WorkflowError(
                "--scheduler-ioopt-plan: the data order would start other jobs; leave "
                "its options out"
            )
        try:
            return PlanOrder(self.dag, instance, plan)
        except IooptError as error:
            raise WorkflowError(f"--scheduler-ioopt-plan: {error}") from None

    def select_jobs(
        self,
        selectable_jobs: Iterable[Job],
        remaining_jobs: Iterable[Job],
        available_resources: Mapping[str, int | str],
        input_sizes: Mapping[Job, int],
    ) -> Sequence[Job] | None:
        """Return the selected jobs, or None to let Snakemake's greedy scheduler select
        jobs.

        Raises WorkflowError, which stops the run, if no job runs and none fits the
        disk.
        """
        until = Deadline(getattr(self.settings, "time_limit", None) or 2.0)
        try:
            # At 100,000 jobs the garbage collector would take a third of the time to
            # walk all of Snakemake's DAG.
            with collector_paused():
                left = list(remaining_jobs)
                asked = question(
                    selectable_jobs, left, available_resources, input_sizes, self._temp
                )
                chosen = self._select(asked, left, until)
            if self._recorder is not None:
                self._recorder.look()
                self._recorder.chosen(chosen or (), asked.free.get("_cores", 1))
            return chosen
        except DiskTooSmall as error:
            raise WorkflowError(
                f"--scheduler-ioopt-disk-mb: {error}. Give a larger limit, or state "
                "disk_mb in the rule if the estimate is too large, and run again: what "
                "is done stays."
            ) from None
        except Exception as error:
            self.logger.warning(
                f"ioopt could not select jobs ({error}); using the greedy scheduler"
            )
            return None

    def _select(
        self, asked: "Question", left: Sequence[Job], until: Deadline
    ) -> Sequence[Job] | None:
        if self._plan is not None:
            chosen = self._plan.choose(asked, left)
            for text in self._plan.notes:
                self.logger.warning(f"ioopt: {text}")
            return chosen
        if self._data is not None:
            try:
                return self._data.choose(asked, left, until)
            finally:
                for text in self._data.hints:
                    self.logger.info(f"ioopt: {text}")
                for text in self._data.notes:
                    self.logger.warning(f"ioopt: {text}")
        selection = select(
            asked.ready,
            asked.capacities,
            asked.temp_bytes,
            asked.readers,
            until.remaining(),
        )
        if selection.loss > 0 or selection.notes:
            self.logger.debug(
                f"ioopt: at most {selection.loss:.2%} lost; {selection.notes}"
            )
        return [asked.jobs[position] for position in selection.chosen] or None


class TempInputs:
    """Find the temporary files among the inputs of a job.

    Snakemake marks a temporary file at the job that writes it, not at the jobs that
    read it. For this reason the jobs that write the inputs are looked up, once for each
    job.
    """

    def __init__(self, dag: Any) -> None:
        self._dependencies: Callable[[Job], Iterable[Job]] = getattr(
            dag, "job_dependencies", lambda job: ()
        )
        self._known: dict[Job, frozenset[str]] = {}

    def update(self, jobs: Iterable[Job]) -> None:
        """Find the temporary inputs of *jobs*, and forget those of all other jobs."""
        known = self._known
        self._known = {}
        for job in jobs:
            if job in known:
                self._known[job] = known[job]
            else:
                self._known[job] = self._find(job)

    def __getitem__(self, job: Job) -> frozenset[str]:
        if job not in self._known:
            self._known[job] = self._find(job)
        return self._known[job]

    def _find(self, job: Job) -> frozenset[str]:
        made: set[str] = set()
        for member in getattr(job, "jobs", (job,)):
            for maker in self._dependencies(member):
                made |= {str(file) for file in maker.output if file.is_flagged("temp")}
        return frozenset(
            str(file)
            for file in job.input
            if file.is_flagged("temp") or str(file) in made
        )


@dataclass(frozen=True)
class Question:
    """The arguments of :func:`ioopt.embed.selection.select`, and the jobs: ``ready[k]``
    describes ``jobs[k]``.

    ``free`` is the amount of each resource that Snakemake has left. If these amounts
    equal those at the first call, no job runs.
    """

    jobs: list[Job]
    ready: list[ReadyJob]
    capacities: list[int]
    temp_bytes: dict[str, int]
    readers: dict[str, int]
    free: dict[str, int]


def question(
    selectable: Iterable[Job],
    remaining: Sequence[Job],
    available: Mapping[str, int | str],
    sizes: Mapping[Job, int],
    temp: TempInputs,
) -> Question:
    """Return Snakemake's arguments of ``select_jobs`` in the form of a
    :class:`Question`.
    """
    # A practically unlimited resource is left out of the question.
    numbers = {
        name: value for name, value in available.items() if isinstance(value, int)
    }
    capacities = {name: value for name, value in numbers.items() if value < ENDLESS}
    temp.update(remaining)
    readers: Counter[str] = Counter()
    for job in remaining:
        readers.update(temp[job])
    # Snakemake passes sets; sort them, so that runs repeat.
    jobs = sorted(selectable, key=lambda job: str(getattr(job, "jobid", job)))
    temp_bytes: dict[str, int] = {}
    ready = []
    for job in jobs:
        own = temp[job]
        total = 0
        for file in job.input:
            size = sizes.get(file) or 0
            total += size
            if own and str(file) in own:
                temp_bytes[str(file)] = size
        cores = max(int(job.scheduler_resources.get("_cores", 1)), 1)
        needs = _needs(job, capacities)
        ready.append(ReadyJob(job.priority, cores, needs, own, total))
    counts = {name: readers.get(name, 1) for name in temp_bytes}
    # The number of jobs that may be submitted now does not show whether any runs.
    free = {name: value for name, value in numbers.items() if name != "_job_count"}
    return Question(jobs, ready, list(capacities.values()), temp_bytes, counts, free)


def _needs(job: Job, names: Iterable[str]) -> tuple[int, ...]:
    """Return the amount of each resource in *names* that *job* takes; 0 if the amount
    is not a whole number.
    """
    needs = []
    for name in names:
        need = job.scheduler_resources.get(name, 0)
        if not isinstance(need, int):
            need = 0
        needs.append(need)
    return tuple(needs)
