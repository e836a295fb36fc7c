"""``ioopt advise``: answer on one page which setting or I/O policy shortens the jobs of
a log.
"""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ioopt.cli.imports.common import batch_machine, machine_option
from ioopt.cli.imports.logs import SACCT_COMMAND, SLURM, TRACE, read_trace
from ioopt.cli.lazy import IooptCommand, quiet, together
from ioopt.cli.options import (
    LOG_SECONDS,
    PATH,
    counting,
    format_option,
    output_option,
    solver_option,
    usable_cores,
)
from ioopt.errors import UsageError
from ioopt.formats.io_rule import MachineRule
from ioopt.formats.native import dump_json, reading, write_text
from ioopt.options import parse_assignments
from ioopt.problems.batch_io import QueueOptions
from ioopt.tables import say, terminal_width

if TYPE_CHECKING:
    from ioopt.advice.answer import Advice
    from ioopt.advice.workload import Question

EPILOG = f"""\b
Examples:
  ioopt advise month.swf -o page.html
  ioopt advise KTH-SP2.swf --io-fraction 0.2 \\
    --machine node_rate=1GB/s,storage_rate=5GB/s -o page.html
  ioopt advise KTH-SP2.swf --darshan logs/ --threads 2 --solver fill --solver adaptive
  {SACCT_COMMAND} \\
  | ioopt advise - --threads 2 -o page.html

\b
The answer goes to standard output; -o page.html also writes a page with details and
pictures, -o page.txt the details as text. LOG is a file in the Standard Workload
Format, the output of sacct or a PBS accounting log (see `ioopt import`), or one of the
samples month.swf and month.sacct. Every job starts at the time in the log, so waits
are not predicted. Figures that are not stated are guessed, and other values are tried:
where they decide, the answer says so, and where a change pays.
"""
STAGES = 2
"""The number of steps before the replays: reading the log, and preparing the jobs."""
MORE = "Details, curves and pictures: -o page.html (or page.txt)."
COMPARE = "The best setting and today's sharing, on the jobs that were judged:"
SAID = ("Darshan log", "left out", "as having its nodes alone")
"""Words of the notes that are also printed on standard error: on data not used."""
RATES = ("node_rate", "storage_rate")
BARE = 5
"""Whole numbers of fewer digits are refused as rates without a unit: no machine is so
slow, and a unit was forgotten.
"""


def _refuse(context: click.Context, option: click.Parameter, given: object) -> None:
    """Raise UsageError for an option that was removed, if it is *given*."""
    if given is not None:
        raise UsageError(
            f"{option.opts[0]} was removed: every job starts at the time in the log, "
            "so advise simulates no queue; leave the option out"
        )


GONE = together(
    *(
        click.option(name, hidden=True, expose_value=False, callback=_refuse)
        for name in (
            "--site",
            "--queue",
            "--backfill",
            "--backfill-order",
            "--reservation",
            "--plan",
            "--estimate",
            "--pass",
            "--kill",
        )
    )
)
"""Removed options of the batch queue, which earlier versions simulated."""


@click.command(cls=IooptCommand, epilog=EPILOG)
@click.argument("log", metavar="LOG", type=PATH)
@output_option(
    text="Write the answer to FILE: a page if its name ends in .html, else a table, or "
    "JSON with --format json."
)
@TRACE
@SLURM
@machine_option
@GONE
@solver_option(
    "solvers",
    multiple=True,
    text="A policy to compare, or NAME:KEY=VALUE,...; may be given again.",
)
@click.option(
    "--draws",
    type=click.IntRange(min=1),
    default=5,
    metavar="N",
    help="Number of replays. The first one replays the log unchanged, to choose the "
    "options; the others move starts and generate other I/O. With one there is no "
    "verdict. Unless stated, a log of 5,000 jobs or more has no more than a clear "
    "verdict takes.",
)
@click.option(
    "--resamples",
    type=click.IntRange(min=100),
    default=1000,
    metavar="N",
    help="Number of resamples (of weeks and replays) from which intervals are made.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes that simulate at the same time; the answer is the same. (default: "
    "1, in logs of 5,000 jobs or more all cores)",
)
@click.option(
    "--instance",
    type=PATH,
    metavar="FILE",
    help="Also write the jobs that were judged, with their assumed I/O, as an instance "
    "for compare, solve and simulate.",
)
@click.option(
    "--instance-submit",
    type=click.Choice(["start", "log"]),
    default="start",
    help="When the jobs of --instance are submitted: when the log started them, as "
    "advise has it, or when the log says, so that other commands simulate a queue.",
)
@format_option("table", "json")
def advise(
    log: str,
    output: str | None,
    form: str,
    threads: int | None,
    machine: tuple[str, ...],
    solvers: tuple[str, ...],
    draws: int,
    resamples: int,
    instance: str | None,
    instance_submit: str,
    **trace: Any,
) -> None:
    """Find out which setting or I/O policy shortens the jobs of the job log LOG (or -),
    and from which I/O fraction and storage rate on.
    """
    from ioopt.advice import study
    from ioopt.advice.verdict import compare_line, wrapped_answer
    from ioopt.advice.workload import Question

    if _is_page(output) and form == "json":
        raise UsageError(
            f"-o {output} is a page: give --format json a name that ends in .json"
        )
    context = click.get_current_context()

    def given(option: str) -> bool:
        return context.get_parameter_source(option) is ParameterSource.COMMANDLINE

    rule = _machine(machine)
    with reading(log), counting("advice", transient=True, every=LOG_SECONDS) as show:
        show(0, STAGES, "reading the log")
        question = Question(
            **read_trace(log, **trace, machine=rule),
            fraction_given=given("io_fraction"),
            period_given=given("io_period"),
            solvers=solvers or Question.solvers,
            draws=draws,
            draws_given=given("draws"),
            resamples=resamples,
        )
        show(1, STAGES, "preparing the jobs")
        advice = study.advise(
            question,
            threads=threads or _processes(question),
            progress=lambda done, total: show(done, total, "I/O steps replayed"),
            warn=lambda text: say(f"ioopt: warning: {text}"),
        )
    if instance is not None:
        problem = study.judged(question, advice, instance_submit == "log")
        write_text(instance, dump_json(problem.model_dump(mode="json", by_alias=True)))
    write_text(output or "-", _text(advice, form, output))
    if not quiet():
        for warning in advice.warnings:
            if any(words in warning for words in SAID):
                click.echo(f"ioopt: warning: {warning}", err=True)
    if output not in (None, "-"):
        click.echo("\n".join(wrapped_answer(advice, terminal_width())))
    if instance is not None and (form != "json" or output not in (None, "-")):
        line = compare_line(advice, instance)
        if line:
            click.echo(f"\n{COMPARE}\n  {line}")


def _is_page(output: str | None) -> bool:
    """Return whether the answer is written to *output* as a page in HTML."""
    return output is not None and output.lower().endswith((".html", ".htm"))


def _text(advice: Advice, form: str, output: str | None) -> str:
    """Return *advice* in the format *form*: as JSON, as the few lines for a terminal,
    or as the page in HTML or text.
    """
    from ioopt.advice import page
    from ioopt.advice.verdict import answer, wrapped_answer

    command = shlex.join(["ioopt", *sys.argv[1:]])
    if form == "json":
        return dump_json(advice.document(answer(advice), command))
    if output in (None, "-"):
        told = [*wrapped_answer(advice, terminal_width()), "", MORE]
        return "\n".join(told) + "\n"
    parts = list(page.parts(advice, command))
    if _is_page(output):
        return page.as_html(advice, parts)
    return page.as_text(advice, parts, terminal_width())


def _processes(question: Question) -> int:
    """Return the number of processes if none is stated."""
    from ioopt.advice.study import LONG_LOG

    return usable_cores() if len(question.trace.jobs) >= LONG_LOG else 1


def _machine(words: tuple[str, ...]) -> MachineRule:
    """Return the machine that *words*, the values of the option ``--machine``,
    describe.

    Raises UsageError for keys of a queue that are typed on the command line, because
    the user would expect an effect. Such keys are allowed in a file, because several
    commands may read the same file.
    """
    queue = {field.alias or name for name, field in QueueOptions.model_fields.items()}
    for word in words:
        if "=" not in word:
            continue
        for key, value in parse_assignments(word.split(","), "--machine").items():
            if key in queue:
                raise UsageError(
                    f"--machine {key}=...: every job starts at the time in the log, "
                    "so advise simulates no queue; leave the key out"
                )
            if key in RATES and value.strip().isdigit() and len(value.strip()) < BARE:
                raise UsageError(
                    f"--machine {key}={value} has no unit and would be {value} B/s: "
                    f"write {value}GB/s, {value}MB/s or {value}B/s"
                )
    rule: MachineRule = batch_machine(words)["machine"]
    return rule


TRIED = {
    "io_fraction": "1 to 30 % are tried",
    "io_period": "30 min to 4 h are tried",
}
"""What happens without an option of TRACE; import takes the defaults of TRACE."""
for _option in advise.params:
    if isinstance(_option, click.Option) and _option.name in TRIED:
        _option.show_default = TRIED[_option.name]
