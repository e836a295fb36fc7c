"""``ioopt plot``: the picture that fits a result or a comparison, or one picture of a run store."""

import os
from collections.abc import Mapping
from typing import Any

import click

from ioopt import registry
from ioopt.cli.lazy import IooptCommand
from ioopt.cli.options import PATH, output_option
from ioopt.errors import ExitCode, InstanceError, UsageError

EPILOG = """\b
Examples:
  ioopt plot result.json -o gantt.png
  ioopt plot result.json --picture gantt -o jobs.svg
  ioopt plot minmin.json ours.json -o beside.png     (Gantt charts on one scale)
  ioopt plot replay.json -o replay.png          (of `ioopt simulate -o`)
  ioopt plot comparison.json -o bars.html
  ioopt plot runs.sqlite --picture profile -o profile.svg
  ioopt plot runs.sqlite --picture ratios -o ratios.png
  ioopt plot runs.sqlite --picture against --label tasks -o load.png
  ioopt plot runs.sqlite --picture gantt --run 3fa1 -o gantt.html
"""
SQLITE = b"SQLite format 3\x00"


@click.command(cls=IooptCommand, epilog=EPILOG)
@click.argument("results", metavar="RESULT...|RUNS.sqlite", nargs=-1, required=True, type=PATH)
@output_option(required=True, text="OUT.png, .svg, .pdf or .html.")
@click.option("--picture", metavar="NAME",
              help="Of a result: default or gantt. Of a store: profile (default), ratios, against, "
              "or one of a stored run.")  # fmt: skip
@click.option("--kind", metavar="KIND", help="Of a store: the kind of instance.")
@click.option("--label", metavar="SETTING", help="Of a store: the swept setting of `against`.")
@click.option("--run", metavar="KEY", help="Of a store: the run, by the beginning of its key.")
@click.option("--measure", metavar="NAME", help="Of a store: what its runs are compared by.")
def plot(
    results: tuple[str, ...],
    output: str,
    picture: str | None,
    kind: str | None,
    label: str | None,
    run: str | None,
    measure: str | None,
) -> int:
    """Draw RESULT: a Gantt chart, bandwidth, matrix or bars, whatever fits its family.

    Of several results: their Gantt charts on one scale of time. Of a run store: one picture of its
    report.
    """
    from ioopt.formats.native import read_json, reading
    from ioopt.plot.save import check_target, save

    check_target(output)
    if len(results) > 1:
        return _beside(results, output, [picture, kind, label, run, measure])
    (result,) = results
    if _is_store(result):
        from ioopt.campaign.report import PROFILE, draw_store

        with reading(result):
            axes = draw_store([result], picture or PROFILE, kind, label, run, measure)
        save(axes, output)
        return ExitCode.ANSWER
    if kind or label or run or measure:
        raise UsageError(f"{result}: --kind, --label, --run and --measure belong to run stores")
    data = read_json(result)
    if not isinstance(data, Mapping):
        raise InstanceError(f"{result}: a result is a JSON object, not {type(data).__name__}")
    with reading(result):
        axes = _axes(data, result, picture)
    save(axes, output)
    return ExitCode.ANSWER


def _beside(names: tuple[str, ...], output: str, options: list[str | None]) -> int:
    """Draw the Gantt charts of several results."""
    from ioopt.formats.native import read_json
    from ioopt.pictures import draw_beside, result_to_draw
    from ioopt.plot.save import save

    if any(options):
        raise UsageError("several results are drawn as Gantt charts; leave out the other options")
    save(draw_beside([result_to_draw(read_json(name), name) for name in names]), output)
    return ExitCode.ANSWER


def _is_store(path: str) -> bool:
    if not os.path.isfile(path):
        return False  # what a FIFO holds can be read once; the reader of results says the rest
    try:
        with open(path, "rb") as stream:
            return stream.read(len(SQLITE)) == SQLITE
    except OSError:
        return False


def _axes(data: Mapping[str, Any], name: str, picture: str | None) -> Any:
    """The picture of a comparison or of a result in JSON."""
    if data.get("format") == "ioopt/comparison":
        from ioopt.comparing.picture import plot_comparison
        from ioopt.formats.native import validate
        from ioopt.registry import measure_of
        from ioopt.result import Comparison, measured

        if picture is not None:
            raise UsageError(f"{name}: a comparison has one picture; leave out --picture")
        document = validate(Comparison, data, name)
        first = document.rows[0]
        kind = registry.KINDS.get(first.kind or first.family)
        given = document.measure or (measure_of(kind).name if kind else "objective")
        rows = [
            row.model_dump(mode="json")
            | {"value": measured(row.__dict__, given)}
            | ({} if row.objective_name == given else {"bound": None})
            for row in document.rows
        ]
        return plot_comparison(rows, given, document.baseline)
    from ioopt.pictures import DEFAULT, draw_result, result_to_draw

    result = result_to_draw(data, name)
    try:
        return draw_result(result, picture or DEFAULT)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None
