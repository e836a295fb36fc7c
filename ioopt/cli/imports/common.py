"""What the import commands share: SOURCE and -o, machine and cluster options, and how they end."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ioopt.cli.lazy import IooptCommand, quiet, rate_option, together
from ioopt.cli.options import PATH, output_option
from ioopt.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from ioopt.problems.base import Problem

Reader = Callable[..., "Problem | dict[str, Any]"]
"""From the values of a command's arguments and options to the instance, or to several by label."""


class Shared(NamedTuple):
    """Options of several commands, and how their values become fewer arguments of the reader."""

    options: Callable[[Callable[..., int]], Callable[..., int]]
    gather: Callable[[dict[str, Any]], Mapping[str, Any]]


def import_command(
    name: str, epilog: str, *, shared: Shared | None = None, several: bool = False
) -> Callable[[Reader], click.Command]:
    """Make a command of a reader of ``source`` (or *several* ``sources``); -o says where to write.

    What ``meta.warnings`` says is said on standard error too. Sources can hold values that no
    instance may have: what is raised for them becomes an InstanceError.
    """

    def decorate(reader: Reader) -> click.Command:
        def run(output: str, **given: Any) -> int:
            from ioopt.formats.native import dump_json, reading, write_text
            from ioopt.provenance import warnings_of

            if shared is not None:
                given |= shared.gather(given)
            with reading(", ".join(given["sources"]) if several else given["source"]):
                made = reader(**given)
            several_made = made if isinstance(made, dict) else {"": made}
            said = dict.fromkeys(
                text for problem in several_made.values() for text in warnings_of(problem)
            )
            if not quiet():
                for text in said:
                    click.echo(f"ioopt: warning: {text}", err=True)
            for label, problem in several_made.items():
                text = dump_json(problem.model_dump(mode="json", by_alias=True))
                write_text(_labelled(output, label), text)
            return ExitCode.ANSWER

        # click lists the options that were added last first: the reader's own stand in the middle.
        target = output_option(required=True, text="Where to write the instance.")
        command = target(run) if shared is None else shared.options(target(run))
        own = getattr(reader, "__click_params__", [])
        command = wraps(reader, updated=())(command)
        command.__click_params__ += own  # type: ignore[attr-defined]
        if several:
            source = click.argument(
                "sources", metavar="SOURCE...", nargs=-1, required=True, type=PATH
            )
        else:
            source = click.argument("source", metavar="SOURCE", type=PATH)
        return click.command(name=name, cls=IooptCommand, epilog=epilog)(source(command))

    return decorate


def _labelled(output: str, label: str) -> str:
    """*output* with the label before its ending: month.json.gz becomes month-0.1.json.gz."""
    if not label:
        return output
    if output == "-":
        raise UsageError("several instances need a file each: give -o FILE")
    return re.sub(r"((\.json)?(\.gz)?)$", rf"-{label}\1", output, count=1)


QUEUE: dict[str, tuple[str, ...]] = {
    "queue": ("Order of the batch queue.", "wfp", "fcfs", "sjf", "plan"),
    "backfill": ("Backfill of the batch queue.", "easy", "conservative", "none"),
    "reservation": ("EASY on a flat machine: reserve a count or numbered nodes.", "count", "nodes"),
    "plan": ("Conservative: keep boxes, or make them anew.", "keep", "rebuild"),
    "estimate": ("How long a waiting job is taken to run.", "walltime", "uncongested"),
    "pass": ("Look at the queue once an instant, or after every event.", "instant", "event"),
    "backfill_order": ("EASY: order behind the first that does not fit.", "queue", "sjf"),
}
"""What is said of each option of the queue, and its values; the first is the default."""


def _machine(given: dict[str, Any]) -> dict[str, Any]:
    from ioopt.formats.io_rule import MachineRule

    options = {name: given.pop(name) for name in ("kill", *QUEUE)}
    # Keys that older files lack stand only where they are not the default, which is the first.
    for name, (_, *values) in list(QUEUE.items())[2:]:
        if options[name] == values[0]:
            del options[name]
    machine = MachineRule(**{name: given.pop(name) for name in MachineRule.__dataclass_fields__})
    return {"machine": machine, "options": options}


MACHINE = Shared(
    together(
        click.option("--nodes", type=click.IntRange(min=1), metavar="N",
                     help="Nodes of the machine (default: what the source says)."),
        click.option("--processors-per-node", type=click.IntRange(min=1), default=1, metavar="N",
                     help="Processors (or processes) of the source per node."),
        click.option("--unit-nodes", type=click.IntRange(min=1), default=1, metavar="N",
                     help="Nodes of an allocation unit."),
        click.option("--allocation", type=click.Choice(["flat", "partition"]), default="flat",
                     help="How nodes are handed out."),
        rate_option("--node-rate", "node_bytes_per_second",
                    text="I/O rate of a node, such as 31.25MB/s (the default)."),
        rate_option("--storage-rate", "storage_bytes_per_second",
                    text="Rate of the storage (default: 250/1536 of all nodes' rates)."),
        click.option("--kill", is_flag=True, help="End jobs at their walltime."),
        *(
            click.option(f"--{name.replace('_', '-')}", name, type=click.Choice(values),
                         default=values[0], help=text)
            for name, (text, *values) in QUEUE.items()
        ),
    ),
    _machine,
)  # fmt: skip
"""The machine and its batch queue; the reader gets them as ``machine``, a rule, and ``options``."""


def _cluster(given: dict[str, Any]) -> dict[str, Any]:
    from ioopt.formats.cluster import Machine
    from ioopt.options import parse_settings

    taken = {name: given.pop(name) for name in Machine.model_fields}
    stated = {name: value for name, value in taken.items() if value is not None}
    return {"machine": parse_settings(Machine, stated, "import")}


CLUSTER = Shared(
    together(
        click.option("--nodes", show_default="4", metavar="N", help="Compute nodes."),
        click.option("--cores", metavar="N",
                     help="Cores of a node (default: those that the widest task takes)."),
        click.option("--disk", show_default="unlimited", metavar="SIZE",
                     help="Disk of a node: 500MB, unlimited, or 33% of the distinct bytes."),
        click.option("--remote-rate", show_default="12.5MB/s", metavar="RATE",
                     help="Rate of the remote link."),
        click.option("--replica-rate", show_default="1GB/s", metavar="RATE",
                     help="Rate of a node's network interface."),
        click.option("--link", type=click.Choice(["shared", "per-node"]), show_default="shared",
                     help="One remote link for all nodes, or one each."),
        click.option("--speed", show_default="1", metavar="X",
                     help="Speed of the nodes relative to the traced machine."),
    ),
    _cluster,
)  # fmt: skip
"""The cluster that a workflow runs on; the reader gets it as ``machine``."""
