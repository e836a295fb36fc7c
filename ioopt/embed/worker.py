"""Processes that each serve one connection at a time, so that whatever solves can be stopped.

Python cannot end a thread, and compiled code may not even let another one run: a service that must
let go of a solver gives it a process of its own. A worker is started ahead of need, gets the
connection of a client from its parent, says when that is done, and may then have the next one. It
leads a process group, with which the programs that its solvers start are ended too.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

from ioopt.embed.service import Service

DONE = b"d"
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from ioopt.embed.worker import main; main(sys.argv[2:])"
)


def start(arguments: list[str], group: bool = True, **options: Any) -> subprocess.Popen[bytes]:
    """A process that runs :func:`main`; *options* are those of ``subprocess.Popen``."""
    command = [sys.executable, "-P", "-c", _PROGRAM, str(Path(__file__).resolve().parents[2])]
    return subprocess.Popen([*command, *arguments], process_group=0 if group else None, **options)


def end(process: subprocess.Popen[bytes], group: bool = True) -> None:
    """Kill a process of :func:`start`, with what it has started, and wait for it."""
    with contextlib.suppress(ProcessLookupError):
        if group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


class Worker:
    """The parent's end of a worker. ``connection`` is what it serves, None while it is idle.

    ``end_at`` is when it is to be killed, because its client has left; None: not at all.
    """

    def __init__(self, max_bytes: int) -> None:
        self.control, theirs = socket.socketpair()
        with theirs:
            try:
                self.process = start(
                    ["socket", str(theirs.fileno()), str(max_bytes)],
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                )
            except OSError:
                self.control.close()
                raise
        self.connection: socket.socket | None = None
        self.end_at: float | None = None

    def serve(self, connection: socket.socket) -> None:
        """Hand over *connection*, of which a copy is kept to see whether the client is there."""
        socket.send_fds(self.control, [DONE], [connection.fileno()])
        self.connection, self.end_at = connection, None

    def is_done(self) -> bool:
        """Read a message of the worker: True when it is free again, False when it has ended."""
        try:
            free = self.control.recv(1) == DONE
        except OSError:
            free = False
        if free:
            self._forget()
        return free

    def end(self) -> None:
        """Kill the process and release what it used."""
        self.control.close()
        end(self.process)
        self._forget()

    def _forget(self) -> None:
        if self.connection is not None:
            self.connection.close()
        self.connection = self.end_at = None


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
    """The process of a worker: ``socket FD BYTES`` or ``stdio BYTES`` (the longest line)."""

    kind, *numbers = arguments
    if kind == "socket":
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent tells when to end
        _connections(socket.socket(fileno=int(numbers[0])), int(numbers[1]))
        return
    server = StreamServer(sys.stdin.buffer, sys.stdout.buffer, Service(int(numbers[0])))
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


def _connections(control: socket.socket, max_bytes: int) -> None:
    """Serve the connections that the parent hands over, one after the other."""
    import ioopt.solving  # noqa: F401  # ready before the first client is

    while True:
        word, handles, _, _ = socket.recv_fds(control, 1, 1)
        if not word:
            os._exit(0)  # whoever started us has gone
        service = Service(max_bytes)
        with (
            contextlib.suppress(BrokenPipeError, ConnectionResetError),
            socket.socket(fileno=handles[0]) as connection,
            connection.makefile("rb") as source,
            connection.makefile("wb") as sink,
        ):
            StreamServer(source, sink, service).run()
        if service.hung:
            os._exit(0)  # nobody waits for this solver, and it may never end
        control.send(DONE)
