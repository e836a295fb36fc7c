"""The service over HTTP (tornado): messages as JSON bodies, and the calls of a workflow scheduler.

Loopback unless another address is given; every call but ``/health`` and ``/openapi.json`` needs the
token, as ``Authorization: Bearer TOKEN`` or, for clients that can send no header, as the first part
of the path. One thread decides, one message after the other; sessions belong to the service.
"""

import asyncio
import hmac
import json
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from ioopt.embed import http_forms as forms
from ioopt.embed.cws import MAX_RUNS, Run, Unknown
from ioopt.embed.service import DEFAULT_DEADLINE_SECONDS, Service, finite
from ioopt.errors import BackendMissingError, IooptError, UsageError
from ioopt.formats.native import unique_keys
from ioopt.problems.base import Json
from ioopt.version import __version__

HEADER_BYTES, IDLE_SECONDS = 16 << 10, 300.0
RUN = "/v1/scheduler/{run}"


class Route(NamedTuple):
    """What answers a call, what the call is for, and the types of its answer and its body."""

    name: str
    summary: str
    answer: Any = forms.DONE
    body: Any = None


ROUTES: dict[tuple[str, str], Route] = {
    ("POST", "/v1/messages"): Route("message", "A message of the service", forms.REPLY, forms.MESSAGE),
    ("GET", "/health"): Route("health", "Whether the service is there", forms.VERSION),
    ("GET", "/openapi.json"): Route("openapi", "This document", Json),
    ("POST", RUN): Route("register", "Register an execution; strategy: a dispatcher",
                         forms.REGISTERED, forms.REGISTRATION),
    ("DELETE", RUN): Route("forget", "An execution is over"),
    ("POST", RUN + "/DAG/vertices"): Route("add_vertices", "Register vertices", body=list[forms.VERTEX]),
    ("DELETE", RUN + "/DAG/vertices"): Route("drop_vertices", "Remove vertices by uid", body=list[int]),
    ("POST", RUN + "/DAG/edges"): Route("add_edges", "Register edges", body=list[forms.EDGE]),
    ("DELETE", RUN + "/DAG/edges"): Route("drop_edges", "Remove edges by uid", body=list[int]),
    ("PUT", RUN + "/startBatch"): Route("start_batch", "Tasks from now on are decided on together"),
    ("PUT", RUN + "/endBatch"): Route("end_batch", "Decide on the tasks of the batch; body: how many",
                                      body=int),
    ("POST", RUN + "/task/{id}"): Route("add_task", "Register a task", body=forms.TASK),
    ("GET", RUN + "/task/{id}"): Route("task_state", "State of a task, and its node", forms.TASK_STATE),
    ("DELETE", RUN + "/task/{id}"): Route("delete_task", "A task is not wanted any more"),
    ("POST", RUN + "/metrics/task/{id}"): Route("metrics", "What a task took", body=forms.TAKEN),
    ("GET", "/v1/file/{run}"): Route("locate", "Node of a file; query: path", forms.LOCATION),
    ("POST", "/v1/file/{run}/location/{method}"): Route("add_file", "The engine has a file",
                                                        body=forms.PLACED),
    ("POST", "/v1/file/{run}/location/{method}/{node}"): Route("add_location", "A node has a file",
                                                               body=forms.PLACED),
    ("GET", "/v1/daemon/{run}/{node}"): Route("daemon", "Address of the daemon of a node", str),
    ("POST", "/v1/downloadtask/{run}"): Route("prepared", "The files of a task are there; body: runName",
                                              body=str),
    ("POST", RUN + "/next"): Route("next", "Ours: the tasks that start now, in this order",
                                   list[forms.START], forms.NOW),
    ("POST", RUN + "/task/{id}/completed"): Route("completed", "Ours: a task ended", body=forms.ENDED),
}  # fmt: skip
REFUSALS = {
    "400": "The body is wrong, or the call is not possible now",
    "401": "The token is missing or wrong",
    "404": "What the call names is not there",
}
UNPROTECTED = {"health", "openapi"}
PARTS = {"run": "[^/]+", "id": r"\d{1,18}", "method": r"\w+", "node": "[^/]+"}


class Calls:
    """What the routes do; *site* has the ``network`` and ``nodes`` that executions run on."""

    def __init__(
        self,
        service: Service,
        site: Mapping[str, Any] | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._service, self._site, self._clock = service, site, clock
        self._runs: dict[str, tuple[Run, float]] = {}

    def answer(
        self, name: str, body: bytes, run: str = "", id: str = "0", **place: str
    ) -> tuple[int, bytes]:
        """HTTP status and JSON body; *place* are other parts of the path. Never raises."""
        if name == "message":
            return 200, self._service.handle(body)
        try:
            if name == "prepared":  # curl sends the name as the key of a form
                given: Any = body.decode().removesuffix("=")
            else:
                given = json.loads(body, parse_constant=finite, parse_float=finite,
                                   object_pairs_hook=unique_keys) if body.strip() else {}  # fmt: skip
            value = self._do(name, given, run, int(id), place)
        except Unknown as error:
            return 404, _error(str(error))
        except IooptError as error:
            return 400, _error(str(error))
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            return 400, _error(f"{type(error).__name__}: {error}")
        except Exception as error:
            return 500, _error(f"{type(error).__name__}: {error}")
        return 200, json.dumps(value).encode()

    def _do(self, name: str, given: Any, run: str, number: int, place: Mapping[str, str]) -> Any:
        if name == "health":
            return {"version": __version__}
        if name == "openapi":
            return openapi()
        if name == "register":
            return self._register(run, given)
        if run not in self._runs:
            raise UsageError(f"there is no scheduler for {run}")
        if name == "forget":
            del self._runs[run]
            return {}
        found, began = self._runs[run]
        if name == "locate":
            return found.locate(place["path"])
        if name == "daemon":
            return found.daemon(place["node"])
        if name in ("add_file", "add_location"):
            found.add_location(given, place.get("node"), place["method"])
            return {}
        return self._of_run(name, given, found, began, number)

    def _register(self, run: str, given: Mapping[str, Any]) -> Json:
        if self._site is None:
            raise UsageError("start the service with --site FILE (network and nodes)")
        if run in self._runs or len(self._runs) >= MAX_RUNS:
            raise UsageError(f"{run} is registered already, or {MAX_RUNS} executions are")
        made = Run(self._site, given.get("strategy") or "rolling")
        self._runs[run] = made, self._clock()
        return {"policy": made.policy}

    def _of_run(self, name: str, given: Any, run: Run, began: float, number: int) -> Any:
        """A call about one execution."""
        now = self._clock() - began
        if isinstance(given, dict):
            now = float(given.get("now", now))
        if name == "add_vertices":
            run.vertices.update({int(row["uid"]): dict(row) for row in given})
        elif name == "add_edges":
            ends = {int(r["uid"]): (r.get("from"), r.get("to")) for r in given}
            run.edges.update(
                {k: (int(a), int(b)) for k, (a, b) in ends.items() if None not in (a, b)}
            )
        elif name in ("drop_vertices", "drop_edges"):
            rows: dict[int, Any] = run.vertices if name == "drop_vertices" else run.edges
            for uid in given:
                rows.pop(int(uid), None)
        elif name == "start_batch":
            run.batch = run.batch or []
        elif name == "end_batch":
            numbers, run.batch = run.batch or [], None
            run.submit(numbers)
        elif name == "add_task":
            run.add_task(number, given)
        elif name == "task_state":
            return {key: run[number].get(key) for key in ("state", "node", "error")}
        elif name == "delete_task":
            run.delete(number)
        elif name == "metrics":
            if given.get("realtime") is not None:  # a trace need not have it
                run.observe(number, float(given["realtime"]) / 1000)
        elif name == "prepared":
            run.prepared(given)
        elif name == "next":
            return run.next(now, given.get("deadline", DEFAULT_DEADLINE_SECONDS))
        elif name == "completed":
            run.end(number, now, bool(given.get("failed")), bool(given.get("again", True)))
        return {}


def _error(text: str) -> bytes:
    return json.dumps({"error": " ".join(text.split())}).encode()


def _content(schema: Json, **more: str) -> Json:
    return {**more, "content": {"application/json": {"schema": schema}}}


def openapi() -> Json:
    """The OpenAPI 3.1 document of the routes."""
    rows = ROUTES.values()
    answers, components = forms.schemas(
        {"": forms.ERROR, **{row.name: row.answer for row in rows}}, "serialization"
    )
    bodies, more = forms.schemas({r.name: r.body for r in rows if r.body}, "validation")
    paths: Json = {}
    for (method, path), row in ROUTES.items():
        codes = {} if row.name in UNPROTECTED else REFUSALS
        if row.name == "message":  # what is wrong with one stands in its reply
            codes = {"401": REFUSALS["401"]}
        responses = {"200": _content(answers[row.name], description=row.summary)}
        responses |= {code: _content(answers[""], description=says) for code, says in codes.items()}
        call: Json = {"operationId": row.name, "summary": row.summary, "parameters": [
            {"name": key, "in": "path", "required": True,
             "schema": {"type": "integer" if key == "id" else "string"}}
            for key in PARTS if "{" + key + "}" in path
        ], "responses": responses}  # fmt: skip
        if row.name == "locate":
            call["parameters"].append({"name": "path", "in": "query", "required": True,
                                       "schema": {"type": "string"}})  # fmt: skip
        if row.body is not None:
            call["requestBody"] = _content(bodies[row.name])
        if row.name in UNPROTECTED:
            call["security"] = []
        paths.setdefault(path, {})[method.lower()] = call
    return {"openapi": "3.1.0", "info": {"title": "ioopt serve", "version": __version__},
            "components": {"schemas": components | more,
                           "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
            "security": [{"token": []}], "paths": paths}  # fmt: skip


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

    def __init__(
        self, address: str, token: str, max_bytes: int, site: Mapping[str, Any] | None = None
    ) -> None:
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
        self._calls = Calls(Service(max_bytes), site)
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
            def initialize(self, names: Mapping[str, str]) -> None:
                self.names = names

            async def _answer(self, token: str | None = None, **place: str) -> None:
                name = self.names.get(self.request.method or "")
                if name is None:
                    return self._say(405 if self.names else 404, _error("no such call"))
                said = self.request.headers.get("Authorization", "").removeprefix("Bearer ")
                given = token if token is not None else said
                open_to_all = name in UNPROTECTED
                if not (open_to_all or hmac.compare_digest(given.encode(), server._token)):
                    return self._say(401, _error("no token, or not that of the token file"))
                if name == "locate":
                    place["path"] = self.get_query_argument("path", "")
                self._say(*await server._decide(name, self.request.body, place))

            def _say(self, status: int, body: bytes) -> None:
                self.set_status(status)
                self.set_header("Content-Type", "application/json")
                self.finish(body)

            def write_error(self, status_code: int, **_: Any) -> None:
                self._say(status_code, _error("no such call, or it failed"))

            get = post = put = delete = _answer

        paths: dict[str, dict[str, str]] = {}
        for (method, path), row in ROUTES.items():
            place = path.replace("/v1/", "/v1/+")  # nf-cws puts "/v1/" and "/scheduler" together
            for key, form in PARTS.items():
                place = place.replace("{" + key + "}", f"(?P<{key}>{form})")
            paths.setdefault(place, {})[method] = row.name
        rows = [(rf"(?:/(?P<token>[\w-]{{16,}}))?{place}", Handler, {"names": names})
                for place, names in paths.items()]  # fmt: skip
        return Application(
            rows, log_function=lambda handler: None,
            default_handler_class=Handler, default_handler_args={"names": {}},
        )  # fmt: skip

    def _decide(self, name: str, body: bytes, place: Mapping[str, str]) -> Awaitable[Any]:
        return self._loop.run_in_executor(
            self._thread, lambda: self._calls.answer(name, body, **place)
        )
