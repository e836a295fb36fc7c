"""Generate instances of quantum selection (ours): I/O and compute jobs on one machine.

I/O jobs have the bursts of Lee et al., Section 3.2 (5 ms, then 20 ms of I/O). With
``mixed``, bursts and I/O times are drawn around these values. The floors of the compute
jobs add up to ``compute_share`` of the cycle.
"""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from pydantic import Field

from ioopt.generate import PresetSettings, chosen_preset, variant
from ioopt.problems.base import Json
from ioopt.problems.flexgang.quantum_selection import QuantumSelectionProblem

MENU_SECONDS = (0.0025, 0.005, 0.010, 0.020)
"""The quanta of Lee et al., Figure 2, in seconds."""
BURSTS_SECONDS = (0.002, 0.005, 0.008)
IO_SECONDS = (0.010, 0.020, 0.040)


class Plain(PresetSettings):
    """Settings of ``io_jobs`` I/O jobs and ``compute_jobs`` compute jobs.

    ``visits`` is the largest number of visits in a cycle. The I/O jobs are equal and
    have the bursts of the paper. With ``mixed``, they differ in burst, I/O time and
    weight.
    """

    io_jobs: Annotated[int, Field(ge=1, le=100)] = 2
    """Number of I/O jobs."""
    compute_jobs: Annotated[int, Field(ge=0, le=100)] = 2
    """Number of compute jobs."""
    compute_share: Annotated[float, Field(ge=0, lt=1)] = 0.4
    """Least share of the cycle for all compute jobs together."""
    visits: Annotated[int, Field(ge=1, le=8)] = 1
    """Largest number of visits in a cycle."""
    mu: Annotated[float, Field(ge=0)] = 1.0
    """Weight of waste, beside the slowdowns, in the objective."""
    mixed: bool = False
    """Whether I/O jobs differ in burst, I/O time and weight."""


PRESETS: dict[str, type[Plain]] = {
    "plain": Plain,
    "visits": variant(Plain, visits=4),
    "mixed": variant(Plain, io_jobs=3, mixed=True),
}


def generate(
    preset: str | None, settings: Mapping[str, object], seed: int
) -> QuantumSelectionProblem:
    """Generate one instance; equal presets, settings and seeds give equal instances."""
    name, chosen = chosen_preset(
        "quantum-selection", PRESETS, preset or "plain", settings
    )
    stream = np.random.default_rng(seed)
    jobs: list[Json] = []
    for at in range(chosen.io_jobs):
        job: Json = {"id": f"io{at}", "kind": "io"}
        if chosen.mixed:
            burst = int(stream.integers(len(BURSTS_SECONDS)))
            job["burst_seconds"] = BURSTS_SECONDS[burst]
            job["io_seconds"] = IO_SECONDS[int(stream.integers(len(IO_SECONDS)))]
            job["weight"] = float(stream.integers(1, 4))
        jobs.append(job)
    floor = chosen.compute_share / max(1, chosen.compute_jobs)
    for at in range(chosen.compute_jobs):
        jobs.append({"id": f"c{at}", "kind": "compute", "floor": floor})
    visits = [f for f in (1, 2, 4, 8) if f <= chosen.visits]
    document = {
        "name": f"quantum-{name}-{seed}",
        "meta": {
            "source": f"generated: {name}",
            "seed": seed,
            "settings": chosen.model_dump(),
        },
        "mu": chosen.mu,
        "quanta_seconds": list(MENU_SECONDS),
        "visits": visits,
        "jobs": jobs,
    }
    return QuantumSelectionProblem.model_validate(document)
