"""Run a small workflow through one shared storage on the emulated cluster, and record
it as a Nextflow trace: the sample of ``ioopt validate``.

    python scripts/tools/recorded_run.py    # a run of two minutes (root, Linux, ip, tc)

Twelve samples go through three processes, and a report reads all of them. The storage
and three nodes of four cores have network namespaces of their own (:mod:`testbed`). As
an engine on a shared file system does, every task starts a container, copies its inputs
from the storage, computes, and copies its output back. A task is submitted once all
that it reads is written; first come, first served, it goes to the node with most idle
cores. Bytes are real, and so is TCP; containers and computing only take time.

The records are docs/samples/recorded-trace.txt, with the raw values of
``trace.raw = true``, and docs/samples/recorded-dag.dot.
"""

from __future__ import annotations

import hashlib
import random
import sys
import tempfile
import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from bench.testbed import hurrying, skipped  # noqa: E402
from testbed.cluster import STORAGE, Answer, CarryingFault, Cluster  # noqa: E402
from testbed.network import Network  # noqa: E402

SAMPLES = ROOT / "docs" / "samples"
TRACE = SAMPLES / "recorded-trace.txt"
DAG = SAMPLES / "recorded-dag.dot"
SEED = 1
NODES = ("node1", "node2", "node3")
CORES = 4
MEMORY = 1 << 30
"""Memory, in bytes, that a task asks for with each of its cores."""
STORAGE_RATE = 2.5e6
"""Bytes of files that the storage sends and receives in a second, both together."""
NODE_RATE = 25e6
"""The same for the interface of a node."""
CONTAINER_SECONDS = (0.4, 0.6)
"""The shortest and the longest start of a container."""
SAMPLES_IN_RUN = 12
READ_MEGABYTES = (3.5, 6.0)
"""The least and the largest size of the file that a sample starts from."""


@dataclass(frozen=True)
class Process:
    """A process of the workflow: the cores of its tasks, and the least and the most of
    the seconds that they compute and of the megabytes that they write.
    """

    name: str
    cores: int
    seconds: tuple[float, float]
    megabytes: tuple[float, float]


PROCESSES = (
    Process("CLEAN", 1, (1.0, 3.0), (2.5, 4.0)),
    Process("ALIGN", 2, (4.0, 8.0), (2.0, 3.5)),
    Process("COUNT", 1, (1.0, 2.0), (0.1, 0.3)),
)
"""The processes that each sample goes through, one after the other."""
REPORT = Process("REPORT", 1, (2.0, 2.0), (0.5, 0.5))

File = tuple[str, int]
"""The name of a file and its bytes."""
Order = dict[str, Any]
"""An order for the agent of a node, in the words of :mod:`testbed.agent`."""
Steps = Generator[Order, Answer, None]
"""The orders of a task, one after the other; each is answered before the next."""


@dataclass
class Task:
    """A task: what it needs, and the times of the record.

    ``container`` are the seconds that its container takes to start, and ``computes``
    those that its script takes. The other times are seconds of the monotonic clock;
    ``script`` is how long the script took.
    """

    name: str
    process: Process
    inputs: list[File]
    output: File
    container: float
    computes: float
    node: str = ""
    submit: float = 0.0
    start: float = 0.0
    script: float = 0.0
    complete: float = 0.0

    def steps(self) -> Steps:
        """Yield the orders for the node, one after the other, and keep the times.

        What is sent to the iterator is the answer to the order that it has yielded.
        """
        answer = yield _run(self.container, [], [])
        self.start = answer.start
        for file, size in self.inputs:
            yield {"do": "get", "file": file, "bytes": size, "peer": STORAGE}
        answer = yield _run(self.computes, self.inputs, [self.output])
        self.script = answer.end - answer.start
        file, size = self.output
        answer = yield {"do": "put", "file": file, "bytes": size, "peer": STORAGE}
        self.complete = answer.end
        # A node keeps nothing: whoever reads a file reads it from the storage.
        for file, _ in (*self.inputs, self.output):
            yield {"do": "evict", "file": file}


def _run(seconds: float, inputs: list[File], outputs: list[File]) -> Order:
    """Return the order to read *inputs*, compute, and write *outputs*."""
    return {"do": "run", "seconds": seconds, "inputs": inputs, "outputs": outputs}


def workflow(seed: int) -> tuple[list[File], list[Task]]:
    """Return the files that are there before the run, and the tasks."""
    rng = random.Random(seed)
    files: list[File] = []
    tasks: list[Task] = []
    counts: list[File] = []
    for number in range(1, SAMPLES_IN_RUN + 1):
        tag = f"s{number:02}"
        read = f"{tag}.reads", _bytes(rng, READ_MEGABYTES)
        files.append(read)
        for process in PROCESSES:
            task = _task(process, tag, [read], rng)
            tasks.append(task)
            read = task.output
        counts.append(read)
    tasks.append(_task(REPORT, "all", counts, rng))
    return files, tasks


def _bytes(rng: random.Random, megabytes: tuple[float, float]) -> int:
    """Return a number of bytes between two numbers of megabytes."""
    return round(1e6 * rng.uniform(*megabytes))


def _task(process: Process, tag: str, inputs: list[File], rng: random.Random) -> Task:
    """Return the task of *process* for the sample *tag*."""
    return Task(
        f"{process.name} ({tag})",
        process,
        inputs,
        (f"{tag}.{process.name.lower()}", _bytes(rng, process.megabytes)),
        container=rng.uniform(*CONTAINER_SECONDS),
        computes=rng.uniform(*process.seconds),
    )


class Engine:
    """Run *tasks* on the agents of *cluster*, first come, first served.

    *there* are the files on the storage.
    """

    def __init__(self, cluster: Cluster, there: Iterable[File], tasks: list[Task]):
        self.cluster = cluster
        self.there = {name for name, _ in there}
        self.waiting = list(tasks)
        self.queue: list[Task] = []
        self.idle = dict.fromkeys(NODES, CORES)
        self.under_way: dict[int, tuple[Task, Steps]] = {}

    def run(self) -> None:
        """Run all tasks."""
        self._submit(time.monotonic())
        self._place()
        while self.under_way:
            answer = self.cluster.answer()
            assert answer is not None
            self._take(answer)

    def _submit(self, now: float) -> None:
        """Queue each waiting task whose inputs are written."""
        for task in list(self.waiting):
            if all(name in self.there for name, _ in task.inputs):
                self.waiting.remove(task)
                task.submit = now
                self.queue.append(task)

    def _place(self) -> None:
        """Start queued tasks, first come, first served, as long as a node has cores."""
        while self.queue:
            node = max(NODES, key=lambda name: self.idle[name])
            task = self.queue[0]
            if self.idle[node] < task.process.cores:
                return
            self.queue.pop(0)
            self.idle[node] -= task.process.cores
            task.node = node
            steps = task.steps()
            self._order(task, steps, next(steps))

    def _order(self, task: Task, steps: Steps, order: Order) -> None:
        """Give an order for *task*, which takes *steps*, to its node."""
        number = self.cluster.order(task.node, **order)
        self.under_way[number] = task, steps

    def _take(self, answer: Answer) -> None:
        """Go on with the task whose order has been carried out."""
        task, steps = self.under_way.pop(answer.id)
        try:
            self._order(task, steps, steps.send(answer))
        except StopIteration:
            self.there.add(task.output[0])
            self.idle[task.node] += task.process.cores
            self._submit(answer.end)
            self._place()


HEADS = (
    "task_id",
    "hash",
    "process",
    "tag",
    "name",
    "hostname",
    "status",
    "exit",
    "cpus",
    "memory",
    "attempt",
    "submit",
    "start",
    "complete",
    "duration",
    "realtime",
    "%cpu",
    "rchar",
    "wchar",
    "read_bytes",
    "write_bytes",
)


def trace(tasks: list[Task], began: float) -> str:
    """Return the trace of *tasks*, in order of their ends, as Nextflow writes it.

    *began* is the time of the epoch at which the monotonic clock was 0.
    """
    lines = ["\t".join(HEADS)]
    for task in sorted(tasks, key=lambda task: task.complete):
        lines.append("\t".join(map(str, _row(task, 1 + tasks.index(task), began))))
    return "\n".join(lines) + "\n"


def _row(task: Task, number: int, began: float) -> list[object]:
    """Return the cells of *task* with the columns of HEADS."""
    digest = hashlib.sha256(task.name.encode()).hexdigest()
    name, _, tag = task.name.rstrip(")").partition(" (")
    submit, start, complete = (
        round(1000 * (began + at)) for at in (task.submit, task.start, task.complete)
    )
    read = sum(size for _, size in task.inputs)
    _, wrote = task.output
    return [
        number,
        f"{digest[:2]}/{digest[2:8]}",
        name,
        tag,
        task.name,
        task.node,
        "COMPLETED",
        0,
        task.process.cores,
        task.process.cores * MEMORY,
        1,
        submit,
        start,
        complete,
        complete - submit,
        round(1000 * task.script),
        100.0 * task.process.cores,
        read,
        wrote,
        read,
        wrote,
    ]


def dag() -> str:
    """Return the graph of the processes, as Nextflow writes it for Graphviz."""
    names = [process.name for process in (*PROCESSES, REPORT)]
    lines = ['digraph "recorded" {']
    for name in names:
        lines.append(f'{name} [label="{name}"];')
    for one, other in pairwise(names):
        lines.append(f"{one} -> {other};")
    return "\n".join([*lines, "}"]) + "\n"


def carried_out(files: list[File], tasks: list[Task]) -> None:
    """Run *tasks* on an emulated cluster, whose storage has *files* before the run."""
    with (
        hurrying(),
        tempfile.TemporaryDirectory(prefix="ioopt-testbed-") as folder,
        Network() as network,
        Cluster(folder, "cubic") as cluster,
    ):
        network.add(cluster, STORAGE, STORAGE_RATE)
        for node in NODES:
            network.add(cluster, node, NODE_RATE)
        for name in (STORAGE, *NODES):
            cluster.do(name, "open", disk=None)
        for file, size in files:
            cluster.do(STORAGE, "make", file=file, bytes=size)
        Engine(cluster, files, tasks).run()


def main() -> None:
    """Make a new run, and write its records."""
    if skipped():
        return
    files, tasks = workflow(SEED)
    try:
        carried_out(files, tasks)
    except CarryingFault as fault:
        raise SystemExit(f"recorded_run: {fault}") from None
    TRACE.write_text(trace(tasks, time.time() - time.monotonic()))
    DAG.write_text(dag())
    seconds = max(task.complete for task in tasks) - min(task.submit for task in tasks)
    print(f"{TRACE.relative_to(ROOT)}: {len(tasks)} tasks, {seconds:.1f} s")


if __name__ == "__main__":
    main()
