"""Judge the claims of Zhou et al. (Figures 8 to 11 and Section VI), and those of ioopt
about FILL.

The paper shows three single months of one machine. Here every figure is a mean over
months generated from three presets with paired seeds, with its 95 % interval. The text
is read as follows: BASE_LINE gives each application its maximum where all fit, and
splits the bandwidth evenly where they do not (Section IV.D); slowdowns in ascending
order (rule 13); left-over bandwidth unused (rule 11); a node sends 1/32 GB/s (1,536
GB/s in all, Figure 1); utilisation counts busy node-hours (Section IV.C). Each of the
other readings changes one of these. A claim that names no workload has three cases, one
for each workload. FILL is compared with ADAPTIVE.
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
    Spot,
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
from ioopt.problems.batch_io import BatchIoProblem
from ioopt.registry.policies import io_policy
from ioopt.sim.batch_io.results import metrics_of
from ioopt.sim.batch_io.trace import Trace
from ioopt.solvers.batch_io import adaptive, conservative
from ioopt.solvers.batch_io.run import run_trace

PRINTED = (0.3, 0.5, 1.0, 1.5)
"""The expansion factors that Section IV.E names, and 1, which stands for the unchanged
workloads.
"""
FACTORS = (*PRINTED, 0.8, 1.2)
"""The six expansion factors of Figure 11. The last two are guessed; they are drawn but
not judged.
"""
CONSERVATIVE = ("cons-fcfs", "cons-max-util", "cons-min-inst-sld", "cons-min-aggr-sld")
SLOWDOWNS = CONSERVATIVE[2:]
PAPER_POLICIES = (*CONSERVATIVE, "adaptive")
PRESETS = {
    "1": "mira-mixed",
    "2": "mira-wide",
    "3": "mira-bursts",
    "month": "mira-month",
}
"""For each workload of the paper, the preset that stands for it. Claims of ioopt use
the last preset.
"""
WORKLOADS = ("1", "2", "3")
FIRST_SEED = 1000
METRICS = (
    "mean_wait_seconds",
    "mean_response_seconds",
    "mean_runtime_seconds",
    "utilisation",
    "useful_utilisation",
    "io_delay_seconds",
    "node_weighted_io_delay",
)
WAIT = "mean_wait_seconds"
RESPONSE = "mean_response_seconds"
UTILISATION = "utilisation"


FAST = "1/32 GB/s"
SLOW = "20.3 MB/s"
"""The rates of a node. With the first all nodes drive 1,536 GB/s, as Figure 1 says;
with the second a quarter of the nodes saturates the storage, as Sections I and II.B
say.
"""


class Reading(NamedTuple):
    """One reading of what the paper leaves open."""

    share: str = "even-if-congested"
    """How BASE_LINE shares the bandwidth among the requests."""
    top: str = ""
    """The suffix ``+top`` if conservative policies also use left-over bandwidth,
    otherwise empty.
    """
    order: str = "ascending"
    """Whether the requests with the smallest or the largest slowdown go first."""
    nodes: str = FAST
    """The rate of a node: FAST or SLOW."""
    utilisation: str = "utilisation"
    """The metric that stands for the utilisation of the paper."""

    def policy(self, name: str) -> str:
        """Return the policy, with its setting, that stands for the policy *name* of the
        paper under this reading.
        """
        if name == "base-line":
            return f"{name}:share={self.share}"
        if name in CONSERVATIVE:
            name += self.top
        if "sld" in name:
            return f"{name}:order={self.order}"
        return name


BY_NODES = "shared by nodes"
READINGS = {
    "as printed": Reading(),
    "most slowed first": Reading(order="descending"),
    "per application, left-overs shared again": Reading(share="per-application"),
    BY_NODES: Reading(share="per-node"),
    "left-overs used": Reading(top="+top"),
    "a quarter of the nodes saturates the storage": Reading(nodes=SLOW),
    "useful node-hours": Reading(utilisation="useful_utilisation"),
}


class Size(NamedTuple):
    """The size of a reproduction: the number of seeds, the settings of the presets, and
    the engine of the simulator.
    """

    seeds: int
    settings: dict[str, str]
    engine: str


FULL = Size(24, {}, "compiled")
QUICK = Size(2, {"jobs": "100", "days": "1"}, "python")


class Runs(NamedTuple):
    """The metrics of all runs, and the reading under which they are looked up."""

    values: dict[tuple[Any, ...], list[dict[str, float]]]
    """The metrics, keyed by (workload, loop, policy, expansion factor, rate of a node);
    each item has one element for each seed.
    """
    reading: Reading = READINGS["as printed"]

    def of(
        self,
        metric: str,
        policy: str,
        workload: str,
        factor: float,
        loop: str = "closed",
    ) -> list[float]:
        """Return *metric* under *policy*, with one value for each seed."""
        reading = self.reading
        key = (workload, loop, reading.policy(policy), factor, reading.nodes)
        if metric == UTILISATION:
            metric = reading.utilisation
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
        """Return the mean of *metric* under *policy* divided by its mean under
        *against*.
        """
        base = self.of(metric, against, workload, factor, loop)
        over = self.of(metric, policy, workload, factor, loop)
        return ratio_interval(base, over)


@lru_cache(maxsize=8)
def _trace(
    preset: str,
    seed: int,
    factor: float,
    nodes: str,
    settings: tuple[tuple[str, str], ...],
) -> Trace:
    problem = generate(preset, dict(settings), seed)
    if nodes == SLOW:
        problem = with_slow_nodes(problem)
    return Trace.of(problem, factor, False)


def with_slow_nodes(problem: BatchIoProblem) -> BatchIoProblem:
    """Return the same jobs on a machine of which a quarter saturates the storage.

    The bytes of each job change with its peak rate, so that its I/O takes as long as
    before when nobody else transfers.
    """
    machine = problem.machine
    rate = machine.storage_bytes_per_second / (machine.nodes / 4)
    slow = machine.model_copy(update={"node_bytes_per_second": rate})
    jobs = []
    for job in problem.jobs:
        nodes = machine.allocated_nodes(job.nodes)
        share = slow.peak(nodes) / machine.peak(nodes)
        phases = tuple(
            phase.model_copy(update={"io_bytes": phase.io_bytes * share})
            for phase in job.phases
        )
        jobs.append(job.model_copy(update={"phases": phases}))
    return problem.model_copy(update={"machine": slow, "jobs": tuple(jobs)})


def one_run(
    preset: str,
    seed: int,
    factor: float,
    loop: str,
    policy: str,
    nodes: str,
    settings: dict[str, str],
    engine: str,
) -> dict[str, float]:
    """Simulate one policy on one workload and return the metrics."""
    trace = _trace(preset, seed, factor, nodes, tuple(settings.items()))
    name, _, setting = policy.partition(":")
    given: dict[str, str] = {}
    if setting:
        key, _, value = setting.partition("=")
        given[key] = value
    chosen = io_policy(name, given)
    found = metrics_of(trace, run_trace(trace, chosen, loop, engine))  # type: ignore[arg-type]
    return {name: float(found[name]) for name in METRICS}


def _needed(workload: str, factor: float) -> Iterator[tuple[str, str, str]]:
    """Yield, as (loop, policy, rate of a node), the runs that claims and pictures need
    for a workload and an expansion factor.
    """
    if workload not in WORKLOADS:
        yield from product(("closed", "open"), ("adaptive", "fill"), [FAST])
        return
    readings = list(READINGS.values())
    if factor not in PRINTED:
        readings = readings[:2]
    names = ["base-line", *PAPER_POLICIES]
    if factor == 1.0:
        names.append("no-congestion")
    asked = [
        ("closed", reading.policy(name), reading.nodes)
        for reading, name in product(readings, names)
    ]
    yield from dict.fromkeys(asked)


def run_all(size: Size) -> Runs:
    """Run all combinations of policy, workload, seed and expansion factor that claims
    and pictures need.
    """
    keys: list[tuple[str, str, str, float, str]] = []
    asked: list[dict[str, Any]] = []
    seeds = range(FIRST_SEED, FIRST_SEED + size.seeds)
    for workload, seed, factor in product(PRESETS, seeds, FACTORS):
        for loop, policy, nodes in _needed(workload, factor):
            keys.append((workload, loop, policy, factor, nodes))
            one = {
                "preset": PRESETS[workload],
                "seed": seed,
                "factor": factor,
                "loop": loop,
                "policy": policy,
                "nodes": nodes,
                "settings": size.settings,
                "engine": size.engine,
            }
            asked.append(one)
    runs = Runs({})
    for key, row in zip(keys, values_of(one_run, asked)):
        runs.values.setdefault(key, []).append(row)
    return runs


def shown(ratio: Ratio) -> str:
    """Return a ratio with its interval as text."""
    return f"{ratio.mean:.2f} [{ratio.low:.2f} .. {ratio.high:.2f}]"


def turned(ratio: Ratio) -> Ratio:
    """Return the inverse of a ratio."""
    return Ratio(1 / ratio.mean, 1 / ratio.high, 1 / max(ratio.low, 1e-9))


def each(workloads: Sequence[str], judged: Callable[[str], Found]) -> Found:
    """Return the figures and the verdict of a claim that function *judged* judges on
    each of *workloads*.
    """
    figures = []
    words = []
    spots: list[Spot] = []
    for workload in workloads:
        figure, word, *more = judged(workload)
        figures.append(f"{workload}: {figure}")
        words.append(word)
        for spot in more[0] if more else ():
            spots.append(spot._replace(case=f"workload {workload}"))
    return "; ".join(figures), several(words), spots


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
    """Judge whether *metric* is lower under *policy* than under *against*; if *higher*
    is true, whether it is higher.

    The following apply to the ratio of the two means. With *within*, the ratio must lie
    between the two ends. With *limit*, it must be at most *limit*. With *up_to*, the
    claim holds only partly if the ratio is farther from 1 than *up_to*.
    """

    def judged(workload: str) -> Found:
        ratio = runs.ratio(metric, policy, workload, factor, against)
        if within:
            word = verdict(within[0] <= ratio.mean <= within[1])
        elif limit is not None:
            word = reaches(ratio, limit)
        else:
            word = _on_side(ratio, higher)
            beyond = up_to is not None and abs(ratio.mean - 1) > abs(up_to - 1)
            if word == HOLDS and beyond:
                word = PARTLY
        return shown(ratio), word, [Spot("", *ratio)]

    return each(workloads, judged)


def _on_side(ratio: Ratio, higher: bool) -> str:
    """Judge whether *ratio* is below 1; if *higher* is true, whether it is above 1."""
    if higher:
        return below(turned(ratio))
    return below(ratio)


def pairs(
    runs: Runs,
    metric: str,
    policies: Sequence[str],
    others: Sequence[str],
    workloads: Sequence[str] = WORKLOADS,
    factor: float = 1.0,
    higher: bool = False,
) -> Found:
    """Judge whether *metric* under each of *policies* is lower than under each of
    *others*; if *higher* is true, whether it is higher.
    """

    def judged(workload: str) -> Found:
        words = []
        ratios = []
        for policy, other in product(policies, others):
            ratio = runs.ratio(metric, policy, workload, factor, other)
            ratios.append(ratio)
            words.append(_on_side(ratio, higher))
        figure = f"{words.count(HOLDS)} of {len(words)} ({words.count(TIE)} ties)"
        worst = min(ratios) if higher else max(ratios)
        return figure, several(words), [Spot("", *worst)]

    return each(workloads, judged)


def not_always(runs: Runs, metric: str, policies: Sequence[str]) -> Found:
    """Judge whether each of *policies* fails to improve on base-line on at least one
    workload.
    """

    def judged(policy: str) -> Found:
        ratios = [runs.ratio(metric, policy, workload) for workload in WORKLOADS]
        fails = any(below(ratio) != HOLDS for ratio in ratios)
        return f"at worst {shown(max(ratios))}", verdict(fails)

    return each(policies, judged)


def largest(
    runs: Runs,
    metric: str,
    limit: float,
    factor: float = 1.0,
    of: str = "",
    on: str = "",
) -> Found:
    """Judge whether the largest reduction, over all policies and workloads, reaches the
    paper's *limit*.

    If the paper names the policy *of* and the workload *on*, judge the reduction for
    these two, and whether it is the largest.
    """
    found: dict[tuple[str, str], Ratio] = {}
    for policy, workload in product(PAPER_POLICIES, WORKLOADS):
        found[policy, workload] = runs.ratio(metric, policy, workload, factor)
    best = min(found, key=found.__getitem__)
    named = found.get((of, on), found[best])
    words = [reaches(named, limit)]
    if on:
        words.append(verdict(best == (of, on)))
    best_policy, best_workload = best
    figure = f"{best_workload}: {best_policy} {shown(found[best])}"
    spots = [Spot(f"{best_policy}, workload {best_workload}", *found[best])]
    if (of, on) in found and (of, on) != best:
        spots.append(Spot(f"{of}, workload {on}", *named))
    return figure, several(words), spots


def rising(runs: Runs, metric: str, policies: Sequence[str]) -> Found:
    """Judge whether *metric* grows from each printed expansion factor to the next,
    under each of *policies*.
    """

    def judged(workload: str) -> Found:
        words = []
        for policy, (low, high) in product(policies, pairwise(PRINTED)):
            later = runs.of(metric, policy, workload, high)
            earlier = runs.of(metric, policy, workload, low)
            words.append(below(ratio_interval(later, earlier)))
        return f"{words.count(HOLDS)} of {len(words)} steps", several(words)

    return each(WORKLOADS, judged)


def no_gain(runs: Runs, metric: str, factor: float, margin: float) -> Found:
    """Judge that no policy is clearly better than base-line: its gain is within
    *margin*, or its interval includes no gain.
    """

    def judged(workload: str) -> Found:
        found = {p: runs.ratio(metric, p, workload, factor) for p in PAPER_POLICIES}
        best = min(found, key=found.__getitem__)
        ratio = found[best]
        obvious = below(ratio) == HOLDS and ratio.mean < 1 - margin
        return f"{best} {shown(ratio)}", verdict(not obvious)

    return each(WORKLOADS, judged)


def steps(grant: GrantFunction, count: int) -> int:
    """Return the number of lines of Python that *grant* runs for one decision on
    *count* requests.

    The requests have 512 to 4,096 nodes each.
    """
    limits = Limits.of(MIRA)
    ran = 0
    requests = []
    for k in range(count):
        nodes = 512 << k % 4
        left_bytes = 1e12 * (1 + k * 37 % 101)
        requests.append(Request.made(k, nodes, limits, float(k % 7), left_bytes))
    view = View(limits, 100.0, sorted(requests, key=lambda request: request.key))

    def counted(frame: Any, event: str, _: Any) -> Any:
        nonlocal ran
        if event == "line":
            ran += 1
        return counted

    before = sys.gettrace()
    sys.settrace(counted)
    try:
        IoPolicy("counted", grant).decide(view)
    finally:
        sys.settrace(before)
    return ran


def cheaper(runs: Runs, few: int, many: int) -> Found:
    """Judge whether the cost of a decision grows more slowly with cons-min-aggr-sld
    than with Algorithm 1.

    The cost is the number of lines that run; it is counted for *few* and for *many*
    requests.
    """
    grants = {
        "cons-min-aggr-sld": conservative.cons_min_aggr_sld,
        "Algorithm 1": adaptive.share_played,
        "ours": adaptive.share_chosen,
    }
    powers: dict[str, float] = {}
    figures = []
    for name, grant in grants.items():
        first = steps(grant, few)
        last = steps(grant, many)
        powers[name] = math.log(last / first, many / few)
        figures.append(f"{name} {last:,}, as K^{powers[name]:.1f}")
    less = powers["cons-min-aggr-sld"] < powers["Algorithm 1"]
    return f"{many} requests: {'; '.join(figures)}", verdict(less)


def fill_over_adaptive(
    runs: Runs, metric: str, factors: Sequence[float], loop: str, limit: float
) -> Found:
    """Judge whether *metric* under FILL is at most *limit* times *metric* under
    ADAPTIVE, on mira-month at each expansion factor.
    """
    figures = []
    words = []
    for factor in factors:
        ratio = runs.ratio(metric, "fill", "month", factor, "adaptive", loop)
        figures.append(f"{100 * factor:.0f} %: {shown(ratio)}")
        words.append(reaches(ratio, limit))
    return "; ".join(figures), several(words)


def sizes(quick: bool) -> str:
    """Return one line that says how much is run."""
    size = _size(quick)
    settings = [f"{key}={value}" for key, value in size.settings.items()]
    what = ", ".join([*PRESETS.values(), *settings])
    seeds = f"{FIRST_SEED} to {FIRST_SEED + size.seeds - 1}"
    return (
        f"{what}; paired seeds {seeds} (the presets were chosen on 0 to 39), "
        f"{size.engine} engine; ratios [95 % interval]"
    )


def _size(quick: bool) -> Size:
    """Return the quick size or the full size."""
    if quick:
        return QUICK
    return FULL


def claims(quick: bool) -> list[Claim]:
    """Return the claims of the paper, each judged under its readings, and the claims of
    ioopt.
    """
    runs = run_all(_size(quick))
    under = {}
    for name, reading in READINGS.items():
        under[name] = (runs._replace(reading=reading),)
    return list(computed(table("zhou")["claims"], globals(), under))


def notes(rows: Sequence[Claim]) -> Iterator[str]:
    """Yield what the workloads stand for, and how many claims hold under each
    reading.
    """
    stand = ", ".join(f"{PRESETS[workload]} for {workload}" for workload in WORKLOADS)
    yield (
        f"The paper's three months are not public. {stand}: which stands for which is "
        "a guess from Figures 8 to 10. Section IV.E names the expansion factors 30, "
        "50 and 150 %; of the others of Figure 11 100 % are the workloads as they "
        "are, 80 and 120 % are guessed, drawn and not judged."
    )
    printed = [row for row in rows if not row.own]
    counts = []
    for name in READINGS:
        words = [_verdict_under(name, row) for row in printed]
        counts.append(f"{name} {words.count(HOLDS)}")
    yield f"Of {len(printed)} claims of the paper hold: {', '.join(counts)}."


def _verdict_under(reading: str, row: Claim) -> str:
    """Return the verdict of a claim under a reading."""
    for name, word, _ in row.other:
        if name == reading:
            return word
    return row.verdict


def pictures(quick: bool) -> Iterator[Picture]:
    """Draw Figures 8 to 11, relative to BASE_LINE, with the numbers that the text of
    the paper prints.
    """
    runs = run_all(_size(quick))
    marks = table("zhou")["marks"]
    up = runs._replace(reading=READINGS["most slowed first"])
    series = [(policy, runs, policy) for policy in PAPER_POLICIES]
    series += [(f"{policy}, most slowed first", up, policy) for policy in SLOWDOWNS]

    def drawn(figure: str, what: str, label: str, points: Any) -> Picture:
        """Draw a line for each policy. *points* are (place, metric, workload[,
        factor]).
        """
        lines: dict[str, Any] = {name: [] for name, *_ in series}
        for (name, read, policy), (at, metric, *where) in product(series, points):
            ratio = read.ratio(metric, policy, *where)
            half = (ratio.high - ratio.low) / 2
            lines[name].append((at, ratio.mean, half, FULL.seeds))
        printed = {}
        for name, spots in marks.get(figure, {}).items():
            printed[f"paper: {name}"] = spots
        caption = f"Figure {figure.partition('-')[0]}: {what} over that of BASE_LINE"
        words = f"{what} over base-line's (factor)"
        # Figure 10 is of three workloads, which have no order.
        axes = plot_sweep(
            lines, label, words, caption, None, marks=printed, joined=figure != "10"
        )
        if figure != "10":
            axes.set_yscale("log", base=2)
            axes.yaxis.set_major_formatter("{x:g}")
        return Picture(f"zhou-{figure}", caption, axes)

    for figure, what, metric in (
        ("8", "mean wait", WAIT),
        ("9", "mean response", RESPONSE),
        ("10", "utilisation", UTILISATION),
    ):
        points = [(int(workload), metric, workload) for workload in WORKLOADS]
        yield drawn(figure, what, "workload (of the paper)", points)
    for name in WORKLOADS:
        points = [(100 * factor, WAIT, name, factor) for factor in sorted(FACTORS)]
        what = f"mean wait on workload {name}"
        yield drawn(f"11-{name}", what, "expansion factor (%)", points)
