"""What an instance says about its origin: what an importer dropped, invented or scaled.

Importers write it with :func:`ioopt.formats.report.imported`: ``meta.warnings``, one line each, and
``meta.synthetic``, what was invented and how. Results that rest on invented I/O carry a note, and
tables of such results one line.
"""

import platform
from collections.abc import Iterable, Mapping

from ioopt.problems.base import Problem
from ioopt.version import __version__

SYNTHETIC_IO = "I/O is synthetic"


def warnings_of(problem: Problem) -> tuple[str, ...]:
    """The lines that its importer left in ``meta.warnings``."""
    said = (problem.meta or {}).get("warnings")
    return tuple(str(line) for line in said) if isinstance(said, (list, tuple)) else ()


def synthetic_notes(problem: Problem) -> tuple[str, ...]:
    """The note of a result of *problem* when its I/O was invented."""
    made = (problem.meta or {}).get("synthetic")
    how = made.get("I/O") if isinstance(made, Mapping) else None
    return (f"{SYNTHETIC_IO}: {how}",) if isinstance(how, str) else ()


def versions() -> dict[str, str]:
    """What a result was made with, before its solver names backends."""
    return {"ioopt": __version__, "python": platform.python_version()}


def rests_on_synthetic_io(notes: Iterable[str]) -> bool:
    """Whether a result with these notes is of an instance whose I/O was invented."""
    return any(note.startswith(SYNTHETIC_IO) for note in notes)


def synthetic_footnote(instances: Iterable[str]) -> str:
    """The line under a table of results, some of them of these *instances*; empty for none."""
    names = ", ".join(dict.fromkeys(instances))
    if not names:
        return ""
    return f"{SYNTHETIC_IO} in {names}: these figures depend on it (see meta.synthetic)."
