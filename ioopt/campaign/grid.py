"""The configuration of a sweep (docs/campaigns.md), and the grid of points that it
describes.

The grid contains all combinations of instances, solvers, seeds and repeats. A list in
``set`` stands for each of its values. Each point has a key that is the same on every
machine.
"""

import glob
import hashlib
import itertools
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from ioopt import registry
from ioopt.catalog import bundled, with_folders_opened
from ioopt.errors import InstanceError, UsageError
from ioopt.families import Kind
from ioopt.formats.native import dump_json, read_toml, validate
from ioopt.loading import load, problem_from_dict
from ioopt.options import DEFAULT_TIME_LIMIT_SECONDS, parse_settings
from ioopt.problems.base import Json, Record
from ioopt.registry import measures_of
from ioopt.version import __version__

Scalar = bool | int | float | str


class InstanceEntry(Record):
    """One table ``[[instances]]`` of the configuration. It has exactly one of the keys
    ``path``, ``bundled`` and ``generate``.
    """

    path: str | None = None
    bundled: str | None = None
    generate: str | None = None
    preset: str | None = None
    settings: dict[str, Scalar | list[Scalar]] = Field(
        default_factory=dict, alias="set"
    )
    seeds: tuple[int, ...] = (0,)


class SolverEntry(Record):
    """One table ``[[solvers]]`` of the configuration."""

    name: str
    settings: dict[str, Scalar | list[Scalar]] = Field(
        default_factory=dict, alias="set"
    )
    seeds: tuple[int, ...] = (0,)
    backend: str | None = None


class Config(Record):
    """The contents of a configuration file CONFIG.toml."""

    time_limit: float = Field(default=DEFAULT_TIME_LIMIT_SECONDS, gt=0)
    hard_limit: float | None = Field(default=None, gt=0)
    memory_limit: str | None = None
    threads: int = Field(default=1, ge=1)
    repeats: int = Field(default=1, ge=1)
    measure: str | None = None
    instances: tuple[InstanceEntry, ...] = Field(min_length=1)
    solvers: tuple[SolverEntry, ...] = Field(min_length=1)


@dataclass(frozen=True)
class Source:
    """An instance of the grid: the text of its file, or the recipe to generate it.

    ``digest`` is that of the instance, or the SHA-256 of the recipe and the version of
    ioopt. The points of an instance therefore stay the same when its file is renamed.
    """

    name: str = field(compare=False)
    kind: str
    digest: str
    text: str | None = field(default=None, compare=False)
    recipe: Mapping[str, Any] | None = field(default=None, compare=False)
    labels: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def problem(self) -> Any:
        """Read or generate the instance."""
        if self.text is not None:
            return problem_from_dict(json.loads(self.text), self.name)
        assert self.recipe is not None
        return registry.generate(registry.KINDS[self.kind], **self.recipe)


@dataclass(frozen=True)
class Point:
    """One run of one solver on one instance. ``key`` identifies the run in every
    session and on every machine.
    """

    key: str
    source: str
    solver: str
    settings: Mapping[str, Any]
    backend: str | None
    seed: int
    repeat: int
    time_limit: float
    threads: int
    hard_limit: float | None
    measure: str | None = None


@dataclass(frozen=True)
class Grid:
    """All points of a sweep in order, and their instances, keyed by digest."""

    points: tuple[Point, ...]
    sources: Mapping[str, Source]
    config: Config

    @property
    def digest(self) -> str:
        """Return a hash of all points in order, which is the same for every part of the
        sweep.
        """
        return content_key([point.key for point in self.points])

    def part(self, number: int, count: int) -> tuple[Point, ...]:
        """Return every *count*-th point, beginning with point *number* (counted from
        1).

        The parts 1 to *count* are disjoint and together contain all points.
        """
        return self.points[number - 1 :: count]


def read_config(path: str) -> Config:
    """Read CONFIG.toml; raise InstanceError, which names the file and the key or line
    at fault.
    """
    config: Config = validate(Config, read_toml(path), path)
    for k, entry in enumerate(config.instances):
        choices = ("path", "bundled", "generate")
        given = [name for name in choices if getattr(entry, name)]
        if len(given) != 1:
            raise InstanceError(
                f"{path}: instances[{k}]: give exactly one of path, bundled, generate, "
                f"not {' and '.join(given) or 'none'}"
            )
    return config


def build_grid(config: Config, folder: str = ".") -> Grid:
    """Pair every instance with every solver of its family.

    Relative paths of instances start at *folder*. Raises UsageError for unknown names
    or settings, and for a solver that takes none of the instances.
    """
    sources: dict[str, Source] = {}
    for instance in config.instances:
        for source in _sources(instance, folder):
            sources[source.digest] = source
    kinds = [registry.KINDS[source.kind] for source in sources.values()]
    measures = measures_of(kinds, config.measure)
    points: dict[str, Point] = {}
    used: set[str] = set()
    for source in sources.values():
        kind = registry.KINDS[source.kind]
        measure = measures[kind.kind].name
        for solver in config.solvers:
            if not _serves(solver.name, kind):
                continue
            used.add(solver.name)
            for point in _points(config, source, kind, solver, measure):
                points.setdefault(point.key, point)
    for solver in config.solvers:
        if solver.name not in used:
            names = ", ".join(dict.fromkeys(kind.kind for kind in kinds))
            raise UsageError(
                f"solver {solver.name!r} takes none of the sweep's instances ({names})"
            )
    return Grid(tuple(points.values()), sources, config)


def _serves(name: str, kind: Kind) -> bool:
    """Return whether the solver *name* takes instances of *kind*; a user's own solver
    takes every kind.
    """
    if ":" in name:
        return True
    known = [spec for spec in registry.SOLVERS if spec.name == name]
    if not known:
        registry.solver(name, kind)  # raises an error that suggests the nearest name
    return any(kind.kind in spec.kinds for spec in known)


def _points(
    config: Config, source: Source, kind: Kind, solver: SolverEntry, measure: str
) -> Iterator[Point]:
    """Yield the points of one instance and one solver: all combinations of settings,
    seeds and repeats.
    """
    spec = registry.solver(solver.name, kind)
    backend = registry.backend_of(spec, solver.backend)
    for settings in _expand(solver.settings):
        registry.settings_for(spec, settings)
        for seed, repeat in itertools.product(solver.seeds, range(config.repeats)):
            identity = [
                source.digest,
                solver.name,
                settings,
                backend,
                seed,
                repeat,
                config.time_limit,
                config.threads,
                measure,
                __version__,
            ]
            yield Point(
                key=content_key(identity),
                source=source.digest,
                solver=solver.name,
                settings=settings,
                backend=backend,
                seed=seed,
                repeat=repeat,
                time_limit=config.time_limit,
                threads=config.threads,
                hard_limit=config.hard_limit,
                measure=measure,
            )


def content_key(value: object) -> str:
    """Return the SHA-256 of the JSON text of *value*, which is the same on every
    machine.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _expand(settings: Mapping[str, object]) -> Iterator[Json]:
    """Yield all combinations of the values in lists; the last key varies fastest."""
    choices = []
    for value in settings.values():
        choices.append(value if isinstance(value, list) else [value])
    for values in itertools.product(*choices):
        yield dict(zip(settings, values))


def _sources(entry: InstanceEntry, folder: str) -> Iterator[Source]:
    """Yield the instances of one table ``[[instances]]``: files, a bundled instance, or
    generated ones.
    """
    if entry.generate is not None:
        yield from _generated(entry)
        return
    if entry.bundled is not None:
        paths = [bundled(entry.bundled)["path"]]
    else:
        pattern = os.path.join(folder, entry.path or "")
        found = sorted(glob.glob(pattern, recursive=True))
        paths = list(with_folders_opened(found))
        if not paths:
            raise InstanceError(
                f"{entry.path}: no such file, and the pattern matches nothing"
            )
    for path in paths:
        problem = load(path)
        text = dump_json(problem.model_dump(mode="json", by_alias=True), indent=None)
        name = problem.name
        if name == "unnamed":
            name = Path(path).stem
        kind = registry.kind_of_problem(problem).kind
        labels = _labels(problem.meta or {})
        yield Source(name, kind, problem.digest, text=text, labels=labels)


def _labels(meta: Json) -> Json:
    """Return preset, settings and seed with which an instance was generated, as far as
    its *meta* states them.
    """
    found = {"preset": meta.get("preset"), **meta.get("settings", {})}
    found["seed"] = meta.get("seed")
    return {key: value for key, value in found.items() if value is not None}


def _generated(entry: InstanceEntry) -> Iterator[Source]:
    """Yield one generated instance for each combination of settings and each seed."""
    kind = registry.decided(registry.generator_of(entry.generate or ""))
    for settings in _expand(entry.settings):
        # Refuse wrong settings here, before the workers meet them in every single
        # point.
        read = settings
        if entry.preset is not None and entry.preset in kind.presets:
            preset = kind.presets[entry.preset]
            parsed = parse_settings(preset, settings, f"preset {entry.preset}")
            read = parsed.model_dump(mode="json")
        else:
            # The generator has a default preset, and reports an unknown one.
            registry.generate(kind, entry.preset, settings, 0)
        for seed in entry.seeds:
            words = [f"{key}={value}" for key, value in settings.items()]
            name = "-".join([entry.preset or kind.kind, *words, f"seed={seed}"])
            recipe = {"preset": entry.preset, "settings": settings, "seed": seed}
            digest = content_key([kind.kind, recipe, __version__])
            labels = {"preset": entry.preset, **read, "seed": seed}
            yield Source(name, kind.kind, digest, recipe=recipe, labels=labels)
