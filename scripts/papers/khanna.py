"""Khanna et al.: the claims of Figures 2 to 6, in simulation, on both link models.

Every plan is made once a seed and replayed on the timeline simulator with one shared 100 Mbps link
(the paper's testbed) and with a private one a node (its equation 11 as printed). "IP" is the
literal two-stage scheme where disks are limited and ``ip`` where they are not. A claim is
reproduced when the 95 % interval of every ratio it states, over the seeds, lies below 1, not
reproduced when one lies above, undecided otherwise.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any, cast

from papers.claims import (
    NOT,
    REPRODUCED,
    UNDECIDED,
    Claim,
    Found,
    Picture,
    computed,
    point,
    table,
    values_of,
    verdict,
)

import ioopt
from ioopt.generate.replication.generate import generate
from ioopt.metrics import mean_interval
from ioopt.plot.curves import plot_sweep
from ioopt.problems.replication import LinkModel
from ioopt.units import parse_bytes

SIZED = ("tasks", "many_tasks", "ppa_tasks", "most_500")
"""Settings that are sizes of the run."""
LINKS: tuple[LinkModel, ...] = ("shared", "per-node")
# JobDataPresent ignores load, and on private links IMAGE's makespan then varies by an eighth.
MANY_SEEDS, SHORT_SECONDS = 100, 1.0
NAMES = {
    "two-stage": "IP",
    "ip": "IP",
    "ip-no-replication": "IP without replication",
    "hierarchical": "IP",
    "minmin": "MinMin",
    "job-data-present": "JobDataPresent",
}


@dataclass(frozen=True)
class Sizes:
    """How much is run: seeds, seconds a solve, tasks of the large workloads, seeds of wide spreads."""

    seeds: int
    seconds: float
    tasks: int
    many_tasks: int
    ppa_tasks: int
    disks: tuple[str, ...]
    many_seeds: int

    @property
    def most_500(self) -> int:
        """Tasks of PPA outside Figure 6."""
        return min(500, self.ppa_tasks)

    @property
    def short(self) -> float:
        """Seconds a solve where there are many seeds."""
        return min(SHORT_SECONDS, self.seconds)

    @classmethod
    def of(cls, quick: bool) -> Sizes:
        """Full figures as in the paper; quick ones with fewer tasks, seeds and seconds."""
        if quick:
            return cls(3, 1.0, 40, 60, 160, ("300MB", "2GB"), 3)
        disks = ("300MB", "500MB", "700MB", "1GB", "2GB")
        return cls(5, 10.0, 100, 400, 2000, disks, MANY_SEEDS)


Figures = Mapping[LinkModel, Mapping[str, float]]
Points = Mapping[float, tuple[str, Mapping[str, Any]]]
"""Preset and settings by the place on an axis."""


@dataclass
class Laboratory:
    """Runs a solver on a workload once a seed and remembers what came out."""

    sizes: Sizes
    done: dict[tuple[Any, ...], list[Figures]] = field(default_factory=dict)

    def run(
        self, preset: str, settings: Mapping[str, Any], solver: str, **options: Any
    ) -> list[Figures]:
        """Metrics by link model, one entry a seed."""
        settings = {
            key: getattr(self.sizes, value) if value in SIZED else value
            for key, value in settings.items()
        }
        key = (preset, *sorted(settings.items()), solver, *sorted(options.items()))
        if key not in self.done:
            asked = [
                {"preset": preset, "settings": dict(settings), "solver": solver,
                 "options": options, "seed": seed, "seconds": self.sizes.seconds}
                for seed in range(self.sizes.seeds)
            ]  # fmt: skip
            self.done[key] = [cast(Figures, found) for found in values_of(solved, asked)]
        return self.done[key]


def solved(
    preset: str, settings: Mapping[str, Any], solver: str, options: Mapping[str, Any], seed: int,
    seconds: float,
) -> Figures:  # fmt: skip
    """Solve one workload once and replay the plan on both link models."""
    problem = generate(preset, settings, seed)
    result = ioopt.solve(problem, solver, time_limit=seconds, seed=seed, settings=options)
    if result.violations or result.plan is None:
        raise SystemExit(f"{problem.name}: {solver}: {result.status} {result.notes}")
    planned = {
        "milliseconds_per_task": 1000 * (result.solve_seconds or 0.0) / len(problem.tasks),
        "additive_seconds": result.metrics["additive_seconds"],
    }
    return {
        link: planned | dict(ioopt.simulate(problem, result, link=link).metrics) for link in LINKS
    }


ORDER = ("two-stage", "job-data-present", "minmin")


def ordered(
    lab: Laboratory, link: LinkModel, preset: str, set: Mapping[str, Any],
    chain: Sequence[str] = ORDER, metric: str = "makespan_seconds",
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Found:  # fmt: skip
    """That each solver of *chain* is below the next on one workload; *options* are for the first."""
    runs = [lab.run(preset, set, chain[0], **options)]
    runs += [lab.run(preset, set, solver) for solver in chain[1:]]
    said, word = [], REPRODUCED
    for at, (first, second) in enumerate(pairwise(runs)):
        pairs = zip(first, second, strict=True)
        mean, low, high = mean_interval(a[link][metric] / b[link][metric] for a, b in pairs)
        said.append(f"{NAMES[chain[at]]}/{NAMES[chain[at + 1]]} {mean:.3f} ± {high - mean:.3f}")
        if low >= 1:
            word = NOT
        elif high >= 1 and word == REPRODUCED:
            word = UNDECIDED
    return ", ".join(said), word


def falling_gain(
    lab: Laboratory, link: LinkModel, presets: Sequence[str], set: Mapping[str, Any]
) -> Found:
    """The gain over the better baseline falls with the overlap."""
    gains = []
    for preset in presets:
        runs = [lab.run(preset, set, solver) for solver in ORDER]
        spans = [[one[link]["makespan_seconds"] for one in run] for run in runs]
        rows = zip(*spans, strict=True)
        gains.append(mean_interval([1 - ours / min(others) for ours, *others in rows]))
    falls = all(more[0] > less[0] for more, less in pairwise(gains))
    ours = ", ".join(
        f"{preset} {100 * mean:+.0f} ± {100 * (high - mean):.0f} %"
        for preset, (mean, _, high) in zip(presets, gains, strict=True)
    )
    return ours, verdict(falls and gains[0][1] > 0)


def scheduling(lab: Laboratory, link: LinkModel, set: Mapping[str, Any], hierarchy: str) -> Found:
    """Median time to plan a task, PPA with many tasks."""
    times = {
        "flat": lab.run("ppa", set, "two-stage"),
        "hierarchical": lab.run("ppa", set, "hierarchical", hierarchy=hierarchy),
        "MinMin": lab.run("ppa", set, "minmin"),
        "JobDataPresent": lab.run("ppa", set, "job-data-present"),
    }
    medians = {
        name: statistics.median(one[link]["milliseconds_per_task"] for one in runs)
        for name, runs in times.items()
    }
    least = medians["JobDataPresent"] == min(medians.values())
    ours = ", ".join(f"{name} {value:.3f}" for name, value in medians.items())
    return ours, verdict(medians["hierarchical"] < medians["flat"] and least)


def sizes(quick: bool) -> str:
    """One line: how much is run."""
    size = Sizes.of(quick)
    return (
        f"{size.tasks} tasks ({size.many_tasks} in Figure 5, PPA {size.ppa_tasks} in Figure 6), "
        f"{size.seeds} seeds, {size.seconds:g} s a solve unless a row says otherwise; "
        "mean ± half of the 95 % interval"
    )


def claims(quick: bool) -> list[Claim]:
    """The claims of all figures."""
    size = Sizes.of(quick)
    labs = {
        "usual": Laboratory(size),
        "many": Laboratory(replace(size, seeds=size.many_seeds, seconds=size.short)),
        # Scheduling time is measured there, so the time limit must not be what ends a run.
        "patient": Laboratory(replace(size, seconds=6 * size.seconds)),
    }
    found: list[Claim] = []
    for row in table("khanna")["claims"]:
        if row.pop("full", False) and quick:
            continue
        lab = labs[row.pop("lab", "usual")]
        for link in row.pop("links", LINKS):
            names = {"link": link, "short": size.short, **asdict(size)}
            found += computed([row], globals(), lab, link, **names)
    return found


def pictures(quick: bool) -> Iterator[Picture]:
    """Batch time against overlap (Figure 2) and against disk space (Figure 4b)."""
    lab = Laboratory(Sizes.of(quick))
    tasks = {"tasks": "tasks"}
    small = {**tasks, "cap": "300MB"}
    overlaps = {"image": (0, 40, 85), "sat": (10, 40, 85)}
    for link in LINKS:
        for name, values in overlaps.items():
            title = f"Figure 2, {name.upper()}: batch time against overlap, {link} link"
            points = {at: (f"{name}-{at}", tasks) for at in values}
            yield _picture(lab, f"khanna-2-{name}-{link}", title, "overlap (%)", link, points)
        title = f"Figure 4b, IMAGE-85: batch time against disk space, {link} link"
        disks = {
            parse_bytes(disk) / 1e9: ("image-85", {**small, "disk": disk})
            for disk in lab.sizes.disks
        }
        yield _picture(lab, f"khanna-4b-{link}", title, "disk of a node (GB)", link, disks)


def _picture(
    lab: Laboratory, name: str, caption: str, across: str, link: LinkModel, points: Points
) -> Picture:
    """Batch time on *link* of every solver on the workloads *points*, by their place on the axis."""
    lines = {
        NAMES[solver]: [
            point(at, [one[link]["makespan_seconds"] for one in lab.run(*workload, solver)])
            for at, workload in points.items()
        ]
        for solver in ORDER
    }
    return Picture(name, caption, plot_sweep(lines, across, "batch time (s)", title=caption))
