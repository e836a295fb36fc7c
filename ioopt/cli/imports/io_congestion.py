"""``ioopt import io-congestion``: a set of periodic applications as a batch-io instance."""

from __future__ import annotations

import click

from ioopt.cli.imports.common import ImportCommand, finish
from ioopt.cli.options import output_option

EPILOG = """\b
Example:
  ioopt import io-congestion set11 --periods 50 -o set11.json
"""


@click.command(name="io-congestion", cls=ImportCommand, epilog=EPILOG)
@click.argument("source", metavar="SOURCE")
@click.option("--periods", type=click.IntRange(min=1), default=20, show_default=True, metavar="N",
              help="Periods of the longest application.")  # fmt: skip
@output_option(required=True, text="Where to write the instance.")
def import_io_congestion(source: str, periods: int, output: str) -> int:
    """Make a batch-io instance of the applications in SOURCE (seconds, GB, processors a line)."""
    from ioopt.formats.io_congestion import batch_io_from_set, read_set

    made = batch_io_from_set(read_set(source), source, periods=periods)
    return finish(made.problem, output)
