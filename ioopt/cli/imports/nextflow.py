"""``ioopt import nextflow-trace``: the trace of a Nextflow run, with its DAG if given."""

from __future__ import annotations

from typing import Any

import click

from ioopt.cli.imports.common import cluster_options, import_command, target_option

EPILOG = """\b
Examples:
  ioopt import nextflow-trace trace.txt -o tasks.json
  ioopt import nextflow-trace trace.txt --dag dag.dot --nodes 4 --cores 16 --disk 200GB -o flow.json
"""


@import_command("nextflow-trace", EPILOG)
@click.argument("source")
@click.option("--dag", metavar="FILE", help="The run's DAG, from -with-dag dag.dot or dag.mmd.")
@click.option("--read", type=click.Choice(["rchar", "read_bytes"]), default="rchar",
              help="Column of the bytes read; the bytes written are its counterpart.")  # fmt: skip
@cluster_options
@target_option
def import_nextflow_trace(source: str, dag: str | None, read: Any, machine: Any) -> Any:
    """Make a replication instance from a Nextflow trace (tabs or commas).

    A trace names neither files nor edges: each task gets one product and one input of the bytes
    that it wrote and read. A DAG joins processes, not tasks: tasks of one tag wait for each other,
    else a task for all of the earlier process. All that is invented is said.
    """
    from ioopt.formats.nextflow.trace import read_nextflow_trace

    return read_nextflow_trace(source, dag, machine, read)
