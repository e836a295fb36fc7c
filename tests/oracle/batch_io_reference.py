"""A slow batch I/O simulator on Fractions, written from rules 1-49 alone: no
code of ioopt in it.

Plain dictionaries and lists, everything recomputed at every instant; for
traces of a few jobs. The clock, the jobs and their streams stand here, who
transfers in batch_io_rates, the queue in batch_io_queue. Numbers in brackets
are those of docs/rules/batch-io.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tests.oracle.batch_io_queue import run_pass
from tests.oracle.batch_io_rates import decided, set_writes

Job = dict[str, Any]
DEFAULTS = {
    "kill": False,
    "queue": "wfp",
    "backfill": "easy",
    "reservation": "count",
    "plan": "keep",
    "estimate": "walltime",
    "pass": "instant",
    "backfill_order": "queue",
    "staging": "at-start",
    "nodes_until": "end",
    "plan_depth": 0,
    "plan_power": 1,
    "plan_evaluations": 189,
}
RUNNING = ("stage", "compute", "io", "write")


def number(value: Any) -> Fraction:
    return Fraction(str(value))


class Reference:
    """One run: ``share``, ``alpha``, ``order`` are the policy's settings, ``ef``
    multiplies every v (23).
    """

    def __init__(
        self,
        instance: dict[str, Any],
        policy: str,
        share: str = "per-node",
        alpha: Any = "0.5",
        ef: Any = 1,
        order: str = "ascending",
    ) -> None:
        machine = instance["machine"]
        self.unit, self.units = (
            machine["unit_nodes"],
            machine["nodes"] // machine["unit_nodes"],
        )
        self.flat = machine["allocation"] == "flat"
        self.b = number(machine["node_bytes_per_second"])
        self.bw = number(machine["storage_bytes_per_second"])
        self.interference = number(machine.get("interference") or 0)
        self.options = DEFAULTS | instance.get("options", {})
        self.numbered = not self.flat or self.options["reservation"] == "nodes"
        self.policy, self.share, self.alpha, self.ef = (
            policy,
            share,
            number(alpha),
            number(ef),
        )
        self.sign = -1 if order == "descending" else 1  # (52)
        buffer = machine.get("burst_buffer")
        self.buffered = buffer is not None
        self.shared = self.buffered and buffer["placement"] == "shared"
        if self.buffered:
            self.capacity = number(buffer["bytes"])
            self.buffer_rate = number(buffer["bytes_per_second"])
            self.drain_rate = number(buffer["drain_bytes_per_second"])
        self.ahead = self.shared and self.options["staging"] == "ahead"
        self.keeps_nodes = self.buffered and (
            not self.shared or self.options["nodes_until"] == "release"
        )
        self.jobs = sorted(
            (self.load(job) for job in instance["jobs"]), key=lambda job: job["id"]
        )
        self.requests: list[Job] = []
        self.boxes: dict[Any, tuple[Any, ...]] = {}
        self.order: list[Job] = []
        self.now = Fraction(-1)
        self.freed = self.passing = self.again = self.changed = False
        submits = [job["submit"] for job in self.jobs]
        first, self.last = (
            min(submits, default=Fraction(0)),
            max(submits, default=Fraction(0)),
        )
        self.window = first + (self.last - first) / 10
        self.useful = Fraction(0)

    def load(self, job: dict[str, Any]) -> Job:
        size = math.ceil(job["nodes"] / self.unit)
        if not self.flat:
            legal = [2**k for k in range(20) if 2**k <= self.units] + [self.units]
            size = min(block for block in legal if block >= size)
        phases = [
            (number(p["compute_seconds"]), number(p["io_bytes"]) * self.ef)
            for p in job["phases"]
            for _ in range(p.get("repeat", 1))
        ]
        nodes = size * self.unit
        own = job.get("io_bytes_per_second")
        limit = min(self.b * nodes, number(own)) if own is not None else self.b * nodes
        buffer = number(job.get("buffer_bytes") or 0)
        peak = min(limit, self.bw)  # (5), (24)
        if buffer:  # (39)
            peak = min(limit, self.buffer_rate * (1 if self.shared else nodes))
            stream = min(self.drain_rate * (1 if self.shared else nodes), self.bw)
        stage_in = number(job.get("stage_in_bytes") or 0)
        out = number(job.get("stage_out_bytes") or 0)
        ideal = sum((c + v / peak for c, v in phases), Fraction(0))
        if stage_in and not self.ahead:  # (48)
            ideal += stage_in / stream
        return {
            "id": job["id"],
            "submit": number(job["submit_seconds"]),
            "asked": job["nodes"],
            "wall": number(job["walltime_seconds"]),
            "size": size,
            "n": nodes,
            "peak": peak,
            "stream_peak": stream if buffer else None,
            "phases": phases,
            "B": buffer,
            "I": stage_in,
            "O": out,
            "whole_out": out,
            "ideal": ideal,
            "length": ideal if self.options["estimate"] == "uncongested" else None,
            "state": "future",
            "k": 0,
            "start": None,
            "end": None,
            "killed": False,
            "place": None,
            "released": None,
            "io": [],
            "streams": [],
            "request": None,
            "write": None,
            "drains": [],
            "holds": False,
            "staged": not stage_in,
        }

    def run(self) -> Reference:
        """Step to the end."""
        while self.step():
            pass
        return self

    def within(self, *states: str) -> list[Job]:
        return [job for job in self.jobs if job["state"] in states]

    def writes(self) -> list[Job]:
        return [job["write"] for job in self.jobs if job["write"]]

    def on_nodes(self) -> list[Job]:
        """Jobs that hold their nodes now: running, or ended where nodes wait
        for the release (44).
        """
        tail = self.tails() if self.keeps_nodes else []
        return self.within(*RUNNING) + tail

    def tails(self) -> list[Job]:
        return [job for job in self.within("done") if job["released"] is None]

    def holders(self) -> list[Job]:
        """Jobs that hold buffer and do not wait for their start (45)."""
        return [job for job in self.jobs if job["holds"] and job["state"] != "wait"]

    # One instant (1), (43).

    def step(self) -> bool:
        times = [job["submit"] for job in self.within("future")]
        times += [job["until"] for job in self.within("compute")]
        flows = self.requests + self.writes()
        times += [
            self.now + flow["left"] / flow["rate"] for flow in flows if flow["rate"]
        ]
        if self.options["kill"]:
            times += [job["start"] + job["wall"] for job in self.within(*RUNNING)]
        if not times:
            return False
        past, self.now = self.now, min(times)
        self.move(past, flows)
        self.changed = self.freed = False
        for request in sorted(self.requests, key=lambda request: request["id"]):
            if request["left"] == 0 and request["job"]["request"] is request:
                self.through(request)
        for write in self.writes():
            if write["left"] == 0:
                self.written(write["job"])
        for job in self.within("compute"):
            if job["until"] == self.now:
                self.after_compute(job)
        for job in self.within(*RUNNING) if self.options["kill"] else []:
            if job["start"] + job["wall"] == self.now:
                self.kill(job)
        arrived = [job for job in self.within("future") if job["submit"] == self.now]
        for job in arrived:
            job["state"] = "wait"
            if self.options["pass"] == "event":
                self.passes()
        if self.options["pass"] == "instant" and (arrived or self.freed):
            self.passes()
        set_writes(self)
        if self.changed:
            for request, rate in decided(self):
                request["rate"] = rate
                if rate and request["record"]["grant"] is None:
                    request["record"]["grant"] = self.now
        return True

    def move(self, past: Fraction, flows: list[Job]) -> None:
        inside = max(Fraction(0), min(self.now, self.last) - max(past, self.window))
        for flow in flows:
            flow["left"] -= flow["rate"] * (self.now - past)
            if flow["rate"]:
                flow["record"]["rates"].append((past, self.now, flow["rate"]))
            staging = flow["job"]["state"] == "stage" and not self.ahead
            if flow["kind"] in ("io", "write") or staging:
                self.useful += flow["job"]["n"] * inside * flow["rate"] / flow["peak"]
        for job in self.within("compute"):
            self.useful += job["n"] * inside

    # A job's life.

    def begin(self, job: Job) -> None:
        """The phase that is next, at its beginning."""
        if job["k"] == len(job["phases"]):
            self.end(job)
            return
        seconds = job["phases"][job["k"]][0]
        job["state"], job["until"] = "compute", self.now + seconds
        if seconds == 0:
            self.after_compute(job)

    def after_compute(self, job: Job) -> None:
        volume = job["phases"][job["k"]][1]
        if volume == 0:
            self.next_phase(job)
        elif not job["B"]:
            job["state"] = "io"
            self.issue(job, "io", job["k"], volume, job["peak"])
        else:  # (40)
            job["state"] = "write"
            job["write"] = self.flow(job, "write", job["k"], volume, job["peak"])

    def next_phase(self, job: Job) -> None:
        job["k"] += 1
        self.begin(job)

    def issue(
        self, job: Job, kind: str, k: int, volume: Fraction, peak: Fraction
    ) -> None:
        """A request of the storage: direct I/O, or a stream (41)."""
        job["request"] = self.flow(job, kind, k, volume, peak)
        self.requests.append(job["request"])
        self.changed = True

    def flow(
        self, job: Job, kind: str, k: int, volume: Fraction, peak: Fraction
    ) -> Job:
        record = {
            "k": k,
            "request": self.now,
            "grant": None,
            "finish": None,
            "rates": [],
        }
        if kind in ("in", "drain", "out"):
            record["kind"] = kind
        job["streams" if "kind" in record else "io"].append(record)
        return {
            "job": job,
            "kind": kind,
            "n": job["n"],
            "id": job["id"],
            "left": volume,
            "volume": volume,
            "rate": Fraction(0),
            "peak": peak,
            "record": record,
        }

    def withdraw(self, job: Job) -> None:
        self.requests = [
            request for request in self.requests if request["job"] is not job
        ]
        job["request"] = None
        self.changed = True

    def through(self, request: Job) -> None:
        job, kind = request["job"], request["kind"]
        request["record"]["finish"] = self.now
        self.withdraw(job)
        if kind == "io":
            self.next_phase(job)
        elif kind == "in":
            job["staged"] = True
            if job["state"] == "stage":
                self.begin(job)
        else:
            if kind == "drain":
                job["drains"].pop(0)
            else:
                job["O"] = Fraction(0)
            self.next_stream(job)
            if job["released"] == self.now:
                self.freed_something()

    def written(self, job: Job) -> None:
        write, job["write"] = job["write"], None
        write["record"]["finish"] = self.now
        job["drains"].append((job["k"], write["volume"]))
        self.next_stream(job)
        self.next_phase(job)

    def next_stream(self, job: Job) -> None:
        """The next drain, or after the end the stage-out, or after
        that the release (41).
        """
        if job["request"]:
            return
        if job["drains"]:
            self.issue(job, "drain", *job["drains"][0], job["stream_peak"])
        elif job["state"] == "done" and job["O"] and not job["killed"]:
            self.issue(job, "out", len(job["phases"]), job["O"], job["stream_peak"])
        elif job["state"] == "done":
            job["released"], job["holds"] = self.now, False

    def kill(self, job: Job) -> None:
        job["killed"], job["write"] = True, None
        if job["request"] and job["request"]["kind"] in ("io", "in"):
            self.withdraw(job)
        self.end(job)

    def end(self, job: Job) -> None:
        job["state"], job["end"] = "done", self.now
        self.next_stream(job)
        self.freed_something()

    def freed_something(self) -> None:
        self.freed = True
        if self.passing:
            self.again = True
        elif self.options["pass"] == "event":
            self.passes()

    # The queue.

    def passes(self) -> None:
        self.passing = self.again = True
        while self.again:
            self.again = False
            freed, self.freed = self.freed, False
            run_pass(self, freed)
            self.stage_ahead()
        self.passing = False

    def start(self, job: Job, place: Any) -> None:
        if self.shared and job["B"] and not job["holds"]:
            for other in reversed(self.order):
                if job["B"] <= self.capacity - sum(
                    j["B"] for j in self.jobs if j["holds"]
                ):
                    break
                if other["state"] == "wait" and other["holds"]:
                    self.unstage(other)
            job["holds"] = True
        job["start"], job["place"] = self.now, place
        if job["staged"]:
            self.begin(job)
            return
        job["state"] = "stage"
        if not job["request"]:
            self.issue(job, "in", -1, job["I"], job["stream_peak"])

    def unstage(self, job: Job) -> None:
        if job["request"]:
            self.withdraw(job)
        job["streams"].clear()
        job["staged"] = job["holds"] = False

    def stage_ahead(self) -> None:
        for job in self.order if self.ahead else []:
            if job["state"] != "wait" or not job["I"] or job["holds"]:
                continue
            if job["B"] > self.capacity - sum(j["B"] for j in self.jobs if j["holds"]):
                break
            job["holds"] = True
            self.issue(job, "in", -1, job["I"], job["stream_peak"])

    # What it did, as a result states it, and its measures (22), (48).

    def schedule(self) -> dict[str, Any]:
        """The schedule in floats, with rates; a row for each job, its nodes
        where they are numbered.
        """

        def rows(records: list[Job]) -> list[Job]:
            names = {"request": "request", "grant": "first_grant", "finish": "finish"}
            return [
                {
                    name + "_seconds": None if r[key] is None else float(r[key])
                    for key, name in names.items()
                }
                | {
                    "phase": r["k"],
                    "rates": [[float(x) for x in span] for span in r["rates"]],
                }
                | ({"kind": r["kind"]} if "kind" in r else {})
                for r in records
            ]

        jobs = []
        for job in self.jobs:
            row = {
                "id": job["id"],
                "killed": job["killed"],
                "io": rows(job["io"]),
                "start_seconds": float(job["start"]),
                "end_seconds": float(job["end"]),
            }
            if not self.flat:
                row["first_node"] = job["place"][0] * self.unit
            elif self.numbered:
                row["nodes"] = [
                    u * self.unit + k for u in job["place"] for k in range(self.unit)
                ]
            if self.buffered:
                row["released_seconds"] = float(job["released"])
                row["streams"] = rows(job["streams"])
            jobs.append(row)
        return {"jobs": jobs}

    def metrics(self) -> dict[str, Fraction | None]:
        jobs, count = self.jobs, max(1, len(self.jobs))
        runs = [job["end"] - job["start"] for job in jobs]
        slow = [
            run / job["ideal"] if job["ideal"] else 1 for run, job in zip(runs, jobs)
        ]
        delays = [
            sum(
                r["finish"] - r["request"] - job["phases"][r["k"]][1] / job["peak"]
                for r in job["io"]
                if r["finish"] is not None
            )
            for job in jobs
        ]
        total = self.units * self.unit * (self.last - self.window)
        held = [job["released"] if self.keeps_nodes else job["end"] for job in jobs]
        busy = sum(
            job["n"] * max(0, min(until, self.last) - max(job["start"], self.window))
            for job, until in zip(jobs, held)
        )
        tails = [job["released"] - job["end"] for job in jobs]
        return {
            "mean_wait_seconds": Fraction(
                sum(job["start"] - job["submit"] for job in jobs), count
            ),
            "mean_response_seconds": Fraction(
                sum(j["end"] - j["submit"] for j in jobs), count
            ),
            "mean_runtime_seconds": Fraction(sum(runs), count),
            "mean_slowdown": Fraction(sum(slow), count),
            "max_slowdown": max(slow, default=Fraction(0)),
            "makespan_seconds": max(j["end"] for j in jobs)
            - min(j["submit"] for j in jobs),
            "io_delay_seconds": Fraction(sum(delays), count),
            "node_weighted_io_delay": sum(j["n"] * d for j, d in zip(jobs, delays))
            / Fraction(sum(job["n"] for job in jobs)),
            "utilisation": busy / total if total else None,
            "useful_utilisation": self.useful / total if total else None,
            "mean_release_seconds": Fraction(sum(tails), count),
            "max_release_seconds": max(tails),
        }
