"""The service over HTTP (tornado): messages as JSON bodies.

Loopback unless another address is given; every call but ``/health`` needs the token, as
``Authorization: Bearer TOKEN``. One thread decides, one message after the other; sessions belong to
the service.
"""

import asyncio
import hmac
import json
import os
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from ioopt.embed.service import Service
from ioopt.errors import UsageError, missing
from ioopt.version import __version__

try:
    from tornado.httpserver import HTTPServer
    from tornado.netutil import bind_sockets
    from tornado.web import Application, RequestHandler
except ImportError:
    raise missing("tornado", "serve --http") from None

HEADER_BYTES, IDLE_SECONDS = 16 << 10, 300.0


class Route(NamedTuple):
    """A call: what answers its body, and whether it needs the token."""

    answer: Callable[[Service, bytes], bytes]
    needs_token: bool = True


ROUTES: dict[tuple[str, str], Route] = {
    ("POST", "/v1/messages"): Route(Service.handle),
    ("GET", "/health"): Route(lambda *_: _json(version=__version__), needs_token=False),
}


def _json(**values: str) -> bytes:
    return json.dumps(values).encode()


def read_token(path: str) -> str:
    """The token in *path*, which is made if it is missing; UsageError where others could read it."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if os.stat(path).st_mode & 0o077:
            raise UsageError(f"{path}: others can read the token: chmod 600 {path}") from None
        token = Path(path).read_text("ascii").strip()
        if len(token) < 16:
            raise UsageError(f"{path}: a token has at least 16 characters") from None
        return token
    with os.fdopen(handle, "w") as file:
        file.write((token := secrets.token_urlsafe(32)) + "\n")
    return token


class HttpServer:
    """Serves *address* (``PORT`` or ``HOST:PORT``; port 0: any)."""

    def __init__(self, address: str, token: str, max_bytes: int) -> None:
        host, _, port = address.rpartition(":")
        if not port.isdecimal() or int(port) > 65535:
            raise UsageError(f"--http {address}: wanted PORT or HOST:PORT, such as 127.0.0.1:8080")
        self._where = host.strip("[]") or "127.0.0.1", int(port)
        self.token, self._max_bytes = token.encode(), max_bytes
        self._service = Service(max_bytes)
        self._thread = ThreadPoolExecutor(1)
        self._stop: asyncio.Event | None = None
        self.endpoint = ""

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until :meth:`stop`; *ready* is called once clients can come."""
        asyncio.run(self._serve(ready))
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _serve(self, ready: Callable[[], None]) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        try:
            sockets = bind_sockets(self._where[1], self._where[0])
        except OSError as error:
            raise UsageError(f"{self._where[0]}:{self._where[1]}: {error}") from None
        calls = [("(.*)", _Handler, {"server": self})]
        server = HTTPServer(
            Application(calls, log_function=lambda handler: None),
            max_body_size=self._max_bytes, max_buffer_size=self._max_bytes + HEADER_BYTES,
            max_header_size=HEADER_BYTES, idle_connection_timeout=IDLE_SECONDS,
            body_timeout=IDLE_SECONDS,
        )  # fmt: skip
        server.add_sockets(sockets)
        self.endpoint = "http://{}:{}".format(*sockets[0].getsockname()[:2])
        ready()
        await self._stop.wait()
        server.stop()
        await server.close_all_connections()

    async def answer(self, route: Route, body: bytes) -> bytes:
        """What the route answers to a body, decided on by the one thread."""
        return await self._loop.run_in_executor(self._thread, route.answer, self._service, body)

    def stop(self) -> None:
        """Stop; may be called from a signal handler."""
        if self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)


class _Handler(RequestHandler):
    """One call."""

    def initialize(self, server: HttpServer) -> None:
        self.server = server

    async def _answer(self, path: str) -> None:
        route = ROUTES.get((self.request.method or "", path))
        if route is None:
            known = any(path == other for _, other in ROUTES)
            return self._say(405 if known else 404, _json(error="no such call"))
        given = self.request.headers.get("Authorization", "").removeprefix("Bearer ")
        if route.needs_token and not hmac.compare_digest(given.encode(), self.server.token):
            return self._say(401, _json(error="no token, or not that of the token file"))
        self._say(200, await self.server.answer(route, self.request.body))

    def _say(self, status: int, body: bytes) -> None:
        self.set_status(status)
        self.set_header("Content-Type", "application/json")
        self.finish(body)

    def write_error(self, status_code: int, **_: Any) -> None:
        self._say(status_code, _json(error="no such call, or it failed"))

    get = post = put = delete = _answer
