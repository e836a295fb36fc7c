"""``ioopt check``: is the instance valid, is the plan feasible, is what it states true?"""

import click

from ioopt import registry
from ioopt.cli.lazy import IooptCommand
from ioopt.cli.options import PATH, file_argument, library_option, read_result
from ioopt.errors import ExitCode
from ioopt.formats.native import reading
from ioopt.solving import load

EPILOG = """\b
Examples:
  ioopt check image.json
  ioopt check image.json result.json
  ioopt check image.json replay.json --link per-node
"""


SUBMIT_EPILOG = """\b
Examples:
  ioopt instances best
  ioopt solve image-16x3 --solver link-aware --time-limit 60 -o result.json
  ioopt submit image-16x3 result.json
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
    kind = registry.kind_of_problem(problem)
    if result is None:
        click.echo(f"{file}: valid {kind.format} instance {problem.name!r}")
        return ExitCode.ANSWER
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


@click.command(cls=IooptCommand, epilog=SUBMIT_EPILOG)
@file_argument()
@click.argument("result", type=PATH)
@library_option
def submit(file: str, result: str, library: str | None) -> int:
    """Check the plan in RESULT and, when it beats the best known of FILE, write it to the library.

    FILE is an instance file or a name of `ioopt instances best`. The plan is checked and replayed;
    what RESULT states about itself counts for nothing. A plan that is not better is refused.
    """
    from ioopt.campaign import library as known

    entry = known.entry_of(file, library)
    data = read_result(result, registry.KINDS[entry.kind])
    with reading(result):
        changed, found = known.submit(entry, data, result, library)
    for violation in found:
        click.echo(str(violation))
    if found:
        return ExitCode.VIOLATIONS
    click.echo(
        f"{entry.name}: {entry.measure} {changed.best.best:.9g}, was {entry.best.best:.9g}; "
        f"written to {known.writable_folder(library)}"
    )
    return ExitCode.ANSWER
