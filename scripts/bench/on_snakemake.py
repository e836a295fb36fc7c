"""Real Snakemake on stub workflows, under its own schedulers and ours, on a file system of limited size.

A stub writes files, in proportion to the stated sizes, and sleeps for a part of the stated time. Rule
graphs come from recorded runs (WfFormat), with the sizes and times of the run, or are written down from
a published workflow, with sizes and times of ours. The file system is a tmpfs: only root may mount it.
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
from typing import Any

from bench.frame import ROOT, shared_data, show, timed
from ioopt.advice.recorded import Wanted, read_work_directory
from ioopt.problems.work_directory import WorkDirectoryProblem
from ioopt.sim.work_directory.order import least_order, sequential_peak

NAMES = ("ioopt data", "ioopt", "greedy", "ilp")
RECORDED = (("workflows/methylseq-dirt02-001", 4), ("wfformat/montage-chameleon-2mass-005d-001", 1))
"""Files of the shared data, and copies."""
HEADS = ("workflow", "scheduler", "seconds", "peak MB", "quota MB", "seconds in it", "peak in it")
LARGEST, PAGE, FREE = 500 * 10**6, 4096, 8 * 10**9
"""Bytes that all products of a workflow have; of a page of a tmpfs; of one without a quota."""
ROOM = 1.25
"""The quota, in bytes of the order of least peak."""


def mapping(samples: int) -> WorkDirectoryProblem:
    """How snakemake-workflows/dna-seq-gatk-variant-calling (v2) maps reads, up to recalibrated files.

    Rules, files, ``temp`` marks and threads are the workflow's (MIT licence, J. Koester and others), one
    unit a sample; written down here, not copied. Sizes and times, which a workflow does not state, are
    ours: sample s has (2 + s mod 5) GB a read file, compressed files stay as large; a thread reads 100 MB
    a second.
    """
    size, keep = {"genome.fasta": 3 * 10**9, "variation.vcf.gz": 10**9}, set[str]()
    tasks: list[dict[str, Any]] = []
    for s in range(samples):
        giga = (2 + s % 5) * 10**9
        reads = {f"s{s}.{k}.fastq.gz": giga for k in (1, 2)}
        trimmed = {f"trimmed_{name}": giga for name in reads}
        mapped, dedup, recal = (f"{step}_s{s}.bam" for step in ("mapped", "dedup", "recal"))
        size |= reads
        for rule, inputs, outputs, threads in (
            ("trim", [*reads], trimmed | {f"trimlog_{s}": giga // 10}, 1),
            ("fastqc", [*reads], {f"fastqc_{s}": 10**6}, 1),
            ("map", [*trimmed, "genome.fasta"], {mapped: 2 * giga}, 8),
            ("dedup", [mapped], {dedup: 2 * giga, f"metrics_{s}": 10**4}, 1),
            ("bqsr", [dedup, "genome.fasta", "variation.vcf.gz"], {f"grp_{s}": 10**6}, 1),
            ("apply", [dedup, f"grp_{s}", "genome.fasta"], {recal: 2 * giga}, 1),
            ("stats", [recal], {f"stats_{s}": 10**5}, 1),
        ):  # fmt: skip
            size |= outputs
            seconds = 1 + sum(size[name] for name in inputs) / 1e8 / threads
            tasks.append({"id": f"{rule}_{s}", "inputs": inputs, "outputs": [*outputs],
                          "cores": threads, "compute_seconds": seconds})  # fmt: skip
        keep |= {recal, f"grp_{s}"}
    files = [{"id": name, "bytes": size[name], "keep": name in keep} for name in size]
    return WorkDirectoryProblem.model_validate(
        {"name": f"mapping x{samples}", "cores": 16, "tasks": tasks, "files": files}
    )


def plain(name: str) -> str:
    """A name that is a file's, and a word of shell."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)


def as_run(problem: WorkDirectoryProblem, largest: int = LARGEST) -> WorkDirectoryProblem:
    """*problem* with *largest* bytes in all; what nobody reads stays, as Snakemake's targets do."""
    part = largest / sum(file.bytes for file in problem.products)
    read = {file.id for file, tasks in zip(problem.products, problem.readers) if tasks}
    files = [
        {"id": f.id, "bytes": ceil(f.bytes * part), "keep": f.keep or f.id not in read}
        for f in problem.files
    ]
    return WorkDirectoryProblem.model_validate(problem.model_dump() | {"files": files})


def write(problem: WorkDirectoryProblem, directory: Path, total_seconds: float) -> None:
    """Put ``Snakefile`` and the given files into *directory*; all sleeps together are *total_seconds*.

    Products come to lie in its folder ``work``.
    """
    files = {file.id: file for file in problem.files}
    made = {file.id for file in problem.products}
    path = {name: f"work/{plain(name)}" if name in made else plain(name) for name in files}
    seconds = sum(task.compute_seconds for task in problem.tasks)
    rules, finals = [], []
    for k, task in enumerate(problem.tasks):
        makes = [files[name] for name in task.outputs]
        finals += [path[file.id] for file in makes if file.keep]
        outputs = [
            repr(path[f.id]) if f.keep else f"temp({path[f.id]!r})" for f in makes
        ] or [repr(f"work/{k}.done")]  # fmt: skip
        finals += [] if makes else [f"work/{k}.done"]
        commands = [f"head -c {f.bytes} /dev/zero > {path[f.id]}" for f in makes]
        commands += [] if makes else [f"touch work/{k}.done"]
        commands += [f"sleep {task.compute_seconds * total_seconds / (seconds or 1.0):.3f}"]
        whole = -(-sum(file.bytes for file in makes) // 10**6)
        rules += [
            f"rule j{k}_{re.sub(r'[^A-Za-z0-9_]', '_', task.id)}:",
            f"    input: {_listed(path[name] for name in task.inputs)}",
            f"    output: {', '.join(outputs)}",
            f"    threads: {task.cores}", f"    resources: disk_mb={whole}",
            f"    shell: {' && '.join(commands)!r}\n",
        ]  # fmt: skip
    for name in files.keys() - made:
        (directory / path[name]).touch()
    every = f"rule all:\n    input: {_listed(finals)}\n"
    (directory / "Snakefile").write_text("\n".join([every, *rules]))


def _listed(names: Iterable[str]) -> str:
    return "[" + ", ".join(repr(name) for name in names) + "]"


@contextmanager
def mounted(problem: WorkDirectoryProblem, place: Path, quota: int | None) -> Iterator[None]:
    """A file system of *quota* bytes at *place*; PermissionError where that is not allowed."""
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
    workflows = [mapping(4 if quick else 12)]
    for stem, copies in () if quick else RECORDED:
        path = shared_data("") / f"{stem}.json"
        if path.exists():
            workflows.append(read_work_directory(str(path), Wanted(8, samples=copies)))
    rows = [row for workflow in workflows for row in real_rows(as_run(workflow))]
    show("Real Snakemake, stub commands", HEADS, rows)
    full = {name: sum(row[1] == name and row[-1] == "full" for row in rows) for name in NAMES}
    print(f"ended by a full disk: {', '.join(f'{name} {count}' for name, count in full.items())}")


def real_rows(problem: WorkDirectoryProblem) -> Iterator[tuple[object, ...]]:
    """(workflow, scheduler, seconds, peak MB, the same in a quota) of real Snakemake on stubs.

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


def run_stub(cores: int, directory: Path, scheduler: str, quota: int | None) -> int | None:
    """Run what was written to *directory*; the most bytes in ``work`` at once, None if it was full."""
    plugin = ROOT / "plugins" / "snakemake-scheduler-plugin-ioopt"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(plugin), str(ROOT)])}
    command = [sys.executable, "-m", "snakemake", "--scheduler", scheduler.split()[0],
               "--cores", str(cores), "--directory", str(directory),
               "--snakefile", str(directory / "Snakefile")]  # fmt: skip
    if scheduler == NAMES[0]:
        disk = [] if quota is None else ["--scheduler-ioopt-disk-mb", str(quota // 10**6)]
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
