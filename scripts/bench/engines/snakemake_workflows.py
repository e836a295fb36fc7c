"""Workflows for Snakemake's schedulers: rule graphs, resources and temporary files, stub commands.

A stub makes files of the stated sizes (sparse: they take no disk) and sleeps for a part of the
stated time. Rule graphs come from recorded runs (WfFormat), with the sizes and times of the run, or
are written down from a published workflow, with sizes and times of ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path


@dataclass(frozen=True)
class StubJob:
    """One job: files it reads, files it makes with their bytes, those to delete after their readers."""

    name: str
    reads: tuple[str, ...]
    makes: dict[str, int]
    temp: frozenset[str] = frozenset()
    threads: int = 1
    mem_mb: int = 0
    seconds: float = 1.0


@dataclass(frozen=True)
class StubWorkflow:
    """Jobs, and the bytes of the files that are there before any has run."""

    name: str
    jobs: list[StubJob]
    given: dict[str, int] = field(default_factory=dict)


def from_wfformat(path: Path) -> StubWorkflow:
    """The rule graph, sizes and times of a recorded run; files that a task reads from another are temp."""
    workflow = json.loads(path.read_text())["workflow"]
    tasks, files = workflow["specification"]["tasks"], workflow["specification"]["files"]
    ran = {task["id"]: task for task in workflow["execution"]["tasks"]}
    size = {file["id"]: file["sizeInBytes"] for file in files}
    made = {name for task in tasks for name in task["outputFiles"]}
    read = {name for task in tasks for name in task["inputFiles"]}
    jobs = []
    for task in tasks:
        record = ran[task["id"]]
        cores = max(1, round(record.get("avgCPU", 100) / 100))
        makes = {_plain(name): size[name] for name in task["outputFiles"]}
        jobs.append(StubJob(
            _plain(task["id"]), tuple(_plain(name) for name in task["inputFiles"]),
            makes or {_plain(task["id"]) + ".done": 0},
            frozenset(_plain(name) for name in task["outputFiles"] if name in read),
            threads=min(cores, 8), mem_mb=record.get("memoryInBytes", 0) // 10**6,
            seconds=record["runtimeInSeconds"],
        ))  # fmt: skip
    return StubWorkflow(path.stem, jobs, {_plain(name): size[name] for name in read - made})


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)


def variant_calling(samples: int, contigs: int) -> StubWorkflow:
    """The rule graph of snakemake-workflows/dna-seq-gatk-variant-calling (v2, its default settings).

    Rules, files, ``temp`` marks, threads and memory are the workflow's (MIT licence, J. Koester and
    others), one unit a sample, duplicates removed, hard filters; written down here, not copied.
    Sizes and times, which a workflow does not state, are ours: sample s has (2 + s mod 5) GB a read
    file, compressed files stay as large, a called contig has 1/20 of that; a thread reads 100 MB a second.
    """
    jobs: list[StubJob] = []
    names = [f"s{k}" for k in range(samples)]
    given = {"genome.fasta": 3 * 10**9, "variation.vcf.gz": 10**9}
    giga = {name: (2 + k % 5) * 10**9 for k, name in enumerate(names)}
    for name in names:
        reads = tuple(f"{name}.{k}.fastq.gz" for k in (1, 2))
        given |= dict.fromkeys(reads, giga[name])
        jobs += _mapping(name, reads, giga[name])
    for contig in range(contigs):
        called = {f"{name}.{contig}.g.vcf.gz": giga[name] // 20 for name in names}
        jobs += [
            StubJob(f"call_{name}_{contig}", (f"recal_{name}.bam", "genome.fasta",
                    "variation.vcf.gz"), {file: bytes_})
            for name, (file, bytes_) in zip(names, called.items())
        ]  # fmt: skip
        total = sum(called.values())
        both = {f"all.{contig}.g.vcf.gz": total, f"genotyped.{contig}.vcf.gz": total // 4}
        (combined, size), (genotyped, kept) = both.items()
        jobs.append(StubJob(f"combine_{contig}", (*called, "genome.fasta"), {combined: size}))
        jobs.append(StubJob(f"genotype_{contig}", (combined, "genome.fasta"), {genotyped: kept},
                            temp=frozenset({genotyped})))  # fmt: skip
    jobs += _filtering(contigs, sum(giga.values()) // 80)
    jobs.append(StubJob("multiqc", tuple(f"{kind}_{name}" for name in names
                                         for kind in ("stats", "fastqc", "metrics")),
                        {"multiqc.html": 10**6}))  # fmt: skip
    sizes = given | {file: size for job in jobs for file, size in job.makes.items()}
    timed = [
        replace(job, seconds=1 + sum(sizes[file] for file in job.reads) / 1e8 / job.threads)
        for job in jobs
    ]
    return StubWorkflow(f"variant calling, {samples} samples", timed, given)


def _mapping(name: str, reads: tuple[str, ...], size: int) -> list[StubJob]:
    """The jobs of one sample, from its reads to the recalibrated file."""
    trimmed = {f"trimmed_{name}.{k}.fastq.gz": size for k in (1, 2)}
    unpaired = {f"trimmed_{name}.{k}.unpaired.fastq.gz": size // 50 for k in (1, 2)}
    mapped, dedup, recal = f"mapped_{name}.bam", f"dedup_{name}.bam", f"recal_{name}.bam"
    genome = ("genome.fasta",)
    return [
        StubJob(f"trim_{name}", reads, {**trimmed, **unpaired, f"trimlog_{name}": size // 10},
                frozenset({*trimmed, *unpaired})),
        StubJob(f"fastqc_{name}", reads, {f"fastqc_{name}": 10**6}),
        StubJob(f"map_{name}", (*trimmed, *genome), {mapped: 2 * size}, frozenset({mapped}), 8),
        StubJob(f"dedup_{name}", (mapped,), {dedup: 2 * size, f"metrics_{name}": 10**4},
                frozenset({dedup})),
        StubJob(f"bqsr_{name}", (dedup, *genome, "variation.vcf.gz"), {f"grp_{name}": 10**6},
                mem_mb=1024),
        StubJob(f"apply_{name}", (dedup, f"grp_{name}", *genome), {recal: 2 * size}, mem_mb=1024),
        StubJob(f"stats_{name}", (recal,), {f"stats_{name}": 10**5}),
    ]  # fmt: skip


def _filtering(contigs: int, size: int) -> list[StubJob]:
    jobs = [StubJob("merge_variants", tuple(f"genotyped.{k}.vcf.gz" for k in range(contigs)),
                    {"all.vcf.gz": size})]  # fmt: skip
    kept = []
    for kind in ("snvs", "indels"):
        chosen, kept_file = f"{kind}.vcf.gz", f"{kind}.hardfiltered.vcf.gz"
        jobs.append(StubJob(f"select_{kind}", ("all.vcf.gz", "genome.fasta"), {chosen: size // 2},
                            frozenset({chosen})))  # fmt: skip
        jobs.append(StubJob(f"filter_{kind}", (chosen, "genome.fasta"), {kept_file: size // 2},
                            frozenset({kept_file})))  # fmt: skip
        kept.append(kept_file)
    return [*jobs, StubJob("merge_calls", tuple(kept), {"filtered.vcf.gz": size})]


def write(
    workflow: StubWorkflow, directory: Path, total_seconds: float, quota: int | None = None
) -> None:
    """Put ``Snakefile`` and the given files into *directory*; all sleeps together are *total_seconds*.

    Under a *quota* a job whose temporary files do not fit beside those that lie there fails at its
    start, as on a full disk.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for name, size in workflow.given.items():
        _sparse(directory / name, size)
    seconds = sum(job.seconds for job in workflow.jobs)
    scale = total_seconds / seconds if seconds > 0 else 0.0
    finals = [name for job in workflow.jobs for name in job.makes if name not in job.temp]
    rules = [f"rule all:\n    input: {_listed(finals)}\n"]
    for k, job in enumerate(workflow.jobs):
        rules.append(_rule(k, job, job.seconds * scale, quota))
    temp = sorted({name for job in workflow.jobs for name in job.temp})
    (directory / "temp-files").write_text("\0".join(temp))
    (directory / "Snakefile").write_text("\n".join(rules))


def _sparse(path: Path, size: int) -> None:
    with path.open("wb") as stream:
        stream.truncate(size)


def _listed(names: Iterable[str]) -> str:
    return "[" + ", ".join(repr(name) for name in names) + "]"


FULL = """used=$( (xargs -0 stat -c %s -- < temp-files 2>/dev/null || true) |
awk '{{s += $1}} END {{printf "%.0f", s}}')
[ $((used + {size})) -le {quota} ] || {{ echo 'No space left on device' >&2; exit 28; }}"""
"""Ends a job whose temporary files do not fit; run under a lock."""


def _rule(number: int, job: StubJob, sleep: float, quota: int | None) -> str:
    outputs = ", ".join(f"temp({n!r})" if n in job.temp else repr(n) for n in job.makes)
    commands = [f"truncate -s {size} {name}" for name, size in job.makes.items()]
    size = sum(job.makes[name] for name in job.temp)
    if quota is not None and size:
        test = FULL.format(size=size, quota=quota)
        commands = ["exec 9> .lock", "flock 9", test, *commands, "flock -u 9"]
    lines = [
        f"rule j{number}_{re.sub(r'[^A-Za-z0-9_]', '_', job.name)}:",
        f"    input: {_listed(job.reads)}",
        f"    output: {outputs}",
        f"    threads: {job.threads}",
        f"    resources: mem_mb={job.mem_mb}, disk_mb={-(-size // 10**6)}",
        f"    shell: {_shell(' && '.join([*commands, f'sleep {sleep:.3f}']))}",
    ]
    return "\n".join(lines) + "\n"


def _shell(command: str) -> str:
    """As Snakemake reads it: braces stand for themselves when doubled."""
    return repr(command.replace("{", "{{").replace("}", "}}"))
