"""Describe the integer programs of a gang decision that ``ioopt export`` writes."""

from typing import Annotated, Literal

from pydantic import Field

from ioopt.decisions.gang.rules import Weight
from ioopt.decisions.gang.state import state_of
from ioopt.errors import InstanceError
from ioopt.models.gang.assignment import AssignmentModel
from ioopt.models.gang.question import Question, ask
from ioopt.models.gang.row_free import RowFreeModel
from ioopt.models.program import Program
from ioopt.problems.base import Record
from ioopt.problems.gang import GangMatrixPlan, GangMatrixProblem
from ioopt.protocols import Outcome
from ioopt.solvers.gang.exact_layout import Placed, lay_out, state_with, with_columns
from ioopt.solvers.gang.run import plan_of_state
from ioopt.solvers.model_files import ExportedModel, ModelSpec, Values
from ioopt.units import exact


class MatrixSettings(Record):
    """Configure the assignment of rows and columns.

    ``weight`` and ``queue`` are those of exact-iogs. ``guard`` is the share of all
    slots that running jobs and remote starts may take together (1: no guard; 0: slowed
    jobs start on their file nodes only, as in IOGS).
    """

    weight: Weight = "las"
    queue: Literal["free", "fcfs"] = "free"
    guard: Annotated[float, Field(ge=0, le=1)] = 1.0


class Decision:
    """The question of one snapshot, and the plans that answer it."""

    def __init__(self, problem: GangMatrixProblem, settings: MatrixSettings) -> None:
        self.problem = problem
        self.state = state_of(problem)
        self.objective = f"value_{settings.weight}"
        self.question: Question = ask(
            self.state,
            settings.weight,
            fcfs=settings.queue == "fcfs",
            share=exact(settings.guard),
        )

    def outcome(self, placed: Placed) -> Outcome[GangMatrixPlan]:
        """Return the matrix in which the options have the rows and columns *placed*."""
        state = state_with(self.state, self.question, placed)
        return Outcome(plan_of_state(self.problem, state))

    def per_unit(self, program: Program) -> float:
        """Return the value of the matrix for 1 of the objective of *program*."""
        return float(1 / program.unit) / self.question.scale


def _assignment(problem: GangMatrixProblem, settings: MatrixSettings) -> ExportedModel:
    """Return the row model: the rows of every option, and columns of remote starts
    chosen afterwards.
    """
    decision = Decision(problem, settings)
    model = AssignmentModel(decision.question)
    program = model.program

    def outcome(values: Values) -> Outcome[GangMatrixPlan]:
        return decision.outcome(
            with_columns(decision.question, model.spans(_point(program, values)))
        )

    per_unit = decision.per_unit(program)
    return ExportedModel(program, outcome, decision.objective, per_unit=per_unit)


def _row_free(problem: GangMatrixProblem, settings: MatrixSettings) -> ExportedModel:
    """Return the row-free model: the number of rows of every option.

    Its optimum bounds that of the row model. A solution that no matrix can carry out
    is refused.
    """
    decision = Decision(problem, settings)
    model = RowFreeModel(decision.question)
    program = model.program

    def outcome(values: Values) -> Outcome[GangMatrixPlan]:
        placed = lay_out(decision.question, model.counts(_point(program, values)))
        if placed is None:
            raise InstanceError(
                "the numbers of rows of this solution fit no matrix; solve the model "
                "'assignment'"
            )
        return decision.outcome(placed)

    per_unit = decision.per_unit(program)
    return ExportedModel(program, outcome, decision.objective, per_unit=per_unit)


def _point(program: Program, values: Values) -> list[int]:
    """Return the *values* of the variables of *program* in their order."""
    return [int(values[at]) for at in range(len(program.variables))]


MODELS = (
    ModelSpec("assignment", MatrixSettings, _assignment),
    ModelSpec("row-free", MatrixSettings, _row_free),
)
