"""What passes the storage in its busiest week, by class of jobs: before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ioopt.advice.runs import Option, Question, loads, replay
from ioopt.advice.spread import DAY, WEEK
from ioopt.plot.bandwidth import mean_rates, steps
from ioopt.problems.base import Json
from ioopt.problems.batch_io import BatchIoProblem
from ioopt.sim.batch_io.trace import Run, Trace

if TYPE_CHECKING:
    import numpy as np

BIN_SECONDS = 3600.0
OTHERS = "other jobs"


def of(
    question: Question,
    problem: BatchIoProblem,
    options: Sequence[Option],
    groups: Mapping[str, np.ndarray],
) -> Json:
    """Mean rates (bytes per second) in each hour of the busiest week of the log as it stands.

    ``options`` -> ``classes`` (each job is of the first of the *groups* that it is in, but of the first
    group, of all, last), ``asked`` (what all outstanding requests could take) and ``full``, the share of
    the week in which the storage is at its limit.
    """
    import numpy as np

    submit, _, volume, _, _ = loads(problem).T
    first = _busiest(submit, volume)
    edges = first + BIN_SECONDS * np.arange(int(WEEK / BIN_SECONDS) + 1)
    names = [*list(groups)[1:], OTHERS]
    of_class = np.full(len(submit), len(names) - 1)
    for k in reversed(range(len(names) - 1)):
        of_class[list(groups.values())[k + 1]] = k
    storage = problem.machine.storage_bytes_per_second
    found = {}
    for option in options:
        trace, run = replay(question, problem, option, record=True)
        spans = np.array(run.rates, float).reshape(-1, 4)
        job = np.searchsorted(trace.offset, spans[:, 0], side="right") - 1
        member = of_class[np.array(trace.position)[job]]
        classes = [mean_rates(spans[member == k, 1:], edges) for k in range(len(names))]
        found[option.name] = {
            "classes": {name: rates.tolist() for name, rates in zip(names, classes)},
            "asked": mean_rates(_outstanding(trace, run), edges).tolist(),
            "full": _full_share(spans[:, 1:], edges, storage),
        }
    return {
        "first_seconds": first, "bin_seconds": BIN_SECONDS,
        "storage_bytes_per_second": storage, "options": found,
    }  # fmt: skip


def _busiest(submit: np.ndarray, volume: np.ndarray) -> float:
    """When the week begins, whole days after the first job, whose jobs have the most bytes."""
    import numpy as np

    days = np.bincount((submit // DAY).astype(int), volume)
    weeks = np.convolve(days, np.ones(7))[6:]
    return float(DAY * int(np.argmax(weeks))) if len(weeks) else 0.0


def _outstanding(trace: Trace, run: Run) -> np.ndarray:
    """(request, finish, peak rate) of every request."""
    import numpy as np

    asked, done = np.array(run.request), np.array(run.finish)
    place = np.flatnonzero(asked == asked)
    job = np.searchsorted(trace.offset, place, side="right") - 1
    ends = np.where(done[place] == done[place], done[place], np.array(run.end)[job])
    return np.column_stack([asked[place], ends, np.array(trace.peak)[job]])


def _full_share(spans: np.ndarray, edges: np.ndarray, storage: float) -> float:
    """Share of the time between the first and the last of *edges* at which the storage gives all it has."""
    import numpy as np

    times, rates = steps(spans)
    inside = np.clip(times, edges[0], edges[-1])
    full = rates[:-1] >= storage * (1 - 1e-6)
    return float(np.diff(inside)[full].sum() / (edges[-1] - edges[0]))
