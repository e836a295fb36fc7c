"""``ioopt budget``: find what a quota on a work directory costs, and which settings
keep the quota.
"""

import re
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from ioopt.budget import SNAKEMAKE, TRACE
from ioopt.budget.summary import (
    lines_to_paste,
    no_safe_way,
    plugins_note,
    room,
    tables,
)
from ioopt.catalog import entries
from ioopt.cli.lazy import IooptCommand, Number, Seconds, quiet, together
from ioopt.cli.options import (
    PATH,
    file_argument,
    format_option,
    seed_option,
    skip_bad_option,
)
from ioopt.errors import ExitCode, UsageError
from ioopt.formats.native import dump_json, named, reading, write_text
from ioopt.options import Deadline
from ioopt.plot.page import check_target, save
from ioopt.plot.work_directory import plot_frontier
from ioopt.problems.base import Json
from ioopt.problems.work_directory import WorkDirectoryProblem
from ioopt.tables import named_once, say
from ioopt.units import parse_bytes

if TYPE_CHECKING:
    from ioopt.budget.noise import Noise

EPILOG = """\b
Examples:
  ioopt budget methylseq.json --cores 64 --copies 20 --quota 300GB
  ioopt budget trace.txt --dag dag.html --cores 32 --quota 2TB \\
    --nextflow nextflow.config
  ioopt budget directory-methylseq --noise 0.3 --size-noise 0.1 --plot curve.png
"""


reads_all_option = click.option(
    "--reads-all",
    metavar="PROCESS",
    multiple=True,
    help="For a trace: the tasks of PROCESS read all files of the tasks before "
    "them; a pattern such as 'SAMTOOLS_*' will do. May be repeated.",
)
reads_own_option = click.option(
    "--reads-own",
    metavar="PROCESS",
    multiple=True,
    help="For a trace: the tasks of PROCESS wait for the tasks before them and "
    "read none of their files, like a report from logs. May be repeated.",
)


def _cpus(
    _: click.Context, __: click.Parameter, texts: Sequence[str]
) -> dict[str, int]:
    """Return the cores by pattern of process that --task-cpus states."""
    from ioopt.formats.nextflow.processes import task_cpus

    return task_cpus(texts)


task_cpus_option = click.option(
    "--task-cpus",
    metavar="PROCESS=N",
    multiple=True,
    callback=_cpus,
    help="For a trace: the tasks of PROCESS take N cores. Without it and the column "
    "cpus, they take the most that %cpu shows. May be repeated.",
)


recorded = together(
    click.option(
        "--samples",
        type=click.IntRange(min=1),
        default=1,
        metavar="N",
        help="N times the samples of the record. What it made once for all, such as "
        "an index, stays one; a task that waits for all samples, such as a report, "
        "takes N times the bytes and seconds.",
    ),
    click.option(
        "--copies",
        type=click.IntRange(min=1),
        default=1,
        metavar="N",
        help="N copies of the whole run, each with what it made once, such as an "
        "index.",
    ),
    click.option(
        "--once",
        metavar="PROCESS",
        multiple=True,
        help="With --samples: the tasks of PROCESS belong to no sample; a pattern such "
        "as 'SPLIT_*' will do. May be repeated.",
    ),
    click.option(
        "--cores",
        type=click.IntRange(min=1),
        metavar="N",
        help="Cores of the machine.",
    ),
    click.option(
        "--quota", metavar="BYTES", help="Size of the work directory, such as 10TB."
    ),
    click.option(
        "--scratch",
        type=Number(min=0),
        default=0.0,
        metavar="FACTOR",
        help="Scratch of a running task as a multiple of its outputs; no record "
        "contains it.",
    ),
    reads_own_option,
    reads_all_option,
    task_cpus_option,
    click.option(
        "--dag",
        metavar="FILE",
        type=PATH,
        help="For a trace: the run's DAG, made by -with-dag.",
    ),
    click.option(
        "--read",
        type=click.Choice(["rchar", "read_bytes"]),
        default="rchar",
        help="For a trace: take bytes from rchar and wchar, or from read_bytes and "
        "write_bytes.",
    ),
    skip_bad_option,
)
"""Add the options that describe a recorded workflow and its machine."""


def read_recorded(file: str, quota: str | None, **told: Any) -> WorkDirectoryProblem:
    """Read the instance that FILE and the options of :func:`recorded` describe."""
    from ioopt.budget.recorded import read_work_directory

    size = None
    if quota is not None:
        try:
            size = parse_bytes(quota)
        except UsageError as error:
            raise UsageError(f"--quota: {error}") from None
    with reading(file):
        return read_work_directory(file, quota=size, **told)


def _plugins(_: click.Context, __: click.Parameter, text: str | None) -> list[str]:
    """Return the ids of plugins in the comma-separated *text*."""
    ids = [plugin.strip() for plugin in (text or "").split(",")] if text else []
    for plugin in ids:
        if not re.fullmatch(r"[\w.-]+(@[\w.~+-]+)?", plugin):
            raise UsageError(
                f"--nextflow-plugins: {plugin!r} is no id of a plugin such as "
                "nf-schema@2.1.1"
            )
    return ids


@click.command(cls=IooptCommand, epilog=EPILOG)
@file_argument()
@recorded
@click.option(
    "--noise",
    type=Number(0, 10),
    metavar="SIGMA",
    help="How much times of 20 noisy runs differ from the record (log-normal; 0.3).",
)
@click.option(
    "--size-noise",
    type=Number(0, 10),
    metavar="SIGMA",
    help="How much file sizes differ in these runs (log-normal; 0.1: two of three "
    "within a factor of 1.1).",
)
@click.option(
    "--nextflow",
    metavar="FILE",
    type=PATH,
    help="Write a nextflow.config with caps that keep the quota.",
)
@click.option(
    "--nextflow-plugins",
    "plugins",
    metavar="IDS",
    callback=_plugins,
    help="Ids of the pipeline's own plugins, such as 'nf-schema@2.1.1,nf-prov': the "
    "file's plugins block replaces the pipeline's.",
)
@click.option("--plot", "picture", metavar="OUT", type=PATH, help="Draw the curve.")
@click.option(
    "--time-limit",
    type=Seconds(),
    metavar="S",
    help="Largest number of seconds. Without it the simulated runs are counted (about "
    "20 s for 2,500 tasks, one or two minutes where caps for Nextflow are searched), "
    "and the answer is the same each time.",
)
@seed_option
@format_option("table", "json")
def budget(
    file: str,
    noise: float | None,
    size_noise: float | None,
    nextflow: str | None,
    plugins: list[str],
    picture: str | None,
    time_limit: float | None,
    seed: int,
    form: str,
    **told: Any,
) -> int:
    """Say whether the workflow in FILE fits a quota on its work directory, and how much
    time the quota costs.

    FILE is an ioopt/work-directory instance, a WfFormat workflow or a Nextflow trace. A
    task of a trace is taken to read all files of the tasks before it, unless it asked
    for fewer bytes: then none of them, as in ioopt import nextflow-trace.
    """
    deadline = Deadline(time_limit)  # loading modules and reading count too
    from ioopt.budget.answer import answer

    if picture is not None:
        check_target(picture)
        import_module("matplotlib")  # refuse now, not after the search
    problem = read_recorded(file, **told)
    if problem.quota_bytes is None and (nextflow or noise or size_noise):
        raise UsageError("--nextflow and --noise need a quota: give --quota BYTES")
    if nextflow and (problem.meta or {}).get("source") == SNAKEMAKE:
        raise UsageError(f"--nextflow {nextflow}: {file} is the record of Snakemake")
    if plugins and nextflow is None:
        raise UsageError("--nextflow-plugins is for the file: give --nextflow FILE")
    caps = nextflow is not None or (problem.meta or {}).get("source") == TRACE
    found = answer(problem, deadline, seed, caps, _doubt(noise, size_noise))
    found["record"] = None if file == "-" or file in entries() else file
    found["stated_quota"] = told["quota"]
    found["plugins"] = plugins
    found["lines"] = lines_to_paste(found, nextflow)
    if note := plugins_note(found, nextflow):
        found["notes"].append(note)
    why_not = ""
    try:  # the files first: a closed pipe may end the table
        why_not = _write_files(found, picture, nextflow)
    finally:
        _print(found, form, nextflow, named_once(problem.warnings, named(file)))
    caps_written = found["nextflow"] is not None and not why_not
    _name_files(picture, nextflow if caps_written else None)
    if why_not:
        say(f"{nextflow}: not written: {why_not}")
        return ExitCode.NO_ANSWER
    return _exit_code(found)


def _write_files(found: Json, picture: str | None, nextflow: str | None) -> str:
    """Draw the answer *found* to *picture*, and write its caps to *nextflow*; return
    why caps were asked for and not written, else empty text.
    """
    if picture is not None:
        save(plot_frontier(found), picture)
    return "" if nextflow is None else _write_caps(nextflow, found)


def _name_files(*files: str | None) -> None:
    """Name on standard error the *files* that were written (None: was not)."""
    if quiet():
        return
    for file in files:
        if file not in (None, "-"):
            say(f"wrote {file}")


def _doubt(noise: float | None, size_noise: float | None) -> "Noise":
    """Return how much times and sizes of the noisy runs differ from the record."""
    from ioopt.budget.noise import USUAL, Noise

    return Noise(
        USUAL.times if noise is None else noise,
        USUAL.sizes if size_noise is None else size_noise,
    )


def _print(
    found: Json, form: str, nextflow: str | None, warnings: Sequence[str]
) -> None:
    """Print the answer *found*, below it the *warnings* on the record and the notes,
    and last the lines to paste.
    """
    if form == "json":
        click.echo(dump_json(found), nl=False)
    else:
        click.echo(tables(found, nextflow))
    if not quiet():
        for text in (*warnings, *found["notes"]):
            say(f"note: {text}")
    if form == "table" and found["lines"]:
        click.echo("\n".join(("", *found["lines"])))


def _write_caps(nextflow: str, found: Json) -> str:
    """Write the caps for Nextflow that the answer *found* contains; return why they are
    not written when no caps keep the quota, else empty text.
    """
    from ioopt.budget.nextflow import nextflow_config

    caps = found["nextflow"]
    if caps is None:
        return ""
    if caps["peak_bytes"] > found["quota_bytes"]:
        return "no caps found that keep the quota"
    if found["fits"]["way"] == "setting":
        return "few noisy runs keep the quota with caps"
    if no_safe_way(found):
        return f"few noisy runs keep the quota{room(found)}"
    write_text(nextflow, nextflow_config(found))
    return ""


def _exit_code(found: Json) -> int:
    """Return the exit code for the answer *found*, which depends on the given quota."""
    if no_safe_way(found) or found["fits"]["answer"] in ("plan only", "depends"):
        return ExitCode.NO_ANSWER
    if found["at_quota"]:
        if found["at_quota"]["status"] == "infeasible":
            return ExitCode.INFEASIBLE
        if found["at_quota"]["status"] == "unknown":
            return ExitCode.NO_ANSWER
    return ExitCode.ANSWER
