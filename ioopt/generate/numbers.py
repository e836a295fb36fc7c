"""Lists of numbers as settings of a preset."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field


def _split(value: Any) -> Any:
    return tuple(value.split(",")) if isinstance(value, str) else value


Numbers = Annotated[tuple[Annotated[float, Field(gt=0)], ...], BeforeValidator(_split)]
"""Positive numbers; as text, separated by commas."""
