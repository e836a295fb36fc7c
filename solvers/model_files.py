"""Write integer programs of instances as LP and MPS files, with readable names."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ioopt.errors import UsageError
from ioopt.formats.native import write_text
from ioopt.models.flexgang.assignment import AssignmentModel
from ioopt.models.flexgang.frame import PatternData
from ioopt.models.flexgang.quantum import QuantumCosts, QuantumModel
from ioopt.models.program import Program
from ioopt.models.replication.printed import PrintedModel
from ioopt.options import parse_settings
from ioopt.problems.base import Record
from ioopt.problems.flexgang.flexible_gang import FlexibleGangProblem
from ioopt.problems.flexgang.quantum_selection import QuantumSelectionProblem
from ioopt.problems.replication import ReplicationProblem
from ioopt.solvers.backends.pulp_program import to_pulp


class PrintedSettings(Record):
    """Configure the printed model: whether it has copies, and whether these may form a
    cycle.

    Without cycles its optimum is the least batch time of a plan. With cycles, as
    printed in the paper, the optimum may be too low.
    """

    cycles: Literal["printed", "acyclic"] = "acyclic"
    replication: bool = True


class PatternSettings(Record):
    """Configure the pattern to write: ``k`` loose rows in ``d`` windows."""

    k: Annotated[int, Field(ge=0)] = 0
    d: Annotated[int, Field(ge=1)] = 1


class NoSettings(Record):
    """Accept no settings, because quantum selection has only one program."""


def export_model(
    problem: ReplicationProblem | FlexibleGangProblem | QuantumSelectionProblem,
    output: str | os.PathLike[str],
    form: str | None = None,
    settings: Mapping[str, str] | None = None,
) -> None:
    """Write the integer program of *problem* to *output*, in the form of
    :func:`write_model`.

    For replication this is the printed model, by default without cycles of copies. For
    flexible gangs it is the program of one pattern, by default k = 0. For quantum
    selection it is the program over the instance's grid of cycle lengths.
    """
    what = f"{form or 'model'} export"
    given = settings or {}
    if isinstance(problem, ReplicationProblem):
        chosen = parse_settings(PrintedSettings, given, what)
        program = PrintedModel(problem, chosen.cycles, chosen.replication).program
    elif not str(output).lower().endswith(f".{form}"):
        raise UsageError(f"{what}: the name {output!r} must end in .{form}")
    elif isinstance(problem, FlexibleGangProblem):
        program = _of_pattern(
            problem, parse_settings(PatternSettings, given, what), what
        )
    else:
        parse_settings(NoSettings, given, what)
        program = QuantumModel(QuantumCosts(problem), problem.default_cycles()).program
    write_model(program, output, form)


def _of_pattern(
    problem: FlexibleGangProblem, chosen: PatternSettings, what: str
) -> Program:
    """Return the program of the *chosen* pattern.

    Raise UsageError if the problem has no such pattern.
    """
    pattern = problem.pattern(chosen.k, chosen.d)
    data = None
    if pattern is not None:
        data = PatternData.of(problem, pattern)
    if data is None:
        known = " ".join(item.key for item in problem.patterns())
        raise UsageError(
            f"{what}: {problem.name} has no pattern {chosen.k},{chosen.d}; its "
            f"k,d: {known}"
        )
    return AssignmentModel(data).program


def write_model(
    program: Program, path: str | os.PathLike[str], form: str | None = None
) -> None:
    """Write *program* as ``lp`` (CPLEX LP) or ``mps``; by default the suffix of *path*
    decides.

    The file appears only when it is complete; ``-`` is standard output. Raise
    UsageError for another form or suffix.
    """
    chosen = form or Path(path).suffix.lower().lstrip(".")
    if chosen not in ("lp", "mps"):
        raise UsageError(
            f"{path}: the form of a model is lp or mps, not {chosen!r}; give a name "
            "that ends in .lp or .mps"
        )
    lp, _ = to_pulp(program.in_seconds())
    with tempfile.TemporaryDirectory(prefix="ioopt-export-") as folder:
        draft = Path(folder, f"model.{chosen}")
        if chosen == "lp":
            lp.writeLP(str(draft))
        else:
            lp.writeMPS(str(draft), with_objsense=program.maximise)
        write_text(path, draft.read_text("utf-8"))
