"""Serve I/O processes in a loop that runs in plain Python and compiled.

The rules are in :mod:`ioopt.measure.io_server`. Times are in nanoseconds.
"""

from dataclasses import dataclass


@dataclass(slots=True)
class Window:
    """A window of a cycle: the time in the cycle at which it begins, and its length."""

    start: int
    length: int


@dataclass(slots=True)
class Process:
    """A process: the time of each I/O, when it asks for the CPU next, and the number
    of its completed bursts.
    """

    io: int
    ready: int
    completed: int


@dataclass(slots=True)
class Server:
    """The processes, the windows, and what was served.

    ``bursts`` lists the ``per_process`` bursts of the first process, then those of the
    second, and so on. The other lists describe the served bursts in order of service:
    ``process``, ``asked`` (the time at which it asked for the CPU), ``begin`` (in
    window time), ``burst`` and ``finish``. Each has as many places as there are bursts.
    """

    cycle: int
    horizon: int
    per_process: int
    windows: list[Window]
    processes: list[Process]
    bursts: list[int]
    process: list[int]
    asked: list[int]
    begin: list[int]
    burst: list[int]
    finish: list[int]


def serve(server: Server) -> int:
    """Serve the processes until the horizon; return the number of bursts served."""
    cycle = server.cycle
    windows = server.windows
    processes = server.processes
    per_cycle = 0
    for window in windows:
        per_cycle += window.length
    free = 0
    count = 0
    while True:
        first = 0
        for k in range(1, len(processes)):
            if processes[k].ready < processes[first].ready:
                first = k
        process = processes[first]
        asked = process.ready
        if asked >= server.horizon or process.completed >= server.per_process:
            return count
        # Window time up to `asked`.
        begin = asked // cycle * per_cycle
        phase = asked % cycle
        for window in windows:
            if phase > window.start:
                begin += min(phase - window.start, window.length)
        begin = max(begin, free)
        burst = server.bursts[first * server.per_process + process.completed]
        free = begin + burst
        # The earliest wall-clock time at which that much window time has passed.
        turns = (free - 1) // per_cycle
        left = free - turns * per_cycle
        finish = turns * cycle
        for window in windows:
            if left <= window.length:
                finish += window.start + left
                break
            left -= window.length
        server.process[count] = first
        server.asked[count] = asked
        server.begin[count] = begin
        server.burst[count] = burst
        server.finish[count] = finish
        count += 1
        process.completed += 1
        process.ready = finish + process.io
