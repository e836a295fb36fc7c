"""A benchmark that is a sweep: ``scripts/sweeps/NAME.toml``, run by
``ioopt sweep``, and its table.

The first line of the file is the title. Instances that no generator makes come from a
function of :mod:`bench.made`, into the folder ``made`` beside the configuration. Rows
are of groups of instances, named up to ``-seed=`` or ``: ``. With *quick* every list
has its first value, two seeds, at most 2 s.
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
    """Of all sweeps."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def main(name: str, quick: bool, keep: str | None = None) -> None:
    """Run the sweep *name* in every tree and print its table; *keep*: a
    folder for its stores.
    """
    text = (FOLDER / f"{name}.toml").read_text("utf-8")
    config = tomllib.loads(text)
    if quick:
        config = shortened(config)
    best = FOLDER / f"{name}.json"
    known: dict[str, float] = (
        json.loads(best.read_text("utf-8")) if best.exists() else {}
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(keep or temporary)
        (folder / "made").mkdir(parents=True, exist_ok=True)
        if name in made.MAKERS:
            known |= made.MAKERS[name](folder / "made", quick) or {}
        path = folder / f"{name}.toml"
        path.write_text(
            "".join(f"{key} = {toml(value)}\n" for key, value in config.items())
        )
        stores = {label: swept(path, label, tree) for label, tree in trees().items()}
        rows = joined(stores, config.get("measure"))
    title, head = (
        text.partition("\n")[0].strip("# "),
        (*HEAD, *(KNOWN_HEAD if known else ())),
    )
    show(title, head, table(rows, known))
    if best.exists() and not quick:
        found = rows.groupby(rows["instance"].astype(str))["value"].min().dropna()
        known |= {
            at: value
            for at, value in found.items()
            if value < known.get(at, math.inf) * (1 - 1e-9)
        }
        best.write_text(json.dumps(known, indent=0, sort_keys=True) + "\n", "utf-8")


def shortened(config: Mapping[str, Any]) -> dict[str, Any]:
    """The same with the first of all values, two seeds, and at most 2 s."""
    short = dict(config)
    for part in ("instances", "solvers"):
        short[part] = [dict(entry) for entry in config[part]]
        for entry in short[part]:
            entry["seeds"] = entry.get("seeds", [0])[:2]
            given = entry.get("set", {}).items()
            entry["set"] = {k: v[0] if isinstance(v, list) else v for k, v in given}
    return short | {"time_limit": min(2.0, config.get("time_limit", 60.0))}


def toml(value: Any) -> str:
    """A value as TOML spells it."""
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{key} = {toml(item)}" for key, item in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def swept(config: Path, label: str, tree: Tree) -> str:
    """The store of *config* run in *tree*; one that is there
    already is gone on with.
    """
    store = config.with_suffix(f".{label}.sqlite")
    command = [tree.python, "-m", "ioopt", "sweep", str(config), "--store", str(store)]
    command += ["--workers", "2", "-q", *(["--resume"] if store.exists() else [])]
    tree.compile()
    subprocess.run(command, cwd=tree.folder, env=tree.environment())
    if not store.exists():
        raise SystemExit(f"{config.stem}: `ioopt sweep` made no store")
    return str(store)


def joined(stores: Mapping[str, str], measure: str | None) -> pd.DataFrame:
    """The rows of all trees, each with its ratio to the best of the same instance."""
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
    """A row a group of instances and solver; means of ratios are geometric, and
    of what has an answer.
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
        found = [
            str(group),
            str(solver),
            f"{len(answered)}",
            f"{answered['value'].mean():.6g}",
            f"{(part['stop'] != 'time').sum()}",
            f"{(part['standing'] == 'optimal').sum()}",
            _mean(part["over"]),
            _mean(part["ratio"]),
            f"{answered['value'].sum() / total:.4f}" if total else "-",
            _most(part["ratio"]),
            f"{part['won'].sum()}",
            f"{part['seconds'].median():.2f}",
        ]
        yield found + ([_mean(part["known"]), _most(part["known"])] if known else [])


def _mean(ratios: pd.Series) -> str:
    logs = [math.log(ratio) for ratio in ratios.dropna() if 0 < ratio < math.inf]
    return f"{math.exp(math.fsum(logs) / len(logs)):.4f}" if logs else "-"


def _most(ratios: pd.Series) -> str:
    return "-" if ratios.dropna().empty else f"{ratios.max():.4f}"
