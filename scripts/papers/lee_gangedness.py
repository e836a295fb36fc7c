"""Judge Table 3 of Lee et al., Section 5, and ioopt's gangedness monitor on unseen
workloads.

The true class of a workload follows from its gamma_sub in the perturbation laboratory,
which uses no messages; gamma_sub is the share of a quantum that the other processes
lose while one process is absent. The paper's own classes set the scale. A class is LOW
up to the gamma_sub of a blocking application with LU's rate (3 requests a quantum), and
HIGH from the gamma_sub of one with Water's rate (12 requests) on. The paper gives no
class for values between the two, and such workloads are not scored. Workloads are drawn
at random from a wide range around the defaults of the laboratory; none of them was used
to choose the thresholds. A recording has 32 disturbed quanta among 192. This is the
density of the laboratory, 20 in 120; gamma_sub depends on the density, because two
perturbations close together may cost little more than one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from papers.claims import Found, Spot, values_of, verdict
from papers.lee_perturbations import SEED

from ioopt.generate.flexgang.message_counts import TABLE_3, message_samples
from ioopt.measure.gangedness import Settings, judge
from ioopt.measure.laboratory import Laboratory
from ioopt.problems.base import Json
from ioopt.problems.flexgang.message_counts import Gangedness, MessageCountsProblem
from ioopt.problems.flexgang.perturbation import (
    PATTERNS,
    Application,
    Barrier,
    Blocking,
    Environment,
    Msg,
    PerturbationProblem,
)


class Trial(NamedTuple):
    """The true class of a workload, and how often the monitor found each class."""

    truth: Gangedness | None
    """The true class; None if the paper gives no class for such a workload."""
    found: Counter[str]


def unseen(count: int, seed: int = SEED) -> list[Application]:
    """Return *count* workloads of each kind, drawn log-uniformly.

    The intervals between barriers, and the lengths of phases, reach from a tenth of the
    defaults of the laboratory (.01 and .05 quantum) to half a quantum. For every fourth
    workload of each kind there is one more workload, with half a quantum to three
    quanta.
    """
    draw = np.random.default_rng(seed)

    def between(low: float, high: float) -> float:
        return float(f"{math.exp(draw.uniform(math.log(low), math.log(high))):.3g}")

    found: list[Application] = []
    for k in range(count):
        long = between(5, 50)
        pattern = PATTERNS[k % len(PATTERNS)]
        found += [
            Blocking(requests_per_quantum=between(1, 60)),
            Barrier(interval_quanta=between(0.001, 0.5)),
            Msg(phase_quanta=between(0.005, 0.5), pattern=pattern),
            Msg(
                phase_quanta=long,
                requests_per_phase=max(2, round(between(1, 20) * long)),
            ),
        ]
        pattern = PATTERNS[k // 4 % len(PATTERNS)]
        if k % 4 == 1:
            found.append(Barrier(interval_quanta=between(0.5, 3)))
        elif k % 4 == 3:
            found.append(Msg(phase_quanta=between(0.5, 3), pattern=pattern))
    return found


def monitored(
    size: Any,
    right: float = 0.0,
    seed: int = SEED,
    fewer: int = 1,
    recording: Mapping[str, Any] = MappingProxyType({}),
) -> Found:
    """Judge the classes that the monitor finds for unseen workloads: at least the share
    *right* must be correct, and at most 1 % may be wrong.

    Of the recordings of each workload, one in *fewer* is used, but at least five.
    """
    many = max(5, size.recordings // fewer)
    workloads = unseen(size.count, seed)
    good, wrong, unknown = score(trials(workloads, many, size.runs, **recording))
    total = good + wrong + unknown
    ours = (
        f"{good / total:.1%} right, {wrong / total:.1%} wrong, {unknown / total:.1%} "
        f"UNKNOWN of {total}"
    )
    return ours, verdict(good >= right * total and wrong <= 0.01 * total)


def trials(
    apps: list[Application], seeds: int, runs: int, **recording: Any
) -> list[Trial]:
    """Return the true class of each of *apps*, and the classes found in *seeds*
    recordings of it.
    """
    size = {
        "seeds": seeds,
        "runs": runs,
        "perturbations": 32,
        "work_quanta": 192,
        **recording,
    }
    scale = [
        Blocking(requests_per_quantum=rate).model_dump(mode="json")
        for rate in (3.0, 12.0)
    ]
    asked = [{"app": app, "seeds": 0, "runs": runs} for app in scale]
    asked += [{"app": app.model_dump(mode="json"), **size} for app in apps]
    lu, water, *found = values_of(one_workload, asked)
    done = []
    for one in found:
        truth: Gangedness | None = None
        if one["gamma"] <= lu["gamma"]:
            truth = "LOW"
        elif one["gamma"] >= water["gamma"]:
            truth = "HIGH"
        done.append(Trial(truth, Counter(one["classes"])))
    return done


def one_workload(
    app: Json, seeds: int, runs: int, environment: Environment = "Sub_RR", **size: Any
) -> dict[str, Any]:
    """Return the gamma_sub of one workload, and how often the monitor finds each class
    in *seeds* recordings.
    """
    problem = PerturbationProblem.model_validate({"applications": [app], **size})
    (known,) = problem.applications
    found: Counter[str] = Counter()
    for seed in range(1000 * SEED, 1000 * SEED + seeds):
        counts = message_samples(problem, known, environment, seed)
        heard = MessageCountsProblem(
            processors=problem.processors, applications=(counts,)
        )
        found[judge(heard, counts, Settings()).gangedness] += 1
    perturbed = problem.model_copy(update={"environments": ("Sub_RR",), "runs": runs})
    slopes = Laboratory(perturbed, SEED).slopes(known)
    return {"gamma": slopes.gamma_sub, "classes": found}


def score(group: list[Trial]) -> tuple[int, int, int]:
    """Return the numbers of right, wrong and UNKNOWN classes found, for the workloads
    with a true class.
    """
    scored = [trial for trial in group if trial.truth is not None]
    right = sum(trial.found[str(trial.truth)] for trial in scored)
    unknown = sum(trial.found["UNKNOWN"] for trial in scored)
    total = sum(trial.found.total() for trial in scored)
    return right, total - right - unknown, unknown


def factor(*context: object, least: float) -> Found:
    """Judge whether the message ratios of low and high gangedness in the paper's Table
    3 differ at least by the factor *least*.
    """
    ratios = {name: absent / gang for name, (gang, _, absent) in TABLE_3.items()}
    low = min(ratios["LU"], ratios["Enum"])
    factors = {name: low / ratios[name] for name in ("Water", "Barnes")}
    ours = ", ".join(f"LU / {name} {value:.2f}" for name, value in factors.items())
    spots = [Spot(f"LU / {name}", *[value] * 3) for name, value in factors.items()]
    return ours, verdict(min(factors.values()) >= least), spots
