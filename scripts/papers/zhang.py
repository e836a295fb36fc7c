"""Judge the claims of Zhang et al., with the slowdown as printed and in two other
readings.

"x % better" means that the ratio of two means, minus one, is x %, as in the paper
("over 200 %"): the better mean is at most 1 / (1 + x / 100) of the other mean. A claim
about several loads is judged at each of them, against the best of the rivals that the
claim names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from statistics import fmean
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib.figure import Figure
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
    Spot,
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

from ioopt.compiled.library import maker
from ioopt.decisions.gang.state import Timing
from ioopt.generate.gang.generate import LOADS_SECONDS, BluePacificLike, make_table
from ioopt.plot.curves import plot_sweep
from ioopt.sim.gang.simulate import GangSimulation
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
"""All policies that are compared, keyed by name."""
CLASSES = (0.5, 0.33, 0.1)
"""The I/O intensities r of the paper's three classes of workloads."""
COSTS = (0.0, 10.0, 20.0, 30.0)
"""The migration costs C of Figure 8 in seconds."""
BUDGETS = (0, 16, 32, 64, 128, 256, 320)
"""The values of Q in Figure 8: the largest number of tasks that may migrate in a time
slice.
"""
LAST = 8
"""The index of the highest of the nine loads (t_e = 3102 s; the paper has 3000 s)."""
ARRIVAL = "from arrival"
READINGS: dict[str, dict[str, Any]] = {
    "slowdown and response from start": {},
    ARRIVAL: {"since": "arrival"},
    "from arrival, smaller jobs and calmer arrivals": {
        "since": "arrival",
        "preset": {"class_centre": 4.66, "interarrival_cv": 1.0},
    },
}
"""For each reading, its changes: the instant from which time counts, and settings of
the workload.
"""


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
    """Simulate one workload under *policy*; return its measures. *load* is the index of
    one of the nine loads.
    """
    settings = BluePacificLike(
        jobs=jobs,
        mean_local_seconds=LOADS_SECONDS[load],
        intensity=intensity,
        migration_seconds=migration,
        migration_tasks_per_quantum=budget,
        **preset,
    )
    workload = make_table(settings, seed)
    timing = Timing.of(settings.machine)
    run = GangSimulation(workload.gangs(), timing, POLICIES[policy], make=maker())
    trajectory = run.run()
    start = np.array(trajectory.start)
    finish = np.array(trajectory.finish)
    found = {
        "local": float(sum(trajectory.local)),
        "wait": float((start - workload.arrival).mean()),
    }
    floor = np.maximum(workload.local, float(timing.quantum))
    for since, begun in (("start", start), ("arrival", workload.arrival)):
        response = finish - begun
        found[f"response_from_{since}"] = float(response.mean())
        slowdown = np.maximum(response, float(timing.quantum)) / floor
        found[f"slowdown_from_{since}"] = float(slowdown.mean())
    return found


@dataclass(frozen=True)
class Runs:
    """The number of jobs and the seeds of the runs, and the reading under which they
    are measured.
    """

    jobs: int = 10_000
    seeds: Sequence[int] = range(2000, 2020)
    since: str = "start"
    preset: Mapping[str, Any] = field(default_factory=dict)

    def values(
        self, measure: str, policy: str, load: int, intensity: Any, **options: Any
    ) -> list[float]:
        """Return *measure* for one policy, load and I/O intensity, with one value for
        each seed.
        """
        asked = []
        for seed in self.seeds:
            one = {
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
            asked.append(one)
        name = measure
        if measure not in ("wait", "local"):
            name = f"{measure}_from_{self.since}"
        return [found[name] for found in values_of(simulated, asked)]

    def mean(
        self, measure: str, policy: str, load: int, intensity: Any, **options: Any
    ) -> float:
        """Return the mean of *measure* over the seeds."""
        return fmean(self.values(measure, policy, load, intensity, **options))

    def ratio(
        self, measure: str, better: str, worse: str, load: int, intensity: Any
    ) -> Ratio:
        """Return the mean of *measure* under policy *better* divided by the mean under
        policy *worse*.
        """
        base = self.values(measure, worse, load, intensity)
        over = self.values(measure, better, load, intensity)
        return ratio_interval(base, over)

    def ratios(
        self,
        measure: str,
        policy: str,
        of: Sequence[str],
        intensity: Any,
        since: float = 0.0,
        until: float = float("inf"),
    ) -> dict[float, Ratio]:
        """Return, for each load, the mean of *measure* under *policy* divided by the
        mean under the best of the policies *of*.

        The loads are those whose t_e (mean local run time in seconds) lies between
        *since* and *until*.
        """
        found: dict[float, Ratio] = {}
        for load, seconds in enumerate(LOADS_SECONDS):
            if since <= seconds <= until:
                rivals = [
                    self.ratio(measure, policy, other, load, intensity) for other in of
                ]
                found[seconds] = max(rivals)
        return found


def gain(ratio: Ratio) -> str:
    """Return, as text, the gain of the better policy: the ratio of the means minus
    one.
    """
    if ratio.mean < 1e-3:
        return "over 1000 times"
    return f"{1 / ratio.mean - 1:+.0%}"


def best(
    runs: Runs,
    policy: str,
    of: Sequence[str],
    intensity: Any,
    measure: str = "slowdown",
    least: float = 0.0,
    **loads: float,
) -> Found:
    """Judge whether *policy* is better than the best of the policies *of* at each load.

    If *least* is given, it must be better by at least this share.
    """
    found = runs.ratios(measure, policy, of, intensity, **loads)
    words = {seconds: _better(ratio, least) for seconds, ratio in found.items()}
    worst = max(found.values())
    most = min(found.values())
    holding = list(words.values()).count(HOLDS)
    figure = (
        f"{holding} of {len(found)} loads; "
        f"better by {gain(worst)} (ratio {worst.mean:.3f} [{worst.low:.3f} .. "
        f"{worst.high:.3f}]) to {gain(most)}"
    )
    for word in VERDICTS[1:]:
        at = [f"{t:.0f} ({gain(found[t])})" for t in found if words[t] == word]
        if len(at) == len(found):
            figure += f"; {word} at all"
        elif at:
            figure += f"; {word} at t_e {', '.join(at)}"
    spots = [Spot(f"t_e {t:.0f} s", *ratio) for t, ratio in found.items()]
    return figure, several(list(words.values())), spots


def _better(ratio: Ratio, least: float) -> str:
    """Judge whether *ratio* is below 1. If *least* is given, judge whether it is so far
    below 1 that the gain is at least *least*.
    """
    if least:
        return reaches(ratio, 1 / (1 + least))
    return below(ratio)


def best_at_most(
    runs: Runs, policy: str, of: Sequence[str], intensities: Sequence[Any], measure: str
) -> Found:
    """Judge whether *policy* is better than all policies *of* on more than half of the
    workloads.

    The workloads are all loads with each of *intensities*.
    """
    counts = []
    total = 0
    for intensity in intensities:
        ratios = runs.ratios(measure, policy, of, intensity).values()
        count = [below(ratio) for ratio in ratios].count(HOLDS)
        counts.append(f"r = {intensity}: {count}")
        total += count
    workloads = len(intensities) * len(LOADS_SECONDS)
    figure = f"best at {total} of {workloads} ({', '.join(counts)} of 9)"
    return figure, verdict(2 * total > workloads)


def local_jobs(runs: Runs, counts: Sequence[Mapping[str, Any]]) -> Found:
    """Judge whether the final number of local jobs is close to the number in the paper.

    *counts* gives, for each case, the number in the paper and the largest relative
    distance from it.
    """
    figures = []
    words = []
    for each in counts:
        paper = each["jobs"] * runs.jobs / 10_000
        mean = runs.mean("local", each["policy"], each["load"], 0.5)
        figures.append(f"{each['policy']} {mean:.0f} ({each['jobs']})")
        words.append(verdict(abs(mean - paper) <= each["within"] * paper))
    return ", ".join(figures), several(words)


def collapse(runs: Runs, policy: str, intensity: float, measure: str) -> Found:
    """Judge whether *policy* is worse than IOGS at the highest load, and close to GS.

    It is close if its ratio to GS is nearer to 1 than at the lowest load, and differs
    from 1 by less than a quarter.
    """
    to_iogs = runs.ratio(measure, "iogs", policy, LAST, intensity)
    low = runs.ratio(measure, policy, "gs", 0, intensity).mean
    high = runs.ratio(measure, policy, "gs", LAST, intensity).mean
    figure = (
        f"{high:.2f} x GS (at the lowest load {low:.2f} x), "
        f"{1 / to_iogs.mean:.2f} x IOGS"
    )
    close = abs(high - 1) < min(0.25, abs(low - 1))
    return figure, several([below(to_iogs), verdict(close)])


def _distances(runs: Runs, policy: str, measure: str) -> list[float]:
    """Return, for each load, the distance of *policy* from GS divided by the distance
    of IOGS from GS (r = .1).
    """
    found = []
    for load in range(len(LOADS_SECONDS)):
        gs = runs.mean(measure, "gs", load, 0.1)
        iogs = runs.mean(measure, "iogs", load, 0.1)
        other = runs.mean(measure, policy, load, 0.1)
        found.append(abs(other - gs) / abs(iogs - gs))
    return found


def close_to_gs(runs: Runs, policy: str, share: float, measure: str) -> Found:
    """Judge whether *policy* is close to GS at each load (r = .1).

    It is close if its distance from GS is at most *share* times the distance of IOGS
    from GS.
    """
    close = _distances(runs, policy, measure)
    figure = (
        f"at most {max(close):.2f} of that of IOGS, at the highest load {close[-1]:.3f}"
    )
    return figure, several([verdict(one <= share) for one in close])


def closer_at_the_end(runs: Runs, policy: str, measure: str) -> Found:
    """Judge whether *policy* is closer to GS at the highest load than at the lowest
    load.
    """
    low = runs.ratio(measure, policy, "gs", 0, 0.1).mean
    high = runs.ratio(measure, policy, "gs", LAST, 0.1).mean
    figure = f"{low:.2f} x GS at the lowest load, {high:.2f} x at the highest"
    return figure, verdict(abs(high - 1) < abs(low - 1))


def slightly_worse(runs: Runs, policy: str, share: float, measure: str) -> Found:
    """Judge whether *policy* is slightly worse than GS at each load (r = .1).

    It is only slightly worse if its distance from GS is at most *share* times the
    distance of IOGS from GS.
    """
    ratios = list(runs.ratios(measure, "gs", [policy], 0.1).values())
    near = [one <= share for one in _distances(runs, policy, measure)]
    words = []
    for ratio, is_near in zip(ratios, near, strict=True):
        word = below(ratio)
        if word == HOLDS and not is_near:
            word = PARTLY
        words.append(word)
    figures = ", ".join(map(gain, ratios))
    return f"{figures}; as near at {sum(near)} of 9 loads", several(words)


def cost_of_migration(runs: Runs, margin: float, measure: str) -> Found:
    """Judge whether, at the highest load, *measure* with each migration cost C differs
    from that with C = 0 by at most *margin*.
    """
    figures = []
    words = []
    for intensity in CLASSES:
        by_cost = []
        for cost in COSTS:
            values = runs.values(
                measure, "migrate-iogs", LAST, intensity, migration=cost
            )
            by_cost.append(values)
        free, *dear = by_cost
        ratios = [ratio_interval(free, values) for values in dear]
        last = ratios[-1]
        figures.append(
            f"r = {intensity}: C = 30 {last.mean - 1:+.1%} [{last.low - 1:+.1%} "
            f".. {last.high - 1:+.1%}]"
        )
        words += [_within_margin(ratio, margin) for ratio in ratios]
    return "; ".join(figures), several(words)


def _within_margin(ratio: Ratio, margin: float) -> str:
    """Judge whether *ratio* differs from 1 by at most *margin*. It is a tie if a limit
    of the margin lies inside the interval of the ratio.
    """
    if 1 - margin <= ratio.low and ratio.high <= 1 + margin:
        return HOLDS
    if ratio.low > 1 + margin or ratio.high < 1 - margin:
        return NOT
    return TIE


def _by_budget(runs: Runs, intensity: float, measure: str) -> dict[int, list[float]]:
    """Return the values of *measure* at the highest load for each Q, the number of
    tasks that may migrate.
    """
    found: dict[int, list[float]] = {}
    for budget in BUDGETS:
        found[budget] = runs.values(
            measure, "migrate-iogs", LAST, intensity, budget=budget
        )
    return found


def gain_by_budget(
    runs: Runs, intensity: float, measure: str, least: float = 0.0
) -> Found:
    """Judge whether the largest Q is better than Q = 0; if *least* is given, by at
    least this share.
    """
    found = _by_budget(runs, intensity, measure)
    ratio = ratio_interval(found[0], found[320])
    means = [f"{budget}: {fmean(values):.3g}" for budget, values in found.items()]
    figure = f"{gain(ratio)} (by Q {', '.join(means)})"
    return figure, _better(ratio, least), [Spot("Q 320 over Q 0", *ratio)]


def early_gain(runs: Runs, intensity: float, measure: str, share: float) -> Found:
    """Judge whether Q = 64 gives more than *share* of the gain that the largest Q
    gives.
    """
    found = _by_budget(runs, intensity, measure)
    none = fmean(found[0])
    early = (none - fmean(found[64])) / (none - fmean(found[320]))
    return f"{early:.0%}", verdict(early > share)


def larger_budgets(runs: Runs, intensity: float, measure: str) -> Found:
    """Judge whether each Q above 64 is worse than Q = 64."""
    found = _by_budget(runs, intensity, measure)
    figures = []
    words = []
    for budget in BUDGETS:
        if budget > 64:
            ratio = ratio_interval(found[budget], found[64])
            figures.append(f"Q = {budget}: {1 / ratio.mean - 1:+.1%}")
            words.append(below(ratio))
    return ", ".join(figures), several(words)


def runs_of(quick: bool) -> Runs:
    """Return the quick runs or the full runs."""
    if quick:
        return Runs(jobs=1_000, seeds=range(2))
    return Runs()


def sizes(quick: bool) -> str:
    """Return one line that says how much is run, and on which seeds."""
    runs = runs_of(quick)
    return (
        f"preset blue-pacific-like, {runs.jobs} jobs, seeds {runs.seeds[0]} to "
        f"{runs.seeds[-1]} at each point (workload, readings and yardsticks were "
        "chosen on seeds 0 to 199), highest load of nine for Figure 8"
    )


def claims(quick: bool) -> list[Claim]:
    """Return the claims under every reading."""
    runs = runs_of(quick)
    readings = {name: (replace(runs, **changes),) for name, changes in READINGS.items()}
    return list(computed(table("zhang")["claims"], globals(), readings))


def notes(rows: Sequence[Claim]) -> Iterator[str]:
    """Yield the notes in the table of the paper, and how many claims hold under two of
    the readings.
    """
    yield from table("zhang")["notes"]
    counted = [row for row in rows if row.counted]
    printed = [row.verdict for row in counted].count(HOLDS)
    from_arrival = [_verdict_from_arrival(row) for row in counted].count(HOLDS)
    yield (
        f"Of {len(counted)} claims {printed} hold as printed, {from_arrival} counted "
        f"{ARRIVAL}."
    )


def _verdict_from_arrival(row: Claim) -> str:
    """Return the verdict of a claim under the reading that counts slowdown from
    arrival.
    """
    for name, word, _ in row.other:
        if name == ARRIVAL:
            return word
    return row.verdict


def pictures(quick: bool) -> Iterator[Picture]:
    """Draw slowdown, response and wait against the load, the number of local jobs, and
    Figure 8.

    Slowdown and response are drawn twice: from a job's start, as the verdicts count
    them first, and from its arrival. The numbers of local jobs that the text of the
    paper prints are marked.
    """
    runs = runs_of(quick)
    for intensity, measure in product((*CLASSES, "mixed"), FIGURES[0.5]):
        lines = _by_load(POLICIES, measure, intensity)
        figure = FIGURES[intensity][measure]
        yield _picture(
            runs, lines, measure, f"{intensity}", f"{figure}, r = {intensity}", LOAD
        )
    marks = {"paper": [(t, n) for t, n in table("zhang")["local_jobs"]]}
    lines = _by_load(FOUR, "local", 0.5)
    yield _picture(
        runs, lines, "local", "0.5", "Sections 3.5 and 3.7, r = 0.5", LOAD, marks
    )
    parameters: list[tuple[str, str, Sequence[float]]] = [
        ("budget", "Q (tasks)", BUDGETS),
        ("migration", "C (s)", COSTS),
    ]
    for measure, (name, across, places) in product(FIGURES[0.5], parameters):
        lines = {
            f"r = {r}": {
                at: {"policy": "migrate-iogs", "load": LAST, "intensity": r, name: at}
                for at in places
            }
            for r in CLASSES
        }
        title = "Figure 8, highest load"
        yield _picture(runs, lines, measure, f"8-{name}", title, across)


Lines = Mapping[str, Mapping[float, Mapping[str, Any]]]
"""For each curve, the options of :meth:`Runs.values` at each place."""
Marks = Mapping[str, list[tuple[float, float]]]
"""For each name in the legend, the points to mark as (place, value)."""
LOAD = "mean local run time (s)"
INSTANTS = ("start", "arrival")
"""The instants from which slowdown and response count."""
WORDS = {
    "slowdown": "mean slowdown (factor)",
    "response": "mean response (s)",
    "wait": "mean wait (s)",
    "local": "local jobs of 10,000 (count)",
}
FIGURES: Mapping[Any, Mapping[str, str]] = {
    0.5: {
        "slowdown": "Figures 4a, 6a and 9a",
        "response": "Section 3.7 (no figure)",
        "wait": "Figures 4d, 6d and 9d",
    },
    0.33: {
        "slowdown": "Figures 4b, 6b and 9b",
        "response": "Section 3.7 (no figure)",
        "wait": "Figures 4e, 6e and 9e",
    },
    0.1: {
        "slowdown": "Figures 4c, 6c and 9c",
        "response": "Section 3.7 (no figure)",
        "wait": "Figures 4f, 6f and 9f",
    },
    "mixed": {
        "slowdown": "Figure 10a",
        "response": "Section 4 (no figure)",
        "wait": "Figure 10b",
    },
}
"""For each I/O intensity and measure, the place in the paper that shows it."""


def _by_load(policies: Iterable[str], measure: str, intensity: Any) -> Lines:
    """Return a curve for each of *policies*, with a place for each load."""
    return {
        policy: {
            seconds: {"policy": policy, "load": load, "intensity": intensity}
            for load, seconds in enumerate(LOADS_SECONDS)
        }
        for policy in policies
    }


def _picture(
    runs: Runs,
    lines: Lines,
    measure: str,
    name: str,
    title: str,
    across: str,
    marks: Marks = MappingProxyType({}),
) -> Picture:
    """Draw means and standard errors; slowdowns, waits and counts are logarithmic.

    Slowdown and response have a panel for each of INSTANTS.
    """
    twice = measure in ("slowdown", "response")
    instants = INSTANTS if twice else INSTANTS[:1]
    figure = Figure(figsize=(1 + 6.5 * len(instants), 4.2), layout="constrained")
    panels = figure.subplots(1, len(instants), sharey=True, squeeze=False)[0]
    for axes, since in zip(panels, instants):
        counted = replace(runs, since=since)
        curves = {}
        for label, places in lines.items():
            curves[label] = [
                point(at, counted.values(measure, **options))
                for at, options in places.items()
            ]
        heading = f"from {since}" if twice else ""
        plot_sweep(curves, across, WORDS[measure], heading, marks=marks, axes=axes)
        if axes is not panels[-1]:
            axes.get_legend().remove()
    first, *_ = panels
    first.autoscale(axis="y")  # after both panels, which share the axis
    if measure == "slowdown":
        first.set_yscale("log", base=2)
    elif measure != "response":
        first.set_yscale("symlog", linthresh=1.0)
    first.yaxis.set_major_formatter("{x:,g}")
    first.set_ylim(bottom=1.0 if measure == "slowdown" else 0.0)
    caption = f"{title}: {WORDS[measure]} against {across} (mean, standard error)"
    if twice:
        caption += "; time counts from a job's start and from its arrival"
    return Picture(f"zhang-{measure}-{name}", caption, first)
