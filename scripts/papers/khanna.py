"""Judge the claims of Khanna et al., Figures 2 to 6, in simulation.

A plan is made once for each seed and each setting of the planner; readings can differ
in these settings. Each plan is then replayed on the timeline simulator under every
reading. Readings also differ in the link, in the barriers, and in whether copies are
made as planned or on demand. "IP" is the scheme in rounds of Sections 4.2 to 4.4. Each
of its models gets a fixed amount of deterministic work, so that only Figure 6b
(processor time) depends on the machine.
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
    below,
    computed,
    point,
    reaches,
    several,
    table,
    values_of,
)

import ioopt
from ioopt import registry
from ioopt.generate.replication.generate import generate
from ioopt.metrics import mean_interval
from ioopt.plot.curves import plot_sweep
from ioopt.problems.replication import (
    LinkModel,
    ReplicationPlan,
    ReplicationProblem,
    Room,
)
from ioopt.protocols import SolveRequest
from ioopt.solvers.replication.greedy.job_data_present import When

SIZED = ("tasks", "many_tasks", "ppa_tasks", "most_500")
"""Settings of workloads whose values are taken from the size of the run."""
LINKS: tuple[LinkModel, ...] = ("shared", "per-node")
SPAN = "makespan_seconds"
IP = ("two-stage", "hierarchical")
NAMES = {
    **dict.fromkeys(IP, "IP"),
    "minmin": "MinMin",
    "job-data-present": "JobDataPresent",
}


@dataclass(frozen=True)
class Reading:
    """One reading of what the paper leaves open. The last three fields concern the
    replays, the others the workloads and planners.
    """

    room: Room = "largest"
    node_disk_rate: str | None = None
    windows: str = "box"
    when: When = "start"
    threshold: int | None = 6
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
READINGS = {
    "one shared link, rounds with barriers, room for the largest task, moves as "
    "planned": Reading(),
    _PRIVATE: Reading(link="per-node"),
    "moves on demand": Reading(moves="advice"),
    "no barriers": Reading(barriers=False),
    f"{_PRIVATE}, no barriers": Reading(link="per-node", barriers=False),
    **{
        f"{_PRIVATE}, node disks of {rate} MB/s": Reading(
            link="per-node", node_disk_rate=f"{rate}MB/s"
        )
        for rate in (100, 40, 25)
    },
    "JobDataPresent gives its first task to an idle node": Reading(when="idle-head"),
    "JobDataPresent looks for an idle node's best task": Reading(when="idle-scan"),
    "DataLeastLoaded copies nothing": Reading(threshold=None),
    "three times the work a model": Reading(work=3.0),
    "room for the next task": Reading(room="next"),
    "evicts what is missing, no barriers (ours)": Reading(
        room="missing", barriers=False
    ),
    "SAT along the curve (ours)": Reading(windows="curve"),
}
"""The readings. The first follows the text of the paper; the next four differ from it
only in the replays.
"""
GROUPS = {
    "first": list(READINGS)[:1],
    "planned": [name for name, reading in READINGS.items() if reading.work == 1],
    "links": list(READINGS)[:2],
    "replays": list(READINGS)[:5],
}
"""For each name of a group in the table, the readings under which a row is judged."""


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
                seeds=range(3), effort=0.02, tasks=40, many_tasks=60, ppa_tasks=160
            )
        return cls(
            seeds=range(100, 110),
            effort=0.1,
            tasks=100,
            many_tasks=400,
            ppa_tasks=2000,
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
) -> list[float]:
    """Return the *metric* of a solver on a workload under a reading, with one value for
    each seed.
    """
    preset, given = workload
    settings: dict[str, Any] = {}
    for key, value in given.items():
        settings[key] = getattr(size, value) if value in SIZED else value
    if reading.node_disk_rate is not None:
        settings["node_disk_rate"] = reading.node_disk_rate
    if preset.startswith("sat"):
        settings["windows"] = reading.windows
    own: dict[str, Any] = {"when": reading.when, "threshold": reading.threshold}
    if solver != "job-data-present":
        own = {"room": reading.room}
    if solver in IP:
        own["effort"] = reading.work * size.effort
    asked = {
        "preset": preset,
        "settings": settings,
        "solver": solver,
        "options": own | options,
    }
    found = values_of(solved, [{**asked, "seed": seed} for seed in size.seeds])
    return [one[reading.replay(solver)][metric] for one in found]


def solved(
    preset: str,
    settings: Mapping[str, Any],
    solver: str,
    options: Mapping[str, Any],
    seed: int,
) -> Figures:
    """Solve one workload once, and replay the plan in each way that a reading can ask
    for.

    Returns the metrics of each replay, keyed by its name. In all replays a file is
    copied from the least loaded node among those that hold the file.
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
    result = ioopt.solve(problem, timed, seed=seed, time_limit=None)
    planned = {"milliseconds": 1000 * spent[0] / len(problem.tasks)}
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
    for preset in presets:
        ours = run(size, reading, (preset, set), first, metric, options)
        for other in others:
            name = f"{NAMES[first]}/{NAMES[other]}"
            if len(presets) > 1:
                name = f"{preset}: {name}"
            ratio = _ratio(ours, run(size, reading, (preset, set), other, metric))
            figures.append(_in_words(name, ratio))
            words.append(below(ratio))
    return ", ".join(figures), several(words)


def copies_pay(size: Sizes, reading: Reading, preset: str, set: Options) -> Found:
    """Judge whether the plans in rounds end sooner with copies between nodes than
    without such copies.
    """
    workload = (preset, set)
    without = run(size, reading, workload, "two-stage", options={"replication": False})
    ratio = _ratio(run(size, reading, workload, "two-stage"), without)
    return _in_words("with/without", ratio), below(ratio)


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
) -> Found:
    """Judge whether *first* needs less processor time for each task to plan than
    *second*.

    Both are given as (solver, settings, options). If *limit* is given, the ratio of the
    two times must be at most *limit*.
    """
    sides = []
    for solver, set, options in (first, second):
        workload = ("ppa", set)
        sides.append(run(size, reading, workload, solver, "milliseconds", options))
    ratio = _ratio(*sides)
    means = " against ".join(f"{mean_interval(side)[0]:.3f}" for side in sides)
    figure = f"{_in_words('ratio', ratio)} ({means} ms)"
    if limit is None:
        return figure, below(ratio)
    return figure, reaches(ratio, limit)


def sizes(quick: bool) -> str:
    """Return one line that says how much is run."""
    size = Sizes.of(quick)
    return (
        f"{size.tasks} tasks ({size.many_tasks} in Figure 5, PPA {size.most_500} and "
        f"in Figure 6 {size.ppa_tasks}), seeds {size.seeds[0]} to {size.seeds[-1]} "
        "(readings, work and thresholds were chosen on seeds 0 to 2), "
        f"{size.effort:g} deterministic seconds a model (Figure 6: 0.5); mean ± half "
        "of the 95 % interval"
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
    yield from table("khanna")["why"]


def pictures(quick: bool) -> Iterator[Picture]:
    """Draw Figures 2 to 6 under the first reading.

    The text of the paper gives no numbers for these figures, so no points of the paper
    are marked.
    """
    size = Sizes.of(quick)
    reading = next(iter(READINGS.values()))
    for row in table("khanna")["pictures"]:
        metric = row.get("metric", SPAN)
        lines = {}
        for name, solver, options in row["lines"]:
            line = []
            for at, preset, set in row["points"]:
                values = run(size, reading, (preset, set), solver, metric, options)
                line.append(point(at, values))
            lines[name] = line
        axes = plot_sweep(
            lines,
            row["across"],
            row["words"],
            title=row["caption"],
            joined=not row["across"].startswith("application"),
        )
        yield Picture(row["name"], row["caption"], axes)
