"""Run Snakemake with its own schedulers, with ioopt's, and with grapheonrl if it is
installed, on workflows of stub commands and a limited disk.

A stub command writes files in proportion to the sizes in the instance, and sleeps for a
part of the time in the instance. The workflows are generated in the shapes of recorded
workflows. The disk is a tmpfs, which only root may mount. The schedulers that know no
limit of a disk get it as ``--resources disk_mb``, which counts running jobs alone.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from typing import NamedTuple

from bench.frame import ROOT, show, timed
from ioopt.generate.work_directory import generate
from ioopt.problems.work_directory import WorkDirectoryProblem
from ioopt.sim.work_directory.order import least_order, sequential_peak

NAMES = ("ioopt data", "ioopt", "greedy", "ilp")
THIRD = "grapheonrl"
"""A scheduler of others; its package is ``snakemake-scheduler-plugin-grapheonrl``."""
UNTRAINED = ("--scheduler-grapheonrl-disable-auto-train", "true")
"""Options of this scheduler, which trains on the workflow for minutes by default."""
SHAPES = {
    "methylseq-like": {"samples": 8, "cores": 8},
    "montage-like": {"samples": 2, "cores": 8, "images": 8},
    "fork-join": {"samples": 6, "cores": 8},
}
"""The presets of the generated workflows, with their settings."""
HEADS = ("workflow", "scheduler", "seconds", "CPU s", "peak MB")
IN_QUOTA = ("quota MB", "seconds", "CPU s", "peak MB")
SEED = 0
"""The seed of the generated workflows."""
LARGEST = 500 * 10**6
"""The number of bytes of all products of a workflow together."""
PAGE = 4096
"""The number of bytes of a page of a tmpfs."""
FREE = 8 * 10**9
"""The number of bytes of the disk in runs without a quota."""
ROOM = 1.25
"""The ratio of the quota to the bytes that the order with the smallest peak needs."""


def plain(name: str) -> str:
    """Return *name* with every character replaced that is not a letter, digit, dot,
    underscore or hyphen.
    """
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)


def as_run(
    problem: WorkDirectoryProblem, largest: int = LARGEST
) -> WorkDirectoryProblem:
    """Return *problem* with sizes scaled such that all products together have *largest*
    bytes.

    A file that no task reads is kept, because Snakemake never removes the targets of a
    run.
    """
    part = largest / sum(file.bytes for file in problem.products)
    read = {file.id for file, tasks in zip(problem.products, problem.readers) if tasks}
    files = []
    for file in problem.files:
        keep = file.keep or file.id not in read
        files.append({"id": file.id, "bytes": ceil(file.bytes * part), "keep": keep})
    return WorkDirectoryProblem.model_validate(problem.model_dump() | {"files": files})


def write(problem: WorkDirectoryProblem, directory: Path, total_seconds: float) -> None:
    """Write *problem* as a ``Snakefile`` into *directory*; all sleeps together take
    *total_seconds*.

    The tasks of a sample become rules with a wildcard. Output files go to the folder
    ``work``.
    """
    files = {file.id: file for file in problem.files}
    samples = max(problem.samples) + 1
    seconds = sum(task.compute_seconds for task in problem.tasks) or 1.0
    rules: list[str] = []
    finals: list[str] = []

    def path(name: str) -> str:
        return f"work/{plain(name.removesuffix('#1'))}.{{sample}}"

    for task in problem.tasks:
        if not task.id.endswith("#1"):
            continue
        makes = [files[name] for name in task.outputs]
        outputs = []
        commands = []
        for at, file in enumerate(makes):
            commands.append(f"head -c {file.bytes} /dev/zero > {{output[{at}]}}")
            if file.keep:
                finals.append(path(file.id))
                outputs.append(repr(path(file.id)))
            else:
                outputs.append(f"temp({path(file.id)!r})")
        if not makes:
            finals.append(path(task.id))
            outputs.append(repr(path(task.id)))
            commands.append("touch {output}")
        sleep = task.compute_seconds * total_seconds / seconds
        commands.append(f"sleep {sleep:.3f}")
        whole = -(-sum(file.bytes for file in makes) // 10**6)
        rules += [
            f"rule {re.sub(r'[^A-Za-z0-9_]', '_', task.id)}:",
            f"    input: {_listed(path(name) for name in task.inputs)}",
            f"    output: {', '.join(outputs)}",
            f"    threads: {task.cores}",
            f"    resources: disk_mb={whole}",
            f"    shell: {' && '.join(commands)!r}\n",
        ]
    every = []
    for number in range(1, samples + 1):
        every += [name.format(sample=number) for name in finals]
    head = (
        "wildcard_constraints: sample='[0-9]+'\n\nrule all:\n    input: "
        f"{_listed(every)}\n"
    )
    (directory / "Snakefile").write_text("\n".join([head, *rules]))


def _listed(names: Iterable[str]) -> str:
    """Return *names* as the text of a Python list."""
    return f"[{', '.join(map(repr, names))}]"


@contextmanager
def mounted(
    problem: WorkDirectoryProblem, place: Path, quota: int | None
) -> Iterator[None]:
    """Mount a file system with room for *quota* bytes of files at *place*, inside the
    ``with`` block (None: without a quota).

    Raises PermissionError if mounting is forbidden.
    """
    place.mkdir(parents=True)
    size = FREE
    if quota is not None:
        size = quota + PAGE * (len(problem.products) + 2)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "ioopt", str(place)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise PermissionError(done.stderr.strip())
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


def main(quick: bool) -> None:
    """Run the workflows under every scheduler, with and without a quota, and print the
    table.
    """
    shapes = list(SHAPES)
    if quick:
        shapes = shapes[:1]
    rows: list[tuple[object, ...]] = []
    for shape in shapes:
        rows += real_rows(as_run(generate(shape, SHAPES[shape], SEED)))
    show("Real Snakemake, stub commands", (*HEADS, *IN_QUOTA), rows)
    counts = []
    for name in _names():
        full = sum(row[1] == name and row[-1] == "full" for row in rows)
        counts.append(f"{name} {full}")
    print(f"ended by a full disk: {', '.join(counts)}")


def _names() -> tuple[str, ...]:
    """Return the names of the schedulers that are installed."""
    if find_spec(f"snakemake_scheduler_plugin_{THIRD}") is None:
        return NAMES
    return (*NAMES, THIRD)


class Run(NamedTuple):
    """The elapsed and the processor time of a run in seconds, and its peak in bytes
    (None: the disk was full).
    """

    seconds: float
    cpu: float
    peak: int | None

    def cells(self) -> tuple[object, ...]:
        """Return the columns of a run; a full disk is shown as "full"."""
        peak = "full" if self.peak is None else f"{self.peak / 1e6:.4g}"
        return self.seconds, self.cpu, peak


def real_rows(problem: WorkDirectoryProblem) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a workflow, one for each scheduler, with the columns of HEADS
    and IN_QUOTA.
    """
    # The first start does not count because it reads the disk.
    _timed(problem, NAMES[0], None)
    quota = ceil(ROOM * sequential_peak(problem, least_order(problem)))
    for name in _names():
        free = _timed(problem, name, None)
        held = _timed(problem, name, quota)
        yield (problem.name, name, *free.cells(), quota / 1e6, *held.cells())


def _timed(problem: WorkDirectoryProblem, scheduler: str, quota: int | None) -> Run:
    """Run *problem* once, on a disk with room for *quota* bytes (None: without a
    quota).
    """
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        write(problem, directory, 0.5 * problem.cores)
        with mounted(problem, directory / "work", quota):
            before = _processor_seconds()
            stub = partial(run_stub, problem.cores, directory, scheduler, quota)
            seconds, peak = timed(stub)
            return Run(seconds, _processor_seconds() - before, peak)


def _processor_seconds() -> float:
    """Return the processor time of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_stub(
    cores: int, directory: Path, scheduler: str, quota: int | None
) -> int | None:
    """Run the workflow in *directory*; return the largest number of bytes in ``work``,
    or None if the disk was full.
    """
    plugin = ROOT / "plugins" / "snakemake-scheduler-plugin-ioopt"
    # A home of its own: grapheonrl keeps what it has learned in the user's.
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(plugin), str(ROOT)]),
        "HOME": str(directory),
    }
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--scheduler",
        scheduler.split()[0],
        "--cores",
        str(cores),
        "--directory",
        str(directory),
        "--snakefile",
        str(directory / "Snakefile"),
    ]
    if scheduler == NAMES[0]:
        command.append("--scheduler-ioopt-data")
        if quota is not None:
            command += ["--scheduler-ioopt-disk-mb", str(quota // 10**6)]
    elif scheduler == THIRD:
        command += UNTRAINED
    if scheduler != NAMES[0] and quota is not None:
        command += ["--resources", f"disk_mb={quota // 10**6}"]
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        peak = 0
        while process.poll() is None:
            found = os.statvfs(directory / "work")
            peak = max(peak, (found.f_blocks - found.f_bfree) * found.f_bsize)
            time.sleep(0.005)
    told = (directory / "log").read_text()
    if process.returncode != 0 and "No space left on device" not in told:
        raise SystemExit(f"snakemake failed: {told[-2000:]}")
    if process.returncode != 0:
        return None
    return peak
