"""The synthetic applications of Lee et al., Table 1, and blocking ones, as perturbation instances."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from ioopt.formats.values import Numbers
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


class Table1Settings(Settings):
    """Emp, Barrier, a Workpile for each unit, a Msg for each pattern."""

    barrier_quanta: Annotated[float, Field(gt=0)] = 0.01
    phase_quanta: Annotated[float, Field(gt=0)] = 0.05
    unit_quanta: Numbers = (0.14, 0.5, 2.4, 24.0)

    def applications(self) -> tuple[Application, ...]:
        """The applications of the instance."""
        return (
            Emp(),
            Barrier(interval_quanta=self.barrier_quanta),
            *(Workpile(id=f"Workpile-{unit:g}", unit_quanta=unit) for unit in self.unit_quanta),
            *(
                Msg(id=f"Msg-{pattern}", phase_quanta=self.phase_quanta, pattern=pattern)
                for pattern in PATTERNS
            ),
        )


class Figure5Settings(Settings):
    """One application of each of the three types."""

    barrier_quanta: Annotated[float, Field(gt=0)] = 0.01
    unit_quanta: Annotated[float, Field(gt=0)] = 0.5

    def applications(self) -> tuple[Application, ...]:
        """The applications of the instance."""
        workpile = Workpile(id=f"Workpile-{self.unit_quanta:g}", unit_quanta=self.unit_quanta)
        return Barrier(interval_quanta=self.barrier_quanta), Emp(), workpile


class BlockingSettings(Settings):
    """One blocking application for each rate of requests."""

    requests_per_quantum: Numbers = (1.0, 3.0, 12.0, 28.0)

    def applications(self) -> tuple[Application, ...]:
        """The applications of the instance."""
        rates = self.requests_per_quantum
        return tuple(Blocking(id=f"Blocking-{rate:g}", requests_per_quantum=rate) for rate in rates)


PRESETS: dict[str, type[Settings]] = {
    "table-1": Table1Settings,
    "figure-5": Figure5Settings,
    "blocking": BlockingSettings,
}


def generate(preset: str | None, settings: Mapping[str, object], seed: int) -> PerturbationProblem:
    """Make the instance of *preset* (default ``table-1``); the runs, not it, are random.

    Raises UsageError for an unknown preset or setting, or when the perturbations do not fit.
    """
    name, chosen = chosen_preset("perturbation", PRESETS, preset or "table-1", settings)
    shared = {key: getattr(chosen, key) for key in Settings.model_fields}
    meta = {"source": "Lee et al., Section 4.1", "preset": name}
    apps = chosen.applications()
    return built(name, PerturbationProblem, name=name, meta=meta, applications=apps, **shared)
