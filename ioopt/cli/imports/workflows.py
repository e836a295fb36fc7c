"""``ioopt import`` of workflows: WfFormat, Estee, SAGA, Nextflow, work directories."""

from typing import Any

import click

from ioopt.cli.budget import (
    read_recorded,
    reads_all_option,
    reads_own_option,
    recorded,
    task_cpus_option,
)
from ioopt.cli.imports.common import cluster, import_command
from ioopt.cli.options import skip_bad_option
from ioopt.formats.cluster import Machine
from ioopt.formats.estee.instance import read_estee
from ioopt.formats.native import dump_json, write_text
from ioopt.formats.nextflow.trace import (
    ALL_FILES,
    OWN_BYTES,
    Columns,
    read_nextflow_trace,
)
from ioopt.formats.saga.instance import read_saga
from ioopt.formats.wfformat.instance import read_wfformat
from ioopt.problems.replication import ReplicationProblem
from ioopt.problems.work_directory import WorkDirectoryProblem

WFFORMAT = """\b
Examples:
  ioopt import wfformat montage.json --machine nodes=4,disk=33% -o montage-flow.json
  ioopt import wfformat genome.json --machine cluster.toml -o genome-flow.json
  ioopt import wfformat montage.json --flatten -o montage-batch.json
"""
ESTEE = """\b
Examples:
  ioopt import estee pegasus.zip --graph montage --machine nodes=4 -o montage.json
  ioopt import estee elementary.zip --graph 3 --actual actual.json -o triplets.json
"""
SAGA = "Example: ioopt import saga graph.json --machine nodes=4,disk=1GB -o fft.json"
NEXTFLOW = """\b
Examples:
  ioopt import nextflow-trace trace.txt -o tasks.json
  ioopt import nextflow-trace trace.txt --dag dag.html --machine nodes=4 -o flow.json
"""


@import_command("wfformat", WFFORMAT, machine=cluster)
@click.option("--select", type=click.Choice(["all"]), hidden=True, expose_value=False)
@click.option(
    "--flatten",
    is_flag=True,
    help="Make independent tasks: drop precedence, outputs of tasks, and cores.",
)
def import_wfformat(source: str, flatten: bool, machine: Machine) -> ReplicationProblem:
    """Make a replication instance from a WfFormat 1.4, 1.5 or 1.6 workflow.

    Files become inputs and outputs with their sizes, and run times become compute
    seconds; outputs that no task reads are to be kept. Data that were unusual, dropped
    or assumed are listed on standard error and in the instance's meta. The machines in
    the file become the nodes unless --machine describes others.
    """
    return read_wfformat(source, machine, flatten)


@import_command("estee", ESTEE, machine=cluster)
@click.option(
    "--graph",
    metavar="NAME|N",
    help="The graph to read from the file: its name, or its position from 0 on.",
)
@click.option(
    "--keep", is_flag=True, help="Save files that no task reads to remote storage."
)
@click.option(
    "--actual",
    metavar="FILE",
    help="Write {task: seconds} for tasks that did not take the expected time.",
)
def import_estee(
    source: str, graph: str | None, keep: bool, actual: str | None, machine: Machine
) -> ReplicationProblem:
    """Make a replication instance from a graph of an Estee data set (JSON or zip).

    Tasks get their expected durations if the file states them. Actual durations that
    differ from the expected ones are written to the file given by --actual.
    """
    problem, seconds = read_estee(source, graph, machine, keep)
    if actual is not None:
        write_text(actual, dump_json(seconds))
    return problem


@import_command("saga", SAGA, machine=cluster)
def import_saga(source: str, machine: Machine) -> ReplicationProblem:
    """Make a replication instance from a task graph of SAGA, such as DAGBench's.

    A cost of 1 becomes 1 s at speed 1, and a size of 1 becomes 1 MB. The network in the
    file is not used.
    """
    return read_saga(source, machine)


@import_command("nextflow-trace", NEXTFLOW, machine=cluster)
@click.option(
    "--dag",
    metavar="FILE",
    help="The run's DAG, from -with-dag: dag.html, dag.mmd or dag.dot.",
)
@click.option(
    "--read",
    type=click.Choice(["rchar", "read_bytes"]),
    default="rchar",
    help="Column of bytes read (rchar or read_bytes); the column of bytes written "
    "follows from it.",
)
@skip_bad_option
@reads_all_option
@reads_own_option
@task_cpus_option
def import_nextflow_trace(
    source: str,
    dag: str | None,
    read: Columns,
    machine: Machine,
    skip_bad: float | None,
    reads_all: tuple[str, ...],
    reads_own: tuple[str, ...],
    task_cpus: dict[str, int],
) -> ReplicationProblem:
    """Make a replication instance from a Nextflow trace (tabs, commas or semicolons).

    A trace has byte counts, but neither files nor edges. Each task therefore gets one
    input of the bytes that it read and one output of the bytes that it wrote. A DAG has
    edges between processes, not between tasks. A task therefore waits for those tasks
    of the earlier process that have its tag, or for all of them if none has.
    Assumptions are printed to standard error. A task is taken to read all files of the
    tasks before it, unless it asked for fewer bytes: it is then taken to read none of
    them, as in ioopt budget and validate. --reads-all and --reads-own state what it
    reads.
    """
    stated = {ALL_FILES: reads_all, OWN_BYTES: reads_own}
    return read_nextflow_trace(
        source, dag, machine, read, skip_bad, stated=stated, task_cpus=task_cpus
    )


WORK_DIRECTORY = """\b
Examples:
  ioopt import work-directory montage.json --cores 64 --quota 2TB -o directory.json
  ioopt import work-directory trace.txt --dag dag.html --quota 500GB -o directory.json
"""


@import_command("work-directory", WORK_DIRECTORY)
@recorded
def import_work_directory(source: str, **told: Any) -> WorkDirectoryProblem:
    """Make a work-directory instance from a WfFormat workflow or a Nextflow trace.

    Outputs that no task reads are assumed to be moved out of the directory once they
    are written. `ioopt budget` takes the same options.
    """
    return read_recorded(source, **told)
