"""Generate the sweeps of Figures 2 and 3 (Lee et al.) as quantum-model instances.

The text and the caption of Figure 2 disagree on the quanta of the I/O job (2.5, 5, 10
ms and 2.5, 10, 20 ms). The preset takes all four values.
"""

from collections.abc import Mapping
from itertools import product
from typing import Annotated

from pydantic import Field

from ioopt.errors import UsageError
from ioopt.formats.values import Numbers
from ioopt.generate import PresetSettings, chosen_preset
from ioopt.problems.flexgang.quantum_model import (
    Donation,
    QuantumModelProblem,
    QuantumPoint,
)


class Settings(PresetSettings):
    """Settings of the workload in the paper.

    It has 32 processors, Erlang-5 bursts with a mean of 5 ms, and I/O of 20 ms. The
    quantum on the x axis goes from ``step_seconds`` to ``longest_seconds``.
    """

    processors: Annotated[int, Field(ge=1)] = 32
    """Number of processors."""
    burst_seconds: Annotated[float, Field(gt=0)] = 0.005
    """Mean compute burst of the I/O job in seconds."""
    burst_shape: Annotated[int, Field(ge=1)] | None = 5
    """Shape of the Erlang distribution of bursts; None: bursts of one length."""
    io_seconds: Annotated[float, Field(gt=0)] = 0.020
    """Time of an I/O request in seconds."""
    donation: Donation = "return"
    """When the CPU of a blocked process returns: as its I/O or as its slot ends."""
    horizon_seconds: Annotated[float, Field(gt=0)] | None = None
    """Simulated seconds for each pair of quanta; None: 2400 iterations."""
    step_seconds: Annotated[float, Field(gt=0)] = 0.001
    """Step of the quantum on the x axis in seconds."""
    longest_seconds: Annotated[float, Field(gt=0)] = 0.040
    """Longest quantum on the x axis in seconds."""

    def swept(self) -> list[float]:
        """Return the quanta on the x axis in seconds, rounded to whole nanoseconds."""
        count = int(self.longest_seconds / self.step_seconds + 1e-9)
        if count < 1:
            raise UsageError(
                f"longest_seconds {self.longest_seconds:g} is less than one "
                f"step_seconds {self.step_seconds:g}"
            )
        return [round(k * self.step_seconds, 9) for k in range(1, count + 1)]


class Figure2Settings(Settings):
    """Settings of Figure 2, which varies the compute quantum for each I/O quantum."""

    qi_seconds: Numbers = (0.0025, 0.005, 0.010, 0.020)
    """Quanta of the I/O job in seconds, one curve each."""

    def pairs(self) -> list[tuple[float, float]]:
        """Return all pairs of quanta (qi, qc) in seconds, of the I/O and the compute
        job.
        """
        return list(product(self.qi_seconds, self.swept()))


class Figure3Settings(Settings):
    """Settings of Figure 3, which varies the I/O quantum for each compute quantum."""

    qc_seconds: Numbers = (0.010, 0.020, 0.040)
    """Quanta of the compute job in seconds, one curve each."""

    def pairs(self) -> list[tuple[float, float]]:
        """Return all pairs of quanta (qi, qc) in seconds, of the I/O and the compute
        job.
        """
        return [(qi, qc) for qc, qi in product(self.qc_seconds, self.swept())]


PRESETS: dict[str, type[Settings]] = {
    "figure-2": Figure2Settings,
    "figure-3": Figure3Settings,
}


def generate(
    preset: str | None, settings: Mapping[str, object], seed: int
) -> QuantumModelProblem:
    """Generate the instance of *preset* (default ``figure-2``) without random numbers.

    *seed* has no effect. Raises UsageError for an unknown preset or setting.
    """
    name, chosen = chosen_preset(
        "quantum-model", PRESETS, preset or "figure-2", settings
    )
    return QuantumModelProblem(
        name=name,
        meta={"source": "Lee et al., Section 3.2", "preset": name},
        points=tuple(
            QuantumPoint(qi_seconds=qi, qc_seconds=qc) for qi, qc in chosen.pairs()
        ),
        **chosen.model_dump(include=QuantumModelProblem.model_fields.keys()),
    )
