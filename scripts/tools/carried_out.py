"""Carry the plan of the README's first picture out, and draw what was planned and what
was measured.

    python scripts/tools/carried_out.py          # a new run (root, Linux, iproute2)
    python scripts/tools/carried_out.py --draw   # the picture of the stored run

The records are docs/samples/planned.json and docs/samples/measured.json, results in
the usual form; ``notes`` of the second name the runs, the machine, the date and the
command.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from datetime import date
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from bench import testbed  # noqa: E402

import ioopt  # noqa: E402
from ioopt.formats.native import dump_json, read_json  # noqa: E402
from ioopt.pictures import draw_beside, result_to_draw  # noqa: E402
from ioopt.plot.page import save  # noqa: E402
from ioopt.problems.base import Json  # noqa: E402
from ioopt.result import Result  # noqa: E402

SAMPLES = ROOT / "docs" / "samples"
RECORDS = (SAMPLES / "planned.json", SAMPLES / "measured.json")
PICTURE = ROOT / "docs" / "figures" / "planned-and-measured.png"
CASE = testbed.Case(partial(ioopt.load, "eight-tasks"), 0.3, "heft")
"""The instance of the picture, with its times multiplied."""


RUNS = 3
"""Number of runs; the middle one is drawn, as load on the machine may delay a run."""


def run() -> tuple[Json, Json]:
    """Plan, and carry out RUNS times; return the planned result and the middle one of
    the measured results.
    """
    problem = testbed.case_problem(CASE)
    result = testbed.solved(problem, "auto")
    runs = []
    for _ in range(RUNS):
        runs.append(testbed.carried_out(problem, result, "schedule"))
    runs.sort(key=lambda carried: carried.record.makespan_seconds)
    carried = runs[RUNS // 2]
    ends = [f"{carried.record.makespan_seconds:.2f} s" for carried in runs]
    kernel = platform.release().partition("-")[0]
    planned = {
        **result.to_dict(),
        "solver": f"{result.solver}, planned",
        "plan": carried.plan.to_dict(),
        "metrics": carried.replay.metrics,
        "schedule": bare(carried.replay.schedule),
    }
    measured = {
        "format": "ioopt/result",
        "version": 1,
        "instance": result.instance,
        "family": result.family,
        "kind": result.kind,
        "solver": f"{result.solver}, measured",
        "status": "feasible",
        "stop": "finished",
        "metrics": {"makespan_seconds": carried.record.makespan_seconds},
        "notes": [
            f"the middle one of {RUNS} runs, which took {', '.join(ends)}",
            f"measured on {date.today()} by python scripts/tools/carried_out.py, on "
            f"{platform.system()} {kernel}, {os.cpu_count()} cores",
            f"eight-tasks with its times multiplied by {CASE.factor:g}, on an emulated "
            "network of "
            f"{problem.network.remote_bytes_per_second / 1e6:g} MB/s from the storage "
            f"and {problem.network.replica_bytes_per_second / 1e6:g} MB/s a node",
        ],
        "plan": carried.plan.to_dict(),
        "schedule": carried.record.schedule,
    }
    return planned, measured


def bare(schedule: Json) -> Json:
    """Return the parts of a replayed schedule that a run measures too."""
    tasks = []
    for row in schedule["tasks"]:
        keys = ("id", "node", "start_seconds", "end_seconds")
        tasks.append({key: row[key] for key in keys})
    transfers = []
    for row in schedule["transfers"]:
        keys = ("file", "source", "destination", "start_seconds", "end_seconds")
        transfers.append({key: row[key] for key in keys})
    return {
        "tasks": tasks,
        "transfers": transfers,
        "evictions": schedule["evictions"],
    }


def stored() -> list[Result]:
    """Return the stored records as results."""
    return [result_to_draw(read_json(path), path.name) for path in RECORDS]


def draw() -> None:
    """Draw the stored records below each other."""
    save(draw_beside(stored()), str(PICTURE))


def main() -> None:
    """Make a new run unless told not to, and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--draw", action="store_true", help="draw the stored run")
    if not parser.parse_args().draw:
        if testbed.skipped():
            return
        for path, document in zip(RECORDS, run(), strict=True):
            path.write_text(dump_json(document))
    draw()
    times = [result.metrics["makespan_seconds"] for result in stored()]
    print("README.md: {:.4g} s planned, {:.4g} s measured".format(*times))


if __name__ == "__main__":
    main()
