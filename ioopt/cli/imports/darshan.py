"""``ioopt import darshan``: Darshan logs as a batch-io instance."""

from __future__ import annotations

from typing import Any

import click

from ioopt.cli.imports.common import import_command, machine_options, target_option

EPILOG = """\b
Examples:
  darshan-parser job.darshan > job.txt; ioopt import darshan job.txt -o job.json
  ioopt import darshan *.darshan --nodes 49152 --processors-per-node 16 -o month.json
  ioopt import darshan *.darshan --skip-bad -o what-can-be-read.json
"""


@import_command("darshan", EPILOG)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option("--phase-gap", type=click.FloatRange(min=0), default=1.0, metavar="S",
              help="Accesses less than this apart are one phase.")  # fmt: skip
@click.option("--skip-bad", is_flag=True, help="Leave out logs that cannot be read, and list them.")
@machine_options
@target_option
def import_darshan(sources: tuple[str, ...], phase_gap: float, skip_bad: bool, **how: Any) -> Any:
    """Make a batch-io instance of Darshan logs, one job a log.

    SOURCE is the output of darshan-parser 2.x or 3.x (also .gz or -), or a binary log of Darshan
    3.x where the package darshan is installed.
    """
    from ioopt.formats.darshan.io import batch_io_from_darshan, read_darshan_logs

    logs, skipped = read_darshan_logs(sources, gap_seconds=phase_gap, skip_bad=skip_bad)
    return batch_io_from_darshan(logs, skipped=skipped, **how)
