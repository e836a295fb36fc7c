"""The service over HTTP (tornado): messages as JSON bodies.

Loopback unless another address is given; every call but ``/health`` and ``/openapi.json`` needs the
token, as ``Authorization: Bearer TOKEN``. One thread decides, one message after the other; sessions
belong to the service.
"""

import asyncio
import hmac
import json
import os
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import ConfigDict, TypeAdapter, create_model

from ioopt.embed.service import KEYS, Service
from ioopt.errors import BackendMissingError, UsageError
from ioopt.problems.base import Json
from ioopt.result import Result
from ioopt.version import __version__

HEADER_BYTES, IDLE_SECONDS = 16 << 10, 300.0


def _form(
    name: str, doc: str, extra: Literal["forbid", "ignore"] = "forbid", /, **fields: Any
) -> Any:
    """A class of *fields*: a type, or a type and a default."""
    rows: Any = {key: f if isinstance(f, tuple) else (f, ...) for key, f in fields.items()}
    return create_model(name, __doc__=doc, __config__=ConfigDict(extra=extra), **rows)


_OF_RESULT = ("plan", "status", "stop", "objective", "bound", "gap", "notes")

VERSION = _form("Version", "What serves here.", version=str, protocol=(int, 1))
DECIDED = _form("Decided", "A decision; bound and gap where they are known.",
                  **{name: Result.model_fields[name].annotation for name in _OF_RESULT})  # fmt: skip
OPENED = _form("Opened", "What later messages call the object by.", session=int)
CALLED = _form(
    "Called", "What the method returned, and why it is false.", value=Any, why=(str | None, None)
)
SAVED = _form("Saved", "The state of an object, for a later open.", state=Json)
DONE = _form("Done", "Carried out; there is nothing to tell.")
REFUSED = _form("Refused", "Why a message was refused.", code=str, message=str)
REPLY = _form("Reply", "The result of a message, or its error.", ioopt=Literal[1], id=Any, ok=bool,
                result=(VERSION | DECIDED | OPENED | CALLED | SAVED | DONE, None),
                error=(REFUSED, None))  # fmt: skip
ERROR = _form("Error", "Why a call was refused.", error=str)
MESSAGE = _form("Message", "A message; further keys depend on op.", "ignore", ioopt=Literal[1],
                id=(Any, None), op=Literal[tuple(KEYS)])  # fmt: skip


class Route(NamedTuple):
    """A call: what answers its body, what it is for, the types of its answer and its body."""

    name: str
    answer: Callable[[Service, bytes], bytes]
    summary: str
    reply: Any
    body: Any = None
    needs_token: bool = True


ROUTES: dict[tuple[str, str], Route] = {
    ("POST", "/v1/messages"): Route(
        "message", Service.handle, "A message of the service", REPLY, MESSAGE
    ),
    ("GET", "/health"): Route(
        "health", lambda *_: json.dumps({"version": __version__}).encode(),
        "Whether the service is there", VERSION, needs_token=False,
    ),
    ("GET", "/openapi.json"): Route(
        "openapi", lambda *_: json.dumps(openapi()).encode(), "This document", Json,
        needs_token=False,
    ),
}  # fmt: skip
NO_TOKEN = "The token is missing or wrong"


def _error(text: str) -> bytes:
    return json.dumps({"error": text}).encode()


def _content(schema: Json, **more: str) -> Json:
    return {**more, "content": {"application/json": {"schema": schema}}}


def openapi() -> Json:
    """The OpenAPI 3.1 document of the routes."""
    rows = ROUTES.values()
    answers, components = _schemas(
        {"": ERROR, **{row.name: row.reply for row in rows}}, "serialization"
    )
    bodies, more = _schemas({r.name: r.body for r in rows if r.body}, "validation")
    paths: Json = {}
    for (method, path), row in ROUTES.items():
        responses = {"200": _content(answers[row.name], description=row.summary)}
        call: Json = {"operationId": row.name, "summary": row.summary, "responses": responses}
        if row.needs_token:
            responses["401"] = _content(answers[""], description=NO_TOKEN)
        else:
            call["security"] = []
        if row.body is not None:
            call["requestBody"] = _content(bodies[row.name])
        paths.setdefault(path, {})[method.lower()] = call
    return {"openapi": "3.1.0", "info": {"title": "ioopt serve", "version": __version__},
            "components": {"schemas": components | more,
                           "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
            "security": [{"token": []}], "paths": paths}  # fmt: skip


def _schemas(forms: Json, mode: Literal["validation", "serialization"]) -> tuple[Json, Json]:
    """By key the JSON Schema of each of *forms*; and the definitions that those refer to."""
    rows = [(key, mode, TypeAdapter(form)) for key, form in forms.items()]
    made, top = TypeAdapter.json_schemas(rows, ref_template="#/components/schemas/{model}")
    return {key: schema for (key, _), schema in made.items()}, top.get("$defs", {})


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
    """Serves *address* (``PORT`` or ``HOST:PORT``; port 0: any). Raises BackendMissingError."""

    def __init__(self, address: str, token: str, max_bytes: int) -> None:
        try:
            import tornado.httpserver  # noqa: F401
        except ImportError:
            raise BackendMissingError(
                "tornado is not installed: python -m pip install 'ioopt[http]'"
            ) from None
        host, _, port = address.rpartition(":")
        if not port.isdecimal() or int(port) > 65535:
            raise UsageError(f"--http {address}: wanted PORT or HOST:PORT, such as 127.0.0.1:8080")
        self._where = host.strip("[]") or "127.0.0.1", int(port)
        self._token, self._max_bytes = token.encode(), max_bytes
        self._service = Service(max_bytes)
        self._thread = ThreadPoolExecutor(1)
        self._stop: asyncio.Event | None = None
        self.endpoint = ""

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until :meth:`stop`; *ready* is called once clients can come."""
        asyncio.run(self._serve(ready))
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _serve(self, ready: Callable[[], None]) -> None:
        from tornado.httpserver import HTTPServer
        from tornado.netutil import bind_sockets

        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        try:
            sockets = bind_sockets(self._where[1], self._where[0])
        except OSError as error:
            raise UsageError(f"{self._where[0]}:{self._where[1]}: {error}") from None
        server = HTTPServer(
            self._application(), max_body_size=self._max_bytes,
            max_buffer_size=self._max_bytes + HEADER_BYTES, max_header_size=HEADER_BYTES,
            idle_connection_timeout=IDLE_SECONDS, body_timeout=IDLE_SECONDS,
        )  # fmt: skip
        server.add_sockets(sockets)
        self.endpoint = "http://{}:{}".format(*sockets[0].getsockname()[:2])
        ready()
        await self._stop.wait()
        server.stop()
        await server.close_all_connections()

    def stop(self) -> None:
        """Stop; may be called from a signal handler."""
        if self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)

    def _application(self) -> Any:
        from tornado.web import Application, RequestHandler

        server = self

        class Handler(RequestHandler):
            def initialize(self, routes: dict[str, Route]) -> None:
                self.routes = routes

            async def _answer(self) -> None:
                route = self.routes.get(self.request.method or "")
                if route is None:
                    return self._say(405 if self.routes else 404, _error("no such call"))
                given = self.request.headers.get("Authorization", "").removeprefix("Bearer ")
                if route.needs_token and not hmac.compare_digest(given.encode(), server._token):
                    return self._say(401, _error("no token, or not that of the token file"))
                answer, body = route.answer, self.request.body
                ask = server._loop.run_in_executor
                self._say(200, await ask(server._thread, answer, server._service, body))

            def _say(self, status: int, body: bytes) -> None:
                self.set_status(status)
                self.set_header("Content-Type", "application/json")
                self.finish(body)

            def write_error(self, status_code: int, **_: Any) -> None:
                self._say(status_code, _error("no such call, or it failed"))

            get = post = put = delete = _answer

        paths: dict[str, dict[str, Route]] = {}
        for (method, path), route in ROUTES.items():
            paths.setdefault(path, {})[method] = route
        return Application(
            [(path, Handler, {"routes": routes}) for path, routes in paths.items()],
            log_function=lambda handler: None,
            default_handler_class=Handler, default_handler_args={"routes": {}},
        )  # fmt: skip
