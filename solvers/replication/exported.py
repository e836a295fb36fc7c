"""Describe the integer programs of replication that ``ioopt export`` writes."""

from collections.abc import Callable
from functools import partial
from typing import Annotated

from pydantic import Field

from ioopt.models.replication.aggregated import AggregatedModel
from ioopt.models.replication.bounds import packing_model
from ioopt.models.replication.printed import PrintedModel
from ioopt.models.replication.static import (
    Cycles,
    StaticInstance,
    enough_disk,
    reduce,
    tidied,
    to_plan,
)
from ioopt.models.replication.subbatch import SubBatchModel
from ioopt.problems.base import Record
from ioopt.problems.replication import ReplicationPlan, ReplicationProblem
from ioopt.protocols import Outcome
from ioopt.result import Status
from ioopt.solvers.backends.answer import BackendLimits
from ioopt.solvers.backends.cpsat_program import solve_by_cpsat
from ioopt.solvers.model_files import ExportedModel, ModelSpec, Values
from ioopt.solvers.replication.exact.ip import cycle_notes, proven_shortly
from ioopt.solvers.replication.plans import ONE_ROUND_TOO_SMALL, require_batch
from ioopt.solvers.replication.rounds.two_stage import place_of, plan_after
from ioopt.units import counted

PACKING_SECONDS = 1.0
"""Deterministic seconds that CP-SAT may look for a placement that fits the disks."""
CYCLIC = (
    "solutions are proven for acyclic copies only (cycles=acyclic); `ioopt solve "
    "INSTANCE --solver ip-printed` proves the printed program"
)
"""What is proven of a program whose copies may form a cycle."""


class PrintedSettings(Record):
    """Configure the model (1)-(13): whether it has copies, and whether these may form a
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
        notes = cycle_notes(model.instance, moves)
        if not notes:
            plan = plan.model_copy(update={"carry_out": True})
        idle = len(stated.remote + stated.copies) - len(moves.remote + moves.copies)
        if idle:
            notes.append(
                f"{counted(idle, 'transfer')} of the solution left out, because no "
                "task needs what they bring"
            )
        return Outcome(plan, notes=tuple(notes))

    return ExportedModel(
        model.program,
        outcome,
        "additive_seconds",
        relaxed=CYCLIC if settings.cycles == "printed" else "",
        unsolvable=_unsolvable(model.instance),
        prove=_prove(problem, settings),
    )


def _prove(
    problem: ReplicationProblem, settings: PrintedSettings
) -> Callable[[Outcome[ReplicationPlan]], Outcome[ReplicationPlan]] | None:
    """Return the short proof of a solution; None if the program allows other plans than
    the instance does.
    """
    if settings != PrintedSettings():
        return None
    return partial(proven_shortly, problem)


def _unsolvable(instance: StaticInstance) -> str | None:
    """Return why the programs of one round have no solution, if the disks say so: by
    their bytes, or because no placement of the tasks fits. The effort is counted, and
    what it does not settle is not told.
    """
    if not enough_disk(instance):
        return ONE_ROUND_TOO_SMALL
    packing = packing_model(instance)
    if packing is None:
        return None
    answer = solve_by_cpsat(packing, BackendLimits(work=PACKING_SECONDS))
    return ONE_ROUND_TOO_SMALL if answer.status is Status.INFEASIBLE else None


def _allocation(
    problem: ReplicationProblem, settings: PrintedSettings
) -> ExportedModel:
    """Return the second stage of a round, in which all tasks are one sub-batch."""
    instance = reduce(problem)
    cycles = settings.cycles
    model = AggregatedModel(instance, cycles=cycles, replication=settings.replication)

    def outcome(values: Values) -> Outcome[ReplicationPlan]:
        moves = tidied(instance, model.moves(values))
        plan = to_plan(instance, moves, cycles == "printed")
        return Outcome(plan, notes=tuple(cycle_notes(instance, moves)))

    return ExportedModel(
        model.program,
        outcome,
        "additive_seconds",
        relaxed=CYCLIC if cycles == "printed" else "",
        unsolvable=_unsolvable(instance),
        prove=_prove(problem, settings),
    )


class SubBatchSettings(Record):
    """Configure the selection of a sub-batch.

    ``thresh``: balance threshold in condition (17); from the number of nodes minus 1 on
    it allows everything.
    """

    thresh: Annotated[float, Field(ge=0, le=1000)] = 0.2


def _sub_batch(
    problem: ReplicationProblem, settings: SubBatchSettings
) -> ExportedModel:
    """Return the first stage of the first round; its solution becomes a plan in rounds
    of which the first is the selection.
    """
    require_batch(problem)
    nodes = range(len(problem.nodes))
    places = [place_of(problem, problem.holds, (node,)) for node in nodes]
    tasks = range(len(problem.tasks))
    model = SubBatchModel(problem, tasks, places, settings.thresh)

    def outcome(values: Values) -> Outcome[ReplicationPlan]:
        return Outcome(plan_after(problem, model.decode(values)))

    return ExportedModel(model.program, outcome, "first_round_tasks")


MODELS = (
    ModelSpec("printed", PrintedSettings, _printed),
    ModelSpec("sub-batch", SubBatchSettings, _sub_batch),
    ModelSpec("allocation", PrintedSettings, _allocation),
)
