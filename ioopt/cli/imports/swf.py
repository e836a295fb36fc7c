"""``ioopt import swf``: a job log as a batch-io or gang instance."""

from __future__ import annotations

from typing import Any

import click

from ioopt.cli.imports.common import import_command, machine_options, target_option
from ioopt.cli.lazy import set_option
from ioopt.errors import UsageError

EPILOG = """\b
Examples:
  ioopt import swf KTH-SP2.swf --jobs 1000 -o kth.json
  ioopt import swf RICC.swf.gz --io-fraction 0.2 --io-period 1800 --seed 3 -o ricc.json.gz
  ioopt import swf trace.swf --darshan log1.txt --darshan log2.darshan -o paired.json
  ioopt import swf NASA.swf --family gang --set nodes=128 --set intensity=0.33 -o gang.json
"""


@import_command("swf", EPILOG)
@click.argument("source", metavar="SOURCE")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Keep the first N jobs.")
@click.option("--io-fraction", type=float, default=0.1, metavar="F",
              help="Mean share of a job's run time that is I/O.")  # fmt: skip
@click.option("--io-period", type=float, default=3600.0, metavar="S",
              help="Seconds of run time to each I/O phase.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N")
@click.option("--darshan", "logs", multiple=True, metavar="LOG",
              help="Take the I/O from Darshan logs instead; may be given again.")  # fmt: skip
@click.option("--size", type=click.Choice(["allocated", "requested"]), default="allocated",
              help="Which of the two sizes in the log counts.")  # fmt: skip
@click.option("--family", type=click.Choice(["batch-io", "gang"]), default="batch-io",
              help="Which kind of instance to make.")  # fmt: skip
@set_option("With --family gang: a setting of the gang generator; may be given again.")
@machine_options
@target_option
def import_swf(
    source: str, jobs: int | None, seed: int, family: str, settings: dict[str, str], **batch_io: Any
) -> Any:
    """Make an instance of the job log SOURCE (Standard Workload Format, also .gz or -).

    A gang instance takes sizes, arrivals and run times from the log, and its machine, files and
    I/O intensity from --set; the options for I/O, machine and queue belong to batch-io.
    """
    if family == "gang":
        return _gang(source, jobs, seed, settings)
    if settings:
        raise UsageError("--set belongs to --family gang")
    return _batch_io(source, jobs, seed, **batch_io)


def _batch_io(
    source: str,
    jobs: int | None,
    seed: int,
    io_fraction: float,
    io_period: float,
    logs: tuple[str, ...],
    size: str,
    **how: Any,
) -> Any:
    from ioopt.formats.darshan.log import read_darshan
    from ioopt.formats.io_rule import IoRule
    from ioopt.formats.swf.io import batch_io_from_swf
    from ioopt.formats.swf.log import read_swf

    if source in logs:
        raise UsageError(f"{source} cannot be the trace and a Darshan log at once")
    darshan = [read_darshan(log) for log in logs]
    return batch_io_from_swf(
        read_swf(source),
        io=IoRule(io_fraction, io_period, seed),
        darshan=darshan,
        requested_size=size == "requested",
        max_jobs=jobs,
        **how,
    )


def _gang(source: str, jobs: int | None, seed: int, settings: dict[str, str]) -> Any:
    from ioopt.formats.swf.log import read_swf
    from ioopt.generate.gang.from_swf import gang_from_swf
    from ioopt.generate.gang.generate import Settings
    from ioopt.options import parse_settings

    chosen = parse_settings(Settings, settings, "import swf --family gang")
    return gang_from_swf(read_swf(source), chosen, seed, max_jobs=jobs)
