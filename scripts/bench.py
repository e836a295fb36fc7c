"""Run benchmarks: ``python scripts/bench.py NAME [--quick]``. Without a name, list
them.

The statement ``import bench`` imports the package beside this file, not this file.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

sys.path[:0] = [str(folder) for folder in Path(__file__).resolve().parents[:2]]

from bench import speed, sweeps  # noqa: E402

MODULES = {
    "bound": "bench.bound",
    "bounds": "bench.bounds",
    "copy-entries": "bench.copy_entries",
    "embedded-run": "bench.embedded_run",
    "first-in": "bench.first_in",
    "foretold": "bench.foretold",
    "job-shop": "bench.jobshop",
    "knapsack": "bench.knapsack",
    "records": "bench.records",
    "relaxation": "bench.relaxation",
    "robust": "bench.robust",
    "snakemake": "bench.on_snakemake",
    "testbed": "bench.testbed",
    "testbed-rates": "testbed.calibrate",
    "turns-share": "bench.turns_share",
    "workflow-online": "bench.online",
}
"""The modules of the benchmarks that are neither sweeps nor groups of speed
measurements.
"""


def main() -> None:
    """Run the benchmarks named on the command line."""
    parser = argparse.ArgumentParser(
        prog="bench.py",
        description="Benchmarks; each prints its figures side by side from one run.",
        epilog="IOOPT_BEFORE=FOLDER[:PYTHON] sets another checkout beside this one "
        "(sweeps, speeds). Quote ratios, not single times.",
    )
    names = sorted([*MODULES, *sweeps.names(), *speed.GROUPS])
    parser.add_argument("name", nargs="*", metavar="NAME", help="none: list them")
    parser.add_argument(
        "--quick", action="store_true", help="smaller sizes, minutes at most"
    )
    parser.add_argument(
        "--smoke",
        action="store_true",
        help="testbed alone: one small run of seconds, which must be as planned",
    )
    parser.add_argument(
        "--keep",
        metavar="FOLDER",
        help="folder for the stores of sweeps, which are continued if they exist",
    )
    parser.add_argument(
        "--records",
        metavar="FOLDER",
        action="append",
        default=[],
        help="records alone: a folder with recorded runs (again for more folders)",
    )
    parser.add_argument(
        "--fit",
        action="store_true",
        help="records alone: fit the constants on the runs and print them",
    )
    parser.add_argument(
        "--gigabits",
        metavar="N",
        type=float,
        default=1.0,
        help="records alone: the network of runs whose path does not name it (1)",
    )
    given = parser.parse_args()
    if not given.name:
        print("\n".join(names))
    if unknown := set(given.name) - set(names):
        parser.error(
            f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(names)}"
        )
    if given.smoke:
        if given.name != ["testbed"]:
            parser.error("--smoke is for testbed alone")
        importlib.import_module(MODULES["testbed"]).smoke()
        return
    if (given.records or given.fit) and given.name != ["records"]:
        parser.error("--records and --fit are for records alone")
    for name in given.name:
        if name == "records":
            records = importlib.import_module(MODULES[name])
            records.main(given.quick, given.records, given.fit, given.gigabits)
        elif name in MODULES:
            importlib.import_module(MODULES[name]).main(given.quick)
        elif name in speed.GROUPS:
            speed.main(name, given.quick)
        else:
            sweeps.main(name, given.quick, given.keep)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("bench.py: interrupted", file=sys.stderr)
        sys.exit(130)
