"""Replay a real job log first in, first out in AccaSim (MIT), beside ``ioopt solve``.

The jobs do no I/O. Both run in processes of their own, from the log to a file of the
starts. AccaSim 1.1.3 takes names from ``collections`` that Python 3.10 dropped; its
process gets them back.

Both read a log in which two things are said in one way. Jobs of 0 s run 1 s: AccaSim
starts the jobs behind such a job not at its end, but at the next event. A job has the
processors that it asked for: AccaSim reads those that it got, ioopt those it asked for.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from datetime import datetime
from itertools import islice
from pathlib import Path

from bench.frame import Cost, run, shared_data, show, trees

NODES = 100
"""Nodes of KTH-SP2."""
LINES = (3_000, 20_000)
"""Lines of the log that are replayed."""
RUN_TIME, GOT, ASKED = 3, 4, 7
"""Columns of the run time and of the processors that a job got and asked for."""
ACCASIM = """
import collections, collections.abc, sys
for name in ("Mapping", "Iterable", "Sequence", "MutableMapping", "Callable"):
    setattr(collections, name, getattr(collections.abc, name))
from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import FirstInFirstOut
from accasim.base.simulator_class import Simulator
Simulator(sys.argv[1], sys.argv[2], FirstInFirstOut(FirstFit()),
          scheduling_output=True, statistics_output=False).start_simulation()
"""


def main(quick: bool) -> None:
    """Print the processor seconds of both, and how many starts are equal; if *quick*,
    of the shorter log.
    """
    if importlib.util.find_spec("accasim") is None:
        print("first-in: AccaSim is not installed (pip install accasim)")
        return
    log = shared_data("swf") / "KTH-SP2-1996-2.1-cln.first20000.swf"
    if not log.exists():
        print(f"first-in: {log.name} is missing (IOOPT_SHARED names its folder)")
        return
    rows = []
    for lines in LINES[:1] if quick else LINES:
        with tempfile.TemporaryDirectory() as name:
            rows.append(row(log, lines, Path(name)))
    head = ("lines", "jobs", "ioopt", "AccaSim", "times", "same second")
    show("first in, first out: processor seconds, log to starts", head, rows)


def row(log: Path, lines: int, folder: Path) -> tuple[object, ...]:
    """Replay the first *lines* of *log* with both; return a row of the table."""
    part = folder / "log.swf"
    with log.open() as source:
        part.write_text("".join(map(plain, islice(source, lines))))
    ours = of_ioopt(part, folder)
    theirs = of_accasim(part, folder)
    mine = starts_of_result(folder / "result.json")
    other = starts_of_accasim(folder / "results" / "sched-log.swf")
    same = sum(abs(mine[job] - start) < 0.5 for job, start in other.items())
    return (
        lines,
        len(other),
        f"{sum(cost.cpu for cost in ours):.3g} s",
        f"{theirs.cpu:.3g} s",
        f"{theirs.cpu / sum(cost.cpu for cost in ours):.1f}",
        f"{same} of {len(mine)}",
    )


def plain(line: str) -> str:
    """Return a line of a log in the Standard Workload Format as both read it alike."""
    fields = line.split()
    if line.startswith(";") or len(fields) <= ASKED:
        return line
    if fields[RUN_TIME] == "0":
        fields[RUN_TIME] = "1"
    if fields[ASKED] != "-1":
        fields[GOT] = fields[ASKED]
    return " ".join(fields) + "\n"


def of_ioopt(log: Path, folder: Path) -> list[Cost]:
    """Import *log* and solve it; return the cost of both commands."""
    tree = trees()["now"]
    machine = f"nodes={NODES},allocation=flat,queue=fcfs,backfill=none"
    instance, result = folder / "log.json", folder / "result.json"
    words = (
        f"import swf {log} --io-fraction 0 --machine {machine} -o {instance}",
        f"solve {instance} --solver base-line -o {result}",
    )
    return [
        run([tree.python, "-m", "ioopt", *word.split()], tree.environment())
        for word in words
    ]


def of_accasim(log: Path, folder: Path) -> Cost:
    """Replay *log* in AccaSim, which writes into *folder*; return the cost."""
    system = folder / "system.json"
    system.write_text(
        json.dumps({"groups": {"g": {"core": 1}}, "resources": {"g": NODES}})
    )
    words = [sys.executable, "-c", ACCASIM, str(log), str(system)]
    return run(words, trees()["now"].environment(), folder)


def starts_of_result(file: Path) -> dict[int, float]:
    """Return the start of each job in a result, in seconds from the first start."""
    jobs = json.loads(file.read_text())["schedule"]["jobs"]
    return from_first({job["id"]: job["start_seconds"] for job in jobs})


def starts_of_accasim(file: Path) -> dict[int, float]:
    """Return the start of each job that AccaSim wrote, in seconds from the first
    start.
    """
    found = {}
    for line in file.read_text().splitlines():
        asked, _, times = line.split("__")
        start = datetime.fromisoformat(times.split(";")[0])
        found[int(asked.split(";")[0])] = (start - datetime(1970, 1, 1)).total_seconds()
    return from_first(found)


def from_first(starts: dict[int, float]) -> dict[int, float]:
    """Return *starts* counted from the first of them."""
    first = min(starts.values())
    return {job: start - first for job, start in starts.items()}
