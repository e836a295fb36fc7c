"""``python scripts/bench/library.py SECONDS [NAME...]``: better plans for the library of best known values.

Every solver of an entry gets so long; what is better is kept in ``instances/library``, and a bound that is
tighter. :func:`candidates` says which instances there are; the sweeps ``library`` and ``library-additive``
how far default solvers are from the best.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(folder) for folder in Path(__file__).resolve().parents[1:3]]

import ioopt
from ioopt import registry
from ioopt.campaign.library import Entry, Found, Recipe, entries, submit, write
from ioopt.errors import IooptError, UsageError
from ioopt.registry import measure_of, own_bound
from ioopt.statements import past_bound
from ioopt.version import __version__

BUNDLED = {
    "replication": "cycle3 eight-tasks idle-root two-pairs held rounds4 image-16x3 sat-16x3 image-100x4 "
    "ppa-60x4 flow-arrivals flow-chains flow-fork-join flow-groups flow-in-tree flow-montage",
    "batch-io": "two-writers mira-day io-sets-12 small-8 buffer-12 buffer-per-node-8",
    "io-requests": "two-writers-now", "gang": "gang-figure-5 gang-mixed-60 gang-crowded-300",
    "gang-matrix": "gang-figure-3 gang-figure-7 gang-crowded-now",
    "flexible-gang": "flexgang-tiny flexgang-heavy-mix flexgang-heavy-20 flexgang-heavy-40",
    "quantum-selection": "quantum-plain quantum-visits quantum-mixed",
}  # fmt: skip
ADDITIVE = ("cycle3", "image-16x3", "sat-16x3", "image-100x4", "ppa-60x4")
PRESETS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    *(("replication", "tiny", {"seed": seed}) for seed in (1, 2, 3)),
    ("replication", "image-85", {}), ("replication", "image-85", {"disk": "300MB"}),
    ("replication", "image-85", {"disk": "unlimited", "nodes": 8}),
    ("replication", "sat-85", {}), ("replication", "sat-40", {}), ("replication", "ppa", {}),
    ("replication", "image-85-windows", {"disk": "300MB"}),
    ("replication", "bipartite-85", {"disk": "300MB"}), ("replication", "image-85-follow-up", {}),
    *(("replication", preset, {"disk_share": 1.5})
      for preset in ("chains", "fork-join", "in-tree", "montage-like", "many-small-groups")),
    *(("batch-io", "small", {"seed": seed}) for seed in (1, 2)), ("batch-io", "tiny", {}),
    ("batch-io", "burst-buffer", {}), ("batch-io", "mira-week", {}),
    ("gang", "blue-pacific-like", {"jobs": 100}), ("gang", "lublin99", {"jobs": 100}),
)  # fmt: skip
SOLVERS = {
    "replication": ("auto", "link-aware", "exact-workflow", "minmin", "job-data-present"),
    "additive_seconds": ("ip", "anneal", "minmin", "two-stage"),
}
"""Tried for a kind or a measure; of other kinds all."""


def candidates() -> Iterator[tuple[str, str, Recipe, str]]:
    """Name, kind, recipe and measure of every instance that the library is to have."""
    for kind, names in BUNDLED.items():
        for name in names.split():
            yield name, kind, Recipe(bundled=name), measure_of(registry.KINDS[kind]).name
    for name in ADDITIVE:
        yield f"{name}-additive", "replication", Recipe(bundled=name), "additive_seconds"
    for kind, preset, given in PRESETS:
        settings = {key: str(value) for key, value in given.items() if key != "seed"}
        recipe = Recipe(preset=preset, settings=settings, seed=given.get("seed", 1))
        family = () if kind == "replication" else (kind,)
        name = "-".join((*family, preset, *settings.values(), f"seed-{recipe.seed}")).lower()
        yield name, kind, recipe, measure_of(registry.KINDS[kind]).name


def tried(kind: str, measure: str) -> list[str]:
    """The solvers that are asked for a better plan."""
    chosen = SOLVERS.get(measure) or SOLVERS.get(kind)
    rows = registry.solvers_for(kind)
    return [*chosen] if chosen else [row.name for row in rows if row.variant_of is None]


def improve(seconds: float, names: list[str]) -> None:
    """Give every solver so long on every candidate, and keep what is better."""
    known = entries()
    for name, kind, recipe, measure in candidates():
        if names and name not in names:
            continue
        entry = known.get(name) or _empty(name, kind, recipe, measure)
        for solver in tried(kind, measure):
            try:
                result = ioopt.solve(entry.problem(), solver, time_limit=seconds, seed=0)
            except IooptError as error:
                print(f"  {name}: {solver}: {error}", file=sys.stderr)
                continue
            entry = _with(entry, result)
        if entry.plan and entry != known.get(name):
            write(entry)
            best = entry.best
            print(name, entry.measure, best.best, best.bound, best.solver, flush=True)


def _empty(name: str, kind: str, recipe: Recipe, measure: str) -> Entry:
    """An entry that any plan betters."""
    worst = 1e300 if measure_of(registry.KINDS[kind], measure).sense == "min" else -1e300
    history = (Found(best=worst, solver="nobody", version=__version__),)
    return Entry(name=name, kind=kind, recipe=recipe, measure=measure, plan={}, history=history)


def _with(entry: Entry, result: Any) -> Entry:
    """*entry* with what *result* betters: plan and value, bound."""
    new = not entry.plan
    with suppress(UsageError):  # it is not better
        changed, wrong = submit(entry, result.model_dump(mode="json"), result.solver)
        if wrong:
            print(f"  {entry.name}: {result.solver}: {wrong[:1]}", file=sys.stderr)
        elif new:
            changed = changed.model_copy(update={"history": changed.history[1:]})
        entry = changed
    bound, old = (
        own_bound(result.summary(), registry.KINDS[entry.kind], entry.measure),
        entry.best.bound,
    )
    if bound is None or past_bound(entry.sense, entry.best.best, bound) is not None:
        return entry
    if old is None or (bound > old if entry.sense == "min" else bound < old):
        best = entry.best.model_copy(update={"bound": bound})
        entry = entry.model_copy(update={"history": (*entry.history[:-1], best)})
    return entry


if __name__ == "__main__":
    improve(float(sys.argv[1]), sys.argv[2:])
