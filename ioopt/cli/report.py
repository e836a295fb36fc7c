"""``ioopt report``: run stores into one HTML page, a CSV or a Parquet file."""

from pathlib import Path

import click

from ioopt.cli.lazy import IooptCommand
from ioopt.cli.options import output_option
from ioopt.errors import BackendMissingError, ExitCode, UsageError

EPILOG = """\b
Examples:
  ioopt report runs.sqlite -o report.html
  ioopt report monday.sqlite tuesday.sqlite -o both.html
  ioopt report runs.sqlite -o runs.html --run 3fa1 --run 90c2    (draw the schedules of these runs)
  ioopt report runs.sqlite -o runs.csv
"""


@click.command(cls=IooptCommand, epilog=EPILOG)
@click.argument("store", nargs=-1, required=True, metavar="RUNS.sqlite...")
@output_option(required=True, text="OUT.html, OUT.csv or OUT.parquet.")
@click.option("--timelines", type=click.IntRange(min=0), default=4, metavar="N",
              help="How many stored schedules to draw.")  # fmt: skip
@click.option("--run", "runs", multiple=True, metavar="KEY",
              help="Draw the schedule of this run (the beginning of its key; repeatable).")  # fmt: skip
@click.option("--measure", metavar="NAME",
              help="What bests, gaps and ratios are of; default: what the user waits for.")  # fmt: skip
def report(
    store: tuple[str, ...], output: str, timelines: int, runs: tuple[str, ...], measure: str | None
) -> int:
    """Merge the stores and write tables and pictures; the stores are opened read-only."""
    from ioopt.formats.native import reading, replacing, write_text

    ending = Path(output).suffix.lower()
    if ending == ".html":
        from ioopt.campaign.report import report_html

        with reading(", ".join(store)):
            page = report_html(store, timelines, runs, measure)
        write_text(output, page)
    elif ending in (".csv", ".parquet"):
        from ioopt.campaign.frame import read_frame

        frame = read_frame(store, measure)
        with replacing(output, "wb") as stream:
            if ending == ".csv":
                frame.to_csv(stream, index=False)
            else:
                try:
                    frame.to_parquet(stream, index=False)
                except ImportError:
                    raise BackendMissingError(
                        "Parquet needs pyarrow: python -m pip install 'ioopt[campaign]'"
                    ) from None
    else:
        raise UsageError(f"{output}: a report's name ends in .html, .csv or .parquet")
    return ExitCode.ANSWER
