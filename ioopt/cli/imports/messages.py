"""``ioopt import messages``: message counts for the gangedness monitor from CSV."""

from __future__ import annotations

from typing import Any

import click

from ioopt.cli.imports.common import import_command, target_option

EPILOG = """\b
Examples:
  ioopt import messages counts.csv --processors 16 -o counts.json
  ioopt solve counts.json --solver gangedness

\b
The CSV file has a heading with ganged, running and messages, and perhaps application; one row is
one processor in one quantum. With columns quantum and processor (from 0), and all processors in each
quantum, the recording is kept as one in time.
"""


@import_command("messages", EPILOG)
@click.argument("source", metavar="SOURCE")
@click.option(
    "--processors", type=click.IntRange(min=2), default=4, metavar="P", help="Processes of a gang."
)
@click.option("--name", metavar="NAME", help="Name of the instance (default: the file's).")
@target_option
def import_messages(source: str, processors: int, name: str | None) -> Any:
    """Make a message-counts instance of the CSV file SOURCE (also .gz, or -)."""
    from ioopt.formats.message_counts import read_message_counts

    return read_message_counts(source, processors, name)
