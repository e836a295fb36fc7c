"""Replay a run of a recorded workflow as if tasks read all that was written before
them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain

from ioopt.budget.nextflow import Capped
from ioopt.formats.nextflow.trace import ASSUMED_READS, OWN_BYTES
from ioopt.options import Deadline
from ioopt.problems.base import Json
from ioopt.problems.work_directory import WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.sim.work_directory.dispatch import Dispatcher, dispatch, named
from ioopt.sim.work_directory.order import least_order
from ioopt.sim.work_directory.replay import carried_out
from ioopt.solvers.work_directory.dispatch import Question, one_by_one

WAYS = ("default", "nextflow", "setting")
"""The ways to fit a quota by which an engine can run."""


def process_of(task: str) -> str:
    """Return the process of the recorded *task*: its name without tag and number."""
    return task.partition(" (")[0].partition("#")[0].strip()


def assumed_processes(problem: WorkDirectoryProblem) -> Json:
    """Return the processes whose reads are assumed in each way, with the numbers of
    recorded tasks, and the bytes that the tasks before them wrote: in falling order of
    these.
    """
    index = problem.task_index
    found: Json = {}
    for how, names in ((problem.meta or {}).get(ASSUMED_READS) or {}).items():
        rows: dict[str, Json] = {}
        for name in names:
            process = process_of(name)
            new = {"process": process, "tasks": 0, "bytes_before": 0, "decides": None}
            row = rows.setdefault(process, new)
            row["tasks"] += 1
            at = index.get(name, index.get(f"{name}#1"))  # or its first copy
            before = () if at is None else problem.predecessors[at]
            row["bytes_before"] += sum(problem.own_bytes[p] for p in before)
        found[how] = sorted(rows.values(), key=lambda row: -row["bytes_before"])
    return found


def once_only(problem: WorkDirectoryProblem) -> list[Json]:
    """Return the processes of the tasks that belong to no sample, in falling order of
    the bytes that they write. ``gathers`` says whether they wait for samples.
    """
    rows: dict[tuple[str, bool], Json] = {}
    for k, task in enumerate(problem.tasks):
        if task.sample is None:
            process, gathers = process_of(task.id), k in problem.gathering
            new = {"process": process, "tasks": 0, "bytes": 0, "gathers": gathers}
            row = rows.setdefault((process, gathers), new)
            row["tasks"] += 1
            row["bytes"] += sum(problem.products[f].bytes for f in problem.outputs[k])
    return sorted(rows.values(), key=lambda row: -row["bytes"])


def deciding(
    processes: Sequence[str], keeps: Callable[[Collection[str]], bool]
) -> list[str]:
    """Return the processes of which the answer must know that they read bytes of their
    own alone, whatever the others read.

    *keeps* tells whether the run keeps the quota if the tasks of some processes read
    all files. *processes* are in falling order of how much is expected to hang on them.
    """
    reads_all: list[str] = []
    found: list[str] = []
    groups = [[*processes]]
    while groups:  # the last processes first, by halves
        group = groups.pop()
        if keeps([*reads_all, *group]):
            reads_all += group
        elif len(group) == 1:
            found += group
        else:
            half = len(group) // 2
            groups += [group[:half], group[half:]]
    return found[::-1]


def reading_all(
    problem: WorkDirectoryProblem, processes: Collection[str] | None = None
) -> WorkDirectoryProblem:
    """Return *problem* with tasks that read all products of the tasks before them if
    their record shows that they asked for fewer bytes: those of *processes* (None: of
    all).

    The products then stay until these tasks have ended, which is the most that they can
    take, whichever part of them is read.
    """
    names = ((problem.meta or {}).get(ASSUMED_READS) or {}).get(OWN_BYTES, ())
    if processes is not None:
        names = [name for name in names if process_of(name) in processes]
    tasks = list(problem.tasks)
    for k in _named(problem, frozenset(names)):
        before = (problem.tasks[p].outputs for p in problem.predecessors[k])
        inputs = dict.fromkeys((*tasks[k].inputs, *chain.from_iterable(before)))
        tasks[k] = tasks[k].model_copy(update={"inputs": tuple(inputs)})
    keys = ("name", "cores", "quota_bytes", "meta")
    again = {key: getattr(problem, key) for key in keys}
    return WorkDirectoryProblem(tasks=tuple(tasks), files=problem.files, **again)


def _named(problem: WorkDirectoryProblem, names: Collection[str]) -> Iterator[int]:
    """Yield the tasks that are one of *names*, or a copy of one (rule B15)."""
    for k, task in enumerate(problem.tasks):
        name = task.id
        while name not in names and "#" in name:
            name = name.rpartition("#")[0]
        if name in names:
            yield k


def run_of(
    problem: WorkDirectoryProblem, found: Json, way: str, deadline: Deadline
) -> Json:
    """Return the metrics of the run of *problem* by the *way* that is in the answers
    *found*: one of :data:`WAYS`.

    Past the *deadline*, fewer orders of the tasks are tried for a setting. If no order
    of the tasks is known that keeps the quota, the run is that of the best order, one
    task at a time.
    """
    if way == "setting":
        order = least_order(problem, deadline)
        question = Question.of(problem, order=order)
        if question.walk is None:
            plan = named(problem, problem.ticks, one_by_one(problem, order))
            return _metrics(problem, plan)
        setting = found["setting"]
        dispatcher = Dispatcher(
            problem,
            setting["policy"],
            problem.quota_bytes,
            safe=True,
            in_flight=setting["in_flight"],
            reference=question.walk,
        )
    else:
        dispatcher = engine(problem, found, way)
    return _metrics(problem, dispatch(problem, dispatcher))


def _metrics(problem: WorkDirectoryProblem, plan: WorkDirectoryPlan) -> Json:
    """Return the metrics of *plan*, whether it keeps the quota or not."""
    return carried_out(problem, plan.model_copy(update={"ignore_quota": True})).metrics


def engine(problem: WorkDirectoryProblem, found: Json, way: str) -> Dispatcher:
    """Return the dispatcher of an engine that looks at no bytes: by ``default``, or
    with the caps of ``nextflow``.
    """
    if way == "nextflow":
        caps = found["nextflow"]
        return Capped(problem, caps["tasks"], caps["forks"])
    return Dispatcher(problem)
