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

from bench.frame import ROOT, shared_data, timed
from bench.snakemake_workflows import StubWorkflow, from_wfformat, variant_calling, write

RECORDED = ("montage-chameleon-2mass-005d-001", "epigenomics-chameleon-hep-1seq-100k-001")


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
