"""First contact: whole ``ioopt solve`` commands with the default solver, beside every simple baseline.

Each bundled and library instance x limit x kernel cache (empty, full), with two busy loops beside. A
row is *behind* where a baseline that ended within the limit by itself, start-up included, is better
by the kind's measure; *late* where the command takes more than 1.1 T + 1 s of CPU time. ``python
scripts/bench/whole/first_contact.py [NAME...]`` takes the instances named.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(folder) for folder in Path(__file__).resolve().parents[2:4]]

from bench.frame import run as timed_run
from bench.made import instances

from ioopt import registry
from ioopt.formats.native import dump_json
from ioopt.registry import measure_of
from ioopt.registry.types import ANYTIME, EXACT, REFERENCE
from ioopt.tables import render

LIMITS = (0.2, 1.0, 2.0, 5.0)
SEARCHES = {"rolling", "two-stage", "hierarchical", "anneal"}
"""Neither exact nor anytime, and no simple baseline."""
SIMPLE = {"greedy"}
"""Marked as anytime, but a rule that is simple all the same."""
BASELINE_LIMIT = 20.0
TOLERANCE = 1e-9


Row = dict[str, Any]


@contextmanager
def busy(loops: int = 2) -> Iterator[None]:
    """So many busy processes beside."""
    beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in beside:
            process.kill()
            process.wait()


def run(path: str, measure: str, limit: float, cache: Path, solver: str | None = None) -> Row:
    """One ``ioopt solve``: its value by the measure (None: no answer), seconds of CPU and by the clock."""
    words = [sys.executable, "-m", "ioopt", "solve", path, "--time-limit", str(limit)]
    words += ["--format", "json", *(["--solver", solver] if solver else [])]
    cost = timed_run(words, {**os.environ, "NUMBA_CACHE_DIR": str(cache)})
    answer: Row = json.loads(cost.text) if cost.text.strip() else {}
    value = answer.get("metrics", {}).get(measure)
    if value is None and answer.get("objective_name") == measure:
        value = answer.get("objective")
    return {"value": value, "code": cost.code, "cpu": cost.cpu, "wall": cost.wall,
            "notes": answer.get("notes", ())}  # fmt: skip


def baselines(kind: str) -> list[str]:
    """The solvers of *kind* that only follow a rule: no search, no proof, no mark."""
    default = registry.KINDS[kind].default_solver
    return [
        spec.name for spec in registry.solvers_for(kind)
        if (spec.name in SIMPLE or not spec.abilities & {EXACT, ANYTIME, REFERENCE})
        and spec.name not in {*SEARCHES, default, "auto"}
    ]  # fmt: skip


def rows(names: Sequence[str], limits: Sequence[float], full: Path) -> Iterator[Row]:
    """One row an instance, limit and cache."""
    with tempfile.TemporaryDirectory() as folder:
        for name, kind, problem in instances(names):
            path = f"{folder}/{name}.json"
            text = dump_json(problem.model_dump(mode="json", exclude_none=True))
            Path(path).write_text(text, encoding="utf-8")
            measure = measure_of(registry.KINDS[kind], None)
            simple = baselines(kind)
            rivals = {one: run(path, measure.name, BASELINE_LIMIT, full, one) for one in simple}
            for limit in limits:
                for cache in ("empty", "full"):
                    place = full
                    if cache == "empty":
                        place = Path(folder) / "cache"
                        shutil.rmtree(place, ignore_errors=True)
                    ours = run(path, measure.name, limit, place)
                    yield judged(name, limit, cache, ours, rivals, measure.sense)


def judged(
    name: str, limit: float, cache: str, ours: Row, rivals: dict[str, Row], sense: str
) -> Row:
    """The row of one run beside the best of *rivals* that ended in *limit*."""
    sign = -1.0 if sense == "max" else 1.0
    able = {
        rival: sign * other["value"] for rival, other in rivals.items()
        if other["value"] is not None and other["code"] == 0 and other["wall"] <= limit
    }  # fmt: skip
    best = min(able, key=lambda rival: able[rival], default=None)
    value = None if ours["value"] is None else sign * ours["value"]
    behind = best is not None and (
        value is None or value > able[best] + TOLERANCE * max(1.0, abs(able[best]))
    )
    return {
        "instance": name, "limit": limit, "cache": cache, **ours, "best baseline": best,
        "its value": None if best is None else sign * able[best],
        "behind": behind, "late": ours["cpu"] > 1.1 * limit + 1.0,
    }  # fmt: skip


def main(quick: bool, names: Sequence[str] = ()) -> None:
    """Print every row that is behind, late or without an answer, and the counts."""
    with tempfile.TemporaryDirectory() as folder, busy(0 if quick else 2):
        full = Path(os.environ.get("NUMBA_CACHE_DIR") or folder)
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(full)}
        subprocess.run([sys.executable, "-m", "ioopt", "doctor", "--compile", "-q"],
                       env=environment, check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        found = []
        for row in rows(names, (1.0,) if quick else LIMITS, full):
            found.append(row)
            if row["behind"] or row["late"] or row["code"] or names:
                print(_line(row), flush=True)
    counts = {key: sum(bool(row[key]) for row in found) for key in ("behind", "late")}
    without = sum(row["code"] != 0 for row in found)
    table = [(len(found), counts["behind"], counts["late"], without)]
    print(render(("runs", "behind a baseline", "late", "without an answer"), table), end="")


def _line(row: Row) -> str:
    shown = ("instance", "limit", "cache", "value", "best baseline", "its value", "cpu", "wall")
    cells = [f"{row[key]:.6g}" if isinstance(row[key], float) else str(row[key]) for key in shown]
    marks = [key for key in ("behind", "late") if row[key]]
    if row["code"]:
        marks.append(f"exit {row['code']}: {' | '.join(row['notes'])}")
    return "  ".join([*cells, *marks])


if __name__ == "__main__":
    main(False, sys.argv[1:])
