"""``ioopt import batsim`` and ``batsim-jobs``: a workload, or what became of one, as batch-io."""

from __future__ import annotations

from typing import Any

import click

from ioopt.cli.imports.common import import_command, machine_options, target_option
from ioopt.cli.lazy import rate_option

EPILOG = """\b
Examples:
  ioopt import batsim workload.json -o instance.json
  ioopt import batsim KTH-io-aware.json --node-rate 1250MB/s --storage-rate 5000MB/s -o kth.json
"""

JOBS_EPILOG = """\b
Example:
  ioopt import batsim-jobs out_jobs.csv -o instance.json
"""


@import_command("batsim", EPILOG)
@click.argument("source", metavar="SOURCE")
@click.option(
    "--flops", type=float, default=1e9, metavar="F", help="Operations per second of a node."
)
@rate_option(
    "--network-rate", text="Rate of a node on the network between nodes.", default="1250MB/s"
)
@machine_options
@target_option
def import_batsim(source: str, flops: float, network_rate: float, **how: Any) -> Any:
    """Make a batch-io instance of the Batsim workload SOURCE (JSON, also .gz or -)."""
    from ioopt.formats.batsim.profiles import Platform
    from ioopt.formats.batsim.workload import read_batsim

    return read_batsim(source, platform=Platform(flops, network_rate), **how)


@import_command("batsim-jobs", JOBS_EPILOG)
@click.argument("source", metavar="SOURCE")
@machine_options
@target_option
def import_batsim_jobs(source: str, **how: Any) -> Any:
    """Make a batch-io instance of the jobs in Batsim's SOURCE (_jobs.csv): they run as they ran."""
    from ioopt.formats.batsim.jobs import batch_io_from_jobs

    return batch_io_from_jobs(source, **how)
