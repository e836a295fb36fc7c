"""``ioopt solve``: solve an instance, check and simulate the plan, and print the
result.
"""

import sys

import click

from ioopt import registry
from ioopt.cli import options
from ioopt.cli.lazy import (
    IooptCommand,
    is_printed,
    processor_started,
    quiet,
    verbosity,
)
from ioopt.cli.options import PATH, watching
from ioopt.errors import ExitCode, UsageError
from ioopt.formats.native import dump_json, write_text
from ioopt.options import Deadline, SolveOptions, parse_solver
from ioopt.problems.base import Json
from ioopt.result import Result, Status, StopReason
from ioopt.solving import load_within
from ioopt.solving import solve as run
from ioopt.tables import say

EPILOG = """\b
Examples:
  ioopt solve cycle3
  ioopt solve image.json --solver ip --time-limit 30 -o result.json
  ioopt solve image.json --solver two-stage --set eviction=popularity --set thresh=0.2
  ioopt solve image.json --set moves=schedule -o bound.json   (states its transfers)
  ioopt solve image.json --solver ip-printed --backend CBC --format json
  cat matrix.json | ioopt solve - --now --solver migrate-iogs
"""


EXIT_CODES = {
    Status.OPTIMAL: ExitCode.ANSWER,
    Status.FEASIBLE: ExitCode.ANSWER,
    Status.INFEASIBLE: ExitCode.INFEASIBLE,
    Status.UNKNOWN: ExitCode.NO_ANSWER,
    Status.NOT_APPLICABLE: ExitCode.USAGE,
}
"""The exit code for each status of a result that has no violations and whose solver did
not fail.
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@options.file_argument()
@options.solver_option(
    text="See `ioopt instances solvers`; default: the kind's own. Or a function of "
    "yours, as mine.py:h."
)
@options.solver_options
@click.option(
    "--measure",
    metavar="NAME",
    help="What to optimise where the solver can; default: its own objective.",
)
@click.option(
    "--now",
    is_flag=True,
    help="For a snapshot (io-requests, gang-matrix): print only the decision.",
)
@click.option(
    "--warm-start", metavar="RESULT", type=PATH, help="Begin from this result's plan."
)
@options.output_option(text="Write the whole result there as JSON.", json=True)
@options.format_option("table", "json")
def solve(
    file: str,
    solver: str | None,
    how: Json,
    measure: str | None,
    now: bool,
    warm_start: str | None,
    output: str | None,
    form: str,
) -> int:
    """Solve FILE and print the answer: objective, bound, gap, the reason why the solver
    stopped, and simulated metrics.
    """
    # A bad limit is refused before FILE is read. The limit includes the time to start
    # the command.
    limit = SolveOptions(how["time_limit"]).time_limit_seconds
    deadline = Deadline(limit, processor_started=processor_started())
    problem = load_within(file, deadline)
    kind = registry.kind_of_problem(problem)
    if now and not kind.decision:
        able = [spec.kind for spec in registry.KINDS.values() if spec.decision]
        raise UsageError(
            f"--now: {file} is {kind.kind}; one decision is made from {', '.join(able)}"
        )
    start = None
    if warm_start is not None:
        start = options.read_result(warm_start, kind).get("plan")
    title = f"{problem.name}: {solver or 'default solver'}"
    if solver is not None:
        # As in `compare`, settings may follow the name.
        solver, own = parse_solver(solver)
        how["settings"] = {**own, **how["settings"]}
    with options.printing_aside(), watching(title, how["time_limit"]) as listener:
        options.check_threads(solver, kind, how["threads"])
        result = run(
            problem,
            solver,
            measure=measure,
            warm_start=start,
            progress=listener,
            bound=not now,
            deadline=deadline,
            **how,
        )
    if now:
        if output is not None:
            write_text(output, result.json_pieces())
        click.echo(dump_json(result.plan), nl=False)
        tell(result)
    else:
        print_result(result, output, form)
    return exit_code(result)


def print_result(result: Result, output: str | None, form: str) -> None:
    """Write *result* to *output*, if given, and print it in the form ``table`` or
    ``json``, unless it was written to standard output.
    """
    if output is not None:
        write_text(output, result.json_pieces())
    if output != "-":
        text = result.to_json() if form == "json" else result.table()
        click.echo(text, nl=False)
    tell(result)


def tell(result: Result) -> None:
    """Print notes and violations to standard error, unless the user asked for silence;
    with -v, print also the trace of best plans.
    """
    if quiet():
        return
    for note in filter(is_printed, result.notes):
        say(f"note: {note}")
    for violation in result.violations:
        say(f"violation: {violation}")
    if verbosity():
        for seconds, objective in result.trace:
            print(f"incumbent: {objective:.9g} after {seconds:.3f} s", file=sys.stderr)


def exit_code(result: Result) -> int:
    """Return the exit code of ``ioopt solve`` for *result*."""
    if result.stop is StopReason.INTERRUPTED:
        return ExitCode.INTERRUPTED
    if result.violations:
        return ExitCode.VIOLATIONS
    if result.status is Status.ERROR:
        # A failing function of the user counts as invalid input.
        own = ":" in result.solver
        return ExitCode.USAGE if own else ExitCode.INTERNAL
    return EXIT_CODES[result.status]
