"""Zhou et al.: the claims of Figures 8 to 11 and Section VI, and FILL against ADAPTIVE.

The paper has three single months of one machine; here every figure is the mean over
paired seeded months of three presets, with its 95 % interval. The paper's letter is
read as ascending slowdowns (rule 13), sharing by nodes (Section III.A.4), and left-over
bandwidth wasted (rule 11); the other readings change one of these. A claim that names
no workload is made of three cases, one a workload.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise, product
from typing import Any, NamedTuple

from papers.claims import (
    HOLDS,
    PARTLY,
    TIE,
    Claim,
    Found,
    Picture,
    Ratio,
    below,
    computed,
    ratio_interval,
    reaches,
    several,
    table,
    values_of,
    verdict,
)

from ioopt.decisions.batch_io import GrantFunction, IoPolicy, Limits, Request, View
from ioopt.generate.batch_io.generate import MIRA, generate
from ioopt.plot.curves import plot_sweep
from ioopt.registry.policies import io_policy
from ioopt.sim.batch_io.results import metrics_of
from ioopt.sim.batch_io.trace import Trace
from ioopt.solvers.batch_io import adaptive, conservative
from ioopt.solvers.batch_io.run import run_trace

PRINTED = (0.3, 0.5, 1.0, 1.5)
"""Expansion factors that Section IV.E names, and 1, the workloads as they are."""
FACTORS = (*PRINTED, 0.8, 1.2)
"""Figure 11 has six; the last two are guessed, drawn and not judged."""
CONSERVATIVE = ("cons-fcfs", "cons-max-util", "cons-min-inst-sld", "cons-min-aggr-sld")
SLOWDOWNS = CONSERVATIVE[2:]
PAPER_POLICIES = (*CONSERVATIVE, "adaptive")
PRESETS = {
    "1": "mira-mixed",
    "2": "mira-wide",
    "3": "mira-bursts",
    "month": "mira-month",
}
"""Which preset stands for which of the paper's workloads; ours are on the last."""
WORKLOADS = ("1", "2", "3")
FIRST_SEED = 1000
METRICS = (
    "mean_wait_seconds",
    "mean_response_seconds",
    "mean_runtime_seconds",
    "utilisation",
    "io_delay_seconds",
    "node_weighted_io_delay",
)
WAIT, RESPONSE = METRICS[:2]


class Reading(NamedTuple):
    """How BASE_LINE shares, whether left-overs are used, which slowdown goes first."""

    share: str = "per-node"
    top: str = ""
    order: str = "ascending"

    def policy(self, name: str) -> str:
        """The policy that runs where the paper says *name*, with its
        setting if it has one.
        """
        if name == "base-line":
            return f"{name}:share={self.share}"
        name += self.top * (name in CONSERVATIVE)
        return f"{name}:order={self.order}" if "sld" in name else name


READINGS = {
    "as printed": Reading(),
    "most slowed first": Reading(order="descending"),
    "even split": Reading(share="even-split"),
    "per application": Reading(share="per-application"),
    "left-overs used": Reading(top="+top"),
    "even split, most slowed first": Reading("even-split", order="descending"),
}
SINGLE = tuple(READINGS)[:5]
"""Where a row does not ask for both at once."""


class Size(NamedTuple):
    """Seeds, and the presets' settings, of one reproduction."""

    seeds: int
    settings: dict[str, str]
    engine: str


FULL = Size(24, {}, "compiled")
QUICK = Size(2, {"jobs": "100", "days": "1"}, "python")


class Runs(NamedTuple):
    """Metrics by (workload, loop, policy, expansion factor), a value a
    seed, under one reading.
    """

    values: dict[tuple[Any, ...], list[dict[str, float]]]
    reading: Reading = READINGS["as printed"]

    def of(
        self,
        metric: str,
        policy: str,
        workload: str,
        factor: float,
        loop: str = "closed",
    ) -> list[float]:
        """The metric, a seed at a time."""
        key = workload, loop, self.reading.policy(policy), factor
        return [run[metric] for run in self.values[key]]

    def ratio(
        self,
        metric: str,
        policy: str,
        workload: str,
        factor: float = 1.0,
        against: str = "base-line",
        loop: str = "closed",
    ) -> Ratio:
        """The mean under *policy* over that under *against*."""
        base, over = (
            self.of(metric, p, workload, factor, loop) for p in (against, policy)
        )
        return ratio_interval(base, over)


@lru_cache(maxsize=8)
def _trace(
    preset: str, seed: int, factor: float, settings: tuple[tuple[str, str], ...]
) -> Trace:
    return Trace.of(generate(preset, dict(settings), seed), factor, False)


def one_run(
    preset: str,
    seed: int,
    factor: float,
    loop: str,
    policy: str,
    settings: dict[str, str],
    engine: str,
) -> dict[str, float]:
    """The metrics of one policy on one workload."""
    trace = _trace(preset, seed, factor, tuple(settings.items()))
    name, _, setting = policy.partition(":")
    chosen = io_policy(name, dict([setting.split("=")]) if setting else {})
    found = metrics_of(trace, run_trace(trace, chosen, loop, engine))  # type: ignore[arg-type]
    return {name: float(found[name]) for name in METRICS}


def _needed(workload: str, factor: float) -> Iterator[tuple[str, str]]:
    """Loops and policies that the claims and pictures ask for."""
    if workload not in WORKLOADS:
        yield from product(("closed", "open"), ("adaptive", "fill"))
        return
    readings = READINGS.values() if factor in PRINTED else list(READINGS.values())[:2]
    names = ("base-line", *PAPER_POLICIES, *("no-congestion",) * (factor == 1.0))
    for policy in dict.fromkeys(r.policy(name) for r, name in product(readings, names)):
        yield "closed", policy


def run_all(size: Size) -> Runs:
    """What the claims ask for of policies, workloads, seeds and expansion factors."""
    asked = [
        (workload, loop, policy, factor, seed)
        for workload, seed in product(
            PRESETS, range(FIRST_SEED, FIRST_SEED + size.seeds)
        )
        for factor in FACTORS
        for loop, policy in _needed(workload, factor)
    ]
    found = values_of(
        one_run,
        [
            {
                "preset": PRESETS[workload],
                "seed": seed,
                "factor": factor,
                "loop": loop,
                "policy": policy,
                "settings": size.settings,
                "engine": size.engine,
            }
            for workload, loop, policy, factor, seed in asked
        ],
    )
    runs = Runs({})
    for key, row in zip(asked, found):
        runs.values.setdefault(key[:-1], []).append(row)
    return runs


def shown(ratio: Ratio) -> str:
    """A ratio with its interval."""
    return "{:.2f} [{:.2f} .. {:.2f}]".format(*ratio)


def turned(ratio: Ratio) -> Ratio:
    """The ratio the other way up."""
    return Ratio(1 / ratio.mean, 1 / ratio.high, 1 / max(ratio.low, 1e-9))


def each(workloads: Sequence[str], judged: Callable[[str], Found]) -> Found:
    """Figures and verdict of a claim that is *judged* on each of *workloads*."""
    found = {workload: judged(workload) for workload in workloads}
    figures = "; ".join(
        f"{workload}: {figure}" for workload, (figure, _) in found.items()
    )
    return figures, several([word for _, word in found.values()])


def compared(
    runs: Runs,
    metric: str,
    policy: str,
    workloads: Sequence[str] = WORKLOADS,
    against: str = "base-line",
    factor: float = 1.0,
    higher: bool = False,
    limit: float | None = None,
    up_to: float | None = None,
    within: Sequence[float] = (),
) -> Found:
    """Below another policy (or above it); at most *limit*, no farther from it than
    *up_to*, or *within*.
    """

    def judged(workload: str) -> Found:
        ratio = runs.ratio(metric, policy, workload, factor, against)
        word = below(turned(ratio) if higher else ratio)
        if within:
            word = verdict(within[0] <= ratio.mean <= within[1])
        elif limit is not None:
            word = reaches(ratio, limit)
        elif (
            up_to is not None and word == HOLDS and abs(ratio.mean - 1) > abs(up_to - 1)
        ):
            word = PARTLY
        return shown(ratio), word

    return each(workloads, judged)


def pairs(
    runs: Runs,
    metric: str,
    policies: Sequence[str],
    others: Sequence[str],
    workloads: Sequence[str] = WORKLOADS,
    factor: float = 1.0,
    higher: bool = False,
) -> Found:
    """Each of *policies* below (or above) each of *others*."""

    def judged(workload: str) -> Found:
        ratios = [
            runs.ratio(metric, p, workload, factor, o)
            for p, o in product(policies, others)
        ]
        words = [below(turned(ratio) if higher else ratio) for ratio in ratios]
        return (
            f"{words.count(HOLDS)} of {len(words)} ({words.count(TIE)} ties)",
            several(words),
        )

    return each(workloads, judged)


def not_always(runs: Runs, metric: str, policies: Sequence[str]) -> Found:
    """Each of *policies* fails to improve on base-line somewhere."""

    def judged(policy: str) -> Found:
        ratios = [runs.ratio(metric, policy, workload) for workload in WORKLOADS]
        return f"at worst {shown(max(ratios))}", verdict(
            any(below(r) != HOLDS for r in ratios)
        )

    return each(policies, judged)


def largest(
    runs: Runs,
    metric: str,
    limit: float,
    factor: float = 1.0,
    of: str = "",
    on: str = "",
) -> Found:
    """The cut by the policy and on the workload of the largest one; those that the
    paper names, if any.
    """
    found = {
        (policy, workload): runs.ratio(metric, policy, workload, factor)
        for policy, workload in product(PAPER_POLICIES, WORKLOADS)
    }
    best = min(found, key=found.__getitem__)
    words = [reaches(found.get((of, on), found[best]), limit)]
    words += [verdict(best == (of, on))] * bool(on)
    return f"{best[1]}: {best[0]} {shown(found[best])}", several(words)


def rising(runs: Runs, metric: str, policies: Sequence[str]) -> Found:
    """Growing from one printed expansion factor to the next."""

    def judged(workload: str) -> Found:
        words = [
            below(
                ratio_interval(
                    *(runs.of(metric, policy, workload, f) for f in (high, low))
                )
            )
            for policy, (low, high) in product(policies, pairwise(PRINTED))
        ]
        return f"{words.count(HOLDS)} of {len(words)} steps", several(words)

    return each(WORKLOADS, judged)


def no_gain(runs: Runs, metric: str, factor: float, margin: float) -> Found:
    """No policy beyond chance below base-line by more than *margin*."""

    def judged(workload: str) -> Found:
        found = {p: runs.ratio(metric, p, workload, factor) for p in PAPER_POLICIES}
        best = min(found, key=found.__getitem__)
        obvious = below(found[best]) == HOLDS and found[best].mean < 1 - margin
        return f"{best} {shown(found[best])}", verdict(not obvious)

    return each(WORKLOADS, judged)


def steps(grant: GrantFunction, count: int) -> int:
    """Lines of Python that one decision on *count* requests runs, of 512
    to 4,096 nodes each.
    """
    limits, ran = Limits.of(MIRA), 0
    requests = [
        Request(k, 512 << k % 4, limits, float(k % 7), 1e12 * (1 + k * 37 % 101))
        for k in range(count)
    ]
    view = View(limits, 100.0, sorted(requests, key=lambda request: request.key))

    def counted(frame: Any, event: str, _: Any) -> Any:
        nonlocal ran
        ran += event == "line"
        return counted

    before = sys.gettrace()
    sys.settrace(counted)
    try:
        IoPolicy("counted", grant).decide(view)
    finally:
        sys.settrace(before)
    return ran


def cheaper(runs: Runs, few: int, many: int) -> Found:
    """Steps of a decision grow less with cons-min-aggr-sld than with
    Algorithm 1 as printed.
    """
    grants = {
        "cons-min-aggr-sld": conservative.cons_min_aggr_sld,
        "Algorithm 1": adaptive.share_played,
        "ours": adaptive.share_chosen,
    }
    found = {
        name: [steps(grant, count) for count in (few, many)]
        for name, grant in grants.items()
    }
    grown = {
        name: math.log(last / first, many / few)
        for name, (first, last) in found.items()
    }
    told = [
        f"{name} {found[name][1]:,}, as K^{power:.1f}" for name, power in grown.items()
    ]
    less = grown["cons-min-aggr-sld"] < grown["Algorithm 1"]
    return f"{many} requests: {'; '.join(told)}", verdict(less)


def fill_over_adaptive(
    runs: Runs, metric: str, factors: Sequence[float], loop: str, limit: float
) -> Found:
    """FILL over ADAPTIVE on mira-month, a factor at a time."""
    ratios = [runs.ratio(metric, "fill", "month", f, "adaptive", loop) for f in factors]
    told = "; ".join(
        f"{100 * f:.0f} %: {shown(ratio)}" for f, ratio in zip(factors, ratios)
    )
    return told, several([reaches(ratio, limit) for ratio in ratios])


def sizes(quick: bool) -> str:
    """One line: how much is run."""
    size = QUICK if quick else FULL
    what = ", ".join(
        [*PRESETS.values(), *(f"{k}={value}" for k, value in size.settings.items())]
    )
    seeds = (
        f"{FIRST_SEED} to {FIRST_SEED + size.seeds - 1} (the presets were chosen on 0 "
        "to 39)"
    )
    return f"{what}; paired seeds {seeds}, {size.engine} engine; ratios [95 % interval]"


def claims(quick: bool) -> list[Claim]:
    """The claims of the paper, each under every reading, and ours."""
    runs = run_all(QUICK if quick else FULL)
    under = {
        name: (runs._replace(reading=reading),) for name, reading in READINGS.items()
    }
    rows = [{"readings": SINGLE, **row} for row in table("zhou")["claims"]]
    return list(computed(rows, globals(), under))


def notes(rows: Sequence[Claim]) -> Iterator[str]:
    """What the workloads stand for, and how many claims each reading meets."""
    stand = ", ".join(f"{PRESETS[workload]} for {workload}" for workload in WORKLOADS)
    yield (
        f"The paper's three months are not public. {stand}: which stands for which is "
        "a guess from Figures 8 to 10. Section IV.E names the expansion factors 30, "
        "50 and 150 %; of the others of Figure 11 100 % are the workloads as they "
        "are, 80 and 120 % are guessed, drawn and not judged."
    )
    words = [
        {o[0]: o[1] for o in row.other} | {"": row.verdict}
        for row in rows
        if not row.own
    ]
    held = {
        name: sum(row.get(name, row[""]) == HOLDS for row in words) for name in SINGLE
    }
    told = ", ".join(f"{name} {count}" for name, count in held.items())
    yield f"Of {len(words)} claims of the paper hold: {told}."


def pictures(quick: bool) -> Iterator[Picture]:
    """Figures 8 to 11, over BASE_LINE, with the numbers that the
    paper's text prints.
    """
    runs, marks = run_all(QUICK if quick else FULL), table("zhou")["marks"]
    up = runs._replace(reading=READINGS["most slowed first"])
    series = [(policy, runs, policy) for policy in PAPER_POLICIES]
    series += [(f"{policy}, most slowed first", up, policy) for policy in SLOWDOWNS]

    def drawn(figure: str, what: str, label: str, points: Any) -> Picture:
        """A line a policy; *points* are (place, metric, workload, factor)."""
        lines: dict[str, Any] = {name: [] for name, *_ in series}
        for (name, read, policy), (at, metric, *where) in product(series, points):
            ratio = read.ratio(metric, policy, *where)
            lines[name].append(
                (at, ratio.mean, (ratio.high - ratio.low) / 2, FULL.seeds)
            )
        printed = {
            f"paper: {name}": spots for name, spots in marks.get(figure, {}).items()
        }
        caption = f"Figure {figure.partition('-')[0]}: {what} over that of BASE_LINE"
        words = f"{what} over base-line's (factor)"
        axes = plot_sweep(lines, label, words, caption, floor=None, marks=printed)
        if figure != "10":
            axes.set_yscale("log", base=2)
            axes.yaxis.set_major_formatter("{x:g}")
        return Picture(f"zhou-{figure}", caption, axes)

    for figure, what, metric in (
        ("8", "mean wait", WAIT),
        ("9", "mean response", RESPONSE),
        ("10", "utilisation", METRICS[3]),
    ):
        points = [(int(workload), metric, workload) for workload in WORKLOADS]
        yield drawn(figure, what, "workload (of the paper)", points)
    for name in WORKLOADS:
        points = [(100 * factor, WAIT, name, factor) for factor in sorted(FACTORS)]
        yield drawn(
            f"11-{name}",
            f"mean wait on workload {name}",
            "expansion factor (%)",
            points,
        )
