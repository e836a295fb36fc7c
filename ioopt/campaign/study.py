"""Studies: the values of many experiments, from the store where it has them,
else run and stored.

A study asks for values as if it computed them; a killed one asks again and
goes on where it was::

    with open_campaign("runs.sqlite", workers=2) as campaign:
        study = campaign.study("zhou")
        rows = study.values("papers.zhou:one_run", [{"policy": "fill", "seed": s} for s in range(12)])
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any, NamedTuple

from ioopt.campaign.runner import Workers, open_workers, run_tasks
from ioopt.campaign.store import FAILED, Store, clearly
from ioopt.campaign.work import Experiment
from ioopt.errors import IooptError
from ioopt.problems.base import Json


class Campaign(NamedTuple):
    """An open store and workers that start when the first value is missing."""

    store: Store
    workers: Callable[[], Workers]

    def study(self, name: str) -> "Study":
        """The study called *name*."""
        return Study(name, self)


class Study:
    """Values of experiments by target and settings."""

    def __init__(self, name: str, campaign: Campaign) -> None:
        self.name = name
        self._campaign = campaign
        self._seconds: dict[str, float] = {}
        self.num_run = 0

    def values(self, target: str, settings: Sequence[Mapping[str, Any]]) -> list[Json]:
        """What ``module:function`` returns for each of *settings*, in their order.

        Missing ones, and ones that failed earlier, are run together on the workers.
        Raises IooptError with the reason when one fails now.
        """
        asked = [Experiment(self.name, target, each) for each in settings]
        missing = {item.key: item for item in asked if self._find(item.key) is None}
        if missing:
            store, workers = self._campaign
            run_tasks(list(missing.values()), store, workers())
            self.num_run += len(missing)
        found = []
        for item in asked:
            metrics = self._find(item.key)
            if metrics is None:
                error = self._campaign.store.find(item.key, ("error",))
                reason = error[0] if error else "no row"
                given = ", ".join(
                    f"{key}={value!r}" for key, value in item.settings.items()
                )
                raise IooptError(f"{target}({given}) failed: {reason}")
            found.append(metrics)
        return found

    @property
    def num_values(self) -> int:
        """How many different values this study asked for."""
        return len(self._seconds)

    @property
    def seconds(self) -> float:
        """Seconds of computing behind those values, whenever they were run."""
        return math.fsum(self._seconds.values())

    def _find(self, key: str) -> Json | None:
        store = self._campaign.store
        row = store.find(key, ("status", "metrics", "solve_seconds"))
        if row is None or row[0] == FAILED:
            return None
        self._seconds[key] = row[2] or 0.0
        with clearly(store.path):
            metrics: Json = json.loads(row[1])
        return metrics


@contextmanager
def open_campaign(
    path: str, workers: int, scheduler: str | None = None
) -> Iterator[Campaign]:
    """The campaign of the store at *path*, made when it is missing,
    continued when it is not.
    """
    with ExitStack() as stack, Store(path) as store:
        opened = cache(lambda: stack.enter_context(open_workers(workers, scheduler)))
        yield Campaign(store, opened)
