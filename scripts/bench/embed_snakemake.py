"""Snakemake's schedulers and ours: on ready sets of any size, and in real Snakemake on stubs.

In ready sets all see which files are temporary; in real runs Snakemake's own do not (9.27 marks them
at the jobs that make them). Values are of the same function for all, with the temporary files.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bench.frame import ROOT, shared_data, timed
from bench.snakemake_workflows import Name, StubWorkflow, from_wfformat, variant_calling, write

from ioopt.embed.selection import ReadyJob, load_solver, select, value_of

DEADLINE = 2.0
PATIENCE = 30.0
"""Seconds after which another scheduler's selection is given up."""
CAPACITIES = {"_cores": 64, "mem_mb": 100_000}


class Job:
    """A job as Snakemake hands it to a scheduler."""

    def __init__(self, jobid: int, reads: list[Name], needs: dict[str, int]) -> None:
        self.jobid, self.input, self.scheduler_resources = jobid, reads, needs
        self.priority = 0


Answer = Callable[[list[Job], list[Job], dict[str, int], dict[Any, int]], "list[Job] | None"]


def answers() -> dict[str, Answer]:
    """``select_jobs`` of the three schedulers."""
    sys.path.append(str(ROOT / "plugins" / "snakemake-scheduler-plugin-ioopt"))
    from snakemake.scheduling import greedy, milp
    from snakemake_scheduler_plugin_ioopt import Scheduler, SchedulerSettings

    log = logging.getLogger("snakemake")
    made = {
        "ioopt": (Scheduler, SchedulerSettings(deadline=DEADLINE)),
        "snakemake greedy": (greedy.Scheduler, greedy.SchedulerSettings()),
        "snakemake milp": (milp.Scheduler, milp.SchedulerSettings()),
    }
    return {key: cls(SimpleNamespace(), own, log).select_jobs for key, (cls, own) in made.items()}


def ready_set(count: int, kinds: int) -> tuple[list[Job], dict[Any, int]]:
    """*count* ready jobs of *kinds* shapes, a third of them the only reader of a temporary file."""
    jobs, sizes = [], {}
    for k in random.Random(5).sample(range(count), count):
        shape = k % kinds
        file = Name(f"file-{k}", shape % 3 == 0)
        sizes[file] = 10**6 * (1 + shape)
        needs = {"_cores": 1 + shape % 4, "mem_mb": 500 * (1 + (shape * 7) % 9)}
        jobs.append(Job(k, [file], needs))
    return jobs, sizes


def described(jobs: list[Job], sizes: dict[Any, int]) -> tuple[list[ReadyJob], dict[str, int]]:
    """The jobs for our own functions, and the bytes of the temporary files."""
    ready, temp = [], {}
    for job in jobs:
        marked = frozenset(str(file) for file in job.input if file.temp)
        temp |= {str(file): sizes[file] for file in job.input if file.temp}
        needs = job.scheduler_resources
        total = sum(sizes[file] for file in job.input)
        ready.append(ReadyJob(0, needs["_cores"], tuple(needs.values()), marked, total))
    return ready, temp


def _chosen(pipe: Any, scheduler: str, count: int, kinds: int) -> None:
    jobs, sizes = ready_set(count, kinds)
    answer = answers()[scheduler]
    begun = time.perf_counter()
    found = answer(jobs, jobs, dict(CAPACITIES), sizes)
    seconds = time.perf_counter() - begun
    place = {id(job): k for k, job in enumerate(jobs)}
    pipe.send((seconds, None if found is None else [place[id(job)] for job in found]))


def patiently(scheduler: str, count: int, kinds: int) -> tuple[float, list[int] | None]:
    """(seconds, positions chosen) in a process of its own; infinity when it takes too long."""
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=_chosen, args=(there, scheduler, count, kinds))
    process.start()
    there.close()
    seconds, found = float("inf"), None
    if here.poll(PATIENCE):
        try:
            seconds, found = here.recv()
        except EOFError:
            seconds = float("nan")
    process.terminate()
    process.join()
    return seconds, found


def selection_rows(quick: bool) -> Iterator[tuple[Any, ...]]:
    """(ready jobs, shapes, scheduler, chosen, value, part of the best bound, seconds)."""
    load_solver()
    sizes = ((100, 50), (1000, 50)) if quick else (
        (100, 50), (1000, 50), (1000, 1000), (10_000, 50), (100_000, 50), (100_000, 100_000))  # fmt: skip
    for count, kinds in sizes:
        jobs, bytes_of = ready_set(count, kinds)
        ready, temp = described(jobs, bytes_of)
        readers = dict.fromkeys(temp, 1)
        bound = select(ready, list(CAPACITIES.values()), temp, readers, DEADLINE).bound
        for scheduler in ("ioopt", "snakemake greedy", "snakemake milp"):
            if kinds > 1000 and scheduler != "ioopt":
                continue  # no quicker than on the set before
            seconds, found = patiently(scheduler, count, kinds)
            if found is None:
                late = seconds == float("inf")
                yield (count, kinds, scheduler, "no answer" if late else "gave up", None, None,
                       f"> {PATIENCE:g}" if late else seconds)  # fmt: skip
                continue
            value = value_of(ready, found, temp, readers)
            yield (count, kinds, scheduler, len(found), value, max(0.0, 1 - value / bound), seconds)


def workflows(quick: bool) -> list[tuple[StubWorkflow, int]]:
    """Workflows with the cores to run them on; those with recorded data only where that is."""
    names = [("montage-chameleon-2mass-005d-001", 8)]
    if not quick:
        names += [("epigenomics-chameleon-hep-1seq-100k-001", 8),
                  ("1000genome-chameleon-10ch-250k-001", 32),
                  ("montage-chameleon-dss-10d-001", 32)]  # fmt: skip
    found = [(variant_calling(4 if quick else 12, 2 if quick else 5), 16)]
    for stem, cores in names:
        path = shared_data("wfformat") / f"{stem}.json"
        if path.exists():
            found.append((from_wfformat(path), cores))
        else:
            print(f"{path}: not there, left out")
    return found


def real_rows(workflow: StubWorkflow, cores: int) -> Iterator[tuple[Any, ...]]:
    """(workflow, scheduler, seconds, peak GB of temporary files) of real Snakemake on stubs."""
    temp = {file for job in workflow.jobs for file in job.temp}
    for scheduler in ("ioopt", "greedy", "ilp"):
        with tempfile.TemporaryDirectory() as place:
            directory = Path(place)
            write(workflow, directory, total_seconds=0.5 * cores)
            seconds, peak = timed(partial(_run, directory, scheduler, cores, temp))
        yield workflow.name, scheduler, seconds, peak / 1e9


def _run(directory: Path, scheduler: str, cores: int, temp: set[str]) -> int:
    """Run Snakemake in *directory*; the most bytes of *temp* that lay there at once."""
    plugin = ROOT / "plugins" / "snakemake-scheduler-plugin-ioopt"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(plugin), str(ROOT)])}
    command = [sys.executable, "-m", "snakemake", "--scheduler", scheduler, "--cores", str(cores),
               "--directory", str(directory), "--snakefile", str(directory / "Snakefile")]  # fmt: skip
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        peak = 0
        while process.poll() is None:
            files = [entry for entry in os.scandir(directory) if entry.name in temp]
            with contextlib.suppress(FileNotFoundError):  # one has gone meanwhile
                peak = max(peak, sum(file.stat().st_size for file in files))
            time.sleep(0.005)
    if process.returncode != 0:
        raise SystemExit(f"snakemake failed: {(directory / 'log').read_text()[-2000:]}")
    return peak
