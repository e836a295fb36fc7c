"""Serve lines of JSON over standard input and output, or over a Unix socket that only
its owner may use.

Each connection has its own process, because a process with a running solver can be
killed: Python cannot end a thread, and compiled code may block all other threads. The
process leads a process group, so that programs started by solvers are killed with it.
One of its threads answers; the main thread watches the deadlines and gets the signals
(:class:`~ioopt.embed.guard.Watch`). What a solver prints goes to standard error, and
its standard input is empty; the protocol uses separate descriptors.
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
from ioopt.embed.guard import Watch
from ioopt.embed.messages import MessageError, refusal
from ioopt.embed.service import MAX_LINE_BYTES, Service
from ioopt.errors import BackendFailureError, UsageError

MAX_CONNECTIONS = 32
MAX_UNFINISHED_BYTES = 256 << 20
"""The largest number of bytes of incomplete lines, summed over all connections."""
DRAIN_SECONDS = 3.0
"""The number of seconds for answering the messages already received, once the service
is told to stop.

The documentation promises that the service stops within 5 s.
"""
INTERRUPT_SECONDS = 0.3
"""The number of seconds that replaces :data:`DRAIN_SECONDS` after Ctrl-C, when a user
is waiting.
"""
LEAVE_SECONDS = 1.0
"""The number of seconds after which a process is killed if it has not ended since its
client disconnected.
"""
_FULL_SECONDS = 0.05
"""The pause in seconds when no descriptor or memory is left for a new connection."""
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from ioopt.embed.transport import main; main(sys.argv[2:])"
)
NUMBERED = "numbered"
"""An argument of :func:`main`: every message and its reply begin with a number."""
FIRST = "first="
"""Begins the word that says from which number on sessions are numbered."""
LISTED_ONLY = "listed-only"
"""An argument of :func:`main`: refuse solvers that are not in the registry."""
OWN_REFUSED = (
    "over HTTP only listed solvers are served: begin the service with --allow-own"
)
_NUMBER_BYTES = 24
_FULL = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EAGAIN)


class StreamServer:
    """Read messages from *source*, one a line, and write the replies of *service* to
    *sink*.
    """

    overhead_bytes = 0

    def __init__(self, source: IO[bytes], sink: IO[bytes], service: Service) -> None:
        self._source = source
        self._sink = sink
        self._service = service
        self._busy = self._stopped = False
        self._answered = 0

    def run(self) -> int:
        """Serve until the input ends or :meth:`stop` is called; return the number of
        lines answered.

        A line beyond the length limit is read to its end in pieces, so that memory
        stays bounded.
        """
        most = self._service.max_bytes + self.overhead_bytes
        while not self._stopped and (line := self._source.readline(most + 1)):
            self._busy = True
            rest = line
            while not rest.endswith(b"\n") and len(rest) > most:
                rest = self._source.readline(most + 1)
            if line.strip():
                self._send(self._service.handle(self._message(line.rstrip(b"\n"))))
            self._busy = False
        return self._answered

    def resume(self, why: str) -> int:
        """Refuse the current line, whose solver has not answered for the reason *why*,
        and serve on as :meth:`run` does.
        """
        self._send(self._service.unanswered(why))
        self._busy = False
        return self.run()

    def _message(self, line: bytes) -> bytes:
        """Return the message in *line*."""
        return line

    def _send(self, reply: bytes) -> None:
        self._sink.write(reply)
        self._sink.flush()
        self._answered += 1

    def stop(self) -> None:
        """Finish the current line and then stop; if no line is being answered, stop at
        once. A signal handler may call this.
        """
        self._stopped = True
        if not self._busy:
            raise SystemExit(0)


class NumberedServer(StreamServer):
    """A :class:`StreamServer` whose requests begin with a number. The reply begins with
    the same number.
    """

    overhead_bytes = _NUMBER_BYTES
    _number = b""

    def _message(self, line: bytes) -> bytes:
        self._number, _, message = line.partition(b" ")
        return message

    def _send(self, reply: bytes) -> None:
        super()._send(self._number + b" " + reply)


def own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Reserve standard input and output for the protocol; return the two as binary
    files.

    Afterwards, in Python and in C, descriptor 0 is an empty input and descriptor 1 is
    standard error. If standard error and standard output are the same pipe or file,
    everything that other code prints is dropped.
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
    """Make standard input empty, and redirect standard output to standard error."""
    empty = os.open(os.devnull, os.O_RDWR)
    os.dup2(empty, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.dup2(empty, 1)
    if empty > 2:
        os.close(empty)
    if isinstance(sys.stdout, TextIOWrapper):  # a pipe would buffer output
        sys.stdout.reconfigure(line_buffering=True)


def main(arguments: list[str]) -> None:
    """Serve messages on standard input and output, until the input ends.

    *arguments* are the largest number of bytes of a line, and then, if wanted,
    :data:`NUMBERED`, :data:`LISTED_ONLY`, and :data:`FIRST` with the number of the
    first session.
    """
    most, *words = arguments
    first = 1
    for word in words:
        if word.startswith(FIRST):
            first = int(word.removeprefix(FIRST))
    source, sink = own_streams()
    if LISTED_ONLY in words:
        registry.refuse_own(OWN_REFUSED)
    kind = NumberedServer if NUMBERED in words else StreamServer
    watch = Watch()
    server = kind(source, sink, Service(int(most), first_session=first, guard=watch))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    with contextlib.suppress(SystemExit, BrokenPipeError):
        try:
            watch.serve(server.run, server.resume)
        except OSError as error:  # standard error may still work
            print(
                f"ioopt: standard output: {error.strerror}", file=sys.stderr, flush=True
            )
    # A thread in which a solver hangs must not delay the end.
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    os._exit(0)


def serve(connection: socket.socket, max_bytes: int) -> NoReturn:
    """Serve one connection in this process, which becomes the leader of a process
    group; at the end, exit.
    """
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to end
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    silence_streams()
    with (
        contextlib.suppress(BrokenPipeError, ConnectionResetError),
        connection.makefile("rb") as source,
        connection.makefile("wb") as sink,
    ):
        watch = Watch()
        server = StreamServer(source, sink, Service(max_bytes, guard=watch))
        watch.serve(server.run, server.resume)
    os._exit(0)  # ends solvers that still run


def _command(max_bytes: int, *words: str) -> list[str]:
    """Return the command of a process that serves messages on its standard input and
    output; *words* are further arguments of :func:`main`.
    """
    folder = str(Path(__file__).resolve().parents[2])
    return [sys.executable, "-P", "-c", _PROGRAM, folder, str(max_bytes), *words]


class LineProcess:
    """A :class:`Service` in its own process, which can be killed at any time.

    Each message is sent with a number, and its reply must begin with the same number.
    Unless *allow_own* is true, the process refuses solvers that are not in the
    registry. The process starts at the first message.
    """

    def __init__(self, max_bytes: int, *, allow_own: bool = True) -> None:
        words = [NUMBERED]
        if not allow_own:
            words.append(LISTED_ONLY)
        self._command = _command(max_bytes, *words)
        self._process: subprocess.Popen[bytes] | None = None
        self._number = 0
        self._closed = False

    def handle(self, body: bytes) -> bytes:
        """Return the reply to the message in *body*, which contains no line break.

        Raises MessageError when the process has ended or has answered another message.
        The next message then starts a new process.
        """
        self._number += 1
        number = b"%d " % self._number
        process = self._process
        if process is None:
            pipe = subprocess.PIPE
            # There were fewer sessions than messages: a number that a client still has
            # from a process before names no session of this one.
            command = [*self._command, f"{FIRST}{self._number}"]
            process = self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, process_group=0
            )
            if self._closed:  # closed by another thread meanwhile
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
        said = "has ended"
        if reply:
            said = "answered another message"
        raise MessageError(
            "internal", f"the process that decides {said}; its sessions are lost"
        )

    def end(self) -> None:
        """Kill the process, and the programs that its solvers have started. Any thread
        may call this.

        The next message starts another process.
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
        """Kill the process permanently: a process that is started later is killed at
        once.
        """
        self._closed = True
        self.end()


class StdioServer:
    """Serve standard input and output in a child process, which can be killed at any
    time.
    """

    endpoint = ""

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._group = (
            not sys.stdin.isatty()
        )  # a terminal's signals reach only its own group
        self._stopping: float | None = None
        group = 0 if self._group else None
        self._process = subprocess.Popen(_command(max_bytes), process_group=group)

    def run(self) -> None:
        """Serve until the input ends, the reader of the output closes its end, or
        :meth:`stop` is called.
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
        """Answer the current line, and end within *seconds* seconds. A signal handler
        may call this.
        """
        if self._stopping is None:
            self._stopping = time.monotonic() + seconds
            self._process.terminate()


@dataclass(eq=False)
class _Client:
    """A connection, and the process that serves it.

    The parent process keeps the connection open to see whether the client has
    disconnected. ``end_at`` is the time at which the process is killed because its
    client has disconnected; it is None while the client is connected.
    """

    connection: socket.socket
    process: BaseProcess
    end_at: float | None = None


class SocketServer:
    """Serve a Unix socket; every connection is served by a :class:`Service` in its own
    process.

    The main loop only hands over connections and watches processes. It solves nothing,
    and therefore never blocks. The processes are forked from a fork server, which has
    already imported the modules they need.
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
        """Accept connections until :meth:`stop` is called. Then answer the messages
        that have arrived, and close all connections.
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
        """Accept no more connections, and end within *seconds* seconds. A signal
        handler may call this.
        """
        if self._stop_at is None:
            self._stop_at = time.monotonic() + seconds
            os.write(self._wake, b"s")

    def _watch(self) -> None:
        """Wait until a connection or a process changes, or a time is reached, and
        react.
        """
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
            poll.register(handle, 0)  # reports only closed connections
        if self._stop_at is None:
            poll.register(self._listener, select.POLLIN)
            poll.register(self._waker, select.POLLIN)
        for handle, _ in poll.poll(self._milliseconds_to_wait()):
            if handle in ends:
                self._ended(ends[handle])
            elif handle in here:
                here[handle].end_at = time.monotonic() + LEAVE_SECONDS
            elif self._stop_at is None and handle == self._listener.fileno():
                self._accept()
        for each in list(self._clients):
            if each.end_at is not None and time.monotonic() >= each.end_at:
                self._drop(each)

    def _milliseconds_to_wait(self) -> float | None:
        """Return the number of milliseconds until a process must be killed or the
        service must end; None when neither has a time yet.
        """
        moments = [each.end_at for each in self._clients if each.end_at is not None]
        if self._stop_at is not None:
            moments.append(self._stop_at)
        if not moments:
            return None
        return max(1000 * (min(moments) - time.monotonic()), 0) + 1

    def _ended(self, each: _Client) -> None:
        """Remove a client whose process has ended; if the process crashed, tell the
        client first.
        """
        if each.process.exitcode and each.end_at is None:
            said = "the process that served this connection has ended"
            _tell(each.connection, "internal", said)
        self._drop(each)

    def _drop(self, each: _Client) -> None:
        self._clients.remove(each)
        _kill_group(each.process.pid or 0)
        each.process.kill()  # it may not lead its group yet
        each.process.join()
        each.process.close()
        each.connection.close()

    def _accept(self) -> None:
        """Accept a new connection and start a process for it; if that is not possible,
        tell the client that the service is busy.
        """
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            if error.errno in _FULL:
                # Without a pause the loop would spin until a connection is closed.
                time.sleep(_FULL_SECONDS)
            return  # or the client has left before it was accepted
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
    """Send a last error line to a client, unless sending would block."""
    with contextlib.suppress(OSError):
        client.setblocking(False)
        client.send(refusal(None, code, text))


def _listen(path: str) -> socket.socket:
    """Return a socket that listens at *path*, with mode 0600.

    An unused socket at *path* is replaced. Raises UsageError for any other file there,
    and when another service listens there.
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
