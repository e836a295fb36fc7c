"""Read the library: instances of all families, each with its best known plan.

Each instance is one JSON file. It has the recipe to generate the instance again, the
measure, the best value, a proven bound, the plan, and the history of best values. The
package contains the folder ``instances/library``. A second folder belongs to the user.
It is named by ``--library`` or else by ``IOOPT_LIBRARY``; otherwise it is the folder of
the checkout or, without a checkout, one in the user's data folder. Entries are written
by ``scripts/tools/library.py`` of a checkout.

Files published by others are not copied. An entry names such a file, which is looked
for in the folders of ``IOOPT_SOURCES`` and in the folder ``sources`` of the library.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ioopt import catalog, registry
from ioopt.errors import UsageError
from ioopt.formats.cluster import Machine
from ioopt.formats.native import read_json, reading, validate
from ioopt.loading import load
from ioopt.options import parse_settings, suggest
from ioopt.problems.base import Json, Problem, Record
from ioopt.registry import measure_of
from ioopt.result import OPTIMAL_RELATIVE_GAP

FOLDER_VARIABLE = "IOOPT_LIBRARY"
SOURCES_VARIABLE = "IOOPT_SOURCES"


class Source(Record):
    """A file published by others: its name, address, licence and digest, and the
    importer that reads it.
    """

    file: str
    address: str
    licence: str
    sha256: str
    importer: Literal["estee", "saga", "wfformat"]

    def _reader(self) -> Callable[..., Any]:
        """Return the function that reads the file in the format named by
        ``importer``.
        """
        if self.importer == "estee":
            from ioopt.formats.estee.instance import read_estee

            return read_estee
        if self.importer == "saga":
            from ioopt.formats.saga.instance import read_saga

            return read_saga
        from ioopt.formats.wfformat.instance import read_wfformat

        return read_wfformat

    def problem(self, settings: Json, folder: str | None) -> Problem:
        """Return the instance that the importer builds from the file with *settings*.

        The file is looked for in ``IOOPT_SOURCES`` and in the library *folder*. Raises
        UsageError when it is missing or has another digest.
        """
        own = writable_folder(folder) / "sources"
        named = [*os.environ.get(SOURCES_VARIABLE, "").split(os.pathsep), str(own)]
        paths = [Path(place, self.file) for place in named if place]
        path = next((path for path in paths if path.is_file()), None)
        if path is None:
            raise UsageError(
                f"{self.file} is not here: save {self.address} as {own / self.file} "
                f"or into {SOURCES_VARIABLE}"
            )
        if hashlib.sha256(path.read_bytes()).hexdigest() != self.sha256:
            raise UsageError(
                f"{path}: is not the file of {self.address}: its SHA-256 differs"
            )
        reader = self._reader()
        with reading(str(path)):
            machine = parse_settings(Machine, settings["machine"], "machine")
            made = reader(str(path), **settings | {"machine": machine})
        # The importer of Estee returns the actual times as well.
        problem: Problem = made[0] if isinstance(made, tuple) else made
        # The importer states the path of the local file; state the published address
        # instead.
        meta = {"source": self.address, "licence": self.licence}
        return problem.model_copy(update={"meta": meta})


class Recipe(Record):
    """The recipe of an instance: the name of a bundled instance, a file published by
    others, or a preset with its settings and seed.
    """

    bundled: str | None = None
    source: Source | None = None
    preset: str | None = None
    settings: Json = Field(default_factory=dict)
    seed: int = 0


class Found(Record):
    """A best value and its bound, and the run that found them."""

    best: float
    bound: float | None = None
    solver: str
    seed: int | None = None
    settings: Json = Field(default_factory=dict)
    time_limit_seconds: float | None = None
    version: str
    date: str | None = None


class Entry(Record):
    """An instance with its best known plan.

    The last item of ``history`` is the best value, and ``plan`` belongs to it.
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
        """Return the best known value, with the run that found it."""
        return self.history[-1]

    @property
    def sense(self) -> Literal["min", "max"]:
        """Return ``min`` or ``max``: whether less or more of the measure is better."""
        return measure_of(registry.KINDS[self.kind], self.measure).sense

    def problem(self, folder: str | None = None) -> Problem:
        """Generate or read the instance again; files published by others are looked for
        in *folder*.

        Raises UsageError when such a file is missing.
        """
        recipe = self.recipe
        if recipe.source is not None:
            return recipe.source.problem(recipe.settings, folder)
        if recipe.bundled is not None:
            bundled: Problem = load(recipe.bundled)
            return bundled
        kind = registry.KINDS[self.kind]
        made: Problem = registry.generate(
            kind, recipe.preset, recipe.settings, recipe.seed
        )
        return made

    def betters(self, value: float) -> bool:
        """Return whether *value* is better than the best known value by more than
        rounding errors.
        """
        gained = self.best.best - value
        if self.sense == "max":
            gained = -gained
        return gained > OPTIMAL_RELATIVE_GAP * max(abs(value), abs(self.best.best))


def bundled_folder() -> Path:
    """Return the folder of the entries that come with the package."""
    return catalog.root() / "library"


def writable_folder(given: str | None = None) -> Path:
    """Return the folder of the user's own entries.

    It is *given*, else the folder in ``IOOPT_LIBRARY``, else the bundled folder of a
    checkout, else a folder in the user's data folder.
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
    """Return all entries, keyed by name. If the package and the user's folder both have
    an entry, the better one is returned.

    Raises InstanceError for a file that is not an entry.
    """
    found: dict[str, Entry] = {}
    for place in dict.fromkeys((bundled_folder(), writable_folder(folder))):
        for path in sorted(place.glob("*.json")):
            if not path.is_file():  # reading a FIFO would wait for its writer
                continue
            entry: Entry = validate(Entry, read_json(path), str(path))
            known = found.get(entry.name)
            if known is None or known.betters(entry.best.best):
                found[entry.name] = entry
    return found


def entry_of(source: str, folder: str | None = None) -> Entry:
    """Return the entry called *source*, or the entry for the instance in the file
    *source*.

    Raises UsageError if the library has no such entry.
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
