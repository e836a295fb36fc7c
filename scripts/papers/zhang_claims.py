"""The claims of Zhang et al., each with the rule by which it counts as reproduced.

Claims 1 to 18 are the statements of Sections 3.4.2 to 4 about how policies compare, one each; L1 to
L6 are the counts of local jobs. A letter behind a number marks another reading of the same claim,
printed and not counted.

A figure "meets" a claim when it does, or when the claim's bound lies inside the 95 % interval of
the mean over seeds. A claim over several loads is reproduced when it is met at all of them,
partly when at some, not when at none. A load of such a
claim whose bound lies within twice the interval of 30 seeds, on whichever side, is decided by 200
(``Runs.num_seeds``, ``Runs.settling_seeds``), as is claim 10, where 30 say nothing at r = .33.

What a claim is "taken as" follows the paper's sentence, quoted where a word of it matters: "always",
"throughout", "for all nine" and sentences without a word on loads are held to every load,
loads named by "i.e." to each of those. Other readings of a sentence stand below it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from papers.claims import Claim, interval, ratio_interval, verdict, verdict_of_several
from papers.zhang_runs import Runs

LAST = 8
"""Position of the highest load (t_e = 3102 s, the paper's 3000) among the nine."""


def _row(number: str, where: str, claim: str, paper: str, ours: str, verdict: str) -> Claim:
    return Claim(f"{number}. {claim}", where, paper, ours, verdict)


def claims_on(runs: Runs) -> list[Claim]:
    """Every claim of the paper, measured on *runs*."""
    return [
        *_local_jobs(runs), *_iogs_against_gs(runs), *_adaptive(runs), *_migration(runs),
        *_migrate(runs),
    ]  # fmt: skip


def _count(
    runs: Runs, number: str, where: str, policy: str, load: int, paper: int, share: float
) -> Claim:
    counts = [run.local for run in runs.seeds(policy, load, 0.5)]
    mean, low, high = interval(counts)
    scaled = paper * runs.jobs / 10_000
    good = abs(mean - scaled) <= share * scaled or low <= scaled <= high
    return _row(
        number, where, f"local jobs of {policy} at t_e {1800 if load == 0 else 3000}, r = .5",
        f"{paper} of 10000 (within {share:.0%})",
        f"{mean:.0f} [{low:.0f} .. {high:.0f}], {mean / scaled - 1:+.0%}, {len(counts)} seeds",
        verdict(good),
    )  # fmt: skip


def _local_jobs(runs: Runs) -> list[Claim]:
    """Sections 3.5 and 3.7: how many of the jobs end up local."""
    return [
        _count(runs, "L1", "3.5", "gs", 0, 20, 0.5),
        _count(runs, "L2", "3.5", "gs", LAST, 5, 0.5),
        _count(runs, "L3", "3.5", "adaptive-iogs", 0, 9101, 0.1),
        _count(runs, "L4", "3.5", "adaptive-iogs", LAST, 831, 0.3),
        _count(runs, "L5", "3.7", "migrate-iogs", LAST, 6524, 0.1),
        _count(runs, "L6", "3.5", "iogs", 0, 10_000, 0.0),
    ]


class Gain(NamedTuple):
    """By how much one policy's mean exceeds another's at one load, with its interval."""

    mean: float
    low: float
    high: float
    seconds: float


def gains(
    runs: Runs, better: str, worse: str, loads: Iterable[int], intensity: Any,
    measure: str = "slowdown", least: float | None = None,
) -> list[Gain]:  # fmt: skip
    """Per load, by how much *worse* exceeds *better* (0 = equal).

    Loads at which the usual seeds do not clearly decide whether that is at least *least* get more.
    """

    def at(load: int, count: int) -> Gain:
        first = [getattr(run, measure) for run in runs.seeds(better, load, intensity, count)]
        second = [getattr(run, measure) for run in runs.seeds(worse, load, intensity, count)]
        ratio, low, high = ratio_interval(first, second)
        return Gain(ratio - 1, low - 1, high - 1, runs.loads[load])

    out = []
    for load in loads:
        gain = at(load, runs.num_seeds)
        # Waits at low loads come from rare bursts: intervals of few seeds are too short there.
        if least is not None and abs(gain.mean - least) <= 2 * (gain.high - gain.mean):
            gain = at(load, runs.settling_seeds)
        out.append(gain)
    return out


def over_loads(
    number: str, where: str, claim: str, paper: str,
    found: Sequence[Gain], least: float,
) -> Claim:  # fmt: skip
    """A claim that gains are at least *least* at every one of several loads."""
    failing = [gain for gain in found if gain.mean < least and not gain.low <= least <= gain.high]
    outright = sum(gain.mean >= least for gain in found)
    worst, met = min(found), len(found) - len(failing)
    missed = ", ".join(f"{gain.seconds:.0f} ({gain.mean:+.0%})" for gain in failing)
    ours = (
        f"met at {met} of {len(found)} loads ({outright} outright); least {worst.mean:+.0%} "
        f"[{worst.low:+.0%} .. {worst.high:+.0%}], most {max(found).mean:+.0%}"
    )
    if failing:
        ours += f"; not at t_e {missed}"
    word = verdict_of_several([gain not in failing for gain in found])
    return _row(number, where, claim, paper, ours, word)


def _iogs_against_gs(runs: Runs) -> list[Claim]:
    """Section 3.4.2."""
    everything = range(9)
    high = [load for load in everything if runs.loads[load] >= 2000]
    top = [load for load in everything if runs.loads[load] >= 2600]
    most = sum(gain.mean > 2.0 for gain in gains(runs, "iogs", "gs", everything, 0.5))
    return [
        over_loads("1", "3.4.2", "slowdown, IOGS over GS, r = .5, nine loads", '"always 100 % better"',
                   gains(runs, "iogs", "gs", everything, 0.5, "slowdown", 1.0), 1.0),
        over_loads("2", "3.4.2", "the same for t_e >= 2000", '"under most of the loads (i.e., >= 2000) '
                   'over 200 %" (taken as: at each of the seven it names)',
                   gains(runs, "iogs", "gs", high, 0.5, "slowdown", 2.0), 2.0),
        _row("2b", "3.4.2", "the same by its words without its number", '"most of the loads" (taken as: '
              "more than half of the nine)", f"at {most} of 9", verdict(most > 4)),
        over_loads("2c", "3.4.2", "the same by the slowdown from start", "> 200 % better",
                   gains(runs, "iogs", "gs", high, 0.5, "from_start"), 2.0),
        over_loads("3", "3.4.2", "wait, IOGS over GS, r = .5, t_e >= 2600", "large gain (taken as 50 %)",
                   gains(runs, "iogs", "gs", top, 0.5, "wait", 0.5), 0.5),
        over_loads("4", "3.4.2", "slowdown, GS over IOGS, r = .33, nine loads", '"always better"',
                   gains(runs, "gs", "iogs", everything, 0.33, "slowdown", 0.0), 0.0),
        over_loads("5", "3.4.2", "slowdown, GS over IOGS, r = .1, nine loads", '"always better"',
                   gains(runs, "gs", "iogs", everything, 0.1, "slowdown", 0.0), 0.0),
    ]  # fmt: skip


def _best_of(
    runs: Runs, policy: str, others: Sequence[str], loads: Iterable[int], intensity: Any,
    measure: str = "slowdown", least: float = 0.0,
) -> list[Gain]:  # fmt: skip
    """Per load, the gain of *policy* over the best of *others*, which is wanted to be *least*."""
    return [
        min(gains(runs, policy, other, [load], intensity, measure, least)[0] for other in others)
        for load in loads
    ]


def _adaptive(runs: Runs) -> list[Claim]:
    """Section 3.5."""
    low = [load for load in range(9) if runs.loads[load] <= 2500]
    near = [
        runs.mean("adaptive-iogs", load, 0.5) / runs.mean("gs", load, 0.5) for load in (0, LAST)
    ]
    far = gains(runs, "iogs", "adaptive-iogs", [LAST], 0.5)[0]
    close = [_nearness(runs, "adaptive-iogs", load) for load in range(9)]
    middle, two = [_median_gain(runs, load) for load in low], ("gs", "iogs")
    return [
        over_loads("6", "3.5", "slowdown, Adaptive best of three, r = .5, t_e up to 2500", '"best ... for '
                   'low to medium loads (i.e., <= 2500)" (taken as: at each of the five)',
                   _best_of(runs, "adaptive-iogs", two, low, 0.5), 0.0),
        over_loads("6b", "3.5", "the same by medians over seeds", "best",
                   middle, 0.0),
        over_loads("6c", "3.5", "the same for the wait", "best",
                   _best_of(runs, "adaptive-iogs", two, low, 0.5, "wait"), 0.0),
        _row("7", "3.5", "Adaptive at the highest load, r = .5", "worse than IOGS, close to GS",
              f"{near[1]:.2f} x GS (at the lowest load {near[0]:.2f} x), {far[0]:+.0%} on IOGS",
              verdict(far[0] > 0 and near[1] > 0.75 and near[0] < 0.5)),
        over_loads("8", "3.5", "slowdown, Adaptive best of three, r = .33, nine loads", "best",
                   _best_of(runs, "adaptive-iogs", two, range(9), 0.33), 0.0),
        _row("9", "3.5", "slowdown, Adaptive against GS, r = .1", "very close (taken as: its distance "
              "to GS is at most a quarter of that of IOGS)",
              f"at most {max(close):.2f} of that of IOGS, at the highest load {close[-1]:.3f}",
              verdict(max(close) <= 0.25)),
    ]  # fmt: skip


def _median_gain(runs: Runs, load: int) -> Gain:
    """The gain of the median of Adaptive over the lower one of GS and IOGS, r = .5."""

    def median(policy: str) -> float:
        return statistics.median(run.slowdown for run in runs.seeds(policy, load, 0.5))

    gain = min(median("gs"), median("iogs")) / median("adaptive-iogs") - 1
    return Gain(gain, gain, gain, runs.loads[load])


def _nearness(runs: Runs, policy: str, load: int) -> float:
    """Distance of *policy* to GS over that of IOGS, mean slowdown at r = .1."""
    gs, iogs, other = (runs.mean(name, load, 0.1) for name in ("gs", "iogs", policy))
    return abs(other - gs) / abs(iogs - gs)


def _migration(runs: Runs) -> list[Claim]:
    """Section 3.6, at the highest load: the cost C and the limit Q."""

    costs = {}
    for intensity in (0.5, 0.33, 0.1):
        free, dear = (
            [run.slowdown for run in runs.seeds("migrate-iogs", LAST, intensity,
                                                runs.settling_seeds, migration=cost)]
            for cost in (0.0, 30.0)
        )  # fmt: skip
        costs[intensity] = [value - 1 for value in ratio_interval(free, dear)]
    negligible = [low <= 0.1 and high >= -0.1 for _, low, high in costs.values()]
    by_budget = {
        budget: runs.mean("migrate-iogs", LAST, 0.5, budget=budget)
        for budget in (0, 16, 32, 64, 128, 256, 320)
    }
    gain = 1 - by_budget[320] / by_budget[0]
    early = (by_budget[0] - by_budget[64]) / (by_budget[0] - by_budget[320])
    least, low, high = _beyond_64(runs, "slowdown")
    others = {
        name: _beyond_64(runs, by) for name, by in (("wait", "wait"), ("from start", "from_start"))
    }
    listed = ", ".join(f"Q={budget}: {value:.0f}" for budget, value in by_budget.items())
    return [
        _row("10", "3.6", "slowdown at C = 30 s against C = 0", "no difference (taken as 10 %)",
              "; ".join(f"r = {key}: {change:+.0%} [{low:+.0%} .. {high:+.0%}]"
                        for key, (change, low, high) in costs.items()),
              verdict_of_several(negligible)),
        _row("11", "3.6", "Q = 320 against Q = 0, r = .5", ">= 90 % less", f"{gain:.1%} less ({listed})",
              verdict(gain >= 0.9)),
        _row("12", "3.6", "share of that gain reached by Q = 64", "most of it", f"{early:.0%}",
              verdict(early > 0.5)),
        _row("13", "3.6", "slowdown, Q > 64 at r = .1", '"worse" (taken as: at 128, 256 or 320)',
              f"at worst {least:+.1%} [{low:+.1%} .. {high:+.1%}]",
              verdict(least > 0)),
        _row("13b", "3.6", "the same for the wait and the slowdown from start", "worse than Q = 64",
              "; ".join(f"{name} at worst {worst:+.1%} [{low:+.1%} .. {high:+.1%}]"
                        for name, (worst, low, high) in others.items()),
              verdict(min(others.values())[0] > 0)),
    ]  # fmt: skip


def _beyond_64(runs: Runs, measure: str) -> tuple[float, float, float]:
    """The worst change of the mean by a budget over 64 at r = .1, with its interval."""

    def at(budget: int) -> list[float]:
        return [
            getattr(run, measure) for run in runs.seeds("migrate-iogs", LAST, 0.1, budget=budget)
        ]

    found = max(ratio_interval(at(64), at(budget)) for budget in (128, 256, 320))
    return found[0] - 1, found[1] - 1, found[2] - 1


def _migrate(runs: Runs) -> list[Claim]:
    """Section 3.7 and Section 4."""
    top = [load for load in range(9) if runs.loads[load] >= 2500]
    three = ("gs", "iogs", "adaptive-iogs")
    return [
        over_loads("14", "3.7", "slowdown, Migrate over the second best, r = .5, t_e >= 2500",
                   "100 % better", _best_of(runs, "migrate-iogs", three, top, 0.5, "slowdown", 1.0), 1.0),
        over_loads("15", "3.7", "slowdown, Migrate over Adaptive, r = .33, t_e >= 2500",
                   '">= 60 %" (taken as: under the high loads of the sentence before it)',
                   gains(runs, "migrate-iogs", "adaptive-iogs", top, 0.33, "slowdown", 0.6), 0.6),
        over_loads("15b", "3.7", "the same at all nine loads",
                   ">= 60 % better",
                   gains(runs, "migrate-iogs", "adaptive-iogs", range(9), 0.33), 0.6),
        *_low_intensity(runs),
        over_loads("17", "4", "slowdown, Migrate best of four, mixed r, nine loads",
                   '"outperforms the other three for both metrics" (taken as: at each load)',
                   _best_of(runs, "migrate-iogs", three, range(9), "mixed"), 0.0),
        over_loads("18", "4", "wait, Migrate best of four, mixed r, nine loads", "the same",
                   _best_of(runs, "migrate-iogs", three, range(9), "mixed", "wait"), 0.0),
    ]  # fmt: skip


def _low_intensity(runs: Runs) -> list[Claim]:
    """Section 3.7, r = .1: "not as good as GS. However, the difference is very small".

    "For the same reason" as in Section 3.5, whose "very close" is claim 9: the same yardstick.
    """
    worse = gains(runs, "gs", "migrate-iogs", range(9), 0.1, "slowdown", 0.0)
    delays = gains(runs, "gs", "migrate-iogs", range(9), 0.1, "wait")
    near = [_nearness(runs, "migrate-iogs", load) for load in range(9)]
    met = [gain.mean >= 0 and share <= 0.25 for gain, share in zip(worse, near)]
    old = [0 <= gain.mean <= 0.5 for gain in worse]
    found = ", ".join(f"{gain.mean:+.0%}" for gain in worse)
    return [
        _row("16", "3.7", "slowdown, Migrate against GS, r = .1, nine loads", '"not as good as GS ... the '
              'difference is very small" (taken as: worse, by at most a quarter of what IOGS is, as in 9)',
              f"so at {sum(met)} of 9 loads: {found} (highest load [{worse[-1].low:+.0%} .. "
              f"{worse[-1].high:+.0%}]); distance at most {max(near):.2f} of that of IOGS",
              verdict_of_several(met)),
        _row("16b", "3.7", "the same by a fixed margin", "slightly worse (taken as 0 to 50 %)",
              f"so at {sum(old)} of 9 loads", verdict_of_several(old)),
        _row("16c", "3.7", "the same for the wait", "not as good as GS",
              f"from {min(delays).mean:+.0%} to {max(delays).mean:+.0%}",
              verdict_of_several([gain.mean >= 0 for gain in delays])),
    ]  # fmt: skip
