"""Define the command ``ioopt``: a group that imports its commands on first use, and the
only place where errors become exit codes.
"""

import contextlib
import errno
import gc
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

import click

from ioopt.cli.lazy import IooptGroup
from ioopt.errors import EXTRAS, ExitCode, IooptError, missing
from ioopt.version import __version__

COMMANDS = {
    "solve": ("ioopt.cli.solve:solve", "Solve one instance with one solver."),
    "compare": (
        "ioopt.cli.compare:compare",
        "Run several solvers and print one table.",
    ),
    "simulate": (
        "ioopt.cli.simulate:simulate",
        "Replay a plan on the timeline simulator.",
    ),
    "check": (
        "ioopt.cli.check:check",
        "Check an instance, or a plan against it; explain it.",
    ),
    "import": (
        "ioopt.cli.imports:group",
        "Make an instance from traces, logs or workflows.",
    ),
    "export": (
        "ioopt.cli.export:export_group",
        "Write a model or an instance for other programs.",
    ),
    "plot": (
        "ioopt.cli.plot:plot",
        "Draw a result or a comparison; report on run stores.",
    ),
    "advise": (
        "ioopt.cli.advise:advise",
        "Say which I/O policy would help the jobs of a log.",
    ),
    "budget": (
        "ioopt.cli.budget:budget",
        "Say what a quota on a work directory costs.",
    ),
    "validate": (
        "ioopt.cli.validate:validate",
        "Replay a recorded run; say what a plan would save.",
    ),
    "measure": (
        "ioopt.cli.measure:measure",
        "Run Lee et al.'s measurements (no decisions).",
    ),
    "sweep": (
        "ioopt.cli.sweep:sweep",
        "Run a grid of instances and solvers into a store.",
    ),
    "serve": (
        "ioopt.cli.serve:serve",
        "Answer decisions over a pipe, a socket or HTTP.",
    ),
    "doctor": (
        "ioopt.cli.doctor:doctor",
        "List what is installed here and what is missing.",
    ),
    "instances": (
        "ioopt.cli.listings:instances",
        "List or generate instances; list their solvers.",
    ),
}
WRITES_WHEN_INTERRUPTED = ("solve", "compare", "sweep", "serve")
"""Commands that, when interrupted, write the results that they have so far; all other
commands end at once.
"""
EPILOG = """\b
Examples:
  ioopt compare cycle3
  ioopt instances generate replication --preset image-85 --set disk=2GB -o image.json
  ioopt solve image.json --solver ip --time-limit 30 -o result.json
  ioopt check image.json result.json
  ioopt plot result.json -o gantt.png

\b
Exit codes: 0 answer, 1 internal error, 2 usage or invalid input, 3 proven infeasible,
4 limit reached without an answer, 5 a check found violations or a plan cannot run,
6 backend missing, 130 interrupted (the best plan so far is still written).
"""


@click.group(
    cls=IooptGroup,
    lazy=COMMANDS,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(__version__, prog_name="ioopt")
def cli() -> None:
    """Where should work run and where should its data be, when I/O is the bottleneck?

    Exact integer programs, heuristics and timeline simulators for task scheduling with
    file replication, I/O-aware batch scheduling and gang scheduling. FILE is a JSON
    instance (also .gz, or - for standard input) or the name of a bundled instance.
    """


def _terminate(signum: int, frame: object) -> None:
    """Treat SIGTERM as Ctrl-C."""
    raise KeyboardInterrupt


@contextmanager
def _failures_shown() -> Iterator[None]:
    """Print ioopt's log messages, such as tracebacks of failed solvers, to standard
    error while the block runs.
    """
    import logging

    log = logging.getLogger("ioopt")
    handler = logging.StreamHandler()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        log.setLevel(level)
        log.removeHandler(handler)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; show a traceback only with
    --traceback.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    signal.signal(signal.SIGTERM, _terminate)
    command = next((word for word in arguments if not word.startswith("-")), "")
    if command in WRITES_WHEN_INTERRUPTED:
        return _run(arguments)
    from ioopt.cli.interrupt import ending_soon

    with ending_soon():
        return _run(arguments)


def _run(arguments: list[str]) -> int:
    """Run the command line and return its exit code, also for every error."""
    # Schedules consist of millions of containers with almost no reference cycles; with
    # the default threshold, garbage collection takes a third of the time of a check.
    gc.set_threshold(200_000, 20, 100)
    # Threads of the linear algebra libraries wait for each other in busy loops; without
    # this limit, a run of one second used two and a half seconds of processor time.
    for library in ("OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    code: int = ExitCode.ANSWER
    try:
        with _failures_shown() if "--traceback" in arguments else nullcontext():
            returned = cli.main(
                args=arguments, prog_name="ioopt", standalone_mode=False
            )
        code = returned if isinstance(returned, int) else ExitCode.ANSWER
        if sys.stdout is not None:
            sys.stdout.flush()
    except (KeyboardInterrupt, click.exceptions.Abort):
        _say("interrupted")
        code = ExitCode.INTERRUPTED
    except click.ClickException as error:
        error.show()
        code = ExitCode.USAGE
    except BrokenPipeError:
        # The program that reads our output (head, less) has ended.
        _discard_output()
    except IooptError as error:
        if "--traceback" in arguments:
            traceback.print_exc()
        _say(str(error))
        code = error.exit_code
    except Exception as error:
        if "--traceback" in arguments:
            traceback.print_exc()
        code = _unexpected(error)
    return int(code)


def _unexpected(error: Exception) -> ExitCode:
    """Report an error that ioopt did not raise on purpose; return the exit code."""
    if isinstance(error, OSError) and error.errno in _OF_THE_SYSTEM:
        if error.filename is None:
            _say(f"standard output: {error.strerror}")
            _discard_output()
        else:
            _say(f"{str(error.filename)[:80]}: {error.strerror}")
        return ExitCode.USAGE
    if isinstance(error, ModuleNotFoundError):
        package = (error.name or "").partition(".")[0]
        if package in EXTRAS:
            _say(str(missing(package)))
            return ExitCode.BACKEND_MISSING
    _say(f"internal error: {type(error).__name__}: {error} (--traceback shows where)")
    return ExitCode.INTERNAL


_OF_THE_SYSTEM = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
    errno.EROFS,
    errno.ENAMETOOLONG,
}
"""Numbers of the errors of files and devices that only the user can resolve, such as a
full disk.
"""


def _discard_output() -> None:
    """Redirect standard output to the null device, so that flushing it at exit raises
    no error.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str) -> None:
    """Print one line to standard error; do nothing when standard error is closed or its
    device is full.
    """
    with contextlib.suppress(OSError):
        print("ioopt:", *message.split(), file=sys.stderr)
