"""``ioopt import batsim`` and ``batsim-jobs``: a workload, or what became of one, as batch-io."""

from __future__ import annotations

import click

from ioopt.cli.imports.common import ImportCommand, finish, machine_options, queue_options, rule_of
from ioopt.cli.options import output_option

EPILOG = """\b
Examples:
  ioopt import batsim workload.json -o instance.json
  ioopt import batsim KTH-io-aware.json --node-rate 1250MB/s --storage-rate 5000MB/s -o kth.json
"""

JOBS_EPILOG = """\b
Example:
  ioopt import batsim-jobs out_jobs.csv -o instance.json
"""


@click.command(name="batsim", cls=ImportCommand, epilog=EPILOG)
@click.argument("source", metavar="SOURCE")
@click.option("--flops", type=float, default=1e9, show_default=True, metavar="F",
              help="Operations per second of a node.")  # fmt: skip
@click.option("--network-rate", default="1250MB/s", show_default=True, metavar="RATE",
              help="Rate of a node on the network between nodes.")  # fmt: skip
@machine_options
@queue_options
@output_option(required=True, text="Where to write the instance.")
def import_batsim(
    source: str,
    flops: float,
    network_rate: str,
    output: str,
    kill: bool,
    queue: str,
    backfill: str,
    **machine: str | int | None,
) -> int:
    """Make a batch-io instance of the Batsim workload SOURCE (JSON, also .gz or -)."""
    from ioopt.formats.batsim.profiles import Platform
    from ioopt.formats.batsim.workload import read_batsim
    from ioopt.units import parse_rate

    made = read_batsim(
        source,
        machine=rule_of(machine),
        platform=Platform(flops, parse_rate(network_rate)),
        options={"kill": kill, "queue": queue, "backfill": backfill},
    )
    return finish(made.problem, output)


@click.command(name="batsim-jobs", cls=ImportCommand, epilog=JOBS_EPILOG)
@click.argument("source", metavar="SOURCE")
@machine_options
@queue_options
@output_option(required=True, text="Where to write the instance.")
def import_batsim_jobs(
    source: str, output: str, kill: bool, queue: str, backfill: str, **machine: str | int | None
) -> int:
    """Make a batch-io instance of the jobs in Batsim's SOURCE (_jobs.csv): they run as they ran."""
    from ioopt.formats.batsim.jobs import batch_io_from_jobs

    options = {"kill": kill, "queue": queue, "backfill": backfill}
    made = batch_io_from_jobs(source, machine=rule_of(machine), options=options)
    return finish(made.problem, output)
