"""Khanna et al.: the ranking of Figures 2 and 3 under every reading of what the paper leaves open.

The paper does not say in which order a batch comes, how long a model was solved, nor for which task a
round must find "space required to execute a single task" (Section 4.3). Columns are the orders of
the batch and the link models, rows the schemes and whether rounds wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise, product
from statistics import fmean
from typing import Any, NamedTuple

from papers.claims import table, values_of, verdict_of_several
from papers.khanna import LINKS, ORDER

import ioopt
from ioopt.generate.replication.generate import generate
from ioopt.metrics import mean_interval
from ioopt.problems.replication import ReplicationPlan

HOLDS, MEAN, BEST = "+ ", "(+) ", "(IP best) "
SPAN = "makespan_seconds"
PRESETS = ("image-85", "image-40", "image-0", "sat-85", "sat-40", "sat-10", "ppa")
ORDERS = ("random", "submission")
COLUMNS = tuple(product(ORDERS, LINKS))
HEAD = ("ranking", "IP is", "rounds", *(f"{order} order, {link} link" for order, link in COLUMNS),
        "verdict")  # fmt: skip


class Scheme(NamedTuple):
    """How the two-stage scheme is read: settings, seconds a solve, the presets that are run."""

    name: str
    settings: dict[str, Any]
    seconds: float | None = 10.0
    presets: Sequence[str] = PRESETS


SOME = ("image-85", "sat-85", "sat-40", "ppa")
SCHEMES = (
    Scheme("as printed", {}),
    Scheme("room for the mean pending task", {"room": "mean"}, presets=SOME),
    Scheme("room for the smallest pending task", {"room": "smallest"}, presets=SOME),
    # Two models a round.
    Scheme("60 s a round, less where proven", {"effort": 30.0}, None, ("sat-85", "sat-40", "ppa")),
)


def _seeds(quick: bool, scheme: Scheme) -> int:
    return 2 if quick else 3 if scheme.seconds else 1


def _chosen(quick: bool) -> tuple[Scheme, ...]:
    return tuple(one._replace(seconds=1.0) for one in SCHEMES[:3]) if quick else SCHEMES


def sizes(quick: bool) -> str:
    """One line: how much is run."""
    return (
        f"{40 if quick else 100} tasks (PPA {160 if quick else 500}), the paper's disks, "
        f"{'2 seeds, 1 s' if quick else '3 seeds, 10 s'} a solve (one seed where a row says otherwise); "
        "means of IP/JobDataPresent and JobDataPresent/MinMin, batch time"
    )


def planned(
    preset: str, order: str, tasks: int, solver: str, settings: dict[str, Any], seed: int,
    seconds: float | None,
) -> dict[str, float]:  # fmt: skip
    """Batch time by link and by whether rounds wait for each other, of one plan."""
    problem = generate(preset, {"tasks": tasks, "order": order}, seed)
    result = ioopt.solve(problem, solver, time_limit=seconds, seed=seed, settings=settings)
    plan = ReplicationPlan.model_validate(result.plan)
    return {
        f"{link},{barriers}": ioopt.simulate(
            problem, plan.model_copy(update={"barriers": barriers}), link=link
        ).metrics[SPAN]
        for link, barriers in product(LINKS, (True, False))
    }  # fmt: skip


@cache
def _runs(preset: str, order: str, solver: str, scheme: int, quick: bool) -> list[dict[str, float]]:
    read = _chosen(quick)[scheme]
    tasks = (160 if quick else 500) if preset == "ppa" else 40 if quick else 100
    asked = [
        {"preset": preset, "order": order, "tasks": tasks, "solver": solver, "seed": seed,
         "settings": read.settings if solver == ORDER[0] else {}, "seconds": read.seconds}
        for seed in range(_seeds(quick, read))
    ]  # fmt: skip
    return values_of(planned, asked)


def _cell(preset: str, scheme: int, barriers: bool, order: str, link: str, quick: bool) -> str:
    """What one reading comes to: a mark (HOLDS, MEAN, BEST or none) and the figures."""
    key = f"{link},{barriers}"
    # Baselines have no rounds: their own replay is that of any plan.
    first, second, third = (
        [run[key] for run in _runs(preset, order, solver, scheme, quick)] for solver in ORDER
    )

    ratios = [[x / y for x, y in zip(a, b)] for a, b in pairwise((first, second, third))]
    beaten = fmean(x / y for x, y in zip(first, third))
    means = [fmean(values) for values in ratios]
    mark = BEST if means[0] < 1 and beaten < 1 else ""
    if max(means) < 1:
        mark = HOLDS if max(mean_interval(values)[2] for values in ratios) < 1 else MEAN
    return mark + ", ".join(f"{mean:.2f}" for mean in means)


def claims(quick: bool) -> list[tuple[str, ...]]:
    """The ranking on every workload under every reading."""
    rows = []
    for scheme, read in enumerate(_chosen(quick)):
        for preset, barriers in product(read.presets, (True, False)):
            cells = [_cell(preset, scheme, barriers, *column, quick) for column in COLUMNS]
            waits = "wait for each other" if barriers else "do not wait"
            word = verdict_of_several([cell.startswith(HOLDS) for cell in cells])
            claim = f"{preset}: IP < JobDataPresent < MinMin"
            rows.append((claim, read.name, waits, *cells, word))
    return rows


def notes(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """How often the ranking holds, by reading."""
    yield (
        "A + marks that the whole ranking holds (every interval below 1), (+) that it does in the means, "
        "(IP best) that IP alone is below both baselines in the means."
    )
    for name, waits in dict.fromkeys((row[1], row[2]) for row in rows):
        mine = [row[3:7] for row in rows if row[1:3] == (name, waits)]
        said = ", ".join(
            f"{order} order, {link} link {_marked(mine, at, HOLDS, MEAN)} (IP best "
            f"{_marked(mine, at, HOLDS, MEAN, BEST)})"
            for at, (order, link) in enumerate(COLUMNS)
        )
        yield f"{name}, rounds {waits}: of {len(mine)} the ranking holds (means) in {said}."
    yield from table("khanna")["why"]


def _marked(rows: Sequence[Sequence[str]], at: int, *marks: str) -> int:
    return sum(row[at].startswith(marks) for row in rows)
