"""A point that calls a function of its settings instead of a solver, such as a simulated workload.

Experiments go through the same runner into the same store as the points of a sweep: ``family`` and
``kind`` are ``experiment``, ``instance`` is the study, ``solver`` the function, ``settings`` its
arguments and ``metrics`` what it returned. A study that is killed finds what it had in the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ioopt.campaign.grid import content_key
from ioopt.version import __version__

FAMILY = "experiment"
"""Family and kind of the rows of experiments, which belong to no family of problems."""
DONE = "done"
"""Status of an experiment that returned."""


@dataclass(frozen=True)
class Experiment:
    """One call: ``target`` is ``module:function``, importable on the workers.

    The function takes ``settings`` as keywords and returns a mapping that JSON can hold. ``key``
    is stable over sessions and machines, as that of a point is.
    """

    key: str
    study: str
    target: str
    settings: Mapping[str, Any]
    hard_limit: float | None = None
    source: ClassVar[str] = ""
    """It is of no instance."""

    @property
    def seed(self) -> int:
        """The setting ``seed`` (0 when the function takes none)."""
        return int(self.settings.get("seed", 0))


def make_experiment(
    study: str, target: str, settings: Mapping[str, Any], hard_limit: float | None = None
) -> Experiment:
    """The experiment of calling *target* with *settings*, keyed by both and the version of ioopt."""
    key = content_key([FAMILY, target, settings, __version__])
    return Experiment(key, study, target, settings, hard_limit)
