"""Seeded sets of ready jobs, as a workflow engine meets them: groups of alike jobs, shared files (ours)."""

import random
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from ioopt.generate import chosen_preset, variant
from ioopt.problems.base import Record
from ioopt.problems.job_selection import JobSelectionProblem


class Ready(Record):
    """``jobs`` of ``rules`` (jobs of a rule are alike) on ``cores`` and ``memory_gb``.

    A job reads the temporary file of its group of ``sharing`` jobs, and with ``waiting`` other jobs
    read that file too, later.
    """

    jobs: Annotated[int, Field(ge=1, le=200_000)] = 40
    rules: Annotated[int, Field(ge=1, le=1000)] = 4
    cores: Annotated[int, Field(ge=1, le=100_000)] = 32
    memory_gb: Annotated[int, Field(ge=1, le=10**6)] = 64
    sharing: Annotated[int, Field(ge=1, le=1000)] = 3
    waiting: bool = False


PRESETS: dict[str, type[Ready]] = {
    "ready": Ready,
    "shared": variant(Ready, sharing=8, waiting=True),
    "many": variant(Ready, jobs=5000, rules=20, cores=256, memory_gb=1024),
}


def generate(preset: str | None, settings: Mapping[str, Any], seed: int) -> JobSelectionProblem:
    """Make one instance; the same preset, settings and seed give the same instance."""
    name, chosen = chosen_preset("job-selection", PRESETS, preset or "ready", settings)
    stream = random.Random(seed)
    rules = [
        {"cores": stream.choice((1, 2, 4, 8)), "memory": stream.randint(1, 8), "priority": rank}
        for rank in (stream.choice((0, 0, 0, 1)) for _ in range(chosen.rules))
    ]
    files: list[dict[str, Any]] = []
    jobs: list[dict[str, Any]] = []
    for at in range(chosen.jobs):
        group, rule = at // chosen.sharing, rules[at % chosen.rules]
        if group == len(files):
            files.append({"id": f"t{group}", "bytes": stream.randint(1, 50) * 10**8})
        jobs.append({
            "id": f"j{at}", "priority": rule["priority"], "cores": rule["cores"],
            "resources": {"cores": rule["cores"], "memory_gb": rule["memory"]},
            "temp": [f"t{group}"], "input_bytes": files[group]["bytes"],
        })  # fmt: skip
    if chosen.waiting:
        for group, file in enumerate(files):
            members = min(chosen.sharing, chosen.jobs - group * chosen.sharing)
            file["readers"] = members + stream.choice((0, 0, 1, 3))
    return JobSelectionProblem.model_validate(
        {
            "name": f"selection-{name}-{seed}",
            "meta": {"source": f"generated: {name}", "seed": seed, "settings": chosen.model_dump()},
            "capacities": {"cores": chosen.cores, "memory_gb": chosen.memory_gb},
            "files": files,
            "jobs": jobs,
        }
    )
