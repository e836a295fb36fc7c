"""The library: instances of all families with the best plan known of each,
and how it was found.

One JSON file an instance: how to make it again, the measure, the best value, a proven
bound, the plan and the history. Bundled ones stand in ``instances/library``; a user's
folder (``--library``, ``IOOPT_LIBRARY``, else of the checkout, else of the user's data)
is read beside them and written.

Files of others stay where they are published: an entry names one, and reads it from a
folder of ``IOOPT_SOURCES`` or the folder ``sources`` of the library.
"""

import datetime
import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ioopt import catalog, registry
from ioopt.checking import judge, replayed
from ioopt.errors import InstanceError, UsageError
from ioopt.families import REFERENCE
from ioopt.formats.cluster import Machine
from ioopt.formats.native import dump_json, read_json, reading, validate, write_text
from ioopt.options import parse_settings, suggest
from ioopt.problems.base import Json, Problem, Record
from ioopt.protocols import CheckReport
from ioopt.registry import measure_of
from ioopt.result import OPTIMAL_RELATIVE_GAP, Violation
from ioopt.solving import beyond, check_plan, load, plan_in, plan_of
from ioopt.verdict import checked_value, past_bound
from ioopt.version import __version__

FOLDER_VARIABLE, SOURCES_VARIABLE = "IOOPT_LIBRARY", "IOOPT_SOURCES"


class Source(Record):
    """A published file: its name here, its address, licence and
    digest, and who reads it.
    """

    file: str
    address: str
    licence: str
    sha256: str
    importer: Literal["estee", "saga", "wfformat"]

    def _reader(self) -> Callable[..., Any]:
        """Return the function that reads files of the importer."""
        if self.importer == "estee":
            from ioopt.formats.estee.instance import read_estee

            return read_estee
        if self.importer == "saga":
            from ioopt.formats.saga.instance import read_saga

            return read_saga
        from ioopt.formats.wfformat.instance import read_wfformat

        return read_wfformat

    def problem(self, settings: Json, folder: str | None) -> Any:
        """The instance, by *settings* of the importer; UsageError without the
        file or for another.
        """
        own = writable_folder(folder) / "sources"
        named = [*os.environ.get(SOURCES_VARIABLE, "").split(os.pathsep), str(own)]
        paths = [Path(place, self.file) for place in named if place]
        path = next((path for path in paths if path.is_file()), None)
        if path is None:
            wanted = (
                f"save {self.address} as {own / self.file} or into {SOURCES_VARIABLE}"
            )
            raise UsageError(f"{self.file} is not here: {wanted}")
        if hashlib.sha256(path.read_bytes()).hexdigest() != self.sha256:
            raise UsageError(
                f"{path}: is not the file of {self.address}: its SHA-256 is another"
            )
        reader = self._reader()
        with reading(str(path)):
            machine = parse_settings(Machine, settings["machine"], "machine")
            made = reader(str(path), **settings | {"machine": machine})
        problem = (
            made[0] if isinstance(made, tuple) else made
        )  # Estee's has actual times beside it
        meta = {
            "source": self.address,
            "licence": self.licence,
        }  # its own names the path
        return problem.model_copy(update={"meta": meta})


class Recipe(Record):
    """How to make the instance: a bundled one, a file of others, or a preset;
    with settings and seed.
    """

    bundled: str | None = None
    source: Source | None = None
    preset: str | None = None
    settings: Json = Field(default_factory=dict)
    seed: int = 0


class Found(Record):
    """A best value, and who found it."""

    best: float
    bound: float | None = None
    solver: str
    seed: int | None = None
    settings: Json = Field(default_factory=dict)
    time_limit_seconds: float | None = None
    version: str
    date: str | None = None


class Entry(Record):
    """An instance with what is known of it; the last of ``history`` is the best,
    and ``plan`` its plan.
    """

    format: Literal["ioopt/best-known"] = "ioopt/best-known"
    version: Literal[1] = 1
    name: str
    kind: str
    recipe: Recipe
    measure: str
    plan: Json
    history: tuple[Found, ...] = Field(min_length=1)

    @property
    def best(self) -> Found:
        """The best that is known."""
        return self.history[-1]

    @property
    def sense(self) -> Literal["min", "max"]:
        """Whether less or more of the measure is better: ``min`` or ``max``."""
        return measure_of(registry.KINDS[self.kind], self.measure).sense

    def problem(self, folder: str | None = None) -> Any:
        """The instance, made anew; UsageError where it is of a file that is not
        here (nor in *folder*).
        """
        recipe = self.recipe
        if recipe.source is not None:
            return recipe.source.problem(recipe.settings, folder)
        if recipe.bundled is not None:
            return load(recipe.bundled)
        kind = registry.KINDS[self.kind]
        return registry.generate(kind, recipe.preset, recipe.settings, recipe.seed)

    def betters(self, value: float) -> bool:
        """Whether *value* is better than the best by more than rounding."""
        gained = (
            value - self.best.best if self.sense == "max" else self.best.best - value
        )
        return gained > OPTIMAL_RELATIVE_GAP * max(abs(value), abs(self.best.best))


def bundled_folder() -> Path:
    """Where the entries that come with the package stand."""
    return catalog.root() / "library"


def writable_folder(given: str | None = None) -> Path:
    """Where a better plan is written: *given*, the environment's, the
    checkout's, or the user's.
    """
    chosen = given or os.environ.get(FOLDER_VARIABLE)
    if chosen:
        return Path(chosen)
    here = bundled_folder()
    if (here.resolve().parents[1] / "pyproject.toml").is_file():
        return here
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "ioopt" / "library"


def entries(folder: str | None = None) -> dict[str, Entry]:
    """All entries by name, of two with one name the better; InstanceError for
    a file that is none.
    """
    found: dict[str, Entry] = {}
    for place in dict.fromkeys((bundled_folder(), writable_folder(folder))):
        for path in sorted(place.glob("*.json")):
            if not path.is_file():  # a FIFO would be waited for
                continue
            entry: Entry = validate(Entry, read_json(path), str(path))
            known = found.get(entry.name)
            if known is None or known.betters(entry.best.best):
                found[entry.name] = entry
    return found


def entry_of(source: str, folder: str | None = None) -> Entry:
    """The entry called *source*, or of the instance in that file; UsageError
    where there is none.
    """
    known = entries(folder)
    if source in known:
        return known[source]
    if source != "-" and not os.path.exists(source) and source not in catalog.entries():
        raise UsageError(f"the library has no {source!r}; {suggest(source, known)}")
    problem = load(source)
    kind = registry.kind_of_problem(problem).kind
    for entry in known.values():
        given = entry.recipe.source
        alike = given is None or given.address == (problem.meta or {}).get("source")
        if alike and entry.kind == kind and entry.problem(folder) == problem:
            return entry
    raise UsageError(
        f"{source}: the library has no such instance (see `ioopt instances best`)"
    )


def report_of(problem: Problem, plan: object) -> CheckReport:
    """What the checker says of a plan and of its replay, and their measures."""
    kind = registry.kind_of_problem(problem)
    plan = plan_of(kind, plan)
    if not kind.simulates:
        return check_plan(kind, problem, plan, None)
    return replayed(kind, problem, plan, None, CheckReport(()))


def submit(
    entry: Entry, result: Mapping[str, Any], name: str, folder: str | None = None
) -> tuple[Entry, list[Violation]]:
    """Check *result* (called *name*) for *entry*; without violations
    write the new entry.

    The value is that of a replay of the plan, whatever the result states. Raises
    UsageError for a plan that is not better, of a solver that breaks a rule of the
    machine, or of another question.
    """
    problem, plan = entry.problem(folder), plan_in(result)
    _require_fair(entry, problem, plan, name)
    found = judge(problem, result, name)[0]
    report = report_of(problem, plan) if not found else CheckReport(())
    found += report.violations
    if found:
        return entry, found
    value = checked_value(entry.measure, report)
    if value is None or not entry.betters(value):
        text = f"{entry.measure} {value!r} is not better than {entry.best.best!r}"
        raise UsageError(f"{name}: {entry.name}: {text}")
    past = past_bound(entry.sense, value, entry.best.bound)
    if past is not None:
        text = (
            f"{value!r} passes the proven bound {entry.best.bound!r}: one of them is "
            "wrong"
        )
        return entry, [
            Violation(rule="bound", item=entry.name, message=text, amount=past)
        ]
    options = result.get("options") or {}
    best = Found(
        best=value,
        bound=entry.best.bound,
        solver=result.get("solver") or "by hand",
        seed=result.get("seed"),
        settings=options.get("settings") or {},
        time_limit_seconds=options.get("time_limit_seconds"),
        version=(result.get("versions") or {}).get("ioopt", __version__),
        date=datetime.date.today().isoformat(),
    )
    changed = entry.model_copy(update={"plan": plan, "history": (*entry.history, best)})
    write(changed, folder)
    return changed, []


def write(entry: Entry, folder: str | None = None) -> Path:
    """Write *entry* as a whole or not at all; UsageError where something
    else than a file stands.
    """
    place = writable_folder(folder)
    path = place / f"{entry.name}.json"
    if (path.exists() or path.is_symlink()) and (
        path.is_symlink() or not path.is_file()
    ):
        raise UsageError(
            f"{path}: is no regular file; entries are written to regular files alone"
        )
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{place}: cannot be made: {error.strerror}") from None
    data = entry.model_dump(mode="json", exclude_none=True, exclude={"plan"})
    rows = dump_json(data)[:-3] + ',\n "plan": ' + dump_json(entry.plan, None)
    write_text(path, rows + "}\n")
    return path


def _require_fair(entry: Entry, problem: Problem, plan: object, name: str) -> None:
    if not isinstance(plan, Mapping):
        raise InstanceError(f"{name}: holds no plan")
    kind = registry.KINDS[entry.kind]
    for key, value in beyond(kind, problem, plan_of(kind, plan, name), None).items():
        raise UsageError(
            f"{name}: {key}={value!r} is another question than the library's"
        )
    for spec in registry.solvers_for(entry.kind):
        if spec.name == plan.get("policy") and REFERENCE in spec.abilities:
            raise UsageError(
                f"{name}: {spec.name} breaks a rule of the machine; it is a mark only"
            )
