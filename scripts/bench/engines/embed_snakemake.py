"""Real Snakemake on stub workflows, under its own schedulers and ours."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.engines.snakemake_workflows import StubWorkflow, from_wfformat, variant_calling, write
from bench.frame import ROOT, Check, check, shared_data, show, timed

NAMES = ("ioopt data", "ioopt", "greedy", "ilp")
RECORDED = ("montage-chameleon-2mass-005d-001", "epigenomics-chameleon-hep-1seq-100k-001")


HEADS = (
    "workflow",
    "scheduler",
    "seconds",
    "peak GB",
    "quota GB",
    "seconds in it",
    "peak GB in it",
)


def main(quick: bool) -> None:
    """Print the table, and what was wanted beside what was measured."""
    show("Beside what was wanted", ("criterion", "wanted", "measured", "holds"), table(quick))


def table(quick: bool) -> list[Check]:
    """Three rule graphs under every scheduler, without a quota of the disk and with one."""
    rows = [row for workflow, cores in workflows(quick) for row in real_rows(workflow, cores)]
    show("Real Snakemake, stub commands", HEADS, rows)
    full = {name: sum(row[1] == name and row[-1] == "full" for row in rows) for name in NAMES}
    saved = sum(
        row[1] == "greedy" and row[-1] == "full"
        and all(r[-1] != "full" for r in rows if r[:2] == (row[0], NAMES[0])) for row in rows
    )  # fmt: skip
    return [
        check("Snakemake runs of a full disk, --scheduler-ioopt-data", "0", full[NAMES[0]],
              full[NAMES[0]] == 0),
        check("of which greedy's end on a full disk, and this finishes", "1", saved, saved >= 1),
    ]  # fmt: skip


def workflows(quick: bool) -> list[tuple[StubWorkflow, int]]:
    """Workflows with the cores to run them on; those with recorded data only where that is."""
    found = [(variant_calling(4 if quick else 12, 2 if quick else 5), 16)]
    for stem in () if quick else RECORDED:
        path = shared_data("wfformat") / f"{stem}.json"
        if path.exists():
            found.append((from_wfformat(path), 8))
        else:
            print(f"{path}: not there, left out")
    return found


def real_rows(workflow: StubWorkflow, cores: int) -> Iterator[tuple[Any, ...]]:
    """(workflow, scheduler, seconds, peak GB, the same under a quota) of real Snakemake on stubs.

    The quota is 1.25 times what one job has to have beside itself: the temporary files that it reads
    and writes, at the most. A run that it ends is "full".
    """
    _timed(
        workflow, cores, NAMES[0], None
    )  # does not count: the first start reads everything from the disk
    free = {name: _timed(workflow, cores, name, None) for name in NAMES}
    temp = {name: job.makes[name] for job in workflow.jobs for name in job.temp}
    beside = ({*job.reads, *job.makes} & temp.keys() for job in workflow.jobs)
    quota = 5 * max(sum(temp[name] for name in names) for names in beside) // 4
    for name, (seconds, peak) in free.items():
        held, most = _timed(workflow, cores, name, quota)
        told = "full" if most is None else f"{most / 1e9:.4g}"
        yield workflow.name, name, seconds, (peak or 0) / 1e9, quota / 1e9, held, told


def _timed(
    workflow: StubWorkflow, cores: int, scheduler: str, quota: int | None
) -> tuple[float, int | None]:
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        write(workflow, directory, 0.5 * cores, quota)
        return timed(partial(run_stub, workflow, directory, scheduler, cores, quota))


def run_stub(
    workflow: StubWorkflow, directory: Path, scheduler: str, cores: int, quota: int | None
) -> int | None:
    """Run what was written to *directory*; the most bytes of temporary files at once, None if full."""
    temp = {file for job in workflow.jobs for file in job.temp}
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
