"""Lee et al., Sections 4 and 5.2: what perturbations cost, and messages against
progress of the others.

A slope is named "application [variant] environment processor", as in
``Water balanced Sub_FX 3``; "a - b" is a difference. Runs of one seed see the same
perturbations and are compared run by run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice, product
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from papers.claims import Found, below, ratio_interval, several, values_of, verdict

from ioopt.compiled import available
from ioopt.generate.flexgang.perturbation import APPLICATIONS
from ioopt.measure import laboratory
from ioopt.metrics import mean_interval
from ioopt.problems.base import Json
from ioopt.problems.flexgang.message_counts import QUANTA, Quanta
from ioopt.problems.flexgang.perturbation import (
    Application,
    PerturbationProblem,
    Program,
)


class Reading(NamedTuple):
    """What the text leaves open: donated CPUs of Section 3, perturbations and
    messages of Section 4.
    """

    donation: str = "return"
    window: float = 1.0
    bursts: bool = False
    requests: bool = False
    runs: int = 20


TABLE_1 = {app.id: app for app in APPLICATIONS["table-1"]}
TABLE_2 = {app.id: app for app in APPLICATIONS["table-2"] if isinstance(app, Program)}
VARIANTS: dict[str, Json] = {
    "balanced": {"loads": ()},
    "unbuffered": {"buffer_instructions": 0},
}
BURSTS = {"Enum": 0.968, "Water": 0.391, "LU": 0.526, "Barnes": 0.201}
"""``active_share`` by Table 3's deviation and mean of messages: 1 / (1 +
(deviation^2 - mean) / mean^2).
"""
TAKEN = (0, 1, 3)
"""Processors of the fixed experiments (Section 4.2)."""
SEED = 28
"""Reported; the programs and their readings were looked at on seed 0."""
SIGNS = {"above": -1, "under": 1}
Recording = dict[str, Any]


def read(name: str, reading: Reading, variant: str = "") -> Application:
    """An application of either table under a *reading*."""
    if name in TABLE_1:
        return TABLE_1[name]
    app = TABLE_2[name]
    changes = VARIANTS.get(variant, {}) | (
        {"active_share": BURSTS[name]} if reading.bursts else {}
    )
    if reading.requests and app.blocking:  # the replies are as many messages more
        changes = changes | {"messages_per_quantum": 2 * app.messages_per_quantum}
    return app.model_copy(update=changes)


def slopes(app: Json, **settings: Any) -> dict[str, list[float]]:
    """What a perturbation costs one application in one environment,
    in quanta, run by run.
    """
    problem = PerturbationProblem.model_validate({"applications": [app], **settings})
    (known,), (environment,) = problem.applications, problem.environments
    found, count = (
        laboratory.Laboratory(problem, SEED, available()),
        problem.perturbations,
    )
    times = [found.times(known, environment, count, k) for k in range(problem.runs)]
    return {"each": [(time - alone) / count for time, alone in times]}


def measured(
    names: Sequence[str], reading: Reading, **changes: int
) -> list[list[float]]:
    """The slopes of *names*, run by run."""
    asked = []
    for name in names:
        app, *variant, environment, processor = name.split()
        settings = {
            "work_quanta": 150 if app in TABLE_2 else 120,
            "window": reading.window,
            "runs": reading.runs,
            "environments": [environment],
            "fixed_processor": int(processor),
        }
        known = read(app, reading, *variant).model_dump(mode="json")
        asked.append({"app": known, **settings, **changes})
    return [found["each"] for found in values_of(slopes, asked)]


def slope(
    reading: Reading,
    cases: Mapping[str, float],
    within: float = 0.0,
    rule: str = "within",
    times: float = 1.0,
    **changes: int,
) -> Found:
    """Slopes, or *times* their differences, *within* so much of *cases*, or by *rule*
    above or under them.
    """
    said, words = [], []
    for name, target in cases.items():
        first, *others = measured(name.split(" - "), reading, **changes)
        mean, low, high = mean_interval(
            times * (x - sum(o)) for x, *o in zip(first, *others)
        )
        said.append(f"{name} {mean:.3f} [{low:.3f} .. {high:.3f}]")
        if rule == "within":
            words.append(verdict(abs(mean - target) <= within))
        else:
            ends = [1 + SIGNS[rule] * (x - target) for x in (mean, low, high)]
            words.append(below((ends[0], min(ends), max(ends))))
    return "; ".join(said), several(words)


def one_recording(app: Json, seed: int, window: float) -> Recording:
    """Pairs of messages and progress in runs that each lack another processor, by set.

    Also the progress, in % of all that can be, where more messages come than on average
    in gang quanta, where not, and where one comes at most; of absent processes and in
    gang quanta, with as many senders.
    """
    pairs: dict[Quanta, list[Any]] = {name: [] for name in QUANTA}
    for processor in TAKEN:
        given = {"work_quanta": 150, "window": window, "fixed_processor": processor}
        problem = PerturbationProblem.model_validate({"applications": [app], **given})
        found = laboratory.record(problem, problem.applications[0], "Sub_FX", seed)
        for name in QUANTA:
            pairs[name].append(found.pairs(name))
    sets = {name: np.concatenate(parts) for name, parts in pairs.items()}
    each = np.concatenate([sets["gang"], sets["nonrunning"]])
    each[:, 1] = 100 * each[:, 1] // (3 * problem.quantum_instructions)
    average = sets["gang"][:, 0].mean()
    told: Recording = {
        "many": float(each[each[:, 0] > average, 1].mean()),
        "others": float(each[each[:, 0] <= average, 1].mean()),
        "few": each[each[:, 0] <= 1, 1].tolist(),
    }
    for name, found in sets.items():
        messages, progress = found.mean(axis=0)
        ends = np.quantile(found[:, 0], (0.05, 0.95)).tolist()
        told[name] = {"messages": messages, "progress": progress, "range": ends}
    return told


@cache
def recorded(reading: Reading) -> dict[str, list[Recording]]:
    """Recordings of the applications of Table 2, as many as runs."""
    apps = [read(name, reading).model_dump(mode="json") for name in TABLE_2]
    asked = [
        {"app": app, "seed": 1000 * SEED + k, "window": reading.window}
        for app, k in product(apps, range(reading.runs))
    ]
    found = iter(values_of(one_recording, asked))
    return {name: list(islice(found, reading.runs)) for name in TABLE_2}


def means(
    found: Sequence[Recording], quanta: str, column: str = "messages"
) -> list[float]:
    """The means of one set, by recording."""
    return [one[quanta][column] for one in found]


def kept(found: Sequence[Recording], column: str) -> list[float]:
    """Means of absent processes over those of gang quanta, by recording."""
    both = means(found, "nonrunning", column), means(found, "gang", column)
    return [absent / gang for absent, gang in zip(*both)]


def table_3(
    reading: Reading,
    quanta: str,
    column: str,
    printed: Mapping[str, float],
    within: float,
) -> Found:
    """Means of a set against those of Table 3, *within* that part of them."""
    said, words = [], []
    for name, paper in printed.items():
        mean, low, high = mean_interval(means(recorded(reading)[name], quanta, column))
        said.append(f"{name} {mean:.4g} [{low:.4g} .. {high:.4g}]")
        words.append(verdict(abs(mean / paper - 1) <= within))
    return "; ".join(said), several(words)


def progress(reading: Reading, less: Sequence[Sequence[str]]) -> Found:
    """The part of its progress that each keeps while a process is absent:
    pairs of *less* and more.
    """
    parts = {name: kept(found, "progress") for name, found in recorded(reading).items()}
    words = [below(ratio_interval(parts[more], parts[name])) for name, more in less]
    return ", ".join(f"{name} {np.mean(x):.3f}" for name, x in parts.items()), several(
        words
    )


def many_messages(reading: Reading, few: float = 0.0) -> Found:
    """Progress with more messages than on average in gang quanta, without, and
    (*few*) with one at most.
    """
    said, words, quiet = [], [], [0.0]
    for name, found in recorded(reading).items():
        many, others = ([one[key] for one in found] for key in ("many", "others"))
        silent = [each for one in found for each in one["few"]]
        quiet += [fmean(silent)] if silent else []
        said.append(
            f"{name} {fmean(many):.0f} % against {fmean(others):.0f}, silent "
            f"{quiet[-1]:.0f}"
        )
        words.append(below(ratio_interval(many, others)))
    return "; ".join(said), verdict(max(quiet) >= few) if few else several(words)


def needs(reading: Reading, by: str) -> Found:
    """gamma_sub (rule 5) *by* the rate of messages in gang quanta (most: least),
    or *by* ratio (order).
    """
    each = measured([f"{name} Sub_RR 0" for name in TABLE_2], reading)
    gammas = dict(
        zip(TABLE_2, (float(np.mean(found) - 1 / 4) / (3 / 4) for found in each))
    )
    parts = {
        name: means(found, "gang") if by == "rate" else kept(found, "messages")
        for name, found in recorded(reading).items()
    }
    rising = sorted(gammas, key=lambda name: gammas[name])
    falling = sorted(parts, key=lambda name: -fmean(parts[name]))
    holds = falling[0] == rising[0] if by == "rate" else falling == rising
    intervals = {name: mean_interval(part) for name, part in parts.items()}
    said = "; ".join(
        f"{name} {mean:.3g} [{low:.3g} .. {high:.3g}], gamma {gammas[name]:.2f}"
        for name, (mean, low, high) in intervals.items()
    )
    return said, verdict(holds)
