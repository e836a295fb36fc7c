"""Find which setting or I/O policy shortens the jobs of a log, and from which I/O
fraction and storage rate on.

Options are chosen on the start times in the log. Their savings are computed on the
other draws (:mod:`~ioopt.advice.workload`), and each option is compared with sharing,
:data:`~ioopt.advice.knobs.BASELINE`. Since every job starts at the time in the log, no
option can save more than congestion costs.
"""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ioopt.advice.answer import (
    TRUSTED_SCALE,
    Advice,
    Axis,
    AxisPoint,
    Kind,
    Saving,
    Switch,
    verdict_kind,
)
from ioopt.advice.knobs import BASELINE, FREE, SHARING, Option, policies, settings_of
from ioopt.advice.replays import Cell, Replayer, Totals, busiest_week
from ioopt.advice.spread import (
    WORTH,
    Blocks,
    Figure,
    Range,
    figure_of,
    paying_range,
)
from ioopt.advice.workload import (
    ALL,
    GROUPS,
    LARGE,
    Point,
    Question,
    Workload,
    members,
    workload_of,
)
from ioopt.errors import InstanceError

if TYPE_CHECKING:
    from ioopt.arrays import Floats

FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.3)
"""The I/O fractions to try when the I/O fraction is not known."""
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The storage rates to try are the storage rate of the machine times these factors. If
the I/O fraction is known, the fractions to try are found in the same way.
"""
RUN, DELAY = "run time", "I/O delay"
Progress = Callable[[int, int], None]
Each = Callable[
    [Callable[[Cell], tuple[float, list[Totals]]], Sequence[Cell]],
    Iterable[tuple[float, list[Totals]]],
]
"""The type of a function that works like ``map``; it may run in this process or in
several others.
"""


def advise(
    question: Question,
    *,
    threads: int = 1,
    progress: Progress = lambda done, total: None,
) -> Advice:
    """Return the advice. *progress* is called with the number of finished replays and
    the number of all replays.

    The answer does not depend on *threads*. Raises UsageError for an unknown policy and
    for absurd rates, and InstanceError for a log that is too short or whose jobs have
    no I/O.
    """
    looked_at = policies(question.solvers)
    workload = workload_of(question)
    if not any(volume for _, volume, _ in workload.trace.pieces):
        raise InstanceError(
            f"{question.trace.name}: no job has I/O, so no I/O policy matters"
        )
    study = _Study(question, workload, looked_at, progress)
    if threads == 1:
        study.run_all(map)
        return study.advice()
    with ProcessPoolExecutor(threads, multiprocessing.get_context("spawn")) as pool:
        try:
            study.run_all(pool.map)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise
    return study.advice()


class _Study:
    """The finished replays, keyed by point, draw and option, and the conclusions from
    them.
    """

    shown: Point
    """The point (I/O fraction and storage rate) for which the verdict and all details
    are computed.
    """
    policy: Option
    """The best I/O policy."""
    settings: list[Option]
    """The settings that a site can switch on today, each at its best level."""

    def __init__(
        self,
        question: Question,
        workload: Workload,
        looked_at: Sequence[Option],
        progress: Progress,
    ) -> None:
        self.question = question
        self.workload = workload
        self.policies = list(looked_at)
        self.levels = settings_of(workload)
        self.progress = progress
        self.draws = range(1, question.draws) if question.draws > 1 else range(1)
        """The draws that are reported."""
        self.blocks = Blocks(
            workload.starts, len(self.draws), question.resamples, question.io.seed
        )
        self.scales: dict[Point, float] = {}
        self.totals: dict[tuple[Point, int, Option], Totals] = {}
        self.by_fraction = [
            Point(fraction, workload.storage)
            for fraction in _fractions(workload.fraction)
        ]

    def run_all(self, each: Each) -> None:
        """Run all replays.

        Every option is replayed on the start times in the log, at each I/O fraction.
        The best policy, and each setting at its best level, are replayed in every draw
        at each I/O fraction and storage rate. The other policies are replayed in every
        draw only at the point for which details are shown.
        """
        levels = [option for options in self.levels for option in options]
        every = (SHARING, FREE, *self.policies, *levels)
        storages = _storages(self.workload)
        others = range(1, self.question.draws)
        further = len(storages) - 1
        few = 3 + len(self.levels)
        total = len(self.by_fraction) * len(every) + few * further
        total += few * len(others) * (len(self.by_fraction) + further)
        total += len(others) * (len(self.policies) - 1)
        self._run(each, [Cell(point, 0, every) for point in self.by_fraction], total)
        self._choose()
        self.by_storage = [Point(self.shown.fraction, storage) for storage in storages]
        axes = (SHARING, FREE, self.policy, *self.settings)
        beside = [point for point in self.by_storage if point != self.shown]
        self._run(each, [Cell(point, 0, axes) for point in beside], total)
        details = (SHARING, FREE, *self.policies, *self.settings)
        cells = []
        for draw in others:
            for point in (*self.by_fraction, *beside):
                options = details if point == self.shown else axes
                cells.append(Cell(point, draw, options, self.scales[point]))
        self._run(each, cells, total)

    def _run(self, each: Each, cells: Sequence[Cell], total: int) -> None:
        """Replay *cells* and store their totals. *total* is the number of all replays
        of the study, which is reported as progress.
        """
        work = Replayer(self.workload, self.blocks).run
        if each is map:  # other processes report whole cells only
            count = itertools.count(len(self.totals) + 1)
            work = partial(work, done=lambda: self.progress(next(count), total))
        for cell, (scale, totals) in zip(cells, each(work, cells)):
            self.scales[cell.point] = scale
            for option, found in zip(cell.options, totals):
                self.totals[cell.point, cell.draw, option] = found
            self.progress(len(self.totals), total)

    def _choose(self) -> None:
        """Choose the best policy, the best level of each setting, and the point for
        which details are shown.

        This point has the known I/O fraction. If none is known, it is the first at
        which a setting pays on the start times in the log, or else the largest at which
        a conclusion can be drawn.
        """
        places = self.by_fraction
        known = self.workload.fraction
        if known is not None:
            places = [point for point in places if point.fraction == known]

        def promise(option: Option) -> float:
            return max(self._at_first(option, point) for point in places)

        self.policy = max(self.policies, key=promise)
        self.settings = [max(options, key=promise) for options in self.levels]
        trusted = [point for point in places if self.scales[point] >= TRUSTED_SCALE]
        if not trusted:
            trusted = places[:1]
        self.shown = trusted[-1]
        for point in trusted:
            if self._at_first(self.setting_at(point), point) >= WORTH:
                self.shown = point
                break

    def _at_first(self, option: Option, point: Point) -> float:
        """Return the saving of *option* at *point* on the start times in the log."""
        return float(self.saved(option, point, draws=[0])[0])

    def setting_at(self, point: Point) -> Option:
        """Return the setting that saves most at *point* on the start times in the
        log.
        """
        return max(self.settings, key=lambda option: self._at_first(option, point))

    def saved(
        self,
        option: Option,
        point: Point,
        group: str = ALL,
        measure: str = RUN,
        draws: Sequence[int] | None = None,
    ) -> Floats:
        """Return the sample of the saving of *option* at *point*: the share of
        *measure*, run time or I/O delay, that it saves for the jobs of *group*.

        *draws* are the draws to use (None: those that are reported).
        """
        top = self._sums(option, point, group, draws)
        bottom = self._sums(SHARING, point, group, draws)
        if measure == DELAY:
            free = self._sums(FREE, point, group, draws)
            top = top - free
            bottom = bottom - free
        return self.blocks.saved(top, bottom)

    def _sums(
        self, option: Option, point: Point, group: str, draws: Sequence[int] | None
    ) -> Floats:
        """Return the sums of the run times of *group*, with one row for each draw and
        one column for each block.
        """
        place = GROUPS.index(group)
        rows = [
            self.totals[point, draw, option].run_seconds[place]
            for draw in draws or self.draws
        ]
        return np.array(rows)

    def figure(
        self, option: Option, point: Point, group: str = ALL, measure: str = RUN
    ) -> Figure:
        """Return the saving of *option* at *point*, as :meth:`saved` computes it, with
        its interval.
        """
        return figure_of(self.saved(option, point, group, measure))

    def advice(self) -> Advice:
        """Return the findings of the study as :class:`~ioopt.advice.answer.Advice`."""
        workload = self.workload
        trace = workload.trace
        shown = self.shown
        setting = self.setting_at(shown)
        fraction = self._fraction_axis()
        storage = self._storage_axis()
        run_seconds = np.array(workload.run_seconds)
        span = float((workload.starts + run_seconds).max())
        likely = workload.at(shown, scale=self.scales[shown])
        nodes = np.array(trace.allocated)
        groups = members(likely)
        switches = [
            Switch(
                option.name,
                option.words,
                option.lines,
                self._kind(option, shown),
                self.figure(option, shown),
            )
            for option in self.settings
        ]
        return Advice(
            name=workload.name,
            baseline=BASELINE,
            verdict=self._verdict(fraction, storage),
            setting=setting.name,
            policy=self.policy.name,
            fraction=fraction,
            storage=storage,
            cost=self.figure(FREE, shown),
            policy_saves=self.figure(self.policy, shown),
            switches=switches,
            savings=self._savings(),
            traffic=[busiest_week(likely, one) for one in (SHARING, setting)],
            jobs=len(trace),
            groups={name: int(member.sum()) for name, member in groups.items()},
            large_job_nodes=int(nodes[groups[LARGE]].min()),
            span_seconds=span,
            nodes=trace.machine.nodes,
            node_rate=workload.node_rate,
            node_rate_given=workload.node_rate_given,
            io_period_seconds=workload.io.period_seconds,
            node_utilisation=float(nodes @ run_seconds) / (trace.machine.nodes * span),
            node_hours_above_machine=self._above_machine(SHARING),
            node_hours_above_machine_with_setting=self._above_machine(setting),
            scale=self.scales[shown],
            draws=self.question.draws,
            resamples=self.question.resamples,
            blocks=self.blocks.words,
            warnings=self._warnings(),
        )

    def _warnings(self) -> list[str]:
        """Return the notes on the assumptions; the I/O fraction in them is the one for
        which details are shown.
        """
        rule = self.workload.io
        shown = replace(rule, fraction=self.shown.fraction)
        return [
            text.replace(rule.describe(), shown.describe())
            for text in self.workload.warnings
        ]

    def _verdict(self, fraction: Axis, storage: Axis) -> Kind:
        """Return the conclusion about the best setting.

        A figure that is not known must not decide: the conclusion must be the same at
        all values of this figure that were tried. If it is not the same, and a setting
        pays from some value on, the conclusion is that it depends on the figure. If the
        rate of a node is a guess, of which no other values are tried, nothing is
        concluded.
        """
        points = {self.shown}
        begins = []
        if self.workload.fraction is None:
            points |= set(self.by_fraction)
            begins.append(fraction.pays_from.value)
        if not self.workload.storage_given:
            points |= set(self.by_storage)
            begins.append(storage.pays_from.value)
        kinds = {
            self._kind(self.setting_at(point), point)
            for point in points
            if self._trusted(point)
        }
        if len(kinds) == 1:
            if self.workload.node_rate_given:
                return kinds.pop()
            return Kind.UNCERTAIN
        if any(begin is not None for begin in begins):
            return Kind.DEPENDS
        return Kind.UNCERTAIN

    def _fraction_axis(self) -> Axis:
        points = self.by_fraction
        values = [point.fraction for point in points]
        pays, policy_pays = self._paying(values, points)
        return Axis(
            value=self.workload.fraction,
            shown=self.shown.fraction,
            source=self.workload.fraction_source,
            pays_from=figure_of(pays.begin),
            pays_to=figure_of(pays.end),
            policy_pays_from=figure_of(policy_pays.begin),
            points=self._axis_points(values, points),
        )

    def _storage_axis(self) -> Axis:
        """Return the axis of storage rates. A change pays below some rate, not
        above.
        """
        shown = self.shown.storage
        falling = self.by_storage[::-1]
        loads = [shown / point.storage for point in falling]
        pays, policy_pays = self._paying(loads, falling)
        values = [point.storage for point in self.by_storage]
        return Axis(
            value=self.workload.storage,
            shown=shown,
            source="given" if self.workload.storage_given else "a guess",
            pays_from=_rate_figure(shown, pays.begin),
            pays_to=_rate_figure(shown, pays.end),
            policy_pays_from=_rate_figure(shown, policy_pays.begin),
            points=self._axis_points(values, self.by_storage),
        )

    def _paying(
        self, values: Sequence[float], points: Sequence[Point]
    ) -> tuple[Range, Range]:
        """Return the range in which the best setting pays and the range in which the
        best policy pays, along *points* with ascending *values*.

        If a change pays at the point for which details are shown, the range contains
        that point.
        """
        trusted = [place for place, point in enumerate(points) if self._trusted(point)]
        looked_at = [points[place] for place in trusted]
        axis = [values[place] for place in trusted]
        known = looked_at.index(self.shown) if self.shown in looked_at else None
        ranges = []
        for option_at in (self.setting_at, lambda point: self.policy):
            saved = [self.saved(option_at(point), point) for point in looked_at]
            ranges.append(paying_range(axis, saved, known))
        return ranges[0], ranges[1]

    def _trusted(self, point: Point) -> bool:
        """Return whether *point* is used for conclusions. The point for which details
        are shown always is.
        """
        return self.scales[point] >= TRUSTED_SCALE or point == self.shown

    def _kind(self, option: Option, point: Point) -> Kind:
        """Return the conclusion about *option* at *point*."""
        return verdict_kind(self.figure(option, point), self.scales[point])

    def _axis_points(
        self, values: Sequence[float], points: Sequence[Point]
    ) -> list[AxisPoint]:
        found = []
        for value, point in zip(values, points):
            best = self.setting_at(point)
            cost = self.figure(FREE, point)
            policy = self.figure(self.policy, point)
            setting = self.figure(best, point)
            scale = self.scales[point]
            found.append(AxisPoint(value, cost, policy, setting, best.name, scale))
        return found

    def _savings(self) -> list[Saving]:
        """Return the savings of each option for each group of jobs, at the point for
        which details are shown.
        """
        found = []
        for option in (*self.policies, *self.settings, FREE):
            for group in GROUPS:
                run = self.figure(option, self.shown, group)
                delay = self.figure(option, self.shown, group, DELAY)
                found.append(Saving(option.name, group, run, delay))
        return found

    def _above_machine(self, option: Option) -> float:
        """Return the number of node-hours beyond the nodes of the machine, as a mean
        over the reported draws.
        """
        seconds = [
            self.totals[self.shown, draw, option].above_machine for draw in self.draws
        ]
        return sum(seconds) / len(seconds) / 3600


def _fractions(known: float | None) -> list[float]:
    """Return the I/O fractions to try, in ascending order; *known* is the known I/O
    fraction, if any.
    """
    if known is None:
        return list(FRACTIONS)
    return list(dict.fromkeys(min(1.0, known * factor) for factor in FACTORS))


def _storages(workload: Workload) -> list[float]:
    """Return the storage rates to try, in ascending order.

    No rate is below the rate of a node. No rate except that of the workload itself is
    above the rate of all nodes together.
    """
    own = workload.storage
    most = max(own, workload.all_nodes_rate)
    rates = {min(most, max(workload.node_rate, own * factor)) for factor in FACTORS}
    return sorted(rates)


def _rate_figure(shown: float, loads: Floats) -> Figure:
    """Return, with its interval, the storage rate at which the load is *loads* times
    the load at rate *shown*.

    An infinite load gives None, because no storage rate causes it.
    """
    rates = figure_of(shown / loads)
    return Figure(rates.value or None, rates.low or None, rates.high or None)
