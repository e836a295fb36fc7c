"""``ioopt compare``: run several solvers on one or more instances and compare them in
one table by one measure.
"""

from collections.abc import Sequence

import click
from click.core import ParameterSource

from ioopt import registry
from ioopt.catalog import with_folders_opened
from ioopt.cli import options
from ioopt.cli.lazy import IooptCommand, is_printed, quiet
from ioopt.cli.options import watching
from ioopt.comparing import (
    base_of,
    compare_rows,
    default_solvers,
    interrupted,
    opened,
    rivals,
    settings_of,
)
from ioopt.comparing import table as text
from ioopt.comparing.joined import joined
from ioopt.comparing.measures import Row
from ioopt.comparing.notes import remarks_on, went_wrong
from ioopt.comparing.runs import (
    Runs,
    baseline_of,
    by_label,
    compared_baseline,
    parse_labels,
    require_stated,
    stated,
    told_again,
)
from ioopt.comparing.shown import drawn, rendered
from ioopt.errors import ExitCode, UsageError
from ioopt.families import Kind
from ioopt.formats.native import write_text
from ioopt.plot.page import check_target, save
from ioopt.problems.base import Json, Problem
from ioopt.registry import measure_of
from ioopt.result import Status
from ioopt.tables import say, terminal_width

EPILOG = """\b
Examples:
  ioopt compare cycle3
  ioopt compare blast.json --solver ip --solver minmin --time-limit 20
  ioopt compare many/*.json --solver mine.py:h --solver minmin --plot ratios.pdf
  ioopt compare a.json b.json c.json --baseline minmin --format latex
  ioopt compare many --solver mine.py:h --label mine.py:h=Ours --format json -o r.json
  ioopt compare r.json --format latex          (stored runs; nothing is solved again)
  ioopt compare runs.sqlite --baseline minmin --by disk         (store of a sweep)
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
    "--label",
    "labels",
    multiple=True,
    metavar="SOLVER=LABEL",
    help="Name of a solver in tables and pictures; may be given again.",
)
@click.option(
    "--by",
    "given_by",
    multiple=True,
    metavar="SETTING",
    help="One summary, and one panel of the picture, for each value of a setting of "
    "the instances' preset, such as disk, or for each preset.",
)
@click.option(
    "--columns",
    metavar="NAME,...",
    help=f"Columns of the summary of several FILEs, of: {', '.join(text.SUMMARY)}.",
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
    labels: tuple[str, ...],
    given_by: tuple[str, ...],
    columns: str | None,
    wide: bool,
    picture: str | None,
    plot_width: float | None,
    output: str | None,
    form: str,
) -> int:
    """Solve each FILE with each solver, check and simulate every answer, and print
    a table. Several FILEs give one summary, with ratios, intervals and a paired test.

    A folder stands for all instance files in it. A FILE of `compare --format json`,
    or the store of a sweep, is printed or drawn again, and nothing is solved.
    """
    _refuse_impossible(picture, plot_width)
    chosen = text.parse_columns(columns)
    by = _one_setting(given_by)
    names = with_folders_opened(file)
    sources = [opened(name) for name in names]
    problems = [source for source in sources if not isinstance(source, Runs)]
    stored = [source for source in sources if isinstance(source, Runs)]
    if stored:
        _refuse_with_stored(names[sources.index(stored[0])], bool(problems))
        runs = told_again(joined(stored), baseline, labels)
    else:
        runs = _run(names, problems, solvers, how, measure, baseline, labels, by)
    for note in runs.notes:
        say(f"note: {note}")
    width = None if wide else terminal_width()
    content = rendered(runs, form, width, by, chosen, wide=wide)
    write_text(output or "-", content)
    telling = [row for row in runs.rows if went_wrong(row) or not (stored or quiet())]
    for line in remarks_on(telling, is_printed):
        say(line)
    if picture is not None:
        axes = drawn(runs, by, plot_width)
        save(axes, picture, exact=plot_width is not None)
    return _exit_code(runs.rows)


def _refuse_impossible(picture: str | None, plot_width: float | None) -> None:
    """Raise UsageError for options that do not go together, or if no picture can be
    written to the file *picture*.
    """
    if plot_width is not None and picture is None:
        raise UsageError("--plot-width is the width of a picture: add --plot OUT.pdf")
    if picture is not None:
        check_target(picture)


def _one_setting(given: Sequence[str]) -> str | None:
    """Return the setting given by ``--by``, if any; raise UsageError for several."""
    if len(given) > 1:
        raise UsageError(f"--by is given {len(given)} times; name one setting")
    return given[0] if given else None


PRINTING = {
    "file",
    "given_by",
    "columns",
    "baseline",
    "labels",
    "wide",
    "picture",
    "plot_width",
    "output",
}
PRINTING |= {"form", "quiet", "verbose", "traceback"}
"""The parameters of the command that say how runs are printed, not how they are
made.
"""


def _refuse_with_stored(stored: str, mixed: bool) -> None:
    """Raise UsageError if the file *stored*, which has runs, is *mixed* with instances,
    or if an option of the command line is for solving.
    """
    if mixed:
        raise UsageError(
            f"{stored} has stored runs: name only such files, or only instances"
        )
    context = click.get_current_context()
    for option in context.command.params:
        name = str(option.name)
        told = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if told and name not in PRINTING:
            raise UsageError(
                f"{stored} has stored runs, which are not solved again: leave out "
                f"{option.opts[0]}"
            )


def _run(
    names: Sequence[str],
    problems: Sequence[Problem],
    solvers: tuple[str, ...],
    how: Json,
    measure: str | None,
    baseline: str | None,
    labels: Sequence[str],
    by: str | None,
) -> Runs:
    """Run the solvers on all *problems*, which have the *names* on the command line, if
    they state the setting *by*.
    """
    if by is not None:
        _require_setting(by, names, problems)
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{name} is given {names.count(name)} times")
    kind = _common_kind(names, problems)
    metric = measure_of(kind, measure)
    solvers += _rivals(kind, problems, solvers)
    chosen = [solvers or default_solvers(kind, problem) for problem in problems]
    compared = list(dict.fromkeys(name for some in chosen for name in some))
    labelled = parse_labels(labels, compared)
    baseline = compared_baseline(baseline, compared, by_label(labelled))
    all_differ = len({problem.name for problem in problems}) == len(problems)
    rows: list[Row] = []
    for source, problem, some in zip(names, problems, chosen):
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
    chosen_baseline = baseline or baseline_of(kind, compared, len(problems))
    return Runs(rows, kind, metric, chosen_baseline, labelled)


def _require_setting(
    by: str, names: Sequence[str], problems: Sequence[Problem]
) -> None:
    """Raise UsageError unless there are several *problems* and all state the setting
    *by*.
    """
    if len(problems) == 1:
        raise UsageError("--by makes summaries of several FILEs, and there is one")
    for name, problem in zip(names, problems):
        require_stated(by, name, stated(base_of(problem), settings_of(problem)))


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
    if len(solvers) != 1:
        return ()
    quick = rivals(kind, problems, solvers[0])
    if quick and not quiet():
        say(f"note: {solvers[0]} is compared with {', '.join(quick)}")
    return quick


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
        return int(ours[0].get("exit_code") or ExitCode.INTERNAL)
    return ExitCode.VIOLATIONS if failed else ExitCode.ANSWER
