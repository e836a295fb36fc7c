"""End work that does not check the time limit itself.

Long loops ask their deadline themselves and stop with the result they have. All other
work (one long step, a bound, a check, the reading of a large file, a solver of the
user) is ended by a timer. A command with ``--time-limit T`` therefore takes at most
``1.1 T + 1`` seconds of processor time.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType

from ioopt.errors import OutOfTime
from ioopt.options import Deadline

ENDING_SECONDS = 0.4
"""The seconds reserved for printing an answer and ending the process."""
AGAIN_SECONDS = 0.05
"""The seconds after which the timer fires again, in case code caught the exception and
went on.
"""


def processor_seconds_left(deadline: Deadline) -> float:
    """Return the processor seconds that this thread may still use in the run of
    *deadline*, overtime included.

    Infinity if the run has no limit, and for a deadline with a clock of its own, which
    tests use.
    """
    if deadline.clock is not time.monotonic:
        return float("inf")
    whole = 1.1 * deadline.run_seconds + 1.0 - ENDING_SECONDS
    return whole - (time.thread_time() - deadline.processor_started)


_UNTIMED = nullcontext()


def cut_off(
    seconds: float, message: str, wall_clock: bool = False
) -> AbstractContextManager[None]:
    """Return a context that raises OutOfTime with *message* inside its block once the
    thread has worked for *seconds*; raise it at once if there are none.

    Only the processor time of this thread counts. A busy machine therefore does not end
    work that would have been in time. The work of threads that a solver starts does not
    count either, because those threads ask the deadline themselves. A block that may
    sleep is timed by the *wall_clock* instead.

    Only a block in the main thread can be ended. Nothing is ended on Windows, inside
    another block timed by the same clock, or when other code uses the signal of the
    timer.
    """
    if seconds <= 0:
        raise OutOfTime(message)
    # A service makes thousands of decisions a second in a thread without timers.
    if not _can_be_timed(seconds, wall_clock):
        return _UNTIMED
    return _timed(seconds, message, wall_clock)


@contextmanager
def _timed(seconds: float, message: str, wall_clock: bool) -> Iterator[None]:
    clock = time.monotonic if wall_clock else time.thread_time
    until = clock() + seconds
    armed = True
    rung = False

    def ring(number: int, frame: FrameType | None) -> None:
        nonlocal rung
        # The timer of the processor counts the other threads of the process too.
        if armed and clock() >= until:
            rung = True
            raise OutOfTime(message)

    # Leave the handler in place: a late signal must find a handler, and this one then
    # does nothing.
    signal.signal(_signal_of(wall_clock), ring)
    try:
        signal.setitimer(_timer_of(wall_clock), seconds, AGAIN_SECONDS)
        yield
    except Exception as error:
        if rung and not isinstance(error, OutOfTime):  # wrapped by a library
            raise OutOfTime(message) from error
        raise
    finally:
        armed = False
        signal.setitimer(_timer_of(wall_clock), 0.0)


def _signal_of(wall_clock: bool) -> signal.Signals:
    return signal.SIGALRM if wall_clock else signal.SIGPROF


def _timer_of(wall_clock: bool) -> int:
    return signal.ITIMER_REAL if wall_clock else signal.ITIMER_PROF


def _can_be_timed(seconds: float, wall_clock: bool) -> bool:
    """Return whether a timer can be set in this thread, and no other code in this
    process uses that timer.
    """
    if seconds == float("inf") or not hasattr(signal, "setitimer"):
        return False
    if threading.current_thread() is not threading.main_thread():
        return False
    if signal.getitimer(_timer_of(wall_clock))[0] > 0:
        return False
    handler = signal.getsignal(_signal_of(wall_clock))
    ours = getattr(handler, "__module__", None) == __name__
    return ours or handler is signal.SIG_DFL
