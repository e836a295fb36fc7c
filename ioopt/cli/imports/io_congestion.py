"""``ioopt import io-congestion``: a set of periodic applications as a batch-io instance."""

from __future__ import annotations

from typing import Any

import click

from ioopt.cli.imports.common import import_command, target_option

EPILOG = """\b
Example:
  ioopt import io-congestion set11 --periods 50 -o set11.json
"""


@import_command("io-congestion", EPILOG)
@click.argument("source", metavar="SOURCE")
@click.option("--periods", type=click.IntRange(min=1), default=20, metavar="N",
              help="Periods of the longest application.")  # fmt: skip
@target_option
def import_io_congestion(source: str, periods: int) -> Any:
    """Make a batch-io instance of the applications in SOURCE (seconds, GB, processors a line)."""
    from ioopt.formats.io_congestion import batch_io_from_set, read_set

    return batch_io_from_set(read_set(source), source, periods=periods)
