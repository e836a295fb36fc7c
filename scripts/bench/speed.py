"""Time the commands and statements listed in ``speed.toml``, in each checkout.

Each row of the file runs in a process of its own. A row has ``what``, a description, an
``aim``, and either a ``command`` or a statement ``work``. A command consists of words
for ``ioopt``. In these words, FILE stands for the instance that ``make`` describes
(words of ``ioopt generate``, or ``import`` from SHARED) or for the text ``config``, and
OUT stands for a file to write; ``first`` is a command that writes it before the clock
starts. Where two checkouts write OUT, the table says whether it is the same but for the
seconds that a command took. ``times`` is how often a long command runs (3). The
statement ``work`` is timed after ``setup`` has run. ``over`` makes a row for every
combination of its values; commands and statements can use the values, and QUICK, by
name. The table shows the processor seconds divided by
``per`` (the best of three runs) and the peak memory. With ``soak`` it also shows how
much memory grows during that number of further calls.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.frame import Cost, Tree, run, shared_data, show, trees
from ioopt.errors import ExitCode

ROWS: dict[str, list[dict[str, Any]]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text("utf-8")
)
GROUPS = tuple(ROWS)
Figures = tuple[str, str | None]
"""The figures of a row as text, and the digest of the file that its command wrote."""
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
timer = timeit.Timer(row["work"], globals=globals())
timer.timer = time.perf_counter if row["wall"] else clock
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
    """Print the table of one group of rows."""
    found = trees()
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for row in ROWS[group]:
            for one in each(row, quick):
                what = one["what"].format(**one["over"])
                figures = [told(tree, one, Path(folder)) for tree in found.values()]
                texts = [text for text, _ in figures]
                rows.append((what, *texts, alike(figures), one.get("aim", "")))
    head = ("what", *found, "files", "aim")
    show(f"{group}: processor seconds of one", head, rows)


def alike(figures: Sequence[Figures]) -> str:
    """Say whether two checkouts wrote the same file; nothing if they wrote none."""
    digests = {digest for _, digest in figures}
    if len(figures) < 2 or None in digests:
        return ""
    return "equal" if len(digests) == 1 else "DIFFER"


def each(row: dict[str, Any], quick: bool) -> Iterator[dict[str, Any]]:
    """Yield *row* once for every combination of the values in ``over``; if *quick*,
    only for the first combination.
    """
    over = row.get("over", {})
    for values in itertools.product(*over.values()):
        yield row | {"over": dict(zip(over, values), QUICK=quick)}
        if quick:
            break


def told(tree: Tree, row: dict[str, Any], folder: Path) -> Figures:
    """Return the figures of one row in one checkout, or the exit code if it failed."""
    try:
        if "work" in row:
            return _of_statement(tree, row), None
        return _of_command(tree, row, folder)
    except subprocess.CalledProcessError as error:
        return f"- (exit {error.returncode})", None


def _of_statement(tree: Tree, row: dict[str, Any]) -> str:
    """Time the statement of a row; return the figures as text."""
    keys = ("setup", "work", "soak", "wall", "over")
    code = json.dumps({key: row.get(key, "") for key in keys})
    found = json.loads(ran(tree, "-c", PRELUDE, code).text.splitlines()[-1])
    words = duration(found["seconds"] / row.get("per", 1))
    if "grown" in found:
        words += f", grows {found['grown'] / 1e6:.1f} MB"
    return words


def _of_command(tree: Tree, row: dict[str, Any], folder: Path) -> Figures:
    """Time the command of a row, three times unless the run is quick."""
    output = folder / "out.json"
    places = {"FILE": str(made(tree, row, folder)), "OUT": str(output)}

    def perform(command: str) -> Cost:
        words = command.format(**row["over"]).split()
        return ran(tree, "-m", "ioopt", *(places.get(word, word) for word in words))

    if "first" in row:
        perform(row["first"])
    times = 1 if row["over"]["QUICK"] else row.get("times", 3)
    best = min((perform(row["command"]) for _ in range(times)), key=lambda c: c.cpu)
    digest = digest_of(output) if output.exists() else None
    output.unlink(missing_ok=True)
    if "show" in row:
        return f"{row['show']} {json.loads(best.text)[row['show']]:.4g}", digest
    per = row.get("per", 1)
    text = duration(best.cpu / per)
    if row.get("wall"):
        text += f" ({duration(best.wall / per)} by the clock)"
    if best.code:
        text += ", no answer"
    return f"{text}, {best.peak / 1e6:.0f} MB", digest


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a result file without the seconds that the run took."""
    found = hashlib.sha256()
    with file.open("rb") as lines:
        for line in lines:
            if not line.startswith(TAKEN):
                found.update(line)
    return found.hexdigest()


TAKEN = tuple(f' "{name}_seconds"'.encode() for name in ("build", "solve", "simulate"))
"""How the lines of a result file begin that tell how long the run took."""


def made(tree: Tree, row: dict[str, Any], folder: Path) -> Path:
    """Return the input file of a row; if it does not exist yet, make it."""
    words = row.get("make", "").format(**row["over"]).split()
    stem = "-".join(words).replace("/", "-")
    if "config" in row:
        path = folder / f"{stem}.toml"
        path.write_text(row["config"].format(**row["over"]), "utf-8")
        return path
    path = folder / f"{stem}.json"
    if words and not path.exists():
        shared = str(shared_data("swf").parent)
        words = [word.replace("SHARED", shared) for word in words]
        if words[0] != "import":
            words.insert(0, "generate")
        ran(tree, "-m", "ioopt", *words, "-o", str(path))
    return path


def ran(tree: Tree, *arguments: str) -> Cost:
    """Run Python in *tree* with *arguments*; return the cost. If it fails, print its
    error message and raise CalledProcessError.

    A run that ends without an answer, because the limit was too short, is no failure.
    """
    cost = run([tree.python, *arguments], tree.environment(), tree.folder)
    if cost.code not in (0, ExitCode.NO_ANSWER):
        print(f"  {cost.error.strip()[-300:]}", file=sys.stderr)
        raise subprocess.CalledProcessError(cost.code, list(arguments))
    return cost


def duration(seconds: float) -> str:
    """Return *seconds* as text with a suitable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"
