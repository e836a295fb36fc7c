"""Judge the claims of Khanna et al., Figures 2 to 6, in simulation.

A plan is made once for each seed and each setting of the planner; readings can differ
in these settings. Each plan is then replayed on the timeline simulator under every
reading. Readings also differ in the link, in the barriers, and in whether copies are
made as planned or on demand. "IP" is the scheme in rounds of Sections 4.2 to 4.4. Each
of its models gets a fixed amount of deterministic work; in Figure 6b it runs to its
end or to a gap, and only the processor time there depends on the machine.

Figures 2a, 3, 4 and 5 have one batch of IMAGE, ``SMALL_TASKS``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise, product
from types import MappingProxyType
from typing import Any

from papers.claims import (
    Claim,
    Found,
    Picture,
    Ratio,
    Spot,
    Table,
    below,
    computed,
    ratio_interval,
    reaches,
    several,
    table,
    values_of,
)

import ioopt
from ioopt import registry
from ioopt.generate.replication.generate import generate
from ioopt.metrics import mean_interval
from ioopt.plot.bars import plot_bars
from ioopt.plot.curves import plot_sweep
from ioopt.problems.replication import (
    LinkModel,
    ReplicationPlan,
    ReplicationProblem,
    Room,
)
from ioopt.protocols import SolveRequest
from ioopt.solvers.replication.greedy.job_data_present import When

SIZED = ("tasks", "many_tasks", "ppa_tasks", "gap_tasks", "most_500")
"""Settings of workloads whose values are taken from the size of the run."""
LINKS: tuple[LinkModel, ...] = ("shared", "per-node")
SPAN = "makespan_seconds"
IP = ("two-stage", "hierarchical")
NAMES = {
    **dict.fromkeys(IP, "IP"),
    "minmin": "MinMin",
    "job-data-present": "JobDataPresent",
}
SMALL_TASKS: Mapping[str, Any] = MappingProxyType(
    {"cap": "300MB", "files_per_task": 8, "ct_share": 0.7}
)
"""Settings of IMAGE in which all sentences on it hold.

A task has at most 300 MB, since Figure 4b begins with disks of 300 MB, and a disk holds
"the files required for at least a single task" (Section 4.2). Tasks of up to 8 files,
cut at 300 MB, then have 6 files on average as in Section 5.1. With 4 and 64 MB a file
they have 259 MB on average, where Section 5.2 says "around 300MB".
"""


@dataclass(frozen=True)
class Reading:
    """One reading of what the paper leaves open. The last three fields concern the
    replays, the others the workloads and planners.
    """

    room: Room = "largest"
    small_tasks: bool = True
    """Whether tasks of IMAGE fit the smallest disk of Figure 4b."""
    node_disk_rate: str | None = None
    when: When = "idle-head"
    threshold: int | None = 6
    thresh: float = 0.2
    """The tolerance of (17)."""
    work: float = 1.0
    """The factor by which the deterministic work of a model is multiplied."""

    link: LinkModel = "shared"
    barriers: bool = True
    moves: str = "plan"

    def replay(self, solver: str) -> str:
        """Return the name of the replay of a plan of *solver* under this reading."""
        if solver not in IP:
            return f"{self.link} "
        if not self.barriers:
            return f"{self.link} free"
        return f"{self.link} {self.moves}"


_PRIVATE = "private links"
_MEAN = "room for a task of mean size"
_LARGE = "IMAGE tasks of up to 500 MB"
READINGS = {
    "one shared link, rounds with barriers, room for the largest task, moves as "
    "planned, JobDataPresent dynamic, IMAGE tasks of at most 300 MB": Reading(),
    _PRIVATE: Reading(link="per-node"),
    "moves on demand": Reading(moves="advice"),
    "no barriers": Reading(barriers=False),
    f"{_PRIVATE}, no barriers": Reading(link="per-node", barriers=False),
    f"{_PRIVATE}, node disks of 40 MB/s": Reading(
        link="per-node", node_disk_rate="40MB/s"
    ),
    "JobDataPresent assigns all tasks at the start": Reading(when="start"),
    "JobDataPresent looks for an idle node's best task": Reading(when="idle-scan"),
    "DataLeastLoaded copies nothing": Reading(threshold=None),
    "three times the work a model": Reading(work=3.0),
    _MEAN: Reading(room="mean"),
    _LARGE: Reading(small_tasks=False),
    f"{_LARGE}, {_MEAN}": Reading(small_tasks=False, room="mean"),
}
"""The readings. The first follows the text of the paper; the next four differ from it
only in the replays.
"""
REPLAYS = list(READINGS)[:5]
GROUPS = {
    "first": REPLAYS[:1],
    "planned": [name for name, reading in READINGS.items() if reading.work == 1],
    "links": REPLAYS[:2],
    "replays": REPLAYS,
    "large": [*REPLAYS, _LARGE],
}
"""For each name of a group in the table, the readings under which a row is judged."""


CHOOSING = range(3)
"""The seeds on which readings, work, thresholds and the gap were chosen."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of the runs."""

    seeds: Sequence[int]
    effort: float
    """The deterministic seconds of CP-SAT for each model."""
    tasks: int
    many_tasks: int
    """The number of tasks in Figure 5."""
    ppa_tasks: int
    """The number of PPA tasks in Figure 6."""
    gap_tasks: int
    """The number of PPA tasks in Figure 6b where models run to a gap."""

    @property
    def most_500(self) -> int:
        """Return the number of PPA tasks in the other figures."""
        return min(500, self.ppa_tasks)

    @classmethod
    def of(cls, quick: bool) -> Sizes:
        """Return the quick sizes or the full sizes.

        The full sizes are those of the paper, and their seeds were not used before. The
        quick sizes use the seeds on which readings and thresholds were chosen.
        """
        if quick:
            return cls(
                seeds=CHOOSING,
                effort=0.02,
                tasks=40,
                many_tasks=60,
                ppa_tasks=160,
                gap_tasks=80,
            )
        return cls(
            seeds=range(100, 110),
            effort=0.1,
            tasks=100,
            many_tasks=400,
            ppa_tasks=2000,
            gap_tasks=200,
        )


Figures = Mapping[str, Mapping[str, float]]
Workload = tuple[str, Mapping[str, Any]]
"""A workload: a preset and its settings."""
Options = Mapping[str, Any]
NONE: Options = MappingProxyType({})


def run(
    size: Sizes,
    reading: Reading,
    workload: Workload,
    solver: str,
    metric: str = SPAN,
    options: Options = NONE,
    gap: float | None = None,
) -> list[float]:
    """Return the *metric* of a solver on a workload under a reading, with one value for
    each seed.

    If *gap* is given, the models of IP end at this relative gap.
    """
    preset, given = workload
    settings: dict[str, Any] = {}
    if preset.startswith("image") and reading.small_tasks:
        settings.update(SMALL_TASKS)
    for key, value in given.items():
        settings[key] = getattr(size, value) if value in SIZED else value
    if reading.node_disk_rate is not None:
        settings["node_disk_rate"] = reading.node_disk_rate
    if preset.startswith("sat"):
        settings["windows"] = "box"
    own: dict[str, Any] = {"when": reading.when, "threshold": reading.threshold}
    if solver != "job-data-present":
        own = {"room": reading.room}
    if solver in IP:
        own["effort"] = reading.work * size.effort
        own["thresh"] = reading.thresh
    asked = {
        "preset": preset,
        "settings": settings,
        "solver": solver,
        "options": own | options,
        "gap": gap,
    }
    found = values_of(solved, [{**asked, "seed": seed} for seed in size.seeds])
    return [one[reading.replay(solver)][metric] for one in found]


def solved(
    preset: str,
    settings: Mapping[str, Any],
    solver: str,
    options: Mapping[str, Any],
    gap: float | None,
    seed: int,
) -> Figures:
    """Solve one workload once, and replay the plan in each way that a reading can ask
    for.

    Returns the metrics of each replay, keyed by its name. In all replays a file is
    copied from the least loaded node among those that hold the file. ``cut`` is 1 if a
    model ended after its work, above *gap*.
    """
    problem = generate(preset, settings, seed)
    spec = registry.solver(solver, registry.KINDS["replication"])
    spent = []

    def timed(problem: ReplicationProblem, request: SolveRequest) -> object:
        chosen = registry.settings_for(spec, options)
        solve = spec.solve_function()
        begun = time.process_time()
        outcome: object = solve(problem, replace(request, settings=chosen))
        spent.append(time.process_time() - begun)
        return outcome

    ioopt.solve("cycle3", solver)  # Loading happens once and is not measured.
    result = ioopt.solve(problem, timed, seed=seed, time_limit=None, gap=gap)
    planned = {
        "milliseconds": 1000 * spent[0] / len(problem.tasks),
        "cut": float(result.metrics.get("models_cut", 0) > 0),
    }
    if result.violations or result.plan is None:
        raise SystemExit(f"{problem.name}: {solver}: {result.status} {result.notes}")
    plan = ReplicationPlan.model_validate({**result.plan, "sources": "least-loaded"})
    ways = {"": plan}
    if solver in IP:
        ways = {
            "plan": plan.model_copy(update={"carry_out": True}),
            "advice": plan,
            "free": plan.model_copy(update={"barriers": False}),
        }
    found = {}
    for link, (name, one) in product(LINKS, ways.items()):
        metrics = ioopt.simulate(problem, one, link=link).metrics
        kept = {key: metrics[key] for key in (SPAN, "remote_transfers", "evictions")}
        found[f"{link} {name}"] = kept | planned
    return found


ORDER = ("two-stage", "job-data-present", "minmin")


def _ratio(above: Sequence[float], base: Sequence[float]) -> Ratio:
    """Return the mean of the ratios of paired values, and its 95 % interval."""
    return Ratio(*mean_interval(_divided(above, base)))


def _divided(above: Sequence[float], base: Sequence[float]) -> list[float]:
    """Return the ratios of paired values; a divisor of 0 counts as 1e-9."""
    return [a / max(b, 1e-9) for a, b in zip(above, base, strict=True)]


def _in_words(name: str, ratio: Ratio) -> str:
    """Return *name* with a ratio and half the width of its interval, as text."""
    return f"{name} {ratio.mean:.3f} ± {ratio.high - ratio.mean:.3f}"


def least(
    size: Sizes,
    reading: Reading,
    presets: Sequence[str],
    set: Options = NONE,
    chain: Sequence[str] = ORDER,
    metric: str = SPAN,
    options: Options = NONE,
) -> Found:
    """Judge whether the metric of the first solver in *chain* is below that of every
    other solver, on each preset.

    *options* are options of the first solver.
    """
    first, *others = chain
    figures = []
    words = []
    spots = []
    for preset in presets:
        ours = run(size, reading, (preset, set), first, metric, options)
        for other in others:
            name = f"{NAMES[first]}/{NAMES[other]}"
            if len(presets) > 1:
                name = f"{preset}: {name}"
            ratio = _ratio(ours, run(size, reading, (preset, set), other, metric))
            figures.append(_in_words(name, ratio))
            words.append(below(ratio))
            spots.append(Spot(name, *ratio))
    return ", ".join(figures), several(words), spots


def copies_pay(size: Sizes, reading: Reading, preset: str, set: Options) -> Found:
    """Judge whether the plans in rounds end sooner with copies between nodes than
    without such copies.
    """
    workload = (preset, set)
    without = run(size, reading, workload, "two-stage", options={"replication": False})
    ratio = _ratio(run(size, reading, workload, "two-stage"), without)
    spots = [Spot(preset, *ratio)]
    return _in_words("with/without", ratio), below(ratio), spots


def falling(
    size: Sizes,
    reading: Reading,
    along: Sequence[Sequence[Any]],
    solver: str = ORDER[0],
) -> Found:
    """Judge whether the gain of IP over the better baseline is above 0 on the first
    workload, and falls from each workload to the next.

    *along* lists the workloads in order, each as (name, preset, settings, options of
    IP).
    """
    figures = []
    shares: list[list[float]] = []
    for name, preset, set, options in along:
        ours = run(size, reading, (preset, set), solver, options=options)
        baselines = [run(size, reading, (preset, set), other) for other in ORDER[1:]]
        better = [min(pair) for pair in zip(*baselines, strict=True)]
        share = [a / b for a, b in zip(ours, better, strict=True)]
        mean, low, _ = mean_interval(share)
        figures.append(f"{name} {100 * (1 - mean):+.1f} ± {100 * (mean - low):.1f} %")
        shares.append(share)
    words = [below(_ratio(shares[0], [1.0 for _ in shares[0]]))]
    for more, less in pairwise(shares):
        words.append(below(_ratio(more, less)))
    return ", ".join(figures), several(words)


def gain_more(
    size: Sizes, reading: Reading, preset: str, small: Options, large: Options
) -> Found:
    """Judge whether large disks help the baselines more than they help IP.

    The larger disks should reduce the batch time of the baselines by a larger share.
    """
    parts: dict[str, list[float]] = {}
    figures = []
    for solver in ORDER:
        with_large = run(size, reading, (preset, large), solver)
        with_small = run(size, reading, (preset, small), solver)
        parts[solver] = _divided(with_large, with_small)
        mean, _, _ = mean_interval(parts[solver])
        figures.append(f"{NAMES[solver]} {100 * (1 - mean):.0f} %")
    ours, *others = ORDER
    words = [below(_ratio(parts[other], parts[ours])) for other in others]
    return f"cut by: {', '.join(figures)}", several(words)


def planning(
    size: Sizes,
    reading: Reading,
    first: Sequence[Any],
    second: Sequence[Any],
    limit: float | None = None,
    gap: float | None = None,
) -> Found:
    """Judge whether *first* needs less processor time for each task to plan than
    *second*.

    Both are given as (solver, settings, options). If *limit* is given, the ratio of the
    two times must be at most *limit*. If *gap* is given, the models run to this
    relative gap or to their end; the figure counts the plans with a model that was cut
    off before, whose time is too short. The ratio is that of the means, as the clock
    of a processor may have coarse ticks.
    """
    sides = []
    ends = []
    for solver, set, options in (first, second):
        asked = (size, reading, ("ppa", set), solver)
        sides.append(run(*asked, "milliseconds", options, gap))
        cut = run(*asked, "cut", options, gap)
        if gap is not None and any(cut):
            ends.append(f"{solver} cut off on {sum(cut):.0f} of {len(cut)} seeds")
    ratio = ratio_interval(base=sides[1], over=sides[0])
    means = " against ".join(f"{mean_interval(side)[0]:.3f}" for side in sides)
    figure = f"{_in_words('ratio', ratio)} ({'; '.join([f'{means} ms', *ends])})"
    if limit is None:
        return figure, below(ratio)
    return figure, reaches(ratio, limit)


def sweeps(quick: bool) -> Iterator[Table]:
    """Yield a table for each threshold that the paper does not print, on the seeds on
    which it was chosen.
    """
    size = replace(Sizes.of(quick), seeds=CHOOSING)
    for row in table("khanna")["sweeps"]:
        lines = []
        for (preset, set), (first, second) in product(row["workloads"], row["pairs"]):
            found = []
            for value in row["values"]:
                reading = Reading(**{row["field"]: value or None})
                sides = [
                    run(size, reading, (preset, set), solver)
                    for solver in (first, second)
                ]
                ratio = _ratio(*sides)
                found.append(f"{ratio.mean:.3f} {below(ratio)}")
            lines.append((f"{preset}: {NAMES[first]}/{NAMES[second]}", *found))
        head = [row["words"], *(str(value or "none") for value in row["values"])]
        yield row["title"], head, lines


def sizes(quick: bool) -> str:
    """Return one line that says how much is run."""
    size = Sizes.of(quick)
    return (
        f"{size.tasks} tasks ({size.many_tasks} in Figure 5, PPA {size.most_500} and "
        f"in Figure 6 {size.ppa_tasks}; {size.gap_tasks} where models run to a gap), "
        f"seeds {size.seeds[0]} to {size.seeds[-1]} (readings, work, thresholds and "
        f"gap were chosen on seeds 0 to 2), {size.effort:g} deterministic seconds a "
        "model (Figure 6a: 0.5); mean ± half of the 95 % interval"
    )


def claims(quick: bool) -> list[Claim]:
    """Return the claims of all figures."""
    size = Sizes.of(quick)
    rows = table("khanna")["claims"]
    for row in rows:
        if "readings" in row:
            row["readings"] = GROUPS[row["readings"]]
    readings = {name: (size, reading) for name, reading in READINGS.items()}
    return list(computed(rows, globals(), readings, **asdict(size)))


def notes(rows: Sequence[Claim]) -> Iterator[str]:
    """Yield sentences that explain what decides the claims."""
    yield from table("khanna")["notes"]


def pictures(quick: bool) -> Iterator[Picture]:
    """Draw Figures 2 to 6 under the first reading, Figure 2 beside private links, with
    95 % intervals.

    The text of the paper gives no numbers for these figures, so no points of the paper
    are marked.
    """
    size = Sizes.of(quick)
    for row in table("khanna")["pictures"]:
        draw = _bars if "bars" in row else _lines
        yield Picture(row["name"], row["caption"], draw(size, row))


def _bars(size: Sizes, row: Mapping[str, Any]) -> Any:
    """Draw a picture with a group of bars for each workload; return the axes."""
    panels = {}
    for name, reading in zip(row["panels"], READINGS.values()):
        solvers = {}
        for words, solver, options in row["solvers"]:
            bars = []
            for group, preset, set in row["bars"]:
                metric = row.get("metric", SPAN)
                values = run(size, reading, (preset, set), solver, metric, options)
                mean, _, high = mean_interval(values)
                bars.append((group, mean, high - mean))
            solvers[words] = bars
        panels[name] = solvers
    return plot_bars(panels, row["across"], row["words"], title=row["caption"])


def _lines(size: Sizes, row: Mapping[str, Any]) -> Any:
    """Draw a picture with a line for each solver, from 0 on; return the axes."""
    reading = next(iter(READINGS.values()))
    metric = row.get("metric", SPAN)
    lines = {}
    for words, solver, options in row["solvers"]:
        line = []
        for at, preset, set in row["points"]:
            gap = row.get("gap")
            values = run(size, reading, (preset, set), solver, metric, options, gap)
            mean, _, high = mean_interval(values)
            line.append((at, mean, high - mean, len(values)))
        lines[words] = line
    axes = plot_sweep(lines, row["across"], row["words"], title=row["caption"])
    axes.set_ylim(bottom=0)
    return axes
