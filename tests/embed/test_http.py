"""The service over HTTP: the messages of the other services, a token."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading

import pytest
from conftest import ROOT

from ioopt.embed.http import HttpServer, read_token
from ioopt.embed.service import IDLE_SECONDS, MAX_SESSIONS, Service
from ioopt.errors import UsageError
from ioopt.version import __version__

MACHINE = {
    "network": {"remote_bytes_per_second": 1e6, "replica_bytes_per_second": 1e8},
    "nodes": [{"id": "k1", "cores": 2}, {"id": "k2", "cores": 2}],
}
TOKEN = "0123456789abcdef"
MESSAGES = "/v1/messages"
PING = {"ioopt": 1, "id": 1, "op": "ping"}


@pytest.fixture
def server():
    made = HttpServer("0", TOKEN, 4096)
    thread = threading.Thread(target=made.run)
    thread.start()
    yield made
    made.stop()
    thread.join(60)
    assert not thread.is_alive()


def call(server, method, path, body=None, token=TOKEN, raw=None):
    where = http.client.HTTPConnection(*server.endpoint.removeprefix("http://").split(":"))
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    data = raw if raw is not None else None if body is None else json.dumps(body).encode()
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
    assert call(server, "PATCH", MESSAGES, {})[0] == call(server, "PUT", MESSAGES, {})[0] == 405
    assert call(server, "GET", "/v1/none")[0] == 404
    assert call(server, "POST", "/v1/scheduler/a_run", {})[0] == 404


def test_messages_are_those_of_the_other_services(server):
    for text in (b'{"ioopt": 1, "id": 7, "op": "ping"}', b"{", b'{"ioopt": 2}', b""):
        wanted = json.loads(Service(4096).handle(text))
        assert call(server, "POST", MESSAGES, raw=text) == (200, wanted)
    opened = {"ioopt": 1, "op": "open", "object": "WorkflowDispatcher", "arguments": MACHINE}
    session = call(server, "POST", MESSAGES, opened)[1]["result"]["session"]
    for method, arguments in (("submit", {"tasks": [{"id": "t", "compute_seconds": 1}]}),
                              ("next", {"now": 0.0})):  # fmt: skip
        message = {"ioopt": 1, "op": "call", "session": session, "method": method,
                   "arguments": arguments}  # fmt: skip
        value = call(server, "POST", MESSAGES, message)[1]["result"]["value"]
    assert value == [{"task": "t", "node": "k1", "stage": []}]


def test_bodies_and_headers_have_limits(server):
    for size in (5_000, 10_000_000):  # the refusal is read, and no reset
        assert call(server, "POST", MESSAGES, raw=b" " * size)[0] == 413
    assert call(server, "GET", "/health")[0] == 200


def test_a_process_that_died_is_replaced(server):
    server.service._process.kill()
    server.service._process.wait()
    assert "sessions are lost" in call(server, "POST", MESSAGES, PING)[1]["error"]["message"]
    assert call(server, "POST", MESSAGES, PING)[1]["ok"]


def test_a_session_that_nobody_uses_makes_room():
    seconds = iter(
        [0.0] * MAX_SESSIONS + [10.0, IDLE_SECONDS - 1, IDLE_SECONDS + 1] + [IDLE_SECONDS + 1] * 2
    )
    service = Service(clock=lambda: next(seconds))
    monitor = {"ioopt": 1, "op": "open", "object": "WorkflowDispatcher", "arguments": MACHINE}
    opens = [json.loads(service.handle(json.dumps(monitor).encode())) for _ in range(MAX_SESSIONS)]
    assert all(reply["ok"] for reply in opens)
    save = json.dumps({"ioopt": 1, "op": "save", "session": 1}).encode()
    assert json.loads(service.handle(save))["ok"]  # at 10 s
    assert "close one" in service.handle(json.dumps(monitor).encode()).decode()
    assert json.loads(service.handle(json.dumps(monitor).encode()))["result"] == {"session": 65}
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
    for name, why in ((".", "no regular file"), ("dangling", "cannot be read"), ("pipe", "no regular"),
                      ("none/token", "cannot be written")):  # fmt: skip
        with pytest.raises(UsageError, match=why):
            read_token(str(tmp_path / name))


@pytest.mark.parametrize("address", ["x", "127.0.0.1:", "1:70000", ":"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(UsageError, match="wanted PORT"):
        HttpServer(address, TOKEN, 4096)


def test_the_command_serves_and_stops(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "ioopt", "serve", "--http", "0", "--token-file",
         str(tmp_path / "token")],
        cwd=ROOT, stderr=subprocess.PIPE, text=True, env=os.environ,
    )  # fmt: skip
    said = process.stderr.readline().split()

    class Where:
        endpoint = said[-1]

    token = (tmp_path / "token").read_text().strip()
    assert call(Where, "POST", MESSAGES, PING, token)[1]["ok"]
    # while it decides without a deadline, others are answered, and it ends when it is told to
    instance = json.loads((ROOT / "instances/replication/image-100x4.json").read_text())
    endless = {"ioopt": 1, "op": "decide", "instance": instance, "solver": "ip", "deadline": None}
    deciding = socket.create_connection(Where.endpoint.removeprefix("http://").split(":"))
    body = json.dumps(endless).encode()
    head = f"POST {MESSAGES} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    deciding.sendall(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    assert call(Where, "GET", "/health", None, None)[0] == 200
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    deciding.close()
    process.stderr.close()


def test_a_body_that_breaks_off_costs_nobody_else(server):
    where = server.endpoint.removeprefix("http://").split(":")
    for sent in (b"POST /v1/mess", b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                 + TOKEN.encode() + b"\r\nContent-Length: 99\r\n\r\n{\"ioopt\": 1"):  # fmt: skip
        with socket.create_connection((where[0], int(where[1]))) as broken:
            broken.sendall(sent)
    assert call(server, "POST", MESSAGES, PING)[1]["ok"]
