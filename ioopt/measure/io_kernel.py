"""Serve I/O processes in a loop that runs in plain Python and as machine code.

:mod:`ioopt.compiled` compiles it. The rules are in :mod:`ioopt.measure.io_server`.
Times are in nanoseconds.
"""

from ioopt.compiled import Box


def serve(
    cycle: int,
    starts: Box,
    lengths: Box,
    bursts: Box,
    io: Box,
    horizon: int,
    ready: Box,
    out: Box,
) -> int:
    """Serve the processes until *horizon*; return the number of bursts written to
    *out*.

    *starts* and *lengths* describe the windows of a cycle. *bursts* lists all bursts of
    the first process, then those of the second, and so on. *io* is the I/O time of each
    process. *ready* has two numbers for each process, 0 at first: the time at which it
    asks for the CPU, and the number of its completed bursts. *out* has five rows:
    process, time of asking, begin in window time, burst, and end.
    """
    num_windows = len(starts)
    num = len(io)
    per_process = len(bursts) // num
    size = len(bursts)
    per_cycle = 0
    for w in range(num_windows):
        per_cycle += lengths[w]
    free = 0
    count = 0
    while True:
        i = 0
        for j in range(1, num):
            if ready[2 * j] < ready[2 * i]:
                i = j
        at = ready[2 * i]
        if at >= horizon or ready[2 * i + 1] >= per_process:
            return count
        # Window time up to `at`.
        begin = (at // cycle) * per_cycle
        phase = at % cycle
        for w in range(num_windows):
            if phase > starts[w]:
                begin += min(phase - starts[w], lengths[w])
        begin = max(begin, free)
        burst = bursts[i * per_process + ready[2 * i + 1]]
        free = begin + burst
        # The earliest wall-clock time at which that much window time has passed.
        turns = (free - 1) // per_cycle
        left = free - turns * per_cycle
        finish = turns * cycle
        for w in range(num_windows):
            if left <= lengths[w]:
                finish += starts[w] + left
                break
            left -= lengths[w]
        out[count] = i
        out[size + count] = at
        out[2 * size + count] = begin
        out[3 * size + count] = burst
        out[4 * size + count] = finish
        count += 1
        ready[2 * i + 1] += 1
        ready[2 * i] = finish + io[i]
