"""``ioopt compare``: run several solvers on one or more instances and compare them in
one table by one measure.
"""

from collections.abc import Sequence
from typing import cast

import click

from ioopt import registry
from ioopt.cli import options
from ioopt.cli.lazy import IooptCommand, is_printed, quiet
from ioopt.cli.options import watching
from ioopt.comparing import (
    compare_rows,
    default_solvers,
    interrupted,
    parse_solver,
)
from ioopt.comparing import table as text
from ioopt.comparing.measures import Row, synthetic_footnote
from ioopt.comparing.picture import plot_comparison
from ioopt.errors import ExitCode, UsageError
from ioopt.families import ANYTIME, BOUND, EXACT, REFERENCE, Kind, Metric
from ioopt.formats.native import dump_json, write_text
from ioopt.plot.page import save
from ioopt.problems.base import SYNTHETIC_IO, Json, Problem
from ioopt.registry import measure_of
from ioopt.result import Status, Violation
from ioopt.solving import COUNTED_VIOLATIONS, load
from ioopt.tables import Form, render, say, terminal_width
from ioopt.units import counted

SLOW = {ANYTIME, BOUND, EXACT, REFERENCE}
"""Abilities of solvers that may use their whole time limit, or that do not compete."""
EPILOG = """\b
Examples:
  ioopt compare cycle3
  ioopt compare blast.json --solver ip --solver minmin --time-limit 20
  ioopt compare many/*.json --solver mine.py:h --solver minmin --plot ratios.pdf
  ioopt compare a.json b.json c.json --baseline minmin --format latex
  ioopt compare trace.json --solver adaptive --solver fill:alpha=0 --plot bars.png
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@options.file_argument(nargs=-1, required=True)
@options.solver_option(
    "solvers",
    multiple=True,
    text="A solver, NAME:KEY=VALUE,... with settings, or a function of yours, as "
    "mine.py:h; may be given again.",
)
@options.solver_options
@options.measure_option(
    "that solvers optimise if they can, and that bests, gaps and ratios refer to"
)
@click.option(
    "--baseline",
    metavar="NAME",
    help="Print ratios to this solver; default for several FILEs: the kind's baseline "
    "or the first solver named.",
)
@click.option(
    "--wide",
    is_flag=True,
    help="All columns, however wide the terminal is; after the summary of several "
    "FILEs also a table for each.",
)
@click.option(
    "--plot",
    "picture",
    metavar="OUT",
    help="Draw bars, or ratios for several FILEs, to OUT.png, .svg, .pdf or .html.",
)
@options.paper_width_option("--plot-width")
@options.output_option(text="Write the table there instead of standard output.")
@options.format_option("table", "json", "csv", "markdown", "latex")
def compare(
    file: tuple[str, ...],
    solvers: tuple[str, ...],
    how: Json,
    measure: str | None,
    baseline: str | None,
    wide: bool,
    picture: str | None,
    plot_width: float | None,
    output: str | None,
    form: str,
) -> int:
    """Solve each FILE with each solver, check and simulate every answer, and print
    a table. Several FILEs give one summary, with ratios, intervals and a paired test.
    """
    if plot_width is not None and picture is None:
        raise UsageError("--plot-width is the width of a picture: add --plot OUT.pdf")
    problems = [load(source) for source in file]
    kind = _common_kind(file, problems)
    by = measure_of(kind, measure)
    solvers += _rivals(kind, problems, solvers)
    chosen = [solvers or default_solvers(kind, problem) for problem in problems]
    baseline = _baseline(kind, chosen, baseline)
    all_differ = len({problem.name for problem in problems}) == len(problems)
    rows: list[Row] = []
    for source, problem, some in zip(file, problems, chosen):
        title = f"{problem.name}: {len(some)} solvers"
        with options.printing_aside(), watching(title, None) as listener:
            found = compare_rows(
                problem, some, measure=measure, progress=listener, **how
            )
        if not all_differ:
            found = [row | {"instance": source} for row in found]
        rows += found
        if interrupted(rows):
            break
    if picture is not None:
        axes = plot_comparison(rows, by.name, baseline, plot_width)
        save(axes, picture, exact=plot_width is not None)
    write_text(output or "-", _render(rows, kind, by, form, baseline, wide))
    if not quiet():
        _tell(rows)
    return _exit_code(rows)


def _common_kind(names: Sequence[str], problems: Sequence[Problem]) -> Kind:
    """Return the kind of all *problems*; raise UsageError when they are of several
    kinds.
    """
    kind = registry.kind_of_problem(problems[0])
    for name, problem in zip(names, problems):
        other = registry.kind_of_problem(problem)
        if other is not kind:
            raise UsageError(
                f"{name} is {other.kind} but {names[0]} is {kind.kind}; a comparison "
                "takes instances of one kind"
            )
    return kind


def _rivals(
    kind: Kind, problems: Sequence[Problem], solvers: Sequence[str]
) -> tuple[str, ...]:
    """Return rivals for a solver of the user that stands alone over several instances,
    where ratios need two: the quick solvers among those compared by default.
    """
    if len(problems) == 1 or len(solvers) != 1:
        return ()
    name, _ = parse_solver(solvers[0])
    if not registry.solver(name, kind).own:
        return ()
    quick = [
        rival
        for rival in default_solvers(kind, problems[0])
        if not registry.solver(rival, kind).abilities & SLOW
    ]
    if not quiet():
        say(f"note: {solvers[0]} is compared with {', '.join(quick)}")
    return tuple(quick)


def _baseline(
    kind: Kind, chosen: Sequence[Sequence[str]], given: str | None
) -> str | None:
    """Return the baseline of the ratios, or None. It is the solver *given*; for several
    instances the kind's baseline, if compared, or else the first solver.

    Raises UsageError for a solver that is not compared.
    """
    names: dict[str, None] = {}
    for some in chosen:
        names |= dict.fromkeys(some)
    if given is None:
        if len(chosen) == 1:
            return None
        return kind.baseline if kind.baseline in names else chosen[0][0]
    if given not in names:
        raise UsageError(
            f"--baseline {given!r} is not among the solvers: {', '.join(names)}"
        )
    return given


def _render(
    rows: list[Row],
    kind: Kind,
    measure: Metric,
    form: str,
    baseline: str | None,
    wide: bool,
) -> str:
    """Return the comparison as text in the format *form*; JSON has the format
    ``ioopt/comparison``.
    """
    if form == "json":
        return _document(rows, kind, measure, baseline)
    if form == "csv":
        return render(*text.raw_table(rows), "csv")
    width = None if wide else terminal_width()
    shape = cast(Form, form)
    parts = []
    several = len(text.by_instance(rows)) > 1
    if several and baseline is not None:
        parts.append(text.summary_text(rows, kind, measure, baseline, shape, width))
    if wide or not several:
        parts.append(text.comparison_text(rows, kind, measure, width, shape))
        if baseline is not None:
            ratios = text.baseline_ratios(rows, kind, measure, baseline, wide)
            parts.append(text.baseline_text(ratios, baseline, shape, width))
    invented = [row["instance"] for row in rows if _has_synthetic_io(row)]
    footnote = synthetic_footnote(invented)
    if footnote:
        parts.append(text.remarks([footnote], shape, width))
    return "\n".join(parts)


def _document(
    rows: list[Row], kind: Kind, measure: Metric, baseline: str | None
) -> str:
    """Return the comparison as JSON text. If there is a *baseline*, the text includes
    the ratios of all solvers to it, for all metrics.
    """
    document = {
        "format": "ioopt/comparison",
        "version": 1,
        "measure": measure.name,
        "rows": rows,
    }
    if baseline is not None:
        ratios = text.baseline_ratios(rows, kind, measure, baseline, True)
        document["baseline"] = baseline
        document["ratios"] = [row._asdict() for row in ratios]
    return dump_json(document)


def _has_synthetic_io(row: Row) -> bool:
    """Return whether the notes of a row say that the I/O of its instance was
    generated.
    """
    return any(note.startswith(SYNTHETIC_IO) for note in row["notes"])


def _tell(rows: Sequence[Row]) -> None:
    """Print notes and violations on standard error. Equal notes of one solver are
    printed once, and its violations on one line, with the number of instances.
    """
    said: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for note in filter(is_printed, row["notes"]):
            if note.startswith(SYNTHETIC_IO):
                continue  # printed once, under the table
            if row["violations"] and note.startswith(COUNTED_VIOLATIONS):
                continue  # printed below
            line = note.removeprefix(row["solver"]).removeprefix(":").lstrip()
            said.setdefault((row["solver"], line), []).append(row["instance"])
    for (solver, line), names in said.items():
        say(f"note: {_where(names)}: {solver}: {line}")
    broken: dict[str, list[Row]] = {}
    for row in rows:
        if row["violations"]:
            broken.setdefault(row["solver"], []).append(row)
    for solver, wrong in broken.items():
        count = sum(len(row["violations"]) for row in wrong)
        such = ", such as" if count > 1 else ":"
        example = Violation(**wrong[0]["violations"][0])
        line = f"{counted(count, 'violation')}{such} {example}"
        names = [row["instance"] for row in wrong]
        say(f"violation: {_where(names)}: {solver}: {line}")


def _where(instances: Sequence[str]) -> str:
    """Return the name of the first of *instances*, with the number of the others."""
    more = len(instances) - 1
    return f"{instances[0]} and {more} more" if more else instances[0]


def _exit_code(rows: Sequence[Row]) -> int:
    """Return the exit code of the most serious row.

    A failure of the user's own solver counts as a violation (exit code 5, whereas
    ``ioopt solve`` returns 2). A failure of one of ioopt's solvers has its own exit
    code.
    """
    if any(row["violations"] for row in rows):
        return ExitCode.VIOLATIONS
    if any(row["stop"] == "interrupted" for row in rows):
        return ExitCode.INTERRUPTED
    failed = [row for row in rows if row["status"] == "error"]
    if all(row["status"] == Status.NOT_APPLICABLE for row in rows):
        return ExitCode.USAGE
    listed = {spec.name for spec in registry.SOLVERS}
    ours = [row for row in failed if row["solver"].partition(":")[0] in listed]
    if ours:
        return int(ours[0].get("exit_code", ExitCode.INTERNAL))
    return ExitCode.VIOLATIONS if failed else ExitCode.ANSWER
