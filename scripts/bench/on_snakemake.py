"""Real Snakemake on stub workflows, under its own schedulers and ours, on a file
system of limited size.

A stub writes files, in proportion to the stated sizes, and sleeps for a part of the
stated time. The workflows are generated in the shapes of recorded ones. The file system
is a tmpfs: only root may mount it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from math import ceil
from pathlib import Path

from bench.frame import ROOT, show, timed
from ioopt.generate.work_directory import generate
from ioopt.problems.work_directory import WorkDirectoryProblem
from ioopt.sim.work_directory.order import least_order, sequential_peak

NAMES = ("ioopt data", "ioopt", "greedy", "ilp")
SHAPES = {
    "methylseq-like": {"samples": 8, "cores": 8},
    "montage-like": {"samples": 2, "cores": 8, "images": 8},
    "fork-join": {"samples": 6, "cores": 8},
}
"""Generated workflows."""
HEADS = (
    "workflow",
    "scheduler",
    "seconds",
    "peak MB",
    "quota MB",
    "seconds in it",
    "peak in it",
)
LARGEST, PAGE, FREE = 500 * 10**6, 4096, 8 * 10**9
"""Bytes that all products of a workflow have; of a page of a tmpfs; of
one without a quota.
"""
ROOM = 1.25
"""The quota, in bytes of the order of least peak."""


def plain(name: str) -> str:
    """A name that is a file's, and a word of shell."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)


def as_run(
    problem: WorkDirectoryProblem, largest: int = LARGEST
) -> WorkDirectoryProblem:
    """*problem* with *largest* bytes in all; what nobody reads stays, as
    Snakemake's targets do.
    """
    part = largest / sum(file.bytes for file in problem.products)
    read = {file.id for file, tasks in zip(problem.products, problem.readers) if tasks}
    files = [
        {"id": f.id, "bytes": ceil(f.bytes * part), "keep": f.keep or f.id not in read}
        for f in problem.files
    ]
    return WorkDirectoryProblem.model_validate(problem.model_dump() | {"files": files})


def write(problem: WorkDirectoryProblem, directory: Path, total_seconds: float) -> None:
    """Put a ``Snakefile`` into *directory*; all sleeps together are *total_seconds*.

    The tasks of a sample are rules with a wildcard; products come to lie in
    the folder ``work``.
    """
    files = {file.id: file for file in problem.files}
    samples = max(problem.samples) + 1
    seconds = sum(task.compute_seconds for task in problem.tasks)
    rules, finals = [], list[str]()

    def path(name: str) -> str:
        return f"work/{plain(name.removesuffix('#1'))}.{{sample}}"

    for task in (task for task in problem.tasks if task.id.endswith("#1")):
        makes = [files[name] for name in task.outputs]
        finals += [path(file.id) for file in makes if file.keep]
        outputs = [
            repr(path(f.id)) if f.keep else f"temp({path(f.id)!r})" for f in makes
        ]
        commands = [
            f"head -c {f.bytes} /dev/zero > {{output[{at}]}}"
            for at, f in enumerate(makes)
        ]
        if not makes:
            finals += [path(task.id)]
            outputs, commands = [repr(path(task.id))], ["touch {output}"]
        commands += [
            f"sleep {task.compute_seconds * total_seconds / (seconds or 1.0):.3f}"
        ]
        whole = -(-sum(file.bytes for file in makes) // 10**6)
        rules += [
            f"rule {re.sub(r'[^A-Za-z0-9_]', '_', task.id)}:",
            f"    input: {_listed(path(name) for name in task.inputs)}",
            f"    output: {', '.join(outputs)}",
            f"    threads: {task.cores}",
            f"    resources: disk_mb={whole}",
            f"    shell: {' && '.join(commands)!r}\n",
        ]
    every = [name.format(sample=n) for n in range(1, samples + 1) for name in finals]
    head = (
        "wildcard_constraints: sample='[0-9]+'\n\nrule all:\n    input: "
        f"{_listed(every)}\n"
    )
    (directory / "Snakefile").write_text("\n".join([head, *rules]))


def _listed(names: Iterable[str]) -> str:
    return "[" + ", ".join(repr(name) for name in names) + "]"


@contextmanager
def mounted(
    problem: WorkDirectoryProblem, place: Path, quota: int | None
) -> Iterator[None]:
    """A file system of *quota* bytes at *place*; PermissionError where
    that is not allowed.
    """
    place.mkdir(parents=True)
    size = FREE if quota is None else quota + PAGE * (len(problem.products) + 2)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "ioopt", str(place)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise PermissionError(done.stderr.strip())
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


def main(quick: bool) -> None:
    """Rule graphs under every scheduler, without a quota of the disk and with one."""
    shapes = list(SHAPES)[: 1 if quick else None]
    rows = [
        row
        for shape in shapes
        for row in real_rows(as_run(generate(shape, SHAPES[shape], 0)))
    ]
    show("Real Snakemake, stub commands", HEADS, rows)
    full = {
        name: sum(row[1] == name and row[-1] == "full" for row in rows)
        for name in NAMES
    }
    print(
        "ended by a full disk: "
        f"{', '.join(f'{name} {count}' for name, count in full.items())}"
    )


def real_rows(problem: WorkDirectoryProblem) -> Iterator[tuple[object, ...]]:
    """(workflow, scheduler, seconds, peak MB, the same in a quota) of
    real Snakemake on stubs.

    A run that the quota ends is "full".
    """
    _timed(problem, NAMES[0], None)  # does not count: the first start reads the disk
    free = {name: _timed(problem, name, None) for name in NAMES}
    quota = ceil(ROOM * sequential_peak(problem, least_order(problem)))
    for name, (seconds, peak) in free.items():
        held, most = _timed(problem, name, quota)
        told = "full" if most is None else f"{most / 1e6:.4g}"
        yield problem.name, name, seconds, (peak or 0) / 1e6, quota / 1e6, held, told


def _timed(
    problem: WorkDirectoryProblem, scheduler: str, quota: int | None
) -> tuple[float, int | None]:
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        write(problem, directory, 0.5 * problem.cores)
        with mounted(problem, directory / "work", quota):
            return timed(partial(run_stub, problem.cores, directory, scheduler, quota))


def run_stub(
    cores: int, directory: Path, scheduler: str, quota: int | None
) -> int | None:
    """Run what was written to *directory*; the most bytes in ``work`` at once,
    None if it was full.
    """
    plugin = ROOT / "plugins" / "snakemake-scheduler-plugin-ioopt"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(plugin), str(ROOT)])}
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
        disk = (
            [] if quota is None else ["--scheduler-ioopt-disk-mb", str(quota // 10**6)]
        )
        command += ["--scheduler-ioopt-data", *disk]
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
    return None if process.returncode else peak
