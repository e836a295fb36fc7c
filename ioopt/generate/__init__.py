"""Seeded workload generators, one module per family."""

from __future__ import annotations

from ioopt import registry
from ioopt.errors import UsageError
from ioopt.registry import KindSpec


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
