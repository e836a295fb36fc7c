"""Studies: the values of many experiments, from the store where it has them, else run and stored.

A study asks for values as if it computed them; a killed one asks again and goes on where it was::

    with open_campaign("runs.sqlite", workers=2) as campaign:
        study = campaign.study("zhou")
        rows = study.values("zhou_runs:one_run", [{"policy": "fill", "seed": s} for s in range(12)])
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from ioopt.campaign.runner import Listener, cluster_client, run_experiments
from ioopt.campaign.store import FAILED, Store
from ioopt.campaign.work import make_experiment
from ioopt.errors import IooptError


class Campaign:
    """An open store and a cluster that starts when the first value is missing."""

    def __init__(self, store: Store, open_client: Callable[[], Any], listener: Listener | None):
        self.store = store
        self.open_client = open_client
        self.listener = listener

    def study(self, name: str) -> Study:
        """The study called *name*."""
        return Study(name, self)


class Study:
    """Values of experiments by target and settings."""

    def __init__(self, name: str, campaign: Campaign) -> None:
        self.name = name
        self._campaign = campaign
        self._seconds: dict[str, float] = {}
        self.num_run = 0

    def values(self, target: str, settings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """What ``module:function`` returns for each of *settings*, in their order.

        Missing ones, and ones that failed earlier, are run together on the cluster. Raises
        IooptError with the reason when one fails now.
        """
        asked = [make_experiment(self.name, target, each) for each in settings]
        missing = {item.key: item for item in asked if self._find(item.key) is None}
        if missing:
            campaign = self._campaign
            todo = list(missing.values())
            run_experiments(todo, campaign.store, campaign.open_client(), campaign.listener)
            self.num_run += len(todo)
        found = []
        for item in asked:
            metrics = self._find(item.key)
            if metrics is None:
                error = self._campaign.store.find(item.key, ("error",))
                reason = error[0] if error else "no row"
                raise IooptError(f"{target}({_shown(item.settings)}) failed: {reason}")
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

    def _find(self, key: str) -> dict[str, Any] | None:
        row = self._campaign.store.find(key, ("status", "metrics", "solve_seconds"))
        if row is None or row[0] == FAILED:
            return None
        self._seconds[key] = row[2] or 0.0
        metrics: dict[str, Any] = json.loads(row[1])
        return metrics


def _shown(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in settings.items())


@contextmanager
def open_campaign(
    path: str, workers: int, scheduler: str | None = None, listener: Listener | None = None
) -> Iterator[Campaign]:
    """The campaign of the store at *path*, made when it is missing, continued when it is not."""
    clients: list[Any] = []
    with ExitStack() as stack, Store(path) as store:

        def client() -> Any:
            if not clients:
                clients.append(stack.enter_context(cluster_client(workers, scheduler, None)))
            return clients[0]

        yield Campaign(store, client, listener)
