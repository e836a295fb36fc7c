"""``ioopt plot``: the picture that fits a result or a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from ioopt import registry
from ioopt.cli.lazy import IooptCommand
from ioopt.cli.options import output_option
from ioopt.errors import ExitCode, InstanceError, UsageError
from ioopt.registry import load_target

EPILOG = """\b
Examples:
  ioopt plot result.json -o gantt.png
  ioopt plot comparison.json -o bars.html
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@click.argument("result")
@output_option(required=True, text="OUT.png, .svg, .pdf or .html.")
def plot(result: str, output: str) -> int:
    """Draw RESULT: a Gantt chart, bandwidth, matrix or bars, whatever fits its family."""
    from ioopt.formats.native import read_json
    from ioopt.plot.save import check_target, save

    check_target(output)
    data = read_json(result)
    if not isinstance(data, Mapping):
        raise InstanceError(f"{result}: a result is a JSON object, not {type(data).__name__}")
    save(_axes(data, result), output)
    return ExitCode.ANSWER


def _axes(data: Mapping[str, Any], name: str) -> Any:
    if data.get("format") == "ioopt/comparison":
        from ioopt.plot.compare import plot_comparison

        rows = data["rows"]
        kinds = [registry.KINDS.get(row.get("kind") or row["family"]) for row in rows]
        metric = kinds[0].ratio_metric if kinds and kinds[0] else "objective"
        return plot_comparison(rows, metric)
    from ioopt.solving import result_from_dict

    result = result_from_dict(data, name)
    kind = registry.KINDS.get(result.kind or result.family)
    if kind is None or kind.plot is None:
        raise UsageError(f"{name}: there is no picture for {result.kind or result.family}")
    if result.schedule is None and result.plan is None:
        raise UsageError(f"{name}: the result holds neither plan nor schedule to draw")
    return load_target(kind.plot)(result)
