"""Seeded workload generators, one module per family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioopt.errors import UsageError
from ioopt.options import parse_settings, suggest


def chosen_preset(
    kind: str, presets: Mapping[str, Any], name: str, settings: Mapping[str, Any]
) -> tuple[str, Any]:
    """The name and the settings of a preset of *kind*; UsageError for unknown ones."""
    if name in presets:
        return name, parse_settings(presets[name], settings, f"preset {name}")
    raise UsageError(f"{kind} has no preset {name!r}; {suggest(name, presets)}")
