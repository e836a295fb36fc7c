"""Generate workflows in a work directory (ours): samples with the same shape.

The shapes are those of the replication workflows. ``methylseq-like`` has the shape of a
recorded run of nf-core's methylseq (WfCommons), with the same proportions of bytes and
of seconds. In this run, an index stays in the directory for half of the time, and a
report waits for all samples.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from ioopt.generate import chosen_preset
from ioopt.generate.replication import workflows
from ioopt.problems.base import Count
from ioopt.problems.replication import Task
from ioopt.problems.work_directory import WorkDirectoryProblem, WorkFile, WorkTask
from ioopt.sim.work_directory.dispatch import Dispatcher, dispatch
from ioopt.sim.work_directory.replay import carried_out


class Settings(workflows.Shape):
    """Settings that all shapes have.

    If ``quota`` is missing, it is the share ``quota_share`` of the peak that the tasks
    reach in order of submission.
    """

    samples: workflows.Few = 8
    """Number of samples; each has the same tasks."""
    cores: workflows.Few = 16
    """Number of cores of the machine."""
    quota: Count | None = None
    """Quota of the work directory in bytes; None: see ``quota_share``."""
    quota_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Quota as a share of the peak that the order of submission reaches."""


class Chain(Settings):
    """Settings of samples that consist of chains of tasks."""

    chains: workflows.Few = 1
    """Number of chains of a sample."""
    length: workflows.Few = 6
    """Number of tasks of a chain."""


class ForkJoin(Settings):
    """Settings of samples that consist of rounds.

    In a round, one task splits the data, other tasks work on the pieces, and one task
    joins them.
    """

    rounds: workflows.Few = 2
    """Number of rounds of a sample."""
    width: workflows.Few = 6
    """Number of pieces of a round."""


class Mosaic(Settings):
    """Settings of a workflow like Montage.

    Images are projected, compared, corrected and added.
    """

    images: Annotated[int, Field(ge=2, le=10_000)] = 10
    """Number of images of a sample."""


class Methylseq(Settings):
    """Settings of a workflow like methylseq.

    ``mean_mb`` is about the size of the index, ``mean_seconds`` about the time of the
    alignment.
    """

    mean_mb: workflows.Mean = 16_000.0
    """Size of the index in MB, about."""
    mean_seconds: workflows.Mean = 4_000.0
    """Compute time of the alignment in seconds, about."""


_METHYLSEQ = (
    ("index", "", 0.1, (1.0,)),
    ("cat", "", 0.01, (0.39,)),
    ("fastqc", "cat", 0.24, ()),
    ("trim", "cat", 0.46, (0.38, 0.07)),
    ("align", "index trim", 1.0, (0.29,)),
    ("dedup", "align", 0.03, (0.2,)),
    ("extract", "dedup index", 0.17, (0.19,)),
    ("qualimap", "dedup", 0.2, (0.02,)),
    ("report", "extract qualimap", 1.2, (0.24,)),
)
"""For each task, four entries: its name, the tasks whose first outputs it reads, its
time as a multiple of the mean seconds, and the sizes of its outputs as multiples of the
mean bytes.
"""


def of_workflow(
    tasks: Iterable[Task],
    files: Iterable[tuple[str, int]],
    cores: int,
    scratch: float = 0.0,
    samples: Mapping[str, str] | None = None,
    **told: Any,
) -> WorkDirectoryProblem:
    """Return a workflow on one machine with *cores* cores.

    Outputs that no task reads are moved out, and inputs from outside are left out. A
    task takes at most all cores. While it runs, it also uses scratch space of *scratch*
    times the bytes that it writes. *samples* maps tasks to samples, and *told* has the
    other keys of the instance.
    """
    chosen = tuple(tasks)
    sizes = dict(files)
    made = set(chain.from_iterable(task.outputs for task in chosen))
    rows = tuple(
        WorkTask(
            id=task.id,
            compute_seconds=task.compute_seconds,
            cores=min(task.cores, cores),
            inputs=tuple(name for name in task.inputs if name in made),
            outputs=task.outputs,
            scratch_bytes=math.ceil(
                scratch * sum(sizes[name] for name in task.outputs)
            ),
            sample=(samples or {}).get(task.id),
        )
        for task in chosen
    )
    products = tuple(
        WorkFile(id=name, bytes=size) for name, size in sizes.items() if name in made
    )
    return WorkDirectoryProblem(cores=cores, tasks=rows, files=products, **told)


def _methylseq(draft: workflows.Draft, settings: Methylseq) -> None:
    """Add the tasks and files of one sample of methylseq to *draft*."""
    written: dict[str, str] = {}
    for name, reads, work, outputs in _METHYLSEQ:
        inputs = [written[other] for other in reads.split()]
        files = draft.task(name, inputs, *outputs, work=work)
        if files:
            written[name] = files[0]


_MAKERS: dict[type[Settings], Callable[[workflows.Draft, Any], None]] = {
    Chain: workflows.chains,
    ForkJoin: workflows.fork_join,
    Mosaic: workflows.mosaic,
    Methylseq: _methylseq,
}
PRESETS: dict[str, type[Settings]] = {
    "chain": Chain,
    "fork-join": ForkJoin,
    "montage-like": Mosaic,
    "methylseq-like": Methylseq,
}


def generate(
    preset: str | None, settings: Mapping[str, object], seed: int
) -> WorkDirectoryProblem:
    """Generate an instance of *preset* (None: ``chain``) with changed *settings*.

    The same arguments give the same instance.
    """
    name, chosen = chosen_preset("work-directory", PRESETS, preset or "chain", settings)
    draft = workflows.Draft(chosen, np.random.default_rng(seed))
    _MAKERS[type(chosen)](draft, chosen)
    meta = {"source": "generated workflow", "preset": name, "seed": seed}
    meta["settings"] = chosen.model_dump(mode="json")
    title = f"{name}-{chosen.samples}x{chosen.cores}-s{seed}"
    parts = {"cores": chosen.cores, "name": title, "meta": meta}
    problem = of_workflow(draft.tasks, draft.files.items(), **parts).copies(
        chosen.samples
    )
    free = dispatch(problem, Dispatcher(problem))
    peak = carried_out(problem, free).metrics["peak_bytes"]
    quota = chosen.quota
    if quota is None:
        quota = math.ceil(peak * chosen.quota_share)
    return problem.model_copy(update={"name": title, "quota_bytes": quota})
