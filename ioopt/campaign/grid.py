"""A sweep's configuration (docs/campaigns.md): instances x solvers x seeds x repeats.

A list in ``set`` expands to the grid; each point has a stable key.
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
from ioopt.catalog import bundled
from ioopt.errors import InstanceError, UsageError
from ioopt.families import Kind
from ioopt.formats.native import dump_json, read_toml, validate
from ioopt.options import DEFAULT_TIME_LIMIT_SECONDS, parse_settings
from ioopt.problems.base import Json, Record
from ioopt.registry import measures_of
from ioopt.solving import load, problem_from_dict
from ioopt.version import __version__

Scalar = bool | int | float | str


class InstanceEntry(Record):
    """One ``[[instances]]`` table: exactly one of ``path``,
    ``bundled`` and ``generate``.
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
    """One ``[[solvers]]`` table."""

    name: str
    settings: dict[str, Scalar | list[Scalar]] = Field(
        default_factory=dict, alias="set"
    )
    seeds: tuple[int, ...] = (0,)
    backend: str | None = None


class Config(Record):
    """A whole CONFIG.toml."""

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
    """An instance of the grid: its text when it was a file, else how to generate it.

    ``digest`` is the SHA-256 of the content (of the recipe and version when it is
    generated, from which the content follows), so that a renamed file keeps its points.
    """

    name: str = field(compare=False)
    kind: str
    digest: str
    text: str | None = field(default=None, compare=False)
    recipe: Mapping[str, Any] | None = field(default=None, compare=False)
    labels: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def problem(self) -> Any:
        """Read or generate the problem."""
        if self.text is not None:
            return problem_from_dict(json.loads(self.text), self.name)
        assert self.recipe is not None
        return registry.generate(registry.KINDS[self.kind], **self.recipe)


@dataclass(frozen=True)
class Point:
    """One solve of the grid. ``key`` is stable over sessions and machines."""

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
    """All points of a sweep in order, and the instances they refer to by digest."""

    points: tuple[Point, ...]
    sources: Mapping[str, Source]
    config: Config


def read_config(path: str) -> Config:
    """Parse CONFIG.toml; InstanceError names the file and the key
    or line that is wrong.
    """
    config: Config = validate(Config, read_toml(path), path)
    for k, entry in enumerate(config.instances):
        given = [
            name for name in ("path", "bundled", "generate") if getattr(entry, name)
        ]
        if len(given) != 1:
            raise InstanceError(
                f"{path}: instances[{k}]: give exactly one of path, bundled, generate, "
                f"not {' and '.join(given) or 'none'}"
            )
    return config


def build_grid(config: Config, folder: str = ".") -> Grid:
    """Every instance meets every solver of its family; UsageError for names or
    settings that do not exist.
    """
    sources = {
        source.digest: source
        for entry in config.instances
        for source in _sources(entry, folder)
    }
    points: dict[str, Point] = {}
    used: set[str] = set()
    by = measures_of((registry.KINDS[s.kind] for s in sources.values()), config.measure)
    for source in sources.values():
        kind = registry.KINDS[source.kind]
        for entry in config.solvers:
            if _serves(entry.name, kind):
                used.add(entry.name)
                for point in _points(config, source, kind, entry, by[kind.kind].name):
                    points.setdefault(point.key, point)
    for entry in config.solvers:
        if entry.name not in used:
            kinds = ", ".join(dict.fromkeys(source.kind for source in sources.values()))
            raise UsageError(
                f"solver {entry.name!r} takes none of the sweep's instances ({kinds})"
            )
    return Grid(tuple(points.values()), sources, config)


def _serves(name: str, kind: Kind) -> bool:
    if ":" in name:
        return True
    known = [spec for spec in registry.SOLVERS if spec.name == name]
    if not known:
        registry.solver(name, kind)  # raises, with the nearest name
    return any(kind.kind in spec.kinds for spec in known)


def _points(
    config: Config, source: Source, kind: Kind, entry: SolverEntry, measure: str
) -> Iterator[Point]:
    """The points of one instance and solver: settings x seeds x repeats."""
    spec = registry.solver(entry.name, kind)
    for settings in _expand(entry.settings):
        registry.settings_for(spec, settings)
        for seed, repeat in itertools.product(entry.seeds, range(config.repeats)):
            identity = [
                source.digest,
                entry.name,
                settings,
                entry.backend,
                seed,
                repeat,
                config.time_limit,
                config.threads,
                measure,
                __version__,
            ]
            yield Point(
                content_key(identity),
                source.digest,
                entry.name,
                settings,
                entry.backend,
                seed,
                repeat,
                config.time_limit,
                config.threads,
                config.hard_limit,
                measure,
            )


def content_key(value: object) -> str:
    """SHA-256 of a value's JSON, the same on every machine."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _expand(settings: Mapping[str, Any]) -> Iterator[Json]:
    """The product of all list values, in the order in which the keys are written."""
    choices = [
        value if isinstance(value, list) else [value] for value in settings.values()
    ]
    for values in itertools.product(*choices):
        yield dict(zip(settings, values))


def _sources(entry: InstanceEntry, folder: str) -> Iterator[Source]:
    """The instances of one table: files that match, a bundled
    one, or generated ones.
    """
    if entry.generate is not None:
        yield from _generated(entry)
        return
    if entry.bundled is not None:
        paths = [bundled(entry.bundled)["path"]]
    else:
        pattern = os.path.join(folder, entry.path or "")
        paths = sorted(glob.glob(pattern, recursive=True))
        if not paths:
            raise InstanceError(
                f"{entry.path}: no such file, and the pattern matches nothing"
            )
    for path in paths:
        problem = load(path)
        text = dump_json(problem.model_dump(mode="json", by_alias=True), indent=None)
        digest = hashlib.sha256(text.encode()).hexdigest()
        name = problem.name if problem.name != "unnamed" else Path(path).stem
        yield Source(name, registry.kind_of_problem(problem).kind, digest, text=text)


def _generated(entry: InstanceEntry) -> Iterator[Source]:
    """One instance for each combination of settings and each seed."""
    kind = registry.decided(registry.generator_of(entry.generate or ""))
    for settings in _expand(entry.settings):
        # Refused here, not once a point on the workers.
        if entry.preset is not None and entry.preset in kind.presets:
            parse_settings(
                kind.presets[entry.preset], settings, f"preset {entry.preset}"
            )
        # the generator knows its default preset, and the message for an unknown one
        else:
            registry.generate(kind, entry.preset, settings, 0)
        for seed in entry.seeds:
            words = [f"{key}={value}" for key, value in settings.items()]
            name = "-".join([entry.preset or kind.kind, *words, f"seed={seed}"])
            recipe = {"preset": entry.preset, "settings": settings, "seed": seed}
            digest = content_key([kind.kind, recipe, __version__])
            labels = {"preset": entry.preset, **settings}
            yield Source(name, kind.kind, digest, recipe=recipe, labels=labels)
