"""Read the solution files of CBC, HiGHS, Gurobi, SCIP and GLPK.

Each program has text formats of its own, which the first line tells apart. What a file
says about its solution ("optimal") is only a claim.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ioopt.errors import InstanceError
from ioopt.formats.native import read_text

PROGRAMS = ("CBC", "HiGHS", "Gurobi", "SCIP", "GLPK", "PuLP")
"""Programs whose solutions can be read: solution files, and PuLP's problems."""


@dataclass
class Solution:
    """The contents of a solution file, or of a solved PuLP problem.

    ``program``, one of :data:`PROGRAMS`, wrote the file. ``claim`` is its status in its
    own words, and ``found`` says whether it claims to have a solution. ``values`` are
    keyed by the name of the variable or, if the file is ``numbered``, by the number of
    the column from "1" on. ``columns`` is then the number of columns that it states. A
    ``complete`` file has the values of all variables; otherwise those left out are 0.
    ``objective`` is None if the file does not state it.
    """

    path: str
    program: str
    claim: str = ""
    found: bool = True
    objective: float | None = None
    values: dict[str, float] = field(default_factory=dict)
    complete: bool = True
    numbered: bool = False
    columns: int | None = None

    @property
    def says_optimal(self) -> bool:
        """Return whether the file calls its solution optimal."""
        return re.search("(?<!non-)optimal", self.claim.lower()) is not None

    def number(self, text: str, what: str) -> float:
        """Return *text* as a finite number; raise InstanceError, which names *what*,
        for anything else.
        """
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise InstanceError(
                f"{self.path}: {what}: {text[:40]!r} is not a finite number"
            )
        return value

    def add(self, name: str, text: str) -> None:
        """Store the value of one variable; raise InstanceError if it has one
        already.
        """
        if name in self.values:
            raise InstanceError(f"{self.path}: {name} has two values")
        self.values[name] = self.number(text, name)


def read_solution(path: str) -> Solution:
    """Read the solution file at *path* (``-``: standard input).

    Raise InstanceError if no program is known to write such a file, and for values that
    are not numbers.
    """
    lines = read_text(path).splitlines()
    first = next((line for line in lines if line.strip()), "")
    for pattern, read in _READERS:
        if pattern.match(first):
            return read(path, lines)
    what = "not a"
    if first.startswith("Value of objective function:"):
        what = "written by lp_solve, whose files are not read; not a"
    raise InstanceError(
        f"{path}: line {first.strip()[:60]!r}: {what} solution file of CBC, "
        "HiGHS, Gurobi, SCIP or GLPK"
    )


def _cbc(path: str, lines: Sequence[str]) -> Solution:
    """Read what CBC's ``solution`` writes: a status, then number, name, value and
    reduced cost.

    With ``-printingOptions all`` the rows come first; numbers then begin anew.
    """
    claim, _, objective = lines[0].partition(" - objective value ")
    found = claim.startswith("Optimal")
    found |= claim.startswith("Stopped") and "no integer" not in claim
    solution = Solution(path, "CBC", claim, found, complete=False)
    if not found:
        return solution
    solution.objective = solution.number(objective, "objective value")
    before = -1
    for line in lines[1:]:
        words = line.removeprefix("**").split()
        if len(words) < 3 or not words[0].isdigit():
            continue
        number = int(words[0])
        if number <= before:
            solution.values.clear()
        before = number
        solution.add(words[1], words[2])
    return solution


def _section(lines: Sequence[str], head: str) -> Iterator[str]:
    """Yield the lines after the first one that begins with *head*, up to an empty line
    or the next heading.
    """
    rows = iter(lines)
    for line in rows:
        if line.startswith(head):
            break
    for line in rows:
        if not line.strip() or line.startswith("#"):
            return
        yield line


def _after(lines: Sequence[str], mark: str) -> str:
    """Return the rest of the first line that begins with *mark*; empty if there is
    none.
    """
    for line in lines:
        if line.startswith(mark):
            return line.removeprefix(mark).strip()
    return ""


def _highs_raw(path: str, lines: Sequence[str]) -> Solution:
    """Read what HiGHS writes by default: sections, with a name and a value a line."""
    claim = next(_section(lines, "Model status"), "").strip()
    primal = next(_section(lines, "# Primal solution values"), "None").strip()
    found = primal != "None" and "nfeasible" not in claim
    solution = Solution(path, "HiGHS", claim, found)
    if not found:
        return solution
    solution.objective = solution.number(_after(lines, "Objective "), "Objective")
    # A negative count marks a file without zeros.
    solution.complete = not _after(lines, "# Columns ").startswith("-")
    for line in _section(lines, "# Columns"):
        name, value, *_ = [*line.split(), ""]
        solution.add(name, value)
    return solution


_PRETTY = re.compile(r"\s*\d+\s+(?:[A-Z]{2}\s+)?\S+\s+\S+\s+(\S+)\s.*?(\S+)\s*$")


def _highs_pretty(path: str, lines: Sequence[str]) -> Solution:
    """Read the style "pretty" of HiGHS: a table of columns, a table of rows, and the
    status.
    """
    claim = _after(lines, "Model status:")
    objective = _after(lines, "Objective value:")
    found = bool(objective) and "nfeasible" not in claim
    solution = Solution(path, "HiGHS", claim, found)
    if not found:
        return solution
    solution.objective = solution.number(objective, "Objective value")
    for line in lines:
        if line.startswith("Rows"):
            break
        if row := _PRETTY.match(line):
            solution.add(row[2], row[1])
    return solution


def _gurobi(path: str, lines: Sequence[str]) -> Solution:
    """Read a SOL file of Gurobi: comments, then a name and a value a line."""
    solution = Solution(path, "Gurobi", "a solution")
    if objective := _after(lines, "# Objective value ="):
        solution.objective = solution.number(objective, "Objective value")
    for line in lines:
        if line.strip() and not line.startswith("#"):
            name, value, *_ = [*line.split(), ""]
            solution.add(name, value)
    return solution


def _scip(path: str, lines: Sequence[str]) -> Solution:
    """Read what SCIP's ``write solution`` writes: no zeros, unless asked for."""
    objective = _after(lines, "objective value:")
    claim = _after(lines, "solution status:") or "a solution"
    solution = Solution(path, "SCIP", claim, bool(objective), complete=False)
    if not objective:
        return solution
    solution.objective = solution.number(objective, "objective value")
    for line in lines:
        words = line.split()
        if words and not line.startswith(("solution status:", "objective value:")):
            solution.add(words[0], words[1] if len(words) > 1 else "")
    return solution


_GLPK_COLUMN = re.compile(r"\s*\d+\s+(\S+)\s+(?:\*|[A-Z]{1,2})?\s*(\S+)")


def _glpk_printed(path: str, lines: Sequence[str]) -> Solution:
    """Read what ``glpsol -o`` prints: tables of rows and columns.

    A name of more than 12 characters has a line of its own.
    """
    claim = _after(lines, "Status:")
    found = claim in ("INTEGER OPTIMAL", "INTEGER NON-OPTIMAL", "OPTIMAL", "FEASIBLE")
    solution = Solution(path, "GLPK", claim, found)
    if not found:
        return solution
    stated = re.search(r"= *(\S+)", _after(lines, "Objective:"))
    if stated is not None:
        solution.objective = solution.number(stated[1], "Objective")
    heads = [k for k, line in enumerate(lines) if "Column name" in line]
    if not heads:
        raise InstanceError(f"{path}: has no table of columns")
    table = []
    for line in lines[heads[0] + 2 :]:
        if not line.strip():
            break
        table.append(line)
    for row in re.split(r"\n(?= *\d+ \S)", "\n".join(table)):
        if column := _GLPK_COLUMN.match(row):
            solution.add(column[1], column[2])
    return solution


_GLPK_CLAIMS = {"o": "optimal", "f": "feasible", "n": "no solution", "u": "undefined"}


def _glpk_written(path: str, lines: Sequence[str]) -> Solution:
    """Read what ``glpsol -w`` writes for a program with whole variables: columns by
    number, without names.
    """
    solution = Solution(path, "GLPK", found=False, numbered=True)
    for line in lines:
        words = line.split()
        if words[:2] == ["s", "mip"] and len(words) == 6:
            solution.claim = _GLPK_CLAIMS.get(words[4], words[4])
            solution.found = words[4] in ("o", "f")
            solution.columns = int(solution.number(words[3], "columns"))
            if solution.found:
                solution.objective = solution.number(words[5], "objective")
        elif words[:1] == ["j"] and len(words) == 3 and solution.found:
            solution.add(words[1], words[2])
    return solution


_READERS: Sequence[tuple[re.Pattern[str], Callable[[str, Sequence[str]], Solution]]] = (
    (re.compile(r".* - objective value "), _cbc),
    (re.compile(r"Model status\s*$"), _highs_raw),
    (re.compile(r"Columns\s*$"), _highs_pretty),
    (re.compile(r"# (Solution|Objective value)"), _gurobi),
    (re.compile(r"(solution status|objective value):"), _scip),
    (re.compile(r"Problem:"), _glpk_printed),
    (re.compile(r"c Problem:|s mip "), _glpk_written),
)
