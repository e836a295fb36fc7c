"""Exchange integer programs with other solvers: write the program of an instance, and
turn a solution into a checked result.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ioopt.errors import InstanceError, UsageError
from ioopt.families import EXACT, WARM_START, Kind
from ioopt.formats.solution import Solution
from ioopt.known_plans import known_plans
from ioopt.models.program import Number, Program, Row
from ioopt.problems.base import Json, Problem
from ioopt.registry import kind_of_problem, solvers_for
from ioopt.result import Result, Status
from ioopt.solvers.backends.answer import FEASIBILITY
from ioopt.solvers.model_files import (
    ExportedModel,
    Header,
    build,
    digest,
    model_text,
    numbered_names,
    read_header,
    spec_of,
    text_of,
    write_model,
)
from ioopt.solving import result_of_plan
from ioopt.units import counted, show
from ioopt.verdict import strongest

if TYPE_CHECKING:
    from pulp import LpProblem

ROWS_BEGIN = re.compile(r"(subject to|such that|s\.?t\.?)\b", re.IGNORECASE)
"""The line of an LP file that ends its objective."""
PROGRAMS_GAP = 1e-3
"""The relative gap within which a program may call a solution optimal. Most stop at a
gap of 1e-4; the rest is for the digits that they print.
"""
OTHER_MODEL = (
    "; give the --instance that was exported, and --model FILE.lp if it was exported "
    "with other settings"
)
"""What to do if a solution is of another program than the one that is known."""
MOST_TERMS = 4
"""The number of terms of a row that a message shows."""


def export_model(
    problem: Problem,
    output: str | os.PathLike[str],
    form: str | None = None,
    settings: Mapping[str, str] | None = None,
    model: str | None = None,
) -> str | None:
    """Write the program of *problem* that *model* names (None: the default of its kind)
    to *output*, in the form of :func:`write_model`.

    Return the reason why the program has no solution, if that is known.
    """
    what = f"{form or 'model'} export"
    exported, header = model_of(problem, model, settings or {}, what)
    write_model(exported.program, header, output, form)
    return exported.unsolvable


def model_of(
    problem: Problem,
    model: str | None,
    settings: Mapping[str, object],
    what: str = "model",
) -> tuple[ExportedModel, Header]:
    """Return the model of *problem* that *model* names (None: the default of its kind)
    and its header; messages call the request *what*.
    """
    kind = kind_of_problem(problem)
    models = kind.models()
    if not models:
        raise UsageError(f"{problem.name} is {kind.kind}, which has no model to export")
    return build(problem, spec_of(models, model), settings, what)


def result_of_solution(
    problem: Problem,
    solution: Solution,
    model: str | None,
    settings: Mapping[str, object],
) -> Result:
    """Return the checked and replayed result of a *solution* of an exported model.

    *model* is the name of the model, or the path of the exported file, which also
    states the settings. Raise InstanceError for a solution that is not one of this
    model, and UsageError for a model or settings that the kind does not have.
    """
    text = path = None
    if model is not None and model.lower().endswith((".lp", ".mps")):
        if settings:
            raise UsageError(f"--set: {model} states its settings; leave --set out")
        path = model
        stated, text = read_header(path)
        _require_same(problem, stated, model)
        model, settings = stated.model, stated.settings
    exported, header = model_of(problem, model, settings, "import sol")
    _require_found(solution, exported)
    notes: list[str] | None = None
    if text is not None:
        form = Path(str(path)).suffix.lower().lstrip(".")
        notes = changes(exported.program, header, str(path), text, form)
    if solution.numbered:
        solution = _with_names(solution, text, exported.program)
    return _result(problem, exported, header, solution, notes)


def result_of_pulp(
    problem: Problem,
    lp: LpProblem,
    model: str | None,
    settings: Mapping[str, object],
) -> Result:
    """Return the checked and replayed result of a solved PuLP problem, which
    :func:`ioopt.to_pulp` made of *problem*, *model* and *settings*.

    Raise as :func:`result_of_solution` does.
    """
    exported, header = model_of(problem, model, settings, "from_pulp")
    solution = _solution_of(lp)
    _require_found(solution, exported)
    text = text_of(lp, "lp")
    notes = changes(exported.program, header, solution.path, text, "lp")
    return _result(problem, exported, header, solution, notes)


def _who_may_prove(kind: Kind) -> str:
    """Return the words on the exact solver of *kind* that starts from a result; an
    empty string if there is none.
    """
    for row in solvers_for(kind.kind):
        if {EXACT, WARM_START} <= row.abilities:
            command = f"ioopt solve INSTANCE --solver {row.name} --warm-start RESULT"
            return f"; `{command}` may"
    return ""


def _solution_of(lp: LpProblem) -> Solution:
    """Return what PuLP knows of the solution of *lp*."""
    from pulp import LpSolution, LpStatus, value

    found = lp.sol_status > 0
    values = {}
    for variable in lp.variables():
        if variable.varValue is not None:
            values[variable.name] = variable.varValue
    return Solution(
        path=f"PuLP problem {lp.name}",
        program="PuLP",
        claim=LpSolution[lp.sol_status] if found else LpStatus[lp.status],
        found=found,
        objective=value(lp.objective) if values else None,
        values=values,
    )


def _result(
    problem: Problem,
    exported: ExportedModel,
    header: Header,
    solution: Solution,
    changed: Sequence[str] | None,
) -> Result:
    """Return the checked and replayed result of a *solution* of the model *exported*.

    *changed* are the notes on what the user changed in the program (None: unknown).
    """
    kind = kind_of_problem(problem)
    about = header.describe()
    advice = "" if changed is not None else OTHER_MODEL
    if changed:
        about += " as it was exported"
    values = values_of(exported.program.in_seconds(), solution, about, advice)
    outcome = exported.outcome(values)
    outcome = replace(
        outcome,
        bound=_bound(problem, kind, exported, outcome.bound),
        objective_name=exported.objective,
        notes=(_claim(solution), *(changed or ()), *outcome.notes),
    )
    options: Json = {"settings": header.settings}
    result = result_of_plan(problem, solution.program, outcome, options)
    _require_objective(solution, kind, exported, result, about + advice)
    known = "that is known without solving"
    claimed = solution.says_optimal and result.status is Status.FEASIBLE
    if claimed and exported.prove is not None:
        # The bound of the exported program holds with more rows too.
        outcome = exported.prove(outcome)
        result = result_of_plan(problem, solution.program, outcome, options)
        known = "that a short proof reaches"
    if claimed and result.status is Status.FEASIBLE and not changed:
        note = f"the bound is the one {known}, and does not prove it optimal"
        note += f"; {exported.relaxed}" if exported.relaxed else _who_may_prove(kind)
        if changed is None:
            note += "; if you changed the program, give --model with its file"
        result = result.model_copy(update={"notes": (*result.notes, note)})
    return result


def changes(
    program: Program, header: Header, path: str, text: str, form: str
) -> list[str]:
    """Return notes on what was changed in the exported file *path* with the content
    *text*, which is in the form ``lp`` or ``mps``: the objective, which is another than
    the reported one, and rows, of which added ones are not checked.
    """

    def lines(content: str) -> list[str]:
        """Return the lines without comments, which begin with these characters."""
        rows = content.splitlines()
        return [row.strip() for row in rows if row[:1] not in ("\\", "*", "")]

    goal, ours = _split(lines(model_text(program, header, form)), form)
    other_goal, theirs = _split(lines(text), form)
    notes = []
    if other_goal != goal:
        notes.append(
            f"{path}: the objective was changed, to {other_goal!r:.60}; what was "
            "optimised is not what is reported, which is that of the exported program"
        )
    known = set(ours)
    new = [line for line in theirs if line not in known]
    if new or len(ours) != len(theirs):
        first = (
            f": {counted(len(new), 'new line')}, such as {new[0]!r:.60}" if new else ""
        )
        notes.append(
            f"{path} is not as it was exported{first}; rows that were added are not "
            "checked, and the bound and the gap are without them; changed rows are "
            "checked as they were exported"
        )
    return notes


def _split(lines: Sequence[str], form: str) -> tuple[str, list[str]]:
    """Return the objective of an ``lp`` or ``mps`` file, and the other *lines*."""
    if form == "mps":
        # A column has its name before that of the row; "N OBJ" declares the row.
        goal = [line for line in lines if re.match(r"(?!N )\S+ +OBJ ", line)]
        return " ".join(goal), [line for line in lines if line not in set(goal)]
    rows = (k for k, line in enumerate(lines) if ROWS_BEGIN.match(line))
    end = next(rows, len(lines))
    return " ".join(" ".join(lines[:end]).split()), list(lines[end:])


def _bound(
    problem: Problem, kind: Kind, exported: ExportedModel, own: float | None
) -> float | None:
    """Return the best bound of the model's objective that is known without the file:
    the quick bound of the kind, that of a bundled instance, or the *own* bound of the
    model. Return None if bounds of plans do not hold for the model.
    """
    if exported.relaxed:
        return None
    known = known_plans(problem).get(exported.objective)
    bounds = [own, known.bound if known else None]
    if exported.objective == kind.objective.name:
        bounds.append(kind.bound(problem))
    return strongest(kind.metric(exported.objective).sense, bounds)


def _claim(solution: Solution) -> str:
    """Return the note on what the file says of its solution."""
    words = solution.path
    if solution.program not in words:
        words += f" ({solution.program})"
    words += f" says {solution.claim!r}"
    if solution.objective is not None:
        words += f" with objective {show(solution.objective)}"
    return f"{words}; status and figures here are ioopt's own"


def _require_same(problem: Problem, header: Header, path: str) -> None:
    """Raise InstanceError if *path* is the exported file of another instance."""
    if header.digest != digest(problem):
        raise InstanceError(
            f"{path}: was exported from another instance, {header.instance!r}, or from "
            f"an earlier version of {problem.name!r}; export again and solve again"
        )


def _require_found(solution: Solution, exported: ExportedModel) -> None:
    """Raise InstanceError if a file has no solution."""
    if solution.found and solution.values:
        return
    why = ", which ioopt cannot check"
    if exported.unsolvable is not None:
        why = f"; {exported.unsolvable}"
    raise InstanceError(
        f"{solution.path}: holds no solution: {solution.program} says "
        f"{solution.claim!r}{why}"
    )


def _with_names(solution: Solution, text: str | None, program: Program) -> Solution:
    """Return a numbered *solution* with names, which are taken from the *text* of the
    exported file.
    """
    if text is None:
        raise InstanceError(
            f"{solution.path}: has numbers in place of names (glpsol -w); add --model "
            "FILE.lp, the file that was solved, or let glpsol -o write the solution"
        )
    names = numbered_names(text, program)
    if solution.columns not in (None, len(names)):
        raise InstanceError(
            f"{solution.path}: has {solution.columns} columns, the exported file "
            f"{len(names)}"
        )
    by_number = {str(k): name for k, name in enumerate(names, 1)}
    values = {}
    for number, value in solution.values.items():
        if number not in by_number:
            raise InstanceError(f"{solution.path}: there is no column {number}")
        values[by_number[number]] = value
    return replace(solution, values=values)


def values_of(
    program: Program, solution: Solution, about: str, advice: str = ""
) -> dict[int, Number]:
    """Return the values of all variables of *program*, which must be in seconds.

    Whole numbers are rounded. Raise InstanceError for a name that is unknown or
    missing, a fraction of a whole variable, and a limit or a row that is violated;
    *about* names the model in messages, and *advice* says what to do if names differ.
    """
    known = {variable.name for variable in program.variables}
    for name in solution.values:
        if name not in known:
            said = f"{solution.path}: {name} is not a variable of the {about}{advice}"
            if re.fullmatch(r"[xC]0*\d+", name):
                said += (
                    "; a name such as this means that the solver could not read the "
                    "names of the LP file: see its messages"
                )
            raise InstanceError(said)
    written = set(program.objective)
    for row in program.rows:
        written.update(row.columns)
    values: dict[int, Number] = {}
    for at, variable in enumerate(program.variables):
        value = solution.values.get(variable.name)
        if value is None and at in written and solution.complete:
            raise InstanceError(
                f"{solution.path}: has no value of {variable.name}, a variable of the "
                f"{about}{advice}"
            )
        if value is None:
            # A variable in no row is in no exported file.
            value = 0.0 if at in written else variable.least
        values[at] = value
        if variable.nature == "whole":
            values[at] = round(value)
            if abs(value - values[at]) > FEASIBILITY:
                raise InstanceError(
                    f"{solution.path}: {variable.name} is {show(value)}, not a whole "
                    "number"
                )
    _require_limits(program, values, solution, about)
    return values


def _require_limits(
    program: Program, values: Mapping[int, Number], solution: Solution, about: str
) -> None:
    """Raise InstanceError for the first limit or row that *values* violate.

    The tolerance is relative to the largest term, because files show six to sixteen
    digits of a value.
    """
    names = [variable.name for variable in program.variables]
    for at, (name, least, most, _) in enumerate(program.variables):
        row = Row(name, (at,), (1,), least, most)
        _require_row(row, names, values, solution, about)
    for row in program.rows:
        _require_row(row, names, values, solution, about)


def _require_row(
    row: Row,
    names: Sequence[str],
    values: Mapping[int, Number],
    solution: Solution,
    about: str,
) -> None:
    """Raise InstanceError if *values* of the variables with *names* violate the row."""
    terms = [factor * values[at] for at, factor in row.terms]
    total = sum(terms)
    limits = [limit for limit in (row.least, row.most) if limit is not None]
    slack = FEASIBILITY * max(1, *map(abs, [*terms, *limits]))
    wanted = ""
    if row.least is not None and total < row.least - slack:
        wanted = f"at least {show(row.least)}"
    if row.most is not None and total > row.most + slack:
        wanted = f"at most {show(row.most)}"
    if wanted and row.least == row.most:
        wanted = show(row.most)
    if wanted:
        told = _sum_told([(factor, names[at]) for at, factor in row.terms])
        row_name = "" if told == row.name else f"{row.name}: "
        raise InstanceError(
            f"{solution.path}: {row_name}{told} is {show(total)} and must be {wanted} "
            f"in the {about}"
        )


def _sum_told(terms: Sequence[tuple[Number, str]]) -> str:
    """Return a weighted sum of variables as text; only the first of many terms.

    >>> _sum_told([(1, "x"), (-2, "y"), (1, "z")])
    'x - 2 y + z'
    """
    text = ""
    for factor, name in terms[:MOST_TERMS]:
        weight = "" if abs(factor) == 1 else f"{show(abs(factor))} "
        sign = "-" if factor < 0 else "+"
        text += f" {sign} {weight}{name}"
    more = len(terms) - MOST_TERMS
    text = text.removeprefix(" + ").strip()
    return f"{text} and {counted(more, 'more term')}" if more > 0 else text


def _require_objective(
    solution: Solution, kind: Kind, exported: ExportedModel, result: Result, about: str
) -> None:
    """Raise InstanceError if the file calls an objective optimal that is worse than
    that of its own plan: it then belongs to another instance or model.
    """
    stated = solution.objective
    if stated is None or result.objective is None or not solution.says_optimal:
        return
    value = result.objective / exported.per_unit
    worse = stated - value
    if kind.metric(exported.objective).sense == "max":
        worse = value - stated
    if worse > PROGRAMS_GAP * abs(value):
        raise InstanceError(
            f"{solution.path}: calls the objective {show(stated)} optimal, but its "
            f"plan reaches {show(value)}, so it is not of the {about}"
        )
