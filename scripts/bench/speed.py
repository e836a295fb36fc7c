"""Speeds: the rows of ``speed.toml``, each a command or a statement in a process of
its own, by checkout.

A row has ``what``, an ``aim`` and either ``command`` or ``work``. A command is words
for ``ioopt``: FILE is the instance that ``make`` has ``ioopt generate`` write, or
``import`` from SHARED, or the text ``config``; OUT a place to write to. ``work`` is a
statement timed after ``setup``. ``over`` makes a row for every combination of its
values, which both see by their names, as they see QUICK. Shown are processor seconds of
one of ``per`` things, the best of three, and the peak of memory; with ``soak`` also by
how much memory grows in so many more calls.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.frame import Cost, Tree, run, shared_data, show, trees
from ioopt.errors import ExitCode

ROWS: dict[str, list[dict[str, Any]]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text("utf-8")
)
GROUPS = tuple(ROWS)
PRELUDE = """\
import gc, itertools, json, os, random, resource, sys, time, timeit
import ioopt
from ioopt import registry
row = json.loads(sys.argv[1])
globals().update(row["over"], count=itertools.count())
def generate(kind, preset, seed=1, **settings):
    given = {key: str(value) for key, value in settings.items()}
    return registry.generate(registry.generator_of(kind), preset, given, seed)
def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
def clock():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
exec(row["setup"], globals())
timer = timeit.Timer(row["work"], globals=globals(), timer=time.perf_counter if row["wall"] else clock)
timer.timeit(1)
number = timer.autorange()[0]
found = {"seconds": min(timer.repeat(1 if QUICK else 3, number)) / number}
if row["soak"]:
    soak = row["soak"] // (10 if QUICK else 1)
    timer.timeit(soak // 9)
    before = resident()
    timer.timeit(soak)
    found["grown"] = resident() - before
print(json.dumps(found))
"""


def main(group: str, quick: bool) -> None:
    """Print the table of one group."""
    found = trees()
    with tempfile.TemporaryDirectory() as folder:
        for tree in found.values():
            tree.compile()
        rows = [
            (
                one["what"].format(**one["over"]),
                *(told(tree, one, Path(folder)) for tree in found.values()),
                one.get("aim", ""),
            )
            for row in ROWS[group]
            for one in each(row, quick)
        ]
    show(f"{group}: processor seconds of one", ("what", *found, "aim"), rows)


def each(row: dict[str, Any], quick: bool) -> Iterator[dict[str, Any]]:
    """*row* for every combination of what it is over; with *quick*
    for the first of them.
    """
    over = row.get("over", {})
    for values in list(itertools.product(*over.values()))[: 1 if quick else None]:
        yield row | {"over": dict(zip(over, values), QUICK=quick)}


def told(tree: Tree, row: dict[str, Any], folder: Path) -> str:
    """The figures of one row in one tree; or its exit code."""
    times = 1 if row["over"]["QUICK"] else 3
    per = row.get("per", 1)
    try:
        if "work" in row:
            code = {
                key: row.get(key, "")
                for key in ("setup", "work", "soak", "wall", "over")
            }
            found = json.loads(
                ran(tree, "-c", PRELUDE, json.dumps(code)).text.splitlines()[-1]
            )
            grown = [f"grows {found['grown'] / 1e6:.1f} MB"] if "grown" in found else []
            return ", ".join([duration(found["seconds"] / per), *grown])
        words = row["command"].format(**row["over"]).split()
        costs = []
        for _ in range(times):
            places = {"FILE": str(made(tree, row, folder)), "OUT": str(folder / "out")}
            costs.append(
                ran(tree, "-m", "ioopt", *(places.get(word, word) for word in words))
            )
            Path(places["OUT"]).unlink(missing_ok=True)
    except subprocess.CalledProcessError as error:
        return f"- (exit {error.returncode})"
    best = min(costs, key=lambda cost: cost.cpu)
    if "show" in row:
        return f"{row['show']} {json.loads(best.text)[row['show']]:.4g}"
    wall = f" ({duration(best.wall / per)} by the clock)" if row.get("wall") else ""
    if best.code:
        wall += ", no answer"
    return f"{duration(best.cpu / per)}{wall}, {best.peak / 1e6:.0f} MB"


def made(tree: Tree, row: dict[str, Any], folder: Path) -> Path:
    """The file of a row, made once."""
    words = row.get("make", "").format(**row["over"]).split()
    path = folder / (
        "-".join(words).replace("/", "-") + (".toml" if "config" in row else ".json")
    )
    if "config" in row:
        path.write_text(row["config"].format(**row["over"]), "utf-8")
    elif words and not path.exists():
        words = [
            word.replace("SHARED", str(shared_data("swf").parent)) for word in words
        ]
        verb = [] if words[0] == "import" else ["generate"]
        ran(tree, "-m", "ioopt", *verb, *words, "-o", str(path))
    return path


def ran(tree: Tree, *arguments: str) -> Cost:
    """One run of Python in *tree*; what it says of an error is passed on. A
    limit may be too short.
    """
    cost = run([tree.python, *arguments], tree.environment(), tree.folder)
    if cost.code not in (0, ExitCode.NO_ANSWER):
        print(f"  {cost.error.strip()[-300:]}", file=sys.stderr)
        raise subprocess.CalledProcessError(cost.code, list(arguments))
    return cost


def duration(seconds: float) -> str:
    """With the unit that fits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"
