"""Describe the integer program of the least peak that ``ioopt export`` writes."""

from ioopt.models.work_directory.least_peak import LeastPeakModel
from ioopt.problems.work_directory import WorkDirectoryPlan, WorkDirectoryProblem
from ioopt.protocols import Outcome
from ioopt.solvers.backends.cpsat_directory import Sizes
from ioopt.solvers.model_files import ExportedModel, ModelSpec, NoSettings, Values
from ioopt.solvers.work_directory.dispatch import Question, one_by_one


def _least_peak(problem: WorkDirectoryProblem, settings: NoSettings) -> ExportedModel:
    """Return the program of the least peak; its plans run one task at a time."""
    sizes = Sizes.of(problem)
    model = LeastPeakModel(problem, sizes.products, sizes.loose)

    def outcome(values: Values) -> Outcome[WorkDirectoryPlan]:
        order = model.order(values)
        question = Question.of(problem, peak=True, order=order)
        return question.answer(one_by_one(problem, order))

    return ExportedModel(model.program, outcome, "peak_bytes", per_unit=sizes.unit)


MODELS = (ModelSpec("least-peak", NoSettings, _least_peak),)
