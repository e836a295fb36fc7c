"""Intact inputs for every reader: instances, results, logs, comparisons, run stores."""

import json
import os
import sqlite3
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from conftest import ROOT, shared_root

from damage.running import run_command

SAMPLES = ROOT / "docs" / "samples"

INSTANCES: dict[str, tuple[str, ...]] = {
    "replication": ("cycle3", "held", "rounds4", "two-pairs"),
    "batch-io": ("two-writers", "small-8"),
    "io-requests": ("two-writers-now",),
    "gang": ("gang-figure-5",),
    "gang-matrix": ("gang-figure-7", "gang-figure-3"),
    "quantum-model": ("quantum-figure-3",),
    "perturbation": ("perturbation-blocking",),
    "message-counts": ("gangedness-table-3",),
    "quantum-selection": ("quantum-plain", "quantum-visits"),
    "flexible-gang": ("flexgang-tiny",),
    "work-directory": ("directory-two-chains", "directory-wait"),
}
"""For each kind, the names of small bundled instances."""
SOLVERS = {
    "replication": ("minmin", "two-stage", "ip", "link-aware"),
    "batch-io": ("adaptive", "cons-max-util", "base-line", "set-10", "fill"),
    "io-requests": ("adaptive", "cons-max-util", "fill", "base-line"),
    "gang": ("guarded-iogs", "gs", "index-iogs", "migrate-iogs"),
    "gang-matrix": ("guarded-iogs", "exact-iogs", "index-iogs"),
    "quantum-selection": ("quantum-greedy", "quantum-ip"),
    "flexible-gang": ("greedy", "flex-exact", "strict-fill", "strict"),
    "work-directory": ("in-flight", "submission", "depth-first", "exact"),
}
DRAWN = {"batch-io": ["--set", "rates=yes"], "gang": ["--set", "history=yes"]}


def bundled_inputs(kind: str) -> list[bytes]:
    """Return the bundled instances of a kind.

    Quantum models are shortened to few points and a short horizon.
    """
    from ioopt.catalog import bundled
    from ioopt.formats.native import read_json

    documents = [read_json(bundled(name)["path"]) for name in INSTANCES[kind]]
    for document in documents:
        if "points" in document:
            document["points"], document["horizon_seconds"] = (
                document["points"][::300][:3],
                2.0,
            )
    return [json.dumps(document, indent=1).encode() for document in documents]


@cache
def answers_of(kind: str) -> tuple[bytes, ...]:
    """Return results of the first bundled instance of a kind, with all details that can
    be drawn.
    """
    found = []
    for solver in SOLVERS[kind][:2]:
        with tempfile.TemporaryDirectory() as folder:
            path, target = (
                os.path.join(folder, "instance.json"),
                os.path.join(folder, "result"),
            )
            Path(path).write_bytes(bundled_inputs(kind)[0])
            arguments = [
                "solve",
                path,
                "--solver",
                solver,
                "-o",
                target,
                *DRAWN.get(kind, []),
            ]
            code, err = run_command(arguments)
            assert code == 0, (kind, solver, err)
            found.append(Path(target).read_bytes())
    return tuple(found)


def _own(folder: str) -> list[bytes]:
    """Return files of the project that have the format of the files in a shared
    *folder*.
    """
    samples = {"swf": "*.swf", "darshan": "darshan/*.txt"}
    if folder in samples:
        return [path.read_bytes() for path in sorted(SAMPLES.glob(samples[folder]))]
    if folder == "dagbench":
        return [
            b'{"task_graph": {"tasks": [{"name": "a", "cost": 2}], "dependencies": []}}'
        ]
    form, name = {
        "wfformat": ("wfformat", "flow-groups"),
        "batsim-json": ("batsim", "small-8"),
    }[folder]
    with tempfile.TemporaryDirectory() as place:
        run_command(["export", form, name, "-o", os.path.join(place, "own.json")])
        return [Path(place, "own.json").read_bytes()]


def data(
    folder: str, names: list[str], lines: int | None = None
) -> Callable[[], list[bytes]]:
    """Return a function that returns the files *names* of a folder of the shared data.

    If none of them exists, it returns files of the project. Files are cut after *lines*
    lines.
    """

    def texts() -> list[bytes]:
        paths = [shared_root() / "data" / folder / name for name in names]
        found = [path.read_bytes() for path in paths if path.exists()] or _own(folder)
        return (
            [b"\n".join(text.split(b"\n")[:lines]) + b"\n" for text in found]
            if lines
            else found
        )

    return texts


def sample(name: str) -> Callable[[], list[bytes]]:
    """Return a function that returns one sample file of the documentation."""
    return lambda: [(SAMPLES / name).read_bytes()]


def batsim() -> list[bytes]:
    """Return three Batsim workloads of at most a dozen jobs."""
    names = (
        "test_various_profile_types",
        "test_workload_pfs0",
        "KTH-SP2-io-aware-1000",
    )
    found = []
    for text in data("batsim-json", [f"{name}.json" for name in names])():
        document = json.loads(text)
        document["jobs"] = document["jobs"][:12]
        used = {str(job["profile"]) for job in document["jobs"]}
        if len(document["profiles"]) > 100:
            document["profiles"] = {
                k: v for k, v in document["profiles"].items() if k in used
            }
        found.append(json.dumps(document, indent=1).encode())
    return found


def comparisons() -> list[bytes]:
    """Return comparisons in three problem families."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "rows.json")
        for name, first in (
            ("cycle3", "minmin"),
            ("two-writers", "fill"),
            ("gang-figure-7", "gs"),
        ):
            solvers = ["--solver", first, "--solver", "job-data-present"][
                : 4 if name == "cycle3" else 2
            ]
            code, err = run_command(
                ["compare", name, *solvers, "--format", "json", "-o", target]
            )
            assert code == 0, err
            found.append(Path(target).read_bytes())
    return found


def estee_graphs() -> list[bytes]:
    """Return a table of two graphs; the text of each graph is JSON in a string."""
    tasks = [
        {
            "d": 2.5,
            "e_d": 4,
            "cpus": 2,
            "outputs": [{"s": 1.5, "e_s": 2}],
            "inputs": [],
        },
        {"d": 3, "e_d": None, "cpus": 1, "outputs": [], "inputs": [[0, 0]]},
    ]
    graphs = {"0": json.dumps(tasks), "1": json.dumps(tasks[:1])}
    table = {
        "graph_name": {"0": "a", "1": "b"},
        "graph_id": {"0": "x", "1": "y"},
        "graph": graphs,
    }
    return [json.dumps(table, indent=1).encode()]


TRACE = b"""\
task_id\tname\tstatus\trealtime\tcpus\trchar\twchar
1\tRNA:INDEX (genome)\tCOMPLETED\t1m 3s\t2\t1 KB\t2 KB
2\tRNA:QUANT (a)\tCOMPLETED\t350ms\t4\t2.5 KB\t10 B
3\tRNA:QUANT (b)\tCACHED\t1h\t4\t1 KB\t20 B
4\tRNA:FASTQC (a)\tFAILED\t5s\t1\t1 KB\t-
"""
DAG = b"""\
digraph "flow" {
v1 [label="INDEX"];
v2 [shape=circle,label="",xlabel="collect"];
v1 -> v2 [label="index"];
v3 [label="RNA:QUANT"];
v2 -> v3;
}
"""

MERMAID_DAG = b"""\
%%{
  init: { 'theme': 'base' }
}%%
flowchart TB
    subgraph RNA
    v1([INDEX])
    v2(( ))
    v3([QUANT])
    end
    v1 -->|index| v2
    v2 --> v3
"""
MERMAID_PAGE = (
    b'<html><body><pre class="mermaid">\n' + MERMAID_DAG + b"</pre></body></html>\n"
)
CYTOSCAPE_PAGE = b"""\
<html><script>cytoscape({
elements: {
nodes: [
{ data: { id: 'p1', label: 'RNA:INDEX'}, classes: 'PROCESS' },
{ data: { id: 'p2', label: 'collect'}, classes: 'OPERATOR' },
{ data: { id: 'p3', label: 'RNA:QUANT'}, classes: 'PROCESS' },
],
edges: [
{ data: { source: 'p1', target: 'p2', label: 'index' } },
{ data: { source: 'p2', target: 'p3'} },
],
},
});</script></html>
"""
WFFORMAT_1_4 = b"""\
{"name": "w", "schemaVersion": "1.4", "workflow": {
 "makespanInSeconds": 9, "executedAt": "2020-01-01T00:00:00Z",
 "tasks": [
  {"name": "a_1", "id": "1", "type": "compute", "runtimeInSeconds": 1.5, "cores": 2,
   "parents": [], "children": ["b_2"], "files": [
    {"link": "input", "name": "f", "sizeInBytes": 10},
    {"link": "output", "name": "g", "sizeInBytes": 3}]},
  {"name": "b_2", "id": "2", "type": "compute", "runtimeInSeconds": 4,
   "parents": ["a_1"],
   "children": [], "files": [{"link": "input", "name": "g", "sizeInBytes": 3}]}],
 "machines": [{"nodeName": "big", "cpu": {"count": 16, "speed": 2400}}]}}
"""

CONFIG = b"""
time_limit = 1
repeats = 1

[[instances]]
bundled = "cycle3"

[[instances]]
generate = "replication"
preset = "ppa"
set = {tasks = [5, 6], nodes = 2}
seeds = [0, 1]

[[solvers]]
name = "minmin"
set = {eviction = "lru"}
seeds = [0]

[[solvers]]
name = "fifo"
"""


def stores() -> list[bytes]:
    """Return a store with the runs of two solvers on two instances, written without
    workers.
    """
    from ioopt.campaign.grid import build_grid, read_config
    from ioopt.campaign.store import Store
    from ioopt.campaign.work import perform

    with tempfile.TemporaryDirectory() as folder:
        config, path = Path(folder, "grid.toml"), os.path.join(folder, "runs.sqlite")
        config.write_bytes(CONFIG)
        grid = build_grid(read_config(str(config)), folder)
        with Store(path) as store:
            for point in grid.points[:6]:
                store.put(perform(point, grid.sources[point.source]))
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.close()
        return [Path(path).read_bytes()]
