"""``ioopt advise``: which I/O policy would help whom on the jobs of a log, on one page."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ioopt.cli.imports.common import batch_machine, machine_option
from ioopt.cli.imports.logs import TRACE, import_swf
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
@click.option("--io-fraction", type=float, default=0.1, metavar="F",
              help="Mean share of run time that is I/O, of jobs without a log; half and twice it "
              "are tried too.")  # fmt: skip
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
def advise(log: str, output: str | None, form: str, threads: int, **given: Any) -> int:
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
    words = _words(click.get_current_context())
    with reading(log):
        question = _question(log, given)
        with counting("simulating", transient=True) as show:
            advice = study.advise(
                question, threads=threads, progress=lambda done, total: show(done, total, "")
            )
    commands = _commands(log, words, question, advice)
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


def _question(log: str, given: Json) -> Question:
    from ioopt.advice.study import POLICIES, Question
    from ioopt.formats.darshan.io import read_darshan_logs
    from ioopt.formats.io_rule import IoRule
    from ioopt.formats.swf.log import read_swf

    darshan, skipped = read_darshan_logs(given["logs"]) if given["logs"] else ([], [])
    return Question(
        read_swf(log), tuple(darshan), tuple(skipped), **batch_machine(given["machine"]),
        io=IoRule(given["io_fraction"], given["io_period"], given["seed"]),
        requested_size=given["size"] == "requested",
        max_jobs=given["jobs"], solvers=given["solvers"] or POLICIES, draws=given["draws"],
        resamples=given["resamples"],
    )  # fmt: skip


def _words(context: click.Context) -> dict[str, list[str]]:
    """The options on the command line by name, as they would be typed again."""
    found: dict[str, list[str]] = {}
    for option in context.command.params:
        name = option.name or ""
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if isinstance(option, click.Option) and given and name in context.params:
            value = context.params[name]
            values = value if option.multiple else [value]
            found[name] = [
                word
                for each in values
                for word in (option.opts[0], *([] if option.is_flag else [str(each)]))
            ]
    return found


def _commands(log: str, words: dict[str, list[str]], question: Question, advice: Json) -> list[str]:
    """What to type for the instance and the comparison that the advice rests on, and for itself."""
    from ioopt.formats.report import file_name

    stem = file_name(log).removesuffix(".gz").removesuffix(".swf")
    known = {option.name for option in import_swf.params}
    shared = [
        word
        for name, typed in words.items()
        if name in known and name != "output"
        for word in typed
    ]
    compared = [f"--solver={name}" for name in (advice["baseline"], *question.solvers)]
    limit = ["--time-limit", "600", "--baseline", advice["baseline"]]
    make = ["ioopt", "import", "swf", log, *shared, "--io-fraction", str(question.io.fraction)]
    asked = [
        word for name, typed in words.items() if name not in ("output", "form") for word in typed
    ]
    return [
        shlex.join([*make, "-o", f"{stem}.json"]),
        shlex.join(["ioopt", "compare", f"{stem}.json", *compared, *limit]),
        shlex.join(["ioopt", "advise", log, *asked, "-o", f"{stem}.html"]),
    ]
