"""Describe the integer program of an I/O decision that ``ioopt export`` writes."""

from ioopt.problems.batch_io import IoGrantsPlan, IoRequestsProblem
from ioopt.protocols import Outcome
from ioopt.solvers.batch_io.max_util import knapsack_of, rates_of
from ioopt.solvers.batch_io.run import plan_of_rates, view_of
from ioopt.solvers.model_files import ExportedModel, ModelSpec, NoSettings, Values


def _max_util(problem: IoRequestsProblem, settings: NoSettings) -> ExportedModel:
    """Return the knapsack of Cons-MaxUtil; its plans grant peak rates or nothing."""
    view = view_of(problem)
    model = knapsack_of(view)

    def outcome(values: Values) -> Outcome[IoGrantsPlan]:
        rates = rates_of(view, model.chosen(values))
        return Outcome(plan_of_rates(problem, view, rates, "cons-max-util"))

    unit = problem.machine.unit_nodes
    return ExportedModel(model.program, outcome, "granted_nodes", per_unit=unit)


MODELS = (ModelSpec("max-util", NoSettings, _max_util),)
