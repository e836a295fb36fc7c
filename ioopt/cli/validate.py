"""``ioopt validate``: replay a recorded run, and say what a plan and node disks would
save.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import click

from ioopt.cli.budget import task_cpus_option
from ioopt.cli.imports.common import cluster, machine_option
from ioopt.cli.lazy import Seconds, WritingCommand, quiet
from ioopt.cli.options import (
    PATH,
    counting,
    format_option,
    output_option,
    skip_bad_option,
)
from ioopt.errors import UsageError
from ioopt.formats.native import dump_json, write_text
from ioopt.tables import say, terminal_width

if TYPE_CHECKING:
    from ioopt.validation.storage import Storage

STAGES = 4
"""Number of stages of a validation."""

EPILOG = """\b
Examples:
  ioopt validate trace.txt --dag dag.html -o page.html
  ioopt validate trace.csv.gz --edges edges.csv --format json
  ioopt validate trace.txt --edges wfformat.json --machine disk=100GB

\b
TRACE is a trace of Nextflow (-with-trace), as text or CSV, also .gz. A replay
needs the columns hostname, submit, start and complete; what is missing is
noted, and the rest is answered. Without --dag and --edges the tasks are
independent.
"""


@click.command(cls=WritingCommand, epilog=EPILOG)
@click.argument("trace", metavar="TRACE", type=PATH)
@click.option(
    "--dag",
    metavar="FILE",
    type=PATH,
    help="The run's graph of processes, made by -with-dag.",
)
@click.option(
    "--edges",
    metavar="FILE",
    type=PATH,
    help="In place of --dag: a CSV with the columns task and reads_output_of, or a "
    "WfFormat file of the run.",
)
@machine_option
@click.option(
    "--storage",
    type=click.Choice(["nfs", "ceph", "node"]),
    help="Where products were: on shared storage whose clients read again what they "
    "wrote (nfs) or keep it in memory (ceph), or on the disks of nodes. Default: the "
    "shared one that fits better.",
    show_default=False,
)
@output_option(text="Write a page (HTML) with a picture of the runs to FILE.")
@skip_bad_option
@task_cpus_option
@click.option(
    "--time-limit",
    type=Seconds(),
    default=60.0,
    metavar="S",
    help="Seconds for all searches.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Seed of the fit and of the searches.",
)
@format_option("table", "json")
def validate(
    trace: str,
    dag: str | None,
    edges: str | None,
    machine: tuple[str, ...],
    storage: Storage | None,
    output: str | None,
    skip_bad: float | None,
    task_cpus: dict[str, int],
    time_limit: float,
    seed: int,
    form: str,
) -> None:
    """Replay the recorded run in TRACE and say how far off the replay is, what a plan
    would save, and whether node disks in place of shared storage would pay.
    """
    if output is not None and not output.lower().endswith(".html"):
        raise UsageError(f"{output}: the page's name ends in .html")
    from ioopt.validation.answer import validate_record
    from ioopt.validation.summary import as_text

    begun = count()
    with counting("validate", STAGES, transient=True) as show:
        answer = validate_record(
            trace,
            dag,
            edges,
            **cluster(machine),
            storage=storage,
            skip_bad=skip_bad,
            task_cpus=task_cpus,
            time_limit=time_limit,
            seed=seed,
            progress=lambda stage: show(next(begun), STAGES, stage),
        )
    found = answer.validation
    if output is not None:
        from ioopt.validation.page import page_of

        write_text(output, page_of(answer))
    if form == "json":
        click.echo(dump_json(found.model_dump(mode="json")), nl=False)
        return
    if not quiet():
        for note in found.notes:
            say(f"note: {note}")
    click.echo(as_text(found, terminal_width()), nl=False)
