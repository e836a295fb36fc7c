"""Khanna et al.: the claims of Figures 2 to 6, in simulation.

A plan is made once a seed for what a reading asks of its planner, and replayed on the
timeline simulator in every way in which readings differ: link, barriers, what the moves
of a plan are. "IP" is the scheme in rounds of Sections 4.2 to 4.4, with a fixed amount
of deterministic work a model, so that no figure but those of Figure 6b (processor time)
depends on the machine.
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
"""Settings that are sizes of the run."""
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
    """What the paper leaves open, for planners (down to ``work``, a
    factor) and for replays.
    """

    room: Room = "largest"
    node_disk_rate: str | None = None
    windows: str = "box"
    when: When = "start"
    threshold: int | None = 6
    work: float = 1.0

    link: LinkModel = "shared"
    barriers: bool = True
    moves: str = "plan"

    def replay(self, solver: str) -> str:
        """Which replay of a plan it asks for."""
        how = self.moves if self.barriers else "free"
        return f"{self.link} {how if solver in IP else ''}"


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
"""The first is the text; the next four are other replays of the same plans."""
GROUPS = {
    "first": list(READINGS)[:1],
    "planned": [name for name, reading in READINGS.items() if reading.work == 1],
    "links": list(READINGS)[:2],
    "replays": list(READINGS)[:5],
}
"""Names of readings by what a row of the table asks for."""


@dataclass(frozen=True)
class Sizes:
    """How much is run: seeds, deterministic work a model, tasks of the workloads."""

    seeds: Sequence[int]
    effort: float
    tasks: int
    many_tasks: int
    ppa_tasks: int

    @property
    def most_500(self) -> int:
        """Tasks of PPA outside Figure 6."""
        return min(500, self.ppa_tasks)

    @classmethod
    def of(cls, quick: bool) -> Sizes:
        """Full sizes as in the paper, on fresh seeds; quick ones on the
        seeds of the choices.
        """
        if quick:
            return cls(range(3), 0.02, 40, 60, 160)
        return cls(range(100, 110), 0.1, 100, 400, 2000)


Figures = Mapping[str, Mapping[str, float]]
Workload = tuple[str, Mapping[str, Any]]
"""A preset and its settings."""
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
    """A metric of a solver on a workload, one value a seed."""
    preset, given = workload
    settings = {
        key: getattr(size, value) if value in SIZED else value
        for key, value in given.items()
    }
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
    """Solve one workload once and replay the plan in every way, from the
    least loaded sources.
    """
    problem = generate(preset, settings, seed)
    spec = registry.solver(solver, registry.KINDS["replication"])
    spent = []

    def timed(problem: ReplicationProblem, request: SolveRequest) -> object:
        chosen = registry.settings_for(spec, options)
        begun = time.process_time()
        outcome: object = spec.solve_function()(
            problem, replace(request, settings=chosen)
        )
        spent.append(time.process_time() - begun)
        return outcome

    ioopt.solve("cycle3", solver)  # what is loaded once is not measured
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
    """The mean of paired ratios, and its 95 % interval."""
    return Ratio(
        *mean_interval(a / max(b, 1e-9) for a, b in zip(above, base, strict=True))
    )


def _told(name: str, ratio: Ratio) -> str:
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
    """That the first solver of *chain*, with *options*, is below each other one
    on each of *presets*.
    """
    said, words = [], []
    for preset in presets:
        ours = run(size, reading, (preset, set), chain[0], metric, options)
        where = f"{preset}: " if len(presets) > 1 else ""
        for other in chain[1:]:
            ratio = _ratio(ours, run(size, reading, (preset, set), other, metric))
            said.append(_told(f"{where}{NAMES[chain[0]]}/{NAMES[other]}", ratio))
            words.append(below(ratio))
    return ", ".join(said), several(words)


def copies_pay(size: Sizes, reading: Reading, preset: str, set: Options) -> Found:
    """That the rounds end sooner with copies between nodes than without."""
    alone = run(
        size, reading, (preset, set), "two-stage", options={"replication": False}
    )
    ratio = _ratio(run(size, reading, (preset, set), "two-stage"), alone)
    return _told("with/without", ratio), below(ratio)


def falling(
    size: Sizes,
    reading: Reading,
    along: Sequence[Sequence[Any]],
    solver: str = ORDER[0],
) -> Found:
    """That IP's gain over the better baseline, along workloads with options,
    falls and begins above 0.
    """
    said, shares = [], []
    for name, preset, set, options in along:
        ours = run(size, reading, (preset, set), solver, options=options)
        others = zip(
            *(run(size, reading, (preset, set), o) for o in ORDER[1:]), strict=True
        )
        shares.append([a / min(pair) for a, pair in zip(ours, others, strict=True)])
        mean, low, _ = mean_interval(shares[-1])
        said.append(f"{name} {100 * (1 - mean):+.1f} ± {100 * (mean - low):.1f} %")
    words = [below(_ratio(shares[0], [1.0] * len(shares[0])))]
    words += [below(_ratio(more, less)) for more, less in pairwise(shares)]
    return ", ".join(said), several(words)


def gain_more(
    size: Sizes, reading: Reading, preset: str, small: Options, large: Options
) -> Found:
    """That large disks cut a larger part of the baselines' batch time than of IP's."""
    parts = {}
    for solver in ORDER:
        more, less = (
            run(size, reading, (preset, set), solver) for set in (large, small)
        )
        parts[solver] = [a / max(b, 1e-9) for a, b in zip(more, less, strict=True)]
    ratios = {name: _ratio(parts[name], parts[ORDER[0]]) for name in ORDER[1:]}
    said = [
        f"{NAMES[name]} {100 * (1 - mean_interval(parts[name])[0]):.0f} %"
        for name in ORDER
    ]
    return f"cut by: {', '.join(said)}", several(
        [below(ratio) for ratio in ratios.values()]
    )


def planning(
    size: Sizes,
    reading: Reading,
    first: Sequence[Any],
    second: Sequence[Any],
    limit: float | None = None,
) -> Found:
    """Processor time to plan a task: *first* below *second* (solver, settings,
    options), or to *limit*.
    """
    sides = [
        run(size, reading, ("ppa", set), solver, "milliseconds", options)
        for solver, set, options in (first, second)
    ]
    ratio = _ratio(*sides)
    means = " against ".join(f"{mean_interval(side)[0]:.3f}" for side in sides)
    word = below(ratio) if limit is None else reaches(ratio, limit)
    return f"{_told('ratio', ratio)} ({means} ms)", word


def sizes(quick: bool) -> str:
    """One line: how much is run."""
    size = Sizes.of(quick)
    return (
        f"{size.tasks} tasks ({size.many_tasks} in Figure 5, PPA {size.most_500} and "
        f"in Figure 6 {size.ppa_tasks}), seeds {size.seeds[0]} to {size.seeds[-1]} "
        "(readings, work and thresholds were chosen on seeds 0 to 2), "
        f"{size.effort:g} deterministic seconds a model (Figure 6: 0.5); mean ± half "
        "of the 95 % interval"
    )


def claims(quick: bool) -> list[Claim]:
    """The claims of all figures."""
    size = Sizes.of(quick)
    rows = table("khanna")["claims"]
    for row in rows:
        if "readings" in row:
            row["readings"] = GROUPS[row["readings"]]
    readings = {name: (size, reading) for name, reading in READINGS.items()}
    return list(computed(rows, globals(), readings, **asdict(size)))


def notes(rows: Sequence[Claim]) -> Iterator[str]:
    """What decides."""
    yield from table("khanna")["why"]


def pictures(quick: bool) -> Iterator[Picture]:
    """Figures 2 to 6 under the first reading; the paper's text prints
    no number of theirs.
    """
    size, reading = Sizes.of(quick), next(iter(READINGS.values()))
    for row in table("khanna")["pictures"]:
        metric = row.get("metric", SPAN)
        lines = {
            name: [
                point(at, run(size, reading, (preset, set), solver, metric, options))
                for at, preset, set in row["points"]
            ]
            for name, solver, options in row["lines"]
        }
        axes = plot_sweep(lines, row["across"], row["words"], title=row["caption"])
        yield Picture(row["name"], row["caption"], axes)
