"""``ioopt advise``: which I/O policy would help whom on the jobs of a log, on one page."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ioopt.cli.imports.common import batch_machine, machine_option
from ioopt.cli.imports.logs import TRACE, import_swf, read_trace
from ioopt.cli.lazy import IooptCommand, quiet
from ioopt.cli.options import PATH, counting, format_option, output_option, solver_option
from ioopt.errors import ExitCode, UsageError
from ioopt.problems.base import Json

if TYPE_CHECKING:
    from ioopt.advice.study import Question

EPILOG = """\b
Examples:
  ioopt advise KTH-SP2.swf -o page.html
  ioopt advise KTH-SP2.swf --darshan logs/ --machine node_rate=1GB/s,storage_rate=5GB/s -o page.html
  ioopt advise month.swf.gz --io-fraction 0.2 --threads 2 --solver fill --solver adaptive
  ioopt advise month.swf --format json -o month.json

\b
Without -o the page goes to standard output as text; -o page.html also prints the answer in five
lines. LOG is read as by `ioopt import swf`.
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@click.argument("log", metavar="LOG", type=PATH)
@output_option(text="Write the page there: .html; else a table, or JSON with --format json.")
@TRACE
@machine_option
@solver_option("solvers", multiple=True,
               text="A policy to look at, or NAME:KEY=VALUE,...; may be given again.")  # fmt: skip
@click.option("--draws", type=click.IntRange(min=1), default=1, metavar="N",
              help="Number of random drawings of the invented I/O.")  # fmt: skip
@click.option("--resamples", type=click.IntRange(min=100), default=1000, metavar="N",
              help="Resamples of weeks for the intervals.")  # fmt: skip
@click.option("--threads", type=click.IntRange(min=1), default=1, metavar="N",
              help="Processes that simulate at the same time.")  # fmt: skip
@format_option("table", "json")
def advise(
    log: str,
    output: str | None,
    form: str,
    threads: int,
    machine: tuple[str, ...],
    solvers: tuple[str, ...],
    draws: int,
    resamples: int,
    **trace: Any,
) -> int:
    """Say from the job log LOG which I/O policy would help whom, and how sure that is."""
    from ioopt.advice import page, study
    from ioopt.formats.native import dump_json, reading, write_text
    from ioopt.tables import terminal_width

    html = output is not None and output.lower().endswith((".html", ".htm"))
    if html and form == "json":
        raise UsageError(f"-o {output} is a page: give --format json a name that ends in .json")
    if log == "-":
        raise UsageError(
            "LOG must be a file, not -: the commands that repeat the advice read it again"
        )
    with reading(log):
        question = study.Question(
            **read_trace(log, **trace, **batch_machine(machine)),
            solvers=solvers or study.POLICIES, draws=draws, resamples=resamples,
        )  # fmt: skip
        with counting("simulating", transient=True) as show:
            advice = study.advise(
                question, threads=threads, progress=lambda done, total: show(done, total, "")
            )
    commands = _commands(log, question, advice)
    found = list(page.parts(advice, commands))
    if form == "json":
        text = dump_json({**advice, "answer": page.answer(advice), "commands": commands})
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
    return ExitCode.ANSWER


def _commands(log: str, question: Question, advice: Json) -> list[str]:
    """What to type for the instance and the comparison that the advice rests on, and for itself."""
    from ioopt.formats.report import file_name

    context = click.get_current_context()
    own = {option.name: option for option in context.command.params if option.name != "log"}

    def typed(names: Iterable[str | None]) -> list[str]:
        """Those of the options that were given, as they would be typed again."""
        given = [
            (own[name].opts[0], context.params[name])
            for name in names
            if name in own and name in context.params
            and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        ]  # fmt: skip
        values = ((word, x) for word, x in given for x in (x if isinstance(x, tuple) else [x]))
        return [text for word, value in values for text in (word, str(value))]

    stem = file_name(log).removesuffix(".gz").removesuffix(".swf")
    made, page = ["-o", f"{stem}.json"], ["-o", f"{stem}.html"]
    compared = [f"--solver={name}" for name in (advice["baseline"], *question.solvers)]
    limit = ["--time-limit", "600", "--baseline", advice["baseline"]]
    shared = typed(option.name for option in import_swf.params if option.name != "output")
    asked = typed(name for name in own if name not in ("output", "form"))
    return [
        shlex.join(["ioopt", "import", "swf", log, *shared, *made]),
        shlex.join(["ioopt", "compare", f"{stem}.json", *compared, *limit]),
        shlex.join(["ioopt", "advise", log, *asked, *page]),
    ]
