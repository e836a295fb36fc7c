"""Whole samples at their earliest fit: starts for the search of work directories.

Each sample is run alone, with fewer cores or bytes too; its use and cores over time, in steps of equal
length, are put where they fit first beside those before. What comes of it is not a plan but an order and
a delay for each sample, which a dispatch then runs by.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from ioopt.problems.work_directory import Fault, WorkDirectoryProblem
from ioopt.sim.work_directory.dispatch import Dispatcher, Policy, dispatch
from ioopt.sim.work_directory.replay import Replayed, replay

STEPS = 128
"""Of the longest sample."""
POLICIES: tuple[Policy, ...] = ("depth-first", "submission")
CORES, BYTES = (1, 4, 16), (1.0, 0.8)
"""Parts of the cores, and of the peak that a sample has alone, that it is run with."""
Packed = tuple[list[float], list[float]]
"""Seconds of each task's start and of each sample's delay."""


def packings(problem: WorkDirectoryProblem, quota: int) -> Iterator[Packed]:
    """One packing for each way to run the samples alone, but those that leave one stuck.

    None where there is but one sample, or where some task stands in none.
    """
    groups: dict[int, list[int]] = {}
    for k, number in enumerate(problem.samples):
        groups.setdefault(number, []).append(k)
    if len(groups) < 2 or -1 in groups:
        return
    for policy, cores, part in product(POLICIES, CORES, BYTES):
        alone: dict[object, Replayed] = {}
        shapes = []
        try:
            for tasks in groups.values():
                shape = tuple(
                    (problem.tasks[k].compute_seconds, problem.own_bytes[k]) for k in tasks
                )
                if shape not in alone:
                    few = problem.model_copy(update={"cores": max(1, problem.cores // cores)})
                    alone[shape] = _alone(few, tasks, quota, policy, part)
                shapes.append(alone[shape])
        except Fault:
            continue
        step = max(run.metrics["makespan_seconds"] for run in shapes) / STEPS
        if step > 0:
            yield _packed(problem, quota, list(groups.values()), shapes, step)


def _alone(
    problem: WorkDirectoryProblem, chosen: list[int], quota: int, policy: Policy, part: float
) -> Replayed:
    """The run of one sample alone."""
    tasks = [problem.tasks[k] for k in chosen]
    made = {name for task in tasks for name in task.outputs}
    own = WorkDirectoryProblem(
        cores=max(problem.cores, *(task.cores for task in tasks), 1),
        files=tuple(file for file in problem.products if file.id in made),
        tasks=tuple(
            task.model_copy(update={"inputs": tuple(n for n in task.inputs if n in made)})
            for task in tasks
        ),
    )
    free = replay(own, dispatch(own, Dispatcher(own, policy)))
    room = min(quota, int(free.metrics["peak_bytes"] * part))
    if room == free.metrics["peak_bytes"]:
        return free
    return replay(own, dispatch(own, Dispatcher(own, policy, room, safe=True)))


def _packed(
    problem: WorkDirectoryProblem,
    quota: int,
    groups: list[list[int]],
    shapes: list[Replayed],
    step: float,
) -> Packed:
    width = STEPS + 2
    room = np.empty((2, width * (len(groups) + 2)))
    room[0], room[1] = quota, problem.cores
    begins, delays = [0.0] * len(problem.tasks), [0.0] * len(groups)
    at, last = 0, 0
    for tasks, run in zip(groups, shapes, strict=True):
        need = _profile(problem, tasks, run, step, width)
        windows = np.lib.stride_tricks.sliding_window_view(room[:, at : last + 2 * width], width, 1)
        at += int(np.argmax((windows >= need[:, None]).all((0, 2))))
        room[:, at : at + width] -= need
        last = max(last, at + width)
        delays[problem.samples[tasks[0]]] = at * step
        for place, k in enumerate(tasks):
            begins[k] = at * step + run.times[place][0]
    return begins, delays


def _profile(
    problem: WorkDirectoryProblem, tasks: list[int], run: Replayed, step: float, width: int
) -> np.ndarray:
    """The most bytes and cores of a sample in each step of its run alone."""
    need = np.zeros((2, width))
    ends = [*(at for at, _ in run.use[1:]), run.metrics["makespan_seconds"]]
    for (start, size), end in zip(run.use, ends, strict=True):
        part = need[0, int(start / step) : int(end / step) + 1]
        np.maximum(part, size, out=part)
    for place, (start, end) in run.times.items():
        need[1, int(start / step) : int(end / step) + 1] += problem.tasks[tasks[place]].cores
    return need
