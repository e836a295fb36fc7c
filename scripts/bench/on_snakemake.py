"""Real Snakemake on stub workflows, under its own schedulers and ours.

A stub makes files of the stated sizes (sparse: they take no disk) and sleeps for a part of the
stated time. Rule graphs come from recorded runs (WfFormat), with the sizes and times of the run, or
are written down from a published workflow, with sizes and times of ours.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.frame import ROOT, shared_data, show, timed
from ioopt.formats.wfformat.instance import read_wfformat
from ioopt.problems.replication import ReplicationProblem
from ioopt.solving import load

NAMES = ("ioopt data", "ioopt", "greedy", "ilp")
RECORDED = ("montage-chameleon-2mass-005d-001", "epigenomics-chameleon-hep-1seq-100k-001")
HEADS = ("workflow", "scheduler", "seconds", "peak GB", "quota GB", "seconds in it", "peak in it")


def temporary(problem: ReplicationProblem) -> dict[str, int]:
    """Bytes of the files that go when their readers have ended: made by a task and read by another."""
    made = {name for task in problem.tasks for name in task.outputs}
    read = {name for task in problem.tasks for name in task.inputs}
    return {plain(f.id): f.bytes for f in problem.files if f.id in made & read and not f.keep}


def plain(name: str) -> str:
    """A name that is a file's, and a word of shell."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)


def mapping(samples: int) -> ReplicationProblem:
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
    rates = {"remote_bytes_per_second": 1e8, "replica_bytes_per_second": 1e8}
    found: ReplicationProblem = load({
        "format": "ioopt/replication", "version": 1, "name": f"mapping, {samples} samples",
        "network": rates, "nodes": [{"id": "n", "cores": 16}], "files": files, "tasks": tasks,
    })  # fmt: skip
    return found


def write(
    problem: ReplicationProblem, directory: Path, total_seconds: float, quota: int | None = None
) -> None:
    """Put ``Snakefile`` and files into *directory*; a job that breaks the *quota* fails as on a full disk."""
    directory.mkdir(parents=True, exist_ok=True)
    size, temp = {plain(file.id): file.bytes for file in problem.files}, temporary(problem)
    seconds = sum(task.compute_seconds for task in problem.tasks)
    rules, finals = [], []
    for k, task in enumerate(problem.tasks):
        makes = [plain(name) for name in task.outputs] or [f"{plain(task.id)}.done"]
        finals += [name for name in makes if name not in temp]
        lasting = sum(temp.get(name, 0) for name in makes)
        commands = [f"truncate -s {size.pop(name, 0)} {name}" for name in makes]
        if quota is not None and lasting:
            test = FULL.format(size=lasting, quota=quota)
            commands = ["exec 9> .lock", "flock 9", test, *commands, "flock -u 9"]
        sleep = f"sleep {task.compute_seconds * total_seconds / (seconds or 1.0):.3f}"
        # braces stand for themselves when doubled
        shell = " && ".join([*commands, sleep]).replace("{", "{{").replace("}", "}}")
        outputs = ", ".join(f"temp({name!r})" if name in temp else repr(name) for name in makes)
        rules += [
            f"rule j{k}_{re.sub(r'[^A-Za-z0-9_]', '_', task.id)}:",
            f"    input: {_listed(map(plain, task.inputs))}", f"    output: {outputs}",
            f"    threads: {task.cores}", f"    resources: disk_mb={-(-lasting // 10**6)}",
            f"    shell: {shell!r}\n",
        ]  # fmt: skip
    for name, many in size.items():  # of nobody's making
        with (directory / name).open("wb") as stream:
            stream.truncate(many)
    (directory / "temp-files").write_text("\0".join(sorted(temp)))
    every = f"rule all:\n    input: {_listed(finals)}\n"
    (directory / "Snakefile").write_text("\n".join([every, *rules]))


def _listed(names: Iterable[str]) -> str:
    return "[" + ", ".join(repr(name) for name in names) + "]"


FULL = """used=$( (xargs -0 stat -c %s -- < temp-files 2>/dev/null || true) |
awk '{{s += $1}} END {{printf "%.0f", s}}')
[ $((used + {size})) -le {quota} ] || {{ echo 'No space left on device' >&2; exit 28; }}"""
"""Ends a job whose temporary files do not fit; run under a lock."""


def main(quick: bool) -> None:
    """Rule graphs under every scheduler, without a quota of the disk and with one."""
    workflows = [(mapping(4 if quick else 12), 16)]
    for stem in () if quick else RECORDED:
        path = shared_data("wfformat") / f"{stem}.json"
        workflows += [(read_wfformat(str(path)), 8)] if path.exists() else []
    rows = [row for workflow, cores in workflows for row in real_rows(workflow, cores)]
    show("Real Snakemake, stub commands", HEADS, rows)
    full = {name: sum(row[1] == name and row[-1] == "full" for row in rows) for name in NAMES}
    print(f"ended by a full disk: {', '.join(f'{name} {count}' for name, count in full.items())}")


def real_rows(problem: ReplicationProblem, cores: int) -> Iterator[tuple[object, ...]]:
    """(workflow, scheduler, seconds, peak GB, the same under a quota) of real Snakemake on stubs.

    The quota is 1.25 times what one job has to have beside itself: the temporary files that it reads
    and writes, at the most. A run that it ends is "full".
    """
    _timed(problem, cores, NAMES[0], None)  # does not count: the first start reads the disk
    free = {name: _timed(problem, cores, name, None) for name in NAMES}
    temp = temporary(problem)
    beside = ({plain(n) for n in (*task.inputs, *task.outputs)} for task in problem.tasks)
    quota = 5 * max(sum(temp.get(name, 0) for name in names) for names in beside) // 4
    for name, (seconds, peak) in free.items():
        held, most = _timed(problem, cores, name, quota)
        told = "full" if most is None else f"{most / 1e9:.4g}"
        yield problem.name, name, seconds, (peak or 0) / 1e9, quota / 1e9, held, told


def _timed(
    problem: ReplicationProblem, cores: int, scheduler: str, quota: int | None
) -> tuple[float, int | None]:
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        write(problem, directory, 0.5 * cores, quota)
        return timed(partial(run_stub, problem, directory, scheduler, cores, quota))


def run_stub(
    problem: ReplicationProblem, directory: Path, scheduler: str, cores: int, quota: int | None
) -> int | None:
    """Run what was written to *directory*; the most bytes of temporary files at once, None if full."""
    temp = temporary(problem)
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
            files = [entry for entry in os.scandir(directory) if entry.name in temp]
            with contextlib.suppress(FileNotFoundError):  # one has gone meanwhile
                peak = max(peak, sum(file.stat().st_size for file in files))
            time.sleep(0.005)
    told = (directory / "log").read_text()
    if process.returncode != 0 and "exit status 28" not in told:
        raise SystemExit(f"snakemake failed: {told[-2000:]}")
    return None if process.returncode else peak
