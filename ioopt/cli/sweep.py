"""``ioopt sweep``: a grid of instances and solvers into a store that
survives being killed.
"""

import os
from importlib.util import find_spec

import click

from ioopt.campaign.grid import build_grid, read_config
from ioopt.campaign.runner import open_workers, run_tasks
from ioopt.campaign.store import Store
from ioopt.cli.lazy import IooptCommand
from ioopt.cli.options import PATH, counting, measure_option
from ioopt.errors import missing

EPILOG = """\b
Examples:
  ioopt sweep grid.toml --store runs.sqlite --workers 2
  ioopt sweep grid.toml --store runs.sqlite --resume
  ioopt sweep grid.toml --store runs.sqlite --scheduler tcp://head:8786
  ioopt plot runs.sqlite -o report.html
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@click.argument("config", metavar="CONFIG.toml", type=PATH)
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
    "--scheduler", metavar="tcp://...", help="Use the workers of this dask scheduler."
)
@measure_option()
@click.option("--dry-run", is_flag=True, help="Count the points and stop.")
def sweep(
    config: str,
    store: str,
    resume: bool,
    retry_failed: bool,
    workers: int,
    scheduler: str | None,
    measure: str | None,
    dry_run: bool,
) -> None:
    """Run every instance of CONFIG.toml with every solver of its
    family; one row a point.
    """
    settings = read_config(config)
    if measure is not None:
        settings = settings.model_copy(update={"measure": measure})
    grid = build_grid(settings, os.path.dirname(os.path.abspath(config)))
    if dry_run:
        click.echo(f"{len(grid.points)} points: {len(grid.sources)} instances")
        return
    if scheduler is not None and find_spec("distributed") is None:
        raise missing("distributed", "--scheduler")  # before a store is begun
    with Store(store, must_be_new=not resume) as runs:
        skip = runs.done(retry_failed)
        todo = [point for point in grid.points if point.key not in skip]
        failed = 0
        if todo:
            with (
                open_workers(
                    min(workers, len(todo)), scheduler, settings.memory_limit
                ) as running,
                counting("sweep", len(todo)) as show,
            ):
                failed = run_tasks(todo, runs, running, grid.sources, show)
    there = len(grid.points) - len(todo)
    click.echo(f"{len(todo)} points run, {there} were there, {failed} failed: {store}")
