"""``ioopt compile``: machine code for every kernel, before the first run that needs it."""

import sys
import time

import click

from ioopt.cli.lazy import IooptCommand, quiet
from ioopt.errors import ExitCode, missing

EPILOG = """\b
Examples:
  ioopt compile
  NUMBA_CACHE_DIR=/var/cache/ioopt ioopt compile
"""


@click.command("compile", cls=IooptCommand, epilog=EPILOG)
def compile_() -> int:
    """Compile all kernels of all families, once for this machine (a minute or so).

    Without it nothing is missing: a long run compiles first where its limit is a minute or more;
    in shorter ones plain Python serves while another process compiles for the next run. The code
    stands beside the package, or in NUMBA_CACHE_DIR; kernels that are there already are loaded in a
    second.
    """
    from ioopt.compiled import available
    from ioopt.compiled.choice import KERNELS
    from ioopt.tables import render

    if not available():
        raise missing("numba", "compiling")
    rows = []
    for done, kernel in enumerate(KERNELS.values(), 1):
        begun = time.perf_counter()
        if not quiet():
            what = f"{kernel.family}, {kernel.name}"
            print(f"compiling {done} of {len(KERNELS)}: {what}", file=sys.stderr, flush=True)
        kernel.compile()
        rows.append((kernel.family, kernel.name, f"{time.perf_counter() - begun:.1f}"))
    click.echo(render(("family", "kernels", "seconds"), rows), nl=False)
    return ExitCode.ANSWER
