"""``snakemake --scheduler ioopt``: job selection by :mod:`ioopt.embed.selection`.

Snakemake finds this package by its name. It only translates: jobs, resources and input sizes in,
the chosen jobs out; ``None``, which makes Snakemake use its greedy scheduler, when anything fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from snakemake_interface_scheduler_plugins.base import SchedulerBase
from snakemake_interface_scheduler_plugins.settings import SchedulerSettingsBase

from ioopt.embed.selection import ReadyJob, select


@dataclass
class SchedulerSettings(SchedulerSettingsBase):
    """Settings on Snakemake's command line: ``--scheduler-ioopt-deadline``."""

    deadline: float | None = field(
        default=2.0,
        metadata={"help": "Seconds a selection may take, building included.", "type": float},
    )


class Scheduler(SchedulerBase):
    """Selects the ready jobs to start now."""

    def select_jobs(
        self,
        selectable_jobs: Iterable[Any],
        remaining_jobs: Iterable[Any],
        available_resources: Mapping[str, int | str],
        input_sizes: Mapping[Any, int],
    ) -> Sequence[Any] | None:
        """The chosen jobs, or None to let Snakemake's greedy scheduler choose."""
        try:
            return self._select(selectable_jobs, remaining_jobs, available_resources, input_sizes)
        except Exception as error:
            self.logger.warning(
                f"ioopt could not select jobs ({error}); using the greedy scheduler"
            )
            return None

    def _select(
        self,
        selectable: Iterable[Any],
        remaining: Iterable[Any],
        available: Mapping[str, int | str],
        sizes: Mapping[Any, int],
    ) -> Sequence[Any] | None:
        names = [name for name, value in available.items() if isinstance(value, int)]
        readers: Counter[str] = Counter()
        for job in remaining:
            readers.update({str(file) for file in job.input if file.is_flagged("temp")})
        temp_bytes: dict[str, int] = {}
        # Snakemake hands over sets: an order of their own makes runs repeat
        jobs = sorted(selectable, key=lambda job: str(getattr(job, "jobid", job)))
        ready = [_ready(job, names, sizes, temp_bytes) for job in jobs]
        own = {name: readers.get(name, 1) for name in temp_bytes}
        deadline = getattr(self.settings, "deadline", None) or 2.0
        selection = select(
            ready, [int(available[name]) for name in names], temp_bytes, own, deadline
        )
        if selection.loss > 0 or selection.notes:
            self.logger.debug(f"ioopt: at most {selection.loss:.2%} lost; {selection.notes}")
        return [jobs[position] for position in selection.chosen] or None


def _ready(
    job: Any, names: Sequence[str], sizes: Mapping[Any, int], temp_bytes: dict[str, int]
) -> ReadyJob:
    resources = job.scheduler_resources
    temp = set()
    total = 0
    for file in job.input:
        size = sizes[file] or 0
        total += size
        if file.is_flagged("temp"):
            temp.add(str(file))
            temp_bytes[str(file)] = size
    needs = (resources.get(name, 0) for name in names)
    return ReadyJob(
        priority=job.priority,
        cores=max(int(resources.get("_cores", 1)), 1),
        resources=tuple(need if isinstance(need, int) else 0 for need in needs),
        temp=frozenset(temp),
        input_bytes=total,
    )
