"""The service: each message gets its reply, whatever it is, and the service goes on."""

import contextlib
import errno
import io
import itertools
import json
import os
import random
import resource
import select
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from unittest.mock import DEFAULT, Mock

import pytest
from conftest import ROOT, first
from damage.service import ask, conversations, mutate_messages

from ioopt import solving
from ioopt.catalog import bundled
from ioopt.embed.guard import MAX_ABANDONED, Watch
from ioopt.embed.service import Service
from ioopt.embed.transport import SocketServer, StreamServer
from ioopt.errors import UsageError
from ioopt.formats.native import read_json

SNAPSHOT = {
    "format": "ioopt/io-requests",
    "version": 1,
    "name": "r",
    "now_seconds": 3.0,
    "machine": {
        "nodes": 8,
        "unit_nodes": 1,
        "allocation": "flat",
        "node_bytes_per_second": 1.0,
        "storage_bytes_per_second": 4.0,
    },
    "requests": [
        {
            "id": 1,
            "nodes": 4,
            "request_seconds": 1.0,
            "left_bytes": 8.0,
            "moved_bytes": 0.0,
        },
        {
            "id": 2,
            "nodes": 4,
            "request_seconds": 2.0,
            "left_bytes": 8.0,
            "moved_bytes": 0.0,
        },
    ],
}


def opened(service, **more):
    """The session of a new monitor."""
    reply = ask(service, op="open", object="GangednessMonitor", **more)
    return reply["result"]["session"]


def test_a_decision():
    reply = ask(Service(), op="decide", instance=SNAPSHOT, solver="cons-fcfs")
    # both want 4 of 4 bytes a second; the first come is served
    assert reply["id"] == 7 and reply["ok"]
    assert reply["result"]["plan"]["grants"] in ({"1": 4.0, "2": 0.0}, {"1": 4.0})


def test_a_session_lives_is_saved_and_goes_on_in_another_service():
    service, other = Service(), Service()
    session = opened(service, arguments={"processors": 4})
    observed = {"ganged": True, "running": True, "messages": 20}
    for _ in range(10):
        assert ask(
            service, op="call", session=session, method="observe", arguments=observed
        )["ok"]
    state = ask(service, op="save", session=session)["result"]["state"]
    again = opened(service, state=state)
    assert again != session
    assert (
        ask(other, op="call", session=session, method="ratio")["error"]["code"]
        == "unknown"
    )
    moved = opened(other, state=state)
    values = [
        ask(where, op="call", session=s, method="classify")["result"]
        for where, s in ((service, session), (service, again), (other, moved))
    ]
    assert values[0] == values[1] == values[2]
    rows = ask(service, op="sessions")["result"]["sessions"]
    assert {"session": session, "object": "GangednessMonitor"} in rows
    assert ask(service, op="close", session=session)["ok"]
    assert len(ask(service, op="sessions")["result"]["sessions"]) == len(rows) - 1
    assert (
        ask(service, op="call", session=session, method="ratio")["error"]["code"]
        == "unknown"
    )


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"", "malformed"),
        (b"{", "malformed"),
        (b"[1]", "malformed"),
        (b"\xff\xfe", "malformed"),
        (b"[" * 100_000, "malformed"),
        (b'{"ioopt": 1, "id": 1e999, "op": "ping"}', "malformed"),
        (b'{"ioopt": 1, "id": NaN, "op": "ping"}', "malformed"),
        (b'{"id": 1}', "version"),
        (b'{"ioopt": 0, "op": "ping"}', "version"),
        (b'{"ioopt": 2, "op": "ping"}', "version"),
        (b'{"ioopt": "1", "op": "ping"}', "version"),
        (b'{"ioopt": null, "op": "ping"}', "version"),
        (b'{"ioopt": [1], "op": "ping"}', "version"),
        (b'{"ioopt": 1, "op": "shout"}', "unknown"),
        (b'{"ioopt": 1, "op": ["ping"]}', "unknown"),
        (b'{"ioopt": 1, "op": "decide"}', "invalid"),
        (b'{"ioopt": 1, "op": "decide", "instance": {"format": "x"}}', "invalid"),
        (b'{"ioopt": 1, "op": "open", "object": "os"}', "unknown"),
        (
            b'{"ioopt": 1, "op": "open", "object": "GangednessMonitor", '
            b'"arguments": {"x": 1}}',
            "invalid",
        ),
        (b'{"ioopt": 1, "op": "call", "session": 99}', "unknown"),
        (b'{"ioopt": 1, "op": "call", "session": true}', "unknown"),
        (b" " * 3000, "oversized"),
        (b'{"ioopt": 1, "op": "ping", "op": "close"}', "malformed"),
        (b'{"ioopt": 1, "op": "decide", "instance": {"a": 1, "a": 2}}', "malformed"),
        (b'{"ioopt": 1, "op": "ping", "instance": {}}', "invalid"),
        (b'{"ioopt": 1, "op": "decide", "instance": {}, "sovler": "fill"}', "invalid"),
        (
            b'{"ioopt": 1, "op": "open", "object": "IoArbiter", "arguments": {}, '
            b'"state": {}}',
            "invalid",
        ),
    ],
)
def test_bad_messages_get_a_reply(line, code):
    service = Service(max_bytes=2000) if code == "oversized" else Service()
    reply = json.loads(service.handle(line))
    assert reply["ok"] is False and reply["error"]["code"] == code
    assert "\n" not in reply["error"]["message"]
    assert ask(service, op="ping")["ok"]


def test_a_key_that_is_not_known_or_given_twice_is_named():
    reply = ask(Service(), op="decide", instance=SNAPSHOT, sovler="fill")
    assert reply["error"]["message"] == (
        "op 'decide' has no key 'sovler'; known: deadline, instance, seed, set, solver"
    )
    twice = json.loads(
        Service().handle(b'{"ioopt": 1, "id": 1, "id": 2, "op": "ping"}')
    )
    assert "key 'id' is given twice" in twice["error"]["message"]


def test_methods_that_are_not_offered_cannot_be_reached():
    service = Service()
    session = opened(service, arguments={"processors": 4})
    for method in ("__init__", "state", "restore", "_samples"):
        reply = ask(service, op="call", session=session, method=method)
        assert reply["error"]["code"] == "unknown"


@pytest.mark.parametrize("count", [100, pytest.param(2_000, marks=pytest.mark.slow)])
def test_a_stream_of_damaged_lines_is_answered_line_by_line(count):
    """Conversations of the fuzzer, each on a stream of its own; a whole
    message has its own number.
    """
    whole, talks = 0, conversations()
    for number in range(count):
        rng = random.Random(number)
        lines = mutate_messages(rng.choice(talks), rng).split(b"\n")
        sink = io.BytesIO()
        source = io.BytesIO(b"\n".join(lines) + b"\n")
        assert StreamServer(source, sink, Service()).run() == len(lines)
        replies = [json.loads(line) for line in sink.getvalue().splitlines()]
        assert len(replies) == len(lines) and all("ok" in reply for reply in replies)
        for k, (line, reply) in enumerate(zip(lines, replies)):
            if reply["ok"]:
                assert reply["id"] == json.loads(line).get("id"), k
                whole += 1
    assert whole > count


def test_an_oversized_line_does_not_desynchronise_the_stream():
    sink = io.BytesIO()
    source = io.BytesIO(b"x" * 10_000 + b"\n\n" + PING)
    assert StreamServer(source, sink, Service(max_bytes=1024)).run() == 2
    first, second = [json.loads(line) for line in sink.getvalue().splitlines()]
    assert first["error"]["code"] == "oversized" and second["id"] == 5 and second["ok"]


def served(lines):
    """The sink of a stream whose thread is watched, at its end."""
    sink, watch = io.BytesIO(), Watch()
    source = io.BytesIO(b"".join(lines))
    server = StreamServer(source, sink, Service(guard=watch))
    watch.serve(server.run, server.resume)
    return sink


def replies_in(sink):
    return [json.loads(line) for line in sink.getvalue().splitlines()]


def decisions(*rows):
    """A line for each pair of a seed and a deadline; ids count from 0."""
    decide = {"ioopt": 1, "op": "decide", "instance": SNAPSHOT, "solver": "cons-fcfs"}
    return [
        json.dumps(decide | {"id": k, "seed": seed, "deadline": deadline}).encode()
        + b"\n"
        for k, (seed, deadline) in enumerate(rows)
    ]


def test_one_thread_answers_until_it_is_late_and_another_goes_on(monkeypatch):
    real, release, threads = solving.solve, threading.Event(), []

    def solve(*given, seed, **more):
        threads.append(threading.current_thread())
        if seed == 1:
            release.wait(60)
        return real(*given, seed=seed, **more)

    monkeypatch.setattr(solving, "solve", solve)
    late, soon = (1, 0.02), (0, 60.0)
    sink = served(decisions(soon, soon, late, soon, (0, None)))
    replies = replies_in(sink)
    assert [reply["id"] for reply in replies] == [0, 1, 2, 3, 4]
    assert [reply["ok"] for reply in replies] == [True, True, False, True, True]
    assert replies[2]["error"] == {
        "code": "solver",
        "message": "no answer within 0.02 s",
    }
    assert threads[0] is threads[1] is threads[2]
    assert threads[3] is threads[4] is not threads[0]
    assert threading.current_thread() not in threads
    release.set()
    threads[2].join(60)
    assert replies_in(sink) == replies  # the late answer is dropped

    release.clear()
    replies = replies_in(served(decisions(*[late] * (MAX_ABANDONED + 2))))
    assert [reply["error"]["message"] for reply in replies[MAX_ABANDONED:]] == [
        f"the solver hung {MAX_ABANDONED} times and is not asked again"
    ] * 2
    release.set()


def test_each_line_has_one_reply_however_late_its_decision_is(monkeypatch):
    """Solvers end about when their deadlines do, a little before or after."""
    real, draw = solving.solve, random.Random(4)

    def solve(*given, seed, **more):
        time.sleep(seed / 1e5)
        return real(*given, seed=seed, **more)

    monkeypatch.setattr(solving, "solve", solve)
    rows = [(draw.randrange(300), draw.randrange(1, 30) / 1e4) for _ in range(200)]
    replies = replies_in(served(decisions(*rows)))
    assert [reply["id"] for reply in replies] == list(range(len(rows)))
    for reply in replies:
        assert reply["ok"] or reply["error"]["code"] == "solver"


def test_the_error_of_a_watched_service_is_raised():
    def full():
        raise OSError(28, "no space left")

    with pytest.raises(OSError, match="no space"):
        Watch().serve(full, full)


OWN_SOLVERS = """
import ctypes, os, subprocess, sys
import ioopt

def loud(problem):
    sys.stdout.write("python")
    os.write(1, b'{"ioopt": 1, "id": 99, "ok": true}\\n')
    subprocess.run([sys.executable, "-c", "print('a program')"], check=True)
    ctypes.CDLL(None).puts(b"C")
    ctypes.CDLL(None).fflush(None)
    return ioopt.solve(problem, "cons-fcfs").plan

def asking(problem):
    input("which? ")

def leaving(problem):
    sys.exit(3)

def dying(problem):
    os._exit(3)
"""


def own_decisions(*names, **more):
    """Decisions by functions of own_solvers.py, a ping after each; ids count from 0."""
    decide = {"op": "decide", "instance": SNAPSHOT, **more}
    messages = []
    for name in names:
        messages.append(decide | {"solver": f"own_solvers:{name}"})
        messages.append({"op": "ping"})
    return [
        {"ioopt": 1, "id": number} | message for number, message in enumerate(messages)
    ]


def are_own(replies):
    """Whether *loud* has decided, *asking* and *leaving* have failed, and
    all pings are answered.
    """
    assert [reply["id"] for reply in replies] == list(range(6))
    loud, asking, leaving = replies[::2]
    assert loud["result"]["plan"]["grants"]["1"] == 4.0
    assert "EOFError" in json.dumps(asking) and "SystemExit" in json.dumps(leaving)
    return all(reply["ok"] for reply in replies[1::2])


@pytest.mark.parametrize(
    ("deadline", "stderr"),
    [
        (60, subprocess.PIPE),
        pytest.param(None, subprocess.STDOUT, marks=pytest.mark.slow),
    ],
)
def test_what_a_solver_prints_is_no_reply(tmp_path, deadline, stderr):
    """Of Python, a descriptor, a program and C; with standard error
    in the same pipe too.

    A solver that ends the process ends the service, which says so.
    """
    (tmp_path / "own_solvers.py").write_text(OWN_SOLVERS)
    messages = own_decisions("loud", "asking", "leaving", "dying", deadline=deadline)
    done = subprocess.run(
        [sys.executable, "-m", "ioopt", "serve", "--stdio"],
        input="".join(json.dumps(message) + "\n" for message in messages),
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    said = "ioopt: the process that decides has ended with code 3\n"
    if stderr == subprocess.STDOUT:
        assert done.stdout.endswith(said)
    else:
        assert done.stderr.endswith(said)
        assert "a program\nC\n" in done.stderr and "which? " in done.stderr
    assert are_own(
        [json.loads(line) for line in done.stdout.removesuffix(said).splitlines()]
    )
    assert done.returncode == 1


@pytest.mark.slow
def test_what_a_solver_prints_is_no_reply_of_a_socket(tmp_path):
    (tmp_path / "own_solvers.py").write_text(OWN_SOLVERS)
    path = str(tmp_path / "s")
    process = subprocess.Popen(
        [sys.executable, "-m", "ioopt", "serve", "--socket", path],
        stderr=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert "listening" in process.stderr.readline()
    with connect(path) as client:
        messages = own_decisions("loud", "asking", "leaving")
        client.sendall(
            "".join(json.dumps(message) + "\n" for message in messages).encode()
        )
        with client.makefile("rb") as answers:
            assert are_own([json.loads(answers.readline()) for _ in messages])
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0
    process.stdin.close()
    process.stderr.close()


def test_standard_streams_end_to_end():
    lines = "".join(
        json.dumps(
            {
                "ioopt": 1,
                "id": k,
                "op": "decide",
                "instance": SNAPSHOT,
                "solver": "fill",
            }
        )
        + "\n"
        for k in range(20)
    )
    done = subprocess.run(
        [sys.executable, "-m", "ioopt", "serve", "--stdio"],
        input=lines,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert [reply["id"] for reply in replies] == list(range(20))
    assert all(reply["ok"] for reply in replies)


PING = b'{"ioopt": 1, "id": 5, "op": "ping"}\n'
OPENING = (
    b'{"ioopt": 1, "op": "open", "object": "GangednessMonitor", "arguments": {}}\n'
)


def connect(path):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.connect(path)
    return client


def answer(client, line=PING):
    """What the service says to *line*."""
    client.sendall(line)
    return json.loads(client.makefile("rb").readline())


@contextlib.contextmanager
def running(server):
    """A socket service in a thread of this process."""
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()


def listening(tmp_path, **options):
    return running(SocketServer(str(tmp_path / "s"), **options))


def test_a_socket_is_its_owners_and_connections_are_apart(tmp_path):
    path = str(tmp_path / "s")
    with listening(tmp_path), connect(path) as first, connect(path) as second:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        with pytest.raises(UsageError, match="another service is listening"):
            SocketServer(path)
        assert answer(first, OPENING)["ok"]
        saving = b'{"ioopt": 1, "op": "save", "session": 1}\n'
        assert answer(second, saving)["error"]["code"] == "unknown"
    assert not os.path.exists(path)


def test_a_file_that_is_no_socket_is_left_alone(tmp_path):
    path = tmp_path / "file"
    path.write_text("mine")
    with pytest.raises(UsageError, match="is not a socket"):
        SocketServer(str(path))
    assert path.read_text() == "mine"


def long_decision() -> bytes:
    """One that takes far longer than any test may."""
    instance = read_json(bundled("image-100x4")["path"])
    message = {
        "ioopt": 1,
        "id": 1,
        "op": "decide",
        "instance": instance,
        "solver": "two-stage",
    }
    return json.dumps(message | {"deadline": None}).encode() + b"\n"


@pytest.mark.slow
def test_the_solver_of_a_client_that_left_is_stopped(tmp_path):
    with listening(tmp_path) as server:
        with connect(server.endpoint) as client:
            assert answer(client, PING + long_decision())["ok"]
            (busy,) = server._clients
            ended = os.pidfd_open(busy.process.pid)
        assert select.select([ended], [], [], 60)[0]
        os.close(ended)
        with connect(server.endpoint) as client:
            assert answer(client)["ok"]


def test_a_process_that_dies_costs_its_own_client_alone(tmp_path):
    with listening(tmp_path) as server, connect(server.endpoint) as first:
        answers = first.makefile("rb")
        first.sendall(PING)
        assert json.loads(answers.readline())["ok"]
        (busy,) = server._clients
        os.kill(busy.process.pid, signal.SIGKILL)
        assert json.loads(answers.readline())["error"]["code"] == "internal"
        assert answers.read() == b""
        with connect(server.endpoint) as second:
            assert answer(second)["ok"]


def test_a_service_that_was_killed_goes_on_from_what_was_saved(tmp_path):
    path, saving = str(tmp_path / "s"), b'{"ioopt": 1, "op": "save", "session": 1}\n'
    process = serve_command("--socket", path, stderr=subprocess.PIPE, text=True)
    assert "listening" in process.stderr.readline()
    with connect(path) as client:
        assert answer(client, OPENING)["ok"]
        state = answer(client, saving)["result"]["state"]
    process.kill()
    process.wait()
    process.stderr.close()
    opening = json.loads(OPENING) | {"state": state}
    del opening["arguments"]
    with (
        listening(tmp_path),
        connect(path) as client,
    ):  # the socket that was left behind is replaced
        assert answer(client, json.dumps(opening).encode() + b"\n")["ok"]
        assert answer(client, saving)["result"]["state"] == state


def test_no_more_connections_than_unfinished_lines_fit(tmp_path):
    with listening(tmp_path, max_bytes=128 << 20) as server:  # 256 MiB in all
        assert server.connections == 2
        with connect(server.endpoint) as first, connect(server.endpoint) as second:
            assert answer(first)["ok"] and answer(second)["ok"]
            with connect(server.endpoint) as third:
                refusal = json.loads(third.makefile("rb").readline())
                assert refusal["error"]["code"] == "busy"
                assert third.recv(1) == b""
            assert answer(first)["ok"]


def serve_command(*options, **more):
    return subprocess.Popen(
        [sys.executable, "-m", "ioopt", "serve", *options], cwd=ROOT, **more
    )


def answered(path):
    with connect(path) as client:
        with contextlib.suppress(BrokenPipeError):
            client.sendall(PING)
        return json.loads(client.makefile("rb").readline() or "{}").get("ok", False)


@pytest.mark.slow
def test_at_the_limit_of_descriptors_it_refuses_and_goes_on(tmp_path):
    """20 descriptors: 3 standard ones, the service's own, and two a connection."""
    path = str(tmp_path / "s")
    process = serve_command(
        "--socket",
        path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20)),
    )
    assert "listening" in process.stderr.readline()
    with contextlib.ExitStack() as stack:
        codes = []
        for _ in range(16):
            client = stack.enter_context(connect(path))
            with contextlib.suppress(BrokenPipeError):
                client.sendall(PING)
            codes.append(
                json.loads(client.makefile("rb").readline())
                .get("error", {})
                .get("code")
            )
    assert {None, "busy"} == set(codes)
    while not answered(path):
        pass  # busy until it has seen the others leave
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0
    process.stderr.close()


def test_a_connection_that_cannot_be_accepted_now_is_later(tmp_path):
    made = SocketServer(str(tmp_path / "s"))
    codes = (errno.ECONNABORTED, errno.ENFILE, errno.EMFILE)
    errors = [OSError(code, "not now") for code in codes]
    made._listener = full = Mock(
        wraps=made._listener
    )  # which finds no descriptor at first
    full.accept.side_effect = itertools.chain(errors, itertools.repeat(DEFAULT))
    with running(made) as server, connect(server.endpoint) as client:
        assert answer(client)["ok"]
    assert full.accept.call_count == 4


@pytest.mark.parametrize("busy", first(1, [False, True]))
def test_sigterm_ends_a_socket_service_whatever_its_solver_does(tmp_path, busy):
    path = str(tmp_path / "s")
    process = serve_command("--socket", path, stderr=subprocess.PIPE, text=True)
    assert "listening" in process.stderr.readline()
    with connect(path) as client, client.makefile("rb") as answers:
        client.sendall(PING + long_decision() + PING if busy else PING)
        assert json.loads(answers.readline())["id"] == 5
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        assert answers.read() == b""  # it did not wait for the solver
    assert not os.path.exists(path)
    process.stderr.close()


@pytest.mark.parametrize("how", first(1, ["reader leaves", "SIGTERM"]))
def test_standard_streams_end_whatever_the_solver_does(how):
    process = serve_command("--stdio", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(PING + long_decision())
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["ok"]
    if how == "SIGTERM":
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == b""
    else:
        process.stdout.close()
    assert process.wait(timeout=60) == 0
    process.stdin.close()
    process.stdout.close()


def test_the_deadline_of_decide_does_not_count_imports(monkeypatch):
    begun = []
    service = Service()

    def late(wanted, left, given):
        begun.append((left <= given, given))
        return None, "late"

    monkeypatch.setattr(
        "ioopt.solving.import_solver", lambda *_: begun.append("import")
    )
    monkeypatch.setattr(service._guard, "ask", late)
    for solver in ("gs", "own.py:solve"):
        reply = ask(service, op="decide", instance=SNAPSHOT, solver=solver, deadline=5)
        assert reply["error"] == {"code": "solver", "message": "late"}
    assert begun == ["import", (True, 5), (True, 5)]
