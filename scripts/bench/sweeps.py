"""Run a benchmark that is a sweep, ``scripts/sweeps/NAME.toml``, and print its table.

The first line of the file is the title of the table. Instances that no generator makes
are written by a function of :mod:`bench.made` into the folder ``made`` beside the
configuration. A row of the table covers a group of instances, whose names are equal up
to ``-seed=`` or ``: ``. A quick run takes only the first value of every list, two
seeds, and at most 2 s for a run.
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bench import made
from bench.frame import ROOT, Tree, show, trees
from ioopt.campaign import frame as frames
from ioopt.registry import KINDS, measures_of

FOLDER = ROOT / "scripts" / "sweeps"
HEAD = (
    "instances",
    "solver",
    "n",
    "mean",
    "in time",
    "proven",
    "over the bound",
    "over the best",
    "sum over least",
    "most",
    "best on",
    "seconds",
)
KNOWN_HEAD = ("over best known", "most")


def names() -> list[str]:
    """Return the names of all sweeps."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def main(name: str, quick: bool, keep: str | None = None) -> None:
    """Run the sweep *name* in every checkout, and print its table.

    *keep* is a folder for the stores of the sweep. Stores that exist there are
    continued.
    """
    text = (FOLDER / f"{name}.toml").read_text("utf-8")
    config = tomllib.loads(text)
    if quick:
        config = shortened(config)
    best = FOLDER / f"{name}.json"
    known: dict[str, float] = {}
    if best.exists():
        known = json.loads(best.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(keep or temporary)
        (folder / "made").mkdir(parents=True, exist_ok=True)
        if name in made.MAKERS:
            known |= made.MAKERS[name](folder / "made", quick) or {}
        path = folder / f"{name}.toml"
        lines = [f"{key} = {toml(value)}\n" for key, value in config.items()]
        path.write_text("".join(lines))
        stores = {label: swept(path, label, tree) for label, tree in trees().items()}
        rows = joined(stores, config.get("measure"))
    title = text.partition("\n")[0].strip("# ")
    head = (*HEAD, *KNOWN_HEAD) if known else HEAD
    show(title, head, table(rows, known))
    if best.exists() and not quick:
        found = rows.groupby(rows["instance"].astype(str))["value"].min().dropna()
        for instance, value in found.items():
            if value < known.get(instance, math.inf) * (1 - 1e-9):
                known[instance] = value
        best.write_text(json.dumps(known, indent=0, sort_keys=True) + "\n", "utf-8")


def shortened(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return *config* with only the first value of each setting, two seeds, and a time
    limit of at most 2 s.
    """
    short = dict(config)
    for part in ("instances", "solvers"):
        short[part] = [dict(entry) for entry in config[part]]
        for entry in short[part]:
            entry["seeds"] = entry.get("seeds", [0])[:2]
            given = entry.get("set", {}).items()
            entry["set"] = {key: _first(value) for key, value in given}
    return short | {"time_limit": min(2.0, config.get("time_limit", 60.0))}


def _first(value: Any) -> Any:
    """Return the first element of a list, and any other value unchanged."""
    if isinstance(value, list):
        return value[0]
    return value


def toml(value: Any) -> str:
    """Return a value as TOML text."""
    if isinstance(value, dict):
        pairs = [f"{key} = {toml(item)}" for key, item in value.items()]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value)


def swept(config: Path, label: str, tree: Tree) -> str:
    """Run the sweep *config* in *tree*; return the path of its store. A store that
    exists is continued.
    """
    store = config.with_suffix(f".{label}.sqlite")
    command = [tree.python, "-m", "ioopt", "sweep", str(config), "--store", str(store)]
    command += ["--workers", "2", "-q"]
    if store.exists():
        command.append("--resume")
    subprocess.run(command, cwd=tree.folder, env=tree.environment())
    if not store.exists():
        raise SystemExit(f"{config.stem}: `ioopt sweep` made no store")
    return str(store)


def joined(stores: Mapping[str, str], measure: str | None) -> pd.DataFrame:
    """Return the runs of all checkouts, each with its ratio to the best run on the same
    instance.
    """
    parts = []
    for label, store in stores.items():
        part = frames.read_frame([store], measure)
        if len(stores) > 1:
            part["variant"] = f"{label}: " + part["variant"].astype(str)
        parts.append(part)
    rows = pd.concat(parts, ignore_index=True)
    rows["digest"] = rows["instance"].astype(str) + rows["kind"].astype(str)
    return frames.with_ratios(rows, measures_of(KINDS.values(), measure))


def table(rows: pd.DataFrame, known: Mapping[str, float]) -> Iterator[list[str]]:
    """Yield a row for each group of instances and each solver.

    Means cover only the runs with an answer. Means of ratios are geometric.
    """
    names = rows["instance"].astype(str)
    rows = rows.assign(
        group=names.str.split("-seed=|: ", regex=True).str[0],
        over=rows["value"] / rows["bound"],
        known=rows["value"] / names.map(known),
        least=rows.groupby("digest", observed=True)["value"].transform("min"),
        seconds=rows["build_seconds"].fillna(0) + rows["solve_seconds"].fillna(0),
    )
    for (group, solver), part in rows.groupby(["group", "variant"], observed=True):
        answered = part.dropna(subset="value")
        total = answered["least"].sum()
        over_least = "-"
        if total:
            over_least = f"{answered['value'].sum() / total:.4f}"
        found = [
            str(group),
            str(solver),
            f"{len(answered)}",
            f"{answered['value'].mean():.6g}",
            f"{(part['stop'] != 'time').sum()}",
            f"{(part['standing'] == 'optimal').sum()}",
            _mean(part["over"]),
            _mean(part["ratio"]),
            over_least,
            _most(part["ratio"]),
            f"{part['won'].sum()}",
            f"{part['seconds'].median():.2f}",
        ]
        if known:
            found += [_mean(part["known"]), _most(part["known"])]
        yield found


def _mean(ratios: pd.Series) -> str:
    """Return, as text, the geometric mean of the ratios that are finite and above 0."""
    logs = [math.log(ratio) for ratio in ratios.dropna() if 0 < ratio < math.inf]
    if not logs:
        return "-"
    return f"{math.exp(math.fsum(logs) / len(logs)):.4f}"


def _most(ratios: pd.Series) -> str:
    """Return the largest ratio as text."""
    if ratios.dropna().empty:
        return "-"
    return f"{ratios.max():.4f}"
