"""Run one task of a sweep and return its row of the store; errors become failed rows.

A task is a point (solving one instance with one solver) or an experiment (calling a
function of the user). An experiment uses the same executor and the same store. In its
row, ``family`` and ``kind`` are ``experiment``, ``instance`` is the name of the study,
``solver`` the function, ``settings`` its arguments, and ``metrics`` its return value.
"""

import json
import platform
import time
from collections.abc import Mapping
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
"""Family and kind in the rows of experiments, which belong to no family of problems."""
DONE = "done"
"""Status of an experiment whose function returned a value."""


@dataclass(frozen=True)
class Experiment:
    """One call of a function of the user. ``target`` is ``module:function``, which the
    workers can import.

    The function takes ``settings`` as keywords and returns a mapping that can be
    written as JSON.
    """

    study: str
    target: str
    settings: Mapping[str, Any]
    hard_limit: float | None = None
    source: ClassVar[str] = ""
    """The digest of the instance of a task; empty, because an experiment has no
    instance.
    """

    @cached_property
    def key(self) -> str:
        """Return a hash of target, settings and version of ioopt, the same on every
        machine.
        """
        return content_key([FAMILY, self.target, self.settings, __version__])

    @property
    def seed(self) -> int:
        """Return the setting ``seed``, or 0 if there is none."""
        return int(self.settings.get("seed", 0))


Row = Json
"""One row of the table ``runs``: column -> value."""
Task = Point | Experiment

RESULT_COLUMNS = (
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
"""The columns that are copied from the fields of the solver's result."""


def perform(task: Task, source: Source | None) -> Row:
    """Run one task and return its row.

    An exception of the solver becomes a failed row. If the solver cannot take the
    instance, the status of the row says that it does not apply.
    """
    try:
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
    """Solve one point and return its row."""
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
    row = _identity(point, source)
    for name in RESULT_COLUMNS:
        row[name] = document[name]
    # Settings of the result change the problem; the run is compared only with runs that
    # solved the same problem.
    if result.settings:
        row["digest"] += json.dumps(result.settings, sort_keys=True)
    error = None
    if result.status is Status.ERROR:
        error = "; ".join(result.notes)
    if error and result.plan is None:
        return failed_row(point, source, error)
    return row | {"violations": len(result.violations), "error": error}


def _call(experiment: Experiment) -> Row:
    """Call the function of an experiment and return its row."""
    function = registry.load_target(experiment.target)
    begun = time.perf_counter()
    found = function(**experiment.settings)
    seconds = time.perf_counter() - begun
    if not isinstance(found, Mapping):
        raise TypeError(
            f"{experiment.target} returned {type(found).__name__}, not a mapping"
        )
    # What cannot be written as JSON fails here, not in the process that writes the
    # store.
    metrics = json.loads(json.dumps(found))
    row = _identity(experiment, None) | _without_result(DONE)
    row["metrics"] = metrics
    row["solve_seconds"] = seconds
    row["versions"] = {"ioopt": __version__}
    return row


def _identity(task: Task, source: Source | None) -> Row:
    """Return the columns of a row that identify its task."""
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


def _without_result(status: str) -> Row:
    """Return the result columns of a row that has no result: empty values, and the
    *status*.
    """
    unknown: Row = dict.fromkeys(RESULT_COLUMNS)
    return unknown | {
        "status": status,
        "metrics": {},
        "notes": [],
        "versions": {},
        "violations": 0,
        "error": None,
    }


def failed_row(task: Task, source: Source | None, reason: str) -> Row:
    """Return the row of a task that has no result; *reason* says why."""
    return _identity(task, source) | _without_result(FAILED) | {"error": reason}
