"""A small replacement for Batsim 4: its side of the protocol, its rules, and a platform
with shared storage.

It is not Batsim, but it refuses the messages on which Batsim 4.2.0 was seen to crash: a
job that the scheduler declares completed, a second dynamic job with the same profile
(the profile is dropped with the first job), a registered profile that is composed, and
a job on an unavailable machine. As in Batsim, every event comes in a message of its
own, times have six decimals, and a requested wake-up delays the end. The storage gives
every transfer its fair share, but no transfer gets more than its nodes can take.
"""

import math
from dataclasses import dataclass, field

CONFIG = {
    "redis-enabled": False,
    "redis-hostname": "127.0.0.1",
    "redis-port": 6379,
    "redis-prefix": "default",
    "profiles-forwarded-on-submission": True,
    "dynamic-jobs-enabled": True,
    "dynamic-jobs-acknowledged": False,
    "profile-reuse-enabled": False,
    "forward-unknown-events": False,
}


@dataclass
class Job:
    """One job, static or dynamic.

    ``parts`` lists the rest of a running job as [kind, amount].
    """

    id: str
    res: int
    walltime: float
    profile: str
    subtime: float
    static: bool = True
    state: str = "SUBMITTED"
    start: float = math.nan
    end: float = math.nan
    alloc: tuple[int, ...] = ()
    parts: list[list] = field(default_factory=list)
    executed: bool = False

    def described(self):
        return {
            "id": self.id,
            "res": self.res,
            "walltime": self.walltime,
            "profile": self.profile,
            "subtime": self.subtime,
        }


def resources(text):
    """Return the resources in an interval set such as ``0-2 5``."""
    out = []
    for part in text.split():
        first, _, last = part.partition("-")
        out += range(int(first), int(last or first) + 1)
    return tuple(out)


class StandIn:
    """Run *workload* (Batsim JSON) on its ``nb_res`` nodes.

    ``ask(message)`` returns the reply of the scheduler.
    """

    def __init__(
        self, workload, ask, node_rate=1.0, storage_rate=1e18, outages=(), **config
    ):
        """Take *outages* as rows (time, ``unavailable`` or ``available``, resources),
        in order of time.
        """
        self.ask, self.node_rate, self.storage_rate = ask, node_rate, storage_rate
        self.outages, self.external = list(outages), bool(outages)
        self.config = CONFIG | config
        self.nodes = workload["nb_res"]
        self.profiles = {"w0": dict(workload["profiles"])}
        self.todo = sorted(
            (
                Job(
                    f"w0!{j['id']}",
                    j["res"],
                    j.get("walltime", -1),
                    j["profile"],
                    j["subtime"],
                )
                for j in workload["jobs"]
            ),
            key=lambda job: job.subtime,
        )
        self.jobs, self.calls, self.now = {}, [], 0.0
        self.registered_all = not self.config["dynamic-jobs-enabled"]
        self.told_all = False
        self.away: set[int] = set()
        self.messages = 0
        self.apart = True  # whether simultaneous events come in separate messages
        self.used: set[tuple[str, str]] = set()
        self.idle_calls = 0  # wake-ups when no job was left
        self.seen: list[str] = []

    def play(self, most=100_000):
        """Run to the end; return the static jobs by id, with the times of their dynamic
        jobs.
        """
        machines = [
            {"id": k, "name": f"n{k}", "state": "idle", "properties": {}}
            for k in range(self.nodes)
        ]
        events = [
            (
                "SIMULATION_BEGINS",
                {
                    "nb_resources": self.nodes,
                    "nb_compute_resources": self.nodes,
                    "nb_storage_resources": 0,
                    "allow_compute_sharing": False,
                    "allow_storage_sharing": True,
                    "config": self.config,
                    "compute_resources": machines,
                    "storage_resources": [],
                    "workloads": {"w0": "w0.json"},
                    "profiles": self.profiles,
                },
            )
        ]
        for _ in range(most):
            self.exchange(events)
            if self.over():
                self.exchange([("SIMULATION_ENDS", {})])
                return {
                    job.id: self.whole(job) for job in self.jobs.values() if job.static
                }
            events = []
            while not events:
                events = self.advance()
        raise AssertionError("no end")

    def whole(self, job):
        """Return *job*; if it was rejected and run in parts, it ends when its last part
        ends.
        """
        parts = [
            other
            for other in self.jobs.values()
            if other.id.rpartition("~")[0] == job.id
        ]
        if parts:
            assert job.state == "REJECTED"
            assert all(part.alloc == parts[0].alloc for part in parts)
            job.end, job.state = parts[-1].end, parts[-1].state
        return job

    def over(self):
        live = any(job.state in ("SUBMITTED", "RUNNING") for job in self.jobs.values())
        quiet = not self.todo and not self.calls and not self.outages
        return quiet and self.told_all and self.registered_all and not live

    def exchange(self, events):
        """Send each event in a message, apply the reply, and send the events that it
        causes.
        """
        events = list(events)
        while events:
            now = round(self.now, 6)
            several = 1 if self.apart else len(events)
            body = [
                {"timestamp": now, "type": k, "data": data}
                for k, data in events[:several]
            ]
            del events[:several]
            reply = self.ask({"now": now, "events": body})
            self.messages += 1
            assert reply["now"] >= now
            last = now
            for event in reply["events"]:
                assert last <= event["timestamp"] <= reply["now"]
                last = event["timestamp"]
                self.seen.append(event["type"])
                events += getattr(self, "on_" + event["type"].lower())(event["data"])
            self.now = max(self.now, reply["now"])

    def on_execute_job(self, data):
        job = self.jobs[data["job_id"]]
        assert job.state == "SUBMITTED", f"{job.id} is {job.state}"
        alloc = resources(data["alloc"])
        assert len(set(alloc)) == len(alloc) == job.res and max(alloc) < self.nodes
        busy = {
            k
            for other in self.jobs.values()
            if other.executed and other.state == "RUNNING"
            for k in other.alloc
        }
        assert not busy & set(alloc), f"{job.id} on nodes that others compute on"
        assert not self.away & set(alloc), (
            f"Batsim aborts: {job.id} on unavailable machines"
        )
        job.state, job.start, job.alloc, job.executed = "RUNNING", self.now, alloc, True
        job.parts = self.leaves(job.id.partition("!")[0], job.profile, job.res)
        return []

    def leaves(self, workload, name, res):
        profile = self.profiles[workload][name]
        if profile["type"] == "delay":
            return [["delay", profile["delay"]]]
        if profile["type"] == "parallel_homogeneous_pfs":
            total = profile.get("bytes_to_read", 0) + profile.get("bytes_to_write", 0)
            return [["transfer", total * res]]
        assert profile["type"] == "composed"
        return [
            leaf
            for _ in range(profile["repeat"])
            for part in profile["seq"]
            for leaf in self.leaves(workload, part, res)
        ]

    def on_reject_job(self, data):
        assert self.jobs[data["job_id"]].state == "SUBMITTED"
        self.jobs[data["job_id"]].state = "REJECTED"
        self.jobs[data["job_id"]].start = self.now
        return []

    def on_register_profile(self, data):
        assert self.config["dynamic-jobs-enabled"]
        known = self.profiles[data["workload_name"]]
        assert data["profile_name"] not in known
        assert data["profile"]["type"] != "composed", "Batsim crashes"
        known[data["profile_name"]] = data["profile"]
        return []

    def on_register_job(self, data):
        assert self.config["dynamic-jobs-enabled"] and not self.registered_all
        given = data["job"]
        assert given["id"] == data["job_id"] not in self.jobs
        profile = given["id"].partition("!")[0], given["profile"]
        assert profile[1] in self.profiles[profile[0]] and profile not in self.used, (
            "it is gone"
        )
        if not self.config["profile-reuse-enabled"]:
            self.used.add(profile)
        assert given["walltime"] == -1 or given["walltime"] > 0
        job = Job(
            given["id"],
            given["res"],
            given["walltime"],
            given["profile"],
            self.now,
            False,
        )
        self.jobs[job.id] = job
        return (
            [self.submission(job)] if self.config["dynamic-jobs-acknowledged"] else []
        )

    def on_call_me_later(self, data):
        assert data["timestamp"] > self.now
        self.calls.append(data["timestamp"])
        return []

    def on_notify(self, data):
        assert data == {"type": "registration_finished"}
        self.registered_all = True
        return []

    def submission(self, job):
        profile = self.profiles[job.id.partition("!")[0]][job.profile]
        return "JOB_SUBMITTED", {
            "job_id": job.id,
            "job": job.described(),
            "profile": profile,
        }

    def rates(self):
        """Return the bytes per second of every transfer.

        Each gets a fair share, limited by the rate of its nodes.
        """
        left, out = self.storage_rate, {}
        moving = [
            j
            for j in self.jobs.values()
            if j.parts
            and j.executed
            and j.state == "RUNNING"
            and j.parts[0][0] == "transfer"
        ]
        moving.sort(key=lambda job: job.res)
        for k, job in enumerate(moving):
            out[job.id] = min(job.res * self.node_rate, left / (len(moving) - k))
            left -= out[job.id]
        return out

    def advance(self):
        """Move the clock to the next instant with events, and return these events."""
        rates = self.rates()
        running = [j for j in self.jobs.values() if j.executed and j.state == "RUNNING"]
        left = {
            j.id: j.parts[0][1] / rates.get(j.id, 1.0) if j.parts else 0.0
            for j in running
        }
        ends = [job.start + job.walltime for job in running if job.walltime > 0]
        times = [self.now + seconds for seconds in left.values()] + ends + self.calls
        times += [self.todo[0].subtime] if self.todo else []
        times += [self.outages[0][0]] if self.outages else []
        assert times, "nothing will ever happen again"
        step = max(min(times) - self.now, 0.0)
        self.now += step
        same = 1e-9 * max(1.0, self.now)
        events = []
        for job in running:
            if job.parts:
                job.parts[0][1] -= step * rates.get(job.id, 1.0)
                if left[job.id] <= step + same:
                    del job.parts[0]
            late = job.walltime > 0 and self.now >= job.start + job.walltime - same
            if not job.parts or late:
                job.state = (
                    "COMPLETED_SUCCESSFULLY"
                    if not job.parts
                    else "COMPLETED_WALLTIME_REACHED"
                )
                job.end = self.now
                events.append(
                    (
                        "JOB_COMPLETED",
                        {
                            "job_id": job.id,
                            "job_state": job.state,
                            "return_code": 0,
                            "kill_reason": "",
                            "alloc": " ".join(map(str, job.alloc)),
                        },
                    )
                )
        while self.todo and self.todo[0].subtime <= self.now + same:
            job = self.todo.pop(0)
            self.jobs[job.id] = job
            events.append(self.submission(job))
        due = [time for time in self.calls if time <= self.now + same]
        self.calls = [time for time in self.calls if time > self.now + same]
        events += [("REQUESTED_CALL", {})] * len(due)
        if due and not self.todo and self.told_all:
            alive = any(j.state in ("SUBMITTED", "RUNNING") for j in self.jobs.values())
            self.idle_calls += 0 if alive else len(due)
        while self.outages and self.outages[0][0] <= self.now + same:
            at, kind, machines = self.outages.pop(0)
            named = set(resources(machines))
            self.away = (
                self.away | named if kind == "unavailable" else self.away - named
            )
            events.append(
                (
                    "NOTIFY",
                    {
                        "type": f"event_machine_{kind}",
                        "resources": machines,
                        "timestamp": at,
                    },
                )
            )
        if self.external and not self.outages:
            self.external = False
            events.append(("NOTIFY", {"type": "no_more_external_event_to_occur"}))
        if not self.todo and not self.told_all:
            self.told_all = True
            events.append(("NOTIFY", {"type": "no_more_static_job_to_submit"}))
        return events
