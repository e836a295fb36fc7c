"""``ioopt measure``: run the measurements of Lee et al. (quantum models, perturbations
and message counts), which decide nothing.
"""

import time
from typing import Any

import click

from ioopt import registry
from ioopt.cli import options
from ioopt.cli.lazy import IooptCommand, Seconds, quiet, set_option
from ioopt.cli.options import PATH, seed_option
from ioopt.errors import UsageError
from ioopt.families import MeasuredKind
from ioopt.formats.native import dump_json, write_text
from ioopt.loading import load
from ioopt.options import DEFAULT_TIME_LIMIT_SECONDS, Deadline, parse_settings
from ioopt.plot.page import check_target, save
from ioopt.tables import render, say, terminal_width
from ioopt.units import column, quantity, title

EPILOG = """\b
Examples:
  ioopt measure quantum-figure-2 --plot figure-2.png
  ioopt measure quantum-ties --set engine=event
  ioopt measure perturbation-table-1 --seed 3 -o slopes.json
  ioopt measure gangedness-table-3 --set threshold=0.2 --format json
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@options.file_argument()
@set_option("A setting, such as engine=event; may be given again.")
@seed_option
@click.option(
    "--time-limit",
    type=Seconds(),
    default=DEFAULT_TIME_LIMIT_SECONDS,
    metavar="S",
    help="Time limit in seconds; a note says what was left out.",
)
@click.option(
    "--plot",
    "picture",
    metavar="OUT",
    type=PATH,
    help="Draw it to OUT.png, .svg, .pdf or .html.",
)
@options.output_option(text="Write everything found there as JSON.", json=True)
@options.format_option("table", "json")
def measure(
    file: str,
    settings: dict[str, str],
    seed: int,
    time_limit: float,
    picture: str | None,
    output: str | None,
    form: str,
) -> None:
    """Measure FILE: a quantum-model, perturbation or message-counts instance."""
    if picture is not None:
        check_target(picture)
    problem = load(file)
    kind = registry.format_of_problem(problem)
    if not isinstance(kind, MeasuredKind):
        raise UsageError(
            f"{file}: {kind.kind} instances are solved, not measured: ioopt solve FILE"
        )
    chosen = parse_settings(kind.settings_class(), settings, kind.kind)
    begun = time.monotonic()
    found = kind.measure(problem, chosen, seed, Deadline(time_limit))
    document = {
        "format": "ioopt/measurement",
        "version": 1,
        "instance": problem.name,
        "kind": kind.kind,
        "settings": chosen.model_dump(mode="json"),
        "seed": seed,
        "seconds": time.monotonic() - begun,
        "notes": found.notes,
        "metrics": found.metrics,
        **found.found.model_dump(mode="json"),
    }
    if picture is not None:
        save(kind.plot(found.found, problem.name), picture)
    if output is not None:
        write_text(output, dump_json(document))
    if output != "-":
        click.echo(dump_json(document) if form == "json" else _table(found), nl=False)
    if not quiet():
        for note in found.notes:
            say(f"note: {note}")


def _table(found: Any) -> str:
    """Return the measurements as text: a table with one row for each point or
    application, then a table of totals.
    """
    columns = [
        column(name, [row[name] for row in found.rows]) for name in found.rows[0]
    ]
    width = terminal_width()
    rows = render(
        [title(name) for name in found.rows[0]], [*zip(*columns)], width=width, wrap=1
    )
    whole = [
        (title(name), quantity(name, value)) for name, value in found.metrics.items()
    ]
    return f"{rows}\n{render(('of all', 'value'), whole, width=width)}"
