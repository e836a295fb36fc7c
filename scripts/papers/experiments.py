"""How a reproduction gets the values of its runs: through the campaign that is open, or directly.

``scripts/reproduce.py`` opens a campaign, so that every run becomes a row of its store and a killed
reproduction goes on where it was; a test or a script that opens none computes them on the spot.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ioopt.campaign.study import Study

_studies: list[Study] = []


@contextmanager
def within(study: Study) -> Iterator[None]:
    """Values asked for inside are those of *study*."""
    _studies.append(study)
    try:
        yield
    finally:
        _studies.pop()


def values_of(
    function: Callable[..., Mapping[str, Any]], settings: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """What *function*, a module's own, returns for each of *settings*, as JSON gives it back."""
    if _studies:
        target = f"{function.__module__}:{function.__qualname__}"
        return _studies[-1].values(target, settings)
    return [json.loads(json.dumps(function(**each))) for each in settings]
