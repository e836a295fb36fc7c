"""``ioopt schema``: the JSON Schema of every format, from the classes that read it."""

from typing import Any

import click

from ioopt import registry
from ioopt.cli.lazy import IooptCommand
from ioopt.errors import ExitCode, UsageError
from ioopt.registry import load_target

RESULT = "ioopt.result:Result"


@click.command(cls=IooptCommand)
@click.argument("name", required=False)
def schema(name: str | None) -> int:
    """Print the JSON Schema of NAME; without NAME, list the names.

    NAME is an instance kind, KIND-plan, KIND-schedule, or result.
    """
    from ioopt.formats.native import dump_json

    targets = schema_targets()
    if name is None:
        click.echo("\n".join(targets))
        return ExitCode.ANSWER
    short = name.removeprefix("ioopt/")
    if short not in targets:
        raise UsageError(f"no schema {name!r}; {registry.suggest(short, targets)}")
    click.echo(dump_json(json_schema(targets[short])), nl=False)
    return ExitCode.ANSWER


def schema_targets() -> dict[str, str]:
    """Schema name -> class, for all instance kinds, their plans and schedules, and results."""
    targets = {spec.kind: spec.problem for spec in registry.KINDS.values()}
    for part in ("plan", "schedule"):
        forms = {f"{spec.kind}-{part}": getattr(spec, part) for spec in registry.KINDS.values()}
        targets |= {name: form for name, form in forms.items() if form is not None}
    return targets | {"result": RESULT}


def json_schema(target: str) -> dict[str, Any]:
    """JSON Schema (2020-12) of a pydantic class given as ``module:name``; ``format`` is required."""
    document: dict[str, Any] = load_target(target).model_json_schema(by_alias=True)
    if "format" in document.get("properties", {}):
        document["required"] = ["format", *document.get("required", [])]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **document}
