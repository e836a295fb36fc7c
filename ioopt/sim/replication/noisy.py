"""Replay a plan under latency and unfair sharing (timeline rules 9 to 11).

The queues of the plan are replayed by the same rules; only the rates and the starts of
bytes differ, so later decisions of the replay may differ too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np

from ioopt.compiled.library import Engine
from ioopt.errors import UsageError
from ioopt.problems.base import Json
from ioopt.problems.replication import (
    DRAWS,
    SHARING_NOISE,
    LinkModel,
    NoisyRuns,
    ReplicationPlan,
    ReplicationProblem,
)
from ioopt.sim.replication import kernel
from ioopt.sim.replication.build import (
    Noise,
    build_world,
    maker_for,
    replay_seconds,
    require_actual,
)
from ioopt.sim.replication.simulate import Entries, stuck


def noise_of(
    problem: ReplicationProblem,
    sharing_noise: float | None = None,
    latency_seconds: float | None = None,
) -> Noise:
    """Return the noise asked for; what is None comes from the network of *problem*."""
    network = problem.network
    sigma = network.sharing_noise if sharing_noise is None else sharing_noise
    latency = network.latency_seconds if latency_seconds is None else latency_seconds
    return Noise(latency, sigma)


def judging_noise(problem: ReplicationProblem) -> Noise:
    """Return the noise by which plans of *problem* are judged: that of its network, or
    ``SHARING_NOISE`` if the network states none.
    """
    noise = noise_of(problem)
    return replace(noise, sharing_noise=noise.sharing_noise or SHARING_NOISE)


def noisy_makespans(
    problem: ReplicationProblem,
    plan: ReplicationPlan,
    noise: Noise,
    draws: int = DRAWS,
    link: LinkModel | None = None,
    actual: Mapping[str, float] | None = None,
    engine: Engine = "auto",
    first: int = 1,
) -> list[float]:
    """Return the makespan, in seconds, of each of *draws* replays of *plan* under
    *noise*.

    Draw k, from *first* on, uses the weights of number k. Raises UsageError for a plan
    that was decided while tasks ran, whose queues say nothing about other times.
    """
    if plan.dispatches is not None:
        raise UsageError(
            "the plan was decided while tasks ran: its dispatches hold for its own "
            "times; name its dispatcher by --solver"
        )
    if plan.bound_moves is not None:
        from ioopt.sim.replication.follow import Follower

        bound = Follower(problem, plan, link, actual, noise)
        return [bound.run(draw) for draw in range(first, first + draws)]
    require_actual(problem, actual)
    make = maker_for(problem, engine)
    parsed = Entries.of(problem, plan)
    queues = parsed.as_queues(plan)
    world = build_world(
        problem, queues, make, link, parsed.copy_files, actual, noise=noise
    )
    replay = make.function(kernel.replay)
    found = []
    for draw in range(first, first + draws):
        world.fluid.draw = draw
        makespan, code = replay(world, float("inf"))
        if code == kernel.STUCK:
            raise stuck(problem, world, parsed, plan.carry_out)
        found.append(makespan)
    return found


NOISY_SECONDS = 0.5
"""Noisy metrics are computed if this takes at most so many seconds."""


def noisy_metrics(
    problem: ReplicationProblem,
    plan: ReplicationPlan,
    told: NoisyRuns | None = None,
    seconds: float = NOISY_SECONDS,
) -> Json:
    """Return the mean and the 95 % of the makespan of *plan* under noise, and the noise
    and the number of draws.

    *told* are the noise and the number of draws to use (None: those by which plans are
    judged). Without them, the dictionary is empty if noisy replays would take more than
    *seconds* by an estimate. It is also empty for a plan that was decided while tasks
    ran.
    """
    if plan.dispatches is not None:
        return {}
    noise = judging_noise(problem)
    draws = DRAWS
    if told is not None:
        noise = Noise(told.latency_seconds, told.sharing_noise)
        draws = told.draws
    elif _noisy_seconds(problem, plan) * draws > min(seconds, NOISY_SECONDS):
        return {}
    found = spread_of(noisy_makespans(problem, plan, noise, draws))
    return {
        "noisy_mean_seconds": found["mean"],
        "noisy_p95_seconds": found["p95"],
        "noise": {**asdict(noise), "draws": draws},
    }


def _noisy_seconds(problem: ReplicationProblem, plan: ReplicationPlan) -> float:
    """Return the estimated seconds of one noisy replay of *plan*."""
    if plan.bound_moves is not None:
        from ioopt.sim.replication.follow import follow_seconds

        return follow_seconds(problem, plan)
    return replay_seconds(problem, maker_for(problem))


SPREAD = ("least", "median", "p95", "most", "mean")


def spread_of(makespans: Sequence[float]) -> dict[str, float]:
    """Return the least, the median, the 95 % and the largest of noisy makespans, and
    their mean, in seconds.
    """
    least, median, p95, most = np.quantile(makespans, (0.0, 0.5, 0.95, 1.0)).tolist()
    mean = sum(makespans) / len(makespans)
    return dict(zip(SPREAD, (least, median, p95, most, mean), strict=True))
