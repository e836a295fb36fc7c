"""``ioopt check``: is the instance valid, is the plan feasible, is what it states true?"""

import click

from ioopt import registry
from ioopt.cli.lazy import IooptCommand
from ioopt.cli.options import PATH, file_argument, read_result
from ioopt.errors import ExitCode
from ioopt.formats.native import reading
from ioopt.solving import load

EPILOG = """\b
Examples:
  ioopt check image.json
  ioopt check image.json result.json
  ioopt check image.json replay.json --link per-node
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@file_argument()
@click.argument("result", required=False, type=PATH)
@click.option("--link", type=click.Choice(["shared", "per-node"]),
              help="Judge a schedule that was made with this remote link.")  # fmt: skip
def check(file: str, result: str | None, link: str | None) -> int:
    """Check FILE; with RESULT also its plan, its schedule and everything it states.

    One line a violation. Metrics that nothing recomputes are named on standard error.
    """
    from ioopt.checking import judge, require_servable

    problem = load(file)
    require_servable(problem)
    if result is None:
        form = registry.format_of_problem(problem).format
        click.echo(f"{file}: valid {form} instance {problem.name!r}")
        return ExitCode.ANSWER
    kind = registry.kind_of_problem(problem)
    data = read_result(result, kind)
    with reading(result):
        found, left = judge(problem, data, result, link)
    for violation in found:
        click.echo(str(violation))
    if left:
        click.echo(f"{result}: not recomputed: {', '.join(left)}", err=True)
    if found:
        return ExitCode.VIOLATIONS
    click.echo(f"{result}: no violation")
    return ExitCode.ANSWER
