"""``ioopt instances``: the bundled instances, their provenance and best known values."""

import os
from collections.abc import Mapping
from typing import Any

import click

from ioopt.catalog import bundled, entries
from ioopt.cli.lazy import IooptCommand, IooptGroup
from ioopt.cli.options import format_option, output_option
from ioopt.errors import ExitCode, UsageError
from ioopt.quantities import quantity
from ioopt.tables import render, terminal_width


@click.group(cls=IooptGroup, invoke_without_command=True)
@click.pass_context
def instances(context: click.Context) -> None:
    """List, show and copy the bundled instances; any command takes their names as FILE."""
    if context.invoked_subcommand is None:
        context.invoke(list_)


@instances.command(name="list", cls=IooptCommand)
@format_option("table", "json")
def list_(form: str = "table") -> int:
    """List all of them: kind, best objective, bound, what they show."""
    from ioopt.formats.native import dump_json

    if form == "json":
        click.echo(dump_json(list(entries().values())), nl=False)
        return ExitCode.ANSWER
    headers = ("name", "kind", "best known", "what it shows")
    rows = [
        (entry["name"], entry["kind"], _best(entry), _short(entry.get("why")))
        for entry in entries().values()
    ]
    click.echo(render(headers, rows, width=terminal_width(), wrap=1), nl=False)
    return ExitCode.ANSWER


def _best(entry: Mapping[str, Any]) -> str | None:
    """The best known objective with its unit, and whether a bound proves it."""
    value, bound = entry.get("best_objective"), entry.get("bound")
    if value is None:
        return None
    return quantity(entry["objective"], value) + (", proven" if value == bound else "")


def _short(text: str | None) -> str | None:
    """Text cut to a line or two; `ioopt instances show NAME` has all of it."""
    return f"{text[:69]}..." if text is not None and len(text) > 72 else text


@instances.command(cls=IooptCommand)
@click.argument("name")
def show(name: str) -> int:
    """Show what is known about NAME."""
    from ioopt.formats.native import dump_json

    click.echo(dump_json(bundled(name)), nl=False)
    return ExitCode.ANSWER


@instances.command(cls=IooptCommand)
@click.argument("name")
@output_option(text="Where to (default: its own file name in this folder).")
def copy(name: str, output: str | None) -> int:
    """Copy the file of NAME; an existing file is not overwritten."""
    from ioopt.formats.native import read_bytes, replacing

    source = bundled(name)["path"]
    target = output or os.path.basename(source)
    if os.path.exists(target):
        raise UsageError(f"{target}: exists already; choose another name with -o")
    with open(source, "rb") as stream, replacing(target, "wb") as out:
        out.write(read_bytes(source) if target.endswith(".gz") else stream.read())
    click.echo(target)
    return ExitCode.ANSWER
