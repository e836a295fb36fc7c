"""Describe the integer programs of replication that ``ioopt export`` writes."""

from ioopt.models.replication.printed import PrintedModel
from ioopt.models.replication.static import Cycles, tidied, to_plan
from ioopt.problems.base import Record
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.protocols import Outcome
from ioopt.solvers.model_files import ExportedModel, ModelSpec, Values
from ioopt.solvers.replication.exact.ip import cycle_notes
from ioopt.units import counted


class PrintedSettings(Record):
    """Configure the printed model: whether it has copies, and whether these may form a
    cycle.

    Without cycles its optimum is the least batch time of a plan. With cycles, as
    printed in the paper, the optimum may be too low.
    """

    cycles: Cycles = "acyclic"
    replication: bool = True


def _printed(problem: ReplicationProblem, settings: PrintedSettings) -> ExportedModel:
    """Return the printed model; its plans make the transfers of the solution.

    Transfers that no task needs are left out.
    """
    model = PrintedModel(problem, settings.cycles, settings.replication)

    def outcome(values: Values) -> Outcome[ReplicationPlan]:
        stated = model.moves(values)
        moves = tidied(model.instance, stated)
        plan = to_plan(model.instance, moves, settings.cycles == "printed")
        notes = cycle_notes(problem, plan)
        if not notes:
            plan = plan.model_copy(update={"carry_out": True})
        idle = len(stated.remote + stated.copies) - len(moves.remote + moves.copies)
        if idle:
            notes.append(
                f"{counted(idle, 'transfer')} of the solution left out, because no "
                "task needs what they bring"
            )
        return Outcome(plan, notes=tuple(notes))

    cyclic = settings.cycles == "printed"
    return ExportedModel(model.program, outcome, "additive_seconds", relaxed=cyclic)


MODELS = (ModelSpec("printed", PrintedSettings, _printed),)
