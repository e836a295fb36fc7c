"""Lines in, lines out: standard input and output, or a Unix socket readable by its
owner only.

Each connection is served by a process of its own, so that whatever solves can be
stopped: Python cannot end a thread, and compiled code may not even let another one run.
The process leads a group, with which the programs that its solvers start are ended too.
What a solver prints goes to standard error, and what it reads is empty: the lines have
descriptors of their own.
"""

import contextlib
import errno
import multiprocessing
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import time
from dataclasses import dataclass
from io import TextIOWrapper
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO, NoReturn

from ioopt import registry
from ioopt.embed.messages import MessageError, refusal
from ioopt.embed.service import MAX_LINE_BYTES, Service
from ioopt.errors import BackendFailureError, UsageError

MAX_CONNECTIONS = 32
MAX_UNFINISHED_BYTES = 256 << 20
"""Most that all connections together may have sent of lines without an end."""
DRAIN_SECONDS = 3.0
"""How long what has arrived is still answered once the service is told to stop; 5 s are
promised.
"""
INTERRUPT_SECONDS = 0.3
"""The same after Ctrl-C, which nobody wants to wait for."""
LEAVE_SECONDS = 1.0
"""How long a process may take to notice that its client has left before it is killed.
"""
_FULL_SECONDS = 0.05
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from ioopt.embed.transport import main; main(sys.argv[2:])"
)
NUMBERED, LISTED_ONLY = "numbered", "listed-only"
"""Words for :func:`main`: lines begin with a number, solvers of callers are refused."""
OWN_REFUSED = (
    "over HTTP only listed solvers are served: begin the service with --allow-own"
)
_NUMBER_BYTES = 24
_FULL = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EAGAIN)


class StreamServer:
    """Answers every line of *source* on *sink* with one :class:`Service`."""

    overhead_bytes = 0

    def __init__(self, source: IO[bytes], sink: IO[bytes], service: Service) -> None:
        self._source = source
        self._sink = sink
        self._service = service
        self._busy = self._stopped = False

    def run(self) -> int:
        """Serve until the input ends or :meth:`stop`; returns how many lines were
        answered.

        A line past the limit is read to its end in pieces, so that memory stays
        bounded.
        """
        answered = 0
        most = self._service.max_bytes + self.overhead_bytes
        while not self._stopped and (line := self._source.readline(most + 1)):
            self._busy = True
            rest = line
            while not rest.endswith(b"\n") and len(rest) > most:
                rest = self._source.readline(most + 1)
            if line.strip():
                self._sink.write(self._reply(line.rstrip(b"\n")))
                self._sink.flush()
                answered += 1
            self._busy = False
        return answered

    def _reply(self, line: bytes) -> bytes:
        return self._service.handle(line)

    def stop(self) -> None:
        """From a signal handler: finish the present line, or stop waiting for the next
        one.
        """
        self._stopped = True
        if not self._busy:
            raise SystemExit(0)


class NumberedServer(StreamServer):
    """The same for :class:`LineProcess`: a reply begins with the number of its line."""

    overhead_bytes = _NUMBER_BYTES

    def _reply(self, line: bytes) -> bytes:
        number, _, message = line.partition(b" ")
        return number + b" " + self._service.handle(message)


def own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Take standard input and output for the protocol alone, and return them.

    From then on the descriptors 0 and 1, and all that Python and C reach by them, are
    an empty input and standard error. Where standard error is the same pipe or file as
    standard output, what is printed to either is dropped.
    """
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    if _same_file(1, 2) and not os.isatty(1):
        dropped = os.open(os.devnull, os.O_WRONLY)
        os.dup2(dropped, 2)
        os.close(dropped)
    silence_streams()
    return source, sink


def _same_file(first: int, second: int) -> bool:
    try:
        return os.path.sameopenfile(first, second)
    except OSError:  # one of them is closed
        return False


def silence_streams() -> None:
    """Make standard input empty, and let standard output go to standard error."""
    empty = os.open(os.devnull, os.O_RDWR)
    os.dup2(empty, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.dup2(empty, 1)
    if empty > 2:
        os.close(empty)
    if isinstance(sys.stdout, TextIOWrapper):  # a pipe would keep what is printed
        sys.stdout.reconfigure(line_buffering=True)


def main(arguments: list[str]) -> None:
    """Serve standard input and output: BYTES (the longest line), then NUMBERED,
    LISTED_ONLY.
    """
    most, *words = arguments
    source, sink = own_streams()
    if LISTED_ONLY in words:
        registry.refuse_own(OWN_REFUSED)
    kind = NumberedServer if NUMBERED in words else StreamServer
    server = kind(source, sink, Service(int(most)))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    with contextlib.suppress(SystemExit, BrokenPipeError):
        try:
            server.run()
        except OSError as error:  # nobody hears another answer, but its reason is heard
            print(
                f"ioopt: standard output: {error.strerror}", file=sys.stderr, flush=True
            )
    # what is left of a hung solver's thread must not hold up the end
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    os._exit(0)


def serve(connection: socket.socket, max_bytes: int) -> NoReturn:
    """The process of one connection, which leads a group and ends with what its client
    has sent.
    """
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent tells when to end
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    silence_streams()
    with (
        contextlib.suppress(BrokenPipeError, ConnectionResetError),
        connection.makefile("rb") as source,
        connection.makefile("wb") as sink,
    ):
        StreamServer(source, sink, Service(max_bytes)).run()
    os._exit(0)  # whatever solver still runs


def _command(max_bytes: int, *words: str) -> list[str]:
    """The command of a process that serves its standard input and output."""
    folder = str(Path(__file__).resolve().parents[2])
    return [sys.executable, "-P", "-c", _PROGRAM, folder, str(max_bytes), *words]


class LineProcess:
    """A :class:`Service` in a process of its own, which can be ended whatever it does.

    Each message has a number, which its reply has to begin with. Without
    *allow_own* the process refuses solvers that are no part of the registry. It
    begins at the first message.
    """

    def __init__(self, max_bytes: int, *, allow_own: bool = True) -> None:
        words = [NUMBERED] if allow_own else [NUMBERED, LISTED_ONLY]
        self._command = _command(max_bytes, *words)
        self._process: subprocess.Popen[bytes] | None = None
        self._number = 0
        self._closed = False

    def handle(self, body: bytes) -> bytes:
        """The reply to one message without line breaks; MessageError where there is
        none.

        After a process has died or answered another message, the next one is new.
        """
        self._number += 1
        number = b"%d " % self._number
        process = self._process
        if process is None:
            pipe = subprocess.PIPE
            process = self._process = subprocess.Popen(
                self._command, stdin=pipe, stdout=pipe, process_group=0
            )
            if self._closed:  # meanwhile, in another thread
                self.end()
        try:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(number + body + b"\n")
            process.stdin.flush()
            reply = process.stdout.readline()
        except (OSError, ValueError):  # a pipe that is broken, or closed by end()
            reply = b""
        if reply.startswith(number) and reply.endswith(b"\n"):
            return reply.removeprefix(number)
        self.end()
        said = "answered another message" if reply else "has ended"
        raise MessageError(
            "internal", f"the process that decides {said}; its sessions are lost"
        )

    def end(self) -> None:
        """Kill the process and what its solvers have started; any thread may call it.

        The next message begins another process.
        """
        process = self._process
        self._process = None
        if process is None:
            return
        _kill_group(process.pid)
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def close(self) -> None:
        """Kill the process, and every other that is begun."""
        self._closed = True
        self.end()


class StdioServer:
    """Standard input and output, served by a process that can be killed whatever it
    does.
    """

    endpoint = ""

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._group = not sys.stdin.isatty()  # a terminal talks to its own group alone
        self._stopping: float | None = None
        group = 0 if self._group else None
        self._process = subprocess.Popen(_command(max_bytes), process_group=group)

    def run(self) -> None:
        """Serve until the input ends, the reader of the output has gone, or
        :meth:`stop`.
        """
        reader = select.poll()
        reader.register(1, 0)
        while self._process.poll() is None:
            if self._stopping is None and any(reader.poll(0)):
                self._stopping = time.monotonic() + LEAVE_SECONDS
            if self._stopping is not None and time.monotonic() > self._stopping:
                if self._group:
                    _kill_group(self._process.pid)
                self._process.kill()
                self._process.wait()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.1)
        if self._process.returncode and self._stopping is None:
            code = self._process.returncode
            raise BackendFailureError(
                f"the process that decides has ended with code {code}"
            )

    def stop(self, seconds: float = DRAIN_SECONDS) -> None:
        """Answer the present line and end within *seconds*; a signal handler may call
        it.
        """
        if self._stopping is None:
            self._stopping = time.monotonic() + seconds
            self._process.terminate()


@dataclass(eq=False)
class _Client:
    """A connection, kept to see whether the client is there, and the process that
    serves it.

    ``end_at`` is when that is to be killed, because the client has left; None: not at
    all.
    """

    connection: socket.socket
    process: BaseProcess
    end_at: float | None = None


class SocketServer:
    """A Unix socket on which every connection is a :class:`Service` of its own, in its
    own process.

    The loop below only hands over and watches: it solves nothing, so that nothing can
    hold it up. Processes are forked from a server that has imported what they need.
    """

    def __init__(self, path: str, max_bytes: int = MAX_LINE_BYTES) -> None:
        self.endpoint = path
        self.max_bytes = max_bytes
        self.connections = max(
            1, min(MAX_CONNECTIONS, MAX_UNFINISHED_BYTES // max_bytes)
        )
        self._clients: list[_Client] = []
        self._stop_at: float | None = None
        self._waker, self._wake = os.pipe()
        self._listener = _listen(path)
        self._forks = multiprocessing.get_context("forkserver")
        self._forks.set_forkserver_preload(
            [__name__, "ioopt.solving", "ioopt.cli.main"]
        )

    def run(self) -> None:
        """Accept connections until :meth:`stop`; then answer what has arrived and
        close.
        """
        try:
            forkserver.ensure_running()
            while self._stop_at is None:
                self._watch()
            self._listener.close()
            for each in self._clients:
                with contextlib.suppress(OSError):
                    each.connection.shutdown(socket.SHUT_RD)
            while self._clients and time.monotonic() < self._stop_at:
                self._watch()
        finally:
            self._close()

    def stop(self, seconds: float = DRAIN_SECONDS) -> None:
        """Stop accepting, end within *seconds*; may be called from a signal handler."""
        if self._stop_at is None:
            self._stop_at = time.monotonic() + seconds
            os.write(self._wake, b"s")

    def _watch(self) -> None:
        """Wait for whatever happens next, and react to it."""
        poll = select.poll()
        ends = {each.process.sentinel: each for each in self._clients}
        here = {
            each.connection.fileno(): each
            for each in self._clients
            if each.end_at is None
        }
        for handle in ends:
            poll.register(handle, select.POLLIN)
        for handle in here:
            poll.register(handle, 0)  # says only that the other side is closed
        if self._stop_at is None:
            poll.register(self._listener, select.POLLIN)
            poll.register(self._waker, select.POLLIN)
        moments = [each.end_at for each in self._clients if each.end_at is not None]
        moments += [] if self._stop_at is None else [self._stop_at]
        if moments:
            left = 1000 * (min(moments) - time.monotonic())
        else:
            left = None
        for handle, _ in poll.poll(None if left is None else max(left, 0) + 1):
            if handle in ends:
                each = ends[handle]
                if each.process.exitcode and each.end_at is None:
                    said = "the process that served this connection has ended"
                    _tell(each.connection, "internal", said)
                self._drop(each)
            elif handle in here:
                here[handle].end_at = time.monotonic() + LEAVE_SECONDS
            elif self._stop_at is None and handle == self._listener.fileno():
                self._accept()
        for each in [*self._clients]:
            if each.end_at is not None and time.monotonic() >= each.end_at:
                self._drop(each)

    def _drop(self, each: _Client) -> None:
        self._clients.remove(each)
        _kill_group(each.process.pid or 0)
        each.process.kill()  # it may not lead its group yet
        each.process.join()
        each.process.close()
        each.connection.close()

    def _accept(self) -> None:
        """Give a new connection a process, or tell the client that no more are served."""
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            if error.errno in _FULL:
                time.sleep(_FULL_SECONDS)  # not to spin until something is closed
            return  # or the client has given up meanwhile
        try:
            if len(self._clients) >= self.connections:
                raise OSError(f"{self.connections} connections are served already")
            process = self._forks.Process(
                target=serve, args=(connection, self.max_bytes)
            )
            process.start()
        except (OSError, EOFError) as error:
            reason = getattr(error, "strerror", None) or error
            _tell(connection, "busy", f"no more connections now: {reason}")
            connection.close()
            return
        self._clients.append(_Client(connection, process))

    def _close(self) -> None:
        self._listener.close()
        for each in [*self._clients]:
            self._drop(each)
        for handle in (self._waker, self._wake):
            os.close(handle)
        if os.path.exists(self.endpoint):
            os.unlink(self.endpoint)


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _tell(client: socket.socket, code: str, text: str) -> None:
    """A last line to a client, if it can take it at once."""
    with contextlib.suppress(OSError):
        client.setblocking(False)
        client.send(refusal(None, code, text))


def _listen(path: str) -> socket.socket:
    """A listening socket with mode 0600; a stale one is replaced, anything else is left
    alone.
    """
    if os.path.exists(path):
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            raise UsageError(f"{path}: exists and is not a socket")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            if probe.connect_ex(path) == 0:
                raise UsageError(f"{path}: another service is listening there")
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be opened: {error}") from None
    finally:
        os.umask(before)
    listener.listen()
    return listener
