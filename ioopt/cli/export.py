"""``ioopt export``: write integer programs as LP or MPS files, and instances as
WfFormat or Batsim files.
"""

from typing import Any

import click

from ioopt import registry
from ioopt.cli.lazy import IooptGroup, WritingCommand, quiet, set_option
from ioopt.cli.options import PATH, file_argument, output_option, read_result
from ioopt.errors import UsageError
from ioopt.families import Kind
from ioopt.formats.batsim.workload import export_batsim, jobs_csv
from ioopt.formats.native import dump_json, reading, write_text
from ioopt.formats.wfformat.export import export_wfformat, left_out
from ioopt.loading import load

MODEL_EPILOG = """\b
Examples:
  ioopt export FORM cycle3 -o cycle3.FORM
  ioopt export FORM cycle3 --set cycles=printed -o printed.FORM
  ioopt export FORM cycle3 --model allocation -o allocation.FORM
"""


@click.group(cls=IooptGroup)
def export_group() -> None:
    """Write the integer program of an instance, or the instance itself, for other
    programs.
    """


def _model(form: str) -> None:
    @export_group.command(
        name=form,
        cls=WritingCommand,
        epilog=MODEL_EPILOG.replace("FORM", form),
        help=f"The integer program of FILE in {form.upper()} format.",
    )
    @file_argument()
    @output_option(required=True)
    @set_option("A switch of the model, such as cycles=printed or k=2.")
    @click.option(
        "--model",
        metavar="NAME",
        help="Which model, if FILE has several; default: the first of its kind.",
    )
    def export(
        file: str, output: str, settings: dict[str, str], model: str | None
    ) -> None:
        from ioopt.exchange import export_model

        problem, _ = _exported(file, form)
        unsolvable = export_model(problem, output, form, settings, model)
        if unsolvable is not None and not quiet():
            said = f"the program has no solution: {unsolvable}"
            click.echo(f"ioopt: warning: {file}: {said}", err=True)


_model("lp")
_model("mps")


@export_group.command(
    name="batsim",
    help="A batch-io instance as a Batsim workload, or a result's jobs as CSV.",
)
@file_argument()
@click.argument("result", metavar="[RESULT]", required=False, type=PATH)
@output_option(required=True)
def batsim(file: str, result: str | None, output: str) -> None:
    """Write the workload and its profiles as JSON. With a RESULT, write its jobs as the
    CSV file _jobs.csv that Batsim would write.
    """
    problem, kind = _exported(file, "batsim")
    if result is None:
        write_text(output, dump_json(export_batsim(problem)))
        return
    schedule = read_result(result, kind).get("schedule")
    if not schedule:
        raise UsageError(f"{result} holds no schedule")
    with reading(result):
        text = jobs_csv(problem, schedule)
    write_text(output, text)


@export_group.command(
    name="wfformat", help="A replication instance as a WfFormat 1.5 workflow."
)
@file_argument()
@output_option(required=True)
def wfformat(file: str, output: str) -> None:
    """Write the workflow; name on standard error the data that the format cannot
    express.
    """
    problem, _ = _exported(file, "wfformat")
    document = export_wfformat(problem)
    if not quiet():
        said = ", ".join(left_out(problem))
        click.echo(
            f"ioopt: warning: {file}: WfFormat has no place for: {said}", err=True
        )
    write_text(output, dump_json(document))


def _exported(file: str, form: str) -> tuple[Any, Kind]:
    """Return the instance in *file* and its kind; raise UsageError when it cannot be
    exported as *form*.
    """
    problem = load(file)
    kind = registry.kind_of_problem(problem)
    if form not in kind.exports:
        able = [row.kind for row in registry.KINDS.values() if form in row.exports]
        raise UsageError(
            f"{file} is {kind.kind}; {form} export takes {', '.join(able)}"
        )
    return problem, kind
