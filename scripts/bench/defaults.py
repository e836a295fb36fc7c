"""Which solver a kind should have as its default: geometric means of its measure over many instances.

Defaults were chosen on the bundled instances and the library. Presets with seeds that neither has, and
logs of the shared data, tell how they fare elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean
from typing import Any

from bench.frame import shared_data, show

import ioopt
from ioopt import registry
from ioopt.campaign.library import entries as library
from ioopt.catalog import entries
from ioopt.errors import IooptError
from ioopt.formats.swf.log import read_swf
from ioopt.generate.gang.from_swf import gang_from_swf
from ioopt.generate.gang.generate import Settings
from ioopt.registry.measures import measure_of
from ioopt.registry.types import REFERENCE, KindSpec

KINDS = ("batch-io", "gang", "gang-matrix", "quantum-selection")
"""Where the default is ``auto``, the others tell which policy to name where one is needed, as live."""
SEEDS, LIMIT_SECONDS = range(20, 26), 10.0
PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "batch-io": {"small": {}, "tiny": {}, "io-sets": {}, "mira-week": {}, "burst-buffer": {}},
    "gang": {"blue-pacific-like": {"jobs": 2000}, "lublin99": {"jobs": 2000}},
}
LOGS = (
    ("KTH-SP2-1996-2.1-cln.first20000", 128), ("NASA-iPSC-1993-3.1-cln", 128),
    ("HPC2N-2002-excerpt-alea", 240), ("lublin_256", 256), ("RICC-2010-2.first20000", 8192),
)  # fmt: skip
"""Logs and the nodes of the machine that they are put on."""
INTENSITIES = (0.5, 0.33, 0.1)


def main(quick: bool = False) -> None:
    """Print, for every kind, each solver's geometric mean over the best of each instance."""
    for name in KINDS:
        kind = registry.KINDS[name]
        spoken = [spec for spec in registry.solvers_for(name) if spec.name in kind.compare_solvers]
        solvers = [spec.name for spec in spoken if REFERENCE not in spec.abilities]
        chosen = [ratios(problem, kind, solvers) for problem in chosen_on(name)]
        apart = [ratios(problem, kind, solvers) for problem in elsewhere(name, quick)]
        rows = []
        for solver in solvers:
            means = [
                _mean([row[solver] for row in part if solver in row]) for part in (chosen, apart)
            ]
            rows.append((solver, *means, "yes" if solver == kind.default_solver else ""))
        head = ("solver", f"chosen on ({len(chosen)})", f"elsewhere ({len(apart)})", "default")
        show(f"{name}, {measure_of(kind).name}: geometric mean over the best policy", head, rows)


def chosen_on(kind: str) -> Iterator[Any]:
    """Bundled instances and the library's own."""
    yield from (ioopt.load(name) for name, entry in entries().items() if entry["kind"] == kind)
    own = (entry for entry in library().values() if entry.kind == kind)
    yield from (entry.problem() for entry in own if entry.recipe.bundled is None)


def elsewhere(kind: str, quick: bool) -> Iterator[Any]:
    """Presets with other seeds; for gangs logs under three intensities of I/O."""
    for preset, settings in PRESETS.get(kind, {}).items():
        for seed in SEEDS[:2] if quick else SEEDS:
            yield registry.generate(registry.KINDS[kind], preset, settings, seed)
    for log, nodes in LOGS if kind == "gang" else ():
        path = shared_data("swf") / f"{log}.swf"
        for intensity in INTENSITIES if path.exists() else ():
            chosen = Settings(nodes=nodes, intensity=intensity)
            yield gang_from_swf(read_swf(str(path)), chosen, 20, max_jobs=500 if quick else 5000)


def ratios(problem: Any, kind: KindSpec, solvers: list[str]) -> dict[str, float]:
    """Every solver's value over the best; those that do not apply or are late are left out."""
    measure, found = measure_of(kind), {}
    for solver in solvers:
        try:
            result = ioopt.solve(problem, solver, time_limit=LIMIT_SECONDS, bound=False)
        except IooptError:
            continue
        value = result.metrics.get(measure.name, result.objective)
        if result.stop == "finished" and value is not None:
            found[solver] = value
    best = (min if measure.sense == "min" else max)(found.values())
    sign = 1 if measure.sense == "min" else -1
    return {solver: (value / best) ** sign for solver, value in found.items() if value > 0}


def _mean(values: list[float]) -> str:
    return f"{math.exp(fmean(map(math.log, values))):.3f} ({len(values)})" if values else "-"
