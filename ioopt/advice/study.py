"""Find which setting or I/O policy shortens the jobs of a log, and from which I/O
fraction and storage rate on.

Options are chosen on the start times in the log, settings at each point anew. Their
savings are computed on the
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
    FEWEST_DRAWS,
    KNOWN,
    MOST_WAITING,
    Advice,
    Axis,
    AxisPoint,
    Kind,
    Saving,
    Switch,
    verdict_kind,
)
from ioopt.advice.knobs import (
    BASELINE,
    FREE,
    SHARING,
    Option,
    policies,
    settings_at,
    suspends,
)
from ioopt.advice.plausible import conflict_of
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
    from ioopt.problems.batch_io import BatchIoProblem

FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.3)
"""The I/O fractions to try when the I/O fraction is not known."""
MOST_LEVELS = 6
"""About so many levels of settings are tried at a point."""
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The storage rates to try are the storage rate of the machine times these factors. If
the I/O fraction is known, the fractions to try are found in the same way.
"""
PERIODS = (1800.0, 3600.0, 7200.0, 14400.0)
"""The I/O periods in seconds to try when the I/O period is not given. Shorter ones give
the answers of half an hour, and take longer to replay.
"""
LONG_LOG = 5000
"""The number of jobs from which on no more draws are made than a clear verdict takes:
they take minutes, and the weeks of such a log tell more than the draws.
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
    warn: Callable[[str], None] = lambda text: None,
) -> Advice:
    """Return the advice. *progress* is called with the number of I/O steps that were
    replayed and the number of all of them. *warn* is called before the first replay if
    the stated figures cannot go together.

    The answer does not depend on *threads*. Raises UsageError for an unknown policy and
    for absurd rates, and InstanceError for a log that is too short or whose jobs have
    no I/O.
    """
    looked_at = policies(question.solvers)
    workload = workload_of(question)
    if not any(volume for _, volume, _ in workload.trace.pieces):
        raise InstanceError(
            f"{question.trace.name}: no job has I/O, so change nothing; if that is "
            "wrong, correct --io-fraction"
        )
    study = _Study(question, workload, looked_at, progress)
    if study.conflict is not None:
        warn(
            f"the figures cannot go together: {study.conflict.words}. There will be no "
            f"verdict; state {study.conflict.instead}"
        )
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


def judged(
    question: Question, advice: Advice, submitted: bool = False
) -> BatchIoProblem:
    """Return the jobs for which the details of *advice*, the answer to *question*, were
    computed, as an instance. If *submitted*, they have the submit times of the log,
    otherwise its start times.
    """
    point = Point(advice.fraction.shown, advice.storage.shown, advice.period.shown)
    log = question.trace if submitted else None
    return workload_of(question).instance(point, advice.scale, log)


class _Study:
    """The finished replays, keyed by point, draw and option, and the conclusions from
    them.
    """

    shown: Point
    """The point for which the verdict and all details are computed."""
    policy: Option
    """The best I/O policy."""
    draws: range
    """The draws that are reported."""
    blocks: Blocks
    settings: list[Option]
    """The settings that a site can switch on today, each at its best level at the point
    shown.
    """

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
        self.levels: dict[Point, list[list[Option]]] = {}
        self.best: dict[Point, Option] = {}
        self.progress = progress
        self.conflict = conflict_of(workload)
        self.replayed = 0  # I/O steps
        self._steps: dict[float, int] = {}
        self._use(question.draws - 1)
        self.scales: dict[Point, float] = {}
        self.waiting: dict[Point, float] = {}
        self.totals: dict[tuple[Point, int, Option], Totals] = {}
        self.by_fraction = [
            Point(fraction, workload.storage, workload.io.period_seconds)
            for fraction in _fractions(workload)
        ]

    def run_all(self, each: Each) -> None:
        """Run all replays.

        On the start times in the log, every policy is replayed at each I/O fraction,
        and all levels of each setting at each point. The best policy, and the setting
        that is best at a point, are replayed in every draw at each point of the axes at
        which a conclusion can be drawn. The other policies and settings are replayed in
        every draw only at the point for which details are shown.
        """
        every = (SHARING, FREE, *self.policies)
        self._try(each, self.by_fraction, every, self._work_after_choice())
        self._choose()
        self.by_storage = [
            self.shown._replace(storage=rate) for rate in _storages(self.workload)
        ]
        self.by_period = [
            self.shown._replace(period=one) for one in _periods(self.workload)
        ]
        points = (*self.by_fraction, *self.by_storage, *self.by_period)
        beside = [point for point in points if point not in self.scales]
        others = range(1, self.question.draws)
        later = len(others) * self._work(self._cells_of(1, points))
        self._try(each, beside, (SHARING, FREE, self.policy), later)
        for draw in others:
            cells = self._cells_of(draw, points)
            self._run(each, cells, (others[-1] - draw) * self._work(cells))
            self._use(draw)
            if self._may_end(draw):
                self.progress(self.replayed, self.replayed)
                break

    def _try(
        self, each: Each, points: Sequence[Point], options: Sequence[Option], later: int
    ) -> None:
        """Replay *options* and all levels of the settings on the start times in the
        log, at each of *points*, and store the best level at each.

        The sizes of steps, and so the levels, are known once the scale is. *later* is
        as in :meth:`_run`.
        """
        first = [Cell(point, 0, tuple(options)) for point in points]
        levels = [Cell(point, 0, (SHARING,) * MOST_LEVELS, 1.0) for point in points]
        self._run(each, first, self._work(levels) + later)
        levels = []
        for point in points:
            scale = self.scales[point]
            found = settings_at(self.workload, point, scale)
            self.levels[point] = found
            levels.append(Cell(point, 0, tuple(itertools.chain(*found)), scale))
        self._run(each, levels, later)
        for cell in levels:
            self.best[cell.point] = self._best_of(cell.options, cell.point)

    def _cells_of(self, draw: int, points: Iterable[Point]) -> list[Cell]:
        """Return the replays of draw *draw*, which is reported, at all of *points* at
        which a conclusion can be drawn, as far as is known.

        Where a figure is a guess, the setting of the point shown is among them: if it
        is advised, it must save there too.
        """
        guessed = list(itertools.chain(*self._unknown()))
        cells = []
        for point in dict.fromkeys(points):
            if point in self.scales and not self._trusted(point):
                continue
            options: tuple[Option, ...] = (SHARING, FREE, self.policy)
            options += (self.best.get(point, SHARING),)
            if point in guessed and self.best[self.shown] not in options:
                options += (self.best[self.shown],)
            if point == self.shown:
                options = (SHARING, FREE, *self.policies, *self.settings)
            cells.append(Cell(point, draw, options, self.scales.get(point, 1.0)))
        return cells

    def _use(self, draws: int) -> None:
        """Report the first *draws* draws after draw 0, or draw 0 if there are none."""
        self.draws = range(1, draws + 1) if draws else range(1)
        asked = self.question
        self.blocks = Blocks(
            self.workload.starts, len(self.draws), asked.resamples, asked.io.seed
        )

    def _may_end(self, draw: int) -> bool:
        """Return whether the verdict is clear after *draw*, and further draws would
        take long.

        It is clear that it depends on a figure that is not known if a setting pays at
        some value of it and at another none does. It is clear that a setting pays, or
        that none does, if this is so at all values tried, with intervals twice as wide.
        """
        few = draw < FEWEST_DRAWS or draw + 1 >= self.question.draws
        if few or self.question.draws_given or len(self.workload.trace) < LONG_LOG:
            return False
        unknown = self._unknown()
        both = {Kind.SAVES, Kind.NOTHING}
        for points in unknown:
            kinds = {self._kind(self.best[point], point) for point in points}
            if both <= kinds:
                return True
        tried = [self.shown, *itertools.chain(*unknown)]
        clear = {
            self._clear_kind(option, point)
            for point in tried
            if self._trusted(point)
            for option in (self.best[point], self.best[self.shown])
        }
        return len(clear) == 1 and clear <= both

    def _unknown(self) -> list[list[Point]]:
        """Return the points of each axis whose figure is a guess."""
        workload = self.workload
        unknown = []
        if workload.fraction is None:
            unknown.append(self.by_fraction)
        if workload.storage_source not in KNOWN:
            unknown.append(self.by_storage)
        if not workload.period_given:
            unknown.append(self.by_period)
        return unknown

    def _clear_kind(self, option: Option, point: Point) -> Kind:
        """Return the conclusion about *option* at *point* if it would be the same with
        an interval twice as wide.
        """
        saved = self.figure(option, point)
        value, low, high = saved
        if value is not None and low is not None and high is not None:
            saved = Figure(value, 2 * low - value, 2 * high - value)
        return verdict_kind(saved, self.waiting[point])

    def _work(self, cells: Iterable[Cell]) -> int:
        """Return the number of I/O steps in the replays of *cells*."""
        total = 0
        for cell in cells:
            period = cell.point.period
            if period not in self._steps:
                self._steps[period] = self.workload.at(cell.point).offset[-1]
            total += self._steps[period] * cell.replays
        return total

    def _work_after_choice(self) -> int:
        """Return the number of I/O steps in the replays that follow the choice of the
        point shown, if all are made.
        """
        shown, *others = self.by_fraction
        beside = {
            *(shown._replace(storage=rate) for rate in _storages(self.workload)),
            *(shown._replace(period=period) for period in _periods(self.workload)),
        }
        beside.discard(shown)
        first = [Cell(point, 0, (SHARING,) * (3 + MOST_LEVELS)) for point in beside]
        a_draw = [Cell(point, 1, (SHARING,) * 4, 1.0) for point in (*others, *beside)]
        details = (SHARING,) * (5 + len(self.policies))
        a_draw.append(Cell(shown, 1, details, 1.0))
        return self._work(first) + (self.question.draws - 1) * self._work(a_draw)

    def _run(self, each: Each, cells: Sequence[Cell], later: int = 0) -> None:
        """Replay *cells* and store their totals. *later* is the number of I/O steps
        that are known to follow; progress counts them.
        """
        work = Replayer(self.workload, self.blocks).run
        total = self.replayed + self._work(cells) + later
        self.progress(self.replayed, total)
        if each is map:  # other processes report whole cells only

            def show(cell: Cell, share: float) -> None:
                self.progress(self.replayed + int(share * self._work([cell])), total)

            work = partial(work, done=show)
        for cell, (scale, totals) in zip(cells, each(work, cells)):
            self.scales[cell.point] = scale
            for option, found in zip(cell.options, totals):
                self.totals[cell.point, cell.draw, option] = found
            if cell.point not in self.waiting:
                self.waiting[cell.point] = self._waiting_at(cell.point)
            self.replayed += self._work([cell])
            self.progress(self.replayed, total)

    def _waiting_at(self, point: Point) -> float:
        """Return the share of the I/O time at *point* that is waiting under sharing, of
        assumed and measured I/O together.
        """
        sharing, free = (self.totals[point, 0, one] for one in (SHARING, FREE))
        place = GROUPS.index(ALL)
        more = sharing.run_seconds[place].sum() - free.run_seconds[place].sum()
        if more <= 0:
            return 0.0
        return float(more / (more + free.io_seconds))

    def _choose(self) -> None:
        """Choose the best policy, the point for which details are shown, and the best
        level of each setting there.

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
        trusted = [point for point in places if self.waiting[point] <= MOST_WAITING]
        if not trusted:
            trusted = places[:1]
        self.shown = trusted[-1]
        for point in trusted:
            if self._at_first(self.best[point], point) >= WORTH:
                self.shown = point
                break
        self.settings = [
            self._best_of(options, self.shown) for options in self.levels[self.shown]
        ]

    def _best_of(self, options: Sequence[Option], point: Point) -> Option:
        """Return the one of *options* that saves most at *point* on the start times in
        the log.
        """
        return max(options, key=lambda option: self._at_first(option, point))

    def _at_first(self, option: Option, point: Point) -> float:
        """Return the saving of *option* at *point* on the start times in the log."""
        return float(self.saved(option, point, draws=[0])[0])

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

    def _drawn(self, point: Point) -> Sequence[int]:
        """Return the draws to report at *point*: draw 0 if no conclusion is drawn."""
        return self.draws if self._trusted(point) else range(1)

    def _sums(
        self, option: Option, point: Point, group: str, draws: Sequence[int] | None
    ) -> Floats:
        """Return the sums of the run times of *group*, with one row for each draw and
        one column for each block.
        """
        place = GROUPS.index(group)
        rows = [
            self.totals[point, draw, option].run_seconds[place]
            for draw in draws or self._drawn(point)
        ]
        return np.array(rows)

    def figure(
        self, option: Option, point: Point, group: str = ALL, measure: str = RUN
    ) -> Figure:
        """Return the saving of *option* at *point*, as :meth:`saved` computes it, with
        its interval. One draw has none if others are reported.
        """
        sample = self.saved(option, point, group, measure)
        if self._drawn(point) != self.draws:
            return Figure(float(sample[0]))
        return figure_of(sample)

    def advice(self) -> Advice:
        """Return the findings of the study as :class:`~ioopt.advice.answer.Advice`."""
        workload = self.workload
        trace = workload.trace
        shown = self.shown
        setting = self.best[shown]
        fraction = self._fraction_axis()
        storage = self._storage_axis()
        period = self._period_axis()
        run_seconds = np.array(workload.run_seconds)
        span = float((workload.starts + run_seconds).max())
        likely = workload.at(shown, scale=self.scales[shown])
        nodes = np.array(trace.allocated)
        groups = members(likely)
        switches = [
            Switch(
                name=option.name,
                solver="" if option.job_rate else option.solver,
                words=option.words,
                lines=option.lines,
                kind=self._kind(option, shown),
                saves=self.figure(option, shown),
                levels={
                    level.level: self._at_first(level, shown)
                    for level in options
                    if level.level
                },
            )
            for option, options in zip(self.settings, self.levels[shown])
        ]
        return Advice(
            name=workload.name,
            baseline=BASELINE,
            verdict=self._verdict((fraction, storage, period)),
            conflict=self.conflict,
            setting=setting.name,
            policy=self.policy.name,
            policy_suspends=suspends(self.policy),
            fraction=fraction,
            storage=storage,
            period=period,
            cost=self.figure(FREE, shown),
            policy_saves=self.figure(self.policy, shown),
            switches=switches,
            savings=self._savings(),
            traffic=[busiest_week(likely, one) for one in (SHARING, setting)],
            jobs=len(trace),
            measured_jobs=len(workload.measured),
            groups={name: int(member.sum()) for name, member in groups.items()},
            large_job_nodes=int(nodes[groups[LARGE]].min()),
            span_seconds=span,
            nodes=trace.machine.nodes,
            nodes_source=workload.nodes_source,
            node_rate=workload.node_rate,
            node_rate_given=workload.node_rate_given,
            node_utilisation=float(nodes @ run_seconds) / (trace.machine.nodes * span),
            node_hours_above_machine=self._above_machine(SHARING),
            node_hours_above_machine_with_setting=self._above_machine(setting),
            scale=self.scales[shown],
            waiting=self.waiting[shown],
            draws=len(self.draws) + (self.draws[0] > 0),
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
        warnings = [
            text.replace(rule.describe(), shown.describe())
            for text in self.workload.warnings
        ]
        asked, made = self.question.draws - 1, len(self.draws)
        if made < asked:
            warnings.append(
                f"{made} of {asked} further replays made, as they decide clearly; "
                f"--draws {self.question.draws} makes all"
            )
        return warnings

    def _verdict(self, axes: Sequence[Axis]) -> Kind:
        """Return the conclusion about the best setting.

        A figure that is not known must not decide: the conclusion must be the same at
        all values of this figure that were tried. If it is not the same, and a setting
        pays from some value on, the conclusion is that it depends on the figure. If the
        rate of a node is a guess, of which no other values are tried, nothing is
        concluded. Nor is it concluded that nothing pays if the rate of the storage is a
        guess: many machines have less than the values tried. A single draw concludes
        nothing, nor do figures that cannot go together.
        """
        if self.question.draws < FEWEST_DRAWS or self.conflict is not None:
            return Kind.UNCERTAIN
        if any(axis.decides for axis in axes):
            pays = any(axis.decides and axis.pays_from.value for axis in axes)
            return Kind.DEPENDS if pays else Kind.UNCERTAIN
        kind = self._kind(self.best[self.shown], self.shown)
        guessed = not self.workload.node_rate_given
        if kind == Kind.NOTHING:
            guessed = guessed or self.workload.storage_source not in KNOWN
        return Kind.UNCERTAIN if guessed else kind

    def _fraction_axis(self) -> Axis:
        return self._axis(
            self.by_fraction,
            [point.fraction for point in self.by_fraction],
            self.workload.fraction_source,
            value=self.workload.fraction,
            shown=self.shown.fraction,
        )

    def _storage_axis(self) -> Axis:
        return self._axis(
            self.by_storage,
            [point.storage for point in self.by_storage],
            self.workload.storage_source,
            value=self.workload.storage,
            shown=self.shown.storage,
            falling=True,
        )

    def _period_axis(self) -> Axis:
        return self._axis(
            self.by_period,
            [point.period for point in self.by_period],
            "given" if self.workload.period_given else "a guess",
            value=self.shown.period if self.workload.period_given else None,
            shown=self.shown.period,
            falling=True,
        )

    def _axis(
        self,
        points: Sequence[Point],
        values: Sequence[float],
        source: str,
        *,
        value: float | None,
        shown: float,
        falling: bool = False,
    ) -> Axis:
        """Return the findings along *points*, whose figure has the ascending *values*.

        If *falling*, a change pays below some value, not above.
        """
        if falling:
            loads = [shown / each for each in values[::-1]]
            pays, policy_pays = self._paying(loads, points[::-1])
            limits = [
                _falling_figure(shown, sample)
                for sample in (pays.begin, pays.end, policy_pays.begin)
            ]
        else:
            pays, policy_pays = self._paying(values, points)
            limits = [
                figure_of(sample)
                for sample in (pays.begin, pays.end, policy_pays.begin)
            ]
        looked_at = [
            (one, point) for one, point in zip(values, points) if self._trusted(point)
        ]
        kinds = {self._kind(self.best[point], point) for _, point in looked_at}
        decides = len(kinds) > 1
        saves_at = None
        if source not in KNOWN and self.question.draws >= FEWEST_DRAWS:
            best = self.best[self.shown]
            saves_at = [
                one for one, point in looked_at if self._kind(best, point) == Kind.SAVES
            ]
            if kinds == {Kind.SAVES}:
                decides = len(saves_at) < len(looked_at)
        return Axis(
            value=value,
            shown=shown,
            source=source,
            decides=source not in KNOWN and decides,
            saves_at=saves_at,
            pays_from=limits[0],
            pays_to=limits[1],
            policy_pays_from=limits[2],
            points=self._axis_points(values, points),
        )

    def _paying(
        self, values: Sequence[float], points: Sequence[Point]
    ) -> tuple[Range, Range]:
        """Return the range in which the best setting pays and the range in which the
        best policy pays, along *points* with ascending *values*.

        Points at which no conclusion can be drawn are left out. If a change pays at the
        point for which details are shown, the range contains that point.
        """
        trusted = [
            place
            for place, point in enumerate(points)
            if self.waiting[point] <= MOST_WAITING
        ]
        looked_at = [points[place] for place in trusted]
        axis = [values[place] for place in trusted]
        known = looked_at.index(self.shown) if self.shown in looked_at else None
        ranges = []
        for options in (self.best, dict.fromkeys(points, self.policy)):
            saved = [self.saved(options[point], point) for point in looked_at]
            ranges.append(paying_range(axis, saved, known))
        return ranges[0], ranges[1]

    def _trusted(self, point: Point) -> bool:
        """Return whether *point* is used for conclusions. The point for which details
        are shown always is.
        """
        return self.waiting[point] <= MOST_WAITING or point == self.shown

    def _kind(self, option: Option, point: Point) -> Kind:
        """Return the conclusion about *option* at *point*."""
        return verdict_kind(self.figure(option, point), self.waiting[point])

    def _axis_points(
        self, values: Sequence[float], points: Sequence[Point]
    ) -> list[AxisPoint]:
        found = []
        for value, point in zip(values, points):
            best = self.best[point]
            cost = self.figure(FREE, point)
            policy = self.figure(self.policy, point)
            setting = self.figure(best, point)
            found.append(
                AxisPoint(
                    value=value,
                    cost=cost,
                    policy=policy,
                    setting=setting,
                    setting_name=best.name,
                    scale=self.scales[point],
                    waiting=self.waiting[point],
                )
            )
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


def _fractions(workload: Workload) -> list[float]:
    """Return the I/O fractions to try, in ascending order: of the jobs without a
    Darshan log, so the known one alone if all jobs have one.
    """
    known = workload.fraction
    if known is None:
        return list(FRACTIONS)
    if not workload.assumed.any():
        return [known]
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


def _periods(workload: Workload) -> list[float]:
    """Return the I/O periods to try, in ascending order."""
    own = workload.io.period_seconds
    return [own] if workload.period_given else sorted({own, *PERIODS})


def _falling_figure(shown: float, loads: Floats) -> Figure:
    """Return, with its interval, the value at which the load is *loads* times the load
    at the value *shown*, where the load is inverse to the value.

    An infinite load gives None, because no value causes it.
    """
    rates = figure_of(shown / loads)
    return Figure(rates.value or None, rates.low or None, rates.high or None)
