"""``ioopt solvers``: what there is, by family, from which paper, with which settings."""

from collections.abc import Sequence
from typing import Any

import click

from ioopt import registry
from ioopt.cli.lazy import IooptCommand
from ioopt.cli.options import format_option
from ioopt.errors import ExitCode, UsageError
from ioopt.registry import SolverSpec, load_target
from ioopt.tables import render, terminal_width

EPILOG = """\b
Examples:
  ioopt solvers
  ioopt solvers replication --all
  ioopt solvers --format json
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@click.argument("name", metavar="[FAMILY]", required=False)
@click.option("--family", metavar="F", help="The same as FAMILY: a family or a kind of instance.")
@click.option("--all", "everything", is_flag=True, help="Variants too (such as cons-fcfs+top).")
@format_option("table", "json")
def solvers(name: str | None, family: str | None, everything: bool, form: str) -> int:
    """List the solvers by family; JSON also gives settings, abilities and backends."""
    from ioopt.formats.native import dump_json

    wanted = name or family
    chosen = [spec for spec in registry.SOLVERS if wanted is None or _belongs(spec, wanted)]
    if not chosen:
        known = [*registry.families(), *registry.KINDS]
        raise UsageError(f"no family {wanted!r}; {registry.suggest(str(wanted), known)}")
    if form == "json":
        click.echo(dump_json([describe(spec) for spec in chosen]), nl=False)
        return ExitCode.ANSWER
    click.echo(_tables(chosen, everything), nl=False)
    return ExitCode.ANSWER


def _belongs(spec: SolverSpec, family: str) -> bool:
    return any(family in (kind, registry.KINDS[kind].family) for kind in spec.kinds)


def _tables(chosen: Sequence[SolverSpec], everything: bool) -> str:
    """One table for each set of kinds that solvers take, then what is not shown."""
    groups: dict[tuple[str, ...], list[SolverSpec]] = {}
    for spec in chosen:
        groups.setdefault(spec.kinds, []).append(spec)
    parts = []
    for kinds, specs in groups.items():
        shown = [spec for spec in specs if everything or spec.variant_of is None]
        rows = [(spec.name, spec.summary, spec.source) for spec in shown]
        headers = ("solver", "what it does", "source")
        parts.append(_heading(kinds) + render(headers, rows, width=terminal_width(), wrap=2))
    hidden = sum(spec.variant_of is not None for spec in chosen)
    if hidden and not everything:
        parts.append(f"{hidden} variants more: --all\n")
    return "\n".join(parts)


def _heading(kinds: Sequence[str]) -> str:
    family = registry.KINDS[kinds[0]].family
    takes = "" if kinds == (family,) else f", for {' and '.join(kinds)} instances"
    defaults = dict.fromkeys(registry.KINDS[kind].default_solver for kind in kinds)
    return f"{family}{takes} (default: {', '.join(defaults)})\n"


def describe(spec: SolverSpec) -> dict[str, Any]:
    """A solver as plain data: abilities, backends, and the name, type and default of its settings."""
    settings = {}
    if spec.settings is not None:
        properties = load_target(spec.settings).model_json_schema().get("properties", {})
        for key, value in properties.items():
            settings[key] = {part: value[part] for part in value if part != "title"}
    return {
        "name": spec.name, "kinds": spec.kinds, "summary": spec.summary, "source": spec.source,
        "abilities": sorted(spec.abilities), "backends": spec.backends,
        "fixed": dict(spec.fixed), "variant_of": spec.variant_of, "settings": settings,
    }  # fmt: skip
