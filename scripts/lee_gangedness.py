"""Section 5 of paper 001: Table 3, and the monitor on workloads that its thresholds never saw.

The truth of a workload is its gamma_sub from the perturbation laboratory, which knows nothing of
messages. The paper's own classes set the scale: LOW up to the gamma_sub of a blocking application
at LU's rate (3 requests a quantum), HIGH from that at Water's rate (12) on; between them the paper
says nothing, and such workloads are printed but not scored. Workloads are drawn at random from a wide
range about the defaults of the laboratory. The line to meet is that of all that block, exchange
messages all along, or meet at least twice a quantum; those that meet less often are printed by how
often they do: at once a quantum or less no count of messages in single quanta tells waiting from
progress.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from experiments import values_of
from lee_claims import Claim, show, verdict
from lee_perturbations import measured

from ioopt.generate.message_counts import TABLE_3
from ioopt.problems.message_counts import QUANTA, Gangedness, MessageCounts, Quanta
from ioopt.problems.perturbation import (
    PATTERNS,
    Application,
    Barrier,
    Blocking,
    Emp,
    Msg,
    PerturbationProblem,
    Workpile,
)
from ioopt.sim.message_samples import message_samples
from ioopt.solvers.flexgang.gangedness_monitor import THRESHOLD, GangednessMonitor, judge_means
from ioopt.tables import render

DISTURBED = 32
READINGS: dict[str, tuple[Quanta, ...]] = {"all": QUANTA, "ratio": ("gang", "nonrunning")}
"""Which kinds of quanta the monitor hears: all, or those of the paper's ratio alone."""


@dataclass(frozen=True)
class Trial:
    """A workload with its truth (None: the paper gives no class there) and the classes found.

    ``by_ratio`` are the classes of a monitor that is not told about running processors.
    """

    app: Application
    gamma: float
    truth: Gangedness | None
    found: Counter[str]
    by_ratio: Counter[str]

    @property
    def group(self) -> str:
        """The row of the tables that it belongs to."""
        period = meeting_quanta(self.app)
        if period is None:
            return "blocks, or messages all along"
        return next(name for most, name in BANDS if period <= most)


BANDS = (
    (THRESHOLD, "meets every .154 quantum or oftener"),
    (0.5, "meets every .154 to .5 quantum"),
    (1.0, "meets every .5 to 1 quantum"),
    (math.inf, "meets less than once a quantum"),
)
IN_LINE = ("blocks, or messages all along", BANDS[0][1], BANDS[1][1])
"""Groups of the line to meet."""


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


def main(quick: bool) -> list[Claim]:
    """Table 3's claims and the confusion table."""
    rows = _table3()
    count, seeds, runs = (4, 5, 5) if quick else (24, 40, 20)
    done = trials(count, seeds, runs)
    line = [trial for trial in done if trial.group in IN_LINE]
    rows += [
        Claim(
            f"right class at {DISTURBED} disturbed quanta: blocks, messages all along, or meets "
            "twice a quantum", "ours", ">= 95 % right, <= 1 % wrong", *_measured(line),
        ),
        *(
            Claim(f"the same: {name}", "ours", "wrong <= 1 %", *_measured(group, 0.0))
            for name in (BANDS[2][1], BANDS[3][1])
            if (group := [trial for trial in done if trial.group == name])
        ),
    ]  # fmt: skip
    show("Section 5: gangedness from message counts", rows)
    names = (*IN_LINE, BANDS[2][1], BANDS[3][1])
    table = [row for name in names for row in confusion(name, [t for t in done if t.group == name])]
    words = ("LOW", "HIGH", "UNKNOWN")
    print(f"{len(done)} random workloads, {seeds} recordings each; by the ratio alone: without running "
          "processors\n")  # fmt: skip
    print(render(("group", "truth", *words, *(f"{word}, ratio alone" for word in words)), table))
    lines = [
        (trial.app.id, round(trial.gamma, 3), trial.truth or ("silent" if quiet(trial.app) else "between"),
         *(trial.found[word] for word in words))
        for trial in done
    ]  # fmt: skip
    print(render(("workload", "gamma_sub", "truth", *words), lines))
    return rows


def _measured(group: list[Trial], least: float = 0.95) -> tuple[str, str]:
    """The figure and the verdict of a claim on *group*."""
    right, wrong, unknown = score(group)
    total = right + wrong + unknown
    if not total:
        return "none drawn", "not reproduced"
    return (
        f"{right / total:.1%} right, {wrong / total:.1%} wrong, {unknown / total:.1%} UNKNOWN of "
        f"{total}", verdict(right >= least * total and wrong <= 0.01 * total),
    )  # fmt: skip


def quiet(app: Application) -> bool:
    """Whether *app* sends no messages at all."""
    return isinstance(app, (Emp, Workpile))


def trials(count: int, seeds: int, runs: int) -> list[Trial]:
    """Truth and classes of every unseen workload, on *seeds* recordings each."""
    scale = [Blocking(requests_per_quantum=rate) for rate in (3.0, 12.0)]
    apps = unseen(count)
    lu, water, *gammas = (found.gamma_sub or 0.0 for found in measured([*scale, *apps], runs))
    asked = [{"app": app.model_dump(mode="json"), "seeds": seeds} for app in apps]
    done = []
    for app, gamma, found in zip(apps, gammas, values_of(classes, asked)):
        truth: Gangedness | None = "LOW" if gamma <= lu else "HIGH" if gamma >= water else None
        done.append(
            Trial(
                app,
                gamma,
                None if quiet(app) else truth,
                *(Counter(found[name]) for name in READINGS),
            )
        )
    return done


def classes(app: dict[str, Any], seeds: int) -> dict[str, dict[str, int]]:
    """How often the monitor gave each class on *seeds* recordings of one workload, by reading."""
    problem = PerturbationProblem.model_validate(
        {"applications": [app], "perturbations": DISTURBED}
    )
    (workload,) = problem.applications
    heard = [message_samples(problem, workload, seed=1000 + seed) for seed in range(seeds)]
    return {
        reading: Counter(_heard(counts, names).classify() for counts in heard)
        for reading, names in READINGS.items()
    }


def _heard(counts: MessageCounts, names: tuple[Quanta, ...]) -> GangednessMonitor:
    monitor = GangednessMonitor(processors=4)
    for name in names:
        for messages in counts.counts(name):
            monitor.observe(name == "gang", name != "nonrunning", messages)
    return monitor


def score(group: list[Trial]) -> tuple[int, int, int]:
    """Right, wrong and UNKNOWN verdicts on the workloads that have a truth."""
    scored = [trial for trial in group if trial.truth is not None]
    right = sum(trial.found[str(trial.truth)] for trial in scored)
    unknown = sum(trial.found["UNKNOWN"] for trial in scored)
    return right, sum(trial.found.total() for trial in scored) - right - unknown, unknown


def confusion(name: str, group: list[Trial]) -> list[tuple[object, ...]]:
    """Rows of the confusion table: truth against verdict, and against that by the ratio alone."""
    rows: list[tuple[object, ...]] = []
    for truth in ("LOW", "HIGH"):
        scored = [trial for trial in group if trial.truth == truth]
        if not scored:
            continue
        found = sum((trial.found for trial in scored), Counter())
        plain = sum((trial.by_ratio for trial in scored), Counter())
        words = ("LOW", "HIGH", "UNKNOWN")
        rows.append((name, truth, *(found[w] for w in words), *(plain[w] for w in words)))
    return rows


def _table3() -> list[Claim]:
    verdicts = {
        name: judge_means(gang, absent, running, 4)
        for name, (gang, running, absent) in TABLE_3.items()
    }
    ratio = {name: found.ratio or 0.0 for name, found in verdicts.items()}
    order = sorted(ratio, key=lambda name: -ratio[name])
    least = min(ratio["LU"], ratio["Enum"])
    factors = {name: least / ratio[name] for name in ("Water", "Barnes")}
    return [
        Claim("order of the applications by ratio", "Table 3, Figure 10", "Enum, LU, Water, Barnes",
              ", ".join(f"{name} {ratio[name]:.4f}" for name in order),
              verdict(order == ["Enum", "LU", "Water", "Barnes"])),
        Claim("classes", "Section 5.2", "Enum, LU low; Water, Barnes high",
              ", ".join(f"{name} {found.gangedness}" for name, found in verdicts.items()),
              verdict([verdicts[name].gangedness for name in order] == ["LOW", "LOW", "HIGH", "HIGH"])),
        Claim("ratios of low and high gangedness differ by a factor of five at least", "Section 5.2", ">= 5",
              f"LU / Water {factors['Water']:.2f}, LU / Barnes {factors['Barnes']:.2f}",
              verdict(min(factors.values()) >= 5)),
        Claim("Enum's sender progress in gang-all and non-gang-running within 10 %", "Section 5.2",
              "1483678 vs. 1324103",
              f"1324103 stands in the non-running row ({1 - 1324103 / 1483678:.1%} less); the running row "
              f"has 882735 ({1 - 882735 / 1483678:.1%} less, one sender fewer)", "not reproduced"),
    ]  # fmt: skip
