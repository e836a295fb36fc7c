"""Return the rows of a run store as the runs of a comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ioopt import registry
from ioopt.campaign.frame import read_frame
from ioopt.campaign.store import FAILED, JSON_COLUMNS, StoreReader, clearly
from ioopt.comparing.measures import Row, add_ratios
from ioopt.comparing.runs import FORMAT, Runs, runs_in
from ioopt.comparing.twins import RECIPE
from ioopt.errors import InstanceError
from ioopt.problems.base import Json
from ioopt.result import Status, StopReason

DIGEST = 64
"""Characters of a digest; settings of the run that change the problem follow."""
ORDER = ["instance", "solver", "settings", "seed"]
"""The columns by which runs are in order; a store has them by their keys."""
REST = ("metrics", "notes", "simulate_seconds", "error")
"""The columns of a row that the table of all rows lacks."""


def runs_of_store(path: str) -> Runs:
    """Return the runs of the store *path* by the measure of their kind.

    Only the first repeat of a point counts. Raises InstanceError for a store that holds
    runs of several kinds.
    """
    frame = read_frame([path])
    frame = frame[frame["repeat"] == 0]
    names = frame.groupby("instance", observed=True)["digest"].nunique()
    rest = _rest(path)
    groups: dict[str, list[Row]] = {}
    for cells in frame.sort_values(ORDER).to_dict("records"):
        known = {str(key): _plain(value) for key, value in cells.items()}
        row = _row({**known, **rest[known["key"]]})
        if names[known["instance"]] > 1:
            row["instance"] += f" ({known['digest'][:6]})"
        groups.setdefault(row["instance"], []).append(row)
    if not groups:
        raise InstanceError(f"{path}: the store has no runs yet")
    rows = [row for name in sorted(groups) for row in groups[name]]
    runs = runs_in({"format": FORMAT, "rows": rows}, path)
    for name in runs.instances:
        mine = [row for row in runs.rows if row["instance"] == name]
        add_ratios(mine, runs.measure)
    return runs


def _rest(path: str) -> dict[str, Json]:
    """Return the columns :data:`REST` of all rows of a store, by key."""
    found = {}
    with StoreReader(path) as reader, clearly(path):
        query = f"SELECT key, {', '.join(REST)} FROM runs"
        for key, *cells in reader.connection.execute(query):
            row = dict(zip(REST, cells))
            for name in JSON_COLUMNS:
                if name in row:
                    row[name] = json.loads(row[name])
            found[key] = row
    return found


def _plain(value: object) -> Any:
    """Return a cell of a table as a plain value; None for a missing one."""
    return None if value != value else value


def _row(cells: Mapping[str, Any]) -> Row:
    """Return the row of a comparison for a row of a store."""
    labels = json.loads(cells["labels"])
    settings = json.loads(cells["settings"])
    preset, seed = labels.pop("preset", None), labels.pop("seed", None)
    stated = preset is not None and seed is not None
    digest = cells["digest"][:DIGEST]
    # A generated instance has such a name, and the digest of its recipe.
    name = cells["instance"]
    if stated and name.startswith(f"{preset}-") and name.endswith(f"-seed={seed}"):
        digest = RECIPE + digest
    row = {
        **cells,
        "format": "ioopt/result",
        "version": 1,
        "solver": cells["variant"],
        "measure": None,
        "stop": cells["stop"] or str(StopReason.FINISHED),
        "objective": cells["value"],
        "objective_name": None,
        "options": {"settings": _settings(cells, settings)},
        "settings": json.loads(cells["digest"][DIGEST:] or "{}"),
        "digest": digest,
        "versions": json.loads(cells["versions"]),
        "violations": [],
        "base": f"{preset}, seed {seed}" if stated else None,
        "generated": labels,
    }
    if cells["status"] == FAILED or cells["violations"]:
        why = cells["error"] or f"{cells['violations']} violations"
        row |= {"status": str(Status.ERROR), "notes": [*cells["notes"], why]}
        row |= {"bound": None, "gap": None, "metrics": {}}
    return row


def _settings(cells: Mapping[str, Any], given: Json) -> Json | None:
    """Return all settings of a run with a solver of ioopt; None for another solver,
    whose function may have changed.
    """
    for spec in registry.solvers_for(cells["kind"]):
        if spec.name == cells["solver"] and spec.bundled:
            own = {key: value for key, value in given.items() if key != "backend"}
            chosen = registry.settings_for(spec, own)
            return {} if chosen is None else dict(chosen.model_dump(mode="json"))
    return None
