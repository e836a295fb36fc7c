"""Whether two checkouts give the same plans: every bundled instance x every solver that takes it.

With ``--random N`` instead N random batches x every greedy solver of theirs.

    python scripts/tools/same_plans.py --tree OLD -o old.json
    python scripts/tools/same_plans.py --tree . -o new.json --against old.json

A tree is run in processes of its own, one an instance, with that tree alone on the path, so that
two versions never meet. A run is the digest of its plan and schedule, the objective to the bit, and
why it stopped. Runs that the clock ended are counted apart: they need not repeat.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Sums of linear algebra differ in their last bits with the number of threads."""
Runs = dict[str, dict[str, Any]]
ROUNDING = 1e-12
GREEDY = ["minmin", "minmin-no-replication", "job-data-present", "lpt"]
"""Solvers of batches that draw nothing at random and watch no clock."""
BY_CLOCK = ("time", "interrupted")
"""Reasons for stopping after which a run need not repeat."""


def main() -> int:
    """Run a tree, write its plans, compare; 1 where a run that should repeat does not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tree", type=Path, default=Path(), help="the checkout to run")
    parser.add_argument("-o", "--output", type=Path, help="where to write its plans")
    parser.add_argument("--against", type=Path, help="plans of another checkout")
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds a run")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument(
        "--instances", nargs="*", help="only instances whose name holds one of these"
    )
    parser.add_argument("--solvers", nargs="*", help="only these solvers")
    parser.add_argument("--random", type=int, default=0, help="so many random batches instead")
    parser.add_argument("--of", nargs="*", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.random:
        arguments.solvers = arguments.solvers or GREEDY
    if arguments.of is not None:
        for name in arguments.of:
            for line in runs_of(name, arguments):
                print(json.dumps(line), flush=True)
        return 0
    found = plans_of_tree(arguments)
    if arguments.output is not None:
        arguments.output.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")
    if arguments.against is None:
        print(f"{len(found)} runs")
        return 0
    return compare(json.loads(arguments.against.read_text("utf-8")), found)


def plans_of_tree(arguments: argparse.Namespace) -> Runs:
    """All runs of the tree by ``instance solver seed``."""
    tree = arguments.tree.resolve()
    names = [
        entry["name"]
        for catalog in sorted(tree.glob("instances/*/catalog.json"))
        for entry in json.loads(catalog.read_text("utf-8"))["instances"]
    ]
    if arguments.instances:
        names = [name for name in names if any(part in name for part in arguments.instances)]
    groups = [[name] for name in names]
    if arguments.random:
        seeds = range(arguments.random)
        groups = [list(map(str, seeds[k : k + 100])) for k in seeds[::100]]
    found: Runs = {}
    for group in groups:
        name = group[0] if len(group) == 1 else f"random {group[0]} to {group[-1]}"
        command = [sys.executable, __file__, "--of", *group]
        command += ["--time-limit", str(arguments.time_limit)]
        command += ["--seeds", *map(str, arguments.seeds)]
        command += ["--solvers", *arguments.solvers] if arguments.solvers else []
        environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(tree), "IOOPT_TREE": str(tree)}
        run = subprocess.run(
            command, cwd=tree, env=environment, stdout=subprocess.PIPE, text=True, check=False
        )
        for line in run.stdout.splitlines():
            entry = json.loads(line)
            found[entry.pop("run")] = entry
        if run.returncode:
            found[f"{name} *"] = {"digest": f"exit code {run.returncode}"}
        print(f"{name}: {len(run.stdout.splitlines())} runs", file=sys.stderr)
    return found


def runs_of(name: str, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One line a solver and seed; the tree on the path must be the one that was asked for."""
    import ioopt
    from ioopt import registry
    from ioopt.errors import IooptError
    from ioopt.solving import load

    where = Path(ioopt.__file__).resolve()
    assert where.is_relative_to(os.environ["IOOPT_TREE"]), f"ioopt was taken from {where}"
    problem = load(random_batch(int(name)) if name.isdecimal() else name)
    for spec in registry.solvers_for(registry.kind_of_problem(problem).kind):
        if arguments.solvers and spec.name not in arguments.solvers:
            continue
        for seed in arguments.seeds:
            line: dict[str, Any] = {"run": f"{name} {spec.name} {seed}"}
            try:
                result = ioopt.solve(
                    problem, spec.name, time_limit=arguments.time_limit, seed=seed, bound=False
                )
            except IooptError as error:
                yield {**line, "digest": f"{type(error).__name__}: {error}"}
                continue
            text = json.dumps([result.plan, result.schedule], sort_keys=True, default=str)
            line["digest"] = hashlib.sha256(text.encode()).hexdigest()[:16]
            line |= {"objective": result.objective, "stop": str(result.stop.value)}
            yield line


def random_batch(seed: int) -> dict[str, Any]:
    """A small batch: disks from just enough to ample, either link, equal sizes and times among others."""
    draw = random.Random(seed)
    files = [
        {"id": f"f{k}", "bytes": draw.choice([0, 1, 5, 10, 10, 30])}
        for k in range(draw.randint(1, 8))
    ]
    tasks = []
    for k in range(draw.randint(1, 12)):
        inputs = draw.sample([file["id"] for file in files], draw.randint(0, min(3, len(files))))
        tasks.append(
            {"id": f"t{k}", "compute_seconds": draw.choice([0, 1, 1, 2.5, 7]), "inputs": inputs}
        )
    size = {file["id"]: file["bytes"] for file in files}
    least = max(sum(size[name] for name in task["inputs"]) for task in tasks)
    disks = [draw.choice([None, least, least + 5, 2 * least]) for _ in range(draw.randint(1, 4))]
    nodes = [
        {"id": f"n{i}", "disk_bytes": disk, "speed": draw.choice([1, 1, 2])}
        for i, disk in enumerate(disks)
    ]
    network = {
        "remote_bytes_per_second": draw.choice([1, 3]), "replica_bytes_per_second": draw.choice([2, 10]),
        "remote_link": draw.choice(["shared", "per-node"]),
    }  # fmt: skip
    return {
        "format": "ioopt/replication", "version": 1, "name": f"random-{seed}",
        "network": network, "nodes": nodes, "files": files, "tasks": tasks,
    }  # fmt: skip


def compare(before: Runs, after: Runs) -> int:
    """Print what differs and the counts; 1 where a run that no clock ended differs."""
    equal = rounded = clock = 0
    unequal: list[str] = []
    shared = sorted(before.keys() & after.keys())
    for run in shared:
        old, new = before[run], after[run]
        if (old["digest"], old.get("objective")) == (new["digest"], new.get("objective")):
            equal += 1
        elif old["digest"] == new["digest"] and _close(old["objective"], new["objective"]):
            rounded += 1
        elif {old.get("stop"), new.get("stop")} & set(BY_CLOCK):
            clock += 1
        else:
            unequal.append(run)
            print(f"unequal: {run}\n  {old}\n  {new}")
    alone = len(before.keys() ^ after.keys())
    print(
        f"{len(shared)} runs: {equal} equal to the bit, {rounded} equal plans whose objective is "
        f"rounded otherwise, {len(unequal)} unequal, {clock} ended by the clock; "
        f"{alone} in one tree only"
    )
    return 1 if unequal else 0


def _close(first: float | None, second: float | None) -> bool:
    """Whether two recomputed objectives differ by the rounding of their sums alone."""
    return None not in (first, second) and math.isclose(first, second, rel_tol=ROUNDING)  # type: ignore[arg-type]


if __name__ == "__main__":
    raise SystemExit(main())
