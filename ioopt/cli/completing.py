"""What the shell offers for a word: bundled instances and files, solvers, families, presets."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
PATH = click.Path()
"""A file to read or write: the shell completes its name, and nothing is checked here."""


def _offer(rows: Iterable[tuple[str, str]], begun: str) -> list[CompletionItem]:
    return [CompletionItem(name, help=text) for name, text in rows if name.startswith(begun)]


def instances(
    context: click.Context, parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Names of bundled instances; the shell adds files where none fits."""
    from ioopt.catalog import entries

    return _offer(((name, row["kind"]) for name, row in entries().items()), begun)


def files(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Files, and names of bundled instances."""
    return [CompletionItem(begun, type="file"), *instances(context, parameter, begun)]


def solvers(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Solvers; where FILE is a bundled instance only those that take it."""
    from ioopt import registry
    from ioopt.catalog import entries

    # The option that is being typed has no value yet, so what stands before it is not parsed.
    kinds = {entries()[name]["kind"] for name in context.args if name in entries()}
    rows = [row for row in registry.SOLVERS if not kinds or kinds & {*row.kinds}]
    return _offer({row.name: row.summary for row in rows}.items(), begun)


def families(
    context: click.Context, parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Families, and kinds of instances."""
    from ioopt import registry

    names = dict.fromkeys([*registry.families(), *registry.KINDS])
    return _offer(((name, "") for name in names), begun)


def presets(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Presets of the family given, else of all."""
    from ioopt import registry

    given = {*context.args}
    kinds = [row for row in registry.KINDS.values() if not given or given & {row.family, row.kind}]
    return _offer(((name, row.kind) for row in kinds for name in row.presets), begun)
