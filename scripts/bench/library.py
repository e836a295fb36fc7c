"""``python scripts/bench/library.py SECONDS [NAME...]``: better plans for the library of best known values.

Every solver of an entry gets so long; what is better is kept in ``instances/library``, and a bound that is
tighter. An instance more is a file there whose plan is empty and whose value any plan betters. The sweeps
``library`` and ``library-additive`` say how far default solvers are from the best.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(folder) for folder in Path(__file__).resolve().parents[1:3]]

import ioopt
from ioopt import registry
from ioopt.campaign.library import Entry, entries, submit, write
from ioopt.errors import IooptError, UsageError
from ioopt.registry import own_bound
from ioopt.statements import past_bound

SOLVERS = {
    "replication": ("auto", "link-aware", "exact-workflow", "minmin", "job-data-present"),
    "additive_seconds": ("ip", "anneal", "minmin", "two-stage", "link-aware"),
}
"""Tried for a kind or a measure; of other kinds all."""


def tried(kind: str, measure: str) -> list[str]:
    """The solvers that are asked for a better plan."""
    chosen = SOLVERS.get(measure) or SOLVERS.get(kind)
    rows = registry.solvers_for(kind)
    return [*chosen] if chosen else [row.name for row in rows if row.variant_of is None]


def improve(seconds: float, names: list[str]) -> None:
    """Give every solver so long on every entry, and keep what is better."""
    for name, known in entries().items():
        if names and name not in names:
            continue
        entry = known
        for solver in tried(entry.kind, entry.measure):
            try:
                result = ioopt.solve(entry.problem(), solver, time_limit=seconds, seed=0)
            except IooptError as error:
                print(f"  {name}: {solver}: {error}", file=sys.stderr)
                continue
            entry = _with(entry, result)
        if entry.plan and entry != known:
            write(entry)
            best = entry.best
            print(name, entry.measure, best.best, best.bound, best.solver, flush=True)


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
    bound = own_bound(result.summary(), registry.KINDS[entry.kind], entry.measure)
    old = entry.best.bound
    if bound is None or past_bound(entry.sense, entry.best.best, bound) is not None:
        return entry
    if old is None or (bound > old if entry.sense == "min" else bound < old):
        best = entry.best.model_copy(update={"bound": bound})
        entry = entry.model_copy(update={"history": (*entry.history[:-1], best)})
    return entry


if __name__ == "__main__":
    improve(float(sys.argv[1]), sys.argv[2:])
