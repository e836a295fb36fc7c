"""Writing integer programs as LP and MPS files, under readable names."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ioopt.errors import UsageError
from ioopt.formats.native import replacing

if TYPE_CHECKING:
    from pulp import LpProblem


def write_model(lp: LpProblem, path: str | os.PathLike[str]) -> None:
    """Write *lp* in the format that the ending of *path* names: ``.lp`` (CPLEX LP) or ``.mps``.

    The file appears only when it is complete. Raises UsageError for another ending.
    """
    ending = Path(path).suffix.lower()
    if ending not in (".lp", ".mps"):
        raise UsageError(
            f"{path}: a model is written as .lp or .mps, not {ending or 'no ending'!r}"
        )
    with tempfile.TemporaryDirectory(prefix="ioopt-export-") as folder:
        draft = Path(folder, f"model{ending}")
        if ending == ".lp":
            lp.writeLP(str(draft))
        else:
            lp.writeMPS(str(draft))
        with replacing(path) as stream:
            stream.write(draft.read_text("utf-8"))
