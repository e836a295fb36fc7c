"""A slow batch I/O simulator on Fractions, written from the rules alone: no code of ioopt in it.

Plain dictionaries and lists, everything recomputed at every instant; for traces of a few jobs.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

INF = float("inf")
Job = dict[str, Any]


def simulate(instance: dict[str, Any], policy: str) -> dict[Any, tuple[Any, ...]]:
    """Job id -> (start, end, killed, first unit or None, [(phase, request, grant, finish), ...])."""
    sim = Reference(instance, policy)
    while sim.step():
        pass
    return {
        job["id"]: (job["start"], job["end"], job["killed"], job["block"], job["io"])
        for job in sim.jobs
    }


class Reference:
    def __init__(self, instance: dict[str, Any], policy: str) -> None:
        machine = instance["machine"]
        self.unit, self.units = machine["unit_nodes"], machine["nodes"] // machine["unit_nodes"]
        self.flat = machine["allocation"] == "flat"
        self.b = Fraction(str(machine["node_bytes_per_second"]))
        self.bw = Fraction(str(machine["storage_bytes_per_second"]))
        self.options = {"kill": False, "queue": "wfp", "backfill": "easy"} | instance["options"]
        self.policy = policy
        self.jobs = [self.load(job) for job in instance["jobs"]]
        self.now = Fraction(-1)

    def load(self, job: dict[str, Any]) -> Job:
        size = math.ceil(job["nodes"] / self.unit)
        if not self.flat:
            legal = [2**k for k in range(20) if 2**k <= self.units] + [self.units]
            size = min(block for block in legal if block >= size)
        phases = [
            (Fraction(str(p["compute_seconds"])), Fraction(str(p["io_bytes"])))
            for p in job["phases"] for _ in range(p.get("repeat", 1))
        ]  # fmt: skip
        nodes = size * self.unit
        return {
            "id": job["id"], "submit": Fraction(str(job["submit_seconds"])), "asked": job["nodes"],
            "wall": Fraction(str(job["walltime_seconds"])), "size": size, "n": nodes,
            "r": min(self.b * nodes, self.bw), "phases": phases, "state": "future", "k": 0,
            "start": None, "end": None, "killed": False, "block": None, "io": [], "rate": Fraction(0),
        }  # fmt: skip

    def within(self, *states: str) -> list[Job]:
        return [job for job in self.jobs if job["state"] in states]

    def step(self) -> bool:
        times = [job["submit"] for job in self.within("future")]
        times += [job["until"] for job in self.within("compute")]
        times += [self.now + j["left"] / j["rate"] for j in self.within("io") if j["rate"]]
        if self.options["kill"]:
            times += [job["start"] + job["wall"] for job in self.within("compute", "io")]
        if not times:
            return False
        past, self.now = self.now, min(times)
        for job in self.within("io"):
            job["left"] -= job["rate"] * (self.now - past)
        self.changed = self.ended = False
        for job in self.within("io"):
            if job["left"] == 0:
                job["io"][-1][3] = self.now
                self.changed = True
                self.next_phase(job)
        for job in self.within("compute"):
            if job["until"] == self.now:
                self.after_compute(job)
        for job in self.within("compute", "io") if self.options["kill"] else []:
            if job["start"] + job["wall"] == self.now:
                self.changed |= job["state"] == "io"
                job["killed"] = True
                self.end(job)
        arrived = [job for job in self.within("future") if job["submit"] <= self.now]
        for job in arrived:
            job["state"] = "wait"
        again = bool(arrived) or self.ended
        while again:
            again = self.batch_pass()
        if self.changed:
            self.decide()
        return True

    def next_phase(self, job: Job) -> None:
        job["k"] += 1
        self.begin(job)

    def begin(self, job: Job) -> None:
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
            return
        job["state"], job["left"], job["rate"] = "io", volume, Fraction(0)
        job["io"].append([job["k"], self.now, None, None])
        self.changed = True

    def end(self, job: Job) -> None:
        job["state"], job["end"], self.ended = "done", self.now, True

    # The batch queue.

    def batch_pass(self) -> bool:
        waiting = sorted(self.within("wait"), key=lambda job: (job["submit"], job["id"]))
        if self.options["queue"] == "wfp":
            waiting.sort(key=lambda j: -(((self.now - j["submit"]) / j["wall"]) ** 3) * j["asked"])
        promise: tuple[Any, Any] | None = None
        instantly = False
        for job in waiting:
            late = promise is not None and self.now + job["wall"] > promise[0]
            if self.flat:
                free = self.units - sum(j["size"] for j in self.within("compute", "io"))
                fits = job["size"] <= free
                if promise is not None and fits and late:
                    fits = job["size"] <= promise[1]
                    promise = (promise[0], promise[1] - job["size"] * fits)
                place = None
            else:
                avoid = set(promise[1]) if promise is not None and late else set()
                blocks = [x for x in self.blocks(job) if not (set(x) & (self.taken() | avoid))]
                fits = bool(blocks)
                place = blocks[0][0] if blocks else None
            if fits:
                job["start"], job["block"] = self.now, place
                self.begin(job)
                instantly |= job["state"] == "done"
            elif promise is None:
                if self.options["backfill"] == "none":
                    break
                promise = self.promise(job)
        return instantly

    def blocks(self, job: Job) -> list[range]:
        starts = range(0, self.units - job["size"] + 1, job["size"])
        return [range(start, start + job["size"]) for start in starts]

    def taken(self) -> set[int]:
        running = self.within("compute", "io")
        return {u for j in running for u in range(j["block"], j["block"] + j["size"])}

    def predicted(self, job: Job) -> Fraction:
        end: Fraction = job["start"] + job["wall"]
        return end if end > self.now else self.now + 300

    def promise(self, job: Job) -> tuple[Any, Any]:
        running = self.within("compute", "io")
        if self.flat:
            for time in sorted(self.predicted(j) for j in running):
                busy = sum(j["size"] for j in running if self.predicted(j) > time)
                if self.units - busy >= job["size"]:
                    return time, self.units - busy - job["size"]
        return min(
            ((self.free_at(block, running), block) for block in self.blocks(job)),
            key=lambda option: (option[0], option[1][0]),
        )

    def free_at(self, block: range, running: list[Job]) -> Fraction:
        ends = [
            self.predicted(j) for j in running
            if set(block) & set(range(j["block"], j["block"] + j["size"]))
        ]  # fmt: skip
        return max(ends, default=self.now)

    # The I/O decision.

    def decide(self) -> None:
        queue = sorted(self.within("io"), key=lambda job: (job["io"][-1][1], job["id"]))
        rates = self.rates(queue)
        for job in queue:
            job["rate"] = rates.get(job["id"], Fraction(0))
            if job["rate"] and job["io"][-1][2] is None:
                job["io"][-1][2] = self.now

    def rates(self, queue: list[Job]) -> dict[Any, Fraction]:
        name = self.policy.removesuffix("+top")
        if name == "no-congestion":
            return {job["id"]: job["r"] for job in queue}
        if name == "base-line":
            return self.shared(queue)
        if name == "adaptive":
            return self.shared(self.adaptive(queue))
        if name == "set-10":
            rates = self.sets(queue)
            return self.top(rates, [job for job in queue if job["id"] not in rates])
        if name == "fill":
            order = sorted(queue, key=lambda job: job["left"] ** 2 / job["n"])
            return self.greedy(order)
        if name == "cons-max-util":
            chosen = self.fullest(queue)
            rates = {job["id"]: job["r"] for job in chosen}
            rest = [job for job in queue if job["id"] not in rates]
            return self.top(rates, rest)
        keys = {"cons-min-inst-sld": self.instant, "cons-min-aggr-sld": self.aggregate}
        order = sorted(queue, key=keys[name]) if name in keys else queue
        rates, left = {}, self.bw
        for job in order:
            if job["r"] <= left:
                rates[job["id"]] = job["r"]
                left -= job["r"]
        return self.top(rates, [job for job in order if job["id"] not in rates])

    def top(self, rates: dict[Any, Fraction], rest: list[Job]) -> dict[Any, Fraction]:
        left = self.bw - sum(rates.values())
        return rates | self.greedy(rest, left) if self.policy.endswith("+top") else rates

    def sets(self, queue: list[Job]) -> dict[Any, Fraction]:
        """The first request of each set, at 10^-set of the bandwidth, caps shared out again."""
        heads: dict[int, Job] = {}
        for job in queue:
            heads.setdefault(self.set_of(job), job)
        rates: dict[Any, Fraction] = {}
        open_sets, left = dict(heads), self.bw
        while open_sets:
            whole = sum(Fraction(1, 10**k) if k >= 0 else Fraction(10**-k) for k in open_sets)
            parts = {k: left * Fraction(10) ** -k / whole for k in open_sets}
            capped = [k for k, job in open_sets.items() if job["r"] <= parts[k]]
            for k in capped or list(open_sets):
                job = open_sets.pop(k)
                rates[job["id"]] = job["r"] if capped else parts[k]
                left -= rates[job["id"]]
        return rates

    def set_of(self, job: Job) -> int:
        """The whole number nearest to log10 of the mean phase, uncongested."""
        total = sum(c + v / job["r"] for c, v in job["phases"])
        mean = total / len(job["phases"])
        near = -30
        while mean**2 > Fraction(10) ** (2 * near + 1):
            near += 1
        return near

    def greedy(self, order: list[Job], left: Fraction | None = None) -> dict[Any, Fraction]:
        rest, rates = self.bw if left is None else left, {}
        for job in order:
            rates[job["id"]] = min(job["r"], rest)
            rest -= rates[job["id"]]
        return rates

    def shared(self, jobs: list[Job]) -> dict[Any, Fraction]:
        nodes = sum(job["n"] for job in jobs)
        return {job["id"]: min(self.b, self.bw / nodes) * job["n"] for job in jobs}

    def instant(self, job: Job) -> Any:
        moved = job["phases"][job["k"]][1] - job["left"]
        waited = self.now - job["io"][-1][1]
        return job["r"] * waited / moved if moved else (1 if waited == 0 else INF)

    def aggregate(self, job: Job) -> Any:
        below = sum(c for c, _ in job["phases"][: job["k"] + 1])
        below += sum(v for _, v in job["phases"][: job["k"]]) / job["r"]
        lived = self.now - job["start"]
        return lived / below if below else (1 if lived == 0 else INF)

    def fullest(self, queue: list[Job]) -> list[Job]:
        options = [
            chosen for size in range(len(queue) + 1)
            for chosen in itertools.combinations(range(len(queue)), size)
            if sum(queue[k]["r"] for k in chosen) <= self.bw
        ]  # fmt: skip
        most = max(sum(queue[k]["n"] for k in chosen) for chosen in options)
        first = min(c for c in options if sum(queue[k]["n"] for k in c) == most)
        return [queue[k] for k in first]

    def adaptive(self, queue: list[Job]) -> list[Job]:
        chosen: list[Job] = []
        room = self.bw
        for job in queue:
            if job["r"] <= room:
                chosen.append(job)
                room -= job["r"]
                continue
            ends = self.play(chosen)
            start = min(
                time for time in ends.values()
                if sum(j["r"] for j in chosen if ends[j["id"]] > time) + job["r"] <= self.bw
            )  # fmt: skip
            alone = sum(ends.values()) + start + job["left"] / job["r"]
            if sum(self.play([*chosen, job]).values()) < alone:
                chosen.append(job)
                room = Fraction(0)
        return chosen

    def play(self, jobs: list[Job]) -> dict[Any, Fraction]:
        left = {job["id"]: job["left"] for job in jobs}
        ends: dict[Any, Fraction] = {}
        now = Fraction(0)
        while len(ends) < len(jobs):
            rates = self.shared([job for job in jobs if job["id"] not in ends])
            step = min(left[name] / rate for name, rate in rates.items())
            now += step
            for name, rate in rates.items():
                left[name] -= rate * step
                if left[name] == 0:
                    ends[name] = now
        return ends
