"""Serve messages over HTTP, with FastAPI and uvicorn; each body is one message in JSON.

The address is on the loopback interface unless another one is given. Every call except
``/health`` needs the token, as ``Authorization: Bearer TOKEN``. Two processes answer
the messages, each of them one message at a time. One process runs solvers (``decide``);
the other keeps the sessions, which all clients of the service share. Solvers therefore
never delay the connections, and a solver can be ended when its client has disconnected.
"""

import asyncio
import contextlib
import hmac
import json
import os
import secrets
import socket
import stat
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import ClassVar

import h11
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import HTTPException
from pydantic import BaseModel, TypeAdapter
from starlette.exceptions import HTTPException as StarletteError
from starlette.requests import ClientDisconnect
from uvicorn.protocols.http.h11_impl import H11Protocol

from ioopt.embed.messages import (
    Answered,
    AnyMessage,
    Decide,
    MessageError,
    Refusal,
    checked,
    parsed,
    refusal,
)
from ioopt.embed.schema import schemas, without_defaults
from ioopt.embed.transport import DRAIN_SECONDS, MAX_UNFINISHED_BYTES, LineProcess
from ioopt.errors import UsageError
from ioopt.problems.base import Json
from ioopt.version import __version__

IDLE_SECONDS = 300
"""The longest time in seconds without a call on a connection, and between two pieces of
a body.
"""
HEAD_SECONDS = 30.0
"""The longest time in seconds from the start of a connection until the head of its
first call is complete.
"""
MAX_UNHEARD = 128
"""The largest number of open connections on which no call has been made yet."""
REFUSED_SECONDS = 5.0
"""The longest time in seconds that is spent on reading the body of a refused call."""
REFUSED_BYTES = 64 << 20
"""The largest number of bytes that are read from the body of a refused call."""
POLL_SECONDS = 0.1
ENDED = "the service was ended before the message was answered; send it again later"
"""The error of a call that was cut off because the service ends."""
LATE = b'"code": "solver", "message": "no answer within'
"""The part of a reply by which a solver that missed its deadline is recognised."""
HEALTH = "/health"
"""The path of the only call that needs no token."""
MESSAGES = "/v1/messages"
REFERENCE = "#/components/schemas/{model}"
"""The form of references to schemas in an OpenAPI document."""


def read_token(path: str) -> str:
    """Return the token in the file *path*; if there is no such file, make a token and
    write it there.

    Raises UsageError when other users can read the file, or it cannot be read or
    written.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _known_token(path)
    except OSError as error:
        raise UsageError(
            f"{path}: the token cannot be written: {error.strerror}"
        ) from None
    token = secrets.token_urlsafe(32)
    with os.fdopen(handle, "w") as file:
        file.write(f"{token}\n")
    return token


def _known_token(path: str) -> str:
    """Return the token in an existing file. Raises UsageError when the file or the
    token in it is not usable.
    """
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            raise UsageError(
                f"{path}: is not a regular file, which a token file must be"
            )
        if mode & 0o077:
            raise UsageError(f"{path}: others can read the token: chmod 600 {path}")
        token = Path(path).read_text("ascii").strip()
    except OSError as error:
        raise UsageError(
            f"{path}: the token cannot be read: {error.strerror}"
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: a token is text in ASCII") from None
    if len(token) < 16:
        raise UsageError(f"{path}: a token has at least 16 characters")
    return token


class Error(BaseModel):
    """The reason why a call was refused."""

    error: str


class Health(BaseModel):
    """The version of the service that answers."""

    version: str


class Decider:
    """A process that answers messages, one at a time."""

    def __init__(self, max_bytes: int, allow_own: bool) -> None:
        self._process = LineProcess(max_bytes, allow_own=allow_own)
        self._turn = asyncio.Lock()

    async def answer(self, body: bytes, left: "asyncio.Task[bytes] | None") -> bytes:
        """Return the reply to the message in *body*.

        *left* is a task that ends when the client disconnects; the solver that works
        for the client is then ended. None: do not watch the client.
        """
        async with self._turn:
            if left is not None and left.done():
                return left.result()
            loop = asyncio.get_running_loop()
            reply = loop.run_in_executor(None, self._process.handle, body)
            reply.add_done_callback(_looked_at)
            if left is not None:
                await asyncio.wait({reply, left}, return_when=asyncio.FIRST_COMPLETED)
                while not reply.done():  # its process may be about to start
                    self._process.end()
                    await asyncio.wait({reply}, timeout=POLL_SECONDS)
            answer = await reply
            if left is not None and LATE in answer:
                self._process.end()  # the solver still runs there
            return answer

    def close(self) -> None:
        """Kill the process permanently."""
        self._process.close()


def _looked_at(reply: "asyncio.Future[bytes]") -> None:
    """Mark the error of a *reply* as seen, so that a call that was cut off when the
    service ended is not logged.
    """
    if not reply.cancelled():
        reply.exception()


class Connection(H11Protocol):
    """A uvicorn connection that is closed if no call is made within
    :data:`HEAD_SECONDS`.

    When :data:`MAX_UNHEARD` connections have made no call yet, a new connection
    replaces the oldest of them. Silent connections therefore never keep other clients
    out.
    """

    unheard: ClassVar[dict["Connection", None]] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer within which the first call must be made."""
        super().connection_made(transport)
        while len(self.unheard) >= MAX_UNHEARD:
            next(iter(self.unheard)).give_up()
        self.unheard[self] = None
        self._timer = self.loop.call_later(HEAD_SECONDS, self.give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer of a connection that has ended."""
        self._timer.cancel()
        self.unheard.pop(self, None)
        super().connection_lost(exc)

    def give_up(self) -> None:
        """Close the connection if no call has been made on it."""
        self.unheard.pop(self, None)
        if self.cycle is None:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Reply that the request is not HTTP, with an error in JSON as for every other
        refused call.
        """
        body = json.dumps({"error": msg}).encode()
        headers = [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            ("Connection", "close"),
        ]
        reason = HTTPStatus.BAD_REQUEST.phrase
        head = h11.Response(status_code=400, headers=headers, reason=reason.encode())
        for event in (head, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class _Uvicorn(uvicorn.Server):
    """A uvicorn server without signal handlers, because the ``ioopt serve`` command
    handles signals.
    """

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signals."""
        yield


class HttpServer:
    """Serve *address*, which is ``PORT`` or ``HOST:PORT``; port 0 stands for any free
    port.

    Solvers that callers supply (``module:function``) run only if *allow_own* is true.
    Raises UsageError for an address that is invalid or not available.
    """

    def __init__(
        self, address: str, token: str, max_bytes: int, *, allow_own: bool = False
    ) -> None:
        self._socket = _listen(address)
        host, port = self._socket.getsockname()[:2]
        if ":" in host:
            self.endpoint = f"http://[{host}]:{port}"
        else:
            self.endpoint = f"http://{host}:{port}"
        self._token = token.encode()
        self._max_bytes = max_bytes
        self._unanswered_bytes = 0
        self._solving = Decider(max_bytes, allow_own)
        self._sessions = Decider(max_bytes, allow_own)
        config = uvicorn.Config(
            self._app(),
            http=Connection,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=IDLE_SECONDS,
        )
        self._uvicorn = _Uvicorn(config)

    def run(self) -> None:
        """Serve until :meth:`stop` is called."""
        asyncio.run(self._serve())

    def stop(self, seconds: float = DRAIN_SECONDS) -> None:
        """Accept no more calls, and end the server within about *seconds* seconds. A
        signal handler may call this.
        """
        self._uvicorn.config.timeout_graceful_shutdown = int(seconds)
        self._uvicorn.should_exit = True

    async def _serve(self) -> None:
        try:
            await self._uvicorn.serve(sockets=[self._socket])
        finally:
            self._solving.close()
            self._sessions.close()
            self._socket.close()

    def _app(self) -> FastAPI:
        app = FastAPI(
            title="ioopt", version=__version__, redirect_slashes=False, redoc_url=None
        )

        @app.get(HEALTH, response_model=Health)
        async def health() -> Response:
            """Report that the service runs, and which version it is."""
            return _said(200, {"version": __version__})

        refused: dict[int | str, Json] = {
            401: {"model": Error, "description": "No token, or a wrong one"},
            411: {"model": Error, "description": "A body without a Content-Length"},
            413: {"model": Error, "description": "A body that is too long"},
            503: {
                "model": Error,
                "description": "Too many calls at once, or the service ends",
            },
        }

        @app.post(
            MESSAGES,
            response_model=Answered | Refusal,
            responses=refused,
            openapi_extra=_request_schema(),
        )
        async def messages(request: Request) -> Response:
            """Answer a message. An invalid message also gets a reply, with "ok"
            false.
            """
            try:
                return await self._answer(request)
            except asyncio.CancelledError:  # by uvicorn, when the time to end is over
                return _said(503, {"error": ENDED}, {"Connection": "close"})

        @app.exception_handler(StarletteError)
        async def refuse(request: Request, error: StarletteError) -> Response:
            await _skip_body(request)
            said = error.detail
            if error.status_code in (404, 405):
                said = "there is no such call"
            return _said(error.status_code, {"error": said}, {"Connection": "close"})

        @app.exception_handler(Exception)
        async def fail(request: Request, error: Exception) -> Response:
            return _said(500, {"error": type(error).__name__})

        openapi = app.openapi

        def schema() -> Json:
            """Return FastAPI's OpenAPI schema, extended by the classes of the messages,
            the calls of every object, and the token.
            """
            if app.openapi_schema is None:
                document = openapi()
                parts = document["components"]
                parts["schemas"] |= _message_schema()["$defs"]
                parts["schemas"] |= schemas(REFERENCE)
                without_defaults(document)
                parts["securitySchemes"] = {
                    "token": {"type": "http", "scheme": "bearer"}
                }
            return app.openapi_schema or {}

        app.openapi = schema  # type: ignore[method-assign]
        return app

    async def _answer(self, request: Request) -> Response:
        """Return the reply to the message in the body of *request*.

        The call is refused unless it has the token and states the length of its body.
        """
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode("latin-1", "replace"), self._token):
            raise HTTPException(401, "the token is missing or wrong")
        size = request.headers.get("content-length", "0")
        if "transfer-encoding" in request.headers or not size.isdecimal():
            raise HTTPException(411, "a body needs a Content-Length")
        if int(size) > self._max_bytes:
            raise HTTPException(413, f"a body has at most {self._max_bytes} bytes")
        pieces: list[bytes] = []
        try:
            await self._read(request, pieces)
            reply = await self._reply(b"".join(pieces), request)
        finally:
            self._unanswered_bytes -= sum(map(len, pieces))
        return Response(reply, media_type="application/json")

    async def _read(self, request: Request, pieces: list[bytes]) -> None:
        """Append the pieces of the body of *request* to *pieces* as they arrive.

        Raises HTTPException when a piece is late, or when all unanswered bodies
        together take too much memory.
        """
        now = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout(IDLE_SECONDS) as idle:
                async for piece in request.stream():
                    pieces.append(piece)
                    self._unanswered_bytes += len(piece)
                    if self._unanswered_bytes > MAX_UNFINISHED_BYTES:
                        raise HTTPException(503, "too many calls at once")
                    idle.reschedule(now() + IDLE_SECONDS)
        except TimeoutError:
            raise HTTPException(
                408, "the rest of the body did not arrive in time"
            ) from None

    async def _reply(self, body: bytes, request: Request) -> bytes:
        """Check the message in *body*, wait until a process is free for it, and return
        the reply.
        """
        line = body.replace(b"\n", b" ")
        identity: object = None
        try:
            given = await asyncio.to_thread(parsed, line, self._max_bytes)
            identity = given.get("id")
            if isinstance(checked(given), Decide):
                left = asyncio.create_task(_left(request))
                try:
                    return await self._solving.answer(line, left)
                finally:
                    left.cancel()
            return await self._sessions.answer(line, None)
        except MessageError as error:
            return refusal(identity, error.code, error.text)


def _said(status: int, value: Json, headers: dict[str, str] | None = None) -> Response:
    """Return a response with HTTP status *status* and the body *value* in JSON."""
    return Response(json.dumps(value), status, headers, "application/json")


async def _left(request: Request) -> bytes:
    """Wait until the client has disconnected, and return an empty reply."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    return b""


async def _skip_body(request: Request) -> None:
    """Read and drop the body of a refused call, up to a limit. Otherwise its sender
    would see a connection reset and not the refusal.
    """
    read = 0
    with contextlib.suppress(TimeoutError, RuntimeError, ClientDisconnect):
        async with asyncio.timeout(REFUSED_SECONDS):
            async for piece in request.stream():
                read += len(piece)
                if read > REFUSED_BYTES:
                    break


def _message_schema() -> Json:
    """Return the JSON Schema that every message satisfies."""
    return TypeAdapter(AnyMessage).json_schema(ref_template=REFERENCE)


def _request_schema() -> Json:
    """Return the OpenAPI description of the body and the token of a call."""
    schema = {key: value for key, value in _message_schema().items() if key != "$defs"}
    content = {"application/json": {"schema": schema}}
    return {
        "requestBody": {"required": True, "content": content},
        "security": [{"token": []}],
    }


def _listen(address: str) -> socket.socket:
    """Return a socket that listens on *address*, ``PORT`` or ``HOST:PORT``. Raises
    UsageError when that is not possible.
    """
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise UsageError(
            f"--http {address}: wanted PORT or HOST:PORT, such as 127.0.0.1:8080"
        )
    host = host.strip("[]") or "127.0.0.1"
    family = socket.AF_INET
    if ":" in host:
        family = socket.AF_INET6
    try:
        listener = socket.create_server((host, int(port)), family=family)
    except OSError as error:
        raise UsageError(f"{host}:{port}: {error}") from None
    # Without this each further reply on a connection waits 40 ms to be acknowledged.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
