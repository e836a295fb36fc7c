"""What a worker does: one point or one experiment in, its row of the store
out; it never raises.

An experiment is a point that calls a function of its settings instead of a solver, such
as a simulated workload. It goes through the same runner into the same store: ``family``
and ``kind`` are ``experiment``, ``instance`` is the study, ``solver`` the function,
``settings`` its arguments and ``metrics`` what it returned.
"""

import json
import os
import platform
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from ioopt import registry
from ioopt.campaign.grid import Point, Source, content_key
from ioopt.campaign.store import FAILED
from ioopt.errors import NotApplicableError
from ioopt.problems.base import Json
from ioopt.result import Status
from ioopt.solving import solve
from ioopt.version import __version__

FAMILY = "experiment"
"""Family and kind of the rows of experiments, which belong to no family of problems."""
DONE = "done"
"""Status of an experiment that returned."""


@dataclass(frozen=True)
class Experiment:
    """One call: ``target`` is ``module:function``, importable on the workers.

    The function takes ``settings`` as keywords and returns a
    mapping that JSON can hold.
    """

    study: str
    target: str
    settings: Mapping[str, Any]
    hard_limit: float | None = None
    source: ClassVar[str] = ""
    """It is of no instance."""

    @cached_property
    def key(self) -> str:
        """Of target, settings and version; stable over sessions and machines,
        as that of a point is.
        """
        return content_key([FAMILY, self.target, self.settings, __version__])

    @property
    def seed(self) -> int:
        """The setting ``seed`` (0 when the function takes none)."""
        return int(self.settings.get("seed", 0))


Row = Json
Task = Point | Experiment

GIVE_UP_EXIT = 75
"""Exit status of a worker that gives up a point past its hard limit."""
SUMMARY = (
    "status",
    "stop",
    "objective",
    "objective_name",
    "bound",
    "gap",
    "build_seconds",
    "solve_seconds",
    "simulate_seconds",
    "metrics",
    "notes",
    "versions",
)


def perform(task: Task, source: Source | None) -> Row:
    """Run one task; what it raises becomes a failed row, or one that says that the
    solver does not apply.
    """
    try:
        with _watchdog(task.hard_limit):
            if isinstance(task, Experiment):
                return _call(task)
            assert source is not None
            return _solve(task, source)
    except NotApplicableError as error:
        row = failed_row(task, source, str(error))
        return row | {"status": str(Status.NOT_APPLICABLE)}
    except (Exception, SystemExit) as error:
        return failed_row(task, source, f"{type(error).__name__}: {error}")


@lru_cache(maxsize=1)  # a worker solves the points of an instance one after the other
def _problem(source: Source) -> Any:
    return source.problem()


def _solve(point: Point, source: Source) -> Row:
    """The row of a solve."""
    result = solve(
        _problem(source),
        point.solver,
        measure=point.measure,
        settings=point.settings,
        seed=point.seed,
        time_limit=point.time_limit,
        threads=point.threads,
        backend=point.backend,
    )
    document = result.to_dict()
    row = _identity(point, source) | {name: document[name] for name in SUMMARY}
    if (
        result.settings
    ):  # another question than the instance's: no rival of those who answer that
        row["digest"] += json.dumps(result.settings, sort_keys=True)
    error = "; ".join(result.notes) if result.status is Status.ERROR else None
    if error and result.plan is None:
        return failed_row(point, source, error)
    return row | {"violations": len(result.violations), "error": error}


def _call(experiment: Experiment) -> Row:
    """The row of an experiment, with what its function returned."""
    function = registry.load_target(experiment.target)
    begun = time.perf_counter()
    found = function(**experiment.settings)
    seconds = time.perf_counter() - begun
    if not isinstance(found, Mapping):
        raise TypeError(
            f"{experiment.target} returned {type(found).__name__}, not a mapping"
        )
    metrics = json.loads(
        json.dumps(found)
    )  # what JSON cannot hold fails here, not in the client
    return (
        _identity(experiment, None)
        | _blank(DONE)
        | {
            "metrics": metrics,
            "solve_seconds": seconds,
            "versions": {"ioopt": __version__},
        }
    )


@contextmanager
def _watchdog(limit: float | None) -> Iterator[None]:
    """End this worker when a point overstays *limit*: a thread cannot
    be stopped otherwise.
    """
    if limit is None:
        yield
        return
    timer = threading.Timer(limit, os._exit, (GIVE_UP_EXIT,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _identity(task: Task, source: Source | None) -> Row:
    """The columns that say which task a row is of."""
    known: Row = {
        "key": task.key,
        "settings": dict(task.settings),
        "seed": task.seed,
        "machine": platform.node(),
    }
    if isinstance(task, Experiment):
        return known | {
            "instance": task.study,
            "digest": task.target,
            "family": FAMILY,
            "kind": FAMILY,
            "solver": task.target.replace(":", "."),
            "labels": {},
            "repeat": 0,
        }
    assert source is not None
    if task.backend:
        known["settings"]["backend"] = task.backend
    return known | {
        "instance": source.name,
        "digest": source.digest,
        "family": registry.KINDS[source.kind].family,
        "kind": source.kind,
        "solver": task.solver,
        "labels": dict(source.labels),
        "repeat": task.repeat,
    }


def _blank(status: str) -> Row:
    """The columns of a row that has no result, with its status."""
    unknown: Row = dict.fromkeys(SUMMARY)
    return unknown | {
        "status": status,
        "metrics": {},
        "notes": [],
        "versions": {},
        "violations": 0,
        "error": None,
    }


def failed_row(task: Task, source: Source | None, reason: str) -> Row:
    """The row of a task without a result, with the reason."""
    return _identity(task, source) | _blank(FAILED) | {"error": reason}
