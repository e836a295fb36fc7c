"""Bundled instances: the files under ``ioopt/instances`` and what
is known about each.
"""

import json
import os
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from ioopt.errors import InstanceError, UsageError
from ioopt.options import nearest, suggest


def root() -> Path:
    """The folder of bundled instances, one sub-folder a family."""
    return Path(str(resources.files("ioopt"))) / "instances"


@cache
def entries() -> dict[str, dict[str, Any]]:
    """Catalogs of bundled instances by name: file, kind, provenance, best
    objective and bound.
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
    """The path of *source*: ``-`` or an existing file as it is, else the
    bundled instance so named.

    Raises InstanceError for a name that is neither but close to a bundled
    one, which it suggests.
    """
    name = os.fspath(source)
    if name == "-" or os.path.exists(name):
        return name
    entry = entries().get(name)
    near = None if entry else nearest(name, entries())
    if near is not None:
        raise InstanceError(
            f"{name}: no such file, and no bundled instance has that name; did "
            f"you mean {near!r}?"
        )
    return str(entry["path"]) if entry else name


def bundled(name: str) -> dict[str, Any]:
    """The catalog entry called *name*; raises UsageError with the nearest
    name when there is none.
    """
    entry = entries().get(name)
    if entry is None:
        raise UsageError(f"no bundled instance {name!r}; {suggest(name, entries())}")
    return entry
