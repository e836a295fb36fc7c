"""A small stand-in for Batsim 4: its side of the protocol, its rules, a platform of shared storage.

Not Batsim. The rules it enforces are those of Batsim's documentation and of its server's checks;
its storage gives every transfer its fair share, none more than its nodes can take.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

CONFIG = {
    "redis-enabled": False, "redis-hostname": "127.0.0.1", "redis-port": 6379,
    "redis-prefix": "default", "profiles-forwarded-on-submission": True,
    "dynamic-jobs-enabled": True, "dynamic-jobs-acknowledged": False,
    "profile-reuse-enabled": False, "forward-unknown-events": False,
}  # fmt: skip


@dataclass
class Job:
    """One job, static or dynamic; ``parts`` is what is left of [kind, amount] while it runs."""

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
        return {"id": self.id, "res": self.res, "walltime": self.walltime,
                "profile": self.profile, "subtime": self.subtime}  # fmt: skip


def resources(text):
    """The resources of an interval set such as ``0-2 5``."""
    out = []
    for part in text.split():
        first, _, last = part.partition("-")
        out += range(int(first), int(last or first) + 1)
    return tuple(out)


class StandIn:
    """Plays *workload* (Batsim JSON) on its ``nb_res`` nodes; ``ask(message) -> reply``."""

    def __init__(self, workload, ask, node_rate=1.0, storage_rate=1e18, **config):
        self.ask, self.node_rate, self.storage_rate = ask, node_rate, storage_rate
        self.config = CONFIG | config
        self.nodes = workload["nb_res"]
        self.profiles = {"w0": dict(workload["profiles"])}
        self.todo = sorted(
            (Job(f"w0!{j['id']}", j["res"], j.get("walltime", -1), j["profile"], j["subtime"])
             for j in workload["jobs"]), key=lambda job: job.subtime)  # fmt: skip
        self.jobs, self.calls, self.now = {}, [], 0.0
        self.registered_all = not self.config["dynamic-jobs-enabled"]
        self.told_all = False
        self.messages = 0
        self.seen: list[str] = []

    def play(self, most=100_000):
        """Run to the end; returns the static jobs by id."""
        machines = [{"id": k, "name": f"n{k}", "state": "idle", "properties": {}}
                    for k in range(self.nodes)]  # fmt: skip
        events = [("SIMULATION_BEGINS", {
            "nb_resources": self.nodes, "nb_compute_resources": self.nodes,
            "nb_storage_resources": 0, "allow_compute_sharing": False,
            "allow_storage_sharing": True, "config": self.config, "compute_resources": machines,
            "storage_resources": [], "workloads": {"w0": "w0.json"}, "profiles": self.profiles,
        })]  # fmt: skip
        for _ in range(most):
            self.exchange(events)
            if self.over():
                self.exchange([("SIMULATION_ENDS", {})])
                return {job.id: job for job in self.jobs.values() if job.static}
            events = []
            while not events:
                events = self.advance()
        raise AssertionError("no end")

    def over(self):
        live = any(job.state in ("SUBMITTED", "RUNNING") for job in self.jobs.values())
        return not self.todo and self.told_all and self.registered_all and not live

    def exchange(self, events):
        """Send events; apply the reply, and send what it makes Batsim say, until nothing is left."""
        while events is not None:
            body = [{"timestamp": self.now, "type": kind, "data": data} for kind, data in events]
            reply = self.ask({"now": self.now, "events": body})
            self.messages += 1
            assert reply["now"] >= self.now
            last, events = self.now, []
            for event in reply["events"]:
                assert last <= event["timestamp"] <= reply["now"]
                last = event["timestamp"]
                self.seen.append(event["type"])
                events += getattr(self, "on_" + event["type"].lower())(event["data"])
            events = events or None

    def on_execute_job(self, data):
        job = self.jobs[data["job_id"]]
        assert job.state == "SUBMITTED", f"{job.id} is {job.state}"
        alloc = resources(data["alloc"])
        assert len(set(alloc)) == len(alloc) == job.res and max(alloc) < self.nodes
        busy = {k for other in self.jobs.values() if other.executed and other.state == "RUNNING"
                for k in other.alloc}  # fmt: skip
        assert not busy & set(alloc), f"{job.id} on nodes that others compute on"
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
        return [leaf for _ in range(profile["repeat"]) for part in profile["seq"]
                for leaf in self.leaves(workload, part, res)]  # fmt: skip

    def on_reject_job(self, data):
        assert self.jobs[data["job_id"]].state == "SUBMITTED"
        self.jobs[data["job_id"]].state = "REJECTED"
        return []

    def on_change_job_state(self, data):
        job, state = self.jobs[data["job_id"]], data["job_state"]
        assert (job.state, state) == ("SUBMITTED", "RUNNING") or (
            job.state == "RUNNING" and state.startswith("COMPLETED_") and not job.executed
        ), f"{job.id} from {job.state} to {state}"
        job.state = state
        if state == "RUNNING":
            job.start = self.now
        else:
            job.end = self.now
        return []

    def on_register_profile(self, data):
        assert self.config["dynamic-jobs-enabled"]
        known = self.profiles[data["workload_name"]]
        assert data["profile_name"] not in known
        known[data["profile_name"]] = data["profile"]
        return []

    def on_register_job(self, data):
        assert self.config["dynamic-jobs-enabled"] and not self.registered_all
        given = data["job"]
        assert given["id"] == data["job_id"] not in self.jobs
        assert given["profile"] in self.profiles[given["id"].partition("!")[0]]
        assert given["walltime"] == -1 or given["walltime"] > 0
        job = Job(given["id"], given["res"], given["walltime"], given["profile"], self.now, False)
        self.jobs[job.id] = job
        return [self.submission(job)] if self.config["dynamic-jobs-acknowledged"] else []

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
        return "JOB_SUBMITTED", {"job_id": job.id, "job": job.described(), "profile": profile}

    def rates(self):
        """Bytes per second of every transfer: fair shares, each at most what its nodes take."""
        left, out = self.storage_rate, {}
        moving = [j for j in self.jobs.values() if j.parts and j.executed
                  and j.state == "RUNNING" and j.parts[0][0] == "transfer"]  # fmt: skip
        moving.sort(key=lambda job: job.res)
        for k, job in enumerate(moving):
            out[job.id] = min(job.res * self.node_rate, left / (len(moving) - k))
            left -= out[job.id]
        return out

    def advance(self):
        """Move the clock to the next event(s) and return them."""
        rates = self.rates()
        running = [j for j in self.jobs.values() if j.executed and j.state == "RUNNING"]
        left = {j.id: j.parts[0][1] / rates.get(j.id, 1.0) if j.parts else 0.0 for j in running}
        ends = [job.start + job.walltime for job in running if job.walltime > 0]
        times = [self.now + seconds for seconds in left.values()] + ends + self.calls
        times += [self.todo[0].subtime] if self.todo else []
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
                job.state = ("COMPLETED_SUCCESSFULLY" if not job.parts
                             else "COMPLETED_WALLTIME_REACHED")  # fmt: skip
                job.end = self.now
                events.append(("JOB_COMPLETED", {
                    "job_id": job.id, "job_state": job.state, "return_code": 0,
                    "kill_reason": "", "alloc": " ".join(map(str, job.alloc))}))  # fmt: skip
        while self.todo and self.todo[0].subtime <= self.now + same:
            job = self.todo.pop(0)
            self.jobs[job.id] = job
            events.append(self.submission(job))
        due = [time for time in self.calls if time <= self.now + same]
        self.calls = [time for time in self.calls if time > self.now + same]
        events += [("REQUESTED_CALL", {})] * len(due)
        if not self.todo and not self.told_all:
            self.told_all = True
            events.append(("NOTIFY", {"type": "no_more_static_job_to_submit"}))
        return events
