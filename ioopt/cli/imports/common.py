"""What the import commands share: machine and queue options, and how they end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ioopt.cli.lazy import IooptCommand, quiet
from ioopt.errors import ExitCode

if TYPE_CHECKING:
    from ioopt.formats.io_rule import MachineRule

F = TypeVar("F", bound=Callable[..., Any])


class ImportCommand(IooptCommand):
    """A command whose sources can hold values that no instance may have: an error in one line."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what it raises for such a value becomes an InstanceError."""
        from ioopt.formats.native import reading

        source = ctx.params.get("source") or ", ".join(ctx.params["sources"])
        with reading(source):
            return super().invoke(ctx)


def machine_options(function: F) -> F:
    """--nodes, --processors-per-node, --unit-nodes, --allocation, --node-rate, --storage-rate."""
    for option in reversed(
        [
            click.option("--nodes", type=click.IntRange(min=1), metavar="N",
                         help="Nodes of the machine (default: what the source says)."),
            click.option("--processors-per-node", type=click.IntRange(min=1), default=1,
                         show_default=True, metavar="N",
                         help="Processors (or processes) of the source to a node."),
            click.option("--unit-nodes", type=click.IntRange(min=1), default=1,
                         show_default=True, metavar="N", help="Nodes of an allocation unit."),
            click.option("--allocation", type=click.Choice(["flat", "partition"]), default="flat",
                         show_default=True, help="How nodes are handed out."),
            click.option("--node-rate", metavar="RATE",
                         help="I/O rate of a node, such as 31.25MB/s (the default)."),
            click.option("--storage-rate", metavar="RATE",
                         help="Rate of the storage (default: 250/1536 of all nodes' rates)."),
        ]
    ):  # fmt: skip
        function = option(function)
    return function


def queue_options(function: F) -> F:
    """--kill, --queue and --backfill, as in the instance's ``options``."""
    for option in reversed(
        [
            click.option("--kill", is_flag=True, help="End jobs at their walltime."),
            click.option("--queue", type=click.Choice(["wfp", "fcfs"]), default="wfp",
                         show_default=True, help="Order of the batch queue."),
            click.option("--backfill", type=click.Choice(["easy", "none"]), default="easy",
                         show_default=True, help="Backfill of the batch queue."),
        ]
    ):  # fmt: skip
        function = option(function)
    return function


def rule_of(machine: Mapping[str, Any]) -> MachineRule:
    """The :class:`MachineRule` that the options of :func:`machine_options` describe."""
    from ioopt.formats.io_rule import MachineRule
    from ioopt.units import parse_rate

    node, storage = machine["node_rate"], machine["storage_rate"]
    return MachineRule(
        nodes=machine["nodes"],
        processors_per_node=machine["processors_per_node"],
        unit_nodes=machine["unit_nodes"],
        allocation=machine["allocation"],
        node_bytes_per_second=None if node is None else parse_rate(node),
        storage_bytes_per_second=None if storage is None else parse_rate(storage),
    )


def finish(problem: Any, output: str) -> int:
    """Say on standard error what ``meta.warnings`` says, write the instance, return the exit code."""
    from ioopt.formats.native import dump_json, write_text
    from ioopt.provenance import warnings_of

    if not quiet():
        for text in warnings_of(problem):
            click.echo(f"ioopt: warning: {text}", err=True)
    write_text(output, dump_json(problem.model_dump(mode="json", by_alias=True)))
    return ExitCode.ANSWER
