"""``ioopt sweep``: run every solver of a grid on every instance of the grid, and write
one row for each run to a store.

The store stays intact even if the command is killed at any moment.
"""

import os
from collections.abc import Sequence
from importlib.util import find_spec

import click

from ioopt.campaign.executors import open_executor
from ioopt.campaign.grid import Grid, Point, build_grid, read_config
from ioopt.campaign.merge import merge_stores
from ioopt.campaign.runner import Tally, run_tasks
from ioopt.campaign.store import Store
from ioopt.cli.lazy import IooptCommand
from ioopt.cli.options import PATH, counting, measure_option
from ioopt.errors import UsageError, missing

EPILOG = """\b
Examples:
  ioopt sweep grid.toml --store runs.sqlite --workers 2
  ioopt sweep grid.toml --store runs.sqlite --resume
  ioopt sweep grid.toml --store runs.sqlite --scheduler tcp://head:8786
  ioopt sweep grid.toml --store part-3.sqlite --part 3/16
  ioopt sweep --merge part-*.sqlite --store runs.sqlite
  ioopt plot runs.sqlite -o report.html
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@click.argument(
    "files", metavar="CONFIG.toml | STORE...", type=PATH, nargs=-1, required=True
)
@click.option(
    "--store",
    required=True,
    metavar="RUNS.sqlite",
    type=PATH,
    help="SQLite file for the rows.",
)
@click.option(
    "--resume", is_flag=True, help="Run only what the store does not hold yet."
)
@click.option(
    "--retry-failed", is_flag=True, help="With --resume: run failed points again."
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=os.cpu_count() or 1,
    metavar="N",
    show_default="number of cores",
    help="Worker processes on this machine.",
)
@click.option(
    "--scheduler", metavar="tcp://...", help="Use the workers of this Dask scheduler."
)
@click.option(
    "--part",
    metavar="I/N",
    help="Run one of N equal parts of the grid (I from 1 to N), for job arrays.",
)
@click.option(
    "--merge",
    is_flag=True,
    help="Merge the given stores of parts into the store of --store.",
)
@measure_option()
@click.option("--dry-run", is_flag=True, help="Count the runs and stop.")
@click.pass_context
def sweep(
    context: click.Context,
    files: tuple[str, ...],
    store: str,
    resume: bool,
    retry_failed: bool,
    workers: int,
    scheduler: str | None,
    part: str | None,
    merge: bool,
    measure: str | None,
    dry_run: bool,
) -> None:
    """Run every instance of CONFIG.toml with every solver of its family.

    Each run is one row of the store. With --merge, the rows of several stores are
    written to one store.
    """
    if merge:
        _refuse_options_of_runs(context)
        _merge(files, store, resume)
        return
    if len(files) > 1:
        raise UsageError(f"{files[1]}: one CONFIG.toml at a time (stores: --merge)")
    config = read_config(files[0])
    if measure is not None:
        config = config.model_copy(update={"measure": measure})
    grid = build_grid(config, os.path.dirname(os.path.abspath(files[0])))
    points = grid.points
    if part is not None:
        number, count = _read_part(part)
        points = grid.part(number, count)
    if dry_run:
        instances = {point.source for point in points}
        click.echo(f"{len(points)} runs: {len(instances)} instances")
        return
    if scheduler is not None and find_spec("distributed") is None:
        raise missing("distributed", "--scheduler")  # before creating the store
    with Store(store, must_be_new=not resume) as runs:
        runs.begin(grid.digest, len(grid.points))
        there = runs.done(retry_failed)
        todo = [point for point in points if point.key not in there]
        tally = Tally()
        if todo:
            tally = _run(grid, todo, runs, workers, scheduler)
    click.echo(
        f"{tally.done} runs done, {len(points) - len(todo)} already in the store, "
        f"{tally.crashed} crashed, {tally.with_violations} with violations: {store}"
    )


def _read_part(text: str) -> tuple[int, int]:
    """Parse ``3/16``: the number of the part, from 1 on, and the number of parts."""
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and int(count)):
        raise UsageError(f"--part {text}: wanted I/N, such as 3/16")
    if not 1 <= int(number) <= int(count):
        raise UsageError(f"--part {text}: parts are 1/{count} to {count}/{count}")
    return int(number), int(count)


def _run(
    grid: Grid, todo: Sequence[Point], store: Store, workers: int, scheduler: str | None
) -> Tally:
    """Run the points *todo* of the grid, show the progress, and return the counts of
    runs.
    """
    processes = min(workers, len(todo))
    limit = grid.config.memory_limit
    with (
        open_executor(processes, scheduler, limit) as executor,
        counting("sweep", len(todo)) as show,
    ):
        return run_tasks(todo, store, executor, grid.sources, show)


def _refuse_options_of_runs(context: click.Context) -> None:
    """Raise UsageError if an option that describes runs is given together with
    --merge.
    """
    merging = ("files", "store", "resume", "merge")
    for option in context.command.params:
        name = option.name or ""
        source = context.get_parameter_source(name)
        given = source is click.core.ParameterSource.COMMANDLINE
        if given and option.expose_value and name not in merging:
            raise UsageError(f"{option.opts[0]} has no meaning with --merge")


def _merge(paths: Sequence[str], target: str, resume: bool) -> None:
    """Merge the stores *paths* into *target*, and print how many runs of the grid they
    contain.
    """
    merged = merge_stores(paths, target, resume)
    click.echo(
        f"{len(paths)} stores merged: {merged.runs} of {merged.points} runs: {target}"
    )
