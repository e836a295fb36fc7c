"""Judge Sections 4 and 5.2 of Lee et al.: the costs of perturbations, messages, and
progress.

A slope is the cost of one perturbation in quanta. It is named "application [variant]
environment processor", as in ``Water balanced Sub_FX 3``; "a - b" is the difference of
two slopes. Runs with the same seed have the same perturbations, and are compared pair
by pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain, islice, product
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from papers.claims import (
    Found,
    Spot,
    below,
    ratio_interval,
    several,
    values_of,
    verdict,
)

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
    """One reading of what Sections 3 and 4 leave open."""

    donation: str = "return"
    """When a donated CPU comes back (Section 3)."""
    window: float = 1.0
    """The share of a run, from its start on, in which perturbations happen."""
    bursts: bool = False
    """Whether messages come in bursts, by the deviations of Table 3."""
    requests: bool = False
    """Whether the messages of Table 2 are requests only, without replies."""
    runs: int = 20


TABLE_1 = {app.id: app for app in APPLICATIONS["table-1"]}
TABLE_2 = {app.id: app for app in APPLICATIONS["table-2"] if isinstance(app, Program)}
VARIANTS: dict[str, Json] = {
    "balanced": {"loads": ()},
    "unbuffered": {"buffer_instructions": 0},
}
BURSTS = {"Enum": 0.968, "Water": 0.391, "LU": 0.526, "Barnes": 0.201}
"""For each program, the ``active_share`` that follows from the deviation and the mean
of its messages in Table 3: 1 / (1 + (deviation^2 - mean) / mean^2).
"""
TAKEN = (0, 1, 3)
"""The processors that are taken away in the fixed experiments (Section 4.2)."""
SEED = 28
"""The first seed of the reported runs. Programs and readings were chosen on seed 0."""
SIGNS = {"above": -1, "under": 1}
Recording = dict[str, Any]


def read(name: str, reading: Reading, variant: str = "") -> Application:
    """Return the application *name* of Table 1 or 2, as *reading* and *variant* change
    it.
    """
    if name in TABLE_1:
        return TABLE_1[name]
    app = TABLE_2[name]
    changes = dict(VARIANTS.get(variant, {}))
    if reading.bursts:
        changes["active_share"] = BURSTS[name]
    if reading.requests and app.blocking:  # The replies double the number of messages.
        changes["messages_per_quantum"] = 2 * app.messages_per_quantum
    return app.model_copy(update=changes)


def slopes(app: Json, **settings: Any) -> dict[str, list[float]]:
    """Return the cost of a perturbation to one application in one environment.

    There is one value for each run, in quanta.
    """
    problem = PerturbationProblem.model_validate({"applications": [app], **settings})
    (known,) = problem.applications
    (environment,) = problem.environments
    count = problem.perturbations
    found = laboratory.Laboratory(problem, SEED)
    times = [found.times(known, environment, count, k) for k in range(problem.runs)]
    return {"each": [(time - alone) / count for time, alone in times]}


def measured(
    names: Sequence[str], reading: Reading, **changes: int
) -> list[list[float]]:
    """Return the slopes of each of *names*, with one value for each run."""
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
    """Judge slopes, or their differences, multiplied by *times*, against *cases*.

    *cases* gives the target for each name of a slope. According to *rule*, a slope must
    be ``within`` the distance *within* of its target, ``above`` the target or ``under``
    the target.
    """
    figures = []
    words = []
    spots = []
    for name, target in cases.items():
        first, *others = measured(name.split(" - "), reading, **changes)
        values = []
        for value, *subtracted in zip(first, *others):
            values.append(times * (value - sum(subtracted)))
        mean, low, high = mean_interval(values)
        figures.append(f"{name} {mean:.3f} [{low:.3f} .. {high:.3f}]")
        spots.append(Spot(name, mean, low, high))
        if rule == "within":
            words.append(verdict(abs(mean - target) <= within))
        else:
            ends = [1 + SIGNS[rule] * (x - target) for x in (mean, low, high)]
            words.append(below((ends[0], min(ends), max(ends))))
    return "; ".join(figures), several(words), spots


def one_recording(app: Json, seed: int, window: float) -> Recording:
    """Record messages and progress in several runs of *app*; in each run another
    processor is absent.

    For each set of quanta, such as ``gang``, the result has the means of messages and
    progress, and the range that contains 90 % of the numbers of messages. ``many``,
    ``others`` and ``few`` are progress in % of the maximum: in quanta with more
    messages than the average gang quantum, in the other quanta, and in quanta with at
    most one message. These three cover the gang quanta and the quanta of absent
    processes, which have the same number of senders.
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
    """Return, for each application of Table 2, one recording for each run."""
    apps = [read(name, reading).model_dump(mode="json") for name in TABLE_2]
    asked = []
    for app, k in product(apps, range(reading.runs)):
        asked.append({"app": app, "seed": 1000 * SEED + k, "window": reading.window})
    found = iter(values_of(one_recording, asked))
    return {name: list(islice(found, reading.runs)) for name in TABLE_2}


def means(
    found: Sequence[Recording], quanta: str, column: str = "messages"
) -> list[float]:
    """Return, for each recording, the mean of *column* in one set of quanta."""
    return [one[quanta][column] for one in found]


def kept(found: Sequence[Recording], column: str) -> list[float]:
    """Return, for each recording, the mean of *column* while a process is absent,
    divided by the mean in gang quanta.
    """
    absent = means(found, "nonrunning", column)
    gang = means(found, "gang", column)
    return [one / other for one, other in zip(absent, gang)]


def table_3(
    reading: Reading,
    quanta: str,
    column: str,
    printed: Mapping[str, float],
    within: float,
) -> Found:
    """Judge whether the means of *column* in one set of quanta agree with Table 3, up
    to the relative distance *within*.
    """
    figures = []
    words = []
    for name, paper in printed.items():
        mean, low, high = mean_interval(means(recorded(reading)[name], quanta, column))
        figures.append(f"{name} {mean:.4g} [{low:.4g} .. {high:.4g}]")
        words.append(verdict(abs(mean / paper - 1) <= within))
    return "; ".join(figures), several(words)


def progress(reading: Reading, less: Sequence[Sequence[str]]) -> Found:
    """Judge which applications lose more of their progress while a process is absent.

    *less* are pairs of names: first the application that should keep less, then the one
    that should keep more.
    """
    parts = {name: kept(found, "progress") for name, found in recorded(reading).items()}
    words = [below(ratio_interval(parts[more], parts[name])) for name, more in less]
    figures = [f"{name} {np.mean(part):.3f}" for name, part in parts.items()]
    return ", ".join(figures), several(words)


def many_messages(reading: Reading, few: float = 0.0) -> Found:
    """Judge whether progress is greater in quanta with many messages than in the
    others.

    If *few* is given, judge instead whether the progress of some application in quanta
    with at most one message is at least *few* %.
    """
    figures = []
    words = []
    silent = [0.0]
    for name, found in recorded(reading).items():
        many = [one["many"] for one in found]
        others = [one["others"] for one in found]
        at_most_one = list(chain.from_iterable(one["few"] for one in found))
        if at_most_one:
            silent.append(fmean(at_most_one))
        figures.append(
            f"{name} {fmean(many):.0f} % against {fmean(others):.0f}, silent "
            f"{silent[-1]:.0f}"
        )
        words.append(below(ratio_interval(many, others)))
    if few:
        return "; ".join(figures), verdict(max(silent) >= few)
    return "; ".join(figures), several(words)


def needs(reading: Reading, by: str) -> Found:
    """Judge whether gamma_sub follows the messages (rule 5): *by* says which property
    of them, their rate or their ratio.

    ``rate``: the program with the most messages in gang quanta must have the smallest
    gamma_sub. ``ratio``: the programs in descending order of the ratio of messages must
    be in ascending order of gamma_sub.
    """
    slopes_of = measured([f"{name} Sub_RR 0" for name in TABLE_2], reading)
    gammas: dict[str, float] = {}
    for name, found in zip(TABLE_2, slopes_of):
        gammas[name] = float(np.mean(found) - 1 / 4) / (3 / 4)
    parts: dict[str, list[float]] = {}
    figures = []
    spots = []
    for name, recordings in recorded(reading).items():
        if by == "rate":
            parts[name] = means(recordings, "gang")
        else:
            parts[name] = kept(recordings, "messages")
        mean, low, high = mean_interval(parts[name])
        interval = f"{mean:.3g} [{low:.3g} .. {high:.3g}]"
        figures.append(f"{name} {interval}, gamma {gammas[name]:.2f}")
        spots.append(Spot(name, mean, low, high))
    rising = sorted(gammas, key=lambda name: gammas[name])
    falling = sorted(parts, key=lambda name: -fmean(parts[name]))
    if by == "rate":
        holds = falling[0] == rising[0]
    else:
        holds = falling == rising
    return "; ".join(figures), verdict(holds), spots
