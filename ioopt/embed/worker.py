"""Processes that each serve one connection, so that whatever solves can be stopped.

Python cannot end a thread, and compiled code may not even let another one run: a service that must
let go of a solver gives it a process of its own. It leads a process group, with which the programs
that its solvers start are ended too.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import IO, NoReturn

from ioopt.embed.service import Service

_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from ioopt.embed.worker import main; main(sys.argv[2:])"
)


def start(max_bytes: int, group: bool) -> subprocess.Popen[bytes]:
    """A process that runs :func:`main`, with a *group* of its own."""
    command = [sys.executable, "-P", "-c", _PROGRAM, str(Path(__file__).resolve().parents[2])]
    return subprocess.Popen([*command, str(max_bytes)], process_group=0 if group else None)


def end(process: subprocess.Popen[bytes], group: bool) -> None:
    """Kill a process of :func:`start`, with what it has started, and wait for it."""
    with contextlib.suppress(ProcessLookupError):
        if group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


class StreamServer:
    """Answers every line of *source* on *sink* with one :class:`Service`."""

    def __init__(self, source: IO[bytes], sink: IO[bytes], service: Service) -> None:
        self._source, self._sink, self._service = source, sink, service
        self._busy = self._stopped = False

    def run(self) -> int:
        """Serve until the input ends or :meth:`stop`; returns how many lines were answered.

        A line past the limit is read to its end in pieces, so that memory stays bounded.
        """
        answered = 0
        while not self._stopped:
            line = self._source.readline(self._service.max_bytes + 1)
            if not line:
                break
            self._busy = True
            rest = line
            while not rest.endswith(b"\n") and len(rest) > self._service.max_bytes:
                rest = self._source.readline(self._service.max_bytes + 1)
            if line.strip():
                self._sink.write(self._service.handle(line))
                self._sink.flush()
                answered += 1
            self._busy = False
        return answered

    def stop(self) -> None:
        """From a signal handler: finish the present line, or stop waiting for the next one."""
        self._stopped = True
        if not self._busy:
            raise SystemExit(0)


def main(arguments: list[str]) -> None:
    """The process that serves standard input and output: BYTES (the longest line)."""
    server = StreamServer(sys.stdin.buffer, sys.stdout.buffer, Service(int(arguments[0])))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    with contextlib.suppress(SystemExit, BrokenPipeError):
        try:
            server.run()
        except OSError as error:  # nobody hears another answer, but its reason is heard
            print(f"ioopt: standard output: {error.strerror}", file=sys.stderr, flush=True)
    # what is left of a hung solver's thread must not hold up the end
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    os._exit(0)


def serve(connection: socket.socket, max_bytes: int) -> NoReturn:
    """The process of one connection, which leads a group and ends with what its client has sent."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent tells when to end
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with (
        contextlib.suppress(BrokenPipeError, ConnectionResetError),
        connection.makefile("rb") as source,
        connection.makefile("wb") as sink,
    ):
        StreamServer(source, sink, Service(max_bytes)).run()
    os._exit(0)  # whatever solver still runs
