"""``ioopt import wfformat``: a batch of tasks from a workflow trace."""

from __future__ import annotations

from typing import Any

import click

from ioopt.cli.imports.common import import_command, target_option
from ioopt.options import parse_settings

EPILOG = """\b
Examples:
  ioopt import wfformat blast.json --select all --nodes 4 -o blast-batch.json
  ioopt import wfformat montage.json --select program=mProject --disk 500MB -o project.json
  ioopt import wfformat genome.json --select level=1 --disk 33% --link per-node -o level1.json
"""


@import_command("wfformat", EPILOG)
@click.argument("source")
@click.option("--select", default="all", metavar="WHICH",
              help="all, ready (tasks that wait for none), level=N, or program=NAME.")  # fmt: skip
@click.option("--nodes", default="4", metavar="N", help="Compute nodes.")
@click.option("--disk", default="unlimited", metavar="SIZE",
              help="Disk of a node: 500MB, unlimited, or 33% of the distinct bytes read.")  # fmt: skip
@click.option("--remote-rate", default="12.5MB/s", metavar="RATE", help="Rate of the remote link.")
@click.option(
    "--replica-rate", default="1GB/s", metavar="RATE", help="Rate of a node's network interface."
)
@click.option("--link", type=click.Choice(["shared", "per-node"]), default="shared",
              help="One remote link for all nodes, or one each.")  # fmt: skip
@click.option(
    "--speed", default="1", metavar="X", help="Speed of the nodes relative to the traced machine."
)
@target_option
def import_wfformat(source: str, select: str, **machine: str) -> Any:
    """Make a replication instance from a WfFormat 1.4 or 1.5 workflow.

    The files that the chosen tasks read become inputs with their sizes, run times become compute
    seconds. What was odd about the file is said on standard error and kept in the instance's meta.
    """
    from ioopt.formats.wfformat.instance import Machine, read_wfformat

    return read_wfformat(source, select, parse_settings(Machine, machine, "import wfformat"))
