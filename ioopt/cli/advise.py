"""``ioopt advise``: which I/O policy or setting would help whom on the jobs
of a log, on one page.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ioopt.cli.imports.common import batch_machine, machine_option
from ioopt.cli.imports.logs import TRACE, read_trace
from ioopt.cli.lazy import IooptCommand, quiet
from ioopt.cli.options import (
    PATH,
    counting,
    format_option,
    output_option,
    solver_option,
)
from ioopt.errors import UsageError
from ioopt.formats.native import dump_json, reading, write_text
from ioopt.problems.base import Json
from ioopt.tables import terminal_width

if TYPE_CHECKING:
    from ioopt.advice.runs import Question

EPILOG = """\b
Examples:
  ioopt advise KTH-SP2.swf -o page.html
  ioopt advise KTH-SP2.swf --darshan logs/ --machine node_rate=1GB/s,storage_rate=5GB/s -o page.html
  ioopt advise month.swf.gz --io-fraction 0.2 --threads 2 --solver fill --solver adaptive
  sacct -a -P --noconvert -S 2024-01-01 -o ALL | ioopt advise - --threads 2 -o page.html

\b
Without -o the page goes to standard output as text; -o page.html also prints the answer in a few
lines. LOG is in the Standard Workload Format, or of sacct or PBS, as `ioopt import` reads it.
Without --io-fraction and without Darshan logs of most jobs the answer is the I/O fraction from which
on a change pays.
"""
STAGES = 3
"""Shown as done and to do before the number of runs is known."""
LOG_SECONDS = 10.0
"""Between two lines of progress in a log file."""


@click.command(cls=IooptCommand, epilog=EPILOG)
@click.argument("log", metavar="LOG", type=PATH)
@output_option(
    text="Write the page there: .html; else a table, or JSON with --format json."
)
@TRACE
@machine_option
@click.option(
    "--site",
    metavar="FILE",
    type=PATH,
    help="Rules of the site's queue that no log contains (TOML).",
)
@solver_option(
    "solvers",
    multiple=True,
    text="A policy to look at, or NAME:KEY=VALUE,...; may be given again.",
)
@click.option(
    "--draws",
    type=click.IntRange(min=1),
    default=5,
    metavar="N",
    help="Drawings of luck: shifted submissions, invented I/O; the first chooses.",
)
@click.option(
    "--resamples",
    type=click.IntRange(min=100),
    default=1000,
    metavar="N",
    help="Resamples of weeks and drawings for the intervals.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Processes that simulate at the same time.",
)
@format_option("table", "json")
def advise(
    log: str,
    output: str | None,
    form: str,
    threads: int,
    machine: tuple[str, ...],
    site: str | None,
    solvers: tuple[str, ...],
    draws: int,
    resamples: int,
    **trace: Any,
) -> None:
    """Say from the job log LOG (or -) which I/O policy or setting would help whom,
    and how sure that is.
    """
    from ioopt.advice import page, study
    from ioopt.advice.runs import Question

    html = output is not None and output.lower().endswith((".html", ".htm"))
    if html and form == "json":
        raise UsageError(
            f"-o {output} is a page: give --format json a name that ends in .json"
        )
    context = click.get_current_context()
    given = context.get_parameter_source("io_fraction") is ParameterSource.COMMANDLINE
    with reading(log), counting("advice", transient=True, every=LOG_SECONDS) as show:
        show(0, STAGES, "reading the log")
        question = Question(
            **read_trace(log, **trace, **batch_machine(machine)),
            fraction_given=given,
            solvers=solvers or Question.solvers,
            draws=draws,
            resamples=resamples,
        )
        show(1, STAGES, "fitting the queue")
        question = _fitted(question, site)
        show(2, STAGES, "preparing the jobs")
        advice = study.advise(
            question,
            threads=threads,
            progress=lambda done, total: show(done, total, "runs simulated"),
        )
    command = shlex.join(["ioopt", *sys.argv[1:]])
    found = list(page.parts(advice, command))
    if form == "json":
        text = dump_json({**advice, "answer": page.answer(advice), "command": command})
    elif html:
        text = page.as_html(advice, found)
    else:
        text = page.as_text(advice["name"], found, terminal_width())
    write_text(output or "-", text)
    if not quiet():
        for warning in advice["warnings"]:
            if "Darshan log" in warning:
                click.echo(f"ioopt: warning: {warning}", err=True)
    if output not in (None, "-"):
        click.echo("\n".join(page.answer(advice)))


def _fitted(question: Question, site: str | None) -> Question:
    """The question with a queue fitted to the log, which its machine then has
    where that says it all.
    """
    from ioopt.advice.fit import fit
    from ioopt.advice.site import read_site

    log = replace(question.trace, jobs=question.trace.jobs[: question.max_jobs])
    found = fit(log, read_site(site) if site else None)
    question = replace(question, fit=found)
    if not question.yours or not found.exact:
        return question
    machine = question.problem(question.io.fraction).machine
    changed: Json = {"storage_bytes_per_second": machine.storage_bytes_per_second}
    if found.processors is not None and question.machine.unit_nodes == 1:
        changed["nodes"] = question.machine.nodes_for(found.processors)
    rule = question.machine.model_copy(update=changed)
    return replace(
        question, machine=rule, options={**question.options, **found.options}
    )
