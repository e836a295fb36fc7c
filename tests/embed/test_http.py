"""The service over HTTP: the same messages, and a conversation as Nextflow's nf-cws has it.

The conversation was written from the code of nf-cws's SchedulerClient and played here; neither
Nextflow nor a cluster took part.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading

import pytest
from conftest import ROOT
from jsonschema import Draft202012Validator, ValidationError

from ioopt.embed import http as served
from ioopt.embed.http import ROUTES, Calls, HttpServer, openapi, read_token
from ioopt.embed.service import Service
from ioopt.errors import UsageError

SITE = {
    "network": {"remote_bytes_per_second": 1e6, "replica_bytes_per_second": 1e8},
    "nodes": [{"id": "k1", "cores": 2}, {"id": "k2", "cores": 2}],
    "daemons": {"k1": "10.0.0.5"},
}
TOKEN = "0123456789abcdef"


def task(name, *files, cpus=1, size=0):
    """What nf-cws sends of a task (CWSK8sTaskHandler.registerTask)."""
    rows = [
        {"name": "in", "value": {"storePath": f, "sourceObj": f, "stageName": f}} for f in files
    ]
    return {
        "runName": f"nf-{name}", "task": name, "name": f"{name} (1)", "schedulerParams": {},
        "inputs": {"booleanInputs": [], "numberInputs": [], "stringInputs": [], "fileInputs": rows},
        "cpus": cpus, "memoryInBytes": None, "workDir": "/w", "repetition": 0, "inputSize": size,
    }  # fmt: skip


RUN = "/v1/scheduler/sad_euler"
CONVERSATION = [
    # (method, path, body, status, what the answer holds)
    ("POST", RUN, {"strategy": "locality", "dns": "", "namespace": "default"}, 200, {}),
    ("POST", RUN, {"strategy": "locality"}, 400, {}),  # once
    ("POST", RUN + "/DAG/vertices", [{"label": "align", "type": "PROCESS", "uid": 1},
                                     {"label": "report", "type": "PROCESS", "uid": 2},
                                     {"label": "side", "type": "PROCESS", "uid": 3}], 200, {}),
    ("POST", RUN + "/DAG/edges", [{"uid": 7, "label": "x", "from": 1, "to": 2},
                                  {"uid": 8, "label": "y", "from": None, "to": 3}], 200, {}),
    ("PUT", RUN + "/startBatch", None, 200, {}),
    ("POST", RUN + "/task/1", task("side", "/d/s", size=4), 200, {}),
    ("POST", RUN + "/task/2", task("align", "/d/a", "/d/b", cpus=2, size=9), 200, {}),
    ("GET", RUN + "/task/2", None, 200, {"state": "RECEIVED_CONFIG", "node": None}),
    ("POST", RUN + "/next", {"now": 0.0}, 200, []),  # the batch is open
    ("PUT", RUN + "/endBatch", 2, 200, {}),
    # align comes first, since report follows it; 9 bytes are two files of 5, rounded up
    ("POST", RUN + "/next", {"now": 1.0}, 200, [
        {"task": 2, "node": "k1", "stage": [["/d/a", None], ["/d/b", None]]},
        {"task": 1, "node": "k2", "stage": [["/d/s", None]]}]),
    ("GET", RUN + "/task/2", None, 200, {"state": "SCHEDULED", "node": "k1"}),
    ("POST", "/v1/downloadtask/sad_euler", b"nf-align=", 200, {}),  # its files are there
    ("GET", RUN + "/task/2", None, 200, {"state": "PREPARED", "node": "k1"}),
    ("GET", RUN + "/task/1", None, 200, {"state": "SCHEDULED"}),
    ("POST", RUN + "/task/2/completed", {"now": 9.0}, 200, {}),
    ("POST", RUN + "/metrics/task/2", {"realtime": 8000, "peakRss": 1}, 200, {}),
    ("POST", RUN + "/metrics/task/2", {"realtime": None, "peakRss": None}, 200, {}),
    ("POST", RUN + "/metrics/task/99", {"realtime": 8000}, 404, {}),
    ("POST", RUN + "/task/1/completed", {"now": 9.0, "failed": True}, 200, {}),
    ("POST", RUN + "/next", {"now": 9.0}, 200, [{"task": 1, "node": "k2", "stage": []}]),
    ("POST", RUN + "/task/3", task("report", "/d/a"), 200, {}),
    ("POST", RUN + "/next", {"now": 9.0}, 200, [{"task": 3, "node": "k1", "stage": []}]),
    ("POST", RUN + "/task/4", task("report", cpus=3), 200, {}),
    ("GET", RUN + "/task/4", None, 200, {"state": "ERROR"}),
    ("POST", RUN + "/task/5", task("align", cpus=2), 200, {}),
    ("DELETE", RUN + "/task/5", None, 200, {}),
    ("GET", RUN + "/task/5", None, 200, {"state": "DELETED"}),
    ("POST", RUN + "/task/7", task("align"), 200, {}),
    ("POST", RUN + "/next", {"now": 9.0}, 200, [{"task": 7, "node": "k1", "stage": []}]),
    ("POST", RUN + "/task/7/completed", {"now": 9.5, "failed": True, "again": False}, 200, {}),
    ("GET", RUN + "/task/7", None, 200, {"state": "FINISHED_WITH_ERROR"}),
    ("POST", RUN + "/next", {"now": 9.5}, 200, []),
    ("GET", RUN + "/task/99", None, 404, {}),
    ("DELETE", RUN + "/task/99", None, 404, {}),
    ("POST", RUN + "/task/6", {"cpus": "many"}, 400, {}),
    ("DELETE", RUN + "/DAG/vertices", [3], 200, {}),
    ("DELETE", RUN + "/DAG/edges", [7, 70], 200, {}),
    ("DELETE", RUN, None, 200, {}),
    ("DELETE", RUN, None, 400, {}),
    ("POST", "/v1/scheduler/other", {"strategy": "minmin"}, 404, {}),  # plans, dispatches nothing
]  # fmt: skip
FILE = "/v1/file/sad_euler"
AT = {"size": 7, "timestamp": 1, "locationWrapperID": 3}
LOCATIONS = [
    # SchedulerClient: getFileLocation, getDaemonOnNode, addFileLocation; dns ends with a slash
    ("POST", "/v1//scheduler/sad_euler", {"strategy": "FIFO", "namespace": "default"}, 200,
     {"policy": "fifo"}),
    ("GET", FILE + "?path=%2Fd%2Fa+b", None, 200,
     {"path": "/d/a b", "sameAsEngine": True, "node": None, "daemon": None, "symlinks": [],
      "notInContext": True, "locationWrapperID": -1}),
    ("POST", FILE + "/location/add/k1", {"path": "/d/a b", **AT}, 200, {}),
    ("POST", FILE + "/location/add/k2", {"path": "/d/c", **AT}, 200, {}),
    ("GET", FILE + "?path=%2Fd%2Fa+b", None, 200,
     {"path": "/d/a b", "sameAsEngine": False, "node": "k1", "daemon": "10.0.0.5", "symlinks": [],
      "notInContext": False, "locationWrapperID": 3}),
    ("GET", "/v1//daemon/sad_euler/k1", None, 200, "10.0.0.5"),
    ("GET", "/v1/daemon/sad_euler/k2", None, 404, {}),
    ("POST", RUN + "/task/1", task("x", "/d/c"), 200, {}),
    ("POST", RUN + "/task/2", task("x", "/d/a b", cpus=2), 200, {}),
    ("POST", FILE + "/location/overwrite/k1", {"path": "/d/c", **AT}, 200, {}),
    # /d/c is no longer on k2: fifo gives 1 to k1, without staging, and 2 to k2
    ("POST", RUN + "/next", {"now": 0.0}, 200, [
        {"task": 1, "node": "k1", "stage": []}, {"task": 2, "node": "k2", "stage": [["/d/a b", "k1"]]}]),
    ("GET", RUN + "/task/1", None, 200, {"state": "PREPARED"}),
    ("POST", FILE + "/location/add", {"path": "/e", **AT}, 200, {}),  # the engine has it
    ("GET", FILE + "?path=/e", None, 200, {"sameAsEngine": True, "notInContext": False}),
    ("POST", FILE + "/location/add/k9", {"path": "/e", **AT}, 400, {}),
    ("POST", FILE + "/location/move", {"path": "/e", **AT}, 404, {}),
    ("POST", "/v1/scheduler/b", {"strategy": "rank_max-fair"}, 200, {"policy": "rolling"}),
    ("POST", "/v1/scheduler/c", {"strategy": "wow", "locationAware": True}, 200, {"policy": "locality"}),
    ("POST", "/v1/scheduler/d", {"strategy": "random-rr"}, 404, {}),  # nobody here decides so
    ("GET", "/v1/file/other?path=/e", None, 400, {}),
]  # fmt: skip


@pytest.fixture
def server():
    pytest.importorskip("tornado")
    made, up = HttpServer("0", TOKEN, 4096, SITE), threading.Event()
    thread = threading.Thread(target=made.run, args=(up.set,))
    thread.start()
    assert up.wait(60)
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


@pytest.mark.parametrize("conversation", [CONVERSATION, LOCATIONS], ids=["tasks", "locations"])
def test_a_conversation_of_nf_cws_is_understood(server, conversation):
    assert server.endpoint.startswith("http://127.0.0.1:")
    for method, path, body, status, holds in conversation:
        raw = body if isinstance(body, bytes) else None
        code, value = call(server, method, path, body, raw=raw)
        assert code == status, (method, path, value)
        sent = body.decode().removesuffix("=") if raw else body
        assert_as_described(method, path, status, value, None if status == 400 else sent)
        if isinstance(holds, dict):
            assert holds.items() <= value.items(), (path, value)
        else:
            assert value == holds


DOCUMENT = openapi()


def of_document(schema):
    return Draft202012Validator({**schema, "components": DOCUMENT["components"]})


def assert_as_described(method, path, status, value, body=None):
    """The document names the call, and the schemas take the answer and the body."""
    path = path.split("?")[0].replace("//", "/")
    forms = {re.sub(r"\{\w+\}", "[^/]+", form): form for form in DOCUMENT["paths"]}
    (found,) = (form for pattern, form in forms.items() if re.fullmatch(pattern, path))
    described = DOCUMENT["paths"][found][method.lower()]
    answer = described["responses"][str(status)]
    assert len(answer["description"]) > 8
    of_document(answer["content"]["application/json"]["schema"]).validate(value)
    if body is not None:
        of_document(described["requestBody"]["content"]["application/json"]["schema"]).validate(
            body
        )


def test_messages_are_described():
    calls = Calls(Service(), SITE)
    gangs = {"machine": {"nodes": 4, "levels": 2, "quantum_seconds": 9.0}, "policy": "iogs"}
    instance = json.loads((ROOT / "instances/batch_io/two-writers-now.json").read_text())
    messages = [
        {"op": "ping"}, {"op": "open", "object": "GangScheduler", "arguments": gangs},
        {"op": "call", "session": 1, "method": "drain", "arguments": {"nodes": [9]}},
        {"op": "save", "session": 1}, {"op": "close", "session": 1}, {"op": "close", "session": 1},
        {"op": "decide", "instance": instance, "deadline": None},
    ]  # fmt: skip
    for message in ({"ioopt": 1, "id": 3, **message} for message in messages):
        status, reply = calls.answer("message", json.dumps(message).encode())
        assert_as_described("POST", "/v1/messages", status, json.loads(reply), message)
    for name, path in (("health", "/health"), ("openapi", "/openapi.json")):
        status, reply = calls.answer(name, b"")
        assert_as_described("GET", path, status, json.loads(reply))


def test_every_answer_of_the_document_has_a_schema():
    for schema in DOCUMENT["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    taken = set()
    for path, rows in DOCUMENT["paths"].items():
        for method, row in rows.items():
            open_to_all = row.get("security") == []
            assert ("401" in row["responses"]) is not open_to_all, (method, path)
            for answer in row["responses"].values():
                schema = answer["content"]["application/json"]["schema"]
                assert schema and answer["description"], (method, path)
                taken.add(json.dumps(schema))
    assert len(taken) >= 8  # not one for all
    with pytest.raises(ValidationError):
        assert_as_described(
            "GET", "/v1/scheduler/r/task/1", 200, {"state": "LOST", "node": None, "error": None}
        )


def test_the_token_is_asked_for(server):
    for token in (None, "", TOKEN[:-1], TOKEN + "x", "é"):
        if token is not None:
            token = token.encode().decode("latin1")
        assert call(server, "POST", RUN, {}, token)[0] == 401
    assert call(server, "POST", f"/{TOKEN}{RUN}", {}, None)[0] == 200  # nf-cws sends no headers
    assert call(server, "POST", f"/{TOKEN[:-1]}x{RUN}", {}, None)[0] == 401
    assert call(server, "GET", "/health", None, None)[0] == 200
    assert call(server, "PATCH", RUN, {})[0] == call(server, "PUT", RUN, {})[0] == 405
    assert call(server, "GET", "/v1/none")[0] == 404


def test_messages_are_those_of_the_other_services(server):
    for text in (b'{"ioopt": 1, "id": 7, "op": "ping"}', b"{", b'{"ioopt": 2}', b""):
        wanted = json.loads(Service(4096).handle(text))
        assert call(server, "POST", "/v1/messages", raw=text) == (200, wanted)
    machine = {key: SITE[key] for key in ("network", "nodes")}
    opened = {"ioopt": 1, "op": "open", "object": "WorkflowDispatcher", "arguments": machine}
    session = call(server, "POST", "/v1/messages", opened)[1]["result"]["session"]
    for method, arguments in (("submit", {"tasks": [{"id": "t", "compute_seconds": 1}]}),
                              ("next", {"now": 0.0})):  # fmt: skip
        message = {"ioopt": 1, "op": "call", "session": session, "method": method,
                   "arguments": arguments}  # fmt: skip
        value = call(server, "POST", "/v1/messages", message)[1]["result"]["value"]
    assert value == [{"task": "t", "node": "k1", "stage": []}]


def test_bodies_and_headers_have_limits(server):
    # closed while it is being sent, or answered
    with contextlib.suppress(ConnectionError, http.client.HTTPException, json.JSONDecodeError):
        assert call(server, "POST", "/v1/messages", raw=b" " * 5000)[0] in (400, 413)
    assert call(server, "GET", "/health")[0] == 200


def test_the_document_names_every_call():
    document = openapi()
    calls = {(m.upper(), path) for path, rows in document["paths"].items() for m in rows}
    assert calls == set(ROUTES) and document["openapi"] == "3.1.0"
    names = [row["operationId"] for rows in document["paths"].values() for row in rows.values()]
    assert len(names) == len(set(names)) and "{id}" in json.dumps(document)


def test_no_body_breaks_the_calls():
    calls = Calls(Service(), SITE, clock=lambda: 0.0)
    assert calls.answer("register", b"{}", "r")[0] == 200
    bodies = [b"", b"[", b"[]", b"[1]", b'{"a": 1}', b'"x"', b"null", b"[" * 9999, b'{"uid": NaN}',
              b'[{"uid": "x"}]', b'{"now": "x"}', b'{"deadline": "x"}', b'{"inputs": []}']  # fmt: skip
    for name in (route.name for route in ROUTES.values()):
        for body in bodies:
            status, reply = calls.answer(name, body, "r", "1", path="p", node="k1", method="add")
            assert status in (200, 400, 404), (name, body, reply)
            json.loads(reply)
            if name == "forget" and status == 200:
                calls.answer("register", b"{}", "r")
    assert Calls(Service(), None).answer("register", b"{}", "r")[0] == 400


def test_what_tasks_took_is_expected_of_those_that_wait():
    calls = Calls(Service(), SITE, clock=lambda: 0.0)
    calls.answer("register", b"{}", "r")
    for number in range(1, 7):
        calls.answer("add_task", json.dumps(task("align")).encode(), "r", str(number))
    run = calls._runs["r"][0]
    assert len(run.next(0.0, None)) == 4  # two nodes of two cores
    for number, milliseconds in ((1, 4000), (2, 8000)):
        body = json.dumps({"realtime": milliseconds}).encode()
        assert calls.answer("metrics", body, "r", str(number))[0] == 200
    seconds = [run.dispatcher.task(k).compute_seconds for k in range(6)]
    assert seconds == [60.0] * 4 + [6.0] * 2  # what waits; before, 60 s


def test_executions_are_limited(monkeypatch):
    monkeypatch.setattr(served, "MAX_RUNS", 2)
    calls = Calls(Service(), SITE)
    assert [calls.answer("register", b"{}", str(k))[0] for k in range(3)] == [200, 200, 400]


def test_a_token_is_for_its_owner(tmp_path):
    path = tmp_path / "token"
    token = read_token(str(path))
    assert (
        len(token) >= 32 and path.stat().st_mode & 0o777 == 0o600 and read_token(str(path)) == token
    )
    path.chmod(0o644)
    with pytest.raises(UsageError, match="others can read"):
        read_token(str(path))
    path.chmod(0o600)
    path.write_text("short")
    with pytest.raises(UsageError, match="16 characters"):
        read_token(str(path))


@pytest.mark.parametrize("address", ["x", "127.0.0.1:", "1:70000", ":"])
def test_an_address_that_is_none_is_refused(address):
    pytest.importorskip("tornado")
    with pytest.raises(UsageError, match="wanted PORT"):
        HttpServer(address, TOKEN, 4096)


def test_the_command_serves_and_stops(tmp_path):
    pytest.importorskip("tornado")
    (tmp_path / "site.json").write_text(json.dumps(SITE))
    process = subprocess.Popen(
        [sys.executable, "-m", "ioopt", "serve", "--http", "0", "--token-file",
         str(tmp_path / "token"), "--site", str(tmp_path / "site.json")],
        cwd=ROOT, stderr=subprocess.PIPE, text=True, env=os.environ,
    )  # fmt: skip
    said = process.stderr.readline().split()

    class Where:
        endpoint = said[-1]

    token = (tmp_path / "token").read_text().strip()
    assert call(Where, "POST", RUN, {"strategy": "fifo"}, token)[1] == {"policy": "fifo"}
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    process.stderr.close()


def test_a_body_that_breaks_off_costs_nobody_else(server):
    where = server.endpoint.removeprefix("http://").split(":")
    for sent in (b"POST /v1/mess", b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                 + TOKEN.encode() + b"\r\nContent-Length: 99\r\n\r\n{\"ioopt\": 1"):  # fmt: skip
        with socket.create_connection((where[0], int(where[1]))) as broken:
            broken.sendall(sent)
    ping = {"ioopt": 1, "id": 1, "op": "ping"}
    assert call(server, "POST", "/v1/messages", ping)[1]["ok"]
