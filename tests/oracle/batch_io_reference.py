"""A slow batch I/O simulator on Fractions, written from rules 1 to 37 alone.

It shares no code with ioopt. It uses plain dictionaries and lists and computes
everything anew at every instant, for traces of a few jobs. This module has the clock
and the jobs, batch_io_rates the rates, and batch_io_queue the queue. Numbers in
brackets are rules of docs/rules/batch-io.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tests.oracle.batch_io_queue import run_pass
from tests.oracle.batch_io_rates import decided

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
}
RUNNING = ("compute", "io")


def number(value: Any) -> Fraction:
    return Fraction(str(value))


class Reference:
    """One run of a policy.

    ``share``, ``alpha`` and ``order`` are settings of the policy. ``ef`` multiplies the
    volume of every request (23).
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
        peak = min(limit, self.bw)  # (5), (24)
        ideal = sum((c + v / peak for c, v in phases), Fraction(0))
        return {
            "id": job["id"],
            "submit": number(job["submit_seconds"]),
            "asked": job["nodes"],
            "wall": number(job["walltime_seconds"]),
            "size": size,
            "n": nodes,
            "peak": peak,
            "phases": phases,
            "ideal": ideal,
            "length": ideal if self.options["estimate"] == "uncongested" else None,
            "state": "future",
            "k": 0,
            "start": None,
            "end": None,
            "killed": False,
            "place": None,
            "io": [],
            "request": None,
        }

    def run(self) -> Reference:
        """Run until no event is left."""
        while self.step():
            pass
        return self

    def within(self, *states: str) -> list[Job]:
        return [job for job in self.jobs if job["state"] in states]

    def on_nodes(self) -> list[Job]:
        """Return the jobs that occupy nodes now."""
        return self.within(*RUNNING)

    # One instant, by rule 1.

    def step(self) -> bool:
        times = [job["submit"] for job in self.within("future")]
        times += [job["until"] for job in self.within("compute")]
        times += [self.now + r["left"] / r["rate"] for r in self.requests if r["rate"]]
        if self.options["kill"]:
            times += [job["start"] + job["wall"] for job in self.within(*RUNNING)]
        if not times:
            return False
        past, self.now = self.now, min(times)
        self.move(past)
        self.changed = self.freed = False
        for request in sorted(self.requests, key=lambda request: request["id"]):
            if request["left"] == 0 and request["job"]["request"] is request:
                self.through(request)
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
        if self.changed:
            for request, rate in decided(self):
                request["rate"] = rate
                if rate and request["record"]["grant"] is None:
                    request["record"]["grant"] = self.now
        return True

    def move(self, past: Fraction) -> None:
        inside = max(Fraction(0), min(self.now, self.last) - max(past, self.window))
        for request in self.requests:
            rate = request["rate"]
            request["left"] -= rate * (self.now - past)
            if rate:
                request["record"]["rates"].append((past, self.now, rate))
            self.useful += request["n"] * inside * rate / request["peak"]
        for job in self.within("compute"):
            self.useful += job["n"] * inside

    # The steps of a job.

    def begin(self, job: Job) -> None:
        """Begin the next phase of a job, or end the job."""
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
        else:
            job["state"] = "io"
            self.issue(job, volume)

    def next_phase(self, job: Job) -> None:
        job["k"] += 1
        self.begin(job)

    def issue(self, job: Job, volume: Fraction) -> None:
        """Issue the I/O request of the present phase of a job."""
        record = {
            "k": job["k"],
            "request": self.now,
            "grant": None,
            "finish": None,
            "rates": [],
        }
        job["io"].append(record)
        job["request"] = {
            "job": job,
            "n": job["n"],
            "id": job["id"],
            "left": volume,
            "volume": volume,
            "rate": Fraction(0),
            "peak": job["peak"],
            "record": record,
        }
        self.requests.append(job["request"])
        self.changed = True

    def withdraw(self, job: Job) -> None:
        self.requests = [
            request for request in self.requests if request["job"] is not job
        ]
        job["request"] = None
        self.changed = True

    def through(self, request: Job) -> None:
        request["record"]["finish"] = self.now
        self.withdraw(request["job"])
        self.next_phase(request["job"])

    def kill(self, job: Job) -> None:
        job["killed"] = True
        if job["request"]:
            self.withdraw(job)
        self.end(job)

    def end(self, job: Job) -> None:
        job["state"], job["end"] = "done", self.now
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
        self.passing = False

    def start(self, job: Job, place: Any) -> None:
        job["start"], job["place"] = self.now, place
        self.begin(job)

    # The schedule and the metrics of the run (22).

    def schedule(self) -> dict[str, Any]:
        """Return the schedule with numbers as floats, and with rates, one row for each
        job.

        A row has the nodes of the job if nodes are numbered.
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
        busy = sum(
            job["n"]
            * max(0, min(job["end"], self.last) - max(job["start"], self.window))
            for job in jobs
        )
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
        }
