"""``ioopt simulate``: replay a plan on the timeline simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ioopt import registry
from ioopt.cli.lazy import IooptCommand
from ioopt.cli.options import (
    file_argument,
    format_option,
    output_option,
    read_result,
)
from ioopt.errors import ExitCode, UsageError
from ioopt.protocols import Simulation
from ioopt.quantities import quantity, title
from ioopt.solving import load, plan_of
from ioopt.solving import simulate as replay
from ioopt.tables import render, terminal_width

EPILOG = """\b
Examples:
  ioopt simulate image.json result.json
  ioopt simulate image.json result.json --link per-node --format json
  ioopt simulate image.json result.json --timeline trace.json   (open it in Perfetto)
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@file_argument()
@click.argument("result")
@click.option("--link", type=click.Choice(["shared", "per-node"]),
              help="Replay with this remote link instead of the instance's own.")  # fmt: skip
@click.option(
    "--timeline", metavar="OUT", help="Write the timeline: OUT.json (Trace Events) or .csv."
)
@output_option(text="Write the replay there as JSON.")
@format_option("table", "json")
def simulate(
    file: str, result: str, link: str | None, timeline: str | None, output: str | None, form: str
) -> int:
    """Replay the plan of RESULT on FILE and print what happened.

    Of a replication plan only `plan.order` and `plan.eviction` are needed.
    """
    from ioopt.formats.native import dump_json, reading, write_text

    problem = load(file)
    kind = registry.kind_of_problem(problem)
    if link is not None and kind.family != "replication":
        raise UsageError(f"--link belongs to replication instances, and {file} is {kind.kind}")
    plan = plan_of(kind, read_result(result, kind).get("plan"), result)
    with reading(result):
        replayed = replay(problem, plan, **({"link": link} if link else {}))
    document = {
        "format": "ioopt/simulation", "version": 1, "instance": problem.name,
        "family": kind.family, "metrics": dict(replayed.metrics), "schedule": replayed.schedule,
    }  # fmt: skip
    if timeline is not None:
        _write_timeline(replayed, timeline)
    if output is not None:
        write_text(output, dump_json(document))
    if output != "-":
        click.echo(dump_json(document) if form == "json" else _table(replayed.metrics), nl=False)
    return ExitCode.ANSWER


def _table(metrics: Any) -> str:
    cells = [(title(name), quantity(name, value)) for name, value in metrics.items()]
    return render(("metric", "value"), cells, width=terminal_width(), wrap=1)


def _write_timeline(replayed: Simulation, target: str) -> None:
    from ioopt.formats.native import write_text
    from ioopt.formats.trace_events import timeline_csv, trace_events_json

    if replayed.timeline is None:
        raise UsageError("this kind of instance has no timeline to write")
    ending = Path(target).suffix
    writers = {".json": trace_events_json, ".csv": timeline_csv}
    if ending not in writers:
        raise UsageError(f"--timeline {target}: the name must end in .json or .csv, not {ending!r}")
    write_text(target, writers[ending](replayed.timeline))
