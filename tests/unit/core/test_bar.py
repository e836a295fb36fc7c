"""The default of the simulated families, held against every baseline under short limits."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import pytest

import ioopt
from ioopt import options, registry
from ioopt.campaign.library import entries as library
from ioopt.catalog import entries
from ioopt.errors import IooptError
from ioopt.registry import measure_of
from ioopt.registry.types import ANYTIME, EXACT, REFERENCE

Row = dict[str, Any]
TOLERANCE = 1e-9


def baselines(kind: str) -> list[str]:
    """The solvers of *kind* that only follow a rule (``greedy`` is marked as anytime, but is one)."""
    default = registry.KINDS[kind].default_solver
    return [
        spec.name
        for spec in registry.solvers_for(kind)
        if (spec.name == "greedy" or not spec.abilities & {EXACT, ANYTIME, REFERENCE})
        and spec.name not in (default, "auto")
    ]


def judged(limit: float, ours: Row, rivals: dict[str, Row], sense: str) -> Row:
    """A run beside the best of *rivals* that ended in *limit*."""
    sign = -1.0 if sense == "max" else 1.0
    able = {
        rival: sign * other["value"]
        for rival, other in rivals.items()
        if other["value"] is not None and other["code"] == 0 and other["spent"] <= limit
    }
    best = min(able, key=lambda rival: able[rival], default=None)
    value = None if ours["value"] is None else sign * ours["value"]
    behind = best is not None and (
        value is None or value > able[best] + TOLERANCE * max(1.0, abs(able[best]))
    )
    return {**ours, "behind": behind, "best baseline": best,
            "its value": None if best is None else sign * able[best]}  # fmt: skip


KINDS = {kind.kind for kind in registry.KINDS.values() if kind.family != "replication"}
BUNDLED = [
    name for name, entry in entries().items() if entry["kind"] in KINDS and baselines(entry["kind"])
]
LIBRARY = [
    name for name, entry in library().items() if entry.kind in KINDS and not entry.recipe.bundled
]
TOO_SHORT = {("batch-io-mira-week-seed-1", 1.0), ("batch-io-mira-week-seed-1", 2.0)}
"""Some policies fit in the limit, all of them do not, and the best is not among the first."""


def run(problem: Any, solver: str | None, limit: float) -> Row:
    """A solver within *limit* seconds of processor time, which other programs do not change."""
    result, begun = None, time.process_time()
    with suppress(IooptError):  # it does not apply
        result = ioopt.solve(problem, solver, time_limit=limit, bound=False)
    spent = time.process_time() - begun
    if result is None or (solver and result.stop != "finished"):
        return {"value": None, "code": 4, "spent": spent}
    value = result.metrics.get(measure_of(registry.kind_of_problem(problem)).name)
    return {"value": value if value is not None else result.objective, "code": 0, "spent": spent}


def behind(problem: Any, limit: float) -> Row:
    kind = registry.kind_of_problem(problem)
    rivals = {}
    for name in baselines(kind.kind):
        run(problem, name, 1e9)  # what all share is loaded and known then
        rivals[name] = run(problem, name, limit)
    ours = run(problem, None, limit)
    return judged(limit, ours, rivals, measure_of(kind).sense)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("name", BUNDLED + LIBRARY)
def test_the_default_is_never_behind_a_baseline(
    name: str, limit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (name, limit) in TOO_SHORT:
        pytest.skip("no limit for all policies")
    monkeypatch.setattr(options, "now", time.process_time)
    problem = ioopt.load(name) if name in BUNDLED else library()[name].problem()
    row = behind(problem, limit)
    assert not row["behind"], row


def test_the_bar_sees_a_default_that_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """adaptive has 185.5 s on buffer-12, base-line 188.0; a late baseline does not count."""
    problem, solve = ioopt.load("buffer-12"), ioopt.solve

    def by_base_line(problem: object, solver: str | None = None, **told: object) -> object:
        return solve(problem, solver or "base-line", bound=False)

    monkeypatch.setattr(ioopt, "solve", by_base_line)
    row = behind(problem, 1e9)
    assert row["behind"] and row["best baseline"] == "adaptive" and row["value"] > row["its value"]
    assert not behind(problem, 1e-9)["behind"]
