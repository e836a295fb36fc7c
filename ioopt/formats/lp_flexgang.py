"""The integer programs of flexible gang assignment and quantum selection as LP and MPS files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from ioopt.errors import UsageError
from ioopt.formats.lp import write_model
from ioopt.models.flexgang.assignment import AssignmentModel, Formulation
from ioopt.models.flexgang.frame import PatternData
from ioopt.models.flexgang.quantum import QuantumModel
from ioopt.models.flexgang.quantum_costs import QuantumCosts
from ioopt.options import parse_settings
from ioopt.problems.base import Record
from ioopt.problems.flexgang.flexible_gang import FlexibleGangProblem
from ioopt.problems.flexgang.quantum_selection import QuantumSelectionProblem


class PatternSettings(Record):
    """The pattern to write: ``k`` loose slots in ``d`` windows; rows counted or numbered."""

    k: Annotated[int, Field(ge=0)] = 0
    d: Annotated[int, Field(ge=1)] = 1
    formulation: Formulation = "counts"


class NoSettings(Record):
    """Quantum selection has one program only."""


def export_assignment(
    problem: FlexibleGangProblem, output: str, form: str, settings: Mapping[str, str]
) -> None:
    """Write the program of one pattern (default k = 0) to *output*; *form* is ``lp`` or ``mps``."""
    chosen = parse_settings(PatternSettings, settings, f"{form} export")
    pattern = problem.pattern(chosen.k, chosen.d)
    data = PatternData.of(problem, pattern) if pattern is not None else None
    if data is None:
        known = " ".join(item.key for item in problem.patterns())
        raise UsageError(
            f"{form} export: {problem.name} has no pattern {chosen.k},{chosen.d}; its k,d: {known}"
        )
    write_model(AssignmentModel(data, chosen.formulation).program, _named(output, form))


def export_quantum(
    problem: QuantumSelectionProblem, output: str, form: str, settings: Mapping[str, str]
) -> None:
    """Write the program over the instance's grid of cycle lengths to *output*."""
    parse_settings(NoSettings, settings, f"{form} export")
    model = QuantumModel(QuantumCosts(problem), problem.default_cycles())
    write_model(model.program, _named(output, form))


def _named(output: str, form: str) -> str:
    if not output.lower().endswith(f".{form}"):
        raise UsageError(f"{form} export: the name {output!r} must end in .{form}")
    return output
