"""Which I/O policy or setting would help whom on the jobs of a log,
and how sure that is.

Options are chosen on the log as it stands, and reported from other drawings of luck
(:mod:`~ioopt.advice.runs`), each compared with sharing,
:data:`~ioopt.advice.runs.BASELINE`. No I/O policy can save more than congestion costs:
what seems to go beyond is luck of the queue, and not counted.
"""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ioopt.advice.knobs import knobs
from ioopt.advice.runs import (
    BASELINE,
    IDEAL,
    TOP_SHARE,
    Cell,
    Option,
    Question,
    Times,
    loads,
    replay,
    run_cell,
)
from ioopt.advice.spread import DAY, WEEK, Blocks, break_even, told
from ioopt.advice.verdict import RESPONSE, RUN, kind
from ioopt.errors import InstanceError, UsageError
from ioopt.plot.bandwidth import mean_rates, steps
from ioopt.problems.base import Json
from ioopt.problems.batch_io import BatchIoProblem

if TYPE_CHECKING:
    from ioopt.compiled import Floats

FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.3)
"""I/O fractions of the curve where none is known."""
FACTORS = (0.5, 1.0, 2.0)
"""Of the fraction where one is known."""
ENOUGH = 0.5
"""Darshan logs of jobs with this share of all node-seconds say what
fraction the others have.
"""
DELAY = "I/O delay"
BIN_SECONDS = 3600.0
"""Of the picture of the busiest week."""
EVERYBODY, LARGE, HEAVY, OTHERS = (
    "all jobs",
    "large jobs",
    "I/O-heavy jobs",
    "other jobs",
)
SHARING, FREE = Option(BASELINE), Option(IDEAL, IDEAL)
Progress = Callable[[int, int], None]


def advise(
    question: Question,
    *,
    threads: int = 1,
    progress: Progress = lambda done, total: None,
) -> Json:
    """The advice as plain data (``ioopt/advice``); *progress* gets runs
    done and runs in all.

    The same question has the same answer, whatever the *threads*. Raises UsageError for
    an unknown policy, InstanceError for a log without jobs that can be used.
    """
    solvers = [Option(name, name) for name in dict.fromkeys(question.solvers)]
    if BASELINE in question.solvers or not solvers:
        raise UsageError(
            f"name policies to compare with {BASELINE}, not {BASELINE} itself"
        )
    for option in solvers:
        option.policy()
    problem = question.problem(question.io.fraction)
    study = _Study(question, problem)
    if not study.volume.any():
        raise InstanceError(
            f"{question.trace.name}: no job has I/O, so no I/O policy matters"
        )
    levels = list(knobs(question, problem))
    if threads == 1:
        return _told(study, problem, *study.run_all(map, solvers, levels, progress))
    with ProcessPoolExecutor(threads, multiprocessing.get_context("spawn")) as pool:
        try:
            found = study.run_all(pool.map, solvers, levels, progress)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise
        return _told(study, problem, *found)


def _told(
    study: _Study,
    problem: BatchIoProblem,
    best: Option,
    knob: Option,
    options: Sequence[Option],
) -> Json:
    """What *study* found of the *options* as plain data."""
    question, machine, shown, fit = (
        study.question,
        problem.machine,
        study.shown,
        study.question.fit,
    )
    likely = question.scaled(question.problem(shown), study.scales[shown])
    span = float(study.submit.max() - study.submit.min()) or 1.0
    cost = study.saved(FREE, shown)
    classes = dict(zip((LARGE, HEAVY, OTHERS), study.groups.values()))
    return {
        "format": "ioopt/advice",
        "version": 2,
        "name": problem.name,
        "baseline": BASELINE,
        "fit": fit
        and {
            part.name: getattr(fit, part.name)
            for part in fields(fit)
            if part.repr and part.name != "job_ids"
        },
        "yours": question.yours,
        "measure": study.measure,
        "fraction": study.fraction,
        "fraction_from": study.source,
        "storage_given": question.machine.storage_bytes_per_second is not None,
        "shown_fraction": shown,
        "scale": study.scales[shown],
        "jobs": len(study.submit),
        "span_seconds": span,
        "nodes": machine.nodes,
        "storage_bytes_per_second": machine.storage_bytes_per_second,
        "node_utilisation": float(study.nodes @ study.ideal) / (machine.nodes * span),
        "large_job_nodes": float(study.nodes[study.groups[LARGE]].min()),
        "blocks": study.blocks.words,
        "groups": {name: int(member.sum()) for name, member in study.groups.items()},
        "best": best.name,
        "knob": knob.name,
        "verdict": study.judged(best),
        "cost": told(cost),
        "relief": told(study.saved(best, shown, measure=DELAY)),
        "beyond_cost": float((study.saved(best, shown) - cost)[0]),
        "rows": [
            {
                "option": option.name,
                "measure": measure,
                "group": group,
                **told(study.saved(option, shown, group, measure)),
            }
            for option in (*options, FREE)
            for measure in (study.measure, DELAY)
            for group in study.groups
        ],
        "curve": [
            {
                "fraction": f,
                "cost": told(study.saved(FREE, f)),
                "best": told(study.counted(best, f)),
                "knob": told(study.counted(knob, f)),
            }
            for f in study.grid
        ],
        "break_even": told(study.even(best)),
        "knob_break_even": told(study.even(knob)),
        "knobs": [
            {
                "name": option.name,
                "words": option.words,
                "how": option.how,
                **study.judged(option),
            }
            for option in options
            if option.words
        ],
        "traffic": {
            option.name: _busiest_week(question, likely, option, classes)
            for option in (SHARING, best)
        },
        "draws": question.draws,
        "resamples": question.resamples,
        "warnings": [
            text.removeprefix(f"{question.trace.name}: ") for text in likely.warnings
        ],
    }


class _Study:
    """The jobs as arrays, runs that are done, and what they say."""

    def __init__(self, question: Question, problem: BatchIoProblem) -> None:
        self.question = question
        self.submit, self.nodes, self.volume, seconds, self.ideal = loads(problem).T
        self.measured = np.array([job.id in question.measured for job in problem.jobs])
        zeros = np.zeros_like(self.ideal)
        share = np.divide(seconds, self.ideal, out=zeros, where=self.ideal > 0)
        self.groups = {
            LARGE: self.nodes >= np.quantile(self.nodes, TOP_SHARE),
            HEAVY: share >= np.quantile(share, TOP_SHARE),
            EVERYBODY: np.ones(len(self.submit), bool),
        }
        self.measure = RESPONSE if question.yours else RUN
        self.fraction: float | None = None
        self.source, work = "", self.nodes * self.ideal
        if question.fraction_given:
            self.fraction, self.source = question.io.fraction, "given"
        elif work[self.measured].sum() >= ENOUGH * work.sum():
            self.fraction, self.source = (
                float(share[self.measured].mean()),
                "by Darshan",
            )
        self.grid: Sequence[float] = FRACTIONS
        if self.fraction is not None:
            self.grid = tuple(
                dict.fromkeys(min(1.0, self.fraction * by) for by in FACTORS)
            )
        self.scales: dict[float, float] = {}
        self.found: dict[tuple[float, int, Option], Times] = {}
        self.draws = range(1, question.draws) if question.draws > 1 else range(1)
        self.blocks = Blocks(
            self.submit, len(self.draws), question.resamples, question.io.seed
        )

    def run_all(
        self,
        each: Callable[..., Iterable[Any]],
        solvers: Sequence[Option],
        levels: Sequence[Sequence[Option]],
        progress: Progress,
    ) -> tuple[Option, Option, list[Option]]:
        """Run everything: the best policy, the best setting, and all with each
        setting at its best level.

        Every option runs on the log as it stands; in the other drawings the best two do
        at each I/O fraction, and the others at the one that is shown: the known one,
        else the first that pays.
        """
        every = (
            SHARING,
            FREE,
            *solvers,
            *(option for options in levels for option in options),
        )
        draws = range(1, self.question.draws)
        total = len(self.grid) * (len(every) + 4 * len(draws))
        total += (len(solvers) + len(levels) - 2) * len(draws)

        count = itertools.count(1)
        work = partial(run_cell, self.question)
        if each is map:  # other processes only tell when a whole cell is done
            work = partial(work, done=lambda: progress(next(count), total))

        def run(cells: Sequence[Cell]) -> None:
            for cell, found in zip(cells, each(work, cells)):
                self.scales[cell.fraction], times = found
                keys = [(cell.fraction, cell.draw, option) for option in cell.options]
                self.found |= dict(zip(keys, times))
                progress(len(self.found), total)

        run([Cell(f, 0, every) for f in self.grid])
        best = max(solvers, key=self.promise)
        chosen = [max(options, key=self.promise) for options in levels]
        knob = max((option for option in chosen if not option.queue), key=self.promise)
        even = break_even(
            self.grid, [self.saved(best, f, draws=[0]) for f in self.grid]
        )[0]
        pays = [f for f in self.grid if f >= even] or self.grid[-1:]
        self.shown = pays[0] if self.fraction is None else self.fraction
        few = (SHARING, FREE, best, knob)
        more = {self.shown: tuple(dict.fromkeys((*few, *solvers, *chosen)))}
        run(
            [
                Cell(f, k, more.get(f, few), self.scales[f])
                for k in draws
                for f in self.grid
            ]
        )
        return best, knob, [*solvers, *chosen]

    def saved(
        self,
        option: Option,
        fraction: float,
        group: str = EVERYBODY,
        measure: str = "",
        draws: Sequence[int] | None = None,
    ) -> Floats:
        """What *option* saves of a *measure* (default: the study's) of a group,
        over sharing: a figure.
        """

        def value(draw: int, which: Option) -> Floats:
            times = self.found[fraction, draw, which]
            if measure == DELAY:
                return times.run - self.found[fraction, draw, FREE].run
            return times.response if self.measure == RESPONSE else times.run

        top, bottom = (
            [value(draw, which) for draw in draws or self.draws]
            for which in (option, SHARING)
        )
        return self.blocks.saved(top, bottom, self.groups[group])

    def counted(
        self, option: Option, fraction: float, draws: Sequence[int] | None = None
    ) -> Floats:
        """What *option* saves, no more than congestion costs (an order of the
        queue may save more).
        """
        saved = self.saved(option, fraction, draws=draws)
        cost = self.saved(FREE, fraction, draws=draws)
        return saved if option.queue else np.minimum(saved, cost)

    def promise(self, option: Option) -> float:
        """Saving over the curve on the log as it stands: what is chosen by."""
        return sum(float(self.counted(option, f, [0])[0]) for f in self.grid)

    def even(self, option: Option) -> Floats:
        """The I/O fraction from which on *option* pays."""
        return break_even(self.grid, [self.counted(option, f) for f in self.grid])

    def judged(self, option: Option) -> Json:
        """What *option* saves at the fraction shown, and which
        kind of verdict that is.
        """
        saved = told(self.counted(option, self.shown))
        bound = None if option.queue else told(self.saved(FREE, self.shown))["high"]
        return {**saved, "kind": kind(saved, bound)}


def _busiest_week(
    question: Question,
    problem: BatchIoProblem,
    option: Option,
    classes: Mapping[str, np.ndarray],
) -> Json:
    """Mean rates (bytes per second) of the *classes* in each hour of the busiest
    week, and its first day.

    Busiest is the week, from a midnight of the log's clock on, whose jobs have the most
    bytes. A job is of the first class that it is in; ``full`` is the share of the week
    in which the storage is at its limit.
    """
    submit, _, volume, _, _ = loads(problem).T
    days = np.convolve(np.bincount((submit // DAY).astype(int), volume), np.ones(7))[6:]
    day = int(np.argmax(days)) if len(days) else 0
    edges = day * DAY + BIN_SECONDS * np.arange(int(WEEK / BIN_SECONDS) + 1)
    trace, run = replay(question, problem, option, record=True)
    spans = np.array(run.rates, float).reshape(-1, 4)
    job = np.searchsorted(trace.offset, spans[:, 0], side="right") - 1
    first = np.argmax(list(classes.values()), axis=0)[np.array(trace.position)[job]]
    times, total = steps(spans[:, 1:])
    full = total[:-1] >= problem.machine.storage_bytes_per_second * (1 - 1e-6)
    inside = np.diff(np.clip(times, edges[0], edges[-1]))
    return {
        "day": day,
        "full": float(inside[full].sum() / WEEK),
        "classes": {
            name: mean_rates(spans[first == k, 1:], edges).tolist()
            for k, name in enumerate(classes)
        },
    }
