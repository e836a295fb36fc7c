"""``ioopt compare``: exact against heuristic on one or more instances, in one table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from ioopt import registry
from ioopt.cli.lazy import IooptCommand, quiet
from ioopt.cli.options import (
    file_argument,
    format_option,
    output_option,
    read_problem,
    solver_options,
)
from ioopt.cli.progress import watching
from ioopt.comparing import Row, compare_rows, default_solvers
from ioopt.errors import ExitCode, UsageError
from ioopt.options import parse_assignments
from ioopt.registry import KindSpec
from ioopt.result import Status
from ioopt.tables import percent, render

EPILOG = """\b
Examples:
  ioopt compare cycle3
  ioopt compare blast.json --solver ip --solver minmin --time-limit 20
  ioopt compare a.json b.json c.json --baseline minmin --format markdown
  ioopt compare trace.json --solver adaptive --solver fill:alpha=0 --plot bars.png
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@file_argument(nargs=-1, required=True)
@click.option("--solver", "solvers", metavar="NAME", multiple=True,
              help="A solver, or NAME:KEY=VALUE,... with settings; may be given again.")  # fmt: skip
@solver_options
@click.option("--baseline", metavar="NAME",
              help="With several FILEs: also print mean ratios to this solver and their errors.")  # fmt: skip
@click.option("--plot", "picture", metavar="OUT", help="Draw bars to OUT.png, .svg or .html.")
@output_option(text="Write the table there instead of standard output.")
@format_option("table", "json", "csv", "markdown")
def compare(
    file: tuple[str, ...],
    solvers: tuple[str, ...],
    backend: str | None,
    time_limit: float,
    threads: int,
    seed: int,
    gap: float | None,
    settings: tuple[str, ...],
    log: str | None,
    baseline: str | None,
    picture: str | None,
    output: str | None,
    form: str,
) -> int:
    """Solve every FILE with every solver; check and simulate each answer; print one table."""
    from ioopt.formats.native import write_text

    problems = [read_problem(source) for source in file]
    kind = _one_kind(problems, file)
    names = solvers or default_solvers(kind)
    if baseline is not None and baseline not in names:
        raise UsageError(f"--baseline {baseline!r} is not among the solvers: {', '.join(names)}")
    if baseline is None and len(problems) > 1 and kind.baseline in names:
        baseline = kind.baseline
    rows: list[Row] = []
    for problem in problems:
        with watching(f"{problem.name}: {len(names)} solvers", None) as listener:
            rows += compare_rows(
                problem, names, settings=parse_assignments(settings), time_limit=time_limit,
                gap=gap, threads=threads, seed=seed, backend=backend, log=log, progress=listener,
            )  # fmt: skip
    if picture is not None:
        _draw(rows, kind, picture)
    write_text(output or "-", render_rows(rows, kind, form, baseline))
    if not quiet():
        _tell(rows)
    return _exit_code(rows)


def _one_kind(problems: Sequence[Any], names: Sequence[str]) -> KindSpec:
    kinds = [registry.kind_of_problem(problem) for problem in problems]
    for kind, name in zip(kinds, names):
        if kind is not kinds[0]:
            raise UsageError(
                f"{name} is {kind.kind} but {names[0]} is {kinds[0].kind}; "
                "one comparison takes one kind"
            )
    return kinds[0]


def render_rows(rows: list[Row], kind: KindSpec, form: str, baseline: str | None = None) -> str:
    """The comparison in one of its forms; JSON is the contract's ``ioopt/comparison``."""
    from ioopt.formats.native import dump_json

    if form == "json":
        document: dict[str, Any] = {"format": "ioopt/comparison", "version": 1, "rows": rows}
        if baseline is not None:
            document["ratios"] = [
                dict(zip(RATIO_HEADERS, row)) for row in _ratios(rows, kind, baseline)
            ]
        return dump_json(document)
    headers, cells = comparison_table(rows, kind, raw=form == "csv")
    text = render(headers, cells, form)  # type: ignore[arg-type]
    if baseline is not None and form != "csv":
        ratios = _ratios(rows, kind, baseline)
        text += "\n" + render(RATIO_HEADERS, ratios, form)  # type: ignore[arg-type]
    return text


def comparison_table(
    rows: Sequence[Row], kind: KindSpec, raw: bool = False
) -> tuple[list[str], list[list[Any]]]:
    """Headers and cells: objective, bound, gap, the kind's metrics, ratio, time; *raw* for programs."""
    shown = list(kind.compare_columns)
    if raw:
        shown = list(dict.fromkeys(key for row in rows for key in row["metrics"]))
    split = kind.ratio_metric in shown and not raw
    first = [kind.ratio_metric] if split else []
    rest = [name for name in shown if name not in first]
    names = {row["objective_name"] for row in rows}
    headers = ["instance", "solver", "status", "objective", "bound", "gap", *first, "ratio", *rest]
    headers = [*headers, "seconds"] if len(names) <= 1 else [*headers, "seconds", "objective is"]
    cells = []
    for row in rows:
        metrics = row["metrics"]
        line = [row["instance"], row["solver"], row["status"], row["objective"], row["bound"]]
        line += [row["gap"] if raw else percent(row["gap"])]
        line += [metrics.get(name) for name in first]
        line += [row["ratio_to_best"] if raw else _ratio_text(row["ratio_to_best"])]
        line += [metrics.get(name) for name in rest]
        line += [_seconds(row)]
        cells.append(line if len(names) <= 1 else [*line, row["objective_name"]])
    return headers, cells


def _ratio_text(value: float | None) -> str | None:
    return None if value is None else f"{value:.4f}"


def _seconds(row: Row) -> float | None:
    parts = [row["build_seconds"], row["solve_seconds"]]
    known = [part for part in parts if part is not None]
    return round(sum(known), 3) if known else None


RATIO_HEADERS = ("solver", "metric", "mean_ratio", "standard_error", "pairs")


def _ratios(rows: list[Row], kind: KindSpec, baseline: str) -> list[tuple[Any, ...]]:
    from ioopt.metrics import paired_ratios

    metrics = list(dict.fromkeys([kind.objective_name, *kind.compare_columns]))
    return [
        (found.solver, found.metric, found.mean, found.standard_error, found.pairs)
        for found in paired_ratios(rows, baseline, metrics)
    ]


def _draw(rows: list[Row], kind: KindSpec, target: str) -> None:
    from ioopt.plot.compare import plot_comparison
    from ioopt.plot.save import save

    save(plot_comparison(rows, kind.ratio_metric), target)


def _tell(rows: Sequence[Row]) -> None:
    for row in rows:
        for note in row["notes"]:
            print(f"note: {row['instance']}: {row['solver']}: {note}", file=sys.stderr)
        for violation in row["violations"]:
            line = f"{violation['rule']}: {violation['item']}: {violation['message']}"
            print(f"violation: {row['instance']}: {row['solver']}: {line}", file=sys.stderr)


def _exit_code(rows: Sequence[Row]) -> int:
    if any(row["violations"] for row in rows):
        return ExitCode.VIOLATIONS
    if any(row["stop"] == "interrupted" for row in rows):
        return ExitCode.INTERRUPTED
    failed = [row for row in rows if row["status"] == "error"]
    if all(row["status"] == Status.NOT_APPLICABLE for row in rows):
        return ExitCode.USAGE
    if failed:
        return int(failed[0]["options"].get("exit_code", ExitCode.INTERNAL))
    return ExitCode.ANSWER
