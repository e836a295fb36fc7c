"""A Snakemake scheduler for measuring: asks several schedulers the same question at every selection.

``IOOPT_PROBE_USE`` names the one that is obeyed, ``IOOPT_PROBE_LOG`` the file with a line of JSON a
selection: seconds and value of each answer, and the bytes of temporary files on the disk.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snakemake.scheduling import greedy, milp
from snakemake_interface_scheduler_plugins.base import SchedulerBase
from snakemake_interface_scheduler_plugins.settings import SchedulerSettingsBase
from snakemake_scheduler_plugin_ioopt import Scheduler as Ours
from snakemake_scheduler_plugin_ioopt import SchedulerSettings as OurSettings
from snakemake_scheduler_plugin_ioopt import TempInputs, question
from snakemake_workflows import Name

from ioopt.embed.selection import value_of


@dataclass
class SchedulerSettings(SchedulerSettingsBase):
    """Nothing to set on the command line."""


class Scheduler(SchedulerBase):
    """Asks all, obeys one."""

    def __post_init__(self) -> None:
        settings: dict[str, Any] = {"ioopt": (Ours, OurSettings())}
        for told in ("", "+temp"):
            settings["greedy" + told] = (greedy.Scheduler, greedy.SchedulerSettings())
            settings["milp" + told] = (milp.Scheduler, milp.SchedulerSettings())
        self._asked: dict[str, Any] = {
            name: cls(self.dag, chosen, self.logger) for name, (cls, chosen) in settings.items()
        }
        self._use = os.environ["IOOPT_PROBE_USE"]
        self._all = os.environ.get("IOOPT_PROBE_ALL") == "1"
        self._log = Path(os.environ["IOOPT_PROBE_LOG"])
        self._temp = TempInputs(self.dag)
        self._names: set[str] = set()

    def select_jobs(
        self, selectable_jobs: Any, remaining_jobs: Any, available_resources: Any, input_sizes: Any
    ) -> Any:
        """The answer of the scheduler in use; None, as everywhere, means Snakemake's greedy one."""
        rest = available_resources, input_sizes
        remaining = list(remaining_jobs)
        asked = question(selectable_jobs, remaining, *rest, self._temp)
        self._names.update(*(self._temp[job] for job in remaining))
        line: dict[str, Any] = {"ready": len(asked.jobs), "temp_bytes": _present(self._names)}
        told = {job: Told(job, self._temp[job]) for job in {*remaining, *asked.jobs}}
        position = {id(job): k for k, job in enumerate(asked.jobs)}
        position |= {id(told[job]): k for k, job in enumerate(asked.jobs)}
        answer = None
        for name, scheduler in self._asked.items():
            if name != self._use and not self._all:
                continue
            jobs, left = asked.jobs, remaining
            if name.endswith("+temp"):
                jobs, left = [told[job] for job in jobs], [told[job] for job in left]
            begun = time.perf_counter()
            found = scheduler.select_jobs(jobs, left, *rest)
            seconds = time.perf_counter() - begun
            chosen = [position[id(job)] for job in found or ()]
            value = value_of(asked.ready, chosen, asked.temp_bytes, asked.readers)
            line[name] = {"seconds": seconds, "value": value, "jobs": len(chosen),
                          "gave_up": found is None}  # fmt: skip
            if name == self._use and found is not None:
                answer = [asked.jobs[k] for k in chosen]
        with self._log.open("a") as stream:
            stream.write(json.dumps(line) + "\n")
        return answer


class Told:
    """A job whose temporary inputs are marked, which Snakemake's own schedulers would look for."""

    def __init__(self, job: Any, temp: frozenset[str]) -> None:
        self.priority, self.scheduler_resources = job.priority, job.scheduler_resources
        self.input = [Name(str(file), str(file) in temp) for file in job.input]


def _present(names: set[str]) -> int:
    """Bytes of those files that exist."""
    total = 0
    for name in names:
        try:
            total += os.stat(name).st_size
        except FileNotFoundError:
            continue
    return total
