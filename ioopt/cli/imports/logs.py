"""``ioopt import``: read job logs and traces as batch-io or gang instances.

Readers receive the machine options as the keywords ``machine`` and ``options``; in this
module these two are together called ``how``.
"""

from dataclasses import replace
from typing import Any

import click

from ioopt.cli.imports.common import batch_machine, import_command
from ioopt.cli.lazy import Number, set_option, together
from ioopt.cli.options import seed_option, skip_bad_option
from ioopt.errors import UsageError
from ioopt.formats.batsim.profiles import Platform
from ioopt.formats.batsim.workload import read_batsim
from ioopt.formats.darshan.io import batch_io_from_darshan, read_darshan_logs
from ioopt.formats.darshan.log import DarshanLog
from ioopt.formats.io_rule import IoRule
from ioopt.formats.native import named
from ioopt.formats.swf.io import batch_io_from_swf
from ioopt.formats.swf.log import read_swf
from ioopt.options import parse_settings
from ioopt.problems.base import Json
from ioopt.problems.batch_io import BatchIoProblem
from ioopt.problems.gang import GangProblem
from ioopt.units import parse_rate, parse_seconds, parse_share

SWF = """\b
Examples:
  ioopt import swf KTH-SP2.swf --jobs 1000 -o kth.json
  ioopt import swf RICC.swf.gz --io-fraction 0.2 --io-period 1800 -o ricc.json.gz
  ioopt import swf trace.swf --darshan logs/ -o joined.json
  ioopt import swf NASA.swf --family gang --set nodes=128 -o gang.json
"""
SACCT_COMMAND = """\
sacct -a -P --noconvert -S 2024-01-01 -E 2024-06-30 \\
    -o JobIDRaw,Submit,Eligible,Start,End,State,AllocCPUS,NNodes,TimelimitRaw"""
"""How to ask Slurm for a log: all columns that advice uses, and no texts of users."""
SACCT = f"""\b
Examples:
  {SACCT_COMMAND} \\
  | ioopt import sacct - -o half-year.json
  ioopt import sacct sacct.txt --time-zone Europe/Stockholm -o jobs.json
"""
PBS = """\b
Examples:
  ioopt import pbs /var/spool/pbs/server_priv/accounting/20240501 -o day.json
  cat accounting/2024* | ioopt import pbs - -o year.json
"""
DARSHAN = """\b
Examples:
  darshan-parser job.darshan > job.txt; ioopt import darshan job.txt -o job.json
  ioopt import darshan *.darshan --machine nodes=49152 -o month.json
  ioopt import darshan *.darshan --skip-bad 0.2 -o what-can-be-read.json
"""
BATSIM = """\b
Examples:
  ioopt import batsim workload.json -o instance.json
  ioopt import batsim KTH.json --machine storage_rate=5000MB/s -o kth.json
"""


SHORTEST_BARE_PERIOD = 60.0


def _io_period(given: str) -> float:
    """Return an I/O period in seconds; refuse one without a unit that would be less
    than a minute, because minutes or hours are meant.
    """
    seconds = parse_seconds(given)
    number = given.strip()
    if seconds < SHORTEST_BARE_PERIOD and not number[-1:].isalpha():
        raise UsageError(
            f"--io-period {number} has no unit and would be {number} s: write "
            f"{number}s, {number}min or {number}h"
        )
    return seconds


TRACE = together(
    click.option(
        "--jobs", type=click.IntRange(min=1), metavar="N", help="Keep the first N jobs."
    ),
    click.option(
        "--io-fraction",
        default="0.1",
        metavar="F",
        callback=lambda context, option, given: parse_share(given),
        help="Mean share of the run time that is I/O (0.15 or 15%), for jobs without a "
        "Darshan log.",
    ),
    click.option(
        "--io-period",
        default="3600",
        metavar="TIME",
        callback=lambda context, option, given: _io_period(given),
        help="Run time for each I/O phase, such as 1800, 30min or 2h.",
    ),
    seed_option,
    click.option(
        "--darshan",
        "logs",
        multiple=True,
        metavar="FOLDER|LOG",
        help="Jobs take the I/O of their Darshan logs; repeatable.",
    ),
    click.option(
        "--size",
        type=click.Choice(["allocated", "requested"]),
        default="allocated",
        help="Which size of a job to use.",
    ),
    skip_bad_option,
)
"""Options of the commands that read a job log."""
SLURM = together(
    click.option(
        "--time-zone",
        metavar="ZONE",
        help="Zone of times without an offset, such as Europe/Stockholm (default: "
        "UTC).",
    ),
    click.option(
        "--cluster", metavar="NAME", help="The cluster to read if the log has several."
    ),
)
"""Options of the commands that read a log of Slurm."""


@import_command("swf", SWF, machine=batch_machine)
@TRACE
@click.option(
    "--family",
    type=click.Choice(["batch-io", "gang"]),
    default="batch-io",
    help="Which kind of instance to make.",
)
@set_option("With --family gang: a setting of the gang generator; may be given again.")
def import_swf(
    source: str,
    jobs: int | None,
    seed: int,
    family: str,
    settings: dict[str, str],
    skip_bad: float | None,
    **batch_io: Any,
) -> BatchIoProblem | GangProblem:
    """Make an instance from the job log SOURCE (Standard Workload Format, also .gz or
    -).

    A gang instance takes sizes, arrivals and run times from the log; --set gives its
    machine, files and I/O intensity. The options for I/O, machine and queue are only
    for batch-io.
    """
    if family == "gang":
        from ioopt.generate.gang.from_swf import gang_from_swf
        from ioopt.generate.gang.generate import Settings

        chosen = parse_settings(Settings, settings, "import swf --family gang")
        return gang_from_swf(read_swf(source, skip_bad), chosen, seed, max_jobs=jobs)
    if settings:
        raise UsageError("--set is only for --family gang")
    return _batch_io(
        source, kind="swf", jobs=jobs, seed=seed, skip_bad=skip_bad, **batch_io
    )


@import_command("sacct", SACCT, machine=batch_machine)
@TRACE
@SLURM
def import_sacct(source: str, **batch_io: Any) -> BatchIoProblem:
    """Make a batch-io instance from the output of Slurm's sacct -a -P --noconvert.

    SOURCE may be .gz or -. These columns are required: JobID, Submit, Start, End, State
    and one of AllocCPUS, NCPUS, AllocTRES, ReqCPUS, ReqTRES. These are used if present:
    NNodes, AllocNodes or AllocTRES for the nodes of a job, JobIDRaw, Cluster, Eligible,
    Elapsed or ElapsedRaw, Suspended, Timelimit or TimelimitRaw, User, Account, QOS,
    Partition. Leave out JobName and other texts of users (so not -o ALL): they can
    contain the character | that separates columns.
    """
    return _batch_io(source, kind="sacct", **batch_io)


@import_command("pbs", PBS, machine=batch_machine)
@TRACE
def import_pbs(source: str, **batch_io: Any) -> BatchIoProblem:
    """Make a batch-io instance from accounting records of PBS or Torque.

    SOURCE may be .gz or -.
    """
    return _batch_io(source, kind="pbs", **batch_io)


def _batch_io(source: str, **how: Any) -> BatchIoProblem:
    return batch_io_from_swf(**read_trace(source, **how))


def read_trace(
    source: str,
    *,
    jobs: int | None,
    seed: int,
    io_fraction: float,
    io_period: float,
    logs: tuple[str, ...],
    size: str,
    kind: str = "",
    time_zone: str | None = None,
    cluster: str | None = None,
    skip_bad: float | None = None,
    **how: Any,
) -> Json:
    """Read the log *source*; return the keywords of batch_io_from_swf.

    The keywords up to *size*, and *skip_bad*, are the options of TRACE. *time_zone* and
    *cluster* are options of `import sacct`. *kind* is swf, sacct or pbs; by default it
    is recognised from the text. *source* may be the name of a sample log. *how* is
    passed on.
    """
    from ioopt.advice.samples import sample_or_path
    from ioopt.formats.job_log import read_log

    if source in logs:
        raise UsageError(f"{source} cannot be the trace and a Darshan log at once")
    log = read_log(sample_or_path(source), kind, time_zone, cluster, skip_bad)
    darshan: list[DarshanLog] = []
    skipped: list[str] = []
    if logs:
        darshan, skipped = read_darshan_logs(logs)
    return {
        "trace": replace(log, name=named(source)),
        "io": IoRule(io_fraction, io_period, seed),
        "darshan": tuple(darshan),
        "skipped": tuple(skipped),
        "requested_size": size == "requested",
        "max_jobs": jobs,
        **how,
    }


@import_command("darshan", DARSHAN, machine=batch_machine, several=True)
@click.option(
    "--phase-gap",
    type=Number(min=0),
    default=1.0,
    metavar="S",
    help="Join accesses less than this apart into one phase.",
)
@skip_bad_option
def import_darshan(
    sources: tuple[str, ...], phase_gap: float, skip_bad: float | None, **how: Any
) -> BatchIoProblem:
    """Make a batch-io instance from Darshan logs; logs of the same job are joined.

    SOURCE is a binary log of Darshan 3.x, for which the package darshan is needed, or
    the output of darshan-parser 3.x (also .gz or -), or a folder of such files. The
    output of darshan-parser has neither traces nor heatmaps.
    """
    logs, skipped = read_darshan_logs(sources, gap_seconds=phase_gap, skip_bad=skip_bad)
    return batch_io_from_darshan(logs, skipped=skipped, **how)


@import_command("batsim", BATSIM, machine=batch_machine)
@click.option(
    "--flops",
    type=float,
    default=1e9,
    metavar="F",
    help="Operations per second of a node.",
)
@click.option(
    "--network-rate",
    metavar="RATE",
    default="1250MB/s",
    callback=lambda context, option, given: parse_rate(given),
    help="Rate of a node on the network between nodes.",
)
def import_batsim(
    source: str, flops: float, network_rate: float, **how: Any
) -> BatchIoProblem:
    """Make a batch-io instance from the Batsim workload SOURCE (JSON, also .gz or
    -).
    """
    return read_batsim(source, platform=Platform(flops, network_rate), **how)
