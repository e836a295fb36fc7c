"""Generate job mixes for flexible gang assignment (ours: Lee et al. have none).

The *heavy mix* is a machine of 32 processors with a quantum of 10 ms on which two
jobs in five do I/O all the time (5 ms bursts, 20 ms I/O, as in Lee et al., Section
3.2). Assumptions: one job in five is drawn to have 8 processes, two to have 16 and
two to have 32 (about seven rows for ten jobs, so that strict gang scheduling shows
about the .76 utilisation and 2.8 slowdown for which the mix is meant); one I/O job in
four is coordinated; the gangedness of a compute job is drawn evenly from 0, .2, .4,
.7 and 1, but the first compute job is strict (gamma 1), since a machine without one
needs no gang scheduling; weights are 1 and floors the default. With sizes drawn
evenly (tried first) strict gang scheduling is less wasteful, and on some seeds the
best plan opens no loose window.
"""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from pydantic import Field

from ioopt.errors import UsageError
from ioopt.generate import chosen_preset, variant
from ioopt.problems.base import Json, Record
from ioopt.problems.flexgang.flexible_gang import FlexibleGangProblem

GAMMAS = (0.0, 0.2, 0.4, 0.7, 1.0)
SIZE_PARTS = (4, 2, 2, 1, 1)
"""Divisors of the machine that give a job's size, all with the same probability."""
NARROW_PARTS = (32, 16, 8)
"""Divisors for narrower jobs, added by ``narrowest`` for machines with more columns."""
COORDINATED_EVERY = 4
"""Number of I/O jobs of which the last one is coordinated."""


class HeavyMix(Record):
    """Describe a mix of ``jobs``, the fraction ``io_fraction`` of which does I/O.

    The smallest job takes the machine divided by ``narrowest``, so the machine has at
    least that many columns.
    """

    jobs: Annotated[int, Field(ge=2, le=1000)] = 10
    processors: Annotated[int, Field(ge=4, le=65536)] = 32
    columns: Annotated[int, Field(ge=1)] | None = None
    quantum_seconds: Annotated[float, Field(gt=0)] = 0.010
    io_fraction: Annotated[float, Field(ge=0, le=1)] = 0.4
    narrowest: Annotated[int, Field(ge=4, le=32)] = 4
    lambda_weight: Annotated[float, Field(ge=0)] = 0.1


PRESETS: dict[str, type[HeavyMix]] = {
    "heavy-mix": HeavyMix,
    "heavy-20": variant(HeavyMix, jobs=20),
    "heavy-40": variant(HeavyMix, jobs=40),
    "light-mix": variant(HeavyMix, io_fraction=0.2),
}


def generate(
    preset: str | None, settings: Mapping[str, object], seed: int
) -> FlexibleGangProblem:
    """Make one instance; the same preset, settings and seed give the same instance."""
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
