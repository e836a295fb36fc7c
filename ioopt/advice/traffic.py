"""What passes the storage in its busiest week, by class of jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ioopt.advice.runs import Option, Question, loads, replay
from ioopt.advice.spread import DAY, WEEK
from ioopt.plot.bandwidth import mean_rates, steps
from ioopt.problems.base import Json
from ioopt.problems.batch_io import BatchIoProblem

if TYPE_CHECKING:
    import numpy as np

BIN_SECONDS = 3600.0


def busiest_week(
    question: Question, problem: BatchIoProblem, option: Option, classes: Mapping[str, np.ndarray]
) -> Json:
    """Mean rates (bytes per second) of the *classes* in each hour of the busiest week, and its first day.

    Busiest is the week, from a midnight of the log's clock on, whose jobs have the most bytes. A job is
    of the first class that it is in; ``full`` is the share of the week in which the storage is at its
    limit.
    """
    import numpy as np

    submit, _, volume, _, _ = loads(problem).T
    days = np.convolve(np.bincount((submit // DAY).astype(int), volume), np.ones(7))[6:]
    day = int(np.argmax(days)) if len(days) else 0
    edges = day * DAY + BIN_SECONDS * np.arange(int(WEEK / BIN_SECONDS) + 1)
    trace, run = replay(question, problem, option, record=True)
    spans = np.array(run.rates, float).reshape(-1, 4)
    job = np.searchsorted(trace.offset, spans[:, 0], side="right") - 1
    first = np.argmax(list(classes.values()), axis=0)[np.array(trace.position)[job]]
    times, total = steps(spans[:, 1:])
    full = total[:-1] >= problem.machine.storage_bytes_per_second * (1 - 1e-6)
    inside = np.diff(np.clip(times, edges[0], edges[-1]))
    return {
        "day": day, "full": float(inside[full].sum() / WEEK),
        "classes": {name: mean_rates(spans[first == k, 1:], edges).tolist()
                    for k, name in enumerate(classes)},
    }  # fmt: skip
