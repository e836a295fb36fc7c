"""Seeded workflows in a work directory (ours): copies of the shapes of the
replication workflows.

``methylseq-like`` has the shape, the proportions of bytes and of seconds of a recorded
run of nf-core's methylseq (WfCommons): an index that is held for half of the run, then
a report that waits for all.
"""

import math
from collections.abc import Callable, Iterable, Mapping
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
    """``quota_share``: the quota, where ``quota`` is not given, in peaks of the
    order of submission.
    """

    samples: workflows.Few = 8
    cores: workflows.Few = 16
    quota: Count | None = None
    quota_share: Annotated[float, Field(gt=0, le=1)] = 0.5


class Chain(Settings):
    """Chains in a sample."""

    chains: workflows.Few = 1
    length: workflows.Few = 6


class ForkJoin(Settings):
    """Rounds of one task that splits, some that work on its pieces, and
    one that joins them.
    """

    rounds: workflows.Few = 2
    width: workflows.Few = 6


class Mosaic(Settings):
    """Like Montage: images are projected, compared with neighbours,
    corrected and added.
    """

    images: Annotated[int, Field(ge=2, le=10_000)] = 10


class Methylseq(Settings):
    """Like methylseq; ``mean_mb`` is about the index, ``mean_seconds``
    about the alignment.
    """

    mean_mb: workflows.Mean = 16_000.0
    mean_seconds: workflows.Mean = 4_000.0


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
"""Task, what it reads the first output of, its seconds and the bytes that
it writes, in parts.
"""


def of_workflow(
    tasks: Iterable[Task],
    files: Iterable[tuple[str, int]],
    cores: int,
    scratch: float = 0.0,
    samples: Mapping[str, str] | None = None,
    **told: Any,
) -> WorkDirectoryProblem:
    """A workflow on one machine of *cores*; what nobody reads is moved out, what comes
    from outside left out.

    A task takes all cores at most, and *scratch* times the bytes that it writes while
    it runs. *samples* by task; *told* are the other keys of the instance.
    """
    chosen, sizes = tuple(tasks), dict(files)
    made = {name for task in chosen for name in task.outputs}
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
    written: dict[str, str] = {}
    for name, reads, work, outputs in _METHYLSEQ:
        files = draft.task(
            name, [written[other] for other in reads.split()], *outputs, work=work
        )
        written[name] = files[0] if files else ""


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
    """One instance of *preset* (None: ``chain``) with the *settings*
    changed; repeatable.
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
    quota = (
        math.ceil(peak * chosen.quota_share) if chosen.quota is None else chosen.quota
    )
    return problem.model_copy(update={"name": title, "quota_bytes": quota})
