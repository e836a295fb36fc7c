"""Message counts from the perturbation laboratory: what a monitor would have seen of a run."""

from __future__ import annotations

from ioopt.measure.perturbation import Slots, hits, run, slots_of, use_compiled
from ioopt.problems.flexgang.message_counts import MessageCounts
from ioopt.problems.flexgang.perturbation import Application, Environment, PerturbationProblem


def message_samples(
    problem: PerturbationProblem,
    app: Application,
    environment: Environment = "Sub_RR",
    seed: int = 0,
) -> MessageCounts:
    """Counts of one run of *app*: every processor and whole quantum in which none has ended.

    A Sub environment has exactly one process absent in a disturbed quantum, which the normalising
    of running samples presumes; in an extra quantum of Add all but one are.
    """
    import numpy as np

    placing = np.random.default_rng([seed, 0])
    slots = slots_of(
        problem, environment, hits(problem, environment, placing, problem.perturbations)
    )
    # No process has done its work before it has run for as many slots.
    rest = np.ones(
        (problem.work_quanta - int(slots.runs.sum(axis=0).max()), problem.processors), bool
    )
    slots = Slots(np.vstack([slots.runs, rest]), np.append(slots.gang, rest[:, 0]))
    received = np.zeros(slots.runs.shape, np.int64)
    fast = use_compiled(problem, app, "auto")
    run(problem, app, slots, np.random.default_rng([seed, 1]), received, fast)
    ganged = slots.runs.all(axis=1)
    return MessageCounts(
        id=app.id,
        gang=tuple(received[ganged].ravel().astype(float).tolist()),
        running=tuple(received[~ganged][slots.runs[~ganged]].astype(float).tolist()),
        nonrunning=tuple(received[~ganged][~slots.runs[~ganged]].astype(float).tolist()),
        absent=tuple(tuple(np.flatnonzero(~row).tolist()) for row in slots.runs),
    )
