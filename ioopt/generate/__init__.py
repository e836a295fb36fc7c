"""Seeded workload generators, one module per family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioopt import registry
from ioopt.errors import UsageError
from ioopt.options import parse_settings, suggest
from ioopt.registry import KindSpec, load_target


def kind_for(name: str) -> KindSpec:
    """The kind that ``generate NAME`` makes: the kind so named, or the first of that family."""
    able = [spec for spec in registry.KINDS.values() if spec.generate is not None]
    fitting = [spec for spec in able if spec.kind == name] or [
        spec for spec in able if spec.family == name
    ]
    if not fitting:
        known = dict.fromkeys(text for spec in able for text in (spec.family, spec.kind))
        raise UsageError(f"no family {name!r} to generate; {registry.suggest(name, known)}")
    return fitting[0]


def chosen_preset(
    kind: str, presets: Mapping[str, Any], name: str, settings: Mapping[str, Any]
) -> tuple[str, Any]:
    """The name and the settings of a preset of *kind*; UsageError for unknown ones.

    A preset that another kind has is named as such, one that is misspelt by its nearest.
    """
    if name in presets:
        return name, parse_settings(presets[name], settings, f"preset {name}")
    for spec in registry.KINDS.values():
        if spec.presets is not None and name in load_target(spec.presets):
            known = ", ".join(presets)
            raise UsageError(
                f"preset {name!r} is one of {spec.kind}, not of {kind}; known: {known}"
            )
    raise UsageError(f"{kind} has no preset {name!r}; {suggest(name, presets)}")
