"""``ioopt import swf``: a job log as a batch-io or gang instance."""

from __future__ import annotations

import click

from ioopt.cli.imports.common import ImportCommand, finish, machine_options, queue_options, rule_of
from ioopt.cli.options import output_option
from ioopt.errors import UsageError

EPILOG = """\b
Examples:
  ioopt import swf KTH-SP2.swf --jobs 1000 -o kth.json
  ioopt import swf RICC.swf.gz --io-fraction 0.2 --io-period 1800 --seed 3 -o ricc.json.gz
  ioopt import swf trace.swf --darshan log1.txt --darshan log2.darshan -o paired.json
  ioopt import swf NASA.swf --family gang --set nodes=128 --set intensity=0.33 -o gang.json
"""


@click.command(name="swf", cls=ImportCommand, epilog=EPILOG)
@click.argument("source", metavar="SOURCE")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Keep the first N jobs.")
@click.option("--io-fraction", type=float, default=0.1, show_default=True, metavar="F",
              help="Mean share of a job's run time that is I/O.")  # fmt: skip
@click.option("--io-period", type=float, default=3600.0, show_default=True, metavar="S",
              help="Seconds of run time to each I/O phase.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N")
@click.option("--darshan", "logs", multiple=True, metavar="LOG",
              help="Take the I/O from Darshan logs instead; may be given again.")  # fmt: skip
@click.option("--size", type=click.Choice(["allocated", "requested"]), default="allocated",
              show_default=True, help="Which of the two sizes in the log counts.")  # fmt: skip
@click.option("--family", type=click.Choice(["batch-io", "gang"]), default="batch-io",
              show_default=True, help="Which kind of instance to make.")  # fmt: skip
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE",
              help="With --family gang: a setting of the gang generator; may be given again.")  # fmt: skip
@machine_options
@queue_options
@output_option(required=True, text="Where to write the instance.")
def import_swf(
    source: str,
    jobs: int | None,
    io_fraction: float,
    io_period: float,
    seed: int,
    logs: tuple[str, ...],
    size: str,
    family: str,
    settings: tuple[str, ...],
    output: str,
    kill: bool,
    queue: str,
    backfill: str,
    **machine: str | int | None,
) -> int:
    """Make an instance of the job log SOURCE (Standard Workload Format, also .gz or -).

    A gang instance takes sizes, arrivals and run times from the log, and its machine, files and
    I/O intensity from --set; the options for I/O, machine and queue belong to batch-io.
    """
    from ioopt.formats.darshan.log import read_darshan
    from ioopt.formats.io_rule import IoRule
    from ioopt.formats.swf.io import batch_io_from_swf
    from ioopt.formats.swf.log import read_swf

    if family == "gang":
        return _gang(source, jobs, seed, settings, output)
    if settings:
        raise UsageError("--set belongs to --family gang")
    if source in logs:
        raise UsageError(f"{source} cannot be the trace and a Darshan log at once")
    darshan = [read_darshan(log) for log in logs]
    made = batch_io_from_swf(
        read_swf(source),
        machine=rule_of(machine),
        io=IoRule(io_fraction, io_period, seed),
        darshan=darshan,
        requested_size=size == "requested",
        max_jobs=jobs,
        options={"kill": kill, "queue": queue, "backfill": backfill},
    )
    return finish(made.problem, output)


def _gang(source: str, jobs: int | None, seed: int, settings: tuple[str, ...], output: str) -> int:
    from ioopt.formats.swf.log import read_swf
    from ioopt.generate.gang.from_swf import gang_from_swf
    from ioopt.generate.gang.generate import Settings
    from ioopt.options import parse_assignments, parse_settings

    chosen = parse_settings(Settings, parse_assignments(settings), "import swf --family gang")
    made = gang_from_swf(read_swf(source), chosen, seed, max_jobs=jobs)
    return finish(made.problem, output)
