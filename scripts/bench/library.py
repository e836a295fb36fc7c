"""The library of best known values: how far solvers are from them over ten seeds, before and now.

``python scripts/benchmark.py library`` prints the table of the docs, beside a tree of before where
``IOOPT_BEFORE=FOLDER:PYTHON`` names one; ``python scripts/bench/library.py SECONDS [NAME...]`` gives
every solver of an entry so long, and keeps in ``instances/library`` what is better (and a bound that is
tighter). :func:`candidates` says which instances there are.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(folder) for folder in Path(__file__).resolve().parents[1:3]]

from bench.frame import ROOT, Tree, show, tree_before

import ioopt
from ioopt import registry
from ioopt.campaign.library import (
    AS_THE_INSTANCE_SAYS,
    Entry,
    Found,
    Recipe,
    entries,
    report_of,
    write,
)  # fmt: skip
from ioopt.errors import IooptError
from ioopt.registry.measures import measure_of, own_bound
from ioopt.result import relative_gap
from ioopt.statements import past_bound, true_objective
from ioopt.version import __version__

BUNDLED = {
    "replication": "cycle3 eight-tasks idle-root two-pairs held rounds4 image-16x3 sat-16x3 image-100x4 "
    "ppa-60x4 flow-arrivals flow-chains flow-fork-join flow-groups flow-in-tree flow-montage",
    "batch-io": "two-writers mira-day io-sets-12 small-8 buffer-12 buffer-per-node-8",
    "io-requests": "two-writers-now", "gang": "gang-figure-5 gang-mixed-60 gang-crowded-300",
    "gang-matrix": "gang-figure-3 gang-figure-7 gang-crowded-now",
    "flexible-gang": "flexgang-tiny flexgang-heavy-mix flexgang-heavy-20 flexgang-heavy-40",
    "quantum-selection": "quantum-plain quantum-visits quantum-mixed", "job-selection": "ready-now",
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
    ("job-selection", "ready", {}), ("job-selection", "shared", {}),
)  # fmt: skip
SOLVERS = {
    "replication": ("auto", "link-aware", "exact-workflow", "minmin", "job-data-present"),
    "additive_seconds": ("ip", "anneal", "minmin", "two-stage"),
}
"""Tried for a kind or a measure; of other kinds all."""
LIMIT_SECONDS, SEEDS = 0.5, 10


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
        entry, found = known.get(name), []
        problem = (
            ioopt.load(recipe.bundled) if recipe.bundled
            else registry.generate(registry.KINDS[kind], recipe.preset, recipe.settings, recipe.seed)
        )  # fmt: skip
        for solver in tried(kind, measure):
            try:
                found.append(ioopt.solve(problem, solver, time_limit=seconds, seed=0))
            except IooptError as error:
                print(f"  {name}: {solver}: {error}", file=sys.stderr)
        entry = _with(entry, name, kind, recipe, measure, problem, found)
        if entry is not None and entry != known.get(name):
            write(entry)
            print(
                name,
                entry.measure,
                entry.best.best,
                entry.best.bound,
                entry.best.solver,
                flush=True,
            )


def _with(
    entry: Entry | None, name: str, kind: str, recipe: Recipe, measure: str, problem: Any,
    results: list[Any],
) -> Entry | None:  # fmt: skip
    """*entry* with what the *results* better: plan, value, bound."""
    spec, kept = registry.KINDS[kind], entry is not None
    sense = measure_of(spec, measure).sense
    for result in results:
        plan = result.plan
        if (
            plan is None
            or result.violations
            or "no-congestion" in (plan.get("policy"), result.solver)
        ):
            continue
        if any(plan.get(key, value) != value for key, value in AS_THE_INSTANCE_SAYS.items()):
            continue
        report = report_of(problem, plan)
        value = true_objective(measure, report)
        if value is None or report.violations:
            print(f"  {name}: {result.solver}: {report.violations[:1]}", file=sys.stderr)
            continue
        best = Found(
            best=value, solver=result.solver, seed=result.seed, version=__version__,
            settings=result.options.get("settings") or {},
            time_limit_seconds=result.options["time_limit_seconds"],
        )  # fmt: skip
        if entry is None:
            entry = Entry(
                name=name, kind=kind, recipe=recipe, measure=measure, plan=plan, history=(best,)
            )
        elif entry.betters(value):
            best = best.model_copy(update={"bound": entry.best.bound})
            history = (*entry.history, best) if kept else (best,)
            entry = entry.model_copy(update={"plan": plan, "history": history})
    for result in results if entry else ():
        bound = own_bound(result.summary(), spec, measure)
        if entry is None or bound is None or past_bound(sense, entry.best.best, bound) is not None:
            continue
        old = entry.best.bound
        if old is None or (bound > old if sense == "min" else bound < old):
            best = entry.best.model_copy(update={"bound": bound})
            entry = entry.model_copy(update={"history": (*entry.history[:-1], best)})
    return entry


def apart(tree: Tree, chosen: list[Entry], seeds: int) -> list[list[float]]:
    """What *tree* reaches on each entry, in one process of its own, kernels compiled before."""
    path = os.pathsep.join([str(tree.folder), str(ROOT / "scripts")])
    how: dict[str, Any] = {"cwd": tree.folder, "env": {**os.environ, "PYTHONPATH": path}}
    subprocess.run([tree.python, "-m", "ioopt", "compile"], capture_output=True, **how)
    asked = [
        entry.model_dump(mode="json", include={"kind", "recipe", "measure"}) for entry in chosen
    ]
    ran = subprocess.run(
        [tree.python, "-m", "bench.whole.library_values", str(LIMIT_SECONDS), str(seeds)],
        input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=True, **how,
    )  # fmt: skip
    found: list[list[float]] = json.loads(ran.stdout.splitlines()[-1])
    return found


def off(entry: Entry, reached: list[float]) -> list[str]:
    """By how much values miss the best known one, median and most; below 0: they are better."""
    best, sign = entry.best.best, -1 if entry.sense == "max" else 1
    missed = [sign * (value - best) / max(abs(best), 1e-9) for value in reached]
    return [f"{statistics.median(missed):.2%}", f"{max(missed):.2%}"] if missed else ["-", "-"]


def main(quick: bool) -> None:
    """Print the table of one run: every entry, its bound's gap, and what each tree reaches."""
    before = tree_before()
    trees = [*([("before", before)] if before else []), ("now", Tree(ROOT, sys.executable))]
    chosen = list(entries().values())[:: 8 if quick else 1]
    reached = [apart(tree, chosen, 2 if quick else SEEDS) for _, tree in trees]
    table = []
    for entry, *found in zip(chosen, *reached, strict=True):
        gap = relative_gap(entry.best.best, entry.best.bound, entry.sense)  # type: ignore[arg-type]
        table.append([
            entry.name, entry.measure, f"{entry.best.best:.6g}", "-" if gap is None else f"{gap:.2%}",
            entry.best.solver, max(map(len, found)), *(text for one in found for text in off(entry, one)),
        ])  # fmt: skip
    head = ("instance", "measure", "best known", "gap of its bound", "found by", "seeds",
            *(f"{name}: {what}" for name, _ in trees for what in ("median off", "most")))  # fmt: skip
    show(f"The library, default solver, {LIMIT_SECONDS:g} s", head, table)


if __name__ == "__main__":
    improve(float(sys.argv[1]), sys.argv[2:])
