"""Generate perturbation instances as in Tables 1 and 2 of Lee et al., and blocking
ones.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from ioopt.generate import PresetSettings, built, chosen_preset, variant
from ioopt.problems.base import Record
from ioopt.problems.flexgang.perturbation import (
    PATTERNS,
    Application,
    Barrier,
    Blocking,
    Emp,
    Msg,
    PerturbationProblem,
    Program,
    Workpile,
)


class Settings(PresetSettings):
    """Settings of the machine and of the perturbations in the paper."""

    processors: Annotated[int, Field(ge=2)] = 4
    """Number of processors."""
    work_quanta: Annotated[int, Field(ge=1)] = 120
    """Work of a program in quanta."""
    perturbations: Annotated[int, Field(ge=1)] = 20
    """Number of perturbations in a run."""
    runs: Annotated[int, Field(ge=1)] = 20
    """Number of runs of each application."""
    fixed_processor: Annotated[int, Field(ge=0)] = 0
    """Processor that is perturbed where it is always the same."""
    window: Annotated[float, Field(gt=0, le=1)] = 0.7
    """Share of the run time in which perturbations occur."""


class Table2Settings(Settings):
    """Settings of programs like those of Table 2, with three intervals of 50 quanta.

    Perturbations occur "across the run time" (Section 4).
    """

    work_quanta: Annotated[int, Field(ge=1)] = 150
    """Work of a program in quanta."""
    window: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Share of the run time in which perturbations occur."""


def _bottleneck(processor: int, others: float) -> tuple[float, ...]:
    """Return the loads of four processors: 1 for *processor*, *others* for each other
    one.
    """
    loads = [others] * 4
    loads[processor] = 1.0
    return tuple(loads)


APPLICATIONS: dict[str, tuple[Application, ...]] = {
    "table-1": (
        Emp(),
        Barrier(),
        *(
            Workpile(id=f"Workpile-{unit:g}", unit_quanta=unit)
            for unit in (0.14, 0.5, 2.4, 24.0)
        ),
        *(Msg(id=f"Msg-{pattern}", pattern=pattern) for pattern in PATTERNS),
    ),
    "figure-5": (Barrier(), Emp(), Workpile(id="Workpile-0.5")),
    "blocking": tuple(
        Blocking(id=f"Blocking-{rate:g}", requests_per_quantum=rate)
        for rate in (1.0, 3.0, 12.0, 28.0)
    ),
    "table-2": (
        Program(
            id="Enum",
            interval_quanta=50.0,
            messages_per_quantum=254.0,
            blocking=False,
            loads=(_bottleneck(3, 0.985), _bottleneck(3, 0.985), _bottleneck(0, 0.985)),
        ),
        Program(id="Water", messages_per_quantum=12.0, loads=(_bottleneck(3, 0.669),)),
        Program(
            id="LU",
            messages_per_quantum=3.0,
            loads=(_bottleneck(3, 0.591), _bottleneck(0, 0.95)),
        ),
        Program(
            id="Barnes",
            interval_quanta=50.0,
            messages_per_quantum=28.0,
            loads=(_bottleneck(2, 0.944), _bottleneck(0, 0.944), _bottleneck(0, 0.944)),
        ),
    ),
}
"""For each preset, its applications.

``table-1`` has those of Table 1, ``figure-5`` one of each of the three types,
``blocking`` one for each rate of requests, and ``table-2`` programs like those of Table
2. The barriers, messages and blocking of these programs are from Table 2, and the
bottleneck of each interval is from the text of Section 4.2. The load of the other
processors gives the progress that Table 3 states for gang quanta (.989, .752, .828 and
.958 of all). Processor 0 of LU is "only slightly behind"; here it has .05 less.
"""
PRESETS: dict[str, type[Record]] = {
    "table-1": variant(Settings, "the applications of Table 1"),
    "figure-5": variant(Settings, "one application of each type, as in Figure 5"),
    "blocking": variant(Settings, "one blocking application for each rate of requests"),
    "table-2": Table2Settings,
}


def generate(
    preset: str | None, settings: Mapping[str, object], seed: int
) -> PerturbationProblem:
    """Generate the instance of *preset* (default ``table-1``) without random numbers.

    Only runs of the instance are random; *seed* has no effect. Raises UsageError for an
    unknown preset or setting, or if the perturbations do not fit.
    """
    name, chosen = chosen_preset("perturbation", PRESETS, preset or "table-1", settings)
    section = "4.2" if name == "table-2" else "4.1"
    meta = {"source": f"Lee et al., Section {section}", "preset": name}
    parts = {"name": name, "meta": meta, "applications": APPLICATIONS[name]}
    return built(name, PerturbationProblem, **parts, **chosen.model_dump())
