"""``ioopt import wfformat``: a workflow, or a batch of tasks, from a workflow trace."""

from __future__ import annotations

from typing import Any

import click

from ioopt.cli.imports.common import cluster_options, import_command, target_option

EPILOG = """\b
Examples:
  ioopt import wfformat montage.json --nodes 4 --cores 4 --disk 33% -o montage-flow.json
  ioopt import wfformat genome.json --select level=0-2 --link per-node -o first-levels.json
  ioopt import wfformat montage.json --select program=mProject --flatten -o project-batch.json
"""


@import_command("wfformat", EPILOG)
@click.argument("source")
@click.option("--select", default="all", metavar="WHICH",
              help="all, ready (tasks that wait for none), level=N or N-M, or program=NAME.")  # fmt: skip
@click.option("--flatten", is_flag=True,
              help="Independent tasks: drop precedence, what tasks write, and cores.")  # fmt: skip
@cluster_options
@target_option
def import_wfformat(source: str, select: str, flatten: bool, machine: Any) -> Any:
    """Make a replication instance from a WfFormat 1.4 or 1.5 workflow.

    Files become inputs and outputs with their sizes, run times compute seconds; what nobody reads
    is to be kept. What was odd about the file, dropped or invented is said on standard error and
    kept in the instance's meta.
    """
    from ioopt.formats.wfformat.instance import read_wfformat

    return read_wfformat(source, select, machine, flatten)
