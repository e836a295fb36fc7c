"""``ioopt import estee``: task graphs of the simulator Estee."""

from __future__ import annotations

from typing import Any

import click

from ioopt.cli.imports.common import cluster_options, import_command, target_option

EPILOG = """\b
Examples:
  ioopt import estee pegasus.zip --graph montage --nodes 4 --cores 4 --remote-rate 16MB/s -o montage.json
  ioopt import estee elementary.zip --graph 3 --actual triplets-actual.json -o triplets.json
"""


@import_command("estee", EPILOG)
@click.argument("source")
@click.option(
    "--graph", metavar="NAME|N", help="Which graph of the file: its name, or its place from 0."
)
@click.option("--keep", is_flag=True, help="Save what no task reads to remote storage.")
@click.option("--actual", metavar="FILE",
              help="Write {task: seconds} of tasks that took other than expected.")  # fmt: skip
@cluster_options
@target_option
def import_estee(
    source: str, graph: str | None, keep: bool, actual: str | None, machine: Any
) -> Any:
    """Make a replication instance from a graph of an Estee data set (JSON, also zipped).

    Expected durations are planned with where the file has them; what differs goes to --actual.
    """
    from ioopt.formats.estee.instance import read_estee
    from ioopt.formats.native import dump_json, write_text

    problem, seconds = read_estee(source, graph, machine, keep)
    if actual is not None:
        write_text(actual, dump_json(seconds))
    return problem
