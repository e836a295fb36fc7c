"""Lee et al., Section 5: Table 3, and the monitor on workloads that its thresholds never saw.

The truth of a workload is its gamma_sub from the perturbation laboratory, which knows nothing of
messages. The paper's own classes set the scale: LOW up to the gamma_sub of a blocking application
at LU's rate (3 requests a quantum), HIGH from that at Water's rate (12) on; between them the paper
says nothing, and such workloads are printed but not scored. Workloads are drawn at random from a wide
range about the defaults of the laboratory. A recording has 32 disturbed quanta among 192, as dense as the
laboratory's 20 in 120. Denser and longer ones are printed too; where meetings are rare, two perturbations
that come close cost little more than one, so the truth is gamma_sub at the density of the recording.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from papers.claims import Found, values_of, verdict
from papers.lee_perturbations import measured

from ioopt.generate.flexgang.message_counts import TABLE_3, message_samples
from ioopt.measure.gangedness import THRESHOLD, GangednessMonitor, Verdict, judge_means
from ioopt.problems.flexgang.message_counts import Gangedness, MessageCounts
from ioopt.problems.flexgang.perturbation import (
    PATTERNS,
    Application,
    Barrier,
    Blocking,
    Emp,
    Environment,
    Msg,
    PerturbationProblem,
    Workpile,
)


@dataclass(frozen=True)
class Recording:
    """How long is recorded, on how many processors, and at which of F2's settings."""

    processors: int = 4
    perturbations: int = 32
    work_quanta: int = 192
    batch: int = 4
    environment: Environment = "Sub_RR"


@dataclass(frozen=True)
class Trial:
    """A workload with its truth (None: the paper gives no class there) and the classes found."""

    app: Application
    truth: Gangedness | None
    found: Counter[str]


BANDS = (
    (THRESHOLD, "meets every .154 quantum or oftener"),
    (0.5, "meets every .154 to .5 quantum"),
    (1.0, "meets every .5 to 1 quantum"),
    (math.inf, "meets less than once a quantum"),
)
GROUPS = ("blocks, or messages all along", *(name for _, name in BANDS))


def group_of(app: Application) -> str:
    """The row of the tables that *app* belongs to."""
    period = meeting_quanta(app)
    return GROUPS[0] if period is None else next(name for most, name in BANDS if period <= most)


def meeting_quanta(app: Application) -> float | None:
    """Quanta of work between meetings of all processes; None for applications without any."""
    if isinstance(app, Barrier):
        return app.interval_quanta
    # A phase in which requests go out all along is not silent between meetings.
    return app.phase_quanta if isinstance(app, Msg) and app.requests_per_phase == 1 else None


def unseen(count: int, seed: int = 11) -> list[Application]:
    """*count* workloads of each kind, at rates, intervals and phases drawn log-uniformly.

    Barriers and phases reach from a tenth of the laboratory's defaults (.01 and .05 quantum) to half
    a quantum, and in a quarter as many more from there to three quanta.
    """
    draw = np.random.default_rng(seed)

    def between(low: float, high: float) -> float:
        return float(f"{math.exp(draw.uniform(math.log(low), math.log(high))):.3g}")

    found: list[Application] = []
    for k in range(count):
        rate, interval, phase = between(1, 60), between(0.001, 0.5), between(0.005, 0.5)
        found += [
            Blocking(id=f"Blocking-{rate:g}", requests_per_quantum=rate),
            Barrier(id=f"Barrier-{interval:g}", interval_quanta=interval),
            _phases(PATTERNS[k % len(PATTERNS)], phase),
        ]
        long, requests = between(5, 50), between(1, 20)
        found.append(
            Msg(id=f"Msg-all-along-{long:g}-{requests:g}", phase_quanta=long,
                requests_per_phase=max(2, round(requests * long)))
        )  # fmt: skip
    for k in range(count // 2):
        interval = between(0.5, 3)
        coarse = Barrier(id=f"Barrier-{interval:g}", interval_quanta=interval)
        found.append(coarse if k % 2 else _phases(PATTERNS[k // 2 % len(PATTERNS)], interval))
    return [*found, Emp(), Workpile()]


def _phases(pattern: str, quanta: float) -> Msg:
    return Msg.model_validate(
        {"id": f"Msg-{pattern}-{quanta:g}", "phase_quanta": quanta, "pattern": pattern}
    )


def monitored(
    runs: int, count: int, recordings: int, right: float = 0.0, group: str | None = None,
    seeds: Sequence[int] = (11,), share: float = 1.0, drawn: str | None = None, fewer: int = 1,
    recording: Mapping[str, Any] = MappingProxyType({}),
) -> Found | None:  # fmt: skip
    """Classes of unseen workloads: at least *right* of them, at most 1 % wrong; None without any truth.

    Of *group* alone (or drawn until some are of the group *drawn*), on a quarter of the recordings
    where *fewer* is 4, but 5 at least.
    """
    apps = [app for seed in seeds for app in unseen(int(count * share), seed)]
    apps = [app for app in apps if drawn is None or group_of(app) == drawn]
    many = max(5, recordings // fewer) if fewer > 1 else recordings
    done = trials(apps, many, runs, Recording(**recording))
    done = [trial for trial in done if group is None or group_of(trial.app) == group]
    if not any(trial.truth for trial in done):
        return None
    good, wrong, unknown = score(done)
    total = good + wrong + unknown
    ours = f"{good / total:.1%} right, {wrong / total:.1%} wrong, {unknown / total:.1%} UNKNOWN of {total}"
    return ours, verdict(good >= right * total and wrong <= 0.01 * total)


def quiet(app: Application) -> bool:
    """Whether *app* sends no messages at all."""
    return isinstance(app, (Emp, Workpile))


def trials(
    apps: list[Application], seeds: int, runs: int, recording: Recording | None = None
) -> list[Trial]:
    """Truth and classes of each of *apps*, on *seeds* recordings."""
    recording = recording or Recording()
    scale = [Blocking(requests_per_quantum=rate) for rate in (3.0, 12.0)]
    lu, water = (found.gamma_sub or 0.0 for found in measured(scale, runs))
    size = {key: value for key, value in asdict(recording).items() if key != "environment"}
    gammas = [found.gamma_sub or 0.0 for found in measured(apps, runs, **size)]
    asked = [
        {"app": app.model_dump(mode="json"), "seeds": seeds, "recording": asdict(recording)}
        for app in apps
    ]
    done = []
    for app, gamma, found in zip(apps, gammas, values_of(classes, asked)):
        truth: Gangedness | None = "LOW" if gamma <= lu else "HIGH" if gamma >= water else None
        done.append(Trial(app, None if quiet(app) else truth, Counter(found)))
    return done


def recorded(app: dict[str, Any], seeds: int, recording: dict[str, Any]) -> Iterator[MessageCounts]:
    """What was counted on *seeds* recordings of one workload."""
    size = {key: value for key, value in recording.items() if key != "environment"}
    problem = PerturbationProblem.model_validate({"applications": [app], **size})
    (workload,) = problem.applications
    for seed in range(seeds):
        yield message_samples(problem, workload, recording["environment"], 1000 + seed)


def classes(app: dict[str, Any], seeds: int, recording: dict[str, Any]) -> dict[str, int]:
    """How often the monitor gave each class on *seeds* recordings of one workload."""
    found: Counter[str] = Counter()
    for counts in recorded(app, seeds, recording):
        monitor = GangednessMonitor(recording["processors"])
        for quantum, processor, ganged, running, messages in counts.rows(recording["processors"]):
            monitor.observe(ganged, running, messages, quantum, processor)
        found[monitor.classify()] += 1
    return found


def score(group: list[Trial]) -> tuple[int, int, int]:
    """Right, wrong and UNKNOWN verdicts on the workloads that have a truth."""
    scored = [trial for trial in group if trial.truth is not None]
    right = sum(trial.found[str(trial.truth)] for trial in scored)
    unknown = sum(trial.found["UNKNOWN"] for trial in scored)
    return right, sum(trial.found.total() for trial in scored) - right - unknown, unknown


TABLE_3_CLASSES: dict[str, Verdict] = {
    name: judge_means(gang, absent, running, 4) for name, (gang, running, absent) in TABLE_3.items()
}
"""What the means of Table 3 come to."""
RATIOS = {name: found.ratio or 0.0 for name, found in TABLE_3_CLASSES.items()}


def order(*size: int, of: Sequence[str]) -> Found:
    """The applications by the ratio of Table 3's means."""
    found = sorted(RATIOS, key=lambda name: -RATIOS[name])
    return ", ".join(f"{name} {RATIOS[name]:.4f}" for name in found), verdict(found == list(of))


def classes_of_table(*size: int, low: Sequence[str], high: Sequence[str]) -> Found:
    """Their classes."""
    found = {name: one.gangedness for name, one in TABLE_3_CLASSES.items()}
    wanted = {**dict.fromkeys(low, "LOW"), **dict.fromkeys(high, "HIGH")}
    return ", ".join(f"{name} {word}" for name, word in found.items()), verdict(found == wanted)


def factor(*size: int, least: float) -> Found:
    """How far the ratios of low and high gangedness are apart."""
    low = min(RATIOS["LU"], RATIOS["Enum"])
    factors = {name: low / RATIOS[name] for name in ("Water", "Barnes")}
    ours = ", ".join(f"LU / {name} {value:.2f}" for name, value in factors.items())
    return ours, verdict(min(factors.values()) >= least)
