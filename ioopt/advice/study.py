"""Which I/O policy or setting would help whom on the jobs of a log, and how sure that is.

Options are chosen on the log as it stands, and reported from other drawings of luck
(:mod:`~ioopt.advice.runs`), each compared with sharing, :data:`~ioopt.advice.runs.BASELINE`. No I/O policy
can save more than congestion costs: what seems to go beyond is luck of the queue, and not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ioopt.advice import knobs, traffic
from ioopt.advice.runs import (
    BASELINE,
    IDEAL,
    SHIFT_SECONDS,
    TOP_SHARE,
    Cell,
    Option,
    Question,
    Times,
    loads,
    mapper,
    scaled,
)
from ioopt.advice.spread import Blocks, Spread, break_even, combined
from ioopt.advice.verdict import RESPONSE, RUN, kind
from ioopt.errors import InstanceError, UsageError
from ioopt.problems.base import Json
from ioopt.problems.batch_io import BatchIoProblem

if TYPE_CHECKING:
    import numpy as np

    from ioopt.compiled import Floats

FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
"""I/O fractions of the curve where none is known."""
FACTORS = (0.5, 1.0, 2.0)
"""Of the fraction where one is known."""
ENOUGH = 0.5
"""Darshan logs of jobs with this share of all node-seconds say what fraction the others have."""
DELAY = "I/O delay"
EVERYBODY, LARGE, HEAVY = "all jobs", "large jobs", "I/O-heavy jobs"
SHARING, FREE = Option(BASELINE), Option(IDEAL, IDEAL)
FIGURES = (
    "status", "reason", "logged_seconds", "simulated_seconds", "ratio", "rank", "recent", "weekly",
    "cells", "with_room", "two_users", "own_end", "knobs", "options", "processors", "exact",
)  # fmt: skip
"""Of the fit of the queue."""


def advise(
    question: Question,
    *,
    threads: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Json:
    """The advice as plain data (``ioopt/advice``); *progress* gets runs done and runs in all.

    The same question has the same answer, whatever the *threads*. Raises UsageError for an unknown
    policy, InstanceError for a log without jobs that can be used.
    """
    solvers = [Option(name, name) for name in dict.fromkeys(question.solvers)]
    if BASELINE in question.solvers or not solvers:
        raise UsageError(f"name policies to compare with {BASELINE}, not {BASELINE} itself")
    for option in solvers:
        option.policy()
    problem = question.problem(question.io.fraction)
    study = _Study(question, problem)
    fraction, source = study.known_fraction()
    if not study.volume.any():
        raise InstanceError(f"{question.trace.name}: no job has I/O, so no I/O policy matters")
    if fraction is not None:
        study.grid = tuple(dict.fromkeys(min(1.0, fraction * by) for by in FACTORS))
    levels = list(knobs.knobs(question, problem))
    with mapper(question, threads) as each:
        best, knob, chosen = study.run_all(each, solvers, levels, fraction, progress)
    shown, fit = study.shown, question.fit
    return {
        "format": "ioopt/advice", "version": 2, "name": problem.name, "baseline": BASELINE,
        "fit": fit and {name: getattr(fit, name) for name in FIGURES}, "yours": question.yours,
        "measure": study.measure, "fraction": fraction, "fraction_from": source,
        "storage_given": question.machine.storage_bytes_per_second is not None,
        "shown_fraction": shown, "scale": study.scales[shown],
        "load": study.load(), "blocks": study.blocks.words,
        "groups": {name: int(member.sum()) for name, member in study.groups.items()},
        "best": best.name, "knob": knob.name, "verdict": study.judged(best),
        "cost": study.saved(FREE, shown).told(),
        "relief": study.saved(best, shown, measure=DELAY).told(),
        "beyond_cost": max(0.0, study.saved(best, shown).value - study.saved(FREE, shown).value),
        "as_logged": study.saved(best, shown, measure=RESPONSE, draws=[0]).value,
        "rows": [
            {"option": option.name, "measure": measure, "group": group,
             **study.saved(option, shown, group, measure).told()}
            for option in (*solvers, *chosen, FREE)
            for measure in (study.measure, DELAY)
            for group in study.groups
        ],
        "curve": [
            {"fraction": f, "cost": study.saved(FREE, f).told(),
             "best": study.counted(best, f).told(), "knob": study.counted(knob, f).told()}
            for f in study.grid
        ],
        "break_even": study.even(best).told(), "knob_break_even": study.even(knob).told(),
        "knobs": [
            {"name": option.name, "words": knobs.words(option), "how": knobs.how(option, problem),
             **study.judged(option)}
            for option in chosen
        ],
        "traffic": traffic.of(
            question, scaled(question, question.problem(shown), study.scales[shown]), (SHARING, best),
            study.groups,
        ),
        "draws": question.draws, "shift_seconds": SHIFT_SECONDS, "seed": question.io.seed,
        "resamples": question.resamples,
        "warnings": [
            text.removeprefix(f"{question.trace.name}: ") for text in problem.warnings
        ],
    }  # fmt: skip


Each = Callable[[Sequence[Cell]], Iterable[tuple[float, list[Times]]]]


class _Study:
    """The jobs as arrays, runs that are done, and what they say."""

    def __init__(self, question: Question, problem: BatchIoProblem) -> None:
        import numpy as np

        self.question, self.machine = question, problem.machine
        self.submit, self.nodes, self.volume, seconds, self.ideal = loads(problem).T
        self.measured = np.array([job.id in question.measured for job in problem.jobs])
        zeros = np.zeros_like(self.ideal)
        self.share = np.divide(seconds, self.ideal, out=zeros, where=self.ideal > 0)
        self.groups: dict[str, np.ndarray] = {
            EVERYBODY: np.ones(len(self.submit), bool),
            LARGE: self.nodes >= np.quantile(self.nodes, TOP_SHARE),
            HEAVY: self.share >= np.quantile(self.share, TOP_SHARE),
        }
        self.measure = RESPONSE if question.yours else RUN
        self.grid: Sequence[float] = FRACTIONS
        self.shown = question.io.fraction
        self.scales: dict[float, float] = {}
        self.found: dict[tuple[float, int, Option], Times] = {}
        self.draws = range(1, question.draws) if question.draws > 1 else range(1)
        self.blocks = Blocks(self.submit, len(self.draws), question.resamples, question.io.seed)

    def known_fraction(self) -> tuple[float | None, str | None]:
        """The I/O fraction of the jobs without a Darshan log, and who says it; None where nobody does."""
        if self.question.fraction_given:
            return self.question.io.fraction, "given"
        work = self.nodes * self.ideal
        if work[self.measured].sum() >= ENOUGH * work.sum():
            return float(self.share[self.measured].mean()), "darshan"
        return None, None

    def run_all(
        self, each: Each, solvers: Sequence[Option], levels: Sequence[Sequence[Option]],
        fraction: float | None, progress: Callable[[int, int], None],
    ) -> tuple[Option, Option, list[Option]]:  # fmt: skip
        """Run everything: the best policy, the best setting, and each setting at its best level.

        Every option runs on the log as it stands; in the other drawings the best two do at each I/O
        fraction, and the others at the one that is shown: *fraction*, else the first that pays.
        """
        grid, draws = self.grid, range(1, self.question.draws)
        every = (SHARING, FREE, *solvers, *(option for options in levels for option in options))
        total = len(grid) * (len(every) + 4 * len(draws))
        total += (len(solvers) + len(levels) - 2) * len(draws)

        def run(cells: Sequence[Cell]) -> None:
            for cell, (scale, times) in zip(cells, each(cells)):
                self.scales[cell.fraction] = scale
                self.found |= {
                    (cell.fraction, cell.draw, option): one
                    for option, one in zip(cell.options, times)
                }
                progress(len(self.found), total)

        run([Cell(f, 0, every) for f in grid])
        best = max(solvers, key=self.promise)
        chosen = [max(options, key=self.promise) for options in levels]
        knob = max((option for option in chosen if option.name != knobs.ORDER), key=self.promise)
        saved = [Spread(self.saved(best, f, draws=[0]).value) for f in grid]
        pays = [f for f in grid if f >= break_even(grid, saved).value]
        self.shown = fraction if fraction is not None else (pays or grid[-1:])[0]
        others = [option for option in (*solvers, *chosen) if option not in (best, knob)]
        more = {f: others if f == self.shown else [] for f in grid}
        compared = {f: (SHARING, FREE, best, knob, *more[f]) for f in grid}
        run([Cell(f, k, compared[f], self.scales[f]) for k in draws for f in grid])
        return best, knob, chosen

    def saved(
        self, option: Option, fraction: float, group: str = EVERYBODY, measure: str = "",
        draws: Sequence[int] | None = None,
    ) -> Spread:  # fmt: skip
        """What *option* saves of a *measure* (default: the study's) of a group, over sharing."""

        def value(draw: int, which: Option) -> Floats:
            times = self.found[fraction, draw, which]
            if measure == DELAY:
                return times.run - self.found[fraction, draw, FREE].run
            return times.response if (measure or self.measure) == RESPONSE else times.run

        member = self.groups[group]
        top, bottom = (
            self.blocks.sums([value(draw, which) for draw in draws or self.draws], member)
            for which in (option, SHARING)
        )
        return self.blocks.saved(top, bottom)

    def counted(self, option: Option, fraction: float) -> Spread:
        """What *option* saves, no more than congestion costs (an order of the queue may save more)."""
        saved = self.saved(option, fraction)
        order = option.name == knobs.ORDER
        return saved if order else combined(min, saved, self.saved(FREE, fraction))

    def promise(self, option: Option) -> float:
        """Mean saving over the curve on the log as it stands: what is chosen by."""
        pairs = [[self.saved(o, f, draws=[0]).value for o in (option, FREE)] for f in self.grid]
        return sum(map(min, pairs)) / len(pairs)

    def even(self, option: Option) -> Spread:
        """The I/O fraction from which on *option* pays."""
        return break_even(self.grid, [self.counted(option, f) for f in self.grid])

    def judged(self, option: Option) -> Json:
        """What *option* saves at the fraction shown, and which kind of verdict that is."""
        saved, cost = self.counted(option, self.shown), self.saved(FREE, self.shown)
        bound = None if option.name == knobs.ORDER else cost.told()["high"]
        return {**saved.told(), "kind": kind(saved.told(), bound)}

    def load(self) -> Json:
        """What the log and the assumptions say of the machine and of what it was asked for."""
        import numpy as np

        machine, kept = self.machine, self.question.trace.jobs
        waits = [job.wait_seconds for job in kept if job.wait_seconds is not None]
        span = max(float(self.submit.max() - self.submit.min()), 1.0)
        return {
            "jobs": len(self.submit), "jobs_in_log": len(kept), "span_seconds": span,
            "nodes": machine.nodes, "node_bytes_per_second": machine.node_bytes_per_second,
            "storage_bytes_per_second": machine.storage_bytes_per_second,
            "node_utilisation": float(self.nodes @ self.ideal) / (machine.nodes * span),
            "median_job_nodes": float(np.median(self.nodes)),
            "large_job_nodes": float(np.quantile(self.nodes, TOP_SHARE)),
            "median_run_seconds": float(np.median(self.ideal)),
            "mean_wait_in_log_seconds": sum(waits) / len(waits) if waits else None,
            "darshan_logs": int(self.measured.sum()),
        }  # fmt: skip
