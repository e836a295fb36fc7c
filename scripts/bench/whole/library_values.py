"""Values of instances of the library, in a process of its own: of any version that has the instances.

``python -m bench.whole.library_values SECONDS SEEDS`` reads entries (``kind``, ``recipe`` and
``measure``) as JSON and writes a list of values for each.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any

import ioopt
from ioopt import registry
from ioopt.errors import IooptError


def values(entry: dict[str, Any], seconds: float, seeds: int) -> list[float]:
    """What the default solver reaches from each seed; one where it proves that or draws nothing."""
    kind, recipe, measure = registry.KINDS[entry["kind"]], entry["recipe"], entry["measure"]
    try:
        if recipe.get("bundled"):
            problem = ioopt.load(recipe["bundled"])
        else:
            problem = registry.generate(kind, recipe["preset"], recipe["settings"], recipe["seed"])
    except IooptError:
        return []  # an instance that came later than this version
    for solver in ("ip", "two-stage") if measure == "additive_seconds" else (None,):
        with suppress(IooptError):  # ip takes no batch that needs several rounds
            return _reached(problem, entry, solver, seconds, seeds)
    return []


def _reached(
    problem: Any, entry: dict[str, Any], solver: str | None, seconds: float, seeds: int
) -> list[float]:
    found, measure = [], entry["measure"]
    for seed in range(seeds if entry["kind"] == "replication" else 1):
        result = ioopt.solve(problem, solver, time_limit=seconds, seed=seed)
        measured = {**result.metrics, str(result.objective_name): result.objective}
        if measured.get(measure) is not None and not result.violations:
            found.append(float(measured[measure]))
        if result.status == "optimal" and result.objective_name == measure:
            break
    return found


if __name__ == "__main__":
    limit, count = float(sys.argv[1]), int(sys.argv[2])
    print(json.dumps([values(entry, limit, count) for entry in json.load(sys.stdin)]))
