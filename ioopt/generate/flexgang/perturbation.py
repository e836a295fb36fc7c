"""The synthetic applications of Lee et al., Table 1, and blocking ones, as perturbation instances."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from ioopt.generate import built, chosen_preset
from ioopt.problems.base import Record
from ioopt.problems.flexgang.perturbation import (
    PATTERNS,
    Application,
    Barrier,
    Blocking,
    Emp,
    Msg,
    PerturbationProblem,
    Workpile,
)


class Settings(Record):
    """The machine and the perturbations of the paper."""

    processors: Annotated[int, Field(ge=2)] = 4
    work_quanta: Annotated[int, Field(ge=1)] = 120
    perturbations: Annotated[int, Field(ge=1)] = 20
    runs: Annotated[int, Field(ge=1)] = 20
    fixed_processor: Annotated[int, Field(ge=0)] = 0


APPLICATIONS: dict[str, tuple[Application, ...]] = {
    "table-1": (
        Emp(),
        Barrier(),
        *(Workpile(id=f"Workpile-{unit:g}", unit_quanta=unit) for unit in (0.14, 0.5, 2.4, 24.0)),
        *(Msg(id=f"Msg-{pattern}", pattern=pattern) for pattern in PATTERNS),
    ),
    "figure-5": (Barrier(), Emp(), Workpile(id="Workpile-0.5")),
    "blocking": tuple(
        Blocking(id=f"Blocking-{rate:g}", requests_per_quantum=rate)
        for rate in (1.0, 3.0, 12.0, 28.0)
    ),
}
"""By preset: those of Table 1, one of each of the three types, one for each rate of requests."""
PRESETS = dict.fromkeys(APPLICATIONS, Settings)


def generate(preset: str | None, settings: Mapping[str, object], seed: int) -> PerturbationProblem:
    """Make the instance of *preset* (default ``table-1``); the runs, not it, are random.

    Raises UsageError for an unknown preset or setting, or when the perturbations do not fit.
    """
    name, chosen = chosen_preset("perturbation", PRESETS, preset or "table-1", settings)
    meta = {"source": "Lee et al., Section 4.1", "preset": name}
    parts = {"name": name, "meta": meta, "applications": APPLICATIONS[name]}
    return built(name, PerturbationProblem, **parts, **chosen.model_dump())
