"""The schemas of calls, held against calls that the service really answers."""

import json
import re
from functools import cache

import pytest

from ioopt.embed.messages import METHODS
from ioopt.embed.schema import as_text, described_calls, schemas
from ioopt.embed.service import Service

jsonschema = pytest.importorskip("jsonschema")

LINKS = {"remote_bytes_per_second": 1e6, "replica_bytes_per_second": 1e7}
NODES = [{"id": "n0"}, {"id": "n1"}]
RAW = {"id": "raw", "bytes": 1000}
MADE = {"id": "made", "bytes": 10}
MAKE = {"id": "make", "compute_seconds": 5, "inputs": ["raw"], "outputs": ["made"]}
USE = {"id": "use", "compute_seconds": 5, "inputs": ["made"]}
TALKS = {
    "IoArbiter": (
        {
            "machine": {
                "nodes": 8,
                "unit_nodes": 1,
                "allocation": "flat",
                "node_bytes_per_second": 1e9,
                "storage_bytes_per_second": 4e9,
            },
            "policy": "fill",
        },
        [
            ("request", {"id": "a", "nodes": 4, "size": 8e9, "now": 0.0}),
            ("decide", {"now": 0.0, "deadline": 1.0}),
            ("progress", {"id": "a", "moved_bytes": 8e9}),
            ("finish", {"id": "a"}),
        ],
    ),
    "GangScheduler": (
        {"machine": {"nodes": 4, "levels": 2, "quantum_seconds": 200.0}},
        [
            (
                "arrive",
                {
                    "job": "a",
                    "file_nodes": [0, 1],
                    "local_seconds": 100.0,
                    "remote_seconds": 200.0,
                    "now": 0.0,
                },
            ),
            ("matrix", {"now": 0.0}),
            (
                "served",
                {"job": "a", "attained_seconds": 50.0, "needed_seconds": 50.0},
            ),
            ("depart", {"job": "a", "now": 100.0}),
            ("depart", {"job": "a", "now": 100.0}),
        ],
    ),
    "ReplicationPlanner": (
        {"network": LINKS, "nodes": NODES, "files": [RAW], "solver": "minmin"},
        [
            (
                "submit",
                {"tasks": [{"id": "t", "compute_seconds": 1, "inputs": ["raw"]}]},
            ),
            ("plan", {"deadline": 5.0}),
            ("next", {"node": "n0"}),
            ("next", {"node": "n1"}),
            ("staged", {"node": "n0", "file": "raw"}),
            ("evicted", {"node": "n0", "file": "raw"}),
            ("failed", {"what": "t"}),
            ("joined", {"node": {"id": "n2"}}),
            ("lost", {"node": "n2"}),
            ("lost", {"node": "n1"}),
            ("next", {"node": "n0"}),
            ("completed", {"task": "t"}),
        ],
    ),
    "WorkDirectory": (
        {
            "instance": {
                "cores": 2,
                "quota_bytes": 12,
                "tasks": [
                    {"id": "trim", "compute_seconds": 5, "outputs": ["t"]},
                    {"id": "late", "compute_seconds": 5, "release_seconds": 9},
                ],
                "files": [{"id": "t", "bytes": 6}],
            },
            "policy": "depth-first",
        },
        [
            ("next", {"deadline": 1.0, "among": ["trim"]}),
            ("started", {"task": "trim"}),
            ("failed", {"task": "trim"}),
            ("expect", {"files": {"t": 4}}),
            ("started", {"task": "trim", "files": {"t": 5}}),
            ("ended", {"task": "trim", "now": 7.0, "files": {"t": 5}}),
            ("ready", {"task": "late", "now": 9.0}),
            ("next", {}),
        ],
    ),
    "WorkflowDispatcher": (
        {"network": LINKS, "nodes": NODES, "policy": "locality"},
        [
            ("submit", {"tasks": [MAKE, USE], "files": [RAW, MADE]}),
            ("next", {"now": 0.0, "deadline": 1.0}),
            ("failed", {"task": "make", "now": 1.0}),
            ("observe", {"seconds": {"make": 4.0}}),
            ("next", {"now": 1.0}),
            ("staging", {}),
            ("running", {}),
            ("waiting", {}),
            ("evictable", {"node": "n0"}),
            ("completed", {"task": "make", "now": 6.0}),
            ("withdraw", {"task": "use"}),
            ("forget", {"task": "make", "files": ["raw"]}),
            ("staged", {"node": "n0", "file": "new", "size": 5}),
            ("evicted", {"node": "n0", "file": "new"}),
            ("lost", {"node": "n1", "now": 7.0}),
            ("back", {"node": "n1"}),
            ("joined", {"node": {"id": "n2"}}),
        ],
    ),
    "GangednessMonitor": (
        {"processors": 4},
        [
            ("observe", {"ganged": True, "running": True, "messages": 20}),
            ("ratio", {}),
            ("classify", {}),
            ("evidence", {}),
        ],
    ),
}
FETCH = {"kind": "transfer", "node": "n0", "number": 0, "file": "raw", "plan": 1}
BOUND_TALK = (
    TALKS["ReplicationPlanner"][0]
    | {"nodes": NODES[:1], "settings": {"moves": "schedule"}},
    [
        ("submit", {"tasks": [{"id": "t", "compute_seconds": 1, "inputs": ["raw"]}]}),
        ("acts", {}),
        ("started", {"act": FETCH}),
        ("failed", {"what": FETCH, "deadline": 5.0}),
        ("acts", {}),
        ("started", {"act": FETCH | {"plan": 2}}),
        ("ended", {"act": FETCH | {"plan": 2}}),
    ],
)


@cache
def all_schemas():
    return schemas("#/$defs/{model}")


def errors(name, value):
    """Return what is wrong with *value* under the schema *name*."""
    document = {"$ref": f"#/$defs/{name}", "$defs": all_schemas()}
    return [*jsonschema.Draft202012Validator(document).iter_errors(value)]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_takes_and_answers_what_its_schema_says(name):
    service = Service()

    def ask(**keys):
        reply = json.loads(service.handle(json.dumps({"ioopt": 1, **keys}).encode()))
        assert reply["ok"], (keys, reply)
        return reply["result"]

    talks = [TALKS[name]]
    if name == "ReplicationPlanner":
        talks.append(BOUND_TALK)
    called = set()
    for arguments, calls in talks:
        assert errors(name, arguments) == []
        session = ask(op="open", object=name, arguments=arguments)["session"]
        for method, arguments in calls:
            assert errors(f"{name}_{method}", arguments) == [], method
            asked = {"session": session, "method": method, "arguments": arguments}
            value = ask(op="call", **asked)["value"]
            assert errors(f"{name}_{method}_value", value) == [], (method, value)
            called.add(method)
    assert called == set(METHODS[name])


def test_a_schema_refuses_what_the_method_refuses():
    asked = {"id": "a", "nodes": 4, "size": 8e9, "now": 0.0}
    assert errors("IoArbiter_request", asked) == []
    for wrong in (
        {"id": "a"},
        asked | {"node": 4},
        asked | {"size": "8 GB"},
        asked | {"id": None},
    ):
        assert errors("IoArbiter_request", wrong) != [], wrong
    assert errors("GangScheduler_depart_value", {"why": "no job"}) != []


def test_each_call_is_described_in_words():
    for call in described_calls():
        assert call.words, (call.object, call.method)


def test_each_argument_is_described_with_its_unit():
    assert '"le":' not in json.dumps(all_schemas())  # it is no word of JSON Schema
    for call in described_calls():
        schema = all_schemas()[call.arguments.__name__]
        for name, value in schema["properties"].items():
            where = (call.object, call.method, name)
            assert f"`{name}`" in value["description"], where
            if name in ("now", "deadline"):
                assert "seconds" in value["description"], where


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("IoArbiter", "policy"),
        ("GangScheduler", "policy"),
        ("ReplicationPlanner", "solver"),
        ("WorkflowDispatcher", "policy"),
        ("WorkDirectory", "policy"),
    ],
)
def test_the_names_of_policies_are_those_that_are_opened(name, argument):
    schema = all_schemas()[name]["properties"][argument]
    names = schema.get("enum") or schema["anyOf"][0]["enum"]
    arguments = TALKS[name][0]
    default = (
        json.loads(
            schema["description"].rpartition("Default: ")[2].rstrip(".") or "null"
        )
        if argument not in arguments
        else arguments[argument]
    )
    assert default in names
    for each in [*names, "no-such-policy"]:
        given = arguments | {argument: each}
        message = {"ioopt": 1, "op": "open", "object": name, "arguments": given}
        reply = json.loads(Service().handle(json.dumps(message).encode()))
        assert reply["ok"] == (each in names), (each, reply)
    assert errors(name, arguments | {argument: "no-such-policy"}) != []


def test_arguments_that_do_not_fit_are_named():
    service = Service()

    def ask(**keys):
        reply = json.loads(service.handle(json.dumps({"ioopt": 1, **keys}).encode()))
        return reply["result"] if reply["ok"] else reply["error"]["message"]

    machine = TALKS["IoArbiter"][0]["machine"]
    assert "missing a required argument: 'machine'" in ask(
        op="open", object="IoArbiter"
    )
    ask(op="open", object="IoArbiter", arguments={"machine": machine})

    def request(**arguments):
        keys = {"method": "request", "arguments": arguments}
        return ask(op="call", session=1, **keys)

    told = request(id="a", nodes=4, size=1.0)
    assert told.startswith("request: missing a required argument: 'now'; its arg")
    told = request(id="a", nodes=4, size=1.0, now=0.0, speed=1)
    assert "'speed'; its arguments: id, nodes, size, now" in told
    wrong = request(id="a", nodes=4, size=-1.0, now=0.0)
    assert "size: must be 0 or more" in wrong and "left_bytes" not in wrong
    assert "now: must be" in request(id="a", nodes=4, size=1.0, now=-1.0)


def test_the_task_that_is_wrong_and_what_waits_are_told_over_the_wire():
    service = Service()

    def ask(**keys):
        return json.loads(service.handle(json.dumps({"ioopt": 1, **keys}).encode()))

    nodes = [{"id": "n0", "cores": 2}, {"id": "n1"}]
    ask(
        op="open",
        object="WorkflowDispatcher",
        arguments={"network": LINKS, "nodes": nodes},
    )

    def call(method, **arguments):
        return ask(op="call", session=1, method=method, arguments=arguments)

    good = {"id": "good", "compute_seconds": 1, "cores": 2}
    wrong = call("submit", tasks=[good, {"id": "bad", "compute_seconds": None}])
    said = "tasks[1] (bad): compute_seconds: must be a finite number, not None"
    assert wrong["error"] == {"code": "invalid", "message": said}
    call("submit", tasks=[good])
    call("lost", node="n0", now=0)
    (note,) = call("next", now=0)["result"]["notes"]
    assert note == "0 s: no node that is there can run task 'good': see waiting()"
    detail = "needs 2 cores, and no node has more than 1"
    row = {"task": "good", "why": "fit", "detail": detail}
    assert call("waiting")["result"] == {"value": [row]}


def test_notes_of_a_call_are_in_its_reply_and_in_no_other():
    """Two files of 6 bytes do not fit beside each other into a quota of 11."""
    service = Service()

    def ask(**keys):
        return json.loads(service.handle(json.dumps({"ioopt": 1, **keys}).encode()))

    instance = {
        "cores": 1,
        "quota_bytes": 11,
        "tasks": [
            {"id": "trim", "compute_seconds": 5, "outputs": ["t"]},
            {"id": "map", "compute_seconds": 5, "inputs": ["t"], "outputs": ["m"]},
        ],
        "files": [{"id": "t", "bytes": 5}, {"id": "m", "bytes": 6}],
    }
    ask(op="open", object="WorkDirectory", arguments={"instance": instance})

    def call(method, **arguments):
        return ask(op="call", session=1, method=method, arguments=arguments)["result"]

    assert call("next") == {"value": "trim"}
    call("started", task="trim")
    assert call("ended", task="trim", now=7.0, files={"t": 8}) == {"value": None}
    stuck = call("next")
    assert stuck["value"] is None and "map lacks 3 bytes" in stuck["notes"][0]
    assert "notes" not in call("expect", files={"m": 3})
    # A gang scheduler keeps its notes; a reply has those of its own call.
    machine = {"nodes": 4, "levels": 2, "quantum_seconds": 200.0}
    ask(op="open", object="GangScheduler", arguments={"machine": machine})

    def matrix(now):
        keys = {"session": 2, "method": "matrix", "arguments": {"now": now}}
        return ask(op="call", **keys)["result"]

    for _ in range(2):
        assert "not a number of seconds" in matrix("x")["notes"][0]
        assert len(matrix("x")["notes"]) == 1
    assert "notes" not in matrix(0.0)


def test_the_calls_are_printed_for_people():
    text = as_text()
    assert max(map(len, text.splitlines())) <= 80
    for name, methods in METHODS.items():
        block = text.partition(f"\n{name}\n")[2].partition("\n\n")[0]
        for method in ("open", *methods):
            assert f"  {method}(" in block
    assert "  depart(job: whole number or text, now: number) -> true or false" in text


def test_generators_of_clients_understand_the_schema():
    """They take a key with a default for one that is always there, and name types as
    the records are named.
    """
    found = all_schemas()
    assert '"default":' not in json.dumps(found)
    assert found["Task"]["required"] == ["id", "compute_seconds"]
    cores = found["Task"]["properties"]["cores"]
    assert cores["description"] == "Default: 1."
    placement = found["Placement"]
    assert placement["required"] == [*placement["properties"]]
    assert all(re.fullmatch(r"[A-Z]\w+", name) and "__" not in name for name in found)
    text = as_text()
    assert "  Placement: task: text, node: text, stage: list of [text, text or" in text
    assert "arriving: list of text, policy: text" in " ".join(text.split())


def test_a_repeated_message_is_told_from_a_wrong_one():
    service = Service()

    def code(method, **arguments):
        message = {"ioopt": 1, "op": "call", "session": 1, "method": method}
        line = json.dumps(message | {"arguments": arguments}).encode()
        return json.loads(service.handle(line)).get("error", {}).get("code")

    opened = {"ioopt": 1, "op": "open", "object": "WorkflowDispatcher"}
    given = {"network": LINKS, "nodes": NODES, "policy": "locality"}
    service.handle(json.dumps(opened | {"arguments": given}).encode())
    submitted = {"tasks": [MAKE, USE], "files": [RAW, MADE]}
    assert code("submit", **submitted) is None
    assert code("submit", **submitted) == "state"
    assert code("completed", task="make", now=1.0) == "state"
    assert code("completed", task="make", now="x") == "state"
    assert code("completed", task=5, now=1.0) == "invalid"
    assert code("next", now=0.0) is None
    assert code("completed", task="make", now="x") == "invalid"
    assert code("completed", task="make", now=5.0) is None
    assert code("completed", task="make", now=5.0) == "state"
