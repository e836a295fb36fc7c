"""Conversations with ``ioopt serve``, intact and damaged."""

import contextlib
import json
import random
from collections.abc import Mapping
from typing import Any

from damage.inputs import bundled_inputs
from damage.mutators import mutate_json

MACHINE = {"nodes": 4, "levels": 2, "quantum_seconds": 200.0}
STORAGE = {
    "nodes": 8,
    "unit_nodes": 1,
    "allocation": "flat",
    "node_bytes_per_second": 1e9,
    "storage_bytes_per_second": 4e9,
}
ARRIVAL = {
    "job": "a",
    "file_nodes": [0, 1],
    "local_seconds": 9.0,
    "remote_seconds": 18.0,
    "now": 0.0,
}
NODES = {
    "nodes": [{"id": "n0"}, {"id": "n1"}],
    "network": {"remote_bytes_per_second": 1.0, "replica_bytes_per_second": 2.0},
}
OBJECTS: list[list[dict[str, Any]]] = [
    [
        {"op": "open", "object": "GangScheduler", "arguments": {"machine": MACHINE}},
        {"op": "call", "method": "arrive", "arguments": ARRIVAL},
        {
            "op": "call",
            "method": "served",
            "arguments": {"job": "a", "attained_seconds": 1.0, "needed_seconds": 8.0},
        },
        {"op": "call", "method": "matrix", "arguments": {"now": 0.0}},
        {"op": "call", "method": "depart", "arguments": {"job": "a", "now": 5.0}},
        {"op": "save"},
        {"op": "close"},
    ],
    [
        {
            "op": "open",
            "object": "IoArbiter",
            "arguments": {"machine": STORAGE, "policy": "adaptive"},
        },
        {
            "op": "call",
            "method": "request",
            "arguments": {"id": 1, "nodes": 4, "size": 8e9, "now": 0.0},
        },
        {"op": "call", "method": "decide", "arguments": {"now": 0.0}},
        {
            "op": "call",
            "method": "progress",
            "arguments": {"id": 1, "moved_bytes": 1e9},
        },
        {"op": "call", "method": "finish", "arguments": {"id": 1}},
        {"op": "save"},
    ],
    [
        {"op": "open", "object": "ReplicationPlanner", "arguments": NODES},
        {
            "op": "call",
            "method": "submit",
            "arguments": {
                "tasks": [{"id": "t", "compute_seconds": 1.0, "inputs": ["f"]}],
                "files": [{"id": "f", "bytes": 10}],
                "deadline": 2.0,
            },
        },
        {"op": "call", "method": "next", "arguments": {"node": "n0"}},
        {"op": "call", "method": "completed", "arguments": {"task": "t"}},
        {"op": "save"},
    ],
    [
        {"op": "open", "object": "GangednessMonitor", "arguments": {"processors": 4}},
        {
            "op": "call",
            "method": "observe",
            "arguments": {
                "processor": 0,
                "ganged": True,
                "running": True,
                "messages": 3,
            },
        },
        {"op": "call", "method": "classify", "arguments": {}},
        {"op": "save"},
    ],
]
"""For every kind of object, the messages of a client to one object."""


def _message(number: int, line: Mapping[str, Any]) -> dict[str, Any]:
    session = {"session": 1} if line["op"] in ("call", "save", "close") else {}
    return {"ioopt": 1, "id": number, **session, **line}


def _restored(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages *lines* to an object that continues from its saved state."""
    from ioopt.embed.service import Service

    service = Service()
    replies = [
        json.loads(service.handle(json.dumps(_message(0, line)).encode()))
        for line in [*lines[:-1], {"op": "save"}]
    ]
    assert all(reply["ok"] for reply in replies), replies
    state = replies[-1]["result"]["state"]
    return [{"op": "open", "object": lines[0]["object"], "state": state}, *lines[1:]]


def conversations() -> list[bytes]:
    """Return conversations with every operation on bundled snapshots and on every
    object.

    Each line of a conversation is one message.
    """
    requests, matrix = (
        {"op": "decide", "instance": json.loads(bundled_inputs(kind)[0]), "deadline": 1}
        for kind in ("io-requests", "gang-matrix")
    )
    decisions = [
        [{"op": "ping"}],
        [requests],
        [{**matrix, "solver": "migrate-iogs", "set": {}}],
    ]
    calls = [*decisions, *OBJECTS, *map(_restored, OBJECTS)]
    return [
        b"\n".join(
            json.dumps(_message(number, line)).encode()
            for number, line in enumerate(lines)
        )
        for lines in calls
    ]


def mutate_messages(raw: bytes, rng: random.Random) -> bytes:
    """Return the conversation with one or two damaged lines."""
    lines = raw.split(b"\n")
    for _ in range(rng.randint(1, 2)):
        at = rng.randrange(len(lines))
        with contextlib.suppress(
            ValueError, RecursionError
        ):  # the line is damaged already
            lines[at] = mutate_json(lines[at], rng).replace(b"\n", b" ")
    return b"\n".join(lines)


def ask(service: Any, **message: Any) -> Any:
    """Return the reply of *service* to one message."""
    return json.loads(
        service.handle(json.dumps({"ioopt": 1, "id": 7} | message).encode())
    )


def serve_lines(data: bytes) -> int:
    """Send all lines to one service; return 0, or raise AssertionError if a reply has
    the code "internal".
    """
    from ioopt.embed.service import Service

    service = Service()
    for line in data.split(b"\n"):
        reply = json.loads(service.handle(line))
        if not reply["ok"] and reply["error"]["code"] == "internal":
            raise AssertionError(f"{reply['error']['message']} <- {line[:200]!r}")
    return 0
