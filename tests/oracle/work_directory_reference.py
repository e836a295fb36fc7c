"""A second replay of work directories, which shares no code with that in ioopt.

It has no clock. Every file, all scratch space and all cores occupy an interval of
places in the list of starts. The interval begins at the start that brings them, and
ends at the first start at which the last task that holds them has ended.
"""

import random
from bisect import bisect_left
from collections.abc import Collection, Mapping
from fractions import Fraction
from itertools import accumulate
from typing import Any

from ioopt.problems.work_directory import WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.units import exact

Json = dict[str, Any]
INSTANT = Fraction(1, 10**9)


class Starts:
    """The starts in order of time, and the interval of places that each item takes.

    An item is a file, the scratch space of a task, or the cores of a task.
    """

    def __init__(
        self,
        problem: WorkDirectoryProblem,
        plan: WorkDirectoryPlan,
        actual: Mapping[str, float],
    ) -> None:
        self.problem = problem
        self.tasks = {task.id: task for task in problem.tasks}
        rows = sorted(
            ((exact(at), name) for at, name in plan.starts), key=lambda row: row[0]
        )
        self.names = [name for _, name in rows]
        self.times = [at for at, _ in rows]
        self.place = {name: at for at, name in enumerate(self.names)}
        self.end = {
            name: at + exact(actual.get(name, self.tasks[name].compute_seconds))
            for at, name in rows
        }
        written = {f: task.id for task in problem.tasks for f in task.outputs}
        self.holders = {f: [name] for f, name in written.items()}
        for task in problem.tasks:
            for f in task.inputs:
                if f in written:
                    self.holders[f].append(task.id)
        self.files = [file for file in problem.files if file.id in written]
        self.over = {name: self._over([name]) for name in self.names}
        inside = [(task.id, [task.id], task.scratch_bytes) for task in problem.tasks]
        inside += [
            (written[f.id], [] if f.keep else self.holders[f.id], f.bytes)
            for f in self.files
        ]
        self.inside = inside
        self.use = self._sums(
            [(name, self._over(held), size) for name, held, size in inside]
        )

    def _over(self, held: list[str]) -> int:
        """Return the first place at which all tasks in *held* have ended.

        If *held* is empty, this is after all places.
        """
        if not held:
            return len(self.names)
        last = max(self.end[name] for name in held)
        after = max(self.place[name] for name in held) + 1
        return max(after, bisect_left(self.times, last - INSTANT))

    def _sums(self, rows: list[tuple[str, int, int]]) -> list[int]:
        """Return, for each place, the sum right after the start at this place.

        Each of *rows* is (task that brings the amount, first place without it, amount).
        """
        change = [0] * (len(self.names) + 1)
        for name, until, size in rows:
            change[self.place[name]] += size
            change[until] -= size
        return list(accumulate(change[:-1]))

    def violations(self, quota: int | None) -> list[Json]:
        """Return every violation in order of starts, as rule B3 names them."""
        cores = self._sums(
            [(t.id, self.over[t.id], t.cores) for t in self.problem.tasks]
        )
        found: list[Json] = []
        for at, name in enumerate(self.names):
            task, told = (
                self.tasks[name],
                {"task": name, "seconds": float(self.times[at])},
            )
            if self.times[at] + INSTANT < exact(task.release_seconds):
                found.append(
                    {"kind": "release", **told, "release": task.release_seconds}
                )
            makers = (self.holders[f][0] for f in task.inputs if f in self.holders)
            late = next((maker for maker in makers if self.over[maker] > at), None)
            if late is not None:
                found.append({"kind": "producer", **told, "producer": late})
            if cores[at] > self.problem.cores:
                found.append(
                    {"kind": "cores", **told, "over": cores[at] - self.problem.cores}
                )
            if quota is not None and self.use[at] > quota:
                found.append({"kind": "quota", **told, "over": self.use[at] - quota})
        return found

    def metrics(self) -> Json:
        """Return the metrics of the schedule."""
        makespan = max(self.end.values(), default=Fraction(0))
        start = {name: self.times[at] for name, at in self.place.items()}
        held = (
            size * (max((self.end[n] for n in names), default=makespan) - start[name])
            for name, names, size in self.inside
        )
        area = sum(held, Fraction(0))
        work = sum((self.end[t.id] - start[t.id]) * t.cores for t in self.problem.tasks)
        return {
            "makespan_seconds": float(makespan),
            "peak_bytes": max(self.use, default=0),
            "byte_seconds": float(area),
            "mean_bytes": float(area / makespan) if makespan else 0.0,
            "cores_busy": float(work / (self.problem.cores * makespan))
            if makespan
            else 0.0,
            "kept_bytes": sum(file.bytes for file in self.files if file.keep),
        }


class Run:
    """A second dispatcher, written rule by rule; it stores nothing between instants but
    starts.
    """

    def __init__(self, problem: WorkDirectoryProblem) -> None:
        self.problem, self.tasks = problem, {task.id: task for task in problem.tasks}
        self.place = {task.id: at for at, task in enumerate(problem.tasks)}
        self.sizes = {file.id: file.bytes for file in problem.files}
        self.keeps = {file.id for file in problem.files if file.keep}
        self.maker = {f: task.id for task in problem.tasks for f in task.outputs}
        self.readers = {
            f: [t.id for t in problem.tasks if f in t.inputs] for f in self.maker
        }
        self.before = {
            t.id: {self.maker[f] for f in t.inputs if f in self.maker}
            for t in problem.tasks
        }
        self.level: dict[str, int] = {}
        for _ in problem.tasks:
            for name, makers in self.before.items():
                if makers <= self.level.keys():
                    self.level[name] = max(
                        (self.level[m] + 1 for m in makers), default=0
                    )
        self.sample = self._samples()

    def _samples(self) -> dict[str, object]:
        given = {task.id: task.sample for task in self.problem.tasks}
        if any(sample is not None for sample in given.values()):
            return given
        label = {name: name for name in given}
        for _ in given:
            for name, makers in self.before.items():
                least = min([label[name], *(label[m] for m in makers)])
                for other in (name, *makers):
                    label[other] = min(label[other], least)
        return dict(label)

    def own(self, name: str) -> int:
        return self.tasks[name].scratch_bytes + sum(
            self.sizes[f] for f in self.tasks[name].outputs
        )

    def use(self, started: list[str], ended: set[str]) -> int:
        """Return the bytes inside, given the tasks that have started and ended (rule
        B2).
        """
        total = sum(
            self.tasks[name].scratch_bytes for name in started if name not in ended
        )
        for f, maker in self.maker.items():
            gone = {maker, *self.readers[f]} <= ended and f not in self.keeps
            total += self.sizes[f] if maker in started and not gone else 0
        return total

    def coming(
        self, now: Fraction, ends: Mapping[str, Fraction], started: Collection[str]
    ) -> list[Fraction]:
        """Return the times after *now* of ends, and of releases of tasks not yet
        started.
        """
        releases = (
            exact(t.release_seconds) for n, t in self.tasks.items() if n not in started
        )
        return [at for at in (*ends.values(), *releases) if at > now]

    def sequential(self, order: list[str], started: list[str]) -> int:
        """Return the largest use if all started tasks end and the others then run one
        at a time.
        """
        done, most = list(started), 0
        for name in order:
            if name not in done:
                most = max(most, self.use(done, set(done)) + self.own(name))
                done.append(name)
        return most

    def reference(self) -> list[str]:
        """Return the reference order of rule B6."""

        def growth(name: str, done: list[str]) -> int:
            task = self.tasks[name]
            made = [f for f in task.outputs if self.readers[f] or f in self.keeps]
            freed = [
                f
                for f in task.inputs
                if f in self.maker
                and f not in self.keeps
                and set(self.readers[f]) - set(done) == {name}
            ]
            return sum(self.sizes[f] for f in made) - sum(self.sizes[f] for f in freed)

        keys = (
            lambda name, done: 0,
            lambda name, done: -self.level[name],
            growth,
        )
        found = []
        for key in keys:
            done: list[str] = []
            while len(done) < len(self.tasks):
                ready = [
                    n
                    for n in self.tasks
                    if n not in done and self.before[n] <= set(done)
                ]
                done.append(min(ready, key=lambda n: (key(n, done), self.place[n])))
            found.append(done)
        return min(found, key=lambda order: self.sequential(order, []))

    def dispatch(
        self,
        policy: str | list[str],
        quota: int | None,
        safe: bool = False,
        in_flight: int | None = None,
        actual: Mapping[str, float] | None = None,
    ) -> list[tuple[Fraction, str]] | Json:
        """Return (time, task) of all starts, or the record of a run that is stuck or
        cannot start.
        """
        room = quota if quota is not None else sum(map(self.own, self.tasks)) + 1
        order = self.reference()
        if safe and quota is not None and (least := self.sequential(order, [])) > quota:
            return {"kind": "no order found", "least": least, "over": least - quota}
        seconds = {
            n: exact((actual or {}).get(n, t.compute_seconds))
            for n, t in self.tasks.items()
        }
        starts: list[tuple[Fraction, str]] = []
        ends: dict[str, Fraction] = {}
        now = Fraction(0)

        def ended() -> set[str]:
            return {name for name, at in ends.items() if at <= now}

        def key(name: str) -> tuple[Fraction | int, int]:
            since = max(
                [
                    exact(self.tasks[name].release_seconds),
                    *(ends[m] for m in self.before[name]),
                ]
            )
            if isinstance(policy, list):
                return policy.index(name), 0
            return since if policy == "submission" else -self.level[name], self.place[
                name
            ]

        def answer() -> str | None:
            names, done = [name for _, name in starts], ended()
            running = [name for name in names if name not in done]
            idle = self.problem.cores - sum(self.tasks[name].cores for name in running)
            begun = {self.sample[name] for name in names} - {None}
            opened = {
                s
                for s in begun
                if any(self.sample[n] == s and n not in done for n in self.tasks)
            }
            full = in_flight is not None and len(opened) >= in_flight
            free, held = [], []
            for name in sorted(
                (
                    n
                    for n, t in self.tasks.items()
                    if n not in names
                    and exact(t.release_seconds) <= now
                    and self.before[n] <= done
                ),
                key=key,
            ):
                inside = self.use(names, done) + self.own(name)
                fits = self.tasks[name].cores <= idle and inside <= room
                if fits and safe and quota is not None:
                    fits = self.sequential(order, [*names, name]) <= quota
                shut = (
                    full
                    and self.sample[name] is not None
                    and self.sample[name] not in opened
                )
                if fits:
                    (held if shut else free).append(name)
            return free[0] if free else held[0] if held and not running else None

        while True:
            while (name := answer()) is not None:
                starts.append((now, name))
                ends[name] = now + seconds[name]
            if len(starts) == len(self.tasks):
                return starts
            names = [name for _, name in starts]
            coming = self.coming(now, ends, names)
            if not coming:
                return self._stuck(now, names, ended(), room)
            now = min(coming)

    def _stuck(
        self, now: Fraction, names: list[str], done: set[str], room: int
    ) -> Json:
        use = self.use(names, done)
        ready = [n for n in self.tasks if n not in names and self.before[n] <= done]
        inside = [
            f.id
            for f in self.problem.files
            if self.maker.get(f.id) in done
            and (f.keep or not set(self.readers[f.id]) <= done)
        ]
        inside.sort(key=lambda f: -self.sizes[f])
        return {
            "kind": "stuck",
            "seconds": float(now),
            "use": use,
            "left": len(self.tasks) - len(names),
            "waiting": [
                {"task": n, "bytes": self.own(n), "over": use + self.own(n) - room}
                for n in ready
            ],
            "holding": [{"file": f, "bytes": self.sizes[f]} for f in inside],
        }

    def least_makespan(self, quota: int | None) -> Fraction | None:
        """Return the least makespan by rule B12; None if no schedule exists.

        Every decision is tried: at time 0, at ends and at releases, start any ready
        task that fits, or wait.
        """
        room = quota if quota is not None else sum(map(self.own, self.tasks)) + 1
        seconds = {n: exact(t.compute_seconds) for n, t in self.tasks.items()}
        best: list[Fraction] = []

        def go(now: Fraction, starts: dict[str, Fraction], since: int) -> None:
            ends = {n: at + seconds[n] for n, at in starts.items()}
            if best and max(ends.values(), default=now) >= best[0]:
                return
            if len(starts) == len(self.tasks):
                best[:] = [max(ends.values(), default=now)]
                return
            done = {n for n, at in ends.items() if at <= now}
            idle = self.problem.cores - sum(
                self.tasks[n].cores for n in starts if n not in done
            )
            for n, task in self.tasks.items():
                quick = (
                    seconds[n] == 0
                )  # a task without time may start before earlier tasks of the list
                if (
                    n in starts
                    or not self.before[n] <= done
                    or exact(task.release_seconds) > now
                ):
                    continue
                if (self.place[n] < since and not quick) or task.cores > idle:
                    continue
                if self.use(list(starts), done) + self.own(n) <= room:
                    go(now, {**starts, n: now}, 0 if quick else self.place[n])
            coming = self.coming(now, ends, starts)
            if coming:
                go(min(coming), starts, 0)

        go(Fraction(0), {}, 0)
        return best[0] if best else None


def random_instance(rng: random.Random, tasks: int) -> WorkDirectoryProblem:
    """Return a random instance with few tasks and many ties.

    Times, sizes, samples and releases are small numbers; some times are 0, or tenths.
    """
    made: list[str] = []
    rows, files = [], []
    own_samples = rng.random() < 0.4
    tenths = rng.random() < 0.3
    for k in range(tasks):
        outputs = [f"f{k}.{x}" for x in range(rng.choice((0, 1, 1, 2)))]
        reads = rng.sample(made, min(len(made), rng.choice((0, 0, 1, 1, 2))))
        row: Json = {
            "id": f"t{rng.random():.6f}-{k}",
            "inputs": [*reads, "outside"][: len(reads) + rng.randint(0, 1)],
            "outputs": outputs,
            "cores": rng.choice((1, 1, 2)),
            "compute_seconds": rng.randint(0, 5) / (10 if tenths else 1),
            "scratch_bytes": rng.choice((0, 0, 3)),
            "release_seconds": float(rng.choice((0, 0, 0, 2, 4))),
        }
        if own_samples:
            row["sample"] = rng.choice((None, 1, 2, 3))
        rows.append(row)
        made += outputs
        files += [
            {"id": f, "bytes": rng.randint(0, 6), "keep": rng.random() < 0.1}
            for f in outputs
        ]
    rng.shuffle(rows)
    files.append({"id": "outside", "bytes": 50})
    need = max((sum(f["bytes"] for f in files[:-1]), 1)) + 3
    quota = rng.choice((None, rng.randint(0, need), rng.randint(need // 3, need)))
    return WorkDirectoryProblem.model_validate(
        {
            "cores": rng.randint(2, 4),
            "quota_bytes": quota,
            "tasks": rows,
            "files": files,
        }
    )
