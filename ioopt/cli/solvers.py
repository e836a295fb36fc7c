"""``ioopt solvers``: what there is, for which kind, from which paper, with which settings."""

from __future__ import annotations

from typing import Any

import click

from ioopt import registry
from ioopt.cli.lazy import IooptCommand
from ioopt.cli.options import format_option
from ioopt.errors import ExitCode, UsageError
from ioopt.registry import SolverSpec, load_target
from ioopt.tables import render


@click.command(cls=IooptCommand)
@click.option("--family", metavar="F", help="Only solvers of this family or kind.")
@format_option("table", "json")
def solvers(family: str | None, form: str) -> int:
    """List the solvers; JSON also gives settings, abilities and backends."""
    from ioopt.formats.native import dump_json

    chosen = [spec for spec in registry.SOLVERS if family is None or _belongs(spec, family)]
    if not chosen:
        known = [*registry.families(), *registry.KINDS]
        raise UsageError(f"no family {family!r}; {registry.suggest(str(family), known)}")
    if form == "json":
        click.echo(dump_json([describe(spec) for spec in chosen]), nl=False)
        return ExitCode.ANSWER
    rows = [
        (
            spec.name,
            ", ".join(spec.kinds),
            spec.source,
            ", ".join(spec.backends) or None,
            spec.summary,
        )
        for spec in chosen
    ]
    click.echo(render(("solver", "takes", "source", "backends", "what it does"), rows), nl=False)
    return ExitCode.ANSWER


def _belongs(spec: SolverSpec, family: str) -> bool:
    return any(family in (kind, registry.KINDS[kind].family) for kind in spec.kinds)


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
        "fixed": dict(spec.fixed), "settings": settings,
    }  # fmt: skip
