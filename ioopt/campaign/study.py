"""Studies: the values of many experiments, which are read from a store, or computed and
stored.

A study asks for all its values, as if nothing had been computed before. When a killed
study is run again, it finds the earlier values in the store and computes only the
others::

    with open_campaign("runs.sqlite", workers=2) as campaign:
        study = campaign.study("zhou")
        settings = [{"policy": "fill", "seed": seed} for seed in range(12)]
        rows = study.values("papers.zhou:one_run", settings)
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import NamedTuple

from ioopt.campaign.executors import Executor, open_executor
from ioopt.campaign.runner import run_tasks
from ioopt.campaign.store import FAILED, Store, clearly
from ioopt.campaign.work import Experiment
from ioopt.errors import IooptError
from ioopt.problems.base import Json


class Campaign(NamedTuple):
    """An open store, and workers that are started once a value is missing from it."""

    store: Store
    executor: Callable[[], Executor]

    def study(self, name: str) -> "Study":
        """Return the study called *name*."""
        return Study(name, self)


class Study:
    """The values of the experiments of one study, each identified by its function and
    settings.
    """

    def __init__(self, name: str, campaign: Campaign) -> None:
        self.name = name
        self._campaign = campaign
        self._seconds: dict[str, float] = {}
        self.num_run = 0

    def values(
        self, target: str, settings: Sequence[Mapping[str, object]]
    ) -> list[Json]:
        """Return the value of the function *target* (``module:function``) for each of
        *settings*, in this order.

        Values that are missing, or that failed in an earlier run, are computed together
        on the workers. Raises IooptError with the reason if one of them fails now.
        """
        asked = [Experiment(self.name, target, each) for each in settings]
        missing = {item.key: item for item in asked if self._find(item.key) is None}
        if missing:
            executor = self._campaign.executor()
            run_tasks(list(missing.values()), self._campaign.store, executor)
            self.num_run += len(missing)
        found = []
        for item in asked:
            metrics = self._find(item.key)
            if metrics is None:
                raise self._failure(item)
            found.append(metrics)
        return found

    @property
    def num_values(self) -> int:
        """Return the number of different values that this study asked for."""
        return len(self._seconds)

    @property
    def seconds(self) -> float:
        """Return the computing seconds of all values of this study, whether computed in
        this run or an earlier one.
        """
        return math.fsum(self._seconds.values())

    def _find(self, key: str) -> Json | None:
        """Return the value with *key* from the store; None if it is missing or
        failed.
        """
        store = self._campaign.store
        row = store.find(key, ("status", "metrics", "solve_seconds"))
        if row is None:
            return None
        status, text, seconds = row
        if status == FAILED:
            return None
        self._seconds[key] = seconds or 0.0
        with clearly(store.path):
            metrics: Json = json.loads(text)
        return metrics

    def _failure(self, item: Experiment) -> IooptError:
        """Return an error that says why an experiment has no value."""
        row = self._campaign.store.find(item.key, ("error",))
        reason = row[0] if row else "no row"
        pairs = [f"{key}={value!r}" for key, value in item.settings.items()]
        return IooptError(f"{item.target}({', '.join(pairs)}) failed: {reason}")


@contextmanager
def open_campaign(
    path: str, workers: int, scheduler: str | None = None
) -> Iterator[Campaign]:
    """Provide the campaign of the store at *path*, which is created or continued."""
    with ExitStack() as stack, Store(path) as store:

        @cache
        def executor() -> Executor:
            return stack.enter_context(open_executor(workers, scheduler))

        yield Campaign(store, executor)
