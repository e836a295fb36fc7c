"""The service over HTTP: the messages of the other services, a token."""

import asyncio
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from conftest import ROOT
from damage.service import conversations

from ioopt.cli.main import main
from ioopt.embed.messages import MessageError
from ioopt.embed.service import IDLE_SECONDS, MAX_SESSIONS, Service
from ioopt.embed.transport import LineProcess
from ioopt.errors import UsageError
from ioopt.version import __version__

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
from ioopt.embed.http import ENDED, Decider, HttpServer, read_token

MACHINE = {
    "network": {"remote_bytes_per_second": 1e6, "replica_bytes_per_second": 1e8},
    "nodes": [{"id": "k1", "cores": 2}, {"id": "k2", "cores": 2}],
}
TOKEN = "0123456789abcdef"
MESSAGES = "/v1/messages"
PING = {"ioopt": 1, "id": 1, "op": "ping"}


@contextlib.contextmanager
def serving(max_bytes=4096, **options):
    """The service in a thread of this process."""
    made = HttpServer("0", TOKEN, max_bytes, **options)
    thread = threading.Thread(target=made.run)
    thread.start()
    try:
        yield made
    finally:
        made.stop(0.0)
        thread.join(60)
    assert not thread.is_alive()


@pytest.fixture
def server():
    with serving(1 << 16) as made:
        yield made


def call(server, method, path, body=None, token=TOKEN, raw=None):
    where = http.client.HTTPConnection(
        *server.endpoint.removeprefix("http://").split(":")
    )
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    data = (
        raw if raw is not None else None if body is None else json.dumps(body).encode()
    )
    try:
        where.request(method, path, data, headers)
        reply = where.getresponse()
        return reply.status, json.loads(reply.read() or b"null")
    finally:
        where.close()


def test_the_token_is_asked_for(server):
    for token in (None, "", TOKEN[:-1], TOKEN + "x", "é"):
        if token is not None:
            token = token.encode().decode("latin1")
        assert call(server, "POST", MESSAGES, PING, token)[0] == 401
    # not as part of a path
    assert call(server, "POST", f"/{TOKEN}{MESSAGES}", PING, None)[0] == 404
    assert call(server, "POST", MESSAGES, PING)[0] == 200
    assert call(server, "GET", "/health", None, None) == (200, {"version": __version__})
    assert (
        call(server, "PATCH", MESSAGES, {})[0]
        == call(server, "PUT", MESSAGES, {})[0]
        == 405
    )
    assert call(server, "GET", "/v1/none")[0] == 404
    assert call(server, "POST", "/v1/scheduler/a_run", {})[0] == 404


def test_messages_are_those_of_the_other_services(server):
    for text in (b'{"ioopt": 1, "id": 7, "op": "ping"}', b"{", b'{"ioopt": 2}', b""):
        wanted = json.loads(Service(4096).handle(text))
        assert call(server, "POST", MESSAGES, raw=text) == (200, wanted)
    opened = {
        "ioopt": 1,
        "op": "open",
        "object": "WorkflowDispatcher",
        "arguments": MACHINE,
    }
    session = call(server, "POST", MESSAGES, opened)[1]["result"]["session"]
    for method, arguments in (
        ("submit", {"tasks": [{"id": "t", "compute_seconds": 1}]}),
        ("next", {"now": 0.0}),
    ):
        message = {
            "ioopt": 1,
            "op": "call",
            "session": session,
            "method": method,
            "arguments": arguments,
        }
        value = call(server, "POST", MESSAGES, message)[1]["result"]["value"]
    placed = {"task": "t", "node": "k1", "stage": [], "arriving": [], "attempt": 1}
    assert value == [placed | {"policy": "rolling"}]


def test_bodies_and_headers_have_limits(server):
    for size in (70_000, 10_000_000):  # the refusal is read, and no reset
        assert call(server, "POST", MESSAGES, raw=b" " * size)[0] == 413
    assert call(server, "GET", "/health")[0] == 200


def test_a_process_that_died_is_replaced(server):
    """A number from the process before names no session of the new one."""

    def opened():
        made = PING | {"op": "open", "object": "WorkflowDispatcher"}
        made["arguments"] = MACHINE
        return call(server, "POST", MESSAGES, made)[1]["result"]["session"]

    before = opened()
    process = server._sessions._process._process
    process.kill()
    process.wait()
    assert (
        "sessions are lost"
        in call(server, "POST", MESSAGES, PING)[1]["error"]["message"]
    )
    assert opened() > before


def test_a_session_that_nobody_uses_makes_room():
    seconds = iter(
        [0.0] * MAX_SESSIONS
        + [10.0, IDLE_SECONDS - 1, IDLE_SECONDS + 1]
        + [IDLE_SECONDS + 1] * 2
    )
    service = Service(clock=lambda: next(seconds))
    monitor = {
        "ioopt": 1,
        "op": "open",
        "object": "WorkflowDispatcher",
        "arguments": MACHINE,
    }
    opens = [
        json.loads(service.handle(json.dumps(monitor).encode()))
        for _ in range(MAX_SESSIONS)
    ]
    assert all(reply["ok"] for reply in opens)
    save = json.dumps({"ioopt": 1, "op": "save", "session": 1}).encode()
    assert json.loads(service.handle(save))["ok"]  # at 10 s
    error = json.loads(service.handle(json.dumps(monitor).encode()))["error"]
    assert error["code"] == "busy"
    assert "close one; session 2 was not called for the longest" in error["message"]
    assert json.loads(service.handle(json.dumps(monitor).encode()))["result"] == {
        "session": 65
    }
    assert not json.loads(service.handle(save.replace(b"1}", b"2}")))["ok"]
    assert json.loads(service.handle(save))["ok"]


def test_no_body_breaks_the_calls():
    whole = (b"", b"[", b"[]", b'{"a": 1}', b'"x"', b"null", b'{"ioopt": NaN}', b"\xff")
    for body in (*whole, b"[" * 9999):
        assert isinstance(json.loads(Service().handle(body)), dict), body


def test_a_token_is_for_its_owner(tmp_path):
    path = tmp_path / "token"
    token = read_token(str(path))
    assert len(token) >= 32 and read_token(str(path)) == token
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    with pytest.raises(UsageError, match="others can read"):
        read_token(str(path))
    path.chmod(0o600)
    path.write_text("short")
    with pytest.raises(UsageError, match="16 characters"):
        read_token(str(path))
    path.write_bytes(b"\xff" * 20)
    with pytest.raises(UsageError, match="ASCII"):
        read_token(str(path))
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name, why in (
        (".", "not a regular file"),
        ("dangling", "cannot be read"),
        ("pipe", "not a regular"),
        ("none/token", "cannot be written"),
    ):
        with pytest.raises(UsageError, match=why):
            read_token(str(tmp_path / name))


@pytest.mark.parametrize("address", ["x", "127.0.0.1:", "1:70000", ":"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(UsageError, match="wanted PORT"):
        HttpServer(address, TOKEN, 4096)


def test_the_command_serves_and_stops(tmp_path):
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "ioopt",
            "serve",
            "--http",
            "0",
            "--token-file",
            str(tmp_path / "token"),
        ],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    said = process.stderr.readline().split()

    class Where:
        endpoint = said[-1]

    token = (tmp_path / "token").read_text().strip()
    assert call(Where, "POST", MESSAGES, PING, token)[1]["ok"]
    # while it decides without a deadline, others are answered, and it ends
    # when it is told to
    instance = json.loads((ROOT / "instances/replication/image-100x4.json").read_text())
    endless = {
        "ioopt": 1,
        "op": "decide",
        "instance": instance,
        "solver": "ip",
        "deadline": None,
    }
    deciding = socket.create_connection(
        Where.endpoint.removeprefix("http://").split(":")
    )
    body = json.dumps(endless).encode()
    head = f"POST {MESSAGES} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    deciding.sendall(
        head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    )
    assert call(Where, "GET", "/health", None, None)[0] == 200
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    deciding.close()
    process.stderr.close()


def test_a_decision_that_is_cut_off_by_the_end_is_answered_in_json(capfd):
    instance = json.loads((ROOT / "instances/replication/image-100x4.json").read_text())
    endless = {"ioopt": 1, "op": "decide", "instance": instance, "deadline": None}
    found = []
    with serving(1 << 20) as made:
        asked = threading.Thread(
            target=lambda: found.append(call(made, "POST", MESSAGES, endless))
        )
        asked.start()
        while made._solving._process._process is None:  # until it is decided on
            time.sleep(0.01)
        made.stop(0.0)
        asked.join(60)
    assert found == [(503, {"error": ENDED})]
    assert "never retrieved" not in capfd.readouterr().err


def test_a_connection_that_says_nothing_or_half_a_call_holds_nobody_up(server):
    host, port = server.endpoint.removeprefix("http://").split(":")
    head = f"POST {MESSAGES} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
    halves = (
        b"",
        b"POST",
        head.encode(),
        head.encode() + b"Content-Length: 4000\r\n\r\n{",
    )
    with contextlib.ExitStack() as stack:
        for half in halves * 50:  # more than may be waited for
            client = stack.enter_context(socket.create_connection((host, int(port))))
            client.sendall(half)
        assert call(server, "POST", MESSAGES, PING)[1]["ok"]
    assert call(server, "POST", MESSAGES, PING)[1]["ok"]
    assert server._unanswered_bytes == 0


def test_a_refused_body_that_never_ends_is_read_for_a_while_only(server, monkeypatch):
    """No clock: the time is over before it begins."""
    monkeypatch.setattr("ioopt.embed.http.REFUSED_SECONDS", 0.0)
    host, port = server.endpoint.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as client:
        head = f"POST {MESSAGES} HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n"
        client.sendall(head.encode())
        assert client.makefile("rb").read().startswith(b"HTTP/1.1 401")


def test_what_is_no_call_is_refused_in_json(server):
    host, port = server.endpoint.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(b"nonsense\r\n\r\n")
        head, body = client.makefile("rb").read().split(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400") and json.loads(body)["error"]
    with socket.create_connection((host, int(port))) as client:
        chunked = (
            f"POST {MESSAGES} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
        )
        client.sendall(
            chunked.encode() + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        )
        head, body = client.makefile("rb").read().split(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 411")
    assert json.loads(body) == {"error": "a body needs a Content-Length"}


SNAPSHOT = json.loads((ROOT / "instances/gang/gang-figure-7.json").read_text())
OWN = """
import pathlib, ioopt
pathlib.Path("imported").touch()

def loud(problem):
    print("hello")
    return ioopt.solve(problem, "gs").plan
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The working folder of the service, with a solver that prints."""
    (tmp_path / "noisy.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_only_listed_solvers_are_served(own, server):
    """However a function is named, it is refused and its module is not imported."""
    network = {"network": MACHINE["network"], "nodes": MACHINE["nodes"]}
    planner = network | {"solver": "noisy:loud"}
    run = network | {"policy": "noisy:loud"}
    states = [
        {
            **network,
            "files": [],
            "tasks": [],
            "solver": "noisy:loud",
            "settings": {},
            "seed": 0,
        },
        {
            **network,
            "files": [],
            "policy": "noisy:loud",
            "settings": {},
            "products": "nodes",
        },
    ]
    asked = [
        {"op": "decide", "instance": SNAPSHOT, "solver": "noisy:loud"},
        {"op": "open", "object": "WorkflowDispatcher", "arguments": run},
        {"op": "open", "object": "WorkflowDispatcher", "state": states[1]},
    ]
    for message in asked:
        reply = call(server, "POST", MESSAGES, {"ioopt": 1, **message})[1]
        assert reply["error"]["code"] == "invalid", reply
        assert reply["error"]["message"] == (
            "solver 'noisy:loud' is not a listed one; over HTTP only listed solvers "
            "are served: begin the service with --allow-own"
        )
    for message in ({"arguments": planner}, {"state": states[0]}):
        message |= {"ioopt": 1, "op": "open", "object": "ReplicationPlanner"}
        session = (
            call(server, "POST", MESSAGES, message)[1].get("result", {}).get("session")
        )
        tasks = {"tasks": [{"id": "t", "compute_seconds": 1}]}
        submit = {
            "ioopt": 1,
            "op": "call",
            "session": session,
            "method": "submit",
            "arguments": tasks,
        }
        reply = call(server, "POST", MESSAGES, submit)[1]
        assert (
            not reply["ok"]
            or "is not a listed one" in reply["result"]["value"]["notes"][0]
        )
    assert not (own / "imported").exists()


@pytest.mark.slow
def test_a_solver_that_prints_shifts_no_reply(own):
    with serving(allow_own=True) as server:
        wanted = {"ioopt": 1, "id": "A", "op": "decide", "instance": SNAPSHOT}
        listed = call(server, "POST", MESSAGES, wanted | {"solver": "gs"})[1]
        reply = call(server, "POST", MESSAGES, wanted | {"solver": "noisy:loud"})[1]
        assert (
            reply["id"] == "A" and reply["result"]["plan"] == listed["result"]["plan"]
        )
        for k in range(3):
            assert call(server, "POST", MESSAGES, PING | {"id": k})[1]["id"] == k
    assert (own / "imported").exists()


@pytest.mark.parametrize("reply", ["2 {}", "{}", "", "1 {"])
def test_a_reply_to_another_message_is_refused(reply):
    """Whatever a process writes that is not the whole reply to the message at hand."""
    made = LineProcess(4096)
    made._command = [sys.executable, "-c", f"input(); print({reply!r}, end='')"]
    with pytest.raises(MessageError, match="its sessions are lost"):
        made.handle(b"{}")
    assert made._process is None
    made._command = [sys.executable, "-c", "print(input())"]
    assert made.handle(b"{}") == b"{}\n"
    made.end()


def test_a_solver_past_its_deadline_is_ended(monkeypatch):
    """Its process, that is; one that has answered, if only "no", goes on."""
    ended = []
    monkeypatch.setattr(LineProcess, "end", lambda self: ended.append(1))

    async def answered(error):
        service = Service()
        service._guard.ask = lambda *_: (None, error)
        monkeypatch.setattr(
            LineProcess, "handle", lambda self, body: service.handle(body)
        )
        message = {"ioopt": 1, "op": "decide", "instance": SNAPSHOT}
        left = asyncio.create_task(asyncio.Event().wait())
        await Decider(4096, False).answer(json.dumps(message).encode(), left)
        left.cancel()
        return len(ended)

    assert asyncio.run(answered("no answer within 1 s")) == 1
    assert asyncio.run(answered("the solver failed")) == 1


def test_a_client_library_is_answered(server):
    httpx = pytest.importorskip("httpx")
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(
        base_url=server.endpoint, headers=headers, trust_env=False
    ) as client:
        for number in range(3):  # over one connection
            assert (
                client.post(MESSAGES, json=PING | {"id": number}).json()["id"] == number
            )


@pytest.mark.slow
def test_the_solver_of_a_client_that_left_is_ended():
    """The next one is asked though the first has no deadline; the
    sessions are still there.
    """
    instance = json.loads((ROOT / "instances/replication/image-100x4.json").read_text())
    endless = {
        "ioopt": 1,
        "op": "decide",
        "instance": instance,
        "solver": "ip",
        "deadline": None,
    }
    snapshot = {
        "ioopt": 1,
        "id": 3,
        "op": "decide",
        "instance": SNAPSHOT,
        "solver": "gs",
    }
    with serving(max_bytes=1 << 20) as server:
        opened = {
            "ioopt": 1,
            "op": "open",
            "object": "WorkflowDispatcher",
            "arguments": MACHINE,
        }
        session = call(server, "POST", MESSAGES, opened)[1]["result"]["session"]
        host, port = server.endpoint.removeprefix("http://").split(":")
        leaving = http.client.HTTPConnection(host, int(port))
        headers = {"Authorization": f"Bearer {TOKEN}"}
        leaving.request("POST", MESSAGES, json.dumps(endless), headers)
        while server._solving._process._process is None:
            assert call(server, "GET", "/health")[0] == 200
        leaving.close()
        assert call(server, "POST", MESSAGES, snapshot)[1]["id"] == 3
        saving = {"ioopt": 1, "op": "save", "session": session}
        assert call(server, "POST", MESSAGES, saving)[1]["ok"]


def test_the_schema_describes_real_messages_and_replies(server):
    jsonschema = pytest.importorskip("jsonschema")
    document = call(server, "GET", "/openapi.json", None, None)[1]
    described = document["paths"][MESSAGES]["post"]
    assert described["security"] == [{"token": []}]

    def against(part, value):
        schema = part["content"]["application/json"]["schema"]
        whole = schema | {"components": document["components"]}
        return [*jsonschema.Draft202012Validator(whole).iter_errors(value)] == []

    messages = [
        PING,
        {"ioopt": 1, "op": "decide", "instance": SNAPSHOT, "solver": "gs"},
        {
            "ioopt": 1,
            "op": "open",
            "object": "GangednessMonitor",
            "arguments": {"processors": 4},
        },
        {"ioopt": 1, "op": "sessions"},
    ]
    messages += [
        json.loads(line) for talk in conversations() for line in talk.splitlines()
    ]
    service, ops = Service(), set()
    for message in messages:
        ops.add(message["op"])
        assert against(described["requestBody"], message), message
        reply = json.loads(service.handle(json.dumps(message).encode()))
        assert against(described["responses"]["200"], reply), reply
    assert ops == {"ping", "decide", "open", "call", "save", "close", "sessions"}
    assert "GangScheduler_arrive" in document["components"]["schemas"]
    for wrong in (
        {"ioopt": 2, "op": "ping"},
        {"ioopt": 1, "op": "shout"},
        {"ioopt": 1, "op": "decide"},
        PING | {"x": 1},
    ):
        assert not against(described["requestBody"], wrong), wrong
        reply = call(server, "POST", MESSAGES, wrong)[1]
        assert not reply["ok"] and against(described["responses"]["200"], reply)
    assert not against(described["responses"]["200"], {"ok": True})


@pytest.mark.parametrize("package", ["fastapi", "uvicorn"])
def test_without_the_packages_it_says_what_to_install(
    package, monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr(
        "ioopt.cli.serve.find_spec", lambda name: None if name == package else object()
    )
    assert main(["serve", "--http", "0", "--token-file", str(tmp_path / "token")]) == 6
    assert capsys.readouterr().err == (
        f"ioopt: serve --http needs the package {package}; pip install 'ioopt[serve]'\n"
    )
    assert not (tmp_path / "token").exists()


def test_a_body_that_breaks_off_costs_nobody_else(server):
    where = server.endpoint.removeprefix("http://").split(":")
    for sent in (
        b"POST /v1/mess",
        b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
        + TOKEN.encode()
        + b'\r\nContent-Length: 99\r\n\r\n{"ioopt": 1',
    ):
        with socket.create_connection((where[0], int(where[1]))) as broken:
            broken.sendall(sent)
    assert call(server, "POST", MESSAGES, PING)[1]["ok"]


def test_replies_do_not_wait_for_acknowledgements(server):
    assert server._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_the_client_in_javascript_runs_a_workflow(server):
    """`make` reads a file of the storage; `use` reads what `make` wrote on its node."""
    sample = ROOT / "docs" / "samples" / "client.mjs"
    run = subprocess.run(
        ["node", str(sample), server.endpoint, TOKEN],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.splitlines() == [
        "0 s: make on n0: copy in from storage",
        "6 s: use on n0: start now",
    ]


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_calls_in_a_shell_take_the_number_of_their_session(server, tmp_path):
    """The service has a session already, as after the client in JavaScript."""
    opened = {"ioopt": 1, "op": "open", "object": "GangednessMonitor"}
    call(server, "POST", MESSAGES, opened | {"arguments": {"processors": 4}})
    page = (ROOT / "docs" / "http.md").read_text()
    script, _, printed = page.partition("\nsay() {")[2].partition("\n```")
    (tmp_path / "token").write_text(TOKEN)
    script = "say() {" + script.replace("http://127.0.0.1:8080", server.endpoint)
    run = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == printed.partition("```text\n")[2].partition("```")[0]
