"""Message counts from the perturbation laboratory: what a monitor would have seen of a run."""

from __future__ import annotations

from ioopt.problems.message_counts import MessageCounts
from ioopt.problems.perturbation import Application, Environment, PerturbationProblem
from ioopt.sim.perturbation import hits, run, slots_of, use_compiled


def message_samples(
    problem: PerturbationProblem,
    app: Application,
    environment: Environment = "Sub_RR",
    seed: int = 0,
) -> MessageCounts:
    """Counts of one run of *app*: every processor and whole quantum up to the last perturbation.

    A Sub environment has exactly one process absent in a disturbed quantum, which the normalising
    of running samples presumes; in an extra quantum of Add all but one are.
    """
    import numpy as np

    placing = np.random.default_rng([seed, 0])
    slots = slots_of(
        problem, environment, hits(problem, environment, placing, problem.perturbations)
    )
    received = np.zeros(slots.runs.shape, np.int64)
    fast = use_compiled(problem, app, "auto")
    run(problem, app, slots, np.random.default_rng([seed, 1]), received, fast)
    ganged = slots.runs.all(axis=1)
    return MessageCounts(
        id=app.id,
        gang=tuple(received[ganged].ravel().astype(float).tolist()),
        running=tuple(received[~ganged][slots.runs[~ganged]].astype(float).tolist()),
        nonrunning=tuple(received[~ganged][~slots.runs[~ganged]].astype(float).tolist()),
    )
