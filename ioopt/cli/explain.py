"""``ioopt explain``: five sentences on a plan, and what a little more of each resource would bring."""

from dataclasses import asdict

import click

from ioopt import registry
from ioopt.cli.lazy import IooptCommand, Seconds
from ioopt.cli.options import PATH, file_argument, format_option, read_result, watching
from ioopt.errors import ExitCode
from ioopt.pictures import result_to_draw
from ioopt.quantities import column, title
from ioopt.solving import load
from ioopt.tables import render, terminal_width

EPILOG = """\b
Examples:
  ioopt solve flow-groups -o result.json
  ioopt explain flow-groups result.json --time-limit 10
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@file_argument()
@click.argument("result", type=PATH)
@click.option("--time-limit", type=Seconds(), default=5.0, metavar="S",
              help="Seconds for each solve with more of one resource.")  # fmt: skip
@format_option("table", "json")
def explain(file: str, result: str, time_limit: float, form: str) -> int:
    """Say why the plan of RESULT is as it is: times, waste, bound, the resource that would help most.

    The solver of RESULT runs once more on FILE as it is and once for each resource with 10 % more
    of it.
    """
    from ioopt import explaining
    from ioopt.formats.native import dump_json

    problem = load(file)
    kind = registry.kind_of_problem(problem)
    solved = result_to_draw(read_result(result, kind), result)
    with watching(f"{problem.name}: one solve a resource", None):
        found = explaining.explain(problem, solved, time_limit=time_limit)
    if form == "json":
        click.echo(dump_json(asdict(found)), nl=False)
        return ExitCode.ANSWER
    for sentence in found.sentences:
        # A number stays beside its percent sign.
        text = click.wrap_text(sentence.replace(" %", "\0%"), terminal_width())
        click.echo(text.replace("\0%", " %"))
    both = [knob.value for knob in found.knobs] + [knob.bound for knob in found.knobs]
    cells = column(found.measure, both)
    values, bounds = cells[: len(found.knobs)], cells[len(found.knobs) :]
    names = [knob.resource or "(as it is)" for knob in found.knobs]
    click.echo()
    headers = ("10 % more of", title(found.measure), "bound")
    click.echo(render(headers, list(zip(names, values, bounds))), nl=False)
    return ExitCode.ANSWER
