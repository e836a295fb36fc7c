"""The walk of the I/O processes of the two-job model, plain Python and compiled alike.

See :mod:`ioopt.compiled`; the rules are in :mod:`ioopt.measure.quantum_event`.
"""

from __future__ import annotations

from typing import Any


def walk(bursts: Any, qi: int, qc: int, io: int, returns: bool, ready: Any, request: Any) -> None:
    """Fill in when each iteration of each process is ready and when it makes its request.

    *bursts*, *ready* and *request* have shape (processes, iterations), in nanoseconds. A burst that
    ends exactly at a slot end is complete in that slot; an I/O that completes there waits. Without
    *returns* a burst starts at a slot start only.
    """
    cycle = qi + qc
    for process in range(bursts.shape[0]):
        now = 0
        for k in range(bursts.shape[1]):
            ready[process, k] = now
            phase = now % cycle
            waits = phase >= qi if returns else phase > 0
            if waits:
                now += cycle - phase
                phase = 0
            burst = bursts[process, k]
            now += burst + (phase + burst - 1) // qi * qc
            request[process, k] = now
            now += io
