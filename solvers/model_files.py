"""Describe the integer programs that can be exported, and write them as LP and MPS
files with readable names.

Comments at the top of a file say which model of which instance it is, so that
``ioopt import sol`` can read its solution back.
"""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ioopt.errors import InstanceError, UsageError
from ioopt.formats.native import dump_json, parse_json, read_text, write_text
from ioopt.models.program import Number, Program
from ioopt.options import parse_settings, suggest
from ioopt.problems.base import Json, Problem, Record
from ioopt.protocols import Outcome
from ioopt.solvers.backends.pulp_program import to_pulp

if TYPE_CHECKING:
    from pulp import LpProblem

ProblemT = TypeVar("ProblemT")
SettingsT = TypeVar("SettingsT", bound=Record)
Values = Mapping[int, Number]
"""Values of the variables of a program, by position."""


@dataclass(frozen=True)
class ExportedModel:
    """The program of an instance, and how a solution of it becomes a plan.

    ``outcome`` takes the values of the variables by position, whole ones as integers.
    ``objective`` is the metric that the program optimises, and ``per_unit`` the value
    of the metric for 1 of the program's objective. ``relaxed`` is empty, or says of a
    program that also has solutions that no plan can carry out, so that bounds of plans
    do not hold for it, what is proven of it and where.
    ``unsolvable`` says why the program has no solution, as far as that is known.
    ``prove`` returns an outcome with a stronger bound, after a short proof.
    """

    program: Program
    outcome: Callable[[Values], Outcome[Any]]
    objective: str
    relaxed: str = ""
    per_unit: float = 1.0
    unsolvable: str | None = None
    prove: Callable[[Outcome[Any]], Outcome[Any]] | None = None


class NoSettings(Record):
    """Accept no settings, because the instance has only one program."""


@dataclass(frozen=True)
class ModelSpec(Generic[ProblemT, SettingsT]):
    """A model that ``ioopt export`` writes for instances of one kind.

    ``build`` makes the program from the instance and the settings.
    """

    name: str
    settings: type[SettingsT]
    build: Callable[[ProblemT, SettingsT], ExportedModel]


Models = Sequence[ModelSpec[Any, Any]]
"""The models of a kind; the first is the default."""


class Header(NamedTuple):
    """The comments of an exported file: which model it is, of which instance."""

    instance: str
    digest: str
    model: str
    settings: Json

    def lines(self, mark: str) -> str:
        """Return the comments as lines that begin with *mark*."""
        rows = [f"{mark} Written by ioopt export; ioopt import sol reads these lines."]
        for name, value in self._asdict().items():
            rows.append(f"{mark} {name}: {json.dumps(value)}")
        return "\n".join([*rows, ""])

    def describe(self) -> str:
        """Return the model with its settings, for messages."""
        words = [f"model {self.model!r}"]
        for key, value in self.settings.items():
            words.append(f"{key}={json.dumps(value)}".replace('"', ""))
        return " ".join([*words, f"of {self.instance}"])


def digest(problem: Problem) -> str:
    """Return a short digest of an instance; its ``meta`` does not count."""
    data = problem.model_dump(mode="json", by_alias=True, exclude={"meta"})
    text = dump_json(data, indent=None)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def spec_of(models: Models, name: str | None) -> ModelSpec[Any, Any]:
    """Return the model called *name* (None: the default); raise UsageError if there is
    none.
    """
    for spec in models:
        if name in (None, spec.name):
            return spec
    known = [spec.name for spec in models]
    raise UsageError(f"--model {name}: no such model; {suggest(str(name), known)}")


def build(
    problem: Problem,
    spec: ModelSpec[Any, Any],
    settings: Mapping[str, object],
    what: str,
) -> tuple[ExportedModel, Header]:
    """Return the model of *problem* and its header; messages call the request *what*.

    Raise UsageError for settings that the model does not have.
    """
    chosen = parse_settings(spec.settings, settings, what)
    told = chosen.model_dump(mode="json")
    header = Header(problem.name, digest(problem), spec.name, told)
    return spec.build(problem, chosen), header


def write_model(
    program: Program,
    header: Header,
    path: str | os.PathLike[str],
    form: str | None = None,
) -> None:
    """Write *program* as ``lp`` (CPLEX LP) or ``mps``; by default the suffix of *path*
    decides.

    The file appears only when it is complete; ``-`` is standard output. Raise
    UsageError for another form or suffix.
    """
    suffix = Path(path).suffix.lower().lstrip(".")
    chosen = form or suffix
    if chosen not in FORMS:
        raise UsageError(
            f"{path}: the form of a model is lp or mps, not {chosen!r}; give a name "
            "that ends in .lp or .mps"
        )
    if suffix in FORMS and suffix != chosen:
        raise UsageError(f"{chosen} export: the name {path!r} must end in .{chosen}")
    write_text(path, model_text(program, header, chosen))


def model_text(program: Program, header: Header, form: str) -> str:
    """Return *program* in the form ``lp`` or ``mps``, after the comments of
    *header*.
    """
    lp, _ = to_pulp(program.in_seconds())
    return header.lines(FORMS[form]) + text_of(lp, form)


def text_of(lp: "LpProblem", form: str) -> str:
    """Return a PuLP problem in the form ``lp`` or ``mps``."""
    with tempfile.TemporaryDirectory(prefix="ioopt-export-") as folder:
        draft = Path(folder, f"model.{form}")
        if form == "lp":
            lp.writeLP(str(draft))
        else:
            lp.writeMPS(str(draft), with_objsense=lp.sense < 0)  # LpMaximize
        return draft.read_text("utf-8")


FORMS = {"lp": "\\", "mps": "*"}
"""Forms of exported files -> what begins a comment."""


def read_header(path: str) -> tuple[Header, str]:
    """Return the header of the exported file *path*, and the rest of its text.

    Raise InstanceError if it has none.
    """
    rest: list[str] = []
    found: Json = {}
    for line in read_text(path).splitlines():
        if not line.startswith(tuple(FORMS.values())):
            rest.append(line)
            continue
        stated = re.match(r". (\w+): (.*)$", line)
        if stated is not None and stated[1] in Header._fields:
            found[stated[1]] = parse_json(stated[2], f"{path}: comment {stated[1]}")
    if found.keys() != set(Header._fields) or not isinstance(found["settings"], dict):
        raise InstanceError(
            f"{path}: lacks the comments of ioopt export, which name the instance, the "
            "model and its settings; export the model again"
        )
    return Header(**found), "\n".join(rest)


def numbered_names(text: str, program: Program) -> list[str]:
    """Return the variables of *program* in the order in which GLPK and HiGHS number the
    columns of an LP or MPS file with *text*: that of their first appearance.
    """
    known = {variable.name for variable in program.variables}
    return list(dict.fromkeys(word for word in text.split() if word in known))
