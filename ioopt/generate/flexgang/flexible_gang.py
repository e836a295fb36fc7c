"""Generate job mixes for flexible gang assignment (ours: Lee et al. have none).

The *heavy mix* is a machine of 32 processors with a quantum of 10 ms. Two of five jobs
do I/O all the time, with bursts of 5 ms and I/O of 20 ms as in Lee et al., Section 3.2.
These are the assumptions:

- One of five jobs is drawn to have 8 processes, two have 16 and two have 32. Ten jobs
  then fill about seven rows. So strict gang scheduling has a utilisation of about .76
  and a slowdown of about 2.8, for which the mix is meant.
- One of four I/O jobs is coordinated.
- The gangedness of a compute job is drawn evenly from 0, .2, .4, .7 and 1. The first
  compute job is strict (gamma 1), since a machine without a strict job needs no gang
  scheduling.
- Weights are 1 and floors have their default.

With sizes drawn evenly (tried first), strict gang scheduling wastes less, and for some
seeds the best plan opens no loose window.
"""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from pydantic import Field

from ioopt.errors import UsageError
from ioopt.generate import PresetSettings, chosen_preset, variant
from ioopt.problems.base import Json
from ioopt.problems.flexgang.flexible_gang import FlexibleGangProblem

GAMMAS = (0.0, 0.2, 0.4, 0.7, 1.0)
SIZE_PARTS = (4, 2, 2, 1, 1)
"""Divisors of the number of processors that give the size of a job. Each entry has the
same probability.
"""
NARROW_PARTS = (32, 16, 8)
"""Divisors for smaller jobs, of which ``narrowest`` adds some."""
COORDINATED_EVERY = 4
"""Of this many I/O jobs in a row, the last one is coordinated."""


class HeavyMix(PresetSettings):
    """Settings of a mix of ``jobs``, of which the fraction ``io_fraction`` does I/O.

    The smallest job has as many processes as the machine has processors, divided by
    ``narrowest``. So the machine needs at least ``narrowest`` columns.
    """

    jobs: Annotated[int, Field(ge=2, le=1000)] = 10
    """Number of jobs."""
    processors: Annotated[int, Field(ge=4, le=65536)] = 32
    """Number of processors of the machine."""
    columns: Annotated[int, Field(ge=1)] | None = None
    """Number of columns of the matrix; None: 8, or fewer processors."""
    quantum_seconds: Annotated[float, Field(gt=0)] = 0.010
    """Length of a quantum in seconds."""
    io_fraction: Annotated[float, Field(ge=0, le=1)] = 0.4
    """Share of the jobs that do I/O."""
    narrowest: Annotated[int, Field(ge=4, le=32)] = 4
    """Processors of the machine over processes of the smallest job."""
    lambda_weight: Annotated[float, Field(ge=0)] = 0.1
    """Weight of the slowdowns of I/O jobs in the objective, lambda."""


PRESETS: dict[str, type[HeavyMix]] = {
    "heavy-mix": HeavyMix,
    "heavy-20": variant(HeavyMix, jobs=20),
    "heavy-40": variant(HeavyMix, jobs=40),
    "light-mix": variant(HeavyMix, io_fraction=0.2),
}


def generate(
    preset: str | None, settings: Mapping[str, object], seed: int
) -> FlexibleGangProblem:
    """Generate one instance; equal presets, settings and seeds give equal instances."""
    name, chosen = chosen_preset(
        "flexible-gang", PRESETS, preset or "heavy-mix", settings
    )
    if chosen.processors & (chosen.processors - 1):
        raise UsageError(
            f"preset {name}: processors={chosen.processors} is not a power of two"
        )
    stream = np.random.default_rng(seed)
    parts = [part for part in NARROW_PARTS if part <= chosen.narrowest] + [*SIZE_PARTS]
    sizes = [max(1, chosen.processors // part) for part in parts]
    num_io = round(chosen.jobs * chosen.io_fraction)
    jobs: list[Json] = []
    for at in range(num_io):
        job: Json = {
            "id": f"io{at}",
            "kind": "io",
            "processes": sizes[int(stream.integers(len(sizes)))],
        }
        if at % COORDINATED_EVERY == COORDINATED_EVERY - 1:
            job["coordinated"] = True
        jobs.append(job)
    for at in range(chosen.jobs - num_io):
        gamma = 1.0
        if at:
            gamma = GAMMAS[int(stream.integers(len(GAMMAS)))]
        size = sizes[int(stream.integers(len(sizes)))]
        jobs.append(
            {"id": f"c{at}", "kind": "compute", "processes": size, "gamma": gamma}
        )
    document = {
        "name": f"{name}-{seed}",
        "meta": {
            "source": f"generated: {name}",
            "seed": seed,
            "settings": chosen.model_dump(),
        },
        "machine": chosen.model_dump(
            include={"processors", "columns", "quantum_seconds"}
        ),
        "lambda": chosen.lambda_weight,
        "jobs": jobs,
    }
    return FlexibleGangProblem.model_validate(document)
