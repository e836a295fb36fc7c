"""End a command soon after Ctrl-C, even while machine code or a library keeps its main
thread busy.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ioopt.errors import ExitCode

GRACE_SECONDS = 0.3
"""The seconds in which the main thread may end by itself and remove unfinished
files.
"""


@contextmanager
def ending_soon() -> Iterator[None]:
    """End the process when the block does not end soon after SIGINT or SIGTERM.

    Python raises KeyboardInterrupt only between two of its own instructions. A separate
    thread is therefore used, which learns of the signal at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    read, write = os.pipe()
    os.set_blocking(write, False)
    over = threading.Event()
    before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    watcher = threading.Thread(target=_watch, args=(read, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        os.close(write)
        watcher.join()
        os.close(read)


def _watch(read: int, over: threading.Event) -> None:
    """Wait until the number of a signal arrives in the pipe *read*; then end the
    process unless the command ends within ``GRACE_SECONDS``.
    """
    while number := os.read(read, 1):
        if number[0] not in (signal.SIGINT, signal.SIGTERM):
            continue
        if over.wait(GRACE_SECONDS):
            return
        _end_children()
        os.write(
            sys.__stderr__.fileno() if sys.__stderr__ else 2, b"ioopt: interrupted\n"
        )
        os._exit(ExitCode.INTERRUPTED)


def _end_children() -> None:
    """End the processes of a process pool, which would otherwise continue their
    tasks.
    """
    loaded = sys.modules.get("multiprocessing")
    for process in loaded.active_children() if loaded else ():
        process.terminate()
