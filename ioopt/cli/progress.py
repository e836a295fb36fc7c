"""Progress on a terminal: what the solver has so far, how far a sweep has come."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ioopt.cli.lazy import quiet
from ioopt.compiled import choice
from ioopt.protocols import Incumbents
from ioopt.tables import say

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE_SECONDS = 1


def progress(*columns: str, transient: bool = False) -> Progress:
    """A bar with these columns of rich, between what it is of and what it has come to (``state``)."""
    from rich import console, progress

    shown: list[str | progress.ProgressColumn] = ["{task.description}", progress.BarColumn()]
    shown += [getattr(progress, name)() for name in columns]
    error = console.Console(file=sys.stderr)
    return progress.Progress(*shown, "{task.fields[state]}", console=error, transient=transient)


@contextmanager
def watching(title: str, limit: float | None) -> Iterator[Callable[[Incumbents], None] | None]:
    """Show a bar with time, objective and bound while the block runs; nothing without a terminal.

    The bar appears only after a second, so that quick answers stay quiet, and goes away at the end.
    """
    if not quiet():
        choice.say = say
    if quiet() or not sys.stderr.isatty():
        yield None
        return
    latest: list[Incumbents] = []
    done = threading.Event()
    worker = threading.Thread(target=_draw, args=(title, limit, latest, done), daemon=True)
    worker.start()
    try:
        yield lambda incumbents: latest.__setitem__(slice(None), [incumbents])
    finally:
        done.set()
        worker.join()


def _draw(title: str, limit: float | None, latest: list[Incumbents], done: threading.Event) -> None:
    """The bar, from a thread of its own: it appears once the work has gone on for a second."""
    if done.wait(PATIENCE_SECONDS):
        return
    with progress("TimeElapsedColumn", transient=True) as bar:
        task = bar.add_task(title, total=limit, completed=PATIENCE_SECONDS, state="")
        while not done.wait(0.2):
            bar.update(task, advance=0.2, state=_state(latest))


def _state(latest: list[Incumbents]) -> str:
    if not latest:
        return "building"
    objective, bound = latest[0].objective, latest[0].bound
    text = "" if objective is None else f"best {objective:.6g}"
    return text if bound is None else f"{text}, bound {bound:.6g}"
