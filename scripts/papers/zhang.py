"""Zhang et al.: every claim with our figure, under the slowdown as it is printed
and two other readings.

"x % better" is the ratio of two means less one, as the paper uses it ("over 200 %"), so
that the better mean is at most 1 / (1 + x) of the other. A claim over several loads is
judged at each of them, against the closest of the rivals that it names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from statistics import fmean
from typing import Any

import numpy as np
from papers.claims import (
    HOLDS,
    NOT,
    PARTLY,
    TIE,
    VERDICTS,
    Claim,
    Found,
    Picture,
    Ratio,
    below,
    computed,
    point,
    ratio_interval,
    reaches,
    several,
    table,
    values_of,
    verdict,
)

from ioopt.decisions.gang.state import Timing
from ioopt.generate.gang.generate import LOADS_SECONDS, BluePacificLike, make_table
from ioopt.plot.curves import plot_sweep
from ioopt.sim.gang.compiled import run
from ioopt.solvers.gang.policy import (
    ADAPTIVE_IOGS,
    GS,
    IOGS,
    MIGRATE_IOGS,
    GuardedSettings,
    IndexSettings,
    guarded,
    index,
)

FOUR = ("gs", "iogs", "adaptive-iogs", "migrate-iogs")
OURS = (guarded(GuardedSettings()), index(IndexSettings()))
POLICIES = {
    policy.name: policy for policy in (GS, IOGS, ADAPTIVE_IOGS, MIGRATE_IOGS, *OURS)
}
"""Every policy that is compared."""
CLASSES = (0.5, 0.33, 0.1)
"""The paper's three classes of workloads by I/O intensity r."""
COSTS = (0.0, 10.0, 20.0, 30.0)
BUDGETS = (0, 16, 32, 64, 128, 256, 320)
"""Figure 8: migration costs C in seconds, and most tasks Q that
migrate in a time slice.
"""
LAST = 8
"""Position of the highest load (t_e = 3102 s, the paper's 3000) among the nine."""
ARRIVAL = "from arrival"
READINGS: dict[str, dict[str, Any]] = {
    "slowdown and response from start": {},
    ARRIVAL: {"since": "arrival"},
    "from arrival, smaller jobs and calmer arrivals": {
        "since": "arrival",
        "preset": {"class_centre": 4.66, "interarrival_cv": 1.0},
    },
}
"""What changes in the runs: from which instant is counted, and the fitted workload."""


@cache
def simulated(
    policy: str,
    load: int,
    intensity: Any,
    seed: int,
    jobs: int,
    migration: float,
    budget: int,
    **preset: Any,
) -> Mapping[str, float]:
    """Measures of one workload of *preset* settings; *load* counts the nine
    execution times from 0.
    """
    settings = BluePacificLike(
        jobs=jobs,
        mean_local_seconds=LOADS_SECONDS[load],
        intensity=intensity,
        migration_seconds=migration,
        migration_tasks_per_quantum=budget,
        **preset,
    )
    jobs_of, timing = make_table(settings, seed), Timing.of(settings.machine)
    trajectory = run(jobs_of.gangs(), timing, POLICIES[policy].rules)
    start, finish = np.array(trajectory.start), np.array(trajectory.finish)
    found = {
        "local": float(sum(trajectory.local)),
        "wait": float((start - jobs_of.arrival).mean()),
    }
    floor = np.maximum(jobs_of.local, float(timing.quantum))
    for since, begun in (("start", start), ("arrival", jobs_of.arrival)):
        response = finish - begun
        found[f"response_from_{since}"] = float(response.mean())
        slowdown = np.maximum(response, float(timing.quantum)) / floor
        found[f"slowdown_from_{since}"] = float(slowdown.mean())
    return found


@dataclass(frozen=True)
class Runs:
    """How many jobs and which seeds the claims rest on, and one
    reading of their measures.
    """

    jobs: int = 10_000
    seeds: Sequence[int] = range(2000, 2020)
    since: str = "start"
    preset: Mapping[str, Any] = field(default_factory=dict)

    def values(
        self, measure: str, policy: str, load: int, intensity: Any, **options: Any
    ) -> list[float]:
        """A measure of one point, a seed at a time."""
        asked = [
            {
                "policy": policy,
                "load": load,
                "intensity": intensity,
                "seed": seed,
                "jobs": self.jobs,
                "migration": 20.0,
                "budget": 64,
                **self.preset,
                **options,
            }
            for seed in self.seeds
        ]
        name = (
            measure if measure in ("wait", "local") else f"{measure}_from_{self.since}"
        )
        return [found[name] for found in values_of(simulated, asked)]

    def mean(
        self, measure: str, policy: str, load: int, intensity: Any, **options: Any
    ) -> float:
        """The mean over the seeds."""
        return fmean(self.values(measure, policy, load, intensity, **options))

    def ratio(
        self, measure: str, better: str, worse: str, load: int, intensity: Any
    ) -> Ratio:
        """The mean of one policy over that of another."""
        values = (
            self.values(measure, name, load, intensity) for name in (worse, better)
        )
        return ratio_interval(*values)

    def ratios(
        self,
        measure: str,
        policy: str,
        of: Sequence[str],
        intensity: Any,
        since: float = 0.0,
        until: float = float("inf"),
    ) -> dict[float, Ratio]:
        """One policy over the best of others by load, those with t_e between
        *since* and *until*.
        """
        return {
            seconds: max(
                self.ratio(measure, policy, other, load, intensity) for other in of
            )
            for load, seconds in enumerate(LOADS_SECONDS)
            if since <= seconds <= until
        }


def gain(ratio: Ratio) -> str:
    """By how much the better one is better, the ratio of the means less one."""
    return f"{1 / ratio.mean - 1:+.0%}" if ratio.mean >= 1e-3 else "over 1000 times"


def best(
    runs: Runs,
    policy: str,
    of: Sequence[str],
    intensity: Any,
    measure: str = "slowdown",
    least: float = 0.0,
    **loads: float,
) -> Found:
    """One policy better than the best of others at each load, by
    *least* where it is given.
    """
    found = runs.ratios(measure, policy, of, intensity, **loads)
    words = {
        seconds: reaches(ratio, 1 / (1 + least)) if least else below(ratio)
        for seconds, ratio in found.items()
    }
    worst, most = max(found.values()), min(found.values())
    figure = (
        f"{sum(word == HOLDS for word in words.values())} of {len(found)} loads; "
        f"better by {gain(worst)} (ratio {worst.mean:.3f} [{worst.low:.3f} .. "
        f"{worst.high:.3f}]) to {gain(most)}"
    )
    for word in VERDICTS[1:]:
        at = [f"{t:.0f} ({gain(found[t])})" for t in found if words[t] == word]
        if at:
            figure += f"; {word} at " + (
                "all" if len(at) == len(found) else f"t_e {', '.join(at)}"
            )
    return figure, several(list(words.values()))


def best_at_most(
    runs: Runs, policy: str, of: Sequence[str], intensities: Sequence[Any], measure: str
) -> Found:
    """One policy better than others at more than half of the workloads of
    several intensities.
    """
    said, total = [], 0
    for intensity in intensities:
        ratios = runs.ratios(measure, policy, of, intensity).values()
        count = sum(below(ratio) == HOLDS for ratio in ratios)
        said.append(f"r = {intensity}: {count}")
        total += count
    workloads = len(intensities) * len(LOADS_SECONDS)
    figure = f"best at {total} of {workloads} ({', '.join(said)} of 9)"
    return figure, verdict(2 * total > workloads)


def local_jobs(runs: Runs, counts: Sequence[Mapping[str, Any]]) -> Found:
    """How many of the jobs are local in the end, each within a share
    of the paper's count.
    """
    said, words = [], []
    for each in counts:
        paper = each["jobs"] * runs.jobs / 10_000
        mean = runs.mean("local", each["policy"], each["load"], 0.5)
        said.append(f"{each['policy']} {mean:.0f} ({each['jobs']})")
        words.append(verdict(abs(mean - paper) <= each["within"] * paper))
    return ", ".join(said), several(words)


def collapse(runs: Runs, policy: str, intensity: float, measure: str) -> Found:
    """At the highest load worse than IOGS, and nearer to GS than at the lowest."""
    far = runs.ratio(measure, "iogs", policy, LAST, intensity)
    low, high = (
        runs.ratio(measure, policy, "gs", load, intensity).mean for load in (0, LAST)
    )
    figure = (
        f"{high:.2f} x GS (at the lowest load {low:.2f} x), {1 / far.mean:.2f} x IOGS"
    )
    return figure, several(
        [below(far), verdict(abs(high - 1) < min(0.25, abs(low - 1)))]
    )


def _distances(runs: Runs, policy: str, measure: str) -> list[float]:
    """Distance of *policy* to GS over that of IOGS, means at r = .1, by load."""
    means = (
        [runs.mean(measure, name, load, 0.1) for name in ("gs", "iogs", policy)]
        for load in range(len(LOADS_SECONDS))
    )
    return [abs(other - gs) / abs(iogs - gs) for gs, iogs, other in means]


def close_to_gs(runs: Runs, policy: str, share: float, measure: str) -> Found:
    """At r = .1 nearer to GS than *share* of what IOGS is, at each load."""
    close = _distances(runs, policy, measure)
    figure = (
        f"at most {max(close):.2f} of that of IOGS, at the highest load {close[-1]:.3f}"
    )
    return figure, several([verdict(one <= share) for one in close])


def closer_at_the_end(runs: Runs, policy: str, measure: str) -> Found:
    """At r = .1 closer to GS at the highest load than at the lowest."""
    low, high = (
        runs.ratio(measure, policy, "gs", load, 0.1).mean for load in (0, LAST)
    )
    figure = f"{low:.2f} x GS at the lowest load, {high:.2f} x at the highest"
    return figure, verdict(abs(high - 1) < abs(low - 1))


def slightly_worse(runs: Runs, policy: str, share: float, measure: str) -> Found:
    """At r = .1 worse than GS at each load, by at most *share* of what IOGS is."""
    ratios = runs.ratios(measure, "gs", [policy], 0.1).values()
    near = [one <= share for one in _distances(runs, policy, measure)]
    words = [
        word if close or word != HOLDS else PARTLY
        for word, close in zip(map(below, ratios), near, strict=True)
    ]
    found = ", ".join(map(gain, ratios))
    return f"{found}; as near at {sum(near)} of 9 loads", several(words)


def cost_of_migration(runs: Runs, margin: float, measure: str) -> Found:
    """Each C against C = 0 at the highest load: all of the interval within
    *margin*, or all beyond.
    """
    said, words = [], []
    for intensity in CLASSES:
        free, *dear = (
            runs.values(measure, "migrate-iogs", LAST, intensity, migration=cost)
            for cost in COSTS
        )
        ratios = [ratio_interval(free, one) for one in dear]
        last = ratios[-1]
        said.append(
            f"r = {intensity}: C = 30 {last.mean - 1:+.1%} [{last.low - 1:+.1%} "
            f".. {last.high - 1:+.1%}]"
        )
        for _, low, high in ratios:
            inside = 1 - margin <= low and high <= 1 + margin
            outside = low > 1 + margin or high < 1 - margin
            words.append(HOLDS if inside else NOT if outside else TIE)
    return "; ".join(said), several(words)


def _by_budget(runs: Runs, intensity: float, measure: str) -> dict[int, list[float]]:
    """A measure by Q at the highest load."""
    return {
        budget: runs.values(measure, "migrate-iogs", LAST, intensity, budget=budget)
        for budget in BUDGETS
    }


def gain_by_budget(
    runs: Runs, intensity: float, measure: str, least: float = 0.0
) -> Found:
    """The largest Q better than none, by *least* where it is given."""
    found = _by_budget(runs, intensity, measure)
    ratio = ratio_interval(found[0], found[320])
    listed = ", ".join(
        f"{budget}: {fmean(values):.3g}" for budget, values in found.items()
    )
    word = reaches(ratio, 1 / (1 + least)) if least else below(ratio)
    return f"{gain(ratio)} (by Q {listed})", word


def early_gain(runs: Runs, intensity: float, measure: str, share: float) -> Found:
    """How much of that gain Q = 64 has."""
    found = {
        budget: fmean(each)
        for budget, each in _by_budget(runs, intensity, measure).items()
    }
    early = (found[0] - found[64]) / (found[0] - found[320])
    return f"{early:.0%}", verdict(early > share)


def larger_budgets(runs: Runs, intensity: float, measure: str) -> Found:
    """Each Q over 64 worse than 64."""
    found = _by_budget(runs, intensity, measure)
    ratios = {
        budget: ratio_interval(found[budget], found[64])
        for budget in BUDGETS
        if budget > 64
    }
    figure = ", ".join(
        f"Q = {q}: {1 / ratio.mean - 1:+.1%}" for q, ratio in ratios.items()
    )
    return figure, several([below(ratio) for ratio in ratios.values()])


def runs_of(quick: bool) -> Runs:
    """The runs of one size."""
    return Runs(1_000, range(2)) if quick else Runs()


def sizes(quick: bool) -> str:
    """One line: how much is run, and on which seeds."""
    runs = runs_of(quick)
    return (
        f"preset blue-pacific-like, {runs.jobs} jobs, seeds {runs.seeds[0]} to "
        f"{runs.seeds[-1]} at each point (workload, readings and yardsticks were "
        "chosen on seeds 0 to 199), highest load of nine for Figure 8"
    )


def claims(quick: bool) -> list[Claim]:
    """The claims under every reading."""
    runs = runs_of(quick)
    readings = {name: (replace(runs, **changes),) for name, changes in READINGS.items()}
    return list(computed(table("zhang")["claims"], globals(), readings))


def notes(rows: Sequence[Claim]) -> Iterator[str]:
    """Readings and findings."""
    yield from table("zhang")["notes"]
    other = [
        next((word for name, word, _ in row.other if name == ARRIVAL), row.verdict)
        for row in rows
    ]
    holds = sum(row.verdict == HOLDS for row in rows)
    yield (
        f"Of {len(rows)} claims {holds} hold as printed, {other.count(HOLDS)} counted "
        f"{ARRIVAL}."
    )


def pictures(quick: bool) -> Iterator[Picture]:
    """Slowdown and wait by load, local jobs, Figure 8, with what the text
    prints of them as marks.
    """
    runs = replace(runs_of(quick), since="arrival")
    drawn: list[tuple[Any, str]] = [*product((*CLASSES, "mixed"), ("slowdown", "wait"))]
    for intensity, measure in (*drawn, (0.5, "local")):
        marks: dict[str, list[tuple[float, float]]] = {}
        if (intensity, measure) == (0.5, "slowdown"):
            loads = [
                (t, *(runs.mean(measure, name, load, 0.5) for name in ("gs", "iogs")))
                for load, t in enumerate(LOADS_SECONDS)
            ]
            marks["paper: iogs at most"] = [
                (t, gs / (3 if t >= 2000 else 2)) for t, gs, _ in loads
            ]
            half = [(t, iogs / 2) for t, _, iogs in loads if t >= 2500]
            marks["paper: migrate-iogs at most"] = half
        elif measure == "local":
            marks["paper"] = [(t, n) for t, n in table("zhang")["local_jobs"]]
        lines = {
            policy: [
                point(seconds, runs.values(measure, policy, load, intensity))
                for load, seconds in enumerate(LOADS_SECONDS)
            ]
            for policy in (FOUR if measure == "local" else POLICIES)
        }
        yield _picture(lines, measure, f"{intensity}", f"r = {intensity}", LOAD, marks)
    for measure, (name, across, places) in product(
        ("slowdown", "wait"),
        (("budget", "Q (tasks)", BUDGETS), ("migration", "C (s)", COSTS)),
    ):
        lines = {
            f"r = {r}": [
                point(at, runs.values(measure, "migrate-iogs", LAST, r, **{name: at}))
                for at in places
            ]
            for r in CLASSES
        }
        yield _picture(
            lines, measure, f"8-{name}", "Figure 8, highest load", across, {}
        )


LOAD = "mean local run time (s)"
WORDS = {
    "slowdown": "mean slowdown from arrival",
    "wait": "mean wait (s)",
    "local": "local jobs of 10,000 (count)",
}


def _picture(
    lines: Mapping[str, Any],
    measure: str,
    name: str,
    title: str,
    across: str,
    marks: Mapping[str, Any],
) -> Picture:
    """Means with their standard errors, on a logarithmic axis, below 1 an even one."""
    axes = plot_sweep(lines, across, WORDS[measure], title=title, marks=marks)
    axes.set_yscale("symlog", linthresh=1.0)
    axes.set_ylim(bottom=1.0 if measure == "slowdown" else 0.0)
    caption = f"{title}: {WORDS[measure]} against {across} (mean, standard error)"
    return Picture(f"zhang-{measure}-{name}", caption, axes)
