"""Run a solver as a child process that never outlives the call."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping

from ioopt.errors import BackendFailureError
from ioopt.solvers.backends.answer import BackendLimits

GRACE_SECONDS = 0.3
"""Seconds that a solver may still run past its time limit."""
_TERMINATE_SECONDS = 0.4
"""Seconds that a solver has to end after SIGINT before it is killed."""


def run_child(
    command: list[str],
    limits: BackendLimits,
    environment: Mapping[str, str] | None = None,
) -> tuple[str, bool]:
    """Run a solver until it ends, or until it is stopped past its time limit.

    Return its output, and whether it was cut off. *environment* adds to the variables
    of this process.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        child = subprocess.Popen(
            command,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        late = False
        timeout = None
        if limits.seconds is not None:
            timeout = limits.seconds + GRACE_SECONDS
        try:
            child.wait(timeout)
        except subprocess.TimeoutExpired:
            late = True
            child.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_TERMINATE_SECONDS)
        finally:
            child.kill()  # this has no effect if the child has ended
            child.wait()
        output.seek(0)
        text = output.read()
    limits.note(text)
    if child.returncode != 0 and not late:
        tail = " ".join(text.split("\n")[-4:]).strip()
        raise BackendFailureError(
            f"{command[0]} ended with code {child.returncode}: {tail}"
        )
    return text, child.returncode != 0
