"""The service over HTTP: messages as JSON bodies.

Loopback unless another address is given; every call but ``/health`` needs the token,
as ``Authorization: Bearer TOKEN``. One message is answered after the other, by a process of its
own, so that other calls and the end of the service never wait for a solver; sessions belong to the service.
"""

import contextlib
import hmac
import json
import os
import secrets
import socket
import stat
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer
from threading import BoundedSemaphore, Lock, Thread

from ioopt.embed.transport import DRAIN_SECONDS, MAX_UNFINISHED_BYTES, LineProcess
from ioopt.errors import UsageError
from ioopt.version import __version__

IDLE_SECONDS, POLL_SECONDS = 300.0, 0.1
REFUSED_SECONDS, REFUSED_PIECES, PIECE_BYTES = 1.0, 1024, 1 << 16
"""Of a refused body so many pieces are read, as long as each comes within that time."""


HEALTH = "/health"
"""The call that needs no token."""
METHODS = {"/v1/messages": "POST", HEALTH: "GET"}


def read_token(path: str) -> str:
    """The token in *path*, which is made if it is missing; UsageError where others could read it."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _known_token(path)
    except OSError as error:
        raise UsageError(f"{path}: the token cannot be written: {error.strerror}") from None
    with os.fdopen(handle, "w") as file:
        file.write((token := secrets.token_urlsafe(32)) + "\n")
    return token


def _known_token(path: str) -> str:
    """The token in a file that is there."""
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            raise UsageError(f"{path}: is no regular file; a token is kept in one")
        if mode & 0o077:
            raise UsageError(f"{path}: others can read the token: chmod 600 {path}")
        token = Path(path).read_text("ascii").strip()
    except OSError as error:
        raise UsageError(f"{path}: the token cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: a token is text in ASCII") from None
    if len(token) < 16:
        raise UsageError(f"{path}: a token has at least 16 characters")
    return token


class HttpServer(ThreadingTCPServer):
    """Serves *address* (``PORT`` or ``HOST:PORT``; port 0: any), a thread a connection.

    Raises UsageError for an address that is none or that cannot be had.
    """

    allow_reuse_address = daemon_threads = True

    def __init__(self, address: str, token: str, max_bytes: int) -> None:
        host, _, port = address.rpartition(":")
        if not port.isdecimal() or int(port) > 65535:
            raise UsageError(f"--http {address}: wanted PORT or HOST:PORT, such as 127.0.0.1:8080")
        host = host.strip("[]") or "127.0.0.1"
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.token, self.max_bytes = token.encode(), max_bytes
        self.turn, self.places = Lock(), BoundedSemaphore(max(1, MAX_UNFINISHED_BYTES // max_bytes))
        try:
            super().__init__((host, int(port)), Handler)
        except OSError as error:
            raise UsageError(f"{host}:{port}: {error}") from None
        self.endpoint = "http://{}:{}".format(*self.server_address[:2])
        self.service = LineProcess(max_bytes)

    def run(self) -> None:
        """Serve until :meth:`stop`."""
        with self:
            self.serve_forever(POLL_SECONDS)

    def stop(self) -> None:
        """Stop; may be called from a signal handler, which must not wait for it."""
        Thread(target=self._end).start()

    def _end(self) -> None:
        """Accept no more, give what is being decided a little time, end the process that decides."""
        self.shutdown()
        self.turn.acquire(timeout=DRAIN_SECONDS)
        self.service.end()

    def handle_error(self, request: object, client_address: object) -> None:
        """A connection that breaks off is nobody else's business."""


class Handler(BaseHTTPRequestHandler):
    """The calls that come by one connection."""

    server: HttpServer
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    wbufsize = -1
    """Head and body go out in one piece: a second one would wait 40 ms for an acknowledgement."""
    error_content_type, error_message_format = "application/json", '{"error": "%(message)s"}'

    def _answer(self) -> None:
        path, server = self.path.partition("?")[0], self.server
        if self.command != METHODS.get(path):
            return self._refuse(405 if path in METHODS else 404, "no such call")
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if path != HEALTH and not hmac.compare_digest(given.encode(), server.token):
            return self._refuse(401, "no token, or not that of the token file")
        size = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not size.isdecimal():
            return self._refuse(411, "a body needs a Content-Length")
        if int(size) > server.max_bytes:
            return self._refuse(413, f"a body has at most {server.max_bytes} bytes")
        if not server.places.acquire(blocking=False):
            return self._refuse(503, "too many calls at once")
        try:
            body = self.rfile.read(int(size))
            answer = json.dumps({"version": __version__}).encode()
            if path != HEALTH:
                with server.turn:
                    answer = server.service.handle(body)
        finally:
            server.places.release()
        self._say(200, answer)

    def _refuse(self, status: int, why: str) -> None:
        """Say why, and read a little of what still comes: who sends would else see a reset."""
        self.close_connection = True
        self._say(status, json.dumps({"error": why}).encode())
        self.wfile.flush()
        self.connection.settimeout(REFUSED_SECONDS)
        with contextlib.suppress(OSError):
            for _ in range(REFUSED_PIECES):
                if not self.rfile.read(PIECE_BYTES):
                    break

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Calls are not logged."""

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer
