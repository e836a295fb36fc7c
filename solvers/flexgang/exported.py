"""Describe the integer programs of flexible gangs and of quantum selection that ``ioopt
export`` writes.
"""

from typing import Annotated

from pydantic import Field

from ioopt.errors import InstanceError, UsageError
from ioopt.models.flexgang.assignment import AssignmentModel
from ioopt.models.flexgang.frame import PatternData
from ioopt.models.flexgang.quantum import QuantumCosts, QuantumModel
from ioopt.problems.base import Record
from ioopt.problems.flexgang.flexible_gang import FlexibleGangPlan, FlexibleGangProblem
from ioopt.problems.flexgang.quantum_selection import (
    QuantumPlan,
    QuantumSelectionProblem,
)
from ioopt.protocols import Outcome
from ioopt.solvers.flexgang.pattern_search import plan_of_values
from ioopt.solvers.model_files import ExportedModel, ModelSpec, NoSettings, Values


class PatternSettings(Record):
    """Configure the pattern to write: ``k`` loose rows in ``d`` windows."""

    k: Annotated[int, Field(ge=0)] = 0
    d: Annotated[int, Field(ge=1)] = 1


def _pattern(problem: FlexibleGangProblem, settings: PatternSettings) -> ExportedModel:
    """Return the program of one pattern.

    Raise UsageError if the problem has no such pattern.
    """
    pattern = problem.pattern(settings.k, settings.d)
    data = None
    if pattern is not None:
        data = PatternData.of(problem, pattern)
    if data is None:
        known = " ".join(item.key for item in problem.patterns())
        raise UsageError(
            f"{problem.name} has no pattern {settings.k},{settings.d}; its k,d: {known}"
        )
    model = AssignmentModel(data)

    def outcome(values: Values) -> Outcome[FlexibleGangPlan]:
        plan = plan_of_values(model, values)
        if plan is None:
            raise InstanceError("the solution misses a floor of progress")
        return Outcome(plan)

    return ExportedModel(model.program, outcome, "weighted_progress")


def _quantum(problem: QuantumSelectionProblem, settings: NoSettings) -> ExportedModel:
    """Return the program over the instance's grid of cycle lengths."""
    costs = QuantumCosts(problem)
    model = QuantumModel(costs, problem.default_cycles())

    def outcome(values: Values) -> Outcome[QuantumPlan]:
        return Outcome(costs.plan(model.options(values)))

    return ExportedModel(model.program, outcome, "predicted_cost")


PATTERN_MODELS = (ModelSpec("pattern", PatternSettings, _pattern),)
QUANTUM_MODELS = (ModelSpec("quantum", NoSettings, _quantum),)
