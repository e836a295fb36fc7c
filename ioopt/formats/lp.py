"""Writing integer programs as LP and MPS files, under readable names."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ioopt.errors import UsageError
from ioopt.formats.native import write_text
from ioopt.models.replication.printed import PrintedModel
from ioopt.options import parse_settings
from ioopt.problems.base import Record
from ioopt.problems.replication import ReplicationProblem

if TYPE_CHECKING:
    from pulp import LpProblem


class PrintedSettings(Record):
    """Switches of the printed model: circles of copies allowed or not, copies at all or not."""

    cycles: Literal["printed", "acyclic"] = "printed"
    replication: bool = True


def export_model(
    problem: ReplicationProblem,
    output: str | os.PathLike[str],
    form: str | None = None,
    settings: Mapping[str, str] | None = None,
) -> None:
    """Write the printed replication model of *problem* to *output*; *form* as in :func:`write_model`."""
    chosen = parse_settings(PrintedSettings, settings or {}, f"{form or 'model'} export")
    model = PrintedModel(problem, chosen.cycles, chosen.replication)
    write_model(model.lp, output, form)


def write_model(lp: LpProblem, path: str | os.PathLike[str], form: str | None = None) -> None:
    """Write *lp* as ``lp`` (CPLEX LP) or ``mps``; None: what the ending of *path* says.

    The file appears only when it is complete; ``-`` is standard output. Raises UsageError for
    another form or ending.
    """
    chosen = form or Path(path).suffix.lower().lstrip(".")
    if chosen not in ("lp", "mps"):
        raise UsageError(
            f"{path}: a model is written as .lp or .mps, not {chosen or 'no ending'!r}"
        )
    with tempfile.TemporaryDirectory(prefix="ioopt-export-") as folder:
        draft = Path(folder, f"model.{chosen}")
        if chosen == "lp":
            lp.writeLP(str(draft))
        else:
            lp.writeMPS(str(draft))
        write_text(path, draft.read_text("utf-8"))
