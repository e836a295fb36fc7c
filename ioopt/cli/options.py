"""Define the options that commands share, their shell completion, and progress bars."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from functools import cache, partial, wraps
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from ioopt import registry
from ioopt.catalog import entries
from ioopt.cli.lazy import BareOption, F, Number, Seconds, quiet, set_option, together
from ioopt.errors import InstanceError, UsageError
from ioopt.families import THREADS, Kind
from ioopt.formats.native import check_writable, is_large, read_json, shown, validate
from ioopt.loading import refuse_removed, require_finite, require_form
from ioopt.options import DEFAULT_TIME_LIMIT_SECONDS, PAPER_WIDTHS
from ioopt.protocols import Incumbents
from ioopt.result import Result
from ioopt.tables import say

if TYPE_CHECKING:
    from rich.progress import Progress

    from ioopt.problems.base import Json

PATIENCE_SECONDS = 1


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _bar(*columns: str, transient: bool = False) -> Progress:
    """Return a progress bar of rich that shows a title, the bar, the named *columns* of
    rich, and the text ``state``.
    """
    from rich import console, progress

    shown: list[str | progress.ProgressColumn] = [
        "{task.description}",
        progress.BarColumn(),
    ]
    shown += [getattr(progress, name)() for name in columns]
    error = console.Console(file=sys.stderr)
    return progress.Progress(
        *shown, "{task.fields[state]}", console=error, transient=transient
    )


LOG_SECONDS = 10.0
"""Seconds between two lines of progress when standard error is not a terminal."""


@contextmanager
def counting(
    title: str,
    total: int | None = None,
    transient: bool = False,
    every: float | None = None,
) -> Iterator[Callable[[int, int, str], None]]:
    """Provide a function show(done, total, state), which shows the two numbers, the
    words of *state* and the remaining time on a terminal.

    If standard error is not a terminal, the function writes the state every *every*
    seconds, or nothing if *every* is None.
    """
    if not quiet() and every is not None and not sys.stderr.isatty():
        with _logging(title, every) as show:
            yield show
        return
    if quiet() or not sys.stderr.isatty():
        yield lambda done, total, state: None
        return
    with _bar("MofNCompleteColumn", "TimeRemainingColumn", transient=transient) as bar:
        task = bar.add_task(title, total=total, state="")
        yield lambda done, total, state: bar.update(
            task, completed=done, total=total, state=state
        )


def _roughly(seconds: float) -> str:
    """Return a time in whole minutes, or below two minutes in tens of seconds.

    >>> _roughly(3), _roughly(84), _roughly(500)
    ('10 s', '80 s', '8 min')
    """
    if seconds < 120:
        return f"{max(10, round(seconds, -1)):.0f} s"
    return f"{seconds / 60:.0f} min"


@contextmanager
def _logging(title: str, every: float) -> Iterator[Callable[[int, int, str], None]]:
    """Provide such a function as :func:`counting` does; a separate thread writes the
    latest state every *every* seconds if it is a new one, with an estimate of the time
    that is left.
    """
    state, over = ["begun"], threading.Event()
    since = (0, 0, time.monotonic())
    """The number of all steps, how many were done when it was first heard of, and when
    that was."""

    def show(done: int, total: int, words: str) -> None:
        nonlocal since
        if total != since[0]:
            since = (total, done, time.monotonic())
        text = f"{done} of {total} {words}".rstrip()
        passed = time.monotonic() - since[2]
        if since[1] < done < total and passed >= every:
            left = passed / (done - since[1]) * (total - done)
            text += f", about {_roughly(left)} left"
        state.append(text)

    def write() -> None:
        said = ""
        while not over.wait(every):
            if state[-1] != said:
                said = state[-1]
                say(f"{title}: {said}")

    with ThreadPoolExecutor(1) as pool:
        pool.submit(write)
        try:
            yield show
        finally:
            over.set()


@contextmanager
def watching(
    title: str, limit: float | None
) -> Iterator[Callable[[Incumbents], None] | None]:
    """Show a bar with time, objective and bound on a terminal while the block runs.

    The bar appears after one second, so that quick answers show none, and is removed at
    the end. At that time a note says if kernels are plain Python.
    """
    # Commands that solve nothing start quickly without it.
    from ioopt.compiled import library

    with ExitStack() as stack:
        if not quiet() and (why := library.why_plain()):
            note = partial(_say_once, f"kernels run as plain Python, slowly: {why}")
            stack.enter_context(_after_a_second(note))
        if quiet() or not sys.stderr.isatty():
            yield None
            return
        bar = _bar("TimeElapsedColumn", transient=True)
        task = bar.add_task(title, total=limit, state="building")
        stack.callback(bar.stop)
        stack.enter_context(_after_a_second(bar.start))
        yield lambda found: bar.update(
            task, completed=found.deadline.elapsed(), state=_state(found)
        )


@contextmanager
def _after_a_second(action: Callable[[], None]) -> Iterator[None]:
    """Call *action* once the block has run for a second, if it runs that long."""
    patience = threading.Timer(PATIENCE_SECONDS, action)
    patience.start()
    try:
        yield
    finally:
        patience.cancel()
        patience.join()


@cache
def _say_once(note: str) -> None:
    """Say *note* once in a process."""
    say(f"note: {note}")


@contextmanager
def printing_aside() -> Iterator[None]:
    """Send the output of solvers to standard error, because standard output is for the
    answer.

    Output that compiled code and child processes write to the file descriptor is
    redirected too.
    """
    stream = sys.stdout
    kept = _moved_aside()
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        if kept is not None:
            # Text of the solver may still be in buffers of Python and C.
            stream.flush()
            with suppress(OSError, AttributeError):
                ctypes.CDLL(None).fflush(None)
            os.dup2(kept, 1)
            os.close(kept)


def _moved_aside() -> int | None:
    """Redirect file descriptor 1 to standard error; return a copy of the original
    descriptor, or None if it is closed.
    """
    if sys.stdout is None:
        return None
    sys.stdout.flush()
    try:
        kept = os.dup(1)
        os.dup2(2, 1)
    except OSError:
        return None
    return kept


def _state(found: Incumbents) -> str:
    text = "" if found.objective is None else f"best {found.objective:.6g}"
    return text if found.bound is None else f"{text}, bound {found.bound:.6g}"


PATH = click.Path(readable=False)
"""The type of a file to read or write. The shell completes its name, and the command
checks it.
"""
seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N")
"""The option --seed of a command whose text says what is random."""
SKIPPED_SHARE = "0.05"

skip_bad_option = click.option(
    "--skip-bad",
    cls=BareOption,
    bare=SKIPPED_SHARE,
    metavar="[SHARE]",
    type=Number(0, 1),
    help=f"Leave out and count unreadable parts, up to this share ({SKIPPED_SHARE}).",
)
"""The option --skip-bad: it leaves out unreadable rows of a log or trace, or whole
unreadable Darshan logs.
"""


def _completing(
    rows: Callable[[click.Context], Mapping[str, str]],
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return click's completion function. It offers those words of *rows* (word -> help
    text) that begin with the typed text.
    """

    @wraps(rows)
    def offered(
        context: click.Context, parameter: click.Parameter, begun: str
    ) -> list[CompletionItem]:
        words = rows(context).items()
        return [
            CompletionItem(word, help=text)
            for word, text in words
            if word.startswith(begun)
        ]

    return offered


@_completing
def instances(context: click.Context) -> dict[str, str]:
    """Offer the names of bundled instances; if none matches, the shell completes file
    names.
    """
    return {name: row["kind"] for name, row in entries().items()}


def files(
    context: click.Context, parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Offer file names, and the names of bundled instances."""
    return [CompletionItem(begun, type="file"), *instances(context, parameter, begun)]


def _kinds(context: click.Context) -> set[str]:
    """Return the kinds of those bundled instances whose names have been typed so
    far.
    """
    # The command line is incomplete during completion, so click has not parsed it.
    return {entries()[name]["kind"] for name in context.args if name in entries()}


@_completing
def known_solvers(context: click.Context) -> dict[str, str]:
    """Offer the names of solvers; if FILE is a bundled instance, only of solvers that
    take it.
    """
    kinds = _kinds(context)
    rows = [row for row in registry.SOLVERS if not kinds or kinds & {*row.kinds}]
    return {row.name: row.summary for row in rows}


@_completing
def families(context: click.Context) -> dict[str, str]:
    """Offer the names of families and of kinds of instances."""
    return dict.fromkeys([*registry.families(), *registry.FORMATS], "")


@_completing
def presets(context: click.Context) -> dict[str, str]:
    """Offer the presets of the given family or, if none is given, of all families."""
    given = {*context.args}
    found: dict[str, str] = {}
    for row in registry.FORMATS.values():
        if not given or given & {row.family, row.kind}:
            found |= dict.fromkeys(row.presets, row.kind)
    return found


def _target(
    context: click.Context, option: click.Parameter, value: str | None
) -> str | None:
    """Return the name of the file to be written; raise an error at once, before any
    work, if it cannot be written.
    """
    if value is not None and value != "-":
        check_writable(value)
    return value


def _json_target(
    context: click.Context, option: click.Parameter, value: str | None
) -> str | None:
    """Return the name of the JSON file to be written, as :func:`_target` does; a
    picture is refused.
    """
    if value is not None and value.lower().endswith((".png", ".svg", ".pdf")):
        raise UsageError(
            f"-o {value}: is for JSON, such as result.json; then draw it: ioopt plot "
            f"result.json -o {value}"
        )
    return _target(context, option, value)


def solver_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that every solver takes. The command receives them as the
    dictionary ``how``, whose keys are keywords of ``ioopt.solve``.
    """

    @wraps(command)
    def gathered(**given: Any) -> Any:
        names = ("backend", "time_limit", "threads", "seed", "gap", "settings", "log")
        return command(how={name: given.pop(name) for name in names}, **given)

    return together(
        click.option(
            "--backend", metavar="NAME", help="Backend, such as CP-SAT, HiGHS or CBC."
        ),
        click.option(
            "--time-limit",
            type=Seconds(),
            default=DEFAULT_TIME_LIMIT_SECONDS,
            metavar="S",
            help="Seconds for the whole solve, model building included.",
        ),
        click.option(
            "--threads",
            type=int,
            default=1,
            metavar="N",
            help="Threads, for solvers with that ability (`ioopt instances solvers`).",
        ),
        click.option(
            "--seed",
            type=int,
            default=0,
            metavar="N",
            help="Seed of everything random.",
        ),
        click.option(
            "--gap", type=float, metavar="R", help="Stop at this relative gap."
        ),
        set_option("A setting of the solver; may be given again."),
        click.option(
            "--log",
            metavar="FILE",
            type=PATH,
            callback=_target,
            help="File to which the backend's log is appended.",
        ),
    )(gathered)


def check_threads(solver: str | None, kind: Kind, threads: int) -> None:
    """Raise UsageError when several threads are requested for a built-in solver that
    uses only one.
    """
    spec = registry.solver(solver, kind)
    if threads <= 1 or THREADS in spec.abilities or not spec.bundled:
        return
    able = [
        row.name for row in registry.solvers_for(kind.kind) if THREADS in row.abilities
    ]
    raise UsageError(
        f"--threads {threads}: {spec.name} uses one thread; more are of use to "
        f"{', '.join(able) or f'no solver of {kind.kind}'}"
    )


def format_option(*choices: str) -> Callable[[F], F]:
    """Return the option --format with the given choices, of which the first is the
    default.
    """
    return click.option(
        "--format",
        "form",
        type=click.Choice(choices),
        default=choices[0],
        help="Form of the answer on standard output.",
    )


def read_result(
    source: str, kind: Kind | None = None, columns: bool = False
) -> Mapping[str, Any]:
    """Read the argument RESULT as plain data. It is a result file, an object with a
    ``plan``, or a bare plan.

    Raises InstanceError for data that have neither a plan nor a schedule. If *kind* is
    given, it is also raised for data that do not have the form of that kind's results.
    With *columns*, the jobs of a long schedule of that kind may be columns.
    """
    data = _with_columns(source, kind) if columns and kind else None
    if data is None:
        data = read_json(source)
    if not isinstance(data, Mapping):
        raise InstanceError(
            f"{source}: a result is a JSON object, not {type(data).__name__}"
        )
    if "plan" not in data and "schedule" not in data:
        if data.get("format") is not None:
            given = shown(data["format"])
            raise InstanceError(
                f"{source}: {given} holds neither a plan nor a schedule"
            )
        data = {"plan": data}
    refuse_removed(data, source)
    if kind is not None:
        told: Mapping[str, Any] = data
        if data.get("format") != "ioopt/result" or "solver" not in data:
            parts = Result.model_fields.keys() - {"format", "version"}
            told = UNTOLD | {
                key: data[key] for key in parts if data.get(key) is not None
            }
        require_finite(data, source)
        found = validate(Result, told, source).model_dump(
            mode="json", exclude_unset=True, exclude={"plan", "schedule", "meta"}
        )
        data = {**data, **{key: value for key, value in found.items() if key in data}}
        require_form(kind, data, source)
    return data


def _with_columns(source: str, kind: Kind) -> Json | None:
    """Return the data of a large file, with the jobs of its schedule as columns; None
    if it has to be read as a whole.
    """
    reader = kind.rows_reader()
    if reader is None or not is_large(source):
        return None
    from ioopt.formats import large

    with suppress(OSError, *large.UNREADABLE):
        read = large.read_pieces(source, ("schedule",), lambda head: reader)
        read.rest["schedule"]["jobs"] = type(read.parts[0]).joined(read.parts)
        return read.rest
    return None


UNTOLD = {
    "instance": "-",
    "family": "-",
    "solver": "-",
    "status": "unknown",
    "stop": "finished",
}
"""Values for required keys of a result. They are added where a key is missing, so that
the class of results can also read a part of a result.
"""


def file_argument(**options: Any) -> Callable[[F], F]:
    """Return the argument FILE: an instance file, ``-``, or the name of a bundled
    instance.
    """
    metavar = "FILE..." if options.get("nargs") == -1 else "FILE"
    return click.argument("file", metavar=metavar, shell_complete=files, **options)


def solver_option(*names: str, text: str, **more: Any) -> Callable[[F], F]:
    """Return the option ``--solver NAME`` with the help *text*."""
    return click.option(
        "--solver",
        *names,
        metavar="NAME",
        help=text,
        shell_complete=known_solvers,
        **more,
    )


def paper_width_option(name: str, what: str = "Draw") -> Callable[[F], F]:
    """Return the option *name*, the width of a picture for a paper; *what* begins its
    help text.
    """
    return click.option(
        name,
        type=Number(*PAPER_WIDTHS),
        metavar="MM",
        help=f"{what} for a paper: MM millimetres wide, such as 85 for one column.",
    )


def measure_option(what: str = "that solvers optimise if they can") -> Callable[[F], F]:
    """Return the option ``--measure NAME``; *what* follows the words "The metric" in
    its help text.
    """
    text = f"The metric {what}; default: the kind's, such as makespan_seconds."
    return click.option("--measure", metavar="NAME", help=text)


library_option = click.option(
    "--library",
    metavar="FOLDER",
    type=PATH,
    help="The library's folder; default: IOOPT_LIBRARY, the checkout's, else the "
    "user's own.",
)


def output_option(
    required: bool = False,
    text: str = "Where to write.",
    checked: bool = True,
    json: bool = False,
) -> Callable[[F], F]:
    """Return the option ``-o FILE``. A command that fails leaves an existing file
    unchanged (see :func:`ioopt.formats.native.write_bytes`). Unless *checked*, FILE may
    be a folder; if it is to hold *json*, a picture is refused.
    """
    return click.option(
        "-o",
        "--output",
        metavar="FILE",
        type=PATH,
        required=required,
        callback=(_json_target if json else _target) if checked else None,
        help=text,
    )
