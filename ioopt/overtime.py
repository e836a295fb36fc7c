"""End work that overlooks its deadline: a timer of processor time raises OutOfTime.

Loops that may take long ask their deadline themselves and end with what they have. What they
overlook (one long step, a bound, a check, the reading of a large file) is ended here, so that a
command takes at most ``1.1 T + 1`` processor seconds of its main thread's work with
``--time-limit T``. Processor time, because on a busy machine nothing is lost that would have been
in time. Without timers (Windows, threads other than the main one) nothing is ended.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ioopt.errors import OutOfTime
from ioopt.options import Deadline

ENDING_SECONDS = 0.3
"""What printing an answer and ending the process may take."""
AGAIN_SECONDS = 0.05
"""Where the exception was swallowed, it is raised again after this time."""

_armed = False


def processor_seconds_left(deadline: Deadline, threads: int = 1) -> float:
    """Return the processor seconds that may still be used under *deadline*."""
    if deadline.limit_seconds is None:
        return float("inf")
    whole = 1.1 * deadline.limit_seconds + 1.0 - ENDING_SECONDS
    return threads * whole - (time.process_time() - deadline.processor_started)


@contextmanager
def cut_off(seconds: float, what: str) -> Iterator[None]:
    """Raise OutOfTime in the block once it has used so many processor seconds.

    *what* had not happened by then ("a plan was complete"). Blocks do not nest.
    """
    global _armed
    message = f"the time limit ended before {what}"
    if seconds <= 0:
        raise OutOfTime(message)
    if not _can_be_timed(seconds):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        if _armed:
            raise OutOfTime(message)

    # The handler stays: a late signal must find one that does nothing.
    signal.signal(signal.SIGPROF, ring)
    try:
        _armed = True
        signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN_SECONDS)
        yield
    finally:
        _armed = False
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def _can_be_timed(seconds: float) -> bool:
    """Whether a timer can be set here, and another program of this process does not use it."""
    if seconds == float("inf") or not hasattr(signal, "setitimer"):
        return False
    if threading.current_thread() is not threading.main_thread():
        return False
    handler = signal.getsignal(signal.SIGPROF)
    ours = getattr(handler, "__module__", None) == __name__
    return ours or handler is signal.SIG_DFL
