"""Write instances that a sweep needs and no generator makes: recorded workflows, small
disks, logs.

There is a function for each such sweep, which writes instances into a folder. The name
of an instance begins with the group under which the table of the sweep counts it. The
function may also return the best known values of some instances, keyed by name.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import ioopt
from bench.frame import ROOT, shared_data
from ioopt import registry
from ioopt.budget.recorded import read_work_directory
from ioopt.catalog import entries
from ioopt.errors import UsageError
from ioopt.formats.cluster import Machine
from ioopt.formats.estee.instance import read_estee
from ioopt.formats.native import dump_json
from ioopt.formats.swf.log import read_swf
from ioopt.formats.wfformat.instance import read_wfformat
from ioopt.generate.gang.from_swf import gang_from_swf
from ioopt.generate.gang.generate import Settings
from ioopt.library import entries as library
from ioopt.problems.replication import ReplicationProblem
from ioopt.problems.work_directory import WorkDirectoryProblem
from ioopt.solvers.work_directory.frontier import unlimited

MACHINES = {
    "4 x 4, 16 MB/s": Machine(nodes=4, cores=4, remote_rate=16e6, replica_rate=128e6),
    "8 x 4, 32 MB/s": Machine(nodes=8, cores=4, remote_rate=32e6, replica_rate=128e6),
}
DISK_SHARE = 1.5
"""The size of a small disk, as a multiple of the bytes of the largest task."""
FLATTENED = (
    "1000genome-chameleon-2ch",
    "cycles",
    "epigenomics-chameleon-ilmn",
    "montage-chameleon-2mass-05d",
    "srasearch",
    "montage-chameleon-dss",
)
"""Files of the shared data, given by the first part of their names."""
LOGS = (
    ("KTH-SP2-1996-2.1-cln.first20000", 128),
    ("NASA-iPSC-1993-3.1-cln", 128),
    ("HPC2N-2002-excerpt-alea", 240),
    ("lublin_256", 256),
    ("RICC-2010-2.first20000", 8192),
)
"""Logs, each with the number of nodes of the machine on which it is replayed."""
KINDS = ("batch-io", "gang", "gang-matrix", "quantum-selection")
RECORDED = {
    "methylseq-dirt02-001": (20, (0.5, 0.3, 0.1)),
    "chipseq-dirt02-001": (12, (0.5, 0.3, 0.2)),
    "viralrecon-dirt02-001": (12, (0.5, 0.3, 0.2)),
    "montage-chameleon-dss-075d-001": (8, (0.5, 0.2)),
}
"""For each recorded workflow with which the search for work directories was tuned: the
number of copies, and the quotas as shares of the peak of a run without quota.
"""
LEFT_OUT = ("helloworld", "blast-chameleon-small", "montage-chameleon-2mass-005d")
"""Files that are not workflows, or are smaller versions of other files."""


def put(folder: Path, problem: Any, name: str) -> None:
    """Write *problem*, an instance or its JSON document, into *folder* under the name
    *name*.
    """
    if not isinstance(problem, dict):
        problem = problem.model_dump(mode="json", by_alias=True, exclude_none=True)
    path = folder / f"{len(list(folder.iterdir())):04}.json"
    path.write_text(dump_json(problem | {"name": name}), "utf-8")


def graphs(machine: Machine) -> Iterator[ReplicationProblem]:
    """Yield the graphs of Estee in the shared data, with the expected durations of
    their tasks.
    """
    for file in sorted(shared_data("workflows").glob("*.zip")):
        with suppress(UsageError):  # No file has that number.
            for place in itertools.count():
                yield read_estee(str(file), str(place), machine)[0]


def with_small_disks(problem: ReplicationProblem) -> ReplicationProblem:
    """Return *problem* with disks of DISK_SHARE times the bytes of the largest task."""
    most = max(map(problem.task_bytes, range(len(problem.tasks))))
    small = {"disk_bytes": int(DISK_SHARE * most)}
    nodes = tuple(node.model_copy(update=small) for node in problem.nodes)
    return problem.model_copy(update={"nodes": nodes})


def workflows(folder: Path, quick: bool) -> None:
    """Write all workflows of the shared data, for two machines, with ample and with
    small disks.
    """
    most = 2 if quick else None
    for title, machine in MACHINES.items():
        files = sorted(shared_data("workflows").glob("*-0*.json"))
        found = {file.stem: read_wfformat(str(file), machine=machine) for file in files}
        found |= {problem.name: problem for problem in graphs(machine)}
        by_size = sorted(found, key=lambda name: len(found[name].tasks))
        for name in by_size[:most]:
            put(folder, found[name], f"{title}, ample disks: {name}")
            put(folder, with_small_disks(found[name]), f"{title}, small disks: {name}")
        if quick:
            break


def flattened(folder: Path, quick: bool) -> None:
    """Write recorded workflows as batches of independent tasks, on disks that hold a
    share of their bytes.
    """
    names = FLATTENED[:1] if quick else FLATTENED
    for share, name in itertools.product(("15%", "25%"), names):
        for path in sorted(shared_data("wfformat").glob(f"{name}*.json"))[:1]:
            machine = Machine.model_validate({"disk": share, "nodes": 4})
            problem = read_wfformat(str(path), machine, flatten=True)
            put(folder, problem, f"WfFormat, {share}: {name}")


def random_workflows(folder: Path, quick: bool) -> None:
    """Write small random workflows with tight disks, kept files, arrivals, several
    cores and different speeds.
    """
    sys.path[:0] = [str(ROOT / "tests" / "oracle")]
    from random_workflows import random_workflow

    for most in (8, 12):
        for seed in range(2 if quick else 60):
            document = {"format": "ioopt/replication", **random_workflow(seed, most)}
            put(folder, document, f"random workflows, at most {most} tasks: {seed}")


def chosen_on(folder: Path, quick: bool) -> None:
    """Write the instances on which defaults were tuned, and logs of gangs with three
    I/O intensities.

    The tuning instances are bundled or in the library.
    """
    found = {}
    for name, row in entries().items():
        if row["kind"] in KINDS:
            found[name] = ioopt.load(name)
    for entry in library().values():
        if entry.kind in KINDS and entry.recipe.bundled is None:
            found[entry.name] = entry.problem()
    for name, problem in found.items():
        kind = registry.kind_of_problem(problem).kind
        put(folder, problem, f"chosen on, {kind}: {name}")
    logs = LOGS[:1] if quick else LOGS
    most = 500 if quick else 5000
    for log, nodes in logs:
        path = shared_data("swf") / f"{log}.swf"
        if not path.exists():
            continue
        for intensity in (0.5, 0.33, 0.1):
            machine = Settings(nodes=nodes, intensity=intensity)
            problem = gang_from_swf(read_swf(str(path)), machine, 20, max_jobs=most)
            put(folder, problem, f"elsewhere, logs of gangs: {log} {intensity}")


def stored(folder: Path, quick: bool, additive: bool = False) -> dict[str, float]:
    """Write the library's instances whose measure is additive time, or all others;
    return their best known values.
    """
    known = {}
    for name, entry in library().items():
        if (entry.measure == "additive_seconds") == additive:
            with suppress(UsageError):  # The entry needs a file that is not shipped.
                put(folder, entry.problem(), name)
                known[name] = entry.best.best
    return known


def work_directories(folder: Path, quick: bool) -> dict[str, float]:
    """Write copies of recorded workflows, with quotas below the peak of a run without
    quota.

    Workflows used for tuning the search are also written with shuffled tasks; all
    others get half of the peak as quota. Returns the makespans of the runs without
    quota.
    """
    named: list[tuple[Path, str, int, tuple[float, ...]]] = []
    for stem, (copies, shares) in RECORDED.items():
        path = shared_data("workflows") / f"{stem}.json"
        group = stem.split("-")[0]
        named.append((path, group, copies, shares))
        named.append((path, f"{group}, shuffled", copies, shares))
    for path in sorted(shared_data("wfformat").glob("*.json")):
        if not path.stem.startswith(LEFT_OUT):
            named.append((path, "others", 8, (0.5,)))
    if quick:
        named = named[:2]
    known = {}
    for path, group, copies, shares in named:
        one = read_work_directory(str(path), 64)
        if "shuffled" in group:
            tasks = random.Random("shuffled").sample(one.tasks, len(one.tasks))
            one = WorkDirectoryProblem.model_validate(
                one.model_dump() | {"tasks": tasks}
            )
        problem = one.copies(copies)
        free = unlimited(problem)
        for share in shares:
            name = f"{group}, {share} of the peak: {path.stem}"
            quota = ceil(round(share * 1000) * free["peak_bytes"] / 1000)
            put(folder, problem.model_copy(update={"quota_bytes": quota}), name)
            known[name] = free["makespan_seconds"]
    return known


MAKERS: dict[str, Callable[[Path, bool], dict[str, float] | None]] = {
    "defaults": chosen_on,
    "library": stored,
    "library-additive": partial(stored, additive=True),
    "replication-search": flattened,
    "work-directory": work_directories,
    "workflow": workflows,
    "workflow-exact": random_workflows,
}
"""For each sweep that needs one, the function that writes its instances."""
