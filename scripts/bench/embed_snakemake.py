"""Snakemake's schedulers and ours: on ready sets of any size, in real Snakemake, and run to the end.

As shipped, Snakemake 9.27 marks a temporary file at the job that makes it and looks for the mark at
those that read it, so its own schedulers see none. Both views are measured: as shipped, and told
(``+temp``). Values are of the same function for all, with the temporary files.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bench.frame import ROOT, shared_data
from bench.snakemake_workflows import (
    Name,
    StubJob,
    StubWorkflow,
    from_wfformat,
    variant_calling,
    write,
)

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
    """Real Snakemake on stubs: each scheduler asked at every selection of a run that obeys ioopt.

    (scheduler, selections, sum of values, mean ms, worst ms, gave up, peak GB of temporary files).
    The peak is of a run that obeys the scheduler of the row.
    """
    first = _observe(workflow, cores, "ioopt", ask_all=True)
    for scheduler in ("ioopt", "greedy", "milp", "greedy+temp", "milp+temp"):
        seen = [line[scheduler] for line in first]
        lines = first if scheduler == "ioopt" else _observe(workflow, cores, scheduler, False)
        milliseconds = [1000 * item["seconds"] for item in seen]
        yield (
            workflow.name, scheduler, len(seen), sum(item["value"] for item in seen),
            sum(milliseconds) / len(seen), max(milliseconds),
            sum(item["gave_up"] for item in seen),
            max(line["temp_bytes"] for line in lines) / 1e9,
        )  # fmt: skip


def _observe(workflow: StubWorkflow, cores: int, use: str, ask_all: bool) -> list[dict[str, Any]]:
    """The probe's lines of a real run of *workflow* that obeys scheduler *use*."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        write(workflow, directory, total_seconds=0.5 * cores)
        paths = (
            ROOT / "scripts" / "bench",
            ROOT / "plugins" / "snakemake-scheduler-plugin-ioopt",
            ROOT,
        )
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, paths)), "IOOPT_PROBE_USE": use,
            "IOOPT_PROBE_ALL": "1" if ask_all else "0", "IOOPT_PROBE_LOG": str(directory / "log"),
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", "--scheduler", "probe", "--cores", str(cores),
             "--directory", place, "--snakefile", str(directory / "Snakefile")],
            capture_output=True, text=True, env=environment, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(f"snakemake failed on {workflow.name}: {done.stderr[-2000:]}")
        return [json.loads(line) for line in (directory / "log").read_text().splitlines()]


class _Progress:
    """One simulated execution: what has run, what is on the disk."""

    def __init__(self, workflow: StubWorkflow, told: bool) -> None:
        self.stubs = workflow.jobs
        maker = {file: k for k, job in enumerate(self.stubs) for file in job.makes}
        self.temp = {file for job in self.stubs for file in job.temp}
        self.sizes = dict(workflow.given) | {
            file: size for job in self.stubs for file, size in job.makes.items()
        }
        self.waits = [{maker[file] for file in job.reads if file in maker} for job in self.stubs]
        self.readers: dict[str, set[int]] = {}
        for k, job in enumerate(self.stubs):
            for file in job.reads:
                self.readers.setdefault(file, set()).add(k)
        self.jobs = [
            Job(k, [Name(file, told and file in self.temp) for file in job.reads],
                {"_cores": job.threads, "mem_mb": job.mem_mb}) for k, job in enumerate(self.stubs)
        ]  # fmt: skip
        self.held = self.peak = 0

    def end(self, k: int) -> None:
        """Job *k* has ended: its temporary files appear, those nobody reads any more go."""
        stub: StubJob = self.stubs[k]
        self.held += sum(self.sizes[file] for file in stub.temp)
        self.peak = max(self.peak, self.held)
        for file in stub.reads:
            self.readers[file].discard(k)
            if not self.readers[file] and file in self.temp:
                self.held -= self.sizes[file]
        for waits in self.waits:
            waits.discard(k)


def run_to_the_end(
    workflow: StubWorkflow, cores: int, answer: Answer, greedy: Answer, told: bool
) -> tuple[float, float, float, float]:
    """(makespan s, peak GB of temporary files, seconds in selections, the longest of them).

    As Snakemake does: a selection whenever a job has ended, its greedy scheduler when there is no
    answer. Jobs take their stated times; nothing else takes any.
    """
    state, now, free = _Progress(workflow, told), 0.0, cores
    running: list[tuple[float, int]] = []
    todo = set(range(len(state.jobs)))
    spent, longest = 0.0, 0.0
    while todo or running:
        ready = [state.jobs[k] for k in sorted(todo) if not state.waits[k]]
        if ready and free:
            left = [state.jobs[k] for k in sorted(todo | {k for _, k in running})]
            question = (ready, left, {"_cores": free, "mem_mb": 10**9}, state.sizes)
            begun = time.perf_counter()
            found = answer(*question)
            if found is None:
                found = greedy(*question)
            seconds = time.perf_counter() - begun
            spent, longest = spent + seconds, max(longest, seconds)
            for job in found or ():
                todo.discard(job.jobid)
                free -= job.scheduler_resources["_cores"]
                running.append((now + state.stubs[job.jobid].seconds, job.jobid))
        running.sort(reverse=True)
        now, k = running.pop()
        free += state.stubs[k].threads
        state.end(k)
    return now, state.peak / 1e9, spent, longest


def simulated_rows(workflow: StubWorkflow, cores: int) -> list[tuple[Any, ...]]:
    """(workflow, jobs, scheduler, makespan, peak GB, seconds selecting, worst ms)."""
    known, rows = answers(), list[tuple[Any, ...]]()
    greedy = known["snakemake greedy"]
    for scheduler, told in (("ioopt", True), ("snakemake greedy", False), ("snakemake greedy", True),
                            ("snakemake milp", False), ("snakemake milp", True)):  # fmt: skip
        makespan, peak, spent, longest = run_to_the_end(
            workflow, cores, known[scheduler], greedy, told
        )
        label = scheduler + (" +temp" if told and scheduler != "ioopt" else "")
        rows.append(
            (workflow.name, len(workflow.jobs), label, makespan, peak, spent, 1000 * longest)
        )
    return rows
