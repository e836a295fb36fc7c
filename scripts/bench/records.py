"""Compare recorded runs of workflows on a cluster with replays, and plans with records.

The records are traces of Nextflow through NFS, through Ceph, and with products on node
disks (WOW, arXiv 2503.13072). They have no licence, so they are not in this project: a
folder has them, which ``--records`` names. The constants of each kind of storage are in
``ioopt/validation/constants.toml``; they are never fitted here unless ``--fit`` is
given, so that records they have not seen can be judged.

In a folder, each file ``orig-nfs.csv.gz`` is a run of Nextflow through NFS, ``cws-``
one of a scheduler that knows the graph, and ``la-`` one of WOW, which keeps products on
node disks. Its edges are in a file of the same name (``.edges.csv``), or the WfFormat
file (``wfformat*``) or the ``dag.html`` of the next folder above has its graph.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from statistics import fmean, median
from typing import Literal

from bench.frame import shared_data, show
from ioopt.errors import InstanceError
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.sim.replication.noisy import judging_noise, noisy_makespans
from ioopt.sim.replication.simulate import replayed
from ioopt.solving import solve
from ioopt.validation.answer import SEARCH, SURE_FROM, on_node_disks
from ioopt.validation.fit import FITTED, Sample, fit
from ioopt.validation.record import Record, read_record
from ioopt.validation.storage import (
    Constants,
    Storage,
    frame_of,
    known_constants,
    with_constants,
)

MODE = re.compile(r"(?P<engine>orig|cws|la)-(?P<storage>nfs|ceph)")
NETWORK = re.compile(r"(\d+(?:\.\d+)?)[ _-]?(g|m)bits?", re.IGNORECASE)
KINDS: tuple[Storage, ...] = ("nfs", "ceph", "node")
TITLES: Mapping[Storage, str] = {"nfs": "NFS", "ceph": "Ceph", "node": "node disks"}
GAIN_WITHIN = 0.25
WOW_AT_MOST = 0.75
REPLAYS = 3000
"""Number of replays of the search for a plan."""
DRAWS = 40
FIRST_DRAW = 1001
"""The first noisy replay for judging; no search uses draws from here on."""


@dataclass(frozen=True)
class Run:
    """A recorded run: its file, its group, what ran it, and its network.

    Runs of the same workflow, nodes, network and repetition are one group.
    """

    path: Path
    group: str
    engine: str
    shared: Literal["nfs", "ceph"]
    record: Record
    gigabits: float
    graph: str

    @property
    def kind(self) -> Storage:
        """Return where the products of the run were."""
        return "node" if self.engine == "la" else self.shared

    @property
    def name(self) -> str:
        """Return the group and the mode of the run."""
        return f"{self.group} {self.engine}-{self.shared}"

    def constants(self, kind: Storage | None = None) -> Constants:
        """Return the constants of *kind* (None: that of the run) for its network."""
        known = known_constants()[kind or self.kind]
        rates = ("remote_bytes_per_second", "node_bytes_per_second")
        return known.model_copy(
            update={rate: self.gigabits * getattr(known, rate) for rate in rates}
        )

    @cached_property
    def sample(self) -> Sample:
        """Return the record with its recorded placement."""
        return Sample.of(self.record, frame_of(self.record, self.kind))

    @cached_property
    def replayed_seconds(self) -> float:
        """Return the makespan of the replay of the recorded placement."""
        return self.sample.replay(self.constants()).makespan_seconds

    @property
    def error(self) -> float:
        """Return the error of the replayed makespan, as a share of the recorded one."""
        return self.replayed_seconds / self.record.makespan - 1

    def problem(self, kind: Storage | None = None) -> ReplicationProblem:
        """Return the tasks with products on storage of *kind*."""
        frame = frame_of(self.record, kind or self.kind)
        return with_constants(frame, self.constants(kind))


def main(
    quick: bool,
    folders: Sequence[str] = (),
    refit: bool = False,
    gigabits: float = 1.0,
) -> None:
    """Print the tables for the records in *folders*; fit constants if *refit* is set.

    *gigabits* is the network of records whose path does not name it (``2gbit``).
    """
    for place in folders or [str(shared_data("recorded-runs"))]:
        runs = list(found_runs(Path(place), gigabits))
        if not runs:
            print(f"records: skipped, no recorded runs in {place} (--records FOLDER)")
            continue
        exact = [run for run in runs if run.graph != "processes"]
        if refit:
            print_fits(exact)
            continue
        title = Path(place).name
        report_errors(title, runs, exact)
        report_order(exact)
        report_gains(exact)
        report_plans(exact, REPLAYS // 10 if quick else REPLAYS)


def found_runs(folder: Path, gigabits: float = 1.0) -> Iterator[Run]:
    """Yield the recorded runs below *folder*, in order of their paths.

    *gigabits* is the network of runs whose path does not name it.
    """
    for path in sorted(folder.rglob("*.csv.gz")):
        mode = MODE.search(path.name)
        if mode is None:
            continue
        edges, dag, graph = _graph_of(path, folder)
        place = path.relative_to(folder).as_posix()
        try:
            record = read_record(str(path), dag, edges)
        except InstanceError as error:
            print(f"left out: {error}")
            continue
        group = place.removesuffix(".csv.gz").replace(mode[0], "").strip("/-._")
        shared: Literal["nfs", "ceph"] = "nfs" if mode["storage"] == "nfs" else "ceph"
        yield Run(
            path,
            group,
            mode["engine"],
            shared,
            record,
            _gigabits_of(path, gigabits),
            graph,
        )


def _gigabits_of(path: Path, otherwise: float) -> float:
    """Return the network that *path* names, in Gbit/s; *otherwise* if it names none."""
    found = NETWORK.search(str(path))
    if found is None:
        return otherwise
    unit = 1.0 if found[2].lower() == "g" else 1e-3
    return unit * float(found[1])


def _graph_of(path: Path, folder: Path) -> tuple[str | None, str | None, str]:
    """Return the edges file and the DAG of the trace *path*, and what the graph is."""
    edges = path.with_name(path.name.removesuffix(".csv.gz") + ".edges.csv")
    if edges.is_file():
        return str(edges), None, "edges"
    for parent in path.parents:
        for workflow in sorted(parent.glob("wfformat*")):
            return str(workflow), None, "WfFormat"
        if (parent / "dag.html").is_file():
            return None, str(parent / "dag.html"), "processes"
        if parent == folder:
            break
    return None, None, "processes"


def report_errors(title: str, runs: Sequence[Run], exact: Sequence[Run]) -> None:
    """Print how far replays of the recorded placement are from the records."""
    show(
        f"{title}: replays of the recorded placement, run by run",
        ("run", "graph", "recorded s", "replayed s", "error"),
        [
            (
                run.name,
                run.graph,
                f"{run.record.makespan:.0f}",
                f"{run.replayed_seconds:.0f}",
                f"{100 * run.error:+.1f} %",
            )
            for run in runs
        ],
    )
    rows = []
    for kind in KINDS:
        errors = [abs(run.error) for run in exact if run.kind == kind]
        if errors:
            rows.append(
                (
                    TITLES[kind],
                    str(len(errors)),
                    f"{100 * median(errors):.1f} %",
                    f"{100 * max(errors):.1f} %",
                    _share(error <= 0.1 for error in errors),
                    _share(error <= 0.2 for error in errors),
                )
            )
    show(
        f"{title}: errors of the makespan by storage, without runs whose graph is only "
        "one of processes",
        ("storage", "runs", "median", "worst", "within 10 %", "within 20 %"),
        rows,
    )


def _share(hits: Iterator[bool]) -> str:
    found = list(hits)
    return f"{100 * sum(found) / len(found):.0f} %"


def report_order(runs: Sequence[Run]) -> None:
    """Print for how many pairs of runs of a group the replays tell the faster one."""
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.group].append(run)
    right = 0
    wrong: list[str] = []
    near = 0
    for members in groups.values():
        for one, other in combinations(members, 2):
            recorded = one.record.makespan / other.record.makespan
            if max(recorded, 1 / recorded) < 1 + SURE_FROM:
                near += 1
                continue
            foretold = one.replayed_seconds / other.replayed_seconds
            if (recorded > 1) == (foretold > 1):
                right += 1
            else:
                wrong.append(f"{one.name} and {other.engine}-{other.shared}")
    show(
        f"which of two runs of a group was faster, where records differ by "
        f"{100 * SURE_FROM:.0f} % or more",
        ("pairs", "right", "wrong", "nearer, not told"),
        [(str(right + len(wrong)), str(right), str(len(wrong)), str(near))],
    )
    for pair in wrong:
        print(f"wrong: {pair}")


def report_gains(runs: Sequence[Run]) -> None:
    """Print the gain of node disks over NFS, foretold without a recorded placement
    beside the recorded one.
    """
    by_name = {run.name: run for run in runs}
    rows = []
    hits = 0
    for run in runs:
        disks = by_name.get(f"{run.group} la-{run.shared}")
        if run.shared != "nfs" or run.engine == "la" or disks is None:
            continue
        if len(run.record.hosts) < 2:
            continue
        if run.engine == "cws" and f"{run.group} orig-nfs" in by_name:
            continue
        told = on_node_disks(run.problem(), run.problem("node"))
        recorded = run.record.makespan / disks.record.makespan
        error = told.gain / recorded - 1
        hits += abs(error) <= GAIN_WITHIN
        rows.append(
            (
                run.name,
                f"{run.record.makespan:.0f}",
                f"{told.shared_makespan_seconds:.0f}",
                f"{disks.record.makespan:.0f}",
                f"{told.makespan_seconds:.0f}",
                f"{recorded:.1f}",
                f"{told.gain:.1f}",
                f"{100 * error:+.0f} %",
                f"{told.bytes_per_node / 1e9:.0f}",
            )
        )
    show(
        "gain of node disks over NFS, without a recorded placement",
        (
            "run",
            "NFS recorded s",
            "foretold s",
            "disks recorded s",
            "foretold s",
            "gain recorded",
            "foretold",
            "off",
            "GB a node",
        ),
        rows,
    )
    print(f"\nwithin {100 * GAIN_WITHIN:.0f} %: {hits} of {len(rows)}", flush=True)


def report_plans(runs: Sequence[Run], replays: int) -> None:
    """Print the makespan of plans beside that of WOW's decisions, both under noise."""
    rows = []
    ratios = []
    for run in runs:
        if run.kind != "node" or len(run.record.hosts) < 2:
            continue
        problem = run.problem()
        wow = noisy_mean(problem, run.sample.plan)
        settings = {"evaluations": replays}
        result = solve(problem, SEARCH, settings=settings, time_limit=None, bound=False)
        planned = noisy_mean(problem, result.plan_as(ReplicationPlan))
        ratios.append(planned / wow)
        rows.append(
            (
                run.name,
                f"{run.record.makespan:.0f}",
                f"{wow:.0f}",
                f"{planned:.0f}",
                f"{planned / wow:.2f}",
                f"{result.metrics['lower_bound_seconds']:.0f}",
            )
        )
    show(
        f"plans of {replays} replays beside the replay of WOW's decisions: means of "
        f"{DRAWS} noisy replays",
        (
            "run",
            "recorded s",
            "WOW's decisions s",
            "plan s",
            "ratio",
            "no plan below s",
        ),
        rows,
    )
    if ratios:
        print(
            f"\nratio: median {median(ratios):.2f}; at most {WOW_AT_MOST}: "
            f"{sum(ratio <= WOW_AT_MOST for ratio in ratios)} of {len(ratios)}",
            flush=True,
        )


def noisy_mean(problem: ReplicationProblem, plan: ReplicationPlan) -> float:
    """Return the mean makespan of *plan* under noise that no search has used."""
    if plan.dispatches is not None:
        return replayed(problem, plan).makespan_seconds
    noise = judging_noise(problem)
    return fmean(noisy_makespans(problem, plan, noise, DRAWS, first=FIRST_DRAW))


def print_fits(runs: Sequence[Run]) -> None:
    """Fit the constants of each kind on all *runs* of this kind, and print them."""
    for kind in KINDS:
        samples = [run.sample for run in runs if run.kind == kind]
        if not samples:
            continue
        found = fit(samples, kind, near=known_constants()[kind]).constants
        print(f"\n[{kind}]  # {len(samples)} runs")
        for name in FITTED[kind]:
            print(f"{name} = {getattr(found, name):.4g}", flush=True)
