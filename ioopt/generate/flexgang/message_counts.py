"""Generate message counts: the means in Table 3 of Lee et al., or runs of the
laboratory.
"""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from pydantic import Field

from ioopt.formats.values import Numbers
from ioopt.generate import PresetSettings, built, chosen_preset
from ioopt.measure.laboratory import record
from ioopt.problems.base import Record
from ioopt.problems.flexgang.message_counts import (
    QUANTA,
    MessageCounts,
    MessageCountsProblem,
)
from ioopt.problems.flexgang.perturbation import (
    Application,
    Barrier,
    Blocking,
    Environment,
    Msg,
    PerturbationProblem,
)

TABLE_3 = {
    "Enum": (247.73, 162.29, 242.30),
    "Water": (15.41, 2.54, 1.17),
    "LU": (2.85, 1.40, 0.89),
    "Barnes": (28.44, 2.53, 1.80),
}
"""Mean number of messages in gang quanta, and in disturbed quanta for processors that
ran and for those that did not run.
"""


class Table3Settings(PresetSettings):
    """Settings of the message counts of Table 3: there are none."""


class LaboratorySettings(PresetSettings):
    """Settings of runs in the laboratory.

    The applications are blocking ones, barriers, and messages in phases. The 32
    perturbations in 192 quanta are as dense as 20 in 120, the default of the
    laboratory.
    """

    processors: Annotated[int, Field(ge=2)] = 4
    """Number of processors."""
    work_quanta: Annotated[int, Field(ge=1)] = 192
    """Work of a program in quanta."""
    perturbations: Annotated[int, Field(ge=1)] = 32
    """Number of perturbations in a run."""
    environment: Environment = "Sub_RR"
    """How perturbations are spread over processors."""
    requests_per_quantum: Numbers = (1.0, 3.0, 12.0, 28.0)
    """Rates of requests, one blocking application each."""
    barrier_quanta: Numbers = (0.05,)
    """Quanta between barriers, one application each."""
    phase_quanta: Numbers = (0.05, 20.0)
    """Lengths of phases in quanta, one application each."""
    requests_per_phase: Annotated[int, Field(ge=1)] = 100
    """Number of requests in a phase."""


PRESETS: dict[str, type[Record]] = {
    "table-3": Table3Settings,
    "laboratory": LaboratorySettings,
}


def generate(
    preset: str | None, settings: Mapping[str, object], seed: int
) -> MessageCountsProblem:
    """Generate the instance of *preset* (default ``laboratory``) from *seed*.

    Raises UsageError for an unknown preset or setting.
    """
    _, chosen = chosen_preset(
        "message-counts", PRESETS, preset or "laboratory", settings
    )
    if isinstance(chosen, LaboratorySettings):
        return _laboratory(chosen, seed)
    means = tuple(
        MessageCounts(id=id, gang=gang, running=running, nonrunning=absent)
        for id, (gang, running, absent) in TABLE_3.items()
    )
    return MessageCountsProblem(
        name="table-3", meta={"source": "Lee et al., Table 3"}, applications=means
    )


def _laboratory(settings: LaboratorySettings, seed: int) -> MessageCountsProblem:
    """Return the message counts of the laboratory, from one run of each application."""
    apps: list[Application] = []
    for rate in settings.requests_per_quantum:
        apps.append(Blocking(id=f"Blocking-{rate:g}", requests_per_quantum=rate))
    for quanta in settings.barrier_quanta:
        apps.append(Barrier(id=f"Barrier-{quanta:g}", interval_quanta=quanta))
    for quanta in settings.phase_quanta:
        # Short phases exchange messages once, long ones continuously.
        requests = 1
        if quanta >= 1:
            requests = settings.requests_per_phase
        apps.append(
            Msg(id=f"Msg-{quanta:g}", phase_quanta=quanta, requests_per_phase=requests)
        )
    problem = built(
        "laboratory",
        PerturbationProblem,
        applications=tuple(apps),
        **settings.model_dump(include={"processors", "work_quanta", "perturbations"}),
    )
    counts = tuple(
        message_samples(problem, app, settings.environment, seed + 1000 * k)
        for k, app in enumerate(apps)
    )
    meta = {
        "source": "perturbation laboratory",
        "environment": settings.environment,
        "seed": seed,
    }
    return MessageCountsProblem(
        name=f"laboratory-{seed}",
        meta=meta,
        processors=settings.processors,
        applications=counts,
    )


def message_samples(
    problem: PerturbationProblem,
    app: Application,
    environment: Environment = "Sub_RR",
    seed: int = 0,
) -> MessageCounts:
    """Return the message counts in one run of *app*.

    The run is made by :func:`ioopt.measure.laboratory.record`.
    """
    found = record(problem, app, environment, seed)
    counts = {
        name: tuple(found.pairs(name)[:, 0].astype(float).tolist()) for name in QUANTA
    }
    absent = tuple(tuple(np.flatnonzero(~row).tolist()) for row in found.runs)
    return MessageCounts(id=app.id, absent=absent, **counts)
