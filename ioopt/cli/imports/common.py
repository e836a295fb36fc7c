"""What the import commands share: machine and queue options, and how they end."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from ioopt.cli.lazy import IooptCommand, quiet, rate_option, together
from ioopt.cli.options import output_option
from ioopt.errors import ExitCode

target_option = output_option(required=True, text="Where to write the instance.")
Function = Callable[..., Any]


def import_command(name: str, epilog: str) -> Callable[[Function], click.Command]:
    """Make a command of a function from SOURCE to a problem, which is written where -o says.

    What ``meta.warnings`` says is said on standard error too. Sources can hold values that no
    instance may have: what is raised for them becomes an InstanceError.
    """

    def decorate(make: Function) -> click.Command:
        @click.command(name=name, cls=IooptCommand, epilog=epilog)
        @wraps(make)
        def command(output: str, **given: Any) -> int:
            from ioopt.formats.native import dump_json, reading, write_text
            from ioopt.provenance import warnings_of

            with reading(given.get("source") or ", ".join(given["sources"])):
                problem = make(**given)
            if not quiet():
                for text in warnings_of(problem):
                    click.echo(f"ioopt: warning: {text}", err=True)
            write_text(output, dump_json(problem.model_dump(mode="json", by_alias=True)))
            return ExitCode.ANSWER

        return command

    return decorate


def machine_options(command: Function) -> Function:
    """The machine and its batch queue; the command gets them as ``machine``, a rule, and ``options``."""

    @wraps(command)
    def gathered(**given: Any) -> Any:
        from ioopt.formats.io_rule import MachineRule

        options = {name: given.pop(name) for name in ("kill", "queue", "backfill")}
        names = MachineRule.__dataclass_fields__
        machine = MachineRule(**{name: given.pop(name) for name in names})
        return command(machine=machine, options=options, **given)

    return together(
        click.option("--nodes", type=click.IntRange(min=1), metavar="N",
                     help="Nodes of the machine (default: what the source says)."),
        click.option("--processors-per-node", type=click.IntRange(min=1), default=1, metavar="N",
                     help="Processors (or processes) of the source to a node."),
        click.option("--unit-nodes", type=click.IntRange(min=1), default=1, metavar="N",
                     help="Nodes of an allocation unit."),
        click.option("--allocation", type=click.Choice(["flat", "partition"]), default="flat",
                     help="How nodes are handed out."),
        rate_option("--node-rate", "node_bytes_per_second",
                    text="I/O rate of a node, such as 31.25MB/s (the default)."),
        rate_option("--storage-rate", "storage_bytes_per_second",
                    text="Rate of the storage (default: 250/1536 of all nodes' rates)."),
        click.option("--kill", is_flag=True, help="End jobs at their walltime."),
        click.option("--queue", type=click.Choice(["wfp", "fcfs"]), default="wfp",
                     help="Order of the batch queue."),
        click.option("--backfill", type=click.Choice(["easy", "none"]), default="easy",
                     help="Backfill of the batch queue."),
    )(gathered)  # fmt: skip


def cluster_options(command: Function) -> Function:
    """The cluster that a workflow runs on; the command gets it as ``machine``."""

    @wraps(command)
    def gathered(**given: Any) -> Any:
        from ioopt.formats.cluster import Machine
        from ioopt.options import parse_settings

        taken = {name: given.pop(name) for name in Machine.model_fields}
        stated = {name: value for name, value in taken.items() if value is not None}
        machine = parse_settings(Machine, stated, "import")
        return command(machine=machine, **given)

    return together(
        click.option("--nodes", default="4", metavar="N", help="Compute nodes."),
        click.option("--cores", metavar="N",
                     help="Cores of a node (default: those that the widest task takes)."),
        click.option("--disk", default="unlimited", metavar="SIZE",
                     help="Disk of a node: 500MB, unlimited, or 33% of the distinct bytes."),
        click.option("--remote-rate", default="12.5MB/s", metavar="RATE",
                     help="Rate of the remote link."),
        click.option("--replica-rate", default="1GB/s", metavar="RATE",
                     help="Rate of a node's network interface."),
        click.option("--link", type=click.Choice(["shared", "per-node"]), default="shared",
                     help="One remote link for all nodes, or one each."),
        click.option("--speed", default="1", metavar="X",
                     help="Speed of the nodes relative to the traced machine."),
    )(gathered)  # fmt: skip
