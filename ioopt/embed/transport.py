"""Lines in, lines out: standard input and output, or a Unix socket readable by its owner only."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import threading
from typing import IO

from ioopt.embed.service import MAX_LINE_BYTES, Service
from ioopt.errors import UsageError


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
        """From a signal handler: finish the line in hand, or leave the wait for the next one."""
        self._stopped = True
        if not self._busy:
            raise SystemExit(0)


class SocketServer:
    """A Unix socket on which every connection is a :class:`Service` of its own, in its own thread."""

    def __init__(self, path: str, max_bytes: int = MAX_LINE_BYTES) -> None:
        self.path, self.max_bytes = path, max_bytes
        self._connections: dict[socket.socket, threading.Thread] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._listener = _listen(path)

    def run(self) -> None:
        """Accept connections until :meth:`stop`; then answer what has arrived and close."""
        try:
            while not self._stopping.is_set():
                try:
                    connection, _ = self._listener.accept()
                except OSError:
                    if self._stopping.is_set():
                        break
                    raise
                thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
                with self._lock:
                    self._connections[connection] = thread
                thread.start()
        finally:
            self._drain()

    def _serve(self, connection: socket.socket) -> None:
        # a client that has gone cannot be told anything
        with (
            contextlib.suppress(BrokenPipeError, ConnectionResetError),
            connection,
            connection.makefile("rb") as source,
            connection.makefile("wb") as sink,
        ):
            StreamServer(source, sink, Service(self.max_bytes)).run()
        with self._lock:
            self._connections.pop(connection, None)

    def stop(self) -> None:
        """Stop accepting; may be called from a signal handler."""
        self._stopping.set()
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            self._listener.close()

    def _drain(self) -> None:
        """Lines that have arrived are answered; connections then see the end of input."""
        self._listener.close()
        with self._lock:
            open_now = dict(self._connections)
        for connection in open_now:
            try:
                connection.shutdown(socket.SHUT_RD)
            except OSError:
                continue  # closed by its own thread in the meantime
        for thread in open_now.values():
            thread.join()
        if os.path.exists(self.path):
            os.unlink(self.path)


def _listen(path: str) -> socket.socket:
    """A listening socket with mode 0600; a stale one is replaced, anything else is left alone."""
    if os.path.exists(path):
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            raise UsageError(f"{path}: exists and is not a socket")
        if _answers(path):
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


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
        return True
