"""Find bundled instances: the files under ``ioopt/instances`` and their catalog
entries.
"""

import json
import os
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from ioopt.errors import InstanceError, UsageError
from ioopt.options import LEFT, nearest, suggest

ENDINGS = (".json", ".json.gz")
"""The endings of the names of instance files in a folder."""


def root() -> Path:
    """Return the folder of bundled instances, which has one subfolder for each
    family.
    """
    return Path(str(resources.files("ioopt"))) / "instances"


@cache
def entries() -> dict[str, dict[str, Any]]:
    """Return the catalog entries of all bundled instances, keyed by the instance's
    name: file, kind, provenance, best known objective and bound.
    """
    found: dict[str, dict[str, Any]] = {}
    for catalog in sorted(root().glob("*/catalog.json")):
        for entry in json.loads(catalog.read_text("utf-8"))["instances"]:
            found[entry["name"]] = {
                **entry,
                "path": str(catalog.parent / entry["file"]),
            }
    return found


def resolve(source: str | os.PathLike[str]) -> str:
    """Return the path of *source*, which is a path or the name of a bundled instance.

    ``-`` (standard input) and existing files are returned unchanged, and so is a name
    that resembles no bundled instance. Raises InstanceError for a name that resembles a
    bundled one, which the message suggests, and for a bundled instance of version 0.2
    that was removed.
    """
    name = os.fspath(source)
    if name == "-" or os.path.exists(name):
        return name
    entry = entries().get(name)
    if entry is not None:
        return str(entry["path"])
    if name in LEFT["instance"]:
        raise InstanceError(f"{name}: {LEFT['instance'][name]}")
    near = nearest(name, entries())
    if near is not None:
        raise InstanceError(
            f"{name}: no such file, and no bundled instance has that name; did "
            f"you mean {near!r}?"
        )
    return name


def with_folders_opened(sources: Sequence[str]) -> tuple[str, ...]:
    """Return *sources* with the files of each folder, sorted by name, in its place.

    Raises InstanceError for a folder that has nothing in it, or anything but ``.json``
    files (``.json.gz``), so that nothing is left out in silence.
    """
    found: list[str] = []
    for source in sources:
        if not os.path.isdir(source):
            found.append(source)
            continue
        inside = sorted(os.listdir(source))
        if not inside:
            raise InstanceError(f"{source}: the folder is empty")
        for name in inside:
            path = os.path.join(source, name)
            if os.path.isdir(path):
                raise InstanceError(
                    f"{path}: a folder in a folder; name the inner folders, as "
                    f"{os.path.join(source, '*')}"
                )
            if not name.endswith(ENDINGS):
                raise InstanceError(
                    f"{path}: no instance file; move it out of the folder, or name the "
                    f"files, as {os.path.join(source, '*.json')}"
                )
            found.append(path)
    return tuple(found)


def bundled(name: str) -> dict[str, Any]:
    """Return the catalog entry called *name*; if there is none, raise UsageError, which
    suggests the nearest name.
    """
    entry = entries().get(name)
    if entry is None and name in LEFT["instance"]:
        raise UsageError(f"{name}: {LEFT['instance'][name]}")
    if entry is None and os.path.isfile(name):
        raise UsageError(
            f"{name} is a file, not a bundled instance: ioopt check {name}"
        )
    if entry is None:
        raise UsageError(f"no bundled instance {name!r}; {suggest(name, entries())}")
    return entry
