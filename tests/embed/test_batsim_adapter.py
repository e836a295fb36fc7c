"""The Batsim decision component, against a stand-in that refuses what
Batsim 4.2.0 dies of.

The stand-in (``batsim_stand_in.py``) keeps Batsim's rules; starts and ends are compared
with those of ioopt's own simulator.
"""

import contextlib
import json
import signal
import subprocess
import sys
import threading

import pytest
from batsim_stand_in import StandIn
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

import ioopt
from ioopt.embed.adapters.batsim import BatsimDecider
from ioopt.embed.adapters.batsim_steps import Step, steps_of
from ioopt.embed.batch import BatchCluster
from ioopt.errors import InstanceError, UsageError

RATES = {"node_bytes_per_second": 1.0, "storage_bytes_per_second": 4.0}
PLATFORM = {"node_rate": 1.0, "storage_rate": 4.0}


def job(name, subtime, res, profile, walltime=1000.0):
    return {
        "id": name,
        "subtime": subtime,
        "res": res,
        "profile": profile,
        "walltime": walltime,
    }


def pfs(size):
    return {
        "type": "parallel_homogeneous_pfs",
        "bytes_to_read": 0,
        "bytes_to_write": size,
    }


def then(*names, repeat=1):
    return {"type": "composed", "repeat": repeat, "seq": list(names)}


def workload(nodes, jobs, **profiles):
    return {"nb_res": nodes, "jobs": jobs, "profiles": profiles}


def arbitrated(load, policy="cons-fcfs", **options):
    """A stand-in whose transfers *policy* arbitrates."""
    return StandIn(
        load, BatsimDecider(policy=policy, **RATES).reply, **PLATFORM, **options
    )


def spans(jobs):
    return {name.partition("!")[2]: (job.start, job.end) for name, job in jobs.items()}


def test_fcfs_with_backfill_by_hand():
    # 4 nodes: a takes 3 until 10; b wants 4 and gets the promise of 10; c (5 s,
    # 1 node) slips in beside a, since it ends before 10; d (50 s) would delay b
    # and waits until 20.
    load = workload(
        4,
        [
            job("a", 0, 3, "p10", 10.0),
            job("b", 1, 4, "p10", 10.0),
            job("c", 2, 1, "p5", 5.0),
            job("d", 2, 1, "p50", 50.0),
        ],
        p5={"type": "delay", "delay": 5},
        p10={"type": "delay", "delay": 10},
        p50={"type": "delay", "delay": 50},
    )
    decider = BatsimDecider(queue="fcfs")
    played = StandIn(load, decider.reply)
    assert spans(played.play()) == {
        "a": (0, 10),
        "b": (10, 20),
        "c": (2, 7),
        "d": (20, 70),
    }
    assert decider.ended and decider.notes == []
    assert "REGISTER_JOB" not in played.seen


@pytest.mark.parametrize("acknowledged", [False, True])
def test_one_transfer_at_a_time_by_hand(acknowledged):
    # Storage 4 B/s, 4 nodes of 1 B/s each a job: each transfer of 40 bytes alone takes
    # 10 s. Both compute 5 s; cons-fcfs lets a write 5 to 15, b 15 to 25, then both
    # compute 5 s again.
    load = workload(
        8,
        [job("a", 0, 4, "p"), job("b", 0, 4, "p")],
        c={"type": "delay", "delay": 5},
        io=pfs(10),
        p=then("c", "io", "c"),
    )
    options = {"dynamic-jobs-acknowledged": acknowledged}
    assert spans(arbitrated(load, **options).play()) == {"a": (0, 20), "b": (0, 30)}
    # without arbitration both write at once, at half the rate
    free = StandIn(load, BatsimDecider().reply, **PLATFORM, **options)
    assert spans(free.play()) == {"a": (0, 30), "b": (0, 30)}
    assert spans(arbitrated(load, "base-line", **options).play()) == {
        "a": (0, 30),
        "b": (0, 30),
    }


@pytest.mark.parametrize("walltime", [6.0, 6.0000004])  # Batsim tells both as 6.000000
def test_a_transfer_that_waits_past_the_walltime_ends_its_job(walltime):
    load = workload(
        8,
        [job("a", 0, 4, "io"), job("b", 0, 4, "p", walltime), job("next", 3, 4, "io")],
        c={"type": "delay", "delay": 1},
        io=pfs(10),
        p=then("c", "io"),
    )
    played = arbitrated(load)
    # b computes until 1, waits for a's transfer (0 to 10) and gives its nodes back at 6
    assert spans(played.play()) == {"a": (0, 10), "b": (0, 1), "next": (walltime, 20)}
    assert "w0!b~1" not in played.jobs
    assert played.seen.count("CALL_ME_LATER") == 1 and played.idle_calls == 0


def test_no_wake_up_holds_up_the_end():
    # b may wait until 90, but a's transfer ends at 10 and the simulation at 20
    load = workload(
        8, [job("a", 0, 4, "io", 100.0), job("b", 0, 4, "io", 90.0)], io=pfs(10)
    )
    played = arbitrated(load)
    assert spans(played.play()) == {"a": (0, 10), "b": (0, 20)}
    assert "CALL_ME_LATER" not in played.seen and played.now == 20


def test_a_wake_up_is_asked_for_again_while_transfers_share():
    # Storage 4 B/s: a (3 nodes, 60 bytes) has 3, b (3 nodes, 30) the 1 left; Batsim
    # gives each 2. c's walltime is over at 14. At peak rate the two need 20 and 10 s:
    # somebody moves until 20.
    load = workload(
        7,
        [job("a", 0, 3, "a"), job("b", 0, 3, "b"), job("c", 0, 1, "b", 14.0)],
        a=pfs(20),
        b=pfs(10),
    )
    played = arbitrated(load, "cons-fcfs+top")
    times = spans(played.play())
    assert times["a"][1] > 14 and played.idle_calls == 0
    assert "w0!c~0" not in played.jobs and "CALL_ME_LATER" in played.seen


def test_machines_that_are_away_get_no_jobs():
    # 4 machines, 1 to 3 away from 5 on. a goes on until 10 on 0 and 1; of
    # these 1 is then away too, so b waits for the return of 1 and 2 at 30, and
    # c for that of 3 at 40.
    load = workload(
        4,
        [job("a", 0, 2, "p"), job("b", 6, 2, "p"), job("c", 7, 4, "p")],
        p={"type": "delay", "delay": 10},
    )
    outages = [
        (5.0, "unavailable", "1-3"),
        (30.0, "available", "1-2"),
        (40.0, "available", "3"),
    ]
    played = StandIn(load, BatsimDecider(queue="fcfs").reply, outages=outages)
    jobs = played.play()
    assert spans(jobs) == {"a": (0, 10), "b": (30, 40), "c": (40, 50)}
    assert jobs["w0!b"].alloc == (0, 1)


def test_jobs_that_come_while_no_machine_is_there_run_once_one_is():
    # All four away from 0 on, 1 back at 20 and the others at 40; a needs
    # one, b two of them.
    load = workload(
        4, [job("a", 1, 1, "p"), job("b", 2, 2, "p")], p={"type": "delay", "delay": 10}
    )
    outages = [
        (0.0, "unavailable", "0-3"),
        (20.0, "available", "1"),
        (40.0, "available", "0 2-3"),
    ]
    jobs = StandIn(load, BatsimDecider(queue="fcfs").reply, outages=outages).play()
    assert spans(jobs) == {"a": (20, 30), "b": (40, 50)}


def test_jobs_that_wait_for_machines_gone_for_good_are_rejected():
    load = workload(
        4,
        [
            job("a", 0, 4, "p"),
            job("b", 1, 4, "p"),
            job("c", 2, 3, "p"),
            job("d", 50, 4, "p"),
        ],
        p={"type": "delay", "delay": 10},
    )
    decider = BatsimDecider(queue="fcfs")
    jobs = StandIn(load, decider.reply, outages=[(5.0, "unavailable", "3")]).play()
    assert (jobs["w0!a"].end, jobs["w0!c"].start) == (10, 10)
    assert [jobs[f"w0!{name}"].state for name in "bd"] == ["REJECTED"] * 2
    assert (
        len([note for note in decider.notes if "not be available again" in note]) == 2
    )


@pytest.mark.parametrize(("back", "end"), [(30.0, 45), (None, 10)])
def test_a_step_waits_for_a_machine_that_went_down(back, end):
    # 40 bytes take 10 s alone. The machine goes during the transfer (0 to 10): what
    # follows, 5 s of computing and again 10 s of transfer, begins when it is back at
    # 30; if it never is, the job ends.
    profiles = {
        "c": {"type": "delay", "delay": 5},
        "io": pfs(10),
        "p": then("io", "c", "io"),
    }
    load = workload(4, [job("a", 0, 4, "p")], **profiles)
    outages = [(2.0, "unavailable", "3"), *([(back, "available", "3")] if back else [])]
    assert spans(arbitrated(load, outages=outages).play()) == {"a": (0, end)}


def test_a_transfer_begins_while_bandwidth_is_left():
    # Storage 4 B/s. a moves 30 bytes at 3 B/s; b computes 5 s and is then preferred (4
    # nodes), but a cannot be stopped. 1 B/s is left, so b begins, and Batsim shares, 2
    # B/s each: a, 15 bytes left, ends at 12.5; b has 25 of 40 left then and ends at
    # 18.75, and not at 20 as after a.
    profiles = {"c": {"type": "delay", "delay": 5}, "io": pfs(10), "p": then("c", "io")}
    load = workload(7, [job("a", 0, 3, "io"), job("b", 0, 4, "p")], **profiles)
    got = spans(arbitrated(load, policy="cons-max-util").play())
    assert got == {"a": (0, 12.5), "b": (0, 18.75)}


def test_an_unknown_policy_is_said_at_once():
    with pytest.raises(UsageError, match="nosuch"):
        BatsimDecider(policy="nosuch")


def test_partitions_skip_units_that_are_away():
    cluster = BatchCluster(8, unit_nodes=2, allocation="partition", queue="fcfs")
    cluster.take_down({2})  # unit 1 of 0 .. 3: a job of two units goes to units 2 and 3
    cluster.arrive("a", 4, 10.0, 0.0)
    cluster.arrive("b", 2, 10.0, 0.0)
    cluster.arrive("c", 2, 10.0, 0.0)
    assert cluster.run(0.0) == [("a", [4, 5, 6, 7]), ("b", [0, 1])]
    cluster.take_down({6})  # in use: it goes when a has left, and unit 1 is back
    assert cluster.run(1.0) == [("c", [2, 3])]
    cluster.leave("a")
    cluster.arrive("d", 2, 10.0, 2.0)
    cluster.arrive("e", 2, 10.0, 2.0)
    assert cluster.run(2.0) == [("d", [4, 5])]
    assert cluster.can_hold(4) and not cluster.can_hold(8)


def test_what_cannot_run_is_rejected_and_batsim_may_forbid_dynamic_jobs():
    load = workload(
        2, [job("big", 0, 3, "io"), job("ok", 0, 2, "io", walltime=-1)], io=pfs(10)
    )
    decider = BatsimDecider(policy="cons-fcfs", **RATES)
    played = StandIn(load, decider.reply, **PLATFORM, **{"dynamic-jobs-enabled": False})
    jobs = played.play()
    assert jobs["w0!big"].state == "REJECTED" and spans(jobs)["ok"] == (0, 10)
    assert any("no dynamic jobs" in note for note in decider.notes)
    assert any("3 resources, but there are 2" in note for note in decider.notes)


JOBS = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.integers(1, 6),
        st.integers(1, 20),
        st.integers(1, 20),
        st.integers(1, 40),
    ),
    min_size=1,
    max_size=9,
)


def both(rows, with_io, policy, apart=True, **options):
    """(spans by the stand-in and our decider, spans by ioopt's
    simulator) of the same jobs.

    With *apart* no two things happen at once: each message of Batsim
    has one of them only.
    """
    rows = sorted(rows)
    if apart:
        rows = [
            (
                first + k * 0.0141421,
                res,
                length + k * 0.0173205,
                last,
                size + k * 0.0223607,
            )
            for k, (first, res, length, last, size) in enumerate(rows)
        ]
    profiles, jobs, own = {}, [], []
    for k, (subtime, res, first, last, size) in enumerate(rows):
        parts = [(f"c{k}", {"type": "delay", "delay": first})]
        if with_io:
            parts += [
                (f"io{k}", pfs(size)),
                (f"d{k}", {"type": "delay", "delay": last}),
            ]
        profiles |= dict(parts) | {f"p{k}": then(*[name for name, _ in parts])}
        # never reached: a walltime that kills is another test
        jobs.append(job(f"{k:02}", subtime, res, f"p{k}", walltime=5000.0 + 7 * last))
        phases = [{"compute_seconds": first, "io_bytes": size * res if with_io else 0}]
        phases += [{"compute_seconds": last, "io_bytes": 0}] if with_io else []
        own.append(
            {
                "id": f"w0!{k:02}",
                "submit_seconds": subtime,
                "nodes": res,
                "phases": phases,
                "walltime_seconds": 5000.0 + 7 * last,
            }
        )
    decider = BatsimDecider(policy=policy, **options, **RATES)
    batsim = StandIn(workload(6, jobs, **profiles), decider.reply, **PLATFORM)
    batsim.apart = apart
    played = batsim.play()
    machine = {"nodes": 6, "unit_nodes": 1, "allocation": "flat", **RATES}
    problem = {
        "format": "ioopt/batch-io",
        "version": 1,
        "name": "n",
        "machine": machine,
        "options": options,
        "jobs": own,
    }
    found = ioopt.solve(problem, policy).schedule["jobs"]
    wanted = {
        row["id"].partition("!")[2]: (row["start_seconds"], row["end_seconds"])
        for row in found
    }
    return spans(played), wanted


def differing(got, wanted):
    """Jobs whose start or end is another one."""
    assert got.keys() == wanted.keys()
    return {
        name: (got[name], times)
        for name, times in wanted.items()
        if got[name] != pytest.approx(times, rel=1e-7, abs=1e-5)
    }


QUEUES = st.fixed_dictionaries(
    {
        "queue": st.sampled_from(["wfp", "fcfs", "sjf"]),
        "backfill": st.sampled_from(["easy", "none", "conservative"]),
        "reservation": st.sampled_from(["count", "nodes"]),
        "plan": st.sampled_from(["keep", "rebuild"]),
        "backfill_order": st.sampled_from(["queue", "sjf"]),
    }
)


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(JOBS, QUEUES, st.booleans())
def test_jobs_start_and_end_as_simulated(rows, options, apart):
    assert differing(*both(rows, False, "fill", apart, **options)) == {}


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(JOBS, st.sampled_from(["wfp", "fcfs"]), st.booleans())
def test_transfers_first_come_first_served_end_as_simulated(rows, queue, apart):
    # cons-fcfs never takes back what it granted as long as nobody is passed over: that
    # is a policy whose transfers need no stopping, so Batsim's limits do not show and
    # the times are the same.
    rows = [(*row[:1], 4, *row[2:]) for row in rows]
    assert differing(*both(rows, True, "cons-fcfs", apart, queue=queue)) == {}


@settings(max_examples=40, deadline=None)
@given(
    JOBS,
    st.sampled_from(
        ["fill", "adaptive", "cons-max-util", "base-line", "no-congestion"]
    ),
)
def test_every_policy_brings_every_job_to_its_end(rows, policy):
    got, wanted = both(rows, True, policy)
    assert got.keys() == wanted.keys() and all(
        end > start for start, end in got.values()
    )


def test_messages_that_are_not_batsims_are_refused():
    for message in (
        {},
        {"now": 1},
        {"now": "x", "events": []},
        {"now": 0, "events": [3]},
        {"now": 0, "events": [{"type": "JOB_SUBMITTED", "data": {"job_id": "a"}}]},
        {
            "now": 0,
            "events": [
                {"type": "JOB_SUBMITTED", "data": {"job_id": "w!a", "job": {"res": 1}}}
            ],
        },
    ):
        with pytest.raises(InstanceError):
            BatsimDecider().reply(message)
    unknown = {"now": 0, "events": [{"type": "FROM_JOB_MSG", "data": {}}]}
    assert BatsimDecider().reply(unknown) == {"now": 0.0, "events": []}


def test_profiles_become_steps():
    profiles = {
        "c": {"type": "delay", "delay": 1},
        "io": pfs(10),
        "two": then("c", "io", repeat=2),
        "all": then("c", "two", "c"),
        "self": then("c", "self"),
        "long": then("c", "io", repeat=5000),
        "trace": {"type": "smpi", "trace": "x"},
        "mixed": then("trace", "io"),
    }
    c, io = Step("c"), Step("io", 20.0)
    assert steps_of(profiles, "all", 2) == (c, c, io, c, io, c)
    assert steps_of(profiles, "c", 2) == () == steps_of(profiles, "long", 2)
    for wrong in ("self", "none", "mixed"):
        with pytest.raises(InstanceError):
            steps_of(profiles, wrong, 2)


def test_a_cluster_of_partitions_gives_aligned_blocks_and_forgets_who_left():
    cluster = BatchCluster(16, unit_nodes=2, allocation="partition", queue="fcfs")
    for turn in range(50):
        cluster.arrive(("a", turn), 3, 10.0, float(turn))
        cluster.arrive(("b", turn), 8, 10.0, float(turn))
        # 3 nodes take a block of 2 units (4 nodes), 8 nodes one of 4 units
        assert cluster.run(float(turn)) == [
            (("a", turn), [0, 1, 2]),
            (("b", turn), list(range(8, 16))),
        ]
        cluster.leave(("b", turn))
        cluster.leave(("a", turn))
    assert len(cluster) == cluster.waiting == 0
    cluster.arrive("x", 1, 10.0, 0.0)
    for call in (
        lambda: cluster.arrive("x", 1, 1.0, 0.0),
        lambda: cluster.leave("y"),
        lambda: cluster.arrive("z", 17, 1.0, 0.0),
    ):
        with pytest.raises(UsageError):
            call()


def test_a_live_queue_refuses_what_it_cannot_follow():
    with pytest.raises(
        UsageError, match="estimate=uncongested: a live queue cannot follow it"
    ):
        BatchCluster(4, estimate="uncongested")
    with pytest.raises(InstanceError, match="did you mean 'backfill'"):
        BatsimDecider(backfil="easy")


def test_a_live_queue_keeps_boxes_of_numbered_nodes():
    """4 nodes, first come first served, plans kept: a (2 nodes, 100 s) runs on 0 and 1;
    b (3 nodes) has its box from 100 to 200 on 0 to 2, c (1 node, 500 s) beside both on
    node 3 at once, d (1 node, 100 s) on node 2 until b. When a leaves at 50, b waits
    for d, whose walltime is 100."""
    cluster = BatchCluster(
        4, queue="fcfs", backfill="conservative", reservation="nodes"
    )
    rows = (("a", 2, 100.0), ("b", 3, 100.0), ("c", 1, 500.0), ("d", 1, 100.0))
    for name, nodes, walltime in rows:
        cluster.arrive(name, nodes, walltime, 0.0)
    assert cluster.run(0.0) == [("a", [0, 1]), ("c", [3]), ("d", [2])]
    cluster.leave("a")
    cluster.arrive("e", 2, 60.0, 50.0)  # would end at 110: b is to begin at 100
    assert cluster.run(50.0) == []
    cluster.take_down([0])
    cluster.leave("d")
    assert cluster.run(60.0) == [("e", [1, 2])]
    cluster.leave("e")
    cluster.take_down([])
    assert cluster.run(120.0) == [("b", [0, 1, 2])]


LOAD = workload(
    8,
    [
        job("a", 0, 4, "p"),
        job("b", 0, 4, "p"),
        job("c", 3, 9, "p"),
        job("d", 4, 2, "c"),
    ],
    c={"type": "delay", "delay": 5},
    io=pfs(10),
    p=then("c", "c", "io", "c"),
)
OPTIONS = {"policy": "cons-fcfs", **RATES}


class Asking:
    """Batsim's end of the socket."""

    def __init__(self, endpoint):
        zmq = pytest.importorskip("zmq")
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.REQ)
        self.socket.linger = 0
        self.socket.rcvtimeo = 60_000
        self.socket.connect(endpoint)

    def __call__(self, message):
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.socket.send(text)
        return json.loads(self.socket.recv())

    def close(self):
        self.socket.close()
        self.context.term()


@contextlib.contextmanager
def served(clients=1, endpoint="tcp://127.0.0.1:*"):
    """Connections to a server in a thread, and the errors that ended it."""
    pytest.importorskip("zmq")
    from ioopt.embed.adapters.batsim_transport import BatsimServer

    server, errors = BatsimServer(endpoint, BatsimDecider(**OPTIONS)), []

    def run():
        try:
            server.run()
        except InstanceError as error:
            errors.append(str(error))

    with pytest.raises(UsageError, match="cannot be bound"):
        BatsimServer(server.endpoint, BatsimDecider())
    thread = threading.Thread(target=run)
    thread.start()
    asking = [Asking(server.endpoint) for _ in range(clients)]
    try:
        yield asking, errors
        thread.join(timeout=60)
        assert not thread.is_alive()
    finally:
        server.stop()
        for client in asking:
            client.close()


def test_over_a_socket_it_says_the_same():
    with served() as ((asking,), errors):
        got = spans(StandIn(LOAD, asking, **PLATFORM).play())
    assert got == spans(
        StandIn(LOAD, BatsimDecider(**OPTIONS).reply, **PLATFORM).play()
    )
    assert errors == []


BEGINS = {
    "now": 0.0,
    "events": [
        {
            "timestamp": 0.0,
            "type": "SIMULATION_BEGINS",
            "data": {"compute_resources": [{"id": 0, "name": "a"}]},
        }
    ],
}
ENDS = {
    "now": 9.0,
    "events": [{"timestamp": 9.0, "type": "SIMULATION_ENDS", "data": {}}],
}
NO_JSON = [
    b"",
    b"{",
    b"\xff",
    b"[" * 100_000,
    b'{"now": NaN, "events": []}',
    b'{"now": 1e999}',
]
NO_MESSAGES = [
    b"[1]",
    b'{"now": 3.0, "events": 1}',
    b'{"now": null, "events": [{"type": "JOB_SUBMITTED"}]}',
    b'{"now": 0, "events": [{"type": "SIMULATION_BEGINS", '
    b'"data": {"compute_resources": 7}}]}',
]


def test_one_peer_is_served_and_junk_of_anybody_ends_nothing():
    """Before there is a peer everybody is answered, without events;
    then only the peer is.
    """
    with served(clients=2) as ((batsim, stranger), errors):
        replies = [stranger(text) for text in NO_JSON + NO_MESSAGES]
        assert batsim(BEGINS) == {"now": 0.0, "events": []}
        replies += [batsim(text) for text in NO_JSON]
        assert all(reply["events"] == [] for reply in replies)
        assert {reply["now"] for reply in replies} == {0.0, 3.0}  # NaN is not sent back
        stranger.socket.send(json.dumps(ENDS).encode())
        assert batsim(ENDS) == {"now": 9.0, "events": []}
    assert errors == []


def test_the_service_ends_when_its_peer_is_gone_and_not_with_a_stranger():
    with served(clients=2) as ((batsim, stranger), errors):
        stranger(NO_JSON[0])
        stranger.socket.close()
        batsim(BEGINS)
        batsim.socket.close()
    assert (
        len(errors) == 1
        and "Batsim has disconnected before its simulation ended" in errors[0]
    )
    with served(clients=2) as ((batsim, stranger), errors):
        stranger(NO_JSON[0])
        stranger.socket.close()
        batsim(BEGINS)
        batsim(ENDS)
    assert errors == []


def test_a_simulation_that_cannot_be_decided_for_ends_the_service():
    refused = json.loads(json.dumps(BEGINS))
    refused["events"][0]["data"]["config"] = {"redis-enabled": True}
    with served() as ((batsim,), errors):
        assert batsim(refused)["events"] == []
    assert "--enable-redis" in errors[0]


def test_a_storage_that_the_platform_lacks_is_refused():
    begins = json.loads(json.dumps(BEGINS))
    begins["events"][0]["data"]["storage_resources"] = [{"id": 4, "name": "pfs"}]
    with pytest.raises(InstanceError, match="pfs=5: of the storages pfs is 4"):
        BatsimDecider(storage_mapping={"pfs": 5}).reply(begins)
    assert BatsimDecider(storage_mapping={"pfs": 4}).reply(begins)["events"] == []


def test_notes_are_printed_once(capsys):
    big = {
        "timestamp": 0.0,
        "type": "JOB_SUBMITTED",
        "data": {"job_id": "w!1", "job": {"res": 9}},
    }
    with served() as ((batsim,), _):
        batsim(BEGINS)
        for _ in range(2):
            batsim({"now": 1.0, "events": [big]})
        batsim(ENDS)
    assert capsys.readouterr().err.count("9 resources, but there are 1") == 1


def test_a_message_that_is_not_batsims_ends_the_simulation_with_an_answer():
    with served() as ((batsim,), errors):
        batsim(BEGINS)
        assert batsim({"now": 3.0, "events": 1}) == {"now": 3.0, "events": []}
    assert "not a message of Batsim's protocol" in errors[0]


def test_the_network_is_served_only_when_told(tmp_path):
    pytest.importorskip("zmq")
    from ioopt.embed.adapters.batsim_transport import BatsimServer

    for endpoint, bound in (
        ("tcp://*:*", "tcp://127.0.0.1:"),
        ("tcp://0.0.0.0:*", "tcp://0.0.0.0:"),
        (f"ipc://{tmp_path}/b", f"ipc://{tmp_path}/b"),
    ):
        server = BatsimServer(endpoint, BatsimDecider())
        assert server.endpoint.startswith(bound)
        server.close()
    assert not (tmp_path / "b").exists()


@pytest.mark.slow
def test_the_command_serves_one_simulation_and_stops_on_sigterm():
    """``ioopt serve --batsim`` in a process of its own; what it says first
    ends with its endpoint.
    """
    pytest.importorskip("zmq")
    command = [sys.executable, "-m", "ioopt", "serve", "--batsim", "tcp://127.0.0.1:*"]
    machine = ["--solver", "cons-fcfs", "--machine", "node_rate=1B/s,storage_rate=4B/s"]
    first, second = (
        subprocess.Popen([*command, *more], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for more in (machine, [])
    )
    asking = Asking(first.stderr.readline().split()[-1])
    got = spans(StandIn(LOAD, asking, **PLATFORM).play())
    asking.close()
    assert first.wait(timeout=60) == 0
    assert got == spans(
        StandIn(LOAD, BatsimDecider(**OPTIONS).reply, **PLATFORM).play()
    )
    second.stderr.readline()
    second.send_signal(signal.SIGTERM)
    assert second.wait(timeout=60) == 0
