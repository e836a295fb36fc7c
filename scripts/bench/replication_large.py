"""Replication: large batches of ``link-aware`` on small disks and a shared link, over the link bound.

Limits are CPU seconds; ``IOOPT_BEFORE=FOLDER[:PYTHON]`` runs another checkout on the same instances, for the
rows named *before*. How files are handed on was chosen on ``image-85-follow-up`` and ``bipartite-85``,
seeds 0 (400 tasks) and 10 (10,000).
"""

from __future__ import annotations

import os

from bench.frame import show
from bench.replication_search import Case, Job, ran

LARGE = (
    ("image-85-follow-up", 400, 4, 30.0), ("image-85-follow-up", 400, 8, 60.0),
    ("bipartite-85", 400, 8, 30.0), ("image-85", 10_000, 64, 60.0),
    ("image-85-follow-up", 10_000, 64, 60.0),
)  # fmt: skip
"""Preset, tasks, nodes and seconds; disks of 500 MB."""
SEED = 11


def main(quick: bool = False) -> None:
    """Print the table; *quick*: one batch of 400 tasks for 10 s."""
    tree = os.environ.get("IOOPT_BEFORE", "")
    runs = {"minmin": ("minmin", ""), "before": ("link-aware", tree), "after": ("link-aware", "")}
    jobs = {
        Job(Case(source, "500MB", tasks, nodes, SEED), solver, limit, where): label
        for source, tasks, nodes, limit in (((*LARGE[1][:3], 10.0),) if quick else LARGE)
        for label, (solver, where) in runs.items()
        if tree or label != "before"
    }
    answers, rows = ran(jobs, workers=1), []
    for job, label in jobs.items():
        found, greedy = answers[job], answers[job._replace(solver="minmin", tree="")]
        rows.append((
            f"{job.case.source} {job.case.tasks} x {job.case.nodes}", f"{job.seconds:g} s", label,
            f"{found['makespan'] / found['bound']:.4f}",
            f"{found['makespan'] / greedy['makespan']:.3f}", f"{found['cpu']:.1f}",
        ))  # fmt: skip
    head = ("batch", "limit", "solver", "over bound", "over MinMin", "cpu s")
    show("Large batches on disks of 500 MB, makespan", head, rows)
